//! temporary
#![allow(missing_docs, clippy::all)]
use super::desk::*;
use super::error::Error;
use super::pages::delegate::Repository;
use super::pages::delegate::form::Delegation;
use super::pages::*;
use crate::cycle::id::RunId;
impl Desk for crate::app::App {
    async fn home(&self) -> Result<home::View, Error> {
        Err(Error::Panicked)
    }
    async fn repositories(&self) -> Result<Vec<Repository>, Error> {
        Err(Error::Panicked)
    }
    async fn delegate(&self, _: Delegation) -> Result<RunId, Declined> {
        Err(Declined::Failed(Error::Panicked))
    }
    async fn run(&self, _: RunId) -> Result<Option<run::View>, Error> {
        Err(Error::Panicked)
    }
    async fn pull_request(&self, _: RunId) -> Result<Option<pull_request::View>, Error> {
        Err(Error::Panicked)
    }
}
