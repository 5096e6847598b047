//! A provider that fails, in each way that it can.

use std::io::Read;
use std::net::TcpListener;
use std::time::Duration;

use countersign::cycle::money::Money;
use countersign::gateway::meter::Basis;
use countersign::gateway::{ClientError, Limits, Report, Stop};
use countersign::model_server::{FaultKind, Script};

use super::{Rig, always, dollars, fails, request, until};

const FIVE: Money = Money::from_cents(500);
const LIMIT: u64 = 4_096;

/// One call against a provider that does this, and what it came to.
async fn once(script: Script) -> (Rig, Result<(), ClientError>, Report) {
    let rig = Rig::new(script).await;
    let token = rig.session(FIVE);
    let outcome = rig.client(&token).messages(&request("go", LIMIT)).await.map(drop);
    rig.assert_settled(&token);
    let report = rig.report(&token);
    (rig, outcome, report)
}

fn assert_free(report: &Report) {
    assert_eq!((report.spent, report.calls, report.basis), (Money::ZERO, 0, None), "an error was charged");
}

/// Charged by the rule: the whole output limit, and the input as it was counted or at its bound.
fn assert_bound(report: &Report) {
    assert_eq!((report.basis, report.tokens.output, report.calls), (Some(Basis::Bound), LIMIT, 1));
    assert!(report.spent > dollars(0, LIMIT) && report.tokens.input > 0, "{report:?}");
}

#[tokio::test]
async fn a_rate_limit_is_passed_on_with_its_wait_and_costs_nothing() {
    let script = always(fails(FaultKind::Status { status: 429, retry_after: Some(20) }, Some(1)));
    let (rig, outcome, report) = once(script).await;
    let wait = Some(Duration::from_secs(20));
    assert!(matches!(outcome, Err(ClientError::RateLimited { retry_after }) if retry_after == wait));
    assert_free(&report);
    assert_eq!(report.stop, Some(Stop::RateLimited { retry_after: wait }));
    // The next answer clears it.
    let token = rig.session(FIVE);
    rig.client(&token).messages(&request("go", LIMIT)).await.unwrap();
    assert_eq!(rig.report(&token).stop, None);
}

#[tokio::test]
async fn a_passing_fault_is_forgotten_with_the_next_answer() {
    let rig = Rig::new(always(fails(FaultKind::Status { status: 529, retry_after: None }, Some(1)))).await;
    let token = rig.session(FIVE);
    let client = rig.client(&token);
    assert!(client.messages(&request("go", LIMIT)).await.is_err());
    assert_eq!(rig.report(&token).stop, Some(Stop::ProviderDown { status: Some(529) }));
    client.messages(&request("go", LIMIT)).await.unwrap();
    assert_eq!(rig.report(&token).stop, None);
}

#[tokio::test]
async fn a_provider_that_is_down_costs_nothing() {
    for status in [500, 503, 529] {
        let (_, outcome, report) = once(always(fails(FaultKind::Status { status, retry_after: None }, None))).await;
        assert!(matches!(outcome, Err(ClientError::Overloaded { status: said, .. }) if said == status), "{outcome:?}");
        assert_free(&report);
        assert_eq!(report.stop, Some(Stop::ProviderDown { status: Some(status) }));
    }
}

#[tokio::test]
async fn a_key_that_is_not_taken_is_told_from_a_provider_that_is_down() {
    let (_, outcome, report) = once(always(fails(FaultKind::QuoteKey, None))).await;
    assert!(matches!(outcome, Err(ClientError::Denied { status: 401, .. })), "{outcome:?}");
    assert_free(&report);
    assert_eq!(report.stop, Some(Stop::ProviderRefused { status: 401 }));
}

#[tokio::test]
async fn a_request_that_the_provider_does_not_take_is_the_agents_affair() {
    let (_, outcome, report) = once(always(fails(FaultKind::Status { status: 400, retry_after: None }, None))).await;
    assert!(matches!(outcome, Err(ClientError::BadRequest(_))), "{outcome:?}");
    assert_free(&report);
    assert_eq!(report.stop, None);
}

#[tokio::test]
async fn a_cut_stream_is_charged_by_rule_and_never_at_zero() {
    for after in [0, 1, 2, 4, 6] {
        let (_, outcome, report) = once(always(fails(FaultKind::Cut { after }, None))).await;
        assert!(matches!(outcome, Err(ClientError::Cut)), "after {after}: {outcome:?}");
        assert_bound(&report);
        assert_eq!(report.stop, Some(Stop::ProviderDown { status: None }));
    }
}

#[tokio::test]
async fn a_cut_body_is_charged_by_rule_as_well() {
    let rig = Rig::new(always(fails(FaultKind::Cut { after: 0 }, None))).await;
    let token = rig.session(FIVE);
    let reply = rig.post(&token, serde_json::to_vec(&request("go", LIMIT)).unwrap()).await;
    assert_eq!(reply.status(), 502);
    assert_bound(&rig.report(&token));
    rig.assert_settled(&token);
}

