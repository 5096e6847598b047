//! A remote made by the git program, a mirror of it, and a run.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use countersign::cycle::id::{RepositoryId, RunId};
use countersign::git::{Base, BranchName, ImportLimits, Imported, Mirror, Remote, RunRepo};

pub(crate) struct Bench {
    pub(crate) home: tempfile::TempDir,
    pub(crate) id: RepositoryId,
    pub(crate) run: RunId,
}

/// A bench whose remote has a branch `main`, fetched, with a run on it.
pub(crate) struct Ready {
    pub(crate) bench: Bench,
    pub(crate) base: Base,
    pub(crate) repo: RunRepo,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self { home: tempfile::tempdir().unwrap(), id: RepositoryId::new(), run: RunId::new() };
        git(bench.home.path(), &["init", "--quiet", "--bare", "-b", "main", "remote.git"]);
        bench
    }

    /// A remote with these files in one commit on `main`; a name that ends with `*` is executable.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let bench = Self::new();
        bench.commit_on("main", files);
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn remote_path(&self) -> PathBuf {
        self.path("remote.git")
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::parse(self.remote_path().to_str().unwrap()).unwrap()
    }

    pub(crate) fn mirror(&self) -> Mirror {
        Mirror::open(&self.path("mirrors"), self.id, &self.remote()).unwrap()
    }

    /// Runs git in the remote.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.remote_path(), args)
    }

    /// Commits these files, and no others, onto a branch of the remote.
    pub(crate) fn commit_on(&self, branch: &str, files: &[(&str, &[u8])]) -> String {
        let work = tempfile::tempdir_in(self.home.path()).unwrap();
        write_files(work.path(), files);
        let tree = add_all(&self.remote_path(), work.path(), &self.path("index-of-the-remote"));
        self.commit_tree(branch, &tree)
    }

    /// Commits a tree of the remote onto one of its branches.
    pub(crate) fn commit_tree(&self, branch: &str, tree: &str) -> String {
        let parent = try_git(&self.remote_path(), &["rev-parse", "--verify", "--quiet", branch]);
        let mut args = vec!["commit-tree", tree, "-m", "a commit"];
        if let Some(parent) = parent.as_deref() {
            args.extend(["-p", parent.trim()]);
        }
        let commit = self.git(&args).trim().to_owned();
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &commit]);
        commit
    }

    /// Stores an object of the remote exactly as given, however odd.
    pub(crate) fn store(&self, kind: &str, content: &[u8]) -> String {
        let args = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
        run(&self.remote_path(), &args, &[], content).trim().to_owned()
    }

    /// Stores a tree of these entries, however odd.
    pub(crate) fn store_tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut raw = Vec::new();
        for (mode, name, id) in entries {
            raw.extend_from_slice(format!("{mode} ").as_bytes());
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend((0..20).map(|n| u8::from_str_radix(&id[2 * n..2 * n + 2], 16).unwrap()));
        }
        self.store("tree", &raw)
    }

    pub(crate) fn ready(self) -> Ready {
        let mirror = self.mirror();
        let base = mirror.fetch(&branch("main")).unwrap();
        let directory = self.path("run");
        let repo = RunRepo::create(&directory, self.run, &mirror, &base.commit).unwrap();
        Ready { bench: self, base, repo }
    }
}

impl Ready {
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        Bench::with(files).ready()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.bench.path(name)
    }

    /// The base checked out into a new directory.
    pub(crate) fn checkout(&self, name: &str) -> PathBuf {
        let to = self.path(name);
        self.repo.checkout(&self.base.tree, &to).unwrap();
        to
    }

    pub(crate) fn import(&self, directory: &Path) -> Imported {
        self.repo.import(directory, &self.base.tree, &ImportLimits::default()).unwrap()
    }

    /// The run's repository, for the judge.
    pub(crate) fn own(&self) -> PathBuf {
        self.path("run/repository.git")
    }

    /// The id of a tree that holds the directory as git adds it, everything in it.
    pub(crate) fn as_git_adds(&self, directory: &Path) -> String {
        add_all(&self.own(), directory, &self.path("index-of-the-judge"))
    }
}

/// Adds everything in a directory, ignored or not, and returns the tree's id.
fn add_all(repo: &Path, directory: &Path, index: &Path) -> String {
    let _ = fs::remove_file(index);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (repo, index) = (text(repo), text(index));
    let at = [("GIT_DIR", &repo[..]), ("GIT_WORK_TREE", "."), ("GIT_INDEX_FILE", &index)];
    run(directory, &["add", "--all", "--force", "."], &at, b"");
    run(directory, &["write-tree"], &at, b"").trim().to_owned()
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

pub(crate) fn write_files(directory: &Path, files: &[(&str, &[u8])]) {
    for (name, content) in files {
        let (name, mode) = name.strip_suffix('*').map_or((*name, 0o644), |name| (name, 0o755));
        write(&directory.join(name), content);
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}

pub(crate) fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(crate) fn bytes_path(directory: &Path, name: &[u8]) -> PathBuf {
    directory.join(OsStr::from_bytes(name))
}

pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    run(directory, args, &[], b"")
}

/// `None` where git exits with an error.
pub(crate) fn try_git(directory: &Path, args: &[&str]) -> Option<String> {
    let output = command(directory, args).output().unwrap();
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn run(directory: &Path, args: &[&str], environment: &[(&str, &str)], input: &[u8]) -> String {
    let mut command = command(directory, args);
    command.envs(environment.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[expect(clippy::disallowed_methods, reason = "the git program makes the fixtures and judges the results")]
pub(crate) fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(args).current_dir(directory).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    for (name, value) in [("NAME", "A Person"), ("EMAIL", "person@example.org"), ("DATE", "2026-01-02T03:04:05Z")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command
}
