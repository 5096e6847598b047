//! Anthropic's Messages API: requests, replies, the events of a streamed reply, and a reply put together from them.
//!
//! Tolerant where a provider may grow (an unknown block, event or stop reason is a value), strict where a wrong reading
//! would cost money or trust (duplicate keys, depth, negative counts).

mod collect;
mod event;
mod inspect;
mod message;
mod request;
mod response;
mod watch;

pub use collect::{CollectError, Collector, INVALID_INPUT, MAX_BLOCKS, MAX_RESPONSE};
pub use event::{Delta, MessageDelta, StreamEvent};
pub use inspect::{BadRequest, IMAGE_TOKENS, Inspected, MAX_REQUEST_DEPTH, TOOL_PROMPT_TOKENS};
pub use message::{Block, CacheControl, Message, Role};
pub use request::{Effort, MessagesRequest, OutputConfig, SystemBlock, Thinking, Tool, ToolChoice};
pub use response::{CacheCreation, ErrorBody, ErrorReply, Response, StopReason, Usage};
pub use watch::{Seen, StreamWatch};

/// The value of the `anthropic-version` header that these types describe.
pub const API_VERSION: &str = "2023-06-01";
