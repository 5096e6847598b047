//! Sends a reserved call to its provider and passes the answer on, byte for byte, while a copy is read for its usage.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::warn;

use super::exchange::{Call, Granted};
use super::reply::Refused;
use super::session::Stop;
use super::wire::anthropic::{ErrorBody, Seen, StreamWatch};

/// What became of a call, for the meter.
pub(super) enum Outcome {
    /// It cost nothing: nothing was sent, or the provider said no before it began.
    Free { stop: Option<Stop> },
    /// It cost what was seen, and the worst case of what was not.
    Charged { seen: Seen, stop: Option<Stop> },
}

/// A call that is over, but for the end of its answer: that is delivered when the call is settled, so that a client that
/// has its answer also finds it in the report.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) tail: Tail,
}

/// The end of an answer.
pub(super) enum Tail {
    /// All of it.
    Whole(oneshot::Sender<Response>, Response),
    /// The end of a stream, clean or broken.
    Stream { chunks: mpsc::Sender<io::Result<Bytes>>, broken: bool },
    /// Nobody waits for it.
    Nothing,
}

impl Tail {
    /// Sends it; a client that has gone, or reads nothing for so long, does not matter.
    pub(super) async fn deliver(self, patience: Duration) {
        match self {
            Self::Whole(answer, response) => drop(answer.send(response)),
            Self::Stream { chunks, broken: true } => {
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the provider's answer was cut");
                let _ = timeout(patience, chunks.send(Err(error))).await;
            }
            Self::Stream { broken: false, .. } | Self::Nothing => {}
        }
    }
}

/// The most of an error's text that is passed on.
const MAX_ERROR: usize = 64 << 10;
/// How many pieces of a stream may wait for a slow reader.
const PIECES: usize = 16;
/// The longest wait that a provider can ask for and is believed.
const MAX_RETRY_AFTER: u64 = 24 * 60 * 60;

/// Carries a reserved call out.
pub(super) async fn forward(call: &Call, granted: &Granted, mut answer: oneshot::Sender<Response>) -> Done {
    let body = match granted.is_lowered() {
        true => call.inspected.with_limit(call.text(), granted.limit).into(),
        false => call.body.clone(),
    };
    let sending = timeout(call.gateway.limits.first_byte, call.open.line.messages(&call.passed, body));
    let sent = tokio::select! {
        biased;
        () = call.open.closing.cancelled() => return gone(Seen::default()),
        () = answer.closed() => return gone(Seen::default()),
        sent = sending => sent,
    };
    match sent {
        Err(_) => lost(Seen::default(), answer, Refused::timeout()),
        Ok(Err(error)) => unsent(&error, answer),
        Ok(Ok(response)) if !response.status().is_success() => refused(call, response, answer).await,
        Ok(Ok(response)) if call.inspected.stream => stream(call, response, answer).await,
        Ok(Ok(response)) => whole(call, response, answer).await,
    }
}

/// Nobody waits any more. What was sent may cost up to its worst case.
fn gone(seen: Seen) -> Done {
    Done { outcome: Outcome::Charged { seen, stop: None }, tail: Tail::Nothing }
}

/// The provider did not answer to the end, and what it did may cost up to its worst case.
fn lost(seen: Seen, answer: oneshot::Sender<Response>, reply: Refused) -> Done {
    let outcome = Outcome::Charged { seen, stop: Some(Stop::ProviderDown { status: None }) };
    Done { outcome, tail: Tail::Whole(answer, reply.into_response()) }
}

fn unsent(error: &reqwest::Error, answer: oneshot::Sender<Response>) -> Done {
    warn!(error = error as &dyn std::error::Error, "the provider cannot be reached");
    let reply = Refused::bad_gateway("the provider cannot be reached");
    if error.is_connect() || error.is_builder() {
        let outcome = Outcome::Free { stop: Some(Stop::ProviderDown { status: None }) };
        return Done { outcome, tail: Tail::Whole(answer, reply.into_response()) };
    }
    lost(Seen::default(), answer, reply)
}

/// The provider said no. Its words are passed on, without our key should they quote it.
async fn refused(call: &Call, mut response: reqwest::Response, answer: oneshot::Sender<Response>) -> Done {
    let status = response.status();
    let wait = retry_after(&response);
    let mut reply = head(&response);
    let mut text = Vec::new();
    // A text that is cut or slow is passed on as far as it came.
    while let Ok(Ok(Some(chunk))) = timeout(call.gateway.limits.idle, response.chunk()).await {
        let room = MAX_ERROR - text.len();
        text.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() >= room {
            break;
        }
    }
    let stop = match status.as_u16() {
        401..=403 => Some(Stop::ProviderRefused { status: status.as_u16() }),
        429 => Some(Stop::RateLimited { retry_after: wait }),
        500.. => Some(Stop::ProviderDown { status: Some(status.as_u16()) }),
        _ => None,
    };
    *reply.body_mut() = Body::from(call.open.line.redact(&text));
    if status.is_redirection() || status.is_informational() {
        reply = Refused::bad_gateway("the provider answered with a redirect, which is not followed").into_response();
    }
    Done { outcome: Outcome::Free { stop }, tail: Tail::Whole(answer, reply) }
}

