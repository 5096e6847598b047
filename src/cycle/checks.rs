//! What a check is, what running it showed, and what that means against the baseline.
//!
//! Everything here is a value or a rule about values. How output becomes names and digests is the
//! business of the `checks` port; the rules here only compare what it recorded.

mod judge;
mod verification;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use judge::{Cause, Outcome, baseline_problems, judge};
pub use verification::{Judged, Runs, Standing, Verification, VerificationResult};

/// What a check is for. The order of the variants is the order in which checks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The project is built.
    Build,
    /// Types are checked without building.
    Typecheck,
    /// Style and likely mistakes.
    Lint,
    /// The project's tests.
    Test,
    /// Whatever else a repository wants to hold.
    Other,
}

impl Kind {
    /// Every kind, in the order in which checks run.
    pub const ALL: [Self; 5] = [Self::Build, Self::Typecheck, Self::Lint, Self::Test, Self::Other];

    /// The word for it in configuration and on pages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Typecheck => "typecheck",
            Self::Lint => "lint",
            Self::Test => "test",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a check is part of a run; never the tree that an agent left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Given for this run alone.
    Override,
    /// From the repository's settings page.
    Settings,
    /// From `.countersign.toml` on the base commit.
    File,
    /// Found in the base tree.
    Detected {
        /// What was found, as a sentence for people.
        why: String,
    },
}

/// One command of the repository that the service runs and whose exit status is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Unique among the checks of a run.
    pub name: String,
    /// What it is for; decides when it runs.
    pub kind: Kind,
    /// Run by `sh -c`.
    pub command: String,
    /// Relative to the work tree; empty for its root.
    pub directory: String,
    /// Wall-clock seconds after which it is killed and counts as failed.
    pub time_limit_s: u32,
    /// Whether its failure stands in the way of acceptance.
    pub required: bool,
    /// Why it is here.
    pub source: Source,
}

/// Puts checks into the order in which they run: by kind, and as they were given within a kind.
pub fn in_running_order(checks: &mut [Check]) {
    checks.sort_by_key(|check| check.kind);
}

/// How one attempt ended, as the sandbox told it; never read from what was printed.
///
/// A check that waits for input needs no variant of its own: its standard input is at the end and
/// it has no terminal, so it ends by its own exit status or by its time limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// It exited with this status.
    Exit(i32),
    /// A signal ended it that was neither our time limit nor the memory limit.
    Signal(i32),
    /// Its own time limit was reached.
    TimedOut,
    /// Something in its sandbox was killed for memory while it ran.
    OutOfMemory {
        /// The sandbox's limit in bytes.
        limit: u64,
    },
    /// The run's wall clock was used up before it ended or could begin.
    CutByClock,
    /// The sandbox failed, which says nothing about the check.
    SandboxFault(String),
}

/// One time that a check was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// How it ended.
    pub end: AttemptEnd,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// The failing tests by name; `None` if the output did not tell all of them. An empty set says
    /// nothing about a failure and counts as `None`.
    pub failing: Option<BTreeSet<String>>,
    /// Of the failure output with numbers, paths, durations and addresses removed; empty if it passed.
    pub digest: String,
    /// The end of the combined output as text, at most 64 KiB.
    pub tail: String,
    /// Where the full log is kept, if it could be.
    pub log: Option<String>,
}

impl Attempt {
    /// Whether the check held: it exited with 0.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.end == AttemptEnd::Exit(0)
    }

    /// Whether the shell said that the command is missing (127) or cannot be executed (126).
    #[must_use]
    pub fn command_missing(&self) -> bool {
        matches!(self.end, AttemptEnd::Exit(126 | 127))
    }

    /// The failing tests that this attempt names, if it ended by itself and named any.
    #[must_use]
    pub fn named_failures(&self) -> Option<&BTreeSet<String>> {
        let ended_by_itself = matches!(self.end, AttemptEnd::Exit(code) if code != 0) && !self.command_missing();
        self.failing.as_ref().filter(|names| ended_by_itself && !names.is_empty())
    }

    fn told_nothing(&self) -> Option<Cause> {
        match &self.end {
            AttemptEnd::CutByClock => Some(Cause::Clock),
            AttemptEnd::SandboxFault(fault) => Some(Cause::Sandbox { fault: fault.clone() }),
            AttemptEnd::Exit(_) | AttemptEnd::Signal(_) | AttemptEnd::TimedOut | AttemptEnd::OutOfMemory { .. } => None,
        }
    }
}

/// All attempts of one check on one tree, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// The check's name.
    pub check: String,
    /// In the order in which they were made.
    pub attempts: Vec<Attempt>,
    /// Whether the tree's hash differed after the check: reported, no failure by itself.
    pub changed_tracked_files: bool,
}

/// Whether failures that were there before count like new ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrictBaseline {
    /// A pre-existing failure is shown and does not block.
    #[default]
    Off,
    /// A pre-existing failure of a required check blocks.
    On,
}
