//! Answers of `openai-chat`: chunks of a stream, and whole documents, whose message has the shape of a delta.
//!
//! Accents that are understood: `reasoning_content` and `reasoning`; `reasoning_details`; content as a list; calls
//! without index, without id, or all with index 0; usage in `x_groq`; counts of reasoning inside or beside those of
//! the answer; an end without `[DONE]`.

use serde_json::{Map, Value};

use crate::codec::sink::EventSink;
use crate::event::StopReason;
use crate::failure::{FailureKind, ProviderFailure};
use crate::json::{JsonObject, JsonText};
use crate::message::{OpaqueLifetime, OpaquePlacement};
use crate::usage::ModelUsage;

/// Fields in which servers put plain reasoning.
const REASONING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];

/// State between two chunks.
#[derive(Clone, Debug, Default)]
pub(in crate::codec) struct ChunkReader {
    calls: Vec<ChunkCall>,
    /// Plain reasoning so far, and the field it came in.
    reasoning: String,
    reasoning_field: Option<&'static str>,
    details: Vec<Value>,
    refused: bool,
    stop: Option<StopReason>,
}

/// Call of a stream, as the server counts it.
#[derive(Clone, Debug)]
struct ChunkCall {
    index: Option<u64>,
    id: String,
    key: String,
}

/// Reads a whole answer.
pub(in crate::codec) fn read_document(document: &Value, sink: &mut EventSink) {
    let mut reader = ChunkReader::default();
    if let Some(choice) = document.pointer("/choices/0") {
        reader.read_choice(choice, "message", sink);
    }
    sink.usage(usage(document));
    reader.end(sink);
}

impl ChunkReader {
    pub(in crate::codec) fn read(&mut self, chunk: &Value, sink: &mut EventSink) {
        if let Some(choice) = chunk.pointer("/choices/0") {
            self.read_choice(choice, "delta", sink);
        }
        sink.usage(usage(chunk));
    }

    /// `[DONE]`: the server says that nothing is missing, even where it gave no reason.
    pub(in crate::codec) fn done(&mut self, sink: &mut EventSink) {
        self.stop.get_or_insert(StopReason::Other(String::new()));
        self.end(sink);
    }

    /// The end of the body. Without a reason it was cut.
    pub(in crate::codec) fn end(&mut self, sink: &mut EventSink) {
        let Some(stop) = self.stop.take() else { return };
        self.give_state(sink);
        sink.finish(if self.refused { StopReason::Refusal } else { stop });
    }

    fn read_choice(&mut self, choice: &Value, message: &str, sink: &mut EventSink) {
        if let Some(delta) = choice.get(message) {
            self.read_delta(delta, sink);
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            None => {}
            Some("error") => {
                sink.fail(ProviderFailure::local(
                    FailureKind::ServerError,
                    "in the middle of the answer",
                ));
            }
            Some(reason) => self.stop = Some(stop_reason(reason)),
        }
    }

    fn read_delta(&mut self, delta: &Value, sink: &mut EventSink) {
        for field in REASONING_FIELDS {
            if let Some(piece) = delta.get(field).and_then(Value::as_str)
                && self.reasoning_field.is_none_or(|first| first == field)
            {
                self.add_reasoning(field, piece, sink);
            }
        }
        for detail in list(delta.get("reasoning_details")) {
            add_detail(&mut self.details, detail);
        }
        match delta.get("content") {
            Some(Value::String(piece)) => sink.text(piece),
            Some(Value::Array(items)) => {
                items.iter().for_each(|item| self.read_content_item(item, sink));
            }
            _ => {}
        }
        if let Some(piece) = delta.get("refusal").and_then(Value::as_str)
            && !piece.is_empty()
        {
            self.refused = true;
            sink.text(piece);
        }
        for call in list(delta.get("tool_calls")) {
            self.read_call(call, sink);
        }
    }

    fn add_reasoning(&mut self, field: &'static str, piece: &str, sink: &mut EventSink) {
        if !piece.is_empty() {
            self.reasoning_field = Some(field);
            self.reasoning.push_str(piece);
            sink.reasoning(piece);
        }
    }

    /// An item of a content list: text, or thinking, which is again a list of texts.
    fn read_content_item(&mut self, item: &Value, sink: &mut EventSink) {
        if let Some(text) = item.get("text").and_then(Value::as_str) {
            return sink.text(text);
        }
        for thought in list(item.get("thinking")) {
            sink.reasoning(thought.get("text").and_then(Value::as_str).unwrap_or_default());
        }
    }

