//! Types of values: predicates, `%typep` for what needs no function, `type-of`.
//!
//! long: a match with an arm for each type.

use num_traits::Signed as _;

use super::{NativeFunction, native};
use crate::equality::{is_eql, is_function};
use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::symbols::{SymbolHome, well_known as w};
use crate::trap::StepResult;
use crate::value::{NIL, T, Word, tag};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("consp", 1, 1, |m, a| Ok(Word::truth(m.argument(a, 0).is_cons()))),
    native("atom", 1, 1, |m, a| Ok(Word::truth(!m.argument(a, 0).is_cons()))),
    native("listp", 1, 1, |m, a| is(m, m.argument(a, 0), w::LIST)),
    native("symbolp", 1, 1, |m, a| is(m, m.argument(a, 0), w::SYMBOL)),
    native("keywordp", 1, 1, |m, a| is(m, m.argument(a, 0), w::KEYWORD)),
    native("stringp", 1, 1, |m, a| is(m, m.argument(a, 0), w::STRING)),
    native("simple-string-p", 1, 1, |m, a| is(m, m.argument(a, 0), w::SIMPLE_STRING)),
    native("characterp", 1, 1, |m, a| is(m, m.argument(a, 0), w::CHARACTER)),
    native("vectorp", 1, 1, |m, a| is(m, m.argument(a, 0), w::VECTOR)),
    native("simple-vector-p", 1, 1, |m, a| is(m, m.argument(a, 0), w::SIMPLE_VECTOR)),
    native("arrayp", 1, 1, |m, a| is(m, m.argument(a, 0), w::VECTOR)),
    native("numberp", 1, 1, |m, a| is(m, m.argument(a, 0), w::NUMBER)),
    native("realp", 1, 1, |m, a| is(m, m.argument(a, 0), w::NUMBER)),
    native("integerp", 1, 1, |m, a| is(m, m.argument(a, 0), w::INTEGER)),
    native("rationalp", 1, 1, |m, a| is(m, m.argument(a, 0), w::RATIONAL)),
    native("floatp", 1, 1, |m, a| is(m, m.argument(a, 0), w::FLOAT)),
    native("%typep", 2, 2, |m, a| {
        m.is_of_type(m.argument(a, 0), m.argument(a, 1)).map(Word::truth)
    }),
    native("%type-error", 2, 2, |m, a| Err(m.wrong_type(m.argument(a, 0), m.argument(a, 1)))),
    native("type-of", 1, 1, |m, a| type_of(m, m.argument(a, 0))),
];

/// Types of which the core has no values.
const TYPES_WITHOUT_VALUES: &[&str] = &[
    "BIT-VECTOR",
    "SIMPLE-BIT-VECTOR",
    "COMPLEX",
    "PATHNAME",
    "LOGICAL-PATHNAME",
    "PACKAGE",
    "READTABLE",
    "RANDOM-STATE",
    "RESTART",
    "CLASS",
    "METHOD",
    "FILE-STREAM",
];

/// Element types that SBCL has no special arrays for.
const GENERAL_ELEMENTS: &[&str] = &[
    "T",
    "SYMBOL",
    "LIST",
    "CONS",
    "FUNCTION",
    "HASH-TABLE",
    "STRING",
    "VECTOR",
    "INTEGER",
    "NUMBER",
    "REAL",
    "RATIONAL",
    "RATIO",
];

/// Element types of arrays that the core does not have.
const NUMBER_ELEMENTS: &[&str] = &["NIL", "BIT", "FIXNUM", "SINGLE-FLOAT", "DOUBLE-FLOAT"];

fn is(m: &mut Machine, word: Word, kind: u32) -> StepResult {
    m.is_of_named_type(word, kind).map(Word::truth)
}

