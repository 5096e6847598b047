//! What a reviewer cites, looked up: a line exists, a command fails, or the finding is discarded unread.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::ports::{Ports, Task, blocking};
use super::verify;
use super::workdir;
use crate::checks;
use crate::checks::cited::Checkout;
use crate::cycle::checks::Attempt;
use crate::cycle::id::TreeId;
use crate::cycle::run::{Pass, Run};
use crate::cycle::step::{Citation, Cited, Reviewed};
use crate::cycle::verdict::{Citation as Cites, Finding, Verdict};
use crate::git::{self, Diff, DiffLimits, RunRepo};

/// Looks up every finding's citation on the reviewed tree.
pub(super) async fn look_up(
    ports: &Ports,
    task: &Task<'_>,
    pass: &Pass,
    verdict: &Verdict,
) -> Result<Vec<Cited>, workdir::Error> {
    let (Some(base), Some(change)) = (task.run.base_tree(), pass.change()) else {
        return Err(git::Error::NoBase.into());
    };
    let before = reviewed_before(task.run, pass);
    let commands = run_commands(ports, task, (&change.tree, before.as_ref()), verdict).await?;
    let (repo, _) = workdir::repository(ports, task.run).await?;
    let place = Place { base: base.clone(), tree: change.tree.clone(), before };
    let findings = verdict.findings.clone();
    blocking(move || -> Result<Vec<Cited>, workdir::Error> {
        let since = place.changed_since(&repo)?;
        let one = |finding: Finding| -> Result<Cited, workdir::Error> {
            let citation = match &finding.citation {
                Ok(Cites::Lines { path, base, from, to }) => {
                    let lines = Lines { path, base: *base, from: *from, to: *to };
                    lines.look_up(&repo, &place, since.as_ref())?
                }
                Ok(Cites::Command(command)) => {
                    commands.get(command).cloned().unwrap_or_else(|| discarded("it was not run"))
                }
                Err(why) => discarded(why),
            };
            Ok(Cited { finding, citation })
        };
        findings.into_iter().map(one).collect()
    })
    .await
}

fn discarded(reason: &(impl ToString + ?Sized)) -> Citation {
    Citation::Discarded { reason: reason.to_string() }
}

/// The tree that the review before this one read.
fn reviewed_before(run: &Run, pass: &Pass) -> Option<TreeId> {
    let read = |p: &&Pass| p.number < pass.number && matches!(p.review, Some(Reviewed::Verdict { .. }));
    run.passes.iter().rev().find(read).and_then(|p| p.change()).map(|c| c.tree.clone())
}

struct Place {
    base: TreeId,
    tree: TreeId,
    before: Option<TreeId>,
}

impl Place {
    /// What changed since the review before; `None` at the first review, when everything is new ground.
    fn changed_since(&self, repo: &RunRepo) -> Result<Option<Diff>, git::Error> {
        self.before.as_ref().map(|before| repo.diff(before, &self.tree, &DiffLimits::default())).transpose()
    }
}

struct Lines<'a> {
    path: &'a str,
    base: bool,
    from: u32,
    to: u32,
}

impl Lines<'_> {
    fn look_up(&self, repo: &RunRepo, place: &Place, since: Option<&Diff>) -> Result<Citation, git::Error> {
        let tree = if self.base { &place.base } else { &place.tree };
        let Some(count) = repo.line_count(tree, self.path.as_bytes())? else {
            return Ok(discarded(&format!("there is no file {} in the reviewed tree", self.path)));
        };
        if usize::try_from(self.to).is_ok_and(|to| to > count) {
            return Ok(discarded(&format!("{} has {count} lines", self.path)));
        }
        let new_ground = since.is_none_or(|diff| diff.touches(self.path.as_bytes(), self.from..=self.to));
        Ok(Citation::Holds { new_ground })
    }
}

/// Runs the cited commands on the reviewed tree, and those that fail also on the tree reviewed before.
async fn run_commands(
    ports: &Ports,
    task: &Task<'_>,
    (tree, before): (&TreeId, Option<&TreeId>),
    verdict: &Verdict,
) -> Result<BTreeMap<String, Citation>, workdir::Error> {
    let commands: Vec<String> =
        verdict.findings.iter().filter_map(|f| f.citation.as_ref().ok().and_then(command)).collect();
    let now = try_on(ports, task, (tree, "cited"), &commands).await?;
    let failing: Vec<String> =
        now.iter().filter(|(_, c)| matches!(c, checks::Cited::Holds(_))).map(|(c, _)| c.clone()).collect();
    let then = match before {
        Some(before) if !failing.is_empty() => try_on(ports, task, (before, "cited-before"), &failing).await?,
        Some(_) | None => BTreeMap::new(),
    };
    let citation = |command: &String, cited: checks::Cited| match cited {
        checks::Cited::Discarded(why) => discarded(&why),
        checks::Cited::Holds(attempt) => {
            Citation::Holds { new_ground: before.is_none() || !failed_alike(then.get(command), &attempt) }
        }
    };
    Ok(now.iter().map(|(command, cited)| (command.clone(), citation(command, cited.clone()))).collect())
}

fn command(cites: &Cites) -> Option<String> {
    match cites {
        Cites::Command(command) => Some(command.clone()),
        Cites::Lines { .. } => None,
    }
}

fn failed_alike(then: Option<&checks::Cited>, now: &Attempt) -> bool {
    matches!(then, Some(checks::Cited::Holds(then)) if then.end == now.end && then.digest == now.digest)
}

async fn try_on(
    ports: &Ports,
    task: &Task<'_>,
    (tree, name): (&TreeId, &str),
    commands: &[String],
) -> Result<BTreeMap<String, checks::Cited>, workdir::Error> {
    if commands.is_empty() {
        return Ok(BTreeMap::new());
    }
    let lab = verify::lab(ports, task).await?;
    let directory = ports.of_run(task.run.id).join("trees").join(format!("{:04}-{name}", task.seq));
    let checkout = checkout(ports, task.run, tree, directory.clone()).await?;
    let results = checks::cited(&lab, &checkout, commands).await;
    let backend = Arc::clone(&ports.backend);
    blocking(move || backend.remove(&directory)).await?;
    Ok(commands.iter().cloned().zip(results).collect())
}

/// Fresh checkouts below one directory, as many as the commands need.
async fn checkout(ports: &Ports, run: &Run, tree: &TreeId, directory: PathBuf) -> Result<Checkout, workdir::Error> {
    let (repo, _) = workdir::repository(ports, run).await?;
    let (tree, count) = (tree.clone(), std::sync::atomic::AtomicUsize::new(0));
    Ok(Arc::new(move || {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = directory.join(number.to_string());
        std::fs::create_dir_all(&directory)?;
        repo.checkout(&tree, &path).map_err(io::Error::other)?;
        Ok(path)
    }))
}
