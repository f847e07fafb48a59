//! Reading and writing plists: what the codecs of events, effects and the state share.
//!
//! A key that is absent means "none"; a key that is there has exactly one type. Not for messages
//! of clients: those are checked by the wire.

pub(crate) mod view;

use bridle_sexp::{
    Dialect, Limits, Reader, Value, limits, print, print_int, print_keyword, print_str,
};

use crate::ids::{EffectId, KeywordName, SessionId, TurnId, UnixMillis};

/// Values in one body of a record: a state may hold many messages, each as large as the wire allows.
const MAX_BODY_ELEMENTS: usize = 64 * limits::DEFAULT_ELEMENTS;

/// A recorded value that is not what this version writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unreadable `{key}`, expected {expected}")]
pub struct UnreadableValue {
    key: &'static str,
    expected: &'static str,
}

impl UnreadableValue {
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
        elements: MAX_BODY_ELEMENTS,
        ..Limits::default()
    })
}

/// Room for a text from the start, in bytes.
const USUAL_TEXT_BYTES: usize = 512;

/// The canonical text of a value.
pub(crate) fn printed(value: &Value) -> String {
    let mut text = String::with_capacity(USUAL_TEXT_BYTES);
    print(value, Dialect::Lisp, &mut text);
    text
}

/// Sink for keys and values, in the order of the calls: a value, or its text at once. What is
/// written for every prompt is text alone: a value of the same takes an allocation for each word.
pub(crate) trait FieldSink: Sized {
    fn put(self, key: &'static str, value: impl Into<Value>) -> Self;

    /// A value that stays where it is.
    fn put_value(self, key: &'static str, value: &Value) -> Self;

    fn put_str(self, key: &'static str, text: &str) -> Self;

    fn put_int(self, key: &'static str, number: i64) -> Self;

    /// A keyword.
    fn put_word(self, key: &'static str, word: &str) -> Self;

    /// A plist of its own.
    fn put_fields(self, key: &'static str, write: impl FnOnce(Self) -> Self) -> Self;

    /// A list of plists, left out when it is empty.
    fn put_each<T>(
        self,
        key: &'static str,
        each: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self;

    /// A list of keywords, left out when it is empty.
    fn put_words<'w>(self, key: &'static str, words: impl IntoIterator<Item = &'w str>) -> Self;

    /// A list of texts, left out when it is empty.
    fn put_texts<'t>(self, key: &'static str, texts: impl IntoIterator<Item = &'t str>) -> Self;

    /// A list of integers, which may be empty.
    fn put_ints(self, key: &'static str, numbers: impl IntoIterator<Item = i64>) -> Self;

    fn put_some<V: Into<Value>>(self, key: &'static str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.put(key, value),
            None => self,
        }
    }

    /// A list, left out when it is empty.
    fn put_list(self, key: &'static str, values: impl IntoIterator<Item = Value>) -> Self {
        match Value::list(values) {
            Value::Nil => self,
            list => self.put(key, list),
        }
    }

    /// `t`, left out when it is false.
    fn put_flag(self, key: &'static str, truth: bool) -> Self {
        if truth { self.put(key, Value::T) } else { self }
    }

    fn put_number(self, key: &'static str, number: impl TryInto<i64>) -> Self {
        // Counters begin at 1 and grow by one: they never get there.
        self.put_int(key, number.try_into().unwrap_or(i64::MAX))
    }

    /// A number, left out when it is zero.
    fn put_number_unless_zero(self, key: &'static str, number: impl TryInto<i64>) -> Self {
        match number.try_into().unwrap_or(i64::MAX) {
            0 => self,
            number => self.put_int(key, number),
        }
    }

    fn put_text(self, key: &'static str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.put_str(key, text),
            None => self,
        }
    }

    fn put_name(self, key: &'static str, name: Option<&KeywordName>) -> Self {
        match name {
            Some(name) => self.put_word(key, name.as_str()),
            None => self,
        }
    }
}

/// A plist under construction.
pub(crate) struct PlistBuilder(Vec<Value>);

/// Room for keys and values from the start: most plists have no more than eight keys, and growing
/// step by step was one in thirty instructions of a prompt.
const USUAL_PLIST_VALUES: usize = 16;

impl PlistBuilder {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(USUAL_PLIST_VALUES))
    }

    pub(crate) fn done(self) -> Value {
        Value::list(self.0)
    }
}

impl FieldSink for PlistBuilder {
    fn put(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.0.push(Value::keyword(key));
        self.0.push(value.into());
        self
    }

    fn put_value(self, key: &'static str, value: &Value) -> Self {
        self.put(key, value.clone())
    }

    fn put_str(self, key: &'static str, text: &str) -> Self {
        self.put(key, text)
    }

    fn put_int(self, key: &'static str, number: i64) -> Self {
        self.put(key, number)
    }

    fn put_word(self, key: &'static str, word: &str) -> Self {
        self.put(key, Value::keyword(word))
    }

    fn put_fields(self, key: &'static str, write: impl FnOnce(Self) -> Self) -> Self {
        self.put(key, write(Self::new()).done())
    }

    fn put_each<T>(
        self,
        key: &'static str,
        each: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        self.put_list(key, each.into_iter().map(|one| write(Self::new(), one).done()))
    }

    fn put_words<'w>(self, key: &'static str, words: impl IntoIterator<Item = &'w str>) -> Self {
        self.put_list(key, words.into_iter().map(Value::keyword))
    }

    fn put_texts<'t>(self, key: &'static str, texts: impl IntoIterator<Item = &'t str>) -> Self {
        self.put_list(key, texts.into_iter().map(Value::from))
    }

    fn put_ints(self, key: &'static str, numbers: impl IntoIterator<Item = i64>) -> Self {
        self.put(key, Value::list(numbers.into_iter().map(Value::int)))
    }
}

/// The canonical text of a plist under construction.
pub(crate) struct PlistText {
    out: String,
    is_empty: bool,
}

impl PlistText {
    pub(crate) fn new() -> Self {
        Self::with_room(USUAL_TEXT_BYTES)
    }

    /// Begins a text with room for so many bytes: a text that grows is copied each time.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self { out: String::with_capacity(bytes), is_empty: true }
    }

    /// Adds what another text holds, or nothing if it holds nothing.
    pub(crate) fn put_rest(mut self, other: &str) -> Self {
        if let Some(rest) = other.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            self.out.push(if self.is_empty { '(' } else { ' ' });
            self.out.push_str(rest);
            self.is_empty = false;
        }
        self
    }

