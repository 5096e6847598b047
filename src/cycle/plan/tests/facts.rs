//! What each fact does to a run, and which cannot follow.

use std::time::Duration;

use super::play::{Play, Setting, approves, check, rejects};
use crate::cycle::event::Event;
use crate::cycle::money::Money;
use crate::cycle::outcome::Outcome;
use crate::cycle::run::Phase;
use crate::cycle::step::{Allowance, Delivered, Rules, Step, StepResult};

const NOTHING: Allowance = Allowance { money: Money::ZERO, clock: Duration::ZERO };

fn begins(step: Step) -> Event {
    Event::StepBegan { step, allowance: NOTHING, used: Duration::ZERO }
}

fn finished(result: StepResult) -> Event {
    Event::StepFinished { result, spent: Money::ZERO, used: Duration::ZERO }
}

#[test]
fn facts_are_counted_and_a_step_in_flight_is_known_by_the_number_of_the_one_that_began_it() {
    let mut play = Play::passes(1);
    let before = play.run.version;
    play.begin();
    assert!(matches!(play.run.phase, Phase::Busy { step: Step::Implement, seq, .. } if seq == before + 1));
    assert_eq!(play.run.version, before + 1);
    play.remark();
    assert_eq!(play.run.version, before + 2);
}

#[test]
fn a_run_is_over_when_it_is_decided_and_nothing_is_in_flight_or_left_to_deliver() {
    let mut failed = Play::passes(1);
    assert!(!failed.write(0).run.is_over());
    assert!(failed.decide().run.is_over());
    assert!(failed.remark().open().is_empty(), "a remark comes too late");
    failed.take(&Event::CancelAsked { by: "p".into() });
    assert_eq!((failed.next().as_str(), &failed.run.cancel), ("over", &None), "so does a cancel");

    let mut accepted = Play::passes(1);
    assert!(!accepted.write(1).verify("0").review(approves()).decide().run.is_over());
    accepted.begin();
    assert!(!accepted.run.is_over());
    accepted.take(&finished(StepResult::Delivered(Delivered::Failed { cause: "refused".into(), again: false })));
    assert!(accepted.run.is_over());
}

#[test]
fn each_pass_knows_what_it_cost_and_the_clock_never_runs_back() {
    let mut play = Play::passes(3);
    play.write(1).verify("0").review(rejects().finding()).write(2);
    let spent: Vec<Money> = play.run.passes.iter().map(|p| p.spent).collect();
    assert_eq!(spent, [Money::from_cents(2), Money::from_cents(1)]);
    assert_eq!(play.run.spent, Money::from_cents(3));
    let used = play.run.used;
    play.take(&begins(Step::Verify(2)));
    assert_eq!(play.run.used, used, "a clock that was read late changes nothing");
}

#[test]
fn a_writing_step_that_never_ran_is_the_same_pass_when_it_begins_again() {
    let mut play = Play::passes(3);
    play.write(1).verify("0").review(rejects().finding());
    play.step(StepResult::NotRun { cause: "away".into(), wait_ms: 0 });
    assert_eq!(play.next(), "revise (pass 2)");
    play.write(2);
    assert_eq!(play.run.passes.len(), 2);
}

#[test]
fn only_a_required_check_that_ran_is_an_obligation() {
    let mut play = Play::over(Setting { checks: vec![check("lint", false)], ..Setting::default() });
    play.write(1).verify("1");
    assert!(play.open().is_empty());
    let mut play = Play::passes(3);
    play.write(1).verify("fault");
    assert!(play.open().is_empty());
    assert_eq!(play.verify("1 1").open(), ["K1"]);
}

#[test]
fn what_a_check_raises_says_what_fails_as_far_as_that_is_known() {
    for (base, now, text) in [
        ("0", "1:b,a 1:b,a", "The check `test` fails: a, b."),
        ("0", "1 1", "The check `test` fails."),
        ("1 1", "1 1", "The check `test` fails, as it did on the base."),
    ] {
        let rules = Rules { strict_baseline: true, ..Rules::default() };
        let mut play = Play::over(Setting { base, rules, ..Setting::default() });
        play.write(1).verify(now);
        let k1 = play.run.ledger.find("K1").unwrap();
        assert_eq!((k1.text.as_str(), k1.cites.as_str()), (text, "test"));
    }
}

#[test]
fn what_the_baseline_says_is_what_a_check_is_held_to() {
    for (base, open) in [("0", vec!["K1"]), ("1 1", vec![]), ("1 0", vec!["K1"])] {
        let mut play = Play::over(Setting { base, ..Setting::default() });
        assert_eq!(play.write(1).verify("1 1").open(), open, "{base}");
    }
}

#[test]
fn a_fact_that_cannot_follow_is_refused_and_leaves_the_run_as_it_was() {
    let fresh = Play::delegated(Setting::default().policy);
    let writing = Play::passes(3);
    let mut busy = writing.clone();
    busy.begin();
    let mut written = Play::passes(3);
    written.write(1);
    let mut checking = written.clone();
    checking.begin();
    let mut decided = Play::passes(3);
    decided.write(1).verify("0").review(approves()).decide();
    let elsewhere = StepResult::Verified { tree: writing.change(2).tree, runs: vec![] };
    let delivered = StepResult::Delivered(Delivered::Failed { cause: "away".into(), again: true });
    for (play, event) in [
        (&busy, begins(Step::Implement)),
        (&busy, Event::Decided { outcome: Outcome::Cancelled }),
        (&busy, finished(StepResult::Measured(vec![]))),
        (&busy, finished(delivered)),
        (&fresh, finished(StepResult::Interrupted)),
        (&fresh, begins(Step::Deliver)),
        (&fresh, begins(Step::Verify(1))),
        (&writing, begins(Step::Revise(2))),
        (&writing, Event::RemarkConfirmed { id: "R1".into() }),
        (&written, begins(Step::Implement)),
        (&written, begins(Step::Revise(3))),
        (&written, begins(Step::Review(2))),
        (&checking, finished(elsewhere)),
        (&decided, begins(Step::Revise(2))),
    ] {
        let mut after = play.run.clone();
        assert!(after.apply(&event).is_err(), "{event:?}");
        assert_eq!(after, play.run, "{event:?}");
    }
}
