//! A run's facts as the report that its pull request prints.

use std::time::Duration;

use super::body::{Budget, Check, Open, Report};
use crate::cycle::answers::Claim;
use crate::cycle::checks::{CheckRun, Outcome as CheckOutcome};
use crate::cycle::ledger::{Obligation, Raiser, State};
use crate::cycle::outcome::{Failure, Outcome};
use crate::cycle::run::{Pass, Run};
use crate::cycle::step::{Change, Reviewed, Written};

/// What the pull request of this run says, with `change` as what it brings.
#[must_use]
pub(super) fn report(run: &Run, change: &Change, outcome: &Outcome, canned: bool) -> Report {
    let pass = run.passes.iter().find(|p| p.change().is_some_and(|c| c.commit == change.commit));
    Report {
        outcome: headline(outcome),
        sentence: sentence(run, pass),
        timeline: format!("/runs/{}", run.id),
        protected: change.protected.clone(),
        open: run.ledger.open().map(open).collect(),
        closed: run.ledger.all().iter().filter_map(closed).collect(),
        notes: notes(run, change, pass),
        checks: run.checks().iter().map(|c| check(run, pass, &c.name)).collect(),
        criteria: Vec::new(),
        budget: Budget {
            passes: format!("{} of {}", run.charged_passes(), run.policy.passes),
            money: format!("{} of {}", run.spent, run.policy.money),
            clock: format!("{} of {}", minutes(run.used), minutes(run.policy.clock)),
        },
        claim: claim(pass),
        canned,
    }
}

fn headline(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Accepted(assurance) => format!("Accepted · {}", assurance.words()),
        Outcome::NeedsReview(stop) => format!("Needs review: {}", fragment(stop.sentence())),
        Outcome::Delivered => "Delivered as it stands: nobody reviewed it".to_owned(),
        Outcome::Failed(failure) => format!("Failed: {}", failed(failure)),
        Outcome::Cancelled => "Cancelled".to_owned(),
    }
}

fn failed(failure: &Failure) -> String {
    match failure {
        Failure::PrepareFailed(cause) => cause.trim_end_matches('.').to_owned(),
        Failure::FirstPassCrashed => "the first writing step broke down".to_owned(),
        Failure::NoChange => "the implementer changed nothing".to_owned(),
        Failure::Stopped(stop) => fragment(stop.sentence()),
    }
}

/// A sentence as what follows a colon.
fn fragment(sentence: &str) -> String {
    let mut chars = sentence.trim_end_matches('.').chars();
    chars.next().map_or_else(String::new, |first| {
        // A name stays a name.
        let first = if sentence.starts_with("Countersign") { first } else { first.to_ascii_lowercase() };
        format!("{first}{}", chars.as_str())
    })
}

fn sentence(run: &Run, pass: Option<&Pass>) -> String {
    let passes = match run.passes.len() {
        1 => "One pass was made".to_owned(),
        n => format!("{n} passes were made"),
    };
    let brings = pass.map_or_else(String::new, |p| format!("; this is what pass {} left", p.number));
    let raised = run.ledger.all().len();
    if raised == 0 && !run.was_reviewed() {
        return format!("{passes}{brings}. No review was finished.");
    }
    format!("{passes}{brings}. {}", objections(raised, run.ledger.open().count()))
}

fn objections(raised: usize, open: usize) -> String {
    match (raised, open) {
        (0, _) => "No objection was raised.".to_owned(),
        (1, 0) => "One objection was raised, and it is closed.".to_owned(),
        (1, _) => "One objection was raised, and it is still open.".to_owned(),
        (n, 0) => format!("{n} objections were raised, and all are closed."),
        (n, 1) => format!("{n} objections were raised, and one is still open."),
        (n, open) if n == open => format!("{n} objections were raised, and all are still open."),
        (n, open) => format!("{n} objections were raised, and {open} are still open."),
    }
}

fn open(o: &Obligation) -> Open {
    let (severity, who) = match &o.raiser {
        Raiser::Reviewer => (o.severity.word().to_owned(), "reviewer".to_owned()),
        Raiser::Check(_) => (String::new(), "service".to_owned()),
        Raiser::Person(name) => (String::new(), name.clone()),
    };
    let raised = format!("{who}, pass {}", o.pass);
    Open { id: o.id.clone(), severity, cites: o.cites.clone(), raised, text: o.text.clone(), since: since(o) }
}

/// An objection that is out of the way, on one line.
fn closed(o: &Obligation) -> Option<String> {
    let fate = match o.state {
        State::Open => return None,
        State::Met { pass } => format!("met in pass {pass}"),
        State::Closed { pass } => format!("closed in pass {pass}"),
    };
    let first = o.text.lines().next().unwrap_or_default();
    Some(format!("{} ({}, raised in pass {}, {fate}): {first}", o.id, o.kind(), o.pass))
}

/// The implementer's answer and the reviewer's ruling, the last of each.
fn since(o: &Obligation) -> Vec<String> {
    let answer = o.answer.as_ref().map(|a| match &a.answer.answer {
        Claim::Fixed => format!("The implementer called it fixed in pass {}: a claim.", a.pass),
        Claim::Disputed { reason } => format!("The implementer disputed it in pass {}: {reason}", a.pass),
    });
    let ruling = o.ruling.as_ref().map(|r| match r.note.trim() {
        "" => format!("The reviewer's last ruling: {}.", r.ruling.word()),
        note => format!("The reviewer's last ruling: {}: {note}", r.ruling.word()),
    });
    answer.into_iter().chain(ruling).collect()
}

