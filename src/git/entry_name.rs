//! Names that no tree may hold, because git, or the file system of somebody who checks it out, takes them for something else.

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadName {
    /// It is `.git`, for git itself or for a file system that folds names.
    Git,
    /// It is no name in a directory: empty, `.`, `..`, or with a slash.
    NoName,
}

pub(super) fn check(name: &[u8]) -> Result<(), BadName> {
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') || name.contains(&0) {
        return Err(BadName::NoName);
    }
    if is_git_folded(name) || name.split(|b| *b == b'\\').any(is_git_shortened) { Err(BadName::Git) } else { Ok(()) }
}

/// Whether HFS+ takes the name for `.git`.
fn is_git_folded(name: &[u8]) -> bool {
    folded(name).is_some_and(|name| name == ".git")
}

/// The name as HFS+ compares it: without case and without some characters that have no width.
fn folded(name: &[u8]) -> Option<String> {
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = std::str::from_utf8(name).ok()?;
    Some(name.chars().filter(|c| !is_ignored(c)).flat_map(char::to_lowercase).collect())
}

/// Whether NTFS takes the name for `.git`.
fn is_git_shortened(name: &[u8]) -> bool {
    matches!(&stem(name)[..], b".git" | b"git~1")
}

/// The name as NTFS compares it: without case, a stream behind a colon, and spaces and dots at the end.
fn stem(name: &[u8]) -> Vec<u8> {
    let lower = name.to_ascii_lowercase();
    let stem = lower.split(|b| *b == b':').next().unwrap_or_default();
    let end = stem.iter().rposition(|b| !matches!(b, b' ' | b'.')).map_or(0, |last| last + 1);
    stem[..end].to_vec()
}

/// Whether some file system takes the name for that of the file that lists submodules; a link there is refused by forges.
pub(super) fn is_gitmodules(name: &[u8]) -> bool {
    let is_folded = folded(name).is_some_and(|name| name == ".gitmodules");
    let tails = (0..name.len()).filter(|n| name[*n] == b'\\').map(|n| &name[n + 1..]);
    is_folded || std::iter::once(name).chain(tails).any(is_gitmodules_shortened)
}

/// NTFS gives the first four files of a beginning a short name of it and a number, and later ones one made of a hash.
fn is_gitmodules_shortened(name: &[u8]) -> bool {
    const HASHED: &[u8] = b"gi7eba";
    let stem = stem(name);
    if matches!(&stem[..], b".gitmodules" | b"gitmod~1" | b"gitmod~2" | b"gitmod~3" | b"gitmod~4") {
        return true;
    }
    let Some(tilde) = stem.iter().position(|b| *b == b'~').filter(|_| stem.len() == 8) else { return false };
    let (start, number) = (&stem[..tilde], &stem[tilde + 1..]);
    HASHED.starts_with(start) && number.first().is_some_and(|b| *b != b'0') && number.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_some_file_system_takes_for_dot_git_is_refused() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git.",
            ".git ",
            ".git . .",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{202e}T",
            "a\\.git",
            ".git\\hooks",
            "git~1 ",
        ] {
            assert_eq!(check(name.as_bytes()), Err(BadName::Git), "{name:?}");
        }
    }

    #[test]
    fn names_like_it_are_names() {
        for name in
            [".gitignore", ".gitmodules", ".github", "git", "git~2", ".git2", "x.git", "..git", "...", ".g it", "a:b"]
        {
            assert_eq!(check(name.as_bytes()), Ok(()), "{name:?}");
        }
        assert_eq!(check(b"caf\xe9"), Ok(()));
        assert_eq!(check(b"a\nb"), Ok(()));
    }

    #[test]
    fn what_leads_out_of_a_directory_is_no_name() {
        for name in ["", ".", "..", "a/b", "../x", "/etc/passwd"] {
            assert_eq!(check(name.as_bytes()), Err(BadName::NoName), "{name:?}");
        }
    }
}
