//! Passes, money and time.

use std::time::Duration;

use super::play::{Play, Setting, approves, rejects};
use crate::cycle::money::Money;
use crate::cycle::outcome::Ceiling;
use crate::cycle::policy::Policy;
use crate::cycle::step::{Reviewed, Step, StepResult, Written};

/// One dollar and a hundred minutes, of which a writing step leaves a fifth.
fn play() -> Play {
    let policy =
        Policy { money: Money::from_cents(100), clock: Duration::from_secs(6000), ..Setting::default().policy };
    Play::over(Setting { policy, ..Setting::default() })
}

fn written(play: &Play, n: u8) -> StepResult {
    StepResult::Written(Box::new(Written::Done { change: play.change(n), report: String::new(), answers: vec![] }))
}

/// A first pass whose writing step used so many cents and seconds.
fn wrote(cents: i64, seconds: u64) -> Play {
    let mut play = play();
    let seconds = Duration::from_secs(seconds).saturating_sub(play.run.used);
    play.step_costing(written(&play, 1), Money::from_cents(cents), seconds);
    play
}

#[test]
fn the_last_allowed_pass_is_the_last() {
    for passes in 1..=3 {
        let mut play = Play::passes(passes);
        for pass in 1..=passes {
            assert_eq!(play.due().0.pass(), Some(pass));
            play.write(pass).verify("0").review(rejects().finding());
        }
        assert_eq!(play.next(), "needs_review(budget_passes)");
    }
}

#[test]
fn a_writing_step_leaves_the_reviewer_its_share_of_money_and_time() {
    let (step, allowance, _) = play().due();
    assert_eq!((step, allowance.money), (Step::Implement, Money::from_cents(80)));
    assert_eq!(allowance.clock, Duration::from_secs(4800 - 2));

    let mut spent = wrote(80, 4800);
    assert_eq!(spent.due().1.money, Money::ZERO, "checks cost no money");
    assert_eq!(spent.due().1.clock, Duration::from_secs(1200));
    spent.verify("0");
    let (step, allowance, _) = spent.due();
    assert_eq!((step, allowance.money), (Step::Review(1), Money::from_cents(20)));
    assert_eq!(allowance.clock, Duration::from_secs(1199));
}

#[test]
fn a_paid_step_does_not_begin_without_money() {
    let mut review = wrote(99, 10);
    review.verify("0");
    assert_eq!(review.next(), "review (pass 1)");
    let mut review = wrote(100, 10);
    review.verify("0");
    assert_eq!(review.next(), "needs_review(budget_money)");

    for (cents, next) in [(78, "revise (pass 2)"), (79, "needs_review(budget_money)")] {
        let mut revise = wrote(cents, 10);
        revise.verify("0").review(rejects().finding());
        assert_eq!(revise.next(), next, "{cents} and one for the review of 80 for writing");
    }
}

#[test]
fn no_step_begins_without_time() {
    assert_eq!(wrote(1, 5999).next(), "verify (pass 1)");
    assert_eq!(wrote(1, 6000).next(), "needs_review(budget_clock)");
    let mut checked = wrote(1, 5999);
    checked.verify("0");
    assert_eq!(checked.next(), "needs_review(budget_clock)");
    for (seconds, next) in [(4797, "revise (pass 2)"), (4798, "needs_review(budget_clock)")] {
        let mut revise = wrote(1, seconds);
        revise.verify("0").review(rejects().finding());
        assert_eq!(revise.next(), next, "{seconds}, two for checks and review, of 4800 for writing");
    }
}

#[test]
fn an_acceptance_needs_neither_money_nor_time() {
    let mut play = wrote(99, 10);
    play.verify("0");
    let review = approves().reviewed();
    play.step_costing(StepResult::Reviewed(Box::new(review)), Money::from_cents(1), Duration::from_secs(9999));
    assert_eq!(play.next(), "accepted(countersigned)");
}

#[test]
fn what_a_cut_writing_step_left_is_verified_and_handed_over() {
    for (ceiling, stop) in
        [(Ceiling::Money, "needs_review(budget_money)"), (Ceiling::Clock, "needs_review(budget_clock)")]
    {
        let mut cut = play();
        cut.wrote(Written::Cut { ceiling, change: Some(cut.change(1)) });
        assert_eq!(cut.next(), "verify (pass 1)");
        let once_more = cut.clone().verify("fault").next();
        assert_eq!(once_more, "verify (pass 1)", "a check that could not run is tried once more");
        cut.verify("0");
        assert_eq!(cut.next(), stop);
    }
}

#[test]
fn a_cut_with_nothing_to_verify_or_no_time_to_decides_at_once() {
    let money = |change| Written::Cut { ceiling: Ceiling::Money, change };
    let mut nothing = play();
    nothing.wrote(money(None));
    assert_eq!(nothing.next(), "failed(budget_money)");
    let mut base = play();
    base.wrote(money(Some(base.change(0))));
    assert_eq!(base.next(), "failed(budget_money)");

    let mut late = play();
    let cut = Written::Cut { ceiling: Ceiling::Clock, change: Some(late.change(1)) };
    late.step_costing(StepResult::Written(Box::new(cut)), Money::ZERO, Duration::from_secs(9999));
    assert_eq!(late.next(), "needs_review(budget_clock)");
    assert!(late.goes_out(1), "a tree that was never verified is better than none");

    let mut both = play();
    let (cut, left) = (money(Some(both.change(1))), Duration::from_secs(6000) - both.run.used);
    both.step_costing(StepResult::Written(Box::new(cut)), Money::ZERO, left);
    assert_eq!(both.next(), "needs_review(budget_money)", "what cut the step is what is told");
}

#[test]
fn what_is_handed_over_is_the_last_tree_that_was_verified_and_differs_from_the_base() {
    let mut play = play();
    play.write(1).verify("0").review(rejects().finding());
    play.wrote(Written::Cut { ceiling: Ceiling::Money, change: Some(play.change(2)) });
    assert!(play.goes_out(1));
    let mut unverified = play.clone();
    unverified.verify("fault").verify("fault");
    assert!(unverified.next() == "needs_review(budget_money)" && unverified.goes_out(1));
    play.verify("1 1");
    assert!(play.next() == "needs_review(budget_money)" && play.goes_out(2));
}

#[test]
fn a_ceiling_that_cuts_a_review_is_no_missing_verdict() {
    for (ceiling, stop) in
        [(Ceiling::Money, "needs_review(budget_money)"), (Ceiling::Clock, "needs_review(budget_clock)")]
    {
        let mut play = play();
        play.write(1).verify("0").reviewed(Reviewed::Cut(ceiling));
        assert_eq!(play.next(), stop);
    }
}
