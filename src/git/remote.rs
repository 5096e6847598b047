//! Where a repository is: parsed once, at the edge.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Error;

/// A remote on this machine: an absolute path, or a `file://` address. Others follow with their transports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote(PathBuf);

impl Remote {
    /// Reads an address as a person gives it.
    ///
    /// # Errors
    /// [`Error::BadRemote`], saying what would be right; user info is never repeated.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why| Err(Error::BadRemote { shown: without_user(text), why });
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return refuse("it must be an absolute path on one line");
        }
        if text.starts_with('-') || text.contains("--upload-pack") || text.contains("--receive-pack") {
            return refuse("it must not be an option of a program");
        }
        let path = match text.split_once("://") {
            Some(("file", path)) => path,
            Some(("ssh" | "git" | "http" | "https", _)) => {
                return refuse("network remotes are not offered yet; use an absolute path or a file:// address");
            }
            Some(_) => return refuse("only an absolute path or a file:// address is taken"),
            None if text.contains("::") => return refuse("remote helpers are never run"),
            None if text.starts_with('/') => text,
            None => return refuse("it must be absolute: begin with / or file:///"),
        };
        let path = Path::new(path);
        let climbs = path.components().any(|c| matches!(c, std::path::Component::ParentDir));
        if !path.is_absolute() || climbs {
            return refuse("it must be an absolute path without `..`");
        }
        Ok(Self(path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// What libgit2 is given.
    pub(super) fn url(&self) -> String {
        self.0.display().to_string()
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

fn without_user(text: &str) -> String {
    let cut: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    match (cut.find("://"), cut.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}{}", &cut[..scheme + 3], &cut[at + 1..]),
        (Some(_) | None, _) => cut,
    }
}
