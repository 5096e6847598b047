//! A provider that is slow, broken, or dear.

use countersign::cycle::money::Money;
use countersign::model_server::{Conversation, FaultKind, Reply, StatedUsage};
use countersign::store::Entry;

use super::base::{Asked, FOURTH, NOTES, Told, World};
use super::words::{approves, bash, call, faulty, once, reads, says, script, writes};

/// An implementer whose first answer goes wrong this way, this often.
fn wrong_first(kind: FaultKind, times: Option<u32>) -> Conversation {
    once("implementer", vec![faulty(bash(FOURTH), kind, times), says("Done.")])
}

async fn goes_wrong(kind: FaultKind, times: Option<u32>) -> Told {
    World::new(NOTES, script([wrong_first(kind, times), reads(approves())])).await.run().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_by_is_waited_out() {
    for kind in [
        FaultKind::Status { status: 429, retry_after: Some(1) },
        FaultKind::Status { status: 500, retry_after: None },
        FaultKind::Status { status: 529, retry_after: None },
        FaultKind::Cut { after: 2 },
        FaultKind::ErrorEvent { after: 1, error: "overloaded_error".to_owned() },
        FaultKind::Garbage,
    ] {
        let told = goes_wrong(kind.clone(), Some(1)).await;
        assert!(told.story().starts_with("accepted(countersigned)"), "{kind:?}: {}", told.story());
        let waited = told.lines.iter().any(|l| matches!(l.what, Entry::Waited { .. }));
        assert!(waited, "{kind:?}: the timeline says that it waited");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_passes_by_is_a_crash_of_the_first_pass_and_delivers_nothing() {
    for kind in [FaultKind::Status { status: 401, retry_after: None }, FaultKind::Garbage] {
        let told = goes_wrong(kind.clone(), None).await;
        let story = told.story();
        assert!(story.starts_with("failed(first_pass_crashed)\n"), "{kind:?}: {story}");
        assert!(story.ends_with("delivered: nothing"), "{story}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_that_is_not_stated_or_above_the_limit_is_charged_and_never_above_the_ceiling() {
    for kind in [FaultKind::NoUsage, FaultKind::Overshoot { by: 50 }] {
        let told = goes_wrong(kind.clone(), Some(1)).await;
        assert!(told.story().starts_with("accepted(countersigned)"), "{kind:?}: {}", told.story());
        assert!(told.run.spent > Money::ZERO);
    }
}

/// A million tokens that the server states cost more than is left.
#[tokio::test(flavor = "multi_thread")]
async fn money_that_runs_out_in_the_middle_hands_over_what_is_there() {
    let dear = Reply { usage: Some(StatedUsage { output: 8_000, ..StatedUsage::default() }), ..bash(FOURTH) };
    let mut turns = vec![dear.clone()];
    turns.extend((0..40).map(|_| dear.clone()));
    turns.push(says("Done."));
    let told = World::new(NOTES, script([once("implementer", turns), reads(approves())])).await;
    let told = told.run_as(Asked { money: "0.60", ..Asked::default() }).await;
    let story = told.story();
    assert!(story.starts_with("needs_review(budget_money)\npass 1: cut by money +"), "{story}");
    assert!(story.ends_with("delivered: needs-review, pass 1"), "{story}");
    assert!(told.pull.as_ref().unwrap().body.contains("money"), "{}", told.pull.as_ref().unwrap().body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_a_price_is_refused_before_the_first_call_and_named() {
    let scratch = tempfile::tempdir().unwrap();
    let remote = scratch.path().join("remote.git");
    countersign::app::make_repository(&remote, NOTES).unwrap();
    let world = World::over(scratch, remote, script([]), |config| {
        "claude-opus-4.8".clone_into(&mut config.agents.implementer.model);
    })
    .await;
    let refused = world.delegate(Asked { money: "0.02", ..Asked::default() }).await.unwrap_err();
    assert!(refused.to_string().contains("claude-opus-4.8"), "{refused}");
    assert!(world.requests().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_implementer_that_answers_nothing_has_changed_nothing() {
    let told = World::new(NOTES, script([once("implementer", vec![says("")])])).await.run().await;
    assert!(told.story().starts_with("failed("), "{}", told.story());
    assert!(told.story().ends_with("delivered: nothing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_do_not_exist_or_are_called_wrongly_are_answered_and_the_run_goes_on() {
    let turn = vec![
        call("launch_missiles", serde_json::json!({"at": "dawn"})),
        call("bash", serde_json::json!({"cmd": 7})),
        call("write", serde_json::json!({"path": "../../etc/x", "content": "x"})),
        call("read", serde_json::json!({"path": "/dev/zero"})),
        bash(FOURTH),
        says("Done."),
    ];
    let told = World::new(NOTES, script([once("implementer", turn), reads(approves())])).await.run().await;
    assert!(told.story().starts_with("accepted(countersigned)"), "{}", told.story());
    assert_eq!(told.git(&["diff", "--name-only", "main", told.branch()]), "notes.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_breaks_down_in_a_later_pass_leaves_the_work_of_the_pass_before() {
    let broken =
        once("implementer", vec![faulty(says(""), FaultKind::Status { status: 401, retry_after: None }, None)]);
    let no = super::words::rejects(&[super::words::at("notes.txt:4")]);
    let told = World::new(NOTES, script([writes(&[FOURTH]), reads(no), broken])).await.run().await;
    let story = told.story();
    assert!(story.starts_with("needs_review(agent_crashed)\n"), "{story}");
    assert!(story.ends_with("open: F1\ndelivered: needs-review, pass 1"), "{story}");
}
