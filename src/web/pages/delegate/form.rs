//! What was typed into the delegate form, and the delegation that it makes, or a list of refusals.

use std::time::Duration;

use crate::cycle::id::{IssueId, RepositoryId};
use crate::cycle::money::Money;

use super::refusal::{Field, Refusal};
use super::{Repository, field};

/// The fields as text, exactly as they came: this is what a refused form shows again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The issue's id, made with the blank form: sent twice, it is still one issue.
    pub issue: String,
    /// The id of a repository.
    pub repository: String,
    /// The title.
    pub title: String,
    /// The body.
    pub body: String,
    /// The Definition of Done, one item a line.
    pub done: String,
    /// The base branch; empty for the repository's own.
    pub base: String,
    /// The ceiling of passes.
    pub passes: String,
    /// The ceiling of money.
    pub money: String,
    /// The ceiling of time.
    pub clock: String,
}

/// What is delegated: every value within its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The id that the issue is to have. A second delegation with the same id is the same issue sent twice.
    pub issue: IssueId,
    /// One of the repositories that were offered.
    pub repository: RepositoryId,
    /// One line of 1–200 characters, without space around it.
    pub title: String,
    /// At most 64 KiB, line ends as `\n`.
    pub body: String,
    /// At most 50 items, none blank.
    pub done: Vec<String>,
    /// A branch name that git would take.
    pub base: String,
    /// 1–20.
    pub passes: u8,
    /// $0.01–$1,000.
    pub money: Money,
    /// 1 min–24 h.
    pub clock: Duration,
}

impl Typed {
    /// Empty fields and the default ceilings: 3 passes, $5.00, 30 min.
    #[must_use]
    pub fn blank(issue: IssueId) -> Self {
        let text = |t: &str| t.to_owned();
        Self {
            issue: issue.to_string(),
            repository: String::new(),
            title: String::new(),
            body: String::new(),
            done: String::new(),
            base: String::new(),
            passes: text("3"),
            money: text("5.00"),
            clock: text("30 min"),
        }
    }

    /// Takes the fields of a form; one that is missing is empty, of one sent twice the first counts, unknown ones are ignored.
    #[must_use]
    pub fn read(fields: &[(String, String)]) -> Self {
        // Browsers end a line of a text area with CR LF, whatever was typed.
        let value = |name: &str| {
            fields.iter().find(|(n, _)| n == name).map_or_else(String::new, |(_, v)| v.replace("\r\n", "\n"))
        };
        let field = |wanted: Field| value(wanted.name());
        Self {
            issue: value("issue"),
            repository: field(Field::Repository),
            title: field(Field::Title),
            body: field(Field::Body),
            done: field(Field::Done),
            base: field(Field::Base),
            passes: field(Field::Passes),
            money: field(Field::Money),
            clock: field(Field::Clock),
        }
    }

    /// The delegation that was typed.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the fields.
    pub fn check(&self, offered: &[Repository]) -> Result<Delegation, Vec<Refusal>> {
        let repository = offered.iter().find(|r| r.id.to_string() == self.repository).ok_or(Refusal::RepositoryUnknown);
        let (title, body, done) = (field::title(&self.title), field::body(&self.body), field::done(&self.done));
        let base = field::base(&self.base, repository.as_ref().map_or("main", |r| &r.base));
        let (passes, money, clock) =
            (field::passes(&self.passes), field::money(&self.money), field::clock(&self.clock));
        match (repository, title, body, done, base, passes, money, clock) {
            (Ok(repository), Ok(title), Ok(body), Ok(done), Ok(base), Ok(passes), Ok(money), Ok(clock)) => {
                let issue = self.issue.parse().unwrap_or_else(|_| IssueId::new());
                Ok(Delegation { issue, repository: repository.id, title, body, done, base, passes, money, clock })
            }
            (repository, title, body, done, base, passes, money, clock) => Err([
                repository.err(),
                title.err(),
                body.err(),
                done.err(),
                base.err(),
                passes.err(),
                money.err(),
                clock.err(),
            ]
            .into_iter()
            .flatten()
            .collect()),
        }
    }
}
