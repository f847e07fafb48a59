//! `anthropic-messages`: the Messages API of Anthropic, which llama.cpp and routers speak too.
//!
//! Not sent: temperature, nucleus and seed, which the API has no more. At most four cache breakpoints are sent: the
//! first, which is the longest-living, and the last three. Thinking is not asked for where a tool is forced; the API
//! refuses both together.

mod read;

use crate::codec::{
    CodecName, CodecSettings, HttpHeader, HttpHeaderValue, HttpRequest, KeptState,
    ReasoningControl, headers,
};
use crate::json::{JsonNode, JsonObject};
use crate::message::{
    CacheHint, ImagePart, MessagePart, MessageRole, ModelMessage, OpaquePlacement, ResultPart,
    ToolOutcome, ToolResult,
};
use crate::request::{DeliveryMode, ModelRequest, ReasoningEffort, ToolChoice, ToolParallelism};

pub(super) use read::{BlockReader, read_document};

/// Version of the API that this file speaks.
pub(crate) const API_VERSION: &str = "2023-06-01";

/// Largest answer where the request names none: the API wants a number.
const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 4096;

/// Most breakpoints that the API takes.
const MAX_CACHE_BREAKPOINTS: usize = 4;

/// Smallest thinking budget that the API takes.
const MIN_THINKING_TOKENS: u32 = 1024;

pub(super) fn encode(settings: &CodecSettings, request: &ModelRequest) -> HttpRequest {
    let mut breakpoints = Breakpoints::of(request);
    let max_tokens = request.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS);
    let mut body = JsonObject::new().with("model", request.model.as_str());
    body.put("max_tokens", max_tokens);
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut object = JsonObject::new()
                .with("name", tool.name.as_str())
                .with("description", tool.description.as_str())
                .with("input_schema", &tool.parameters);
            breakpoints.mark(tool.cache, &mut object);
            JsonNode::from(object)
        });
        body.put("tools", tools.collect::<Vec<_>>());
        body.put_some("tool_choice", tool_choice(request));
    }
    if !request.system.is_empty() {
        let parts = request.system.iter().map(|part| {
            let mut object = text_block(&part.text);
            breakpoints.mark(part.cache, &mut object);
            JsonNode::from(object)
        });
        body.put("system", parts.collect::<Vec<_>>());
    }
    body.put("messages", messages(request, &mut breakpoints));
    if !request.stop.is_empty() {
        let stop = request.stop.iter().map(|stop| JsonNode::from(stop.as_str()));
        body.put("stop_sequences", stop.collect::<Vec<_>>());
    }
    put_thinking(settings.reasoning, request, max_tokens, &mut body);
    if request.delivery == DeliveryMode::Stream {
        body.put("stream", true);
    }
    let key = HttpHeader { name: "x-api-key", value: HttpHeaderValue::Key { prefix: "" } };
    let mut headers = headers(request, key);
    let value = HttpHeaderValue::Text(API_VERSION);
    headers.push(HttpHeader { name: "anthropic-version", value });
    HttpRequest {
        method: "POST",
        path: "/messages".to_owned(),
        headers,
        body: JsonNode::from(body).print().into_bytes(),
    }
}

fn tool_choice(request: &ModelRequest) -> Option<JsonNode> {
    let is_one = request.parallelism == ToolParallelism::One;
    let mut choice = match &request.tool_choice {
        ToolChoice::Automatic if is_one => JsonObject::typed("auto"),
        ToolChoice::Automatic => return None,
        ToolChoice::Required => JsonObject::typed("any"),
        ToolChoice::Forbidden => return Some(JsonObject::typed("none").into()),
        ToolChoice::Named(name) => JsonObject::typed("tool").with("name", name.as_str()),
    };
    if is_one {
        choice.put("disable_parallel_tool_use", true);
    }
    Some(choice.into())
}

fn put_thinking(
    control: ReasoningControl,
    request: &ModelRequest,
    max_tokens: u32,
    body: &mut JsonObject,
) {
    let is_forced = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_));
    let (effort, budget) = match request.reasoning {
        ReasoningEffort::ModelDefault => return,
        ReasoningEffort::Off => {
            if control != ReasoningControl::Unsupported {
                body.put("thinking", JsonObject::typed("disabled"));
            }
            return;
        }
        ReasoningEffort::Low => ("low", 2_048),
        ReasoningEffort::Medium => ("medium", 8_192),
        ReasoningEffort::High => ("high", 24_576),
    };
    match control {
        ReasoningControl::Effort if !is_forced => {
            body.put("thinking", JsonObject::typed("adaptive"));
            body.put("output_config", JsonObject::new().with("effort", effort));
        }
        ReasoningControl::Budget if !is_forced && max_tokens > MIN_THINKING_TOKENS => {
            // The budget is part of the answer, which must keep some room.
            let budget = budget.min(max_tokens / 2).max(MIN_THINKING_TOKENS);
            body.put("thinking", JsonObject::typed("enabled").with("budget_tokens", budget));
        }
        ReasoningControl::Effort | ReasoningControl::Budget | ReasoningControl::Unsupported => {}
    }
}

