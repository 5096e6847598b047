//! The page on which a person delegates an issue: a form that keeps what was typed until it can be taken.

pub mod field;
pub mod form;
pub mod refusal;
pub mod samples;

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::cycle::id::{IssueId, RepositoryId};
use crate::web::body::Fields;
use crate::web::desk::{Declined, Desk, Setup};
use crate::web::error::Error;
use crate::web::page::Form;
use crate::web::words;

use form::Typed;
use refusal::{Field, Refusal};

/// Everything the page shows.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/delegate.html")]
pub struct View {
    /// What to know of the service.
    pub setup: Setup,
    /// The repositories to choose from.
    pub repositories: Vec<Repository>,
    /// What the fields hold.
    pub typed: Typed,
    /// What is wrong with it; empty when the page is first shown.
    pub refusals: Vec<Refusal>,
}

/// A repository to choose.
#[derive(Debug, Clone)]
pub struct Repository {
    /// Its id.
    pub id: RepositoryId,
    /// Its name.
    pub name: String,
    /// The branch a run starts from unless another is named.
    pub base: String,
    /// The checks that will run, or why there are none, in a few words.
    pub checks: String,
}

impl View {
    /// The page as it is first shown: empty fields, the default ceilings.
    #[must_use]
    pub fn blank(setup: Setup, repositories: Vec<Repository>) -> Self {
        Self { setup, typed: Typed::blank(IssueId::new()), repositories, refusals: Vec::new() }
    }

    /// The page again, with what was typed and what is wrong with it.
    #[must_use]
    pub fn refused(repositories: Vec<Repository>, typed: Typed, refusals: Vec<Refusal>) -> Self {
        // What hinders the whole service is among the refusals.
        Self { setup: Setup::default(), repositories, typed, refusals }
    }

    fn at(&self, field: Field) -> Option<&Refusal> {
        self.refusals.iter().find(|r| r.field() == Some(field))
    }

    /// Whether it was refused over something that no field can mend.
    fn is_not_set_up(&self) -> bool {
        self.refusals.iter().any(|r| r.field().is_none())
    }

    fn chosen(&self, repository: &Repository) -> bool {
        self.typed.repository == repository.id.to_string() || self.repositories.len() == 1
    }
}

/// Answers `GET /delegate`.
pub(in crate::web) async fn show<D: Desk>(State(desk): State<Arc<D>>) -> Result<Form<View>, Error> {
    let repositories = desk.repositories().await?;
    Ok(Form(View::blank(desk.setup(), repositories)))
}

/// Answers `POST /delegate`: to the new run, or back to the form with what was typed.
pub(in crate::web) async fn submit<D: Desk>(
    State(desk): State<Arc<D>>,
    Fields(fields): Fields,
) -> Result<Response, Error> {
    let typed = Typed::read(&fields);
    let repositories = desk.repositories().await?;
    let delegation = match typed.check(&repositories) {
        Ok(delegation) => delegation,
        Err(refusals) => return Ok(again(View::refused(repositories, typed, refusals))),
    };
    match desk.delegate(delegation).await {
        Ok(run) => Ok(Redirect::to(&format!("/runs/{run}")).into_response()),
        Err(Declined::Because(field, why)) => {
            Ok(again(View::refused(repositories, typed, vec![Refusal::Declined { field, why }])))
        }
        Err(Declined::NotSetUp(why)) => Ok(again(View::refused(repositories, typed, vec![Refusal::NotSetUp { why }]))),
        Err(Declined::Failed(error)) => Err(error),
    }
}

fn again(view: View) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, Form(view)).into_response()
}
