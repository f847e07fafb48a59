//! The last look at an outbound message: keys that name live handles do not leave the process.
//!
//! The daemon calls it on whatever it passes on for somebody else. It never touches what is not
//! a plist, since the same shapes are also user data: odd lists, pairs and trees of an editor.

use bridle_sexp::{Kind, Value};

use super::reserved::remove_pairs;

/// Keys under which older programs kept open streams; a text without them is sanitized.
pub const HANDLES: [&str; 3] = ["reply-stream", "socket", "stream"];

/// The key of an org-element tree, inside which a drawer may well be called STREAM.
const AST: &str = "ast";

/// Returns the message without the keys of handles: in the envelope, in `:meta`, and in every
/// plist that is the value of a key below them, but never inside the value of an `:ast`.
pub fn sanitize(message: &Value) -> Value {
    let mut clean = message.clone();
    // A list of its own instead of recursion: nesting is the sender's choice.
    let mut rest = vec![&mut clean];
    while let Some(value) = rest.pop() {
        if !is_plist(value) {
            continue;
        }
        if let Value::List(items) = value {
            remove_pairs(items, |key| HANDLES.iter().any(|name| key.is_keyword(name)));
        }
        if matches!(value, Value::List(items) if items.is_empty()) {
            *value = Value::Nil;
        }
        let Value::List(items) = value else { continue };
        for pair in items.chunks_exact_mut(2) {
            if let [key, inner] = pair
                && !key.is_keyword(AST)
            {
                rest.push(inner);
            }
        }
    }
    clean
}

/// A proper list of even length with keywords in all key places.
fn is_plist(value: &Value) -> bool {
    let Value::List(items) = value else { return false };
    items.len().is_multiple_of(2)
        && items.iter().step_by(2).all(|key| matches!(key.kind(), Kind::Keyword))
}
