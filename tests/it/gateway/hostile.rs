//! Agents and providers that try things.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{any, post};
use countersign::cycle::money::Money;
use countersign::gateway::wire::anthropic::{Collector, Inspected, StreamEvent, StreamWatch};
use countersign::gateway::wire::sse::SseDecoder;
use countersign::gateway::{ClientError, Limits, Stop};
use futures_util::stream;
use serde_json::Value;

use super::{MODEL, Rig, always, request, says, until};

const FIVE: Money = Money::from_cents(500);

#[tokio::test]
async fn a_body_of_a_hundred_megabytes_is_refused_before_it_is_read() {
    let rig = Rig::new(always(says("never said"))).await;
    let token = rig.session(FIVE);
    let mut stream = UnixStream::connect(&rig.socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-length: 100000000\r\n\r\n",
        token.expose()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let status = tokio::task::spawn_blocking(move || {
        let mut reply = [0; 12];
        stream.read_exact(&mut reply).map(|()| String::from_utf8_lossy(&reply).into_owned())
    });
    assert_eq!(status.await.unwrap().unwrap(), "HTTP/1.1 413");
    assert!(rig.asked().await.is_empty());
    rig.assert_settled(&token);
}

#[tokio::test]
async fn a_body_that_does_not_say_its_size_is_refused_at_the_limit() {
    let rig = Rig::with_limits(always(says("never said")), Limits { request: 1 << 20, ..Limits::default() }).await;
    let token = rig.session(FIVE);
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let pieces = stream::repeat_with(move || {
        counter.fetch_add(64 << 10, Ordering::Relaxed);
        Ok::<_, std::io::Error>(vec![b' '; 64 << 10])
    });
    let request = rig.http().post("http://gateway/v1/messages").header("x-api-key", token.expose());
    let outcome = request.body(reqwest::Body::wrap_stream(pieces)).send().await;
    // The refusal may overtake the client in the middle of its sending.
    assert!(outcome.is_err() || outcome.is_ok_and(|reply| reply.status() == 413));
    assert!(sent.load(Ordering::Relaxed) < 16 << 20, "the gateway took {sent:?} bytes");
    assert!(rig.asked().await.is_empty());
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused_and_reach_nobody() {
    let rig = Rig::new(always(says("never said"))).await;
    let token = rig.session(FIVE);
    let bomb =
        format!(r#"{{"model":"{MODEL}","max_tokens":4096,"messages":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let hidden = format!(
        r#"{{"model":"{MODEL}","max_tokens":4096,"messages":[{{"role":"user","content":"x"}}],"y":{}0{}}}"#,
        "{\"a\":".repeat(100_000),
        "}".repeat(100_000)
    );
    let two_limits = format!(r#"{{"model":"{MODEL}","max_tokens":1,"messages":[],"max_tokens":99999999}}"#);
    let keys: String = (0..1_000_000).map(|n| format!(",\"k{n}\":0")).collect();
    let many = format!(r#"{{"model":"{MODEL}","max_tokens":-4096,"messages":[]{keys}}}"#);
    for body in [
        bomb.into_bytes(),
        hidden.into_bytes(),
        two_limits.into_bytes(),
        many.into_bytes(),
        b"\xff\xfe".to_vec(),
        Vec::new(),
    ] {
        let start = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let reply = rig.post(&token, body).await;
        assert_eq!(reply.status(), 400, "{start}");
        let error: Value = reply.json().await.unwrap();
        assert_eq!(error["error"]["type"], "invalid_request_error", "{start}");
    }
    assert!(rig.asked().await.is_empty());
    rig.assert_settled(&token);
}

/// Bytes of a good text, with some of them changed, doubled or left out.
fn mutated(random: &mut fastrand::Rng, good: &str) -> Vec<u8> {
    const PIECES: [&str; 12] = ["{", "}", "[", "]", "\"", "\\", ",", ":", "-1", "1e999", "\\ud800", "\n\n"];
    let mut bytes = good.as_bytes().to_vec();
    for _ in 0..random.usize(1..6) {
        let at = random.usize(..bytes.len());
        match random.u8(..4) {
            0 => bytes[at] = random.u8(..),
            1 => drop(bytes.drain(at..(at + random.usize(1..20)).min(bytes.len()))),
            2 => drop(bytes.splice(at..at, random.choice(PIECES).unwrap().bytes())),
            _ => {
                let piece = bytes[at..(at + random.usize(1..60)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            bytes.push(b'{');
        }
    }
    bytes
}

#[test]
fn whatever_a_request_looks_like_it_is_measured_or_refused() {
    let good = r#"{"model":"m","max_tokens":4096,"stream":true,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tools":[{"name":"t"}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AAAA"}},{"type":"tool_result","tool_use_id":"t","content":"\u00e9"}]}]}"#;
    let mut random = fastrand::Rng::with_seed(97);
    let mut measured = 0;
    for _ in 0..50_000 {
        let Ok(body) = String::from_utf8(mutated(&mut random, good)) else { continue };
        let Ok(read) = Inspected::read(&body) else { continue };
        // What goes to the provider is what was measured, with another limit.
        // A number or a text that nobody can read, where only the provider looks, is the provider's to refuse.
        let Ok(mut original) = serde_json::from_str::<Value>(&body) else { continue };
        let lowered: Value = serde_json::from_str(&read.with_limit(&body, 1_777)).unwrap();
        assert_eq!(original["max_tokens"], read.max_tokens);
        original["max_tokens"] = 1_777.into();
        assert_eq!(lowered, original);
        measured += 1;
        assert_eq!(lowered["model"], Value::String(read.model.clone()));
        assert!(read.input_bound_after(&body, &read, &body, 10).is_none_or(|bound| bound <= read.input_bound() + 10));
    }
    assert!(measured > 1_000, "only {measured} of the requests were readable");
}

#[test]
fn whatever_an_answer_looks_like_it_is_counted_or_not() {
    let good = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let mut random = fastrand::Rng::with_seed(98);
    let (mut whole, mut broken) = (0, 0);
    for _ in 0..20_000 {
        let bytes = mutated(&mut random, good);
        let mut watch = StreamWatch::default();
        bytes.chunks(random.usize(1..200)).for_each(|chunk| watch.push(chunk));
        let (mut decoder, mut collector) = (SseDecoder::default(), Collector::default());
        let events = decoder.push(&bytes).unwrap_or_default();
        let collected = events.iter().try_for_each(|data| {
            let event = StreamEvent::parse(data).map_err(|_| ())?;
            collector.push(event).map_err(|_| ())
        });
        match collected.and_then(|()| collector.finish().map_err(|_| ())) {
            // What makes an answer for the agent has been counted for the ledger.
            Ok(reply) => {
                whole += 1;
                assert!(watch.seen().whole);
                assert_eq!(watch.seen().usage, reply.usage);
            }
            Err(()) => broken += 1,
        }
    }
    assert!(whole > 100 && broken > 1_000, "{whole} {broken}");
}

#[tokio::test]
async fn nothing_else_than_messages_is_served() {
    let rig = Rig::new(always(says("never said"))).await;
    let token = rig.session(FIVE);
    let http = rig.http();
    for path in ["/", "/v1/models", "/v1/messages/batches", "/v1/files", "/v1/messages/../complete", "/requests"] {
        let reply =
            http.post(format!("http://gateway{path}")).header("x-api-key", token.expose()).send().await.unwrap();
        assert_eq!(reply.status(), 404, "{path}");
        assert_eq!(reply.json::<Value>().await.unwrap()["type"], "error", "{path}");
    }
    assert_eq!(http.get("http://gateway/v1/messages").send().await.unwrap().status(), 404);
    assert!(rig.asked().await.is_empty());
}

#[tokio::test]
async fn a_thousand_calls_of_one_agent_stay_within_its_money() {
    let rig = Rig::new(always(says("a few words"))).await;
    let ceiling = Money::from_cents(10);
    let token = rig.session(ceiling);
    let client = rig.client(&token);
    let mut refused = 0;
    for _ in 0..1_000 {
        match client.messages(&request("go", 1_024)).await {
            Ok(_) => {}
            Err(ClientError::Refused(_)) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 0 && rig.ledger.peak(rig.run) <= ceiling, "{refused} refused");
    rig.assert_settled(&token);
}

/// A provider that is up to something.
async fn provider(routes: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    format!("http://{address}")
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_goes_nowhere_else() {
    let hits = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&hits);
    let elsewhere = any(move |_: HeaderMap| async move {
        counter.fetch_add(1, Ordering::Relaxed);
        "taken"
    });
    let elsewhere = provider(Router::new().fallback_service(elsewhere)).await;
    let away =
        post(move || async move { (StatusCode::TEMPORARY_REDIRECT, [("location", format!("{elsewhere}/steal"))]) });
    let rig = Rig::before(provider(Router::new().route("/v1/messages", away)).await, Limits::default());
    let token = rig.session(FIVE);
    let outcome = rig.client(&token).messages(&request("go", 4_096)).await;
    assert!(matches!(outcome, Err(ClientError::Overloaded { status: 502, .. })), "{outcome:?}");
    assert_eq!(hits.load(Ordering::Relaxed), 0);
    assert_eq!(rig.report(&token).spent, Money::ZERO);
}

#[tokio::test]
async fn an_endless_answer_is_cut_at_the_limit() {
    let endless = post(|| async {
        let pieces = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 64 << 10]));
        axum::body::Body::from_stream(pieces)
    });
    let limits = Limits { answer: 4 << 20, ..Limits::default() };
    let rig = Rig::before(provider(Router::new().route("/v1/messages", endless)).await, limits);
    let token = rig.session(FIVE);
    let outcome = rig.client(&token).messages(&request("go", 4_096)).await;
    assert!(matches!(outcome, Err(ClientError::Garbage(_) | ClientError::Cut)), "{outcome:?}");
    let whole = rig.post(&token, serde_json::to_vec(&request("go", 4_096)).unwrap()).await;
    assert_eq!(whole.status(), 502);
    assert_eq!(rig.report(&token).calls, 2);
    rig.assert_settled(&token);
}

#[tokio::test]
async fn a_providers_cookies_and_servers_are_not_passed_on() {
    let chatty = post(|| async {
        (StatusCode::BAD_REQUEST, [("set-cookie", "a=b"), ("x-internal", "1"), ("request-id", "req_1")], "no")
    });
    let rig = Rig::before(provider(Router::new().route("/v1/messages", chatty)).await, Limits::default());
    let token = rig.session(FIVE);
    let reply = rig.post(&token, serde_json::to_vec(&request("go", 4_096)).unwrap()).await;
    assert_eq!((reply.status(), &reply.headers()["request-id"]), (StatusCode::BAD_REQUEST, &"req_1".parse().unwrap()));
    assert!(!reply.headers().contains_key("set-cookie") && !reply.headers().contains_key("x-internal"));
    assert_eq!(rig.report(&token).stop, None::<Stop>);
}

#[tokio::test]
async fn a_sandbox_that_holds_all_its_connections_shuts_out_only_itself() {
    let rig = Rig::with_limits(always(says("ok")), Limits { connections: 2, ..Limits::default() }).await;
    let other_socket = rig.socket.with_file_name("other.sock");
    let _other = rig.gateway.listen(&other_socket).unwrap();
    let token = rig.session(FIVE);
    let held: Vec<_> = (0..2).map(|_| UnixStream::connect(&rig.socket).unwrap()).collect();
    let client = rig.client(&token);
    let shut_out = tokio::spawn(async move { client.messages(&request("go", 4_096)).await.map(drop) });
    let other = countersign::gateway::Client::new(&other_socket, token.clone()).unwrap();
    other.messages(&request("go", 4_096)).await.unwrap();
    assert!(!shut_out.is_finished());
    drop(held);
    shut_out.await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_that_never_say_what_they_want_are_let_go() {
    let limits = Limits { connections: 2, head: Duration::from_millis(200), ..Limits::default() };
    let rig = Rig::with_limits(always(says("ok")), limits).await;
    let held: Vec<_> = (0..20).map(|_| UnixStream::connect(&rig.socket).unwrap()).collect();
    let token = rig.session(FIVE);
    rig.client(&token).messages(&request("go", 4_096)).await.unwrap();
    drop(held);
}

#[tokio::test]
async fn an_agent_that_reads_nothing_of_its_answer_is_charged_and_let_go() {
    let endless = post(|| async {
        let pieces = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 64 << 10]));
        axum::body::Body::from_stream(pieces)
    });
    let limits = Limits { connections: 1, idle: Duration::from_millis(200), answer: usize::MAX, ..Limits::default() };
    let rig = Rig::before(provider(Router::new().route("/v1/messages", endless)).await, limits);
    let token = rig.session(FIVE);
    let body = serde_json::to_string(&countersign::gateway::wire::anthropic::MessagesRequest {
        stream: true,
        ..request("go", 4_096)
    });
    let body = body.unwrap();
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\n", token.expose());
    let mut silent = UnixStream::connect(&rig.socket).unwrap();
    silent.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    until("the call is reported", || rig.report(&token).calls == 1).await;
    rig.assert_settled(&token);
    // There is one place, so this one is answered only when the other has lost it.
    let answered = tokio::time::timeout(Duration::from_secs(20), rig.post(&token, "{}")).await;
    assert_eq!(answered.expect("the place was never free").status(), 400);
    drop(silent);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let limits = Limits { upload: Duration::from_millis(200), ..Limits::default() };
    let rig = Rig::with_limits(always(says("never said")), limits).await;
    let token = rig.session(FIVE);
    for (framing, start) in [
        ("content-length: 100", "{"),
        ("transfer-encoding: chunked", "5\r\n{\"mod"),
        ("transfer-encoding: chunked", "fffffffffffffffff\r\n{"),
        ("transfer-encoding: chunked", "zz\r\n{\r\n"),
        ("transfer-encoding: chunked\r\ncontent-length: 2", "2\r\n{}\r\n"),
        ("content-length: 2\r\ncontent-length: 3", "{}}"),
        ("content-length: -1", "{}"),
        ("transfer-encoding: gzip", "{}"),
    ] {
        let mut stream = UnixStream::connect(&rig.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\n{framing}", token.expose());
        stream.write_all(format!("{head}\r\n\r\n{start}").as_bytes()).unwrap();
        let answer = tokio::task::spawn_blocking(move || {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).map(|_| String::from_utf8_lossy(&answer).into_owned())
        });
        let answer = answer.await.unwrap().unwrap_or_else(|error| panic!("{framing}, {start}: {error}"));
        assert!(answer.starts_with("HTTP/1.1 4"), "{framing}, {start}: {answer}");
    }
    assert!(rig.asked().await.is_empty());
    rig.assert_settled(&token);
}

#[tokio::test]
async fn a_socket_left_behind_is_replaced_and_any_other_file_is_not() {
    let rig = Rig::new(always(says("ok"))).await;
    let left = rig.socket.with_file_name("left.sock");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    let listening = rig.gateway.listen(&left).unwrap();
    let token = rig.session(FIVE);
    countersign::gateway::Client::new(&left, token).unwrap().messages(&request("go", 4_096)).await.unwrap();
    drop(listening);
    assert!(!left.exists());
    std::fs::write(&left, "mine").unwrap();
    assert!(rig.gateway.listen(&left).is_err());
    assert_eq!(std::fs::read_to_string(&left).unwrap(), "mine");
}
