//! The four wire formats: from a request to bytes of HTTP, and from bytes of HTTP to events. Each codec is a file with
//! its two directions; this one has the names, what a provider's file sets, and the common half of decoding.
//!
//! Every stream ends in exactly one [`StreamEvent::Finish`] or [`StreamEvent::Failure`], whatever the server does,
//! and how its bytes were cut changes nothing.

mod anthropic_messages;
mod gemini;
mod openai_chat;
mod openai_responses;
mod sink;

use std::str::FromStr;

use serde_json::Value;

use crate::event::StreamEvent;
use crate::failure::{FailureKind, ProviderFailure, ResponseHead};
use crate::json::JsonObject;
use crate::message::{MessagePart, OpaqueLifetime, OpaquePlacement, OpaqueState};
use crate::request::{DeliveryMode, ModelRequest, RequestError};
use crate::response::{ModelResponse, ResponseAssembler};
use crate::sse::{SseDecoder, SseEvent};
pub(crate) use anthropic_messages::API_VERSION as ANTHROPIC_VERSION;
use sink::EventSink;

/// Largest answer: more than any model writes, with everything that vendors repeat.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Last event of OpenAI's streams.
const DONE: &str = "[DONE]";

/// Wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodecName {
    /// `POST /chat/completions` of OpenAI, spoken by nearly all servers.
    OpenAiChat,
    /// `POST /responses` of OpenAI.
    OpenAiResponses,
    /// `POST /messages` of Anthropic.
    AnthropicMessages,
    /// `POST /models/NAME:generateContent` of Google.
    Gemini,
}

impl CodecName {
    /// Every codec.
    pub const ALL: [Self; 4] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::AnthropicMessages, Self::Gemini];

    /// Returns the name as written in `models.org`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::Gemini => "gemini",
        }
    }
}

impl FromStr for CodecName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|codec| codec.as_str() == text).ok_or(())
    }
}

/// Properties of a model and its server that change how a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecSettings {
    /// Kind of `openai-chat`.
    pub dialect: ChatDialect,
    /// Way of asking for reasoning.
    pub reasoning: ReasoningControl,
    /// Whether images may be sent.
    pub takes_images: bool,
    /// Whether tools may be sent.
    pub takes_tools: bool,
}

impl Default for CodecSettings {
    fn default() -> Self {
        Self {
            dialect: ChatDialect::default(),
            reasoning: ReasoningControl::default(),
            takes_images: true,
            takes_tools: true,
        }
    }
}

/// Kind of `openai-chat` server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatDialect {
    /// OpenAI's own: `max_completion_tokens`, `prompt_cache_key`.
    OpenAi,
    /// Another server: `max_tokens`, and no fields that it may refuse.
    #[default]
    Compatible,
}

/// Way of asking for reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningControl {
    /// By a word: low, medium, high.
    #[default]
    Effort,
    /// By a number of tokens: Anthropic's models before 4.6, Google's before 3.
    Budget,
    /// Not at all: the model does not reason, or cannot be told.
    Unsupported,
}

/// Request as bytes, for the host to send. The path is put behind the provider's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method; `POST` for all codecs.
    pub method: &'static str,
    /// Path and query behind the address, with its first slash.
    pub path: String,
    /// Header fields, names in lower case. `host`, `content-length` and what belongs to the connection are the host's.
    pub headers: Vec<HttpHeader>,
    /// Body, JSON in UTF-8.
    pub body: Vec<u8>,
}

/// Header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpHeader {
    /// Name in lower case.
    pub name: &'static str,
    /// Value, or the place of the key.
    pub value: HttpHeaderValue,
}

/// Value of a header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpHeaderValue {
    /// Text.
    Text(&'static str),
    /// Key of the provider behind this prefix. The field is left out for a provider without a key.
    Key {
        /// Text before the key.
        prefix: &'static str,
    },
}

/// Beginning of the ids that are given to tool calls of servers that give none. Unique for each request, or results
/// of different turns could be mixed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallIdPrefix(pub String);

