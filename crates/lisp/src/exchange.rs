//! Data between host and instance: values of `bridle_sexp` to words and back.

use bridle_sexp::Value;

use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::symbols::{SymbolHome, well_known};
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::{NIL, T, Word, tag};

/// Nesting of data that is handed over.
const DEPTH: usize = 500;

impl Machine {
    pub(crate) fn import(&mut self, value: &Value, depth: usize) -> StepResult {
        if depth > DEPTH {
            return Err(limit(LimitKind::Depth));
        }
        self.charge(1)?;
        Ok(match value {
            Value::Nil => NIL,
            Value::T => T,
            Value::Symbol(_) => {
                let name = lisp_name(value.as_symbol().unwrap_or_default());
                let known = self.symbols.find(SymbolHome::Lisp, &name);
                Word::symbol(known.unwrap_or_else(|| self.symbols.intern(SymbolHome::User, &name)))
            }
            Value::Keyword(_) => {
                let name = lisp_name(value.as_keyword().unwrap_or_default());
                self.symbols.keyword(&name)
            }
            Value::Str(text) => self.make_text(&**text)?,
            Value::Propertized { text, .. } => self.make_text(&**text)?,
            Value::Int(number) => self.int_word(*number)?,
            Value::BigInt(digits) | Value::Ratio(digits) => self.parse_number(digits)?,
            Value::Float(float) => match float.to_f64() {
                Some(number) if number.is_finite() => self.double_word(number)?,
                _ => return self.refuse("a float without a value"),
            },
            Value::Char(_) => {
                let text = value.to_string();
                let name: Vec<char> = text.trim_start_matches("#\\").chars().collect();
                match name.as_slice() {
                    [one] => Word::character(*one),
                    _ => {
                        let name: String = name.into_iter().collect();
                        let found = crate::read::character_named(&name);
                        Word::character(found.unwrap_or('?'))
                    }
                }
            }
            Value::List(_) | Value::Dotted(..) | Value::Vector(_) => {
                let mut words = Vec::new();
                for element in value.elements().unwrap_or_default() {
                    words.push(self.import(element, depth + 1)?);
                }
                self.reserve(words.len() * 16)?;
                match value {
                    Value::Vector(_) => self.heap.vector_word(words),
                    Value::Dotted(_, tail) => {
                        let tail = self.import(tail, depth + 1)?;
                        self.heap.list_with_tail(&words, tail)
                    }
                    _ => self.heap.list(&words),
                }
            }
        })
    }

    pub(crate) fn export(&mut self, word: Word, depth: usize) -> StepResult<Value> {
        if depth > DEPTH {
            return Err(limit(LimitKind::Depth));
        }
        self.charge(1)?;
        if let Some(number) = word.as_fixnum() {
            return Ok(Value::Int(number));
        }
        Ok(match word.tag() {
            tag::SYMBOL => match word.payload() {
                well_known::NIL => Value::Nil,
                well_known::T => Value::T,
                symbol if self.symbols.home(symbol) == SymbolHome::Keyword => {
                    Value::keyword(&data_name(self.symbols.name(symbol)))
                }
                symbol => Value::symbol(&data_name(self.symbols.name(symbol))),
            },
            tag::CONS => {
                let mut elements = Vec::new();
                let mut rest = word;
                while rest.is_cons() {
                    let pair = self.heap.pair(rest);
                    elements.push(self.export(pair.car, depth + 1)?);
                    rest = pair.cdr;
                    if elements.len() * 32 > self.heap.limit {
                        return Err(limit(LimitKind::Heap));
                    }
                }
                let tail = self.export(rest, depth + 1)?;
                Value::dotted(elements, tail)
            }
            tag::SINGLE => Value::float(f64::from(word.as_single().unwrap_or(0.0))),
            tag::CHARACTER => Value::str(word.as_character().unwrap_or('?').to_string()),
            _ => self.export_object(word, depth)?,
        })
    }

    fn export_object(&mut self, word: Word, depth: usize) -> StepResult<Value> {
        match self.heap.get(word) {
            Some(HeapObject::Text(text, _)) => Ok(Value::str(text.to_owned_string())),
            Some(HeapObject::Double(number)) => Ok(Value::float(*number)),
            Some(HeapObject::Big(number)) => Ok(Value::BigInt(number.to_string().into())),
            Some(HeapObject::Ratio(parts)) => {
                Ok(Value::Ratio(format!("{}/{}", parts.numerator, parts.denominator).into()))
            }
            Some(HeapObject::Vector(words, _)) => {
                let words = words.clone();
                let mut elements = Vec::new();
                for word in words {
                    elements.push(self.export(word, depth + 1)?);
                }
                Ok(Value::vector(elements))
            }
            _ => Err(self.simple_error("a value that is no data cannot be handed to the host")),
        }
    }
}

/// The data language spells plain names in lower case, Lisp in upper case; others stay as they are.
fn lisp_name(spelling: &str) -> String {
    if spelling.chars().any(char::is_uppercase) {
        spelling.to_owned()
    } else {
        spelling.to_uppercase()
    }
}

fn data_name(name: &str) -> String {
    if name.chars().any(char::is_lowercase) { name.to_owned() } else { name.to_lowercase() }
}
