//! The checks port: which commands a repository has, running them, and reading what they printed.
//!
//! A result is only ever taken from how the sandbox says a command ended. What was printed is shown,
//! and tells old failures from new ones; it never turns red into green.

mod bench;
pub mod cited;
pub mod detect;
pub mod names;
pub mod normalise;
pub mod run;
pub mod text;
pub mod trivial;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::cycle::id::{RunId, TreeId};
use crate::sandbox::{Backend, Limits};

pub use cited::{Cited, cited};
pub use detect::{Detected, Files, Setup, detect};
pub use run::{KeepLog, LogOf, run};

/// How much of a run's wall clock is left; zero if it is used up.
pub type Remaining = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The hash of the files under test as they lie in a directory, files that were added beside them left
/// out; `None` if it cannot be told. It may block.
pub type Fingerprint = Arc<dyn Fn(&Path) -> Option<TreeId> + Send + Sync>;

/// What checks and cited commands of a run are run with.
#[derive(Clone)]
pub struct Lab {
    /// Makes the sandboxes.
    pub backend: Arc<dyn Backend>,
    /// The run that the sandboxes belong to.
    pub run: RunId,
    /// What each sandbox may use.
    pub limits: Limits,
    /// Asked before every command.
    pub remaining: Remaining,
    /// Asked before the first command and after each.
    pub fingerprint: Fingerprint,
}
