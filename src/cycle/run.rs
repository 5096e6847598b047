//! The aggregate: one run as the fold of its events.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::checks::{
    Cause, Check, CheckRun, Outcome as CheckOutcome, Runs, StrictBaseline, Verification, VerificationResult,
};
use super::event::Event;
use super::id::{RunId, TreeId};
use super::issue::Issue;
use super::ledger::{Ledger, Movement, Remark};
use super::money::Money;
use super::outcome::{Failure, Outcome};
use super::policy::Policy;
use super::step::{Allowance, Change, Delivered, Preparation, Reviewed, Step, Written};

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Between two steps.
    Ready,
    /// A step is in flight.
    Busy {
        /// Which one.
        step: Step,
        /// What it may use.
        allowance: Allowance,
        /// The number of the fact that began it.
        seq: u64,
    },
}

/// How far the delivery of a decided run has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Not due.
    None,
    /// Begun, or due.
    Pending,
    /// Branch and pull request are there.
    Done {
        /// The pull request's number.
        pull_request: u64,
        /// The commit that was pushed.
        commit: super::id::CommitId,
    },
    /// Given up.
    Failed {
        /// In a person's words.
        cause: String,
    },
}

/// One trip round the loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// From 1.
    pub number: u8,
    /// What the writing step left.
    pub written: Option<Written>,
    /// The checks on its tree, and their outcomes.
    pub verification: Option<Verified>,
    /// The review.
    pub review: Option<Reviewed>,
    /// What happened to the ledger.
    pub movement: Movement,
    /// Whether it costs no pass: nothing but disputes.
    pub is_free: bool,
    /// Money spent in it.
    pub spent: Money,
}

/// A verify step's raw runs and what they mean against the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Each check's attempts.
    pub runs: Vec<CheckRun>,
    /// Each check's outcome, on exactly this tree.
    pub result: Verification,
    /// How often the step was performed: a check that could not run is tried once more.
    pub tries: u8,
}

impl Verified {
    /// Whether the run's clock kept a required check from running.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        let cut = CheckOutcome::CouldNotRun { cause: Cause::Clock };
        self.result.could_not_run().any(|judged| judged.outcome == cut)
    }

    /// Whether every required check ran: partial verification is no verification.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.result.could_not_run().next().is_none()
    }
}

impl Pass {
    pub(super) fn new(number: u8) -> Self {
        Self {
            number,
            written: None,
            verification: None,
            review: None,
            movement: Movement::default(),
            is_free: false,
            spent: Money::ZERO,
        }
    }

    /// The tree that the writing step left, whole or cut.
    #[must_use]
    pub fn change(&self) -> Option<&Change> {
        match self.written.as_ref()? {
            Written::Done { change, .. } => Some(change),
            Written::Cut { change, .. } | Written::Crashed { change, .. } => change.as_ref(),
        }
    }

    /// The tree that the verify step ran on, if every required check ran.
    #[must_use]
    pub fn verified_change(&self) -> Option<&Change> {
        let verified = self.verification.as_ref()?;
        self.change().filter(|change| verified.is_whole() && verified.result.tree == change.tree)
    }

    /// Tree and verification result: what is compared between passes. `None` if the checks did not all run.
    #[must_use]
    pub fn fingerprint(&self) -> Option<(TreeId, VerificationResult)> {
        let change = self.verified_change()?;
        self.verification.as_ref().map(|v| (change.tree.clone(), v.result.result()))
    }
}

/// One run. Built from its events only; see [`Run::apply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// What is wanted.
    pub issue: Issue,
    /// The frozen rules.
    pub policy: Policy,
    /// Where it is.
    pub phase: Phase,
    /// What `prepare` found.
    pub preparation: Option<Preparation>,
    /// The checks on the base.
    pub baseline: Option<Vec<CheckRun>>,
    /// The passes so far.
    pub passes: Vec<Pass>,
    /// The obligations.
    pub ledger: Ledger,
    /// Findings that hold and open nothing.
    pub remarks: Vec<Remark>,
    /// Money spent, unsettled reservations of ended steps included.
    pub spent: Money,
    /// The run's clock at the last fact that read it.
    #[serde(with = "super::policy::millis")]
    pub used: Duration,
    /// Who asked to end it.
    pub cancel: Option<String>,
    /// The outcome, once decided.
    pub outcome: Option<Outcome>,
    /// Whether delivery has begun: the cut-off for remarks and cancels.
    pub deliver_began: bool,
    /// How far delivery has come.
    pub delivery: Delivery,
    /// Why the run could not be prepared.
    pub failure: Option<Failure>,
    /// How often the step that is next never really ran, and the longest wait asked for.
    pub setback: Option<Setback>,
    /// How many facts it is made of.
    pub version: u64,
}

