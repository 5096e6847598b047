//! Giving a work tree to the sandbox's user, taking it back, removing it: whatever is in it, no link is followed.
//!
//! Nothing that could change the tree may run meanwhile. A tree that a sandbox has written may hold anything: closed
//! directories, second names of files, more levels than there are descriptors.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::{Errno, Result};

use crate::sandbox::Error;

/// How many directories may lie inside one another; each level costs one descriptor meanwhile.
const LEVELS: usize = 200;
/// How often in a row everything that was to be removed may turn out to be gone while there still is something.
const IDLE_ROUNDS: usize = 1000;

/// Makes everything in the tree belong to the user and group `id`.
///
/// A file with a second name is refused if it is not that user's yet: the other name may be in a place that is not the
/// sandbox's business.
pub(super) fn give(tree: &Path, id: u32) -> std::result::Result<(), Error> {
    walk(tree, Err(Errno::NAMETOOLONG), &mut |at, name, found| {
        let theirs = found.st_uid == id && found.st_gid == id;
        if !theirs && !is_directory(found) && found.st_nlink > 1 {
            return Err(Errno::MLINK);
        }
        if theirs { Ok(()) } else { own(at, name, id) }
    })
}

/// Makes everything in the tree accessible to its owner and, as root, the caller that owner.
///
/// What a command did to the tree is never an error, so what lies too deep stays as it is: nobody takes anything from
/// there, and [`remove`] gets to it.
pub(super) fn take(tree: &Path) -> std::result::Result<(), Error> {
    let root = rustix::process::geteuid().is_root();
    walk(tree, Ok(()), &mut |at, name, found| {
        if root && found.st_uid != 0 {
            own(at, name, 0)?;
        }
        open_up(at, name, found)
    })
}

/// Removes the tree and everything in it. Two may remove the same tree, or one a part of the other's: each ends well.
pub(super) fn remove(tree: &Path) -> std::result::Result<(), Error> {
    match rustix::fs::openat(
        CWD,
        tree,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(bad(tree, error)),
        Ok(_) => {}
    }
    for _ in 0..IDLE_ROUNDS {
        match remove_once(tree) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY) => {}
            Err(error) => return Err(bad(tree, error)),
        }
    }
    Err(bad(tree, Errno::NOTEMPTY))
}

fn remove_once(tree: &Path) -> Result<()> {
    open_up(CWD, tree, &look(CWD, tree)?)?;
    let root = open(CWD, tree)?;
    empty(&root, &root, LEVELS, &mut 0)?;
    rustix::fs::unlinkat(CWD, tree, AtFlags::REMOVEDIR)
}

/// Removes what is in `directory`. What lies too deep is moved up into `root`, from which it is removed in its turn.
fn empty(root: &OwnedFd, directory: &OwnedFd, levels: usize, moved: &mut u64) -> Result<()> {
    let mut idle = 0;
    while idle < IDLE_ROUNDS {
        let names = names(directory)?;
        if names.is_empty() {
            return Ok(());
        }
        idle += 1;
        for name in names {
            match clear(root, directory, (&name, levels), moved) {
                Ok(()) => idle = 0,
                // Somebody else has removed it, or has put something there: the next round shows.
                Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Err(Errno::BUSY)
}

/// Removes one entry of `directory`, or moves it up.
fn clear(root: &OwnedFd, directory: &OwnedFd, (name, levels): (&CString, usize), moved: &mut u64) -> Result<()> {
    let found = look(directory.as_fd(), name.as_c_str())?;
    if !is_directory(&found) {
        return rustix::fs::unlinkat(directory, name, AtFlags::empty());
    }
    open_up(directory.as_fd(), name.as_c_str(), &found)?;
    let Some(levels) = levels.checked_sub(1) else {
        *moved += 1;
        return rustix::fs::renameat(directory, name, root, unused_name(root, *moved).as_str());
    };
    empty(root, &open(directory.as_fd(), name.as_c_str())?, levels, moved)?;
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
}

fn unused_name(root: &OwnedFd, number: u64) -> String {
    let names = (0..).map(|attempt: u64| format!(".moved-{number}-{attempt}"));
    let mut free = names.filter(|name| look(root.as_fd(), name.as_str()).is_err());
    free.next().unwrap_or_default()
}

type Act<'a> = &'a mut dyn FnMut(BorrowedFd<'_>, &CString, &Stat) -> Result<()>;

/// Calls `act` for the tree and for everything in it, a directory before what it holds. `too_deep` is what comes of a
/// directory that lies below so many others that it is not entered.
fn walk(tree: &Path, too_deep: Result<()>, act: Act<'_>) -> std::result::Result<(), Error> {
    let name = CString::new(tree.as_os_str().as_encoded_bytes()).map_err(|_| bad(tree, Errno::INVAL))?;
    match look(CWD, name.as_c_str()) {
        Ok(found) if is_directory(&found) => {
            visit(CWD, &name, (LEVELS, too_deep), act).map_err(|error| bad(tree, error))
        }
        Ok(_) => Err(bad(tree, Errno::NOTDIR)),
        Err(error) => Err(bad(tree, error)),
    }
}

fn visit(at: BorrowedFd<'_>, name: &CString, (levels, too_deep): (usize, Result<()>), act: Act<'_>) -> Result<()> {
    let found = look(at, name.as_c_str())?;
    act(at, name, &found)?;
    if !is_directory(&found) {
        return Ok(());
    }
    let Some(levels) = levels.checked_sub(1) else { return too_deep };
    let directory = open(at, name.as_c_str())?;
    names(&directory)?.iter().try_for_each(|name| visit(directory.as_fd(), name, (levels, too_deep), act))
}

fn look<P: rustix::path::Arg>(at: BorrowedFd<'_>, name: P) -> Result<Stat> {
    rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn open<P: rustix::path::Arg>(at: BorrowedFd<'_>, name: P) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// All names at once, so that the list holds no descriptor while they are visited.
fn names(directory: &OwnedFd) -> Result<Vec<CString>> {
    let entries = Dir::read_from(directory)?.map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    entries.filter(|name| !matches!(name, Ok(name) if [c".", c".."].contains(&name.as_c_str()))).collect()
}

fn own(at: BorrowedFd<'_>, name: &CString, id: u32) -> Result<()> {
    rustix::fs::chownat(at, name, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)), AtFlags::SYMLINK_NOFOLLOW)
}

fn open_up<P: rustix::path::Arg>(at: BorrowedFd<'_>, name: P, found: &Stat) -> Result<()> {
    let kind = FileType::from_raw_mode(found.st_mode);
    if kind != FileType::Directory && kind != FileType::RegularFile {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(found.st_mode);
    let needed = if kind == FileType::Directory { Mode::RWXU } else { Mode::RUSR | Mode::WUSR };
    // Following links is no danger here, since it has just been seen to be none.
    if mode.contains(needed) { Ok(()) } else { rustix::fs::chmodat(at, name, mode | needed, AtFlags::empty()) }
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

fn bad(tree: &Path, error: Errno) -> Error {
    let why = match error {
        Errno::NOENT => "is not there",
        Errno::NOTDIR | Errno::LOOP => "is not a directory",
        Errno::NAMETOOLONG => "has more than 200 levels",
        Errno::MLINK => "holds a file that has a second name and belongs to somebody else",
        _ => return Error::Io { doing: "change the owner or mode of a work tree", source: error.into() },
    };
    Error::BadTree { path: tree.to_owned(), why }
}
