//! What holds at the end of every test, whatever the agents did.

use std::path::Path;

use countersign::cycle::event::Event;
use countersign::cycle::money::Money;
use countersign::cycle::outcome::Outcome;
use countersign::cycle::run::{Delivery, Run};
use countersign::cycle::step::Reviewed;

use super::base::Told;
use super::outside::processes_of;

pub(super) fn hold(told: &Told) {
    facts_are_gapless_and_replay(told);
    the_run_is_over_for_a_stated_reason(&told.run);
    money_adds_up(told);
    accepted_means_checked_and_approved(told);
    only_the_branch_of_the_run_was_pushed(told);
    there_is_a_pull_request_for_what_was_delivered(told);
    nothing_is_left_running(told.scratch.path());
    no_tree_is_left(told);
    what_the_host_would_have_run_did_not_run(told.scratch.path());
}

fn facts_are_gapless_and_replay(told: &Told) {
    let numbers: Vec<u64> = told.events.iter().map(|e| e.seq).collect();
    assert_eq!(numbers, (1..=told.events.len() as u64).collect::<Vec<_>>(), "facts are numbered without gaps");
    let replayed = Run::replay(told.events.iter().map(|e| &e.event)).unwrap();
    assert_eq!(replayed, told.run, "replaying the facts gives the same run");
}

fn the_run_is_over_for_a_stated_reason(run: &Run) {
    assert!(run.is_over() && run.outcome.is_some(), "{run:#?}");
}

fn money_adds_up(told: &Told) {
    let spent = |e: &Event| match e {
        Event::StepFinished { spent, .. } => *spent,
        Event::Delegated { .. }
        | Event::StepBegan { .. }
        | Event::Remarked { .. }
        | Event::RemarkConfirmed { .. }
        | Event::CancelAsked { .. }
        | Event::Decided { .. } => Money::ZERO,
    };
    let sum: Money = told.events.iter().map(|e| spent(&e.event)).sum();
    assert_eq!(sum, told.run.spent);
    assert!(sum <= told.run.policy.money, "{sum} were spent under a ceiling of {}", told.run.policy.money);
    if let Some(pull) = &told.pull {
        let said = format!("{} of {}", told.run.spent, told.run.policy.money);
        assert!(pull.body.contains(&said), "the pull request says another sum than {said}:\n{}", pull.body);
    }
}

fn accepted_means_checked_and_approved(told: &Told) {
    let run = &told.run;
    let Some(Outcome::Accepted(_)) = run.outcome else { return };
    let last = run.pass().unwrap();
    let approved =
        matches!(&last.review, Some(Reviewed::Verdict { verdict, read_the_diff: true, .. }) if verdict.approved);
    let verified = last.verification.as_ref().unwrap();
    assert!(approved && verified.result.passes() && run.ledger.open().next().is_none(), "{run:#?}");
    let tree = told.git(&["rev-parse", &format!("{}^{{tree}}", told.branch())]);
    assert_eq!(tree, verified.result.tree.as_str(), "what was pushed is what was checked");
}

fn only_the_branch_of_the_run_was_pushed(told: &Told) {
    let refs = told.git(&["for-each-ref", "--format=%(refname)"]);
    let ours: Vec<&str> = refs.lines().filter(|r| r.starts_with("refs/heads/countersign/")).collect();
    let pushed = matches!(told.run.delivery, Delivery::Done { .. });
    if pushed {
        let branch = format!("refs/heads/{}", told.branch());
        assert!(ours.contains(&branch.as_str()), "{branch} was not pushed: {refs}");
        let base = told.run.preparation.as_ref().unwrap().base.to_string();
        let count = told.git(&["rev-list", "--count", &format!("{base}..{branch}")]);
        let written = told.run.passes.iter().filter(|p| p.change().is_some()).count();
        assert!(count.parse::<usize>().unwrap() <= written, "{count} commits for {written} writing steps");
    }
    let foreign = refs.lines().filter(|r| !r.starts_with("refs/heads/"));
    assert_eq!(foreign.count(), 0, "{refs}");
}

fn there_is_a_pull_request_for_what_was_delivered(told: &Told) {
    match (&told.run.delivery, &told.pull) {
        (Delivery::Done { commit, pull_request }, Some(pull)) => {
            assert_eq!((commit.to_string(), *pull_request), (pull.head.clone(), pull.number));
            let accepted = matches!(told.run.outcome, Some(Outcome::Accepted(_)));
            assert_eq!(pull.label, if accepted { "countersigned" } else { "needs-review" });
        }
        (Delivery::None | Delivery::Pending | Delivery::Failed { .. }, None) => {}
        (delivery, pull) => panic!("{delivery:?} beside {pull:?}"),
    }
}

fn nothing_is_left_running(scratch: &Path) {
    assert_eq!(processes_of(scratch), Vec::<String>::new(), "left over");
}

fn no_tree_is_left(told: &Told) {
    let trees = told.scratch.path().join("data/runs").join(told.run.id.to_string()).join("trees");
    let left: Vec<_> = std::fs::read_dir(&trees).into_iter().flatten().flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Tests plant programs that write `marker` into the test's own directory, where no sandbox can write.
fn what_the_host_would_have_run_did_not_run(scratch: &Path) {
    assert!(!scratch.join("marker").exists(), "a program of the agent's ran outside of its sandbox");
}
