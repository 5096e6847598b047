//! What the pages ask of the application.

use crate::cycle::id::RunId;

use super::error::Error;
use super::pages::delegate::Repository;
use super::pages::delegate::form::Delegation;
use super::pages::delegate::refusal::Field;
use super::pages::{home, pull_request, run};

/// The application as the pages see it: each method is one page's one question.
///
/// The program answers from its store; the page tests answer with the pages' own samples.
pub trait Desk: Send + Sync + 'static {
    /// What a person has to know of the service before delegating to it.
    fn setup(&self) -> Setup;

    /// All runs, newest first.
    fn home(&self) -> impl Future<Output = Result<home::View, Error>> + Send;

    /// The repositories that an issue can be delegated for.
    fn repositories(&self) -> impl Future<Output = Result<Vec<Repository>, Error>> + Send;

    /// Starts a run. Called again with the same issue id, it answers with the run that the first call started.
    fn delegate(&self, delegation: Delegation) -> impl Future<Output = Result<RunId, Declined>> + Send;

    /// What the page of a run shows; `None` if there is no such run.
    fn run(&self, run: RunId) -> impl Future<Output = Result<Option<run::View>, Error>> + Send;

    /// The pull request of a run; `None` if there is no such run or it opened none.
    fn pull_request(&self, run: RunId) -> impl Future<Output = Result<Option<pull_request::View>, Error>> + Send;
}

/// What a person has to know of the service before delegating to it.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// What keeps every issue from being worked on, and what to do about it, as sentences.
    pub hindrance: Option<String>,
    /// The command that adds a repository to this service, ready for a shell.
    pub adding: String,
}

/// Why an issue was not taken.
#[derive(Debug)]
pub enum Declined {
    /// A field is at fault: what is wrong and what would be right, as sentences. The form comes back.
    Because(Field, String),
    /// The service is not set up for it, whatever the fields hold: what is wrong and what would be right, as sentences.
    /// The form comes back.
    NotSetUp(String),
    /// It failed for another reason.
    Failed(Error),
}

impl From<Error> for Declined {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
