//! JSON text from values. Iterative, as deep as the value.

use super::tag::{Looks, Shape, Tag, is_json_fraction};
use crate::limits::Dialect;
use crate::print::print;
use crate::value::Value;

/// Appends the JSON text of `value`, without blanks.
pub fn to_json(value: &Value, out: &mut String) {
    let mut open: Vec<OpenContainer<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next {
            match OpenContainer::of(value, out) {
                Some(container) => open.push(container),
                None => atom(value, out),
            }
        }
        let Some(container) = open.last_mut() else { return };
        next = container.next(out);
        if next.is_none() {
            out.push_str(container.close);
            open.pop();
        }
    }
}

/// An array or object that is being written.
struct OpenContainer<'v> {
    elements: std::slice::Iter<'v, Value>,
    tail: Option<&'v Value>,
    keys: Keys,
    is_first: bool,
    close: &'static str,
}

/// Keys that the elements of a container begin with.
#[derive(Clone, Copy)]
enum Keys {
    /// An array: no keys.
    None,
    /// Strings, after this mark.
    Strings(&'static str),
    /// Keywords.
    Keywords,
}

impl<'v> OpenContainer<'v> {
    /// Writes what opens `value`, if it is a container with something in it.
    fn of(value: &'v Value, out: &mut String) -> Option<Self> {
        let array = |elements: &'v [Value], close| Self {
            elements: elements.iter(),
            tail: None,
            keys: Keys::None,
            is_first: true,
            close,
        };
        match value {
            Value::Vector(elements) => {
                out.push('[');
                Some(array(elements, "]"))
            }
            Value::List(elements) => Self::of_list(elements, out),
            Value::Dotted(elements, tail) => {
                open_tag(Tag::Dotted, out);
                Some(Self { tail: Some(tail), ..array(elements, "]}") })
            }
            Value::Propertized { text, runs } => {
                open_tag(Tag::Propertized, out);
                string(text, out);
                Some(Self { is_first: false, ..array(runs, "]}") })
            }
            _ => None,
        }
    }

    fn of_list(elements: &'v [Value], out: &mut String) -> Option<Self> {
        let keys = match Shape::of(elements) {
            Shape::EmptyObject => return None,
            Shape::Other => {
                open_tag(Tag::List, out);
                let (elements, keys) = (elements.iter(), Keys::None);
                return Some(Self { elements, tail: None, keys, is_first: true, close: "]}" });
            }
            Shape::Keywords => Keys::Keywords,
            Shape::Strings => Keys::Strings(match Looks::of(elements) {
                Looks::Plain => "",
                Looks::Tagged(..) => "#",
                Looks::Keywords(_) => ":",
            }),
        };
        out.push('{');
        Some(Self { elements: elements.iter(), tail: None, keys, is_first: true, close: "}" })
    }

    /// The next value to write, after writing its key.
    fn next(&mut self, out: &mut String) -> Option<&'v Value> {
        let element = self.elements.next().or_else(|| self.tail.take())?;
        if !self.is_first {
            out.push(',');
        }
        self.is_first = false;
        match (self.keys, element) {
            (Keys::None, element) => return Some(element),
            (Keys::Strings(mark), Value::Str(key)) => {
                out.push('"');
                out.push_str(mark);
                escaped(key, out);
            }
            (_, key) => {
                out.push_str("\":");
                escaped(key.as_keyword().unwrap_or_default(), out);
            }
        }
        out.push_str("\":");
        self.elements.next()
    }
}

fn open_tag(tag: Tag, out: &mut String) {
    out.push_str("{\"");
    out.push_str(tag.key());
    out.push_str("\":[");
}

fn tagged(tag: Tag, text: &str, out: &mut String) {
    out.push_str("{\"");
    out.push_str(tag.key());
    out.push_str("\":");
    string(text, out);
    out.push('}');
}

fn atom(value: &Value, out: &mut String) {
    match value {
        Value::Nil => out.push_str("{\"#list\":[]}"),
        Value::T => out.push_str("true"),
        Value::Str(text) => string(text, out),
        Value::Symbol(symbol) => tagged(Tag::Symbol, symbol.spelling(), out),
        Value::Keyword(keyword) => match keyword.spelling() {
            constant @ ("false" | "null") => out.push_str(constant),
            spelling => tagged(Tag::Keyword, spelling, out),
        },
        Value::Int(_) | Value::BigInt(_) => print(value, Dialect::Lisp, out),
        Value::Float(float) if is_json_fraction(float.text()) => out.push_str(float.text()),
        Value::Float(float) => tagged(Tag::Float, float.text(), out),
        Value::Ratio(text) => tagged(Tag::Ratio, text, out),
        Value::Char(c) => {
            let mut name = String::new();
            c.write_name(&mut name);
            tagged(Tag::Char, &name, out);
        }
        // The only list that opens nothing.
        Value::List(_) => out.push_str("{}"),
        Value::Dotted(..) | Value::Vector(_) | Value::Propertized { .. } => {}
    }
}

fn string(contents: &str, out: &mut String) {
    out.push('"');
    escaped(contents, out);
    out.push('"');
}

fn escaped(contents: &str, out: &mut String) {
    let mut copied = 0;
    for (at, byte) in contents.bytes().enumerate() {
        if !matches!(byte, b'"' | b'\\' | 0..=0x1F) {
            continue;
        }
        out.push_str(&contents[copied..at]);
        copied = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
    }
    out.push_str(&contents[copied..]);
}
