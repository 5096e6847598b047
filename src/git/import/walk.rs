//! The walk itself.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use git2::{ObjectType, Odb, Oid, Repository};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::left_out::{MOST_LISTED, gathered};
use super::scratch::is_scratch;
use super::{ImportLimits, Imported, LeftOut, Reason};
use crate::clock::Stopwatch;
use crate::cycle::id::TreeId;
use crate::git::ignore::Rules;
use crate::git::tree::{self, Entry, Kind, LONGEST_LINK};
use crate::git::{Error, TreePath, entry_name};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Non-blocking, so that a pipe or device that took the file's place holds nobody up.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// What became of one entry: its object, or why it is not taken.
type Taken = Result<(Oid, Kind), Reason>;

/// The directory that the walk is in.
struct Here {
    at: OwnedFd,
    path: TreePath,
    depth: usize,
    left_out: Vec<LeftOut>,
}

impl Here {
    fn leave_out(&mut self, name: &[u8], reason: Reason, base_stands: bool) {
        self.left_out.push(LeftOut { path: self.path.join(name), reason, entries: 1, base_stands });
    }

    /// Reports about the directory, once for each reason.
    fn leave_out_rest(&mut self, reason: &Reason, base_stands: bool) {
        let is_it = |l: &LeftOut| l.reason == *reason && l.path.ends_with(b"/");
        match self.left_out.iter_mut().find(|l| is_it(l)) {
            Some(told) => told.base_stands |= base_stands,
            None => {
                let (path, reason) = (self.path.as_directory(), reason.clone());
                self.left_out.push(LeftOut { path, reason, entries: 1, base_stands });
            }
        }
    }
}

