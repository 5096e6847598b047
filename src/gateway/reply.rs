//! What the gateway itself says to a client: errors in the provider's own shape, so that every agent understands them.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::wire::anthropic::ErrorReply;

/// An error of the gateway's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl Refused {
    /// The token is not one of an open session.
    pub(super) fn unknown_token() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "authentication_error", "this token is not known, or its run has ended")
    }

    /// The request is not one that is forwarded.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// The session may not use this model.
    pub(super) fn unknown_model(model: &str) -> Self {
        let model: String = model.chars().take(80).collect();
        let message = format!("the model {model} is not one that this run may use");
        Self::new(StatusCode::NOT_FOUND, "not_found_error", message)
    }

    /// There is nothing at this address.
    pub(super) fn no_such_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "only POST /v1/messages is served here")
    }

    /// The request is over the size limit.
    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("a request has at most {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    }

    /// The run's money is used up.
    pub(super) fn money(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYMENT_REQUIRED, "billing_error", message)
    }

    /// Too much is going on here; it can be tried again.
    pub(super) fn busy() -> Self {
        let status = StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        Self::new(status, "overloaded_error", "too many calls are under way")
    }

    /// The client took too long to send its request.
    pub(super) fn slow_request() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "timeout_error", "the request did not arrive in time")
    }

    /// The session is being closed.
    pub(super) fn closing() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "authentication_error", "this run has ended")
    }

    /// The provider gave no answer that can be passed on.
    pub(super) fn bad_gateway(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "api_error", message)
    }

    /// The provider did not answer in time.
    pub(super) fn timeout() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "timeout_error", "the provider did not answer in time")
    }

    /// Something here is broken.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", message)
    }

    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }
}

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&ErrorReply::new(self.kind, self.message)).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Agents repeat what looks like a passing fault; a refusal is none.
        if self.status.is_client_error() {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}
