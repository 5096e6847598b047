//! Repositories from which no run can start: said before anything is spent, in a sentence that says what to do.

use countersign::cycle::money::Money;
use std::path::Path;

use super::base::{Asked, NOTES, Told, World, git};
use super::words::script;

async fn over(make: impl FnOnce(&Path)) -> World {
    let scratch = tempfile::tempdir().unwrap();
    let remote = scratch.path().join("remote.git");
    make(&remote);
    World::over(scratch, remote, script([]), |_| ()).await
}

/// The cause of a run that could not start; nothing was spent, pushed, or asked of a model.
fn refusal(told: &Told) -> String {
    let story = told.story();
    assert!(told.run.spent == Money::ZERO && told.requests.is_empty() && told.run.passes.is_empty(), "{story}");
    assert!(story.ends_with("delivered: nothing"), "{story}");
    let countersign::cycle::outcome::Outcome::Failed(countersign::cycle::outcome::Failure::PrepareFailed(cause)) =
        told.run.outcome.clone().unwrap()
    else {
        panic!("{story}")
    };
    cause
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_a_first_commit_is_refused_and_no_branch_is_guessed() {
    for branch in ["trunk", "main"] {
        let world =
            over(|at| drop(git(at.parent().unwrap(), &["init", "-q", "--bare", "-b", branch, "remote.git"]))).await;
        let cause = refusal(&world.run_as(Asked { base: "main", ..Asked::default() }).await);
        assert!(cause.contains("has no commit yet") && cause.contains("push a first commit"), "{cause}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_does_not_exist_is_named_beside_those_that_do() {
    let world = World::new(NOTES, script([])).await;
    let cause = refusal(&world.run_as(Asked { base: "mian", ..Asked::default() }).await);
    assert!(cause.contains("mian") && cause.contains("main"), "{cause}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_went_away_is_named() {
    let world = World::new(NOTES, script([])).await;
    std::fs::rename(&world.remote, world.scratch.path().join("moved.git")).unwrap();
    let run = world.delegate(Asked::default()).await.unwrap();
    world.end_of(run).await;
    std::fs::rename(world.scratch.path().join("moved.git"), &world.remote).unwrap();
    let cause = refusal(&world.close(run).await);
    assert!(cause.contains("remote.git") && cause.contains("cannot be reached"), "{cause}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_repository_that_cannot_be_read_say_where_and_what_would_be_right() {
    for (settings, expected) in [
        ("[[check]]\nname = \"test\"\ncomand = \"true\"\n", "did you mean `command`?"),
        ("[[check]\n", "line 1"),
        ("[[check]]\nname = \"test\"\ncommand = \"true\"\ntimeout = \"soon\"\n", "timeout"),
    ] {
        let world = World::new(&[("a.txt", "a\n"), (".countersign.toml", settings)], script([])).await;
        let cause = refusal(&world.run().await);
        assert!(cause.contains(".countersign.toml") && cause.contains(expected), "{cause}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_required_check_that_cannot_run_on_the_base_ends_the_run_before_it_costs_anything() {
    let settings = "[[check]]\nname = \"test\"\ncommand = \"no-such-program\"\n";
    let world = World::new(&[("a.txt", "a\n"), (".countersign.toml", settings)], script([])).await;
    let cause = refusal(&world.run().await);
    assert!(cause.contains("the required check test (`no-such-program`) cannot run on the base commit"), "{cause}");
    assert!(cause.contains("127") || cause.contains("not found") || cause.contains("missing"), "{cause}");
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_is_refused_with_what_to_do_instead() {
    for (network, expected) in [("true", "network"), ("false", "at the start of the check's own command")] {
        let settings = format!("[setup]\ncommands = [\"npm ci\"]\nnetwork = {network}\n");
        let world = World::new(&[("a.txt", "a\n"), (".countersign.toml", &settings)], script([])).await;
        let cause = refusal(&world.run().await);
        assert!(cause.contains("npm ci") && cause.contains(expected), "{cause}");
    }
}
