//! `openai-responses`: the Responses API of OpenAI, without its memory: nothing is stored there (`store` is false),
//! and encrypted reasoning comes back with every request.
//!
//! Not sent: stop texts and seed, which the API does not have.

mod read;

use crate::codec::openai_chat::{data_address, effort};
use crate::codec::{
    CodecName, CodecSettings, HttpRequest, KeptState, ReasoningControl, bearer, headers,
    splice_previous,
};
use crate::json::{JsonNode, JsonObject};
use crate::message::{
    ImagePart, MessagePart, MessageRole, ModelMessage, OpaquePlacement, ResultPart, ToolResult,
};
use crate::request::{DeliveryMode, ModelRequest, ReasoningEffort, ToolChoice, ToolParallelism};

pub(super) use read::{ItemReader, read_document};

pub(super) fn encode(settings: &CodecSettings, request: &ModelRequest) -> HttpRequest {
    let mut body = JsonObject::new().with("model", request.model.as_str());
    if !request.system.is_empty() {
        let texts: Vec<&str> = request.system.iter().map(|part| part.text.as_str()).collect();
        body.put("instructions", texts.join("\n\n"));
    }
    body.put("input", input(request));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let object = JsonObject::typed("function")
                .with("name", tool.name.as_str())
                .with("description", tool.description.as_str())
                .with("parameters", &tool.parameters)
                // Schemas are the user's and the tools' own; strict ones would have to be closed.
                .with("strict", false);
            JsonNode::from(object)
        });
        body.put("tools", tools.collect::<Vec<_>>());
        body.put_some("tool_choice", tool_choice(&request.tool_choice));
        if request.parallelism == ToolParallelism::One {
            body.put("parallel_tool_calls", false);
        }
    }
    body.put_some("max_output_tokens", request.max_output_tokens);
    body.put_some("temperature", request.sampling.temperature_milli.map(JsonNode::Milli));
    body.put_some("top_p", request.sampling.top_p_milli.map(JsonNode::Milli));
    if settings.reasoning != ReasoningControl::Unsupported {
        if let Some(word) = effort(request.reasoning) {
            let mut reasoning = JsonObject::new().with("effort", word);
            if request.reasoning != ReasoningEffort::Off {
                reasoning.put("summary", "auto");
            }
            body.put("reasoning", reasoning);
        }
        body.put("include", vec![JsonNode::from("reasoning.encrypted_content")]);
    }
    body.put("store", false);
    body.put_some("prompt_cache_key", request.cache_key.as_deref());
    if request.delivery == DeliveryMode::Stream {
        body.put("stream", true);
    }
    HttpRequest {
        method: "POST",
        path: "/responses".to_owned(),
        headers: headers(request, bearer()),
        body: JsonNode::from(body).print().into_bytes(),
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<JsonNode> {
    match choice {
        ToolChoice::Automatic => None,
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Forbidden => Some("none".into()),
        ToolChoice::Named(name) => {
            Some(JsonObject::typed("function").with("name", name.as_str()).into())
        }
    }
}

fn input(request: &ModelRequest) -> Vec<JsonNode> {
    let turn_start = request.turn_start();
    let mut items = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        let keep = KeptState {
            codec: CodecName::OpenAiResponses,
            model: &request.model,
            is_this_turn: index > turn_start,
        };
        match message.role {
            MessageRole::User => user(message, &mut items),
            MessageRole::Assistant => assistant(message, &keep, &mut items),
        }
    }
    items
}

/// Results first, each an item of its own; then what the user says.
fn user(message: &ModelMessage, items: &mut Vec<JsonNode>) {
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            MessagePart::ToolResult(result) => items.push(tool_result(result)),
            MessagePart::Text(text) => content.push(text_part(text)),
            MessagePart::Image(image) => content.push(image_part(image)),
            MessagePart::ToolCall(_) | MessagePart::Opaque(_) => {}
        }
    }
    if !content.is_empty() {
        let object = JsonObject::typed("message").with("role", "user").with("content", content);
        items.push(object.into());
    }
}

fn assistant(message: &ModelMessage, keep: &KeptState<'_>, items: &mut Vec<JsonNode>) {
    for (index, part) in message.parts.iter().enumerate() {
        match part {
            MessagePart::Text(text) => {
                let mut object = JsonObject::typed("message")
                    .with("role", "assistant")
                    .with("content", text.as_str());
                splice_previous(&message.parts, index, keep, &mut object);
                items.push(object.into());
            }
            MessagePart::ToolCall(call) => {
                let mut object = JsonObject::typed("function_call")
                    .with("call_id", call.id.as_str())
                    .with("name", call.name.as_str())
                    .with("arguments", call.arguments.for_history().as_str());
                splice_previous(&message.parts, index, keep, &mut object);
                items.push(object.into());
            }
            MessagePart::Opaque(state) => {
                if state.placement == OpaquePlacement::Part && keep.returns(state) {
                    items.push(JsonNode::from(&state.value));
                }
            }
            MessagePart::Image(_) | MessagePart::ToolResult(_) => {}
        }
    }
}

fn text_part(text: &str) -> JsonNode {
    JsonObject::typed("input_text").with("text", text).into()
}

fn image_part(image: &ImagePart) -> JsonNode {
    let object = JsonObject::typed("input_image").with("detail", "auto");
    object.with("image_url", data_address(image)).into()
}

fn tool_result(result: &ToolResult) -> JsonNode {
    let object = JsonObject::typed("function_call_output").with("call_id", result.call_id.as_str());
    if let [ResultPart::Text(text)] = result.content.as_slice() {
        return object.with("output", text.as_str()).into();
    }
    let parts = result.content.iter().map(|part| match part {
        ResultPart::Text(text) => text_part(text),
        ResultPart::Image(image) => image_part(image),
    });
    object.with("output", parts.collect::<Vec<_>>()).into()
}
