//! Taking a tree back: our own walk over what an agent left, entry by entry.
//!
//! Regular files, links as links, and the executable bit; everything else is reported and left out, and the rest is
//! still taken. Every directory and file is opened by its name below the directory that holds it, without following
//! links, and looked at again once it is open.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use git2::{ObjectType, Repository};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Error, RunRepo, oid, readable, tree_id};
use crate::cycle::id::TreeId;

/// How much is taken at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLimits {
    /// The largest file, in bytes.
    pub file: u64,
    /// All files together, in bytes.
    pub total: u64,
    /// How many entries are taken.
    pub entries: usize,
    /// How many directories deep.
    pub depth: usize,
}

impl Default for ImportLimits {
    /// 64 MiB a file, 1 GiB in all, 200,000 entries, 64 directories deep.
    fn default() -> Self {
        Self { file: 64 << 20, total: 1 << 30, entries: 200_000, depth: 64 }
    }
}

/// What was taken and what was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The tree.
    pub tree: TreeId,
    /// What was left out, at most 1,000 of it.
    pub left_out: Vec<LeftOut>,
    /// How many files and links are in the tree.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path, readable.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// Why something was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A pipe, socket or device.
    NotAFile,
    /// A `.git` below the top: another repository, or a name that would be taken for one.
    NestedRepository,
    /// Git does not take the name.
    BadName,
    /// Too many directories deep.
    TooDeep,
    /// Larger than a file may be.
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// The tree is full: too many entries or bytes.
    NoRoom,
    /// It cannot be read.
    Unreadable(String),
    /// Known as output of a build, and not in the base.
    BuildOutput,
    /// The base's rules ignore it, and it is not in the base.
    Ignored,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFile => f.write_str("a pipe, socket or device"),
            Self::NestedRepository => f.write_str("a repository inside the tree"),
            Self::BadName => f.write_str("a name that git does not take"),
            Self::TooDeep => f.write_str("too many directories deep"),
            Self::TooLarge { bytes } => write!(f, "too large ({bytes} bytes)"),
            Self::NoRoom => f.write_str("the tree has too many entries or bytes"),
            Self::Unreadable(why) => write!(f, "it cannot be read ({why})"),
            Self::BuildOutput => f.write_str("output of a build"),
            Self::Ignored => f.write_str("ignored by the repository's own rules"),
        }
    }
}

/// Directories that builds and tools fill; taken only where the base has something in them.
const BUILD_OUTPUT: &[&[u8]] =
    &[b"target", b"node_modules", b"__pycache__", b".pytest_cache", b".venv", b".mypy_cache"];
/// More omissions than this are not listed one by one.
const MOST_LISTED: usize = 1_000;

struct Walk<'a> {
    repo: &'a Repository,
    limits: &'a ImportLimits,
    base: BTreeSet<Vec<u8>>,
    rules: super::ignore::Rules,
    imported: Imported,
}

impl RunRepo {
    /// Imports what lies in `directory`. Paths that the base's own rules ignore, and output of builds, are taken only
    /// where the base tree has them.
    ///
    /// # Errors
    /// The directory cannot be opened, or the repository cannot be written. What the tree holds is never an error.
    pub fn import(&self, directory: &Path, base: &TreeId, limits: &ImportLimits) -> Result<Imported, Error> {
        let repo = self.git()?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = rustix::fs::open(directory, flags, Mode::empty())
            .map_err(|e| Error::Io { doing: "open the tree", source: e.into() })?;
        let base_tree = repo.find_tree(oid(base.as_str())?)?;
        let known = known_paths(&base_tree)?;
        let rules = super::ignore::Rules::of(&repo, &base_tree)?;
        let imported = Imported { tree: base.clone(), left_out: Vec::new(), files: 0, bytes: 0 };
        let mut walk = Walk { repo: &repo, limits, base: known, rules, imported };
        let tree = walk.directory(&top, b"", 0)?;
        let tree = tree.map_or_else(|| repo.treebuilder(None)?.write(), Ok)?;
        walk.imported.tree = tree_id(tree);
        Ok(walk.imported)
    }
}

/// Every path of the base, directories included.
fn known_paths(tree: &git2::Tree<'_>) -> Result<BTreeSet<Vec<u8>>, Error> {
    let mut known = BTreeSet::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |root, entry| {
        if entry.kind() != Some(ObjectType::Commit) {
            known.insert([root.as_bytes(), entry.name_bytes()].concat());
        }
        git2::TreeWalkResult::Ok
    })?;
    Ok(known)
}

