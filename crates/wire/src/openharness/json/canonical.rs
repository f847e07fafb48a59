//! The canonical text of a document: RFC 8785 (keys in the order of their UTF-16 units, no blanks,
//! numbers as ECMAScript writes them), except that a number keeps all its digits, so that two numbers
//! that only a float takes for equal stay different. Called for fingerprints of requests; iterative,
//! since what is ignored may nest as deep as the message has values.

use super::decimal::Decimal;
use super::node::{Kind, Node};
use super::write::quote;

/// Appends the canonical text; of an object that is the root, without the keys in `without`.
pub(in crate::openharness) fn canonical(root: Node<'_>, without: &[&str], out: &mut String) {
    let mut open: Vec<Level<'_>> = Vec::new();
    let mut node = root;
    loop {
        match node.kind() {
            Kind::Object => {
                let mut members: Vec<_> = node
                    .entries()
                    .map(|(key, value)| (key.into_owned(), value))
                    .filter(|(key, _)| !open.is_empty() || !without.contains(&key.as_str()))
                    .collect();
                members.sort_unstable_by(|a, b| b.0.encode_utf16().cmp(a.0.encode_utf16()));
                out.push('{');
                open.push(Level { keys: true, first: true, left: members });
            }
            Kind::Array => {
                let mut left: Vec<_> = node.items().map(|item| (String::new(), item)).collect();
                left.reverse();
                out.push('[');
                open.push(Level { keys: false, first: true, left });
            }
            Kind::String => quote(&node.as_str().unwrap_or_default(), out),
            Kind::Number => number(node.source(), out),
            Kind::Null | Kind::True | Kind::False => out.push_str(node.source()),
        }
        node = loop {
            let Some(level) = open.last_mut() else { return };
            if let Some((key, next)) = level.left.pop() {
                if !std::mem::take(&mut level.first) {
                    out.push(',');
                }
                if level.keys {
                    quote(&key, out);
                    out.push(':');
                }
                break next;
            }
            out.push(if level.keys { '}' } else { ']' });
            open.pop();
        };
    }
}

/// A container that is being written.
struct Level<'d> {
    keys: bool,
    first: bool,
    /// What is still to come, last first.
    left: Vec<(String, Node<'d>)>,
}

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
