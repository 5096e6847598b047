//! The parts that a step shows.

use std::time::Duration;

use crate::app::story::{Diff as GitDiff, DiffFile, DiffHunk, DiffStatus, readable};
use crate::cycle::answers::Claim as Said;
use crate::cycle::checks::{Attempt, AttemptEnd, Check as Configured, CheckRun, Outcome, Verification};
use crate::cycle::ledger::{Obligation, Raiser, State};
use crate::cycle::step::{Citation, Cited};
use crate::cycle::verdict::{Ruling as Ruled, RulingKind};
use crate::store::Entry;
use crate::web::diff::{Change, Diff, File, Hunk, Kind, Note as FileNote, SHOWN_LINES};
use crate::web::output::Output;
use crate::web::pages::run::timeline::{Answer, Check, Discarded, Fact, Facts, Finding, Note, Part, Ruling};
use crate::web::prose::{Line, Prose};
use crate::web::view::{Badge, Claim, Tone};
use crate::web::words::{duration, sentence};

/// What the service says itself, as a sentence.
pub(super) fn note(tone: Tone, text: &str) -> Part {
    Part::Note(Note { tone, text: Line::new(&sentence(text)) })
}

/// What somebody says about the work; nothing where they said nothing.
pub(super) fn claim(who: &str, text: &str) -> Option<Part> {
    let said = !text.trim().is_empty();
    said.then(|| Part::Claim(Claim { who: who.to_owned(), text: Prose::new(text) }))
}

/// What an agent really did.
pub(super) fn facts<'a>(lines: impl Iterator<Item = &'a Entry>) -> Option<Part> {
    let all: Vec<Fact> = lines.filter_map(fact).collect();
    (!all.is_empty()).then(|| Part::Facts(Facts::new(all)))
}

fn fact(entry: &Entry) -> Option<Fact> {
    match entry {
        Entry::Used { summary, failed, .. } => {
            let (text, result) =
                summary.split_once(" → ").map_or((summary.as_str(), ""), |(text, result)| (text, result));
            let result = if result.is_empty() { String::new() } else { format!("→ {result}") };
            Some(Fact { text: text.to_owned(), result, tone: if *failed { Tone::Bad } else { Tone::Plain } })
        }
        Entry::Waited { cause, pause_ms } => Some(Fact {
            text: format!("waited: {cause}"),
            result: duration(Duration::from_millis(*pause_ms)),
            tone: Tone::Warn,
        }),
        Entry::Said(_) | Entry::Thought(_) | Entry::Compacted { .. } => None,
    }
}

/// The checks of a verify step.
pub(super) fn checks(configured: &[Configured], runs: &[CheckRun], result: &Verification) -> Part {
    let one = |check: &Configured| {
        let judged = result.outcomes.iter().find(|j| j.name == check.name);
        let last = runs.iter().find(|r| r.check == check.name).and_then(|r| r.attempts.last());
        let outcome = judged.map_or_else(|| Badge::new(Tone::Warn, "could not run"), |j| outcome(&j.outcome));
        check_row(check, (outcome, last), judged.map(|j| &j.outcome))
    };
    Part::Checks(configured.iter().map(one).collect())
}

/// The checks on the base.
pub(super) fn baseline(configured: &[Configured], runs: &[CheckRun]) -> Part {
    let one = |check: &Configured| {
        let last = runs.iter().find(|r| r.check == check.name).and_then(|r| r.attempts.last());
        let outcome = match last {
            Some(attempt) if attempt.passed() => Badge::new(Tone::Good, "passed"),
            Some(attempt) if attempt.command_missing() => Badge::new(Tone::Warn, "could not run"),
            Some(_) => Badge::new(Tone::Warn, "fails on the base"),
            None => Badge::new(Tone::Warn, "could not run"),
        };
        check_row(check, (outcome, last), None)
    };
    Part::Checks(configured.iter().map(one).collect())
}

fn check_row(check: &Configured, (outcome, last): (Badge, Option<&Attempt>), judged: Option<&Outcome>) -> Check {
    let (newly_failing, note) = match judged {
        Some(Outcome::Regressed { new }) => (new.iter().cloned().collect(), None),
        Some(Outcome::CouldNotRun { cause }) => (Vec::new(), Some(Line::new(&sentence(&cause.to_string())))),
        Some(Outcome::Passed | Outcome::PreExisting | Outcome::Flaky) | None => (Vec::new(), None),
    };
    Check {
        name: check.name.clone(),
        command: check.command.clone(),
        outcome,
        required: check.required,
        end: last.map_or_else(String::new, |a| end(&a.end)),
        took: last.map_or_else(|| "—".to_owned(), |a| duration(Duration::from_millis(a.duration_ms))),
        note,
        newly_failing,
        output: last.filter(|a| !a.tail.trim().is_empty()).map(|a| Output::new(&a.tail, 0)),
    }
}

pub(super) fn outcome(outcome: &Outcome) -> Badge {
    match outcome {
        Outcome::Passed => Badge::new(Tone::Good, "passed"),
        Outcome::Regressed { .. } => Badge::new(Tone::Bad, "regressed"),
        Outcome::PreExisting => Badge::new(Tone::Warn, "failed before too"),
        Outcome::Flaky => Badge::new(Tone::Warn, "flaky"),
        Outcome::CouldNotRun { .. } => Badge::new(Tone::Warn, "could not run"),
    }
}

