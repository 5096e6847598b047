//! The forge port: what the outside world gets to read of a run. The local forge keeps it in the store.

pub mod body;
pub mod inert;

use crate::cycle::outcome::Outcome;
use crate::cycle::run::Run;
use crate::cycle::step::Change;

/// The label of a pull request.
#[must_use]
pub fn label(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted(_) => "countersigned",
        Outcome::NeedsReview(_) | Outcome::Delivered | Outcome::Failed(_) | Outcome::Cancelled => "needs-review",
    }
}

/// The title of a pull request: the issue's, marked where a person must look.
#[must_use]
pub fn title(run: &Run) -> String {
    run.issue.title.clone()
}

/// The body of a pull request.
#[must_use]
pub fn text(run: &Run, change: &Change, outcome: &Outcome) -> String {
    format!("{outcome}: run {}, commit {}", run.id, change.commit)
}
