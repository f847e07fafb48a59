//! Values as text, as `prin1` and `princ` print them with `*print-pretty*` off. Iterative: deep and
//! cyclic data cost output, which is limited, and no stack.
//!
//! long: one match over kinds of objects.

use num_bigint::BigInt;

use crate::heap::{HeapObject, TextStream};
use crate::machine::Machine;
use crate::number::float_text::{print_float, shortest_double, shortest_single};
use crate::symbols::{SymbolHome, well_known};
use crate::trap::{LimitKind, StepResult, Trap, TrapKind, limit};
use crate::types::condition;
use crate::value::{NIL, UNBOUND, Word, tag};

/// Settings of the printer, from the variables that a program may bind.
#[derive(Clone, Copy)]
pub(crate) struct PrintStyle {
    pub(crate) escape: bool,
    pub(crate) base: u32,
    pub(crate) radix: bool,
    pub(crate) length: Option<usize>,
    pub(crate) level: Option<usize>,
    pub(crate) case: u32,
    /// Whether the text is a value, not part of a message.
    pub(crate) is_exact: bool,
}

/// Step of printing that is left to do.
enum PrintStep {
    Word(Word, usize),
    Text(&'static str),
    /// Rest of a list, and how many elements were printed.
    Rest(Word, usize, usize),
    /// Vector, next element, depth.
    Elements(Word, usize, usize),
    /// Structure, next slot, depth.
    Slots(Word, usize, usize),
}

/// Names of characters below 33, and of 127.
pub(crate) const CONTROL_NAMES: [&str; 33] = [
    "Nul",
    "Soh",
    "Stx",
    "Etx",
    "Eot",
    "Enq",
    "Ack",
    "Bel",
    "Backspace",
    "Tab",
    "Newline",
    "Vt",
    "Page",
    "Return",
    "So",
    "Si",
    "Dle",
    "Dc1",
    "Dc2",
    "Dc3",
    "Dc4",
    "Nak",
    "Syn",
    "Etb",
    "Can",
    "Em",
    "Sub",
    "Esc",
    "Fs",
    "Gs",
    "Rs",
    "Us",
    "Space",
];

impl Machine {
    pub(crate) fn print_style(&mut self, escape: bool) -> StepResult<PrintStyle> {
        for symbol in
            [well_known::PRINT_PRETTY, well_known::PRINT_CIRCLE, well_known::PRINT_READABLY]
        {
            if self.global(symbol).is_true() {
                let name = self.symbols.name(symbol).to_owned();
                return self.refuse(&format!("{name} other than NIL"));
            }
        }
        let index = |word: Word| word.as_index();
        Ok(PrintStyle {
            escape,
            base: self.global(well_known::PRINT_BASE).as_index().unwrap_or(10).clamp(2, 36) as u32,
            radix: self.global(well_known::PRINT_RADIX).is_true(),
            length: index(self.global(well_known::PRINT_LENGTH)),
            level: index(self.global(well_known::PRINT_LEVEL)),
            case: self.global(well_known::PRINT_CASE).payload(),
            is_exact: true,
        })
    }

    /// Text of a value as `prin1` (`escape`) or `princ` prints it.
    pub(crate) fn print(&mut self, word: Word, escape: bool) -> StepResult<String> {
        let style = self.print_style(escape)?;
        self.print_styled(word, style)
    }

    /// Text of a value for a message; never fails.
    pub(crate) fn print_to_string(&mut self, word: Word) -> String {
        let style = PrintStyle {
            escape: true,
            base: 10,
            radix: false,
            length: Some(12),
            level: Some(4),
            case: well_known::K_UPCASE,
            is_exact: false,
        };
        let mut text = self.print_styled(word, style).unwrap_or_else(|_| "...".to_owned());
        if text.len() > 200 {
            let end = (0..=200).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push_str("...");
        }
        text
    }

