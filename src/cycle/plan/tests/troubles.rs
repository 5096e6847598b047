//! Crashes, checks that cannot run, steps that never really ran, people, and delivery.

use std::time::Duration;

use super::play::{Play, Setting, approves, rejects};
use crate::cycle::apply::DELIVERY_TRIES;
use crate::cycle::event::Event;
use crate::cycle::money::Money;
use crate::cycle::run::Delivery;
use crate::cycle::step::{Delivered, Reviewed, Step, StepResult, Written};
use crate::cycle::verdict::RulingKind::NotMet;

fn crashed(play: &Play, n: u8) -> Written {
    Written::Crashed { cause: "broke".into(), change: Some(play.change(n)) }
}

fn accepted() -> Play {
    let mut play = Play::passes(2);
    play.write(1).verify("0").review(approves()).decide();
    play
}

fn not_run(wait_ms: u64) -> StepResult {
    StepResult::NotRun { cause: "away".into(), wait_ms }
}

#[test]
fn a_run_begins_with_what_costs_nothing() {
    let mut play = Play::delegated(Setting::default().policy);
    assert_eq!((play.due().0, play.due().1.money), (Step::Prepare, Money::ZERO));
    play.step(StepResult::PrepareFailed("no such branch".into()));
    assert_eq!(play.next(), "failed(prepare_failed)");
}

#[test]
fn a_required_check_that_cannot_run_on_the_base_ends_the_run() {
    for (base, next) in [
        ("0", "implement (pass 1)"),
        ("1 1", "implement (pass 1)"),
        ("127 127", "failed(prepare_failed)"),
        ("fault", "failed(prepare_failed)"),
        ("clock", "failed(budget_clock)"),
    ] {
        assert_eq!(Play::over(Setting { base, ..Setting::default() }).next(), next, "{base}");
    }
    let optional = Setting { checks: vec![super::play::check("lint", false)], base: "127", ..Setting::default() };
    assert_eq!(Play::over(optional).next(), "implement (pass 1)");
}

#[test]
fn a_first_pass_that_changes_nothing_or_crashes_has_failed() {
    let mut unchanged = Play::passes(3);
    unchanged.write(0);
    assert_eq!(unchanged.next(), "failed(no_change)");
    let mut broken = Play::passes(3);
    broken.wrote(crashed(&broken, 1));
    assert_eq!(broken.next(), "failed(first_pass_crashed)");
}

#[test]
fn a_later_crash_hands_over_what_was_verified_before() {
    let mut play = Play::passes(3);
    play.write(1).verify("0").review(rejects().finding());
    play.wrote(crashed(&play, 2));
    assert_eq!(play.next(), "needs_review(agent_crashed)");
    assert!(play.goes_out(1));

    let mut review = Play::passes(3);
    review.write(1).verify("0").reviewed(Reviewed::Crashed { cause: "broke".into() });
    assert_eq!(review.next(), "needs_review(agent_crashed)");
}

#[test]
fn a_later_pass_that_changes_nothing_is_no_failure() {
    let mut play = Play::passes(3);
    play.write(1).verify("0").review(rejects().finding()).write(1);
    assert_eq!(play.next(), "verify (pass 2)");
}

#[test]
fn a_check_that_could_not_run_is_tried_once_more_and_no_review_is_paid_for_without_it() {
    let mut play = Play::passes(3);
    play.write(1).verify("fault");
    assert_eq!(play.next(), "verify (pass 1)");
    assert_eq!(play.clone().verify("0").next(), "review (pass 1)");
    assert_eq!(play.clone().verify("1 1").next(), "review (pass 1)");
    assert_eq!(play.verify("fault").next(), "needs_review(verification_unavailable)");
    let mut cut = Play::passes(3);
    assert_eq!(cut.write(1).verify("clock").next(), "needs_review(budget_clock)");
    let mut cut = Play::passes(3);
    assert_eq!(cut.write(1).verify("fault").verify("clock").next(), "needs_review(budget_clock)");
}

