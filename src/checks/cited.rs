//! Commands that a reviewer cites as evidence, run by the service: a claim becomes a fact or nothing.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Lab;
use super::bench::{Bench, Trial, blocking};
use super::run::fingerprint;
use super::trivial::is_trivial;
use crate::cycle::checks::{Attempt, AttemptEnd};

/// More cited commands than this are not run.
pub const MOST: usize = 16;
/// How long a cited command may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);
/// A longer command, in bytes, is not run.
pub const LONGEST: usize = 4 * 1024;

/// Makes another checkout of the reviewed tree, to be thrown away by the caller; it may block.
pub type Checkout = Arc<dyn Fn() -> io::Result<PathBuf> + Send + Sync>;

/// What became of one cited command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cited {
    /// It fails, by itself and in time: evidence.
    Holds(Attempt),
    /// It is no evidence.
    Discarded(Why),
}

/// Why a cited command is no evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Sixteen others were cited before it.
    TooMany,
    /// It is empty, longer than 4 KiB, or has a NUL in it.
    NotACommand,
    /// It fails whatever the tree holds.
    Trivial,
    /// It does not fail.
    Passed,
    /// The shell could not find or execute it: 126 or 127.
    NotRunnable(i32),
    /// It was still running after [`TIME_LIMIT`].
    TimedOut,
    /// It used up the sandbox's memory, which is our limit.
    OutOfMemory,
    /// The run's wall clock was used up.
    Clock,
    /// The sandbox or the checkout failed.
    Sandbox(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "at most {MOST} cited commands are run"),
            Self::NotACommand => write!(f, "it is not a command of 1 to {LONGEST} bytes"),
            Self::Trivial => f.write_str("it fails whatever the tree holds"),
            Self::Passed => f.write_str("it does not fail"),
            Self::NotRunnable(code) => write!(f, "it could not be run (exit status {code})"),
            Self::TimedOut => write!(f, "it was still running after {} seconds", TIME_LIMIT.as_secs()),
            Self::OutOfMemory => f.write_str("it used up the memory of its sandbox"),
            Self::Clock => f.write_str("the run's wall clock was used up"),
            Self::Sandbox(fault) => write!(f, "the sandbox failed: {fault}"),
        }
    }
}

/// Runs cited commands on the reviewed tree, one after the other, and says of each whether it holds.
///
/// Every command sees the tree as it was reviewed: after one that changed it the next gets a new
/// checkout. Nothing that runs here reaches the tree that is delivered. Each command is run once, and a
/// command that was cited before is not run again.
pub async fn cited(lab: &Lab, checkout: &Checkout, commands: &[String]) -> Vec<Cited> {
    let mut results: Vec<Cited> = Vec::with_capacity(commands.len());
    let mut scene: Option<Scene<'_>> = None;
    let mut ran = 0;
    for (at, command) in commands.iter().enumerate() {
        let before = commands[..at].iter().position(|earlier| earlier == command);
        let result = match (before, unfit(command)) {
            (Some(before), _) => results[before].clone(),
            (None, Some(why)) => Cited::Discarded(why),
            (None, None) if ran == MOST => Cited::Discarded(Why::TooMany),
            (None, None) => {
                ran += 1;
                match try_one(lab, checkout, &mut scene, command).await {
                    Ok(attempt) => ruling(attempt),
                    Err(error) => Cited::Discarded(Why::Sandbox(format!("no checkout could be made: {error}"))),
                }
            }
        };
        results.push(result);
    }
    if let Some(scene) = scene {
        scene.bench.end(&scene.tree).await;
    }
    results
}

/// A sandbox on an unchanged checkout.
struct Scene<'a> {
    bench: Bench<'a>,
    tree: PathBuf,
}

async fn try_one<'a>(
    lab: &'a Lab,
    checkout: &Checkout,
    scene: &mut Option<Scene<'a>>,
    command: &str,
) -> io::Result<Attempt> {
    let mut current = match scene.take() {
        Some(scene) => scene,
        None => {
            let checkout = Arc::clone(checkout);
            let tree = blocking(move || checkout()).await?;
            Scene { bench: Bench::start(lab, &tree).await, tree }
        }
    };
    let before = fingerprint(lab, &current.tree).await;
    let trial = Trial { command, directory: "", time_limit: TIME_LIMIT };
    let (attempt, _) = current.bench.attempt(&trial).await;
    let after = fingerprint(lab, &current.tree).await;
    if after.is_some() && before == after && !matches!(attempt.end, AttemptEnd::SandboxFault(_)) {
        *scene = Some(current);
    } else {
        current.bench.end(&current.tree).await;
    }
    Ok(attempt)
}

fn unfit(command: &str) -> Option<Why> {
    if command.trim().is_empty() || command.len() > LONGEST || command.contains('\0') {
        return Some(Why::NotACommand);
    }
    is_trivial(command).then_some(Why::Trivial)
}

fn ruling(attempt: Attempt) -> Cited {
    let why = match &attempt.end {
        AttemptEnd::Exit(0) => Why::Passed,
        AttemptEnd::Exit(code @ (126 | 127)) => Why::NotRunnable(*code),
        AttemptEnd::Exit(_) | AttemptEnd::Signal(_) => return Cited::Holds(attempt),
        AttemptEnd::TimedOut => Why::TimedOut,
        AttemptEnd::OutOfMemory { .. } => Why::OutOfMemory,
        AttemptEnd::CutByClock => Why::Clock,
        AttemptEnd::SandboxFault(fault) => Why::Sandbox(fault.clone()),
    };
    Cited::Discarded(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_that_fails_by_itself_is_evidence() {
        let table = [
            (AttemptEnd::Exit(1), None),
            (AttemptEnd::Exit(101), None),
            (AttemptEnd::Signal(11), None),
            (AttemptEnd::Exit(0), Some("it does not fail")),
            (AttemptEnd::Exit(126), Some("it could not be run (exit status 126)")),
            (AttemptEnd::Exit(127), Some("it could not be run (exit status 127)")),
            (AttemptEnd::TimedOut, Some("it was still running after 120 seconds")),
            (AttemptEnd::OutOfMemory { limit: 1 }, Some("it used up the memory of its sandbox")),
            (AttemptEnd::CutByClock, Some("the run's wall clock was used up")),
            (AttemptEnd::SandboxFault("gone".to_owned()), Some("the sandbox failed: gone")),
        ];
        for (end, expected) in table {
            let attempt =
                Attempt { end, duration_ms: 0, failing: None, digest: String::new(), tail: String::new(), log: None };
            match ruling(attempt.clone()) {
                Cited::Holds(held) => assert_eq!((held, expected), (attempt, None)),
                Cited::Discarded(why) => assert_eq!(Some(why.to_string().as_str()), expected, "{attempt:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_command_or_fails_anyway_is_not_even_run() {
        assert_eq!(unfit(""), Some(Why::NotACommand));
        assert_eq!(unfit(" \n"), Some(Why::NotACommand));
        assert_eq!(unfit("a\0b"), Some(Why::NotACommand));
        assert_eq!(unfit(&"x".repeat(LONGEST + 1)), Some(Why::NotACommand));
        assert_eq!(unfit("exit 1"), Some(Why::Trivial));
        assert_eq!(unfit("cargo test"), None);
    }
}