    pub(crate) fn print_styled(&mut self, word: Word, style: PrintStyle) -> StepResult<String> {
        let mut out = String::new();
        let mut work = vec![PrintStep::Word(word, 0)];
        let mut steps = 0_usize;
        while let Some(next) = work.pop() {
            steps += 1;
            if steps.is_multiple_of(64) {
                self.charge(64)?;
                if out.len() + work.len() * 24 > self.heap.limit {
                    return Err(limit(LimitKind::Heap));
                }
            }
            match next {
                PrintStep::Text(text) => out.push_str(text),
                PrintStep::Word(word, depth) => {
                    self.print_word(word, depth, style, &mut out, &mut work)?;
                }
                PrintStep::Rest(rest, count, depth) => {
                    if rest.is_nil() {
                        out.push(')');
                    } else if rest.is_cons() && style.length.is_some_and(|length| count >= length) {
                        out.push_str(" ...)");
                    } else if rest.is_cons() {
                        out.push(' ');
                        let pair = self.heap.pair(rest);
                        work.push(PrintStep::Rest(pair.cdr, count + 1, depth));
                        work.push(PrintStep::Word(pair.car, depth));
                    } else {
                        out.push_str(" . ");
                        work.push(PrintStep::Text(")"));
                        work.push(PrintStep::Word(rest, depth));
                    }
                }
                PrintStep::Elements(vector, index, depth) => {
                    let element = self.heap.vector(vector).and_then(|all| all.get(index)).copied();
                    let Some(element) = element else {
                        out.push(')');
                        continue;
                    };
                    if index > 0 {
                        out.push(' ');
                    }
                    if style.length.is_some_and(|length| index >= length) {
                        out.push_str("...)");
                        continue;
                    }
                    work.push(PrintStep::Elements(vector, index + 1, depth));
                    work.push(PrintStep::Word(element, depth));
                }
                PrintStep::Slots(structure, index, depth) => {
                    self.print_slot(structure, index, depth, style, &mut out, &mut work);
                }
            }
        }
        Ok(out)
    }

    fn print_slot(
        &mut self,
        structure: Word,
        index: usize,
        depth: usize,
        style: PrintStyle,
        out: &mut String,
        work: &mut Vec<PrintStep>,
    ) {
        let Some(HeapObject::Structure(kind, slots)) = self.heap.get(structure) else { return };
        let Some(value) = slots.get(index).copied() else {
            out.push(')');
            return;
        };
        out.push(' ');
        if style.length.is_some_and(|length| index >= length) {
            out.push_str("...)");
            return;
        }
        let name = self.types.get(*kind).slots[index].name;
        let name = self.symbols.name(name).to_owned();
        out.push(':');
        out.push_str(&cased(&escape_name(&name), style.case));
        out.push(' ');
        work.push(PrintStep::Slots(structure, index + 1, depth));
        work.push(PrintStep::Word(value, depth));
    }

    fn print_word(
        &mut self,
        word: Word,
        depth: usize,
        style: PrintStyle,
        out: &mut String,
        work: &mut Vec<PrintStep>,
    ) -> StepResult<()> {
        if word.is_fixnum() {
            return self.print_integer(word, style, out);
        }
        let is_too_deep = style.level.is_some_and(|level| depth >= level);
        match word.tag() {
            tag::SYMBOL if style.is_exact && is_backquote(word.payload()) => {
                return self.refuse("printing of a backquote");
            }
            tag::SYMBOL => self.print_symbol(word.payload(), style, out),
            tag::CONS if is_too_deep => out.push('#'),
            tag::CONS => {
                out.push('(');
                if style.length == Some(0) {
                    out.push_str("...)");
                    return Ok(());
                }
                let pair = self.heap.pair(word);
                work.push(PrintStep::Rest(pair.cdr, 1, depth + 1));
                work.push(PrintStep::Word(pair.car, depth + 1));
            }
            tag::CHARACTER => {
                let character = word.as_character().unwrap_or('\0');
                if style.escape {
                    out.push_str("#\\");
                    match character {
                        '\u{0}'..='\u{1f}' => out.push_str(CONTROL_NAMES[character as usize]),
                        '\u{7f}' => out.push_str("Rubout"),
                        '\u{20}'..='\u{7e}' => out.push(character),
                        _ => return self.refuse("names of characters beyond ASCII"),
                    }
                } else {
                    out.push(character);
                }
            }
            tag::SINGLE => {
                let number = word.as_single().unwrap_or(0.0);
                if number.is_subnormal() && style.is_exact {
                    return self.refuse("printing of a denormal float");
                }
                let digits = shortest_single(number.abs());
                out.push_str(&print_float(&digits, number.is_sign_negative(), None));
            }
            tag::NATIVE => {
                let name = crate::native::NATIVES[word.payload() as usize].name.to_uppercase();
                out.push_str(&format!("#<FUNCTION {name}>"));
            }
            tag::CODE => out.push_str("#<FUNCTION>"),
            tag::OBJECT => return self.print_object(word, depth, style, out, work),
            _ => out.push_str("#<unbound>"),
        }
        Ok(())
    }

    /// Takes the cost of spelling a number in digits from the fuel, before it is done.
    pub(crate) fn charge_digits(&mut self, number: &BigInt) -> StepResult<()> {
        let words = usize::try_from(number.bits() / 64).unwrap_or(usize::MAX);
        self.charge(words.saturating_mul(words / 16 + 1))
    }

