//! One sandbox over one tree, in which commands are tried one after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Lab;
use super::{names, normalise, text};
use crate::cycle::checks::{Attempt, AttemptEnd};
use crate::sandbox::{Command, End, Error, Finished, Output, Program, Sandbox, Spec};

/// How much of a command's output is kept, half of it from the head and half from the tail, in bytes.
const LOG: usize = 16 << 20;

/// A command to try, with the limit that belongs to it.
pub(super) struct Trial<'a> {
    pub(super) command: &'a str,
    pub(super) directory: &'a str,
    pub(super) time_limit: Duration,
}

/// A started sandbox, or why there is none any more. Faults are kept rather than returned: they say
/// nothing about a command, and all that is asked of a broken bench says so.
pub(super) struct Bench<'a> {
    lab: &'a Lab,
    sandbox: Result<Sandbox, String>,
}

impl<'a> Bench<'a> {
    /// Hands the tree over and starts a fresh sandbox on it.
    pub(super) async fn start(lab: &'a Lab, tree: &Path) -> Self {
        let spec = Spec { run: lab.run, tree: tree.to_owned(), limits: lab.limits.clone(), gateway: None };
        let (backend, path) = (Arc::clone(&lab.backend), tree.to_owned());
        let started = match blocking(move || backend.hand_over(&path)).await {
            Ok(()) => lab.backend.start(&spec).await,
            Err(error) => Err(error),
        };
        Self { lab, sandbox: started.map_err(|error| fault(&error)) }
    }

    /// Runs the command to its end, kills what it left behind, and reads what it printed.
    ///
    /// The log is given back as it is to be kept, empty if the command never ran.
    pub(super) async fn attempt(&mut self, trial: &Trial<'_>) -> (Attempt, Vec<u8>) {
        let left = (self.lab.remaining)();
        if left.is_zero() {
            return (nothing_read(AttemptEnd::CutByClock), Vec::new());
        }
        let command = command(trial, left);
        let finished = match &self.sandbox {
            Ok(sandbox) => sandbox.run(&command).await.map_err(|error| fault(&error)),
            Err(fault) => Err(fault.clone()),
        };
        self.clear().await;
        match finished {
            Ok(finished) => {
                let cut_by_clock = left < trial.time_limit;
                blocking(move || read(finished, cut_by_clock)).await
            }
            Err(fault) => {
                self.sandbox = Err(fault.clone());
                (nothing_read(AttemptEnd::SandboxFault(fault)), Vec::new())
            }
        }
    }

    /// Kills everything that commands have left running.
    async fn clear(&mut self) {
        if let Ok(sandbox) = &self.sandbox
            && let Err(error) = sandbox.kill_commands().await
        {
            self.sandbox = Err(fault(&error));
        }
    }

    /// Ends the sandbox and takes the tree back. What goes wrong here is told, and changes no result.
    pub(super) async fn end(self, tree: &Path) {
        if let Ok(sandbox) = self.sandbox
            && let Err(error) = sandbox.end().await
        {
            tracing::warn!(run.id = %self.lab.run, error = fault(&error), "a sandbox did not end cleanly");
        }
        let (backend, path) = (Arc::clone(&self.lab.backend), tree.to_owned());
        if let Err(error) = blocking(move || backend.take_back(&path)).await {
            tracing::warn!(run.id = %self.lab.run, error = fault(&error), "a tree was not taken back");
        }
    }
}

/// One stream for both outputs, so that they are kept in their order. The shell enters the directory:
/// if the tree has none, that is a failure of the tree (127), not of the sandbox.
fn command(trial: &Trial<'_>, left: Duration) -> Command {
    let enter = if trial.directory.is_empty() {
        String::new()
    } else {
        format!("cd -- {} || exit 127\n", quoted(trial.directory))
    };
    Command {
        program: Program::Shell(format!("exec 2>&1\n{enter}{}", trial.command)),
        directory: String::new(),
        environment: std::collections::BTreeMap::new(),
        input: None,
        time_limit: trial.time_limit.min(left),
        keep_output: LOG,
    }
}

