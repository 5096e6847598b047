//! What the store promises, on a real file.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::clock::Stamp;
use crate::cycle::event::Event;
use crate::cycle::id::{IssueId, RunId};
use crate::cycle::money::Money;
use crate::cycle::outcome::Outcome;
use crate::cycle::plan::{Next, plan};
use crate::cycle::policy::{AgentChoice, Effort};
use crate::cycle::preset::second_reader;

async fn fresh() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("countersign.db")).await.unwrap();
    (dir, store)
}

async fn with_run() -> (tempfile::TempDir, Store, Repository, RunId) {
    let (dir, store) = fresh().await;
    let repository = store.add_repository("ledger", "/srv/ledger.git", Stamp(1)).await.unwrap();
    let run = delegate(&store, &repository).await;
    (dir, store, repository, run)
}

async fn delegate(store: &Store, repository: &Repository) -> RunId {
    let agent = AgentChoice { provider: "p".into(), model: "m".into(), effort: Effort::Medium };
    let issue = NewIssue {
        id: IssueId::new(),
        title: "A NUL \0 in it".into(),
        body: String::new(),
        done: vec!["x".into()],
        base: "main".into(),
    };
    store.delegate(repository, issue, second_reader(agent.clone(), agent), Stamp(2)).await.unwrap()
}

#[tokio::test]
async fn every_statement_prepares_and_binds_as_many_values_as_it_names() {
    use sqlx::{Executor, SqlSafeStr, Statement};
    let (_dir, store) = fresh().await;
    let db::Db::Sqlite { write, .. } = &store.db;
    for (name, text) in sql::ALL {
        let prepared = write.prepare(text.into_sql_str()).await.unwrap_or_else(|e| panic!("{name}: {e}"));
        let highest = (1..=20).rev().find(|n| text.contains(&format!("${n}"))).unwrap_or(0);
        let given = prepared.parameters().map_or(0, |p| p.right().unwrap_or(0));
        assert_eq!(given, highest, "{name}");
        assert!((1..=highest).all(|n| text.contains(&format!("${n}"))), "{name} leaves out a number");
    }
}

#[tokio::test]
async fn issues_are_numbered_within_their_repository_and_runs_are_listed_newest_first() {
    let (_dir, store, repository, first) = with_run().await;
    let second = delegate(&store, &repository).await;
    let other = store.add_repository("other", "/srv/other.git", Stamp(1)).await.unwrap();
    let third = delegate(&store, &other).await;
    let rows = store.list_runs(10).await.unwrap();
    let told: Vec<_> = rows.iter().map(|r| (r.id, r.issue, r.repository.name.as_str())).collect();
    assert_eq!(told, [(third, 1, "other"), (second, 2, "ledger"), (first, 1, "ledger")]);
    assert_eq!(rows[0].title, "A NUL \u{fffd} in it");
    assert!(matches!(store.add_repository("other", "/x", Stamp(1)).await, Err(Error::Taken { .. })));
}

#[tokio::test]
async fn an_intent_is_refused_once_the_run_has_moved_and_a_fact_never_is() {
    let (_dir, store, _, id) = with_run().await;
    let stale = store.load(id).await.unwrap();
    let Next::Begin { step, allowance, .. } = plan(&stale) else { panic!("a new run begins with a step") };
    let fact = Event::Remarked { by: "someone".into(), text: "look here".into() };
    let moved = store.record(id, &fact, Stamp(3)).await.unwrap();
    let begin = Event::StepBegan { step, allowance, used: std::time::Duration::ZERO };
    assert_eq!(store.intend(&stale, &begin, Stamp(4)).await.unwrap(), None);
    assert!(store.intend(&moved, &begin, Stamp(4)).await.unwrap().is_some());
    let seqs: Vec<u64> = store.list_events(id).await.unwrap().iter().map(|e| e.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

#[tokio::test]
async fn facts_from_many_sides_at_once_are_all_kept_without_a_gap() {
    let (_dir, store, _, id) = with_run().await;
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let store = store.clone();
            let fact = Event::Remarked { by: "p".into(), text: n.to_string() };
            async move { store.record(id, &fact, Stamp(n)).await.map(|_| ()) }
        })
        .collect();
    futures_util::future::try_join_all(tasks).await.unwrap();
    let seqs: Vec<u64> = store.list_events(id).await.unwrap().iter().map(|e| e.seq).collect();
    assert_eq!(seqs, (1..=17).collect::<Vec<_>>());
    assert_eq!(store.load(id).await.unwrap().ledger.all().len(), 16);
}

