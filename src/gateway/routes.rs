//! From a request on the socket to a call: who calls, and is it something that can be bounded.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tracing::debug;

use super::Inner;
use super::exchange::Call;
use super::reply::Refused;
use super::secret::TokenDigest;
use super::session::{Open, Session};
use super::upstream::Passed;
use super::wire::anthropic::Inspected;
use crate::cycle::id::CallId;

pub(super) fn router(gateway: Arc<Inner>) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .fallback(async || Refused::no_such_route())
        .method_not_allowed_fallback(async || Refused::no_such_route())
        .layer(map_response(one_call_a_connection))
        .with_state(gateway)
}

/// A connection that is kept open takes up one of the few places of its socket, and a new one costs next to nothing.
async fn one_call_a_connection(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn messages(State(gateway): State<Arc<Inner>>, request: Request) -> Response {
    accept(&gateway, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn accept(gateway: &Arc<Inner>, request: Request) -> Result<Response, Refused> {
    let open = authenticate(gateway, request.headers()).ok_or_else(Refused::unknown_token)?;
    let permits = take_turn(gateway, &open).await?;
    let passed = Passed::from(request.headers(), request.uri().query());
    let body = timeout(gateway.limits.upload, read_body(request, gateway.limits.request));
    let body = body.await.map_err(|_| Refused::slow_request())??;
    let call = inspect(gateway, open, passed, body)?;
    let Session { lease, label, .. } = &call.open.session;
    debug!(run.id = %lease.run, step.label = label, call.id = %call.id, model = call.inspected.model, "a model is called");
    let (answer, answered) = oneshot::channel();
    gateway.tasks.spawn(async move {
        call.run(answer).await;
        drop(permits);
    });
    answered.await.map_err(|_| Refused::internal("the call ended without an answer"))
}

/// The session whose token the request carries, in either of the two headers that clients use.
fn authenticate(gateway: &Inner, headers: &HeaderMap) -> Option<Arc<Open>> {
    let key = headers.get("x-api-key").map(HeaderValue::as_bytes);
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    let tokens = [key, bearer].into_iter().flatten();
    tokens.into_iter().find_map(|token| gateway.sessions.get(TokenDigest::of(token)))
}

/// Waits until neither the session nor the gateway has too many calls under way; before the body is read, so that those
/// who wait take up no memory.
async fn take_turn(gateway: &Inner, open: &Open) -> Result<[OwnedSemaphorePermit; 2], Refused> {
    let permit = |semaphore: &Arc<Semaphore>| Arc::clone(semaphore).acquire_owned();
    let both = async {
        let of_session = permit(&open.permits).await?;
        Ok::<_, tokio::sync::AcquireError>([of_session, permit(&gateway.calls).await?])
    };
    match timeout(gateway.limits.turn, both).await {
        Ok(Ok(permits)) => Ok(permits),
        Ok(Err(_)) | Err(_) => Err(Refused::busy()),
    }
}

async fn read_body(request: Request, limit: usize) -> Result<Bytes, Refused> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.is_some_and(|length| length.parse().is_ok_and(|length: usize| length > limit)) {
        return Err(Refused::too_large(limit));
    }
    let mut chunks = Body::into_data_stream(request.into_body());
    let mut body = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refused::bad_request("the request was cut"))?;
        if body.len() + chunk.len() > limit {
            return Err(Refused::too_large(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}

fn inspect(gateway: &Arc<Inner>, open: Arc<Open>, passed: Passed, body: Bytes) -> Result<Call, Refused> {
    let text = std::str::from_utf8(&body).map_err(|_| Refused::bad_request("the request is not UTF-8"))?;
    let inspected = Inspected::read(text).map_err(|error| Refused::bad_request(error.to_string()))?;
    let price = open.prices.get(&inspected.model).ok_or_else(|| Refused::unknown_model(&inspected.model))?;
    let (price, gateway) = (*price, Arc::clone(gateway));
    Ok(Call { id: CallId::new(), gateway, open, passed, body, inspected, price })
}
