//! The timeline: before the passes, each pass, delivery.

use std::time::Duration;

use super::{hash, parts};
use crate::app::story::{Diff, Story};
use crate::cycle::event::Event;
use crate::cycle::id::TreeId;
use crate::cycle::outcome::{Ceiling, Outcome};
use crate::cycle::run::{Delivery, Pass, Run};
use crate::cycle::step::{Reviewed, Step as Kind, StepResult, Written};
use crate::store::Usage;
use crate::web::pages::run::timeline::{Group, Part, Remark, Step};
use crate::web::prose::{Line, Prose};
use crate::web::view::{Badge, Tone};
use crate::web::words::{When, count, duration, sentence, tokens};

/// The trees whose differences the page shows: each pass against the pass before, and against the base.
pub(super) fn pairs(run: &Run) -> Vec<(TreeId, TreeId)> {
    let Some(base) = run.base_tree() else { return Vec::new() };
    let mut before = base.clone();
    let mut pairs = Vec::new();
    for change in run.passes.iter().filter_map(Pass::change) {
        pairs.push((before, change.tree.clone()));
        pairs.push((base.clone(), change.tree.clone()));
        before = change.tree.clone();
    }
    pairs
}

/// A step as its facts bracket it.
struct Bracket<'a> {
    kind: Kind,
    seq: u64,
    began: i64,
    ended: Option<(i64, &'a StepResult, crate::cycle::money::Money)>,
}

fn brackets(story: &Story) -> Vec<Bracket<'_>> {
    let mut all: Vec<Bracket<'_>> = Vec::new();
    for stored in &story.events {
        match &stored.event {
            Event::StepBegan { step, .. } => {
                all.push(Bracket { kind: *step, seq: stored.seq, began: stored.at.0, ended: None });
            }
            Event::StepFinished { result, spent, .. } => {
                if let Some(last) = all.last_mut() {
                    last.ended = Some((stored.at.0, result, *spent));
                }
            }
            Event::Delegated { .. }
            | Event::Remarked { .. }
            | Event::RemarkConfirmed { .. }
            | Event::CancelAsked { .. }
            | Event::Decided { .. } => {}
        }
    }
    all
}

impl Bracket<'_> {
    /// Whether what the pass says of such a step is what this one came to: of an earlier try only its own lines are told.
    fn counts(&self) -> bool {
        !matches!(self.ended, Some((_, StepResult::NotRun { .. } | StepResult::Interrupted | StepResult::Stopped, _)))
    }

    fn took(&self) -> Option<Duration> {
        self.ended.map(|(at, _, _)| Duration::from_micros((at - self.began).max(0).unsigned_abs()))
    }
}

pub(super) fn all(story: &Story, diffs: Vec<Option<Diff>>) -> Vec<Group> {
    let brackets = brackets(story);
    let of = |pass: Option<u8>| brackets.iter().filter(move |b| b.kind != Kind::Deliver && b.kind.pass() == pass);
    let mut groups = vec![before(story, of(None).collect())];
    let mut diffs = diffs.into_iter();
    for pass in &story.run.passes {
        let mine = pass.change().map(|_| (diffs.next().flatten(), diffs.next().flatten()));
        groups.push(of_pass(story, pass, (of(Some(pass.number)).collect(), mine)));
    }
    let deliveries: Vec<&Bracket<'_>> = brackets.iter().filter(|b| b.kind == Kind::Deliver).collect();
    if !deliveries.is_empty() {
        groups.push(delivery(story, &deliveries));
    }
    groups
}

fn step(story: &Story, bracket: &Bracket<'_>, title: &str, parts: Vec<Part>) -> Step {
    Step {
        event: bracket.seq,
        tone: tone(bracket),
        title: title.to_owned(),
        badge: None,
        began: When::clock(bracket.began / 1_000_000),
        took: bracket.took().map(duration),
        used: used(story, bracket),
        parts: failed_to_run(bracket).into_iter().chain(parts).chain(bounded(story, bracket)).collect(),
    }
}

/// Says where money was counted that may not have been spent.
fn bounded(story: &Story, bracket: &Bracket<'_>) -> Option<Part> {
    let of = story.usage.iter().filter(|(step, usage)| *step == bracket.seq && usage.is_bound).count() as u64;
    let calls = count(of, "model call", "model calls");
    let text =
        format!("{calls} ended without the provider's count of tokens: counted at the most that it can have cost.");
    (of > 0).then(|| parts::note(Tone::Plain, &text))
}

