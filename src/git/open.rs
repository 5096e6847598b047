//! Opening repositories: ours, where only our own configuration counts, and remotes on this machine.
//!
//! libgit2 reads the configuration of the machine and of the service's user whenever it opens a repository, and cannot be
//! told not to without unsafe code. So right after opening, the configuration is replaced: ours by the one file that we
//! wrote, a remote's by an empty one. No `insteadOf`, proxy, excludes file or attributes file from elsewhere has a say.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use git2::{Config, ErrorCode, Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::error::Cause;
use super::{Error, Remote};

/// What every repository of ours is set to. The last one is written last: where it stands, the rest does.
const SETTINGS: [(&str, &str); 3] = [
    // Without these, libgit2 falls back to files in the home of the service's user.
    ("core.excludesFile", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    // Runs refer to objects of the mirror that no branch may hold any more.
    ("gc.auto", "0"),
];

/// Opens a repository of ours: exactly there, and nothing that lies above it.
pub(super) fn ours(path: &Path) -> Result<Repository, Error> {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_DOTGIT;
    let repo = Repository::open_ext(path, flags, std::iter::empty::<&Path>())?;
    repo.set_config(&Config::open(&path.join("config"))?)?;
    Ok(repo)
}

/// Opens a bare repository of ours, made first where it is missing or was left half made. Only the service's user can
/// enter it.
pub(super) fn ours_or_new(path: &Path) -> Result<Repository, Error> {
    if is_made(path) {
        return ours(path);
    }
    let made = std::fs::create_dir_all(path.parent().unwrap_or(path));
    let made = made.and_then(|()| match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    });
    made.map_err(Error::io("make the directory of a repository"))?;
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head("main");
    drop(Repository::init_opts(path, &options)?);
    let mut config = Config::open(&path.join("config"))?;
    SETTINGS.iter().try_for_each(|(name, value)| config.set_str(name, value))?;
    ours(path)
}

fn is_made(path: &Path) -> bool {
    let (last, _) = SETTINGS[SETTINGS.len() - 1];
    path.join("HEAD").exists() && Config::open(&path.join("config")).is_ok_and(|config| config.get_i64(last).is_ok())
}

/// Opens the repository of a remote, bare or with a work tree. Its own configuration has no say.
///
/// # Errors
/// [`Error::Unreachable`], [`Error::NotOurs`], [`Error::ObjectFormat`], [`Error::Unsupported`].
pub(super) fn theirs(remote: &Remote) -> Result<Repository, Error> {
    let opened = Repository::open_ext(remote.path(), RepositoryOpenFlags::NO_SEARCH, std::iter::empty::<&Path>());
    let repo = opened.map_err(|source| cause(remote, source))?;
    repo.set_config(&Config::new()?)?;
    Ok(repo)
}

fn cause(remote: &Remote, source: git2::Error) -> Error {
    let remote = remote.to_string();
    let text = source.message().to_owned();
    if source.code() == ErrorCode::Owner {
        Error::NotOurs { remote }
    } else if text.contains("object format") || text.contains("objectformat") {
        Error::ObjectFormat { remote }
    } else if text.contains("unsupported") {
        Error::Unsupported { remote, what: text }
    } else {
        Error::Unreachable { remote, source: Cause(source) }
    }
}

/// A path beside this one that nobody else uses.
pub(super) fn unused(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("new-{}-{count}", std::process::id()))
}

/// Writes a file so that a reader sees the old or the new content.
pub(super) fn replace(file: &Path, content: &[u8]) -> Result<(), Error> {
    let new = unused(file);
    let written = std::fs::write(&new, content).and_then(|()| std::fs::rename(&new, file));
    written.map_err(Error::io("write a file of the repository"))
}

/// Waits until everything written so far is on the disk that holds `path`.
pub(super) fn settle(path: &Path) -> Result<(), Error> {
    let synced = std::fs::File::open(path).and_then(|directory| Ok(rustix::fs::syncfs(&directory)?));
    synced.map_err(Error::io("write the repository to disk"))
}
