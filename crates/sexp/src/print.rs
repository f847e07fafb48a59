//! Text from values, in either Lisp's syntax.
//!
//! The Lisp dialect is the canonical text: what is hashed, signed and compared. Iterative.

use crate::limits::Dialect;
use crate::read::string;
use crate::symbol;
use crate::value::Value;

/// Appends the text of `value`.
pub fn print(value: &Value, dialect: Dialect, out: &mut String) {
    let Some(mut list) = OpenList::of(value, dialect, out) else {
        return atom(value, dialect, out);
    };
    // The lists around it: most have none.
    let mut around: Vec<OpenList<'_>> = Vec::new();
    loop {
        match list.next(out) {
            Some(value) => match OpenList::of(value, dialect, out) {
                Some(inside) => around.push(std::mem::replace(&mut list, inside)),
                None => atom(value, dialect, out),
            },
            None => {
                out.push(list.close);
                let Some(outside) = around.pop() else { return };
                list = outside;
            }
        }
    }
}

/// Appends the canonical text of a string: what [`print`](fn@print) writes for a value that holds it.
pub fn print_str(contents: &str, out: &mut String) {
    string::write(contents, Dialect::Lisp, out);
}

/// Appends the canonical text of an integer.
pub fn print_int(number: i64, out: &mut String) {
    integer(number, out);
}

/// Appends the digits of a count, without the machinery of formatting.
pub fn print_count(number: u64, out: &mut String) {
    // Most that are written are counts of little or nothing.
    if let Ok(digit @ 0..10) = u8::try_from(number) {
        return out.push(char::from(b'0' + digit));
    }
    // As many as the largest number has.
    let mut digits = [b'0'; 20];
    let (mut rest, mut first) = (number, digits.len());
    loop {
        first -= 1;
        // Less than ten.
        digits[first] += u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[first..]).unwrap_or_default());
}

/// Appends the canonical text of the keyword of these characters.
pub fn print_keyword(name: &str, out: &mut String) {
    out.push(':');
    match symbol::is_plain(name) {
        true => out.push_str(name),
        false => out.push_str(symbol::Keyword::from_name(name).spelling()),
    }
}

/// A list that is being printed.
struct OpenList<'v> {
    elements: std::slice::Iter<'v, Value>,
    tail: Option<&'v Value>,
    is_first: bool,
    close: char,
}

impl<'v> OpenList<'v> {
    /// Writes what opens `value`, if it has elements to print.
    fn of(value: &'v Value, dialect: Dialect, out: &mut String) -> Option<Self> {
        let (elements, tail, opening, close) = match value {
            Value::List(elements) if !elements.is_empty() => (elements, None, "(", ')'),
            Value::Dotted(elements, tail) => (elements, Some(&**tail), "(", ')'),
            Value::Vector(elements) => {
                let bracket = dialect == Dialect::Emacs || looks_propertized(elements);
                let (opening, close) = if bracket { ("[", ']') } else { ("#(", ')') };
                (elements, None, opening, close)
            }
            Value::Propertized { text, runs } => {
                out.push_str("#(");
                string::write(text, dialect, out);
                let elements = runs.iter();
                return Some(Self { elements, tail: None, is_first: false, close: ')' });
            }
            _ => return None,
        };
        out.push_str(opening);
        Some(Self { elements: elements.iter(), tail, is_first: true, close })
    }

    /// The next element to print, after writing what stands before it.
    fn next(&mut self, out: &mut String) -> Option<&'v Value> {
        if let Some(element) = self.elements.next() {
            if !self.is_first {
                out.push(' ');
            }
            self.is_first = false;
            return Some(element);
        }
        let tail = self.tail.take()?;
        out.push_str(" . ");
        Some(tail)
    }
}

/// Whether a vector written with `#(` would be read back as a propertized string.
pub(crate) fn looks_propertized(elements: &[Value]) -> bool {
    let Some((Value::Str(_), runs)) = elements.split_first() else { return false };
    is_runs(runs)
}

/// Whether these are triples of two integers and a property list, at least one.
pub(crate) fn is_runs(runs: &[Value]) -> bool {
    let is_integer = |value: &Value| matches!(value, Value::Int(_) | Value::BigInt(_));
    !runs.is_empty()
        && runs.len().is_multiple_of(3)
        && runs.chunks_exact(3).all(|run| {
            is_integer(&run[0])
                && is_integer(&run[1])
                && matches!(run[2], Value::List(_) | Value::Nil)
        })
}

fn atom(value: &Value, dialect: Dialect, out: &mut String) {
    match value {
        Value::T => out.push('t'),
        Value::Symbol(symbol) => match dialect {
            Dialect::Lisp => out.push_str(symbol.spelling()),
            Dialect::Emacs => symbol::write_emacs(symbol.spelling(), out),
        },
        Value::Keyword(keyword) => match dialect {
            Dialect::Lisp => {
                out.push(':');
                out.push_str(keyword.spelling());
            }
            Dialect::Emacs => symbol::write_emacs(&format!(":{}", keyword.spelling()), out),
        },
        Value::Str(contents) => string::write(contents, dialect, out),
        Value::Int(number) => integer(*number, out),
        Value::BigInt(text) | Value::Ratio(text) => out.push_str(text),
        Value::Float(float) => out.push_str(float.text()),
        Value::Char(c) => c.write(dialect, out),
        Value::Nil
        | Value::List(_)
        | Value::Dotted(..)
        | Value::Vector(_)
        | Value::Propertized { .. } => out.push_str("nil"),
    }
}

fn integer(number: i64, out: &mut String) {
    if number < 0 {
        out.push('-');
    }
    print_count(number.unsigned_abs(), out);
}
