//! From words to a provider's answer: blocks, counts and the reason to stop.

use serde_json::Value;

use super::play::Cue;
use super::script::{FaultKind, StatedUsage};
use crate::gateway::wire::anthropic::{Block, CacheCreation, MessagesRequest, Response, Role, StopReason, Usage};

/// Bytes that count as one token.
const TOKEN_BYTES: usize = 4;

/// How many tokens this many bytes count as.
pub(super) fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(TOKEN_BYTES)).unwrap_or(u64::MAX)
}

/// The whole answer to a request. It keeps to the output limit, as a provider does, unless the script says otherwise.
pub(super) fn answer(request: &MessagesRequest, request_tokens: u64, cue: &Cue) -> Response {
    let mut content = Vec::new();
    let mut left = usize::try_from(request.max_tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES);
    let mut cut = false;
    if !cue.text.is_empty() {
        let text = take(&cue.text, left);
        cut = text.len() < cue.text.len();
        left -= text.len();
        content.push(Block::text(text));
    }
    for (index, call) in cue.tools.iter().enumerate() {
        let input = Value::Object(call.input.clone());
        let length = call.name.len() + input.to_string().len();
        cut |= length > left;
        if cut {
            break;
        }
        left -= length;
        let id = format!("toolu_{:020}_{index}", cue.number);
        content.push(Block::ToolUse { id, name: call.name.clone(), input, cache_control: None });
    }
    let called = content.iter().any(|block| matches!(block, Block::ToolUse { .. }));
    let stop_reason = match (cut, called) {
        (true, _) => StopReason::MaxTokens,
        (false, true) => StopReason::ToolUse,
        (false, false) => StopReason::EndTurn,
    };
    let usage = usage(request, request_tokens, cue, output_tokens(request, &content, cut));
    Response {
        id: format!("msg_{:020}", cue.number),
        kind: "message".to_owned(),
        role: Role::Assistant,
        model: request.model.clone(),
        content,
        stop_reason: Some(stop_reason),
        usage,
    }
}

/// The start of the text that fits.
fn take(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

fn output_tokens(request: &MessagesRequest, content: &[Block], cut: bool) -> u64 {
    if cut {
        return request.max_tokens;
    }
    let length = |block: &Block| match block {
        Block::Text { text, .. } => text.len(),
        Block::ToolUse { name, input, .. } => name.len() + input.to_string().len(),
        Block::ToolResult { .. } | Block::Thinking { .. } | Block::Unknown(_) => 0,
    };
    tokens(content.iter().map(length).sum()).max(1).min(request.max_tokens)
}

fn usage(request: &MessagesRequest, request_tokens: u64, cue: &Cue, output: u64) -> Usage {
    let stated = cue.usage.unwrap_or_else(|| {
        let (cache_read, written) = match caches(request) {
            true => (cue.cached.min(request_tokens), request_tokens.saturating_sub(cue.cached)),
            false => (0, 0),
        };
        let input = request_tokens - cache_read - written;
        StatedUsage { input, cache_read, cache_write_5m: written, cache_write_1h: 0, output }
    });
    let output = match &cue.fault {
        Some(FaultKind::Overshoot { by }) => request.max_tokens.saturating_add(*by),
        Some(FaultKind::NoUsage) => return Usage::default(),
        Some(
            FaultKind::Status { .. }
            | FaultKind::QuoteKey
            | FaultKind::Cut { .. }
            | FaultKind::ErrorEvent { .. }
            | FaultKind::Garbage
            | FaultKind::Slow { .. },
        )
        | None => stated.output,
    };
    Usage {
        input_tokens: Some(stated.input),
        cache_creation_input_tokens: Some(stated.cache_write_5m + stated.cache_write_1h),
        cache_read_input_tokens: Some(stated.cache_read),
        cache_creation: Some(CacheCreation {
            ephemeral_5m_input_tokens: stated.cache_write_5m,
            ephemeral_1h_input_tokens: stated.cache_write_1h,
        }),
        output_tokens: Some(output),
    }
}

/// Whether the client asked for its input to be cached, anywhere.
fn caches(request: &MessagesRequest) -> bool {
    let marked = |block: &Block| match block {
        Block::Text { cache_control, .. }
        | Block::ToolUse { cache_control, .. }
        | Block::ToolResult { cache_control, .. } => cache_control.is_some(),
        Block::Thinking { .. } | Block::Unknown(_) => false,
    };
    request.cache_control.is_some()
        || request.system.iter().any(|block| block.cache_control.is_some())
        || request.tools.iter().any(|tool| tool.cache_control.is_some())
        || request.messages.iter().flat_map(|message| &message.content).any(marked)
}
