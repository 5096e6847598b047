//! Trees as they are stored: read entry by entry, measured before anything trusts their size, written byte for byte.

use std::collections::HashMap;
use std::ops::ControlFlow;

use git2::{ObjectType, Odb, Oid, Repository};

use super::entry_name::{self, BadName};
use super::{Error, TreePath};

/// The longest target of a link, in bytes.
pub(super) const LONGEST_LINK: usize = 4095;

/// How much of a tree is worked with. A tree beyond it is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeLimits {
    /// Files, links and directories.
    pub entries: u64,
    /// The files' bytes together.
    pub bytes: u64,
    /// How many directories lie inside one another.
    pub depth: usize,
    /// The longest path in bytes.
    pub path: usize,
}

impl TreeLimits {
    /// For trees of ours, which are a base within the limits and what an import added to it.
    pub(super) fn roomy() -> Self {
        Self { entries: 2_000_000, bytes: 16 << 30, ..Self::default() }
    }
}

impl Default for TreeLimits {
    /// 1,000,000 entries, 8 GiB, 100 directories deep, paths of 4,000 bytes.
    fn default() -> Self {
        Self { entries: 1_000_000, bytes: 8 << 30, depth: 100, path: 4_000 }
    }
}

/// How large a tree is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeSize {
    /// Files, links and directories.
    pub entries: u64,
    /// The files' bytes together.
    pub bytes: u64,
}

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A regular file that can be run.
    Executable,
    /// A symbolic link.
    Link,
    /// A pointer to a commit of another repository.
    Submodule,
}

impl Kind {
    /// `None` for a mode that git does not have.
    pub(super) fn of(mode: u32) -> Option<Self> {
        match mode & 0o170_000 {
            0o040_000 => Some(Self::Directory),
            0o100_000 if mode & 0o100 != 0 => Some(Self::Executable),
            0o100_000 => Some(Self::File),
            0o120_000 => Some(Self::Link),
            0o160_000 => Some(Self::Submodule),
            _ => None,
        }
    }

    /// The mode that git writes for it.
    pub(super) const fn mode(self) -> u32 {
        match self {
            Self::Directory => 0o040_000,
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
            Self::Submodule => 0o160_000,
        }
    }
}

/// One entry of a tree. The mode is as it stands there: old repositories have some that git writes no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) mode: u32,
    pub(super) id: Oid,
}

impl Entry {
    pub(super) fn kind(&self) -> Option<Kind> {
        Kind::of(self.mode)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind() == Some(Kind::Directory)
    }

    /// How git sorts: a directory as if a slash stood behind its name.
    fn sort_key(&self) -> Vec<u8> {
        let end: &[u8] = if self.is_directory() { b"/" } else { b"" };
        [&self.name, end].concat()
    }
}

pub(super) fn entries(repo: &Repository, tree: Oid) -> Result<Vec<Entry>, Error> {
    let tree = repo.find_tree(tree)?;
    let entry = |e: git2::TreeEntry<'_>| Entry {
        name: e.name_bytes().to_vec(),
        mode: u32::try_from(e.filemode_raw()).unwrap_or(0),
        id: e.id(),
    };
    Ok(tree.iter().map(entry).collect())
}

/// Writes a tree of these entries. Their names are different and were checked.
pub(super) fn write(odb: &Odb<'_>, mut entries: Vec<Entry>) -> Result<Oid, Error> {
    entries.sort_by_cached_key(Entry::sort_key);
    let mut raw = Vec::new();
    for entry in &entries {
        raw.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
        raw.extend_from_slice(&entry.name);
        raw.push(0);
        raw.extend_from_slice(entry.id.as_bytes());
    }
    Ok(odb.write(ObjectType::Tree, &raw)?)
}

/// Visits every entry below a tree, a directory before what is in it, until `visit` breaks.
///
/// # Errors
/// A tree is missing or deeper than [`TreeLimits::depth`] of the default.
pub(super) fn walk(
    repo: &Repository,
    tree: Oid,
    visit: &mut dyn FnMut(&TreePath, &Entry) -> ControlFlow<()>,
) -> Result<(), Error> {
    descend(repo, tree, (&TreePath::default(), 0), visit).map(|_| ())
}

