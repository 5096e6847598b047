//! pytest: the short test summary and the line of counts that ends a session.

use super::{Names, Read};

pub(super) fn read(text: &str) -> Read {
    let mut names = Names::default();
    let (mut begun, mut ended, mut expected) = (0_usize, 0_usize, 0_usize);
    let mut summary = false;
    for line in text.lines() {
        if is_banner(line, "test session starts") {
            begun += 1;
        } else if is_banner(line, "short test summary info") {
            summary = true;
        } else if (begun > 0 || summary) && line.starts_with("!!!!") {
            return Read::Cut;
        } else if let Some(failed) = counts(line) {
            summary = false;
            ended += 1;
            expected = expected.saturating_add(failed);
        } else if let (true, Some(name)) = (summary, failing(line)) {
            names.note(name);
        }
    }
    match (begun, ended) {
        (0, 0) => Read::Absent,
        (begun, ended) if ended >= begun => names.if_at_least(expected),
        (_, _) => Read::Cut,
    }
}

fn is_banner(line: &str, title: &str) -> bool {
    line.starts_with('=') && line.trim_matches('=').trim() == title
}

/// The failures and errors in `=== 4 failed, 1 passed, 1 error in 0.05s ===`; quiet mode has no `=`.
fn counts(line: &str) -> Option<usize> {
    let (list, time) = line.trim_matches('=').trim().rsplit_once(" in ")?;
    if !time.split(' ').next()?.strip_suffix('s')?.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let items = list.split(", ").map(|item| {
        let (n, word) = item.split_once(' ')?;
        Some((n.parse::<usize>().ok()?, word))
    });
    let items: Vec<_> = items.collect::<Option<_>>()?;
    if items.iter().any(|(_, word)| !WORDS.contains(word)) {
        return None;
    }
    let failing = items.iter().filter(|(_, word)| matches!(*word, "failed" | "error" | "errors"));
    Some(failing.map(|(n, _)| *n).fold(0, usize::saturating_add))
}

const WORDS: [&str; 12] = [
    "failed",
    "error",
    "errors",
    "passed",
    "skipped",
    "deselected",
    "xfailed",
    "xpassed",
    "warning",
    "warnings",
    "rerun",
    "subtests passed",
];

/// `FAILED tests/test_a.py::test_bad[a - b] - assert …` names up to the reason, which a parameter may look like.
fn failing(line: &str) -> Option<&str> {
    let id = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
    let parameter = id.find('[');
    let reason = id.find(" - ");
    match (parameter, reason) {
        (Some(open), reason) if reason.is_none_or(|reason| open < reason) => {
            Some(id[open..].find("] - ").map_or(id, |close| &id[..=open + close]))
        }
        (_, Some(reason)) => Some(&id[..reason]),
        (_, None) => Some(id),
    }
}
