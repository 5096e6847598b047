//! The page that says why a request was not answered, and what would be right.

use std::sync::Arc;

use askama::Template;

use crate::web::error::{Error, Missing};

/// Everything the page shows.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/error.html")]
pub struct View {
    /// What is wrong; its cause is never shown.
    pub cause: Arc<Error>,
    /// The request's id, by which the log has the rest.
    pub request: String,
}

impl View {
    fn error(&self) -> &Error {
        &self.cause
    }
}

/// One page for every error; `say` makes every text.
#[must_use]
pub fn samples(say: &dyn Fn(&str) -> String) -> Vec<(&'static str, View)> {
    let errors = [
        ("error-not-found", Error::NotFound(Missing::Page)),
        ("error-no-run", Error::NotFound(Missing::Run)),
        ("error-no-pull-request", Error::NotFound(Missing::PullRequest)),
        ("error-method", Error::Method),
        ("error-host", Error::ForeignHost { given: say("countersign.example:8080") }),
        ("error-no-host", Error::ForeignHost { given: String::new() }),
        ("error-origin", Error::ForeignOrigin),
        ("error-too-large", Error::TooLarge { limit: 1 << 20 }),
        ("error-too-slow", Error::TooSlow { seconds: 30 }),
        ("error-not-a-form", Error::NotAForm),
        ("error-unreadable", Error::Unreadable),
        ("error-internal", Error::internal(say("database is locked"))),
        ("error-panicked", Error::Panicked),
    ];
    let page = |error| View { cause: Arc::new(error), request: say("5f3c09a17be2") };
    errors.into_iter().map(|(name, error)| (name, page(error))).collect()
}
