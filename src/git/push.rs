//! The push: one reference, never forced, never deleted, never a base branch.

use std::cell::RefCell;

use git2::{Direction, PushOptions, RemoteCallbacks};

use super::{BranchName, Error, Remote, RunRepo, oid};
use crate::cycle::id::CommitId;

/// What a push found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The branch was made or moved forward.
    New,
    /// The branch was at this commit before.
    AlreadyThere,
}

impl RunRepo {
    /// Brings `branch` of the remote to `commit`. Safe to repeat.
    ///
    /// `expected` is the commit that this run pushed there before, if it did: a branch that is anywhere else is
    /// somebody else's and stays as it is.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for one of `never`, [`Error::ForeignBranch`], [`Error::Declined`], [`Error::Unreachable`].
    pub fn push(
        &self,
        to: &Remote,
        (branch, commit): (&BranchName, &CommitId),
        expected: Option<&CommitId>,
        never: &[BranchName],
    ) -> Result<Pushed, Error> {
        if never.contains(branch) {
            return Err(Error::Forbidden { branch: branch.to_string() });
        }
        let repo = self.git()?;
        let wanted = oid(commit.as_str())?;
        let now = remote_branch(&repo, to, branch)?;
        let expected = expected.map(|c| oid(c.as_str())).transpose()?;
        if now == Some(wanted) {
            return Ok(Pushed::AlreadyThere);
        }
        if now.is_some() && now != expected {
            return Err(Error::ForeignBranch { branch: branch.to_string() });
        }
        repo.reference(&branch.reference(), wanted, true, "the commit to be pushed")?;
        send(&repo, to, branch)?;
        Ok(Pushed::New)
    }
}

fn unreachable(to: &Remote) -> impl FnOnce(git2::Error) -> Error {
    let remote = to.to_string();
    move |source| Error::Unreachable { remote, source }
}

/// Where the branch is on the remote.
fn remote_branch(repo: &git2::Repository, to: &Remote, branch: &BranchName) -> Result<Option<git2::Oid>, Error> {
    let mut remote = repo.remote_anonymous(&to.url())?;
    remote.connect(Direction::Push).map_err(unreachable(to))?;
    let reference = branch.reference();
    let found = remote.list()?.iter().find(|head| head.name() == reference).map(git2::RemoteHead::oid);
    Ok(found)
}

fn send(repo: &git2::Repository, to: &Remote, branch: &BranchName) -> Result<(), Error> {
    let declined = RefCell::new(None);
    let mut callbacks = RemoteCallbacks::new();
    // libgit2 reports success although the remote declined the reference: only this callback tells.
    callbacks.push_update_reference(|_, status| {
        *declined.borrow_mut() = status.map(str::to_owned);
        Ok(())
    });
    let mut options = PushOptions::new();
    options.remote_callbacks(callbacks);
    let reference = branch.reference();
    let mut remote = repo.remote_anonymous(&to.url())?;
    let pushed = remote.push(&[format!("{reference}:{reference}")], Some(&mut options));
    drop(options);
    pushed.map_err(|e| {
        if e.code() == git2::ErrorCode::NotFastForward {
            return Error::ForeignBranch { branch: branch.to_string() };
        }
        Error::Unreachable { remote: to.to_string(), source: e }
    })?;
    match declined.into_inner() {
        None => Ok(()),
        Some(reason) => Err(Error::Declined { branch: branch.to_string(), reason }),
    }
}
