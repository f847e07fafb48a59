//! How large a value is, about: what byte limits count.
//!
//! Used by every stage that keeps values. Iterative, so that depth costs nothing.

use bridle_sexp::Value;

/// What a value costs beside its text, in bytes: its place in the list that holds it.
const NODE: usize = 16;

/// The bytes of a value, about.
pub(crate) fn weight(value: &Value) -> usize {
    let mut total = 0usize;
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        let own = match value {
            Value::Str(text) | Value::BigInt(text) | Value::Ratio(text) => text.len(),
            Value::Symbol(symbol) => symbol.spelling().len(),
            Value::Keyword(keyword) => keyword.spelling().len(),
            Value::Float(float) => float.text().len(),
            Value::List(elements) | Value::Vector(elements) => {
                left.extend(elements);
                0
            }
            Value::Dotted(elements, tail) => {
                left.extend(elements);
                left.push(tail);
                0
            }
            Value::Propertized { text, runs } => {
                left.extend(runs);
                text.len()
            }
            Value::Nil | Value::T | Value::Int(_) | Value::Char(_) => 0,
        };
        total = total.saturating_add(own).saturating_add(NODE);
    }
    total
}
