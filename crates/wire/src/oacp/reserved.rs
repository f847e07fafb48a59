//! Keys that belong to the engine and that a client may not set.
//!
//! The daemon calls [`strip_reserved`] on every message from a client before anything else looks
//! at it, and notes what was dropped. Not a schema check: such a message is still accepted.

use bridle_sexp::Value;

use super::invalid::MessagePath;
use super::message::{Extra, MessageType, OacpMessage};

/// Sources that are principals inside the daemon; a client that names one is not believed.
const INNER_SOURCES: [&str; 6] = ["system", "engine", "daemon", "skill", "model", "guard"];

/// Says that the guard allowed something; never true because a client says so.
const APPROVALS: [&str; 2] = ["approved", "approved-action"];

/// Keys for the distance that a signal went through the loop, and for how often it came back.
const PROGRESS: [&str; 2] = ["depth", "status"];

/// Drops what a client may not set and returns the paths of what was dropped.
///
/// All duplicates go: dropping only the first would make the second count.
pub fn strip_reserved(message: &mut OacpMessage) -> Vec<MessagePath> {
    let mut dropped = Vec::new();
    // `:status` is a signal's own key only in a signal; a report may carry one.
    let is_signal = !matches!(
        message.kind,
        MessageType::Status | MessageType::HealthCheck | MessageType::HealthResponse
    );
    strip_extra(&mut message.extra, &APPROVALS, &MessagePath::ROOT, &mut dropped);
    strip_extra(&mut message.meta.extra, &APPROVALS, &MessagePath::of(&["meta"]), &mut dropped);
    if is_signal {
        strip_extra(&mut message.extra, &PROGRESS, &MessagePath::ROOT, &mut dropped);
        strip_extra(&mut message.meta.extra, &PROGRESS, &MessagePath::of(&["meta"]), &mut dropped);
    }
    if message.meta.source.as_deref().is_some_and(|source| INNER_SOURCES.contains(&source)) {
        message.meta.source = None;
        dropped.push(MessagePath::of(&["meta", "source"]));
    }
    if let Some(payload) = &mut message.payload {
        strip_payload(payload, &mut dropped);
    }
    dropped
}

fn strip_extra(
    extra: &mut Vec<Extra>,
    names: &[&'static str],
    path: &MessagePath,
    dropped: &mut Vec<MessagePath>,
) {
    for name in names {
        let before = extra.len();
        extra.retain(|(key, _)| !key.is(name));
        if extra.len() < before {
            dropped.push(path.key(name));
        }
    }
}

fn strip_payload(payload: &mut Value, dropped: &mut Vec<MessagePath>) {
    let Value::List(items) = payload else { return };
    for name in APPROVALS {
        let before = items.len();
        remove_pairs(items, |key| key.is_keyword(name));
        if items.len() < before {
            dropped.push(MessagePath::of(&["payload", name]));
        }
    }
    if items.is_empty() {
        *payload = Value::Nil;
    }
}

/// Removes the pairs of a plist whose key is unwanted, keeping the order of the others.
pub(crate) fn remove_pairs(items: &mut Vec<Value>, unwanted: impl Fn(&Value) -> bool) {
    let mut position = 0;
    let mut dropping = false;
    items.retain(|item| {
        if position % 2 == 0 {
            dropping = unwanted(item);
        }
        position += 1;
        !dropping
    });
}
