//! `baseline`: the checks on the base commit, before anyone changed anything and before anything is paid for.

use super::ports::{Ports, Task, not_run, told};
use super::verify;
use super::workdir::{self, WithGit};
use crate::clock;
use crate::cycle::checks::{AttemptEnd, Check, CheckRun};
use crate::cycle::step::StepResult;

pub(super) async fn perform(ports: &Ports, task: &Task<'_>) -> StepResult {
    match measure(ports, task).await {
        Ok(runs) => StepResult::Measured(runs),
        Err(e) => not_run(told(&e), std::time::Duration::ZERO),
    }
}

async fn measure(ports: &Ports, task: &Task<'_>) -> Result<Vec<CheckRun>, workdir::Error> {
    let Some(preparation) = &task.run.preparation else { return Ok(Vec::new()) };
    let of = ports.store.get_run_row(task.run.id).await?.repository.id;
    let commands = commands(&preparation.checks);
    if let Some(kept) = ports.store.find_baseline(of, &preparation.base, &commands).await? {
        return Ok(kept);
    }
    let tree = workdir::checkout(ports, task, (&preparation.tree, "baseline"), WithGit::No).await?;
    let runs = verify::run_checks(ports, task, &tree).await?;
    if runs.iter().all(told_something) {
        ports.store.keep_baseline(of, &preparation.base, &commands, &runs, clock::now()).await?;
    }
    Ok(runs)
}

/// What tells one set of commands from another.
fn commands(checks: &[Check]) -> String {
    let of = |c: &Check| (c.name.clone(), c.command.clone(), c.directory.clone(), c.time_limit_s, c.required);
    serde_json::to_string(&checks.iter().map(of).collect::<Vec<_>>()).unwrap_or_default()
}

/// A baseline that a fault or the clock cut short is measured again next time.
fn told_something(run: &CheckRun) -> bool {
    let cut = |end: &AttemptEnd| matches!(end, AttemptEnd::CutByClock | AttemptEnd::SandboxFault(_));
    run.attempts.last().is_some_and(|a| !cut(&a.end))
}
