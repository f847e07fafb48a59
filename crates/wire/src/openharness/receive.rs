//! Bytes to a message, in two stages, and what to answer when that fails.
//!
//! Stage one reads JSON and finds the ids that an answer repeats, whatever else is wrong. Stage two
//! looks at the version before anything else, then reads the shape, then asks whether a file is inside
//! and whether there is anything to do. Called by every transport; keeps nothing and knows no transport.

use sha2::{Digest as _, Sha256};

use super::blob;
use super::code::OpenHarnessCode;
use super::echo::RequestEcho;
use super::json::{BrokenJson, JsonDocument, JsonFault, JsonNode, canonical};
use super::limits::MessageLimits;
use super::request::RequestMessage;
use super::response::{ErrorObject, ResponseMessage};
use super::shape::{JsonShape, ReadPosition, ShapeError};
use super::version::{ProtocolVersion, VersionService};

/// A request that can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The request.
    pub message: RequestMessage,
    /// Fields that the answer repeats.
    pub echo: RequestEcho,
    /// Whether the shell speaks a newer version than bridle.
    pub service: VersionService,
    /// Tells this body from others with the same request id.
    pub fingerprint: RequestFingerprint,
}

/// The SHA-256 of the canonical body without its `correlation_id`, which a retry may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestFingerprint(pub [u8; 32]);

impl RequestFingerprint {
    fn of(message: JsonNode<'_>) -> Self {
        let mut text = String::with_capacity(message.source().len());
        canonical(message, &["correlation_id"], &mut text);
        RequestFingerprint(Sha256::digest(text.as_bytes()).into())
    }
}

/// Reason why a message cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefusal {
    /// The bytes are not JSON as it must be.
    #[error(transparent)]
    Broken(#[from] BrokenJson),
    /// The JSON is not of its shape.
    #[error(transparent)]
    Invalid(#[from] ShapeError),
    /// The version is of another major line.
    #[error("unsupported protocol version")]
    Version,
    /// A file is inside the message, at this field.
    #[error("`{0}`: embedded blob")]
    Blob(String),
}

impl RequestRefusal {
    /// Returns the code of the answer.
    pub fn code(&self) -> OpenHarnessCode {
        match self {
            RequestRefusal::Broken(BrokenJson { fault: JsonFault::TooLarge, .. }) => {
                OpenHarnessCode::PayloadTooLarge
            }
            RequestRefusal::Broken(_) | RequestRefusal::Invalid(_) => {
                OpenHarnessCode::InvalidRequest
            }
            RequestRefusal::Version => OpenHarnessCode::ProtocolVersionUnsupported,
            RequestRefusal::Blob(_) => OpenHarnessCode::EmbeddedBlob,
        }
    }

    /// Returns the error of the answer: sentences of ours, declared keys, numbers; nothing of the
    /// message itself.
    pub fn error(&self) -> ErrorObject {
        let error = ErrorObject::of(self.code());
        match self {
            RequestRefusal::Broken(broken) => error
                .with_message(broken.fault.explanation())
                .with_detail("reason", broken.fault.as_str())
                .with_detail("offset", u64::try_from(broken.offset).unwrap_or(u64::MAX)),
            RequestRefusal::Invalid(invalid) => {
                let error = error.with_message(invalid.sentence());
                let error = if invalid.field.is_empty() {
                    error
                } else {
                    error.with_detail("field", invalid.field.as_str())
                };
                error.with_detail("expected", invalid.expected.as_ref())
            }
            RequestRefusal::Version => error.with_detail("field", "protocol_version"),
            RequestRefusal::Blob(field) => error.with_detail("field", field.as_str()),
        }
    }
}

/// A message that cannot be carried out, and what its answer repeats.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{refusal}")]
pub struct RefusedMessage {
    /// Reason for the refusal.
    pub refusal: RequestRefusal,
    /// Fields that the answer repeats.
    pub echo: RequestEcho,
}

impl RefusedMessage {
    /// Returns the answer; its HTTP status is that of the refusal's code.
    pub fn response(&self) -> ResponseMessage {
        ResponseMessage::error(&self.echo, self.refusal.error())
    }
}

/// Reads a request.
///
/// # Errors
/// The message is broken, not of its shape, of another major version, holds a file, or asks for nothing.
pub fn receive(
    bytes: &[u8],
    limits: &MessageLimits,
) -> Result<ReceivedRequest, Box<RefusedMessage>> {
    let document = document(bytes, limits)?;
    received(document.root(), limits)
}

/// Reads any other document: an answer, an event, a call of the extra endpoints. Its version, if it
/// has one, is not looked at.
///
/// # Errors
/// The bytes are no JSON, or not of the shape.
pub fn read<T: JsonShape>(bytes: &[u8], limits: &MessageLimits) -> Result<T, Box<RefusedMessage>> {
    let document = document(bytes, limits)?;
    let root = document.root();
    T::read(root, &ReadPosition::root(limits))
        .map_err(|invalid| refused(RequestEcho::of(root), invalid))
}

/// Reads an answer of an engine.
///
/// # Errors
/// The answer is broken, not of its shape, or of another major version.
pub fn read_response(
    bytes: &[u8],
    limits: &MessageLimits,
) -> Result<ResponseMessage, Box<RefusedMessage>> {
    let document = document(bytes, limits)?;
    let root = document.root();
    let read = || {
        served(root, &ReadPosition::root(limits))?;
        Ok(ResponseMessage::read(root, &ReadPosition::root(limits))?)
    };
    read().map_err(|refusal: RequestRefusal| refused(RequestEcho::of(root), refusal))
}

/// Reads a request that is a value of another document.
pub(super) fn received(
    message: JsonNode<'_>,
    limits: &MessageLimits,
) -> Result<ReceivedRequest, Box<RefusedMessage>> {
    match typed(message, limits) {
        Ok((request, service)) => {
            let (echo, fingerprint) =
                (RequestEcho::of_request(&request), RequestFingerprint::of(message));
            Ok(ReceivedRequest { message: request, echo, service, fingerprint })
        }
        Err(refusal) => Err(refused(RequestEcho::of(message), refusal)),
    }
}

pub(super) fn document<'b>(
    bytes: &'b [u8],
    limits: &MessageLimits,
) -> Result<JsonDocument<'b>, Box<RefusedMessage>> {
    JsonDocument::read(bytes, limits).map_err(|broken| {
        // Of a body that is too large only as much as would have been read is looked at.
        let looked_at = &bytes[..bytes.len().min(limits.bytes)];
        refused(RequestEcho::salvage(looked_at), broken)
    })
}

