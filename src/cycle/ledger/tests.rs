//! Who may open and close what.

use super::*;

fn raised(raiser: Raiser) -> Raised {
    Raised { raiser, severity: Severity::Low, cites: "a.rs:1".into(), text: "wrong".into(), evidence: "read".into() }
}

/// A ledger with one obligation of each kind, all raised in pass 1: `F1`, `K1` for the check `test`, `R1`.
fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    for raiser in [Raiser::Reviewer, Raiser::Check("test".into()), Raiser::Person("p".into())] {
        ledger.raise(1, raised(raiser));
    }
    ledger
}

fn open(ledger: &Ledger) -> Vec<&str> {
    ledger.open().map(|o| o.id.as_str()).collect()
}

fn answer(ledger: &mut Ledger, pass: u8, id: &str, answer: Claim) -> Movement {
    let mut moved = Movement::default();
    ledger.answer(pass, &[Answer { id: id.into(), answer }], &mut moved);
    moved
}

fn disputed() -> Claim {
    Claim::Disputed { reason: "no".into() }
}

fn rule(ledger: &mut Ledger, pass: u8, id: &str, ruling: RulingKind) -> Movement {
    rule_noting(ledger, pass, id, ruling, "seen")
}

fn rule_noting(ledger: &mut Ledger, pass: u8, id: &str, ruling: RulingKind, note: &str) -> Movement {
    let mut moved = Movement::default();
    ledger.rule(pass, &[Ruling { id: id.into(), ruling, note: note.into() }], &mut moved);
    moved
}

fn check(ledger: &mut Ledger, pass: u8, name: &str, blocks: bool) -> Movement {
    let mut moved = Movement::default();
    let now = Raised { text: format!("fails in {pass}"), ..raised(Raiser::Check(name.into())) };
    ledger.check(pass, blocks.then_some(now), name, &mut moved);
    moved
}

const RULINGS: [RulingKind; 5] =
    [RulingKind::Closed, RulingKind::StillOpen, RulingKind::Met, RulingKind::NotMet, RulingKind::CannotJudge];

#[test]
fn ids_are_counted_by_who_raised_and_never_given_twice() {
    let mut ledger = ledger();
    assert_eq!(open(&ledger), ["F1", "K1", "R1"]);
    rule(&mut ledger, 2, "F1", RulingKind::Closed);
    check(&mut ledger, 2, "test", false);
    let again = [Raiser::Reviewer, Raiser::Check("test".into()), Raiser::Person("p".into())];
    assert_eq!(again.map(|raiser| ledger.raise(2, raised(raiser))), ["F2", "K2", "R2"]);
    assert_eq!(open(&ledger), ["R1", "F2", "K2", "R2"]);
}

#[test]
fn an_obligation_keeps_what_was_said_when_it_was_raised() {
    let ledger = ledger();
    let f1 = ledger.find("F1").map(|o| (o.pass, o.severity, o.cites.as_str(), o.text.as_str(), o.evidence.as_str()));
    assert_eq!(f1, Some((1, Severity::Low, "a.rs:1", "wrong", "read")));
    assert_eq!(ledger.find("F2"), None);
    let kinds: Vec<_> = ledger.all().iter().map(|o| (o.is_check(), o.is_remark())).collect();
    assert_eq!(kinds, [(false, false), (true, false), (false, true)]);
}

#[test]
fn a_finding_is_closed_by_the_reviewer_alone_and_by_that_word_alone() {
    for ruling in RULINGS {
        let mut ledger = ledger();
        let moved = rule(&mut ledger, 2, "F1", ruling);
        let (closed, ignored) = match ruling {
            RulingKind::Closed => (vec!["F1"], vec![]),
            RulingKind::StillOpen => (vec![], vec![]),
            RulingKind::Met | RulingKind::NotMet | RulingKind::CannotJudge => (vec![], vec!["F1"]),
        };
        assert_eq!(moved.closed, closed, "{ruling:?}");
        assert_eq!(moved.ignored, ignored, "{ruling:?}");
        let f1 = ledger.find("F1").map(|o| (o.state, o.ruling.is_some()));
        let state = if closed.is_empty() { State::Open } else { State::Closed { pass: 2 } };
        assert_eq!(f1, Some((state, ignored.is_empty())), "{ruling:?}");
    }
}

