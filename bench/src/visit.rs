//! The same walk over every contender's tree: each node is visited, each string is handed over
//! unescaped, each number parsed, and all of it goes into one checksum. Used by `contend` and `counts`.
//!
//! Equal checksums show that all sides read the same tree and that none of them skipped work. The sums
//! commute, so that the checksum costs a few additions per node and not a chain of dependent steps.

use std::fmt;
use std::hint::black_box;

use bridle_sexp::Node;

/// Sum over a walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    /// Lists and atoms.
    pub nodes: u64,
    /// Bytes of all strings, symbols and keywords after unescaping.
    pub text_bytes: u64,
    /// Sum of the first and last bytes of those texts.
    pub edges: u64,
    /// Sum of all integers.
    pub integers: i64,
}

/// As a contender reports it: equal text, equal trees.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.nodes, self.text_bytes, self.edges, self.integers)
    }
}

impl Checksum {
    #[inline]
    fn text(&mut self, text: &str) {
        let bytes = black_box(text).as_bytes();
        self.nodes += 1;
        self.text_bytes += bytes.len() as u64;
        if let (Some(first), Some(last)) = (bytes.first(), bytes.last()) {
            self.edges += u64::from(*first) + u64::from(*last);
        }
    }

    /// A keyword whose reader hands over the name without the colon; in JSON the colon is in the string.
    #[inline]
    fn keyword(&mut self, name: &str) {
        let bytes = black_box(name).as_bytes();
        self.nodes += 1;
        self.text_bytes += bytes.len() as u64 + 1;
        self.edges += u64::from(b':') + u64::from(bytes.last().copied().unwrap_or(b':'));
    }

    #[inline]
    fn integer(&mut self, number: i64) {
        self.nodes += 1;
        self.integers = self.integers.wrapping_add(number);
    }

    /// A list, `nil` or `t`.
    #[inline]
    fn node(&mut self) {
        self.nodes += 1;
    }
}

/// Walks bridle's tape, which has its nodes in the order of the text.
pub fn bridle(root: Node<'_>) -> Checksum {
    let mut sum = Checksum::default();
    for node in root.descendants() {
        if let Some(name) = node.keyword() {
            sum.keyword(&name);
        } else if let Some(number) = node.as_i64() {
            sum.integer(number);
        } else if let Some(text) = node.as_str().or_else(|| node.symbol()) {
            sum.text(&text);
        } else {
            sum.node();
        }
    }
    sum
}

/// Walks bridle's owned value.
pub fn bridle_value(value: &bridle_sexp::Value, sum: &mut Checksum) {
    use bridle_sexp::Value;
    match value {
        Value::List(items) => {
            sum.node();
            for item in items {
                bridle_value(item, sum);
            }
        }
        Value::Str(text) => sum.text(text),
        Value::Keyword(keyword) => sum.keyword(keyword.spelling()),
        Value::Symbol(symbol) => sum.text(symbol.spelling()),
        Value::Int(number) => sum.integer(*number),
        _ => sum.node(),
    }
}

/// Walks a `serde_json` value.
pub fn serde_json(value: &serde_json::Value, sum: &mut Checksum) {
    match value {
        serde_json::Value::Array(items) => {
            sum.node();
            for item in items {
                serde_json(item, sum);
            }
        }
        serde_json::Value::String(text) => sum.text(text),
        serde_json::Value::Number(number) => {
            sum.integer(number.as_i64().expect("the document has small integers"));
        }
        _ => sum.node(),
    }
}

/// Walks a borrowed `simd-json` value.
pub fn simd_borrowed(value: &simd_json::BorrowedValue<'_>, sum: &mut Checksum) {
    use simd_json::{BorrowedValue, StaticNode};
    match value {
        BorrowedValue::Array(items) => {
            sum.node();
            for item in items.iter() {
                simd_borrowed(item, sum);
            }
        }
        BorrowedValue::String(text) => sum.text(text),
        BorrowedValue::Static(StaticNode::I64(number)) => sum.integer(*number),
        BorrowedValue::Static(StaticNode::U64(number)) => sum.integer(number.cast_signed()),
        _ => sum.node(),
    }
}

/// Walks an owned `simd-json` value.
pub fn simd_owned(value: &simd_json::OwnedValue, sum: &mut Checksum) {
    use simd_json::{OwnedValue, StaticNode};
    match value {
        OwnedValue::Array(items) => {
            sum.node();
            for item in items.iter() {
                simd_owned(item, sum);
            }
        }
        OwnedValue::String(text) => sum.text(text),
        OwnedValue::Static(StaticNode::I64(number)) => sum.integer(*number),
        OwnedValue::Static(StaticNode::U64(number)) => sum.integer(number.cast_signed()),
        _ => sum.node(),
    }
}

/// Walks a `simd-json` tape, which is flat: a list is a node followed by its items.
pub fn simd_tape(tape: &[simd_json::Node<'_>]) -> Checksum {
    use simd_json::{Node, StaticNode};
    let mut sum = Checksum::default();
    for node in tape {
        match node {
            Node::String(text) => sum.text(text),
            Node::Static(StaticNode::I64(number)) => sum.integer(*number),
            Node::Static(StaticNode::U64(number)) => sum.integer(number.cast_signed()),
            _ => sum.node(),
        }
    }
    sum
}

/// Walks a `sonic-rs` value.
pub fn sonic(value: &sonic_rs::Value, sum: &mut Checksum) {
    use sonic_rs::{JsonNumberTrait as _, ValueRef};
    match value.as_ref() {
        ValueRef::Array(items) => {
            sum.node();
            for item in items.iter() {
                sonic(item, sum);
            }
        }
        ValueRef::String(text) => sum.text(text),
        ValueRef::Number(number) => {
            sum.integer(number.as_i64().expect("the document has small integers"));
        }
        _ => sum.node(),
    }
}

/// Walks a `lexpr` value.
pub fn lexpr(value: &lexpr::Value, sum: &mut Checksum) {
    use lexpr::Value;
    match value {
        Value::Cons(pair) => {
            sum.node();
            for link in pair.iter() {
                lexpr(link.car(), sum);
            }
        }
        Value::String(text) => sum.text(text),
        Value::Keyword(name) => sum.keyword(name),
        // The elisp options of lexpr have no `t`: there it is a symbol like others.
        Value::Symbol(name) if &**name == "t" => sum.node(),
        Value::Symbol(name) => sum.text(name),
        Value::Number(number) => {
            sum.integer(number.as_i64().expect("the document has small integers"));
        }
        _ => sum.node(),
    }
}
