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

impl ImagePart {
    /// Makes an image of its bytes, whatever it is said to be; `None` if they are none of the known types.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let media_type = ImageMediaType::of_bytes(bytes)?;
        Some(Self { media_type, base64: base64_of(bytes) })
    }
}

/// Bytes in base64, with padding.
fn base64_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let held = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(held >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

impl ImageMediaType {
    /// The type by the first bytes of a file.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
        match bytes {
            _ if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => Some(Self::Png),
            _ if bytes.starts_with(&[0xFF, 0xD8, 0xFF]) => Some(Self::Jpeg),
            _ if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") => Some(Self::Gif),
            _ if is_webp => Some(Self::Webp),
            _ => None,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::{ImageMediaType, ImagePart};

    #[test]
    fn an_image_is_what_its_bytes_say() {
        let check = |bytes: &[u8], expect: Option<(ImageMediaType, &str)>| {
            let made = ImagePart::of_bytes(bytes);
            let told = made.as_ref().map(|image| (image.media_type, image.base64.as_str()));
            assert_eq!(told, expect, "{bytes:?}");
        };
        check(b"\x89PNG\r\n\x1a\n", Some((ImageMediaType::Png, "iVBORw0KGgo=")));
        check(b"\xff\xd8\xff\xe0", Some((ImageMediaType::Jpeg, "/9j/4A==")));
        check(b"GIF89a", Some((ImageMediaType::Gif, "R0lGODlh")));
        check(b"RIFF\0\0\0\0WEBP", Some((ImageMediaType::Webp, "UklGRgAAAABXRUJQ")));
        check(b"RIFF\0\0\0\0WAVE", None);
        check(b"<svg/>", None);
        check(b"", None);
    }
}