    fn read_call(&mut self, call: &Value, sink: &mut EventSink) {
        let text = |pointer| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (id, name) = (text("/id"), text("/function/name"));
        let index = call.get("index").and_then(Value::as_u64);
        let key = match self.known_call(index, id, name) {
            Some(known) => known.key.clone(),
            None => {
                let key = self.calls.len().to_string();
                self.calls.push(ChunkCall { index, id: id.to_owned(), key: key.clone() });
                sink.begin_call(&key, Some(id), name);
                key
            }
        };
        match call.pointer("/function/arguments") {
            Some(Value::String(piece)) => sink.call_arguments(&key, piece),
            // Some servers write the object itself.
            Some(object @ Value::Object(_)) => sink.call_arguments(&key, &object.to_string()),
            _ => {}
        }
        let is_last = self.calls.last().is_some_and(|last| last.key == key);
        if let Some(extra) = call.get("extra_content").filter(|_| is_last) {
            let value =
                Value::Object(Map::from_iter([("extra_content".to_owned(), extra.clone())]));
            let value = JsonText::of_value(&value);
            sink.opaque(OpaquePlacement::PreviousPart, OpaqueLifetime::Conversation, value);
        }
    }

    /// The call that a piece belongs to. A piece with another id and a name begins a call, whatever its index says.
    fn known_call(&self, index: Option<u64>, id: &str, name: &str) -> Option<&ChunkCall> {
        let known = match index {
            Some(index) => self.calls.iter().rev().find(|call| call.index == Some(index)),
            None if id.is_empty() && name.is_empty() => self.calls.last(),
            None => self.calls.iter().rev().find(|call| !id.is_empty() && call.id == id),
        }?;
        let is_another = !id.is_empty() && !name.is_empty() && known.id != id;
        (!is_another).then_some(known)
    }

    /// Gives what the next request returns: the details if there are any, else the plain reasoning.
    fn give_state(&mut self, sink: &mut EventSink) {
        let placement = OpaquePlacement::Message;
        if !self.details.is_empty() {
            let details = Value::Array(std::mem::take(&mut self.details));
            let value = Value::Object(Map::from_iter([("reasoning_details".to_owned(), details)]));
            sink.opaque(placement, OpaqueLifetime::Conversation, JsonText::of_value(&value));
        } else if let Some(field) = self.reasoning_field {
            let value = JsonText::of_object(JsonObject::new().with(field, self.reasoning.as_str()));
            sink.opaque(placement, OpaqueLifetime::Turn, value);
        }
    }
}

/// Adds a piece of a detail to the detail of its index and type, or a new one.
fn add_detail(details: &mut Vec<Value>, piece: &Value) {
    let same = |key: &str, other: &Value| other.get(key) == piece.get(key);
    let has_index = piece.get("index").is_some();
    let last = details.last_mut();
    let Some(last) = last.filter(|last| has_index && same("index", last) && same("type", last))
    else {
        return details.push(piece.clone());
    };
    let (Some(known), Some(piece)) = (last.as_object_mut(), piece.as_object()) else { return };
    for (key, value) in piece {
        match (known.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data") =>
            {
                text.push_str(more);
            }
            (Some(_), Value::Null) => {}
            _ => drop(known.insert(key.clone(), value.clone())),
        }
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "stop" | "eos" | "end_turn" => StopReason::EndTurn,
        "length" | "max_tokens" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "content_filter" => StopReason::ContentFilter,
        "model_length" => StopReason::ContextFull,
        other => StopReason::Other(other.to_owned()),
    }
}

fn usage(chunk: &Value) -> ModelUsage {
    let usage = chunk.get("usage").filter(|usage| usage.is_object());
    let usage = usage.or_else(|| chunk.pointer("/x_groq/usage"));
    let count = |pointer: &str| usage.and_then(|usage| usage.pointer(pointer)?.as_u64());
    let input_tokens = count("/prompt_tokens");
    let output = count("/completion_tokens");
    // Some count reasoning beside the answer, and all count it in the total.
    let rest = count("/total_tokens").zip(input_tokens);
    let rest = rest.map(|(total, input)| total.saturating_sub(input));
    let cached = count("/prompt_tokens_details/cached_tokens");
    ModelUsage {
        input_tokens,
        output_tokens: output.map(|output| output.max(rest.unwrap_or(0))),
        cache_read_tokens: cached.or(count("/prompt_cache_hit_tokens")).or(count("/cached_tokens")),
        cache_write_tokens: count("/prompt_tokens_details/cache_write_tokens"),
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens"),
    }
}
