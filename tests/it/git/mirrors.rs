//! Fetching: what a run starts from, and each way in which it cannot.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

use countersign::cycle::id::RunId;
use countersign::git::{Error, Mirror, Remote, RunRepo, TreeLimits};

use super::bench::{Bench, branch, git, try_git};

const FILES: &[(&str, &[u8])] =
    &[("README.md", b"hello\n"), ("bin/run*", b"#!/bin/sh\n"), ("src/a.rs", b"fn a() {}\n")];

#[test]
fn a_base_is_what_the_remotes_branch_is_now() {
    let bench = Bench::with(FILES);
    let mirror = bench.mirror();
    let first = mirror.fetch(&branch("main")).unwrap();
    assert_eq!(first.commit.as_str(), bench.git(&["rev-parse", "main"]).trim());
    assert_eq!(first.tree.as_str(), bench.git(&["rev-parse", "main^{tree}"]).trim());

    let next = bench.commit_on("main", &[("README.md", b"changed\n")]);
    assert_eq!(mirror.fetch(&branch("main")).unwrap().commit.as_str(), next);
    bench.git(&["update-ref", "refs/heads/main", first.commit.as_str()]);
    assert_eq!(mirror.fetch(&branch("main")).unwrap(), first);
}

#[test]
fn a_mirror_is_fetched_into_and_holds_no_more_than_what_runs_start_from() {
    let bench = Bench::with(FILES);
    for n in 0..30 {
        bench.commit_on("main", &[("README.md", format!("{n}\n").as_bytes())]);
    }
    bench.commit_on("other", &[("secret.txt", b"of another branch\n")]);
    let mirror = bench.mirror();
    mirror.fetch(&branch("main")).unwrap();
    let path = bench.path("mirrors").join(format!("{}.git", bench.id));
    // One commit, one tree, one file: neither the thirty commits before nor the other branch.
    assert_eq!(git(&path, &["cat-file", "--batch-all-objects", "--batch-check"]).lines().count(), 3);
    assert_eq!(git(&path, &["log", "--all", "--format=%s"]).trim(), "a commit");
    git(&path, &["fsck", "--strict"]);

    let packs = || fs::read_dir(path.join("objects/pack")).unwrap().count();
    let before = packs();
    mirror.fetch(&branch("main")).unwrap();
    assert_eq!(packs(), before, "what is there was fetched again");
}

#[test]
fn a_repository_without_a_commit_says_so_and_no_branch_is_guessed() {
    let bench = Bench::new();
    bench.git(&["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    for name in ["main", "trunk"] {
        let error = bench.mirror().fetch(&branch(name)).unwrap_err();
        assert!(matches!(error, Error::Empty { .. }), "{error}");
        assert!(error.to_string().contains("has no commit yet; push a first commit"), "{error}");
    }
    assert_eq!(bench.mirror().remote_branches().unwrap(), [""; 0]);
}

#[test]
fn a_missing_base_names_the_branches_that_are_there() {
    let bench = Bench::with(FILES);
    bench.git(&["branch", "develop", "main"]);
    let error = bench.mirror().fetch(&branch("master")).unwrap_err();
    assert_eq!(error.to_string(), "the branch master is not in the repository; there are: develop, main");
    for n in 0..40 {
        bench.git(&["branch", &format!("b{n:02}"), "main"]);
    }
    let error = bench.mirror().fetch(&branch("master")).unwrap_err();
    assert!(error.to_string().ends_with("b08, b09 and 32 more"), "{error}");
}

#[test]
fn what_cannot_be_read_here_is_told_apart() {
    let bench = Bench::new();
    let fetch = |name: &str| {
        let remote = Remote::parse(bench.path(name).to_str().unwrap()).unwrap();
        Mirror::open(&bench.path("mirrors"), bench.id, &remote).unwrap().fetch(&branch("main")).unwrap_err()
    };
    git(bench.home.path(), &["init", "--quiet", "--bare", "--object-format=sha256", "sha256.git"]);
    assert!(matches!(fetch("sha256.git"), Error::ObjectFormat { .. }), "{:?}", fetch("sha256.git"));
    git(bench.home.path(), &["init", "--quiet", "--bare", "--ref-format=reftable", "reftable.git"]);
    assert!(matches!(fetch("reftable.git"), Error::Unsupported { .. }), "{:?}", fetch("reftable.git"));
    assert!(fetch("reftable.git").to_string().contains("refstorage"), "{}", fetch("reftable.git"));
    fs::create_dir(bench.path("nothing")).unwrap();
    fs::write(bench.path("file"), "not a repository").unwrap();
    for name in ["nothing", "file", "missing"] {
        assert!(matches!(fetch(name), Error::Unreachable { .. }), "{:?}", fetch(name));
    }
}

#[test]
fn a_directory_inside_a_repository_is_not_taken_for_it() {
    let bench = Bench::with(FILES);
    git(bench.home.path(), &["clone", "--quiet", "remote.git", "clone"]);
    let inside = Remote::parse(bench.path("clone/src").to_str().unwrap()).unwrap();
    let error = Mirror::open(&bench.path("mirrors"), bench.id, &inside).unwrap().fetch(&branch("main")).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_remote_with_a_work_tree_is_one_too() {
    let bench = Bench::with(FILES);
    git(bench.home.path(), &["clone", "--quiet", "remote.git", "clone"]);
    let remote = Remote::parse(bench.path("clone").to_str().unwrap()).unwrap();
    let base = Mirror::open(&bench.path("mirrors"), bench.id, &remote).unwrap().fetch(&branch("main")).unwrap();
    assert_eq!(base.commit.as_str(), bench.git(&["rev-parse", "main"]).trim());
}

#[test]
fn another_users_repository_is_refused_with_the_remedy() {
    let bench = Bench::with(FILES);
    if !rustix_is_root(&bench) {
        return;
    }
    std::os::unix::fs::chown(bench.remote_path(), Some(12_345), None).unwrap();
    let error = bench.mirror().fetch(&branch("main")).unwrap_err();
    assert!(matches!(error, Error::NotOurs { .. }), "{error:?}");
    assert!(error.to_string().contains("safe.directory"), "{error}");
}

/// Only root can give a directory away.
fn rustix_is_root(bench: &Bench) -> bool {
    fs::metadata(bench.home.path()).unwrap().uid() == 0
}

#[test]
fn branches_that_follow_one_another_as_file_and_directory_are_fetched() {
    let bench = Bench::with(FILES);
    let mirror = bench.mirror();
    bench.git(&["branch", "a", "main"]);
    mirror.fetch(&branch("a")).unwrap();
    bench.git(&["branch", "-D", "a"]);
    bench.git(&["branch", "a/b", "main"]);
    mirror.fetch(&branch("a/b")).unwrap();
    bench.git(&["branch", "-D", "a/b"]);
    bench.git(&["branch", "a", "main"]);
    mirror.fetch(&branch("a")).unwrap();
}

#[test]
fn many_runs_fetch_at_once_into_one_mirror() {
    let bench = Bench::with(FILES);
    let commits: Vec<String> =
        (0..4).map(|n| bench.commit_on(&format!("b{n}"), &[("n", format!("{n}").as_bytes())])).collect();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let (bench, commits) = (&bench, &commits);
            scope.spawn(move || {
                let mirror = bench.mirror();
                let base = mirror.fetch(&branch(&format!("b{}", n % 4))).unwrap();
                assert_eq!(base.commit.as_str(), commits[n % 4]);
                RunRepo::create(&bench.path(&format!("run-{n}")), RunId::new(), &mirror, &base.commit).unwrap();
            });
        }
    });
}

