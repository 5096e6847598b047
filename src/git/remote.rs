//! Where a repository is: parsed once, at the edge.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::{Error, readable};
use crate::hidden::reveal;

/// The longest address that is taken, in bytes: the longest path of the system.
const LONGEST: usize = 4096;

/// A remote on this machine: an absolute path, or a `file://` address of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote(PathBuf);

impl Remote {
    /// Reads an address as a person gives it; spaces around it do not count.
    ///
    /// # Errors
    /// [`Error::BadRemote`], saying what would be right; user info is never repeated.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let path = path_of(text).and_then(|path| if is_plain(&path) { Ok(path) } else { Err(NOT_PLAIN) });
        path.map(Self).map_err(|why| Error::BadRemote { shown: without_user(text), why })
    }

    /// Finds out whether there is a repository that can be worked with; it may be empty. Blocks.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::NotOurs`], [`Error::ObjectFormat`], [`Error::Unsupported`].
    pub fn reach(&self) -> Result<(), Error> {
        super::open::theirs(self).map(drop)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&readable(self.0.as_os_str().as_bytes()))
    }
}

const NOT_PLAIN: &str = "it must be an absolute path without `..`";

fn path_of(text: &str) -> Result<PathBuf, &'static str> {
    if text.is_empty() || text.len() > LONGEST {
        return Err("it must be an absolute path");
    }
    if reveal(text) != text || text.contains(['\n', '\r', '\t']) {
        return Err("it holds characters that cannot be seen");
    }
    if text.starts_with('-') || text.contains("--upload-pack") || text.contains("--receive-pack") {
        return Err("it must not be an option of a program");
    }
    match text.split_once("://") {
        Some((scheme, rest)) => url(&scheme.to_ascii_lowercase(), rest),
        None if text.contains("::") => Err("remote helpers are never run"),
        None if text.starts_with('/') => Ok(PathBuf::from(text)),
        None if is_scp(text) => Err(NO_SSH),
        None => Err("it must be absolute: begin with / or file:///"),
    }
}

const NO_SSH: &str = "ssh is not offered; use an absolute path or a file:// address";

fn url(scheme: &str, rest: &str) -> Result<PathBuf, &'static str> {
    match scheme {
        "file" => file_url(rest),
        "ssh" | "git+ssh" | "ssh+git" => Err(NO_SSH),
        "http" | "https" if has_user(rest) => Err("it must not hold a user name or a password"),
        "http" | "https" | "git" => {
            Err("network remotes are not offered yet; use an absolute path or a file:// address")
        }
        scheme if scheme.contains("::") => Err("remote helpers are never run"),
        _ => Err("only an absolute path or a file:// address is taken"),
    }
}

fn file_url(rest: &str) -> Result<PathBuf, &'static str> {
    if has_user(rest) {
        return Err("it must not hold a user name or a password");
    }
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err("a file:// address names no other machine: begin with file:///");
    }
    let bytes = decoded(path).ok_or("a percent sign in a file:// address is followed by two hexadecimal digits")?;
    if bytes.iter().any(u8::is_ascii_control) {
        return Err("it holds characters that cannot be seen");
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        (rest, _) = (after, bytes.push(*first));
        if *first == b'%' {
            let digits = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())?;
            *bytes.last_mut()? = u8::from_str_radix(digits, 16).ok()?;
            rest = &after[2..];
        }
    }
    Some(bytes)
}

fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

/// Whether there is an `@` before the path begins.
fn has_user(rest: &str) -> bool {
    rest.split('/').next().is_some_and(|host| host.contains('@'))
}

/// `git@host:path`, as ssh takes it.
fn is_scp(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

fn without_user(text: &str) -> String {
    let cut: String = reveal(text).chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    let start = cut.find("://").map_or(0, |at| at + 3);
    let end = cut[start..].find('/').map_or(cut.len(), |at| start + at);
    match cut[start..end].rfind('@') {
        Some(at) => format!("{}{}", &cut[..start], &cut[start + at + 1..]),
        None => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        match Remote::parse(text) {
            Ok(remote) => panic!("{text} was taken as {remote}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn paths_and_file_addresses_are_taken() {
        for (text, path) in [
            ("/srv/git/a.git", "/srv/git/a.git"),
            (" /srv/git/a ", "/srv/git/a"),
            ("file:///srv/a%20b.git", "/srv/a b.git"),
            ("FILE://localhost/srv/a", "/srv/a"),
            ("/srv/課題.git", "/srv/課題.git"),
            ("/srv/a@b", "/srv/a@b"),
        ] {
            assert_eq!(Remote::parse(text).map(|r| r.to_string()).ok().as_deref(), Some(path), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_own_reason() {
        for (text, why) in [
            ("", "an absolute path"),
            ("srv/a", "begin with /"),
            ("../a", "begin with /"),
            ("~/a", "begin with /"),
            ("/srv/../etc", "without `..`"),
            ("file:///srv/%2e%2e/etc", "without `..`"),
            ("/srv/a\n--x", "cannot be seen"),
            ("file:///srv/a%0a", "cannot be seen"),
            ("/srv/\u{202e}a", "cannot be seen"),
            ("--upload-pack=touch /tmp/x", "option of a program"),
            ("-oProxyCommand=x", "option of a program"),
            ("/srv/a --receive-pack=x", "option of a program"),
            ("ext::sh -c touch% /tmp/x", "remote helpers"),
            ("ext::sh://x", "remote helpers"),
            ("fd::17/foo", "remote helpers"),
            ("ssh://-oProxyCommand=x/a", "ssh is not offered"),
            ("ssh://git@127.0.0.1:22/a", "ssh is not offered"),
            ("git@example.org:a/b.git", "ssh is not offered"),
            ("git://10.0.0.1/a", "not offered yet"),
            ("https://example.org/a.git", "not offered yet"),
            ("http://169.254.169.254/latest", "not offered yet"),
            ("https://user:secret@example.org/a.git", "user name or a password"),
            ("file://user@host/srv/a", "user name or a password"),
            ("file://host/srv/a", "no other machine"),
            ("file://srv/a", "no other machine"),
            ("file:///srv/a%2", "percent sign"),
            ("gopher://x/y", "only an absolute path"),
            ("data://x", "only an absolute path"),
        ] {
            assert!(refusal(text).contains(why), "{text}: {}", refusal(text));
        }
        assert!(refusal(&format!("/{}", "a".repeat(5000))).len() < 400);
    }

    #[test]
    fn what_is_shown_of_an_address_holds_no_secret() {
        for text in
            ["https://user:secret@example.org/a", "ssh://secret@h/a@b", "secret@host:a", "https://a:secret@b@h/x"]
        {
            assert!(!refusal(text).contains("secret"), "{}", refusal(text));
        }
        assert!(refusal("https://user:x@example.org/a@b").contains("https://example.org/a@b"));
    }
}
