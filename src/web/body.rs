//! The body of a request: bounded in size and time before anything looks at it, and read as a form.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;

use super::error::Error;

/// The largest body that is taken, in bytes.
pub const LIMIT: usize = 1 << 20;

/// How much of a larger body is read and thrown away: a browser shows the answer only once it could send everything.
const DRAINED: usize = 32 << 20;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// Hands on the request with its body whole in memory.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::TooSlow`], [`Error::Unreadable`].
pub async fn bounded(request: Request, next: Next) -> Result<Response, Error> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(next.run(request).await);
    }
    let (parts, body) = request.into_parts();
    let whole = tokio::time::timeout(PATIENCE, collect(body));
    let whole = whole.await.map_err(|_| Error::TooSlow { seconds: PATIENCE.as_secs() })??;
    Ok(next.run(Request::from_parts(parts, Body::from(whole))).await)
}

async fn collect(body: Body) -> Result<Bytes, Error> {
    let mut chunks = body.into_data_stream();
    let mut whole = Vec::new();
    let mut seen = 0;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Error::Unreadable)?;
        seen += chunk.len();
        if seen > DRAINED {
            break;
        }
        if seen > LIMIT {
            whole = Vec::new();
        } else {
            whole.extend_from_slice(&chunk);
        }
    }
    if seen > LIMIT { Err(Error::TooLarge { limit: LIMIT }) } else { Ok(whole.into()) }
}

/// The fields of a form, in the order they were sent; bytes that are not UTF-8 are replaced.
#[derive(Debug)]
pub struct Fields(pub Vec<(String, String)>);

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        match Form::from_request(request, state).await {
            Ok(Form(fields)) => Ok(Self(fields)),
            Err(rejection) if rejection.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE => Err(Error::NotAForm),
            Err(_) => Err(Error::Unreadable),
        }
    }
}
