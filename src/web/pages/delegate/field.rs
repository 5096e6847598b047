//! The rules of each field of the delegate form, and their limits.

use std::time::Duration;

use crate::cycle::money::Money;

use super::refusal::{Field, Refusal};

/// The longest title, in characters.
pub const TITLE_CHARACTERS: usize = 200;
/// The longest body, in bytes.
pub const BODY_BYTES: usize = 64 * 1024;
/// The most items of a Definition of Done.
pub const DONE_ITEMS: usize = 50;
/// The longest item of a Definition of Done, in characters.
pub const DONE_CHARACTERS: usize = 1_000;
/// The fewest and the most passes.
pub const PASSES: (u8, u8) = (1, 20);
/// The least and the most money.
pub const MONEY: (Money, Money) = (Money::from_cents(1), Money::from_cents(100_000));
/// The shortest and the longest wall clock.
pub const CLOCK: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(86_400));

fn no_nul(field: Field, text: &str) -> Result<(), Refusal> {
    match text.split('\n').position(|line| line.contains('\0')) {
        Some(before) => Err(Refusal::NulCharacter { field, line: before + 1 }),
        None => Ok(()),
    }
}

pub(super) fn title(typed: &str) -> Result<String, Refusal> {
    no_nul(Field::Title, typed)?;
    let title = typed.trim();
    match title.chars().count() {
        0 => Err(Refusal::TitleBlank),
        _ if title.contains(['\n', '\r']) => Err(Refusal::TitleManyLines),
        characters if characters > TITLE_CHARACTERS => Err(Refusal::TitleTooLong { characters }),
        _ => Ok(title.to_owned()),
    }
}

pub(super) fn body(typed: &str) -> Result<String, Refusal> {
    no_nul(Field::Body, typed)?;
    if typed.len() > BODY_BYTES {
        return Err(Refusal::BodyTooLong { bytes: typed.len() });
    }
    Ok(typed.to_owned())
}

pub(super) fn done(typed: &str) -> Result<Vec<String>, Refusal> {
    no_nul(Field::Done, typed)?;
    let items: Vec<String> = typed.lines().map(item).filter(|i| !i.is_empty()).map(str::to_owned).collect();
    if items.len() > DONE_ITEMS {
        return Err(Refusal::DoneTooMany { items: items.len() });
    }
    let lengths = items.iter().map(|i| i.chars().count()).enumerate();
    match lengths.into_iter().find(|(_, characters)| *characters > DONE_CHARACTERS) {
        Some((at, characters)) => Err(Refusal::DoneTooLong { item: at + 1, characters }),
        None => Ok(items),
    }
}

/// One line without the marks of a pasted checklist: `- [ ] it works` is `it works`.
fn item(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line).trim_start();
    ["[ ]", "[x]", "[X]"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim()
}

pub(super) fn base(typed: &str, otherwise: &str) -> Result<String, Refusal> {
    let name = if typed.trim().is_empty() { otherwise } else { typed.trim() };
    if is_branch_name(name) { Ok(name.to_owned()) } else { Err(Refusal::BaseNotABranch) }
}

/// The rules of `git check-ref-format --branch`.
fn is_branch_name(name: &str) -> bool {
    let forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let part = |p: &str| !p.is_empty() && !p.starts_with('.') && !p.ends_with(".lock");
    name.len() <= 240
        && name != "@"
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains(forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && name.split('/').all(part)
}

pub(super) fn passes(typed: &str) -> Result<u8, Refusal> {
    let digits = typed.trim();
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|n| plain && (PASSES.0..=PASSES.1).contains(n)).ok_or(Refusal::PassesNotANumber)
}

pub(super) fn money(typed: &str) -> Result<Money, Refusal> {
    let amount: Money = typed.parse().map_err(|_| match typed.contains(',') {
        true => Refusal::MoneyComma { meant: typed.replacen(',', ".", 1).parse().ok() },
        false => Refusal::MoneyNotAnAmount,
    })?;
    if (MONEY.0..=MONEY.1).contains(&amount) { Ok(amount) } else { Err(Refusal::MoneyOutOfRange { amount }) }
}

pub(super) fn clock(typed: &str) -> Result<Duration, Refusal> {
    let time = length_of_time(typed).ok_or(Refusal::ClockNotATime)?;
    if (CLOCK.0..=CLOCK.1).contains(&time) { Ok(time) } else { Err(Refusal::ClockOutOfRange { time }) }
}

