//! What the meter must know of a request, read from the client's own bytes without changing them.
//!
//! Only what can be bounded goes through: a block, tool or option whose price does not follow from the bytes of the
//! request and its output limit is refused, because the ceiling on money would not be one.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::json;

/// The most tokens that one image becomes: the provider scales it to at most 2,576 pixels on the long edge and counts
/// patches of 28 pixels a side, at most 4,784 of them.
pub const IMAGE_TOKENS: u64 = 4_784;
/// The most tokens that the provider adds on its own where there are tools (at most 804 by its list), with room.
pub const TOOL_PROMPT_TOKENS: u64 = 1_536;
/// The deepest nesting of a request.
pub const MAX_REQUEST_DEPTH: usize = 128;

/// A request that is not forwarded, in words for whoever sent it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// It is not JSON of the shape of a request, or has a key twice.
    #[error("not a messages request: {0}")]
    Malformed(String),
    /// It is nested deeper than [`MAX_REQUEST_DEPTH`].
    #[error("nested deeper than {MAX_REQUEST_DEPTH} levels")]
    TooDeep,
    /// It uses something whose cost has no bound known here.
    #[error("{0} is not allowed here, because its cost cannot be bounded")]
    Unbounded(String),
}

/// A request, measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The model's id.
    pub model: String,
    /// The output limit asked for.
    pub max_tokens: u64,
    /// Whether the reply comes as events.
    pub stream: bool,
    /// The thinking budget, which must stay below the output limit.
    pub thinking_budget: Option<u64>,
    /// Whether some of the input may be written to the cache for an hour.
    pub cached_for_an_hour: bool,
    /// Whether the provider drops parts of the conversation, so that a later request can count more than this one.
    pub edits_context: bool,
    has_tools: bool,
    has_thoughts: bool,
    length: usize,
    limit_at: Range<usize>,
    messages_at: Range<usize>,
    images: Vec<Range<usize>>,
}

impl Inspected {
    /// Measures the body of `POST /v1/messages`.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn read(body: &str) -> Result<Self, BadRequest> {
        if json::is_deeper_than(body, MAX_REQUEST_DEPTH) {
            return Err(BadRequest::TooDeep);
        }
        let request: Peek<'_> = parse(body)?;
        request.refuse_unbounded()?;
        let mut found = Found::default();
        let messages: Vec<MessagePeek<'_>> = parse(request.messages.get())?;
        let system = request.system.into_iter().flat_map(|content| content.0);
        for block in system.chain(messages.into_iter().flat_map(|message| message.content.0)) {
            found.block(block, body)?;
        }
        let tools = request.tools.unwrap_or_default();
        for tool in &tools {
            found.tool(tool)?;
        }
        found.mark(request.cache_control.as_ref());
        Ok(Self {
            model: request.model.into_owned(),
            max_tokens: parse(request.max_tokens.get())?,
            stream: request.stream.unwrap_or(false),
            thinking_budget: request.thinking.and_then(|thinking| thinking.budget_tokens),
            cached_for_an_hour: found.hour,
            edits_context: request.context_management.is_some(),
            has_tools: !tools.is_empty(),
            has_thoughts: found.thoughts,
            length: body.len(),
            limit_at: position(body, request.max_tokens.get()),
            messages_at: position(body, request.messages.get()),
            images: found.images,
        })
    }

    /// The most input tokens that this request can have: no token is less than a byte, and an image counts by its
    /// formula and not by its bytes.
    #[must_use]
    pub fn input_bound(&self) -> u64 {
        self.bound_from(0)
    }

    /// The same, where the provider has counted `tokens` for `earlier`, and this request only goes on from it.
    ///
    /// `None` where it does not: anything besides the messages differs, or the provider dropped parts of the
    /// conversation when it counted. It drops thoughts that a person's words came after, and counts them again where
    /// those words are gone.
    #[must_use]
    pub fn input_bound_after(&self, body: &str, earlier: &Self, earlier_body: &str, tokens: u64) -> Option<u64> {
        if earlier.edits_context || self.around_messages(body) != earlier.around_messages(earlier_body) {
            return None;
        }
        let messages = body.as_bytes().get(self.messages_at.clone())?;
        let earlier_messages = earlier_body.as_bytes().get(earlier.messages_at.clone())?;
        let shared = messages.iter().zip(earlier_messages).take_while(|(one, other)| one == other).count();
        let list = earlier_messages.strip_suffix(b"]").unwrap_or(earlier_messages).trim_ascii_end();
        if earlier.has_thoughts && shared < list.len() {
            return None;
        }
        let from = self.messages_at.start + shared;
        let behind = self.length - self.messages_at.end;
        Some(self.bound_from(from).saturating_sub(to_u64(behind)).saturating_add(tokens))
    }

    /// The body with another output limit; every other byte is as it was.
    #[must_use]
    pub fn with_limit(&self, body: &str, limit: u64) -> String {
        let (before, behind) = (body.get(..self.limit_at.start), body.get(self.limit_at.end..));
        format!("{}{limit}{}", before.unwrap_or_default(), behind.unwrap_or_default())
    }

    fn around_messages<'a>(&self, body: &'a str) -> [Option<&'a str>; 2] {
        [body.get(..self.messages_at.start), body.get(self.messages_at.end..)]
    }

    fn bound_from(&self, from: usize) -> u64 {
        let images = self.images.iter().filter(|image| image.end > from);
        let (count, bytes) =
            images.fold((0, 0), |(count, bytes), image| (count + 1, bytes + image.end - image.start.max(from)));
        let hidden = if self.has_tools { TOOL_PROMPT_TOKENS } else { 0 };
        to_u64(self.length - from - bytes).saturating_add(IMAGE_TOKENS * count).saturating_add(hidden)
    }
}

fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BadRequest> {
    serde_json::from_str(text).map_err(|error| BadRequest::Malformed(error.to_string()))
}

/// Where `part`, which was borrowed from `whole`, stands in it.
fn position(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}

#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    max_tokens: &'a RawValue,
    #[serde(borrow)]
    messages: &'a RawValue,
    stream: Option<bool>,
    #[serde(borrow)]
    system: Option<Content<'a>>,
    #[serde(borrow)]
    tools: Option<Vec<ToolPeek<'a>>>,
    #[serde(borrow)]
    cache_control: Option<CachePeek<'a>>,
    thinking: Option<ThinkingPeek>,
    #[serde(borrow)]
    context_management: Option<EditsPeek<'a>>,
    #[serde(borrow)]
    speed: Option<Cow<'a, str>>,
    #[serde(borrow)]
    inference_geo: Option<Cow<'a, str>>,
    #[serde(borrow)]
    mcp_servers: Option<&'a RawValue>,
    #[serde(borrow)]
    container: Option<&'a RawValue>,
    #[serde(borrow)]
    fallbacks: Option<&'a RawValue>,
}

impl Peek<'_> {
    /// Options that make the same tokens dearer, or that make the provider run more than this one call.
    fn refuse_unbounded(&self) -> Result<(), BadRequest> {
        let edits = self.context_management.iter().flat_map(|edits| edits.edits.iter().flatten());
        let compacts = edits.into_iter().any(|edit| !edit.kind.starts_with("clear_"));
        let refused = [
            ("speed", self.speed.as_ref().is_some_and(|speed| speed != "standard")),
            ("inference_geo", self.inference_geo.as_ref().is_some_and(|geo| geo != "global")),
            ("mcp_servers", self.mcp_servers.is_some()),
            ("container", self.container.is_some()),
            ("fallbacks", self.fallbacks.is_some()),
            ("context_management", compacts),
        ];
        match refused.into_iter().find(|(_, used)| *used) {
            Some((option, _)) => Err(BadRequest::Unbounded(format!("`{option}`"))),
            None => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct ThinkingPeek {
    budget_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct EditsPeek<'a> {
    #[serde(borrow)]
    edits: Option<Vec<EditPeek<'a>>>,
}

#[derive(Deserialize)]
struct EditPeek<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ToolPeek<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cache_control: Option<CachePeek<'a>>,
}

#[derive(Deserialize)]
struct CachePeek<'a> {
    #[serde(borrow)]
    ttl: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct MessagePeek<'a> {
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Deserialize)]
struct BlockPeek<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow)]
    source: Option<SourcePeek<'a>>,
    #[serde(borrow)]
    cache_control: Option<CachePeek<'a>>,
}

#[derive(Deserialize)]
struct SourcePeek<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// A string, of which nothing is kept, or a list of blocks.
struct Content<'a>(Vec<BlockPeek<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Blocks;
        impl<'de> Visitor<'de> for Blocks {
            type Value = Vec<BlockPeek<'de>>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of blocks")
            }
            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Vec::new())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = items.next_element()? {
                    blocks.push(block);
                }
                Ok(blocks)
            }
        }
        reader.deserialize_any(Blocks).map(Content)
    }
}

/// What was found on the way through a request.
#[derive(Default)]
struct Found {
    hour: bool,
    thoughts: bool,
    images: Vec<Range<usize>>,
}

