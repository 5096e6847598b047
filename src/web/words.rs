//! How numbers and times read on a page: always with a unit, never more digits than help.
//!
//! Arguments may be values or references to them: templates hand over references.

use std::borrow::Borrow;
use std::time::Duration;

/// A moment: what the page shows and the exact time behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// What is shown: `10:02` or `3 min ago`.
    pub shown: String,
    /// The exact time for people: `2026-03-04 10:02:13 UTC`.
    pub exact: String,
    /// The exact time for programs (RFC 3339).
    pub machine: String,
}

impl When {
    /// The hour and minute of a moment, given in seconds since 1970 (UTC).
    #[must_use]
    pub fn clock(unix: i64) -> Self {
        let at = Civil::at(unix);
        Self::shown_as(format!("{:02}:{:02}", at.hour, at.minute), &at)
    }

    /// How long before `now` a moment was, both in seconds since 1970; over four weeks ago it is the date.
    #[must_use]
    pub fn ago(unix: i64, now: i64) -> Self {
        let at = Civil::at(unix);
        let shown = match now.saturating_sub(unix) {
            ..60 => "just now".to_owned(),
            gone @ 60..3_600 => format!("{} min ago", gone / 60),
            gone @ 3_600..86_400 => format!("{} h ago", gone / 3_600),
            86_400..172_800 => "yesterday".to_owned(),
            gone @ 172_800..2_419_200 => format!("{} days ago", gone / 86_400),
            _ => at.date(),
        };
        Self::shown_as(shown, &at)
    }

    fn shown_as(shown: String, at: &Civil) -> Self {
        let (date, clock) = (at.date(), format!("{:02}:{:02}:{:02}", at.hour, at.minute, at.second));
        Self { shown, exact: format!("{date} {clock} UTC"), machine: format!("{date}T{clock}Z") }
    }
}

/// A moment in the proleptic Gregorian calendar, UTC.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Civil {
    /// Howard Hinnant's `civil_from_days`: years run from March, so the leap day is the last one.
    fn at(unix: i64) -> Self {
        let (days, rest) = (unix.div_euclid(86_400), unix.rem_euclid(86_400));
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            hour: rest / 3_600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A length of time: `240 ms`, `21 s`, `5 min 03 s`, `30 min`, `2 h 05 min`.
#[must_use]
pub fn duration(time: impl Borrow<Duration>) -> String {
    let time = *time.borrow();
    let seconds = time.as_secs();
    match (seconds, seconds / 60, seconds / 3_600) {
        (0, _, _) => format!("{} ms", time.as_millis()),
        (1..60, _, _) => format!("{seconds} s"),
        (_, minutes, 0) if seconds % 60 == 0 => format!("{minutes} min"),
        (_, minutes, 0) => format!("{minutes} min {:02} s", seconds % 60),
        (_, minutes, hours) if minutes % 60 == 0 => format!("{hours} h"),
        (_, minutes, hours) => format!("{hours} h {:02} min", minutes % 60),
    }
}

/// A whole number with its thousands apart: `14,210`.
#[must_use]
pub fn number(n: impl Borrow<u64>) -> String {
    let digits = n.borrow().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and its noun: `1 file`, `14,210 files`.
#[must_use]
pub fn count(n: impl Borrow<u64>, one: &str, many: &str) -> String {
    let n = *n.borrow();
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// Tokens as people say them: `412 tokens`, `31k tokens`, `1.2M tokens`.
#[must_use]
pub fn tokens(n: u64) -> String {
    match n {
        0..1_000 => count(n, "token", "tokens"),
        1_000..999_500 => format!("{}k tokens", (n + 500) / 1_000),
        _ => {
            let tenths = (n + 50_000) / 100_000;
            format!("{}.{}M tokens", number(tenths / 10), tenths % 10)
        }
    }
}

/// A cause as a sentence of its own: `the base is missing` is `The base is missing.`
#[must_use]
pub fn sentence(cause: &str) -> String {
    let cause = cause.trim();
    let mut chars = cause.chars();
    let Some(first) = chars.next() else { return String::new() };
    let end = if cause.ends_with(['.', '!', '?', ':', '…']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_shows_the_hour_and_keeps_the_exact_time() {
        let when = When::clock(1_772_618_533);
        assert_eq!(when.shown, "10:02");
        assert_eq!(when.exact, "2026-03-04 10:02:13 UTC");
        assert_eq!(when.machine, "2026-03-04T10:02:13Z");
    }

    #[test]
    fn the_calendar_knows_leap_days_and_years_before_1970() {
        let date = |unix| Civil::at(unix).date();
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(-1), "1969-12-31");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_709_164_800), "2024-02-29");
        assert_eq!(date(4_107_542_400), "2100-03-01");
    }

    #[test]
    fn how_long_ago_is_said_in_the_largest_unit_that_fits() {
        let now = 1_772_618_533;
        let ago = |gone| When::ago(now - gone, now).shown;
        assert_eq!(ago(0), "just now");
        assert_eq!(ago(-90), "just now");
        assert_eq!(ago(119), "1 min ago");
        assert_eq!(ago(7_300), "2 h ago");
        assert_eq!(ago(100_000), "yesterday");
        assert_eq!(ago(5 * 86_400), "5 days ago");
        assert_eq!(ago(40 * 86_400), "2026-01-23");
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let said = |ms| duration(Duration::from_millis(ms));
        assert_eq!(said(0), "0 ms");
        assert_eq!(said(999), "999 ms");
        assert_eq!(said(59_999), "59 s");
        assert_eq!(said(303_000), "5 min 03 s");
        assert_eq!(said(1_800_000), "30 min");
        assert_eq!(said(7_500_000), "2 h 05 min");
        assert_eq!(said(86_400_000), "24 h");
    }

    #[test]
    fn numbers_group_their_thousands_and_agree_with_their_noun() {
        assert_eq!(number(0), "0");
        assert_eq!(number(1_000), "1,000");
        assert_eq!(number(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(count(1, "file", "files"), "1 file");
        assert_eq!(count(14_210, "file", "files"), "14,210 files");
        assert_eq!(tokens(1), "1 token");
        assert_eq!(tokens(30_600), "31k tokens");
        assert_eq!(tokens(999_499), "999k tokens");
        assert_eq!(tokens(1_249_999), "1.2M tokens");
    }

    #[test]
    fn a_cause_that_stands_alone_is_a_sentence() {
        assert_eq!(sentence("the base is missing"), "The base is missing.");
        assert_eq!(sentence(" É déjà fini. "), "É déjà fini.");
        assert_eq!(sentence("`cargo` is missing"), "`cargo` is missing.");
        assert_eq!(sentence(" "), "");
    }
}
