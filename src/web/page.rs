//! A template as a response.

use std::borrow::Cow;

use askama::Template;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};

use crate::hidden::reveal;

use super::error::Error;

/// A page to be rendered when it is sent, with every character that nobody can see written out.
///
/// That is done to the whole page, so that no slot of it can be forgotten: templates have no such characters.
#[derive(Debug)]
pub struct Page<T>(pub T);

impl<T: Template> Page<T> {
    /// The page's HTML.
    ///
    /// # Errors
    /// What the template says went wrong.
    pub fn html(&self) -> askama::Result<String> {
        let html = self.0.render()?;
        Ok(match reveal(&html) {
            Cow::Borrowed(_) => html,
            Cow::Owned(revealed) => revealed,
        })
    }
}

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        response(self.html())
    }
}

/// A page whose fields give back what was typed, character by character.
#[derive(Debug)]
pub struct Form<T>(pub T);

impl<T: Template> IntoResponse for Form<T> {
    fn into_response(self) -> Response {
        response(self.0.render())
    }
}

fn response(html: askama::Result<String>) -> Response {
    match html {
        // A page shows runs and their money: no cache keeps it.
        Ok(html) => ([(header::CACHE_CONTROL, "no-store")], Html(html)).into_response(),
        Err(error) => Error::internal(error).into_response(),
    }
}