pub(super) struct Walk<'a> {
    repo: &'a Repository,
    odb: Odb<'a>,
    /// `None` where nothing new is taken.
    rules: Option<Rules>,
    limits: &'a ImportLimits,
    watch: Stopwatch,
    looked_at: usize,
    new: usize,
    new_bytes: u64,
    growth: u64,
    left_out: Vec<LeftOut>,
    files: u64,
    bytes: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(repo: &'a Repository, rules: Option<Rules>, limits: &'a ImportLimits) -> Result<Self, Error> {
        Ok(Self {
            repo,
            odb: repo.odb()?,
            rules,
            limits,
            watch: Stopwatch::go_on(Duration::ZERO),
            looked_at: 0,
            new: 0,
            new_bytes: 0,
            growth: 0,
            left_out: Vec::new(),
            files: 0,
            bytes: 0,
        })
    }

    pub(super) fn top(&mut self, directory: &Path, base: Oid) -> Result<Oid, Error> {
        let top = rustix::fs::open(directory, DIRECTORY, Mode::empty()).map_err(Error::errno("open the tree"))?;
        let here = Here { at: top, path: TreePath::default(), depth: 0, left_out: Vec::new() };
        let tree = self.directory(here, Some(base))?;
        tree.map_or_else(|| tree::write(&self.odb, Vec::new()), Ok)
    }

    pub(super) fn finish(mut self, tree: TreeId) -> Imported {
        self.left_out.sort_by_key(|l| !l.base_stands);
        let not_listed = self.left_out.len().saturating_sub(MOST_LISTED) as u64;
        self.left_out.truncate(MOST_LISTED);
        Imported { tree, left_out: self.left_out, not_listed, files: self.files, bytes: self.bytes }
    }

    /// Takes one directory; `None` if nothing in it was taken, since git has no empty directories.
    fn directory(&mut self, mut here: Here, base: Option<Oid>) -> Result<Option<Oid>, Error> {
        let known = base.map(|tree| tree::entries(self.repo, tree)).transpose()?.unwrap_or_default();
        let mut taken = Vec::with_capacity(known.len());
        for entry in &known {
            taken.extend(self.known(&mut here, entry)?);
        }
        if self.rules.is_some() {
            for name in self.new_names(&mut here, &known) {
                taken.extend(self.newcomer(&mut here, name)?);
            }
        }
        self.left_out.extend(gathered(&here.path, here.left_out));
        match base {
            // The same entries are the same tree, whatever order or modes an old or odd one has.
            Some(base) if taken == known => Ok(Some(base)),
            _ if taken.is_empty() => Ok(None),
            _ => tree::write(&self.odb, taken).map(Some),
        }
    }

    /// An entry that the base has: what it is now, or as it is there if it cannot be taken, or nothing if it is gone.
    fn known(&mut self, here: &mut Here, base: &Entry) -> Result<Option<Entry>, Error> {
        if self.is_late() {
            here.leave_out_rest(&Reason::OutOfTime, true);
            return Ok(Some(base.clone()));
        }
        let taken = match kind_of(here.at.as_fd(), &base.name) {
            Ok(None) => return Ok(None),
            Ok(Some(FileType::Directory)) if base.kind() == Some(Kind::Submodule) => self.submodule(here, base),
            Ok(Some(FileType::Directory)) => {
                let below = base.is_directory().then_some(base.id);
                match self.subdirectory(here, &base.name, below)? {
                    Ok(None) => return Ok(None),
                    Ok(Some(id)) => Ok((id, Kind::Directory)),
                    Err(reason) => Err(reason),
                }
            }
            Ok(Some(kind)) => self.file_or_link(here, (&base.name, kind), Some(base))?,
            Err(reason) => Err(reason),
        };
        Ok(Some(match taken {
            Ok((id, kind)) => {
                let mode = if base.kind() == Some(kind) { base.mode } else { kind.mode() };
                Entry { name: base.name.clone(), mode, id }
            }
            Err(reason) => {
                here.leave_out(&base.name, reason, true);
                base.clone()
            }
        }))
    }

    /// An empty directory is a submodule as it was checked out; nothing is taken from inside one.
    fn submodule(&mut self, here: &mut Here, base: &Entry) -> Taken {
        let inside = open_directory(here.at.as_fd(), &base.name)?;
        if Dir::read_from(&inside).is_ok_and(|entries| entries.flatten().any(|e| !is_dots(e.file_name().to_bytes()))) {
            return Err(Reason::InSubmodule);
        }
        Ok((base.id, Kind::Submodule))
    }

    /// An entry that the base does not have.
    fn newcomer(&mut self, here: &mut Here, name: Vec<u8>) -> Result<Option<Entry>, Error> {
        let taken = match self.look_at_new(here, &name) {
            // The top's own `.git` is the agent's convenience and was never part of the tree.
            Err(Reason::NestedRepository) if here.depth == 0 && name == b".git" => return Ok(None),
            Err(reason) => Err(reason),
            Ok(None) => return Ok(None),
            Ok(Some(FileType::Directory)) => match self.subdirectory(here, &name, None)? {
                Ok(None) => return Ok(None),
                Ok(Some(id)) => Ok((id, Kind::Directory)),
                Err(reason) => Err(reason),
            },
            Ok(Some(kind)) => self.file_or_link(here, (&name, kind), None)?,
        };
        Ok(match taken {
            Ok((id, kind)) => Some(Entry { name, mode: kind.mode(), id }),
            Err(Reason::OutOfTime) => {
                here.leave_out_rest(&Reason::OutOfTime, false);
                None
            }
            Err(reason) => {
                let end: &[u8] =
                    if kind_of(here.at.as_fd(), &name) == Ok(Some(FileType::Directory)) { b"/" } else { b"" };
                here.leave_out(&[&name, end].concat(), reason, false);
                None
            }
        })
    }

    fn look_at_new(&self, here: &Here, name: &[u8]) -> Result<Option<FileType>, Reason> {
        if entry_name::check(name).is_err() {
            return Err(Reason::NestedRepository);
        }
        if self.is_late() {
            return Err(Reason::OutOfTime);
        }
        let path = here.path.join(name);
        if path.len() > self.limits.path {
            return Err(Reason::LongPath);
        }
        let kind = kind_of(here.at.as_fd(), name)?;
        let is_directory = kind == Some(FileType::Directory);
        if self.rules.as_ref().is_some_and(|rules| rules.ignore(&path, is_directory)) {
            return Err(Reason::Ignored);
        }
        if is_directory && is_scratch(here.at.as_fd(), name, here.depth) {
            return Err(Reason::BuildOutput);
        }
        Ok(kind)
    }

    fn subdirectory(
        &mut self,
        here: &Here,
        name: &[u8],
        base: Option<Oid>,
    ) -> Result<Result<Option<Oid>, Reason>, Error> {
        if here.depth >= self.limits.depth {
            return Ok(Err(Reason::TooDeep));
        }
        let at = match open_directory(here.at.as_fd(), name) {
            Ok(at) => at,
            Err(reason) => return Ok(Err(reason)),
        };
        let inside = Here { at, path: here.path.join(name), depth: here.depth + 1, left_out: Vec::new() };
        Ok(Ok(self.directory(inside, base)?))
    }

    fn file_or_link(
        &mut self,
        here: &Here,
        (name, kind): (&[u8], FileType),
        base: Option<&Entry>,
    ) -> Result<Taken, Error> {
        let read = match kind {
            FileType::RegularFile => self.read_file(here.at.as_fd(), name, base)?,
            FileType::Symlink => read_link(here.at.as_fd(), name),
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Err(Reason::NotAFile),
        };
        match read {
            Ok((content, kind)) => self.keep(&content, kind, (name, base)),
            Err(reason) => Ok(Err(reason)),
        }
    }

    fn read_file(
        &self,
        at: BorrowedFd<'_>,
        name: &[u8],
        base: Option<&Entry>,
    ) -> Result<Result<(Vec<u8>, Kind), Reason>, Error> {
        let (file, stat) = match open_checked(at, name) {
            Ok(opened) => opened,
            Err(reason) => return Ok(Err(reason)),
        };
        let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        let most = match base {
            Some(base) if bytes > self.limits.file => self.limits.file.max(self.size_of(base)?),
            Some(_) | None => self.limits.file,
        };
        if bytes > most {
            return Ok(Err(Reason::TooLarge { bytes }));
        }
        if base.is_none() && self.new_bytes.saturating_add(bytes) > self.limits.total {
            return Ok(Err(Reason::NoRoom));
        }
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        // It may have grown since.
        Ok(match File::from(file).take(most + 1).read_to_end(&mut content) {
            Err(e) => Err(Reason::Unreadable(e.to_string())),
            Ok(read) if read as u64 > most => Err(Reason::TooLarge { bytes: read as u64 }),
            Ok(_) => Ok((content, if stat.st_mode & 0o100 == 0 { Kind::File } else { Kind::Executable })),
        })
    }

    /// Stores what was read, if there is room for it.
    fn keep(&mut self, content: &[u8], kind: Kind, (name, base): (&[u8], Option<&Entry>)) -> Result<Taken, Error> {
        let (id, bytes) = (Oid::hash_object(ObjectType::Blob, content)?, content.len() as u64);
        match base {
            Some(base) if base.id == id && base.kind() == Some(kind) => {}
            _ if kind == Kind::Link && entry_name::is_gitmodules(name) => return Ok(Err(Reason::BadLink)),
            Some(base) => {
                let growth = self.growth.saturating_add(bytes.saturating_sub(self.size_of(base)?));
                if growth > self.limits.total {
                    return Ok(Err(Reason::NoRoom));
                }
                self.growth = growth;
            }
            None => {
                let new_bytes = self.new_bytes.saturating_add(bytes);
                if new_bytes > self.limits.total || self.new >= self.limits.entries {
                    return Ok(Err(Reason::NoRoom));
                }
                (self.new, self.new_bytes) = (self.new + 1, new_bytes);
            }
        }
        if base.is_none_or(|base| base.id != id) && !self.odb.exists(id) {
            self.odb.write(ObjectType::Blob, content)?;
        }
        (self.files, self.bytes) = (self.files + 1, self.bytes.saturating_add(bytes));
        Ok(Ok((id, kind)))
    }

    fn size_of(&self, base: &Entry) -> Result<u64, Error> {
        match base.kind() {
            Some(Kind::File | Kind::Executable | Kind::Link) => Ok(self.odb.read_header(base.id)?.0 as u64),
            Some(Kind::Directory | Kind::Submodule) | None => Ok(0),
        }
    }

    fn is_late(&self) -> bool {
        self.watch.used() > self.limits.time
    }

    /// The names that the base does not have, sorted, so that limits fall on the same entries each time. Where a
    /// directory has more than may be looked at, none of them.
    fn new_names(&mut self, here: &mut Here, known: &[Entry]) -> Vec<Vec<u8>> {
        let known: HashSet<&[u8]> = known.iter().map(|entry| &entry.name[..]).collect();
        let mut names = Vec::new();
        let entries = match Dir::read_from(&here.at) {
            Ok(entries) => entries,
            Err(e) => {
                here.leave_out_rest(&unreadable(e), false);
                return names;
            }
        };
        for entry in entries {
            self.looked_at += 1;
            let problem = match entry {
                _ if self.looked_at > self.limits.looked_at => Reason::TooMany,
                _ if self.is_late() => Reason::OutOfTime,
                Err(e) => unreadable(e),
                Ok(entry) => {
                    let name = entry.file_name().to_bytes();
                    if !is_dots(name) && !known.contains(name) {
                        names.push(name.to_vec());
                    }
                    continue;
                }
            };
            here.leave_out_rest(&problem, false);
            return Vec::new();
        }
        names.sort_unstable();
        names
    }
}

