//! Shapes of plain values: text without bounds, truth, counts, lists, optional fields, what is kept
//! as it came, and the three small types whose reading is their own.

use std::borrow::Cow;
use std::sync::Arc;

use super::{JsonShape, ReadMode, ReadPosition, ShapeError};
use crate::openharness::json::{Json, JsonNumber, JsonObject, JsonWriter};
use crate::openharness::json::{JsonNode, NodeKind};
use crate::openharness::schema::{self, SchemaBook};

impl JsonShape for String {
    fn expected() -> Cow<'static, str> {
        "a string".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        node.as_str().map(Into::into).ok_or_else(|| at.unlike::<Self>(node))
    }

    fn write(&self, out: &mut JsonWriter) {
        out.string(self);
    }

    fn schema(_: &mut SchemaBook) -> Json {
        schema::text(0, usize::MAX)
    }
}

impl JsonShape for bool {
    fn expected() -> Cow<'static, str> {
        "a boolean".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        node.as_bool().ok_or_else(|| at.unlike::<Self>(node))
    }

    fn write(&self, out: &mut JsonWriter) {
        out.word(if *self { "true" } else { "false" });
    }

    fn schema(_: &mut SchemaBook) -> Json {
        schema::typed("boolean")
    }
}

/// An integer from 0 on; `1.0` and `1e3` are integers, and what is larger than fits counts as the
/// largest that does.
impl JsonShape for u64 {
    fn expected() -> Cow<'static, str> {
        "an integer from 0 on".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        let number = node.as_number().ok_or_else(|| at.unlike::<Self>(node))?;
        number.as_u64().ok_or_else(|| at.invalid(Self::expected(), "another number"))
    }

    fn write(&self, out: &mut JsonWriter) {
        out.count(*self);
    }

    fn schema(_: &mut SchemaBook) -> Json {
        schema::from_zero("integer")
    }
}

impl JsonShape for JsonNumber {
    fn expected() -> Cow<'static, str> {
        "a number".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        node.as_number().ok_or_else(|| at.unlike::<Self>(node))
    }

    fn write(&self, out: &mut JsonWriter) {
        out.word(self.as_str());
    }

    fn schema(_: &mut SchemaBook) -> Json {
        schema::typed("number")
    }
}

/// Any value, kept.
impl JsonShape for Json {
    fn expected() -> Cow<'static, str> {
        "a value".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        at.keep(node)
    }

    fn write(&self, out: &mut JsonWriter) {
        Json::write(self, out);
    }

    fn schema(_: &mut SchemaBook) -> Json {
        Json::Object(JsonObject::new())
    }
}

/// Any object, kept.
impl JsonShape for JsonObject {
    fn expected() -> Cow<'static, str> {
        "an object".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        at.rest(at.object(node)?, &[])
    }

    fn write(&self, out: &mut JsonWriter) {
        JsonObject::write(self, out);
    }

    fn schema(_: &mut SchemaBook) -> Json {
        schema::typed("object")
    }
}

impl<T: JsonShape> JsonShape for Option<T> {
    fn expected() -> Cow<'static, str> {
        T::expected()
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        if T::is_blank(node) { Ok(None) } else { T::read(node, at).map(Some) }
    }

    fn write(&self, out: &mut JsonWriter) {
        match self {
            Some(value) => value.write(out),
            // Left out by every record; written only inside a list, which holds none.
            None => out.word("null"),
        }
    }

    fn schema(book: &mut SchemaBook) -> Json {
        let inner = T::schema(book);
        book.nullable(inner)
    }
}

/// A list; an empty one and an absent one are the same.
impl<T: JsonShape> JsonShape for Vec<T> {
    fn expected() -> Cow<'static, str> {
        "an array".into()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        if node.kind() != NodeKind::Array {
            return Err(at.unlike::<Self>(node));
        }
        node.items().enumerate().map(|(index, item)| at.item(item, index)).collect()
    }

    fn write(&self, out: &mut JsonWriter) {
        out.open('[');
        self.iter().for_each(|item| item.write(out));
        out.close(']');
    }

    fn schema(book: &mut SchemaBook) -> Json {
        let items = T::schema(book);
        book.nullable(Json::object([("type", "array".into()), ("items", items)]))
    }
}

