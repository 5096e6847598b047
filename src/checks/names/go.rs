//! `go test`: `--- FAIL:` lines, and the line that ends each package.

use super::{Names, Read};

pub(super) fn read(text: &str) -> Read {
    if !text.lines().any(|line| line.starts_with(PACKAGE)) {
        return Read::Absent;
    }
    let mut names = Names::default();
    let mut tests: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with("panic: ") || line.starts_with("fatal error: ") {
            return Read::Cut;
        }
        if let Some(name) = failing(line) {
            tests.push(name);
        }
        let Some(rest) = line.strip_prefix(PACKAGE) else {
            continue;
        };
        let package = rest.split('\t').next().unwrap_or_default();
        if rest.contains('[') {
            // `[build failed]` or `[setup failed]`: a failure of the package as such.
            names.add(rest.trim());
        } else if tests.is_empty() {
            return Read::Cut;
        }
        tests.drain(..).for_each(|name| names.add(&format!("{package} {name}")));
    }
    if tests.is_empty() { names.if_at_least(0) } else { Read::Cut }
}

/// Begins the line that ends a failed package.
const PACKAGE: &str = "FAIL\t";

/// The name in `    --- FAIL: TestSum/negative (0.00s)`.
fn failing(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("--- FAIL: ")?;
    rest.rsplit_once(" (").filter(|(_, time)| time.ends_with("s)")).map(|(name, _)| name)
}
