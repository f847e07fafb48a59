//! What is wrong with a message: a code, a key path, a place in the text and a sentence.
//!
//! Made by every reader in this room, turned into an error frame by `reply`. Neither the path
//! nor the sentence ever holds text of the message itself, so that secrets are not echoed.

use std::fmt;

use bridle_sexp::{Place, Value};

use super::Code;

/// A message that breaks the rules of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} at {path}: {message}")]
pub struct Invalid {
    /// The rule that is broken.
    pub code: Code,
    /// The keys that lead from the message to the fault.
    pub path: Path,
    /// Where the fault is in the text; unknown when the message never was text.
    pub place: Option<Place>,
    /// A sentence for people: expected and got, in general terms.
    pub message: String,
}

impl Invalid {
    /// Makes a refusal without a place.
    pub fn new(code: Code, path: Path, message: impl Into<String>) -> Self {
        Invalid { code, path, place: None, message: message.into() }
    }

    pub(crate) fn at(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }
}

/// One step of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The value of this key, in lower case and without the colon.
    Key(&'static str),
    /// The element at this index, counted from 0.
    Index(usize),
}

/// The keys that lead to a value inside a message, such as `(:payload :sensor)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// The message itself.
    pub const ROOT: Path = Path(Vec::new());

    /// Makes the path through the given keys.
    pub fn of(keys: &[&'static str]) -> Self {
        Path(keys.iter().map(|key| Step::Key(key)).collect())
    }

    /// Returns this path with one more key.
    pub fn key(&self, key: &'static str) -> Self {
        self.then(Step::Key(key))
    }

    /// Returns this path with the element at `index`.
    pub fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    /// Returns the steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Tells whether this is the message itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path as data: a list of keywords and indices, nil for the message itself.
    pub fn to_value(&self) -> Value {
        Value::list(self.0.iter().map(|step| match step {
            Step::Key(key) => Value::keyword(key),
            Step::Index(index) => Value::int(i64::try_from(*index).unwrap_or(i64::MAX)),
        }))
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Path(steps)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (n, step) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(" ")?;
            }
            match step {
                Step::Key(key) => write!(f, ":{key}")?,
                Step::Index(index) => write!(f, "{index}")?,
            }
        }
        f.write_str(")")
    }
}
