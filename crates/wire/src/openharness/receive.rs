//! Bytes to a message, in two stages, and what to answer when that fails.
//!
//! Stage one reads JSON and finds the ids that an answer repeats, whatever else is wrong. Stage two
//! looks at the version before anything else, then reads the shape, then asks whether a file is inside
//! and whether there is anything to do. Called by every transport; keeps nothing and knows no transport.

use sha2::{Digest as _, Sha256};

use super::blob;
use super::code::Code;
use super::echo::Echo;
use super::json::{Broken, Document, Fault, Node, canonical};
use super::limits::Limits;
use super::request::RequestMessage;
use super::response::{ErrorObject, ResponseMessage};
use super::shape::{At, Invalid, Shape};
use super::version::{Service, Version};

/// A request that can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The request.
    pub message: RequestMessage,
    /// What the answer repeats.
    pub echo: Echo,
    /// Whether the shell speaks a newer version than bridle.
    pub service: Service,
    /// Tells this body from others with the same request id.
    pub fingerprint: Fingerprint,
}

/// The SHA-256 of the canonical body without its `correlation_id`, which a retry may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    fn of(message: Node<'_>) -> Self {
        let mut text = String::with_capacity(message.source().len());
        canonical(message, &["correlation_id"], &mut text);
        Fingerprint(Sha256::digest(text.as_bytes()).into())
    }
}

/// Why a message cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The bytes are not JSON as it must be.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The JSON is not of its shape.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The version is of another major line.
    #[error("unsupported protocol version")]
    Version,
    /// A file is inside the message, at this field.
    #[error("`{0}`: embedded blob")]
    Blob(String),
}

impl Refusal {
    /// Returns the code of the answer.
    pub fn code(&self) -> Code {
        match self {
            Refusal::Broken(Broken { fault: Fault::TooLarge, .. }) => Code::PayloadTooLarge,
            Refusal::Broken(_) | Refusal::Invalid(_) => Code::InvalidRequest,
            Refusal::Version => Code::ProtocolVersionUnsupported,
            Refusal::Blob(_) => Code::EmbeddedBlob,
        }
    }

    /// Returns the error of the answer: sentences of ours, declared keys, numbers; nothing of the
    /// message itself.
    pub fn error(&self) -> ErrorObject {
        let error = ErrorObject::of(self.code());
        match self {
            Refusal::Broken(broken) => error
                .with_message(broken.fault.explanation())
                .with_detail("reason", broken.fault.as_str())
                .with_detail("offset", u64::try_from(broken.offset).unwrap_or(u64::MAX)),
            Refusal::Invalid(invalid) => {
                let error = error.with_message(invalid.sentence());
                let error = if invalid.field.is_empty() {
                    error
                } else {
                    error.with_detail("field", invalid.field.as_str())
                };
                error.with_detail("expected", invalid.expected.as_ref())
            }
            Refusal::Version => error.with_detail("field", "protocol_version"),
            Refusal::Blob(field) => error.with_detail("field", field.as_str()),
        }
    }
}

/// A message that cannot be carried out, and what its answer repeats.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{refusal}")]
pub struct Refused {
    /// Why.
    pub refusal: Refusal,
    /// What the answer repeats.
    pub echo: Echo,
}

impl Refused {
    /// Returns the answer; its HTTP status is that of the refusal's code.
    pub fn response(&self) -> ResponseMessage {
        ResponseMessage::error(&self.echo, self.refusal.error())
    }
}

/// Reads a request.
///
/// # Errors
/// It is broken, not of its shape, of another major version, holds a file, or asks for nothing.
pub fn receive(bytes: &[u8], limits: &Limits) -> Result<Received, Box<Refused>> {
    let document = document(bytes, limits)?;
    received(document.root(), limits)
}

/// Reads any other document: an answer, an event, a call of the extra endpoints. Its version, if it
/// has one, is not looked at.
///
/// # Errors
/// It is broken, or not of its shape.
pub fn read<T: Shape>(bytes: &[u8], limits: &Limits) -> Result<T, Box<Refused>> {
    let document = document(bytes, limits)?;
    let root = document.root();
    T::read(root, &At::root(limits)).map_err(|invalid| refused(Echo::of(root), invalid))
}

/// Reads an answer of an engine.
///
/// # Errors
/// It is broken, not of its shape, or of another major version.
pub fn read_response(bytes: &[u8], limits: &Limits) -> Result<ResponseMessage, Box<Refused>> {
    let document = document(bytes, limits)?;
    let root = document.root();
    let read = || {
        served(root, &At::root(limits))?;
        Ok(ResponseMessage::read(root, &At::root(limits))?)
    };
    read().map_err(|refusal: Refusal| refused(Echo::of(root), refusal))
}

/// Reads a request that is a value of another document.
pub(super) fn received(message: Node<'_>, limits: &Limits) -> Result<Received, Box<Refused>> {
    match typed(message, limits) {
        Ok((request, service)) => {
            let (echo, fingerprint) = (Echo::of_request(&request), Fingerprint::of(message));
            Ok(Received { message: request, echo, service, fingerprint })
        }
        Err(refusal) => Err(refused(Echo::of(message), refusal)),
    }
}

pub(super) fn document<'b>(bytes: &'b [u8], limits: &Limits) -> Result<Document<'b>, Box<Refused>> {
    Document::read(bytes, limits).map_err(|broken| {
        // Of a body that is too large only as much as would have been read is looked at.
        let looked_at = &bytes[..bytes.len().min(limits.bytes)];
        refused(Echo::salvage(looked_at), broken)
    })
}

pub(super) fn refused(echo: Echo, refusal: impl Into<Refusal>) -> Box<Refused> {
    Box::new(Refused { refusal: refusal.into(), echo })
}

fn typed(message: Node<'_>, limits: &Limits) -> Result<(RequestMessage, Service), Refusal> {
    let at = At::root(limits);
    let service = served(message, &at)?;
    let request = RequestMessage::read(message, &at)?;
    if let Some(field) = embedded(message, limits.inline_blob) {
        return Err(Refusal::Blob(field));
    }
    if !request.has_work() {
        return Err(nothing_to_do().into());
    }
    Ok((request, service))
}

/// What becomes of the version, before anything else is looked at.
fn served(message: Node<'_>, at: &At<'_>) -> Result<Service, Refusal> {
    let version: Version = at.field(at.object(message)?, "protocol_version")?;
    match version.service() {
        Service::Unsupported => Err(Refusal::Version),
        service => Ok(service),
    }
}

/// The field that holds a file, if one does.
fn embedded(message: Node<'_>, most: usize) -> Option<String> {
    let context = message.get("request")?.get("context")?;
    let state = context.get("environment_state");
    if state.is_some_and(|state| blob::holds_blob(state, most)) {
        return Some("context.environment_state".to_owned());
    }
    let mut attachments = context.get("attachments")?.items();
    let index = attachments.position(|attachment| blob::holds_blob(attachment, most))?;
    Some(format!("context.attachments.{index}"))
}

fn nothing_to_do() -> Invalid {
    Invalid {
        field: "context.user_intent".to_owned(),
        expected: "an intent, a continuation, a task hint, attachments or results".into(),
        got: "none of them",
    }
}
