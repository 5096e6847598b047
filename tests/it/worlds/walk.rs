//! One world from its first fact to its end.

use std::time::Duration;

use countersign::cycle::event::Event;
use countersign::cycle::money::Money;
use countersign::cycle::outcome::{Failure, Outcome};
use countersign::cycle::plan::{Next, plan};
use countersign::cycle::run::{Delivery, Run};
use countersign::cycle::step::{Delivered, Step, StepResult};

use super::chance::World;
use super::oracle::{BEFORE_THE_TABLE, Oracle};
use super::visits::Visits;

/// More facts than any world may take to end: 20 passes of 3 steps, each retried, with deliveries.
const MOST_FACTS: usize = 400;

struct Walk {
    seed: u64,
    world: World,
    run: Run,
    events: Vec<Event>,
    oracle: Oracle,
    /// The situation after the last review, until what follows it is known.
    awaited: Option<super::oracle::Situation>,
    cancelled_at: Option<usize>,
}

/// Walks one world and checks every rule on the way.
pub(super) fn walk(seed: u64, visits: &mut Visits) {
    let mut world = World::new(seed);
    let run = world.run();
    let delegated =
        Event::Delegated { run: run.id, issue: Box::new(run.issue.clone()), policy: Box::new(run.policy.clone()) };
    let oracle = Oracle::new(run.policy.clone());
    let mut walk = Walk { seed, world, run, events: vec![delegated], oracle, awaited: None, cancelled_at: None };
    while walk.advance(visits) {}
    walk.judge_the_end();
}

impl Walk {
    fn take(&mut self, event: Event) {
        self.run.apply(&event).unwrap_or_else(|e| panic!("seed {}: {e}\n{event:?}", self.seed));
        self.oracle.see(&event);
        self.events.push(event);
        assert!(self.events.len() < MOST_FACTS, "seed {}: the run does not end", self.seed);
    }

    /// A person may speak up at any moment.
    fn interject(&mut self) {
        let by = || "p".to_owned();
        match self.world.dice.u16(..1000) {
            0..40 => self.take(Event::Remarked { by: by(), text: "and this".into() }),
            40..44 => {
                if !self.run.deliver_began && !self.run.is_over() {
                    self.cancelled_at.get_or_insert(self.events.len());
                }
                self.take(Event::CancelAsked { by: by() });
            }
            _ => {}
        }
    }

    fn advance(&mut self, visits: &mut Visits) -> bool {
        let version = self.run.version;
        self.interject();
        if self.run.version != version {
            self.awaited = None;
        }
        let next = plan(&self.run);
        assert_eq!(next, plan(&self.run), "seed {}: planning twice differs", self.seed);
        match next {
            Next::Begin { step, allowance, pause } => {
                self.follows(if matches!(step, Step::Revise(_)) { "revise" } else { "" });
                self.may_begin(step);
                let used = self.run.used + if step == Step::Deliver { Duration::ZERO } else { pause };
                self.take(Event::StepBegan { step, allowance, used });
                self.interject();
                let (result, spent, took) = self.world.perform(&self.run, step, allowance);
                assert!(spent <= allowance.money && took <= allowance.clock, "the world is wrong");
                let used = used + if step == Step::Deliver { Duration::ZERO } else { took };
                let told = Told::of(&result);
                self.take(Event::StepFinished { result, spent, used });
                self.count(&told, visits);
                true
            }
            Next::Decide(outcome) => {
                self.follows(&outcome.to_string());
                self.may_decide(&outcome);
                visits.count(outcome.to_string());
                self.take(Event::Decided { outcome });
                true
            }
            Next::InFlight => panic!("seed {}: nothing is in flight", self.seed),
            Next::Over => false,
        }
    }

    fn count(&mut self, told: &Told, visits: &mut Visits) {
        match told {
            Told::Verified => self.oracle.meanings().iter().for_each(|m| visits.count(m.name())),
            Told::Reviewed => {
                self.awaited = self.oracle.situation();
                self.awaited.iter().for_each(|s| visits.count(s.row));
            }
            Told::Else => {}
        }
    }

