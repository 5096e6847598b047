//! Taking a tree back: our own walk over what an agent left, entry by entry.
//!
//! Regular files, links as links, and the executable bit; everything else is reported and left out, and the rest is still
//! taken. Every directory and file is opened by its name below the directory that holds it, without following links, and
//! looked at again once it is open.
//!
//! What the base has is looked up by its name and never competes with what is new: however much an agent leaves, its
//! changes to the repository's own files are seen. Where such a file is there and cannot be taken, the base's version
//! stands, and that is reported. What is new is taken unless the *base's* ignore rules or the rules for build output
//! ([`scratch`]) leave it out.

mod left_out;
mod scratch;
mod walk;

use std::path::Path;
use std::time::Duration;

pub use left_out::{LeftOut, Reason};

use super::ignore::Rules;
use super::{Error, RunRepo, oid, tree_id};
use crate::cycle::id::TreeId;
use walk::Walk;

/// How much is taken at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLimits {
    /// The largest file, in bytes; one that the base has may stay as large as it is there.
    pub file: u64,
    /// All new files together, in bytes; and again, by how much the base's files may grow together.
    pub total: u64,
    /// How many new files and links are taken.
    pub entries: usize,
    /// How many entries of directories are looked at.
    pub looked_at: usize,
    /// How many directories lie inside one another.
    pub depth: usize,
    /// The longest path, in bytes.
    pub path: usize,
    /// How long the walk may take; after that the base's version of what was not reached stands.
    pub time: Duration,
}

impl Default for ImportLimits {
    /// 32 MiB a file, 512 MiB in all, 100,000 new files, 1,500,000 looked at, 100 directories deep, paths of 3,900 bytes,
    /// two minutes.
    fn default() -> Self {
        Self {
            file: 32 << 20,
            total: 512 << 20,
            entries: 100_000,
            looked_at: 1_500_000,
            depth: 100,
            path: 3_900,
            time: Duration::from_secs(120),
        }
    }
}

/// What was taken and what was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The tree.
    pub tree: TreeId,
    /// What was left out, at most 1,000 of it: first where the base's version stands.
    pub left_out: Vec<LeftOut>,
    /// How many more were left out.
    pub not_listed: u64,
    /// How many files and links were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What is taken of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Take {
    All,
    Known,
}

impl RunRepo {
    /// Imports what lies in `directory`, compared with the tree that the run started from. Blocks. Whatever is in the
    /// directory may not change meanwhile; if it does, no link is followed and nothing from elsewhere is read.
    ///
    /// # Errors
    /// The directory cannot be opened, or the repository cannot be read or written. What the directory holds is never
    /// an error.
    pub fn import(&self, directory: &Path, base: &TreeId, limits: &ImportLimits) -> Result<Imported, Error> {
        self.take(directory, base, limits, Take::All)
    }

    /// The tree that `directory` holds of what `tree` has; what is new beside it does not count. Blocks. The same id as
    /// `tree` means that nothing of it was changed, deleted or replaced.
    ///
    /// # Errors
    /// As [`RunRepo::import`].
    pub fn import_known(&self, directory: &Path, tree: &TreeId, limits: &ImportLimits) -> Result<Imported, Error> {
        self.take(directory, tree, limits, Take::Known)
    }

    fn take(&self, directory: &Path, base: &TreeId, limits: &ImportLimits, take: Take) -> Result<Imported, Error> {
        let (repo, base) = (self.git()?, oid(base.as_str())?);
        let rules = match take {
            Take::All => Some(Rules::of(self, base)?),
            Take::Known => None,
        };
        let mut walk = Walk::new(&repo, rules, limits)?;
        let tree = walk.top(directory, base)?;
        Ok(walk.finish(tree_id(tree)))
    }
}
