//! Why a sandbox did not do what was asked, one variant for each cause that a caller can tell apart.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// One of the limits of a sandbox as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::memory`](super::Limits::memory).
    Memory,
    /// [`Limits::processes`](super::Limits::processes).
    Processes,
    /// [`Limits::cpu_percent`](super::Limits::cpu_percent).
    Cpu,
    /// [`Limits::file_size`](super::Limits::file_size).
    FileSize,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Processes => "process",
            Self::Cpu => "processor",
            Self::FileSize => "file size",
        })
    }
}

/// Why a sandbox did not do what was asked. How a command ended is never one of these: see [`End`](super::End).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine has nothing to make sandboxes with.
    #[error("no sandbox can be made on this machine: {missing}; {remedy}")]
    NoBackend {
        /// What was looked for and not found.
        missing: String,
        /// What to install, as a sentence without a full stop.
        remedy: String,
    },
    /// Strict mode, and a limit does not hold over the whole sandbox.
    #[error("strict mode: the {limit} limit would not hold over a whole sandbox, since {why}")]
    LimitRefused {
        /// Which limit.
        limit: Limit,
        /// What stands in its way.
        why: String,
    },
    /// The tree of a [`Spec`](super::Spec), or a file in it, cannot be used.
    #[error("the work tree cannot be used: {path} {why}")]
    BadTree {
        /// The tree or the file in it.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The sandbox could not be started.
    #[error("the sandbox did not start: {said}")]
    NotStarted {
        /// What the program that makes it said, at most 4 KiB.
        said: String,
    },
    /// The sandbox is gone, though nobody ended it; nothing is left of it.
    #[error("the sandbox ended while it was in use")]
    Lost,
    /// *Init* said nothing for so long after a limit that the sandbox was killed.
    #[error("the sandbox did not answer within {0:?} and was killed")]
    Unresponsive(Duration),
    /// The command cannot be run as it stands.
    #[error("the command is not valid: {why}")]
    BadCommand {
        /// What is wrong with it.
        why: String,
    },
    /// The program is not in the sandbox.
    #[error("there is no program `{program}` in the sandbox")]
    NoSuchProgram {
        /// The first word of the command.
        program: String,
    },
    /// The file or directory is not there.
    #[error("there is no `{path}` in the sandbox")]
    NoSuchPath {
        /// As it was asked for.
        path: String,
    },
    /// The path leads to a directory, a link, a pipe, a socket or a device.
    #[error("`{path}` is not a regular file")]
    NotRegular {
        /// As it was asked for.
        path: String,
    },
    /// The sandbox's user may not do that.
    #[error("permission for `{what}` was refused in the sandbox")]
    Denied {
        /// The path or program.
        what: String,
    },
    /// More than [16 MiB](super::Sandbox::write) at once.
    #[error("`{path}` would be larger than {max} bytes")]
    TooLarge {
        /// As it was asked for.
        path: String,
        /// The most that is taken.
        max: usize,
    },
    /// The kernel refused for another reason, for example because no further process is allowed.
    #[error("`{what}` failed in the sandbox: {text}")]
    Refused {
        /// The path or program.
        what: String,
        /// The kernel's reason.
        text: String,
    },
    /// The service itself could not do its part.
    #[error("could not {doing}")]
    Io {
        /// What it was about to do.
        doing: &'static str,
        /// Why it could not.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: keeps the cause and says what was being done.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
