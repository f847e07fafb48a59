//! Values from JSON text: strict RFC 8259, iterative, with the reader's default limits.

use super::tag::{Looks, Tag};
use crate::error::{Category, Error, Fault};
use crate::limits::{DEFAULT_DEPTH, DEFAULT_ELEMENTS, DEFAULT_INTEGER_DIGITS};
use crate::symbol::Keyword;
use crate::value::{Float, Value};

/// Reads exactly one JSON text.
///
/// # Errors
/// Text that is not JSON, with lone surrogates, or over a limit.
pub fn from_json(text: &str) -> Result<Value, Error> {
    let mut parser = Parser { text, bytes: text.as_bytes(), at: 0, open: Vec::new(), elements: 0 };
    parser.run().map_err(|fault| Error::at(fault.category, text, fault.at, fault.reason))
}

struct Parser<'s> {
    text: &'s str,
    bytes: &'s [u8],
    at: usize,
    open: Vec<OpenArray>,
    elements: usize,
}

/// An array or object that is being read.
struct OpenArray {
    /// Place of the opening bracket.
    at: usize,
    is_object: bool,
    /// Elements, or keys and values in turn.
    elements: Vec<Value>,
    /// Levels of the value around it, itself included.
    depth: usize,
    /// The most levels of an element.
    height: usize,
}

/// A value and how many levels it has: 0 for an atom.
type Leveled = (Value, usize);

