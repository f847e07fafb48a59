//! Answers: success, and the one shape of an error.
//!
//! The daemon calls it for every frame that it does not pass on. An error frame names code, place
//! and reason and repeats nothing of what was sent.

use bridle_sexp::{Error, Place, Value};

use super::OacpCode;
use super::invalid::{InvalidMessage, MessagePath};
use super::message::{MessageId, MessageMeta, MessageType, OacpMessage, UnreadableText};

/// Content of an error frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ErrorReply {
    /// The kind to match on.
    pub code: OacpCode,
    /// The sentence for people.
    pub message: String,
    /// Place in the text, when known.
    pub place: Option<Place>,
    /// Key path, when known.
    pub path: MessagePath,
    /// Milliseconds after which the same message may be sent again, when known.
    pub retry_after_ms: Option<u64>,
}

impl ErrorReply {
    /// Makes a failure that says what its code says, without a place.
    pub fn new(code: OacpCode) -> Self {
        ErrorReply::because(code, code.explanation())
    }

    /// Makes a failure with its own sentence; it must not repeat what the peer sent.
    pub fn because(code: OacpCode, message: impl Into<String>) -> Self {
        ErrorReply {
            code,
            message: message.into(),
            place: None,
            path: MessagePath::ROOT,
            retry_after_ms: None,
        }
    }

    fn at(&self) -> Value {
        let number = |number: usize| Value::int(i64::try_from(number).unwrap_or(i64::MAX));
        let mut out = Vec::new();
        if let Some(place) = self.place {
            out.extend([Value::keyword("offset"), number(place.offset)]);
            out.extend([Value::keyword("line"), number(place.line)]);
            out.extend([Value::keyword("column"), number(place.column)]);
        }
        if !self.path.is_root() {
            out.extend([Value::keyword("path"), self.path.to_value()]);
        }
        Value::list(out)
    }
}

impl From<OacpCode> for ErrorReply {
    fn from(code: OacpCode) -> Self {
        ErrorReply::new(code)
    }
}

impl From<InvalidMessage> for ErrorReply {
    fn from(invalid: InvalidMessage) -> Self {
        let InvalidMessage { code, path, place, message } = invalid;
        ErrorReply { code, message, place, path, retry_after_ms: None }
    }
}

impl From<&Error> for ErrorReply {
    fn from(error: &Error) -> Self {
        ErrorReply {
            code: OacpCode::Syntax,
            message: format!("{}: {}", error.category().as_str(), error.reason()),
            place: Some(error.place()),
            path: MessagePath::ROOT,
            retry_after_ms: None,
        }
    }
}

/// Returns the error frame's message; without an id it says `:id nil`.
pub fn error_response(id: Option<&MessageId>, failure: &ErrorReply) -> OacpMessage {
    let mut payload = vec![
        Value::keyword("status"),
        Value::keyword("error"),
        Value::keyword("code"),
        Value::keyword(failure.code.as_str()),
        Value::keyword("message"),
        Value::str(failure.message.as_str()),
    ];
    let at = failure.at();
    if !matches!(at, Value::Nil) {
        payload.extend([Value::keyword("at"), at]);
    }
    payload.extend([Value::keyword("retryable"), Value::bool(failure.code.retryable())]);
    if let Some(wait) = failure.retry_after_ms {
        let wait = Value::int(i64::try_from(wait).unwrap_or(i64::MAX));
        payload.extend([Value::keyword("retry-after-ms"), wait]);
    }
    response(id, MessageMeta::default(), Value::list(payload))
}

/// Returns the error frame's message for a text that could not be read as a message.
pub fn unreadable_response(unreadable: UnreadableText) -> OacpMessage {
    match unreadable {
        UnreadableText::Syntax(error) => error_response(None, &ErrorReply::from(&error)),
        UnreadableText::Invalid { invalid, id } => error_response(id.as_ref(), &invalid.into()),
    }
}

/// Returns an answer with any payload.
pub fn response(id: Option<&MessageId>, meta: MessageMeta, payload: Value) -> OacpMessage {
    OacpMessage {
        id: id.cloned(),
        meta,
        ..OacpMessage::new(MessageType::Response).with_payload(payload)
    }
}

/// Returns an answer `(:status :success ...)`; `rest` follows the status.
pub fn success<'k>(
    id: Option<&MessageId>,
    meta: MessageMeta,
    rest: impl IntoIterator<Item = (&'k str, Value)>,
) -> OacpMessage {
    let status = [("status", Value::keyword("success"))];
    response(id, meta, Value::plist(status.into_iter().chain(rest)))
}

/// Error frame as a client reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedError<'m> {
    /// The code; `None` when the peer speaks a later version.
    pub code: Option<OacpCode>,
    /// The sentence for people.
    pub message: &'m str,
    /// Whether the same message may succeed later.
    pub retryable: bool,
}

impl<'m> ReportedError<'m> {
    /// Reads an error frame; `None` when the message is something else.
    pub fn from_message(message: &'m OacpMessage) -> Option<Self> {
        let payload = message.payload.as_ref().filter(|_| message.kind == MessageType::Response)?;
        payload.get("status").filter(|status| status.is_keyword("error"))?;
        let code = match payload.get("code") {
            Some(Value::Keyword(name)) => name.spelling().parse().ok(),
            _ => None,
        };
        Some(ReportedError {
            code,
            message: payload.get("message").and_then(Value::as_str).unwrap_or_default(),
            retryable: payload.get("retryable").is_some_and(|value| !matches!(value, Value::Nil)),
        })
    }
}