    /// What follows a review is what its row says, or a stop that comes before the table, or a ceiling.
    fn follows(&mut self, next: &str) {
        let Some(situation) = self.awaited.take() else { return };
        if next == "cancelled" && self.cancelled_at.is_some() {
            return;
        }
        let ceiling = ["needs_review(budget_money)", "needs_review(budget_clock)"];
        let is_row = situation.then.contains(&next);
        let may_stop_before = situation.then.contains(&"revise") || situation.row.starts_with("rejected");
        let is_earlier = BEFORE_THE_TABLE.contains(&next) && (may_stop_before || situation.row.contains("protected"));
        let is_earlier =
            is_earlier || (BEFORE_THE_TABLE.contains(&next) && situation.row.contains("no required check"));
        let is_ceiling = ceiling.contains(&next) && situation.then.contains(&"revise");
        assert!(is_row || is_earlier || is_ceiling, "seed {}: after `{}` came `{next}`", self.seed, situation.row);
    }

    fn may_begin(&self, step: Step) {
        let seed = self.seed;
        if step != Step::Deliver {
            assert!(self.cancelled_at.is_none(), "seed {seed}: {step} began after a cancel");
            assert!(self.run.used < self.run.policy.clock, "seed {seed}: {step} began after the clock ran out");
        }
        if matches!(step, Step::Revise(_)) {
            assert!(!self.oracle.may_accept(), "seed {seed}: work that may be accepted was sent back");
        }
        assert!(self.run.charged_passes() <= usize::from(self.run.policy.passes), "seed {seed}: too many passes");
    }

    fn may_decide(&self, outcome: &Outcome) {
        let seed = self.seed;
        match outcome {
            Outcome::Accepted(_) => assert!(self.oracle.may_accept(), "seed {seed}: accepted what may not be"),
            Outcome::NeedsReview(_) => {
                assert!(!self.oracle.may_accept(), "seed {seed}: {outcome} though it may be accepted");
                assert!(self.oracle.must_deliver().is_some(), "seed {seed}: {outcome} with nothing to hand over");
            }
            Outcome::Failed(Failure::Stopped(_)) => {
                assert!(self.oracle.must_deliver().is_none(), "seed {seed}: {outcome} though there is work");
            }
            Outcome::Failed(_) => {}
            Outcome::Cancelled => assert!(self.cancelled_at.is_some(), "seed {seed}: nobody cancelled"),
            Outcome::Delivered => panic!("seed {seed}: this mode never delivers unchecked work"),
        }
    }

    fn judge_the_end(&self) {
        let (seed, run) = (self.seed, &self.run);
        let outcome = run.outcome.as_ref().unwrap_or_else(|| panic!("seed {seed}: over without an outcome"));
        assert!(run.spent <= run.policy.money, "seed {seed}: {} spent of {}", run.spent, run.policy.money);
        let settled: Money = run.passes.iter().map(|p| p.spent).sum();
        assert_eq!(settled, run.spent, "seed {seed}: money of passes and run differ");
        let replayed = Run::replay(&self.events).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(replayed, *run, "seed {seed}: replay differs");
        if outcome.is_delivered() {
            assert_eq!(run.deliverable().map(|c| &c.tree), self.oracle.must_deliver(), "seed {seed}: wrong tree");
            assert_ne!(run.delivery, Delivery::None, "seed {seed}: never delivered");
        } else {
            assert_eq!(run.delivery, Delivery::None, "seed {seed}: delivered a run that {outcome}");
            assert!(!run.deliver_began, "seed {seed}: delivery began");
        }
        if self.cancelled_at.is_some() {
            assert_eq!(*outcome, Outcome::Cancelled, "seed {seed}: the cancel was lost");
        }
    }
}

enum Told {
    Verified,
    Reviewed,
    Else,
}

impl Told {
    fn of(result: &StepResult) -> Self {
        match result {
            StepResult::Verified { .. } => Self::Verified,
            StepResult::Reviewed(_) => Self::Reviewed,
            StepResult::Delivered(Delivered::Done { .. } | Delivered::Failed { .. })
            | StepResult::Prepared(_)
            | StepResult::PrepareFailed(_)
            | StepResult::Measured(_)
            | StepResult::Written(_)
            | StepResult::NotRun { .. }
            | StepResult::Interrupted
            | StepResult::Stopped => Self::Else,
        }
    }
}
