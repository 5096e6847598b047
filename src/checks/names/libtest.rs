//! `cargo test`: one part per test program, from `running N tests` to `test result:`.

use super::{MOST_NAMES, Names, Read, counted};

#[derive(Default)]
struct Part {
    names: Vec<String>,
    /// Inside the list of names that ends a failing part.
    listing: bool,
}

pub(super) fn read(text: &str) -> Read {
    let mut names = Names::default();
    let mut open: Option<Part> = None;
    let mut unlabelled: Vec<String> = Vec::new();
    let (mut seen, mut previous) = (false, "");
    for line in text.lines() {
        if is_start(line) {
            flush(&mut names, &mut unlabelled, "");
            if open.replace(Part::default()).is_some() {
                return Read::Cut;
            }
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            let Some(part) = open.take() else {
                return Read::Cut;
            };
            if part.names.len() < failed(counts) {
                return Read::Cut;
            }
            seen = true;
            unlabelled = part.names;
        } else if let Some(target) = target(line) {
            flush(&mut names, &mut unlabelled, target);
        } else if crashed(line) {
            return Read::Cut;
        } else if let Some(part) = &mut open {
            part.take(line, previous);
        }
        previous = line;
    }
    flush(&mut names, &mut unlabelled, "");
    match (seen, open) {
        (_, Some(_)) => Read::Cut,
        (false, None) => Read::Absent,
        (true, None) => names.if_at_least(0),
    }
}

impl Part {
    /// A list of names follows `failures:` directly, details follow after an empty line. Once begun,
    /// a list goes on to the end of the part, so that nothing printed into it hides the rest.
    fn take(&mut self, line: &str, previous: &str) {
        let Some(name) = line.strip_prefix("    ").filter(|name| !name.is_empty()) else {
            return;
        };
        self.listing |= previous == "failures:";
        if self.listing && self.names.len() <= MOST_NAMES {
            self.names.push(without_line_number(name).to_owned());
        }
    }
}

fn flush(names: &mut Names, found: &mut Vec<String>, target: &str) {
    for name in found.drain(..) {
        names.add(&if target.is_empty() { name } else { format!("{name} ({target})") });
    }
}

fn is_start(line: &str) -> bool {
    let rest = line.strip_prefix("running ").and_then(|rest| rest.split_once(' '));
    rest.is_some_and(|(n, what)| n.parse::<usize>().is_ok() && matches!(what, "test" | "tests"))
}

/// `FAILED. 1 passed; 3 failed; …` says 3.
fn failed(counts: &str) -> usize {
    counts.split_once(". ").map_or(usize::MAX, |(_, list)| counted(list, ';', "failed"))
}

/// Cargo names the program that failed after its output: ``error: test failed, to rerun pass `--lib` ``.
fn target(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("error: ")?;
    let rest = rest.strip_prefix("doc").unwrap_or(rest).strip_prefix("test failed, to rerun pass ")?;
    Some(rest.trim_matches(['`', '\'']))
}

fn crashed(line: &str) -> bool {
    line.starts_with("error: could not compile") || line.starts_with("  process didn't exit successfully: ")
}

/// A documentation test is named by its line, which moves with every edit above it.
fn without_line_number(name: &str) -> &str {
    name.rsplit_once(" (line ").filter(|(_, rest)| rest.ends_with(')')).map_or(name, |(name, _)| name)
}
