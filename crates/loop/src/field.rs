//! Reading and writing plists: what the codecs of events, effects and the state share.
//!
//! A key that is absent means "none"; a key that is there has exactly one type. Not for messages
//! of clients: those are checked by the wire.

use bridle_sexp::{Dialect, Limits, Reader, Value, limits, print};

use crate::ids::{EffectId, Name, SessionId, Time, TurnId};

/// Values in one body of a record: a state may hold many messages, each as large as the wire allows.
const MAX_ELEMENTS: usize = 64 * limits::DEFAULT_ELEMENTS;

/// A recorded value that is not what this version writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unreadable `{key}`, expected {expected}")]
pub struct Unreadable {
    key: &'static str,
    expected: &'static str,
}

impl Unreadable {
    pub(crate) const fn new(key: &'static str, expected: &'static str) -> Self {
        Self { key, expected }
    }

    /// The key where it was noticed.
    pub fn key(&self) -> &'static str {
        self.key
    }
}

/// The reader for bodies of records: a message as deep as the wire allows sits a few levels
/// deeper in the event that carries it, and deeper again in a state.
pub fn reader() -> Reader {
    Reader::new().limits(Limits {
        depth: limits::DEPTH_CEILING,
        elements: MAX_ELEMENTS,
        ..Limits::default()
    })
}

/// Room for a text from the start, in bytes.
const USUAL_TEXT: usize = 512;

/// The canonical text of a value.
pub(crate) fn printed(value: &Value) -> String {
    let mut text = String::with_capacity(USUAL_TEXT);
    print(value, Dialect::Lisp, &mut text);
    text
}

/// A plist under construction, in the order of the calls.
pub(crate) struct Plist(Vec<Value>);

/// Room for keys and values from the start: most plists have no more than eight keys, and growing
/// step by step was one in thirty instructions of a prompt.
const USUAL_VALUES: usize = 16;

impl Plist {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(USUAL_VALUES))
    }

    pub(crate) fn put(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.push(Value::keyword(key));
        self.0.push(value.into());
        self
    }

    pub(crate) fn put_some<V: Into<Value>>(self, key: &str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.put(key, value),
            None => self,
        }
    }

    /// A list, left out when it is empty.
    pub(crate) fn put_list(self, key: &str, values: impl IntoIterator<Item = Value>) -> Self {
        match Value::list(values) {
            Value::Nil => self,
            list => self.put(key, list),
        }
    }

    /// `t`, left out when it is false.
    pub(crate) fn put_flag(self, key: &str, truth: bool) -> Self {
        if truth { self.put(key, Value::T) } else { self }
    }

    pub(crate) fn put_number(self, key: &str, number: impl TryInto<i64>) -> Self {
        // Counters begin at 1 and grow by one: they never get there.
        self.put(key, number.try_into().unwrap_or(i64::MAX))
    }

    pub(crate) fn put_text(self, key: &str, text: Option<&str>) -> Self {
        self.put_some(key, text)
    }

    pub(crate) fn put_name(self, key: &str, name: Option<&Name>) -> Self {
        self.put_some(key, name.map(Name::to_value))
    }

    pub(crate) fn done(self) -> Value {
        Value::list(self.0)
    }
}

pub(crate) fn required<'v>(value: &'v Value, key: &'static str) -> Result<&'v Value, Unreadable> {
    value.get(key).ok_or(Unreadable::new(key, "a value"))
}

pub(crate) fn number(value: &Value, key: &'static str) -> Result<u64, Unreadable> {
    optional_number(value, key)?.ok_or(Unreadable::new(key, "a number"))
}

pub(crate) fn optional_number(value: &Value, key: &'static str) -> Result<Option<u64>, Unreadable> {
    let Some(value) = value.get(key) else { return Ok(None) };
    let number = value.as_i64().and_then(|number| u64::try_from(number).ok());
    number.map(Some).ok_or(Unreadable::new(key, "a number"))
}

pub(crate) fn small_number(value: &Value, key: &'static str) -> Result<u32, Unreadable> {
    u32::try_from(number(value, key)?).map_err(|_| Unreadable::new(key, "a small number"))
}

pub(crate) fn effect_id(value: &Value, key: &'static str) -> Result<EffectId, Unreadable> {
    number(value, key).map(EffectId)
}

pub(crate) fn turn_id(value: &Value, key: &'static str) -> Result<TurnId, Unreadable> {
    number(value, key).map(TurnId)
}

pub(crate) fn time(value: &Value, key: &'static str) -> Result<Time, Unreadable> {
    let time = required(value, key)?.as_i64();
    time.map(Time).ok_or(Unreadable::new(key, "a time in milliseconds"))
}

pub(crate) fn text(value: &Value, key: &'static str) -> Result<Box<str>, Unreadable> {
    optional_text(value, key)?.ok_or(Unreadable::new(key, "a string"))
}

pub(crate) fn optional_text(
    value: &Value,
    key: &'static str,
) -> Result<Option<Box<str>>, Unreadable> {
    match value.get(key) {
        None => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Unreadable::new(key, "a string")),
    }
}

pub(crate) fn name(value: &Value, key: &'static str) -> Result<Name, Unreadable> {
    optional_name(value, key)?.ok_or(Unreadable::new(key, "a keyword"))
}

pub(crate) fn optional_name(value: &Value, key: &'static str) -> Result<Option<Name>, Unreadable> {
    let Some(value) = value.get(key) else { return Ok(None) };
    Name::of(value).map(Some).ok_or(Unreadable::new(key, "a keyword"))
}

pub(crate) fn session(value: &Value, key: &'static str) -> Result<SessionId, Unreadable> {
    SessionId::parse(&text(value, key)?).map_err(|_| Unreadable::new(key, "a session's name"))
}

pub(crate) fn flag(value: &Value, key: &'static str) -> Result<bool, Unreadable> {
    match value.get(key) {
        None | Some(Value::Nil) => Ok(false),
        Some(Value::T) => Ok(true),
        Some(_) => Err(Unreadable::new(key, "`t` or `nil`")),
    }
}

/// Every element of a list that may be absent, read by `read`.
pub(crate) fn list<T>(
    value: &Value,
    key: &'static str,
    read: impl Fn(&Value) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Unreadable> {
    match value.get(key) {
        None | Some(Value::Nil) => Ok(Vec::new()),
        Some(Value::List(elements)) => elements.iter().map(read).collect(),
        Some(_) => Err(Unreadable::new(key, "a list")),
    }
}

/// Pairs of a span and a count, as one flat list.
pub(crate) fn spans(value: &Value, key: &'static str) -> Result<Vec<(i64, i64)>, Unreadable> {
    let expected = Unreadable::new(key, "spans and counts");
    let numbers = list(value, key, |number| number.as_i64().ok_or(expected))?;
    Ok(numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

pub(crate) fn element_text(value: &Value) -> Result<Box<str>, Unreadable> {
    value.as_str().map(Into::into).ok_or(Unreadable::new("element", "a string"))
}

pub(crate) fn element_name(value: &Value) -> Result<Name, Unreadable> {
    Name::of(value).ok_or(Unreadable::new("element", "a keyword"))
}
