//! What goes through, and what does not.

use countersign::cycle::money::Money;
use countersign::gateway::meter::{Basis, Tokens};
use countersign::gateway::wire::anthropic::{Block, CacheControl, Message, Response, StopReason};
use countersign::gateway::{Client, ClientError, OpenError};
use countersign::model_server::{Conversation, FaultKind, Reply, Script, StatedUsage, ToolCall};
use serde_json::{Value, json};

use super::{KEY, MODEL, Rig, always, dollars, fails, request, says};

const FIVE: Money = Money::from_cents(500);

#[tokio::test]
async fn a_streamed_call_costs_what_the_provider_counted() {
    let usage = StatedUsage { input: 100, cache_read: 2_000, cache_write_5m: 300, cache_write_1h: 40, output: 50 };
    let tool = ToolCall { name: "bash".to_owned(), input: json!({"command": "ls"}).as_object().cloned().unwrap() };
    let rig = Rig::new(always(Reply { usage: Some(usage), tools: vec![tool], ..says("I look.") })).await;
    let token = rig.session(FIVE);
    let reply = rig.client(&token).messages(&request("go", 8_000)).await.unwrap();
    assert_eq!(reply.stop_reason, Some(StopReason::ToolUse));
    assert_eq!(reply.content[0], Block::text("I look."));
    assert!(
        matches!(&reply.content[1], Block::ToolUse { name, input, .. } if name == "bash" && input["command"] == "ls")
    );
    let report = rig.report(&token);
    let tokens = Tokens { input: 100, cache_read: 2_000, cache_write_5m: 300, cache_write_1h: 40, output: 50 };
    assert_eq!((report.tokens, report.calls, report.basis), (tokens, 1, Some(Basis::Measured)));
    // 100 at $2, 2,000 at $0.10, 300 at $2.50, 40 at $4 and 50 at $10 for a million.
    assert_eq!(report.spent, Money::from_picodollars((200 + 200 + 750 + 160 + 500) * 1_000_000));
    assert_eq!(report.stop, None);
    rig.assert_settled(&token);
}

#[tokio::test]
async fn an_unstreamed_call_costs_the_same() {
    let usage = StatedUsage { input: 100, cache_read: 2_000, cache_write_5m: 300, cache_write_1h: 40, output: 50 };
    let rig = Rig::new(always(Reply { usage: Some(usage), ..says("I look.") })).await;
    let token = rig.session(FIVE);
    let reply = rig.post(&token, serde_json::to_vec(&request("go", 8_000)).unwrap()).await;
    assert_eq!(reply.status(), 200);
    let reply = Response::parse(&reply.text().await.unwrap()).unwrap();
    assert_eq!(reply.content, [Block::text("I look.")]);
    assert_eq!(rig.report(&token).spent, Money::from_picodollars(1_810 * 1_000_000));
    rig.assert_settled(&token);
}

#[tokio::test]
async fn the_clients_bytes_arrive_as_they_were_sent() {
    let rig = Rig::new(always(says("ok"))).await;
    let token = rig.session(FIVE);
    let odd = format!(
        "{{ \"unknown\":[1,  2.50],\n\"model\":\"{MODEL}\",\"messages\":[{{\"role\":\"system\",\"content\":\"s\\u00e9\"}},{{\"role\":\"user\",\"content\":\"hi\"}}],\"max_tokens\" :4096 }}"
    );
    assert_eq!(rig.post(&token, odd.clone()).await.status(), 200);
    assert_eq!(rig.asked().await[0]["body"], Value::String(odd));
}

#[tokio::test]
async fn the_token_stays_here_and_the_key_stays_there() {
    let rig = Rig::new(always(fails(FaultKind::QuoteKey, Some(1)))).await;
    let token = rig.session(FIVE);
    let denied = rig.http().post("http://gateway/v1/messages").bearer_auth(token.expose()).header("cookie", "a=b");
    let denied = denied.json(&request("go", 4_096)).send().await.unwrap();
    assert_eq!(denied.status(), 401);
    assert!(!format!("{:?}", denied.headers()).contains(KEY));
    let text = denied.text().await.unwrap();
    assert!(text.contains("invalid x-api-key: [key]") && !text.contains(KEY), "{text}");
    let answered = rig.post(&token, serde_json::to_vec(&request("go", 4_096)).unwrap()).await;
    assert!(!format!("{:?}{}", answered.headers().clone(), answered.text().await.unwrap()).contains(KEY));
    for asked in rig.asked().await {
        let asked = asked.to_string();
        assert!(asked.contains(KEY), "the provider got no key");
        assert!(!asked.contains(token.expose()) && !asked.contains("a=b"), "{asked}");
    }
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_before_the_first_call() {
    let rig = Rig::new(always(says("never said"))).await;
    let mut session = super::session(rig.run, FIVE);
    session.models.push("claude-opus-4.8".to_owned());
    let refused = rig.gateway.open_session(session).unwrap_err();
    assert_eq!(refused, OpenError::NoPrice { model: "claude-opus-4.8".to_owned() });
    assert!(refused.to_string().contains("claude-opus-4.8") && refused.to_string().contains("settings"));
    assert!(rig.asked().await.is_empty());
}

#[tokio::test]
async fn a_model_that_the_run_may_not_use_is_refused_in_the_providers_words() {
    let rig = Rig::new(always(says("never said"))).await;
    let token = rig.session(FIVE);
    let mut other = request("go", 4_096);
    other.model = "claude-opus-5-5".to_owned();
    let refused = rig.post(&token, serde_json::to_vec(&other).unwrap()).await;
    assert_eq!(refused.status(), 404);
    let body: Value = refused.json().await.unwrap();
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("not_found_error")));
    assert!(
        matches!(rig.client(&token).messages(&other).await, Err(ClientError::BadRequest(text)) if text.contains("claude-opus-5-5"))
    );
    assert!(rig.asked().await.is_empty());
    rig.assert_settled(&token);
}