fn is_dots(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

fn unreadable(e: Errno) -> Reason {
    Reason::Unreadable(std::io::Error::from(e).to_string())
}

/// What stands under a name; `None` if nothing does.
fn kind_of(at: BorrowedFd<'_>, name: &[u8]) -> Result<Option<FileType>, Reason> {
    match rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(unreadable(e)),
    }
}

fn open_directory(at: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Reason> {
    rustix::fs::openat(at, name, DIRECTORY, Mode::empty()).map_err(unreadable)
}

fn open_checked(at: BorrowedFd<'_>, name: &[u8]) -> Result<(OwnedFd, rustix::fs::Stat), Reason> {
    let file = rustix::fs::openat(at, name, FILE, Mode::empty()).map_err(unreadable)?;
    let stat = rustix::fs::fstat(&file).map_err(unreadable)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if is_file { Ok((file, stat)) } else { Err(Reason::NotAFile) }
}

/// The regular file of this name, if there is one and it can be read.
pub(super) fn open_file(at: BorrowedFd<'_>, name: &[u8]) -> Option<OwnedFd> {
    open_checked(at, name).ok().map(|(file, _)| file)
}

fn read_link(at: BorrowedFd<'_>, name: &[u8]) -> Result<(Vec<u8>, Kind), Reason> {
    let target = rustix::fs::readlinkat(at, name, Vec::new()).map_err(unreadable)?.into_bytes();
    if target.len() > LONGEST_LINK { Err(Reason::LongPath) } else { Ok((target, Kind::Link)) }
}
