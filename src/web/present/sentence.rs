//! One sentence that explains a whole run, from its facts alone.

use crate::cycle::checks::Verification;
use crate::cycle::ledger::Obligation;
use crate::cycle::outcome::{Failure, Outcome, Stop};
use crate::cycle::run::{Phase, Run};
use crate::web::words::count;

/// The sentence of a run as it stands.
#[must_use]
pub(super) fn of(run: &Run) -> String {
    match &run.outcome {
        None => under_way(run),
        Some(Outcome::Accepted(_)) => format!("{}{} {}", passes(run), history(run), checks(run)),
        Some(Outcome::NeedsReview(stop)) => {
            format!("{}{} {} {}", passes(run), history(run), stopped(*stop), checks(run))
        }
        Some(Outcome::Failed(failure)) => failed(run, failure),
        Some(Outcome::Delivered) => "The first attempt was delivered as it stands: nobody reviewed it.".to_owned(),
        Some(Outcome::Cancelled) => format!("Cancelled by a person after {}; nothing was pushed.", after(run)),
    }
}

fn under_way(run: &Run) -> String {
    match run.phase {
        Phase::Busy { step, .. } => format!("Under way: {step}."),
        Phase::Ready if run.preparation.is_none() => "Waiting for a free slot.".to_owned(),
        Phase::Ready => "Under way.".to_owned(),
    }
}

fn after(run: &Run) -> String {
    count(run.passes.len() as u64, "pass", "passes")
}

fn passes(run: &Run) -> String {
    let mut said = count(run.passes.len() as u64, "pass", "passes");
    said.push_str(": ");
    said
}

/// What sent passes back and what closed it.
fn history(run: &Run) -> String {
    let raised: Vec<&Obligation> = run.ledger.all().iter().collect();
    let Some(first) = raised.first() else { return "the reviewer had no objection that holds.".to_owned() };
    let open = run.ledger.open().count();
    let rest = if raised.len() == 1 { String::new() } else { format!(" and {} more", raised.len() - 1) };
    let became = match open {
        0 => "all of it was closed".to_owned(),
        1 => "one is still open".to_owned(),
        n => format!("{n} are still open"),
    };
    format!("pass {} was not accepted over {} (`{}`){rest}; {became}.", first.pass, first.id, first.cites)
}

fn checks(run: &Run) -> String {
    let last = run.passes.iter().rev().find_map(|p| p.verification.as_ref());
    let Some(verified) = last else { return "No check ran on the result.".to_owned() };
    told(&verified.result)
}

fn told(result: &Verification) -> String {
    let all = result.outcomes.len();
    if all == 0 {
        return "There is no check to run.".to_owned();
    }
    let held = result.outcomes.iter().filter(|j| !j.outcome.blocks(true, result.strict)).count();
    format!("{held} of {} on the last checked tree.", count(all as u64, "check passes", "checks pass"))
}

/// Why a run stopped, as a sentence for the person who takes over.
#[must_use]
pub(super) fn stopped(stop: Stop) -> &'static str {
    match stop {
        Stop::BudgetPasses => "The last allowed pass was not accepted.",
        Stop::BudgetMoney => "The money ceiling was reached.",
        Stop::BudgetClock => "The time ceiling was reached.",
        Stop::Stalled => "Nothing moved any more: the same tree, the same results.",
        Stop::Oscillating => "The work went back to an earlier state.",
        Stop::Disputed => "Implementer and reviewer disagree about a finding.",
        Stop::LateFindingsOnly => "The reviewer rejected it over things that an earlier review could have found.",
        Stop::RemarkUnconfirmed => "Everything holds but a person's remark, which only that person can confirm.",
        Stop::NoVerdict => "The reviewer gave no verdict that could be read.",
        Stop::RejectedWithoutCitation => "The reviewer rejected it and cited nothing that holds.",
        Stop::NoChecks => "There is no required check that could vouch for it.",
        Stop::VerificationUnavailable => "A required check could not be run.",
        Stop::AgentCrashed => "An agent broke down.",
        Stop::ProtectedPaths => "Only a change under a protected path stands in the way.",
        Stop::AuditFailed => "The goal audit did not pass.",
        Stop::ChecksFailing => "The checks fail after the revise.",
        Stop::SelfReviewHolds => "The self-review holds the result.",
        Stop::SecretInCommit => "A commit contains a secret, so nothing was pushed.",
        Stop::InternalError => "A rule of the service itself was broken; the log has the details.",
    }
}

/// What a person can best do after this stop, beside reading what is open.
pub(super) const fn advice(stop: Stop) -> &'static str {
    match stop {
        Stop::BudgetPasses => "Take the branch over by hand, or delegate the issue again with more passes.",
        Stop::BudgetMoney => "Take the branch over by hand, or delegate the issue again with more money.",
        Stop::BudgetClock => "Take the branch over by hand, or delegate the issue again with more time.",
        Stop::Stalled | Stop::Oscillating => {
            "Take the branch over by hand, or say in the issue what was not understood and delegate it again."
        }
        Stop::Disputed => {
            "Decide who of the two is right: merge the branch as it is, or put your answer into the issue."
        }
        Stop::LateFindingsOnly => "Decide whether the late findings matter to you; if not, merge the branch.",
        Stop::RemarkUnconfirmed => "See for yourself whether your remark is met; if it is, merge the branch.",
        Stop::NoVerdict => "Nobody has read this for you: review it yourself, or delegate the issue again.",
        Stop::RejectedWithoutCitation => "Judge the reviewer's doubts yourself: it cited nothing that holds.",
        Stop::NoChecks => {
            "Try the change yourself, and name a check in `.countersign.toml` so that the next run is checked."
        }
        Stop::VerificationUnavailable => "Run the checks yourself, and mend what kept them from running here.",
        Stop::AgentCrashed => "Take the branch over by hand, or delegate the issue again.",
        Stop::ProtectedPaths => "Read the changes to protected paths; if they are meant, merge the branch.",
        Stop::AuditFailed => "Compare the result with the goal in the issue, and take the branch over by hand.",
        Stop::ChecksFailing => "Mend the failing checks on the branch, or delegate the issue again.",
        Stop::SelfReviewHolds => "Read what the self-review holds against it, and take the branch over by hand.",
        Stop::SecretInCommit => {
            "Remove the secret from what the agent is given, revoke it, and delegate the issue again."
        }
        Stop::InternalError => "Report this: it is a fault of Countersign's own.",
    }
}

/// What a person can best do after a run that left nothing to deliver.
pub(super) const fn advice_after(failure: &Failure) -> &'static str {
    match failure {
        Failure::PrepareFailed(_) | Failure::FirstPassCrashed => "Mend the cause, then delegate the issue again.",
        Failure::NoChange => "Say in the issue what should be different afterwards, then delegate it again.",
        Failure::Stopped(stop) => advice(*stop),
    }
}

fn failed(run: &Run, failure: &Failure) -> String {
    match failure {
        Failure::PrepareFailed(cause) => format!("Nothing was started: {cause}"),
        Failure::FirstPassCrashed => {
            "The first writing step broke down, so there is nothing to deliver; what it left is below.".to_owned()
        }
        Failure::NoChange => "The implementer changed nothing, so there is nothing to deliver.".to_owned(),
        Failure::Stopped(stop) => {
            format!(
                "{} No tree differs from the base after {}, so there is nothing to deliver.",
                stopped(*stop),
                after(run)
            )
        }
    }
}
