//! Answers of `gemini`: chunks with parts, each of which is a whole answer in shape. A stream ends with its body;
//! the last chunk has the reason.

use serde_json::Value;

use crate::codec::sink::EventSink;
use crate::event::StopReason;
use crate::failure::{FailureKind, ProviderFailure};
use crate::json::{JsonObject, JsonText};
use crate::message::{OpaqueLifetime, OpaquePlacement};
use crate::usage::ModelUsage;

/// State between two chunks.
#[derive(Clone, Debug, Default)]
pub(in crate::codec) struct PartReader {
    stop: Option<StopReason>,
}

/// Reads a whole answer.
pub(in crate::codec) fn read_document(document: &Value, sink: &mut EventSink) {
    let mut reader = PartReader::default();
    reader.read(document, sink);
    reader.end(sink);
}

impl PartReader {
    pub(in crate::codec) fn read(&mut self, chunk: &Value, sink: &mut EventSink) {
        sink.usage(usage(chunk));
        if let Some(reason) = chunk.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            let message = format!("the prompt was blocked: {reason}");
            return sink.fail(ProviderFailure::local(FailureKind::ContentFilter, message));
        }
        let Some(candidate) = chunk.pointer("/candidates/0") else { return };
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.map_or(&[][..], Vec::as_slice) {
            read_part(part, sink);
        }
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
            self.stop = Some(stop_reason(reason));
        }
    }

    /// The end of the body. Without a reason it was cut.
    pub(in crate::codec) fn end(&mut self, sink: &mut EventSink) {
        if let Some(stop) = self.stop.take() {
            sink.finish(stop);
        }
    }
}

fn read_part(part: &Value, sink: &mut EventSink) {
    let signature = part.get("thoughtSignature").and_then(Value::as_str);
    let signature = signature.map(|signature| {
        JsonText::of_object(JsonObject::new().with("thoughtSignature", signature))
    });
    let conversation = OpaqueLifetime::Conversation;
    if let Some(call) = part.get("functionCall") {
        let key = sink.call_count().to_string();
        let text = |name| call.get(name).and_then(Value::as_str);
        sink.begin_call(&key, text("id"), text("name").unwrap_or_default());
        let arguments = call.get("args").filter(|args| !args.is_null()).map(Value::to_string);
        sink.call_arguments(&key, arguments.as_deref().unwrap_or("{}"));
        sink.end_call(&key);
        if let Some(signature) = signature {
            sink.opaque(OpaquePlacement::PreviousPart, conversation, signature);
        }
        return;
    }
    let Some(text) = part.get("text").and_then(Value::as_str) else {
        // Code and its results, media: tools of the vendor, which are not asked for, kept all the same.
        if part.as_object().is_some_and(|part| !part.is_empty()) {
            sink.opaque(OpaquePlacement::Part, conversation, JsonText::of_value(part));
        }
        return;
    };
    if part.get("thought").and_then(Value::as_bool) == Some(true) {
        return sink.reasoning(text);
    }
    match signature {
        None => sink.text(text),
        // A part that is signed must not be joined with one that is not.
        Some(signature) if !text.is_empty() => {
            sink.end_text();
            sink.text(text);
            sink.opaque(OpaquePlacement::PreviousPart, conversation, signature);
        }
        Some(_) => sink.opaque(OpaquePlacement::Part, conversation, JsonText::of_value(part)),
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::EndTurn,
        // Not of Google, which says `STOP`, but of servers that speak like it.
        "FUNCTION_CALL" => StopReason::ToolCalls,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MALFORMED_RESPONSE" => StopReason::MalformedToolCall,
        "CONTINUATION" => StopReason::Paused,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Counts of the API: thoughts are beside the answer, and prompts of tools beside the prompt.
fn usage(chunk: &Value) -> ModelUsage {
    let count = |name: &str| chunk.get("usageMetadata")?.get(name)?.as_u64();
    let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
    };
    let thoughts = count("thoughtsTokenCount");
    ModelUsage {
        input_tokens: sum(count("promptTokenCount"), count("toolUsePromptTokenCount")),
        output_tokens: sum(count("candidatesTokenCount"), thoughts),
        cache_read_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: None,
        reasoning_tokens: thoughts,
    }
}
