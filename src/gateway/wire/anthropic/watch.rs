//! What the meter must know of a reply, read from a copy of its bytes.

use super::super::super::meter::{Counted, Tokens};
use super::super::sse::SseDecoder;
use super::event::StreamEvent;
use super::response::{ErrorBody, Response, StopReason, Usage};

/// What a reply said about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Tokens used, as far as they were stated.
    pub usage: Usage,
    /// Whether anything of an answer came.
    pub started: bool,
    /// Whether the answer came to its end, so that `usage` is final.
    pub whole: bool,
    /// Why the model stopped.
    pub stop_reason: Option<StopReason>,
    /// What the provider sent in place of the rest.
    pub error: Option<ErrorBody>,
}

impl Seen {
    /// The counts, for the meter. Cache writes whose lifetime is not stated count as the dearer kind where the request
    /// allowed that.
    #[must_use]
    pub fn counted(&self, cached_for_an_hour: bool) -> Counted {
        let usage = &self.usage;
        let input = usage.input_tokens.map(|input| {
            let split = usage.cache_creation.unwrap_or_default();
            let (minutes, hour) = (split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens);
            let written = usage.cache_creation_input_tokens.unwrap_or_default();
            let rest = written.saturating_sub(minutes).saturating_sub(hour);
            let (rest_minutes, rest_hour) = if cached_for_an_hour { (0, rest) } else { (rest, 0) };
            Tokens {
                input,
                cache_read: usage.cache_read_input_tokens.unwrap_or_default(),
                cache_write_5m: minutes.saturating_add(rest_minutes),
                cache_write_1h: hour.saturating_add(rest_hour),
                output: 0,
            }
        });
        Counted { input, output: usage.output_tokens, is_final: self.whole }
    }

    /// Reads the body of an unstreamed reply; a body that is none counts as an answer that never came to its end.
    #[must_use]
    pub fn in_body(body: &[u8]) -> Self {
        let reply = std::str::from_utf8(body).ok().and_then(|text| Response::parse(text).ok());
        match reply {
            Some(reply) => {
                let Response { usage, stop_reason, .. } = reply;
                Self { usage, started: true, whole: true, stop_reason, error: None }
            }
            None => Self { started: true, ..Self::default() },
        }
    }
}

/// Follows a streamed reply. It cannot fail: a stream that it cannot read has no final usage.
#[derive(Debug, Default)]
pub struct StreamWatch {
    decoder: SseDecoder,
    lost: bool,
    seen: Seen,
}

impl StreamWatch {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.lost {
            return;
        }
        match self.decoder.push(bytes) {
            Ok(events) => events.iter().for_each(|data| self.event(data)),
            Err(_) => self.lose(),
        }
    }

    /// What has been seen so far.
    #[must_use]
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    fn event(&mut self, data: &str) {
        match StreamEvent::parse(data) {
            Ok(StreamEvent::MessageStart { message }) => {
                self.seen.started = true;
                self.seen.usage.update(&message.usage.at_start());
            }
            Ok(StreamEvent::MessageDelta { delta, usage }) => {
                self.seen.usage.update(&usage);
                self.seen.stop_reason = delta.stop_reason.or(self.seen.stop_reason.take());
            }
            Ok(StreamEvent::MessageStop) => self.seen.whole = !self.lost,
            Ok(StreamEvent::Error { error }) => self.seen.error = Some(error),
            Ok(
                StreamEvent::ContentBlockStart { .. }
                | StreamEvent::ContentBlockDelta { .. }
                | StreamEvent::ContentBlockStop { .. }
                | StreamEvent::Ping
                | StreamEvent::Unknown(_),
            ) => {}
            Err(_) => self.lose(),
        }
    }

    /// Something was unreadable, so what was seen before it is not the whole story.
    fn lose(&mut self) {
        self.lost = true;
        self.seen.started = true;
        self.seen.whole = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::response::CacheCreation;
    use super::*;

    const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\n";
    const DELTA: &str = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":42}}\n\n";
    const STOP: &str = "data: {\"type\":\"message_stop\"}\n\n";

    fn watch(parts: &[&str]) -> Seen {
        let mut watch = StreamWatch::default();
        parts.iter().for_each(|part| watch.push(part.as_bytes()));
        watch.seen
    }

    #[test]
    fn usage_is_that_of_the_start_with_the_last_count_of_output() {
        let later = DELTA.replace("42", "50");
        let seen = watch(&[START, DELTA, &later, STOP]);
        assert!(seen.whole && seen.started);
        assert_eq!(seen.stop_reason, Some(StopReason::MaxTokens));
        assert_eq!((seen.usage.input_tokens, seen.usage.output_tokens), (Some(10), Some(50)));
        assert_eq!(seen.usage.cache_read_input_tokens, Some(4));
    }

    #[test]
    fn a_count_of_output_from_the_start_is_not_taken_for_the_last() {
        let seen =
            watch(&[START, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n", STOP]);
        assert!(seen.whole);
        assert_eq!(seen.usage.output_tokens, None);
    }

    #[test]
    fn cache_writes_are_split_by_lifetime_as_far_as_stated() {
        let usage = |split: Option<(u64, u64)>| Usage {
            input_tokens: Some(1),
            cache_creation_input_tokens: Some(10),
            cache_creation: split.map(|(ephemeral_5m_input_tokens, ephemeral_1h_input_tokens)| CacheCreation {
                ephemeral_5m_input_tokens,
                ephemeral_1h_input_tokens,
            }),
            ..Usage::default()
        };
        let table = [
            (Some((4, 6)), false, (4, 6)),
            (Some((4, 5)), true, (4, 6)),
            (None, false, (10, 0)),
            (None, true, (0, 10)),
            (Some((20, 0)), true, (20, 0)),
        ];
        for (split, hour, expected) in table {
            let counted = Seen { usage: usage(split), ..Seen::default() }.counted(hour);
            let written = counted.input.map(|tokens| (tokens.cache_write_5m, tokens.cache_write_1h));
            assert_eq!(written, Some(expected), "{split:?} {hour}");
        }
    }

    #[test]
    fn a_stream_that_breaks_has_no_final_usage() {
        assert!(!watch(&[START, DELTA]).whole);
        assert!(!watch(&[START, "data: {broken\n\n", DELTA, STOP]).whole);
        assert!(
            !watch(&[
                START,
                "data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":-4}}\n\n",
                STOP
            ])
            .whole
        );
        let garbage = watch(&["<html>", "\n\n"]);
        assert!(!garbage.whole && !garbage.started);
    }

    #[test]
    fn an_error_in_place_of_an_answer_is_told_from_one_in_the_middle() {
        let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
        let (at_once, midway) = (watch(&[error]), watch(&[START, error]));
        assert!(at_once.error.is_some() && !at_once.started);
        assert!(midway.error.is_some() && midway.started);
    }

    #[test]
    fn a_body_is_read_like_a_stream_and_garbage_is_an_answer_of_unknown_size() {
        let body = br#"{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}"#;
        let seen = Seen::in_body(body);
        assert!(seen.whole && seen.usage.output_tokens == Some(4));
        for garbage in [&b"<html>"[..], b"", b"\xff", b"{}", br#"{"usage":{"input_tokens":1}}"#] {
            let seen = Seen::in_body(garbage);
            assert!(seen.started && !seen.whole, "{garbage:?}");
        }
    }
}
