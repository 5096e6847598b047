//! `implement` and `revise`: an agent writes in a sandbox, and the tree that it leaves is imported.

use super::brief;
use super::conversation::{self, Broke, Talk};
use super::ports::{Ports, Task, not_run, told};
use super::workdir::{self, WithGit};
use crate::agent::Role as AgentRole;
use crate::agent::brief::{Answers, Implementer, Inline, Reviser, text};
use crate::checks::detect::Instructions;
use crate::cycle::answers::{self, Answer};
use crate::cycle::id::TreeId;
use crate::cycle::policy::Role;
use crate::cycle::run::Run;
use crate::cycle::step::{Change, Step, StepResult, Written};

/// How long a claim may be that is kept with the run.
const REPORT: usize = 8 << 10;

pub(super) async fn perform(ports: &Ports, task: &Task<'_>) -> StepResult {
    match write(ports, task).await {
        Ok(result) => result,
        Err(e) => not_run(told(&e), std::time::Duration::ZERO),
    }
}

async fn write(ports: &Ports, task: &Task<'_>) -> Result<StepResult, workdir::Error> {
    let from = start_tree(task.run);
    let tree = workdir::checkout(ports, task, (&from, "write"), WithGit::Yes).await?;
    let instructions = super::prepare::instructions(ports, task.run).await?;
    let talk = Talk { role: Role::Implementer, tools: AgentRole::Implementer, tree: tree.path() };
    let said = match conversation::open(ports, task, talk).await {
        Ok(mut talking) => {
            let said = speak(&mut talking, task, &instructions).await;
            talking.end().await;
            said
        }
        Err(broke) => Err(broke),
    };
    if let Err(Broke::NotRun { cause, wait }) = &said {
        return Ok(not_run(cause.clone(), *wait));
    }
    let change = workdir::import(ports, task, &tree).await;
    Ok(StepResult::Written(Box::new(written(said, change?))))
}

/// A writing step goes on from the tree before it.
fn start_tree(run: &Run) -> TreeId {
    let before = run.passes.iter().rev().find_map(|p| p.change()).map(|c| c.tree.clone());
    before.or_else(|| run.base_tree().cloned()).expect("a writing step follows prepare")
}

fn written(said: Result<(String, Vec<Answer>), Broke>, change: Change) -> Written {
    match said {
        Ok((report, answers)) => Written::Done { change, report, answers },
        Err(Broke::Ceiling(ceiling)) => Written::Cut { ceiling, change: Some(change) },
        Err(Broke::Crashed(cause)) => Written::Crashed { cause, change: Some(change) },
        Err(Broke::NotRun { cause, .. }) => Written::Crashed { cause, change: Some(change) },
    }
}

async fn speak(
    talking: &mut conversation::Talking<'_>,
    task: &Task<'_>,
    instructions: &[Instructions],
) -> Result<(String, Vec<Answer>), Broke> {
    let told = brief_of(task, instructions);
    let turn = talking.turn(&told).await?;
    let mut given = answers::read(&turn.last_message);
    let missing = unanswered(task.run, &given);
    if !missing.is_empty() {
        let problem = given.is_empty().then(|| Inline::new("there was no readable list of answers"));
        let again = text(&Answers { problem, ids: missing.iter().map(|id| Inline::new(id)).collect() });
        let more = answers::read(&talking.turn(&again).await?.last_message);
        given.extend(more.into_iter().filter(|a| missing.contains(&a.id)));
    }
    Ok((conversation::shortened(&answers::in_words(&turn.last_message), REPORT), given))
}

fn brief_of(task: &Task<'_>, instructions: &[Instructions]) -> String {
    let run = task.run;
    match (task.step, run.passes.iter().rev().nth(1)) {
        (Step::Revise(number), Some(before)) => text(&Reviser {
            issue: brief::issue(run),
            base_commit: run.preparation.as_ref().map_or_else(String::new, |p| p.base.to_string()),
            pass: u32::from(number),
            instructions: brief::instructions(instructions),
            checks: brief::verification(run, before),
            open: brief::open(run),
            settled: brief::settled(run),
        }),
        _ => text(&Implementer {
            issue: brief::issue(run),
            instructions: brief::instructions(instructions),
            checks: brief::baseline(run),
        }),
    }
}

/// What a writing step owes an answer to: everything open but the checks, which answer for themselves.
fn unanswered(run: &Run, given: &[Answer]) -> Vec<String> {
    let owed = run.ledger.open().filter(|o| !o.is_check());
    owed.filter(|o| !given.iter().any(|a| a.id == o.id)).map(|o| o.id.clone()).collect()
}