/// Reads `30`, `30 min`, `1 h 30 min`, `90 s`: whole numbers with their unit, minutes where none is said.
fn length_of_time(typed: &str) -> Option<Duration> {
    let mut rest = typed.trim();
    let mut seconds: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters: usize = after.chars().take_while(|c| c.is_alphabetic()).map(char::len_utf8).sum();
        let (unit, after) = after.split_at(letters);
        let unit = match unit.to_lowercase().as_str() {
            "s" | "sec" | "second" | "seconds" => 1,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3_600,
            "" if after.is_empty() => 60,
            _ => return None,
        };
        seconds = number.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(seconds)?;
        rest = after.trim_start();
    }
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_up_to_two_hundred_characters_in_any_script() {
        assert_eq!(title("  Fix it \n").unwrap(), "Fix it");
        for script in ["é", "日", "ا", "🦀", "ß"] {
            assert_eq!(title(&script.repeat(200)).unwrap().chars().count(), 200);
            assert_eq!(title(&script.repeat(201)), Err(Refusal::TitleTooLong { characters: 201 }));
        }
        assert_eq!(title(" \t\u{3000}"), Err(Refusal::TitleBlank));
        assert_eq!(title("one\ntwo"), Err(Refusal::TitleManyLines));
        assert_eq!(title("a\0"), Err(Refusal::NulCharacter { field: Field::Title, line: 1 }));
    }

    #[test]
    fn a_body_is_kept_as_typed_up_to_its_limit_in_bytes() {
        assert_eq!(body("  a\n\n b ").unwrap(), "  a\n\n b ");
        assert_eq!(body(&"x".repeat(BODY_BYTES)).unwrap().len(), BODY_BYTES);
        assert_eq!(body(&"é".repeat(BODY_BYTES / 2 + 1)), Err(Refusal::BodyTooLong { bytes: BODY_BYTES + 2 }));
        assert_eq!(body("a\nb\0"), Err(Refusal::NulCharacter { field: Field::Body, line: 2 }));
    }

    #[test]
    fn a_definition_of_done_takes_a_pasted_checklist() {
        let typed = "- [ ] it works\n\n* [x] it is fast\n  plain  \n-not a mark\n- \n[ ]";
        assert_eq!(done(typed).unwrap(), ["it works", "it is fast", "plain", "-not a mark", "-"]);
        assert_eq!(done(&"x\n".repeat(50)).unwrap().len(), 50);
        assert_eq!(done(&"x\n".repeat(51)), Err(Refusal::DoneTooMany { items: 51 }));
        assert_eq!(
            done(&format!("a\n{}", "é".repeat(1_001))),
            Err(Refusal::DoneTooLong { item: 2, characters: 1_001 })
        );
    }

    #[test]
    fn a_base_is_a_name_that_git_takes_for_a_branch() {
        assert_eq!(base(" ", "trunk").unwrap(), "trunk");
        for good in ["main", "release/2.x", "日本", "a@b", "HEAD~".trim_end_matches('~')] {
            assert_eq!(base(good, "trunk").unwrap(), good);
        }
        for bad in [
            "-f", "a..b", "a b", "a~1", "a^", "a:b", "/a", "a/", "a//b", "a.lock", ".a", "a/.b", "a.", "@", "a@{1}",
            "a\\b", "a*", "a\u{7f}",
        ] {
            assert_eq!(base(bad, "trunk"), Err(Refusal::BaseNotABranch), "{bad}");
        }
        assert_eq!(base(&"x".repeat(241), "trunk"), Err(Refusal::BaseNotABranch));
    }

    #[test]
    fn passes_are_a_whole_number_from_one_to_twenty() {
        assert_eq!((passes("1"), passes(" 20 ")), (Ok(1), Ok(20)));
        for bad in ["", "0", "21", "-1", "+3", "3.0", "3,0", "NaN", "1e1", "٣", "99999999999", "three"] {
            assert_eq!(passes(bad), Err(Refusal::PassesNotANumber), "{bad}");
        }
    }

    #[test]
    fn money_is_dollars_with_a_point_from_a_cent_to_a_thousand() {
        for (typed, cents) in [("0.01", 1), ("5", 500), ("$2.50", 250), ("1000.00", 100_000)] {
            assert_eq!(money(typed).unwrap(), Money::from_cents(cents));
        }
        assert_eq!(money("1,50"), Err(Refusal::MoneyComma { meant: Some(Money::from_cents(150)) }));
        assert_eq!(money("1,000,000"), Err(Refusal::MoneyComma { meant: None }));
        for (typed, cents) in [("0", 0), ("0.00", 0), ("1000.01", 100_001)] {
            assert_eq!(money(typed), Err(Refusal::MoneyOutOfRange { amount: Money::from_cents(cents) }));
        }
        for bad in ["", "-1", "NaN", "inf", "1e3", "five", "€5", "5 $", "0x10"] {
            assert_eq!(money(bad), Err(Refusal::MoneyNotAnAmount), "{bad}");
        }
    }

    #[test]
    fn a_clock_is_whole_numbers_with_units_from_a_minute_to_a_day() {
        for (typed, seconds) in
            [("30", 1_800), ("1 min", 60), ("90s", 90), ("1 h 30 min", 5_400), ("24H", 86_400), ("2hours", 7_200)]
        {
            assert_eq!(clock(typed).unwrap(), Duration::from_secs(seconds), "{typed}");
        }
        for (typed, seconds) in [("0", 0), ("59 s", 59), ("24 h 1 s", 86_401)] {
            assert_eq!(clock(typed), Err(Refusal::ClockOutOfRange { time: Duration::from_secs(seconds) }), "{typed}");
        }
        for bad in [
            "",
            " ",
            "h",
            "1,5 h",
            "1.5 h",
            "-5",
            "NaN",
            "5 years",
            "1 30",
            "99999999999999999999 h",
            "9999999999999999999 h",
            "३०",
        ] {
            assert_eq!(clock(bad), Err(Refusal::ClockNotATime), "{bad}");
        }
    }
}
