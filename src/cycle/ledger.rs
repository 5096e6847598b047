//! The ledger: what must be closed before a run can be accepted, and what became of it.
//!
//! Only who raised an obligation can close it. What nobody ruled on stays open.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::answers::{Answer, Claim};
use super::verdict::{Finding, Ruling, RulingKind, Severity};

/// Who raised an obligation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Raiser {
    /// The reviewer, by a finding whose citation held.
    Reviewer,
    /// The service: this required check blocks.
    Check(String),
    /// A person, by a remark.
    Person(String),
}

/// Where an obligation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not closed.
    Open,
    /// A person's remark that the last writing step called fixed and the review of this pass ruled met with evidence.
    Met {
        /// The pass of that review.
        pass: u8,
    },
    /// Closed by who raised it.
    Closed {
        /// In which pass.
        pass: u8,
    },
}

/// One obligation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obligation {
    /// `F1` for a finding, `K1` for a check, `R1` for a person's remark; assigned by the service.
    pub id: String,
    /// Who raised it.
    pub raiser: Raiser,
    /// In which pass; 0 is before the first.
    pub pass: u8,
    /// How grave it is.
    pub severity: Severity,
    /// What it cites, as it was written; empty for a remark.
    pub cites: String,
    /// What it says.
    pub text: String,
    /// What it rests on.
    pub evidence: String,
    /// Where it stands.
    pub state: State,
    /// What the last writing step said of it: a claim.
    pub answer: Option<Answered>,
    /// What the last review said of it.
    pub ruling: Option<Ruling>,
    /// How often the reviewer upheld it against a dispute.
    pub upheld: u8,
    /// Whether a pass with nothing but disputes was given free for it.
    pub had_free_pass: bool,
}

/// A writing step's answer and the pass it was given in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The pass.
    pub pass: u8,
    /// The answer.
    pub answer: Answer,
}

impl Obligation {
    /// Whether it is in the way of acceptance. A remark that is `Met` is not, though only its author can close it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether a person raised it.
    #[must_use]
    pub fn is_remark(&self) -> bool {
        matches!(self.raiser, Raiser::Person(_))
    }

    /// Whether the service raised it for a check, which answers for itself.
    #[must_use]
    pub fn is_check(&self) -> bool {
        matches!(self.raiser, Raiser::Check(_))
    }

    /// What it is, in a word: how grave a finding is, else `check` or `remark`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match &self.raiser {
            Raiser::Reviewer => self.severity.word(),
            Raiser::Check(_) => "check",
            Raiser::Person(_) => "remark",
        }
    }

    /// Who raised it, as pages and pull requests call them.
    #[must_use]
    pub fn raised_by(&self) -> &str {
        match &self.raiser {
            Raiser::Reviewer => "reviewer",
            Raiser::Check(_) => "service",
            Raiser::Person(name) => name,
        }
    }

    fn is_disputed_in(&self, pass: u8) -> bool {
        self.answer.as_ref().is_some_and(|a| a.pass == pass && matches!(a.answer.answer, Claim::Disputed { .. }))
    }

    fn is_called_fixed_in(&self, pass: u8) -> bool {
        self.answer.as_ref().is_some_and(|a| a.pass == pass && matches!(a.answer.answer, Claim::Fixed))
    }
}

/// A finding or ruling that changed nothing, and why it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The pass of the review.
    pub pass: u8,
    /// The finding.
    pub finding: Finding,
    /// Why it is a remark and no obligation.
    pub why: Why,
}

/// Why a finding that holds opened nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The verdict approved, and the finding is low.
    Low,
    /// The verdict approved, and an earlier review could have made the finding.
    Late,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low severity under approval",
            Self::Late => "late: an earlier review could have found it",
        })
    }
}

/// What one pass did to the ledger, by ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// Opened in this pass.
    pub opened: Vec<String>,
    /// Closed, or ruled met, in this pass.
    pub closed: Vec<String>,
    /// Disputed by this pass's writing step.
    pub disputed: Vec<String>,
    /// Ids in rulings and answers that were not theirs to rule on or did not exist.
    pub ignored: Vec<String>,
}

impl Movement {
    /// Whether anything moved.
    #[must_use]
    pub fn is_still(&self) -> bool {
        self.opened.is_empty() && self.closed.is_empty() && self.disputed.is_empty()
    }
}

/// What a new obligation says.
#[derive(Debug, Clone)]
pub struct Raised {
    /// Who raises it.
    pub raiser: Raiser,
    /// How grave it is.
    pub severity: Severity,
    /// What it cites.
    pub cites: String,
    /// What it says.
    pub text: String,
    /// What it rests on.
    pub evidence: String,
}

/// All obligations of a run, in the order in which they were raised.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    obligations: Vec<Obligation>,
}

impl Ledger {
    /// All of them, in order.
    #[must_use]
    pub fn all(&self) -> &[Obligation] {
        &self.obligations
    }

    /// Those that are in the way of acceptance.
    pub fn open(&self) -> impl Iterator<Item = &Obligation> {
        self.obligations.iter().filter(|o| o.is_open())
    }