fn descend(
    repo: &Repository,
    tree: Oid,
    (at, depth): (&TreePath, usize),
    visit: &mut dyn FnMut(&TreePath, &Entry) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    if depth > TreeLimits::default().depth {
        return Err(Error::BadTree { path: at.clone(), why: TOO_DEEP });
    }
    for entry in entries(repo, tree)? {
        let path = at.join(&entry.name);
        if visit(&path, &entry).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if entry.is_directory() && descend(repo, entry.id, (&path, depth + 1), visit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

const TOO_DEEP: &str = "it lies in too many directories";

/// Measures a tree as it would be on a disk, and refuses one that must not be put there. A tree that repeats itself in
/// itself is read once.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::BadTree`], or an object is missing.
pub(super) fn measure(repo: &Repository, tree: Oid, limits: &TreeLimits) -> Result<TreeSize, Error> {
    let mut measuring = Measuring { repo, odb: repo.odb()?, limits, known: HashMap::new() };
    let shape = measuring.tree(tree, &TreePath::default(), 0)?;
    let TreeSize { entries, bytes } = shape.size;
    if entries > limits.entries {
        return Err(Error::TooLarge { what: "the tree".to_owned(), most: format!("{} entries", limits.entries) });
    }
    if bytes > limits.bytes {
        return Err(Error::TooLarge { what: "the tree".to_owned(), most: format!("{} bytes", limits.bytes) });
    }
    Ok(shape.size)
}

/// What is below a tree, wherever it stands.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    size: TreeSize,
    /// Directories inside one another, itself included.
    depth: usize,
    /// The longest path from here, in bytes.
    path: usize,
}

struct Measuring<'a> {
    repo: &'a Repository,
    odb: Odb<'a>,
    limits: &'a TreeLimits,
    known: HashMap<Oid, Shape>,
}

impl Measuring<'_> {
    fn tree(&mut self, id: Oid, at: &TreePath, depth: usize) -> Result<Shape, Error> {
        let shape = match self.known.get(&id) {
            Some(shape) => *shape,
            None if depth > self.limits.depth => return Err(Error::BadTree { path: at.clone(), why: TOO_DEEP }),
            None => self.new_tree(id, at, depth)?,
        };
        if depth + shape.depth > self.limits.depth + 1 {
            return Err(Error::BadTree { path: at.clone(), why: TOO_DEEP });
        }
        if at.len() + shape.path > self.limits.path {
            return Err(Error::BadTree { path: at.clone(), why: "paths in it are too long" });
        }
        Ok(shape)
    }

    fn new_tree(&mut self, id: Oid, at: &TreePath, depth: usize) -> Result<Shape, Error> {
        let mut shape = Shape { depth: 1, ..Shape::default() };
        for entry in entries(self.repo, id)? {
            let path = at.join(&entry.name);
            let inside = self.entry(&entry, &path, depth)?;
            shape.size.entries = shape.size.entries.saturating_add(inside.size.entries.saturating_add(1));
            shape.size.bytes = shape.size.bytes.saturating_add(inside.size.bytes);
            shape.depth = shape.depth.max(inside.depth + 1);
            shape.path = shape.path.max(inside.path + entry.name.len() + 1);
        }
        self.known.insert(id, shape);
        Ok(shape)
    }

    fn entry(&mut self, entry: &Entry, path: &TreePath, depth: usize) -> Result<Shape, Error> {
        let bad = |why| Err(Error::BadTree { path: path.clone(), why });
        match entry_name::check(&entry.name) {
            Err(BadName::Git) => return bad("it would be taken for the repository itself"),
            Err(BadName::NoName) => return bad("it has a name that leads elsewhere"),
            Ok(()) => {}
        }
        match entry.kind() {
            None => bad("it is of a kind that git does not have"),
            Some(Kind::Directory) => self.tree(entry.id, path, depth + 1),
            Some(Kind::Submodule) => Ok(Shape::default()),
            Some(kind @ (Kind::File | Kind::Executable | Kind::Link)) => {
                let (bytes, _) = self.odb.read_header(entry.id)?;
                if kind == Kind::Link && !(1..=LONGEST_LINK).contains(&bytes) {
                    return bad("it is a link to nothing that can be a path");
                }
                Ok(Shape { size: TreeSize { entries: 0, bytes: bytes as u64 }, ..Shape::default() })
            }
        }
    }
}
