//! What an agent, or a repository, plants so that git runs it or looks elsewhere. Each trick is first shown to work on the
//! git program itself; then the service does all that it ever does, and nothing has happened.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use countersign::cycle::id::TreeId;
use countersign::git::{Base, CommitInfo, Pushed};

use super::bench::{Bench, Ready, branch, command, git, run, try_git, write};

/// Everything that the service does with what an agent left.
fn serve(ready: &Ready, work: &Path, pass: u8) -> TreeId {
    let tree = ready.import(work).tree;
    ready.repo.import_known(work, &tree, &Default::default()).unwrap();
    let commit = commit(ready, &ready.base, &tree, pass);
    let diff = ready.repo.diff(&ready.base.tree, &tree, &Default::default()).unwrap();
    assert_eq!(diff.text(10_000).digest.len(), 64);
    for file in ready.repo.regular_files(&tree).unwrap() {
        ready.repo.file(&tree, &file, 1_000).unwrap();
        ready.repo.line_count(&tree, &file).unwrap();
    }
    ready.repo.checkout(&tree, &ready.path(&format!("checks-{pass}"))).unwrap();
    ready.repo.checkout_with_git(&tree, &ready.path(&format!("reviewer-{pass}"))).unwrap();
    let own = branch(&format!("countersign/{pass}"));
    let pushed = ready.repo.push(&ready.bench.remote(), (&own, &commit), None, &[]).unwrap();
    assert_eq!(pushed, Pushed::New);
    tree
}

fn commit(ready: &Ready, base: &Base, tree: &TreeId, pass: u8) -> countersign::cycle::id::CommitId {
    let info = CommitInfo {
        tree: tree.clone(),
        parent: base.commit.clone(),
        subject: "A change".to_owned(),
        run: ready.bench.run,
        pass,
        role: "implementer".to_owned(),
        at: 1_700_000_000,
    };
    ready.repo.commit(&info).unwrap()
}

/// A program that leaves a trace beside the tree.
struct Marker {
    program: PathBuf,
    trace: PathBuf,
}

impl Marker {
    fn new(at: &Path) -> Self {
        let (program, trace) = (at.join("planted"), at.join("marker"));
        // It reads nothing and says nothing that its caller could take for an answer.
        write(&program, format!("#!/bin/sh\n: > '{}'\nexit 1\n", trace.display()).as_bytes());
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { program, trace }
    }

    /// Whether it ran since the last time this was asked.
    fn ran(&self) -> bool {
        fs::remove_file(&self.trace).is_ok()
    }
}