#[tokio::test]
async fn an_answer_without_counts_is_charged_by_rule() {
    let (_, outcome, report) = once(always(fails(FaultKind::NoUsage, None))).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_bound(&report);
    assert_eq!(report.stop, None);
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_garbage_and_charged_by_rule() {
    let (rig, outcome, report) = once(always(fails(FaultKind::Garbage, None))).await;
    assert!(matches!(outcome, Err(ClientError::Garbage(_))), "{outcome:?}");
    assert_bound(&report);
    let token = rig.session(FIVE);
    let plain = rig.post(&token, serde_json::to_vec(&request("go", LIMIT)).unwrap()).await;
    assert!(plain.text().await.unwrap().contains("It works!"));
    assert_bound(&rig.report(&token));
}

#[tokio::test]
async fn an_error_in_place_of_an_answer_is_free_and_one_in_its_middle_is_not() {
    let error = |after| always(fails(FaultKind::ErrorEvent { after, error: "overloaded_error".to_owned() }, None));
    let (_, outcome, report) = once(error(0)).await;
    assert!(matches!(outcome, Err(ClientError::Overloaded { status: 529, .. })), "{outcome:?}");
    assert_free(&report);
    let (_, outcome, report) = once(error(4)).await;
    assert!(matches!(outcome, Err(ClientError::Overloaded { status: 529, .. })), "{outcome:?}");
    assert_bound(&report);
    assert_eq!(report.stop, Some(Stop::ProviderDown { status: Some(529) }));
}

#[tokio::test]
async fn a_provider_that_is_not_there_costs_nothing() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rig = Rig::before(format!("http://127.0.0.1:{port}"), Limits::default());
    let token = rig.session(FIVE);
    let outcome = rig.client(&token).messages(&request("go", LIMIT)).await;
    assert!(matches!(outcome, Err(ClientError::Overloaded { status: 502, .. })), "{outcome:?}");
    assert_free(&rig.report(&token));
    assert_eq!(rig.report(&token).stop, Some(Stop::ProviderDown { status: None }));
    rig.assert_settled(&token);
}

#[tokio::test]
async fn a_provider_that_takes_the_call_and_says_nothing_is_charged_by_rule() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let silent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Reads until the gateway gives up.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let limits = Limits { first_byte: Duration::from_millis(300), ..Limits::default() };
    let rig = Rig::before(format!("http://{address}"), limits);
    let token = rig.session(FIVE);
    let outcome = rig.client(&token).messages(&request("go", LIMIT)).await;
    assert!(matches!(outcome, Err(ClientError::Overloaded { status: 504, .. })), "{outcome:?}");
    assert_bound(&rig.report(&token));
    rig.assert_settled(&token);
    silent.join().unwrap();
}

#[tokio::test]
async fn a_stream_that_stands_still_is_cut() {
    let limits = Limits { idle: Duration::from_millis(200), ..Limits::default() };
    let rig = Rig::with_limits(always(fails(FaultKind::Slow { ms: 60_000 }, None)), limits).await;
    let token = rig.session(FIVE);
    let outcome = rig.client(&token).messages(&request("go", LIMIT)).await;
    assert!(matches!(outcome, Err(ClientError::Cut)), "{outcome:?}");
    assert_bound(&rig.report(&token));
}

#[tokio::test]
async fn an_agent_that_goes_away_in_the_middle_is_charged_by_rule() {
    let rig = Rig::new(always(fails(FaultKind::Slow { ms: 60_000 }, None))).await;
    let token = rig.session(FIVE);
    let client = rig.client(&token);
    let call = tokio::spawn(async move { client.messages(&request("go", LIMIT)).await.map(drop) });
    until("the call is under way", || rig.ledger.open_calls(rig.run) == 1).await;
    call.abort();
    until("the call is settled", || rig.ledger.open_calls(rig.run) == 0).await;
    until("the call is reported", || rig.report(&token).calls == 1).await;
    assert_bound(&rig.report(&token));
    assert_eq!(rig.report(&token).stop, None);
}

#[tokio::test]
async fn closing_a_session_cuts_its_calls_and_the_report_is_final() {
    let rig = Rig::new(always(fails(FaultKind::Slow { ms: 60_000 }, None))).await;
    let token = rig.session(FIVE);
    let client = rig.client(&token);
    let call = tokio::spawn(async move { client.messages(&request("go", LIMIT)).await.map(drop) });
    until("the call is under way", || rig.ledger.open_calls(rig.run) == 1).await;
    let report = tokio::time::timeout(Duration::from_secs(2), rig.gateway.close_session(&token)).await;
    let report = report.expect("closing waits for nobody").unwrap();
    assert_bound(&report);
    assert_eq!(report.spent, rig.ledger.settled(rig.run));
    assert!(call.await.unwrap().is_err());
}