fn messages(request: &ModelRequest, breakpoints: &mut Breakpoints) -> Vec<JsonNode> {
    let turn_start = request.turn_start();
    let messages = request.messages.iter().enumerate().filter_map(|(index, message)| {
        let keep = KeptState {
            codec: CodecName::AnthropicMessages,
            model: &request.model,
            is_this_turn: index > turn_start,
        };
        let mut blocks = blocks(message, &keep);
        let marked = blocks.iter_mut().rev().find_map(|block| match block {
            Block::Plain(object) => Some(object),
            Block::Kept(_) => None,
        });
        if let Some(object) = marked {
            breakpoints.mark(message.cache, object);
        }
        let role = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
        };
        let content: Vec<JsonNode> = blocks.into_iter().map(JsonNode::from).collect();
        let object = JsonObject::new().with("role", role);
        (!content.is_empty()).then(|| object.with("content", content).into())
    });
    messages.collect()
}

/// Block of a message; one that the API made itself is not touched, and cannot be marked.
enum Block {
    Plain(JsonObject),
    Kept(JsonNode),
}

impl From<Block> for JsonNode {
    fn from(block: Block) -> Self {
        match block {
            Block::Plain(object) => object.into(),
            Block::Kept(node) => node,
        }
    }
}

/// Blocks of a message: results before everything else, as the API wants them.
fn blocks(message: &ModelMessage, keep: &KeptState<'_>) -> Vec<Block> {
    let (mut results, mut rest) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            MessagePart::ToolResult(result) => results.push(Block::Plain(tool_result(result))),
            // The API refuses empty texts.
            MessagePart::Text(text) if text.trim().is_empty() => {}
            MessagePart::Text(text) => rest.push(Block::Plain(text_block(text))),
            MessagePart::Image(image) => rest.push(Block::Plain(image_block(image))),
            MessagePart::ToolCall(call) => {
                let mut object = JsonObject::typed("tool_use").with("id", call_id(&call.id));
                object.put("name", call.name.as_str());
                object.put("input", &call.arguments);
                rest.push(Block::Plain(object));
            }
            MessagePart::Opaque(state) => {
                if state.placement == OpaquePlacement::Part && keep.returns(state) {
                    rest.push(Block::Kept(JsonNode::from(&state.value)));
                }
            }
        }
    }
    results.extend(rest);
    results
}

/// The id with the characters that the API takes; call and result are changed alike.
fn call_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

fn text_block(text: &str) -> JsonObject {
    JsonObject::typed("text").with("text", text)
}

fn image_block(image: &ImagePart) -> JsonObject {
    let source = JsonObject::typed("base64")
        .with("media_type", image.media_type.as_str())
        .with("data", image.base64.as_str());
    JsonObject::typed("image").with("source", source)
}

fn tool_result(result: &ToolResult) -> JsonObject {
    let mut object = JsonObject::typed("tool_result").with("tool_use_id", call_id(&result.call_id));
    let content = result.content.iter().filter_map(|part| match part {
        ResultPart::Text(text) if text.trim().is_empty() => None,
        ResultPart::Text(text) => Some(JsonNode::from(text_block(text))),
        ResultPart::Image(image) => Some(image_block(image).into()),
    });
    let content: Vec<JsonNode> = content.collect();
    if !content.is_empty() {
        object.put("content", content);
    }
    if result.outcome == ToolOutcome::Failure {
        object.put("is_error", true);
    }
    object
}

/// Counter that spends the breakpoints of a request in order.
struct Breakpoints {
    wanted: usize,
    seen: usize,
}

impl Breakpoints {
    fn of(request: &ModelRequest) -> Self {
        let tools = request.tools.iter().map(|tool| tool.cache);
        let system = request.system.iter().map(|part| part.cache);
        let messages = request.messages.iter().map(|message| message.cache);
        let hints = tools.chain(system).chain(messages);
        Self { wanted: hints.filter(|hint| *hint == CacheHint::Breakpoint).count(), seen: 0 }
    }

    fn mark(&mut self, hint: CacheHint, object: &mut JsonObject) {
        if hint == CacheHint::None {
            return;
        }
        self.seen += 1;
        if self.seen == 1 || self.seen + MAX_CACHE_BREAKPOINTS - 1 > self.wanted {
            object.put("cache_control", JsonObject::typed("ephemeral"));
        }
    }
}