#[test]
fn a_check_answers_for_itself_whatever_the_reviewer_rules() {
    for ruling in RULINGS {
        let mut ledger = ledger();
        assert_eq!(rule(&mut ledger, 2, "K1", ruling).ignored, ["K1"], "{ruling:?}");
        assert_eq!(ledger.find("K1").map(|o| (o.state, o.ruling.clone())), Some((State::Open, None)));
    }
}

#[test]
fn a_remark_is_met_only_if_it_was_called_fixed_in_the_same_pass_and_with_evidence() {
    let fixed = |pass| {
        let mut ledger = ledger();
        answer(&mut ledger, pass, "R1", Claim::Fixed);
        ledger
    };
    let met = RulingKind::Met;
    let mut good = fixed(2);
    assert_eq!(rule(&mut good, 2, "R1", met).closed, ["R1"]);
    assert_eq!(good.find("R1").map(|o| o.state), Some(State::Met { pass: 2 }));
    assert_eq!(open(&good), ["F1", "K1"]);

    let mut unevidenced = fixed(2);
    rule_noting(&mut unevidenced, 2, "R1", met, " \n");
    let mut stale = fixed(1);
    rule(&mut stale, 2, "R1", met);
    let mut unanswered = ledger();
    rule(&mut unanswered, 2, "R1", met);
    let mut refused = ledger();
    answer(&mut refused, 2, "R1", disputed());
    rule(&mut refused, 2, "R1", met);
    for left in [unevidenced, stale, unanswered, refused] {
        assert_eq!(left.find("R1").map(|o| (o.state, o.ruling.is_some())), Some((State::Open, true)));
    }
}

#[test]
fn no_other_ruling_takes_a_remark_away() {
    for ruling in [RulingKind::NotMet, RulingKind::CannotJudge, RulingKind::Closed, RulingKind::StillOpen] {
        let mut ledger = ledger();
        answer(&mut ledger, 2, "R1", Claim::Fixed);
        let moved = rule(&mut ledger, 2, "R1", ruling);
        let ignored: &[&str] = if matches!(ruling, RulingKind::Closed | RulingKind::StillOpen) { &["R1"] } else { &[] };
        assert_eq!(
            (moved.ignored.as_slice(), moved.closed.len()),
            (&ignored.iter().map(|i| (*i).to_owned()).collect::<Vec<_>>()[..], 0)
        );
        assert_eq!(ledger.find("R1").map(|o| o.state), Some(State::Open), "{ruling:?}");
    }
}

#[test]
fn only_a_remark_is_confirmed_and_then_it_is_closed() {
    let mut ledger = ledger();
    for id in ["F1", "K1", "R2"] {
        assert!(!ledger.confirm(id, 3), "{id}");
    }
    assert!(ledger.confirm("R1", 3));
    assert_eq!(ledger.find("R1").map(|o| o.state), Some(State::Closed { pass: 3 }));
    assert_eq!(open(&ledger), ["F1", "K1"]);
}

#[test]
fn a_remark_that_was_met_is_opened_again_and_one_that_was_confirmed_is_not() {
    let mut ledger = ledger();
    ledger.raise(1, raised(Raiser::Person("p".into())));
    answer(&mut ledger, 2, "R1", Claim::Fixed);
    rule(&mut ledger, 2, "R1", RulingKind::Met);
    ledger.confirm("R2", 2);
    ledger.reopen_met();
    assert_eq!(open(&ledger), ["F1", "K1", "R1"]);
}

#[test]
fn ids_that_do_not_exist_or_are_closed_are_ignored_and_recorded() {
    let mut ledger = ledger();
    rule(&mut ledger, 2, "F1", RulingKind::Closed);
    for id in ["F1", "F7", ""] {
        assert_eq!(rule(&mut ledger, 3, id, RulingKind::StillOpen).ignored, [id]);
        assert_eq!(
            answer(&mut ledger, 3, id, disputed()),
            Movement { ignored: vec![id.into()], ..Movement::default() }
        );
    }
    assert_eq!(ledger.find("F1").map(|o| (o.state, o.answer.clone())), Some((State::Closed { pass: 2 }, None)));
}

