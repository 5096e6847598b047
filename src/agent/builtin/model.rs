//! One answer of the model to the conversation so far, however often it has to be asked for.

use tokio::time::{Instant, sleep};

use super::history::History;
use super::retry::{Failures, Next, chance};
use super::tools::{offered, on_the_wire};
use super::{Limits, tell};
use crate::agent::{Action, Error, Role, Sink, brief};
use crate::gateway::Client;
use crate::gateway::wire::anthropic::{
    CacheControl, Effort, Message, MessagesRequest, OutputConfig, Response, StopReason, SystemBlock,
};
use crate::sandbox::WORK;

/// What is the same in every request of a conversation.
pub(super) struct Settings {
    pub(super) role: Role,
    pub(super) model: String,
    pub(super) effort: Option<Effort>,
    pub(super) limits: Limits,
}

/// The model behind the gateway.
pub(super) struct Model {
    client: Client,
    frame: MessagesRequest,
    limits: Limits,
}

impl Model {
    pub(super) fn new(client: Client, settings: Settings) -> Self {
        let Settings { role, model, effort, limits } = settings;
        let system = brief::text(&brief::System { role, work: WORK });
        let frame = MessagesRequest {
            model,
            max_tokens: limits.answer_tokens,
            output_config: effort.map(|effort| OutputConfig { effort: Some(effort), ..OutputConfig::default() }),
            // Moved along to the last block by the provider, so that the bytes of what was sent before stay the same.
            cache_control: Some(CacheControl::five_minutes()),
            tools: on_the_wire(offered(role)),
            system: vec![SystemBlock { cache_control: Some(CacheControl::five_minutes()), ..SystemBlock::new(system) }],
            ..MessagesRequest::default()
        };
        Self { client, frame, limits }
    }

    /// The model's next answer. Makes room in the conversation where that is needed, and asks again where asking again
    /// may help, until `deadline` or its own patience.
    pub(super) async fn answer(
        &self,
        history: &mut History,
        sink: &Sink,
        deadline: Instant,
    ) -> Result<Response, Error> {
        let (mut failures, mut give_up) = (Failures::default(), None);
        let mut room = self.limits.context_bytes;
        if history.size() > room {
            // Well below the limit: each time that the beginning changes, the provider's cache is lost.
            make_room(history, room / 3 * 2, sink).await;
        }
        loop {
            let error = match self.client.messages(&self.request(history.messages())).await {
                Ok(response) if response.stop_reason != Some(StopReason::ModelContextWindowExceeded) => {
                    return Ok(response);
                }
                Ok(_) => None,
                Err(error) => Some(error),
            };
            let give_up = *give_up.get_or_insert_with(|| {
                Instant::now().checked_add(self.limits.patience).map_or(deadline, |own| own.min(deadline))
            });
            let patience = give_up.saturating_duration_since(Instant::now());
            match error.map_or(Next::Shrink, |error| failures.next(error, patience, chance())) {
                Next::Again { cause, pause } => {
                    tell(sink, Action::Waiting { cause, pause }).await;
                    sleep(pause).await;
                }
                Next::Shrink => {
                    room = room.min(history.size()) / 2;
                    if !make_room(history, room, sink).await {
                        return Err(Error::ContextFull);
                    }
                }
                Next::Over(error) => return Err(error),
            }
        }
    }

    fn request(&self, messages: &[Message]) -> MessagesRequest {
        MessagesRequest { messages: messages.to_vec(), ..self.frame.clone() }
    }
}

/// Whether anything could be dropped.
async fn make_room(history: &mut History, target: usize, sink: &Sink) -> bool {
    let bytes = history.shrink(target);
    if bytes > 0 {
        tell(sink, Action::Compacted { bytes }).await;
    }
    bytes > 0
}