    fn print_integer(&mut self, word: Word, style: PrintStyle, out: &mut String) -> StepResult<()> {
        let number = self.integer(word)?;
        self.charge_digits(&number)?;
        if style.radix && style.base != 10 {
            out.push_str(&radix_prefix(style.base));
        }
        out.push_str(&number.to_str_radix(style.base).to_uppercase());
        if style.radix && style.base == 10 {
            out.push('.');
        }
        Ok(())
    }

    fn print_symbol(&mut self, symbol: u32, style: PrintStyle, out: &mut String) {
        let name = self.symbols.name(symbol);
        let home = self.symbols.home(symbol);
        if style.escape {
            match home {
                SymbolHome::Keyword => out.push(':'),
                SymbolHome::Nowhere => out.push_str("#:"),
                SymbolHome::Bridle => out.push_str(&cased("BRIDLE:", style.case)),
                _ => {}
            }
            out.push_str(&cased(&escape_name(name), style.case));
        } else {
            out.push_str(&cased(name, style.case));
        }
    }

    fn print_object(
        &mut self,
        word: Word,
        depth: usize,
        style: PrintStyle,
        out: &mut String,
        work: &mut Vec<PrintStep>,
    ) -> StepResult<()> {
        let is_too_deep = style.level.is_some_and(|level| depth >= level);
        match self.heap.object(word) {
            HeapObject::Big(_) => return self.print_integer(word, style, out),
            HeapObject::Ratio(parts) => {
                let parts = parts.clone();
                self.charge_digits(&parts.numerator)?;
                self.charge_digits(&parts.denominator)?;
                if style.radix {
                    out.push_str(&radix_prefix(style.base));
                }
                let one = parts.numerator.to_str_radix(style.base).to_uppercase();
                let two = parts.denominator.to_str_radix(style.base).to_uppercase();
                out.push_str(&format!("{one}/{two}"));
            }
            HeapObject::Double(number) if number.is_subnormal() && style.is_exact => {
                return self.refuse("printing of a denormal float");
            }
            HeapObject::Double(number) => {
                let digits = shortest_double(number.abs());
                out.push_str(&print_float(&digits, number.is_sign_negative(), Some('d')));
            }
            HeapObject::Text(text, _) if style.escape => {
                out.push('"');
                for character in text.iter() {
                    if matches!(character, '"' | '\\') {
                        out.push('\\');
                    }
                    out.push(character);
                }
                out.push('"');
            }
            HeapObject::Text(text, _) => out.push_str(&text.to_owned_string()),
            HeapObject::Vector(..) | HeapObject::Structure(..) if is_too_deep => out.push('#'),
            HeapObject::Vector(..) => {
                out.push_str("#(");
                work.push(PrintStep::Elements(word, 0, depth + 1));
            }
            HeapObject::Structure(kind, _) => {
                let record = self.types.get(*kind);
                let name = record.name;
                if !record.is_condition {
                    out.push_str("#S(");
                    work.push(PrintStep::Slots(word, 0, depth + 1));
                    work.push(PrintStep::Word(Word::symbol(name), depth));
                } else if style.escape {
                    let name = self.symbols.name(name).trim_start_matches('%').to_owned();
                    out.push_str(&format!("#<{name}>"));
                } else {
                    out.push_str(&self.report(word)?);
                }
            }
            HeapObject::Table(table) => {
                let test = ["EQ", "EQL", "EQUAL", "EQUALP"][table.test as usize];
                out.push_str(&format!("#<HASH-TABLE :TEST {test} :COUNT {}>", table.len()));
            }
            HeapObject::Closure(..) => out.push_str("#<FUNCTION>"),
            HeapObject::Stream(stream) => out.push_str(match stream.as_ref() {
                TextStream::Output | TextStream::ErrorOutput => "#<STREAM>",
                TextStream::ToText { .. } => "#<STRING-OUTPUT-STREAM>",
            }),
            HeapObject::Cell(_) | HeapObject::Free(_) => out.push_str("#<cell>"),
        }
        Ok(())
    }

    /// Report of a condition.
    pub(crate) fn report(&mut self, word: Word) -> StepResult<String> {
        if let Some((reported, text)) = &self.report
            && *reported == word
        {
            let text = text.to_owned_string();
            self.report = None;
            return Ok(text);
        }
        let Some(HeapObject::Structure(kind, slots)) = self.heap.get(word) else {
            return Ok(String::new());
        };
        let (kind, slots) = (*kind, slots.clone());
        let ancestors = self.types.get(kind).ancestors.clone();
        for above in ancestors {
            let report = self.types.get(above).report;
            if report != UNBOUND {
                return match self.heap.text(report) {
                    Some(text) => Ok(text.to_owned_string()),
                    None => Err(Box::new(TrapKind::Report(word))),
                };
            }
        }
        self.built_in_report(kind, &slots)
    }

