//! Answers of `anthropic-messages`: blocks that begin, grow and end, and whole documents. Thinking is collected with
//! its signature and kept; blocks of types that are not known here are kept as they came.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::sink::EventSink;
use crate::event::StopReason;
use crate::json::JsonText;
use crate::message::{OpaqueLifetime, OpaquePlacement};
use crate::usage::ModelUsage;

/// State between two events.
#[derive(Clone, Debug, Default)]
pub(in crate::codec) struct BlockReader {
    blocks: Vec<OpenBlock>,
    counts: TokenCounts,
    stop: Option<StopReason>,
}

/// Block that has not ended.
#[derive(Clone, Debug)]
struct OpenBlock {
    key: String,
    kind: BlockKind,
}

#[derive(Clone, Debug)]
enum BlockKind {
    Text,
    /// The arguments that came with the beginning.
    Call(String),
    /// The block as it will be returned.
    Thinking(Value),
    /// The block as it came.
    Other(JsonText),
}

/// Counts as the API gives them: the prompt without what the cache did.
#[derive(Clone, Copy, Debug, Default)]
struct TokenCounts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

#[derive(Deserialize)]
struct StartedBlock<'a> {
    #[serde(borrow)]
    content_block: &'a RawValue,
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
}

/// Reads a whole answer.
pub(in crate::codec) fn read_document(text: &str, document: &Value, sink: &mut EventSink) {
    let mut reader = BlockReader::default();
    let raw: RawMessage<'_> = serde_json::from_str(text).unwrap_or(RawMessage { content: vec![] });
    for (index, block) in raw.content.iter().enumerate() {
        let key = index.to_string();
        reader.begin(&key, block.get(), sink);
        reader.end_block(&key, sink);
    }
    reader.count(document.get("usage"), sink);
    if let Some(reason) = document.get("stop_reason").and_then(Value::as_str) {
        sink.finish(stop_reason(reason));
    }
}

impl BlockReader {
    pub(in crate::codec) fn read(&mut self, text: &str, event: &Value, sink: &mut EventSink) {
        let key = || event.get("index").and_then(Value::as_u64).unwrap_or(0).to_string();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.count(event.pointer("/message/usage"), sink),
            "content_block_start" => {
                if let Ok(started) = serde_json::from_str::<StartedBlock<'_>>(text) {
                    self.begin(&key(), started.content_block.get(), sink);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.get("delta") {
                    self.grow(&key(), delta, sink);
                }
            }
            "content_block_stop" => self.end_block(&key(), sink),
            "message_delta" => {
                self.count(event.get("usage"), sink);
                let reason = event.pointer("/delta/stop_reason").and_then(Value::as_str);
                self.stop = reason.map(stop_reason).or(self.stop.take());
            }
            "message_stop" => {
                sink.finish(self.stop.take().unwrap_or(StopReason::Other(String::new())));
            }
            // `ping`, and what is added some day.
            _ => {}
        }
    }

    /// The end of the body. The reason comes behind all blocks, so nothing is missing where it is known.
    pub(in crate::codec) fn end(&mut self, sink: &mut EventSink) {
        if let Some(stop) = self.stop.take() {
            sink.finish(stop);
        }
    }

    fn begin(&mut self, key: &str, text: &str, sink: &mut EventSink) {
        let block: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let string = |name| block.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = match string("type") {
            "text" => {
                sink.end_text();
                sink.text(string("text"));
                BlockKind::Text
            }
            "tool_use" => {
                sink.begin_call(key, Some(string("id")), string("name"));
                let input = block.get("input").and_then(Value::as_object);
                let input = input.filter(|input| !input.is_empty()).and(raw_member(text, "input"));
                BlockKind::Call(input.unwrap_or_default())
            }
            "thinking" => {
                sink.reasoning(string("thinking"));
                BlockKind::Thinking(block)
            }
            _ => match JsonText::object(text) {
                Ok(raw) => BlockKind::Other(raw),
                Err(_) => return,
            },
        };
        self.blocks.push(OpenBlock { key: key.to_owned(), kind });
    }

    fn grow(&mut self, key: &str, delta: &Value, sink: &mut EventSink) {
        let string = |name| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match string("type") {
            "text_delta" => sink.text(string("text")),
            "input_json_delta" => sink.call_arguments(key, string("partial_json")),
            "thinking_delta" => {
                sink.reasoning(string("thinking"));
                self.grow_thinking(key, "thinking", string("thinking"));
            }
            "signature_delta" => self.grow_thinking(key, "signature", string("signature")),
            // Citations belong to tools of the vendor, which are not asked for.
            _ => {}
        }
    }

    fn grow_thinking(&mut self, key: &str, field: &str, piece: &str) {
        let block = self.blocks.iter_mut().rev().find(|block| block.key == key);
        let Some(OpenBlock { kind: BlockKind::Thinking(Value::Object(block)), .. }) = block else {
            return;
        };
        match block.get_mut(field) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => drop(block.insert(field.to_owned(), piece.into())),
        }
    }

    fn end_block(&mut self, key: &str, sink: &mut EventSink) {
        let Some(position) = self.blocks.iter().rposition(|block| block.key == key) else { return };
        match self.blocks.remove(position).kind {
            BlockKind::Text => sink.end_text(),
            BlockKind::Call(input) => {
                if !sink.has_arguments(key) {
                    sink.call_arguments(key, &input);
                }
                sink.end_call(key);
            }
            BlockKind::Thinking(block) => {
                let signature = block.get("signature").and_then(Value::as_str).unwrap_or_default();
                // Local servers sign nothing: their thinking is plain text.
                let lifetime = if signature.is_empty() {
                    OpaqueLifetime::Turn
                } else {
                    OpaqueLifetime::Conversation
                };
                sink.opaque(OpaquePlacement::Part, lifetime, JsonText::of_value(&block));
            }
            BlockKind::Other(raw) => {
                sink.opaque(OpaquePlacement::Part, OpaqueLifetime::Conversation, raw);
            }
        }
    }

    fn count(&mut self, usage: Option<&Value>, sink: &mut EventSink) {
        let Some(usage) = usage else { return };
        let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
        let counts = &mut self.counts;
        counts.input = count("/input_tokens").or(counts.input);
        counts.output = count("/output_tokens").or(counts.output);
        counts.cache_read = count("/cache_read_input_tokens").or(counts.cache_read);
        counts.cache_write = count("/cache_creation_input_tokens").or(counts.cache_write);
        counts.thinking = count("/output_tokens_details/thinking_tokens").or(counts.thinking);
        let cached = counts.cache_read.unwrap_or(0).saturating_add(counts.cache_write.unwrap_or(0));
        sink.usage(ModelUsage {
            input_tokens: counts.input.map(|input| input.saturating_add(cached)),
            output_tokens: counts.output,
            cache_read_tokens: counts.cache_read,
            cache_write_tokens: counts.cache_write,
            reasoning_tokens: counts.thinking,
        });
    }
}

/// The text of a member as it came.
fn raw_member(text: &str, name: &str) -> Option<String> {
    let members: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    members.get(name).map(|raw| raw.get().to_owned())
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "tool_use" => StopReason::ToolCalls,
        "pause_turn" => StopReason::Paused,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextFull,
        other => StopReason::Other(other.to_owned()),
    }
}
