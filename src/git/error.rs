//! Why git could not do it, one variant for each cause that a caller can tell apart.

use super::TreePath;

/// Names listed in a message before the rest is only counted.
const NAMED: usize = 10;

/// Why git could not do it. Texts are fragments that a person can act on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is not one that is fetched from or pushed to.
    #[error("the repository's address {shown} cannot be used: {why}")]
    BadRemote {
        /// The address without user info, at most 200 characters.
        shown: String,
        /// What is wrong with it and what would be right.
        why: &'static str,
    },
    /// The text is no branch name.
    #[error("`{name}` is not a branch name: {why}")]
    BadBranch {
        /// The text, at most 200 characters.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The remote cannot be reached or is no repository.
    #[error("the repository {remote} cannot be reached; check its address, and that this machine may read it")]
    Unreachable {
        /// Its address without user info.
        remote: String,
        /// libgit2's cause.
        source: Cause,
    },
    /// The remote belongs to another user of this machine, so git refuses to work in it.
    #[error(
        "the repository {remote} belongs to another user; run the service as that user, or list it under safe.directory \
         in the git configuration of the service's user"
    )]
    NotOurs {
        /// Its address.
        remote: String,
    },
    /// The repository has no commit.
    #[error("the repository {remote} has no commit yet; push a first commit to it, then delegate again")]
    Empty {
        /// Its address without user info.
        remote: String,
    },
    /// The base branch is not there.
    #[error("the branch {branch} is not in the repository; there are: {}", listed(existing))]
    BaseMissing {
        /// The branch.
        branch: String,
        /// All branches that are there, sorted.
        existing: Vec<String>,
    },
    /// The repository's objects are not named by SHA-1.
    #[error("the repository {remote} names its objects by SHA-256, which is not supported; use a SHA-1 repository")]
    ObjectFormat {
        /// Its address without user info.
        remote: String,
    },
    /// The repository is kept in a way that libgit2 cannot read.
    #[error("the repository {remote} cannot be read here: {what}")]
    Unsupported {
        /// Its address.
        remote: String,
        /// What is not supported, in libgit2's words: the reftable storage, for one.
        what: String,
    },
    /// A tree holds something that is never written to a disk.
    #[error("{path} in the repository cannot be checked out: {why}")]
    BadTree {
        /// Where.
        path: TreePath,
        /// Why not.
        why: &'static str,
    },
    /// A tree or a file is larger than is worked with.
    #[error("{what} is too large: more than {most}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit, with its unit.
        most: String,
    },
    /// The run has no base yet.
    #[error("the run has no base commit yet")]
    NoBase,
    /// The commit that the run started from is no longer in the remote, so nothing can be put on top of it.
    #[error("the commit {base} that the work is based on is no longer in the repository {remote}")]
    BaseGone {
        /// The remote's address.
        remote: String,
        /// The first digits of the commit.
        base: String,
    },
    /// The commit is not one that this run made.
    #[error("the commit {commit} does not follow the one that the run started from")]
    NotOfRun {
        /// The commit.
        commit: String,
    },
    /// A branch of our name is there, and its commit is none of this run's.
    #[error("the branch {branch} exists and holds commits that this run did not make; it was not touched")]
    ForeignBranch {
        /// The branch.
        branch: String,
    },
    /// The branch is at a commit that the new one does not follow.
    #[error("the branch {branch} holds commits that the new one does not follow; it was not touched")]
    NotFastForward {
        /// The branch.
        branch: String,
    },
    /// Another branch's name leaves no room for this one's: git keeps names like paths.
    #[error("the branch {branch} cannot be made while there is a branch {by}: git cannot hold both names")]
    Blocked {
        /// The branch.
        branch: String,
        /// The one in its way.
        by: String,
    },
    /// The branch may never be pushed to.
    #[error("{branch} is a base branch and is never pushed to")]
    Forbidden {
        /// The branch.
        branch: String,
    },
    /// The remote said no.
    #[error("the remote declined {branch}: {reason}")]
    Declined {
        /// The branch.
        branch: String,
        /// In the remote's words, or the operating system's.
        reason: String,
    },
    /// Another program holds the lock; it passes, or a crashed one left it behind.
    #[error("{what} is locked by another program; if none is running, remove its .lock file")]
    Locked {
        /// The reference or file.
        what: String,
    },
    /// A file or directory of ours or of a tree failed.
    #[error("could not {doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// libgit2 failed otherwise.
    #[error("git failed")]
    Git(#[source] Cause),
}

/// libgit2's cause, in its words and without its numbers.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message())]
pub struct Cause(pub(super) git2::Error);

impl From<git2::Error> for Error {
    fn from(cause: git2::Error) -> Self {
        Self::Git(Cause(cause))
    }
}

impl Error {
    pub(super) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    pub(super) fn errno(doing: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |source| Self::Io { doing, source: source.into() }
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "no branches".to_owned(),
        n if n > NAMED => format!("{shown} and {} more", n - NAMED),
        _ => shown,
    }
}