/// As one word for the shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The result is taken from how the command ended, as the sandbox says, and from nothing else.
fn read(finished: Finished, cut_by_clock: bool) -> (Attempt, Vec<u8>) {
    let end = match finished.end {
        End::Exit(code) => AttemptEnd::Exit(code),
        End::Signal(number) => AttemptEnd::Signal(number),
        End::TimedOut if cut_by_clock => AttemptEnd::CutByClock,
        End::TimedOut => AttemptEnd::TimedOut,
        End::OutOfMemory { limit } => AttemptEnd::OutOfMemory { limit },
    };
    let whole = text::whole(&finished.output);
    let failed = end != AttemptEnd::Exit(0);
    let by_itself = failed && matches!(end, AttemptEnd::Exit(_)) && finished.output.cut == 0;
    let attempt = Attempt {
        failing: if by_itself { names::failing_tests(&whole) } else { None },
        digest: if failed { normalise::digest(&whole) } else { String::new() },
        tail: text::last(&whole, text::TAIL).to_owned(),
        duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        end,
        log: None,
    };
    (attempt, log(finished.output))
}

fn log(output: Output) -> Vec<u8> {
    if output.cut == 0 && output.tail.is_empty() { output.head } else { text::log(&output).into_owned() }
}

fn nothing_read(end: AttemptEnd) -> Attempt {
    Attempt { end, duration_ms: 0, failing: None, digest: String::new(), tail: String::new(), log: None }
}

/// An error with its causes, as one line.
fn fault(error: &Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Runs what blocks beside the asynchronous threads; a panic in it goes on here.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_one_word_for_the_shell() {
        assert_eq!(quoted("apps/api"), "'apps/api'");
        assert_eq!(quoted("a'; rm -rf /; '"), r"'a'\''; rm -rf /; '\'''");
    }

    #[test]
    fn a_command_gets_the_lesser_of_its_own_limit_and_what_is_left_of_the_clock() {
        let limit = |seconds, left| {
            let trial = Trial { command: "true", directory: "", time_limit: Duration::from_secs(seconds) };
            command(&trial, Duration::from_secs(left)).time_limit.as_secs()
        };
        assert_eq!((limit(10, 100), limit(100, 10)), (10, 10));
    }

    #[test]
    fn a_result_is_read_from_the_end_and_never_from_the_output() {
        let green = b"running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed;\nexit 0\n";
        let red = b"running 1 test\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed;\n";
        let read = |end, bytes: &[u8], cut| {
            let output = Output { head: bytes.to_vec(), tail: Vec::new(), cut };
            read(Finished { end, duration: Duration::from_millis(7), output }, false).0
        };
        let passed = read(End::Exit(0), red, 0);
        assert!(passed.passed() && passed.failing.is_none() && passed.digest.is_empty());
        let failed = read(End::Exit(3), green, 0);
        assert!(!failed.passed() && failed.failing.is_none() && failed.digest.len() == 64);
        assert_eq!(failed.duration_ms, 7);
        let named = read(End::Exit(101), red, 0);
        assert_eq!(named.failing.map(Vec::from_iter), Some(vec!["a".to_owned()]));
        for (end, cut) in
            [(End::Signal(9), 0), (End::TimedOut, 0), (End::OutOfMemory { limit: 1 }, 0), (End::Exit(101), 1)]
        {
            assert_eq!(read(end.clone(), red, cut).failing, None, "{end:?}, {cut} bytes missing");
        }
    }

    #[test]
    fn a_limit_that_is_the_runs_clock_is_no_failure_of_the_check() {
        let finished = |end| Finished { end, duration: Duration::ZERO, output: Output::default() };
        assert_eq!(read(finished(End::TimedOut), true).0.end, AttemptEnd::CutByClock);
        assert_eq!(read(finished(End::TimedOut), false).0.end, AttemptEnd::TimedOut);
        assert_eq!(read(finished(End::Exit(1)), true).0.end, AttemptEnd::Exit(1));
    }
}