/// Writes a request.
///
/// # Errors
/// Fails on what no vendor takes, and on images and tools for a model without them.
pub fn encode_request(
    codec: CodecName,
    settings: &CodecSettings,
    request: &ModelRequest,
) -> Result<HttpRequest, RequestError> {
    request.check()?;
    let has_images = request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .any(|part| part.images().next().is_some());
    if has_images && !settings.takes_images {
        return Err(RequestError::NoImages(request.model.clone()));
    }
    let has_calls = request.messages.iter().any(|message| message.tool_calls().next().is_some());
    if (has_calls || !request.tools.is_empty()) && !settings.takes_tools {
        return Err(RequestError::NoTools(request.model.clone()));
    }
    Ok(match codec {
        CodecName::OpenAiChat => openai_chat::encode(settings, request),
        CodecName::OpenAiResponses => openai_responses::encode(settings, request),
        CodecName::AnthropicMessages => anthropic_messages::encode(settings, request),
        CodecName::Gemini => gemini::encode(settings, request),
    })
}

/// Reads the body of a response whose status is not 2xx.
#[must_use]
pub fn decode_error(head: &ResponseHead, body: &[u8]) -> ProviderFailure {
    ProviderFailure::of_response(head, body)
}

/// Reads a response that came whole, of whatever status.
#[must_use]
pub fn decode_response(
    codec: CodecName,
    model: &str,
    call_ids: CallIdPrefix,
    head: &ResponseHead,
    body: &[u8],
) -> ModelResponse {
    let mut sink = EventSink::new(codec, model, call_ids);
    if !(200..300).contains(&head.status) {
        sink.fail(decode_error(head, body));
    } else if body.len() > MAX_RESPONSE_BYTES {
        sink.fail(ProviderFailure::local(FailureKind::TooLarge, ""));
    } else {
        read_document(codec, body, &mut sink);
    }
    sink.fail(ProviderFailure::local(FailureKind::Truncated, "it does not say why it ended"));
    let response = sink.take().into_iter().collect::<ResponseAssembler>().finish();
    response.expect("a sink that failed has ended")
}

fn read_document(codec: CodecName, body: &[u8], sink: &mut EventSink) {
    let Ok(text) = std::str::from_utf8(body) else {
        return sink.fail(ProviderFailure::local(FailureKind::Malformed, "it is not UTF-8"));
    };
    let document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) if error.is_eof() => {
            return sink.fail(ProviderFailure::local(FailureKind::Truncated, ""));
        }
        Err(error) => {
            let message = format!("it is not JSON: {error}");
            return sink.fail(ProviderFailure::local(FailureKind::Malformed, message));
        }
    };
    if document.get("error").is_some_and(|error| !error.is_null()) {
        return sink.fail(ProviderFailure::of_document(None, &document));
    }
    match codec {
        CodecName::OpenAiChat => openai_chat::read_document(&document, sink),
        CodecName::OpenAiResponses => openai_responses::read_document(text, &document, sink),
        CodecName::AnthropicMessages => anthropic_messages::read_document(text, &document, sink),
        CodecName::Gemini => gemini::read_document(&document, sink),
    }
}

/// Decoder of a stream: bytes in, events out.
#[derive(Clone, Debug)]
pub struct StreamDecoder {
    sse: SseDecoder,
    reader: EventReader,
    sink: EventSink,
    received_bytes: usize,
}

/// State of a codec between two events of its stream.
#[derive(Clone, Debug)]
enum EventReader {
    OpenAiChat(openai_chat::ChunkReader),
    OpenAiResponses(openai_responses::ItemReader),
    AnthropicMessages(anthropic_messages::BlockReader),
    Gemini(gemini::PartReader),
}

impl StreamDecoder {
    /// Makes a decoder for the answer to one request. The model is the one of the request: it is kept with the
    /// opaque state.
    #[must_use]
    pub fn new(codec: CodecName, model: &str, call_ids: CallIdPrefix) -> Self {
        let reader = match codec {
            CodecName::OpenAiChat => EventReader::OpenAiChat(openai_chat::ChunkReader::default()),
            CodecName::OpenAiResponses => {
                EventReader::OpenAiResponses(openai_responses::ItemReader::default())
            }
            CodecName::AnthropicMessages => {
                EventReader::AnthropicMessages(anthropic_messages::BlockReader::default())
            }
            CodecName::Gemini => EventReader::Gemini(gemini::PartReader::default()),
        };
        let sink = EventSink::new(codec, model, call_ids);
        Self { sse: SseDecoder::default(), reader, sink, received_bytes: 0 }
    }

