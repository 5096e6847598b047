//! The ceiling: hard under parallel calls, under clamping, and under whatever order things happen in.

use countersign::cycle::money::Money;
use countersign::gateway::meter::Basis;
use countersign::gateway::wire::anthropic::{StopReason, Thinking};
use countersign::gateway::{Client, ClientError, Limits, Stop};
use countersign::model_server::{Conversation, Fault, FaultKind, Reply, Script, StatedUsage, When};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Rig, always, dollars, fails, request, says, until};

/// A call whose answer takes its whole limit of 30,000 tokens, $0.30.
const WORDY: u64 = 30_000;

async fn all_at_once(client: &Client, calls: usize) -> Vec<Result<(), ClientError>> {
    let calls = (0..calls).map(|_| async { client.messages(&request("go", WORDY)).await.map(drop) });
    join_all(calls).await
}

/// Under $1 there is room for three whole answers of $0.30, and for one that is lowered to what is left.
async fn parallel_calls_stay_under_a_dollar(calls: usize) {
    let rig = Rig::new(always(says(&"word".repeat(30_000)))).await;
    let dollar = Money::from_cents(100);
    let token = rig.session(dollar);
    let outcomes = all_at_once(&rig.client(&token), calls).await;
    let answered = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(answered, 4);
    assert_eq!(rig.asked().await.len(), 4, "a refused call reached the provider");
    for outcome in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert!(
            matches!(outcome, ClientError::Refused(why) if why.contains("money") && why.contains("$0.")),
            "{outcome:?}"
        );
    }
    assert!(rig.ledger.peak(rig.run) <= dollar, "{:?} was reserved and settled at once", rig.ledger.peak(rig.run));
    assert!(rig.ledger.crowd(rig.run) > 1, "the calls were not parallel");
    assert!(rig.ledger.settled(rig.run) > Money::from_cents(95));
    let stop = rig.report(&token).stop;
    assert!(matches!(stop, Some(Stop::MoneyRefused { .. } | Stop::OutputCut { .. })), "{stop:?}");
    rig.assert_settled(&token);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_parallel_calls_never_pass_the_ceiling() {
    parallel_calls_stay_under_a_dollar(20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_parallel_calls_never_pass_the_ceiling() {
    parallel_calls_stay_under_a_dollar(200).await;
}

#[tokio::test]
async fn a_call_that_does_not_fit_whole_gets_a_lower_limit_and_nothing_else_changes() {
    let rig = Rig::new(always(says("short"))).await;
    let body = serde_json::to_string(&request("go", 8_000)).unwrap();
    // Input at the dearest price, and 2,000 tokens of output.
    let worst_input = Money::from_picodollars(2_500_000).times(body.len() as u64);
    let token = rig.session(worst_input.plus(dollars(0, 2_000)));
    assert_eq!(rig.post(&token, body.clone()).await.status(), 200);
    assert_eq!(rig.asked().await[0]["body"], Value::String(body.replace("8000", "2000")));
    // The answer ended by itself, so the limit did not matter.
    assert_eq!(rig.report(&token).stop, None);
    rig.assert_settled(&token);
}

#[tokio::test]
async fn an_answer_that_ends_at_our_limit_is_reported() {
    let rig = Rig::new(always(says(&"word".repeat(8_000)))).await;
    let token = rig.session(dollars(0, 3_000));
    let reply = rig.client(&token).messages(&request("go", 8_000)).await.unwrap();
    assert_eq!(reply.stop_reason, Some(StopReason::MaxTokens));
    let Some(Stop::OutputCut { limit }) = rig.report(&token).stop else { panic!("{:?}", rig.report(&token)) };
    assert!((1_024..3_000).contains(&limit), "{limit}");
    assert_eq!(reply.usage.output_tokens, Some(limit));
    rig.assert_settled(&token);
}

#[tokio::test]
async fn an_answer_that_ends_at_the_agents_own_limit_is_not_our_doing() {
    let rig = Rig::new(always(says(&"word".repeat(8_000)))).await;
    let token = rig.session(Money::from_cents(500));
    let reply = rig.client(&token).messages(&request("go", 100)).await.unwrap();
    assert_eq!((reply.stop_reason, rig.report(&token).stop), (Some(StopReason::MaxTokens), None));
}

#[tokio::test]
async fn less_than_a_useful_answer_is_refused_at_once_in_the_providers_shape() {
    let rig = Rig::new(always(says("never said"))).await;
    let token = rig.session(dollars(0, 1_024));
    let refused = rig.post(&token, serde_json::to_vec(&request("go", 8_000)).unwrap()).await;
    assert_eq!(refused.status(), 402);
    assert_eq!(refused.headers()["x-should-retry"], "false");
    let body: Value = refused.json().await.unwrap();
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("billing_error")));
    assert!(matches!(rig.client(&token).messages(&request("go", 8_000)).await, Err(ClientError::Refused(_))));
    assert!(rig.asked().await.is_empty());
    let report = rig.report(&token);
    assert!(
        matches!(report.stop, Some(Stop::MoneyRefused { needed, left }) if needed > left && left == dollars(0, 1_024))
    );
    assert_eq!((report.calls, report.spent), (0, Money::ZERO));
}

