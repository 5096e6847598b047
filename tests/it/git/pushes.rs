//! A push makes or moves one branch of ours, or changes nothing and says why.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use countersign::cycle::id::CommitId;
use countersign::git::{BranchName, CommitInfo, Error, Pushed, Remote};

use super::bench::{Bench, Ready, branch, git, write};

const OURS: &str = "countersign/7-a-change";

impl Ready {
    /// A commit of the run on top of another one, with this text in `a.txt`.
    fn pass(&self, parent: &CommitId, text: &str) -> CommitId {
        let work = self.path(&format!("work-{text}"));
        write(&work.join("a.txt"), text.as_bytes());
        let info = CommitInfo {
            tree: self.import(&work).tree,
            parent: parent.clone(),
            subject: text.to_owned(),
            run: self.bench.run,
            pass: 1,
            role: "implementer".to_owned(),
            at: 1_700_000_000,
        };
        self.repo.commit(&info).unwrap()
    }

    fn push(&self, commit: &CommitId, expected: Option<&CommitId>) -> Result<Pushed, Error> {
        self.push_to(&branch(OURS), commit, expected)
    }

    fn push_to(&self, to: &BranchName, commit: &CommitId, expected: Option<&CommitId>) -> Result<Pushed, Error> {
        self.repo.push(&self.bench.remote(), (to, commit), expected, &[branch("main")])
    }

    /// All that the remote has, so that nothing changed where nothing should.
    fn refs(&self) -> String {
        self.bench.git(&["for-each-ref", "--format=%(refname) %(objectname)"])
    }
}

fn ready() -> Ready {
    Ready::with(&[("a.txt", b"one\n")])
}

#[test]
fn a_branch_is_made_moved_on_and_pushed_again_without_harm() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    let second = ready.pass(&first, "second");
    assert_eq!(ready.push(&first, None).unwrap(), Pushed::New);
    assert_eq!(ready.push(&first, None).unwrap(), Pushed::AlreadyThere);
    assert_eq!(ready.push(&second, Some(&first)).unwrap(), Pushed::Moved);
    // The answer to the push before was lost: what it did is known from the branch.
    assert_eq!(ready.push(&second, None).unwrap(), Pushed::AlreadyThere);
    assert_eq!(ready.bench.git(&["rev-parse", OURS]).trim(), second.as_str());
    assert_eq!(ready.bench.git(&["show", &format!("{OURS}:a.txt")]), "second");
    ready.bench.git(&["fsck", "--strict"]);
}

#[test]
fn nothing_is_pushed_over_what_the_run_did_not_make() {
    let ready = ready();
    let (first, main) = (ready.pass(&ready.base.commit, "first"), ready.bench.git(&["rev-parse", "main"]));
    ready.push(&first, None).unwrap();
    let theirs = ready.bench.commit_on(OURS, &[("a.txt", b"a person's fix\n")]);
    let before = ready.refs();
    let second = ready.pass(&first, "second");
    for expected in [None, Some(&first)] {
        let refused = ready.push(&second, expected).unwrap_err();
        assert!(matches!(refused, Error::ForeignBranch { .. }), "{refused}");
        assert!(refused.to_string().contains(OURS), "{refused}");
    }
    // Nor is the branch ever moved back, even to where it was.
    assert!(matches!(ready.push(&first, None).unwrap_err(), Error::ForeignBranch { .. }));
    assert_eq!((ready.refs(), main), (before, ready.bench.git(&["rev-parse", "main"])));
    assert_ne!(theirs, second.as_str());
}

#[test]
fn a_branch_is_never_moved_back_or_sideways() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    let (second, aside) = (ready.pass(&first, "second"), ready.pass(&first, "aside"));
    ready.push(&second, None).unwrap();
    for other in [&first, &aside] {
        let refused = ready.push(other, Some(&second)).unwrap_err();
        assert!(matches!(refused, Error::NotFastForward { .. }), "{refused}");
        assert_eq!(ready.bench.git(&["rev-parse", OURS]).trim(), second.as_str());
    }
}

