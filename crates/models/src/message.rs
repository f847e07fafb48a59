//! Messages of a conversation with a model, in words that belong to no vendor. Built by the engine from its record,
//! written by the codecs; an answer comes back as one of them (see `response`).

use crate::arguments::ToolArguments;
use crate::codec::CodecName;
use crate::json::JsonText;

/// Author of a message. System text has a place of its own in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageRole {
    /// The user's side: prompts, images, results of tools.
    User,
    /// The model's side: texts, tool calls, opaque state.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelMessage {
    /// Its author.
    pub role: MessageRole,
    /// Its parts in order.
    pub parts: Vec<MessagePart>,
    /// Whether the prompt up to its end is worth caching.
    pub cache: CacheHint,
}

/// Piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// Image, of the user.
    Image(ImagePart),
    /// Tool call, of the model.
    ToolCall(ToolCall),
    /// Result of a tool call, of the user's side.
    ToolResult(ToolResult),
    /// State that the provider wants back.
    Opaque(OpaqueState),
}

/// Image inside a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePart {
    /// Its type.
    pub media_type: ImageMediaType,
    /// Its bytes in base64 (RFC 4648, with padding).
    pub base64: String,
}

/// Image types that every vendor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageMediaType {
    /// `image/png`
    Png,
    /// `image/jpeg`
    Jpeg,
    /// `image/gif`
    Gif,
    /// `image/webp`
    Webp,
}

impl ImageMediaType {
    /// Returns the MIME type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// Call of a tool by the model: a proposal, nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Id that the result repeats.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Its arguments, or the text that is none.
    pub arguments: ToolArguments,
}

/// Answer to a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool that was called.
    pub name: String,
    /// Pieces of what it gave.
    pub content: Vec<ResultPart>,
    /// Whether it worked.
    pub outcome: ToolOutcome,
}

/// Piece of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultPart {
    /// Text.
    Text(String),
    /// Image; a codec whose results are text alone moves it behind the result.
    Image(ImagePart),
}

/// End of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolOutcome {
    /// The tool did what was asked.
    Success,
    /// The tool failed, or was not allowed to run; the content says why.
    Failure,
}

/// Wish to have the prompt cached up to here. Sent to vendors that take it; the others cache by themselves or not
/// at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheHint {
    /// No wish.
    #[default]
    None,
    /// The prompt up to the end of this part stays the same in the next request.
    Breakpoint,
}

/// Provider's own state: reasoning, signatures, ids. Kept as it came and returned at the same place; nobody here
/// reads it. Returned only by the codec and to the model that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueState {
    /// Codec that received it.
    pub codec: CodecName,
    /// Model it was received from, as the request named it.
    pub model: String,
    /// Place in the next request.
    pub placement: OpaquePlacement,
    /// Time for which it is returned.
    pub lifetime: OpaqueLifetime,
    /// The state.
    pub value: JsonText,
}

/// Place of opaque state in the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpaquePlacement {
    /// A part of its own: a block, an item.
    Part,
    /// Members of the part before it: a signature of a text or a call.
    PreviousPart,
    /// Members of the whole message.
    Message,
}

/// Time for which opaque state is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpaqueLifetime {
    /// Until the user speaks again: plain reasoning text, which vendors want back in a tool loop alone.
    Turn,
    /// As long as its message is sent.
    Conversation,
}

impl ModelMessage {
    /// Makes a message of the user with one text.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::of(MessageRole::User, vec![MessagePart::Text(text.into())])
    }

    /// Makes a message of the model with one text.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::of(MessageRole::Assistant, vec![MessagePart::Text(text.into())])
    }

    /// Makes a message without a cache hint.
    #[must_use]
    pub fn of(role: MessageRole, parts: Vec<MessagePart>) -> Self {
        Self { role, parts, cache: CacheHint::None }
    }

    /// Returns its texts, one behind the other.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns its tool calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether somebody speaks here, not only tools.
    pub(crate) fn is_prompt(&self) -> bool {
        let speaks =
            |part: &MessagePart| matches!(part, MessagePart::Text(_) | MessagePart::Image(_));
        self.role == MessageRole::User && self.parts.iter().any(speaks)
    }
}
