//! One request to a model, in words that belong to no vendor. Built by the host from a prompt, checked here once for
//! what every vendor refuses, written by a codec.

use std::collections::BTreeSet;

use crate::json::JsonText;
use crate::message::{CacheHint, ImagePart, MessagePart, MessageRole, ModelMessage, ResultPart};

/// Longest name of a tool: what every vendor takes.
const MAX_TOOL_NAME_BYTES: usize = 64;

/// Request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// Model, as its provider names it.
    pub model: String,
    /// Instructions, in order.
    pub system: Vec<SystemPart>,
    /// Conversation so far; the last message is the user's.
    pub messages: Vec<ModelMessage>,
    /// Tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether it must call one.
    pub tool_choice: ToolChoice,
    /// Whether it may call several at once.
    pub parallelism: ToolParallelism,
    /// Choice of words.
    pub sampling: SamplingOptions,
    /// Amount of reasoning.
    pub reasoning: ReasoningEffort,
    /// Largest answer in tokens, reasoning included.
    pub max_output_tokens: Option<u32>,
    /// Texts that end the answer when they appear.
    pub stop: Vec<String>,
    /// Name under which requests with the same beginning are cached, for vendors that take one.
    pub cache_key: Option<String>,
    /// Piece by piece, or whole.
    pub delivery: DeliveryMode,
}

/// Piece of the instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPart {
    /// Its text.
    pub text: String,
    /// Whether the prompt up to its end is worth caching.
    pub cache: CacheHint,
}

/// Tool that a model may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDefinition {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// Purpose, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: JsonText,
    /// Whether the prompt up to its end is worth caching.
    pub cache: CacheHint,
}

/// Rule for calling tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Automatic,
    /// The model must call one.
    Required,
    /// The model must call none.
    Forbidden,
    /// The model must call this one.
    Named(String),
}

/// Number of tool calls in one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolParallelism {
    /// Any number.
    #[default]
    Many,
    /// At most one, where the vendor can be told so.
    One,
}

/// Choice of words. Integers, so that a request can be compared and replayed. Left out where the vendor has no such
/// setting (the Messages API of Anthropic takes none).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingOptions {
    /// Temperature in thousandths.
    pub temperature_milli: Option<u32>,
    /// Nucleus in thousandths.
    pub top_p_milli: Option<u32>,
    /// Seed, for servers that promise the same answer again.
    pub seed: Option<u64>,
}

/// Reasoning before the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningEffort {
    /// The model's own default; nothing is sent.
    #[default]
    ModelDefault,
    /// None, where it can be switched off.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// Way in which the answer comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryMode {
    /// As a stream of events.
    #[default]
    Stream,
    /// As one document.
    Whole,
}

/// Refusal to write a request that every vendor would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No model is named, or the name cannot stand in an address.
    #[error("model name `{0}`, expected text without blanks and without `..`")]
    ModelName(String),
    /// There is nothing to answer.
    #[error("the conversation has no message of the user")]
    NoMessages,
    /// A tool's name is not what every vendor takes.
    #[error("tool name `{0}`, expected 1 to 64 letters, digits, `_` or `-`")]
    ToolName(String),
    /// Two tools have one name.
    #[error("two tools are named `{0}`")]
    DuplicateTool(String),
    /// The choice names no tool of the request.
    #[error("the tool choice names `{0}`, which is no tool of the request")]
    UnknownTool(String),
    /// The parameters are no object.
    #[error("parameters of the tool `{0}`, expected a JSON object")]
    ToolParameters(String),
    /// A call has no result in the message behind it.
    #[error("the tool call `{0}` has no result in the message behind it")]
    MissingResult(String),
    /// A result has no call in the message before it.
    #[error("the tool result `{0}` has no call in the message before it")]
    StrayResult(String),
    /// A part stands on the wrong side.
    #[error("message {0} has a part that its author cannot have")]
    WrongAuthor(usize),
    /// An image for a model without eyes.
    #[error("the model `{0}` takes no images")]
    NoImages(String),
    /// Tools for a model that cannot call them.
    #[error("the model `{0}` takes no tools")]
    NoTools(String),
    /// The base64 of an image is none.
    #[error("message {0} has an image that is not base64")]
    ImageEncoding(usize),
}