#[test]
fn a_base_branch_is_never_pushed_to_under_any_name() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    let before = ready.refs();
    let named = ready.push_to(&branch("main"), &first, None).unwrap_err();
    assert!(matches!(named, Error::Forbidden { .. }), "{named}");
    // Nor where nobody says that it is one: the remote's default branch, or one that somebody works on.
    let default = ready.repo.push(&ready.bench.remote(), (&branch("main"), &first), None, &[]).unwrap_err();
    assert!(matches!(default, Error::Forbidden { .. }), "{default}");
    ready.bench.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    let alias = ready.push_to(&branch("alias"), &first, None).unwrap_err();
    assert!(matches!(alias, Error::ForeignBranch { .. }), "{alias}");
    ready.bench.git(&["symbolic-ref", "--delete", "refs/heads/alias"]);
    assert_eq!(ready.refs(), before);
}

#[test]
fn a_branch_that_somebody_has_checked_out_is_left_alone() {
    let bench = Bench::with(&[("a.txt", b"one\n")]);
    bench.git(&["branch", OURS]);
    git(bench.home.path(), &["-C", "remote.git", "worktree", "add", "-q", "../desk", OURS]);
    let ready = bench.ready();
    let first = ready.pass(&ready.base.commit, "first");
    let before = ready.refs();
    let refused = ready.push(&first, None).unwrap_err();
    assert!(refused.to_string().contains("checked out there"), "{refused}");
    assert_eq!(ready.refs(), before);
}

#[test]
fn a_name_that_git_cannot_hold_beside_another_is_refused_with_that_name() {
    for (theirs, ours) in [("countersign", OURS), ("countersign/7-a-change/x", OURS)] {
        let bench = Bench::with(&[("a.txt", b"one\n")]);
        bench.git(&["branch", theirs]);
        let ready = bench.ready();
        let first = ready.pass(&ready.base.commit, "first");
        let before = ready.refs();
        let refused = ready.push_to(&branch(ours), &first, None).unwrap_err();
        assert!(matches!(&refused, Error::Blocked { by, .. } if by == theirs), "{refused}");
        assert_eq!(ready.refs(), before);
    }
}

#[test]
fn only_commits_of_the_run_are_pushed() {
    let ready = ready();
    let foreign: CommitId = ready.bench.commit_on("other", &[("a.txt", b"other\n")]).parse().unwrap();
    let before = ready.refs();
    for commit in [&foreign, &"1234567890123456789012345678901234567890".parse().unwrap()] {
        ready.push(commit, None).unwrap_err();
        assert_eq!(ready.refs(), before);
    }
}

/// Both see no branch, or the same one; exactly one of them gets it.
#[test]
fn of_pushes_at_the_same_time_one_wins_and_the_others_are_told() {
    for round in 0..20 {
        let ready = ready();
        let commits: Vec<CommitId> = (0..4).map(|n| ready.pass(&ready.base.commit, &format!("{round}-{n}"))).collect();
        let done: Vec<Result<Pushed, Error>> = std::thread::scope(|scope| {
            let all: Vec<_> = commits.iter().map(|commit| scope.spawn(|| ready.push(commit, None))).collect();
            all.into_iter().map(|push| push.join().unwrap()).collect()
        });
        let won: Vec<usize> = (0..4).filter(|n| matches!(done[*n], Ok(Pushed::New))).collect();
        assert_eq!(won.len(), 1, "{done:?}");
        for refused in done.iter().filter_map(|d| d.as_ref().err()) {
            assert!(matches!(refused, Error::ForeignBranch { .. } | Error::Locked { .. }), "{refused:?}");
        }
        assert_eq!(ready.bench.git(&["rev-parse", OURS]).trim(), commits[won[0]].as_str());
        ready.bench.git(&["fsck", "--strict", "--connectivity-only"]);
    }
}

/// All go on from the same commit; one of them is next, and what it put there stays.
#[test]
fn of_moves_at_the_same_time_one_wins() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    let next: Vec<CommitId> = (0..4).map(|n| ready.pass(&first, &format!("next-{n}"))).collect();
    for round in 0..20 {
        let to = branch(&format!("countersign/{round}"));
        ready.push_to(&to, &first, None).unwrap();
        let done: Vec<Result<Pushed, Error>> = std::thread::scope(|scope| {
            let all: Vec<_> = next.iter().map(|c| scope.spawn(|| ready.push_to(&to, c, Some(&first)))).collect();
            all.into_iter().map(|push| push.join().unwrap()).collect()
        });
        let won: Vec<usize> = (0..4).filter(|n| matches!(done[*n], Ok(Pushed::Moved))).collect();
        assert_eq!(won.len(), 1, "{done:?}");
        assert_eq!(ready.bench.git(&["rev-parse", to.as_str()]).trim(), next[won[0]].as_str());
    }
}

