//! The timeline of a run: groups (before the passes, each pass, delivery) of steps, and what a step shows.

use crate::web::diff::Diff;
use crate::web::output::Output;
use crate::web::prose::{Line, Prose};
use crate::web::view::{Badge, Claim, Hash, Tone};
use crate::web::words::When;

/// Steps that belong together.
#[derive(Debug, Clone)]
pub struct Group {
    /// The fragment that leads here: `prepare`, `pass-2`, `delivery`.
    pub anchor: String,
    /// `Pass 2`.
    pub title: String,
    /// How it ended, in a word: `sent back`, `accepted`, `not reviewed`, `crashed`.
    pub badge: Badge,
    /// Why, in a few words: `F1 and one failing check went back`.
    pub gist: Option<Line>,
    /// What it cost; `None` where nothing was asked of a model.
    pub money: Option<String>,
    /// How long it took.
    pub took: Option<String>,
    /// The tree that it left.
    pub tree: Option<Hash>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// Shown unfolded.
    pub open: bool,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// The number of its first event: the fragment `event-12` leads here.
    pub event: u64,
    /// How it went.
    pub tone: Tone,
    /// What was done: `Did the work`, `Ran the checks`, `Reviewed the work`, `Fixed what the review found`.
    pub title: String,
    /// Its result, in a word.
    pub badge: Option<Badge>,
    /// When it began.
    pub began: When,
    /// How long it took; `None` while it goes on.
    pub took: Option<String>,
    /// What it used: `$0.28 · 31k tokens`, or who did it: `service, not agent`.
    pub used: Vec<String>,
    /// What it shows, in order.
    pub parts: Vec<Part>,
}

/// Something a step shows.
#[derive(Debug, Clone)]
pub enum Part {
    /// What was really done: tool calls, exit codes, ids.
    Facts(Facts),
    /// What an agent says.
    Claim(Claim),
    /// What the service found, in a sentence.
    Note(Note),
    /// The checks of this step.
    Checks(Vec<Check>),
    /// What the reviewer ruled about earlier findings.
    Rulings(Vec<Ruling>),
    /// The findings that hold.
    Findings(Vec<Finding>),
    /// What was kept but opens nothing: late and low findings.
    Remarks(Vec<Remark>),
    /// What was discarded unread.
    Discarded(Vec<Discarded>),
    /// The text that a command or a setup step printed.
    Printed(Printed),
    /// A diff.
    Diff(Diff),
}

/// Recorded deeds, the first few at once and the rest unfolded on demand.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Shown at once.
    pub first: Vec<Fact>,
    /// Unfolded on demand.
    pub rest: Vec<Fact>,
}

impl Facts {
    /// How many are shown at once.
    pub const AT_ONCE: usize = 6;

    /// Takes them in the order they happened.
    #[must_use]
    pub fn new(mut all: Vec<Fact>) -> Self {
        let rest = all.split_off(all.len().min(Self::AT_ONCE));
        Self { first: all, rest }
    }
}

/// One recorded deed.
#[derive(Debug, Clone)]
pub struct Fact {
    /// `edit src/split.rs`, `ran cargo test`.
    pub text: String,
    /// What came of it: `+14 −6`, `→ 0`.
    pub result: String,
    /// `Bad` where it failed, else `Plain`.
    pub tone: Tone,
}

/// A sentence of the service.
#[derive(Debug, Clone)]
pub struct Note {
    /// Its tone.
    pub tone: Tone,
    /// The sentence.
    pub text: Line,
}

/// One check of one verify step.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The command line.
    pub command: String,
    /// Its outcome in a word: `passed`, `regressed`, `failed before too`, `flaky`, `could not run`.
    pub outcome: Badge,
    /// Whether it can hold up a pass.
    pub required: bool,
    /// How it ended: `exit 101`, `killed by signal 9`, `over its time limit`; empty where it never ran.
    pub end: String,
    /// How long it took.
    pub took: String,
    /// Why it could not run, or what else is worth a sentence.
    pub note: Option<Line>,
    /// The tests that fail now and did not at the baseline.
    pub newly_failing: Vec<String>,
    /// What it printed last; shown on demand.
    pub output: Option<Output>,
}

/// What a review said about an earlier finding.
#[derive(Debug, Clone)]
pub struct Ruling {
    /// The finding: `F1`.
    pub id: String,
    /// `closed`, `still open`.
    pub ruled: Badge,
    /// What the reviewer bases it on.
    pub evidence: Prose,
}

/// An objection that holds, and what became of it.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The id that the service gave it: `F1`.
    pub id: String,
    /// What the id stands for: `blocker`, `high`, `medium`, `low` for a finding, else `check` or `remark`.
    pub kind: String,
    /// Where it points: `src/split.rs:41` or a command line.
    pub cites: String,
    /// Who raised it and when: `reviewer, pass 1`.
    pub raised: String,
    /// What became of it: `closed in pass 2`, `still open`, `disputed`.
    pub fate: Badge,
    /// The reviewer's words, or the service's for a failing check.
    pub text: Prose,
    /// What the cited command printed when the service ran it.
    pub evidence: Option<Output>,
    /// What the implementer answered.
    pub answer: Option<Answer>,
    /// The last ruling of a review on it.
    pub ruling: Option<Ruling>,
}

/// The implementer's answer to a finding: a claim.
#[derive(Debug, Clone)]
pub struct Answer {
    /// `says it is fixed`, `disputes it`.
    pub says: String,
    /// What decides in its place: `the check`, `the reviewer`.
    pub judge: &'static str,
    /// Its words.
    pub text: Prose,
}

/// A finding that was kept and opens nothing.
#[derive(Debug, Clone)]
pub struct Remark {
    /// Why it opens nothing: `late`, `low`.
    pub why: String,
    /// Where it points.
    pub cites: String,
    /// The reviewer's words.
    pub text: Prose,
}

/// A finding that did not hold.
#[derive(Debug, Clone)]
pub struct Discarded {
    /// Where it pointed; empty where it cited nothing.
    pub cites: String,
    /// Why it was discarded: `src/split.rs has 40 lines, line 90 does not exist`.
    pub reason: String,
}

/// Printed text under a title.
#[derive(Debug, Clone)]
pub struct Printed {
    /// What printed it.
    pub title: String,
    /// The text.
    pub output: Output,
}
