//! What the store promises, on a real file and on a real server.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use super::*;
use crate::clock::Stamp;
use crate::cycle::event::Event;
use crate::cycle::id::{IssueId, Lease, NodeId, RunId};
use crate::cycle::money::Money;
use crate::cycle::outcome::Outcome;
use crate::cycle::plan::{Next, plan};
use crate::cycle::policy::{AgentChoice, Effort};
use crate::cycle::preset::second_reader;
use crate::cycle::step::StepResult;

/// A database of a test's own.
enum Place {
    File(tempfile::TempDir),
    /// The address of it.
    Server(String),
}

impl Place {
    fn file() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    /// A new database on the server that `scripts/postgres` started; `None` where there is none.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    async fn server() -> Option<Self> {
        let Some(server) = crate::config::secret_variable("TEST_POSTGRES") else {
            assert!(
                crate::config::secret_variable("CI").is_none(),
                "CI has no PostgreSQL: run this by scripts/postgres"
            );
            eprintln!("SKIPPED: there is no PostgreSQL; scripts/postgres COMMAND… runs a command with one");
            return None;
        };
        let name = format!("t{}", RunId::new().to_string().replace('-', ""));
        let pool = sqlx::PgPool::connect(&server).await.unwrap();
        sqlx::query(sqlx::AssertSqlSafe(format!("create database {name}"))).execute(&pool).await.unwrap();
        Some(Self::Server(server.replace("/postgres?", &format!("/{name}?"))))
    }

    async fn open(&self) -> Store {
        match self {
            Self::File(dir) => Store::open(&dir.path().join("countersign.db")).await.unwrap(),
            Self::Server(url) => Store::connect(url).await.unwrap(),
        }
    }
}

/// Makes each of these promises a test on either database.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[tokio::test]
            async fn on_sqlite() {
                super::$name(&super::Place::file()).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                if let Some(place) = super::Place::server().await {
                    super::$name(&place).await;
                }
            }
        }
    )*};
}

on_both! {
    every_statement_prepares_and_binds_as_many_values_as_it_names,
    issues_are_numbered_within_their_repository_and_runs_are_listed_newest_first,
    an_issue_that_is_sent_by_many_at_once_is_one_issue_with_one_run,
    issues_that_are_sent_at_once_get_numbers_without_a_gap,
    an_intent_is_refused_once_the_run_has_moved_and_a_fact_never_is,
    facts_from_many_sides_at_once_are_all_kept_without_a_gap,
    lines_from_many_sides_at_once_are_all_kept,
    a_run_is_the_same_after_the_database_is_opened_again,
    parallel_reservations_never_pass_the_ceiling_together,
    settling_gives_the_rest_back_and_settling_twice_changes_nothing,
    settling_from_many_sides_at_once_gives_the_rest_back_once,
    a_pull_request_is_opened_once_and_then_brought_up_to_date,
    a_row_that_cannot_be_read_is_an_error_that_names_it,
    the_databases_clock_goes_on,
    a_run_is_held_by_one_node_until_it_gives_up_or_falls_silent,
    a_node_that_starts_again_has_its_own_runs_back_at_once,
    many_nodes_claim_each_run_once,
    who_lost_a_run_writes_nothing_more_of_it,
    people_write_of_a_run_whoever_holds_it,
    what_one_process_does_to_a_run_the_others_hear,
    what_steps_made_is_kept_in_order_and_the_last_of_a_step_counts,
}

async fn what_steps_made_is_kept_in_order_and_the_last_of_a_step_counts(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let lease = held(&store, A).await;
    let pack = |digit: &str, bytes: &[u8]| Pack { commit: digit.repeat(40).parse().unwrap(), bytes: bytes.to_vec() };
    let (first, again, second) = (pack("a", b"PACK\0\xff"), pack("b", b""), pack("c", &[7; 100_000]));
    for (step, pack) in [(9, &second), (3, &first), (3, &again)] {
        store.keep_pack(lease, step, pack).await.unwrap();
    }
    assert_eq!(store.list_packs(run).await.unwrap(), [again, second]);
}

