//! What an agent leaves, and what the repository already holds.

use countersign::cycle::money::Money;
use std::process::Command;

use super::base::{Asked, FOURTH, NOTES, World, git};
use super::words::{always, approves, at, obeys, reads, rejects, script, writes};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_written_checked_read_and_delivered() {
    let told = World::new(NOTES, script([writes(&[FOURTH]), reads(approves())])).await.run().await;
    let story =
        "accepted(countersigned)\npass 1: done +1 -0 | test passed | approved\ndelivered: countersigned, pass 1";
    assert_eq!(told.story(), story);
    assert_eq!(told.delivered("notes.txt"), "first\nsecond\nthird\nfourth");
    assert_eq!(told.git(&["log", "--format=%an", told.branch(), "-1"]), "Countersign");
}

/// The agent's own commits say nothing: what counts is the tree that it leaves.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_commits_by_itself_is_judged_by_its_tree() {
    let commit = "git -c user.name=Mallory -c user.email=m@example.org commit -qam";
    for commands in [
        vec![FOURTH.to_owned(), format!("{commit} one")],
        vec![FOURTH.to_owned(), format!("{commit} one"), "echo fifth >> notes.txt".to_owned(), format!("{commit} two")],
        vec!["git checkout -q -b elsewhere".to_owned(), FOURTH.to_owned(), format!("{commit} one")],
        vec![FOURTH.to_owned(), format!("{commit} one"), format!("{commit} other --amend")],
    ] {
        let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
        let told = World::new(NOTES, script([writes(&commands), reads(approves())])).await.run().await;
        let added = if commands.len() == 4 { 2 } else { 1 };
        assert!(
            told.story().contains(&format!("pass 1: done +{added} -0 | test passed | approved")),
            "{}",
            told.story()
        );
        assert!(told.briefs("reviewer")[0].contains("+fourth"), "the reviewer saw the change");
        let authors = told.git(&["log", "--format=%an %ae %cn %s %b", told.branch()]);
        assert!(!authors.contains("Mallory") && !authors.contains("m@example.org"), "{authors}");
        assert_eq!(told.git(&["rev-list", "--count", told.branch()]), "2", "the base and one commit of ours");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_changes_nothing_has_failed_and_nothing_is_pushed() {
    for commands in [&[][..], &["echo x >> notes.txt", "git checkout -q notes.txt"], &["touch -d 2001-01-01 notes.txt"]]
    {
        let told = World::new(NOTES, script([writes(commands)])).await.run().await;
        assert_eq!(told.story(), "failed(no_change)\npass 1: done +0 -0\ndelivered: nothing");
        assert_eq!(told.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
        assert!(told.run.spent > Money::ZERO, "what it cost is recorded");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_deletes_everything_is_sent_back_and_what_it_left_is_handed_over() {
    let words =
        script([writes(&["find . -mindepth 1 -delete"]), reads(approves()), writes(&["true"]), reads(approves())]);
    let told = World::new(NOTES, words).await.run().await;
    let story = "needs_review(stalled)\n\
                 pass 1: done +0 -6 | test regressed | approved, opened K1\n\
                 pass 2: done +0 -6 | test regressed | approved\n\
                 open: K1\n\
                 delivered: needs-review, pass 2";
    assert_eq!(told.story(), story);
    assert_eq!(told.git(&["rev-list", "--count", told.branch()]), "3", "the base and a commit for each pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_branch_of_an_earlier_attempt_is_left_alone() {
    let words = script([always(writes(&[FOURTH])), always(reads(approves()))]);
    let world = World::new(NOTES, words).await;
    let first = world.delegate(Asked::default()).await.unwrap();
    let first = world.end_of(first).await;
    let second = world.delegate(Asked::default()).await.unwrap();
    world.end_of(second).await;
    let told = world.close(second).await;
    let earlier = first.preparation.unwrap().branch;
    assert_ne!(told.branch(), earlier);
    assert_eq!(told.git(&["rev-list", "--count", &earlier]), "2");
    assert_eq!(told.git(&["rev-list", "--count", told.branch()]), "2");
    assert_eq!(told.pull.as_ref().unwrap().number, 2);
}

/// Somebody else's branch of the very name that an issue of this number and title would get.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_branch_of_our_name_is_not_overwritten() {
    let world = World::new(NOTES, script([writes(&[FOURTH]), reads(approves())])).await;
    git(&world.remote, &["branch", "countersign/1-keep-better-notes", "main"]);
    let told = world.run().await;
    assert!(told.story().starts_with("accepted(countersigned)"), "{}", told.story());
    assert_ne!(told.branch(), "countersign/1-keep-better-notes");
    let theirs = told.git(&["rev-parse", "countersign/1-keep-better-notes"]);
    assert_eq!(theirs, told.git(&["rev-parse", "main"]));
}

/// A branch of the prefix's own name stands in the way of every branch below it.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_with_the_name_of_our_prefix_is_no_loss() {
    let world = World::new(NOTES, script([writes(&[FOURTH]), reads(approves())])).await;
    git(&world.remote, &["branch", "countersign", "main"]);
    let run = world.delegate(Asked::default()).await.unwrap();
    let ended = world.end_of(run).await;
    let outcome = ended.outcome.as_ref().unwrap().to_string();
    let delivery = format!("{:?}", ended.delivery);
    assert!(
        outcome.contains("`countersign`") || outcome.contains("accepted"),
        "the run says what is in the way or takes another name: {outcome}, {delivery}"
    );
    if outcome.contains("accepted") {
        assert!(delivery.contains("Done"), "{delivery}");
        assert_eq!(git(&world.remote, &["rev-parse", "countersign"]), git(&world.remote, &["rev-parse", "main"]));
    }
    world.started.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn titles_without_a_latin_letter_get_names_of_their_own_and_stay_as_they_are() {
    let words = script([always(writes(&[FOURTH])), always(reads(approves()))]);
    let world = World::new(NOTES, words).await;
    let mut branches = Vec::new();
    let mut last = None;
    for title in ["課題を直す", "🐛🔥", "!?…"] {
        let run = world.delegate(Asked { title, ..Asked::default() }).await.unwrap();
        let ended = world.end_of(run).await;
        assert_eq!(ended.outcome.unwrap().to_string(), "accepted(countersigned)");
        branches.push(ended.preparation.unwrap().branch);
        assert_eq!(world.started.app.store.find_pull_request(run).await.unwrap().unwrap().title, title);
        last = Some(run);
    }
    for (number, branch) in branches.iter().enumerate() {
        let rest = branch.strip_prefix(&format!("countersign/{}", number + 1)).unwrap_or_else(|| panic!("{branch}"));
        assert!(rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{branch}");
        assert_eq!(git(&world.remote, &["rev-list", "--count", branch]), "2");
    }
    world.close(last.unwrap()).await;
}

/// One bad entry of each kind beside a good change: the change goes through, and each omission is told.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_taken_is_left_out_and_told_beside_a_good_change() {
    let commands = [
        FOURTH,
        "git init -q nested && echo x > nested/inside.txt",
        "mkdir elsewhere && printf 'gitdir: /work/.git\\n' > elsewhere/.git",
        "mkfifo pipe && mkdir -p 'git~1'",
        "ln -s /etc/passwd outside && ln -s ../../etc up && ln -s notes.txt inside",
        "truncate -s 100M sparse.bin",
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.bind('sock')\"",
        "echo secret > locked && chmod 000 locked",
    ];
    let told = World::new(NOTES, script([writes(&commands), reads(approves())])).await.run().await;
    assert!(told.story().contains("test passed | approved"), "{}", told.story());
    assert_eq!(told.delivered("notes.txt"), "first\nsecond\nthird\nfourth");
    let left = told.left_out().join("\n");
    for named in ["nested/.git", "elsewhere/.git", "pipe", "sparse.bin", "sock"] {
        assert!(left.contains(named), "{named} is not among what was left out:\n{left}");
    }
    let body = &told.pull.as_ref().unwrap().body;
    assert!(body.contains("sparse.bin") && body.contains("pipe"), "{body}");
    let files = told.git(&["ls-tree", "-r", told.branch()]);
    assert!(!files.contains("160000"), "no repository within: {files}");
    for link in files.lines().filter(|l| l.starts_with("120000")) {
        let path = link.split('\t').nth(1).unwrap();
        assert!(!told.delivered(path).contains("root:"), "a link is a link and never what it points to");
    }
}

/// Configuration and hooks that an agent leaves run nothing of ours, in its pass or in a later one.
#[tokio::test(flavor = "multi_thread")]
async fn configuration_that_an_agent_leaves_runs_nothing_on_the_host() {
    let world =
        World::new(NOTES, script([always(obeys()), reads(rejects(&[at("notes.txt:1")])), always(reads(approves()))]))
            .await;
    let marker = world.scratch.path().join("marker");
    let program = world.scratch.path().join("program");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display())).unwrap();
    Command::new("chmod").arg("755").arg(&program).status().unwrap();
    let program = program.display();
    let keys = [
        "core.fsmonitor",
        "core.sshCommand",
        "core.askPass",
        "core.pager",
        "core.editor",
        "diff.external",
        "diff.x.textconv",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "merge.x.driver",
        "gpg.program",
        "credential.helper",
    ];
    let mut orders =
        vec!["echo more >> notes.txt".to_owned(), "echo '* filter=x diff=x merge=x' > .gitattributes".to_owned()];
    orders.extend(keys.iter().map(|key| format!("git config {key} '{program}'")));
    for hook in ["pre-commit", "post-commit", "post-checkout", "pre-push", "reference-transaction", "post-index-change"]
    {
        orders.push(format!(
            "printf '#!/bin/sh\\ntouch {}\\n' > .git/hooks/{hook}; chmod 755 .git/hooks/{hook}",
            marker.display()
        ));
    }
    let body = orders.iter().map(|o| format!("RUN: {o}")).collect::<Vec<_>>().join("\n");
    let told = world.run_as(Asked { body, ..Asked::default() }).await;
    assert!(told.run.passes.len() >= 2, "{}", told.story());
    assert!(!marker.exists(), "a program of the agent's ran outside of its sandbox");
    assert_eq!(told.git(&["show", &format!("{}:.gitattributes", told.branch())]), "* filter=x diff=x merge=x");
}
