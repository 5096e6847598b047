//! The page of a run: one sentence that explains it, what is still open, and the timeline grouped by pass.

pub mod samples;
pub mod timeline;

use std::sync::Arc;

use askama::Template;
use axum::extract::State;

use crate::cycle::id::RunId;
use crate::web::desk::Desk;
use crate::web::diff;
use crate::web::error::{Error, Missing};
use crate::web::page::Page;
use crate::web::path::Named;
use crate::web::prose::{self, Line};
use crate::web::view::{Badge, Hash, Meter, Tone};
use crate::web::words::{self, When};

use timeline::{Finding, Group};

/// Everything the page shows.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/run.html")]
pub struct View {
    /// The run.
    pub run: RunId,
    /// What is above the title.
    pub heading: Heading,
    /// Outcome and assurance first, then the mode, then what else is said in a word.
    pub badges: Vec<Badge>,
    /// The model's words were written beforehand, which every page of such a run says.
    pub canned: bool,
    /// The whole run in one sentence.
    pub summary: Summary,
    /// What happens at this moment, while the run goes on.
    pub now: Option<Now>,
    /// What a person has to know to take over, where the outcome is "needs review".
    pub hand_over: Option<HandOver>,
    /// What was asked for.
    pub issue: Issue,
    /// The timeline, in the order things happened.
    pub groups: Vec<Group>,
    /// How much of the three ceilings is used.
    pub budget: Budget,
    /// What came out and where it is.
    pub result: Outcome,
    /// Who worked on it.
    pub who: Vec<Who>,
}

/// Where the run belongs.
#[derive(Debug, Clone)]
pub struct Heading {
    /// The repository's name.
    pub repository: String,
    /// The issue's title.
    pub title: String,
    /// The branch it starts from.
    pub base: String,
    /// The commit it starts from, once it is known.
    pub commit: Option<Hash>,
    /// When it was delegated.
    pub delegated: When,
}

/// The sentence at the top.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The tone of the whole.
    pub tone: Tone,
    /// The sentence.
    pub sentence: Line,
}

/// What is going on.
#[derive(Debug, Clone)]
pub struct Now {
    /// In words, with the pass: `Reviewing the work of pass 2`.
    pub doing: String,
    /// Since when.
    pub since: When,
    /// Why nothing moves and until when, while the run waits.
    pub waiting: Option<String>,
    /// The time the page was made.
    pub as_of: When,
}

/// What the person who takes over finds first.
#[derive(Debug, Clone)]
pub struct HandOver {
    /// Where the work is, as a sentence; why the run stopped is said by the summary.
    pub stands: Line,
    /// The obligations that are open.
    pub open: Vec<Finding>,
    /// What can be done now, one sentence each.
    pub next: Vec<Line>,
}

/// The issue as it was delegated.
#[derive(Debug, Clone)]
pub struct Issue {
    /// Its text.
    pub body: String,
    /// Its Definition of Done.
    pub done: Vec<String>,
}

/// The three ceilings.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Passes.
    pub passes: Meter,
    /// Money.
    pub money: Meter,
    /// The wall clock.
    pub clock: Meter,
}

/// What the run left.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The delivery's own state: `delivered`, `not delivered: …`, `nothing to deliver`.
    pub delivery: Badge,
    /// Why the delivery is where it is, if a word does not say it.
    pub note: Option<Line>,
    /// The pushed branch.
    pub branch: Option<String>,
    /// The pull request's label, where there is a pull request.
    pub label: Option<String>,
}

/// One role of the run.
#[derive(Debug, Clone)]
pub struct Who {
    /// `Implementer`, `Reviewer`.
    pub role: String,
    /// The agent: `built-in`.
    pub agent: String,
    /// The model.
    pub model: String,
    /// The effort, where one is set.
    pub effort: Option<String>,
}

/// Answers `GET /runs/{run}`.
pub(in crate::web) async fn show<D: Desk>(State(desk): State<Arc<D>>, Named(run): Named) -> Result<Page<View>, Error> {
    desk.run(run).await?.map(Page).ok_or(Error::NotFound(Missing::Run))
}
