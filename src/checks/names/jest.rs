//! jest: `FAIL file` headings, `● suite › test` titles, and the counts at the end.

use std::collections::BTreeSet;

use super::{MOST_NAMES, Names, Read, counted};

pub(super) fn read(text: &str) -> Read {
    let mut names = Names::default();
    let mut files: BTreeSet<&str> = BTreeSet::new();
    let mut file: Option<&str> = None;
    let (mut suites, mut tests) = (None::<usize>, None::<usize>);
    // Files that passed have no titles, so a `PASS` line (which anybody can print) changes nothing.
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("FAIL ") {
            file = Some(heading(path));
            files.extend(file.filter(|_| files.len() < MOST_NAMES));
        } else if let Some(list) = line.strip_prefix("Test Suites:") {
            suites = Some(suites.unwrap_or(0).saturating_add(counted(list, ',', "failed")));
        } else if let Some(list) = line.strip_prefix("Tests:") {
            tests = Some(tests.unwrap_or(0).saturating_add(counted(list, ',', "failed")));
        } else if let (Some(file), Some(title)) = (file, line.strip_prefix("  ● "))
            && title != "Console"
        {
            names.note(&format!("{file} › {title}"));
        }
    }
    match (suites, tests) {
        (None, None) => Read::Absent,
        (Some(suites), Some(tests)) if files.len() >= suites => {
            let broken = names.times.keys().filter(|name| name.ends_with(SUITE_BROKEN)).count();
            names.if_at_least(tests.saturating_add(broken))
        }
        (_, _) => Read::Cut,
    }
}

const SUITE_BROKEN: &str = "Test suite failed to run";

/// `./sum.test.js (5.2 s)` without the time.
fn heading(path: &str) -> &str {
    let path = path.trim();
    path.rsplit_once(" (").filter(|(_, time)| time.ends_with("s)")).map_or(path, |(path, _)| path)
}
