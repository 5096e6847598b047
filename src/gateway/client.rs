//! The built-in agent's way to the gateway: the same socket and the same token as every other agent's.

use std::path::Path;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;

use super::secret::Token;
use super::tls;
use super::wire::anthropic::{
    API_VERSION, CollectError, Collector, ErrorReply, MAX_RESPONSE, MessagesRequest, Response, StreamEvent,
};
use super::wire::sse::SseDecoder;

/// Calls models through the gateway.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    token: Token,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The run's money does not allow the call. Calling again is of no use.
    #[error("refused: {0}")]
    Refused(String),
    /// The provider asks to wait.
    #[error("the provider limits the rate of calls")]
    RateLimited {
        /// At least how long, if it said.
        retry_after: Option<Duration>,
    },
    /// The provider cannot answer now, or cannot be reached.
    #[error("the provider is overloaded, down or out of reach ({status}): {text}")]
    Overloaded {
        /// The HTTP status, 529 for an error in the middle of an answer.
        status: u16,
        /// Its words.
        text: String,
    },
    /// The answer ended in the middle.
    #[error("the answer was cut")]
    Cut,
    /// The answer makes no sense.
    #[error("{0}")]
    Garbage(String),
    /// The gateway cannot be reached.
    #[error("the gateway cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The request cannot be answered as it is: calling again with the same is of no use.
    #[error("not accepted: {0}")]
    BadRequest(String),
    /// The token has ended with its run, or the provider does not take our key.
    #[error("denied ({status}): {text}")]
    Denied {
        /// 401 or 403.
        status: u16,
        /// The words.
        text: String,
    },
}

/// The most of an error's text that is read.
const MAX_ERROR: usize = 16 << 10;
/// How much longer an answer's bytes are than what they say.
const FRAMING: usize = 4;

impl Client {
    /// A client on the gateway's socket.
    ///
    /// # Errors
    /// The client cannot be built, which no input brings about.
    pub fn new(socket: &Path, token: Token) -> Result<Self, ClientError> {
        tls::install();
        // The gateway has the patience: it ends every call in time.
        let http = reqwest::Client::builder().unix_socket(socket).no_proxy().tls_certs_only([]).build();
        Ok(Self { http: http.map_err(ClientError::Unreachable)?, token })
    }

    /// Asks the model and waits for the whole answer; dropping the future ends the call.
    ///
    /// # Errors
    /// See [`ClientError`]; nothing is tried twice here.
    pub async fn messages(&self, request: &MessagesRequest) -> Result<Response, ClientError> {
        let request = MessagesRequest { stream: true, ..request.clone() };
        let sent = self
            .http
            .post("http://gateway/v1/messages")
            .header("anthropic-version", API_VERSION)
            .bearer_auth(self.token.expose())
            .json(&request)
            .send();
        let reply = sent.await.map_err(ClientError::Unreachable)?;
        if reply.status().is_success() { collect(reply).await } else { Err(refusal(reply).await) }
    }
}

async fn collect(mut reply: reqwest::Response) -> Result<Response, ClientError> {
    let (mut decoder, mut collector) = (SseDecoder::default(), Collector::default());
    let mut room = MAX_RESPONSE * FRAMING;
    // Read to the end of the stream and not only of the answer: then the call is settled.
    while let Some(chunk) = reply.chunk().await.map_err(|_| ClientError::Cut)? {
        room = room.checked_sub(chunk.len()).ok_or_else(|| garbage("too large"))?;
        for data in decoder.push(&chunk).map_err(|error| garbage(error.to_string()))? {
            let event = StreamEvent::parse(&data).map_err(|error| garbage(error.to_string()))?;
            collector.push(event).map_err(of_stream)?;
        }
    }
    if !collector.is_started() && room < MAX_RESPONSE * FRAMING {
        return Err(garbage("what came is not in the provider's format"));
    }
    collector.finish().map_err(of_stream)
}

fn garbage(why: impl Into<String>) -> ClientError {
    ClientError::Garbage(why.into())
}

fn of_stream(error: CollectError) -> ClientError {
    match error {
        CollectError::Cut => ClientError::Cut,
        CollectError::Provider(error) if error.kind == "rate_limit_error" => {
            ClientError::RateLimited { retry_after: None }
        }
        CollectError::Provider(error) => ClientError::Overloaded { status: 529, text: error.message },
        CollectError::Garbage(_) | CollectError::TooLarge => ClientError::Garbage(error.to_string()),
    }
}

async fn refusal(mut reply: reqwest::Response) -> ClientError {
    let status = reply.status().as_u16();
    let wait = reply.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = reply.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR {
            break;
        }
    }
    let body = String::from_utf8_lossy(&body);
    let text = match ErrorReply::parse(&body) {
        Some(reply) => reply.error.message,
        None => body.chars().take(200).collect(),
    };
    match status {
        402 => ClientError::Refused(text),
        429 => ClientError::RateLimited { retry_after: wait.map(Duration::from_secs) },
        401 | 403 => ClientError::Denied { status, text },
        400..=499 => ClientError::BadRequest(text),
        _ => ClientError::Overloaded { status, text },
    }
}
