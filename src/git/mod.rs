//! Everything about git. The tree that an agent leaves is data: its `.git` is never opened, no hook, filter or
//! configuration of it has a say, and no link is followed out of it.
//!
//! A [`Mirror`] is a bare copy of a remote, one a repository. A [`RunRepo`] is a bare repository of the service's own,
//! one a run, with the mirror as its alternate: trees are checked out of it and imported into it, and what is pushed
//! comes from it. All functions block.

mod checkout;
mod diff;
mod entry_name;
mod error;
mod head;
mod ignore;
mod import;
mod mirror;
mod names;
mod open;
mod path;
mod push;
mod read;
mod remote;
mod repo;
mod seed;
mod transfer;
mod tree;

pub use diff::{Diff, DiffFile, DiffLimits, DiffText, Hunk, Line, Note, Status};
pub use error::Error;
pub use head::Head;
pub use import::{ImportLimits, Imported, LeftOut, Reason};
pub use mirror::{Base, Mirror, mirror_path};
pub use names::{BranchName, branch_for};
pub use path::{TreePath, readable};
pub use push::Pushed;
pub use read::Listed;
pub use remote::Remote;
pub use repo::{CommitInfo, RunRepo};
pub use seed::{bare_with, branch_tree};
pub use tree::{Kind, TreeLimits, TreeSize};

use crate::cycle::id::{CommitId, TreeId};

/// Our id of a tree; libgit2 is built for SHA-1, so there are always 40 digits.
fn tree_id(oid: git2::Oid) -> TreeId {
    oid.to_string().parse().expect("libgit2 prints 40 hexadecimal digits")
}

fn commit_id(oid: git2::Oid) -> CommitId {
    oid.to_string().parse().expect("libgit2 prints 40 hexadecimal digits")
}

fn oid(id: &str) -> Result<git2::Oid, Error> {
    Ok(git2::Oid::from_str(id)?)
}
