//! One declaration per message: the macros below make the type, its reader, its writer and its schema
//! from the same lines, so that the three cannot disagree.
//!
//! `record!` declares an object, `words!` a closed list of strings, `text!` a string with bounds. The
//! files beside this one declare all messages with them. A reader gets a [`JsonNode`] and an [`ReadPosition`] and
//! returns the value or an [`ShapeError`], whose path is made of declared keys and indices alone: neither
//! it nor the sentence ever holds text of the message.

mod plain;
mod record;
pub(super) mod text;
mod words;

use std::borrow::Cow;

use super::json::{Json, JsonDocument, JsonNode, JsonObject, JsonWriter, NodeKind};
use super::limits::{MAX_DEPTH, MessageLimits};
use super::schema::SchemaBook;

pub use plain::{AnswerLatency, ApprovalGate, StartDeadline};
pub(super) use record::record;
pub use text::TextLengthError;
pub(super) use text::text;
pub(super) use words::words;

/// Treatment of a `null` and of a word that is not in its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// `null` in an optional field counts as absent, an unknown word as the safest known one.
    #[default]
    Lenient,
    /// Both are refused.
    Strict,
}

/// A type that is read from JSON, written as JSON and described by a schema.
pub trait JsonShape: Sized {
    /// Returns the value of a field that is not there; `None` when it must be.
    fn absent() -> Option<Self> {
        None
    }

    /// Returns the value of a field that is `null`, in lenient mode.
    fn null() -> Option<Self> {
        Self::absent()
    }

    /// Tells whether a field with this value is left out.
    fn is_absent(&self) -> bool {
        false
    }

    /// Tells whether an optional field with this content counts as absent.
    fn is_blank(_: JsonNode<'_>) -> bool {
        false
    }

    /// Returns what a value of this shape is called in a refusal.
    fn expected() -> Cow<'static, str>;

    /// Reads the value of a node.
    ///
    /// # Errors
    /// The node is not of this shape.
    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError>;

    /// Appends the value.
    fn write(&self, out: &mut JsonWriter);

    /// Returns the schema, or a reference to it in the book.
    fn schema(book: &mut SchemaBook) -> Json;

    /// Returns the value as text on one line: the same value, the same bytes.
    fn to_text(&self) -> String {
        let mut out = JsonWriter::compact();
        self.write(&mut out);
        out.finish()
    }
}

/// An object whose fields can also be written into an object that another one began.
pub trait FlattenedShape: JsonShape {
    /// The declared keys, in the order in which they are written.
    const KEYS: &[&str];

    /// Appends the fields, without braces.
    fn write_fields(&self, out: &mut JsonWriter);

    /// Returns the value as an object of its own, for a payload or an extension.
    fn to_object(&self) -> JsonObject {
        let text = self.to_text();
        let limits =
            MessageLimits { bytes: usize::MAX, values: usize::MAX, ..MessageLimits::default() };
        let document = JsonDocument::read(text.as_bytes(), &limits).ok();
        match document.and_then(|document| document.root().to_json(MAX_DEPTH)) {
            Some(Json::Object(object)) => object,
            // Only what was built deeper than any message may be.
            _ => JsonObject::new(),
        }
    }
}

/// Position of a reader in a message, and the mode in which it reads.
#[derive(Debug)]
pub struct ReadPosition<'a> {
    parent: Option<&'a ReadPosition<'a>>,
    step: PositionStep,
    limits: &'a MessageLimits,
}

#[derive(Clone, Copy, Debug)]
enum PositionStep {
    Root,
    /// A level that paths do not name: the `request` around `context.user_intent`.
    Unnamed,
    Key(&'static str),
    Index(usize),
}

/// The containers whose name paths leave out, as the published examples do.
const UNNAMED: [&str; 2] = ["request", "response"];

impl<'a> ReadPosition<'a> {
    /// The message itself.
    pub fn root(limits: &'a MessageLimits) -> Self {
        ReadPosition { parent: None, step: PositionStep::Root, limits }
    }

    /// Treatment of nulls and unknown words.
    pub fn mode(&self) -> ReadMode {
        self.limits.mode
    }

