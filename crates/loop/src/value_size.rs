//! How large a value is, about: what byte limits count.
//!
//! Used by every stage that keeps values. Iterative, so that depth costs nothing.

use bridle_sexp::Value;

/// Cost of a value beside its text, in bytes: its place in the list around it.
const NODE_BYTES: usize = 16;

/// The bytes of a value, about.
pub(crate) fn weight(value: &Value) -> usize {
    let mut total = own(value);
    // Only what holds something waits: most values are lists of words and texts.
    let mut left = Vec::new();
    let mut next = Some(value);
    while let Some(value) = next {
        let mut add = |inside| {
            total = total.saturating_add(own(inside));
            if holds(inside) {
                left.push(inside);
            }
        };
        match value {
            Value::List(elements) | Value::Vector(elements) => elements.iter().for_each(add),
            Value::Dotted(elements, tail) => {
                elements.iter().for_each(&mut add);
                add(tail);
            }
            Value::Propertized { runs, .. } => runs.iter().for_each(add),
            _ => {}
        }
        next = left.pop();
    }
    total
}

/// Whether there are values in it.
fn holds(value: &Value) -> bool {
    matches!(
        value,
        Value::List(_) | Value::Vector(_) | Value::Dotted(..) | Value::Propertized { .. }
    )
}

/// Weight of a value without its elements.
fn own(value: &Value) -> usize {
    let text = match value {
        Value::Str(text) | Value::BigInt(text) | Value::Ratio(text) => text.len(),
        Value::Symbol(symbol) => symbol.spelling().len(),
        Value::Keyword(keyword) => keyword.spelling().len(),
        Value::Float(float) => float.text().len(),
        Value::Propertized { text, .. } => text.len(),
        Value::List(_)
        | Value::Vector(_)
        | Value::Dotted(..)
        | Value::Nil
        | Value::T
        | Value::Int(_)
        | Value::Char(_) => 0,
    };
    text.saturating_add(NODE_BYTES)
}
