//! What surrounds every answer: a request id, the security headers, and a page in place of every error.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tracing::{Instrument, debug, error, info_span};

use super::error::Error;
use super::page::Page;
use super::pages;

/// The headers that every answer carries.
///
/// `same-origin` and not `no-referrer`: under the latter browsers send `Origin: null` with our own forms, and one
/// that sends no `Sec-Fetch-Site` to plain HTTP could then not be told from a foreign page.
pub const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// The header with the request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Twelve hexadecimal digits that say which request a log line and an error page belong to.
struct RequestId(u64);

impl RequestId {
    /// A number that is not guessable from the one before, and differs after a restart too.
    fn next() -> Self {
        static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(KEYS.hash_one(COUNT.fetch_add(1, Ordering::Relaxed)) >> 16)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

/// Answers a request in its frame; a panic inside becomes a page like every other error.
pub async fn frame(request: Request, next: Next) -> Response {
    let id = RequestId::next().to_string();
    let span = info_span!("request", request.id = %id, method = %request.method(), path = request.uri().path());
    async move {
        let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        let mut response = answered.unwrap_or_else(|_| Error::Panicked.into_response());
        if let Some(error) = response.extensions_mut().remove::<Arc<Error>>() {
            log(&error);
            response = error_page(response, error, &id);
        }
        finish(response.headers_mut(), &id);
        response
    }
    .instrument(span)
    .await
}

fn log(error: &Error) {
    match error {
        Error::Internal(cause) => error!(cause = chain(cause.as_ref()), "{error}"),
        Error::Panicked => error!("{error}"),
        Error::NotFound(_)
        | Error::Method
        | Error::ForeignHost { .. }
        | Error::ForeignOrigin
        | Error::TooLarge { .. }
        | Error::TooSlow { .. }
        | Error::NotAForm
        | Error::Unreadable => debug!("{error}"),
    }
}

fn chain(cause: &(dyn std::error::Error + Send + Sync)) -> String {
    let mut text = cause.to_string();
    let mut next = cause.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

/// Puts the page into the answer; what the router said beside it (`Allow`, the status) stays.
fn error_page(mut response: Response, error: Arc<Error>, id: &str) -> Response {
    let page = Page(pages::error::View { cause: error, request: id.to_owned() }).into_response();
    let (parts, body) = page.into_parts();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().extend(parts.headers);
    *response.body_mut() = body;
    response
}

fn finish(headers: &mut HeaderMap, id: &str) {
    headers.extend(HEADERS);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
}
