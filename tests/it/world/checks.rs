//! Checks as repositories really have them: red before anybody came, silent, waiting, flooding, lying.

use countersign::cycle::checks::AttemptEnd;

use super::base::{Asked, FOURTH, NOTES, Told, World};
use super::words::{always, approves, reads, script, writes};

/// A repository whose required check is this command, with `more` settings after it.
fn checked_by(command: &str, more: &str) -> Vec<(&'static str, String)> {
    let settings = format!("[[check]]\nname = \"test\"\ncommand = '''{command}'''\n{more}");
    vec![("notes.txt", "first\nsecond\nthird\n".to_owned()), (".countersign.toml", settings)]
}

/// One pass: this is written, and the reviewer approves whatever it is.
async fn approved_whatever(files: &[(&str, String)], commands: &[&str]) -> Told {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let words = script([always(writes(commands)), always(reads(approves()))]);
    World::new(&files, words).await.run_as(Asked { passes: 1, ..Asked::default() }).await
}

/// Names its tests one a line; `broken` stands for the tests that fail.
const SUITE: &str =
    r#"echo TAP version 13; echo "1..$(grep -c . broken)"; sed "s/.*/not ok - &/" broken; test ! -s broken"#;

fn suite(broken: &str) -> Vec<(&'static str, String)> {
    let mut files = checked_by(SUITE, "");
    files.push(("broken", broken.to_owned()));
    files
}

/// A red base is a fact that everybody is told, and no silent pass.
#[tokio::test(flavor = "multi_thread")]
async fn what_failed_before_the_agent_came_is_told_apart_from_what_it_broke() {
    let told = approved_whatever(&suite("old\n"), &[FOURTH]).await;
    assert!(told.story().contains("| test failed before |"), "{}", told.story());
    assert!(told.briefs("reviewer")[0].contains("old"), "the reviewer gets it as a fact");

    let told = approved_whatever(&suite("old\n"), &[FOURTH, "echo new >> broken"]).await;
    assert!(told.story().contains("| test regressed by new |"), "{}", told.story());
    assert!(told.story().starts_with("needs_review("), "{}", told.story());
    let body = &told.pull.as_ref().unwrap().body;
    assert!(body.contains("new"), "the pull request names the new failure: {body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_nothing_to_run_is_neither_green_nor_red() {
    let told =
        approved_whatever(&[("README", "Read me.\n".to_owned()), ("a.txt", "a\n".to_owned())], &["echo b >> a.txt"])
            .await;
    let story =
        "needs_review(no_checks)\npass 1: done +1 -0 | nothing to run | approved\ndelivered: needs-review, pass 1";
    assert_eq!(told.story(), story);
    let says_so =
        |text: &str| text.to_lowercase().contains("nothing to run") || text.to_lowercase().contains("no check");
    assert!(says_so(&told.briefs("reviewer")[0]), "{}", told.briefs("reviewer")[0]);
    assert!(says_so(&told.pull.as_ref().unwrap().body), "{}", told.pull.as_ref().unwrap().body);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_without_checks_is_accepted_only_where_the_repository_says_so() {
    let settings = ".countersign.toml";
    let files = [("a.txt", "a\n".to_owned()), (settings, "accept_without_checks = true\n".to_owned())];
    let told = approved_whatever(&files, &["echo b >> a.txt"]).await;
    assert!(told.story().starts_with("accepted(countersigned)"), "{}", told.story());
}

/// Standard input is at its end, there is no terminal to open, and nothing prompts.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_waits_for_a_person_ends_at_once_or_at_its_own_limit() {
    for (command, passes_by_itself) in [
        ("read x || true", true),
        ("cat > /dev/null", true),
        ("! (cat < /dev/tty)", true),
        ("! git fetch https://example.invalid/private", true),
        ("git --paginate log > /dev/null 2>&1 || true", true),
        ("! grep -q fourth notes.txt || sleep 600", false),
    ] {
        let told = approved_whatever(&checked_by(&format!("{command}\n"), "timeout = \"2s\"\n"), &[FOURTH]).await;
        let expected = if passes_by_itself { "| test passed |" } else { "| test regressed |" };
        assert!(told.story().contains(expected), "{command}: {}", told.story());
        assert_eq!(told.story().starts_with("accepted("), passes_by_itself, "{command}: {}", told.story());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_no_text_is_kept_with_its_exit_code() {
    let noise = r"if grep -q fourth notes.txt; then printf '\377\376 \000 '; head -c 1000000 /dev/urandom; printf '\033[31'; exit 3; fi";
    let told = approved_whatever(&checked_by(noise, ""), &[FOURTH]).await;
    assert!(told.story().contains("| test regressed |"), "{}", told.story());
    let attempts = &told.run.passes[0].verification.as_ref().unwrap().runs[0].attempts;
    assert!(attempts.iter().all(|a| a.end == AttemptEnd::Exit(3)), "{attempts:?}");
    let body = &told.pull.as_ref().unwrap().body;
    assert!(!body.contains('\0') && !body.contains('\u{1b}'), "no control character leaves the product");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_floods_is_cut_and_judged_by_how_it_ends() {
    let told = approved_whatever(&checked_by("yes | head -c 50000000", ""), &[FOURTH]).await;
    assert!(told.story().starts_with("accepted(countersigned)"), "{}", told.story());
}

/// What counts is the exit code that the service saw, in a sandbox that the agent never was in.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_is_not_fooled_by_what_the_agent_leaves_around_it() {
    let check = "test -s notes.txt && ! grep -q fourth notes.txt";
    for commands in [
        &[FOURTH, "echo 'test result: ok. 5 passed; 0 failed'", "mkdir -p target && echo passed > target/result"][..],
        &[
            FOURTH,
            "printf '#!/bin/sh\\nexit 0\\n' > grep && chmod +x grep",
            "echo 'export PATH=.:$PATH' > $HOME/.profile",
        ],
        &[FOURTH, "printf '[[check]]\\nname = \"test\"\\ncommand = \"true\"\\n' > .countersign.toml"],
    ] {
        let told = approved_whatever(&checked_by(check, ""), commands).await;
        assert!(told.story().contains("| test regressed |"), "{commands:?}: {}", told.story());
        assert!(told.story().starts_with("needs_review("), "{}", told.story());
    }
}

/// A check that gives another answer on the same tree is no regression, and no proof either.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_fails_by_chance_is_called_flaky() {
    // Nothing outlives a sandbox, so the only source of another answer is chance itself: fails every other time on the
    // changed tree.
    let chance = "! grep -q fourth notes.txt || test $(od -An -N1 -tu1 /dev/urandom) -lt 128";
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let told = approved_whatever(&checked_by(chance, ""), &[FOURTH]).await;
        let story = told.story();
        let outcome = story.split(" | ").nth(1).unwrap().to_owned();
        seen.insert(outcome.clone());
        if outcome == "test flaky" {
            return;
        }
    }
    panic!("never flaky in 40 runs: {seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_green_tree_that_was_not_read_is_not_accepted() {
    let told = World::new(NOTES, script([writes(&[FOURTH])])).await.run().await;
    assert!(!told.story().starts_with("accepted"), "{}", told.story());
}
