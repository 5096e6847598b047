//! One sentence that explains a whole run, from its facts alone.

use crate::cycle::checks::Outcome as CheckOutcome;
use crate::cycle::ledger::{Obligation, Raiser, State};
use crate::cycle::outcome::{Assurance, Failure, Outcome, Stop};
use crate::cycle::run::{Phase, Run};
use crate::cycle::step::Written;
use crate::web::words::{count, sentence};

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
    let rest = match raised.len() - 1 {
        0 => String::new(),
        1 => " and one more objection".to_owned(),
        more => format!(" and {more} more objections"),
    };
    format!("pass {} was not accepted over {}{rest}; {}.", first.pass, named(first), became(&raised))
}

/// An objection by what it is about.
fn named(o: &Obligation) -> String {
    match &o.raiser {
        Raiser::Reviewer => format!("finding {} (`{}`)", o.id, o.cites),
        Raiser::Check(name) => format!("the failing check `{name}`"),
        Raiser::Person(name) => format!("a remark of {name}"),
    }
}

/// What became of the objections, none of which is left out.
fn became(raised: &[&Obligation]) -> String {
    let open = raised.iter().filter(|o| o.is_open()).count();
    match (raised, open) {
        ([one], 0) => match one.state {
            State::Closed { pass } => format!("it was closed in pass {pass}"),
            State::Met { pass } => format!("it was met in pass {pass}"),
            State::Open => "it is still open".to_owned(),
        },
        ([_], _) => "it is still open".to_owned(),
        (_, 0) => "all were closed".to_owned(),
        (all, open) if all.len() == open => "all are still open".to_owned(),
        (_, 1) => "one is still open".to_owned(),
        (_, open) => format!("{open} are still open"),
    }
}

fn checks(run: &Run) -> String {
    let last = run.passes.iter().rev().find_map(|p| p.verification.as_ref());
    last.map_or_else(
        || "No check ran on the result.".to_owned(),
        |verified| told(&verified.result.outcomes.iter().map(|j| &j.outcome).collect::<Vec<_>>()),
    )
}

/// How a check came out, of one check and of several; what failed before too did not pass.
const fn words(outcome: &CheckOutcome) -> (&'static str, &'static str) {
    match outcome {
        CheckOutcome::Passed | CheckOutcome::Flaky => PASSES,
        CheckOutcome::Regressed { .. } => FAILS,
        CheckOutcome::PreExisting => FAILED_BEFORE,
        CheckOutcome::CouldNotRun { .. } => COULD_NOT_RUN,
    }
}

const PASSES: (&str, &str) = ("passes", "pass");
const FAILS: (&str, &str) = ("fails", "fail");
const FAILED_BEFORE: (&str, &str) = ("fails as it did on the base", "fail as they did on the base");
const COULD_NOT_RUN: (&str, &str) = ("could not run", "could not run");

fn told(outcomes: &[&CheckOutcome]) -> String {
    let counted = [PASSES, FAILS, FAILED_BEFORE, COULD_NOT_RUN]
        .map(|kind| (outcomes.iter().filter(|o| words(o) == kind).count(), kind));
    let said: Vec<String> =
        counted.into_iter().filter(|(n, _)| *n > 0).map(|(n, kind)| of_kind(n, kind, outcomes.len())).collect();
    match said.as_slice() {
        [] => "There is no check to run.".to_owned(),
        [before @ .., last] if !before.is_empty() => {
            format!("On the last checked tree {} and {last}.", before.join(", "))
        }
        [.., last] => format!("On the last checked tree {last}."),
    }
}

fn of_kind(n: usize, (one, many): (&str, &str), all: usize) -> String {
    match n {
        1 if all == 1 => format!("the check {one}"),
        1 => format!("one check {one}"),
        n if n == all => format!("all {n} checks {many}"),
        n => format!("{n} checks {many}"),
    }
}

/// What a person can best do after a run that left nothing to deliver.
pub(super) const fn advice_after(failure: &Failure) -> &'static str {
    match failure {
        Failure::PrepareFailed(_) => "Mend the cause, then delegate the issue again.",
        Failure::FirstPassCrashed => {
            "If the cause is in the model's provider, try again later; else mend it, then delegate the issue again."
        }
        Failure::NoChange => "Say in the issue what should be different afterwards, then delegate it again.",
        Failure::Stopped(Stop::BudgetPasses) => "Delegate the issue again with more passes.",
        Failure::Stopped(Stop::BudgetMoney) => "Delegate the issue again with more money.",
        Failure::Stopped(Stop::BudgetClock) => {
            "See below what the time went to; then delegate the issue again, with more time if it was work."
        }
        // The others tell what to do with a branch, and there is none.
        Failure::Stopped(_) => "Say in the issue what should be different afterwards, then delegate it again.",
    }
}

