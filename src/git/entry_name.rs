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

/// Whether HFS+ takes the name for `.git`: it ignores case and some characters without width.
fn is_git_folded(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let folded: String = name.chars().filter(|c| !is_ignored(c)).flat_map(char::to_lowercase).collect();
    folded == ".git"
}

/// Whether NTFS takes the name for `.git`: it has short names, streams behind a colon, and drops spaces and dots at the
/// end.
fn is_git_shortened(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    let stem = lower.split(|b| *b == b':').next().unwrap_or_default();
    let end = stem.iter().rposition(|b| !matches!(b, b' ' | b'.')).map_or(0, |last| last + 1);
    matches!(&stem[..end], b".git" | b"git~1")
}

/// Whether the name is that of the file that lists submodules; a link there is refused by forges.
pub(super) fn is_gitmodules(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == b".gitmodules" || lower == b"gitmod~1"
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