impl ModelRequest {
    /// Makes a request with these messages and nothing else.
    #[must_use]
    pub fn new(model: impl Into<String>, messages: Vec<ModelMessage>) -> Self {
        Self {
            model: model.into(),
            system: Vec::new(),
            messages,
            tools: Vec::new(),
            tool_choice: ToolChoice::default(),
            parallelism: ToolParallelism::default(),
            sampling: SamplingOptions::default(),
            reasoning: ReasoningEffort::default(),
            max_output_tokens: None,
            stop: Vec::new(),
            cache_key: None,
            delivery: DeliveryMode::default(),
        }
    }

    /// Checks what no vendor takes, so that it fails here with a reason instead of there with a 400.
    ///
    /// # Errors
    /// Fails on the first fault.
    pub fn check(&self) -> Result<(), RequestError> {
        let printable = |c: char| !c.is_whitespace() && !c.is_control();
        let is_path = self.model.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
        if !is_path || !self.model.chars().all(printable) {
            return Err(RequestError::ModelName(self.model.clone()));
        }
        if !self.messages.iter().any(|message| message.role == MessageRole::User) {
            return Err(RequestError::NoMessages);
        }
        self.check_tools()?;
        self.check_parts()?;
        self.check_calls()
    }

    /// Number of the last message in which the user speaks: opaque state of a turn is returned behind it.
    pub(crate) fn turn_start(&self) -> usize {
        self.messages.iter().rposition(ModelMessage::is_prompt).unwrap_or(0)
    }

    fn check_tools(&self) -> Result<(), RequestError> {
        let mut names = BTreeSet::new();
        for tool in &self.tools {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            let length = 1..=MAX_TOOL_NAME_BYTES;
            if !length.contains(&tool.name.len()) || !tool.name.bytes().all(fits) {
                return Err(RequestError::ToolName(tool.name.clone()));
            }
            if !names.insert(tool.name.as_str()) {
                return Err(RequestError::DuplicateTool(tool.name.clone()));
            }
            if !tool.parameters.as_str().starts_with('{') {
                return Err(RequestError::ToolParameters(tool.name.clone()));
            }
        }
        match &self.tool_choice {
            ToolChoice::Named(name) if !names.contains(name.as_str()) => {
                Err(RequestError::UnknownTool(name.clone()))
            }
            _ => Ok(()),
        }
    }

    fn check_parts(&self) -> Result<(), RequestError> {
        for (index, message) in self.messages.iter().enumerate() {
            for part in &message.parts {
                let author = match part {
                    MessagePart::Text(_) => message.role,
                    MessagePart::Image(_) | MessagePart::ToolResult(_) => MessageRole::User,
                    MessagePart::ToolCall(_) | MessagePart::Opaque(_) => MessageRole::Assistant,
                };
                if author != message.role {
                    return Err(RequestError::WrongAuthor(index));
                }
                let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
                if part.images().any(|image| !image.base64.bytes().all(is_base64)) {
                    return Err(RequestError::ImageEncoding(index));
                }
            }
        }
        Ok(())
    }

    /// Every call has its result in the next message, every result its call in the one before.
    fn check_calls(&self) -> Result<(), RequestError> {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for message in &self.messages {
            for part in &message.parts {
                if let MessagePart::ToolResult(result) = part
                    && !open.remove(result.call_id.as_str())
                {
                    return Err(RequestError::StrayResult(result.call_id.clone()));
                }
            }
            if let Some(call) = open.first() {
                return Err(RequestError::MissingResult((*call).to_owned()));
            }
            open.extend(message.tool_calls().map(|call| call.id.as_str()));
        }
        open.first().map_or(Ok(()), |call| Err(RequestError::MissingResult((*call).to_owned())))
    }
}

impl MessagePart {
    /// Images in it, those of a tool's result included.
    pub(crate) fn images(&self) -> impl Iterator<Item = &ImagePart> {
        let own = if let Self::Image(image) = self { Some(image) } else { None };
        let content =
            if let Self::ToolResult(result) = self { result.content.as_slice() } else { &[] };
        let inner = content.iter().filter_map(|part| match part {
            ResultPart::Image(image) => Some(image),
            ResultPart::Text(_) => None,
        });
        own.into_iter().chain(inner)
    }
}

#[cfg(test)]
mod tests;
