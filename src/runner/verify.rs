//! `verify`: the checks on exactly the tree that the writing step left, in a sandbox of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ports::{Ports, Task, not_run, told};
use super::workdir::{self, Tree, WithGit};
use crate::checks::{self, KeepLog, Lab, LogOf};
use crate::cycle::checks::CheckRun;
use crate::cycle::id::TreeId;
use crate::cycle::step::StepResult;
use crate::git::ImportLimits;

pub(super) async fn perform(ports: &Ports, task: &Task<'_>) -> StepResult {
    let Some(change) = task.run.pass().and_then(|p| p.change()) else {
        return not_run("there is no tree to check", std::time::Duration::ZERO);
    };
    match verify(ports, task, &change.tree).await {
        Ok(runs) => StepResult::Verified { tree: change.tree.clone(), runs },
        Err(e) => not_run(told(&e), std::time::Duration::ZERO),
    }
}

async fn verify(ports: &Ports, task: &Task<'_>, tree: &TreeId) -> Result<Vec<CheckRun>, workdir::Error> {
    let tree = workdir::checkout(ports, task, (tree, "verify"), WithGit::No).await?;
    run_checks(ports, task, &tree).await
}

/// Runs the run's checks on a checkout.
pub(super) async fn run_checks(ports: &Ports, task: &Task<'_>, tree: &Tree) -> Result<Vec<CheckRun>, workdir::Error> {
    let lab = lab(ports, task).await?;
    let keep = keep_logs(ports.of_run(task.run.id).join("logs").join(format!("{:04}", task.seq)));
    Ok(checks::run(&lab, tree.path(), task.run.checks(), &keep).await)
}

/// What checks and cited commands of this run are run with.
pub(super) async fn lab(ports: &Ports, task: &Task<'_>) -> Result<Lab, workdir::Error> {
    let (repo, _) = workdir::repository(ports, task.run).await?;
    let base = task.run.base_tree().cloned();
    let (allowed, began) = (task.allowance.clock, task.began);
    // Files that a check adds beside the tree are not its business; those of the tree are.
    let fingerprint = move |directory: &Path| {
        let base = base.as_ref()?;
        repo.import(directory, base, &ImportLimits::default()).ok().map(|imported| imported.tree)
    };
    Ok(Lab {
        backend: Arc::clone(&ports.backend),
        run: task.run.id,
        limits: ports.limits.clone(),
        remaining: Arc::new(move || allowed.saturating_sub(began.used())),
        fingerprint: Arc::new(fingerprint),
    })
}

/// Full logs become files named after check and attempt.
fn keep_logs(directory: PathBuf) -> KeepLog {
    Arc::new(move |of: LogOf<'_>, log: &[u8]| {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = of.check.chars().take(60).map(safe).collect();
        let file = directory.join(format!("{name}-{}.log", of.attempt));
        std::fs::create_dir_all(&directory).ok()?;
        std::fs::write(&file, log).ok()?;
        Some(file.display().to_string())
    })
}
