//! Every way in which a request is not answered with what it asked for.
//!
//! A handler returns the error; [`super::frame`] turns it into a page. The words are in
//! `templates/parts/error.html`; the cause of an internal error is in the log only.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// Why a request was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing at this address.
    #[error("nothing at this address: {0:?}")]
    NotFound(Missing),
    /// The address exists and does not do this.
    #[error("the method is not allowed here")]
    Method,
    /// The request was sent to a name that is not this machine's own: a page elsewhere may be behind it.
    #[error("the host is not a name of this machine: {given:?}")]
    ForeignHost {
        /// The name, at most 80 characters of it; empty if there was none.
        given: String,
    },
    /// The request would change something and did not come from one of our own pages.
    #[error("the request does not come from a page of this service")]
    ForeignOrigin,
    /// The request's body is over the limit.
    #[error("the body is over {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The request's body did not arrive in time.
    #[error("the body did not arrive within {seconds} s")]
    TooSlow {
        /// The time that it had.
        seconds: u64,
    },
    /// The request's body is not an HTML form.
    #[error("the body is not a form")]
    NotAForm,
    /// The connection ended within the body, or the body was not readable as HTTP.
    #[error("the body could not be read")]
    Unreadable,
    /// Something of ours failed.
    #[error("the request could not be answered")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A rule of our own was broken.
    #[error("answering the request panicked")]
    Panicked,
}

/// What was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// No page has this address.
    Page,
    /// No run has this id.
    Run,
    /// The run is unknown, or it opened no pull request.
    PullRequest,
}

impl Error {
    /// An internal error with its cause, for the log.
    #[must_use]
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }

    /// The HTTP status that says it to programs.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::ForeignHost { .. } => StatusCode::MISDIRECTED_REQUEST,
            Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::NotAForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::Internal(_) | Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Error {
    /// The bare status, carrying the error for [`super::frame`], which knows the request's id.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}
