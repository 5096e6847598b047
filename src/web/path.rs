//! What an address names, read from its path.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::cycle::id::RunId;

use super::error::{Error, Missing};

/// The run that `/runs/{run}` names.
#[derive(Debug, Clone, Copy)]
pub struct Named(pub RunId);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Error;

    /// An address that no run can have is the address of no run.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let path: Option<Path<String>> = Path::from_request_parts(parts, state).await.ok();
        let run = path.and_then(|Path(text)| text.parse().ok());
        run.map(Self).ok_or(Error::NotFound(Missing::Run))
    }
}
