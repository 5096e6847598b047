//! Sizes and patience.

use std::time::Duration;

/// What one call, one session and all of them together may take up.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest request, in bytes; the provider takes 32 MB.
    pub request: usize,
    /// The largest answer, in bytes.
    pub answer: usize,
    /// Calls of one session under way at once; more wait.
    pub calls_per_session: usize,
    /// Calls under way at once in all; more wait.
    pub calls: usize,
    /// Connections to one listener at once; more wait.
    pub connections: usize,
    /// How long a client may take to send the head of its request.
    pub head: Duration,
    /// How long a request may wait for its turn.
    pub turn: Duration,
    /// How long a client may take to send its request.
    pub upload: Duration,
    /// How long a connection to the provider may take.
    pub connect: Duration,
    /// How long the provider may take to begin its answer: a long one comes only when it is whole, if unstreamed.
    pub first_byte: Duration,
    /// How long the provider, or the client that reads, may pause within an answer.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: 32 << 20,
            answer: 32 << 20,
            calls_per_session: 8,
            calls: 64,
            connections: 64,
            head: Duration::from_secs(30),
            turn: Duration::from_secs(600),
            upload: Duration::from_secs(60),
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(120),
        }
    }
}
