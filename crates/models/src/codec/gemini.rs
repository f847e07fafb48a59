//! `gemini`: the generateContent API of Google.
//!
//! Signatures of thoughts go back with the part they came with. Gemini 3 and later refuse the first call of a step
//! without one; for calls that another model made, Google's documented stand-in is sent. Not sent: cache
//! breakpoints (the API caches by itself) and the wish for one call at a time, which it does not have.

mod read;

use crate::codec::{
    CodecName, CodecSettings, HttpHeader, HttpHeaderValue, HttpRequest, KeptState,
    ReasoningControl, headers, splice_previous,
};
use crate::json::{JsonNode, JsonObject, JsonText};
use crate::message::{
    ImagePart, MessagePart, MessageRole, ModelMessage, OpaquePlacement, ResultPart, ToolCall,
    ToolOutcome, ToolResult,
};
use crate::request::{DeliveryMode, ModelRequest, ReasoningEffort, ToolChoice};

pub(super) use read::{PartReader, read_document};

/// Signature for calls that were made by another model.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn encode(settings: &CodecSettings, request: &ModelRequest) -> HttpRequest {
    let mut body = JsonObject::new();
    if !request.system.is_empty() {
        let parts = request.system.iter().map(|part| text_part(&part.text).into());
        let parts: Vec<JsonNode> = parts.collect();
        body.put("systemInstruction", JsonObject::new().with("parts", parts));
    }
    body.put("contents", contents(request));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let object = JsonObject::new()
                .with("name", tool.name.as_str())
                .with("description", tool.description.as_str())
                .with("parametersJsonSchema", &tool.parameters);
            JsonNode::from(object)
        });
        let declarations =
            JsonObject::new().with("functionDeclarations", tools.collect::<Vec<_>>());
        body.put("tools", vec![declarations.into()]);
        body.put_some("toolConfig", tool_config(&request.tool_choice));
    }
    let config = generation_config(settings, request);
    if !config.is_empty() {
        body.put("generationConfig", config);
    }
    let key = HttpHeader { name: "x-goog-api-key", value: HttpHeaderValue::Key { prefix: "" } };
    HttpRequest {
        method: "POST",
        path: path(request),
        headers: headers(request, key),
        body: JsonNode::from(body).print().into_bytes(),
    }
}

fn path(request: &ModelRequest) -> String {
    let model = &request.model;
    // A tuned model names its own collection.
    let model = if model.contains('/') { model.clone() } else { format!("models/{model}") };
    let mut path = String::from("/");
    for byte in model.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                path.push(char::from(byte));
            }
            other => path.push_str(&format!("%{other:02X}")),
        }
    }
    path.push_str(match request.delivery {
        DeliveryMode::Stream => ":streamGenerateContent?alt=sse",
        DeliveryMode::Whole => ":generateContent",
    });
    path
}

fn tool_config(choice: &ToolChoice) -> Option<JsonNode> {
    let mode = |mode: &str| JsonObject::new().with("mode", mode);
    let calling = match choice {
        ToolChoice::Automatic => return None,
        ToolChoice::Required => mode("ANY"),
        ToolChoice::Forbidden => mode("NONE"),
        ToolChoice::Named(name) => {
            mode("ANY").with("allowedFunctionNames", vec![JsonNode::from(name.as_str())])
        }
    };
    Some(JsonObject::new().with("functionCallingConfig", calling).into())
}

fn generation_config(settings: &CodecSettings, request: &ModelRequest) -> JsonObject {
    let mut config = JsonObject::new();
    config.put_some("temperature", request.sampling.temperature_milli.map(JsonNode::Milli));
    config.put_some("topP", request.sampling.top_p_milli.map(JsonNode::Milli));
    config.put_some("seed", request.sampling.seed);
    config.put_some("maxOutputTokens", request.max_output_tokens);
    if !request.stop.is_empty() {
        let stop = request.stop.iter().map(|stop| JsonNode::from(stop.as_str()));
        config.put("stopSequences", stop.collect::<Vec<_>>());
    }
    let (level, budget) = match request.reasoning {
        ReasoningEffort::ModelDefault => return config,
        // The lowest level there is: these models cannot be told not to think.
        ReasoningEffort::Off => ("MINIMAL", 0_u32),
        ReasoningEffort::Low => ("LOW", 2_048),
        ReasoningEffort::Medium => ("MEDIUM", 8_192),
        ReasoningEffort::High => ("HIGH", 24_576),
    };
    let mut thinking = JsonObject::new();
    match settings.reasoning {
        ReasoningControl::Unsupported => return config,
        ReasoningControl::Effort => thinking.put("thinkingLevel", level),
        ReasoningControl::Budget => thinking.put("thinkingBudget", budget),
    }
    thinking.put("includeThoughts", request.reasoning != ReasoningEffort::Off);
    config.put("thinkingConfig", thinking);
    config
}

