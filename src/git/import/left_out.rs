//! What was left out of an import, and why.

use std::fmt;
use std::mem::{Discriminant, discriminant};

use crate::git::TreePath;

/// More omissions than this are not listed one by one.
pub(super) const MOST_LISTED: usize = 1_000;
/// More of one kind in one directory than this are told as one.
const MOST_ALIKE: usize = 16;

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path; a directory's ends with a slash.
    pub path: TreePath,
    /// Why.
    pub reason: Reason,
    /// How many entries of the directory this stands for; 1 for a single entry, and for a directory that was not entered.
    pub entries: u64,
    /// Whether the base has it, and its version stands in the tree.
    pub base_stands: bool,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if self.entries > 1 {
            write!(f, " ({} entries)", self.entries)?;
        }
        write!(f, ": {}", self.reason)?;
        if self.base_stands { f.write_str("; the version of the base stands") } else { Ok(()) }
    }
}

/// Why something was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A pipe, socket or device.
    NotAFile,
    /// A `.git` below the top: another repository, or a name that would be taken for one.
    NestedRepository,
    /// In a directory that is a submodule.
    InSubmodule,
    /// A link under a name where forges refuse links.
    BadLink,
    /// Too many directories deep.
    TooDeep,
    /// The path is too long.
    LongPath,
    /// Larger than a file may be.
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// There is no room: too many new files, or bytes of them.
    NoRoom,
    /// The directory's new entries, since there are too many to look at.
    TooMany,
    /// Time was up before it was reached.
    OutOfTime,
    /// It cannot be read.
    Unreadable(String),
    /// Known as output of a build, and not in the base.
    BuildOutput,
    /// The base's rules ignore it, and it is not in the base.
    Ignored,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAFile => "a pipe, socket or device",
            Self::NestedRepository => "a repository inside the tree",
            Self::InSubmodule => "files in the place of a submodule",
            Self::BadLink => "a link that forges refuse",
            Self::TooDeep => "too many directories deep",
            Self::LongPath => "its path is too long",
            Self::TooLarge { bytes } => return write!(f, "too large ({bytes} bytes)"),
            Self::NoRoom => "there are too many new files, or they are too large together",
            Self::TooMany => "too many new entries to look at",
            Self::OutOfTime => "time was up before it was reached",
            Self::Unreadable(why) => return write!(f, "it cannot be read ({why})"),
            Self::BuildOutput => "output of a build",
            Self::Ignored => "ignored by the repository's own rules",
        })
    }
}

/// What was left out directly in one directory: many of one kind become one entry for the directory.
pub(super) fn gathered(directory: &TreePath, left_out: Vec<LeftOut>) -> Vec<LeftOut> {
    let mut kinds: Vec<(Discriminant<Reason>, usize)> = Vec::new();
    for kind in left_out.iter().filter(|l| !l.base_stands).map(|l| discriminant(&l.reason)) {
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let many: Vec<_> = kinds.into_iter().filter(|(_, count)| *count > MOST_ALIKE).collect();
    let mut kept = Vec::new();
    for left in left_out {
        let of_many = many.iter().find(|(kind, _)| !left.base_stands && *kind == discriminant(&left.reason));
        let path = directory.as_directory();
        match of_many {
            None => kept.push(left),
            Some(_)
                if kept
                    .iter()
                    .any(|k: &LeftOut| k.path == path && discriminant(&k.reason) == discriminant(&left.reason)) => {}
            Some((_, count)) => kept.push(LeftOut { path, entries: *count as u64, ..left }),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(path: &str, reason: Reason, base_stands: bool) -> LeftOut {
        LeftOut { path: path.as_bytes().into(), reason, entries: 1, base_stands }
    }

    #[test]
    fn many_of_a_kind_are_told_as_one_and_the_bases_files_never_are() {
        let mut all: Vec<_> = (0..20).map(|n| left(&format!("d/{n}.log"), Reason::Ignored, false)).collect();
        all.push(left("d/p", Reason::NotAFile, false));
        all.extend((0..20).map(|n| left(&format!("d/{n}"), Reason::NotAFile, true)));
        let told = gathered(&b"d"[..].into(), all);
        assert_eq!(told.len(), 22);
        assert_eq!(told[0].to_string(), "d/ (20 entries): ignored by the repository's own rules");
        assert_eq!(told[2].to_string(), "d/0: a pipe, socket or device; the version of the base stands");
    }

    #[test]
    fn at_the_top_many_are_told_as_the_tree_itself() {
        let all = (0..17).map(|n| left(&n.to_string(), Reason::TooLarge { bytes: 9 }, false)).collect();
        assert_eq!(gathered(&TreePath::default(), all)[0].to_string(), "./ (17 entries): too large (9 bytes)");
    }
}