#[test]
fn an_answer_is_kept_and_closes_nothing() {
    let mut ledger = ledger();
    assert!(answer(&mut ledger, 2, "F1", Claim::Fixed).is_still());
    assert_eq!(answer(&mut ledger, 2, "K1", disputed()).disputed, ["K1"]);
    assert_eq!(open(&ledger), ["F1", "K1", "R1"]);
    let said = ledger.find("F1").and_then(|o| o.answer.as_ref()).map(|a| (a.pass, &a.answer.answer));
    assert_eq!(said, Some((2, &Claim::Fixed)));
}

#[test]
fn a_check_has_one_obligation_at_a_time_which_says_what_it_said_last() {
    let mut ledger = ledger();
    assert!(check(&mut ledger, 2, "test", true).is_still(), "it is open already");
    assert_eq!(ledger.find("K1").map(|o| o.text.as_str()), Some("fails in 2"));
    assert_eq!(check(&mut ledger, 2, "lint", true).opened, ["K2"]);
    assert_eq!(check(&mut ledger, 3, "test", false).closed, ["K1"]);
    assert_eq!(open(&ledger), ["F1", "R1", "K2"]);
    assert!(check(&mut ledger, 4, "test", false).is_still(), "it is closed already");
    assert_eq!(check(&mut ledger, 5, "test", true).opened, ["K3"]);
    assert_eq!(ledger.find("K1").map(|o| o.state), Some(State::Closed { pass: 3 }));
}

#[test]
fn a_dispute_is_upheld_only_in_the_pass_it_was_made_in() {
    let mut ledger = ledger();
    answer(&mut ledger, 2, "F1", disputed());
    assert!(!ledger.is_disputed(1));
    rule(&mut ledger, 2, "F1", RulingKind::StillOpen);
    assert!(ledger.is_disputed(1) && !ledger.is_disputed(2));
    rule(&mut ledger, 3, "F1", RulingKind::StillOpen);
    assert!(!ledger.is_disputed(2), "nobody disputed it in pass 3");
    answer(&mut ledger, 4, "F1", Claim::Fixed);
    rule(&mut ledger, 4, "F1", RulingKind::StillOpen);
    assert!(!ledger.is_disputed(2), "it was called fixed in pass 4");
    answer(&mut ledger, 5, "F1", disputed());
    rule(&mut ledger, 5, "F1", RulingKind::StillOpen);
    assert!(ledger.is_disputed(2));
    rule(&mut ledger, 6, "F1", RulingKind::Closed);
    assert!(!ledger.is_disputed(1), "what is closed is no dispute any more");
}

#[test]
fn each_obligation_is_given_one_free_pass() {
    let mut ledger = ledger();
    let ids = |ids: &[&str]| ids.iter().map(|i| (*i).to_owned()).collect::<Vec<_>>();
    assert!(!ledger.take_free_pass(&[]));
    assert!(ledger.take_free_pass(&ids(&["F1"])));
    assert!(!ledger.take_free_pass(&ids(&["F1"])));
    assert!(!ledger.take_free_pass(&ids(&["R1", "F1"])), "one of them had its pass");
    assert!(ledger.take_free_pass(&ids(&["R1"])), "that attempt took nothing from the other");
}

#[test]
fn what_moves_is_what_was_opened_closed_or_disputed() {
    let ids = || vec!["F1".to_owned()];
    assert!(Movement::default().is_still());
    assert!(Movement { ignored: ids(), ..Movement::default() }.is_still());
    for moved in [
        Movement { opened: ids(), ..Movement::default() },
        Movement { closed: ids(), ..Movement::default() },
        Movement { disputed: ids(), ..Movement::default() },
    ] {
        assert!(!moved.is_still(), "{moved:?}");
    }
}