    /// Takes bytes of the body; returns what they say.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let room = MAX_RESPONSE_BYTES - self.received_bytes;
        let taken = bytes.len().min(room);
        self.received_bytes += taken;
        self.read(&bytes[..taken]);
        if taken < bytes.len() {
            self.sink.fail(ProviderFailure::local(FailureKind::TooLarge, ""));
        }
        self.sink.take()
    }

    /// Takes the end of the body; returns what is left to say. A second call returns nothing.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        if let Some(event) = self.sse.finish()
            && (event.data == DONE || serde_json::from_str::<Value>(&event.data).is_ok())
        {
            self.read_event(&event);
        }
        match &mut self.reader {
            EventReader::OpenAiChat(reader) => reader.end(&mut self.sink),
            EventReader::AnthropicMessages(reader) => reader.end(&mut self.sink),
            EventReader::Gemini(reader) => reader.end(&mut self.sink),
            // Its last event says everything.
            EventReader::OpenAiResponses(_) => {}
        }
        self.sink.fail(ProviderFailure::local(FailureKind::Truncated, ""));
        self.sink.take()
    }

    /// Whether the answer has ended: the connection is not needed any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.sink.has_ended()
    }

    fn read(&mut self, bytes: &[u8]) {
        if self.sink.has_ended() {
            return;
        }
        for event in self.sse.feed(bytes) {
            match event {
                Ok(event) => self.read_event(&event),
                Err(error) => {
                    let failure = ProviderFailure::local(FailureKind::Malformed, error.to_string());
                    self.sink.fail(failure);
                }
            }
        }
    }

    fn read_event(&mut self, event: &SseEvent) {
        if self.sink.has_ended() {
            return;
        }
        if event.data == DONE {
            return match &mut self.reader {
                EventReader::OpenAiChat(reader) => reader.done(&mut self.sink),
                EventReader::Gemini(reader) => reader.end(&mut self.sink),
                EventReader::OpenAiResponses(_) | EventReader::AnthropicMessages(_) => {}
            };
        }
        let data: Value = match serde_json::from_str(&event.data) {
            Ok(data) => data,
            Err(error) => {
                let message = format!("an event is not JSON: {error}");
                return self.sink.fail(ProviderFailure::local(FailureKind::Malformed, message));
            }
        };
        let has_error = data.get("error").is_some_and(|error| !error.is_null());
        if has_error || event.name == "error" || data.get("type").is_some_and(|it| it == "error") {
            return self.sink.fail(ProviderFailure::of_document(None, &data));
        }
        match &mut self.reader {
            EventReader::OpenAiChat(reader) => reader.read(&data, &mut self.sink),
            EventReader::OpenAiResponses(reader) => reader.read(&event.data, &data, &mut self.sink),
            EventReader::AnthropicMessages(reader) => {
                reader.read(&event.data, &data, &mut self.sink);
            }
            EventReader::Gemini(reader) => reader.read(&data, &mut self.sink),
        }
    }
}

/// The headers of a request; the answer's type is told so that proxies do not hold a stream back.
fn headers(request: &ModelRequest, key: HttpHeader) -> Vec<HttpHeader> {
    let accept = match request.delivery {
        DeliveryMode::Stream => "text/event-stream",
        DeliveryMode::Whole => "application/json",
    };
    let text = |name, value| HttpHeader { name, value: HttpHeaderValue::Text(value) };
    vec![text("content-type", "application/json"), text("accept", accept), key]
}

/// A key behind `Bearer`.
fn bearer() -> HttpHeader {
    HttpHeader { name: "authorization", value: HttpHeaderValue::Key { prefix: "Bearer " } }
}

/// Puts the members of the opaque parts behind `index` that belong to the part at `index`.
fn splice_previous(
    parts: &[MessagePart],
    index: usize,
    keep: &KeptState<'_>,
    object: &mut JsonObject,
) {
    for part in &parts[index + 1..] {
        match part {
            MessagePart::Opaque(state) if state.placement == OpaquePlacement::PreviousPart => {
                if keep.returns(state) {
                    object.splice(&state.value);
                }
            }
            _ => break,
        }
    }
}

/// Rule for returning opaque state: to its codec and model, and, where it is of one turn, in that turn.
pub(crate) struct KeptState<'r> {
    pub(crate) codec: CodecName,
    pub(crate) model: &'r str,
    pub(crate) is_this_turn: bool,
}

impl KeptState<'_> {
    pub(crate) fn returns(&self, state: &OpaqueState) -> bool {
        let is_alive = match state.lifetime {
            OpaqueLifetime::Conversation => true,
            OpaqueLifetime::Turn => self.is_this_turn,
        };
        state.codec == self.codec && state.model == self.model && is_alive
    }
}
