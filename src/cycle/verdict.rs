//! A reviewer's answer as a value: what it decided, or why nobody can say.
//!
//! Owns the form of the verdict and its limits. Does not know whether a citation holds, whether the digest is the
//! right one or whether an id exists: that is found out by those who hold the tree and the ledger.
//!
//! Text that cannot be read is never an approval and never a rejection, so [`Reading`] has a name of its own for it.

mod cite;
pub(in crate::cycle) mod fences;
pub(in crate::cycle) mod json;
pub(in crate::cycle) mod parts;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use cite::{Citation, Uncited};

/// What a reviewer decided about one tree. Texts hold at most 8 KiB (evidence for criteria 2 KiB) and no NUL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the reviewer approves; never a default.
    pub approved: bool,
    /// The proof that the diff was read, as the reviewer copied it; empty if it gave none.
    pub digest: String,
    /// The review in the reviewer's own words.
    pub summary: String,
    /// The objections, in the reviewer's order, at most 200.
    pub findings: Vec<Finding>,
    /// What became of earlier obligations: at most one ruling per id, sorted by id.
    pub rulings: Vec<Ruling>,
    /// What holds of the run's criteria: at most one ruling per id, sorted by id.
    pub criteria: Vec<CriterionRuling>,
    /// 0–100, if one was given; it is shown and decides nothing.
    pub score: Option<u8>,
}

/// One objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is; `Medium` where the reviewer used no word of ours.
    pub severity: Severity,
    /// Where it points, well formed but not yet looked at, or why there is nothing to look at.
    pub citation: Result<Citation, Uncited>,
    /// What is wrong.
    pub text: String,
    /// How the reviewer knows.
    pub evidence: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The work is wrong as it stands.
    Blocker,
    /// It breaks something that matters.
    High,
    /// It should be put right.
    Medium,
    /// Under approval a remark, in a rejection an objection like others.
    Low,
}

impl Finding {
    /// What it cites, as it is written; empty if there is nothing to look at.
    #[must_use]
    pub fn cites(&self) -> String {
        self.citation.as_ref().map_or_else(|_| String::new(), ToString::to_string)
    }
}

impl Severity {
    /// The word for it, as a reviewer writes it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Blocker => "blocker",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// What a reviewer says became of one obligation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// The obligation, such as `F1`; 1–32 bytes, upper case, not known to exist.
    pub id: String,
    /// The ruling.
    pub ruling: RulingKind,
    /// Why; for [`RulingKind::Met`] this is its evidence. May be empty.
    pub note: String,
}

/// The rulings there are: the first two on a reviewer's own finding, the others on a person's remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RulingKind {
    /// The finding is dealt with.
    Closed,
    /// The finding stands.
    StillOpen,
    /// The remark was followed.
    Met,
    /// The remark was not followed.
    NotMet,
    /// The reviewer cannot tell whether the remark was followed.
    CannotJudge,
}

impl RulingKind {
    /// The ruling as pages and pull requests call it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::StillOpen => "still open",
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::CannotJudge => "could not judge",
        }
    }
}

/// What a reviewer says of one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionRuling {
    /// The criterion, such as `C1`; 1–32 bytes, upper case, not known to exist.
    pub id: String,
    /// The status. A pass without evidence, a word of the reviewer's own or two that contradict are `Unknown`.
    pub status: CriterionStatus,
    /// How the reviewer knows; not empty where the status is `Pass`.
    pub evidence: String,
}

/// Whether a criterion holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriterionStatus {
    /// It holds, with evidence.
    Pass,
    /// It does not hold.
    Fail,
    /// Nobody can say.
    Unknown,
}

/// What came of reading an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// There is exactly one verdict.
    Verdict(Verdict),
    /// There is none: neither an approval nor a rejection.
    None {
        /// What is wrong with the answer.
        why: Unreadable,
    },
}

/// Why an answer holds no verdict. The text is one sentence to the agent: what was wrong and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unreadable {
    /// Nothing in the answer is meant as a verdict.
    NoVerdict,
    /// A code fence of the last message is never closed, so the message may have been cut.
    UnclosedFence,
    /// The JSON has a mistake in it.
    NotJson {
        /// Line of the mistake inside the JSON, from 1.
        line: usize,
        /// Column of the mistake in bytes, from 1; 0 where a line is missing as a whole.
        column: usize,
    },
    /// There is no `approved`, or it is neither `true` nor `false`.
    MissingApproved,
    /// There are several verdicts and they do not agree.
    Contradiction,
    /// The verdict, or the message it would stand in, is longer than 1 MiB.
    TooLarge,
    /// Lists and objects are nested more than 16 deep.
    TooDeep,
    /// An object has the same key twice, so it says two things at once.
    DuplicateKey {
        /// The key, at most 80 bytes of it.
        key: String,
    },
}

