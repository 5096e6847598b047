//! The `/etc` of every sandbox: copies of the few files of this machine that programs read, and ours for the one user.
//!
//! Copied once, when the service starts, and shown as one directory: each single file shown would cost every sandbox
//! a mount, which is a tenth of a millisecond.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::owner::Owner;

/// What is copied, links as links: nothing that says something about this machine's users or network.
const COPIED: [&str; 13] = [
    "alternatives",
    "ca-certificates.conf",
    "debian_version",
    "ld.so.cache",
    "ld.so.conf",
    "localtime",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];

/// An empty file, to be shown in place of what says too much.
pub(super) const EMPTY: &str = "nothing";

/// What is ours.
const OWN: [(&str, &str); 5] = [
    (EMPTY, ""),
    ("passwd", "agent:x:1000:1000:agent:/home/agent:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"),
    ("group", "agent:x:1000:\nnogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nprotocols: files\nservices: files\n"),
];

/// The directory, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Etc(PathBuf);

impl Etc {
    /// Makes it in `directory`, and removes those that dead services left there.
    pub(super) fn make(directory: &Path) -> io::Result<Self> {
        for entry in
            fs::read_dir(directory)?.flatten().filter(|entry| is_leftover(&entry.file_name().to_string_lossy()))
        {
            _ = fs::remove_dir_all(entry.path());
        }
        let etc = Self(new_directory(directory)?);
        for name in COPIED {
            let (from, to) = (Path::new("/etc").join(name), etc.0.join(name));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            copy(&from, &to)?;
        }
        for (name, text) in OWN {
            fs::write(etc.0.join(name), text)?;
        }
        Ok(etc)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Etc {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn is_leftover(name: &str) -> bool {
    name.ends_with(".etc") && Owner::is_dead(name)
}

/// One process may have several backends over one directory.
fn new_directory(directory: &Path) -> io::Result<PathBuf> {
    for number in 0_u32.. {
        let place = directory.join(format!("{}.{number}.etc", Owner::this()));
        match fs::create_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|()| place),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Copies what is there and may be read by everyone; a private key among the certificates stays outside.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(from) else { return Ok(()) };
    if found.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else if found.is_dir() {
        fs::create_dir(to)?;
        fs::read_dir(from)?.try_for_each(|entry| {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))
        })
    } else if found.is_file() && found.permissions().mode() & 0o004 != 0 {
        fs::copy(from, to).map(drop)
    } else {
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn it_has_our_user_and_none_of_this_machines() {
        let scratch = tempfile::tempdir().unwrap();
        let etc = Etc::make(scratch.path()).unwrap();
        let passwd = fs::read_to_string(etc.path().join("passwd")).unwrap();
        assert!(passwd.starts_with("agent:") && !passwd.contains("root"));
        for private in ["shadow", "hostname", "machine-id", "resolv.conf", "ssl/private"] {
            assert!(!etc.path().join(private).exists(), "{private}");
        }
    }

    #[test]
    fn a_file_that_not_everyone_may_read_is_left_out() {
        let scratch = tempfile::tempdir().unwrap();
        let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("key"), "secret").unwrap();
        fs::set_permissions(from.join("key"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(from.join("certificate"), "public").unwrap();
        copy(&from, &to).unwrap();
        assert!(to.join("certificate").exists() && !to.join("key").exists());
    }

    #[test]
    fn what_a_dead_service_left_is_removed_and_what_a_living_one_uses_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let living = Etc::make(scratch.path()).unwrap();
        let name = living.path().file_name().unwrap().to_string_lossy().into_owned();
        let (owner, rest) = name.split_once('.').unwrap();
        let (process, _) = owner.rsplit_once('-').unwrap();
        let dead = scratch.path().join(format!("{process}-1.{rest}"));
        fs::create_dir(&dead).unwrap();
        let other = Etc::make(scratch.path()).unwrap();
        assert!(!dead.exists() && living.path().exists() && other.path() != living.path());
    }
}
