//! What a step made goes on on another machine.

use countersign::cycle::id::CommitId;
use countersign::git::{CommitInfo, Mirror, RunRepo};

use super::bench::{Ready, write};

/// A commit of the run that writes one file.
fn step(ready: &Ready, parent: &CommitId, pass: u8, file: &str) -> CommitId {
    let tree = ready.checkout(&format!("tree-{pass}"));
    write(&tree.join(file), format!("of pass {pass}").as_bytes());
    let info = CommitInfo {
        tree: ready.import(&tree).tree,
        parent: parent.clone(),
        subject: "x".into(),
        run: ready.bench.run,
        pass,
        role: "implementer".into(),
        at: 1,
    };
    ready.repo.commit(&info).unwrap()
}

#[test]
fn a_machine_that_has_the_remote_and_the_packs_has_the_run() {
    let ready = Ready::with(&[("kept.txt", b"kept"), ("src/a.rs", b"a")]);
    let first = step(&ready, &ready.base.commit, 1, "src/one.txt");
    let second = step(&ready, &first, 2, "two.txt");
    let packs = [&first, &second].map(|commit| ready.repo.pack(commit).unwrap());
    assert!(packs.iter().all(|pack| pack.len() < 1_000), "only what is new is in them");
    // The branch goes on meanwhile; what the run started from is still in the remote.
    ready.bench.commit_on("main", &[("unrelated", b"x")]);

    let mirror = Mirror::open(&ready.path("mirrors-elsewhere"), ready.bench.id, &ready.bench.remote()).unwrap();
    mirror.fetch_commit(&ready.base.commit).unwrap();
    let repo = RunRepo::create(&ready.path("run-elsewhere"), ready.bench.run, &mirror, &ready.base.commit).unwrap();
    assert!(!repo.has(&second));
    for (commit, pack) in [&first, &second].into_iter().zip(&packs) {
        repo.unpack(commit, pack).unwrap();
        repo.unpack(commit, pack).unwrap();
        assert!(repo.has(commit));
    }
    for (commit, file, content) in [(&first, "src/one.txt", "of pass 1"), (&second, "two.txt", "of pass 2")] {
        let to = ready.path(&format!("out-{}", commit.short()));
        repo.checkout(&tree_of(&ready, commit), &to).unwrap();
        assert_eq!(std::fs::read_to_string(to.join(file)).unwrap(), content);
        assert_eq!(std::fs::read_to_string(to.join("kept.txt")).unwrap(), "kept");
    }
}

fn tree_of(ready: &Ready, commit: &CommitId) -> countersign::cycle::id::TreeId {
    super::bench::git(&ready.own(), &["rev-parse", &format!("{commit}^{{tree}}")]).trim().parse().unwrap()
}

#[test]
fn a_pack_that_is_broken_or_another_ones_is_refused() {
    let ready = Ready::with(&[("a.txt", b"a")]);
    let first = step(&ready, &ready.base.commit, 1, "one.txt");
    let pack = ready.repo.pack(&first).unwrap();
    let mirror = ready.bench.mirror();
    let repo = RunRepo::create(&ready.path("elsewhere"), ready.bench.run, &mirror, &ready.base.commit).unwrap();
    for broken in [&pack[..pack.len() / 2], b"no pack", b""] {
        assert!(repo.unpack(&first, broken).is_err());
    }
    assert!(repo.unpack(&"1".repeat(40).parse().unwrap(), &pack).is_err(), "it is not in there");
}
