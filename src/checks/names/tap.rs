//! TAP (node's runner, prove, tap): test points, their plans, and subtests by indentation.

use super::{Names, Read};
use crate::sandbox::WORK;

/// Deeper subtests make the output count as not readable.
const DEEPEST: usize = 64;

#[derive(Default)]
struct Output {
    names: Names,
    /// Whether a version line says that this is TAP.
    versioned: bool,
    /// The `# Subtest:` names that lead to the current depth.
    path: Vec<String>,
    /// Outermost points, and how many were planned; several programs add up.
    points: usize,
    planned: Option<usize>,
    /// Where the details of a point are indented to, which are YAML and may quote anything.
    details: Option<usize>,
    /// The last failing point, whose file its details may tell.
    last: Option<String>,
    given_up: bool,
}

pub(super) fn read(text: &str) -> Read {
    let mut output = Output::default();
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = &line[indent..];
        if !output.in_details(indent, line) {
            output.take(indent, line);
        }
    }
    output.end_point("");
    let is_tap = output.versioned || (output.planned.is_some() && output.points > 0);
    let complete = !output.given_up && output.planned == Some(output.points);
    match (is_tap, complete) {
        (false, _) => Read::Absent,
        (true, false) => Read::Cut,
        (true, true) => output.names.if_at_least(0),
    }
}

impl Output {
    fn in_details(&mut self, indent: usize, line: &str) -> bool {
        match self.details {
            Some(at) if indent == at && line == "..." => self.details = None,
            Some(at) if indent == at => {
                if let Some(place) = line.strip_prefix("location: '") {
                    self.end_point(file_of(place));
                }
            }
            Some(_) => {}
            None if indent % 4 == 2 && line == "---" => self.details = Some(indent),
            None => return false,
        }
        true
    }

    fn take(&mut self, indent: usize, line: &str) {
        let depth = indent / 4;
        if let Some(name) = line.strip_prefix("# Subtest: ") {
            self.given_up |= depth >= DEEPEST;
            self.path.truncate(depth);
            self.path.resize(depth.min(DEEPEST), String::new());
            self.path.push(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("not ok") {
            self.end_point("");
            self.points += usize::from(indent == 0);
            self.last = (!is_excused(rest)).then(|| self.full_name(depth, rest));
        } else if line == "ok" || line.starts_with("ok ") {
            self.points += usize::from(indent == 0);
        } else if let (0, Some(plan)) = (indent, plan(line)) {
            self.planned = Some(self.planned.unwrap_or(0).saturating_add(plan));
        } else if indent == 0 {
            self.versioned |= line.starts_with("TAP version ");
            self.given_up |= line.starts_with("Bail out!");
        }
    }

    /// Keeps the last failing point, with the file that it is in if that is known.
    fn end_point(&mut self, file: &str) {
        if let Some(name) = self.last.take() {
            self.names.add(&if file.is_empty() { name } else { format!("{file}: {name}") });
        }
    }

    fn full_name(&self, depth: usize, rest: &str) -> String {
        let rest = rest.trim_start();
        let described = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let described = described.strip_prefix("- ").unwrap_or(described);
        let own = if described.is_empty() { rest } else { described };
        let above = self.path.iter().take(depth).map(String::as_str);
        above.chain([own]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ")
    }
}

/// The number in `1..7`, perhaps with a comment behind.
fn plan(line: &str) -> Option<usize> {
    line.strip_prefix("1..")?.split([' ', '#']).next()?.parse().ok()
}

/// A `# TODO` or `# SKIP` point is expected to fail.
fn is_excused(rest: &str) -> bool {
    let directive = rest.rsplit_once(" # ").map(|(_, word)| word.trim_start().to_ascii_lowercase());
    directive.is_some_and(|word| word.starts_with("todo") || word.starts_with("skip"))
}

/// `/work/test/a.test.js:3:1'` is in `test/a.test.js`; lines move with every edit above them.
fn file_of(place: &str) -> &str {
    let path = place.trim_end_matches('\'').trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    path.strip_prefix(WORK).and_then(|path| path.strip_prefix('/')).unwrap_or(path)
}