impl Machine {
    fn is_of_named_type(&mut self, word: Word, kind: u32) -> StepResult<bool> {
        let object = self.heap.get(word);
        let is_integer = word.is_fixnum() || matches!(object, Some(HeapObject::Big(_)));
        let is_ratio = matches!(object, Some(HeapObject::Ratio(_)));
        let is_single = word.tag() == tag::SINGLE;
        let is_double = matches!(object, Some(HeapObject::Double(_)));
        let is_float = is_single || is_double;
        let character = word.as_character();
        Ok(match kind {
            w::T => true,
            w::NIL => false,
            w::NULL => word.is_nil(),
            w::LIST => word.is_cons() || word.is_nil(),
            w::CONS => word.is_cons(),
            w::ATOM => !word.is_cons(),
            w::SYMBOL => word.is_symbol(),
            w::KEYWORD => {
                word.as_symbol().is_some_and(|s| self.symbols.home(s) == SymbolHome::Keyword)
            }
            w::BOOLEAN => word == T || word == NIL,
            w::INTEGER => is_integer,
            w::FIXNUM => word.is_fixnum(),
            w::BIGNUM => is_integer && !word.is_fixnum(),
            w::BIT => word == Word::fixnum(0) || word == Word::fixnum(1),
            w::UNSIGNED_BYTE => match object {
                Some(HeapObject::Big(number)) => !number.is_negative(),
                _ => word.as_fixnum().is_some_and(|number| number >= 0),
            },
            w::RATIO => is_ratio,
            w::RATIONAL => is_integer || is_ratio,
            w::FLOAT => is_float,
            w::SINGLE_FLOAT => is_single,
            w::DOUBLE_FLOAT => is_double,
            w::REAL | w::NUMBER => is_integer || is_ratio || is_float,
            w::CHARACTER => character.is_some(),
            w::BASE_CHAR => character.is_some_and(|c| c.is_ascii()),
            w::STANDARD_CHAR => character.is_some_and(|c| c == '\n' || matches!(c, ' '..='~')),
            w::STRING => matches!(object, Some(HeapObject::Text(..))),
            w::SIMPLE_STRING => {
                matches!(object, Some(HeapObject::Text(_, shape)) if shape.is_simple())
            }
            w::VECTOR | w::ARRAY => {
                matches!(object, Some(HeapObject::Text(..) | HeapObject::Vector(..)))
            }
            w::SIMPLE_VECTOR => matches!(object, Some(HeapObject::Vector(_, s)) if s.is_simple()),
            w::SIMPLE_ARRAY => {
                matches!(object, Some(HeapObject::Vector(_, s) | HeapObject::Text(_, s)) if s.is_simple())
            }
            w::SEQUENCE => {
                word.is_cons()
                    || word.is_nil()
                    || matches!(object, Some(HeapObject::Text(..) | HeapObject::Vector(..)))
            }
            w::FUNCTION | w::COMPILED_FUNCTION => is_function(&self.heap, word),
            w::HASH_TABLE => matches!(object, Some(HeapObject::Table(_))),
            w::STREAM => matches!(object, Some(HeapObject::Stream(_))),
            w::STRUCTURE_OBJECT => {
                self.record(word).is_some_and(|(kind, _)| !self.types.get(kind).is_condition)
            }
            _ => return self.is_of_record_type(word, kind),
        })
    }

    fn is_of_record_type(&mut self, word: Word, kind: u32) -> StepResult<bool> {
        if let Some(number) = self.types.find(kind) {
            return Ok(self
                .record(word)
                .is_some_and(|(own, _)| self.types.is_subtype(own, number)));
        }
        if self.symbols.home(kind) == SymbolHome::Lisp {
            let name = self.symbols.name(kind).to_owned();
            let is_text = matches!(self.heap.get(word), Some(HeapObject::Text(..)));
            return match name.as_str() {
                "SHORT-FLOAT" => Ok(word.tag() == tag::SINGLE),
                "LONG-FLOAT" => self.is_of_named_type(word, w::DOUBLE_FLOAT),
                "EXTENDED-CHAR" => Ok(word.as_character().is_some_and(|c| !c.is_ascii())),
                "BASE-STRING" | "SIMPLE-BASE-STRING" if !is_text => Ok(false),
                name if TYPES_WITHOUT_VALUES.contains(&name) => Ok(false),
                name => self.refuse(&format!("type {name}")),
            };
        }
        let text = format!("unknown type specifier: {}", self.symbols.name(kind));
        Err(self.simple_error(&text))
    }

    /// `typep` for types that name no function.
    pub(crate) fn is_of_type(&mut self, word: Word, kind: Word) -> StepResult<bool> {
        if let Some(symbol) = kind.as_symbol() {
            return self.is_of_named_type(word, symbol);
        }
        if !kind.is_cons() {
            return Err(self.simple_error("bad thing to be a type specifier"));
        }
        let parts = self.list_elements(kind)?;
        let Some(head) = parts.first().and_then(|head| head.as_symbol()) else {
            return Err(self.simple_error("unknown type specifier"));
        };
        let rest = &parts[1..];
        self.charge(self.digit_steps(word).saturating_mul(rest.len()))?;
        match head {
            w::MEMBER => Ok(rest.iter().any(|one| is_eql(&self.heap, *one, word))),
            w::EQL => Ok(rest.first().is_some_and(|one| is_eql(&self.heap, *one, word))),
            w::INTEGER | w::FLOAT | w::REAL | w::RATIONAL | w::SINGLE_FLOAT | w::DOUBLE_FLOAT => {
                Ok(self.is_of_named_type(word, head)? && self.is_between(word, rest)?)
            }
            w::MOD => {
                let low = [Word::fixnum(0)];
                let below = rest.first().copied().unwrap_or(NIL);
                Ok(self.is_of_named_type(word, w::INTEGER)?
                    && self.is_between(word, &low)?
                    && self.is_less(word, below)?)
            }
            w::UNSIGNED_BYTE => {
                let bits = rest.first().copied().unwrap_or(Word::symbol(w::STAR));
                if !self.is_of_named_type(word, head)? || bits == Word::symbol(w::STAR) {
                    return self.is_of_named_type(word, head);
                }
                let length = self.integer_length(word)?;
                self.is_less_or_equal(length, bits)
            }
            w::STRING | w::SIMPLE_STRING | w::SIMPLE_VECTOR => {
                if !self.is_of_named_type(word, head)? {
                    return Ok(false);
                }
                let length = super::sequences::length(self, word)?;
                Ok(rest.first().is_none_or(|size| {
                    *size == Word::symbol(w::STAR) || *size == Word::count(length)
                }))
            }
            w::CONS if rest.is_empty() => Ok(word.is_cons()),
            w::ARRAY | w::SIMPLE_ARRAY | w::VECTOR => {
                Ok(self.is_of_named_type(word, head)?
                    && self.is_array_of(word, head, kind, rest)?)
            }
            _ if self.symbols.name(head) == "SIGNED-BYTE" => {
                let bits = rest.first().copied().unwrap_or(Word::symbol(w::STAR));
                if !self.is_of_named_type(word, w::INTEGER)? || bits == Word::symbol(w::STAR) {
                    return self.is_of_named_type(word, w::INTEGER);
                }
                let length = self.integer_length(word)?;
                self.is_less(length, bits)
            }
            _ => {
                let name = self.print_to_string(kind);
                self.refuse(&format!("type {name}"))
            }
        }
    }

