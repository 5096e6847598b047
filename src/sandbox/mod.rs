//! The sandbox port: where every command of an agent and every check runs, and nowhere else.
//!
//! A [`Backend`] starts a [`Sandbox`] from a [`Spec`]; inside, process 1 is our own *init*, which runs
//! commands on request. A sandbox is used for many commands and ends as a whole: nothing it started
//! outlives it. There is no backend without isolation.

mod doctor;
mod error;
mod link;
mod live;
mod namespace;
mod output;
mod spawn;
#[path = "../init/wire.rs"]
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use crate::cycle::id::RunId;

pub use doctor::{Finding, Standing, doctor};
pub use error::{Error, Limit};
pub use live::Sandbox;
pub use namespace::{Grip, Grips, Namespace, NamespaceSettings};

/// A boxed future, so that a [`Backend`] can be used as a trait object.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A way to make sandboxes on this machine.
///
/// The order of calls for one sandbox: [`hand_over`](Backend::hand_over) its tree, [`start`](Backend::start) it, use
/// and [end](Sandbox::end) it, [`take_back`](Backend::take_back) the tree. All may be repeated.
pub trait Backend: Send + Sync {
    /// Starts a sandbox over a tree that was handed over; it is ready for commands when this returns.
    fn start<'a>(&'a self, spec: &'a Spec) -> Boxed<'a, Result<Sandbox, Error>>;

    /// Makes the tree, which the service has just written, writable for what runs in a sandbox. Links are not
    /// followed, and a file that has a second name elsewhere is refused rather than given away. Blocks.
    fn hand_over(&self, tree: &Path) -> Result<(), Error>;

    /// Makes the tree the service's own again, so that it can be read and removed whatever permissions were left
    /// on it. Links are not followed. Blocks.
    fn take_back(&self, tree: &Path) -> Result<(), Error>;

    /// Removes the tree and everything in it, whatever permissions and however many levels were left. A tree that is
    /// not there is no error. Blocks.
    fn remove(&self, tree: &Path) -> Result<(), Error>;

    /// Removes what sandboxes of services that are no longer alive left on this machine. Blocks.
    fn sweep(&self);
}

/// Where the work tree is seen inside every sandbox.
pub const WORK: &str = "/work";

/// What a sandbox is to be: plain data, checked by the backend before anything starts.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Whose sandbox it is, for labels and for finding what a crash left.
    pub run: RunId,
    /// The directory on this machine that is mounted at [`WORK`], writable.
    pub tree: PathBuf,
    /// What the whole sandbox may use.
    pub limits: Limits,
    /// The unix socket that `127.0.0.1:8080` inside leads to, if this sandbox may speak to the model gateway.
    pub gateway: Option<PathBuf>,
}

/// Limits of one sandbox as a whole, over all its commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Memory in bytes, swap included.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Hundredths of one processor: 200 is two processors.
    pub cpu_percent: u32,
    /// The largest file that may be written, in bytes.
    pub file_size: u64,
}

impl Default for Limits {
    /// 2 GiB, 512 processes, two processors, files up to 1 GiB.
    fn default() -> Self {
        Self { memory: 2 << 30, processes: 512, cpu_percent: 200, file_size: 1 << 30 }
    }
}

/// What is run: a shell line, or a program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Run by `sh -c`.
    Shell(String),
    /// Run as it is, the program looked up in the sandbox's `PATH`; never empty.
    Argv(Vec<String>),
}

/// One command inside a sandbox. Standard input is at its end unless given; there is no terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What is run.
    pub program: Program,
    /// Directory, relative to the work tree; empty for its root.
    pub directory: String,
    /// Variables beside the backend's own `PATH`, `HOME`, `LANG` and prompt-silencing ones.
    pub environment: BTreeMap<String, String>,
    /// Bytes for standard input; `None` is end-of-file at once.
    pub input: Option<Vec<u8>>,
    /// Wall-clock limit; the whole process group is killed when it is over.
    pub time_limit: Duration,
    /// How many bytes of combined output are kept, half from the head and half from the tail.
    pub keep_output: usize,
}

/// How a command ended, as the kernel told it to init: never read from the command's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Exit(i32),
    /// A signal killed it, and it was neither our time limit nor the memory limit.
    Signal(i32),
    /// Our time limit was reached and it was killed.
    TimedOut,
    /// It did not exit with 0, and the kernel killed something in this sandbox for memory while it ran.
    OutOfMemory {
        /// The limit in bytes.
        limit: u64,
    },
}

/// What a command printed: standard output and error as they came, head and tail kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; empty if everything fitted into `head`.
    pub tail: Vec<u8>,
    /// How many bytes were left out between the two.
    pub cut: u64,
}

/// A finished command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// How long it ran.
    pub duration: Duration,
    /// What it printed.
    pub output: Output,
}