fn contents(request: &ModelRequest) -> Vec<JsonNode> {
    let turn_start = request.turn_start();
    let contents = request.messages.iter().enumerate().filter_map(|(index, message)| {
        let keep = KeptState {
            codec: CodecName::Gemini,
            model: &request.model,
            is_this_turn: index > turn_start,
        };
        let (role, parts) = match message.role {
            MessageRole::User => ("user", user_parts(message)),
            MessageRole::Assistant => ("model", model_parts(message, &keep)),
        };
        let object = JsonObject::new().with("role", role);
        (!parts.is_empty()).then(|| object.with("parts", parts).into())
    });
    contents.collect()
}

/// Results first; their images go behind all of them, since older models take none inside.
fn user_parts(message: &ModelMessage) -> Vec<JsonNode> {
    let (mut results, mut rest) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            MessagePart::ToolResult(result) => results.push(tool_result(result, &mut rest)),
            MessagePart::Text(text) => rest.push(text_part(text).into()),
            MessagePart::Image(image) => rest.push(image_part(image)),
            MessagePart::ToolCall(_) | MessagePart::Opaque(_) => {}
        }
    }
    results.extend(rest);
    results
}

fn tool_result(result: &ToolResult, images: &mut Vec<JsonNode>) -> JsonNode {
    let mut text = String::new();
    for part in &result.content {
        match part {
            ResultPart::Text(piece) => text.push_str(piece),
            ResultPart::Image(image) => {
                images.push(text_part(&format!("Image of the result {}:", result.call_id)).into());
                images.push(image_part(image));
            }
        }
    }
    let key = match result.outcome {
        ToolOutcome::Success => "output",
        ToolOutcome::Failure => "error",
    };
    let response = JsonObject::new()
        .with("id", result.call_id.as_str())
        .with("name", result.name.as_str())
        .with("response", JsonObject::new().with(key, text));
    JsonObject::new().with("functionResponse", response).into()
}

fn model_parts(message: &ModelMessage, keep: &KeptState<'_>) -> Vec<JsonNode> {
    let mut parts = Vec::new();
    let mut is_first_call = true;
    for (index, part) in message.parts.iter().enumerate() {
        match part {
            MessagePart::Text(text) => {
                let mut object = text_part(text);
                splice_previous(&message.parts, index, keep, &mut object);
                parts.push(object.into());
            }
            MessagePart::ToolCall(call) => {
                let mut object = JsonObject::new().with("functionCall", function_call(call));
                let mut signature = JsonObject::new();
                splice_previous(&message.parts, index, keep, &mut signature);
                let is_needed = is_first_call && keep.is_this_turn && wants_signatures(keep.model);
                if signature.is_empty() && is_needed {
                    signature.put("thoughtSignature", FOREIGN_SIGNATURE);
                }
                is_first_call = false;
                object.append(signature);
                parts.push(object.into());
            }
            MessagePart::Opaque(state) => {
                if state.placement == OpaquePlacement::Part && keep.returns(state) {
                    parts.push(JsonNode::from(&state.value));
                }
            }
            MessagePart::Image(_) | MessagePart::ToolResult(_) => {}
        }
    }
    parts
}

/// Whether the model refuses calls without a signature: all but the generations before.
fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.starts_with("gemini-") && !["gemini-1", "gemini-2"].iter().any(|old| name.starts_with(old))
}

fn function_call(call: &ToolCall) -> JsonObject {
    let arguments: JsonText = call.arguments.for_history();
    JsonObject::new()
        .with("id", call.id.as_str())
        .with("name", call.name.as_str())
        .with("args", &arguments)
}

fn text_part(text: &str) -> JsonObject {
    JsonObject::new().with("text", text)
}

fn image_part(image: &ImagePart) -> JsonNode {
    let data = JsonObject::new()
        .with("mimeType", image.media_type.as_str())
        .with("data", image.base64.as_str());
    JsonObject::new().with("inlineData", data).into()
}