    /// The obligation of this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Obligation> {
        self.obligations.iter().find(|o| o.id == id)
    }

    /// Opens an obligation and returns its id.
    pub(super) fn raise(&mut self, pass: u8, raised: Raised) -> String {
        let letter = match raised.raiser {
            Raiser::Reviewer => 'F',
            Raiser::Check(_) => 'K',
            Raiser::Person(_) => 'R',
        };
        let number = self.obligations.iter().filter(|o| o.id.starts_with(letter)).count() + 1;
        let id = format!("{letter}{number}");
        let Raised { raiser, severity, cites, text, evidence } = raised;
        self.obligations.push(Obligation {
            id: id.clone(),
            raiser,
            pass,
            severity,
            cites,
            text,
            evidence,
            state: State::Open,
            answer: None,
            ruling: None,
            upheld: 0,
            had_free_pass: false,
        });
        id
    }

    /// A writing step begins: what a remark was ruled before no longer counts, so it is asked about again.
    pub(super) fn reopen_met(&mut self) {
        for o in self.obligations.iter_mut().filter(|o| matches!(o.state, State::Met { .. })) {
            o.state = State::Open;
        }
    }

    /// Takes a writing step's answers.
    pub(super) fn answer(&mut self, pass: u8, answers: &[Answer], moved: &mut Movement) {
        for answer in answers {
            let Some(o) = self.obligations.iter_mut().find(|o| o.id == answer.id && o.is_open()) else {
                moved.ignored.push(answer.id.clone());
                continue;
            };
            if matches!(answer.answer, Claim::Disputed { .. }) {
                moved.disputed.push(o.id.clone());
            }
            o.answer = Some(Answered { pass, answer: answer.clone() });
        }
    }

    /// Marks the disputed obligations as having had their free pass; `false` if one had it before.
    pub(super) fn take_free_pass(&mut self, disputed: &[String]) -> bool {
        let mine = |o: &&mut Obligation| disputed.contains(&o.id);
        if self.obligations.iter().any(|o| disputed.contains(&o.id) && o.had_free_pass) {
            return false;
        }
        self.obligations.iter_mut().filter(mine).for_each(|o| o.had_free_pass = true);
        !disputed.is_empty()
    }

    /// Opens or closes a check's obligation after it ran.
    pub(super) fn check(&mut self, pass: u8, blocking: Option<Raised>, check: &str, moved: &mut Movement) {
        let mine = |o: &&mut Obligation| o.is_open() && matches!(&o.raiser, Raiser::Check(name) if name == check);
        let open = self.obligations.iter_mut().find(mine);
        match (open, blocking) {
            (Some(o), None) => {
                o.state = State::Closed { pass };
                moved.closed.push(o.id.clone());
            }
            (Some(o), Some(now)) => (o.text, o.evidence) = (now.text, now.evidence),
            (None, Some(raised)) => moved.opened.push(self.raise(pass, raised)),
            (None, None) => {}
        }
    }

    /// Takes a review's rulings.
    pub(super) fn rule(&mut self, pass: u8, rulings: &[Ruling], moved: &mut Movement) {
        for ruling in rulings {
            let Some(o) = self.obligations.iter_mut().find(|o| o.id == ruling.id && o.is_open()) else {
                moved.ignored.push(ruling.id.clone());
                continue;
            };
            match apply_ruling(o, pass, ruling) {
                Effect::Closed => moved.closed.push(o.id.clone()),
                Effect::Nothing => {}
                Effect::NotTheirs => moved.ignored.push(o.id.clone()),
            }
        }
    }

    /// The person confirms their remark. `false` if there is no such remark to confirm.
    pub(super) fn confirm(&mut self, id: &str, pass: u8) -> bool {
        let mine = |o: &&mut Obligation| o.id == id && matches!(o.raiser, Raiser::Person(_));
        self.obligations.iter_mut().find(mine).is_some_and(|o| {
            o.state = State::Closed { pass };
            true
        })
    }

    /// Whether the reviewer upheld one against a dispute as often as the limit allows.
    #[must_use]
    pub fn is_disputed(&self, limit: u8) -> bool {
        self.open().any(|o| o.upheld >= limit)
    }
}

enum Effect {
    Closed,
    Nothing,
    NotTheirs,
}

fn apply_ruling(o: &mut Obligation, pass: u8, ruling: &Ruling) -> Effect {
    match (&o.raiser, ruling.ruling) {
        (Raiser::Reviewer, RulingKind::Closed) => {
            o.state = State::Closed { pass };
            o.ruling = Some(ruling.clone());
            Effect::Closed
        }
        (Raiser::Reviewer, RulingKind::StillOpen) => {
            if o.is_disputed_in(pass) {
                o.upheld += 1;
            }
            o.ruling = Some(ruling.clone());
            Effect::Nothing
        }
        (Raiser::Person(_), RulingKind::Met) if o.is_called_fixed_in(pass) && !ruling.note.trim().is_empty() => {
            o.state = State::Met { pass };
            o.ruling = Some(ruling.clone());
            Effect::Closed
        }
        (Raiser::Person(_), RulingKind::Met | RulingKind::NotMet | RulingKind::CannotJudge) => {
            o.ruling = Some(ruling.clone());
            Effect::Nothing
        }
        (Raiser::Reviewer, RulingKind::Met | RulingKind::NotMet | RulingKind::CannotJudge)
        | (Raiser::Person(_), RulingKind::Closed | RulingKind::StillOpen)
        | (Raiser::Check(_), _) => Effect::NotTheirs,
    }
}

#[cfg(test)]
mod tests;