/// Why the step that is next has not happened yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setback {
    /// The step.
    pub step: Step,
    /// What was in the way, in a person's words.
    pub cause: String,
    /// How often in a row.
    pub tries: u32,
    /// The least wait that was asked for.
    #[serde(with = "super::policy::millis")]
    pub wait: Duration,
    /// How often in a row its node died under it.
    pub deaths: u32,
}

/// An event that cannot follow what happened before: a bug of ours, never bad input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Illegal {
    /// The event, by name.
    pub event: &'static str,
    /// Why it cannot follow, a fragment.
    pub why: &'static str,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} cannot follow: {}", self.event, self.why)
    }
}

impl std::error::Error for Illegal {}

impl Run {
    /// Rebuilds a run from its events.
    ///
    /// # Errors
    /// [`Illegal`] if they do not begin with `Delegated` or do not follow from each other.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, Illegal> {
        let mut events = events.into_iter();
        let Some(Event::Delegated { run, issue, policy }) = events.next() else {
            return Err(Illegal { event: "delegated", why: "a run begins with it" });
        };
        let mut run = Self::new(*run, (**issue).clone(), (**policy).clone());
        for event in events {
            run.apply(event)?;
        }
        Ok(run)
    }

    /// A run that was just delegated.
    #[must_use]
    pub fn new(id: RunId, issue: Issue, policy: Policy) -> Self {
        Self {
            id,
            issue,
            policy,
            phase: Phase::Ready,
            preparation: None,
            baseline: None,
            passes: Vec::new(),
            ledger: Ledger::default(),
            remarks: Vec::new(),
            spent: Money::ZERO,
            used: Duration::ZERO,
            cancel: None,
            outcome: None,
            deliver_began: false,
            delivery: Delivery::None,
            failure: None,
            setback: None,
            version: 1,
        }
    }

    /// The commands that the service runs; none before `prepare`.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        self.preparation.as_ref().map_or(&[], |p| &p.checks)
    }

    /// The base tree, once known.
    #[must_use]
    pub fn base_tree(&self) -> Option<&TreeId> {
        self.preparation.as_ref().map(|p| &p.tree)
    }

    /// What the base itself comes to, as pass 0.
    #[must_use]
    pub fn base_fingerprint(&self) -> Option<(TreeId, VerificationResult)> {
        let (tree, baseline) = (self.base_tree()?, self.baseline.as_ref()?);
        let judged =
            Verification::judge(tree.clone(), StrictBaseline::Off, self.checks(), Runs { baseline, now: baseline });
        Some((tree.clone(), judged.result()))
    }

    /// The pass that is under way or was the last.
    #[must_use]
    pub fn pass(&self) -> Option<&Pass> {
        self.passes.last()
    }

    /// Whether a reviewer gave a verdict in any pass.
    #[must_use]
    pub fn was_reviewed(&self) -> bool {
        self.passes.iter().any(|p| matches!(p.review, Some(Reviewed::Verdict { .. })))
    }

    /// How many passes count against the ceiling.
    #[must_use]
    pub fn charged_passes(&self) -> usize {
        self.passes.iter().filter(|p| !p.is_free && p.written.is_some()).count()
    }

    /// The tree that goes out: the last that was verified and differs from the base; if none was
    /// verified, the last that differs.
    #[must_use]
    pub fn deliverable(&self) -> Option<&Change> {
        let base = self.base_tree()?;
        let last = |of: fn(&Pass) -> Option<&Change>| self.passes.iter().rev().filter_map(of).find(|c| c.tree != *base);
        last(Pass::verified_change).or_else(|| last(Pass::change))
    }

    /// Whether nothing will happen any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.outcome.is_some() && !matches!(self.delivery, Delivery::Pending) && self.phase == Phase::Ready
    }
}

impl Delivery {
    pub(super) fn after(outcome: &Outcome) -> Self {
        if outcome.is_delivered() { Self::Pending } else { Self::None }
    }

    pub(super) fn take(&mut self, result: &Delivered) {
        match result {
            Delivered::Done { commit, pull_request } => {
                *self = Self::Done { pull_request: *pull_request, commit: commit.clone() };
            }
            Delivered::Failed { cause, again: false } => *self = Self::Failed { cause: cause.clone() },
            Delivered::Failed { again: true, .. } => {}
        }
    }
}
