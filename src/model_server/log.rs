//! What the server was asked, for tests to look at.

use std::collections::VecDeque;

use axum::http::HeaderMap;
use serde::Serialize;

/// The most requests that are kept.
const MAX_REQUESTS: usize = 2_000;
/// The most bytes of one body that are kept.
const MAX_BODY: usize = 256 << 10;
/// The most bytes of bodies that are kept in all.
const MAX_BYTES: usize = 64 << 20;

/// The latest requests, oldest first.
#[derive(Default)]
pub(super) struct Log {
    requests: VecDeque<Logged>,
    bytes: usize,
    count: u64,
}

/// One request.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Logged {
    /// Counted from 1, and not reused.
    number: u64,
    /// The conversation that answered it, if one did.
    conversation: Option<String>,
    /// Which turn of it, from 0.
    turn: Option<usize>,
    /// The headers, as names and values.
    headers: Vec<(String, String)>,
    /// The body as it came, or its start.
    body: String,
}

impl Log {
    pub(super) fn add(&mut self, headers: &HeaderMap, body: &[u8], answered: Option<(String, usize)>) {
        self.count += 1;
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers = headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes())));
        let (conversation, turn) = answered.unzip();
        let body = text(&body[..body.len().min(MAX_BODY)]);
        self.bytes += body.len();
        self.requests.push_back(Logged { number: self.count, conversation, turn, headers: headers.collect(), body });
        while self.requests.len() > MAX_REQUESTS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.requests.pop_front() else { break };
            self.bytes -= oldest.body.len();
        }
    }

    pub(super) fn list(&self) -> Vec<Logged> {
        self.requests.iter().cloned().collect()
    }
}
