//! Lenient reading of recorded plists: a key that is missing or has another type is `None`.
//!
//! Used by the bodies of records (`event/body.rs`, `effect/body.rs`, `record_kind/note.rs`), which show what
//! can still be read of a damaged or foreign body.

use bridle_sexp::Value;

/// A number that is not negative.
pub(crate) fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_i64().and_then(|number| u64::try_from(number).ok())
}

/// The word of a keyword.
pub(crate) fn word<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_keyword()
}

/// A string.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// The elements of a list; none of what is no list.
pub(crate) fn elements<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::elements).unwrap_or_default()
}
