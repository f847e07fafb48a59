//! A message of the daemon, and what is expected of it.
//!
//! Cases ask for keys and compare; every expectation that fails says what was expected and what
//! came instead.

use bridle_sexp::{Limits, Reader, Value};

use crate::case::{CheckFinding, Checked};
use crate::notes::shown;

/// Codes of errors: the list is closed (section 10).
const CODES: [&str; 38] = [
    "bad-header",
    "empty-frame",
    "frame-too-large",
    "invalid-utf8",
    "incomplete-frame",
    "unit-unclear",
    "too-many-blanks",
    "bad-signature",
    "replayed-frame",
    "unsigned-frame",
    "frame-timeout",
    "syntax",
    "not-a-plist",
    "missing-key",
    "wrong-type",
    "unknown-type",
    "invalid-value",
    "part-mismatch",
    "part-too-large",
    "part-timeout",
    "unsupported",
    "unknown-id",
    "id-conflict",
    "unknown-session",
    "unknown-target",
    "refused",
    "cancelled",
    "expired",
    "engine-failed",
    "unknown-outcome",
    "store-unavailable",
    "overloaded",
    "rate-limited",
    "too-many-connections",
    "slow-reader",
    "shutting-down",
    "not-permitted",
    "internal",
];

/// Value for a key that is not there.
const NIL: Value = Value::Nil;

/// A message.
#[derive(Debug, Clone)]
pub struct HeardMessage {
    /// As it came.
    pub text: String,
    value: Value,
}

impl HeardMessage {
    /// Reads a payload.
    ///
    /// # Errors
    /// The text is not one form of the data language, or no plist.
    pub fn read(text: String) -> Result<HeardMessage, CheckFinding> {
        let limits = Limits { depth: bridle_sexp::limits::DEPTH_CEILING, ..Limits::default() };
        let value = match Reader::new().limits(limits).read_one(&text) {
            Ok(tree) => tree.root().to_value(),
            Err(error) => {
                return Err(CheckFinding::fault(format!(
                    "a frame of the daemon is no form: {error}"
                )));
            }
        };
        let heard = HeardMessage { text, value };
        if heard.value.get("type").is_none() {
            return Err(CheckFinding::fault(format!(
                "a message without a type: {}",
                heard.brief()
            )));
        }
        Ok(heard)
    }

    /// Message for the time before one came.
    pub(super) fn nothing() -> HeardMessage {
        HeardMessage { text: String::new(), value: Value::Nil }
    }

    /// A key of the envelope; nil when it is absent.
    pub fn get(&self, key: &str) -> &Value {
        self.value.get(key).unwrap_or(&NIL)
    }

    /// A key of the payload; nil when it is absent.
    pub fn payload(&self, key: &str) -> &Value {
        self.get("payload").get(key).unwrap_or(&NIL)
    }

    /// A key of the meta; nil when it is absent.
    pub fn meta(&self, key: &str) -> &Value {
        self.get("meta").get(key).unwrap_or(&NIL)
    }

    /// Tells whether it is of a type.
    pub fn is_type(&self, name: &str) -> bool {
        self.get("type").is_keyword(name)
    }

    /// Tells whether it answers a message, by id.
    pub fn answers(&self, id: &str) -> bool {
        self.is_type("response") && self.get("id").as_str() == Some(id)
    }

    /// The number of an event, if it has one.
    pub fn seq(&self) -> Option<i64> {
        self.meta("seq").as_i64()
    }

    /// Tells whether a list in the payload has a keyword.
    pub fn lists(&self, key: &str, keyword: &str) -> bool {
        match self.payload(key) {
            Value::List(items) => items.iter().any(|item| item.is_keyword(keyword)),
            _ => false,
        }
    }

    /// The code of an error; `None` if it is none.
    pub fn code(&self) -> Option<&str> {
        let is_error = self.is_type("response") && self.payload("status").is_keyword("error");
        if is_error { self.payload("code").as_keyword() } else { None }
    }

    /// Checks that it is an error of this code, in the shape of errors.
    ///
    /// # Errors
    /// The message is something else.
    pub fn is_error(&self, code: &str) -> Checked {
        match self.code() {
            Some(got) if got.eq_ignore_ascii_case(code) => self.has_error_shape(),
            _ => Err(CheckFinding::fault(format!(
                "expected the error `{code}`, got {}",
                self.brief()
            ))),
        }
    }

    /// Checks that it is an error of one of these codes.
    ///
    /// # Errors
    /// The message is something else.
    pub fn is_error_of(&self, codes: &[&str]) -> Checked {
        let got = self.code();
        if got.is_some_and(|got| codes.iter().any(|code| got.eq_ignore_ascii_case(code))) {
            return self.has_error_shape();
        }
        let codes = codes.join("` or `");
        Err(CheckFinding::fault(format!("expected the error `{codes}`, got {}", self.brief())))
    }

    /// Checks the shape of an error: a code of the list, a sentence, whether to try again.
    ///
    /// # Errors
    /// The shape is another.
    pub fn has_error_shape(&self) -> Checked {
        let code = self.code().unwrap_or_default();
        if !CODES.iter().any(|known| known.eq_ignore_ascii_case(code)) {
            return Err(CheckFinding::fault(format!("`{code}` is not in the list of codes")));
        }
        if self.payload("message").as_str().is_none_or(str::is_empty) {
            return Err(CheckFinding::fault("the error has no `:message` for people"));
        }
        let is_there = self.get("payload").get("retryable").is_some();
        if is_there {
            Ok(())
        } else {
            Err(CheckFinding::fault("the error does not say `:retryable`"))
        }
    }

    /// Checks that it is a message of this type.
    ///
    /// # Errors
    /// The message is something else.
    pub fn is(&self, name: &str) -> Checked {
        if self.is_type(name) {
            return Ok(());
        }
        Err(CheckFinding::fault(format!("expected `:{name}`, got {}", self.brief())))
    }

    /// Checks that it answers with success.
    ///
    /// # Errors
    /// The message reports no success.
    pub fn is_success(&self) -> Checked {
        if self.is_type("response") && self.payload("status").is_keyword("success") {
            return Ok(());
        }
        Err(CheckFinding::fault(format!("expected a success, got {}", self.brief())))
    }

    /// Checks a condition on it.
    ///
    /// # Errors
    /// The condition is false.
    pub fn has(&self, holds: bool, expected: &str) -> Checked {
        if holds {
            return Ok(());
        }
        Err(CheckFinding::fault(format!("expected {expected}, got {}", self.brief())))
    }

    /// The message, cut short.
    pub fn brief(&self) -> String {
        let line = shown(&self.text);
        match line.char_indices().nth(200) {
            Some((at, _)) => format!("`{}..`", &line[..at]),
            None => format!("`{line}`"),
        }
    }
}
