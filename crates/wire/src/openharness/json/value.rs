//! JSON values that bridle keeps or makes: payloads, extensions, schemas. Order of keys is kept.
//! `Debug` shows the sort of a value and never its content, so that a log line cannot leak it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::decimal::Decimal;
use super::write::JsonWriter;

/// A JSON value.
#[derive(Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(JsonNumber),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(JsonObject),
}

impl Json {
    /// Makes an array.
    pub fn array(items: impl IntoIterator<Item = Json>) -> Self {
        Json::Array(items.into_iter().collect())
    }

    /// Makes an object; of two equal keys the later one counts.
    pub fn object<K: Into<String>>(entries: impl IntoIterator<Item = (K, Json)>) -> Self {
        Json::Object(entries.into_iter().collect())
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// Returns the elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    /// Returns the object, if it is one.
    pub fn as_object(&self) -> Option<&JsonObject> {
        if let Json::Object(object) = self { Some(object) } else { None }
    }

    /// Tells whether a capability with this value is asked for: neither `false`, `null`, zero nor
    /// the empty string.
    pub fn is_truthy(&self) -> bool {
        match self {
            Json::Null => false,
            Json::Bool(truth) => *truth,
            Json::Number(number) => !Decimal::of(number.as_str()).digits.is_empty(),
            Json::String(text) => !text.is_empty(),
            Json::Array(_) | Json::Object(_) => true,
        }
    }

    /// Returns the text on one line.
    pub fn to_text(&self) -> String {
        let mut out = JsonWriter::compact();
        self.write(&mut out);
        out.finish()
    }

    /// Returns the text laid out for people, with a newline at the end.
    pub fn to_pretty(&self) -> String {
        let mut out = JsonWriter::pretty();
        self.write(&mut out);
        out.finish() + "\n"
    }

    pub(in crate::openharness) fn write(&self, out: &mut JsonWriter) {
        match self {
            Json::Null => out.word("null"),
            Json::Bool(truth) => out.word(if *truth { "true" } else { "false" }),
            Json::Number(number) => out.word(number.as_str()),
            Json::String(text) => out.string(text),
            Json::Array(items) => {
                out.open('[');
                items.iter().for_each(|item| item.write(out));
                out.close(']');
            }
            Json::Object(object) => object.write(out),
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        })
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Json::String(text)
    }
}

impl From<bool> for Json {
    fn from(truth: bool) -> Self {
        Json::Bool(truth)
    }
}

impl From<u64> for Json {
    fn from(count: u64) -> Self {
        Json::Number(count.into())
    }
}

impl From<JsonObject> for Json {
    fn from(object: JsonObject) -> Self {
        Json::Object(object)
    }
}

/// A number, as it is written.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonNumber(Box<str>);

impl JsonNumber {
    pub(super) fn checked(text: &str) -> Self {
        JsonNumber(text.into())
    }

    /// Makes a number of a float; `None` when it is not finite.
    pub fn from_f64(value: f64) -> Option<Self> {
        // Rust writes floats without an exponent, which is JSON.
        value.is_finite().then(|| JsonNumber(value.to_string().into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value of an integer from 0 on, `1.0` and `1e3` included; what is larger than fits
    /// becomes the largest. `None` when it is negative or has a fraction.
    pub fn as_u64(&self) -> Option<u64> {
        Decimal::of(&self.0).as_u64()
    }

    /// Returns the whole part of a number from 0 on; `None` when it is negative.
    pub fn floor(&self) -> Option<u64> {
        let decimal = Decimal::of(&self.0);
        (!decimal.negative).then(|| decimal.floor())
    }
}

impl From<u64> for JsonNumber {
    fn from(count: u64) -> Self {
        JsonNumber(count.to_string().into())
    }
}

impl fmt::Debug for JsonNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }
}

/// Bytes of a text that is quicker copied than written again.
const LONG_TEXT_BYTES: usize = 64;

/// An object: keys in the order in which they came, none twice.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JsonObject(Vec<(Cow<'static, str>, Json)>);

impl JsonObject {
    /// Makes an empty object.
    pub fn new() -> Self {
        JsonObject::default()
    }

    /// Takes entries whose keys are known to differ.
    pub(in crate::openharness) fn checked(entries: Vec<(Cow<'static, str>, Json)>) -> Self {
        JsonObject(entries)
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find_map(|(found, value)| (found == key).then_some(value))
    }

    /// Returns the value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.iter_mut().find_map(|(found, value)| (found == key).then_some(value))
    }

    /// Sets the value of a key, in its old place if it has one.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        let (key, value) = (Cow::Owned(key.into()), value.into());
        match self.0.iter_mut().find(|(found, _)| *found == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key, value)),
        }
    }

    pub(in crate::openharness) fn write(&self, out: &mut JsonWriter) {
        // Texts of messages stand in them twice: the second one is a copy of what was written.
        let mut long: Option<(&str, Range<usize>)> = None;
        out.open('{');
        for (key, value) in self.iter() {
            out.key(key);
            match (value.as_str().filter(|text| text.len() >= LONG_TEXT_BYTES), &long) {
                (Some(text), Some((last, at))) if *last == text => out.again(at.clone()),
                (Some(text), _) => {
                    let start = out.len();
                    out.string(text);
                    long = Some((text, start..out.len()));
                }
                (None, _) => value.write(out),
            }
        }
        out.close('}');
    }

    /// Walks keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// Returns how many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<String>> FromIterator<(K, Json)> for JsonObject {
    fn from_iter<I: IntoIterator<Item = (K, Json)>>(entries: I) -> Self {
        let mut object = JsonObject::new();
        entries.into_iter().for_each(|(key, value)| object.insert(key, value));
        object
    }
}

impl fmt::Debug for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of {}", self.len())
    }
}
