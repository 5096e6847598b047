//! JUnit XML, where a check prints its report.

use super::{Names, Read};

/// Deeper suites make the report count as not readable.
const DEEPEST: usize = 64;

pub(super) fn read(text: &str) -> Read {
    let mut report = Report::default();
    let mut rest = text;
    let mut seen = false;
    while let Some(at) = rest.find(if report.inside() { "<" } else { "<testsuite" }) {
        seen = true;
        rest = &rest[at..];
        let Some(length) = tag_length(rest) else {
            return Read::Cut;
        };
        report.tag(&rest[..length]);
        rest = &rest[length..];
    }
    match (seen, report.inside() || report.unbalanced) {
        (false, _) => Read::Absent,
        (true, true) => Read::Cut,
        (true, false) => {
            let expected = report.in_all.max(report.in_suites);
            report.names.if_at_least(expected)
        }
    }
}

#[derive(Default)]
struct Report {
    names: Names,
    /// The open `testsuites` and `testsuite` elements; `true` for the latter.
    open: Vec<bool>,
    unbalanced: bool,
    /// The failures that outermost `testsuite` elements count, and those that `testsuites` count.
    in_suites: usize,
    in_all: usize,
    case: Option<Case>,
}

struct Case {
    name: String,
    failed: bool,
    skipped: bool,
}

impl Report {
    fn tag(&mut self, tag: &str) {
        let closed = tag.ends_with("/>");
        let inner = tag.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/');
        match inner.split_whitespace().next().unwrap_or_default() {
            "testsuite" => self.begin_suite(inner, true, closed),
            "testsuites" => self.begin_suite(inner, false, closed),
            "/testsuite" | "/testsuites" => self.unbalanced |= self.open.pop().is_none() || self.case.is_some(),
            "testcase" => {
                self.unbalanced |= self.case.is_some();
                let class = attribute(inner, "classname").map(|class| format!("{class} ")).unwrap_or_default();
                let name = attribute(inner, "name").unwrap_or_default();
                self.case = Some(Case { name: format!("{class}{name}"), failed: false, skipped: false });
                if closed {
                    self.end_case();
                }
            }
            "/testcase" => self.end_case(),
            "failure" | "error" => {
                if let Some(case) = &mut self.case {
                    case.failed = true;
                }
            }
            "skipped" => {
                if let Some(case) = &mut self.case {
                    case.skipped = true;
                }
            }
            _other => {}
        }
    }

    fn inside(&self) -> bool {
        !self.open.is_empty()
    }

    fn begin_suite(&mut self, inner: &str, single: bool, closed: bool) {
        let count = |key| attribute(inner, key).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
        let counted = count("failures").saturating_add(count("errors"));
        if !single {
            self.in_all = self.in_all.saturating_add(counted);
        } else if !self.open.contains(&true) {
            self.in_suites = self.in_suites.saturating_add(counted);
        }
        self.unbalanced |= self.open.len() > DEEPEST;
        if !closed && !self.unbalanced {
            self.open.push(single);
        }
    }

    fn end_case(&mut self) {
        let Some(case) = self.case.take() else {
            self.unbalanced = true;
            return;
        };
        if case.failed && !case.skipped {
            self.names.add(&case.name);
        }
    }
}

/// How long the tag, comment or CDATA section at the start is; `None` if it does not end, or if it
/// swallows tags of the report: then somebody else printed its beginning.
fn tag_length(text: &str) -> Option<usize> {
    let length = if text.starts_with("<!--") {
        text.find("-->").map(|at| at + 3)
    } else if text.starts_with("<![CDATA[") {
        text.find("]]>").map(|at| at + 3)
    } else {
        plain_tag_length(text)
    }?;
    let inside = &text[1..length];
    let swallowed = ["<test", "</test", "<fail", "<error"].iter().any(|tag| inside.contains(tag));
    (!swallowed).then_some(length)
}

/// The `>` that ends a tag is the first one outside of quotes.
fn plain_tag_length(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (_, _) => {}
        }
    }
    None
}

fn attribute(inner: &str, key: &str) -> Option<String> {
    let mut rest = inner;
    loop {
        let (before, after) = rest.split_once('=')?;
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, behind) = after[1..].split_once(quote)?;
        if before.split_whitespace().last() == Some(key) {
            return Some(unescaped(value));
        }
        rest = behind;
    }
}

fn unescaped(value: &str) -> String {
    let plain = value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    plain.replace("&amp;", "&")
}
