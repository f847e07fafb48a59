//! The bodies of records as values, whatever they hold.

use bridle_sexp::Value;

/// The value of a body. The store keeps text; one that is no form, which only damage can make, comes
/// back as a string, so that it can still be looked at.
pub(super) fn value(text: &str) -> Value {
    match bridle_loop::reader().read_one(text) {
        Ok(tree) => tree.root().to_value(),
        Err(_) => Value::str(text),
    }
}
