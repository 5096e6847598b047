//! Why git could not do it, one variant for each cause that a caller can tell apart.

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
        source: git2::Error,
    },
    /// The repository has no commit.
    #[error("the repository {remote} has no commit yet; push a first commit to it, then delegate again")]
    Empty {
        /// Its address without user info.
        remote: String,
    },
    /// The base branch is not there.
    #[error("the branch {branch} is not in the repository; there are: {existing}")]
    BaseMissing {
        /// The branch.
        branch: String,
        /// Up to ten that are there, with commas.
        existing: String,
    },
    /// The repository's objects are not named by SHA-1.
    #[error("the repository {remote} names its objects by SHA-256, which is not supported; use a SHA-1 repository")]
    ObjectFormat {
        /// Its address without user info.
        remote: String,
    },
    /// The run has no base yet.
    #[error("the run has no base commit yet")]
    NoBase,
    /// A branch of our name is there, and its commit is none of this run's.
    #[error("the branch {branch} exists and holds commits that this run did not make; it was not touched")]
    ForeignBranch {
        /// The branch.
        branch: String,
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
        /// In the remote's words.
        reason: String,
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
    Git(#[from] git2::Error),
}

impl Error {
    pub(super) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
