//! The bodies of records as values, whatever they hold.

use bridle_sexp::Value;

/// Reads the body of a record; `None` for a text that is no form.
pub fn parse(text: &str) -> Option<Value> {
    let tree = bridle_loop::reader().read_one(text).ok()?;
    Some(tree.root().to_value())
}

/// The value of a body. The store keeps text; one that is no form, which only damage can make, comes
/// back as a string, so that it can still be looked at.
pub(super) fn value(text: &str) -> Value {
    parse(text).unwrap_or_else(|| Value::str(text))
}
