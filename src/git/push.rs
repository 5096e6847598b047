//! The push: one reference, never forced, never deleted, never a base branch.
//!
//! To a remote on this machine the objects are brought first, as one pack, and then the reference is moved in one step
//! that holds only while it is where we saw it. libgit2's own transport for paths would set it blindly, and refuses
//! repositories that have a work tree. A remote's hooks are not run: nobody's program runs outside a sandbox.

use git2::{ErrorClass, ErrorCode, Oid, Reference, Repository};

use super::error::Cause;
use super::repo::BASE;
use super::transfer::Transfer;
use super::{BranchName, Error, Remote, RunRepo, names, oid, open};
use crate::cycle::id::CommitId;

/// A run makes one commit a pass, and passes are few.
const MOST_COMMITS: usize = 1_000;

/// What a push did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The branch was made.
    New,
    /// The branch was moved forward.
    Moved,
    /// The branch was at this commit before.
    AlreadyThere,
}

impl RunRepo {
    /// Brings `branch` of the remote to `commit`, a commit of this run. Safe to repeat. Blocks.
    ///
    /// `expected` is the commit that was pushed there before, if one was: a branch that is neither there nor at another
    /// commit of this run is somebody else's and stays as it is. `never` are base branches; the remote's own default
    /// branch is one without being named.
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::ForeignBranch`], [`Error::NotFastForward`], [`Error::Blocked`],
    /// [`Error::Declined`], [`Error::Locked`], [`Error::BaseGone`], [`Error::Unreachable`] and the other causes of
    /// [`Mirror::fetch`](super::Mirror::fetch). In each case the branch is as it was.
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
        let (ours, theirs) = (self.git()?, open::theirs(to)?);
        let push = Push { ours: &ours, theirs: &theirs, to, branch };
        push.refuse_checked_out()?;
        push.perform(oid(commit.as_str())?, expected.map(|c| oid(c.as_str())).transpose()?)
    }
}

struct Push<'a> {
    ours: &'a Repository,
    theirs: &'a Repository,
    to: &'a Remote,
    branch: &'a BranchName,
}

impl Push<'_> {
    /// The default branch, and a branch that somebody has checked out: moving it would make their work tree look changed.
    fn refuse_checked_out(&self) -> Result<(), Error> {
        let points_here =
            |head: &Reference<'_>| head.symbolic_target().ok().flatten() == Some(&self.branch.reference());
        let is_head = self.theirs.find_reference("HEAD").is_ok_and(|head| points_here(&head));
        if is_head && self.theirs.is_bare() {
            return Err(Error::Forbidden { branch: self.branch.to_string() });
        }
        if is_head || self.is_in_a_work_tree(&points_here) {
            let reason = "it is checked out there; switch to another branch".to_owned();
            return Err(Error::Declined { branch: self.branch.to_string(), reason });
        }
        Ok(())
    }

    fn is_in_a_work_tree(&self, points_here: &dyn Fn(&Reference<'_>) -> bool) -> bool {
        let names = self.theirs.worktrees().map(|names| names.iter().flatten().flatten().map(str::to_owned).collect());
        let names: Vec<String> = names.unwrap_or_default();
        let tree = |name: String| Repository::open_from_worktree(&self.theirs.find_worktree(&name).ok()?).ok();
        names.into_iter().filter_map(tree).any(|tree| tree.find_reference("HEAD").is_ok_and(|head| points_here(&head)))
    }

    fn perform(&self, commit: Oid, expected: Option<Oid>) -> Result<Pushed, Error> {
        let now = self.now()?;
        if now == Some(commit) {
            return Ok(Pushed::AlreadyThere);
        }
        let chain = self.chain(commit)?;
        match now {
            None => self.refuse_blocked()?,
            Some(now) if chain.contains(&now) => {}
            Some(now) if Some(now) == expected => {
                return Err(Error::NotFastForward { branch: self.branch.to_string() });
            }
            Some(_) => return Err(Error::ForeignBranch { branch: self.branch.to_string() }),
        }
        self.send(&chain)?;
        self.set(commit, now)?;
        Ok(if now.is_some() { Pushed::Moved } else { Pushed::New })
    }

    /// Where the branch is on the remote.
    fn now(&self) -> Result<Option<Oid>, Error> {
        match self.theirs.find_reference(&self.branch.reference()) {
            Err(e) if e.code() == ErrorCode::NotFound => Ok(None),
            Err(e) => Err(self.cause(e)),
            // A branch that is another name of something else is never ours.
            Ok(reference) => match reference.target() {
                Some(target) => Ok(Some(target)),
                None => Err(Error::ForeignBranch { branch: self.branch.to_string() }),
            },
        }
    }

    /// The run's commits up to this one, newest first, without the base.
    fn chain(&self, commit: Oid) -> Result<Vec<Oid>, Error> {
        let base = self.ours.refname_to_id(BASE)?;
        let mut chain = Vec::new();
        let mut at = Some(commit);
        while let Some(id) = at.filter(|id| *id != base && chain.len() < MOST_COMMITS) {
            chain.push(id);
            at = self.ours.find_commit(id)?.parent_ids().next();
        }
        if at != Some(base) {
            return Err(Error::NotOfRun { commit: commit.to_string() });
        }
        if !self.theirs.odb()?.exists(base) {
            let short = base.to_string().chars().take(7).collect();
            return Err(Error::BaseGone { remote: self.to.to_string(), base: short });
        }
        Ok(chain)
    }

    fn refuse_blocked(&self) -> Result<(), Error> {
        let existing = super::mirror::branches(self.theirs)?;
        match names::in_the_way(self.branch.as_str(), &existing) {
            // It was not there a moment ago: somebody else has just made it.
            Some(by) if by == self.branch.as_str() => Err(Error::ForeignBranch { branch: self.branch.to_string() }),
            Some(by) => Err(Error::Blocked { branch: self.branch.to_string(), by: by.to_owned() }),
            None => Ok(()),
        }
    }

    /// What each commit has that the one before it has not. The base and what it holds are on the remote.
    fn send(&self, chain: &[Oid]) -> Result<(), Error> {
        let mut transfer = Transfer::new(self.ours)?;
        for id in chain {
            let commit = self.ours.find_commit(*id)?;
            transfer.tree(commit.tree_id(), Some(commit.parent(0)?.tree_id()), &|_| false)?;
            transfer.commit(*id)?;
        }
        transfer.finish(self.theirs).map_err(|e| if let Error::Git(Cause(e)) = e { self.cause(e) } else { e })
    }

    /// Moves the branch, if it is still where it was seen.
    fn set(&self, commit: Oid, seen: Option<Oid>) -> Result<(), Error> {
        let (name, log) = (self.branch.reference(), "countersign: push");
        // Where nothing was seen, nothing may be there: compared under the lock too, or two makers would both succeed.
        let set = self.theirs.reference_matching(&name, commit, true, seen.unwrap_or(Oid::ZERO_SHA1), log);
        set.map(|_| ()).map_err(|e| {
            if matches!(e.code(), ErrorCode::Exists | ErrorCode::Modified) {
                return Error::ForeignBranch { branch: self.branch.to_string() };
            }
            self.cause(e)
        })
    }

    fn cause(&self, source: git2::Error) -> Error {
        match (source.code(), source.class()) {
            (ErrorCode::Locked, _) => Error::Locked { what: self.branch.to_string() },
            // The remote is there, and was read; what fails now is writing to it.
            (_, ErrorClass::Os) => {
                Error::Declined { branch: self.branch.to_string(), reason: source.message().to_owned() }
            }
            _ => Error::Unreachable { remote: self.to.to_string(), source: Cause(source) },
        }
    }
}