/// Passes a streamed answer on as it comes.
async fn stream(call: &Call, mut response: reqwest::Response, answer: oneshot::Sender<Response>) -> Done {
    let (chunks, receiver) = mpsc::channel(PIECES);
    let mut reply = head(&response);
    *reply.body_mut() = body_of(receiver);
    if answer.send(reply).is_err() {
        return gone(Seen::default());
    }
    let mut watch = StreamWatch::default();
    let ending = pump(call, &mut response, &chunks, &mut watch).await;
    let seen = watch.seen().clone();
    let outcome = match &seen.error {
        _ if ending == Ending::Gone => Outcome::Charged { seen, stop: None },
        Some(error) if !seen.started => Outcome::Free { stop: Some(stop_of(error)) },
        Some(error) => Outcome::Charged { stop: Some(stop_of(error)), seen },
        None if seen.whole => Outcome::Charged { seen, stop: None },
        None => Outcome::Charged { seen, stop: Some(Stop::ProviderDown { status: None }) },
    };
    Done { outcome, tail: Tail::Stream { chunks, broken: ending != Ending::Clean } }
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// As the provider ended it.
    Clean,
    /// In the middle: cut, too slow or too long.
    Broken,
    /// Nobody reads any more, or the session ends.
    Gone,
}

async fn pump(
    call: &Call,
    response: &mut reqwest::Response,
    chunks: &mpsc::Sender<io::Result<Bytes>>,
    watch: &mut StreamWatch,
) -> Ending {
    let limits = &call.gateway.limits;
    let mut room = limits.answer;
    loop {
        let next = tokio::select! {
            biased;
            () = call.open.closing.cancelled() => return Ending::Gone,
            () = chunks.closed() => return Ending::Gone,
            next = timeout(limits.idle, response.chunk()) => next,
        };
        let chunk = match next {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ending::Clean,
            Ok(Err(_)) | Err(_) => return Ending::Broken,
        };
        watch.push(&chunk);
        let Some(rest) = room.checked_sub(chunk.len()) else { return Ending::Broken };
        room = rest;
        let passed = tokio::select! {
            biased;
            () = call.open.closing.cancelled() => return Ending::Gone,
            passed = timeout(limits.idle, chunks.send(Ok(chunk))) => passed,
        };
        let Ok(Ok(())) = passed else { return Ending::Gone };
    }
}

/// Passes an unstreamed answer on when it is there as a whole.
async fn whole(call: &Call, mut response: reqwest::Response, mut answer: oneshot::Sender<Response>) -> Done {
    let limits = &call.gateway.limits;
    let mut body = Vec::new();
    loop {
        let next = tokio::select! {
            biased;
            () = call.open.closing.cancelled() => return gone(Seen::default()),
            () = answer.closed() => return gone(Seen::default()),
            next = timeout(limits.idle, response.chunk()) => next,
        };
        match next {
            Ok(Ok(Some(chunk))) if body.len() + chunk.len() <= limits.answer => body.extend_from_slice(&chunk),
            Ok(Ok(None)) => break,
            Ok(Ok(Some(_)) | Err(_)) | Err(_) => {
                return lost(Seen::default(), answer, Refused::bad_gateway("the provider's answer was cut"));
            }
        }
    }
    let seen = Seen::in_body(&body);
    let mut reply = head(&response);
    *reply.body_mut() = Body::from(body);
    Done { outcome: Outcome::Charged { seen, stop: None }, tail: Tail::Whole(answer, reply) }
}

/// The status and those headers of the provider's that mean something to a client.
fn head(response: &reqwest::Response) -> Response {
    const PASSED: [HeaderName; 5] = [
        header::CONTENT_TYPE,
        header::RETRY_AFTER,
        HeaderName::from_static("retry-after-ms"),
        HeaderName::from_static("request-id"),
        HeaderName::from_static("x-should-retry"),
    ];
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = StatusCode::from_u16(response.status().as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    for name in PASSED {
        if let Some(value) = response.headers().get(&name) {
            reply.headers_mut().insert(name, value.clone());
        }
    }
    reply
}

fn body_of(mut receiver: mpsc::Receiver<io::Result<Bytes>>) -> Body {
    Body::from_stream(stream::poll_fn(move |context| receiver.poll_recv(context)))
}

/// How long the provider asks to wait, where it says so in seconds.
fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER).map(HeaderValue::to_str)?.ok()?;
    seconds.trim().parse().ok().map(|seconds: u64| Duration::from_secs(seconds.min(MAX_RETRY_AFTER)))
}

/// What an error event means, which comes where a status would have been too late.
fn stop_of(error: &ErrorBody) -> Stop {
    match error.kind.as_str() {
        "rate_limit_error" => Stop::RateLimited { retry_after: None },
        "overloaded_error" => Stop::ProviderDown { status: Some(529) },
        "authentication_error" | "permission_error" | "billing_error" => Stop::ProviderRefused { status: 401 },
        _ => Stop::ProviderDown { status: None },
    }
}
