//! Data between host and instance: values of `bridle_sexp` to words and back.

use bridle_sexp::Value;

use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::number::RealNumber;
use crate::symbols::{SymbolHome, well_known};
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::{NIL, T, Word, tag};

/// Nesting of data that is handed over.
const MAX_VALUE_DEPTH: usize = 500;

impl Machine {
    pub(crate) fn import(&mut self, value: &Value, depth: usize) -> StepResult {
        if depth > MAX_VALUE_DEPTH {
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

    /// Data for the host. What several places share is copied for each: all of it stays below the heap's limit.
    pub(crate) fn export(&mut self, word: Word) -> StepResult<Value> {
        let mut room = self.heap.limit;
        self.export_part(word, 0, &mut room)
    }

    fn export_part(&mut self, word: Word, depth: usize, room: &mut usize) -> StepResult<Value> {
        if depth > MAX_VALUE_DEPTH {
            return Err(limit(LimitKind::Depth));
        }
        self.charge(1)?;
        take_room(room, size_of::<Value>())?;
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
                    elements.push(self.export_part(pair.car, depth + 1, room)?);
                    rest = pair.cdr;
                }
                let tail = self.export_part(rest, depth + 1, room)?;
                Value::dotted(elements, tail)
            }
            tag::SINGLE => Value::float(f64::from(word.as_single().unwrap_or(0.0))),
            tag::CHARACTER => Value::str(word.as_character().unwrap_or('?').to_string()),
            _ => self.export_object(word, depth, room)?,
        })
    }

    fn export_object(&mut self, word: Word, depth: usize, room: &mut usize) -> StepResult<Value> {
        self.charge_export(word, room)?;
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
                    elements.push(self.export_part(word, depth + 1, room)?);
                }
                Ok(Value::vector(elements))
            }
            _ => Err(self.simple_error("a value that is no data cannot be handed to the host")),
        }
    }
    /// Takes what a text or number becomes from the fuel and the room, before it is copied.
    fn charge_export(&mut self, word: Word, room: &mut usize) -> StepResult<()> {
        match self.heap.get(word) {
            Some(HeapObject::Text(text, _)) => {
                let bytes = text.bytes();
                take_room(room, bytes)?;
                self.charge(bytes / 64)
            }
            Some(HeapObject::Big(_) | HeapObject::Ratio(_)) => {
                // A digit is more than three bits.
                take_room(room, self.digit_steps(word).saturating_mul(64 * 8 / 3))?;
                match self.number(word)? {
                    RealNumber::Ratio(parts) => {
                        self.charge_digits(&parts.numerator)?;
                        self.charge_digits(&parts.denominator)
                    }
                    RealNumber::Integer(number) => self.charge_digits(&number),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn take_room(room: &mut usize, bytes: usize) -> StepResult<()> {
    *room = room.checked_sub(bytes).ok_or_else(|| limit(LimitKind::Heap))?;
    Ok(())
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
