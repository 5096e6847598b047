//! What each role is told: a run's facts turned into the briefs' plain data.

use crate::agent::brief::{
    Answer, AnswerWord, Became, Check, File, Inline, Issue, LeftOut, Obligation, Outcome, RaisedBy, Settled, Untrusted,
};
use crate::checks::detect::Instructions;
use crate::cycle::answers::Claim;
use crate::cycle::checks::{self, Attempt, CheckRun};
use crate::cycle::ledger::{self, Raiser, State};
use crate::cycle::run::{Pass, Run};

/// The most of one check's output that is shown, in bytes.
const OUTPUT: usize = 12 << 10;
/// The most of any other text that is shown, in bytes.
const TEXT: usize = 64 << 10;

/// The issue as a brief shows it.
pub(super) fn issue(run: &Run) -> Issue {
    Issue {
        title: Inline::new(&run.issue.title),
        body: Untrusted::markdown(&run.issue.body, TEXT),
        done: run.issue.done.iter().map(|item| Inline::new(item)).collect(),
        base: Inline::new(&run.issue.base),
    }
}

/// The repository's own instructions, as they are on the base.
pub(super) fn instructions(files: &[Instructions]) -> Vec<File> {
    let file =
        |found: &Instructions| File { path: Inline::new(&found.path), text: Untrusted::markdown(&found.text, TEXT) };
    files.iter().map(file).collect()
}

/// The checks with what they gave on the base.
pub(super) fn baseline(run: &Run) -> Vec<Check> {
    let runs = run.baseline.as_deref().unwrap_or_default();
    run.checks().iter().map(|check| told(check, at_the_base(find(runs, check)), find(runs, check))).collect()
}

/// The checks with what they gave on the tree of this pass.
pub(super) fn verification(run: &Run, pass: &Pass) -> Vec<Check> {
    let Some(verified) = &pass.verification else { return Vec::new() };
    let outcome_of = |check: &checks::Check| {
        let judged = verified.result.outcomes.iter().find(|j| j.name == check.name);
        judged.map_or_else(not_run, |j| outcome(&j.outcome))
    };
    run.checks().iter().map(|check| told(check, outcome_of(check), find(&verified.runs, check))).collect()
}

fn find<'a>(runs: &'a [CheckRun], check: &checks::Check) -> Option<&'a CheckRun> {
    runs.iter().find(|r| r.check == check.name)
}

fn last(run: Option<&CheckRun>) -> Option<&Attempt> {
    run.and_then(|r| r.attempts.last())
}

fn told(check: &checks::Check, outcome: Outcome, run: Option<&CheckRun>) -> Check {
    let says_something = !matches!(outcome, Outcome::Passed);
    let tail = last(run).filter(|_| says_something).map(|a| Untrusted::output(a.tail.as_bytes(), OUTPUT));
    Check {
        name: Inline::new(&check.name),
        command: Inline::new(&check.command),
        required: check.required,
        outcome,
        output: tail,
    }
}

fn not_run() -> Outcome {
    Outcome::CouldNotRun { why: Inline::new("it was not run") }
}

fn at_the_base(run: Option<&CheckRun>) -> Outcome {
    match last(run) {
        None => not_run(),
        Some(attempt) if attempt.passed() => Outcome::Passed,
        Some(attempt) => {
            let tests = attempt.named_failures().into_iter().flatten().map(|t| Inline::new(t)).collect();
            Outcome::Failed { tests }
        }
    }
}

fn outcome(judged: &checks::Outcome) -> Outcome {
    match judged {
        checks::Outcome::Passed => Outcome::Passed,
        checks::Outcome::Regressed { new } => {
            Outcome::Regressed { tests: new.iter().map(|t| Inline::new(t)).collect() }
        }
        checks::Outcome::PreExisting => Outcome::PreExisting,
        checks::Outcome::Flaky => Outcome::Flaky,
        checks::Outcome::CouldNotRun { cause } => Outcome::CouldNotRun { why: Inline::new(&cause.to_string()) },
    }
}

/// The open obligations; a reviewer is also told what was answered.
pub(super) fn open(run: &Run) -> Vec<Obligation> {
    run.ledger.open().map(obligation).collect()
}

fn obligation(o: &ledger::Obligation) -> Obligation {
    Obligation {
        id: Inline::new(&o.id),
        raised_by: raised_by(&o.raiser),
        severity: (!o.is_remark()).then(|| o.severity.word()),
        citation: Inline::new(&o.cites),
        text: Untrusted::new(&o.text, TEXT),
        evidence: (!o.evidence.is_empty()).then(|| Untrusted::new(&o.evidence, TEXT)),
        answer: o.answer.as_ref().map(|a| answer(&a.answer.answer)),
    }
}

fn raised_by(raiser: &Raiser) -> RaisedBy {
    match raiser {
        Raiser::Reviewer => RaisedBy::Reviewer,
        Raiser::Check(_) => RaisedBy::Service,
        Raiser::Person(_) => RaisedBy::Person,
    }
}

fn answer(reply: &Claim) -> Answer {
    match reply {
        Claim::Fixed => Answer { word: AnswerWord::Fixed, note: Untrusted::new("", 0) },
        Claim::Disputed { reason } => Answer { word: AnswerWord::Disputed, note: Untrusted::new(reason, TEXT) },
    }
}

/// What became of the obligations that are no longer open.
pub(super) fn settled(run: &Run) -> Vec<Settled> {
    let became = |o: &ledger::Obligation| match o.state {
        State::Open => None,
        State::Met { .. } => Some(Became::Met),
        State::Closed { .. } => Some(Became::Closed),
    };
    let settled = |o: &ledger::Obligation| {
        became(o).map(|became| Settled { id: Inline::new(&o.id), citation: Inline::new(&o.cites), became })
    };
    run.ledger.all().iter().filter_map(settled).collect()
}

/// Files that the reviewer's diff does not show whole.
pub(super) fn left_out(paths: &[String]) -> Vec<LeftOut> {
    let one = |path: &String| LeftOut { path: Inline::new(path), why: Inline::new("too long to show here") };
    paths.iter().map(one).collect()
}
