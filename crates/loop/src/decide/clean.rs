//! What a proposal may not say: keys that belong to the engine, and keys said twice.
//!
//! Called by `decide` before any rule looks. A key that occurs twice would be read by the guard in
//! one way and by some shell in another, so only the first stays.

use std::collections::BTreeSet;

use bridle_sexp::Value;

use crate::effect::ProposalAuthor;

/// Keys by which a proposal would speak about its own standing. A client's own request loses the
/// first two only: the others may be arguments of what it asks for.
const RESERVED: [&str; 4] = ["approved", "approved-action", "depth", "status"];

/// Most dropped keys that are noted by name: more of them say nothing new.
const MAX_NOTED_KEYS: usize = 32;

/// The payload without such keys, and the names of those that were dropped.
pub(super) fn clean(by: ProposalAuthor, payload: Value) -> (Value, Vec<Box<str>>) {
    let reserved = if by == ProposalAuthor::Asker { &RESERVED[..2] } else { &RESERVED[..] };
    if payload.pairs().is_none() {
        return (payload, Vec::new());
    }
    let Value::List(items) = payload else { return (payload, Vec::new()) };
    if is_clean(&items, reserved) {
        return (Value::List(items), Vec::new());
    }
    let mut kept: Vec<Value> = Vec::with_capacity(items.len());
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut dropped: BTreeSet<Box<str>> = BTreeSet::new();
    let mut items = items.into_iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        let name = match &key {
            Value::Keyword(keyword) => keyword.name().to_ascii_lowercase(),
            _ => String::new(),
        };
        if reserved.contains(&&*name) || !seen.insert(name.clone()) {
            if dropped.len() < MAX_NOTED_KEYS {
                dropped.insert(name.into());
            }
            continue;
        }
        kept.push(key);
        kept.push(value);
    }
    (Value::list(kept), dropped.into_iter().collect())
}

/// Keys that are compared each with each: what has more goes the long way.
const FEW_KEYS: usize = 8;

/// Whether nothing has to be dropped, as is usual, told without a copy of anything.
fn is_clean(items: &[Value], reserved: &[&str]) -> bool {
    let keys = || items.iter().step_by(2);
    let is_new = |(index, key): (usize, &Value)| match key {
        Value::Keyword(keyword) => {
            let is_known = |other: &Value| match other {
                Value::Keyword(other) => keyword.is(&other.name()),
                _ => false,
            };
            !reserved.iter().any(|name| keyword.is(name)) && !keys().take(index).any(is_known)
        }
        _ => false,
    };
    items.len() <= 2 * FEW_KEYS && keys().enumerate().all(is_new)
}
