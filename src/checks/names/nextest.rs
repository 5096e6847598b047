//! `cargo nextest run`: the list that follows its `Summary` line.

use super::{Names, Read, counted};

pub(super) fn read(text: &str) -> Read {
    let begun = text.lines().filter(|line| is_start(line)).count();
    let mut names = Names::default();
    let (mut summaries, mut expected) = (0, 0_usize);
    for line in text.lines() {
        if let Some(list) = summary(line) {
            let Some(failed) = failed(list) else {
                return Read::Cut;
            };
            summaries += 1;
            expected = expected.saturating_add(failed);
        } else if let (true, Some(name)) = (summaries > 0, failing(line)) {
            names.note(name);
        }
    }
    match (begun, summaries) {
        (0, 0) => Read::Absent,
        (begun, summaries) if begun == summaries => names.if_at_least(expected),
        (_, _) => Read::Cut,
    }
}

fn is_start(line: &str) -> bool {
    line.trim_start().strip_prefix("Starting ").is_some_and(|rest| rest.contains(" across "))
}

fn summary(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("Summary [")?.split_once("] ").map(|(_, list)| list)
}

/// The failures that `6 tests run: 2 passed, 3 failed, 1 timed out` counts; `None` if tests were left out.
fn failed(list: &str) -> Option<usize> {
    let (run, list) = list.split_once(" run: ")?;
    if run.split_once(' ')?.0.contains('/') {
        return None;
    }
    let words = ["failed", "timed out", "exec failed"];
    Some(words.iter().map(|word| counted(list, ',', word)).fold(0, usize::saturating_add))
}

/// The name in `FAIL [   0.007s] (2/6) calc tests::adds`, whichever way it failed.
fn failing(line: &str) -> Option<&str> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let name = rest.split_once("] ")?.1;
    let name = name.split_once(") ").filter(|(count, _)| count.starts_with('(')).map_or(name, |(_, name)| name);
    let held = ["PASS", "LEAK", "SKIP", "SLOW", "FLAKY"];
    let is_status = status.starts_with(|c: char| c.is_ascii_uppercase())
        && status.chars().all(|c| c.is_ascii_uppercase() || "0123456789/ -+".contains(c));
    (is_status && !held.iter().any(|word| status.split(' ').any(|part| part == *word))).then(|| name.trim())
}
