//! What follows a review, row by row in the order of the table, and that each row goes before the next.

use super::play::{Play, Said, Setting, approves, check, rejects};
use crate::cycle::policy::{LateFindings, Policy};
use crate::cycle::step::{Reviewed, Rules};
use crate::cycle::verdict::RulingKind::{CannotJudge, Closed, Met, NotMet};

/// A run of so many passes whose first pass was green and got this review.
fn green(passes: u8, said: Said) -> Play {
    let mut play = Play::passes(passes);
    play.write(1).verify("0").review(said);
    play
}

fn red(passes: u8, said: Said) -> Play {
    let mut play = Play::passes(passes);
    play.write(1).verify("1 1").review(said);
    play
}

/// A green second pass after a first one that was rejected for `F1`.
fn second(passes: u8, said: Said) -> Play {
    let mut play = green(passes, rejects().finding());
    play.write_answering(2, &["F1"]).verify("0").review(said);
    play
}

#[test]
fn approved_and_green_without_any_required_check_needs_a_person_whatever_is_open() {
    for checks in [vec![], vec![check("lint", false)]] {
        for (said, accepted) in [(approves(), "accepted(countersigned)"), (approves().finding(), "revise (pass 2)")] {
            let run = |accept_without_checks| {
                let rules = Rules { accept_without_checks, ..Rules::default() };
                let mut play = Play::over(Setting { checks: checks.clone(), rules, ..Setting::default() });
                play.write(1).verify("0").review(said.clone());
                play.next()
            };
            assert_eq!(run(false), "needs_review(no_checks)");
            assert_eq!(run(true), accepted);
        }
    }
}

#[test]
fn approved_and_green_with_nothing_open_is_accepted() {
    for said in [approves(), approves().low(), approves().unfounded()] {
        assert_eq!(green(1, said).next(), "accepted(countersigned)");
    }
    for said in [approves().closes("F1"), approves().closes("F1").late()] {
        assert_eq!(second(2, said).next(), "accepted(countersigned)");
    }
    let mut flaky = Play::passes(1);
    flaky.write(1).verify("1 0").review(approves());
    assert_eq!(flaky.next(), "accepted(countersigned)");
}

#[test]
fn an_old_failure_of_the_base_blocks_only_where_the_repository_is_strict() {
    for (strict_baseline, next) in [(false, "accepted(countersigned)"), (true, "revise (pass 2)")] {
        let rules = Rules { strict_baseline, ..Rules::default() };
        let mut play = Play::over(Setting { rules, base: "1 1", ..Setting::default() });
        play.write(1).verify("1 1").review(approves());
        assert_eq!(play.next(), next);
    }
}

/// The remark came before the first pass, and the writing step answered so.
fn remarked(passes: u8, answers: &[&str], said: Said) -> Play {
    let mut play = Play::passes(passes);
    play.remark().write_answering(1, answers).verify("0").review(said);
    play
}

#[test]
fn a_remark_is_answered_by_fixed_and_met_together() {
    assert_eq!(remarked(1, &["R1"], approves().rules("R1", Met)).next(), "accepted(countersigned)");
    for (answers, said) in [
        (&["R1"][..], approves().rules("R1", NotMet)),
        (&["R1"], approves().rules("R1", CannotJudge)),
        (&["R1"], approves().rules("R1", Closed)),
        (&["R1"], approves()),
        (&["!R1"], approves().rules("R1", Met)),
        (&[], approves().rules("R1", Met)),
    ] {
        assert_eq!(remarked(2, answers, said.clone()).next(), "revise (pass 2)");
        assert_eq!(remarked(1, answers, said.clone()).next(), "needs_review(remark_unconfirmed)");
        let also_open = remarked(1, answers, said.finding());
        assert_eq!(also_open.next(), "needs_review(budget_passes)", "more than the remark is open");
    }
}

/// What a remark was ruled speaks of the tree of that review, so it is asked about with the next one.
#[test]
fn a_remark_that_was_met_is_open_again_as_soon_as_the_next_writing_step_begins() {
    let mut play = remarked(3, &["R1"], rejects().finding().rules("R1", Met));
    assert_eq!(play.open(), ["F1"]);
    play.begin();
    assert_eq!(play.open(), ["R1", "F1"]);
}

#[test]
fn approved_and_green_with_something_open_goes_back_for_what_is_left() {
    let play = green(2, approves().finding());
    assert_eq!((play.next().as_str(), play.open()), ("revise (pass 2)", vec!["F1"]));
    assert_eq!(green(1, approves().finding()).next(), "needs_review(budget_passes)");
    assert_eq!(second(3, approves()).next(), "revise (pass 3)", "no ruling is no closing");
}

#[test]
fn a_protected_path_alone_needs_a_person_and_beside_anything_else_the_run_goes_on() {
    let touched = |said, attempts| {
        let mut play = Play::passes(2).touching_what_is_protected();
        play.write(1).verify(attempts).review(said);
        play.next()
    };
    assert_eq!(touched(approves(), "0"), "needs_review(protected_paths)");
    assert_eq!(touched(approves().finding(), "0"), "revise (pass 2)");
    assert_eq!(touched(approves(), "1 1"), "revise (pass 2)");
    assert_eq!(touched(rejects().finding(), "0"), "revise (pass 2)");
    assert_eq!(touched(rejects(), "0"), "needs_review(rejected_without_citation)");
}

