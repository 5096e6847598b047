//! The page of a run.

use std::time::Duration;

use super::{groups, hash, outcome, parts, sentence};
use crate::app::story::{Diff, Performer, Story, performers};
use crate::clock;
use crate::cycle::outcome::{Failure, Outcome as Ending, Stop};
use crate::cycle::policy::Role;
use crate::cycle::run::{Delivery, Phase, Run};
use crate::cycle::step::Step;
use crate::store::Entry;
use crate::web::pages::run::{Budget, HandOver, Heading, Issue, Now, Outcome, Summary, View, Who};
use crate::web::prose::Line;
use crate::web::view::{Badge, Meter, Tone};
use crate::web::words::{self, When, count, duration};

/// Whether the run's words were written beforehand.
pub(super) fn is_canned(run: &Run) -> bool {
    performers(&run.policy).iter().any(|p| p.canned)
}

pub(super) fn view(story: &Story, diffs: Vec<Option<Diff>>) -> View {
    let run = &story.run;
    View {
        run: run.id,
        heading: heading(story),
        badges: badges(story),
        canned: is_canned(run),
        summary: Summary { tone: outcome(run).tone, sentence: Line::new(&sentence::of(run)) },
        now: now(story),
        hand_over: hand_over(run),
        issue: Issue { body: run.issue.body.clone(), done: run.issue.done.clone() },
        groups: groups::all(story, diffs),
        budget: budget(story),
        result: result(story),
        who: performers(&run.policy).into_iter().map(who).collect(),
    }
}

fn heading(story: &Story) -> Heading {
    Heading {
        repository: story.row.repository.name.clone(),
        title: story.row.title.clone(),
        base: story.run.issue.base.clone(),
        commit: story.run.preparation.as_ref().map(|p| hash(p.base.as_str())),
        delegated: When::clock(story.row.created_at.seconds()),
    }
}

fn badges(story: &Story) -> Vec<Badge> {
    let mut badges = vec![outcome(&story.run), Badge::new(Tone::Plain, "Second reader")];
    badges.extend(story.pull.as_ref().map(|p| Badge::new(Tone::Plain, format!("pull request {}", p.number))));
    badges
}

fn now(story: &Story) -> Option<Now> {
    let run = &story.run;
    if run.is_over() {
        return None;
    }
    let last = story.events.last().map_or(0, |e| e.at.seconds());
    let doing = match run.phase {
        Phase::Busy { step, .. } => format!("In progress: {step}"),
        Phase::Ready if run.preparation.is_none() => "Waiting for a free slot".to_owned(),
        Phase::Ready => "Between two steps".to_owned(),
    };
    let setback = run.setback.as_ref().filter(|s| s.tries > 0);
    let waiting = waits(story).or_else(|| setback.map(|s| format!("{}; tried {} so far", s.cause, s.tries)));
    Some(Now { doing, since: When::clock(last), waiting, as_of: When::clock(clock::now().seconds()) })
}

/// What the step in flight waits for, if that is the last thing it did.
fn waits(story: &Story) -> Option<String> {
    let Phase::Busy { seq, .. } = story.run.phase else { return None };
    let mine = story.lines.iter().filter(|line| line.step == seq).rev();
    let waits: Vec<&str> = mine.map_while(|line| waited_for(&line.what)).collect();
    let cause = waits.first()?;
    Some(format!("{cause}; {} so far in this step", words::count(waits.len() as u64, "wait", "waits")))
}

fn waited_for(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Waited { cause, .. } => Some(cause),
        Entry::Said(_) | Entry::Thought(_) | Entry::Used { .. } | Entry::Compacted { .. } => None,
    }
}

/// What a person is to do; why it came to that stands at the top of the page already.
fn hand_over(run: &Run) -> Option<HandOver> {
    let (stands, next) = match run.outcome.as_ref()? {
        Ending::NeedsReview(stop) => {
            let first = (*stop != Stop::SecretInCommit).then(|| reading(run));
            (delivered(run, *stop), first.into_iter().chain([stop.advice().to_owned()]).collect::<Vec<_>>())
        }
        Ending::Failed(failure) => (nothing_delivered(run, failure), vec![sentence::advice_after(failure).to_owned()]),
        Ending::Accepted(_) | Ending::Delivered | Ending::Cancelled => return None,
    };
    Some(HandOver {
        stands: Line::new(&stands),
        open: run.ledger.open().map(parts::finding).collect(),
        next: next.iter().map(|step| Line::new(step)).collect(),
    })
}

/// What to read before anything is done.
fn reading(run: &Run) -> String {
    let pushed = match &run.delivery {
        Delivery::Done { commit, .. } => run.passes.iter().find(|p| p.change().is_some_and(|c| c.commit == *commit)),
        Delivery::None | Delivery::Pending | Delivery::Failed { .. } => None,
    };
    let diff = pushed.map_or_else(
        || "the diff of the last pass against the base".to_owned(),
        |p| format!("the diff of pass {} against the base, which is what was pushed", p.number),
    );
    match run.ledger.open().next() {
        Some(_) => format!("Read what is open, then {diff}."),
        None => format!("Read {diff}."),
    }
}

