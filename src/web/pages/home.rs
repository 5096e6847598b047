//! The first page: all runs, newest first, each with its outcome and the sentence that explains it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;

use crate::cycle::id::RunId;
use crate::web::desk::{Desk, Setup};
use crate::web::error::Error;
use crate::web::page::Page;
use crate::web::prose::{self, Line};
use crate::web::view::Badge;
use crate::web::words::When;

/// Everything the page shows.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/home.html")]
pub struct View {
    /// What to know of the service.
    pub setup: Setup,
    /// How many runs there are of each kind.
    pub tally: Tally,
    /// The runs, newest first.
    pub rows: Vec<Row>,
    /// How many older runs the list leaves out.
    pub older: u64,
    /// The repositories that are known: without one, the page says how to get one.
    pub repositories: usize,
}

/// Numbers over all runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Waiting or going on.
    pub running: u64,
    /// Ended as "needs review".
    pub needs_review: u64,
    /// Ended as accepted.
    pub accepted: u64,
    /// Ended in any other way.
    pub other: u64,
}

impl Tally {
    /// How many runs there are.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.running + self.needs_review + self.accepted + self.other
    }
}

/// One run.
#[derive(Debug, Clone)]
pub struct Row {
    /// The run.
    pub run: RunId,
    /// The title.
    pub title: String,
    /// Outcome, or what it is doing.
    pub outcome: Badge,
    /// The model's words were written beforehand.
    pub canned: bool,
    /// The sentence that explains it.
    pub sentence: Line,
    /// The repository's name.
    pub repository: String,
    /// `2 of 3 passes`.
    pub passes: String,
    /// What it cost; `—` where unknown.
    pub money: String,
    /// How long it took; `—` before it began.
    pub took: String,
    /// When it was delegated.
    pub delegated: When,
}

/// Answers `GET /`.
pub(in crate::web) async fn show<D: Desk>(State(desk): State<Arc<D>>) -> Result<Page<View>, Error> {
    desk.home().await.map(Page)
}

/// Pages with made-up runs, `say` making every text: for judging the page's looks and its escaping.
#[must_use]
pub fn samples(say: &dyn Fn(&str) -> String) -> Vec<(&'static str, View)> {
    use crate::web::view::Tone;
    let now = 1_772_625_000;
    let row = |n: u128, tone, outcome: &str, title: &str, sentence: &str, used: [&str; 3], at: i64| Row {
        run: RunId::from_u128(n),
        title: say(title),
        outcome: Badge::new(tone, say(outcome)),
        canned: n.is_multiple_of(2),
        sentence: Line::new(&say(sentence)),
        repository: say("tidewater/ledger"),
        passes: say(used[0]),
        money: say(used[1]),
        took: say(used[2]),
        delegated: When::ago(at, now),
    };
    let rows = vec![
        row(
            1,
            Tone::Live,
            "reviewing, pass 1",
            "Importer reads a header-only file as one empty record",
            "Pass 1 is written and its checks pass; the second agent is reading it.",
            ["1 of 3 passes", "$0.19", "2 min 10 s"],
            now - 150,
        ),
        row(
            2,
            Tone::Good,
            "accepted · countersigned",
            "Rounding loses a cent when a refund is split three ways",
            "Two passes: the reviewer showed that negative refunds still lose a cent (`src/split.rs:41`); the second pass closed it.",
            ["2 of 3 passes", "$0.63", "5 min 03 s"],
            now - 6_400,
        ),
        row(
            3,
            Tone::Warn,
            "needs review · stalled",
            "Retry the export when the archive is locked",
            "Stopped after pass 3: two passes in a row left the same tree and the same failing check `test`. The branch is delivered, not signed off.",
            ["3 of 5 passes", "$1.84", "17 min 40 s"],
            now - 95_000,
        ),
        row(
            5,
            Tone::Bad,
            "failed · prepare_failed",
            "Support leap seconds in statement dates",
            "Nothing was started: the base branch `relase/2` does not exist in this repository.",
            ["0 of 3 passes", "$0.00", "1 s"],
            now - 300_000,
        ),
        row(
            7,
            Tone::Plain,
            "cancelled",
            "繰り返し仕訳の日付が月末で一日ずれる",
            "Cancelled in pass 1 while the work was being done; nothing was pushed.",
            ["1 of 3 passes", "$0.07", "48 s"],
            now - 5_000_000,
        ),
    ];
    let setup = Setup {
        hindrance: None,
        adding: say("COUNTERSIGN_DATA=/var/lib/countersign countersign repository add NAME /path/to/repository.git"),
    };
    let tally = Tally { running: 1, needs_review: 1, accepted: 1, other: 2 };
    vec![
        ("home", View { setup: Setup::default(), tally, rows, older: 12, repositories: 2 }),
        (
            "home-empty",
            View { setup: setup.clone(), tally: Tally::default(), rows: Vec::new(), older: 0, repositories: 2 },
        ),
        (
            "home-no-repository",
            View { setup: setup.clone(), tally: Tally::default(), rows: Vec::new(), older: 0, repositories: 0 },
        ),
    ]
}
