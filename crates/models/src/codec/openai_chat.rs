//! `openai-chat`: the Chat Completions API of OpenAI, which most servers speak in one accent or another.
//!
//! Not sent: cache breakpoints (the servers cache by themselves; `prompt_cache_key` goes to OpenAI alone). Reasoning
//! that comes as plain text (`reasoning_content`, `reasoning`) is returned until the user speaks again;
//! `reasoning_details` always.

mod read;

use crate::codec::{
    ChatDialect, CodecName, CodecSettings, HttpRequest, KeptState, ReasoningControl, bearer,
    headers, splice_previous,
};
use crate::json::{JsonNode, JsonObject};
use crate::message::{
    ImagePart, MessagePart, MessageRole, ModelMessage, OpaquePlacement, ResultPart, ToolResult,
};
use crate::request::{
    DeliveryMode, ModelRequest, ReasoningEffort, ToolChoice, ToolDefinition, ToolParallelism,
};

pub(super) use read::{ChunkReader, read_document};

pub(super) fn encode(settings: &CodecSettings, request: &ModelRequest) -> HttpRequest {
    let mut body = JsonObject::new().with("model", request.model.as_str());
    body.put("messages", messages(request));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(tool);
        body.put("tools", tools.collect::<Vec<_>>());
        body.put_some("tool_choice", tool_choice(&request.tool_choice));
        if request.parallelism == ToolParallelism::One {
            body.put("parallel_tool_calls", false);
        }
    }
    let is_openai = settings.dialect == ChatDialect::OpenAi;
    let limit = if is_openai { "max_completion_tokens" } else { "max_tokens" };
    body.put_some(limit, request.max_output_tokens);
    body.put_some("temperature", request.sampling.temperature_milli.map(JsonNode::Milli));
    body.put_some("top_p", request.sampling.top_p_milli.map(JsonNode::Milli));
    body.put_some("seed", request.sampling.seed);
    if !request.stop.is_empty() {
        let stop = request.stop.iter().map(|stop| JsonNode::from(stop.as_str()));
        body.put("stop", stop.collect::<Vec<_>>());
    }
    if settings.reasoning != ReasoningControl::Unsupported {
        body.put_some("reasoning_effort", effort(request.reasoning));
    }
    if is_openai {
        body.put_some("prompt_cache_key", request.cache_key.as_deref());
    }
    if request.delivery == DeliveryMode::Stream {
        body.put("stream", true);
        body.put("stream_options", JsonObject::new().with("include_usage", true));
    }
    HttpRequest {
        method: "POST",
        path: "/chat/completions".to_owned(),
        headers: headers(request, bearer()),
        body: JsonNode::from(body).print().into_bytes(),
    }
}

/// The word of OpenAI for an effort.
pub(super) fn effort(effort: ReasoningEffort) -> Option<&'static str> {
    match effort {
        ReasoningEffort::ModelDefault => None,
        ReasoningEffort::Off => Some("none"),
        ReasoningEffort::Low => Some("low"),
        ReasoningEffort::Medium => Some("medium"),
        ReasoningEffort::High => Some("high"),
    }
}

/// An image as a `data:` address.
pub(super) fn data_address(image: &ImagePart) -> String {
    format!("data:{};base64,{}", image.media_type.as_str(), image.base64)
}

fn tool(tool: &ToolDefinition) -> JsonNode {
    let function = JsonObject::new()
        .with("name", tool.name.as_str())
        .with("description", tool.description.as_str())
        .with("parameters", &tool.parameters);
    JsonObject::typed("function").with("function", function).into()
}

fn tool_choice(choice: &ToolChoice) -> Option<JsonNode> {
    match choice {
        ToolChoice::Automatic => None,
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Forbidden => Some("none".into()),
        ToolChoice::Named(name) => {
            let function = JsonObject::new().with("name", name.as_str());
            Some(JsonObject::typed("function").with("function", function).into())
        }
    }
}

fn messages(request: &ModelRequest) -> Vec<JsonNode> {
    let mut out = Vec::new();
    if !request.system.is_empty() {
        let texts: Vec<&str> = request.system.iter().map(|part| part.text.as_str()).collect();
        out.push(of_role("system").with("content", texts.join("\n\n")).into());
    }
    let turn_start = request.turn_start();
    for (index, message) in request.messages.iter().enumerate() {
        let keep = KeptState {
            codec: CodecName::OpenAiChat,
            model: &request.model,
            is_this_turn: index > turn_start,
        };
        match message.role {
            MessageRole::User => user(message, &mut out),
            MessageRole::Assistant => out.extend(assistant(message, &keep)),
        }
    }
    out
}

fn of_role(role: &str) -> JsonObject {
    JsonObject::new().with("role", role)
}

/// Results first, each a message of its own; then what the user says, with the images of results.
fn user(message: &ModelMessage, out: &mut Vec<JsonNode>) {
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            MessagePart::ToolResult(result) => out.push(tool_result(result, &mut content)),
            MessagePart::Text(text) => content.push(text_part(text)),
            MessagePart::Image(image) => content.push(image_part(image)),
            MessagePart::ToolCall(_) | MessagePart::Opaque(_) => {}
        }
    }
    // One text is written as such: the oldest servers know nothing else.
    let only_text = match message.parts.as_slice() {
        [MessagePart::Text(text)] => Some(text.as_str()),
        _ => None,
    };
    match only_text {
        Some(text) => out.push(of_role("user").with("content", text).into()),
        None if content.is_empty() => {}
        None => out.push(of_role("user").with("content", content).into()),
    }
}

/// The result as a message. Its images go behind it: a tool's message is text.
fn tool_result(result: &ToolResult, images: &mut Vec<JsonNode>) -> JsonNode {
    let mut text = String::new();
    for part in &result.content {
        match part {
            ResultPart::Text(piece) => text.push_str(piece),
            ResultPart::Image(image) => {
                images.push(text_part(&format!("Image of the result {}:", result.call_id)));
                images.push(image_part(image));
            }
        }
    }
    of_role("tool").with("tool_call_id", result.call_id.as_str()).with("content", text).into()
}

fn text_part(text: &str) -> JsonNode {
    JsonObject::typed("text").with("text", text).into()
}

fn image_part(image: &ImagePart) -> JsonNode {
    let address = JsonObject::new().with("url", data_address(image));
    JsonObject::typed("image_url").with("image_url", address).into()
}

fn assistant(message: &ModelMessage, keep: &KeptState<'_>) -> Option<JsonNode> {
    let (text, mut calls, mut state) = (message.text(), Vec::new(), JsonObject::new());
    for (index, part) in message.parts.iter().enumerate() {
        match part {
            MessagePart::ToolCall(call) => {
                let function = JsonObject::new()
                    .with("name", call.name.as_str())
                    .with("arguments", call.arguments.for_history().as_str());
                let mut object = JsonObject::new().with("id", call.id.as_str());
                object.put("type", "function");
                object.put("function", function);
                splice_previous(&message.parts, index, keep, &mut object);
                calls.push(JsonNode::from(object));
            }
            MessagePart::Opaque(opaque)
                if opaque.placement == OpaquePlacement::Message && keep.returns(opaque) =>
            {
                state.splice(&opaque.value);
            }
            _ => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut object = of_role("assistant");
    if text.is_empty() {
        object.put("content", JsonNode::Raw("null".to_owned()));
    } else {
        object.put("content", text);
    }
    if !calls.is_empty() {
        object.put("tool_calls", calls);
    }
    object.append(state);
    Some(object.into())
}
