//! What can be wrong with the delegate form. The words for it are in `templates/parts/refusal.html`.

use std::time::Duration;

use crate::cycle::money::Money;

/// A field of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of `Typed` with its name")]
pub enum Field {
    Repository,
    Title,
    Body,
    Done,
    Base,
    Passes,
    Money,
    Clock,
}

impl Field {
    /// The field's name in the form, which is also the fragment that leads to it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Title => "title",
            Self::Body => "body",
            Self::Done => "done",
            Self::Base => "base",
            Self::Passes => "passes",
            Self::Money => "money",
            Self::Clock => "clock",
        }
    }
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No repository was chosen, or one that is not offered.
    RepositoryUnknown,
    /// The title has nothing in it.
    TitleBlank,
    /// The title has a line break in it.
    TitleManyLines,
    /// The title is too long.
    TitleTooLong {
        /// Its length in characters.
        characters: usize,
    },
    /// The body is too long.
    BodyTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// A character with code 0, which no file or command line can carry.
    NulCharacter {
        /// Where.
        field: Field,
        /// In which line, counted from 1.
        line: usize,
    },
    /// Too many items.
    DoneTooMany {
        /// How many.
        items: usize,
    },
    /// One item is too long.
    DoneTooLong {
        /// Which one, counted from 1.
        item: usize,
        /// Its length in characters.
        characters: usize,
    },
    /// Git would not take this branch name.
    BaseNotABranch,
    /// Not a whole number of passes within the limits.
    PassesNotANumber,
    /// A comma where a point belongs: `1,50`.
    MoneyComma {
        /// What it would be with a point, if that is an amount.
        meant: Option<Money>,
    },
    /// Not an amount of money.
    MoneyNotAnAmount,
    /// An amount below or above the limits.
    MoneyOutOfRange {
        /// What was read.
        amount: Money,
    },
    /// Not a length of time.
    ClockNotATime,
    /// A length of time below or above the limits.
    ClockOutOfRange {
        /// What was read.
        time: Duration,
    },
    /// The application declined what the form could not judge alone.
    Declined {
        /// The field it is about.
        field: Field,
        /// What is wrong and what would be right, as sentences.
        why: String,
    },
    /// The service cannot run any issue as it is set up; nothing that was typed is at fault.
    NotSetUp {
        /// What is wrong and what would be right, as sentences.
        why: String,
    },
}

impl Refusal {
    /// The field it is about; none where no field is at fault.
    #[must_use]
    pub const fn field(&self) -> Option<Field> {
        Some(match self {
            Self::RepositoryUnknown => Field::Repository,
            Self::TitleBlank | Self::TitleManyLines | Self::TitleTooLong { .. } => Field::Title,
            Self::BodyTooLong { .. } => Field::Body,
            Self::DoneTooMany { .. } | Self::DoneTooLong { .. } => Field::Done,
            Self::BaseNotABranch => Field::Base,
            Self::PassesNotANumber => Field::Passes,
            Self::MoneyComma { .. } | Self::MoneyNotAnAmount | Self::MoneyOutOfRange { .. } => Field::Money,
            Self::ClockNotATime | Self::ClockOutOfRange { .. } => Field::Clock,
            Self::NulCharacter { field, .. } | Self::Declined { field, .. } => *field,
            Self::NotSetUp { .. } => return None,
        })
    }
}
