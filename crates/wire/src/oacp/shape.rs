//! The shapes that fields of a payload may have, and the table form in which sensors and actions
//! are written down.
//!
//! [`record!`] makes of one table a struct that borrows from a payload, the check of that payload
//! and the way back. Used by `sensor` and `action`; hello has its own code because it is kept.

use bridle_sexp::{Kind, Value};

use super::OacpCode;
use super::invalid::{InvalidMessage, MessagePath};
use super::view::{MessageView, a_kind};

/// Form that a field must have. nil always counts as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldShape {
    /// A string, with or without Emacs text properties.
    Text,
    /// A keyword.
    Keyword,
    /// A keyword, a symbol or a string: the name of a thing.
    Name,
    /// An integer of 64 bits or a string.
    Label,
    /// An integer from 0.
    Natural,
    /// A list or vector of strings.
    Texts,
    /// A list of any kind.
    List,
    /// Anything.
    Any,
}

/// Whether a field must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldNeed {
    Must,
    May,
}

/// One row of a table: the key in lower case, its shape, and whether it must be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRow(pub(crate) &'static str, pub(crate) FieldNeed, pub(crate) FieldShape);

/// Checks every field of a table against a payload that is a plist.
pub(crate) fn check_fields<V: MessageView>(
    payload: V,
    fields: &[FieldRow],
    path: &MessagePath,
) -> Result<(), InvalidMessage> {
    for &FieldRow(key, need, shape) in fields {
        match payload.get(key) {
            Some(value) if !value.is_nil() => check_shape(value, shape, &path.key(key))?,
            nil_or_absent if need == FieldNeed::Must => {
                return Err(missing(nil_or_absent.unwrap_or(payload), &path.key(key)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a value that does not have the shape.
pub(crate) fn check_shape<V: MessageView>(
    value: V,
    shape: FieldShape,
    path: &MessagePath,
) -> Result<(), InvalidMessage> {
    let kind = value.kind();
    let (fits, expected) = match shape {
        FieldShape::Text => (is_text(kind), "a string"),
        FieldShape::Keyword => (kind == Kind::Keyword, "a keyword"),
        FieldShape::Name => {
            (is_text(kind) || matches!(kind, Kind::Keyword | Kind::Symbol), "a keyword or a string")
        }
        FieldShape::Label => (is_text(kind) || kind == Kind::Integer, "an integer or a string"),
        FieldShape::Natural => (kind == Kind::Integer, "an integer"),
        FieldShape::Texts => (matches!(kind, Kind::List | Kind::Vector), "a list of strings"),
        FieldShape::List => (matches!(kind, Kind::List | Kind::Dotted | Kind::Vector), "a list"),
        FieldShape::Any => (true, ""),
    };
    if !fits {
        return Err(wrong_type(value, path, expected));
    }
    match shape {
        FieldShape::Label if kind == Kind::Integer && value.as_i64().is_none() => {
            Err(invalid_value(value, path, "expected an integer of at most 64 bits"))
        }
        FieldShape::Natural if value.as_i64().is_none_or(|n| n < 0) => {
            Err(invalid_value(value, path, "expected an integer from 0 to 2^63-1"))
        }
        FieldShape::Texts => {
            let mut items = value.items().take(unpadded_len(value)).enumerate();
            match items.find(|(_, item)| !is_text(item.kind())) {
                Some((index, item)) => Err(wrong_type(item, &path.index(index), "a string")),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The length of a list without the nil that some Lisp peers append: their sanitizer walks every list by pairs,
/// and so completes one of odd length.
pub(crate) fn unpadded_len<V: MessageView>(list: V) -> usize {
    let (len, ends_in_nil) =
        list.items().fold((0, false), |(len, _), item| (len + 1, item.is_nil()));
    len - usize::from(ends_in_nil && len % 2 == 0)
}

/// The refusal for a key that is absent or nil; `nearest` is the nil or the plist around it.
pub(crate) fn missing<V: MessageView>(nearest: V, path: &MessagePath) -> InvalidMessage {
    InvalidMessage::new(OacpCode::MissingKey, path.clone(), format!("`{path}` is absent or nil"))
        .at(nearest.place())
}

/// The refusal for a value of another kind than `expected`.
pub(crate) fn wrong_type<V: MessageView>(
    value: V,
    path: &MessagePath,
    expected: &str,
) -> InvalidMessage {
    let got = a_kind(value.kind());
    InvalidMessage::new(
        OacpCode::WrongType,
        path.clone(),
        format!("expected {expected}, got {got}"),
    )
    .at(value.place())
}

/// The refusal for a value of the right kind that is out of range.
pub(crate) fn invalid_value<V: MessageView>(
    value: V,
    path: &MessagePath,
    expected: &str,
) -> InvalidMessage {
    InvalidMessage::new(OacpCode::InvalidValue, path.clone(), expected).at(value.place())
}

fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::String | Kind::Propertized)
}

/// A shape as a type: what a checked field reads as, and how it is written.
pub(crate) trait ShapedValue {
    type Out<'m>;
    fn read(value: &Value) -> Option<Self::Out<'_>>;
    fn write(out: &Self::Out<'_>) -> Value;
}

/// The types that stand for shapes in [`record!`].
pub(crate) mod shapes {
    use super::{ShapedValue, Value, text_of, unpadded_len};

    pub(crate) struct Text;
    impl ShapedValue for Text {
        type Out<'m> = &'m str;
        fn read(value: &Value) -> Option<&str> {
            text_of(value)
        }
        fn write(out: &&str) -> Value {
            Value::str(*out)
        }
    }

    pub(crate) struct Keyword;
    impl ShapedValue for Keyword {
        type Out<'m> = &'m bridle_sexp::Keyword;
        fn read(value: &Value) -> Option<&bridle_sexp::Keyword> {
            match value {
                Value::Keyword(keyword) => Some(keyword),
                _ => None,
            }
        }
        fn write(out: &&bridle_sexp::Keyword) -> Value {
            Value::Keyword((*out).clone())
        }
    }

    pub(crate) struct Natural;
    impl ShapedValue for Natural {
        type Out<'m> = u64;
        fn read(value: &Value) -> Option<u64> {
            value.as_i64().and_then(|n| u64::try_from(n).ok())
        }
        fn write(out: &u64) -> Value {
            Value::int(i64::try_from(*out).unwrap_or(i64::MAX))
        }
    }

    pub(crate) struct Texts;
    impl ShapedValue for Texts {
        type Out<'m> = Vec<&'m str>;
        fn read(value: &Value) -> Option<Vec<&str>> {
            match value {
                Value::List(items) | Value::Vector(items) => {
                    items.iter().take(unpadded_len(value)).map(text_of).collect()
                }
                _ => None,
            }
        }
        fn write(out: &Vec<&str>) -> Value {
            Value::list(out.iter().map(|text| Value::str(*text)))
        }
    }

    /// A shape that is passed on as it came.
    macro_rules! as_it_came {
        ($($name:ident)*) => {$(
            pub(crate) struct $name;
            impl ShapedValue for $name {
                type Out<'m> = &'m Value;
                fn read(value: &Value) -> Option<&Value> {
                    Some(value)
                }
                fn write(out: &&Value) -> Value {
                    Value::clone(out)
                }
            }
        )*};
    }
    as_it_came!(Name Label List Any);
}

/// The text of a string, with or without Emacs text properties.
pub(crate) fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::Str(text) | Value::Propertized { text, .. } => Some(text),
        _ => None,
    }
}

/// Reads one field of a checked plist; nil counts as absent.
pub(crate) fn field<'m, S: ShapedValue>(payload: &'m Value, key: &str) -> Option<S::Out<'m>> {
    payload.get(key).filter(|value| !matches!(value, Value::Nil)).and_then(S::read)
}

/// Makes a borrowed struct, its table of fields, its reader and its writer out of one table.
///
/// A row is: field, key on the wire, `must` or `may`, shape.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident $key:literal $need:ident $shape:ident,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name<'m> {
            $($(#[$field_doc])* pub $field: $crate::oacp::shape::field_type!($need $shape),)*
        }

        impl<'m> $name<'m> {
            pub(crate) const FIELDS: &'static [$crate::oacp::shape::FieldRow] = &[$(
                $crate::oacp::shape::FieldRow(
                    $key,
                    $crate::oacp::shape::field_need!($need),
                    $crate::oacp::shape::FieldShape::$shape,
                ),
            )*];

            /// `None` when a field that must be there is not; callers check the table first.
            pub(crate) fn read(payload: &'m bridle_sexp::Value) -> Option<Self> {
                use $crate::oacp::shape::{field, shapes};
                Some($name {
                    $($field: $crate::oacp::shape::field_take!(
                        $need field::<shapes::$shape>(payload, $key)
                    ),)*
                })
            }

            pub(crate) fn push(&self, out: &mut Vec<bridle_sexp::Value>) {
                use $crate::oacp::shape::{ShapedValue, shapes};
                $(if let Some(value) = $crate::oacp::shape::field_some!($need self.$field) {
                    out.push(bridle_sexp::Value::keyword($key));
                    out.push(<shapes::$shape as ShapedValue>::write(value));
                })*
            }
        }
    };
}

/// The public type of a field; `ShapedValue::Out` is the same, but private.
macro_rules! field_type {
    (may $shape:ident) => { Option<$crate::oacp::shape::field_type!(must $shape)> };
    (must Text) => { &'m str };
    (must Texts) => { Vec<&'m str> };
    (must Keyword) => { &'m bridle_sexp::Keyword };
    (must Natural) => { u64 };
    (must $as_it_came:ident) => { &'m bridle_sexp::Value };
}

macro_rules! field_need {
    (must) => {
        $crate::oacp::shape::FieldNeed::Must
    };
    (may) => {
        $crate::oacp::shape::FieldNeed::May
    };
}

macro_rules! field_take {
    (must $read:expr) => {
        $read?
    };
    (may $read:expr) => {
        $read
    };
}

macro_rules! field_some {
    (must $field:expr) => {
        Some(&$field)
    };
    (may $field:expr) => {
        $field.as_ref()
    };
}

pub(crate) use {field_need, field_some, field_take, field_type, record};