    /// Reads a field of an object.
    ///
    /// # Errors
    /// A required field is missing, or it is not of its shape.
    pub fn field<T: JsonShape>(
        &self,
        object: JsonNode<'_>,
        key: &'static str,
    ) -> Result<T, ShapeError> {
        let at = self.below(PositionStep::Key(key));
        match object.get(key) {
            None => T::absent().ok_or_else(|| at.invalid(T::expected(), "nothing")),
            Some(node) if node.is_null() && self.mode() == ReadMode::Lenient => match T::null() {
                Some(value) => Ok(value),
                None => T::read(node, &at),
            },
            Some(node) => {
                // Known only here, since a mistyped `request` is named and what is in it is not.
                let unnamed = matches!(self.step, PositionStep::Root) && UNNAMED.contains(&key);
                if unnamed && node.kind() == NodeKind::Object {
                    return T::read(node, &self.below(PositionStep::Unnamed));
                }
                T::read(node, &at)
            }
        }
    }

    /// Reads an element of an array.
    ///
    /// # Errors
    /// The element is not of its shape.
    pub fn item<T: JsonShape>(&self, node: JsonNode<'_>, index: usize) -> Result<T, ShapeError> {
        T::read(node, &self.below(PositionStep::Index(index)))
    }

    /// A node is of another kind than `T`.
    pub fn unlike<T: JsonShape>(&self, node: JsonNode<'_>) -> ShapeError {
        self.invalid(T::expected(), node.kind().named())
    }

    /// Checks that a node is an object.
    ///
    /// # Errors
    /// The value is no object.
    pub fn object<'d>(&self, node: JsonNode<'d>) -> Result<JsonNode<'d>, ShapeError> {
        if node.kind() == NodeKind::Object {
            Ok(node)
        } else {
            Err(self.unlike::<JsonObject>(node))
        }
    }

    /// Copies a value that is kept as it came.
    ///
    /// # Errors
    /// The value nests deeper than the limit.
    pub fn keep(&self, node: JsonNode<'_>) -> Result<Json, ShapeError> {
        self.keep_below(self.level(), node)
    }

    fn keep_below(&self, level: usize, node: JsonNode<'_>) -> Result<Json, ShapeError> {
        let depth = self.limits.depth.min(MAX_DEPTH);
        let too_deep =
            || self.invalid(format!("at most {depth} levels of nesting"), "more of them");
        node.to_json(depth.saturating_sub(level)).ok_or_else(too_deep)
    }

    /// Copies the fields of an object that are not in the list.
    ///
    /// # Errors
    /// One of them nests deeper than the limit.
    pub fn rest(&self, object: JsonNode<'_>, known: &[&str]) -> Result<JsonObject, ShapeError> {
        let level = self.level() + 1;
        let unknown = object.entries().filter(|(key, _)| !known.contains(&key.as_ref()));
        let kept =
            unknown.map(|(key, node)| Ok((key.into_owned().into(), self.keep_below(level, node)?)));
        // The reader has seen that no key comes twice.
        kept.collect::<Result<_, _>>().map(JsonObject::checked)
    }

    /// Always, with what was expected and what is there.
    pub fn invalid(&self, expected: impl Into<Cow<'static, str>>, got: &'static str) -> ShapeError {
        ShapeError { field: self.path(), expected: expected.into(), got }
    }

    /// A field that must be there is not.
    pub(super) fn missing_field(&self, key: &'static str, expected: &'static str) -> ShapeError {
        self.below(PositionStep::Key(key)).invalid(expected, "nothing")
    }

    /// A field is a string, and not one that means something.
    pub(super) fn wrong_field(&self, key: &'static str, expected: &'static str) -> ShapeError {
        self.below(PositionStep::Key(key)).invalid(expected, "another string")
    }

    fn below(&'a self, step: PositionStep) -> ReadPosition<'a> {
        ReadPosition { parent: Some(self), step, limits: self.limits }
    }

    /// Containers around this place.
    fn level(&self) -> usize {
        std::iter::successors(self.parent, |at| at.parent).count()
    }

    fn path(&self) -> String {
        let above = std::iter::successors(Some(self), |at| at.parent);
        let mut steps: Vec<String> = above
            .filter_map(|at| match at.step {
                PositionStep::Root | PositionStep::Unnamed => None,
                PositionStep::Key(key) => Some(key.to_owned()),
                PositionStep::Index(index) => Some(index.to_string()),
            })
            .collect();
        steps.reverse();
        steps.join(".")
    }
}

/// A message that is JSON and not of its shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: expected {expected}, got {got}")]
pub struct ShapeError {
    /// Keys and indices that lead to the fault, with dots between; empty for the message itself. The
    /// payload of the envelope is not named: `context.user_intent`.
    pub field: String,
    /// Expected content, in general terms.
    pub expected: Cow<'static, str>,
    /// Actual content, in general terms.
    pub got: &'static str,
}

impl ShapeError {
    /// Returns the sentence without the path.
    pub fn sentence(&self) -> String {
        format!("expected {}, got {}", self.expected, self.got)
    }
}