#[test]
fn what_a_killed_fetch_left_stops_no_later_one() {
    let bench = Bench::with(FILES);
    let mirror = bench.mirror();
    mirror.fetch(&branch("main")).unwrap();
    let path = bench.path("mirrors").join(format!("{}.git", bench.id));
    let kept = fs::read_dir(path.join("refs/bases")).unwrap().next().unwrap().unwrap().path();
    fs::write(kept.with_extension("lock"), "").unwrap();
    fs::write(path.join("objects/pack/pack_git2_0123456789abcdef"), "half a pack").unwrap();
    let next = bench.commit_on("main", &[("README.md", b"next\n")]);
    assert_eq!(mirror.fetch(&branch("main")).unwrap().commit.as_str(), next);
    assert!(!path.join("objects/pack/pack_git2_0123456789abcdef").exists());

    // Killed while it was being made.
    fs::remove_file(path.join("HEAD")).unwrap();
    assert_eq!(bench.mirror().fetch(&branch("main")).unwrap().commit.as_str(), next);
}

#[test]
fn only_the_services_user_can_enter_a_mirror_or_a_runs_repository() {
    let ready = Bench::with(FILES).ready();
    let mirror = ready.path("mirrors").join(format!("{}.git", ready.bench.id));
    for path in [mirror, ready.own()] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
    }
}

#[test]
fn a_run_goes_on_when_the_mirror_has_moved_with_the_data_directory() {
    let ready = Bench::with(FILES).ready();
    fs::rename(ready.path("mirrors"), ready.path("elsewhere")).unwrap();
    let mirror = ready.path("elsewhere").join(format!("{}.git", ready.bench.id));
    let repo = RunRepo::open(&ready.path("run"), ready.bench.run, &mirror).unwrap();
    assert_eq!(repo.file(&ready.base.tree, b"README.md", 100).unwrap().unwrap(), b"hello\n");
}

#[test]
fn a_mirror_that_somebody_tidies_keeps_what_runs_start_from() {
    let ready = Bench::with(FILES).ready();
    ready.bench.git(&["update-ref", "-d", "refs/heads/main"]);
    ready.bench.commit_on("main", &[("unrelated", b"x")]);
    ready.bench.mirror().fetch(&branch("main")).unwrap();
    let mirror = ready.path("mirrors").join(format!("{}.git", ready.bench.id));
    git(&mirror, &["-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"]);
    ready.repo.checkout(&ready.base.tree, &ready.path("tree")).unwrap();
    assert!(ready.path("tree/src/a.rs").exists());
}

