//! One agent at work in one step: its sandbox, its way to the model, its transcript.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::ports::{Ports, Task, blocking, told};
use crate::agent::builtin::{Limits, Opening};
use crate::agent::{Conversation, Error, Role as AgentRole, Turn};
use crate::clock;
use crate::cycle::outcome::Ceiling;
use crate::cycle::policy::{AgentChoice, Effort, Role};
use crate::gateway::secret::Token;
use crate::gateway::wire::anthropic;
use crate::gateway::{Client, Session, providers};
use crate::sandbox::{Sandbox, Spec};
use crate::store::Entry;

/// Who talks, and where.
#[derive(Debug)]
pub(super) struct Talk<'a> {
    /// The role, by which the agent was chosen.
    pub(super) role: Role,
    /// The tools that it has.
    pub(super) tools: AgentRole,
    /// Its tree.
    pub(super) tree: &'a Path,
}

/// Why a conversation did not come to its end.
#[derive(Debug)]
pub(super) enum Broke {
    /// A ceiling of the run cut it.
    Ceiling(Ceiling),
    /// The agent broke down.
    Crashed(String),
    /// It never really ran: the provider or the sandbox is away.
    NotRun {
        /// In a person's words.
        cause: String,
        /// The least time to wait.
        wait: Duration,
    },
}

/// An open conversation.
pub(super) struct Talking<'a> {
    ports: &'a Ports,
    task: &'a Task<'a>,
    conversation: Conversation,
    sandbox: Arc<Sandbox>,
    token: Token,
    writer: JoinHandle<()>,
}

/// Opens a conversation in a fresh sandbox on a tree.
pub(super) async fn open<'a>(ports: &'a Ports, task: &'a Task<'a>, talk: Talk<'_>) -> Result<Talking<'a>, Broke> {
    let choice = task.run.policy.agents.get(&talk.role).ok_or_else(|| crashed("no agent is chosen for this role"))?;
    let token = session(ports, task, choice, talk.role)?;
    let client = Client::new(&ports.socket, token.clone()).map_err(|e| away(&e))?;
    let sandbox = Arc::new(sandbox(ports, task, talk.tree).await?);
    let (sink, actions) = mpsc::channel(64);
    let writer = write_down(ports, task, actions);
    let conversation = Conversation::open(Opening {
        role: talk.tools,
        model: choice.model.clone(),
        effort: Some(effort(choice.effort)),
        client,
        sandbox: Arc::clone(&sandbox),
        sink,
        cancel: task.stop.clone(),
        limits: Limits::default(),
    });
    Ok(Talking { ports, task, conversation, sandbox, token, writer })
}

fn session(ports: &Ports, task: &Task<'_>, choice: &AgentChoice, role: Role) -> Result<Token, Broke> {
    let provider = providers::find(&choice.provider).ok_or_else(|| crashed("its provider is not known"))?;
    let session = Session {
        lease: task.lease,
        step: task.seq,
        label: format!("{} as {role}", task.step),
        provider,
        models: vec![choice.model.clone()],
        ceiling: task.run.spent.plus(task.allowance.money),
    };
    ports.gateway.open_session(session).map_err(|e| crashed(&told(&e)))
}

async fn sandbox(ports: &Ports, task: &Task<'_>, tree: &Path) -> Result<Sandbox, Broke> {
    let (backend, path) = (Arc::clone(&ports.backend), tree.to_owned());
    blocking(move || backend.hand_over(&path)).await.map_err(|e| away(&e))?;
    let spec = Spec { run: task.run.id, tree: tree.to_owned(), limits: ports.limits.clone(), gateway: None };
    ports.backend.start(&spec).await.map_err(|e| away(&e))
}

/// Writes what the agent does to the transcript as it comes.
fn write_down(ports: &Ports, task: &Task<'_>, mut actions: mpsc::Receiver<crate::agent::Action>) -> JoinHandle<()> {
    let (store, lease, seq) = (ports.store.clone(), task.lease, task.seq);
    ports.tasks.spawn(async move {
        while let Some(action) = actions.recv().await {
            if let Err(e) = store.write_line(lease, seq, &Entry::from(action), clock::now()).await {
                tracing::warn!(run.id = %lease.run, error = told(&e), "a line of the transcript is lost");
            }
        }
    })
}

fn effort(effort: Effort) -> anthropic::Effort {
    match effort {
        Effort::Low => anthropic::Effort::Low,
        Effort::Medium => anthropic::Effort::Medium,
        Effort::High => anthropic::Effort::High,
    }
}

fn crashed(cause: &(impl ToString + ?Sized)) -> Broke {
    Broke::Crashed(cause.to_string())
}

fn away(error: &dyn std::error::Error) -> Broke {
    Broke::NotRun { cause: told(error), wait: Duration::ZERO }
}

impl Talking<'_> {
    /// Takes a turn within what is left of the step's time.
    pub(super) async fn turn(&mut self, prompt: &str) -> Result<Turn, Broke> {
        let turn = self.conversation.turn(prompt, self.task.left()).await;
        // The gateway tells directly: nothing is concluded from how a turn ended.
        let stop = self.ports.gateway.session_report(&self.token).and_then(|report| report.stop);
        match (turn, stop) {
            (_, Some(crate::gateway::Stop::MoneyRefused { .. } | crate::gateway::Stop::OutputCut { .. })) => {
                Err(Broke::Ceiling(Ceiling::Money))
            }
            (Ok(turn), _) => Ok(turn),
            (Err(error), _) => Err(broke(&error)),
        }
    }

    /// Ends the sandbox and the session; what was under way is settled.
    pub(super) async fn end(self) {
        drop(self.conversation);
        match Arc::try_unwrap(self.sandbox) {
            Ok(sandbox) => {
                if let Err(e) = sandbox.end().await {
                    tracing::warn!(run.id = %self.task.run.id, error = told(&e), "a sandbox did not end cleanly");
                }
            }
            // Its last holder ends it by dropping it.
            Err(shared) => drop(shared),
        }
        self.ports.gateway.close_session(&self.token).await;
        if let Err(e) = self.writer.await {
            tracing::warn!(run.id = %self.task.run.id, error = told(&e), "the transcript's writer broke");
        }
    }
}

/// The one place that says what an agent's failure means for its step.
fn broke(error: &Error) -> Broke {
    match error {
        Error::MoneyRefused(_) => Broke::Ceiling(Ceiling::Money),
        Error::OutOfTime => Broke::Ceiling(Ceiling::Clock),
        Error::RateLimited { retry_after } => {
            Broke::NotRun { cause: told(error), wait: retry_after.unwrap_or(Duration::ZERO) }
        }
        Error::ProviderDown(_) => Broke::NotRun { cause: told(error), wait: Duration::ZERO },
        Error::OutputCut
        | Error::Denied(_)
        | Error::NotAccepted(_)
        | Error::ContextFull
        | Error::Garbage(_)
        | Error::Empty
        | Error::TooManyCalls(_)
        | Error::Sandbox(_)
        | Error::Cancelled => Broke::Crashed(told(error)),
    }
}

/// The text, cut at a character within `max` bytes.
pub(super) fn shortened(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    format!("{}… (cut)", &text[..end])
}
