//! Answers of `openai-responses`: items that begin, grow and end, and whole documents. Reasoning items are kept as
//! they came if they can be returned: with encrypted content, or in plain text from local servers.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::sink::EventSink;
use crate::event::StopReason;
use crate::failure::ProviderFailure;
use crate::json::{JsonObject, JsonText};
use crate::message::{OpaqueLifetime, OpaquePlacement};
use crate::usage::ModelUsage;

/// State between two events.
#[derive(Clone, Debug, Default)]
pub(in crate::codec) struct ItemReader {
    /// Whether items came one by one; a server that sends only the end is read from there.
    has_items: bool,
    /// Whether the item that is being read brought text.
    has_text: bool,
    /// Whether it brought reasoning.
    has_reasoning: bool,
    refused: bool,
}

#[derive(Deserialize)]
struct EndedItem<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Deserialize)]
struct EndedResponse<'a> {
    #[serde(borrow)]
    response: RawResponse<'a>,
}

#[derive(Deserialize)]
struct RawResponse<'a> {
    #[serde(borrow, default)]
    output: Vec<&'a RawValue>,
}

/// Reads a whole answer.
pub(in crate::codec) fn read_document(text: &str, document: &Value, sink: &mut EventSink) {
    let mut reader = ItemReader::default();
    if let Ok(raw) = serde_json::from_str::<RawResponse<'_>>(text) {
        raw.output.iter().for_each(|item| reader.end_item(item.get(), sink));
    }
    reader.end(document, sink);
}

impl ItemReader {
    pub(in crate::codec) fn read(&mut self, text: &str, event: &Value, sink: &mut EventSink) {
        let delta = event.get("delta").and_then(Value::as_str).unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "response.output_item.added" => self.begin_item(event, sink),
            "response.output_text.delta" => {
                self.has_text = true;
                sink.text(delta);
            }
            "response.refusal.delta" => {
                (self.has_text, self.refused) = (true, true);
                sink.text(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.has_reasoning = true;
                sink.reasoning(delta);
            }
            "response.reasoning_summary_part.added" => sink.reasoning("\n"),
            "response.function_call_arguments.delta" => sink.call_arguments(&key(event), delta),
            "response.output_item.done" => {
                self.has_items = true;
                if let Ok(ended) = serde_json::from_str::<EndedItem<'_>>(text) {
                    self.end_item(ended.item.get(), sink);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                if !self.has_items
                    && let Ok(ended) = serde_json::from_str::<EndedResponse<'_>>(text)
                {
                    ended.response.output.iter().for_each(|item| self.end_item(item.get(), sink));
                }
                if let Some(response) = event.get("response") {
                    self.end(response, sink);
                }
            }
            // Beginnings and ends of what comes in pieces, and tools of the vendor.
            _ => {}
        }
    }

    fn begin_item(&mut self, event: &Value, sink: &mut EventSink) {
        let text = |pointer| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        (self.has_text, self.has_reasoning) = (false, false);
        if text("/item/type") == "function_call" {
            sink.begin_call(&key(event), Some(text("/item/call_id")), text("/item/name"));
        }
    }

    fn end_item(&mut self, text: &str, sink: &mut EventSink) {
        let item: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let string = |name| item.get(name).and_then(Value::as_str).unwrap_or_default();
        match string("type") {
            "message" => self.end_message(&item, sink),
            "function_call" => {
                let key = item_key(&item, sink);
                sink.begin_call(&key, Some(string("call_id")), string("name"));
                if !sink.has_arguments(&key) {
                    sink.call_arguments(&key, string("arguments"));
                }
                sink.end_call(&key);
            }
            "reasoning" => self.end_reasoning(text, &item, sink),
            _ => {
                if let Ok(raw) = JsonText::object(text) {
                    sink.opaque(OpaquePlacement::Part, OpaqueLifetime::Conversation, raw);
                }
            }
        }
    }

    /// Kept if it can be returned; what did not come in pieces is shown here.
    fn end_reasoning(&mut self, text: &str, item: &Value, sink: &mut EventSink) {
        let list = |name| item.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let texts = list("summary").iter().chain(list("content"));
        if !std::mem::take(&mut self.has_reasoning) {
            for part in texts {
                sink.reasoning(part.get("text").and_then(Value::as_str).unwrap_or_default());
            }
        }
        let encrypted = item.get("encrypted_content").and_then(Value::as_str).unwrap_or_default();
        let lifetime = match (encrypted.is_empty(), list("content").is_empty()) {
            (false, _) => OpaqueLifetime::Conversation,
            (true, false) => OpaqueLifetime::Turn,
            // The vendor keeps nothing that could be named by its id.
            (true, true) => return,
        };
        if let Ok(raw) = JsonText::object(text) {
            sink.opaque(OpaquePlacement::Part, lifetime, raw);
        }
    }

    /// Text that did not come in pieces is read here; the phase belongs to the text and is returned with it.
    fn end_message(&mut self, item: &Value, sink: &mut EventSink) {
        let content = item.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for part in content {
            let refusal = part.get("refusal").and_then(Value::as_str);
            self.refused |= refusal.is_some();
            if !self.has_text {
                let text = part.get("text").and_then(Value::as_str);
                sink.text(text.or(refusal).unwrap_or_default());
            }
        }
        self.has_text = false;
        sink.end_text();
        if let Some(phase) = item.get("phase").and_then(Value::as_str)
            && !content.is_empty()
        {
            let value = JsonText::of_object(JsonObject::new().with("phase", phase));
            sink.opaque(OpaquePlacement::PreviousPart, OpaqueLifetime::Conversation, value);
        }
    }

    fn end(&self, response: &Value, sink: &mut EventSink) {
        sink.usage(usage(response));
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        match response.get("status").and_then(Value::as_str).unwrap_or_default() {
            "failed" => sink.fail(ProviderFailure::of_document(None, response)),
            "incomplete" => sink.finish(match reason {
                Some("max_output_tokens") => StopReason::MaxTokens,
                Some("content_filter") => StopReason::ContentFilter,
                other => StopReason::Other(other.unwrap_or_default().to_owned()),
            }),
            "cancelled" => sink.finish(StopReason::Other("cancelled".to_owned())),
            _ if self.refused => sink.finish(StopReason::Refusal),
            _ => sink.finish(StopReason::EndTurn),
        }
    }
}

/// The item's id, which its pieces repeat, or its number where a server gives none.
fn key(event: &Value) -> String {
    let id = event.get("item_id").or_else(|| event.pointer("/item/id")).and_then(Value::as_str);
    let number = || event.get("output_index").and_then(Value::as_u64).unwrap_or(0).to_string();
    id.filter(|id| !id.is_empty()).map_or_else(number, str::to_owned)
}

/// The key of an item that has ended: that of its beginning, or a new one.
fn item_key(item: &Value, sink: &EventSink) -> String {
    let id = item.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    id.map_or_else(|| format!("call {}", sink.call_count()), str::to_owned)
}

fn usage(response: &Value) -> ModelUsage {
    let count = |pointer: &str| response.pointer(pointer).and_then(Value::as_u64);
    ModelUsage {
        input_tokens: count("/usage/input_tokens"),
        output_tokens: count("/usage/output_tokens"),
        cache_read_tokens: count("/usage/input_tokens_details/cached_tokens"),
        cache_write_tokens: count("/usage/input_tokens_details/cache_write_tokens"),
        reasoning_tokens: count("/usage/output_tokens_details/reasoning_tokens"),
    }
}
