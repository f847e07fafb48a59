//! Shapes of plain values: text without bounds, truth, counts, lists, optional fields, what is kept
//! as it came, and the three small types whose reading is their own.

use std::borrow::Cow;
use std::sync::Arc;

use super::{At, Invalid, Mode, Shape};
use crate::openharness::json::{Json, Number, Object, Writer};
use crate::openharness::json::{Kind, Node};
use crate::openharness::schema::{self, Book};

impl Shape for String {
    fn expected() -> Cow<'static, str> {
        "a string".into()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        node.as_str().map(Into::into).ok_or_else(|| at.unlike::<Self>(node))
    }

    fn write(&self, out: &mut Writer) {
        out.string(self);
    }

    fn schema(_: &mut Book) -> Json {
        schema::text(0, usize::MAX)
    }
}

impl Shape for bool {
    fn expected() -> Cow<'static, str> {
        "a boolean".into()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        node.as_bool().ok_or_else(|| at.unlike::<Self>(node))
    }

    fn write(&self, out: &mut Writer) {
        out.word(if *self { "true" } else { "false" });
    }

    fn schema(_: &mut Book) -> Json {
        schema::typed("boolean")
    }
}

/// An integer from 0 on; `1.0` and `1e3` are integers, and what is larger than fits counts as the
/// largest that does.
impl Shape for u64 {
    fn expected() -> Cow<'static, str> {
        "an integer from 0 on".into()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        let number = node.as_number().ok_or_else(|| at.unlike::<Self>(node))?;
        number.as_u64().ok_or_else(|| at.invalid(Self::expected(), "another number"))
    }

    fn write(&self, out: &mut Writer) {
        out.count(*self);
    }

    fn schema(_: &mut Book) -> Json {
        schema::from_zero("integer")
    }
}

impl Shape for Number {
    fn expected() -> Cow<'static, str> {
        "a number".into()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        node.as_number().ok_or_else(|| at.unlike::<Self>(node))
    }

    fn write(&self, out: &mut Writer) {
        out.word(self.as_str());
    }

    fn schema(_: &mut Book) -> Json {
        schema::typed("number")
    }
}

/// Any value, kept.
impl Shape for Json {
    fn expected() -> Cow<'static, str> {
        "a value".into()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        at.keep(node)
    }

    fn write(&self, out: &mut Writer) {
        Json::write(self, out);
    }

    fn schema(_: &mut Book) -> Json {
        Json::Object(Object::new())
    }
}

/// Any object, kept.
impl Shape for Object {
    fn expected() -> Cow<'static, str> {
        "an object".into()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        at.rest(at.object(node)?, &[])
    }

    fn write(&self, out: &mut Writer) {
        Object::write(self, out);
    }

    fn schema(_: &mut Book) -> Json {
        schema::typed("object")
    }
}

impl<T: Shape> Shape for Option<T> {
    fn expected() -> Cow<'static, str> {
        T::expected()
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        if T::is_blank(node) { Ok(None) } else { T::read(node, at).map(Some) }
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Some(value) => value.write(out),
            // Left out by every record; written only inside a list, which holds none.
            None => out.word("null"),
        }
    }

    fn schema(book: &mut Book) -> Json {
        let inner = T::schema(book);
        book.nullable(inner)
    }
}

/// A list; an empty one and an absent one are the same.
impl<T: Shape> Shape for Vec<T> {
    fn expected() -> Cow<'static, str> {
        "an array".into()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        if node.kind() != Kind::Array {
            return Err(at.unlike::<Self>(node));
        }
        node.items().enumerate().map(|(index, item)| at.item(item, index)).collect()
    }

    fn write(&self, out: &mut Writer) {
        out.open('[');
        self.iter().for_each(|item| item.write(out));
        out.close(']');
    }

    fn schema(book: &mut Book) -> Json {
        let items = T::schema(book);
        book.nullable(Json::object([("type", "array".into()), ("items", items)]))
    }
}

/// A message inside a message, out of line.
impl<T: Shape> Shape for Box<T> {
    fn expected() -> Cow<'static, str> {
        T::expected()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        T::read(node, at).map(Box::new)
    }

    fn write(&self, out: &mut Writer) {
        T::write(self, out);
    }

    fn schema(book: &mut Book) -> Json {
        T::schema(book)
    }
}

/// A part that many messages share.
impl<T: Shape> Shape for Arc<T> {
    fn expected() -> Cow<'static, str> {
        T::expected()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        T::read(node, at).map(Arc::new)
    }

    fn write(&self, out: &mut Writer) {
        T::write(self, out);
    }

    fn schema(book: &mut Book) -> Json {
        T::schema(book)
    }
}

/// Whether the user must say yes first. Fails closed: only `false` and absence mean that nobody needs
/// to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gate {
    /// The directive may run.
    #[default]
    Open,
    /// The directive waits for the user.
    Approval,
}

impl Shape for Gate {
    fn expected() -> Cow<'static, str> {
        bool::expected()
    }

    fn absent() -> Option<Self> {
        Some(Gate::Open)
    }

    fn null() -> Option<Self> {
        Some(Gate::Approval)
    }

    fn is_absent(&self) -> bool {
        *self == Gate::Open
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        match (node.as_bool(), at.mode()) {
            (Some(false), _) => Ok(Gate::Open),
            (Some(true), _) | (None, Mode::Lenient) => Ok(Gate::Approval),
            (None, Mode::Strict) => Err(at.unlike::<Self>(node)),
        }
    }

    fn write(&self, out: &mut Writer) {
        out.word(if *self == Gate::Approval { "true" } else { "false" });
    }

    fn schema(book: &mut Book) -> Json {
        match book.mode() {
            Mode::Strict => schema::typed("boolean"),
            Mode::Lenient => Json::Object(Object::new()),
        }
    }
}

/// Milliseconds until a directive may no longer begin; a negative number is a deadline that has
/// passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(pub u64);

impl Shape for Deadline {
    fn expected() -> Cow<'static, str> {
        u64::expected()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        match (u64::read(node, at), node.as_number(), at.mode()) {
            (Ok(milliseconds), ..) => Ok(Deadline(milliseconds)),
            (Err(_), Some(number), Mode::Lenient) if number.floor().is_none() => Ok(Deadline(0)),
            (Err(invalid), ..) => Err(invalid),
        }
    }

    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn schema(book: &mut Book) -> Json {
        match book.mode() {
            Mode::Strict => schema::from_zero("integer"),
            Mode::Lenient => {
                let mut passed = Object::from_iter([("type", Json::from("number"))]);
                passed.insert("exclusiveMaximum", 0);
                Json::object([("anyOf", Json::array([schema::typed("integer"), passed.into()]))])
            }
        }
    }
}

/// Milliseconds that an answer took; fractions are read and cut off, and not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Latency(pub u64);

impl Shape for Latency {
    fn expected() -> Cow<'static, str> {
        "a number from 0 on".into()
    }

    fn read(node: Node<'_>, at: &At<'_>) -> Result<Self, Invalid> {
        let number = node.as_number().ok_or_else(|| at.unlike::<Self>(node))?;
        number.floor().map(Latency).ok_or_else(|| at.invalid(Self::expected(), "another number"))
    }

    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn schema(_: &mut Book) -> Json {
        schema::from_zero("number")
    }
}