    pub(crate) fn done(mut self) -> String {
        self.out.push_str(if self.is_empty { "nil" } else { ")" });
        self.out
    }

    /// Writes what stands before a value. All keys are their own spelling.
    fn key(&mut self, key: &'static str) {
        self.out.push_str(if self.is_empty { "(:" } else { " :" });
        self.out.push_str(key);
        self.out.push(' ');
        self.is_empty = false;
    }

    /// Writes a list of what `write` writes, one after the other; `nil` for none.
    fn list<T>(&mut self, each: impl IntoIterator<Item = T>, write: impl Fn(&mut String, T)) {
        let mut open = "(";
        for one in each {
            self.out.push_str(open);
            write(&mut self.out, one);
            open = " ";
        }
        self.out.push_str(if open == "(" { "nil" } else { ")" });
    }
}

impl FieldSink for PlistText {
    fn put(self, key: &'static str, value: impl Into<Value>) -> Self {
        self.put_value(key, &value.into())
    }

    fn put_value(mut self, key: &'static str, value: &Value) -> Self {
        self.key(key);
        print(value, Dialect::Lisp, &mut self.out);
        self
    }

    fn put_str(mut self, key: &'static str, text: &str) -> Self {
        self.key(key);
        print_str(text, &mut self.out);
        self
    }

    fn put_int(mut self, key: &'static str, number: i64) -> Self {
        self.key(key);
        print_int(number, &mut self.out);
        self
    }

    fn put_word(mut self, key: &'static str, word: &str) -> Self {
        self.key(key);
        print_keyword(word, &mut self.out);
        self
    }

    fn put_fields(mut self, key: &'static str, write: impl FnOnce(Self) -> Self) -> Self {
        self.key(key);
        let inside = write(Self { out: self.out, is_empty: true });
        Self { out: inside.done(), is_empty: false }
    }

    fn put_each<T>(
        mut self,
        key: &'static str,
        each: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        let mut is_first = true;
        for one in each {
            if is_first {
                self.key(key);
            }
            self.out.push(if is_first { '(' } else { ' ' });
            is_first = false;
            let inside = write(Self { out: self.out, is_empty: true }, one);
            self.out = inside.done();
        }
        if !is_first {
            self.out.push(')');
        }
        self
    }

    fn put_list(mut self, key: &'static str, values: impl IntoIterator<Item = Value>) -> Self {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            self.key(key);
            self.list(values, |out, value| print(&value, Dialect::Lisp, out));
        }
        self
    }

    fn put_words<'w>(
        mut self,
        key: &'static str,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Self {
        let mut words = words.into_iter().peekable();
        if words.peek().is_some() {
            self.key(key);
            self.list(words, |out, word| print_keyword(word, out));
        }
        self
    }

    fn put_texts<'t>(
        mut self,
        key: &'static str,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let mut texts = texts.into_iter().peekable();
        if texts.peek().is_some() {
            self.key(key);
            self.list(texts, |out, text| print_str(text, out));
        }
        self
    }

    fn put_ints(mut self, key: &'static str, numbers: impl IntoIterator<Item = i64>) -> Self {
        self.key(key);
        self.list(numbers, |out, number| print_int(number, out));
        self
    }
}

