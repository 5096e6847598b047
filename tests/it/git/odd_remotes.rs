//! Remotes that somebody tampered with or that broke: what has nothing to do with a run stops no run.

use std::fs;

use countersign::cycle::id::{CommitId, RunId};
use countersign::git::{CommitInfo, Error, Pushed, RunRepo};

use super::bench::{Bench, Ready, branch, bytes_path, git, write};

const OURS: &str = "countersign/7-a-change";

fn push(ready: &Ready) -> Result<Pushed, Error> {
    let work = ready.checkout("changed");
    write(&work.join("a.txt"), b"changed\n");
    let info = CommitInfo {
        tree: ready.import(&work).tree,
        parent: ready.base.commit.clone(),
        subject: "A change".to_owned(),
        run: ready.bench.run,
        pass: 1,
        role: "implementer".to_owned(),
        at: 1_700_000_000,
    };
    let commit: CommitId = ready.repo.commit(&info).unwrap();
    ready.repo.push(&ready.bench.remote(), (&branch(OURS), &commit), None, &[branch("main")])
}

/// Each is written where the remote keeps its branches.
const ODD: &[(&str, &[u8], &[u8])] = &[
    ("a name like an option", b"-x", b""),
    ("a name that is not UTF-8", b"caf\xe9", b""),
    ("a name that nobody can see", "x\u{202e}y".as_bytes(), b""),
    ("a branch called HEAD", b"HEAD", b""),
    ("a branch called like a full reference", b"refs/heads/main", b""),
    ("one that holds garbage", b"garbage", b"not a commit\n"),
    ("one that holds nothing", b"empty", b"\n"),
    ("one that points to nothing", b"dangling", b"ref: refs/heads/nowhere\n"),
    ("one that points to itself", b"loop", b"ref: refs/heads/loop\n"),
    ("one that points out of the repository", b"out", b"ref: refs/../../../../etc/passwd\n"),
    ("one whose commit is missing", b"missing", b"1234567890123456789012345678901234567890\n"),
    ("one that is locked for ever", b"stuck.lock", b""),
];

#[test]
fn odd_branches_beside_the_base_stop_neither_a_fetch_nor_a_push() {
    for (what, name, content) in ODD {
        let bench = Bench::with(&[("a.txt", b"one\n")]);
        let main = bench.git(&["rev-parse", "main"]);
        let content = if content.is_empty() { main.as_bytes() } else { *content };
        let at = bytes_path(&bench.remote_path().join("refs/heads"), name);
        write(&at, content);
        let named = bench.mirror().branch_for(7, "A change");
        assert_eq!(named.as_ref().map(ToString::to_string).ok().as_deref(), Some(OURS), "{what}: {named:?}");
        let ready = bench.ready();
        assert_eq!(ready.base.commit.as_str(), main.trim(), "{what}");
        let pushed = push(&ready);
        assert!(matches!(pushed, Ok(Pushed::New)), "{what}: {pushed:?}");
        assert_eq!(fs::read(at).unwrap(), content, "{what}");
        assert_eq!(ready.bench.git(&["rev-parse", "main"]), main, "{what}");
    }
}

/// A graft gives a commit other parents than it names; the commit that a run starts from is the one that is stored.
#[test]
fn grafts_of_a_remote_leave_its_mirror_and_its_runs_whole() {
    let bench = Bench::with(&[("a.txt", b"one\n")]);
    let first = bench.git(&["rev-parse", "main"]).trim().to_owned();
    let second = bench.commit_on("main", &[("a.txt", b"two\n")]);
    write(&bench.remote_path().join("info/grafts"), format!("{second}\n").as_bytes());
    assert_eq!(bench.git(&["rev-list", "main"]).lines().count(), 1, "git does graft");
    let ready = bench.ready();
    let mirror = ready.path("mirrors").join(format!("{}.git", ready.bench.id));
    for repository in [&mirror, &ready.own()] {
        git(repository, &["fsck", "--strict"]);
    }
    assert!(matches!(push(&ready), Ok(Pushed::New)));
    fs::remove_file(ready.bench.remote_path().join("info/grafts")).unwrap();
    let log = ready.bench.git(&["rev-list", OURS]);
    assert!(log.contains(&first) && log.contains(&second), "{log}");
}

/// Two repositories of the service never meet: a run of one cannot be made from the mirror of the other.
#[test]
fn a_commit_of_another_repository_is_no_base() {
    let (ours, theirs) = (Bench::with(&[("a.txt", b"one\n")]), Bench::with(&[("secret.txt", b"their code\n")]));
    let secret = theirs.mirror().fetch(&branch("main")).unwrap();
    let mirror = ours.mirror();
    mirror.fetch(&branch("main")).unwrap();
    RunRepo::create(&ours.path("run"), RunId::new(), &mirror, &secret.commit).unwrap_err();
    assert!(!mirror.remote_branches().unwrap().is_empty());
}