enum Planted {
    /// A key of the configuration, whose value is the program.
    Key(&'static str),
    /// The same, and an attribute for all files.
    Attribute(&'static str, &'static str),
    /// A hook.
    Hook(&'static str),
    /// A key of a file that the configuration includes.
    Included(&'static str),
    /// A key of a file that the configuration includes where a branch has its name.
    IncludedIf(&'static str),
    /// A key, and an attribute that no tracked file holds.
    OwnAttribute(&'static str, &'static str),
    /// A key, and a second one with a value that makes git use it.
    With(&'static str, &'static str, &'static str),
}

/// What is planted, and the git command that runs it.
const PROGRAMS: &[(Planted, &[&str])] = &[
    (Planted::Key("core.fsmonitor"), &["status"]),
    (Planted::Included("core.fsmonitor"), &["status"]),
    (Planted::Attribute("filter.odd.clean", "filter=odd"), &["add", "-A"]),
    (Planted::Attribute("filter.odd.smudge", "filter=odd"), &["checkout-index", "-fa"]),
    (Planted::Attribute("filter.odd.process", "filter=odd"), &["add", "-A"]),
    (Planted::Key("diff.external"), &["diff"]),
    (Planted::Attribute("diff.odd.textconv", "diff=odd"), &["diff"]),
    (Planted::Attribute("diff.odd.command", "diff=odd"), &["diff"]),
    (Planted::IncludedIf("core.fsmonitor"), &["status"]),
    (Planted::OwnAttribute("filter.odd.clean", "filter=odd"), &["add", "-A"]),
    (Planted::Key("sequence.editor"), &["rebase", "-i", "--autostash", "--root"]),
    (Planted::Key("core.askPass"), &["credential", "fill"]),
    (Planted::Key("core.gitProxy"), &["fetch", "git://127.0.0.1:9/x"]),
    (Planted::With("remote.odd.uploadpack", "remote.odd.url", "../remote.git"), &["fetch", "odd"]),
    (Planted::With("remote.odd.receivepack", "remote.odd.url", "../remote.git"), &["push", "odd", "HEAD:refs/heads/x"]),
    (Planted::With("gpg.ssh.program", "gpg.format", "ssh"), &["commit", "--allow-empty", "-Skey", "-m", "x"]),
    (Planted::Key("trailer.odd.cmd"), &["interpret-trailers", "--trailer", "odd=x"]),
    (Planted::Key("core.editor"), &["commit", "--allow-empty"]),
    (Planted::With("gpg.program", "commit.gpgSign", "true"), &["commit", "--allow-empty", "-m", "x"]),
    (Planted::Key("core.sshCommand"), &["fetch", "ssh://127.0.0.1:9/x"]),
    (Planted::Key("credential.helper"), &["credential", "fill"]),
    (Planted::Hook("pre-commit"), &["commit", "--allow-empty", "-m", "x"]),
    (Planted::Hook("post-commit"), &["commit", "--allow-empty", "-m", "x"]),
    (Planted::Hook("reference-transaction"), &["commit", "--allow-empty", "-m", "x"]),
    (Planted::Hook("prepare-commit-msg"), &["commit", "--allow-empty", "-m", "x"]),
    (Planted::Hook("commit-msg"), &["commit", "--allow-empty", "-m", "x"]),
    (Planted::Hook("post-checkout"), &["checkout", "-q", "-b", "x"]),
    (Planted::Hook("post-index-change"), &["add", "-A"]),
    (Planted::Hook("pre-push"), &["push", "../remote.git", "HEAD:refs/heads/by-the-agent"]),
];

fn plant(work: &Path, marker: &Marker, planted: &Planted) {
    let value = marker.program.to_str().unwrap();
    let set = |key: &str, value: &str| drop(git(work, &["config", key, value]));
    match planted {
        Planted::Key(key) => set(key, value),
        Planted::Attribute(key, attribute) => {
            set(key, value);
            write(&work.join(".gitattributes"), format!("* {attribute}\n").as_bytes());
        }
        Planted::Hook(hook) => {
            set("core.hooksPath", work.join("hooks").to_str().unwrap());
            for at in ["hooks", ".git/hooks"] {
                fs::create_dir_all(work.join(at)).unwrap();
                fs::copy(&marker.program, work.join(at).join(hook)).unwrap();
            }
        }
        Planted::Included(key) => {
            git(work, &["config", "-f", "included", key, value]);
            set("include.path", work.join("included").to_str().unwrap());
        }
        Planted::IncludedIf(key) => {
            git(work, &["config", "-f", "included", key, value]);
            set("includeIf.onbranch:work.path", work.join("included").to_str().unwrap());
        }
        Planted::OwnAttribute(key, attribute) => {
            set(key, value);
            write(&work.join(".git/info/attributes"), format!("* {attribute}\n").as_bytes());
        }
        Planted::With(key, other, on) => {
            set(key, value);
            set(other, on);
        }
    }
}

#[test]
fn no_program_that_an_agent_names_to_git_runs_outside_of_its_sandbox() {
    for (planted, control) in PROGRAMS {
        let ready = Ready::with(&[("a.txt", b"one\n"), ("b.txt", b"two\n")]);
        let (marker, work) = (Marker::new(ready.bench.home.path()), ready.path("work"));
        ready.repo.checkout_with_git(&ready.base.tree, &work).unwrap();
        write(&work.join("a.txt"), b"changed by the agent\n");
        plant(&work, &marker, planted);
        let plain = command(&work, control).env("GIT_TERMINAL_PROMPT", "0").stdin(std::process::Stdio::piped()).spawn();
        let mut plain = plain.unwrap();
        let asked = b"protocol=https\nhost=example.org\n\n";
        let _ = std::io::Write::write_all(&mut plain.stdin.take().unwrap(), asked);
        plain.wait().unwrap();
        assert!(marker.ran(), "git {control:?} does not run it, so this row shows nothing");

        let first = serve(&ready, &work, 1);
        assert_ne!(first, ready.base.tree);
        write(&work.join("a.txt"), b"changed in the next pass\n");
        let second = serve(&ready, &work, 2);
        assert_ne!(first, second);
        assert!(!marker.ran(), "the service runs what `git {control:?}` runs");
    }
}

/// The same from the other side: what the repository itself tracks, or a remote's own hooks and settings.
#[test]
fn no_program_of_a_repository_or_of_its_remote_runs_in_the_service() {
    let bench = Bench::with(&[("a.txt", b"one\n"), (".gitattributes", b"* filter=odd diff=odd merge=odd\n")]);
    let marker = Marker::new(bench.home.path());
    let value = marker.program.to_str().unwrap();
    for key in
        ["filter.odd.clean", "filter.odd.smudge", "diff.odd.textconv", "core.fsmonitor", "uploadpack.packObjectsHook"]
    {
        bench.git(&["config", key, value]);
    }
    for hook in ["pre-receive", "update", "post-receive", "post-update", "reference-transaction"] {
        fs::create_dir_all(bench.remote_path().join("hooks")).unwrap();
        fs::copy(&marker.program, bench.remote_path().join("hooks").join(hook)).unwrap();
    }
    try_git(&bench.remote_path(), &["update-ref", "refs/heads/control", "main"]);
    assert!(marker.ran(), "git does not run the remote's hooks, so this shows nothing");

    let ready = bench.ready();
    let work = ready.checkout("work");
    write(&work.join("a.txt"), b"changed\n");
    serve(&ready, &work, 1);
    assert!(!marker.ran());
}

/// A tree that git is told lies elsewhere, or is to be kept out of sight.
#[test]
fn where_an_agents_git_points_nothing_is_read() {
    let ready = Ready::with(&[("a.txt", b"one\n")]);
    let (work, host) = (ready.path("work"), ready.path("host"));
    write(&host.join("canary.txt"), b"a canary of the host\n");
    ready.repo.checkout_with_git(&ready.base.tree, &work).unwrap();
    write(&work.join("a.txt"), b"changed\n");
    git(&work, &["config", "core.worktree", host.to_str().unwrap()]);
    assert!(git(&work, &["status", "--porcelain", "-uall"]).contains("canary"), "git does look there");
    let tree = serve(&ready, &work, 1);
    assert_eq!(git(&ready.own(), &["ls-tree", "--name-only", tree.as_str()]), "a.txt\n");

    // The same with a file instead of the directory, and with the index of somebody else.
    fs::remove_dir_all(work.join(".git")).unwrap();
    git(&host, &["init", "--quiet"]);
    write(&work.join(".git"), format!("gitdir: {}\n", host.join(".git").display()).as_bytes());
    assert!(git(&work, &["rev-parse", "--git-dir"]).contains("host"), "git does go there");
    assert_eq!(serve(&ready, &work, 2), tree);
    fs::remove_file(work.join(".git")).unwrap();
    symlink(host.join(".git"), work.join(".git")).unwrap();
    assert_eq!(serve(&ready, &work, 3), tree);
}

/// Two repositories of one service: nothing that the agent of one writes gives it the other's objects.
#[test]
fn an_agent_cannot_borrow_the_objects_of_another_repository() {
    let theirs = Ready::with(&[("secret.txt", b"their code\n")]);
    let secret = git(&theirs.own(), &["rev-parse", &format!("{}:secret.txt", theirs.base.tree.as_str())]);
    let ours = Ready::with(&[("a.txt", b"one\n")]);
    let work = ours.path("work");
    ours.repo.checkout_with_git(&ours.base.tree, &work).unwrap();
    let objects = theirs.bench.remote_path().join("objects");
    write(&work.join(".git/objects/info/alternates"), format!("{}\n", objects.display()).as_bytes());
    assert_eq!(git(&work, &["cat-file", "-p", secret.trim()]), "their code\n", "git does borrow");
    let index = [("GIT_INDEX_FILE", ".git/index")];
    let line = format!("100644 {}\tstolen.txt\n", secret.trim());
    run(&work, &["update-index", "--index-info"], &index, line.as_bytes());
    git(&work, &["commit", "-qm", "stolen"]);

    serve(&ours, &work, 1);
    for repository in [ours.own(), ours.bench.remote_path()] {
        assert_eq!(try_git(&repository, &["cat-file", "-e", secret.trim()]), None, "{repository:?}");
    }
}

/// Addresses that an agent sets are not where the work goes.
#[test]
fn the_work_goes_to_the_address_of_the_repository_and_to_no_other() {
    let ready = Ready::with(&[("a.txt", b"one\n")]);
    let (work, evil) = (ready.path("work"), ready.path("evil.git"));
    git(ready.bench.home.path(), &["init", "--quiet", "--bare", "evil.git"]);
    ready.repo.checkout_with_git(&ready.base.tree, &work).unwrap();
    let (evil_path, remote) = (evil.to_str().unwrap().to_owned(), ready.bench.remote_path());
    git(&work, &["config", &format!("url.{evil_path}.insteadOf"), remote.to_str().unwrap()]);
    git(&work, &["config", &format!("url.{evil_path}.pushInsteadOf"), remote.to_str().unwrap()]);
    git(&work, &["push", "-q", remote.to_str().unwrap(), "HEAD:refs/heads/control"]);
    let refs = |of: &Path| git(of, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs(&evil), "refs/heads/control\n", "git does push elsewhere");

    write(&work.join("a.txt"), b"changed\n");
    serve(&ready, &work, 1);
    assert_eq!(refs(&evil), "refs/heads/control\n");
    assert_eq!(refs(&remote), "refs/heads/countersign/1\nrefs/heads/main\n");
}

/// Replacements and grafts make git show another history than the one that is named.
#[test]
fn what_a_remote_replaces_is_not_what_a_run_starts_from() {
    let bench = Bench::with(&[("a.txt", b"one\n")]);
    let true_tree = bench.git(&["rev-parse", "main^{tree}"]);
    let main = bench.git(&["rev-parse", "main"]).trim().to_owned();
    let other = bench.commit_on("other", &[("a.txt", b"replaced\n")]);
    bench.git(&["replace", &main, &other]);
    assert_ne!(bench.git(&["rev-parse", "main^{tree}"]), true_tree, "git does replace");
    let ready = bench.ready();
    assert_eq!(ready.base.tree.as_str(), true_tree.trim());
    assert_eq!(ready.repo.file(&ready.base.tree, b"a.txt", 100).unwrap().unwrap(), b"one\n");
}

/// Who made a commit, and when, is the service's to say: forged names and trailers go nowhere.
#[test]
fn the_commits_that_are_pushed_are_the_services_own() {
    let ready = Ready::with(&[("a.txt", b"one\n")]);
    let work = ready.path("work");
    ready.repo.checkout_with_git(&ready.base.tree, &work).unwrap();
    write(&work.join("a.txt"), b"changed\n");
    let forged = "--author=The Maintainer <maintainer@example.org>";
    git(
        &work,
        &["commit", "-qa", forged, "--date=2001-01-01T00:00:00Z", "-m", "Fixes #1\n\nReviewed-by: A Maintainer"],
    );
    serve(&ready, &work, 1);
    let said = ready.bench.git(&["log", "--format=%an|%cn|%ae|%ad|%B", "--date=unix", "main..countersign/1"]);
    assert!(said.starts_with("Countersign|Countersign|countersign@localhost|1700000000|A change\n"), "{said}");
    assert!(!said.contains("aintainer") && !said.contains("Fixes"), "{said}");

    let info = CommitInfo {
        tree: ready.base.tree.clone(),
        parent: ready.base.commit.clone(),
        subject: "x\n\nSigned-off-by: A Maintainer <m@example.org>\r\n\u{202e}Reviewed-by: y".to_owned(),
        run: ready.bench.run,
        pass: 1,
        role: "implementer\n\nReviewed-by: z".to_owned(),
        at: 0,
    };
    let commit = ready.repo.commit(&info).unwrap();
    let message = git(&ready.own(), &["log", "-1", "--format=%(trailers:only,keyonly)", commit.as_str()]);
    assert_eq!(message.trim(), "Countersign-Run\nCountersign-Pass\nCountersign-Role");
}

/// Names the home of a hostile user in the process that the test below starts.
const HOME: &str = "HOME_OF_THE_HOSTILE_USER";
const INSIDE: &str = "git::hostile::what_the_configuration_of_the_services_user_says_changes_nothing";

/// The service's user, and the machine, have settings of their own; an environment names repositories of its own. The
/// test starts itself with them, since a process reads them once.
#[test]
fn what_the_configuration_of_the_services_user_says_changes_nothing() {
    if let Some(home) = inside() {
        return under_a_hostile_home(&home);
    }
    let bench = Bench::new();
    let (marker, home) = (Marker::new(bench.home.path()), bench.home.path());
    let program = marker.program.display();
    write(&home.join("ignored"), b"*.txt\n");
    write(&home.join("attributes"), b"* filter=odd text eol=crlf ident\n");
    write(&home.join("template/hooks/pre-commit"), b"from a template");
    let config = format!(
        "[core]\n fsmonitor = {program}\n hooksPath = {home}\n excludesFile = {home}/ignored\n \
         attributesFile = {home}/attributes\n autocrlf = true\n fileMode = false\n symlinks = false\n \
         worktree = /etc\n sharedRepository = 0666\n logAllRefUpdates = always\n\
         [filter \"odd\"]\n clean = {program}\n smudge = {program}\n process = {program}\n required = true\n\
         [init]\n templateDir = {home}/template\n defaultBranch = odd\n\
         [user]\n name = Mallory\n email = mallory@example.org\n[diff]\n external = {program}\n renames = false\n\
         [url \"{home}/evil.git\"]\n insteadOf = /\n",
        home = home.display(),
    );
    write(&home.join(".gitconfig"), config.as_bytes());
    write(&home.join("work/a.txt"), b"a\n");
    git(&home.join("work"), &["init", "--quiet"]);
    let mut plain = command(&home.join("work"), &["status"]);
    plain.env("HOME", home).output().unwrap();
    assert!(marker.ran(), "git does read the user's configuration");

    let home_text = home.to_str().unwrap();
    let mut again = itself();
    again.args(["--exact", INSIDE, "--nocapture"]).env("HOME", home).env(HOME, home).env("XDG_CONFIG_HOME", home);
    for name in
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"]
    {
        again.env(name, format!("{home_text}/elsewhere"));
    }
    again
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", home)
        .env("GIT_AUTHOR_NAME", "Mallory")
        .env("GIT_SSH_COMMAND", &marker.program);
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(!marker.ran(), "{said}");
    assert!(!home.join("elsewhere").exists());
}

#[expect(clippy::disallowed_methods, reason = "whether this is the process that the test started")]
fn inside() -> Option<PathBuf> {
    std::env::var_os(HOME).map(PathBuf::from)
}

#[expect(clippy::disallowed_methods, reason = "the test starts itself with another environment")]
fn itself() -> std::process::Command {
    std::process::Command::new(std::env::current_exe().unwrap())
}

fn under_a_hostile_home(home: &Path) {
    let ready = Ready::with(&[("a.txt", b"one\n"), ("run*", b"#!/bin/sh\n"), (".gitignore", b"*.log\n")]);
    let work = ready.path("work");
    ready.repo.checkout_with_git(&ready.base.tree, &work).unwrap();
    assert!(!work.join(".git/hooks/pre-commit").exists(), "nothing comes from a template");
    assert_eq!(ready.import(&work).tree, ready.base.tree);
    write(&work.join("new.txt"), b"$Id$\r\n");
    symlink("a.txt", work.join("link")).unwrap();
    let tree = serve(&ready, &work, 1);
    let listed = git(&ready.own(), &["ls-tree", "-r", "--format=%(objectmode) %(path)", tree.as_str()]);
    assert_eq!(listed, "100644 .gitignore\n100644 a.txt\n120000 link\n100644 new.txt\n100755 run\n");
    assert_eq!(ready.repo.file(&tree, b"new.txt", 100).unwrap().unwrap(), b"$Id$\r\n");
    assert_eq!(fs::read(ready.path("checks-1/new.txt")).unwrap(), b"$Id$\r\n");
    assert_eq!(ready.bench.git(&["log", "--format=%an", "main..countersign/1"]), "Countersign\n");
    assert!(!ready.bench.remote_path().join("logs").exists(), "no log is begun that the remote does not keep");
    assert!(!home.join("evil.git").exists());
}
