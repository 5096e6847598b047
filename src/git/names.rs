//! Names of branches: people's, and ours.

use std::fmt;

use super::Error;

/// How many characters of a title go into a branch name.
const SLUG: usize = 40;

/// A branch's name that git takes and no program reads as an option.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BranchName(String);

impl BranchName {
    /// Reads a branch name as a person gives it, without `refs/heads/`.
    ///
    /// # Errors
    /// [`Error::BadBranch`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why| Err(Error::BadBranch { name: text.chars().take(200).collect(), why });
        let is_hidden = |c: char| {
            c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        };
        if text.is_empty() || text.len() > 200 {
            return refuse("it must have 1 to 200 bytes");
        }
        if text.starts_with('-') || text.starts_with("refs/") || text == "HEAD" || text == "@" {
            return refuse("it must be a plain name such as main");
        }
        if text.chars().any(is_hidden) || !git2::Reference::is_valid_name(&format!("refs/heads/{text}")) {
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

/// Our branch for an issue: `countersign/<number>-<slug>`, numbered on where it is taken.
///
/// Where a branch `countersign` stands in the way (git cannot hold both names), the slash becomes a dash.
#[must_use]
pub fn branch_for(number: u64, title: &str, taken: impl Fn(&str) -> bool) -> BranchName {
    let slug = slug(title);
    let tail = if slug.is_empty() { number.to_string() } else { format!("{number}-{slug}") };
    let stem = if taken("countersign") { format!("countersign-{tail}") } else { format!("countersign/{tail}") };
    let in_the_way = |name: &str| taken(name);
    let mut name = stem.clone();
    let mut again = 2_u32;
    while in_the_way(&name) {
        name = format!("{stem}-{again}");
        again += 1;
    }
    BranchName(name)
}

/// Letters, digits and dashes of a title: at most 40, none at the ends.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= SLUG {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}
