//! The server's face: the Messages API, and the log of what was asked.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{StreamExt, stream};

use super::answer::{answer, tokens};
use super::events::{events, frame};
use super::log::Log;
use super::play::{Cue, Play};
use super::script::{FaultKind, Script};
use crate::gateway::wire::anthropic::{self, ErrorBody, ErrorReply, MessagesRequest, StreamEvent};

/// The largest request.
const MAX_REQUEST: usize = 64 << 20;

struct Stage {
    play: Mutex<Play>,
    log: Mutex<Log>,
}

pub(super) fn router(script: Script) -> Router {
    let stage = Stage { play: Mutex::new(Play::new(script)), log: Mutex::default() };
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/requests", get(requests))
        .layer(DefaultBodyLimit::max(MAX_REQUEST))
        .with_state(Arc::new(stage))
}

async fn requests(State(stage): State<Arc<Stage>>) -> Response {
    Json(lock(&stage.log).list()).into_response()
}

async fn messages(State(stage): State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    let request: MessagesRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(cause) => {
            lock(&stage.log).add(&headers, &body, None);
            return error(StatusCode::BAD_REQUEST, "invalid_request_error", cause.to_string());
        }
    };
    let size = tokens(body.len());
    let cue = lock(&stage.play).cue(&request, size);
    let answered = cue.as_ref().ok().map(|cue| (cue.conversation.clone(), cue.turn));
    lock(&stage.log).add(&headers, &body, answered);
    match cue {
        Ok(cue) => perform(&request, size, &cue, &headers).await,
        Err(why) => error(StatusCode::BAD_REQUEST, "invalid_request_error", why),
    }
}

async fn perform(request: &MessagesRequest, size: u64, cue: &Cue, headers: &HeaderMap) -> Response {
    let pause = match cue.fault {
        Some(FaultKind::Slow { ms }) => Duration::from_millis(ms),
        Some(_) | None => Duration::ZERO,
    };
    match &cue.fault {
        Some(FaultKind::Status { status, retry_after }) => return status_of(*status, *retry_after),
        Some(FaultKind::QuoteKey) => {
            let key = headers.get("x-api-key").and_then(|key| key.to_str().ok()).unwrap_or("none");
            return error(StatusCode::UNAUTHORIZED, "authentication_error", format!("invalid x-api-key: {key}"));
        }
        Some(FaultKind::Garbage) => {
            let kind = if request.stream { "text/event-stream" } else { "application/json" };
            return ([(header::CONTENT_TYPE, kind)], "<html>\n\n<h1>It works!</h1>\n\n</html>\n").into_response();
        }
        Some(
            FaultKind::Cut { .. }
            | FaultKind::ErrorEvent { .. }
            | FaultKind::Overshoot { .. }
            | FaultKind::NoUsage
            | FaultKind::Slow { .. },
        )
        | None => {}
    }
    let whole = answer(request, size, cue);
    if request.stream {
        return streamed(&whole, cue.fault.as_ref(), pause);
    }
    tokio::time::sleep(pause).await;
    unstreamed(&whole, cue.fault.as_ref())
}

fn streamed(whole: &anthropic::Response, fault: Option<&FaultKind>, pause: Duration) -> Response {
    let mut pieces: Vec<io::Result<Bytes>> = events(whole).iter().map(|event| Ok(frame(event).into())).collect();
    match fault {
        Some(FaultKind::Cut { after }) => {
            pieces.truncate(*after);
            pieces.push(Err(io::Error::other("cut by the script")));
        }
        Some(FaultKind::ErrorEvent { after, error }) => {
            pieces.truncate(*after);
            let error = ErrorBody { kind: error.clone(), message: "by the script".to_owned() };
            pieces.push(Ok(frame(&StreamEvent::Error { error }).into()));
        }
        Some(_) | None => {}
    }
    let body = stream::iter(pieces).then(move |piece| async move {
        match pause.is_zero() {
            // Even so the pieces leave one by one, and what precedes a cut is sent.
            true => tokio::task::yield_now().await,
            false => tokio::time::sleep(pause).await,
        }
        piece
    });
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], Body::from_stream(body)).into_response()
}

fn unstreamed(whole: &anthropic::Response, fault: Option<&FaultKind>) -> Response {
    let text = serde_json::to_vec(whole).unwrap_or_default();
    match fault {
        Some(FaultKind::Cut { .. }) => {
            let half = text[..text.len() / 2].to_vec();
            let pieces = [Ok(half), Err(io::Error::other("cut by the script"))];
            ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(stream::iter(pieces))).into_response()
        }
        Some(FaultKind::ErrorEvent { .. }) => status_of(529, None),
        Some(_) | None => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
    }
}

fn status_of(status: u16, retry_after: Option<u64>) -> Response {
    let kind = match status {
        429 => "rate_limit_error",
        529 => "overloaded_error",
        401 => "authentication_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = error(status, kind, "by the script");
    if let Some(seconds) = retry_after {
        reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply
}

fn error(status: StatusCode, kind: &str, message: impl Into<String>) -> Response {
    (status, Json(ErrorReply::new(kind, message))).into_response()
}

/// Nothing that is done under these locks leaves their contents half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