#[test]
fn approved_and_red_is_a_contradiction_and_the_failing_check_goes_back() {
    let play = red(2, approves());
    assert_eq!((play.next().as_str(), play.open()), ("revise (pass 2)", vec!["K1"]));
    assert_eq!(red(1, approves()).next(), "needs_review(budget_passes)");
}

#[test]
fn a_rejection_for_nothing_but_late_findings_needs_a_person() {
    let late = |said| second(3, said).next();
    assert_eq!(late(rejects().closes("F1").late()), "needs_review(late_findings_only)");
    assert_eq!(late(rejects().closes("F1").late().unfounded()), "needs_review(late_findings_only)");
    assert_eq!(late(rejects().closes("F1").late().finding()), "revise (pass 3)", "one of them is not late");
    assert_eq!(late(rejects().late()), "revise (pass 3)", "an earlier one is open");
    assert_eq!(green(2, rejects().late()).next(), "revise (pass 2)", "the first review has none before it");

    let mut failing = green(3, rejects().finding());
    failing.write(2).verify("1 1").review(rejects().closes("F1").late());
    assert_eq!(failing.next(), "revise (pass 3)", "a check fails as well");
}

#[test]
fn late_findings_hold_like_others_where_the_policy_says_so() {
    let ordinary = Setting::default();
    let policy = Policy { late_findings: LateFindings::Hold, ..ordinary.policy };
    let mut play = Play::over(Setting { policy, ..Setting::default() });
    play.write(1).verify("0").review(rejects().finding());
    play.write(2).verify("0");
    let held = |said| play.clone().review(said).next();
    assert_eq!(held(rejects().closes("F1").late()), "revise (pass 3)");
    assert_eq!(held(approves().closes("F1").late()), "revise (pass 3)");
}

#[test]
fn a_rejection_with_something_that_holds_or_is_open_goes_back() {
    for said in [rejects().finding(), rejects().low(), rejects().unfounded().low()] {
        assert_eq!(green(2, said.clone()).next(), "revise (pass 2)");
        assert_eq!(green(1, said).next(), "needs_review(budget_passes)");
    }
    assert_eq!(second(3, rejects()).next(), "revise (pass 3)", "F1 is open");
    assert_eq!(remarked(2, &["R1"], rejects()).next(), "revise (pass 2)", "R1 is open");
}

#[test]
fn a_rejection_of_a_red_tree_needs_no_finding() {
    for said in [rejects(), rejects().unfounded()] {
        assert_eq!(red(2, said.clone()).next(), "revise (pass 2)");
        assert_eq!(red(1, said).next(), "needs_review(budget_passes)");
    }
}

#[test]
fn a_rejection_of_a_green_tree_that_cites_nothing_that_holds_needs_a_person() {
    for said in [rejects(), rejects().unfounded()] {
        assert_eq!(green(2, said).next(), "needs_review(rejected_without_citation)");
    }
    assert_eq!(second(3, rejects().closes("F1")).next(), "needs_review(rejected_without_citation)");
}

#[test]
fn no_readable_verdict_needs_a_person_whatever_the_checks_said() {
    for attempts in ["0", "1 1"] {
        let mut play = Play::passes(3);
        play.write(1).verify(attempts);
        play.reviewed(Reviewed::Unreadable { why: "no JSON".into(), raw: "LGTM".into() });
        assert_eq!(play.next(), "needs_review(no_verdict)");
    }
}

/// An approval is believed only from somebody who read what is approved; so is a ruling.
#[test]
fn an_approval_without_proof_of_reading_is_no_verdict_and_closes_nothing() {
    let play = second(3, approves().unread().closes("F1"));
    assert_eq!((play.next().as_str(), play.open()), ("needs_review(no_verdict)", vec!["F1"]));
    let play = second(3, rejects().unread().closes("F1"));
    assert_eq!((play.next().as_str(), play.open()), ("revise (pass 3)", vec!["F1"]));
    let play = second(3, rejects().unread().finding());
    assert_eq!((play.next().as_str(), play.open()), ("revise (pass 3)", vec!["F1", "F2"]));
}

/// What goes out is the last tree that differs from the base, and the reviewer did not sign that one.
#[test]
fn a_pass_that_went_back_to_the_base_is_never_accepted() {
    let back = |attempts, said| {
        let mut play = Play::over(Setting { base: "1 1", ..Setting::default() });
        play.write(1).verify("0").review(rejects().finding());
        play.write_answering(0, &["F1"]).verify(attempts).review(said);
        assert!(play.goes_out(1));
        play.next()
    };
    assert_eq!(back("1 1", approves().closes("F1")), "needs_review(oscillating)");
    assert_eq!(back("0", approves().closes("F1")), "revise (pass 3)", "the base was red by chance");
}