    /// Whether a vector or string has this element type and size. Strings of SBCL are of two kinds, which are one
    /// here.
    fn is_array_of(
        &mut self,
        word: Word,
        head: u32,
        kind: Word,
        rest: &[Word],
    ) -> StepResult<bool> {
        let star = Word::symbol(w::STAR);
        let element = rest.first().copied().unwrap_or(star);
        let is_text = matches!(self.heap.get(word), Some(HeapObject::Text(..)));
        let name = element.as_symbol().map(|symbol| self.symbols.name(symbol));
        let has_element = match name {
            Some("*") => true,
            Some(name) if GENERAL_ELEMENTS.contains(&name) => !is_text,
            Some(name) if NUMBER_ELEMENTS.contains(&name) => false,
            Some("CHARACTER") if !is_text => false,
            _ => {
                let name = self.print_to_string(kind);
                return self.refuse(&format!("type {name}"));
            }
        };
        let size = rest.get(1).copied().unwrap_or(star);
        let size = match (head, self.list_elements(size)) {
            (w::VECTOR, _) => size,
            (_, Ok(sizes)) => match sizes[..] {
                [size] => size,
                _ => return Ok(false),
            },
            _ if size == star || size == Word::fixnum(1) => star,
            _ => return Ok(false),
        };
        let count = match self.heap.get(word) {
            Some(HeapObject::Text(text, shape)) => shape.size(text.len()),
            Some(HeapObject::Vector(words, shape)) => shape.size(words.len()),
            _ => return Ok(false),
        };
        Ok(has_element && (size == star || size == Word::count(count)))
    }

    fn is_between(&mut self, word: Word, bounds: &[Word]) -> StepResult<bool> {
        let star = Word::symbol(w::STAR);
        for (index, bound) in bounds.iter().take(2).enumerate() {
            if *bound == star {
                continue;
            }
            let is_open = bound.is_cons();
            let bound = if is_open { self.heap.pair(*bound).car } else { *bound };
            let (low, high) = if index == 0 { (bound, word) } else { (word, bound) };
            let holds =
                if is_open { self.is_less(low, high)? } else { self.is_less_or_equal(low, high)? };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn type_of(m: &mut Machine, word: Word) -> StepResult {
    let symbol = |symbol: u32| Ok(Word::symbol(symbol));
    if let Some(number) = word.as_fixnum() {
        if matches!(number, 0 | 1) {
            return symbol(w::BIT);
        }
        if number >= 0 {
            let high = Word::fixnum(crate::value::MOST_POSITIVE_FIXNUM);
            return m.make_list(&[Word::symbol(w::INTEGER), Word::fixnum(0), high]);
        }
        return symbol(w::FIXNUM);
    }
    match word.tag() {
        tag::SYMBOL if word.is_nil() => symbol(w::NULL),
        tag::SYMBOL if word == T => symbol(w::BOOLEAN),
        tag::SYMBOL if m.is_of_named_type(word, w::KEYWORD)? => symbol(w::KEYWORD),
        tag::SYMBOL => symbol(w::SYMBOL),
        tag::CONS => symbol(w::CONS),
        tag::CHARACTER if m.is_of_named_type(word, w::STANDARD_CHAR)? => symbol(w::STANDARD_CHAR),
        tag::CHARACTER => symbol(w::CHARACTER),
        tag::SINGLE => symbol(w::SINGLE_FLOAT),
        tag::OBJECT => match m.heap.object(word) {
            HeapObject::Double(_) => symbol(w::DOUBLE_FLOAT),
            HeapObject::Ratio(_) => symbol(w::RATIO),
            HeapObject::Table(_) => symbol(w::HASH_TABLE),
            HeapObject::Vector(words, shape) if shape.is_simple() => {
                let count = Word::count(words.len());
                m.make_list(&[Word::symbol(w::SIMPLE_VECTOR), count])
            }
            HeapObject::Structure(kind, _) => symbol(m.types.get(*kind).name),
            _ => m.refuse("TYPE-OF of this value"),
        },
        _ => m.refuse("TYPE-OF of this value"),
    }
}