impl Found {
    fn block(&mut self, block: BlockPeek<'_>, body: &str) -> Result<(), BadRequest> {
        self.mark(block.cache_control.as_ref());
        match block.kind.as_ref() {
            "text" | "tool_use" => Ok(()),
            "thinking" | "redacted_thinking" => {
                self.thoughts = true;
                Ok(())
            }
            "image" => self.image(block.source, body),
            "tool_result" => {
                let inner = block.content.into_iter().flat_map(|content| content.0);
                inner.into_iter().try_for_each(|block| self.block(block, body))
            }
            other => Err(BadRequest::Unbounded(format!("a block of type `{}`", brief(other)))),
        }
    }

    fn image(&mut self, source: Option<SourcePeek<'_>>, body: &str) -> Result<(), BadRequest> {
        let source = source.ok_or_else(|| BadRequest::Malformed("an image without a source".to_owned()))?;
        let at = match (source.kind.as_ref(), source.data) {
            ("base64", Some(data)) => position(body, data.get()),
            // Its bytes are not in the request: only the formula counts.
            _ => position(body, body.get(body.len()..).unwrap_or_default()),
        };
        self.images.push(at);
        Ok(())
    }

    fn tool(&mut self, tool: &ToolPeek<'_>) -> Result<(), BadRequest> {
        self.mark(tool.cache_control.as_ref());
        match tool.kind.as_deref() {
            None | Some("custom") => Ok(()),
            Some(other) => Err(BadRequest::Unbounded(format!("a tool of type `{}`", brief(other)))),
        }
    }

    fn mark(&mut self, cache_control: Option<&CachePeek<'_>>) {
        let ttl = cache_control.and_then(|mark| mark.ttl.as_deref());
        self.hour |= ttl.is_some_and(|ttl| ttl != "5m");
    }
}

