//! The canonical text of a document: RFC 8785 (keys in the order of their UTF-16 units, no blanks,
//! numbers as ECMAScript writes them), except that a number keeps all its digits, so that two numbers
//! that only a float takes for equal stay different. Called for fingerprints of requests; iterative,
//! since what is ignored may nest as deep as the message has values.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::decimal::Decimal;
use super::node::{JsonNode, NodeKind};
use super::write::quote;

/// Appends the canonical text; of an object that is the root, without the keys in `without`.
pub(in crate::openharness) fn canonical(root: JsonNode<'_>, without: &[&str], out: &mut String) {
    let mut open: Vec<CanonicalLevel> = Vec::new();
    // Of all containers that are open, what is still to come, last first.
    let mut left: Vec<(Cow<'_, str>, JsonNode<'_>)> = Vec::with_capacity(USUAL_DEPTH);
    let mut node = root;
    loop {
        let floor = left.len();
        match node.kind() {
            NodeKind::Object => {
                left.extend(node.entries());
                if open.is_empty() {
                    left.retain(|(key, _)| !without.contains(&&**key));
                }
                left[floor..].sort_unstable_by(|a, b| by_utf16(&b.0, &a.0));
                out.push('{');
                open.push(CanonicalLevel { keys: true, first: true, floor });
            }
            NodeKind::Array => {
                left.extend(node.items().map(|item| (Cow::default(), item)));
                left[floor..].reverse();
                out.push('[');
                open.push(CanonicalLevel { keys: false, first: true, floor });
            }
            NodeKind::String if node.is_verbatim() => out.push_str(node.source()),
            NodeKind::String => quote(&node.as_str().unwrap_or_default(), out),
            NodeKind::Number => number(node.source(), out),
            NodeKind::Null | NodeKind::True | NodeKind::False => out.push_str(node.source()),
        }
        node = loop {
            let Some(level) = open.last_mut() else { return };
            if left.len() > level.floor
                && let Some((key, next)) = left.pop()
            {
                if !std::mem::take(&mut level.first) {
                    out.push(',');
                }
                if level.keys {
                    key_text(key, out);
                    out.push(':');
                }
                break next;
            }
            out.push(if level.keys { '}' } else { ']' });
            open.pop();
        };
    }
}

/// Values that wait in a usual message, at most.
const USUAL_DEPTH: usize = 8;

/// A container that is being written.
struct CanonicalLevel {
    keys: bool,
    first: bool,
    /// Start of the part of it that is left.
    floor: usize,
}

/// Appends a key; one that is borrowed was written without escapes, and needs none.
fn key_text(key: Cow<'_, str>, out: &mut String) {
    match key {
        Cow::Borrowed(plain) => {
            out.push('"');
            out.push_str(plain);
            out.push('"');
        }
        Cow::Owned(text) => quote(&text, out),
    }
}

/// The order of UTF-16 units. Bytes have it too, unless both texts go on with letters behind the
/// surrogates where they part, of which UTF-16 has those with surrogates first.
pub(super) fn by_utf16(a: &str, b: &str) -> Ordering {
    let apart = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    match apart {
        Some((one, other)) if one.min(other) >= BEHIND_SURROGATES => {
            a.encode_utf16().cmp(b.encode_utf16())
        }
        Some((one, other)) => one.cmp(&other),
        None => a.len().cmp(&b.len()),
    }
}

/// Least first byte in UTF-8 of U+E000 and all characters behind it.
const BEHIND_SURROGATES: u8 = 0xee;

/// ECMAScript's `Number::toString`, on the exact digits.
fn number(source: &str, out: &mut String) {
    let decimal = Decimal::of(source);
    if decimal.cut {
        out.push_str(source);
        return;
    }
    if decimal.digits.is_empty() {
        out.push('0');
        return;
    }
    if decimal.negative {
        out.push('-');
    }
    let digits = String::from_utf8_lossy(&decimal.digits);
    let (length, point) = (i64::try_from(digits.len()).unwrap_or(i64::MAX), decimal.point);
    if (length..=21).contains(&point) {
        out.push_str(&digits);
        zeros(point - length, out);
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(1));
        out.extend([whole, ".", fraction]);
    } else if (-5..=0).contains(&point) {
        out.push_str("0.");
        zeros(-point, out);
        out.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            out.extend([".", rest]);
        }
        let sign = if point > 0 { "+" } else { "" };
        out.push_str(&format!("e{sign}{}", point - 1));
    }
}

fn zeros(count: i64, out: &mut String) {
    (0..count).for_each(|_| out.push('0'));
}
