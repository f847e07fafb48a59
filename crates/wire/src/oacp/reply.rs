//! Answers: success, and the one shape of an error.
//!
//! The daemon calls it for every frame that it does not pass on. An error frame names code, place
//! and reason and repeats nothing of what was sent.

use bridle_sexp::{Error, Place, Value};

use super::Code;
use super::invalid::{Invalid, Path};
use super::message::{Id, Message, Meta, Type, Unreadable};

/// What an error frame says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// The kind to match on.
    pub code: Code,
    /// The sentence for people.
    pub message: String,
    /// Where in the text, when known.
    pub place: Option<Place>,
    /// Which key, when known.
    pub path: Path,
    /// Milliseconds after which the same message may be sent again, when known.
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// Makes a failure that says what its code says, without a place.
    pub fn new(code: Code) -> Self {
        Failure::because(code, code.explanation())
    }

    /// Makes a failure with its own sentence; it must not repeat what the peer sent.
    pub fn because(code: Code, message: impl Into<String>) -> Self {
        Failure {
            code,
            message: message.into(),
            place: None,
            path: Path::ROOT,
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

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Failure::new(code)
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        let Invalid { code, path, place, message } = invalid;
        Failure { code, message, place, path, retry_after_ms: None }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Failure {
            code: Code::Syntax,
            message: format!("{}: {}", error.category().as_str(), error.reason()),
            place: Some(error.place()),
            path: Path::ROOT,
            retry_after_ms: None,
        }
    }
}

/// Returns the error frame's message; without an id it says `:id nil`.
pub fn error_response(id: Option<&Id>, failure: &Failure) -> Message {
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
    response(id, Meta::default(), Value::list(payload))
}

/// Returns the error frame's message for a text that could not be read as a message.
pub fn unreadable_response(unreadable: Unreadable) -> Message {
    match unreadable {
        Unreadable::Syntax(error) => error_response(None, &Failure::from(&error)),
        Unreadable::Invalid { invalid, id } => error_response(id.as_ref(), &invalid.into()),
    }
}

/// Returns an answer with any payload.
pub fn response(id: Option<&Id>, meta: Meta, payload: Value) -> Message {
    Message { id: id.cloned(), meta, ..Message::new(Type::Response).with_payload(payload) }
}

/// Returns an answer `(:status :success ...)`; `rest` follows the status.
pub fn success<'k>(
    id: Option<&Id>,
    meta: Meta,
    rest: impl IntoIterator<Item = (&'k str, Value)>,
) -> Message {
    let status = [("status", Value::keyword("success"))];
    response(id, meta, Value::plist(status.into_iter().chain(rest)))
}

/// What a client reads from an error frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported<'m> {
    /// The code; `None` when the peer speaks a later version.
    pub code: Option<Code>,
    /// The sentence for people.
    pub message: &'m str,
    /// Whether the same message may succeed later.
    pub retryable: bool,
}

impl<'m> Reported<'m> {
    /// Reads an error frame; `None` when the message is something else.
    pub fn from_message(message: &'m Message) -> Option<Self> {
        let payload = message.payload.as_ref().filter(|_| message.kind == Type::Response)?;
        payload.get("status").filter(|status| status.is_keyword("error"))?;
        let code = match payload.get("code") {
            Some(Value::Keyword(name)) => name.spelling().parse().ok(),
            _ => None,
        };
        Some(Reported {
            code,
            message: payload.get("message").and_then(Value::as_str).unwrap_or_default(),
            retryable: payload.get("retryable").is_some_and(|value| !matches!(value, Value::Nil)),
        })
    }
}