#[tokio::test]
async fn a_limit_that_leaves_no_room_to_think_is_a_refusal() {
    let rig = Rig::new(always(says("never said"))).await;
    let token = rig.session(dollars(0, 3_000));
    let mut thinking = request("go", 8_000);
    thinking.thinking = Some(Thinking::Enabled { budget_tokens: 4_000 });
    assert!(matches!(rig.client(&token).messages(&thinking).await, Err(ClientError::Refused(_))));
    assert!(rig.asked().await.is_empty());
}

#[tokio::test]
async fn a_call_waits_for_what_others_hold_and_will_not_use() {
    // The ceiling has room for the worst case of one call; what they really cost is next to nothing.
    let rig = Rig::new(always(fails(FaultKind::Slow { ms: 20 }, Some(1)))).await;
    let token = rig.session(dollars(0, WORDY + 500));
    let client = rig.client(&token);
    let (one, other) = (request("one", WORDY), request("other", WORDY));
    let (one, other) = tokio::join!(client.messages(&one), client.messages(&other));
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
    assert_eq!(rig.ledger.crowd(rig.run), 1);
    assert_eq!(rig.report(&token).stop, None);
    rig.assert_settled(&token);
}

#[tokio::test]
async fn a_provider_that_passes_the_limit_is_charged_in_full_and_ends_it() {
    let rig = Rig::new(always(fails(FaultKind::Overshoot { by: 50_000 }, None))).await;
    let ceiling = dollars(0, 20_000);
    let token = rig.session(ceiling);
    let client = rig.client(&token);
    client.messages(&request("go", 10_000)).await.unwrap();
    let report = rig.report(&token);
    assert_eq!((report.tokens.output, report.basis), (60_000, Some(Basis::Measured)));
    assert!(report.spent > ceiling);
    assert!(matches!(client.messages(&request("go", 10)).await, Err(ClientError::Refused(_))));
    assert_eq!(rig.asked().await.len(), 1);
    assert!(matches!(rig.report(&token).stop, Some(Stop::MoneyRefused { left, .. }) if left < Money::ZERO));
}

