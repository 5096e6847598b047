//! Running the checks of a repository on a tree, in a fresh sandbox.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Lab;
use super::bench::{Bench, Trial, blocking};
use crate::cycle::checks::{Attempt, AttemptEnd, Check, CheckRun};
use crate::cycle::id::TreeId;

/// Keeps the full log of an attempt and says where; it may block. `None` if it could not be kept,
/// which changes no result.
pub type KeepLog = Arc<dyn Fn(LogOf<'_>, &[u8]) -> Option<String> + Send + Sync>;

/// Which attempt a log is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOf<'a> {
    /// The check's name.
    pub check: &'a str,
    /// Counted from 1.
    pub attempt: usize,
}

/// Runs all checks, in the order given, in one fresh sandbox on `tree`, whichever of them fail.
///
/// A required check that fails is run a second time. What a check leaves running is killed before
/// anything else runs or the tree is looked at. A sandbox that fails, or that cannot be started, is an
/// attempt's end like others; there is one `CheckRun` for each check.
///
/// The tree is handed to the sandbox's user and taken back; if this future is dropped the sandbox
/// dies, and the tree must be taken back by the caller.
pub async fn run(lab: &Lab, tree: &Path, checks: &[Check], keep_log: &KeepLog) -> Vec<CheckRun> {
    let mut runs = Vec::with_capacity(checks.len());
    if checks.is_empty() {
        return runs;
    }
    let mut before = fingerprint(lab, tree).await;
    let mut bench = Bench::start(lab, tree).await;
    for check in checks {
        let attempts = attempts(&mut bench, check, keep_log).await;
        let after = fingerprint(lab, tree).await;
        // Two trees that could not be told are not known to be equal.
        let changed_tracked_files = after.is_none() || before != after;
        runs.push(CheckRun { check: check.name.clone(), attempts, changed_tracked_files });
        before = after;
    }
    bench.end(tree).await;
    runs
}

async fn attempts(bench: &mut Bench<'_>, check: &Check, keep_log: &KeepLog) -> Vec<Attempt> {
    let time_limit = Duration::from_secs(u64::from(check.time_limit_s));
    let trial = Trial { command: &check.command, directory: &check.directory, time_limit };
    let most = if check.required { 2 } else { 1 };
    let mut attempts: Vec<Attempt> = Vec::with_capacity(most);
    while attempts.len() < most && attempts.last().is_none_or(failed) {
        let (attempt, log) = bench.attempt(&trial).await;
        let log = kept(keep_log, check.name.clone(), attempts.len() + 1, log).await;
        attempts.push(Attempt { log, ..attempt });
    }
    attempts
}

/// Whether it is worth another attempt: it ran to an end of its own, and that was not 0.
fn failed(attempt: &Attempt) -> bool {
    match attempt.end {
        AttemptEnd::Exit(code) => code != 0,
        AttemptEnd::Signal(_) | AttemptEnd::TimedOut | AttemptEnd::OutOfMemory { .. } => true,
        AttemptEnd::CutByClock | AttemptEnd::SandboxFault(_) => false,
    }
}

async fn kept(keep_log: &KeepLog, check: String, attempt: usize, log: Vec<u8>) -> Option<String> {
    if log.is_empty() {
        return None;
    }
    let keep_log = Arc::clone(keep_log);
    blocking(move || keep_log(LogOf { check: &check, attempt }, &log)).await
}

pub(super) async fn fingerprint(lab: &Lab, tree: &Path) -> Option<TreeId> {
    let (fingerprint, tree) = (Arc::clone(&lab.fingerprint), tree.to_owned());
    blocking(move || fingerprint(&tree)).await
}
