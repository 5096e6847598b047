//! `prepare`: the base commit, the commands, and the name of the branch; refused in a person's words where it cannot be.

use super::ports::{Ports, Task, blocking, not_run, told};
use super::workdir;
use crate::checks::detect::{self, Instructions};
use crate::checks::{Detected, Files};
use crate::cycle::id::TreeId;
use crate::cycle::run::Run;
use crate::cycle::step::{Preparation, Rules, StepResult};
use crate::git::{self, BranchName, Mirror, Remote, RunRepo};
use crate::store::{self, Repository};

/// Paths that nobody may change and be accepted, unless the repository names its own.
const PROTECTED: &[&str] = &[".github/workflows/**", ".gitlab-ci.yml", ".forgejo/**", ".gitea/**", ".countersign.toml"];

/// Why a run cannot be prepared.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// A person has to do something about it.
    #[error("{0}")]
    Refused(String),
    /// Something of ours or of the machine's failed; trying again may help.
    #[error("preparing failed")]
    Store(#[from] store::Error),
}

pub(super) async fn perform(ports: &Ports, task: &Task<'_>) -> StepResult {
    match prepare(ports, task.run).await {
        Ok(preparation) => StepResult::Prepared(Box::new(preparation)),
        Err(Error::Refused(cause)) => StepResult::PrepareFailed(cause),
        Err(e) => not_run(told(&e), std::time::Duration::ZERO),
    }
}

async fn prepare(ports: &Ports, run: &Run) -> Result<Preparation, Error> {
    let of = ports.store.get_run_row(run.id).await?.repository;
    let (mirrors, directory) = (ports.directories.place.mirrors.clone(), ports.of_run(run.id));
    let (id, issue) = (run.id, run.issue.clone());
    let refused = |e: git::Error| Error::Refused(told(&e));
    let found = blocking(move || -> Result<Preparation, Error> {
        let (mirror, base) = fetch(&mirrors, &of, &issue.base).map_err(refused)?;
        let repo = RunRepo::create(&directory, id, &mirror, &base.commit).map_err(refused)?;
        let detected = look(&repo, &base.tree).map_err(refused)?.map_err(|e| Error::Refused(e.to_string()))?;
        if let Some(refusal) = detected.refusal() {
            return Err(Error::Refused(refusal));
        }
        let taken = mirror.remote_branches().map_err(refused)?;
        let branch = git::branch_for(issue.number, &issue.title, |name| taken.iter().any(|t| t == name));
        Ok(preparation((base, branch), detected))
    });
    found.await
}

fn fetch(mirrors: &std::path::Path, of: &Repository, base: &str) -> Result<(Mirror, git::Base), git::Error> {
    let remote = Remote::parse(&of.remote)?;
    let mirror = Mirror::open(mirrors, of.id, &remote)?;
    let base = mirror.fetch(&BranchName::parse(base)?)?;
    Ok((mirror, base))
}

fn preparation((base, branch): (git::Base, BranchName), detected: Detected) -> Preparation {
    let default = || PROTECTED.iter().map(ToString::to_string).collect();
    Preparation {
        base: base.commit,
        tree: base.tree,
        branch: branch.to_string(),
        checks: detected.checks,
        why: detected.why,
        rules: Rules {
            accept_without_checks: detected.accept_without_checks,
            strict_baseline: detected.strict_baseline,
            protected: detected.protected.unwrap_or_else(default),
        },
    }
}

/// Reads what the base tree says about checking it.
fn look(repo: &RunRepo, tree: &TreeId) -> Result<Result<Detected, detect::Error>, git::Error> {
    let paths = repo.regular_files(tree)?;
    let read = |path: &[u8], max: usize| repo.file(tree, path, max).ok().flatten();
    Ok(detect::detect(&Files { paths: &paths, read: &read }))
}

/// What the repository tells agents, from its base commit.
pub(super) async fn instructions(ports: &Ports, run: &Run) -> Result<Vec<Instructions>, workdir::Error> {
    let (repo, _) = workdir::repository(ports, run).await?;
    let Some(tree) = run.base_tree().cloned() else { return Ok(Vec::new()) };
    let found = blocking(move || look(&repo, &tree)).await?;
    Ok(found.map(|detected| detected.instructions).unwrap_or_default())
}
