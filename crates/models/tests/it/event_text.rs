//! Events as JSON, the way they stand in the vectors. Included by path in `xtask` too.

use bridle_models::{ModelUsage, OpaquePlacement, ProviderFailure, StopReason, StreamEvent};
use serde_json::{Value, json};

/// The event as one JSON value.
pub(crate) fn event(event: &StreamEvent) -> Value {
    match event {
        StreamEvent::Text(piece) => json!({"text": piece}),
        StreamEvent::TextEnd => json!("text end"),
        StreamEvent::Reasoning(piece) => json!({"reasoning": piece}),
        StreamEvent::ToolCallBegin { index, id, name } => json!({"call": [index, id, name]}),
        StreamEvent::ToolCallArguments { index, piece } => json!({"arguments": [index, piece]}),
        StreamEvent::ToolCallEnd { index } => json!({"call end": index}),
        StreamEvent::Opaque(state) => {
            let placement = match state.placement {
                OpaquePlacement::Part => "part",
                OpaquePlacement::PreviousPart => "previous part",
                OpaquePlacement::Message => "message",
            };
            let lifetime = format!("{:?}", state.lifetime).to_lowercase();
            json!({"opaque": [placement, lifetime, state.value.as_str()]})
        }
        StreamEvent::Usage(counts) => json!({"usage": usage(*counts)}),
        StreamEvent::Finish(stop) => json!({"finish": stop_word(stop)}),
        StreamEvent::Failure(failure) => json!({"failure": failure_words(failure)}),
    }
}

/// Input, output, cache read, cache write, reasoning; unknown is null.
pub(crate) fn usage(usage: ModelUsage) -> Value {
    json!([
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens
    ])
}

/// `EndTurn`, or `Other: word`.
pub(crate) fn stop_word(stop: &StopReason) -> String {
    match stop {
        StopReason::Other(word) => format!("Other: {word}"),
        stop => format!("{stop:?}"),
    }
}

fn failure_words(failure: &ProviderFailure) -> Value {
    json!([format!("{:?}", failure.kind), failure.message])
}
