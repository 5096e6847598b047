//! Implementers that are cut off, go too far, or only talk.

use std::time::Duration;

use countersign::cycle::outcome::Ceiling;
use countersign::cycle::step::Written;

use super::base::{Asked, FOURTH, NOTES, World};
use super::words::{always, answers, approves, at, reads, rejects, script, talks, writes};

/// The least time that a run can be given.
const SHORTEST: Duration = Duration::from_secs(60);

/// The agent is cut with a share of the time left, in which its work is verified; nobody has read it.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_works_on_until_the_time_is_up_hands_over_what_it_has() {
    let words = script([writes(&[FOURTH, "sleep 300"]), reads(approves())]);
    let told = World::new(NOTES, words).await.run_as(Asked { clock: SHORTEST, ..Asked::default() }).await;
    let story = "needs_review(budget_clock)\n\
                 pass 1: cut by clock +1 -0 | test passed\n\
                 delivered: needs-review, pass 1";
    assert_eq!(told.story(), story);
    assert_eq!(told.delivered("notes.txt"), "first\nsecond\nthird\nfourth");
    let written = told.run.passes[0].written.as_ref();
    assert!(matches!(written, Some(Written::Cut { ceiling: Ceiling::Clock, .. })), "{written:?}");
    assert!(told.run.used <= SHORTEST, "it was cut at four fifths: {:?}", told.run.used);
    let body = &told.pull.as_ref().unwrap().body;
    assert!(body.contains("time ceiling") && body.contains("No review was finished."), "{body}");
}

/// What the agent may ask of one command is less than what a step has; the command ends and the agent goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_hangs_costs_the_agent_its_own_limit_and_not_the_step() {
    let mut hangs = writes(&["sleep 300", FOURTH]);
    hangs.turn[0].tools[0].input.insert("timeout".to_owned(), 1.into());
    let told = World::new(NOTES, script([hangs, reads(approves())])).await.run().await;
    assert!(told.story().starts_with("accepted(countersigned)"), "{}", told.story());
    assert!(told.requests.iter().any(|r| r.contains("stopped after 1 s")), "the agent is told why it ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_under_a_protected_path_is_signed_by_nobody_and_comes_first() {
    let workflow = ".github/workflows/ci.yml";
    let change = format!("mkdir -p .github/workflows; echo 'on: push' > {workflow}");
    let told = World::new(NOTES, script([writes(&[FOURTH, &change]), reads(approves())])).await.run().await;
    let story = "needs_review(protected_paths)\n\
                 pass 1: done +2 -0 | test passed | approved\n\
                 delivered: needs-review, pass 1";
    assert_eq!(told.story(), story);
    let body = &told.pull.as_ref().unwrap().body;
    let (named, checks) = (body.find(workflow).unwrap(), body.find("### Checks").unwrap());
    assert!(named < checks, "{body}");
}

/// What counts is the change against the base: what was taken back was not changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_protected_path_that_is_put_back_stands_in_nobodys_way() {
    let words = script([
        writes(&[FOURTH, "echo '# mine' >> .countersign.toml"]),
        reads(rejects(&[at(".countersign.toml:1")])),
        answers(&["sed -i '$d' .countersign.toml"], &[("F1", "fixed", "It is as it was.")]),
        reads(super::words::ruling(approves(), &[("F1", "closed")])),
    ]);
    let told = World::new(NOTES, words).await.run().await;
    assert!(told.story().starts_with("accepted(countersigned)"), "{}", told.story());
    assert_eq!(told.git(&["diff", "--name-only", "main", told.branch()]), "notes.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_only_talks_has_changed_nothing_whatever_it_claims() {
    let words = script([talks("implementer", &["I fixed everything, and all tests pass."]), reads(approves())]);
    let told = World::new(NOTES, words).await.run().await;
    assert_eq!(told.story(), "failed(no_change)\npass 1: done +0 -0\ndelivered: nothing");
    assert!(told.briefs("reviewer").is_empty(), "there was nothing to review");
}

/// The base's checks go on being run on a tree without a single file, and what was lost is told.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_deletes_everything_is_caught_by_the_checks_of_the_base() {
    let words = script([writes(&["rm -rf ./* ./.[!.]*"]), always(reads(approves()))]);
    let told = World::new(NOTES, words).await.run_as(Asked { passes: 1, ..Asked::default() }).await;
    let story = "needs_review(budget_passes)\n\
                 pass 1: done +0 -6 | test regressed | approved, opened K1\n\
                 open: K1\n\
                 delivered: needs-review, pass 1";
    assert_eq!(told.story(), story);
    assert_eq!(told.git(&["ls-tree", "--name-only", told.branch()]), "");
    let body = &told.pull.as_ref().unwrap().body;
    assert!(body.contains("The check `test` fails") && body.contains(".countersign.toml"), "{body}");
}

/// What would go out is the tree of the pass before, which nobody signed.
#[tokio::test(flavor = "multi_thread")]
async fn the_work_that_went_back_to_the_base_is_never_countersigned() {
    let words = script([
        writes(&[FOURTH]),
        reads(rejects(&[at("notes.txt:4")])),
        answers(&["sed -i '$d' notes.txt"], &[("F1", "fixed", "It is gone.")]),
        reads(super::words::ruling(approves(), &[("F1", "closed")])),
    ]);
    let told = World::new(NOTES, words).await.run().await;
    let story = "needs_review(oscillating)\n\
                 pass 1: done +1 -0 | test passed | rejected, opened F1\n\
                 pass 2: done +0 -0 | test passed | approved\n\
                 delivered: needs-review, pass 1";
    assert_eq!(told.story(), story);
}
