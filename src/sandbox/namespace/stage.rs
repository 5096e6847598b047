//! Where `bwrap`, running as a user that may enter almost nothing, finds what a sandbox is made of.
//!
//! As root the service mounts each piece onto a small file system of its own, in the mount table of the spawner's
//! thread alone, so that a tool chain in a home directory that is closed to everyone can still be used.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags};

use crate::sandbox::spawn;

/// Covered in the spawner's mount table: it is on every Linux machine, and nobody keeps a work tree there.
const STAGE: &str = "/sys";

/// Whether what is shown may be written to through the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadOnly,
    Writable,
}

/// How the pieces are reached.
#[derive(Debug)]
pub(super) enum Stage {
    /// Where they are: the service's own user makes the sandbox, or mounts are refused.
    Direct,
    /// Mounted under [`STAGE`]; the number is the next free name.
    Mounted { next: u64 },
}

impl Stage {
    /// Sets the stage in the calling thread's own mount table; needs root.
    pub(super) fn mounted() -> io::Result<Self> {
        spawn::leave_mount_table()?;
        rustix::mount::mount("tmpfs", STAGE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755,size=1m")?;
        Ok(Self::Mounted { next: 0 })
    }

    /// Shows `source`, a directory or a file, and says where.
    pub(super) fn show(&mut self, source: &Path, access: Access) -> io::Result<Shown> {
        let Self::Mounted { next } = self else { return Ok(Shown { place: source.to_owned(), mounted: false }) };
        let place = Path::new(STAGE).join(next.to_string());
        *next += 1;
        if fs::metadata(source)?.is_dir() {
            fs::create_dir(&place)?;
        } else {
            fs::File::create(&place)?;
        }
        let shown = Shown { place, mounted: true };
        let mounted = rustix::mount::mount_bind(source, &shown.place).and_then(|()| match access {
            Access::Writable => Ok(()),
            Access::ReadOnly => {
                let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
                rustix::mount::mount_remount(&shown.place, flags, "")
            }
        });
        if let Err(error) = mounted {
            shown.withdraw();
            return Err(error.into());
        }
        Ok(shown)
    }
}

/// A piece on the stage.
#[derive(Debug)]
pub(super) struct Shown {
    /// Where `bwrap` finds it.
    pub(super) place: PathBuf,
    mounted: bool,
}

impl Shown {
    /// Takes it off the stage; a sandbox that was made of it keeps it. Only on the spawner's thread.
    pub(super) fn withdraw(&self) {
        if self.mounted {
            _ = rustix::mount::unmount(&self.place, UnmountFlags::DETACH);
            // The place is empty now: whichever it is, the other call fails and changes nothing.
            _ = fs::remove_dir(&self.place).or_else(|_| fs::remove_file(&self.place));
        }
    }
}

/// The first directory above `path`, or `path` itself, that the user and group `id` may not enter or read.
pub(super) fn barrier(path: &Path, id: u32) -> Option<PathBuf> {
    path.ancestors().find(|place| !may_enter(place, id)).map(Path::to_owned)
}

fn may_enter(place: &Path, id: u32) -> bool {
    let Ok(found) = fs::metadata(place) else { return false };
    let bits = if found.uid() == id {
        found.mode() >> 6
    } else if found.gid() == id {
        found.mode() >> 3
    } else {
        found.mode()
    };
    let needed = if found.is_dir() { 0o1 } else { 0o4 };
    bits & needed == needed
}
