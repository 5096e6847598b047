//! The small parts that pages share: plain display data, already worded, free of rules.

/// What a colour means. It never stands alone: there is always a word beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Passed, accepted, closed.
    Good,
    /// Failed, open.
    Bad,
    /// Needs a person, or failed before too.
    Warn,
    /// Going on now.
    Live,
    /// Nothing to judge.
    Plain,
}

impl Tone {
    /// The name of the style-sheet class.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Live => "live",
            Self::Plain => "plain",
        }
    }

    /// The mark drawn for it (a symbol in `templates/parts/marks.svg`): its shape tells it apart without colour.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Good => "mark-good",
            Self::Bad => "mark-bad",
            Self::Warn => "mark-warn",
            Self::Live => "mark-live",
            Self::Plain => "mark-plain",
        }
    }
}

/// A word with a tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    /// Its colour.
    pub tone: Tone,
    /// Its word: `sent back`, `failed before too`.
    pub word: String,
}

impl Badge {
    /// A badge of this tone and word.
    #[must_use]
    pub fn new(tone: Tone, word: impl Into<String>) -> Self {
        Self { tone, word: word.into() }
    }
}

/// An object id: the short form is shown, the whole one is on hover and selected by one click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hash {
    /// The first seven digits.
    pub short: String,
    /// All of them.
    pub full: String,
}

/// One ceiling of a budget and how much of it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meter {
    /// How much is used, with its unit; `—` where it is unknown.
    pub used: String,
    /// The ceiling, with its unit.
    pub ceiling: String,
    /// The part that is used, in thousandths; may be over 1,000. `None` draws an empty meter: the part is unknown.
    pub thousandths: Option<u32>,
    /// `Plain` while there is room, `Warn` when the ceiling has stopped the run.
    pub tone: Tone,
}

/// What somebody says about their work: shown as a claim, never as a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Whose words these are: `implementer`, `reviewer`.
    pub who: String,
    /// The words.
    pub text: super::prose::Prose,
}