fn tone(bracket: &Bracket<'_>) -> Tone {
    match bracket.ended {
        None => Tone::Live,
        Some((_, StepResult::NotRun { .. } | StepResult::Interrupted | StepResult::Stopped, _)) => Tone::Warn,
        Some((_, StepResult::PrepareFailed(_), _)) => Tone::Bad,
        Some(_) => Tone::Good,
    }
}

fn failed_to_run(bracket: &Bracket<'_>) -> Option<Part> {
    match bracket.ended {
        Some((_, StepResult::NotRun { cause, .. }, _)) => Some(parts::note(
            Tone::Warn,
            &format!("It never really ran ({cause}); it is tried again and no pass is charged."),
        )),
        Some((_, StepResult::Interrupted, _)) => {
            Some(parts::note(Tone::Warn, "The service died while it ran; it began again."))
        }
        Some((_, StepResult::Stopped, _)) => {
            Some(parts::note(Tone::Warn, "The service was stopped while it ran; it began again."))
        }
        Some(_) | None => None,
    }
}

fn used(story: &Story, bracket: &Bracket<'_>) -> Vec<String> {
    if !bracket.kind.is_paid() {
        return vec!["service, not agent".to_owned()];
    }
    let mine = story.usage.iter().filter(|(step, _)| *step == bracket.seq).map(|(_, usage)| usage);
    let count = mine.fold(0, |sum, u: &Usage| sum + u.read + u.written);
    let money = bracket.ended.map_or_else(|| "—".to_owned(), |(_, _, spent)| spent.to_string());
    vec![money, tokens(count)]
}

fn before(story: &Story, brackets: Vec<&Bracket<'_>>) -> Group {
    let run = &story.run;
    let steps = brackets.into_iter().map(|b| match b.kind {
        Kind::Baseline => {
            let shown = run.baseline.as_ref().map(|runs| parts::baseline(run.checks(), runs));
            let kept = was_kept(run, b).then(|| parts::note(Tone::Plain, KEPT));
            step(story, b, "Ran the checks on the base", shown.into_iter().chain(kept).collect())
        }
        Kind::Prepare | Kind::Implement | Kind::Verify(_) | Kind::Review(_) | Kind::Revise(_) | Kind::Deliver => {
            let refused = match b.ended {
                Some((_, StepResult::PrepareFailed(cause), _)) => Some(parts::note(Tone::Bad, cause)),
                Some(_) | None => None,
            };
            let found = run.preparation.iter().flat_map(|p| p.why.iter()).map(|why| parts::note(Tone::Plain, why));
            step(story, b, "Prepared the run", refused.into_iter().chain(found).collect())
        }
    });
    let steps: Vec<Step> = steps.collect();
    let bad = run.failure.is_some();
    Group {
        anchor: "prepare".to_owned(),
        title: "Before the passes".to_owned(),
        badge: if bad { Badge::new(Tone::Bad, "could not start") } else { Badge::new(Tone::Plain, "base measured") },
        gist: None,
        money: None,
        took: None,
        tree: run.base_tree().map(|t| hash(t.as_str())),
        open: bad,
        steps,
    }
}

const KEPT: &str = "An earlier run had measured this commit with the same checks; its results were taken over.";

/// Whether the checks took longer than this step did: then they ran in another one.
fn was_kept(run: &Run, bracket: &Bracket<'_>) -> bool {
    let attempts = run.baseline.iter().flatten().flat_map(|r| &r.attempts);
    let measured = Duration::from_millis(attempts.map(|a| a.duration_ms).sum());
    bracket.took().is_some_and(|took| took < measured)
}

type Diffs = Option<(Option<Diff>, Option<Diff>)>;