pub(crate) fn required<'v>(
    value: &'v Value,
    key: &'static str,
) -> Result<&'v Value, UnreadableValue> {
    value.get(key).ok_or(UnreadableValue::new(key, "a value"))
}

pub(crate) fn number(value: &Value, key: &'static str) -> Result<u64, UnreadableValue> {
    optional_number(value, key)?.ok_or(UnreadableValue::new(key, "a number"))
}

pub(crate) fn optional_number(
    value: &Value,
    key: &'static str,
) -> Result<Option<u64>, UnreadableValue> {
    let Some(value) = value.get(key) else { return Ok(None) };
    let number = value.as_i64().and_then(|number| u64::try_from(number).ok());
    number.map(Some).ok_or(UnreadableValue::new(key, "a number"))
}

pub(crate) fn small_number(value: &Value, key: &'static str) -> Result<u32, UnreadableValue> {
    u32::try_from(number(value, key)?).map_err(|_| UnreadableValue::new(key, "a small number"))
}

/// Version of the loop; 0 before versions were counted.
pub(crate) fn version(value: &Value) -> Result<u32, UnreadableValue> {
    match optional_number(value, "version")? {
        None => Ok(0),
        Some(_) => small_number(value, "version"),
    }
}

pub(crate) fn effect_id(value: &Value, key: &'static str) -> Result<EffectId, UnreadableValue> {
    number(value, key).map(EffectId)
}

pub(crate) fn turn_id(value: &Value, key: &'static str) -> Result<TurnId, UnreadableValue> {
    number(value, key).map(TurnId)
}

pub(crate) fn time(value: &Value, key: &'static str) -> Result<UnixMillis, UnreadableValue> {
    let time = required(value, key)?.as_i64();
    time.map(UnixMillis).ok_or(UnreadableValue::new(key, "a time in milliseconds"))
}

pub(crate) fn text(value: &Value, key: &'static str) -> Result<Box<str>, UnreadableValue> {
    optional_text(value, key)?.ok_or(UnreadableValue::new(key, "a string"))
}

pub(crate) fn optional_text(
    value: &Value,
    key: &'static str,
) -> Result<Option<Box<str>>, UnreadableValue> {
    match value.get(key) {
        None => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone())),
        Some(_) => Err(UnreadableValue::new(key, "a string")),
    }
}

pub(crate) fn name(value: &Value, key: &'static str) -> Result<KeywordName, UnreadableValue> {
    optional_name(value, key)?.ok_or(UnreadableValue::new(key, "a keyword"))
}

pub(crate) fn optional_name(
    value: &Value,
    key: &'static str,
) -> Result<Option<KeywordName>, UnreadableValue> {
    let Some(value) = value.get(key) else { return Ok(None) };
    KeywordName::of(value).map(Some).ok_or(UnreadableValue::new(key, "a keyword"))
}

pub(crate) fn session(value: &Value, key: &'static str) -> Result<SessionId, UnreadableValue> {
    SessionId::parse(&text(value, key)?).map_err(|_| UnreadableValue::new(key, "a session's name"))
}

pub(crate) fn flag(value: &Value, key: &'static str) -> Result<bool, UnreadableValue> {
    match value.get(key) {
        None | Some(Value::Nil) => Ok(false),
        Some(Value::T) => Ok(true),
        Some(_) => Err(UnreadableValue::new(key, "`t` or `nil`")),
    }
}

/// Every element of a list that may be absent, read by `read`.
pub(crate) fn list<T>(
    value: &Value,
    key: &'static str,
    read: impl Fn(&Value) -> Result<T, UnreadableValue>,
) -> Result<Vec<T>, UnreadableValue> {
    match value.get(key) {
        None | Some(Value::Nil) => Ok(Vec::new()),
        Some(Value::List(elements)) => elements.iter().map(read).collect(),
        Some(_) => Err(UnreadableValue::new(key, "a list")),
    }
}

/// Pairs of a span and a count, as one flat list.
pub(crate) fn spans(value: &Value, key: &'static str) -> Result<Vec<(i64, i64)>, UnreadableValue> {
    let expected = UnreadableValue::new(key, "spans and counts");
    let numbers = list(value, key, |number| number.as_i64().ok_or(expected))?;
    Ok(numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

pub(crate) fn element_text(value: &Value) -> Result<Box<str>, UnreadableValue> {
    value.as_str().map(Into::into).ok_or(UnreadableValue::new("element", "a string"))
}

pub(crate) fn element_name(value: &Value) -> Result<KeywordName, UnreadableValue> {
    KeywordName::of(value).ok_or(UnreadableValue::new("element", "a keyword"))
}

#[cfg(test)]
mod tests;