fn failed(run: &Run, failure: &Failure) -> String {
    match failure {
        Failure::PrepareFailed(cause) => sentence(&format!("Nothing was started: {cause}")),
        Failure::FirstPassCrashed => {
            let broke = run.passes.first().and_then(|p| p.written.as_ref());
            let why = broke.and_then(Written::cause).map_or_else(String::new, |cause| format!(": {cause}"));
            sentence(&format!("The first writing step broke down, so there is nothing to deliver{why}"))
        }
        Failure::NoChange => "The implementer changed nothing, so there is nothing to deliver.".to_owned(),
        Failure::Stopped(stop) => {
            let trouble = run.setback.as_ref().filter(|s| s.tries > 0);
            let trouble = trouble.map_or_else(String::new, |s| format!(" Last trouble: {}", sentence(&s.cause)));
            format!("{} No tree differs from the base, so there is nothing to deliver.{trouble}", stop.sentence())
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
    use crate::cycle::verdict::Severity;

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
        assert!(said.iter().all(|s| !s.contains("below")), "the list of runs has nothing below: {said:#?}");
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
        assert!(Stop::ALL.iter().all(|s| s.advice().ends_with('.')));
    }

    #[test]
    fn a_run_that_nobody_reviewed_does_not_say_that_the_reviewer_had_no_objection() {
        let said = of(&ended(Outcome::NeedsReview(Stop::BudgetMoney)));
        assert!(said.contains("no review was finished") && !said.contains("no objection"), "{said}");
    }

    fn obligation(raiser: Raiser, state: State) -> Obligation {
        Obligation {
            id: "F1".into(),
            raiser,
            pass: 1,
            severity: Severity::High,
            cites: "src/lib.rs:10".into(),
            text: String::new(),
            evidence: String::new(),
            state,
            answer: None,
            ruling: None,
            upheld: 0,
            had_free_pass: false,
        }
    }

    #[test]
    fn an_objection_is_named_by_what_it_is_about() {
        let name = |raiser| named(&obligation(raiser, State::Open));
        assert_eq!(name(Raiser::Reviewer), "finding F1 (`src/lib.rs:10`)");
        assert_eq!(name(Raiser::Check("cargo test".into())), "the failing check `cargo test`");
        assert_eq!(name(Raiser::Person("ada".into())), "a remark of ada");
    }

    #[test]
    fn what_became_of_the_objections_is_counted_in_words() {
        let of = |states: &[State]| {
            let all: Vec<Obligation> = states.iter().map(|s| obligation(Raiser::Reviewer, *s)).collect();
            became(&all.iter().collect::<Vec<_>>())
        };
        let (open, closed) = (State::Open, State::Closed { pass: 2 });
        assert_eq!(of(&[open]), "it is still open");
        assert_eq!(of(&[closed]), "it was closed in pass 2");
        assert_eq!(of(&[closed, closed]), "all were closed");
        assert_eq!(of(&[open, open]), "all are still open");
        assert_eq!(of(&[open, closed]), "one is still open");
        assert_eq!(of(&[open, closed, open]), "2 are still open");
    }

    #[test]
    fn a_check_that_failed_before_too_is_not_said_to_pass() {
        let of = |outcomes: &[CheckOutcome]| told(&outcomes.iter().collect::<Vec<_>>());
        let regressed = CheckOutcome::Regressed { new: BTreeSet::new() };
        assert_eq!(of(&[]), "There is no check to run.");
        assert_eq!(of(&[CheckOutcome::Passed]), "On the last checked tree the check passes.");
        assert_eq!(of(&[CheckOutcome::PreExisting]), "On the last checked tree the check fails as it did on the base.");
        assert_eq!(of(&[CheckOutcome::Passed, CheckOutcome::Flaky]), "On the last checked tree all 2 checks pass.");
        assert_eq!(
            of(&[CheckOutcome::Passed, CheckOutcome::Passed, regressed, CheckOutcome::PreExisting]),
            "On the last checked tree 2 checks pass, one check fails and one check fails as it did on the base."
        );
    }
}