impl Walk<'_> {
    fn leave_out(&mut self, path: &[u8], reason: Reason) {
        if self.imported.left_out.len() < MOST_LISTED {
            self.imported.left_out.push(LeftOut { path: readable(path), reason });
        }
    }

    /// Takes one directory; `None` if nothing in it was taken, since git has no empty directories.
    fn directory(&mut self, at: &OwnedFd, path: &[u8], depth: usize) -> Result<Option<git2::Oid>, Error> {
        let mut builder = self.repo.treebuilder(None)?;
        for name in names(at) {
            let full = if path.is_empty() { name.clone() } else { [path, b"/", &name].concat() };
            if let Some((id, mode)) = self.entry(at.as_fd(), &name, &full, depth)?
                && builder.insert(&name[..], id, mode).is_err()
            {
                self.leave_out(&full, Reason::BadName);
            }
        }
        Ok(if builder.is_empty() { None } else { Some(builder.write()?) })
    }

    fn entry(
        &mut self,
        at: BorrowedFd<'_>,
        name: &[u8],
        full: &[u8],
        depth: usize,
    ) -> Result<Option<(git2::Oid, i32)>, Error> {
        if is_git(name) {
            // The top's own is the agent's convenience and was never part of the tree.
            if depth > 0 || name != b".git" {
                self.leave_out(full, Reason::NestedRepository);
            }
            return Ok(None);
        }
        let stat = match rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(e) => return Ok(self.unreadable(full, e)),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if self.is_scratch(full, name, kind) {
            return Ok(None);
        }
        match kind {
            FileType::Directory if depth + 1 >= self.limits.depth => {
                self.leave_out(full, Reason::TooDeep);
                Ok(None)
            }
            FileType::Directory => self.subdirectory(at, name, full, depth),
            FileType::Symlink => self.link(at, name, full),
            FileType::RegularFile => self.file(at, name, full),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                self.leave_out(full, Reason::NotAFile);
                Ok(None)
            }
        }
    }

    /// Whether the entry is bulk that nobody wrote; what the base has is never scratch.
    fn is_scratch(&mut self, full: &[u8], name: &[u8], kind: FileType) -> bool {
        if self.base.contains(full) {
            return false;
        }
        if kind == FileType::Directory && BUILD_OUTPUT.contains(&name) {
            self.leave_out(full, Reason::BuildOutput);
            return true;
        }
        let ignored = self.rules.ignore(full, kind == FileType::Directory);
        if ignored {
            self.leave_out(full, Reason::Ignored);
        }
        ignored
    }

    fn unreadable<T>(&mut self, full: &[u8], e: Errno) -> Option<T> {
        self.leave_out(full, Reason::Unreadable(std::io::Error::from(e).to_string()));
        None
    }

    fn subdirectory(
        &mut self,
        at: BorrowedFd<'_>,
        name: &[u8],
        full: &[u8],
        depth: usize,
    ) -> Result<Option<(git2::Oid, i32)>, Error> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(at, name, flags, Mode::empty()) {
            Ok(inside) => Ok(self.directory(&inside, full, depth + 1)?.map(|id| (id, 0o040_000))),
            Err(e) => Ok(self.unreadable(full, e)),
        }
    }

    fn link(&mut self, at: BorrowedFd<'_>, name: &[u8], full: &[u8]) -> Result<Option<(git2::Oid, i32)>, Error> {
        match rustix::fs::readlinkat(at, name, Vec::new()) {
            Ok(target) => self.blob(target.as_bytes(), full, 0o120_000),
            Err(e) => Ok(self.unreadable(full, e)),
        }
    }

    fn file(&mut self, at: BorrowedFd<'_>, name: &[u8], full: &[u8]) -> Result<Option<(git2::Oid, i32)>, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened =
            rustix::fs::openat(at, name, flags, Mode::empty()).and_then(|fd| Ok((rustix::fs::fstat(&fd)?, fd)));
        let (stat, fd): (Stat, OwnedFd) = match opened {
            Ok(opened) => opened,
            Err(e) => return Ok(self.unreadable(full, e)),
        };
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            self.leave_out(full, Reason::NotAFile);
            return Ok(None);
        }
        if bytes > self.limits.file {
            self.leave_out(full, Reason::TooLarge { bytes });
            return Ok(None);
        }
        let mut content = Vec::new();
        if let Err(e) = std::fs::File::from(fd).take(self.limits.file).read_to_end(&mut content) {
            self.leave_out(full, Reason::Unreadable(e.to_string()));
            return Ok(None);
        }
        self.blob(&content, full, if stat.st_mode & 0o100 == 0 { 0o100_644 } else { 0o100_755 })
    }

    fn blob(&mut self, content: &[u8], full: &[u8], mode: i32) -> Result<Option<(git2::Oid, i32)>, Error> {
        let bytes = self.imported.bytes + content.len() as u64;
        if bytes > self.limits.total || self.imported.files >= self.limits.entries {
            self.leave_out(full, Reason::NoRoom);
            return Ok(None);
        }
        self.imported.bytes = bytes;
        self.imported.files += 1;
        Ok(Some((self.repo.blob(content)?, mode)))
    }
}

/// The names in a directory, sorted, so that limits fall on the same entries each time.
fn names(at: &OwnedFd) -> Vec<Vec<u8>> {
    let Ok(entries) = Dir::read_from(at) else { return Vec::new() };
    let name = |entry: rustix::fs::DirEntry| entry.file_name().to_bytes().to_vec();
    let mut names: Vec<Vec<u8>> = entries.filter_map(Result::ok).map(name).collect();
    names.retain(|n| n != b"." && n != b"..");
    names.sort();
    names
}

/// `.git` and the names that some file system takes for it.
fn is_git(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == b".git"
        || lower == b"git~1"
        || lower.starts_with(b".git ")
        || lower == b".git."
        || lower.starts_with(b".git::")
}