async fn what_one_process_does_to_a_run_the_others_hear(place: &Place) {
    let (store, _, id) = with_run(place).await;
    let Some(mut news) = place.open().await.listen().await.unwrap() else {
        assert!(matches!(place, Place::File(_)), "one process has a file, many have a server");
        return;
    };
    store.record(id, &Event::CancelAsked { by: "p".into() }, Stamp(3)).await.unwrap();
    tokio::time::timeout(Duration::from_secs(30), news.next()).await.expect("it is heard").unwrap();
}

async fn a_run_is_held_by_one_node_until_it_gives_up_or_falls_silent(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let claim = async |node, term| store.claim(node, term, |_| false).await.unwrap();
    let first = claim(A, HOUR).await.unwrap();
    assert_eq!((first.run, first.fence), (run, 1));
    assert_eq!(claim(B, HOUR).await, None, "it is held");
    store.give_up(first).await.unwrap();
    let second = claim(B, Duration::from_millis(50)).await.unwrap();
    assert_eq!(second.fence, 2);
    assert!(!store.renew(first, HOUR).await.unwrap() && store.renew(second, Duration::from_millis(50)).await.unwrap());
    let third = loop {
        if let Some(lease) = claim(A, HOUR).await {
            break lease;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(third.fence, 3, "b fell silent");
    assert!(!store.renew(second, HOUR).await.unwrap());
    store.give_up(second).await.unwrap();
    assert_eq!(claim(B, HOUR).await, None, "what b gives up is no longer its own");
}

async fn a_node_that_starts_again_has_its_own_runs_back_at_once(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let before = held(&store, A).await;
    assert_eq!(store.claim(A, HOUR, |held| *held == run).await.unwrap(), None, "it holds it itself");
    let after = held(&store, A).await;
    assert_eq!(after.fence, before.fence + 1);
}

async fn many_nodes_claim_each_run_once(place: &Place) {
    let (store, repository, _) = with_run(place).await;
    for _ in 1..10 {
        delegate(&store, &repository).await;
    }
    let other = place.open().await;
    let claims = (0..24).map(|n| {
        let store = if n % 2 == 0 { store.clone() } else { other.clone() };
        async move { store.claim(NodeId::from_u128(n), HOUR, |_| false).await.unwrap() }
    });
    let claimed: Vec<Lease> = futures_util::future::join_all(claims).await.into_iter().flatten().collect();
    let runs: std::collections::BTreeSet<RunId> = claimed.iter().map(|lease| lease.run).collect();
    assert_eq!((claimed.len(), runs.len()), (10, 10));
}

async fn who_lost_a_run_writes_nothing_more_of_it(place: &Place) {
    let (store, repository, id) = with_run(place).await;
    let old = held(&store, A).await;
    store.give_up(old).await.unwrap();
    let new = held(&store, B).await;
    let run = store.load(id).await.unwrap();
    let Next::Begin { step, allowance, .. } = plan(&run) else { panic!("a new run begins with a step") };
    let begin = Event::StepBegan { step, allowance, used: Duration::ZERO };
    let cannot_follow = Event::StepFinished { result: StepResult::Stopped, spent: Money::ZERO, used: Duration::ZERO };
    let pull = PullRequest {
        number: 0,
        base: "main".into(),
        branch: "b".into(),
        head: "0".repeat(40),
        title: "x".into(),
        body: "x".into(),
        label: "needs-review".into(),
    };
    let refused = [
        store.intend(old, &run, &begin, Stamp(3)).await.map(drop),
        store.finish(old, &begin, Stamp(3)).await.map(drop),
        store.finish(old, &cannot_follow, Stamp(3)).await.map(drop),
        store.write_line(old, 2, &"late", Stamp(3)).await,
        store.reserve(&call("late", old, 1), Stamp(3)).await.map(drop),
        store.save_pull_request(repository.id, old, &pull, Stamp(3)).await.map(drop),
        store.record_delivery(old, "pushed", "late", Stamp(3)).await,
        store.keep_pack(old, 2, &Pack { commit: "a".repeat(40).parse().unwrap(), bytes: Vec::new() }).await,
    ];
    for (n, refused) in refused.iter().enumerate() {
        assert!(matches!(refused, Err(Error::Lost { .. })), "write {n}: {refused:?}");
    }
    assert_eq!(store.load(id).await.unwrap(), run);
    assert_eq!(store.get_run_row(id).await.unwrap().committed, Money::ZERO);
    assert_eq!(store.find_pull_request(id).await.unwrap(), None);
    assert!(store.list_lines::<String>(id, 10).await.unwrap().is_empty());
    assert!(store.list_delivery(id).await.unwrap().is_empty());
    assert!(store.intend(new, &run, &begin, Stamp(4)).await.unwrap().is_some());
}

async fn people_write_of_a_run_whoever_holds_it(place: &Place) {
    let (store, _, id) = with_run(place).await;
    held(&store, A).await;
    let asked = store.record(id, &Event::CancelAsked { by: "p".into() }, Stamp(3)).await.unwrap();
    assert_eq!(asked.cancel.as_deref(), Some("p"));
}

const A: NodeId = NodeId::from_u128(1);
const B: NodeId = NodeId::from_u128(2);
const HOUR: Duration = Duration::from_secs(3600);

async fn with_run(place: &Place) -> (Store, Repository, RunId) {
    let store = place.open().await;
    let repository = store.add_repository("ledger", "/srv/ledger.git", Stamp(1)).await.unwrap();
    let run = delegate(&store, &repository).await;
    (store, repository, run)
}

/// The lease of the one run that is free.
async fn held(store: &Store, node: NodeId) -> Lease {
    store.claim(node, HOUR, |_| false).await.unwrap().expect("a run is free")
}

async fn delegate(store: &Store, repository: &Repository) -> RunId {
    delegate_as(store, repository, IssueId::new()).await
}

async fn delegate_as(store: &Store, repository: &Repository, id: IssueId) -> RunId {
    let agent = AgentChoice { provider: "p".into(), model: "m".into(), effort: Effort::Medium };
    let issue = NewIssue {
        id,
        title: "A NUL \0 in it".into(),
        body: String::new(),
        done: vec!["x".into()],
        base: "main".into(),
    };
    store.delegate(repository, issue, second_reader(agent.clone(), agent), Stamp(2)).await.unwrap()
}

async fn every_statement_prepares_and_binds_as_many_values_as_it_names(place: &Place) {
    use sqlx::{Either, Executor, SqlSafeStr, Statement};
    let store = place.open().await;
    for (name, text) in sql::ALL {
        let given = db::on!(
            &store.db,
            write | pool | {
                let prepared = pool.prepare(text.into_sql_str()).await.unwrap_or_else(|e| panic!("{name}: {e}"));
                prepared.parameters().map_or(0, |p| match p {
                    Either::Left(types) => types.len(),
                    Either::Right(count) => count,
                })
            }
        );
        let highest = (1..=20).rev().find(|n| text.contains(&format!("${n}"))).unwrap_or(0);
        assert_eq!(given, highest, "{name}");
        assert!((1..=highest).all(|n| text.contains(&format!("${n}"))), "{name} leaves out a number");
    }
}

async fn issues_are_numbered_within_their_repository_and_runs_are_listed_newest_first(place: &Place) {
    let (store, repository, first) = with_run(place).await;
    let second = delegate(&store, &repository).await;
    let other = store.add_repository("other", "/srv/other.git", Stamp(1)).await.unwrap();
    let third = delegate(&store, &other).await;
    let rows = store.list_runs(10).await.unwrap();
    let told: Vec<_> = rows.iter().map(|r| (r.id, r.issue, r.repository.name.as_str())).collect();
    assert_eq!(told, [(third, 1, "other"), (second, 2, "ledger"), (first, 1, "ledger")]);
    assert_eq!(rows[0].title, "A NUL \u{fffd} in it");
    assert!(matches!(store.add_repository("other", "/x", Stamp(1)).await, Err(Error::Taken { .. })));
}

async fn an_issue_that_is_sent_by_many_at_once_is_one_issue_with_one_run(place: &Place) {
    let store = place.open().await;
    let repository = store.add_repository("ledger", "/srv/ledger.git", Stamp(1)).await.unwrap();
    let id = IssueId::new();
    let runs = futures_util::future::join_all((0..12).map(|_| delegate_as(&store, &repository, id))).await;
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
    assert_eq!(store.list_runs(20).await.unwrap().len(), 1);
    delegate(&store, &repository).await;
    assert_eq!(store.list_runs(20).await.unwrap()[0].issue, 2, "no number was lost over it");
}

async fn issues_that_are_sent_at_once_get_numbers_without_a_gap(place: &Place) {
    let store = place.open().await;
    let repository = store.add_repository("ledger", "/srv/ledger.git", Stamp(1)).await.unwrap();
    futures_util::future::join_all((0..12).map(|_| delegate(&store, &repository))).await;
    let mut numbers: Vec<i64> = store.list_runs(20).await.unwrap().iter().map(|row| row.issue).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
}

async fn lines_from_many_sides_at_once_are_all_kept(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let lease = held(&store, A).await;
    let writes = (0..16_u64).map(|n| {
        let store = store.clone();
        async move { store.write_line(lease, 2, &n, Stamp(1)).await }
    });
    futures_util::future::try_join_all(writes).await.unwrap();
    let mut lines: Vec<u64> = store.list_lines(run, 100).await.unwrap().into_iter().map(|line| line.what).collect();
    lines.sort_unstable();
    assert_eq!(lines, (0..16).collect::<Vec<_>>());
}

async fn settling_from_many_sides_at_once_gives_the_rest_back_once(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let lease = held(&store, A).await;
    store.reserve(&call("a", lease, 90), Stamp(1)).await.unwrap();
    let settled = (0..12).map(|_| store.settle("a", Money::from_cents(20), &"usage"));
    futures_util::future::try_join_all(settled).await.unwrap();
    assert_eq!(store.get_run_row(run).await.unwrap().committed, Money::from_cents(20));
}

async fn the_databases_clock_goes_on(place: &Place) {
    let store = place.open().await;
    let read = async || {
        let text = "select now from clock";
        let (now,): (i64,) = db::on!(&store.db, read | c | sqlx::query_as(text).fetch_one(c).await.unwrap());
        now
    };
    let (first, ours) = (read().await, crate::clock::now().0);
    assert!((first - ours).abs() < 60_000_000, "both are on this machine: {first} and {ours}");
    while read().await <= first {
        tokio::task::yield_now().await;
    }
}

async fn an_intent_is_refused_once_the_run_has_moved_and_a_fact_never_is(place: &Place) {
    let (store, _, id) = with_run(place).await;
    let lease = held(&store, A).await;
    let stale = store.load(id).await.unwrap();
    let Next::Begin { step, allowance, .. } = plan(&stale) else { panic!("a new run begins with a step") };
    let fact = Event::Remarked { by: "someone".into(), text: "look here".into() };
    let moved = store.record(id, &fact, Stamp(3)).await.unwrap();
    let begin = Event::StepBegan { step, allowance, used: Duration::ZERO };
    assert_eq!(store.intend(lease, &stale, &begin, Stamp(4)).await.unwrap(), None);
    assert!(store.intend(lease, &moved, &begin, Stamp(4)).await.unwrap().is_some());
    let seqs: Vec<u64> = store.list_events(id).await.unwrap().iter().map(|e| e.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

async fn facts_from_many_sides_at_once_are_all_kept_without_a_gap(place: &Place) {
    let (store, _, id) = with_run(place).await;
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

async fn a_run_is_the_same_after_the_database_is_opened_again(place: &Place) {
    let (store, _, id) = with_run(place).await;
    let before = store.record(id, &Event::CancelAsked { by: "p".into() }, Stamp(3)).await.unwrap();
    let over = store
        .intend(held(&store, A).await, &before, &Event::Decided { outcome: Outcome::Cancelled }, Stamp(4))
        .await
        .unwrap()
        .unwrap();
    drop(store);
    let again = place.open().await;
    assert_eq!(again.load(id).await.unwrap(), over);
    assert_eq!(again.claim(A, HOUR, |_| false).await.unwrap(), None, "it is over");
    assert_eq!(again.get_run_row(id).await.unwrap().outcome.as_deref(), Some("cancelled"));
}

fn call(id: &str, lease: Lease, cents: i64) -> Call {
    let amount = Money::from_cents(cents);
    Call { id: id.into(), lease, step: 2, model: "m".into(), amount, ceiling: Money::from_cents(100) }
}

async fn parallel_reservations_never_pass_the_ceiling_together(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let lease = held(&store, A).await;
    let asks = (0..20).map(|n| {
        let store = store.clone();
        async move { store.reserve(&call(&n.to_string(), lease, 30), Stamp(n)).await.unwrap() }
    });
    let given = futures_util::future::join_all(asks).await;
    assert_eq!(given.iter().filter(|r| **r == Reservation::Reserved).count(), 3);
    assert!(given.contains(&Reservation::Refused { left: Money::from_cents(10) }));
    assert_eq!(store.spent_in_step(run, 2).await.unwrap(), Money::from_cents(90), "unsettled counts as spent");
}

async fn settling_gives_the_rest_back_and_settling_twice_changes_nothing(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let lease = held(&store, A).await;
    store.reserve(&call("a", lease, 90), Stamp(1)).await.unwrap();
    for cents in [20, 80] {
        store.settle("a", Money::from_cents(cents), &"usage").await.unwrap();
    }
    assert_eq!(store.spent_in_step(run, 2).await.unwrap(), Money::from_cents(20));
    assert_eq!(store.reserve(&call("b", lease, 80), Stamp(2)).await.unwrap(), Reservation::Reserved);
    assert_eq!(store.list_usage::<String>(run).await.unwrap(), [(2, "usage".to_owned())]);
}

async fn a_pull_request_is_opened_once_and_then_brought_up_to_date(place: &Place) {
    let (store, repository, run) = with_run(place).await;
    let lease = held(&store, A).await;
    let mut pull = PullRequest {
        number: 0,
        base: "main".into(),
        branch: "countersign/1-x".into(),
        head: "0".repeat(40),
        title: "x".into(),
        body: "first".into(),
        label: "needs-review".into(),
    };
    assert_eq!(store.save_pull_request(repository.id, lease, &pull, Stamp(1)).await.unwrap(), 1);
    pull.body = "second".into();
    assert_eq!(store.save_pull_request(repository.id, lease, &pull, Stamp(2)).await.unwrap(), 1);
    let found = store.find_pull_request(run).await.unwrap().unwrap();
    assert_eq!((found.number, found.body.as_str()), (1, "second"));
}

async fn a_row_that_cannot_be_read_is_an_error_that_names_it(place: &Place) {
    let (store, _, run) = with_run(place).await;
    let spoilt = "update event set payload = '{\"event\":\"from the future\"}'";
    db::on!(&store.db, write | c | sqlx::query(spoilt).execute(c).await.unwrap().rows_affected());
    let refused = store.load(run).await.unwrap_err();
    assert!(matches!(&refused, Error::Corrupt { table: "event", id } if id.ends_with("/1")), "{refused}");
}