fn notes(run: &Run, change: &Change, pass: Option<&Pass>) -> Vec<String> {
    let mut notes = Vec::new();
    let red = pass.and_then(|p| p.verification.as_ref()).is_some_and(|v| !v.result.passes());
    match pass.and_then(|p| p.review.as_ref()) {
        Some(Reviewed::Verdict { verdict, not_shown, .. }) => {
            if verdict.approved && red {
                notes.push(
                    "The reviewer approved this tree although a required check fails on it; what was executed counts."
                        .to_owned(),
                );
            }
            notes.extend(not_shown.iter().map(|p| format!("Too long to be shown to the reviewer: `{p}`.")));
        }
        Some(Reviewed::Unreadable { .. } | Reviewed::Cut(_) | Reviewed::Crashed { .. }) | None => {
            notes.push("This tree was not reviewed.".to_owned());
        }
    }
    if pass.is_some_and(|p| p.verified_change().is_none()) {
        notes.push("The checks did not all run on this tree.".to_owned());
    }
    if run.checks().is_empty() {
        notes.push("No check was found in the repository, so nothing was run.".to_owned());
    }
    notes.extend(change.left_out.iter().map(|l| format!("Left out: `{}`, {}.", l.path, l.reason)));
    notes
}

fn check(run: &Run, pass: Option<&Pass>, name: &str) -> Check {
    let verified = pass.and_then(|p| p.verification.as_ref());
    let judged = verified.and_then(|v| v.result.outcomes.iter().find(|j| j.name == name));
    Check {
        name: name.to_owned(),
        before: before(run.baseline.as_deref().unwrap_or_default(), name).to_owned(),
        now: judged.map_or_else(|| "not run".to_owned(), |j| now(&j.outcome)),
    }
}

fn before(baseline: &[CheckRun], name: &str) -> &'static str {
    match baseline.iter().find(|r| r.check == name).and_then(|r| r.attempts.last()) {
        Some(attempt) if attempt.passed() => "passed",
        Some(_) => "failed",
        None => "not run",
    }
}

fn now(outcome: &CheckOutcome) -> String {
    match outcome {
        CheckOutcome::Passed => "passed".to_owned(),
        CheckOutcome::Regressed { new } => regressed(&new.iter().map(String::as_str).collect::<Vec<_>>()),
        CheckOutcome::PreExisting => "failed before too".to_owned(),
        CheckOutcome::Flaky => "flaky".to_owned(),
        CheckOutcome::CouldNotRun { cause } => format!("could not run: {cause}"),
    }
}

/// Names the first tests that fail now and did not fail on the base; a check without named tests has none.
fn regressed(new: &[&str]) -> String {
    match new {
        [] => "regressed".to_owned(),
        [one] => format!("regressed: `{one}` fails now"),
        [one, other] => format!("regressed: `{one}` and `{other}` fail now"),
        [one, other, more @ ..] => format!("regressed: `{one}`, `{other}` and {} more fail now", more.len()),
    }
}

fn claim(pass: Option<&Pass>) -> String {
    match pass.and_then(|p| p.written.as_ref()) {
        Some(Written::Done { report, .. }) => report.clone(),
        Some(Written::Cut { .. } | Written::Crashed { .. }) | None => String::new(),
    }
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, s) => format!("{s} s"),
        (m, 0) => format!("{m} min"),
        (m, s) => format!("{m} min {s:02} s"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cycle::outcome::{Assurance, Stop};

    fn outcomes() -> Vec<Outcome> {
        let failures =
            [Failure::PrepareFailed("the base is missing.".into()), Failure::FirstPassCrashed, Failure::NoChange];
        let stopped = Stop::ALL.iter().map(|s| Failure::Stopped(*s));
        let fixed = [Assurance::Countersigned, Assurance::SelfReviewed].map(Outcome::Accepted);
        let fixed = fixed.into_iter().chain([Outcome::Delivered, Outcome::Cancelled]);
        let failed = failures.into_iter().chain(stopped).map(Outcome::Failed);
        fixed.chain(failed).chain(Stop::ALL.iter().map(|s| Outcome::NeedsReview(*s))).collect()
    }

    #[test]
    fn every_outcome_has_a_head_of_its_own_in_words_and_without_a_full_stop() {
        let all = outcomes();
        let heads: BTreeSet<String> = all.iter().map(headline).collect();
        assert_eq!(heads.len(), all.len(), "two outcomes share a head: {heads:#?}");
        for head in &heads {
            assert!(head.starts_with(|c: char| c.is_uppercase()) && !head.contains(['_', '.']), "{head}");
        }
    }

    #[test]
    fn objections_are_counted_in_whole_sentences() {
        let said: BTreeSet<String> =
            [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 2)].map(|(r, o)| objections(r, o)).into();
        assert_eq!(said.len(), 7, "{said:#?}");
        assert!(said.iter().all(|s| !s.contains("1 ") && s.ends_with('.')), "{said:#?}");
    }
}
