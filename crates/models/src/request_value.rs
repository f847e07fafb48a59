//! A request as a value of the data language, for a skill that wraps or replaces a codec: the request in words of no vendor,
//! and what the native codec made of it. There is a place for the key in neither.

use bridle_sexp::Value;

use crate::codec::{
    ChatDialect, CodecName, CodecSettings, HttpRequest, KeptState, ReasoningControl,
};
use crate::message::{
    CacheHint, ImagePart, MessagePart, MessageRole, OpaquePlacement, ResultPart, ToolOutcome,
};
use crate::request::{DeliveryMode, ModelRequest, ReasoningEffort, ToolChoice, ToolParallelism};

/// The request as a skill gets it. State that the native codec would not return is there without its value.
#[must_use]
pub fn request_value(
    codec: CodecName,
    settings: &CodecSettings,
    request: &ModelRequest,
    native: &HttpRequest,
) -> Value {
    let body = String::from_utf8_lossy(&native.body).into_owned();
    let native = Value::plist([
        ("codec", Value::keyword(codec.as_str())),
        ("path", Value::str(native.path.as_str())),
        ("body", Value::str(body)),
    ]);
    let tools = request.tools.iter().map(|tool| {
        Value::plist([
            ("name", Value::str(tool.name.as_str())),
            ("description", Value::str(tool.description.as_str())),
            ("parameters", Value::str(tool.parameters.as_str())),
            ("cache", cache(tool.cache)),
        ])
    });
    let system = request.system.iter().map(|part| {
        Value::plist([("text", Value::str(part.text.as_str())), ("cache", cache(part.cache))])
    });
    let sampling = &request.sampling;
    Value::plist([
        ("native", native),
        ("settings", settings_value(settings)),
        ("model", Value::str(request.model.as_str())),
        ("system", Value::list(system)),
        ("messages", Value::list(messages(codec, request))),
        ("tools", Value::list(tools)),
        ("tool-choice", tool_choice(&request.tool_choice)),
        ("parallel", Value::bool(request.parallelism == ToolParallelism::Many)),
        ("temperature-milli", optional(sampling.temperature_milli)),
        ("top-p-milli", optional(sampling.top_p_milli)),
        ("seed", optional(sampling.seed)),
        ("reasoning", Value::keyword(effort(request.reasoning))),
        ("max-output-tokens", optional(request.max_output_tokens)),
        ("stop", Value::list(request.stop.iter().map(|it| Value::str(it.as_str())))),
        ("cache-key", request.cache_key.as_deref().map_or(Value::Nil, Value::str)),
        ("stream", Value::bool(request.delivery == DeliveryMode::Stream)),
    ])
}

fn settings_value(settings: &CodecSettings) -> Value {
    let dialect = match settings.dialect {
        ChatDialect::OpenAi => "openai",
        ChatDialect::Compatible => "compatible",
    };
    let reasoning = match settings.reasoning {
        ReasoningControl::Effort => "effort",
        ReasoningControl::Budget => "budget",
        ReasoningControl::Unsupported => "unsupported",
    };
    Value::plist([
        ("dialect", Value::keyword(dialect)),
        ("reasoning", Value::keyword(reasoning)),
        ("images", Value::bool(settings.takes_images)),
        ("tools", Value::bool(settings.takes_tools)),
    ])
}

fn messages(codec: CodecName, request: &ModelRequest) -> impl Iterator<Item = Value> {
    let turn_start = request.turn_start();
    request.messages.iter().enumerate().map(move |(index, message)| {
        let model = &request.model;
        let keep = KeptState { codec, model, is_this_turn: index > turn_start };
        let role = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
        };
        let parts = message.parts.iter().map(|part| part_value(part, &keep));
        Value::plist([
            ("role", Value::keyword(role)),
            ("parts", Value::list(parts)),
            ("cache", cache(message.cache)),
        ])
    })
}

fn part_value(part: &MessagePart, keep: &KeptState<'_>) -> Value {
    let kind = |kind: &str| ("kind", Value::keyword(kind));
    match part {
        MessagePart::Text(text) => {
            Value::plist([kind("text"), ("text", Value::str(text.as_str()))])
        }
        MessagePart::Image(image) => image_value(image),
        MessagePart::ToolCall(call) => Value::plist([
            kind("tool-call"),
            ("id", Value::str(call.id.as_str())),
            ("name", Value::str(call.name.as_str())),
            ("arguments", Value::str(call.arguments.for_history().as_str())),
        ]),
        MessagePart::ToolResult(result) => {
            let content = result.content.iter().map(|part| match part {
                ResultPart::Text(text) => {
                    Value::plist([kind("text"), ("text", Value::str(text.as_str()))])
                }
                ResultPart::Image(image) => image_value(image),
            });
            Value::plist([
                kind("tool-result"),
                ("id", Value::str(result.call_id.as_str())),
                ("name", Value::str(result.name.as_str())),
                ("failed", Value::bool(result.outcome == ToolOutcome::Failure)),
                ("content", Value::list(content)),
            ])
        }
        MessagePart::Opaque(state) => {
            // What is not returned keeps its place, so that nothing else moves there.
            let value = keep.returns(state).then(|| Value::str(state.value.as_str()));
            let placement = match state.placement {
                OpaquePlacement::Part => "part",
                OpaquePlacement::PreviousPart => "previous-part",
                OpaquePlacement::Message => "message",
            };
            Value::plist([
                kind("opaque"),
                ("placement", Value::keyword(placement)),
                ("value", value.unwrap_or(Value::Nil)),
            ])
        }
    }
}

fn image_value(image: &ImagePart) -> Value {
    Value::plist([
        ("kind", Value::keyword("image")),
        ("media-type", Value::str(image.media_type.as_str())),
        ("base64", Value::str(image.base64.as_str())),
    ])
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Automatic => Value::keyword("automatic"),
        ToolChoice::Required => Value::keyword("required"),
        ToolChoice::Forbidden => Value::keyword("forbidden"),
        ToolChoice::Named(name) => Value::str(name.as_str()),
    }
}

fn effort(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::ModelDefault => "default",
        ReasoningEffort::Off => "off",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

fn cache(hint: CacheHint) -> Value {
    Value::bool(hint == CacheHint::Breakpoint)
}

/// A number that an `i64` has room for, or nil.
fn optional(number: Option<impl Into<u64>>) -> Value {
    let number = number.and_then(|number| i64::try_from(number.into()).ok());
    number.map_or(Value::Nil, Value::int)
}
