//! Which words answer a request.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::fill::{Fill, Missing};
use super::script::{Conversation, FaultKind, Reply, Script, StatedUsage, ToolCall, When};
use crate::gateway::wire::anthropic::{Block, Message, MessagesRequest, Role};

/// A script being played.
pub(super) struct Play {
    script: Script,
    used: Vec<u32>,
    begun: HashMap<[u8; 32], Begun>,
    cues: u64,
}

/// A conversation that has begun, known by its instructions and first message.
#[derive(Default)]
struct Begun {
    conversation: usize,
    /// Whether its first turn was answered: the same beginning is then a new conversation and not a repetition.
    answered: bool,
    /// How often each turn went wrong.
    faults: BTreeMap<usize, u32>,
    /// Tokens of the longest request so far, all in the cache if the client asked for that.
    cached: u64,
}

/// The words of one turn, filled in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cue {
    pub(super) conversation: String,
    pub(super) turn: usize,
    pub(super) text: String,
    pub(super) tools: Vec<ToolCall>,
    pub(super) usage: Option<StatedUsage>,
    pub(super) fault: Option<FaultKind>,
    /// Tokens that an earlier request of this conversation left in the cache.
    pub(super) cached: u64,
    /// A number that no other cue has.
    pub(super) number: u64,
}

/// The most conversations that are remembered.
const MAX_BEGUN: usize = 10_000;

impl Play {
    pub(super) fn new(script: Script) -> Self {
        Self { used: vec![0; script.conversation.len()], script, begun: HashMap::new(), cues: 0 }
    }

    /// The words for this request, or why there are none.
    pub(super) fn cue(&mut self, request: &MessagesRequest, request_tokens: u64) -> Result<Cue, String> {
        let spoken = Spoken::of(request);
        let key = spoken.key();
        let turn = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        let index = self.find(&spoken, key, turn)?;
        let begun = self.begun.entry(key).or_default();
        let cached = begun.cached;
        begun.cached = request_tokens.max(cached);
        let conversation = &self.script.conversation[index];
        let (reply, obeyed) = conversation.reply(&spoken, turn)?;
        let fault = reply.fault.as_ref().filter(|fault| {
            let happened = begun.faults.entry(turn).or_default();
            *happened += 1;
            fault.times.is_none_or(|times| *happened <= times)
        });
        begun.answered |= fault.is_none();
        let fill = Fill { capture: &self.script.capture, texts: &spoken.all };
        let missing = |Missing(name)| format!("the request holds no value for {{{{{name}}}}}");
        let call = |call: &ToolCall| match obeyed {
            true => Ok(call.clone()),
            false => Ok(ToolCall { name: call.name.clone(), input: fill.map(&call.input)? }),
        };
        self.cues += 1;
        Ok(Cue {
            number: self.cues,
            conversation: conversation.name.clone(),
            turn,
            text: fill.text(&reply.text).map_err(missing)?,
            tools: reply.tools.iter().map(call).collect::<Result<_, _>>().map_err(missing)?,
            usage: reply.usage,
            fault: fault.map(|fault| fault.kind.clone()),
            cached,
        })
    }

    /// The conversation that this request belongs to, or the one that it begins.
    fn find(&mut self, spoken: &Spoken, key: [u8; 32], turn: usize) -> Result<usize, String> {
        if let Some(begun) = self.begun.get(&key)
            && (turn > 0 || !begun.answered)
        {
            return Ok(begun.conversation);
        }
        let fits = |(index, conversation): &(usize, &Conversation)| {
            conversation.uses.is_none_or(|uses| self.used[*index] < uses) && conversation.when.holds(spoken)
        };
        let found = self.script.conversation.iter().enumerate().find(fits).map(|(index, _)| index);
        let index = found.ok_or_else(|| {
            let start: String = spoken.system.chars().take(120).collect();
            format!("no conversation of the script answers this request, whose instructions begin with: {start}")
        })?;
        self.used[index] += 1;
        if self.begun.len() >= MAX_BEGUN {
            self.begun.clear();
        }
        self.begun.insert(key, Begun { conversation: index, ..Begun::default() });
        Ok(index)
    }
}

impl When {
    fn holds(&self, spoken: &Spoken) -> bool {
        let role = self.role.as_ref().map(|role| format!("You are the {role}"));
        role.is_none_or(|role| spoken.system.contains(&role))
            && self.system_contains.as_ref().is_none_or(|text| spoken.system.contains(text))
            && self.about.as_ref().is_none_or(|text| spoken.all.iter().any(|said| said.contains(text)))
            && self.request_contains.as_ref().is_none_or(|text| spoken.all.iter().any(|said| said.contains(text)))
            && self.model.as_ref().is_none_or(|model| *model == spoken.model)
    }
}

impl Conversation {
    /// The turn's reply, and whether it is one that the issue asked for.
    fn reply(&self, spoken: &Spoken, turn: usize) -> Result<(Reply, bool), String> {
        let orders = if self.obedient { spoken.orders() } else { Vec::new() };
        if let Some(command) = orders.get(turn) {
            let input = json!({ "command": command }).as_object().cloned().unwrap_or_default();
            let call = ToolCall { name: "bash".to_owned(), input };
            return Ok((Reply { text: "As told.".to_owned(), tools: vec![call], ..Reply::default() }, true));
        }
        let own = turn - orders.len();
        let last = self.turn.last().filter(|_| self.repeat_last);
        match self.turn.get(own).or(last) {
            Some(reply) => Ok((reply.clone(), false)),
            None if self.obedient => Ok((Reply { text: "Done.".to_owned(), ..Reply::default() }, false)),
            None => Err(format!("the script's conversation `{}` has no turn {}", self.name, own + 1)),
        }
    }
}

/// The texts of a request.
struct Spoken {
    model: String,
    system: String,
    first: String,
    all: Vec<String>,
}

impl Spoken {
    fn of(request: &MessagesRequest) -> Self {
        let system = request.system.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n");
        let texts = |message: &Message| message.content.iter().filter_map(text_of).collect::<Vec<_>>();
        let first = request.messages.first().map(texts).unwrap_or_default().join("\n");
        let said = request.messages.iter().flat_map(texts);
        let all = std::iter::once(system.clone()).chain(said).collect();
        Self { model: request.model.clone(), system, first, all }
    }

    fn key(&self) -> [u8; 32] {
        Sha256::new().chain_update(&self.system).chain_update([0]).chain_update(&self.first).finalize().into()
    }

    /// The commands that the first message orders: lines that begin with `RUN:`, quoted or not.
    fn orders(&self) -> Vec<String> {
        let plain =
            |line: &'_ str| line.trim_start_matches(['>', ' ', '\t']).strip_prefix("RUN:").map(|c| c.trim().to_owned());
        self.first.lines().filter_map(plain).collect()
    }
}

fn text_of(block: &Block) -> Option<String> {
    match block {
        Block::Text { text, .. } => Some(text.clone()),
        Block::ToolResult { content, .. } => Some(content.clone()),
        Block::ToolUse { input, .. } => Some(input.to_string()),
        Block::Thinking { .. } | Block::Unknown(_) => None,
    }
}
