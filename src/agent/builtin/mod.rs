//! The built-in agent: a model and its tools, in a loop that runs in the service.
//!
//! It speaks to the model only through the gateway, and acts only inside the sandbox. It knows nothing of money, passes
//! or verdicts' meaning: a refusal by the gateway ends the turn, and a verdict is handed over as it was written.

mod history;
mod model;
mod reply;
mod retry;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Action, Error, Role, Sink, Stop, ToolCall, Turn, text};
use crate::gateway::Client;
use crate::gateway::wire::anthropic::{Block, Effort, Response};
use crate::sandbox::{self, Sandbox};
use history::History;
use model::Model;
use reply::{Call, Ending, Reply};
use tools::{Done, Tool};

/// How much of a tool call's arguments and result is kept for the transcript, each in bytes.
const KEPT: usize = 16 << 10;
/// How many tool calls of one message are carried out.
const CALLS_AT_ONCE: usize = 32;
/// Longer than any run may take; a time beyond it could not be reckoned with.
const LONGEST_TURN: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long a cancelled turn may take over what is still running in the sandbox.
const TIDYING: Duration = Duration::from_secs(1);

/// What a conversation is opened with.
pub struct Opening {
    /// Which tools it has.
    pub role: Role,
    /// The model's id, as the gateway knows it.
    pub model: String,
    /// How much effort the model makes; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// The way to the model.
    pub client: Client,
    /// Where the tools act.
    pub sandbox: Arc<Sandbox>,
    /// Where what it does is told.
    pub sink: Sink,
    /// Ends a turn at once.
    pub cancel: CancellationToken,
    /// Sizes and patience.
    pub limits: Limits,
}

/// Sizes and patience of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most model calls in one turn that are answered.
    pub calls: u32,
    /// The most tokens of one answer. The gateway lowers it to what the run's money allows.
    pub answer_tokens: u64,
    /// About how many bytes the conversation may have; older results are dropped beyond it. A token is some three or
    /// four bytes, and the model's context must hold this, its tools and one more answer.
    pub context_bytes: usize,
    /// How long one model call is tried again while the provider fails or limits the rate.
    pub patience: Duration,
}

impl Default for Limits {
    /// 200 calls, 32,000 tokens, 450,000 bytes (for a context of 200,000 tokens), 15 minutes.
    fn default() -> Self {
        Self { calls: 200, answer_tokens: 32_000, context_bytes: 450_000, patience: Duration::from_secs(900) }
    }
}

/// A conversation with a model that has tools.
pub struct Conversation {
    model: Model,
    tools: &'static [Tool],
    sandbox: Arc<Sandbox>,
    history: History,
    sink: Sink,
    cancel: CancellationToken,
    calls: u32,
}

impl Conversation {
    /// Opens a conversation; nothing is sent yet.
    #[must_use]
    pub fn open(opening: Opening) -> Self {
        let Opening { role, model, effort, client, sandbox, sink, cancel, limits } = opening;
        let tools = tools::offered(role);
        let calls = limits.calls;
        let model = Model::new(client, model::Settings { role, model, effort, limits });
        Self { model, tools, sandbox, history: History::default(), sink, cancel, calls }
    }

