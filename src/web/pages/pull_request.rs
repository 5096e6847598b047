//! The record of a run's pull request on the local forge: title, label, branches and text, as they were handed over.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;

use crate::cycle::id::RunId;
use crate::web::desk::Desk;
use crate::web::error::{Error, Missing};
use crate::web::page::Page;
use crate::web::path::Named;
use crate::web::view::{Badge, Hash};
use crate::web::words::When;

/// Everything the page shows.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/pull_request.html")]
pub struct View {
    /// The run that opened it.
    pub run: RunId,
    /// The model's words were written beforehand.
    pub canned: bool,
    /// The repository's name.
    pub repository: String,
    /// The title.
    pub title: String,
    /// The label: `countersigned`, `needs-review`.
    pub label: Badge,
    /// The branch that was pushed.
    pub branch: String,
    /// The commit it ends at.
    pub head: Hash,
    /// The branch it is to be merged into.
    pub base: String,
    /// What shows the change in a clone of the repository, ready for a shell.
    pub commands: Vec<String>,
    /// When it was opened.
    pub opened: When,
    /// The text, in Markdown.
    pub body: String,
}

/// The commands that fetch a branch and show what it changes; the name of a base can be anything.
#[must_use]
pub(in crate::web) fn fetching(branch: &str, base: &str) -> Vec<String> {
    let range = format!("origin/{base}...FETCH_HEAD");
    let quoted = |text: &str| shlex::try_quote(text).map(Into::into).ok();
    let fetch = quoted(branch).map(|branch: String| format!("git fetch origin {branch}"));
    let diff = quoted(&range).map(|range: String| format!("git diff {range}"));
    fetch.into_iter().chain(diff).collect()
}

/// Answers `GET /runs/{run}/pull-request`.
pub(in crate::web) async fn show<D: Desk>(State(desk): State<Arc<D>>, Named(run): Named) -> Result<Page<View>, Error> {
    desk.pull_request(run).await?.map(Page).ok_or(Error::NotFound(Missing::PullRequest))
}

/// A pull request of each label; `say` makes every text.
#[must_use]
pub fn samples(say: &dyn Fn(&str) -> String) -> Vec<(&'static str, View)> {
    let body = "## Accepted · countersigned\n\nTwo passes. A second agent read the change and signed it off, and the checks pass on exactly this tree.\n\n\
                ### Checks\n\n| check | before | now |\n| --- | --- | --- |\n| `build` | passed | passed |\n| `test-postgres` | failed | failed before too |\n\n\
                ### Budget\n\nPasses 2 of 3 · money $0.63 of $5.00 · time 5 min 03 s of 30 min\n";
    let view = |tone, label: &str| View {
        run: RunId::from_u128(42),
        canned: true,
        repository: say("tidewater/ledger"),
        title: say("Rounding loses a cent when a refund is split three ways"),
        label: Badge::new(tone, say(label)),
        branch: say("countersign/42-rounding-loses-a-cent"),
        head: Hash { short: say("e02b9f1"), full: say("e02b9f14c1f0e2d3c4b5a69788796a5b4c3d2e10") },
        base: say("main"),
        commands: fetching("countersign/42-rounding-loses-a-cent", &say("main")),
        opened: When::ago(1_772_618_533, 1_772_625_000),
        body: say(body),
    };
    vec![
        ("pull-request", view(crate::web::view::Tone::Good, "countersigned")),
        ("pull-request-needs-review", view(crate::web::view::Tone::Warn, "needs-review")),
    ]
}
