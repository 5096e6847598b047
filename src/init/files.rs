//! Reading and writing files for the agent's tools: regular ones only, so that a pipe or a device cannot hold
//! *init* up, and never through a link in the last place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::wire::{Reply, Why};
use crate::{refusal, sys};

/// `O_NOFOLLOW | O_NONBLOCK`; the former has another number on ARM.
const FLAGS: i32 = if cfg!(target_arch = "aarch64") { 0o100_000 } else { 0o400_000 } | 0o4000;
const ELOOP: i32 = 40;
const ENXIO: i32 = 6;
const EISDIR: i32 = 21;

/// The first `max` bytes.
pub(crate) fn read(path: &str, max: usize) -> Result<Vec<u8>, Reply> {
    let file = open(OpenOptions::new().read(true), path)?;
    let mut content = Vec::new();
    file.take(max as u64).read_to_end(&mut content).map_err(|error| refusal(&error))?;
    Ok(content)
}

/// Replaces the content; a new file gets its parents and mode 0644, an old one keeps its mode.
pub(crate) fn write(path: &str, content: &[u8]) -> Result<(), Reply> {
    if let Some(parent) = Path::new(path).parent() {
        fs::create_dir_all(parent).map_err(|error| refusal(&error))?;
    }
    // Shortened only once it is known to be a regular file.
    let mut file = open(OpenOptions::new().write(true).create(true).truncate(false).mode(0o644), path)?;
    file.set_len(0).and_then(|()| file.write_all(content)).map_err(|error| refusal(&error))
}

fn open(options: &mut OpenOptions, path: &str) -> Result<File, Reply> {
    let file = options.custom_flags(FLAGS).open(path).map_err(|error| refused(&error))?;
    let regular = file.metadata().map_err(|error| refusal(&error))?.is_file();
    // The files of `/proc` about *init* itself are closed to commands, and stay so by this way.
    if regular && !sys::is_proc(&file) { Ok(file) } else { Err(not_regular()) }
}

fn refused(error: &io::Error) -> Reply {
    match error.raw_os_error() {
        Some(ELOOP | ENXIO | EISDIR) => not_regular(),
        _ => refusal(error),
    }
}

fn not_regular() -> Reply {
    Reply::Failed { why: Why::NotRegular, text: "not a regular file".to_owned() }
}
