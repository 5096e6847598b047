//! Directories that builds and tools fill and that nobody wrote: recognised by what is in or beside them where they say so,
//! else by their names. Only what the base does not have is looked at.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

/// Nothing else is ever called like this.
const NAMES: [&[u8]; 9] = [
    b"node_modules",
    b"__pycache__",
    b".pytest_cache",
    b".mypy_cache",
    b".ruff_cache",
    b".tox",
    b".nox",
    b".venv",
    b".gradle",
];

/// Beside these, a `target` is what was built.
const MANIFESTS: [&[u8]; 3] = [b"Cargo.toml", b"pom.xml", b"build.sbt"];

/// What a cache directory's `CACHEDIR.TAG` begins with (bford.info/cachedir). Cargo's target directory has one.
const CACHE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Whether the directory `name` in `at` is such a one.
pub(super) fn is_scratch(at: BorrowedFd<'_>, name: &[u8], depth: usize) -> bool {
    if NAMES.contains(&name) {
        return true;
    }
    // A package may well be called `target`, but hardly at the top.
    if name == b"target" && (depth == 0 || MANIFESTS.iter().any(|manifest| is_file(at, manifest))) {
        return true;
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(inside) = rustix::fs::openat(at, name, flags, Mode::empty()) else { return false };
    is_file(inside.as_fd(), b"pyvenv.cfg") || is_cache(&inside)
}

fn is_file(at: BorrowedFd<'_>, name: &[u8]) -> bool {
    let stat = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

fn is_cache(directory: &OwnedFd) -> bool {
    let Some(tag) = super::walk::open_file(directory.as_fd(), b"CACHEDIR.TAG") else { return false };
    let mut head = [0; CACHE.len()];
    File::from(tag).read_exact(&mut head).is_ok() && head == CACHE
}
