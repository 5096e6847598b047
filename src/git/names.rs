//! Names of branches: people's, and ours.

use std::fmt;

use super::Error;
use crate::hidden::reveal;

/// How many characters of a title go into a branch name.
const SLUG: usize = 40;
/// The first part of our branches' names.
const PREFIX: &str = "countersign";

/// A branch's name that git takes and no program reads as an option.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BranchName(String);

impl BranchName {
    /// Reads a branch name as a person gives it, without `refs/heads/`.
    ///
    /// # Errors
    /// [`Error::BadBranch`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why| Err(Error::BadBranch { name: reveal(text).chars().take(200).collect(), why });
        if text.is_empty() || text.len() > 200 {
            return refuse("it must have 1 to 200 bytes");
        }
        if text.starts_with('-') || text.starts_with("refs/") || text == "HEAD" || text == "@" {
            return refuse("it must be a plain name such as main");
        }
        if reveal(text) != text {
            return refuse("it holds characters that cannot be seen");
        }
        if !git2::Reference::is_valid_name(&format!("refs/heads/{text}")) {
            return refuse("git does not take it");
        }
        Ok(Self(text.to_owned()))
    }

    /// The full name of the reference.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Our branch for an issue: `countersign/<number>-<slug>`, with `-2`, `-3` … behind it where it is taken.
///
/// `taken` says whether there is a branch of exactly this name. Where one is called `countersign` (git cannot hold
/// both names), the slash becomes a dash. A title without a Latin letter or digit leaves the number alone.
#[must_use]
pub fn branch_for(number: u64, title: &str, taken: impl Fn(&str) -> bool) -> BranchName {
    let slug = slug(title);
    let tail = if slug.is_empty() { number.to_string() } else { format!("{number}-{slug}") };
    let stem = if taken(PREFIX) { format!("{PREFIX}-{tail}") } else { format!("{PREFIX}/{tail}") };
    let numbered = (2_u64..).map(|again| format!("{stem}-{again}"));
    let mut names = std::iter::once(stem.clone()).chain(numbered);
    // There are more numbers than branches.
    BranchName(names.find(|name| !taken(name)).unwrap_or(stem))
}

/// The branch that stands in the way of one with this name: the same, one above it or one below it.
pub(super) fn in_the_way<'a>(wanted: &str, existing: &'a [String]) -> Option<&'a str> {
    let is_below = |low: &str, high: &str| low.strip_prefix(high).is_some_and(|rest| rest.starts_with('/'));
    let blocks = |e: &&String| *e == wanted || is_below(e, wanted) || is_below(wanted, e);
    existing.iter().find(blocks).map(String::as_str)
}

/// Letters, digits and dashes of a title: at most 40, no dash at the ends.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().map(|c| c.to_ascii_lowercase()) {
        if slug.len() >= SLUG {
            break;
        }
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn of(number: u64, title: &str, taken: &[&str]) -> String {
        branch_for(number, title, |name| taken.contains(&name)).to_string()
    }

    #[test]
    fn a_branch_is_named_after_its_issue() {
        assert_eq!(of(42, "Fix the Parser: 2 crashes!", &[]), "countersign/42-fix-the-parser-2-crashes");
        assert_eq!(of(7, "--force origin/main", &[]), "countersign/7-force-origin-main");
        assert_eq!(of(7, "Über Größe", &[]), "countersign/7-ber-gr-e");
        assert_eq!(of(7, &"word ".repeat(50), &[]), "countersign/7-word-word-word-word-word-word-word-word");
    }

    #[test]
    fn a_title_without_latin_letters_leaves_the_number() {
        for title in ["課題を直す", "🎉🎉", "…!?", "", " \n\t"] {
            assert_eq!(of(9, title, &[]), "countersign/9");
        }
        assert_eq!(of(9, "課題", &["countersign/9"]), "countersign/9-2");
    }

    #[test]
    fn a_branch_named_like_the_prefix_or_like_ours_is_gone_round() {
        assert_eq!(of(42, "slug", &["countersign"]), "countersign-42-slug");
        assert_eq!(of(42, "slug", &["countersign/42-slug"]), "countersign/42-slug-2");
        assert_eq!(
            of(42, "slug", &["countersign", "countersign-42-slug", "countersign-42-slug-2"]),
            "countersign-42-slug-3"
        );
    }

    #[test]
    fn no_title_of_five_hundred_hostile_ones_escapes_the_pattern() {
        let parts = [
            "-",
            "..",
            "@{",
            ".lock",
            "/",
            "\\",
            "~",
            "^",
            ":",
            "?",
            "*",
            "[",
            "\n",
            "\0",
            "\u{202e}",
            "\u{200b}",
            "HEAD",
            "refs/heads/main",
            " ",
            "é",
            "課",
            "A",
            "z9",
            "\u{1b}[31m",
            "'; rm -rf /",
            "$(id)",
            "İ",
            "K",
        ];
        let mut random = fastrand::Rng::with_seed(11);
        let mut taken: BTreeSet<String> = ["countersign/0".to_owned()].into();
        for n in 0..500 {
            let title: String = (0..random.usize(..12)).map(|_| parts[random.usize(..parts.len())]).collect();
            let number = random.u64(..20);
            let name = branch_for(number, &title, |name| taken.contains(name)).to_string();
            let tail =
                name.strip_prefix(&format!("countersign/{number}")).unwrap_or_else(|| panic!("{title:?}: {name}"));
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(tail.is_empty() || tail.starts_with('-'), "{title:?}: {name}");
            assert!(
                tail.chars().all(is_plain) && !tail.ends_with('-') && tail.len() <= 1 + SLUG + 5,
                "{title:?}: {name}"
            );
            assert!(BranchName::parse(&name).is_ok(), "{name}");
            assert!(taken.insert(name.clone()), "round {n}: {name} was given twice");
        }
    }

    #[test]
    fn peoples_branch_names_are_checked_before_git_sees_them() {
        for good in ["main", "feature/x", "release-1.0", "v1", "課題", "a@b"] {
            assert_eq!(BranchName::parse(good).map(|b| b.reference()).ok(), Some(format!("refs/heads/{good}")));
        }
        let long = "a".repeat(201);
        for bad in [
            "",
            "-x",
            "--all",
            "HEAD",
            "@",
            "refs/heads/main",
            "a..b",
            "a b",
            "a.lock",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a~1",
            "a^",
            "a:b",
            "+a",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "a\nb",
            "a\u{202e}b",
            "a\u{200b}",
            "a@{1}",
            "a.",
            &long,
        ] {
            // A leading plus is part of a name for git; behind `refs/heads/` it cannot force anything.
            assert_eq!(BranchName::parse(bad).is_err(), bad != "+a", "{bad:?}");
        }
    }

    #[test]
    fn names_above_and_below_a_branch_are_in_its_way() {
        let existing = ["countersign/4-a/b".to_owned(), "x".to_owned()];
        assert_eq!(in_the_way("countersign/4-a", &existing), Some("countersign/4-a/b"));
        assert_eq!(in_the_way("x/y", &existing), Some("x"));
        assert_eq!(in_the_way("x", &existing), Some("x"));
        assert_eq!(in_the_way("countersign/4", &existing), None);
    }
}