pub(super) fn refused(
    echo: RequestEcho,
    refusal: impl Into<RequestRefusal>,
) -> Box<RefusedMessage> {
    Box::new(RefusedMessage { refusal: refusal.into(), echo })
}

fn typed(
    message: JsonNode<'_>,
    limits: &MessageLimits,
) -> Result<(RequestMessage, VersionService), RequestRefusal> {
    let at = ReadPosition::root(limits);
    let service = served(message, &at)?;
    let request = RequestMessage::read(message, &at)?;
    if let Some(field) = embedded(message, limits.inline_blob) {
        return Err(RequestRefusal::Blob(field));
    }
    if !request.has_work() {
        return Err(nothing_to_do().into());
    }
    Ok((request, service))
}

/// Judges the version, before anything else is looked at.
fn served(message: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<VersionService, RequestRefusal> {
    let version: ProtocolVersion = at.field(at.object(message)?, "protocol_version")?;
    match version.service() {
        VersionService::Unsupported => Err(RequestRefusal::Version),
        service => Ok(service),
    }
}

/// The field that holds a file, if one does.
fn embedded(message: JsonNode<'_>, most: usize) -> Option<String> {
    let context = message.get("request")?.get("context")?;
    let state = context.get("environment_state");
    if state.is_some_and(|state| blob::holds_blob(state, most)) {
        return Some("context.environment_state".to_owned());
    }
    let mut attachments = context.get("attachments")?.items();
    let index = attachments.position(|attachment| blob::holds_blob(attachment, most))?;
    Some(format!("context.attachments.{index}"))
}

fn nothing_to_do() -> ShapeError {
    ShapeError {
        field: "context.user_intent".to_owned(),
        expected: "an intent, a continuation, a task hint, attachments or results".into(),
        got: "none of them",
    }
}
