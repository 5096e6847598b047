//! Typed ids: a run's id fits nowhere where an issue's belongs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An id text that is not of the form the type promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    /// What kind of id was expected.
    pub kind: &'static str,
    /// What was given instead, at most 80 characters of it.
    pub given: String,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {} id", self.given, self.kind)
    }
}

impl std::error::Error for BadId {}

fn bad(kind: &'static str, given: &str) -> BadId {
    BadId { kind, given: given.chars().take(80).collect() }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id; ids made later sort later (UUID version 7, RFC 9562).
            #[must_use]
            #[expect(clippy::new_without_default, reason = "two calls differ, so it is no default")]
            #[expect(clippy::disallowed_methods, reason = "this is the one place that makes ids")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The id with this value: for tests and for reading what was stored.
            #[must_use]
            pub const fn from_u128(value: u128) -> Self {
                Self(Uuid::from_u128(value))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                Uuid::try_parse(text).map(Self).map_err(|_| bad($kind, text))
            }
        }
    };
}

uuid_id!(/** One attempt at an issue. */ RunId, "run");
uuid_id!(/** What a person wants changed. */ IssueId, "issue");
uuid_id!(/** A git remote with its forge and commands. */ RepositoryId, "repository");
uuid_id!(/** The tenant that everything else belongs to. */ WorkspaceId, "workspace");
uuid_id!(/** A process of the service with its data directory, the same after a restart. */ NodeId, "node");
uuid_id!(/** One call of a model. */ CallId, "call");

macro_rules! object_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The 40 hexadecimal digits.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The first seven digits, for people.
            #[must_use]
            pub fn short(&self) -> &str {
                &self.0[..7]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                if text.len() == 40 && text.bytes().all(hex) { Ok(Self(text)) } else { Err(bad($kind, &text)) }
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

/// The right to write of a run, until another claims it: every write that a run's holder makes names it, and is refused
/// once the run's fencing number is a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// The run's fencing number when it was claimed; each claim makes it one more.
    pub fence: u64,
}

object_id!(/** A git tree: 40 lower-case hexadecimal digits (SHA-1 repositories only). */ TreeId, "tree");
object_id!(/** A git commit: 40 lower-case hexadecimal digits (SHA-1 repositories only). */ CommitId, "commit");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_ids_take_forty_lower_case_hex_digits_and_nothing_else() {
        let good = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(good.parse::<TreeId>().map(|t| t.short().to_owned()), Ok("0123456".to_owned()));
        for bad in ["", "0123", &good.to_uppercase(), &format!("{good}0"), "../../../../etc/passwd", &"é".repeat(20)] {
            assert!(bad.parse::<TreeId>().is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn ids_survive_text_and_json() {
        let run = RunId::new();
        assert_eq!(run.to_string().parse(), Ok(run));
        let json = serde_json::to_string(&run).expect("an id is plain text");
        assert_eq!(serde_json::from_str::<RunId>(&json).ok(), Some(run));
        assert!(serde_json::from_str::<CommitId>("\"nothing\"").is_err());
    }
}