#[test]
fn a_repository_that_is_too_large_is_refused_before_any_of_it_is_kept() {
    let bench = Bench::with(&[("a", b"0123456789"), ("b", b"0123456789"), ("c", b"0123456789")]);
    let within = |limits| bench.mirror().within(limits).fetch(&branch("main"));
    let size = || git(&bench.path("mirrors").join(format!("{}.git", bench.id)), &["count-objects", "-v"]);
    let error = within(TreeLimits { entries: 2, ..TreeLimits::default() }).unwrap_err();
    assert_eq!(error.to_string(), "the tree is too large: more than 2 entries");
    let before = size();
    let error = within(TreeLimits { bytes: 29, ..TreeLimits::default() }).unwrap_err();
    assert_eq!(error.to_string(), "the tree is too large: more than 29 bytes");
    assert_eq!(size(), before);
    within(TreeLimits { entries: 3, bytes: 30, ..TreeLimits::default() }).unwrap();
}

#[test]
fn a_tree_that_unfolds_without_end_is_refused_at_once() {
    let bench = Bench::new();
    let blob = bench.store("blob", b"bomb");
    let mut tree = bench.store_tree(&[("100644", b"f", &blob)]);
    for _ in 0..60 {
        let (mode, id) = ("40000", &tree[..]);
        tree = bench.store_tree(&[(mode, b"a", id), (mode, b"b", id), (mode, b"c", id), (mode, b"d", id)]);
    }
    bench.commit_tree("main", &tree);
    let begun = Instant::now();
    let error = bench.mirror().fetch(&branch("main")).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_tree_that_would_write_outside_its_directory_or_into_git_is_refused() {
    let bench = Bench::new();
    let blob = bench.store("blob", b"#!/bin/sh\ntouch /tmp/x\n");
    let hooks = bench.store_tree(&[("100755", b"post-checkout", &blob)]);
    let deep = (0..120).fold(hooks.clone(), |tree, _| bench.store_tree(&[("40000", b"d", &tree)]));
    let long = (0..20).fold(hooks.clone(), |tree, _| bench.store_tree(&[("40000", &[b'n'; 250], &tree)]));
    let odd: &[(&str, &[u8], &str)] = &[
        ("100644", b"../escape", &blob),
        ("100644", b"/tmp/escape", &blob),
        ("40000", b"..", &hooks),
        ("40000", b".", &hooks),
        ("100644", b"a/b", &blob),
        ("40000", b".git", &hooks),
        ("40000", b".GIT", &hooks),
        ("100644", b"git~1", &blob),
        ("100644", b".git\\hooks\\x", &blob),
        ("120000", b".git ", &blob),
        ("60000", b"device", &blob),
        ("40000", b"deep", &deep),
        ("40000", b"long", &long),
    ];
    for entry in odd {
        let tree = bench.store_tree(&[*entry]);
        bench.git(&["update-ref", "-d", "refs/heads/main"]);
        bench.commit_tree("main", &tree);
        let error = bench.mirror().fetch(&branch("main")).unwrap_err();
        assert!(matches!(error, Error::BadTree { .. }), "{entry:?}: {error:?}");
    }
    let inside = bench.store_tree(&[("40000", b"sub", &bench.store_tree(&[("40000", b".git", &hooks)]))]);
    bench.commit_tree("main", &inside);
    let error = bench.mirror().fetch(&branch("main")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sub/.git in the repository cannot be checked out: it would be taken for the repository itself"
    );
}

#[test]
fn a_remote_that_lacks_an_object_is_no_reason_to_panic() {
    let bench = Bench::with(FILES);
    let id = bench.git(&["rev-parse", "main:src/a.rs"]);
    let (head, tail) = id.trim().split_at(2);
    fs::remove_file(bench.remote_path().join("objects").join(head).join(tail)).unwrap();
    let error = bench.mirror().fetch(&branch("main")).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(try_git(&bench.path("mirrors").join(format!("{}.git", bench.id)), &["fsck", "--strict"]).is_some());
}

#[test]
fn our_branch_goes_round_the_branches_of_the_remote() {
    let bench = Bench::with(FILES);
    let name = |title: &str| bench.mirror().branch_for(42, title).unwrap().to_string();
    assert_eq!(name("Slug"), "countersign/42-slug");
    bench.git(&["branch", "countersign/42-slug", "main"]);
    assert_eq!(name("Slug"), "countersign/42-slug-2");
    bench.git(&["branch", "countersign/42-other/part", "main"]);
    assert_eq!(name("Other"), "countersign/42-other-2");
    bench.git(&["branch", "-D", "countersign/42-slug", "countersign/42-other/part"]);
    bench.git(&["branch", "countersign", "main"]);
    assert_eq!(name("Slug"), "countersign-42-slug");
    bench.git(&["branch", "countersign-42-slug", "main"]);
    assert_eq!(name("Slug"), "countersign-42-slug-2");
}