impl Parser<'_> {
    fn run(&mut self) -> Result<Value, Fault> {
        loop {
            let Some(mut done) = self.begin()? else { continue };
            loop {
                self.blanks();
                let Some(open) = self.open.last_mut() else {
                    return if self.at == self.bytes.len() {
                        Ok(done.0)
                    } else {
                        Err(self.fault(Category::Trailing, "expected the end of the text"))
                    };
                };
                open.height = open.height.max(done.1);
                open.elements.push(done.0);
                let close = if open.is_object { b'}' } else { b']' };
                match self.bytes.get(self.at) {
                    Some(b',') => {
                        self.at += 1;
                        self.key_if_object()?;
                        break;
                    }
                    Some(byte) if *byte == close => {
                        self.at += 1;
                        done = self.close()?;
                    }
                    Some(_) => {
                        return Err(self.fault(Category::Json, "expected a comma or the end"));
                    }
                    None => return Err(self.incomplete()),
                }
            }
        }
    }

    /// Reads an atom or an empty container whole; of others only what opens them.
    fn begin(&mut self) -> Result<Option<Leveled>, Fault> {
        self.blanks();
        self.count()?;
        let Some(&byte) = self.bytes.get(self.at) else { return Err(self.incomplete()) };
        let atom = match byte {
            b'[' | b'{' => return self.begin_container(byte == b'{'),
            b'"' => Value::Str(self.string()?.into()),
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.constant("true", Value::T)?,
            b'f' => self.constant("false", Value::Keyword(Keyword("false".into())))?,
            b'n' => self.constant("null", Value::Keyword(Keyword("null".into())))?,
            _ => return Err(self.fault(Category::Json, "expected a JSON value")),
        };
        Ok(Some((atom, 0)))
    }

    fn begin_container(&mut self, is_object: bool) -> Result<Option<Leveled>, Fault> {
        let at = self.at;
        let is_tagged = !is_object && self.is_under_tag();
        let around = self.open.last().map_or(0, |open| open.depth);
        // An array right under a tag is no level of its own: the object around it is the list.
        let depth = around + usize::from(!is_tagged);
        // An object beyond the last level may still turn out to be an atom: closing it tells.
        if depth > DEFAULT_DEPTH + usize::from(is_object || is_tagged) {
            return Err(too_deep(at));
        }
        self.at += 1;
        self.blanks();
        let close = if is_object { b'}' } else { b']' };
        let elements = Vec::new();
        if self.bytes.get(self.at) == Some(&close) {
            self.at += 1;
            if depth > DEFAULT_DEPTH && !is_tagged {
                return Err(too_deep(at));
            }
            let object = || Value::List(vec![Value::Keyword(Keyword("object".into()))]);
            return Ok(Some((if is_object { object() } else { Value::Vector(elements) }, 1)));
        }
        self.open.push(OpenArray { at, is_object, elements, depth, height: 0 });
        self.key_if_object()?;
        Ok(None)
    }

    /// Whether the value that begins here is the first in an object, under a tag for lists.
    fn is_under_tag(&self) -> bool {
        self.open.last().is_some_and(|around| {
            around.is_object
                && matches!(&around.elements[..], [Value::Str(key)]
                    if Tag::in_key(key).is_some_and(|tag| tag.takes_array() && tag.key() == &**key))
        })
    }

    fn close(&mut self) -> Result<Leveled, Fault> {
        let Some(open) = self.open.pop() else { return Err(self.incomplete()) };
        let (value, height) = if open.is_object {
            object(open.elements, open.height)
        } else {
            (Value::Vector(open.elements), open.height + 1)
        };
        // Arrays under tags were not counted; here it shows whether they are vectors after all.
        if open.is_object && height > 0 && open.depth + height > DEFAULT_DEPTH + 1 {
            return Err(too_deep(open.at));
        }
        Ok((value, height))
    }

    fn key_if_object(&mut self) -> Result<(), Fault> {
        if !self.open.last().is_some_and(|open| open.is_object) {
            return Ok(());
        }
        self.blanks();
        self.count()?;
        match self.bytes.get(self.at) {
            Some(b'"') => {}
            Some(_) => return Err(self.fault(Category::Json, "expected a key in quotes")),
            None => return Err(self.incomplete()),
        }
        let key = self.string()?;
        if let Some(open) = self.open.last_mut() {
            open.elements.push(Value::Str(key.into()));
        }
        self.blanks();
        match self.bytes.get(self.at) {
            Some(b':') => self.at += 1,
            Some(_) => return Err(self.fault(Category::Json, "expected a colon after the key")),
            None => return Err(self.incomplete()),
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.elements += 1;
        if self.elements > DEFAULT_ELEMENTS {
            return Err(self.fault(Category::LimitElements, "expected fewer values in one text"));
        }
        Ok(())
    }

    fn blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn constant(&mut self, name: &'static str, value: Value) -> Result<Value, Fault> {
        let rest = &self.text[self.at..];
        if rest.starts_with(name) {
            self.at += name.len();
            return Ok(value);
        }
        if name.starts_with(rest) {
            return Err(self.incomplete());
        }
        Err(self.fault(Category::Json, "expected a JSON value"))
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let refuse = |at| Err(Fault::new(Category::Number, at, "expected a JSON number"));
        self.at += usize::from(self.bytes[self.at] == b'-');
        let has_zero = self.bytes.get(self.at) == Some(&b'0');
        let whole = self.digits();
        if whole == 0 || whole > 1 && has_zero {
            return refuse(start);
        }
        let mut is_integer = true;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            is_integer = false;
            if self.digits() == 0 {
                return refuse(start);
            }
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            is_integer = false;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return refuse(start);
            }
        }
        let text = &self.text[start..self.at];
        if !is_integer {
            return Ok(Value::Float(Float(text.into())));
        }
        if text == "-0" {
            return Ok(Value::Float(Float("-0.0".into())));
        }
        if whole > DEFAULT_INTEGER_DIGITS {
            let reason =
                format!("expected at most `{DEFAULT_INTEGER_DIGITS}` digits, got `{whole}`");
            return Err(Fault::new(Category::LimitDigits, start, reason));
        }
        Ok(text.parse().map_or_else(|_| Value::BigInt(text.into()), Value::Int))
    }

    fn string(&mut self) -> Result<String, Fault> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = &self.bytes[self.at..];
            let Some(run) = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1F)) else {
                return Err(self.incomplete());
            };
            out.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
            match rest[run] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.push(self.escape()?),
                _ => return Err(self.fault(Category::Control, "escape this character instead")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let Some(&letter) = self.bytes.get(start + 1) else { return Err(self.incomplete()) };
        self.at += 2;
        let c = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\x08',
            b'f' => '\x0C',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(start),
            _ => return Err(Fault::new(Category::Escape, start, "no escape of this letter")),
        };
        Ok(c)
    }

    fn unicode(&mut self, start: usize) -> Result<char, Fault> {
        let lone = || Fault::new(Category::Escape, start, "a surrogate without its other half");
        let first = self.hex(start)?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or_else(lone);
        }
        if first >= 0xDC00 || !self.bytes[self.at..].starts_with(b"\\u") {
            return Err(lone());
        }
        self.at += 2;
        let second = self.hex(start)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(lone());
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or_else(lone)
    }

    fn hex(&mut self, start: usize) -> Result<u32, Fault> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let value = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
        self.at += 4;
        value.ok_or_else(|| Fault::new(Category::Escape, start, "expected four hex digits"))
    }

    fn fault(&self, category: Category, reason: &'static str) -> Fault {
        Fault::new(category, self.at, reason)
    }

    fn incomplete(&self) -> Fault {
        let end = self.bytes.len();
        if self.elements <= 1 && self.open.is_empty() && self.text.trim().is_empty() {
            return Fault::new(Category::Empty, end, "expected a JSON value, got only blanks");
        }
        Fault::incomplete(end, "the text ends inside a JSON value")
    }
}

fn too_deep(at: usize) -> Fault {
    Fault::new(Category::LimitDepth, at, format!("expected at most `{DEFAULT_DEPTH}` levels"))
}

/// Makes the value that an object of these keys and values stands for, and counts its levels; `height` is the most
/// levels of a value in it.
fn object(mut elements: Vec<Value>, height: usize) -> Leveled {
    let strip = |key: &mut Value| {
        if let Value::Str(text) = key {
            *key = Value::Str(text[1..].into());
        }
    };
    match Looks::of(&elements) {
        Looks::Plain => {}
        Looks::Tagged(tag, 1) => {
            let value = tag.unwrap(elements.swap_remove(1));
            let levels = if tag.takes_array() && !value.is_nil() { height } else { 0 };
            return (value, levels);
        }
        Looks::Tagged(..) => strip(&mut elements[0]),
        Looks::Keywords(level) => {
            for key in elements.iter_mut().step_by(2) {
                strip(key);
                if let (1, Value::Str(text)) = (level, &mut *key) {
                    *key = Value::Keyword(Keyword(std::mem::take(text)));
                }
            }
        }
    }
    (Value::List(elements), height + 1)
}