impl Unreadable {
    fn duplicate_key(key: &str) -> Self {
        Self::DuplicateKey { key: parts::cut(key, 80) }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVerdict => f.write_str(
                "The answer holds no verdict: call the verdict tool once, or end with one JSON object in a ```json fence.",
            ),
            Self::UnclosedFence => f.write_str(
                "A code fence in the answer is never closed: send the whole verdict again, with a line of ``` before and after it.",
            ),
            Self::NotJson { line, column } => write!(
                f,
                "The verdict is not valid JSON (line {line}, column {column}): send one object, with all texts in double quotes, line breaks written as \\n, and no comma after the last entry.",
            ),
            Self::MissingApproved => f.write_str(
                "The verdict does not say whether you approve: its top level needs \"approved\": true or \"approved\": false, without quotes around the value.",
            ),
            Self::Contradiction => f.write_str(
                "The answer holds verdicts that contradict one another: send exactly one, which says all that you mean.",
            ),
            Self::TooLarge => f.write_str("The verdict is too long: keep it under 1 MiB, and each text in it under 8 KiB."),
            Self::TooDeep => f.write_str("The verdict is nested too deep: lists and objects may nest 16 deep, and three are enough."),
            Self::DuplicateKey { key } => {
                write!(f, "The verdict has the key {key:?} twice in one object: give each key once, with the value that you mean.")
            }
        }
    }
}

impl std::error::Error for Unreadable {}

/// Reads the verdict of a review's last turn: from the `verdict` tool's arguments in the order of the calls, or, if it
/// was not called, from JSON in the last message.
///
/// - A tool call decides. One that could not be read is put right by a later one that can; those that can be read must
///   agree, and a verdict in the last message must not say otherwise.
/// - In the last message, blocks fenced as `json`, and plain ones that begin with `{`, are looked at, or the whole
///   message if it is one object. All that are verdicts must agree; one that is meant as a verdict and cannot be read
///   voids the others.
/// - Verdicts agree if they differ at most in summary and score, which decide nothing.
#[must_use]
pub fn read(tool_calls: &[String], last_message: &str) -> Reading {
    let verdict = if tool_calls.is_empty() {
        from_message(last_message)
    } else {
        from_calls(tool_calls).and_then(|verdict| unless_denied(verdict, last_message))
    };
    verdict.map_or_else(|why| Reading::None { why }, Reading::Verdict)
}

fn from_calls(calls: &[String]) -> Result<Verdict, Unreadable> {
    let mut verdict = None;
    let mut refused = None;
    for call in calls {
        match parts::verdict(call) {
            Ok(next) => {
                verdict = Some(agreed(verdict, next)?);
                refused = None;
            }
            Err(why) => refused = Some(why),
        }
    }
    refused.map_or_else(|| verdict.ok_or(Unreadable::NoVerdict), Err)
}

fn from_message(message: &str) -> Result<Verdict, Unreadable> {
    if message.len() > json::MOST_BYTES {
        return Err(Unreadable::TooLarge);
    }
    let found = fences::objects(message).ok_or(Unreadable::UnclosedFence)?;
    let mut verdict = None;
    let mut other = None;
    for text in found.objects {
        match parts::verdict(text) {
            Ok(next) => verdict = Some(agreed(verdict, next)?),
            Err(why) if text.to_ascii_lowercase().contains("approved") => return Err(why),
            // JSON about something else, such as a quoted file.
            Err(why) => other = other.or(Some(why)),
        }
    }
    let verdict = verdict.ok_or_else(|| other.unwrap_or(Unreadable::NoVerdict))?;
    let denied = found.prose.iter().any(|text| says_approved(text, !verdict.approved));
    if denied { Err(Unreadable::Contradiction) } else { Ok(verdict) }
}

/// The later of two verdicts if they agree; equal ones are one.
fn agreed(earlier: Option<Verdict>, next: Verdict) -> Result<Verdict, Unreadable> {
    let contradicted = earlier.is_some_and(|earlier| !agree(&earlier, &next));
    if contradicted { Err(Unreadable::Contradiction) } else { Ok(next) }
}

fn agree(a: &Verdict, b: &Verdict) -> bool {
    a.approved == b.approved
        && a.digest == b.digest
        && a.findings == b.findings
        && a.rulings == b.rulings
        && a.criteria == b.criteria
}

/// A tool's verdict, unless the last message says otherwise. To say less there, or nothing readable, is no denial.
fn unless_denied(verdict: Verdict, last_message: &str) -> Result<Verdict, Unreadable> {
    match from_message(last_message) {
        Ok(said) if denies(&said, &verdict) => Err(Unreadable::Contradiction),
        Err(Unreadable::Contradiction) => Err(Unreadable::Contradiction),
        Ok(_) | Err(_) => Ok(verdict),
    }
}

fn denies(said: &Verdict, verdict: &Verdict) -> bool {
    let other_ruling = |r: &Ruling| verdict.rulings.iter().any(|v| v.id == r.id && v.ruling != r.ruling);
    let other_status = |c: &CriterionRuling| verdict.criteria.iter().any(|v| v.id == c.id && v.status != c.status);
    said.approved != verdict.approved || said.rulings.iter().any(other_ruling) || said.criteria.iter().any(other_status)
}

/// Whether text outside every fence has `"approved": <value>` in it: bare JSON beside the fenced one.
fn says_approved(text: &str, value: bool) -> bool {
    let value = if value { "true" } else { "false" };
    text.match_indices("\"approved\"").any(|(at, key)| {
        let after = text[at + key.len()..].trim_start().strip_prefix(':');
        after.is_some_and(|after| after.trim_start().starts_with(value))
    })
}
