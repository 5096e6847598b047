//! The sandbox for real: real `bwrap`, real *init*, real escapes tried.
//!
//! On a machine without `bwrap` these tests say aloud that they were skipped; with `CI` set they fail instead.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests, which stand outside of the service")]

mod commands;
mod ends;
mod escapes;
mod files;
mod limits;
mod tools;
mod unrooted;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use countersign::cycle::id::RunId;
use countersign::sandbox::{
    Backend, Command, End, Error, Finished, Limits, Namespace, NamespaceSettings, Program, Sandbox, Spec,
};
use tempfile::TempDir;

/// A scratch directory with a backend in it.
struct Place {
    scratch: TempDir,
    backend: Namespace,
}

impl Place {
    /// `None` where no sandbox can be made and nobody insists.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn new() -> Option<Self> {
        let scratch = tempfile::tempdir().unwrap();
        match Namespace::new(&NamespaceSettings::new(scratch.path().join("sandboxes"))) {
            Ok(backend) => Some(Self { scratch, backend }),
            Err(Error::NoBackend { missing, remedy }) if std::env::var_os("CI").is_none() => {
                eprintln!("SKIPPED: {missing}; {remedy}");
                None
            }
            Err(error) => panic!("no sandbox can be made here: {error}"),
        }
    }

    fn tree(&self, name: &str) -> PathBuf {
        let tree = self.scratch.path().join(name);
        fs::create_dir_all(&tree).unwrap();
        self.backend.hand_over(&tree).unwrap();
        tree
    }

    fn spec(&self, name: &str) -> Spec {
        Spec { run: RunId::new(), tree: self.tree(name), limits: Limits::default(), gateway: None }
    }

    async fn start(&self) -> Sandbox {
        self.backend.start(&self.spec("tree")).await.unwrap()
    }
}

fn shell(line: &str) -> Command {
    Command {
        program: Program::Shell(line.to_owned()),
        directory: String::new(),
        environment: BTreeMap::new(),
        input: None,
        time_limit: Duration::from_secs(60),
        keep_output: 1 << 20,
    }
}

fn argv(words: &[&str]) -> Command {
    Command { program: Program::Argv(words.iter().map(|word| (*word).to_owned()).collect()), ..shell("") }
}

async fn sh(sandbox: &Sandbox, line: &str) -> Finished {
    sandbox.run(&shell(line)).await.unwrap()
}

/// What the line prints, its last newline taken off; it must succeed.
async fn said(sandbox: &Sandbox, line: &str) -> String {
    let finished = sh(sandbox, line).await;
    assert_eq!(finished.end, End::Exit(0), "`{line}` said {}", text(&finished));
    text(&finished).trim_end().to_owned()
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output.head).into_owned()
}

/// This test program again, for one ignored test of it, in a process of its own.
fn alone(test: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program());
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command
}

/// A path to this test program for what is started here. By descriptor, since a build that runs meanwhile may have
/// replaced the file.
fn program() -> String {
    let file = fs::File::open("/proc/self/exe").unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    format!("/proc/self/fd/{}", std::os::fd::IntoRawFd::into_raw_fd(file))
}

fn assert_passed(output: &std::process::Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
}

/// Waits for something that happens outside this process's view.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process of this machine has the marker among its arguments.
fn runs(marker: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|entry| {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| argument == marker.as_bytes())
    })
}

/// A number of seconds to sleep that no other process of this machine has among its arguments.
fn unique_sleep() -> String {
    format!("9999.{}", RunId::new().to_string().replace(|c: char| !c.is_ascii_digit(), ""))
}

/// The control groups whose names end with the run's.
fn groups_of(run: RunId) -> Vec<PathBuf> {
    let hierarchies =
        ["memory", "pids", "cpu", "."].map(|name| Path::new("/sys/fs/cgroup").join(name).join("countersign"));
    let entries = hierarchies.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(&run.to_string())).collect()
}