/// A message inside a message, out of line.
impl<T: JsonShape> JsonShape for Box<T> {
    fn expected() -> Cow<'static, str> {
        T::expected()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        T::read(node, at).map(Box::new)
    }

    fn write(&self, out: &mut JsonWriter) {
        T::write(self, out);
    }

    fn schema(book: &mut SchemaBook) -> Json {
        T::schema(book)
    }
}

/// A part that many messages share.
impl<T: JsonShape> JsonShape for Arc<T> {
    fn expected() -> Cow<'static, str> {
        T::expected()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        T::read(node, at).map(Arc::new)
    }

    fn write(&self, out: &mut JsonWriter) {
        T::write(self, out);
    }

    fn schema(book: &mut SchemaBook) -> Json {
        T::schema(book)
    }
}

/// Whether the user must say yes first. Fails closed: only `false` and absence mean that nobody needs
/// to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ApprovalGate {
    /// The directive may run.
    #[default]
    Open,
    /// The directive waits for the user.
    Approval,
}

impl JsonShape for ApprovalGate {
    fn expected() -> Cow<'static, str> {
        bool::expected()
    }

    fn absent() -> Option<Self> {
        Some(ApprovalGate::Open)
    }

    fn null() -> Option<Self> {
        Some(ApprovalGate::Approval)
    }

    fn is_absent(&self) -> bool {
        *self == ApprovalGate::Open
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        match (node.as_bool(), at.mode()) {
            (Some(false), _) => Ok(ApprovalGate::Open),
            (Some(true), _) | (None, ReadMode::Lenient) => Ok(ApprovalGate::Approval),
            (None, ReadMode::Strict) => Err(at.unlike::<Self>(node)),
        }
    }

    fn write(&self, out: &mut JsonWriter) {
        out.word(if *self == ApprovalGate::Approval { "true" } else { "false" });
    }

    fn schema(book: &mut SchemaBook) -> Json {
        match book.mode() {
            ReadMode::Strict => schema::typed("boolean"),
            ReadMode::Lenient => Json::Object(JsonObject::new()),
        }
    }
}

/// Milliseconds until a directive may no longer begin; a negative number is a deadline that has
/// passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StartDeadline(pub u64);

impl JsonShape for StartDeadline {
    fn expected() -> Cow<'static, str> {
        u64::expected()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        match (u64::read(node, at), node.as_number(), at.mode()) {
            (Ok(milliseconds), ..) => Ok(StartDeadline(milliseconds)),
            (Err(_), Some(number), ReadMode::Lenient) if number.floor().is_none() => {
                Ok(StartDeadline(0))
            }
            (Err(invalid), ..) => Err(invalid),
        }
    }

    fn write(&self, out: &mut JsonWriter) {
        self.0.write(out);
    }

    fn schema(book: &mut SchemaBook) -> Json {
        match book.mode() {
            ReadMode::Strict => schema::from_zero("integer"),
            ReadMode::Lenient => {
                let mut passed = JsonObject::from_iter([("type", Json::from("number"))]);
                passed.insert("exclusiveMaximum", 0);
                Json::object([("anyOf", Json::array([schema::typed("integer"), passed.into()]))])
            }
        }
    }
}

/// Milliseconds that an answer took; fractions are read and cut off, and not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnswerLatency(pub u64);

impl JsonShape for AnswerLatency {
    fn expected() -> Cow<'static, str> {
        "a number from 0 on".into()
    }

    fn read(node: JsonNode<'_>, at: &ReadPosition<'_>) -> Result<Self, ShapeError> {
        let number = node.as_number().ok_or_else(|| at.unlike::<Self>(node))?;
        number
            .floor()
            .map(AnswerLatency)
            .ok_or_else(|| at.invalid(Self::expected(), "another number"))
    }

    fn write(&self, out: &mut JsonWriter) {
        self.0.write(out);
    }

    fn schema(_: &mut SchemaBook) -> Json {
        schema::from_zero("number")
    }
}