fn of_pass(story: &Story, pass: &Pass, (brackets, diffs): (Vec<&Bracket<'_>>, Diffs)) -> Group {
    let took: Duration = brackets.iter().filter_map(|b| b.took()).sum();
    let mut diffs = diffs;
    let steps = brackets.iter().map(|b| match b.kind {
        Kind::Verify(_) => verified(story, pass, b),
        Kind::Review(_) => reviewed(story, pass, b),
        Kind::Implement | Kind::Revise(_) | Kind::Prepare | Kind::Baseline | Kind::Deliver => {
            written(story, pass, (b, if b.counts() { diffs.take() } else { None }))
        }
    });
    Group {
        anchor: format!("pass-{}", pass.number),
        title: format!("Pass {}", pass.number),
        steps: steps.collect(),
        badge: badge(&story.run, pass),
        gist: gist(&story.run, pass),
        money: Some(pass.spent.to_string()),
        took: Some(duration(took)),
        tree: pass.change().map(|c| hash(c.tree.as_str())),
        open: true,
    }
}

/// `opened K1 (check), F1 (high)`.
fn gist(run: &Run, pass: &Pass) -> Option<Line> {
    let opened = pass.movement.opened.iter().filter_map(|id| run.ledger.find(id));
    let named: Vec<String> = opened.map(|o| format!("{} ({})", o.id, o.kind())).collect();
    (!named.is_empty()).then(|| Line::new(&format!("opened {}", named.join(", "))))
}

fn badge(run: &Run, pass: &Pass) -> Badge {
    let is_last = run.pass().is_some_and(|p| p.number == pass.number);
    match (&pass.written, &pass.review) {
        (None, _) if run.outcome.is_some() => Badge::new(Tone::Warn, "not written"),
        (None, _) => Badge::new(Tone::Live, "writing"),
        (Some(Written::Crashed { .. }), _) => Badge::new(Tone::Bad, "crashed"),
        (Some(Written::Cut { .. }), _) => Badge::new(Tone::Warn, "cut by a ceiling"),
        (_, _) if !is_last => Badge::new(Tone::Bad, "sent back"),
        (_, _) if matches!(run.outcome, Some(Outcome::Accepted(_))) => Badge::new(Tone::Good, "accepted"),
        (_, None) if run.outcome.is_none() => Badge::new(Tone::Live, "under way"),
        (_, None | Some(Reviewed::Cut(_) | Reviewed::Crashed { .. })) => Badge::new(Tone::Warn, "not reviewed"),
        (_, Some(Reviewed::Unreadable { .. })) => Badge::new(Tone::Warn, "no verdict"),
        (_, Some(Reviewed::Verdict { .. })) => Badge::new(Tone::Warn, "not accepted"),
    }
}

fn written(story: &Story, pass: &Pass, (bracket, diffs): (&Bracket<'_>, Diffs)) -> Step {
    let lines = story.lines.iter().filter(|l| l.step == bracket.seq).map(|l| &l.what);
    let mut shown: Vec<Part> = parts::facts(lines).into_iter().collect();
    let title = if pass.number == 1 { "Worked on the issue" } else { "Worked on what the review found" };
    if !bracket.counts() {
        return step(story, bracket, title, shown);
    }
    match &pass.written {
        Some(Written::Done { report, .. }) => shown.extend(parts::claim("implementer", report)),
        Some(Written::Cut { ceiling, .. }) => shown.push(parts::note(Tone::Warn, cut(*ceiling))),
        Some(Written::Crashed { cause, .. }) => shown.push(parts::note(Tone::Bad, &format!("It broke down: {cause}"))),
        None => {}
    }
    for left in pass.change().into_iter().flat_map(|c| &c.left_out) {
        shown.push(parts::note(Tone::Plain, &format!("Left out: `{}`, {}.", left.path, left.reason)));
    }
    if let Some((before, base)) = diffs {
        let against = if pass.number == 1 { None } else { before };
        let title = format!("Against pass {}", pass.number.saturating_sub(1));
        shown.extend(against.map(|d| parts::diff(&title, &d, true)));
        shown.extend(base.map(|d| parts::diff("Against the base", &d, pass.number == 1)));
    }
    let mut step = step(story, bracket, title, shown);
    if matches!(pass.written, Some(Written::Crashed { .. })) {
        step.tone = Tone::Bad;
    }
    step
}

fn cut(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::Money => "The money ceiling cut it: what was left might not have paid for another answer.",
        Ceiling::Clock => "The time ceiling cut it.",
    }
}

fn verified(story: &Story, pass: &Pass, bracket: &Bracket<'_>) -> Step {
    let run = &story.run;
    if !bracket.counts() {
        return step(story, bracket, "Ran the checks", Vec::new());
    }
    let shown = pass.verification.as_ref().map(|v| parts::checks(run.checks(), &v.runs, &v.result));
    let mut step = step(story, bracket, "Ran the checks", shown.into_iter().collect());
    if pass.verification.as_ref().is_some_and(|v| !v.result.passes()) {
        step.tone = Tone::Bad;
    }
    if run.checks().is_empty() {
        step.parts.push(parts::note(Tone::Warn, "There is nothing to run: no check was found."));
    }
    step
}

fn reviewed(story: &Story, pass: &Pass, bracket: &Bracket<'_>) -> Step {
    let lines = story.lines.iter().filter(|l| l.step == bracket.seq).map(|l| &l.what);
    let mut shown: Vec<Part> = parts::facts(lines).into_iter().collect();
    if !bracket.counts() {
        return step(story, bracket, "Reviewed the work", shown);
    }
    let (tone, word) = match &pass.review {
        None => (Tone::Live, "reading"),
        Some(Reviewed::Cut(ceiling)) => {
            shown.push(parts::note(Tone::Warn, cut(*ceiling)));
            (Tone::Warn, "not reviewed")
        }
        Some(Reviewed::Crashed { cause }) => {
            shown.push(parts::note(Tone::Bad, &format!("It broke down: {cause}")));
            (Tone::Bad, "not reviewed")
        }
        Some(Reviewed::Unreadable { why, raw }) => {
            shown.push(parts::note(Tone::Warn, why));
            shown.extend(parts::claim("reviewer", raw));
            (Tone::Warn, "no verdict")
        }
        Some(Reviewed::Verdict { verdict, findings, not_shown, .. }) => {
            let red = pass.verification.as_ref().is_some_and(|v| !v.result.passes());
            if verdict.approved && red {
                let text = "A contradiction: the reviewer approved a tree on which a required check fails. \
                            What was executed beats what was said.";
                shown.push(parts::note(Tone::Warn, text));
            }
            shown.extend(parts::rulings(&verdict.rulings));
            shown.extend(opened(story, pass));
            shown.extend(remarks(story, pass));
            shown.extend(parts::discarded(findings));
            for path in not_shown {
                shown.push(parts::note(Tone::Warn, &format!("Too long to be shown to the reviewer: `{path}`.")));
            }
            shown.extend(parts::claim("reviewer", &verdict.summary));
            match (verdict.approved, red) {
                (true, true) => (Tone::Warn, "approved against failing checks"),
                (true, false) => (Tone::Good, "approved"),
                (false, _) => (Tone::Bad, "rejected"),
            }
        }
    };
    let mut step = step(story, bracket, "Reviewed the work", shown);
    (step.tone, step.badge) = (tone, Some(Badge::new(tone, word)));
    step
}

fn opened(story: &Story, pass: &Pass) -> Option<Part> {
    let mine = story.run.ledger.all().iter().filter(|o| pass.movement.opened.contains(&o.id));
    let all: Vec<_> = mine.map(parts::finding).collect();
    (!all.is_empty()).then_some(Part::Findings(all))
}

fn remarks(story: &Story, pass: &Pass) -> Option<Part> {
    let mine = story.run.remarks.iter().filter(|r| r.pass == pass.number);
    let one = |r: &crate::cycle::ledger::Remark| Remark {
        why: r.why.to_string(),
        cites: r.finding.cites(),
        text: Prose::new(&r.finding.text),
    };
    let all: Vec<_> = mine.map(one).collect();
    (!all.is_empty()).then_some(Part::Remarks(all))
}

fn delivery(story: &Story, brackets: &[&Bracket<'_>]) -> Group {
    let (badge, text) = match &story.run.delivery {
        Delivery::Done { commit, pull_request } => {
            let branch = story.pull.as_ref().map_or("", |p| p.branch.as_str());
            let text =
                format!("Commit `{}` was pushed as `{branch}`; pull request {pull_request} is open.", commit.short());
            (Badge::new(Tone::Good, "delivered"), text)
        }
        Delivery::Pending => (Badge::new(Tone::Live, "being delivered"), "It is tried until it works.".to_owned()),
        Delivery::Failed { cause } => {
            (Badge::new(Tone::Bad, "not delivered"), sentence(&format!("Not delivered: {cause}")))
        }
        Delivery::None => (Badge::new(Tone::Plain, "nothing to deliver"), String::new()),
    };
    let steps =
        brackets.iter().map(|b| step(story, b, "Pushed the branch and opened the pull request", vec![])).collect();
    Group {
        anchor: "delivery".to_owned(),
        title: "Delivery".to_owned(),
        badge,
        gist: Some(Line::new(&text)),
        money: None,
        took: None,
        tree: None,
        steps,
        open: true,
    }
}
