//! `review`: a second agent reads the result on its own copy, and the service looks up what it cites.

use super::brief;
use super::citations;
use super::conversation::{self, Broke, Talk, Talking, shortened};
use super::ports::{Ports, Task, blocking, not_run, told};
use super::workdir::{self, WithGit};
use crate::agent::brief::{Inline, Reask, Reviewer, Untrusted, text};
use crate::agent::{Role as AgentRole, Turn};
use crate::cycle::policy::Role;
use crate::cycle::run::{Pass, Run};
use crate::cycle::step::{Reviewed, StepResult, Written};
use crate::cycle::verdict::{self, Reading, RulingKind, Verdict};
use crate::git::{DiffLimits, DiffText};

/// The corrective prompts that one review may get.
const REASKS: usize = 2;
/// How much of the diff the reviewer is shown, in bytes.
const SHOWN: usize = 256 << 10;
/// How much of an answer that cannot be read is kept, in bytes.
const RAW: usize = 8 << 10;
/// How much of the implementer's claim the reviewer is shown, in bytes.
const CLAIM: usize = 8 << 10;

pub(super) async fn perform(ports: &Ports, task: &Task<'_>) -> StepResult {
    match review(ports, task).await {
        Ok(result) => result,
        Err(e) => not_run(told(&e), std::time::Duration::ZERO),
    }
}

async fn review(ports: &Ports, task: &Task<'_>) -> Result<StepResult, workdir::Error> {
    let Some(pass) = task.run.pass() else {
        return Ok(not_run("there is no pass to review", std::time::Duration::ZERO));
    };
    let Some(change) = pass.change() else {
        return Ok(not_run("there is no tree to review", std::time::Duration::ZERO));
    };
    let diff = diff(ports, task.run, pass).await?;
    // The reviewer may run and edit anything in its copy; none of it can reach the delivered tree.
    let tree = workdir::checkout(ports, task, (&change.tree, "review"), WithGit::Yes).await?;
    let talk = Talk { role: Role::Reviewer, tools: AgentRole::Reviewer, tree: tree.path() };
    let read = match conversation::open(ports, task, talk).await {
        Ok(mut talking) => {
            let read = ask(&mut talking, task.run, &brief_of(task.run, pass, &diff), &diff.digest).await;
            talking.end().await;
            read
        }
        Err(broke) => Err(broke),
    };
    let reviewed = match read {
        Ok(Read::Verdict(verdict)) => {
            let findings = citations::look_up(ports, task, pass, &verdict).await?;
            let read_the_diff = verdict.digest == diff.digest;
            Reviewed::Verdict { verdict, read_the_diff, findings, not_shown: diff.left_out }
        }
        Ok(Read::Nothing { why, raw }) => Reviewed::Unreadable { why, raw },
        Err(Broke::Ceiling(ceiling)) => Reviewed::Cut(ceiling),
        Err(Broke::Crashed(cause)) => Reviewed::Crashed { cause },
        Err(Broke::NotRun { cause, wait }) => return Ok(not_run(cause, wait)),
    };
    Ok(StepResult::Reviewed(Box::new(reviewed)))
}

async fn diff(ports: &Ports, run: &Run, pass: &Pass) -> Result<DiffText, workdir::Error> {
    let (repo, _) = workdir::repository(ports, run).await?;
    let (Some(base), Some(change)) = (run.base_tree().cloned(), pass.change().cloned()) else {
        return Err(crate::git::Error::NoBase.into());
    };
    Ok(blocking(move || repo.diff(&base, &change.tree, &DiffLimits::default()).map(|d| d.text(SHOWN))).await?)
}

fn brief_of(run: &Run, pass: &Pass, diff: &DiffText) -> String {
    let claim = match &pass.written {
        Some(Written::Done { report, .. }) if !report.trim().is_empty() => Some(Untrusted::new(report, CLAIM)),
        Some(Written::Done { .. } | Written::Cut { .. } | Written::Crashed { .. }) | None => None,
    };
    text(&Reviewer {
        issue: brief::issue(run),
        checks: brief::verification(run, pass),
        diff: Untrusted::new(&diff.text, SHOWN * 2),
        digest: diff.digest.clone(),
        left_out: brief::left_out(&diff.left_out),
        changed_tests: diff.changed_tests().map(Inline::new).collect(),
        open: brief::open(run),
        criteria: Vec::new(),
        claim,
    })
}

enum Read {
    Verdict(Verdict),
    Nothing { why: String, raw: String },
}

/// Asks for a verdict, and again for what is missing in it, in the same conversation.
async fn ask(talking: &mut Talking<'_>, run: &Run, brief: &str, digest: &str) -> Result<Read, Broke> {
    let mut turn = talking.turn(brief).await?;
    for _ in 0..REASKS {
        let Some(again) = reask(run, &read(&turn), digest) else { break };
        turn = talking.turn(&text(&again)).await?;
    }
    Ok(match read(&turn) {
        Reading::Verdict(verdict) => Read::Verdict(verdict),
        Reading::None { why } => Read::Nothing { why: why.to_string(), raw: shortened(&turn.last_message, RAW) },
    })
}

fn read(turn: &Turn) -> Reading {
    verdict::read(&turn.verdicts, &turn.last_message)
}

/// What must be asked for again; `None` if the verdict is whole.
fn reask(run: &Run, reading: &Reading, digest: &str) -> Option<Reask> {
    let verdict = match reading {
        Reading::None { why } => {
            return Some(Reask { unreadable: Some(Inline::new(&why.to_string())), ..Reask::default() });
        }
        Reading::Verdict(verdict) => verdict,
    };
    let proof = (verdict.digest != digest).then(|| {
        Inline::new("The verdict does not repeat the diff-digest that stands below the diff: copy it into \"digest\".")
    });
    let ruled = |id: &str| verdict.rulings.iter().any(|r| r.id == id);
    let owed = run.ledger.open().filter(|o| !o.is_check() && !ruled(&o.id));
    let bare = verdict.rulings.iter().filter(|r| r.ruling == RulingKind::Met && r.note.trim().is_empty());
    let again = Reask {
        unreadable: proof,
        rulings: owed.map(|o| Inline::new(&o.id)).collect(),
        criteria: Vec::new(),
        evidence: bare.map(|r| Inline::new(&r.id)).collect(),
    };
    let is_whole = again.unreadable.is_none() && again.rulings.is_empty() && again.evidence.is_empty();
    (!is_whole).then_some(again)
}