#[tokio::test]
async fn a_token_is_worth_nothing_once_its_session_is_closed() {
    let rig = Rig::new(always(says("ok"))).await;
    let token = rig.session(FIVE);
    let client = rig.client(&token);
    client.messages(&request("go", 4_096)).await.unwrap();
    let report = rig.gateway.close_session(&token).await.unwrap();
    assert_eq!((report.calls, report.spent), (1, rig.ledger.settled(rig.run)));
    assert!(matches!(client.messages(&request("go", 4_096)).await, Err(ClientError::Denied { status: 401, .. })));
    assert!(rig.gateway.close_session(&token).await.is_none());
    assert_eq!(rig.asked().await.len(), 1);
    let stranger = rig.http().post("http://gateway/v1/messages").json(&request("go", 4_096)).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
}

#[tokio::test]
async fn what_was_counted_before_is_not_reserved_again_by_its_bytes() {
    let script = Script {
        conversation: vec![Conversation { turn: vec![says("one"), says("two")], ..Conversation::default() }],
        ..Script::default()
    };
    let rig = Rig::new(script).await;
    let token = rig.session(FIVE);
    let client = rig.client(&token);
    let mut asked = request(&"long ".repeat(10_000), 4_096);
    asked.cache_control = Some(CacheControl::five_minutes());
    let reply = client.messages(&asked).await.unwrap();
    asked.messages.push(Message::assistant(reply.content));
    asked.messages.push(Message::user(vec![Block::text("more")]));
    client.messages(&asked).await.unwrap();
    let amounts = rig.ledger.amounts(rig.run);
    let worst_output = dollars(0, 4_096);
    let (first, second) = (amounts[0].minus(worst_output), amounts[1].minus(worst_output));
    // The server counts a token for four bytes: a quarter of the first, and the few bytes that were added.
    assert!(second < first.percent(26), "{first:?} {second:?}");
    assert!(second > first.percent(25), "{first:?} {second:?}");
    let report = rig.report(&token);
    assert!(report.tokens.cache_read > 12_000 && report.tokens.cache_write_5m > 12_000, "{report:?}");
    rig.assert_settled(&token);
}

/// A header can change what the provider makes of the same bytes, so a count under one says nothing under another.
#[tokio::test]
async fn what_was_counted_under_other_headers_is_reserved_by_its_bytes() {
    let rig = Rig::new(always(says("ok"))).await;
    let token = rig.session(FIVE);
    let asked = request(&"long ".repeat(10_000), 4_096);
    for beta in ["a", "b", "b"] {
        let call = rig.http().post("http://gateway/v1/messages").bearer_auth(token.expose());
        let reply = call.header("anthropic-beta", beta).json(&asked).send().await.unwrap();
        assert_eq!(reply.status(), 200);
        // Read to its end: then the call is settled.
        reply.bytes().await.unwrap();
    }
    let amounts = rig.ledger.amounts(rig.run);
    assert_eq!(amounts[1], amounts[0]);
    assert!(amounts[2] < amounts[1], "{amounts:?}");
}

#[tokio::test]
async fn a_gateway_that_is_not_there_is_said_to_be_unreachable() {
    let rig = Rig::new(always(says("ok"))).await;
    let token = rig.session(FIVE);
    let nowhere = Client::new(&rig.socket.with_file_name("other.sock"), token).unwrap();
    assert!(matches!(nowhere.messages(&request("go", 4_096)).await, Err(ClientError::Unreachable(_))));
}

#[tokio::test]
async fn shutting_down_ends_sessions_and_sockets() {
    let rig = Rig::new(always(says("ok"))).await;
    let token = rig.session(FIVE);
    let client = rig.client(&token);
    client.messages(&request("go", 4_096)).await.unwrap();
    rig.gateway.shut_down().await;
    assert!(rig.gateway.session_report(&token).is_none());
    assert!(client.messages(&request("go", 4_096)).await.is_err());
    assert_eq!(rig.ledger.reserved(rig.run), Money::ZERO);
}