    fn built_in_report(&mut self, kind: u32, slots: &[Word]) -> StepResult<String> {
        let slot = |index: usize| slots.get(index).copied().unwrap_or(UNBOUND);
        if self.types.is_subtype(kind, condition::SIMPLE_CONDITION) {
            let (control, arguments) = (slot(0), slot(1));
            if control == UNBOUND || control == NIL {
                return Ok("No format-control for condition".to_owned());
            }
            let arguments = if arguments == UNBOUND { NIL } else { arguments };
            let arguments = self.list_elements(arguments)?;
            let control = self.string_argument(control)?;
            return self.format_to_string(&control, &arguments);
        }
        let is = |machine: &Self, above| machine.types.is_subtype(kind, above);
        if is(self, condition::TYPE_ERROR) {
            let (datum, expected) = (self.print(slot(0), true)?, self.print(slot(1), true)?);
            if kind == condition::CASE_FAILURE {
                return Ok(format!(
                    "{datum} fell through ECASE expression. Wanted one of {expected}."
                ));
            }
            return Ok(format!("The value {datum} is not of type {expected}"));
        }
        if is(self, condition::UNBOUND_VARIABLE) {
            return Ok(format!("The variable {} is unbound.", self.print(slot(0), true)?));
        }
        if is(self, condition::UNDEFINED_FUNCTION) {
            let name = self.print(slot(0), true)?;
            return Ok(format!("The function {name} is undefined."));
        }
        let name = self.types.get(kind).name;
        let name = self.symbols.name(name).trim_start_matches('%').to_owned();
        if is(self, condition::ARITHMETIC_ERROR) {
            return Ok(format!("arithmetic error {name} signalled"));
        }
        if is(self, condition::END_OF_FILE) {
            return Ok("end of file".to_owned());
        }
        Ok(format!("Condition {name} was signalled."))
    }

    /// A type error whose expected type is a compound one.
    pub(crate) fn wrong_type(&mut self, datum: Word, expected: Word) -> Trap {
        self.condition(condition::TYPE_ERROR, &[datum, expected])
    }
}

/// Marks of the reader, for which SBCL has objects of its own.
fn is_backquote(symbol: u32) -> bool {
    matches!(
        symbol,
        well_known::BACKQUOTE | well_known::COMMA | well_known::COMMA_AT | well_known::COMMA_DOT
    )
}

fn radix_prefix(base: u32) -> String {
    match base {
        2 => "#b".to_owned(),
        8 => "#o".to_owned(),
        16 => "#x".to_owned(),
        base => format!("#{base}r"),
    }
}

fn cased(name: &str, case: u32) -> String {
    match case {
        well_known::K_DOWNCASE => name.to_lowercase(),
        well_known::K_CAPITALIZE => {
            let mut is_start = true;
            let change = |c: char| {
                let shown = if is_start { c } else { c.to_ascii_lowercase() };
                is_start = !c.is_alphanumeric();
                shown
            };
            name.chars().map(change).collect()
        }
        _ => name.to_owned(),
    }
}

/// A name as the reader needs it: between bars where it would be read as something else.
pub(crate) fn escape_name(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.chars().all(|c| {
            !c.is_lowercase()
                && !c.is_whitespace()
                && !matches!(c, '(' | ')' | '"' | '\'' | '`' | ',' | ';' | ':' | '|' | '\\' | '#')
        })
        && !name.chars().all(|c| c == '.')
        && !is_potential_number(name);
    if is_plain {
        return name.to_owned();
    }
    let mut text = String::from("|");
    for character in name.chars() {
        if matches!(character, '|' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('|');
    text
}

/// Whether a name could be read as a number by some reader, as the standard tells it: digits, signs, marks
/// and single letters, with a digit, not begun by a slash or ended by a sign.
fn is_potential_number(name: &str) -> bool {
    let characters: Vec<char> = name.chars().collect();
    let is_letter = |at: usize| characters.get(at).is_some_and(char::is_ascii_alphabetic);
    let is_part = |(at, c): (usize, &char)| {
        c.is_ascii_digit()
            || matches!(c, '+' | '-' | '/' | '.' | '^' | '_')
            || is_letter(at) && at > 0 && !is_letter(at - 1) && !is_letter(at + 1)
    };
    characters.iter().enumerate().all(is_part)
        && characters.iter().any(char::is_ascii_digit)
        && characters.first().is_some_and(|c| c.is_ascii_digit() || "+-.^_".contains(*c))
        && characters.last().is_some_and(|c| !matches!(c, '+' | '-'))
}