/// Where the work of a run that needs a person is; why it needs one is said above.
fn delivered(run: &Run, stop: Stop) -> String {
    match &run.delivery {
        _ if stop == Stop::SecretInCommit => "Nothing was pushed: the change is on this page alone.".to_owned(),
        Delivery::Done { .. } => {
            "The branch is pushed and its pull request is open, marked Needs review: nobody signed it off.".to_owned()
        }
        Delivery::Pending => "The branch is being pushed, and its pull request will be marked Needs review.".to_owned(),
        Delivery::Failed { cause } => words::sentence(&format!("The branch could not be pushed: {cause}")),
        Delivery::None => "Nothing was pushed yet.".to_owned(),
    }
}

/// What is left of a run that had nothing to deliver.
fn nothing_delivered(run: &Run, failure: &Failure) -> String {
    match failure {
        Failure::PrepareFailed(_) => "Nothing was written, nothing was paid for and nothing was pushed.".to_owned(),
        Failure::FirstPassCrashed => {
            let left = match run.deliverable() {
                Some(_) => "What it had written until then is kept under Pass 1; nothing was pushed.",
                None => "Nothing was written and nothing was pushed.",
            };
            left.to_owned()
        }
        Failure::NoChange | Failure::Stopped(_) => "Nothing was pushed.".to_owned(),
    }
}

/// The run's clock as of now: what is counted, and the step in flight.
fn used(story: &Story) -> Duration {
    let run = &story.run;
    let began = match run.phase {
        Phase::Busy { step, .. } if step != Step::Deliver => story.events.last().map(|e| e.at.0),
        Phase::Busy { .. } | Phase::Ready => None,
    };
    let since = began.map_or(0, |began| (clock::now().0 - began).max(0).unsigned_abs());
    run.used.saturating_add(Duration::from_micros(since)).min(run.policy.clock.max(run.used))
}

fn budget(story: &Story) -> Budget {
    let (run, used) = (&story.run, used(story));
    let part = |used: u128, of: u128| u32::try_from(used * 1000 / of.max(1)).ok();
    let stopped = |by: Stop| {
        let stop = match &run.outcome {
            Some(Ending::NeedsReview(stop) | Ending::Failed(Failure::Stopped(stop))) => Some(*stop),
            Some(Ending::Accepted(_) | Ending::Delivered | Ending::Failed(_) | Ending::Cancelled) | None => None,
        };
        if stop == Some(by) { Tone::Warn } else { Tone::Plain }
    };
    let pico = |money: crate::cycle::money::Money| u128::from(money.picodollars().max(0).unsigned_abs());
    Budget {
        passes: Meter {
            used: run.charged_passes().to_string(),
            ceiling: count(u64::from(run.policy.passes), "pass", "passes"),
            thousandths: part(run.charged_passes() as u128, u128::from(run.policy.passes)),
            tone: stopped(Stop::BudgetPasses),
        },
        money: Meter {
            used: run.spent.to_string(),
            ceiling: run.policy.money.to_string(),
            thousandths: part(pico(run.spent), pico(run.policy.money)),
            tone: stopped(Stop::BudgetMoney),
        },
        clock: Meter {
            used: duration(used),
            ceiling: duration(run.policy.clock),
            thousandths: part(used.as_millis(), run.policy.clock.as_millis()),
            tone: stopped(Stop::BudgetClock),
        },
    }
}

fn result(story: &Story) -> Outcome {
    let run = &story.run;
    let (delivery, note) = match &run.delivery {
        Delivery::Done { .. } => (Badge::new(Tone::Good, "delivered"), None),
        Delivery::Pending => (Badge::new(Tone::Live, "being delivered"), None),
        Delivery::Failed { cause } => {
            (Badge::new(Tone::Bad, "not delivered"), Some(Line::new(&words::sentence(cause))))
        }
        Delivery::None if run.outcome.is_none() => (Badge::new(Tone::Plain, "not yet"), None),
        Delivery::None => (Badge::new(Tone::Plain, "nothing to deliver"), None),
    };
    let branch = story.pull.as_ref().map(|p| p.branch.clone());
    Outcome { delivery, note, branch, label: story.pull.as_ref().map(|p| p.label.clone()) }
}

fn who(performer: Performer) -> Who {
    let role = match performer.role {
        Role::Implementer => "Implementer",
        Role::Reviewer => "Reviewer",
        Role::Moderator => "Moderator",
        Role::Auditor => "Auditor",
        Role::Evaluator => "Evaluator",
    };
    Who {
        role: role.to_owned(),
        agent: format!("built-in, {}", performer.provider),
        model: performer.choice.model,
        effort: Some(performer.choice.effort.to_string()),
    }
}