#[test]
fn a_step_that_never_ran_is_tried_again_after_a_pause_that_doubles_and_no_pass_is_charged() {
    let mut play = Play::passes(1);
    let mut pauses = Vec::new();
    for _ in 0..8 {
        play.step_costing(not_run(0), Money::ZERO, Duration::ZERO);
        assert_eq!(play.next(), "implement (pass 1)");
        pauses.push(play.due().2.as_secs());
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(play.run.passes.len(), 1);
    play.write(1);
    assert_eq!(play.due().2, Duration::ZERO, "what ran is not waited for");
}

#[test]
fn a_pause_is_never_shorter_than_what_was_asked_for_and_ends_with_the_clock() {
    let mut play = Play::passes(1);
    play.step(not_run(30_000));
    assert_eq!(play.due().2.as_secs(), 30);
    play.step(not_run(1_000));
    assert_eq!(play.due().2.as_secs(), 4);
    let before = play.due().1.clock;
    play.step(not_run(0));
    assert_eq!(play.due().1.clock, before - Duration::from_secs(4 + 1 + 8 - 4), "it comes off the step's time");
    play.step(not_run(24 * 3_600_000));
    assert_eq!(play.next(), "failed(budget_clock)");
}

#[test]
fn an_interrupted_step_begins_again_at_once_and_three_times_are_enough() {
    let mut first = Play::passes(3);
    for _ in 0..2 {
        first.step(StepResult::Interrupted);
        assert_eq!((first.next().as_str(), first.due().2), ("implement (pass 1)", Duration::ZERO));
    }
    let mut mixed = first.clone();
    mixed.step(not_run(0));
    assert_eq!(mixed.next(), "implement (pass 1)", "a provider that is away kills nobody");
    mixed.step(StepResult::Interrupted);
    assert_eq!(mixed.next(), "failed(internal_error)");
    let mut later = first.clone();
    later.write(1);
    later.step(StepResult::Interrupted);
    assert_eq!(later.next(), "verify (pass 1)", "another step begins to count anew");
    first.step(StepResult::Interrupted);
    assert_eq!(first.next(), "failed(internal_error)");
    for _ in 0..2 {
        later.step(StepResult::Interrupted);
    }
    assert_eq!(later.next(), "needs_review(internal_error)");
}

#[test]
fn a_step_that_was_stopped_begins_again_as_often_as_it_takes() {
    let mut play = Play::passes(3);
    play.step(StepResult::Interrupted);
    play.step(StepResult::Interrupted);
    for _ in 0..10 {
        play.step(StepResult::Stopped);
        assert_eq!((play.next().as_str(), play.due().2), ("implement (pass 1)", Duration::ZERO));
    }
    play.step(StepResult::Interrupted);
    assert_eq!(play.next(), "failed(internal_error)", "a stop between them forgives no death");
}

#[test]
fn a_delivery_that_kills_its_node_three_times_has_failed_and_the_outcome_stands() {
    let mut play = accepted();
    for _ in 0..2 {
        play.step(StepResult::Interrupted);
        assert_eq!(play.next(), "deliver");
    }
    play.step(StepResult::Interrupted);
    assert_eq!(play.next(), "over");
    assert!(matches!(&play.run.delivery, Delivery::Failed { cause } if cause.contains("died")));
    assert_eq!(play.run.outcome.as_ref().unwrap().to_string(), "accepted(countersigned)");
}

#[test]
fn a_cancel_before_delivery_wins_and_later_it_comes_too_late() {
    let cancel = Event::CancelAsked { by: "p".into() };
    let mut running = Play::passes(3);
    running.write(1).begin();
    running.take(&cancel);
    assert_eq!(running.next(), "in flight");
    for mut play in [Play::passes(3), accepted()] {
        play.take(&cancel);
        assert_eq!(play.next(), "cancelled");
        assert_eq!((play.decide().next().as_str(), &play.run.delivery), ("over", &Delivery::None));
    }
    let mut late = accepted();
    late.begin();
    late.take(&cancel);
    assert_eq!((late.next().as_str(), &late.run.cancel), ("in flight", &None));
}

#[test]
fn a_remark_before_delivery_withdraws_the_acceptance() {
    let mut play = accepted();
    assert_eq!(play.remark().next(), "revise (pass 2)");
    let mut last = Play::passes(1);
    last.write(1).verify("0").review(approves()).decide().remark();
    assert_eq!(last.next(), "needs_review(remark_unconfirmed)");
    let mut late = accepted();
    late.begin();
    assert!(late.remark().open().is_empty());
    assert_eq!(late.run.outcome.as_ref().unwrap().to_string(), "accepted(countersigned)");
}

#[test]
fn confirming_the_last_remark_accepts_the_unchanged_tree() {
    let mut play = Play::passes(1);
    play.remark().remark().write_answering(1, &["R1", "R2"]).verify("0");
    play.review(approves().rules("R1", NotMet).rules("R2", NotMet)).decide();
    let confirm = |play: &mut Play, id: &str| play.take(&Event::RemarkConfirmed { id: id.into() });
    confirm(&mut play, "R1");
    assert_eq!(play.next(), "deliver", "R2 is open");
    confirm(&mut play, "R2");
    assert_eq!(play.next(), "accepted(countersigned)");
    assert_eq!(play.decide().next(), "deliver");

    let mut other = Play::passes(1);
    other.write(1).verify("0").review(approves()).remark();
    other.take(&Event::Decided { outcome: super::Outcome::NeedsReview(super::Stop::BudgetPasses) });
    confirm(&mut other, "R1");
    assert_eq!(other.next(), "deliver", "it was handed over for another reason");
}

#[test]
fn delivery_is_tried_again_outside_the_clock_and_never_changes_the_outcome() {
    let again = |again| StepResult::Delivered(Delivered::Failed { cause: "away".into(), again });
    let mut play = accepted();
    let used = play.run.used;
    for tries in 1..DELIVERY_TRIES {
        play.step_costing(again(true), Money::ZERO, Duration::ZERO);
        assert_eq!(play.next(), "deliver", "after {tries}");
        assert_eq!(play.due().1.clock, Duration::from_secs(120));
        assert!(play.due().2 >= Duration::from_secs(2));
    }
    play.step_costing(again(true), Money::ZERO, Duration::ZERO);
    assert_eq!(play.next(), "over");
    assert!(matches!(play.run.delivery, Delivery::Failed { .. }) && play.run.used == used);
    assert_eq!(play.run.outcome.as_ref().unwrap().to_string(), "accepted(countersigned)");

    let mut refused = accepted();
    refused.step_costing(again(false), Money::ZERO, Duration::ZERO);
    assert_eq!(refused.next(), "over");
}

#[test]
fn what_has_nothing_to_deliver_is_over_once_it_is_decided() {
    let mut play = Play::passes(1);
    play.write(0).decide();
    assert_eq!(play.next(), "over");
}