#[tokio::test]
async fn a_ceiling_counts_what_earlier_sessions_of_the_run_spent() {
    let usage = StatedUsage { input: 0, output: 7_000, ..StatedUsage::default() };
    let rig = Rig::new(always(Reply { usage: Some(usage), ..says("much") })).await;
    let writing = rig.session(dollars(0, 8_000));
    rig.client(&writing).messages(&request("go", 7_500)).await.unwrap();
    assert!(matches!(rig.client(&writing).messages(&request("go", 7_500)).await, Err(ClientError::Refused(_))));
    rig.gateway.close_session(&writing).await.unwrap();
    let reviewing = rig.session(dollars(0, 10_000));
    assert!(rig.client(&reviewing).messages(&request("go", 2_500)).await.is_ok());
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_a_session_may_have() {
    let limits = Limits { calls_per_session: 3, ..Limits::default() };
    let rig = Rig::with_limits(always(fails(FaultKind::Slow { ms: 1 }, None)), limits).await;
    let token = rig.session(Money::from_cents(100_000));
    let client = rig.client(&token);
    let calls = (0..30).map(|n| {
        let client = &client;
        async move { client.messages(&request(&format!("{n}"), 2_000)).await }
    });
    assert!(join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!(rig.ledger.crowd(rig.run), 3);
    rig.assert_settled(&token);
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_stops_every_call() {
    let rig = Rig::new(always(says("never said"))).await;
    let token = rig.session(Money::from_cents(500));
    rig.ledger.break_down();
    let refused = rig.client(&token).messages(&request("go", 4_096)).await;
    assert!(matches!(refused, Err(ClientError::Overloaded { status: 500, .. })), "{refused:?}");
    assert_eq!(rig.report(&token).stop, Some(Stop::LedgerDown));
    assert!(rig.asked().await.is_empty());
}

/// Whatever is asked in whatever order, and whatever the provider does: settled and reserved stay under the ceiling.
#[tokio::test(flavor = "multi_thread")]
async fn random_calls_never_pass_the_ceiling_and_leave_nothing_reserved() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let limits = Limits { calls_per_session: random.usize(1..12), ..Limits::default() };
        let rig = Rig::with_limits(moods(&mut random), limits).await;
        let ceiling = dollars(0, random.u64(1_000..30_000));
        let token = rig.session(ceiling);
        let clients: Vec<_> =
            (0..30).map(|_| (rig.client(&token), random.u64(1..20_000), random.u8(..6), random.bool())).collect();
        let calls = clients.into_iter().map(|(client, limit, mood, stays)| async move {
            let words = request(&format!("mood {mood} {limit}"), limit);
            let call = client.messages(&words);
            // Some agents go away in the middle.
            let patience = if stays { 20_000 } else { limit % 12 };
            let _ = tokio::time::timeout(std::time::Duration::from_millis(patience), call).await;
        });
        join_all(calls).await;
        until("everything is settled", || rig.ledger.open_calls(rig.run) == 0).await;
        assert!(rig.ledger.peak(rig.run) <= ceiling, "seed {seed}: {:?} of {ceiling:?}", rig.ledger.peak(rig.run));
        let report = rig.gateway.close_session(&token).await.unwrap();
        assert_eq!(report.spent, rig.ledger.settled(rig.run), "seed {seed}");
        assert_eq!(usize::try_from(report.calls), Ok(rig.ledger.settlements(rig.run).len()), "seed {seed}");
    }
}

/// A model for each mood: honest about its usage, and otherwise as bad as can be.
fn moods(random: &mut fastrand::Rng) -> Script {
    let length = random.usize(1..8_000);
    let kinds = [
        None,
        Some(FaultKind::Cut { after: random.usize(..9) }),
        Some(FaultKind::NoUsage),
        Some(FaultKind::Garbage),
        Some(FaultKind::Slow { ms: 1 }),
        Some(FaultKind::Status { status: 529, retry_after: None }),
    ];
    let conversation = |(mood, kind): (usize, Option<FaultKind>)| Conversation {
        when: When { request_contains: Some(format!("mood {mood} ")), ..When::default() },
        repeat_last: true,
        turn: vec![match kind {
            Some(kind @ FaultKind::Slow { .. }) => fails(kind, None),
            kind => Reply { fault: kind.map(|kind| Fault { kind, times: None }), ..says(&"w".repeat(length)) },
        }],
        ..Conversation::default()
    };
    Script { conversation: kinds.into_iter().enumerate().map(conversation).collect(), ..Script::default() }
}
