//! What is wrong with a message: a code, a key path, a place in the text and a sentence.
//!
//! Made by every reader in this room, turned into an error frame by `reply`. Neither the path
//! nor the sentence ever holds text of the message itself, so that secrets are not echoed.

use std::fmt;

use bridle_sexp::{Place, Value};

use super::OacpCode;

/// A message that breaks the rules of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} at {path}: {message}")]
pub struct InvalidMessage {
    /// The rule that is broken.
    pub code: OacpCode,
    /// The keys that lead from the message to the fault.
    pub path: MessagePath,
    /// Place of the fault in the text; unknown when the message never was text.
    pub place: Option<Place>,
    /// A sentence for people: expected and got, in general terms.
    pub message: String,
}

impl InvalidMessage {
    /// Makes a refusal without a place.
    pub fn new(code: OacpCode, path: MessagePath, message: impl Into<String>) -> Self {
        InvalidMessage { code, path, place: None, message: message.into() }
    }

    pub(crate) fn at(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }
}

/// One step of a [`MessagePath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// The value of this key, in lower case and without the colon.
    Key(&'static str),
    /// The element at this index, counted from 0.
    Index(usize),
}

/// The keys that lead to a value inside a message, such as `(:payload :sensor)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MessagePath(Vec<PathStep>);

impl MessagePath {
    /// The message itself.
    pub const ROOT: MessagePath = MessagePath(Vec::new());

    /// Makes the path through the given keys.
    pub fn of(keys: &[&'static str]) -> Self {
        MessagePath(keys.iter().map(|key| PathStep::Key(key)).collect())
    }

    /// Returns this path with one more key.
    pub fn key(&self, key: &'static str) -> Self {
        self.then(PathStep::Key(key))
    }

    /// Returns this path with the element at `index`.
    pub fn index(&self, index: usize) -> Self {
        self.then(PathStep::Index(index))
    }

    /// Returns the steps, outermost first.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// Tells whether this is the message itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path as data: a list of keywords and indices, nil for the message itself.
    pub fn to_value(&self) -> Value {
        Value::list(self.0.iter().map(|step| match step {
            PathStep::Key(key) => Value::keyword(key),
            PathStep::Index(index) => Value::int(i64::try_from(*index).unwrap_or(i64::MAX)),
        }))
    }

    fn then(&self, step: PathStep) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        MessagePath(steps)
    }
}

impl fmt::Display for MessagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (n, step) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(" ")?;
            }
            match step {
                PathStep::Key(key) => write!(f, ":{key}")?,
                PathStep::Index(index) => write!(f, "{index}")?,
            }
        }
        f.write_str(")")
    }
}
