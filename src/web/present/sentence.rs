//! One sentence that explains a whole run, from its facts alone.

use crate::cycle::checks::Verification;
use crate::cycle::ledger::Obligation;
use crate::cycle::outcome::{Assurance, Failure, Outcome, Stop};
use crate::cycle::run::{Phase, Run};
use crate::web::words::count;

/// The sentence of a run as it stands.
#[must_use]
pub(super) fn of(run: &Run) -> String {
    match &run.outcome {
        None => under_way(run),
        Some(Outcome::Accepted(Assurance::Countersigned)) => {
            format!("Accepted after {}: {} {}", after(run), history(run), checks(run))
        }
        Some(Outcome::Accepted(Assurance::SelfReviewed)) => {
            format!("Accepted by its own author's second look after {}: {} {}", after(run), history(run), checks(run))
        }
        Some(Outcome::NeedsReview(stop)) => {
            format!("{} {}: {} {}", stop.sentence(), made(run), history(run), checks(run))
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

/// `One pass was made`, `3 passes were made`.
fn made(run: &Run) -> String {
    match run.passes.len() {
        1 => "One pass was made".to_owned(),
        n => format!("{n} passes were made"),
    }
}

/// What sent passes back and what closed it.
fn history(run: &Run) -> String {
    let raised: Vec<&Obligation> = run.ledger.all().iter().collect();
    let Some(first) = raised.first() else {
        // Nobody's silence is praise: without a verdict nobody had nothing against it.
        let said =
            if run.was_reviewed() { "the reviewer had no objection that holds." } else { "no review was finished." };
        return said.to_owned();
    };
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
        Failure::PrepareFailed(cause) => format!("Nothing was started: {}.", cause.trim_end_matches('.')),
        Failure::FirstPassCrashed => {
            "The first writing step broke down, so there is nothing to deliver; what it left is below.".to_owned()
        }
        Failure::NoChange => "The implementer changed nothing, so there is nothing to deliver.".to_owned(),
        Failure::Stopped(stop) => {
            format!(
                "{} No tree differs from the base after {}, so there is nothing to deliver.",
                stop.sentence(),
                after(run)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cycle::id::RunId;
    use crate::cycle::issue::Issue;
    use crate::cycle::outcome::Stop;
    use crate::cycle::policy::{AgentChoice, Effort};
    use crate::cycle::preset::second_reader;

    fn ended(outcome: Outcome) -> Run {
        let agent = || AgentChoice { provider: "p".into(), model: "m".into(), effort: Effort::Medium };
        let issue = Issue { number: 1, title: "t".into(), body: String::new(), done: Vec::new(), base: "main".into() };
        let mut run = Run::new(RunId::from_u128(1), issue, second_reader(agent(), agent()));
        run.outcome = Some(outcome);
        run
    }

    fn outcomes() -> Vec<Outcome> {
        let failures =
            [Failure::PrepareFailed("the base is missing.".into()), Failure::FirstPassCrashed, Failure::NoChange];
        let stopped = Stop::ALL.iter().map(|s| Failure::Stopped(*s));
        let accepted = [Assurance::Countersigned, Assurance::SelfReviewed].map(Outcome::Accepted);
        let fixed = accepted.into_iter().chain([Outcome::Delivered, Outcome::Cancelled]);
        let failed = failures.into_iter().chain(stopped).map(Outcome::Failed);
        fixed.chain(failed).chain(Stop::ALL.iter().map(|s| Outcome::NeedsReview(*s))).collect()
    }

    #[test]
    fn every_outcome_has_a_sentence_of_its_own_in_words() {
        let all = outcomes();
        let said: BTreeSet<String> = all.iter().map(|o| of(&ended(o.clone()))).collect();
        assert_eq!(said.len(), all.len(), "two outcomes share a sentence: {said:#?}");
        for sentence in &said {
            let well_formed = sentence.starts_with(|c: char| c.is_uppercase()) && sentence.ends_with('.');
            assert!(well_formed && !sentence.contains("..") && !sentence.contains("  "), "{sentence}");
            assert!(!sentence.contains(['_', '(', '{']), "a name of the program's: {sentence}");
        }
    }

    #[test]
    fn every_stop_says_why_and_what_to_do() {
        let whys: BTreeSet<&str> = Stop::ALL.iter().map(|s| s.sentence()).collect();
        assert_eq!(whys.len(), Stop::ALL.len(), "{whys:#?}");
        assert!(Stop::ALL.iter().all(|s| advice(*s).ends_with('.')));
    }

    #[test]
    fn a_run_that_nobody_reviewed_does_not_say_that_the_reviewer_had_no_objection() {
        let said = of(&ended(Outcome::NeedsReview(Stop::BudgetMoney)));
        assert!(said.contains("no review was finished") && !said.contains("no objection"), "{said}");
    }
}
