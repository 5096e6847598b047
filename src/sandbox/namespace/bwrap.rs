//! Finding `bwrap`, the program that makes the sandboxes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::Error;

/// The oldest version that can forbid further user namespaces.
const OLDEST: (u32, u32) = (0, 8);

/// The first one on the search path; it must be new enough.
#[expect(clippy::disallowed_methods, reason = "the search path belongs to the system, not to our settings")]
pub(super) fn find() -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bwrap = std::env::split_paths(&path)
        .map(|directory| directory.join("bwrap"))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| missing("there is no `bwrap`".to_owned()))?;
    match version(&bwrap) {
        Ok(text) if is_new_enough(&text) => Ok(bwrap),
        Ok(text) => Err(missing(format!("{} is too old ({text})", bwrap.display()))),
        Err(error) => Err(missing(format!("{} cannot be run ({error})", bwrap.display()))),
    }
}

fn missing(missing: String) -> Error {
    let remedy = "install bubblewrap 0.8 or later (Debian and Ubuntu: apt install bubblewrap)".to_owned();
    Error::NoBackend { missing, remedy }
}

#[expect(clippy::disallowed_methods, reason = "what makes the sandboxes cannot be in one")]
fn version(bwrap: &Path) -> io::Result<String> {
    let answer = Command::new(bwrap).arg("--version").env_clear().output()?;
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches("bubblewrap ").split('.').map_while(|part| part.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_new_enough_from_0_8_on() {
        for (version, enough) in [
            ("bubblewrap 0.8.0", true),
            ("bubblewrap 0.11.0", true),
            ("bubblewrap 1.0", true),
            ("bubblewrap 0.7.9", false),
            ("bubblewrap 0.4.1", false),
            ("bubblewrap", false),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), enough, "{version}");
        }
    }
}
