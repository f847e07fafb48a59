//! Payloads of proposals: keys replaced, facts put in. What was said under a key that belongs to the
//! daemon goes.

use std::path::Path;

use bridle_jail::find_secrets;
use bridle_loop::{EffectFacts, PREPARED};
use bridle_sexp::Value;

/// Longest diff in a question, in bytes; the rest is counted, and all of it is judged by its hash.
const MAX_DIFF_BYTES: usize = 128 << 10;

/// The payload with a key set, in the place of all that it had under it.
pub(crate) fn with(payload: &Value, key: &str, value: Value) -> Value {
    let pairs = without(payload, key).chain([Value::keyword(key), value]);
    Value::list(pairs)
}

fn without<'v>(payload: &'v Value, key: &'v str) -> impl Iterator<Item = Value> + use<'v> {
    let pairs = payload.pairs().into_iter().flatten();
    pairs
        .filter(move |(name, _)| !name.is_keyword(key))
        .flat_map(|(name, value)| [name.clone(), value.clone()])
}

/// The payload with the facts that were found out.
pub(crate) fn with_facts(payload: &Value, facts: &EffectFacts) -> Value {
    with(payload, PREPARED, facts.to_value())
}

/// The payload with a reason why it cannot be done.
pub(crate) fn with_fault(payload: &Value, fault: impl Into<Box<str>>) -> Value {
    let facts = EffectFacts { fault: Some(fault.into()), ..EffectFacts::default() };
    with_facts(payload, &facts)
}

/// The payload with facts and a diff.
pub(crate) fn with_diff(payload: &Value, facts: &EffectFacts, diff: &str) -> Value {
    let prepared = with(&facts.to_value(), "diff", Value::str(cut(diff, MAX_DIFF_BYTES)));
    with(payload, PREPARED, prepared)
}

/// A text of at most so many bytes, which says how many are left out.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[{} more bytes]\n", &text[..end], text.len() - end)
}

/// The label of an outcome with this text, where something in it looks like a secret: no remote model sees it then,
/// and nothing leaves after it without a question.
pub fn label_of(path: &Path, text: &str) -> Option<(&'static str, Value)> {
    let is_clean = find_secrets(path, text.as_bytes()).is_empty();
    (!is_clean).then(|| ("privacy", Value::keyword("secret")))
}

/// A number for a plist.
pub(crate) fn count(number: impl TryInto<i64>) -> Value {
    Value::int(number.try_into().unwrap_or(i64::MAX))
}