#[tokio::test]
async fn a_run_is_the_same_after_the_file_is_opened_again() {
    let (dir, store, _, id) = with_run().await;
    let before = store.record(id, &Event::CancelAsked { by: "p".into() }, Stamp(3)).await.unwrap();
    let over = store.intend(&before, &Event::Decided { outcome: Outcome::Cancelled }, Stamp(4)).await.unwrap().unwrap();
    drop(store);
    let again = Store::open(&dir.path().join("countersign.db")).await.unwrap();
    assert_eq!(again.load(id).await.unwrap(), over);
    assert_eq!(again.list_unfinished().await.unwrap(), []);
    assert_eq!(again.get_run_row(id).await.unwrap().outcome.as_deref(), Some("cancelled"));
}

fn call(id: &str, run: RunId, cents: i64) -> Call {
    let amount = Money::from_cents(cents);
    Call { id: id.into(), run, step: 2, model: "m".into(), amount, ceiling: Money::from_cents(100) }
}

#[tokio::test]
async fn parallel_reservations_never_pass_the_ceiling_together() {
    let (_dir, store, _, run) = with_run().await;
    let asks = (0..20).map(|n| {
        let store = store.clone();
        async move { store.reserve(&call(&n.to_string(), run, 30), Stamp(n)).await.unwrap() }
    });
    let given = futures_util::future::join_all(asks).await;
    assert_eq!(given.iter().filter(|r| **r == Reservation::Reserved).count(), 3);
    assert!(given.contains(&Reservation::Refused { left: Money::from_cents(10) }));
    assert_eq!(store.spent_in_step(run, 2).await.unwrap(), Money::from_cents(90), "unsettled counts as spent");
}

#[tokio::test]
async fn settling_gives_the_rest_back_and_settling_twice_changes_nothing() {
    let (_dir, store, _, run) = with_run().await;
    store.reserve(&call("a", run, 90), Stamp(1)).await.unwrap();
    for cents in [20, 80] {
        store.settle("a", Money::from_cents(cents), &"usage").await.unwrap();
    }
    assert_eq!(store.spent_in_step(run, 2).await.unwrap(), Money::from_cents(20));
    assert_eq!(store.reserve(&call("b", run, 80), Stamp(2)).await.unwrap(), Reservation::Reserved);
    assert_eq!(store.list_usage::<String>(run).await.unwrap(), [(2, "usage".to_owned())]);
}

#[tokio::test]
async fn a_pull_request_is_opened_once_and_then_brought_up_to_date() {
    let (_dir, store, repository, run) = with_run().await;
    let mut pull = PullRequest {
        number: 0,
        base: "main".into(),
        branch: "countersign/1-x".into(),
        head: "0".repeat(40),
        title: "x".into(),
        body: "first".into(),
        label: "needs-review".into(),
    };
    assert_eq!(store.save_pull_request(repository.id, run, &pull, Stamp(1)).await.unwrap(), 1);
    pull.body = "second".into();
    assert_eq!(store.save_pull_request(repository.id, run, &pull, Stamp(2)).await.unwrap(), 1);
    let found = store.find_pull_request(run).await.unwrap().unwrap();
    assert_eq!((found.number, found.body.as_str()), (1, "second"));
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_an_error_that_names_it() {
    let (_dir, store, _, run) = with_run().await;
    let db::Db::Sqlite { write, .. } = &store.db;
    sqlx::query("update event set payload = '{\"event\":\"from the future\"}'").execute(write).await.unwrap();
    let refused = store.load(run).await.unwrap_err();
    assert!(matches!(&refused, Error::Corrupt { table: "event", id } if id.ends_with("/1")), "{refused}");
}