fn brief(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn body(messages: &str, more: &str) -> String {
        format!(r#"{{"model":"m","max_tokens":4096,"messages":{messages}{more}}}"#)
    }

    const HI: &str = r#"[{"role":"user","content":"hi"}]"#;

    #[test]
    fn the_bytes_of_a_request_bound_its_tokens() {
        let text = body(r#"[{"role":"user","content":[{"type":"text","text":"héllo"}]}]"#, "");
        let read = Inspected::read(&text).unwrap();
        assert_eq!((read.model.as_str(), read.max_tokens, read.stream), ("m", 4096, false));
        assert_eq!(read.input_bound(), text.len() as u64);
        let tools = Inspected::read(&body(HI, r#","stream":true,"tools":[{"name":"t","input_schema":{}}]"#)).unwrap();
        assert!(tools.stream);
        assert_eq!(tools.input_bound(), tools.length as u64 + TOOL_PROMPT_TOKENS);
    }

    #[test]
    fn an_image_counts_by_its_formula_wherever_its_bytes_are() {
        let image = |source: &str| {
            body(
                &format!(
                    r#"[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"image","source":{source}}}]}}]}}]"#
                ),
                "",
            )
        };
        let data = "A".repeat(50_000);
        let inline = image(&format!(r#"{{"type":"base64","media_type":"image/png","data":"{data}"}}"#));
        assert_eq!(
            Inspected::read(&inline).unwrap().input_bound(),
            (inline.len() - data.len() - 2) as u64 + IMAGE_TOKENS
        );
        let linked = image(r#"{"type":"url","url":"https://example.org/x.png"}"#);
        assert_eq!(Inspected::read(&linked).unwrap().input_bound(), linked.len() as u64 + IMAGE_TOKENS);
    }

    #[test]
    fn what_has_no_bound_is_refused() {
        let block = |block: &str| body(&format!(r#"[{{"role":"user","content":[{block}]}}]"#), "");
        let cases = [
            block(r#"{"type":"document","source":{"type":"base64","data":"x"}}"#),
            block(r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"document"}]}"#),
            block(r#"{"type":"container_upload","file_id":"f"}"#),
            body(HI, r#","tools":[{"type":"web_search_20250305","name":"web_search"}]"#),
            body(HI, r#","speed":"fast""#),
            body(HI, r#","sp\u0065ed":"fast""#),
            body(HI, r#","inference_geo":"us""#),
            body(HI, r#","mcp_servers":[]"#),
            body(HI, r#","container":"c""#),
            body(HI, r#","fallbacks":[{"model":"x"}]"#),
            body(HI, r#","context_management":{"edits":[{"type":"\u0063ompact_20260112"}]}"#),
        ];
        for text in cases {
            assert!(matches!(Inspected::read(&text), Err(BadRequest::Unbounded(_))), "{text}");
        }
        let fine = body(
            HI,
            r#","speed":"standard","context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"metadata":{"type":"document"}"#,
        );
        assert!(Inspected::read(&fine).unwrap().edits_context);
    }

    #[test]
    fn a_request_that_could_be_read_in_two_ways_is_refused() {
        let cases = [
            body(HI, r#","max_tokens":9"#),
            body(HI, r#","max\u005ftokens":9"#),
            body(HI, r#","model":"other""#),
            body(HI, r#","messages":[]"#),
            body(HI, r#","stream":true,"stream":false"#),
            body(HI, r#","tools":[],"tools":[{"type":"web_search_20250305","name":"web_search"}]"#),
            body(HI, r#","speed":"standard","speed":"fast""#),
            body(HI, "").replace("4096", "1e3"),
            body(HI, "").replace("4096", "18446744073709551616"),
            format!("\u{feff}{}", body(HI, "")),
            body(HI, "").replace("4096", "4096.0"),
            body(HI, "").replace("4096", "-1"),
            body(HI, "").replace("4096", "\"4096\""),
            body(HI, "").replace("\"model\":\"m\",", ""),
            body("7", ""),
            "[]".to_owned(),
            String::new(),
            format!("{} {{}}", body(HI, "")),
        ];
        for text in cases {
            assert!(matches!(Inspected::read(&text), Err(BadRequest::Malformed(_))), "{text}");
        }
        let deep = format!(
            r#"[{{"role":"user","content":[{{"type":"tool_use","input":{}1{}}}]}}]"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(Inspected::read(&body(&deep, "")), Err(BadRequest::TooDeep));
    }

    #[test]
    fn a_mark_for_an_hour_is_found_wherever_it_may_stand() {
        let hour = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;
        let cases = [
            body(HI, &format!(",{hour}")),
            body(HI, &format!(r#","system":[{{"type":"text","text":"s",{hour}}}]"#)),
            body(HI, &format!(r#","tools":[{{"name":"t",{hour}}}]"#)),
            body(&format!(r#"[{{"role":"user","content":[{{"type":"text","text":"s",{hour}}}]}}]"#), ""),
            body(
                &format!(
                    r#"[{{"role":"user","content":[{{"type":"tool_result","content":[{{"type":"text","text":"s",{hour}}}]}}]}}]"#
                ),
                "",
            ),
        ];
        for text in cases {
            assert!(Inspected::read(&text).unwrap().cached_for_an_hour, "{text}");
            assert!(!Inspected::read(&text.replace("1h", "5m")).unwrap().cached_for_an_hour, "{text}");
        }
    }

    #[test]
    fn only_the_limit_changes_when_it_is_lowered() {
        let text = r#"{"messages":[{"role":"user","content":"\"max_tokens\":9"}],  "max_tokens" : 4096 ,"model":"m","x":[1, 2]}"#;
        let read = Inspected::read(text).unwrap();
        assert_eq!(read.with_limit(text, 1_500), text.replace("4096", "1500"));
    }

    #[test]
    fn what_was_billed_before_counts_at_its_real_size() {
        let one = body(HI, r#","tools":[{"name":"t"}]"#);
        let two = body(
            r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]"#,
            r#","tools":[{"name":"t"}]"#,
        );
        let (first, second) = (Inspected::read(&one).unwrap(), Inspected::read(&two).unwrap());
        let added = r#",{"role":"assistant","content":"yo"}]"#.len() as u64;
        assert_eq!(second.input_bound_after(&two, &first, &one, 900), Some(900 + added + TOOL_PROMPT_TOKENS));
        let other = two.replace("\"t\"", "\"u\"");
        assert_eq!(Inspected::read(&other).unwrap().input_bound_after(&other, &first, &one, 900), None);
        let model = two.replace("\"m\"", "\"n\"");
        assert_eq!(Inspected::read(&model).unwrap().input_bound_after(&model, &first, &one, 900), None);
    }

    #[test]
    fn thoughts_that_were_not_counted_are_not_taken_for_counted() {
        let asked = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}"#;
        let replied = r#",{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}"#;
        let counted = body(&format!(r#"{asked}{replied},{{"role":"user","content":"and now?"}} ]"#), "");
        let longer = body(
            &format!(
                r#"{asked}{replied},{{"role":"user","content":"and now?"}} ,{{"role":"assistant","content":"no"}}]"#
            ),
            "",
        );
        let other = body(&format!("{asked}{replied}]"), "");
        let read = |text: &str| Inspected::read(text).unwrap();
        let after = |text: &str| read(text).input_bound_after(text, &read(&counted), &counted, 20);
        assert!(after(&longer).is_some_and(|bound| bound < read(&longer).input_bound()));
        assert_eq!(after(&other), None, "the words that made the thoughts old are gone");
    }

    #[test]
    fn a_count_of_a_shortened_conversation_says_nothing_about_the_next() {
        let edits = r#","context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}"#;
        let text = body(HI, edits);
        let read = Inspected::read(&text).unwrap();
        assert_eq!(read.input_bound_after(&text, &read, &text, 5), None);
    }
}
