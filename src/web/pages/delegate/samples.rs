//! Pages with made-up repositories, for judging the page's looks and its escaping.

use crate::cycle::id::{IssueId, RepositoryId};

use crate::web::desk::Setup;

use super::form::Typed;
use super::refusal::{Field, Refusal};
use super::{Repository, View};

/// The blank form and two that were refused; `say` makes every text.
#[must_use]
pub fn samples(say: &dyn Fn(&str) -> String) -> Vec<(&'static str, View)> {
    let repositories = repositories(say);
    let setup = Setup {
        hindrance: Some(say(
            "The provider anthropic is not set up on this machine; set ANTHROPIC_API_KEY and start the service again.",
        )),
        adding: say("COUNTERSIGN_DATA=/var/lib/countersign countersign repository add NAME /path/to/repository.git"),
    };
    let typed = Typed::blank(IssueId::from_u128(42));
    let blank = |repositories, setup| View { setup, repositories, typed: typed.clone(), refusals: Vec::new() };
    let refused = Typed {
        issue: say("not an id"),
        repository: say("gone"),
        title: say(&"Rounding loses a cent when a refund is split three ways ".repeat(4)),
        body: say("`split(10_00, 3)` gives 3.33 + 3.33 + 3.33.\n\nThe cent has to go to the first part."),
        done: say("The parts always add up to the total\nNegative totals too"),
        base: say("release 2"),
        passes: say("0"),
        money: say("5,00"),
        clock: say("1.5 h"),
    };
    let refusals = match refused.check(&repositories) {
        Ok(_) => Vec::new(),
        Err(refusals) => refusals,
    };
    let declined = vec![Refusal::Declined {
        field: Field::Base,
        why: say("The repository has no branch `relase/2`. Its branches are `main` and `release/2`."),
    }];
    let no_price =
        "The model `large-2` has no known price, so no ceiling could hold it. Set its price first (zero is a price).";
    let not_set_up = vec![Refusal::NotSetUp { why: say(no_price) }];
    vec![
        ("delegate", blank(repositories.clone(), Setup::default())),
        ("delegate-hindered", blank(repositories.clone(), setup.clone())),
        ("delegate-no-repository", blank(Vec::new(), setup.clone())),
        ("delegate-refused", View::refused(repositories.clone(), refused.clone(), refusals)),
        ("delegate-declined", View::refused(repositories.clone(), refused.clone(), declined)),
        ("delegate-not-set-up", View::refused(repositories, refused, not_set_up)),
    ]
}

/// The repositories of these pages.
#[must_use]
pub fn repositories(say: &dyn Fn(&str) -> String) -> Vec<Repository> {
    let repository = |n, name: &str, base: &str, checks: &str| Repository {
        id: RepositoryId::from_u128(n),
        name: say(name),
        base: say(base),
        checks: say(checks),
    };
    vec![
        repository(1, "tidewater/ledger", "main", "build, lint, test (found in Cargo.toml)"),
        repository(2, "tidewater/statements", "trunk", "test (found in package.json)"),
    ]
}
