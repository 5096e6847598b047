//! The forge port: what the outside world gets to read of a run. The local forge keeps it in the store.

pub mod body;
mod describe;
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

/// The title of a pull request: the issue's, made inert.
#[must_use]
pub fn title(run: &Run) -> String {
    body::title(&run.issue.title)
}

/// The text of a pull request, within what forges take. `canned` says that the models' words were written beforehand.
#[must_use]
pub fn text(run: &Run, change: &Change, outcome: &Outcome, canned: bool) -> String {
    let report = describe::report(run, change, outcome, canned);
    body::body(&report, body::LIMIT).expect("writing to a string does not fail")
}
