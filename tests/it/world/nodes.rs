//! Several nodes on one database: one that dies, stops or freezes in the middle of a run, and one that goes on.

use countersign::cycle::event::Event;
use countersign::cycle::run::Run;
use countersign::cycle::step::StepResult;

use super::base::{FOURTH, NOTES, git};
use super::outside::{Outside, Process, processes_of, until};
use super::words::{approves, reads, script, tries, writes};

/// Two nodes; the first has written pass 1 and its reviewer never comes to an end. The next review approves.
async fn in_mid_review() -> Option<(Outside, Process, Process, String)> {
    let words = script([writes(&[FOURTH]), tries(&["sleep 100000"], approves()), reads(approves())]);
    let outside = Outside::shared(NOTES, words).await?;
    let first = outside.serve_on("first").await;
    let page = first.delegate().await;
    until("the reviewer is at work", async || {
        processes_of(outside.scratch.path()).iter().any(|c| c.contains("sleep 100000")).then_some(())
    })
    .await;
    let second = outside.serve_on("second").await;
    Some((outside, first, second, page))
}

/// The run as it ended, and its page on this node.
async fn end_on(outside: &Outside, node: &Process, page: &str) -> (Run, String) {
    let shown = until("the other node ends the run", async || {
        let shown = node.page(page).await;
        shown.contains("pull-request").then_some(shown)
    })
    .await;
    let store = outside.store().await;
    let rows = store.list_runs(10).await.unwrap();
    assert_eq!((rows.len(), rows[0].outcome.as_deref()), (1, Some("accepted(countersigned)")));
    let run = store.load(rows[0].id).await.unwrap();
    assert_eq!(run.spent, rows[0].committed, "every picodollar that was taken is on some step");
    assert_eq!(run.passes.len(), 1, "the finished writing step counts, and is not done again");
    let branches = git(&outside.remote, &["for-each-ref", "--format=%(refname)", "refs/heads/countersign/"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    assert_eq!(git(&outside.remote, &["show", &format!("{branches}:notes.txt")]), "first\nsecond\nthird\nfourth");
    (run, shown)
}

async fn results(outside: &Outside, run: &Run) -> Vec<StepResult> {
    let events = outside.store().await.list_events(run.id).await.unwrap();
    let result = |event| if let Event::StepFinished { result, .. } = event { Some(result) } else { None };
    events.into_iter().filter_map(|stored| result(stored.event)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_node_dies_goes_on_elsewhere_from_its_last_finished_step() {
    let Some((outside, first, second, page)) = in_mid_review().await else { return };
    first.kill();
    let (run, shown) = end_on(&outside, &second, &page).await;
    let results = results(&outside, &run).await;
    assert_eq!(results.iter().filter(|r| **r == StepResult::Interrupted).count(), 1);
    assert!(
        shown.contains("Against the base") && shown.contains("fourth"),
        "the other node shows what it did not make"
    );
    assert!(second.stop().success());
    assert_eq!(processes_of(outside.scratch.path()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_stopped_hands_its_runs_over_and_nothing_counts_against_them() {
    let Some((outside, first, second, page)) = in_mid_review().await else { return };
    assert!(first.stop().success());
    let (run, _) = end_on(&outside, &second, &page).await;
    let results = results(&outside, &run).await;
    assert_eq!(results.iter().filter(|r| **r == StepResult::Stopped).count(), 1);
    assert!(!results.contains(&StepResult::Interrupted));
    assert!(second.stop().success());
}

/// The frozen node wakes with its agent's command still running and believes that the run is its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_frozen_over_its_lease_does_nothing_more_to_the_run() {
    let Some((outside, first, second, page)) = in_mid_review().await else { return };
    first.freeze();
    let (run, _) = end_on(&outside, &second, &page).await;
    let (calls, refs) = (outside.calls().await, git(&outside.remote, &["for-each-ref"]));
    let before = outside.store().await.list_events(run.id).await.unwrap();
    first.wake();
    until("the frozen node notices", async || first.said().contains("was claimed by another node").then_some(())).await;
    until("its reviewer is gone", async || {
        (!processes_of(outside.scratch.path()).iter().any(|c| c.contains("sleep 100000"))).then_some(())
    })
    .await;
    assert!(first.stop().success() && second.stop().success());
    assert_eq!(outside.store().await.list_events(run.id).await.unwrap(), before);
    assert_eq!((outside.calls().await, git(&outside.remote, &["for-each-ref"])), (calls, refs));
    assert_eq!(outside.store().await.load(run.id).await.unwrap().spent, run.spent);
}
