//! Disputes, passes that reproduce earlier ones, and the order of the stops.

use super::play::{Play, Setting, approves, rejects};
use crate::cycle::policy::Policy;
use crate::cycle::step::Reviewed;

/// A run whose first pass wrote tree 1 and was rejected for `F1`.
fn rejected_once(stall_limit: u8, dispute_limit: u8, passes: u8) -> Play {
    let policy = Policy { stall_limit, dispute_limit, passes, ..Setting::default().policy };
    let mut play = Play::over(Setting { policy, ..Setting::default() });
    play.write(1).verify("0").review(rejects().finding());
    play
}

fn ordinary() -> Play {
    rejected_once(2, 1, 9)
}

#[test]
fn a_dispute_that_the_reviewer_upholds_as_often_as_the_limit_says_needs_a_person() {
    let mut once = ordinary();
    once.write_answering(1, &["!F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(once.next(), "needs_review(disputed)");

    let mut twice = rejected_once(9, 2, 9);
    twice.write_answering(2, &["!F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(twice.next(), "revise (pass 3)");
    twice.write_answering(3, &["!F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(twice.next(), "needs_review(disputed)");
}

#[test]
fn only_an_upheld_dispute_counts() {
    for (answers, said) in [
        (&["F1"][..], rejects().upholds("F1")),
        (&[], rejects().upholds("F1")),
        (&["!F1"], rejects()),
        (&["!F1"], rejects().closes("F1").finding()),
    ] {
        let mut play = ordinary();
        play.write_answering(2, answers).verify("0").review(said);
        assert_eq!(play.next(), "revise (pass 3)", "{answers:?}");
    }
}

#[test]
fn a_pass_of_nothing_but_disputes_is_free_once_for_each_obligation() {
    let disputed = |tree, answers: &[&str]| {
        let mut play = rejected_once(9, 9, 9);
        play.write_answering(tree, answers).verify("0").review(rejects().upholds("F1"));
        play
    };
    assert_eq!(disputed(1, &["!F1"]).run.charged_passes(), 1);
    assert_eq!(disputed(2, &["!F1"]).run.charged_passes(), 2, "it changed something as well");
    assert_eq!(disputed(1, &["F1"]).run.charged_passes(), 2, "it disputed nothing");
    assert_eq!(disputed(1, &["!F99"]).run.charged_passes(), 2, "there is no such obligation");
    assert_eq!(disputed(1, &["!F1", "F99"]).run.charged_passes(), 2, "not everything is a dispute");
    let mut again = disputed(1, &["!F1"]);
    again.write_answering(1, &["!F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(again.run.charged_passes(), 2);
}

#[test]
fn a_free_pass_does_not_count_against_the_ceiling() {
    let mut play = rejected_once(9, 9, 2);
    play.write_answering(1, &["!F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(play.next(), "revise (pass 3)");
    play.write_answering(2, &["F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(play.next(), "needs_review(budget_passes)");
}

#[test]
fn two_passes_with_one_tree_one_result_and_no_movement_are_a_stall() {
    let mut play = ordinary();
    play.write_answering(1, &["F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(play.next(), "needs_review(stalled)");

    let mut flaky = ordinary();
    flaky.write_answering(1, &["F1"]).verify("1 0").review(rejects());
    assert_eq!(flaky.next(), "needs_review(stalled)", "a flake counts as passed");
}

#[test]
fn whatever_moved_is_no_stall() {
    for (tree, answers, attempts, said) in [
        (2, &[][..], "0", rejects()),
        (1, &[], "1 1", rejects()),
        (1, &[], "0", rejects().finding()),
        (1, &[], "0", rejects().closes("F1").finding()),
        (1, &["!F1"], "0", rejects()),
    ] {
        let mut play = ordinary();
        play.write_answering(tree, answers).verify(attempts).review(said);
        assert_eq!(play.next(), "revise (pass 3)", "tree {tree}, {answers:?}, {attempts}");
    }
    let mut closed = Play::passes(9);
    closed.write(1).verify("0").review(rejects().finding().finding());
    closed.write(1).verify("0").review(rejects().closes("F1"));
    assert_eq!(closed.next(), "revise (pass 3)", "an obligation was closed");
}

#[test]
fn a_stall_takes_as_many_passes_as_the_limit_says() {
    let mut play = rejected_once(3, 1, 9);
    play.write(1).verify("0").review(rejects());
    assert_eq!(play.next(), "revise (pass 3)");
    play.write(1).verify("0").review(rejects());
    assert_eq!(play.next(), "needs_review(stalled)");

    let mut interrupted = rejected_once(3, 1, 9);
    interrupted.write(2).verify("0").review(rejects());
    interrupted.write(2).verify("0").review(rejects());
    assert_eq!(interrupted.next(), "revise (pass 4)", "the first of the three had another tree");
}

#[test]
fn a_pass_that_reproduces_an_earlier_one_or_the_base_is_oscillating() {
    let mut back = ordinary();
    back.write(2).verify("0").review(rejects());
    assert_eq!(back.next(), "revise (pass 3)");
    back.write(1).verify("0").review(rejects().finding());
    assert_eq!(back.next(), "needs_review(oscillating)");

    let mut undone = ordinary();
    undone.write(0).verify("0").review(rejects().finding());
    assert_eq!(undone.next(), "needs_review(oscillating)", "the base counts as pass 0");

    let mut other_result = ordinary();
    other_result.write(2).verify("0").review(rejects());
    other_result.write(1).verify("1 1").review(rejects());
    assert_eq!(other_result.next(), "revise (pass 4)", "the tree is the same and its checks are not");
}

#[test]
fn an_acceptance_goes_before_every_stop() {
    let mut reproduced = ordinary();
    reproduced.write(2).verify("0").review(rejects());
    reproduced.write(1).verify("0").review(approves().closes("F1"));
    assert_eq!(reproduced.next(), "accepted(countersigned)");

    let mut disputed = ordinary();
    disputed.write_answering(1, &["!F1"]).verify("0").review(approves().closes("F1"));
    assert_eq!(disputed.next(), "accepted(countersigned)");
}

#[test]
fn no_verdict_goes_before_disputes_stalls_and_oscillations() {
    let unreadable = || Reviewed::Unreadable { why: "no JSON".into(), raw: String::new() };
    let mut stalled = ordinary();
    stalled.write(1).verify("0").reviewed(unreadable());
    assert_eq!(stalled.next(), "needs_review(no_verdict)");

    let mut unread = ordinary();
    unread.write(0).verify("0").review(approves().unread());
    assert_eq!(unread.next(), "needs_review(no_verdict)");
}

#[test]
fn a_dispute_goes_before_an_oscillation_and_a_stall_before_both_the_table_and_an_oscillation() {
    let mut disputed = ordinary();
    disputed.write_answering(0, &["!F1"]).verify("0").review(rejects().upholds("F1"));
    assert_eq!(disputed.next(), "needs_review(disputed)");

    let mut stalled = ordinary();
    stalled.write(1).verify("0").review(rejects().finding());
    stalled.write(1).verify("0").review(rejects());
    assert_eq!(stalled.next(), "needs_review(stalled)", "it is also what pass 1 was");
}

#[test]
fn disputes_stalls_and_oscillations_go_before_the_table_and_the_ceiling_of_passes() {
    let mut disputed = rejected_once(2, 1, 2);
    disputed.write_answering(2, &["!F1"]).verify("1 1").review(approves().upholds("F1"));
    assert_eq!(disputed.next(), "needs_review(disputed)");

    let mut stalled = rejected_once(2, 1, 2);
    stalled.write(1).verify("0").review(approves());
    assert_eq!(stalled.next(), "needs_review(stalled)");

    let mut undone = rejected_once(2, 1, 2);
    undone.write(0).verify("0").review(rejects().closes("F1").late());
    assert_eq!(undone.next(), "needs_review(oscillating)", "else it rests on late findings only");

    let mut unfounded = rejected_once(2, 1, 2);
    unfounded.write(0).verify("0").review(rejects().closes("F1"));
    assert_eq!(unfounded.next(), "needs_review(oscillating)", "else it is a rejection without a citation");
}