fn end(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Exit(code) => format!("exit {code}"),
        AttemptEnd::Signal(number) => format!("killed by signal {number}"),
        AttemptEnd::TimedOut => "over its time limit".to_owned(),
        AttemptEnd::OutOfMemory { limit } => format!("out of memory, limit {} MiB", limit >> 20),
        AttemptEnd::CutByClock => "cut by the run's clock".to_owned(),
        AttemptEnd::SandboxFault(fault) => format!("the sandbox failed: {fault}"),
    }
}

/// An obligation and what became of it.
pub(super) fn finding(o: &Obligation) -> Finding {
    let fate = match o.state {
        State::Open => Badge::new(Tone::Bad, "still open"),
        State::Met { pass } => Badge::new(Tone::Good, format!("met in pass {pass}")),
        State::Closed { pass } => Badge::new(Tone::Good, format!("closed in pass {pass}")),
    };
    Finding {
        id: o.id.clone(),
        kind: o.kind().to_owned(),
        cites: o.cites.clone(),
        raised: format!("{}, pass {}", o.raised_by(), o.pass),
        fate,
        text: Prose::new(&with_evidence(o)),
        evidence: None,
        answer: o.answer.as_ref().map(|a| answer(o, &a.answer.answer)),
        ruling: o.ruling.as_ref().map(ruling),
    }
}

/// What the reviewer rests it on is the reviewer's own word, so it stands with the text and not as something printed.
fn with_evidence(o: &Obligation) -> String {
    if o.evidence.is_empty() || !matches!(o.raiser, Raiser::Reviewer) {
        return o.text.clone();
    }
    format!("{}\n\nEvidence given: {}", o.text, o.evidence)
}

fn answer(o: &Obligation, said: &Said) -> Answer {
    let judge = match &o.raiser {
        Raiser::Check(_) => "the check",
        Raiser::Reviewer => "the reviewer",
        Raiser::Person(_) => "the person",
    };
    match said {
        Said::Fixed => Answer { says: "says it is fixed".to_owned(), judge, text: Prose::new("") },
        Said::Disputed { reason } => Answer { says: "disputes it".to_owned(), judge, text: Prose::new(reason) },
    }
}

/// What a review ruled.
pub(super) fn rulings(rulings: &[Ruled]) -> Option<Part> {
    (!rulings.is_empty()).then(|| Part::Rulings(rulings.iter().map(ruling).collect()))
}

fn ruling(ruled: &Ruled) -> Ruling {
    let tone = match ruled.ruling {
        RulingKind::Closed | RulingKind::Met => Tone::Good,
        RulingKind::StillOpen | RulingKind::NotMet => Tone::Bad,
        RulingKind::CannotJudge => Tone::Warn,
    };
    let evidence = Prose::new(&ruled.note);
    Ruling { id: ruled.id.clone(), ruled: Badge::new(tone, ruled.ruling.word()), evidence }
}

/// What was discarded unread.
pub(super) fn discarded(findings: &[Cited]) -> Option<Part> {
    let one = |cited: &Cited| match &cited.citation {
        Citation::Discarded { reason } => Some(Discarded { cites: cited.finding.cites(), reason: reason.clone() }),
        Citation::Holds { .. } => None,
    };
    let all: Vec<Discarded> = findings.iter().filter_map(one).collect();
    (!all.is_empty()).then_some(Part::Discarded(all))
}

/// A diff of the run's trees.
pub(super) fn diff(title: &str, diff: &GitDiff, open: bool) -> Part {
    let files = diff.files.iter().map(file).collect();
    Part::Diff(Diff { title: title.to_owned(), files, open }.bounded(SHOWN_LINES))
}

fn file(file: &DiffFile) -> File {
    let path = readable(file.path.as_ref());
    let old = readable(file.old_path.as_ref());
    let change = match file.status {
        DiffStatus::Added => Change::Added,
        DiffStatus::Deleted => Change::Deleted,
        DiffStatus::Renamed => Change::Renamed { from: old },
        DiffStatus::Modified | DiffStatus::TypeChanged => Change::Modified,
    };
    let mode = || FileNote::Mode { from: format!("{:o}", file.old_mode), to: format!("{:o}", file.mode) };
    let differs = file.old_mode != file.mode && file.old_mode != 0 && file.mode != 0;
    let note = if file.is_binary { Some(FileNote::Binary) } else { differs.then(mode) };
    let (added, removed) = (u64::from(file.added), u64::from(file.removed));
    File { path, change, added, removed, hunks: file.hunks.iter().map(hunk).collect(), note }
}

fn hunk(hunk: &DiffHunk) -> Hunk {
    let kind = |origin: char| match origin {
        '+' => Kind::Added,
        '-' => Kind::Removed,
        _ => Kind::Same,
    };
    let lines = hunk.lines.iter().map(|l| (kind(l.origin), l.text.clone())).collect();
    Hunk::new(hunk.header.clone(), u64::from(hunk.old_start), u64::from(hunk.new_start), lines)
}