    /// Says `prompt` and lets the agent work until it stops by itself, for at most `within`.
    ///
    /// When this returns, no command of the agent is running any more, unless it was cancelled and the sandbox is slow.
    /// What it did on the way has gone to the sink, also where this returns an error. Dropping the future ends the call
    /// and the command under way, but not what earlier commands left running.
    ///
    /// # Errors
    /// See [`Error`]; another turn can be taken after any of them.
    pub async fn turn(&mut self, prompt: &str, within: Duration) -> Result<Turn, Error> {
        let cancel = self.cancel.clone();
        let deadline = Instant::now() + within.min(LONGEST_TURN);
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            () = tokio::time::sleep_until(deadline) => Err(Error::OutOfTime),
            outcome = self.work(prompt, deadline) => outcome,
        };
        match self.tidy(matches!(outcome, Err(Error::Cancelled))).await {
            Err(fault) if outcome.is_ok() => Err(Error::Sandbox(fault)),
            Ok(()) | Err(_) => outcome,
        }
    }

    /// Ends what commands left running. Somebody who cancelled will end the sandbox as a whole, and does not wait long.
    async fn tidy(&self, cancelled: bool) -> Result<(), sandbox::Error> {
        let killing = self.sandbox.kill_commands();
        if cancelled { timeout(TIDYING, killing).await.unwrap_or(Ok(())) } else { killing.await }
    }

    async fn work(&mut self, prompt: &str, deadline: Instant) -> Result<Turn, Error> {
        self.history.prompt(prompt);
        let mut verdicts = Vec::new();
        for call in 0..self.calls {
            let response = match call {
                0 => self.first_answer(deadline).await?,
                _ => self.model.answer(&mut self.history, &self.sink, deadline).await?,
            };
            if let Some(turn) = self.take(response, &mut verdicts).await? {
                return Ok(turn);
            }
        }
        Err(Error::TooManyCalls(self.calls))
    }

    /// Models sometimes answer nothing at all; asked once more, most of them do.
    async fn first_answer(&mut self, deadline: Instant) -> Result<Response, Error> {
        for _ in 0..2 {
            let response = self.model.answer(&mut self.history, &self.sink, deadline).await?;
            if !reply::is_empty(&response) {
                return Ok(response);
            }
        }
        Err(Error::Empty)
    }

    /// Takes an answer into the conversation and does what it asks for; the turn, if that ends it.
    async fn take(&mut self, response: Response, verdicts: &mut Vec<String>) -> Result<Option<Turn>, Error> {
        for action in reply::said(&response) {
            tell(&self.sink, action).await;
        }
        let reply = Reply::of(&response);
        if reply.ending == Ending::Cut {
            return Err(Error::OutputCut);
        }
        self.history.answer(response.content);
        let ended_by_verdict = self.use_tools(&reply.calls, verdicts).await?;
        let stop = match reply.ending {
            Ending::Paused => return Ok(None),
            _ if !reply.calls.is_empty() && !ended_by_verdict => return Ok(None),
            Ending::Refused => Stop::Refused,
            Ending::Done | Ending::Cut => Stop::Done,
        };
        Ok(Some(Turn { last_message: reply.text, verdicts: std::mem::take(verdicts), stop }))
    }

    /// Carries out the calls of one message, in order. Whether the review ends with them: they were all verdicts, and
    /// readable ones. An answer to its result would cost money and could change nothing.
    async fn use_tools(&mut self, calls: &[Call], verdicts: &mut Vec<String>) -> Result<bool, Error> {
        if calls.is_empty() {
            return Ok(false);
        }
        let is_verdict = |call: &&Call| call.name == Tool::Verdict.name() && self.tools.contains(&Tool::Verdict);
        let given: Vec<_> = calls.iter().filter(is_verdict).map(|call| tools::raw_verdict(&call.input)).collect();
        let only_verdicts = given.len() == calls.len();
        if !given.is_empty() {
            *verdicts = given;
        }
        let (mut results, mut failed) = (Vec::new(), false);
        for (place, call) in calls.iter().enumerate() {
            let done = if place < CALLS_AT_ONCE { self.use_tool(call).await? } else { Done::too_many(CALLS_AT_ONCE) };
            failed |= done.failed;
            results.push(Block::tool_result(&call.id, done.output, done.failed));
        }
        self.history.results(results);
        Ok(only_verdicts && !failed)
    }

    async fn use_tool(&self, call: &Call) -> Result<Done, Error> {
        let began = Instant::now();
        let done = tools::call(&self.sandbox, self.tools, &call.name, &call.input).await?;
        let used = ToolCall {
            tool: text::head(&text::clean(&call.name), 80),
            summary: done.summary.clone(),
            input: text::ends(&text::clean(&call.input.to_string()), KEPT),
            output: text::ends(&text::clean(&done.output), KEPT),
            failed: done.failed,
            duration: began.elapsed(),
        };
        tell(&self.sink, Action::Used(used)).await;
        Ok(done)
    }
}

/// Nobody may be listening any more, which is no concern of the agent.
async fn tell(sink: &Sink, action: Action) {
    let _ = sink.send(action).await;
}
