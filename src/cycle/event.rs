//! The facts of a run, as they are stored: append-only, numbered from 1.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::RunId;
use super::issue::Issue;
use super::money::Money;
use super::outcome::Outcome;
use super::policy::{Policy, millis};
use super::step::{Allowance, Step, StepResult};

/// One fact. Facts are true whatever else happened; `StepBegan` and `Decided` are intents, stored only
/// while the run has not moved since they were planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A person handed the issue over, under these rules.
    Delegated {
        /// The run.
        run: RunId,
        /// What is wanted.
        issue: Box<Issue>,
        /// The frozen rules.
        policy: Box<Policy>,
    },
    /// A step is about to be performed.
    StepBegan {
        /// Which one.
        step: Step,
        /// What it may use.
        allowance: Allowance,
        /// The run's clock at that moment.
        #[serde(with = "millis")]
        used: Duration,
    },
    /// The step in flight ended.
    StepFinished {
        /// What came of it.
        result: StepResult,
        /// What it cost: settled, or reserved and never settled.
        spent: Money,
        /// The run's clock at that moment.
        #[serde(with = "millis")]
        used: Duration,
    },
    /// A person added a remark to the run.
    Remarked {
        /// Who.
        by: String,
        /// What they wrote.
        text: String,
    },
    /// The person confirmed a remark of theirs.
    RemarkConfirmed {
        /// The obligation that the remark became.
        id: String,
    },
    /// A person asked to end the run.
    CancelAsked {
        /// Who.
        by: String,
    },
    /// The outcome is settled; delivery follows where there is something to deliver.
    Decided {
        /// It.
        outcome: Outcome,
    },
}