/// Each writing step is a commit that names its pass, also where it left the tree as it was: the branch tells the run.
#[test]
fn a_pass_that_changes_nothing_has_a_commit_of_its_own() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    let info = |pass| CommitInfo {
        tree: git(&ready.own(), &["rev-parse", &format!("{first}^{{tree}}")]).trim().parse().unwrap(),
        parent: first.clone(),
        subject: "first".to_owned(),
        run: ready.bench.run,
        pass,
        role: "implementer".to_owned(),
        at: 1_700_000_000,
    };
    let (second, third) = (ready.repo.commit(&info(2)).unwrap(), ready.repo.commit(&info(3)).unwrap());
    assert_eq!(ready.repo.commit(&info(2)).unwrap(), second, "the same step again is the same commit");
    assert_ne!(second, third);
    ready.push(&first, None).unwrap();
    assert_eq!(ready.push(&second, Some(&first)).unwrap(), Pushed::Moved);
    let passes =
        ready.bench.git(&["log", "--format=%(trailers:key=Countersign-Pass,valueonly)", &format!("main..{OURS}")]);
    assert_eq!(passes.split_whitespace().collect::<Vec<_>>(), ["2", "1"]);
    assert_eq!(ready.bench.git(&["diff", "--name-only", first.as_str(), OURS]), "");
}

#[test]
fn a_remote_that_is_gone_or_lost_the_base_is_told_apart() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    let gone = Remote::parse(ready.path("nowhere.git").to_str().unwrap()).unwrap();
    let refused = ready.repo.push(&gone, (&branch(OURS), &first), None, &[]).unwrap_err();
    assert!(matches!(&refused, Error::Unreachable { .. }), "{refused:?}");
    assert!(refused.to_string().contains("nowhere.git"), "{refused}");

    fs::remove_dir_all(ready.bench.remote_path()).unwrap();
    git(ready.bench.home.path(), &["init", "--quiet", "--bare", "-b", "main", "remote.git"]);
    ready.bench.commit_on("main", &[("b.txt", b"begun anew\n")]);
    let before = ready.refs();
    let refused = ready.push(&first, None).unwrap_err();
    assert!(matches!(refused, Error::BaseGone { .. }), "{refused:?}");
    assert_eq!(ready.refs(), before);
}

#[test]
fn a_lock_or_a_disk_that_says_no_is_told_and_passes() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    let lock = ready.bench.remote_path().join(format!("refs/heads/{OURS}.lock"));
    write(&lock, b"");
    let refused = ready.push(&first, None).unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused:?}");
    fs::remove_file(&lock).unwrap();

    // A file stands where a directory would have to be made: what even root is refused.
    let heads = ready.bench.remote_path().join("refs/heads");
    fs::remove_dir_all(heads.join("countersign")).unwrap();
    write(&heads.join("countersign"), b"not a reference\n");
    ready.push(&first, None).unwrap_err();
    fs::remove_file(heads.join("countersign")).unwrap();
    assert_eq!(ready.push(&first, None).unwrap(), Pushed::New);
}

/// The remote's people have their own rights; what we leave there they can use.
#[test]
fn what_is_pushed_can_be_fetched_by_others() {
    let ready = ready();
    let first = ready.pass(&ready.base.commit, "first");
    ready.push(&first, None).unwrap();
    git(ready.bench.home.path(), &["clone", "-q", "-b", OURS, "remote.git", "clone"]);
    assert_eq!(fs::read(ready.path("clone/a.txt")).unwrap(), b"first");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let reference = ready.bench.remote_path().join("refs/heads").join(OURS);
    assert_eq!(mode(&reference), mode(&ready.bench.remote_path().join("refs/heads/main")));
}
