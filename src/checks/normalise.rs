//! A failure's output without what differs from run to run, to tell whether two failures are the same.

use sha2::{Digest, Sha256};

use super::text;

/// How much of an output's end is compared, in bytes.
const COMPARED: usize = 256 * 1024;

/// A digest of the end of `text` in which numbers, paths, durations and addresses do not matter, nor
/// does the order of lines, which parallel builds and tests change. Lower-case hexadecimal.
#[must_use]
pub fn digest(text: &str) -> String {
    let end = text::last(text, COMPARED);
    // The line that the cut went through says nothing.
    let whole = if end.len() < text.len() { end.split_once('\n').map_or(end, |(_, rest)| rest) } else { end };
    let mut lines: Vec<String> = whole.lines().map(line).filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line);
        hash.update("\n");
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One line with `#` for numbers, durations and addresses and `<path>` for paths, spaces collapsed.
fn line(line: &str) -> String {
    let words = line.split_whitespace().map(|word| word.split_inclusive(is_bracket).map(piece).collect::<String>());
    without_units(words.collect())
}

/// What may stand around a path or a number without being part of it.
fn is_bracket(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '=' | '|')
}

fn piece(piece: &str) -> String {
    let bare = piece.trim_end_matches(is_bracket);
    let behind = &piece[bare.len()..];
    // A sentence may end behind a path or a number.
    let (bare, stop) = bare.strip_suffix('.').map_or((bare, ""), |bare| (bare, "."));
    let bare = if bare.contains('/') && bare.len() > 1 { "<path>".to_owned() } else { numbers(bare) };
    format!("{bare}{stop}{behind}")
}

/// Replaces hexadecimal addresses, hashes and UUIDs as a whole, and digits inside of other words.
fn numbers(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let run = if !c.is_ascii_alphanumeric() {
            c.len_utf8()
        } else if starts_with_uuid(rest) {
            UUID.len()
        } else {
            rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())
        };
        let (part, after) = rest.split_at(run);
        let part = if run == UUID.len() && part.contains('-') { "#".to_owned() } else { number(part) };
        // `1.2.3` and `04:17:31` are one number each.
        if part.starts_with('#') && ["#.", "#:", "#-", "#,"].iter().any(|end| out.ends_with(end)) {
            out.truncate(out.len() - 2);
        }
        out.push_str(&part);
        rest = after;
    }
    out
}

const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

fn starts_with_uuid(text: &str) -> bool {
    let fits = |(form, byte): (u8, u8)| if form == b'x' { byte.is_ascii_hexdigit() } else { byte == form };
    text.len() >= UUID.len() && UUID.bytes().zip(text.bytes()).all(fits)
}

fn number(part: &str) -> String {
    let has_digit = part.bytes().any(|b| b.is_ascii_digit());
    let hexadecimal = part.len() >= 6 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let address = part.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if has_digit && (hexadecimal || address || is_duration(part)) {
        return "#".to_owned();
    }
    let mut out = String::with_capacity(part.len());
    for c in part.chars() {
        match (c.is_ascii_digit(), out.ends_with('#')) {
            (true, true) => {}
            (true, false) => out.push('#'),
            (false, _) => out.push(c),
        }
    }
    out
}

const UNITS: [&str; 12] = ["ns", "us", "ms", "s", "sec", "secs", "seconds", "second", "m", "min", "minutes", "h"];

fn is_duration(part: &str) -> bool {
    UNITS.contains(&part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// `3.2 s` and `900 ms` are the same, as `3.2s` and `900ms` are.
fn without_units(words: Vec<String>) -> String {
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let after_number = kept.last().is_some_and(|last| last.trim_start_matches(is_bracket) == "#");
        let bare = word.trim_end_matches(is_bracket);
        if after_number && (UNITS.contains(&bare) || bare == "µs") {
            if let Some(last) = kept.last_mut() {
                last.push_str(&word[bare.len()..]);
            }
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_removed() {
        let table = [
            ("finished in 0.15s", "finished in #"),
            ("finished in 3 ms (12 tests)", "finished in # (# tests)"),
            ("took 1.5 s, then 900 ms", "took #, then #"),
            ("at src/lib.rs:15:23: boom", "at <path> boom"),
            ("see '/tmp/x91/log.txt'.", "see '<path>'."),
            ("GET http://127.0.0.1:8080/x", "GET <path>"),
            ("lib.rs:15:23", "lib.rs:#"),
            ("object at 0x7f97a8ab2550>", "object at #>"),
            ("deps calc-c6626fb655a8d231 done", "deps calc-# done"),
            ("id 234f303e-0105-45a0-993a-d106eec1cc79", "id #"),
            ("2026-12-01T04:17:31 error E0308", "#T# error E#"),
            ("thread 'main' (9481) panicked", "thread 'main' (#) panicked"),
            ("  left: 2\t right:   30", "left: # right: #"),
            ("no change here", "no change here"),
            ("a / b", "a / b"),
        ];
        for (given, expected) in table {
            assert_eq!(line(given), expected, "from `{given}`");
        }
    }

    #[test]
    fn equal_failures_have_equal_digests_and_other_failures_have_others() {
        let first = "Compiling a v0.1.0 (/work/a)\nCompiling b v0.1.0\n\nerror: boom at 0xff12 in 3.1s\n";
        let again = "Compiling b v0.1.0\nCompiling a v0.1.0 (/tmp/a)\nerror: boom at 0xab in 900ms";
        assert_eq!(digest(first), digest(again));
        assert_ne!(digest(first), digest(&first.replace("boom", "bang")));
        assert_ne!(digest(first), digest(&format!("{first}error: boom\n")));
        assert_ne!(digest("error: x\n"), digest("error: x\nerror: x\n"), "one failure more");
        assert_eq!(digest("").len(), 64);
    }

    #[test]
    fn only_the_end_of_a_flood_is_compared_and_it_begins_with_a_whole_line() {
        let flood = |n: usize| "y\n".repeat(n) + "error: boom\n";
        assert_eq!(digest(&flood(COMPARED)), digest(&flood(3 * COMPARED)));
        assert_eq!(digest(&("x".repeat(2 * COMPARED) + "\nend")), digest(&("z".repeat(5 * COMPARED) + "\nend")));
    }

    #[test]
    fn any_text_has_a_digest() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..500 {
            let text: String = (0..random.usize(..200)).map(|_| random.char(..)).collect();
            assert_eq!(digest(&text).len(), 64);
        }
    }
}
