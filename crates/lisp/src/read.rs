//! The reader: text to forms, with the place of every list. `#.`, `#+` and whatever else could run
//! code or name a package of somebody else is refused.

use std::collections::HashMap;

use num_traits::Zero;

use crate::code::SourcePlace;
use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::number::bits::parse_integer;
use crate::print::CONTROL_NAMES;
use crate::symbols::{SymbolHome, well_known};
use crate::trap::{LimitKind, Trap};
use crate::value::{NIL, Word};

/// Nested lists and quotes of a source text.
const READ_DEPTH: usize = 400;

/// Digits of a number in a source text: more take time that grows with their square.
const READ_DIGITS: usize = 4096;

/// Author of the text that is read: decides which packages it may name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceTrust {
    /// The prelude: new symbols belong to the system.
    Prelude,
    /// A skill.
    Skill,
}

/// Reason that a text could not be read.
pub(crate) struct ReadFailure {
    pub(crate) place: SourcePlace,
    pub(crate) kind: ReadFailureKind,
}

pub(crate) enum ReadFailureKind {
    /// The text ended inside a form.
    End,
    Syntax(String),
    Outside(String),
    Limit(LimitKind),
    Trap(Trap),
}

type ReadOutcome<T> = Result<T, ReadFailure>;

/// A text and how far it was read.
pub(crate) struct FormReader<'t> {
    text: &'t [char],
    position: usize,
    place: SourcePlace,
    depth: usize,
    /// Backquotes around the form that is read, less the commas.
    backquotes: usize,
    /// Position of the first colon of the last token that is not escaped.
    colon: Option<usize>,
    reading: SourceTrust,
    /// Places of conses, by their payload.
    pub(crate) places: HashMap<u32, SourcePlace>,
}

fn is_delimiter(character: char) -> bool {
    character.is_whitespace() || matches!(character, '(' | ')' | '"' | '\'' | '`' | ',' | ';')
}

impl<'t> FormReader<'t> {
    pub(crate) fn new(text: &'t [char], reading: SourceTrust) -> Self {
        let place = SourcePlace { line: 1, column: 1 };
        Self {
            text,
            position: 0,
            place,
            depth: 0,
            backquotes: 0,
            colon: None,
            reading,
            places: HashMap::new(),
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.position).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += 1;
        if character == '\n' {
            self.place = SourcePlace { line: self.place.line + 1, column: 1 };
        } else {
            self.place.column += 1;
        }
        Some(character)
    }

    fn failure<T>(&self, kind: ReadFailureKind) -> ReadOutcome<T> {
        Err(ReadFailure { place: self.place, kind })
    }

    fn syntax<T>(&self, what: impl Into<String>) -> ReadOutcome<T> {
        self.failure(ReadFailureKind::Syntax(what.into()))
    }

    fn outside<T>(&self, what: impl Into<String>) -> ReadOutcome<T> {
        self.failure(ReadFailureKind::Outside(what.into()))
    }

    fn trapped<T>(&self, outcome: Result<T, Trap>) -> ReadOutcome<T> {
        outcome.or_else(|trap| self.failure(ReadFailureKind::Trap(trap)))
    }

    fn skip_blanks(&mut self) -> ReadOutcome<()> {
        while let Some(character) = self.peek() {
            if character.is_whitespace() {
                self.next();
            } else if character == ';' {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.next();
                }
            } else if character == '#' && self.text.get(self.position + 1) == Some(&'|') {
                self.skip_block_comment()?;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn skip_block_comment(&mut self) -> ReadOutcome<()> {
        let mut depth = 0_usize;
        loop {
            match (self.next(), self.peek()) {
                (Some('#'), Some('|')) => {
                    self.next();
                    depth += 1;
                }
                (Some('|'), Some('#')) => {
                    self.next();
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (None, _) => return self.failure(ReadFailureKind::End),
                _ => {}
            }
        }
    }

    /// The next form; `None` at the end of the text.
    pub(crate) fn read(&mut self, machine: &mut Machine) -> ReadOutcome<Option<Word>> {
        self.skip_blanks()?;
        if self.peek().is_none() {
            return Ok(None);
        }
        self.form(machine).map(Some)
    }

    fn form(&mut self, machine: &mut Machine) -> ReadOutcome<Word> {
        self.skip_blanks()?;
        if self.depth >= READ_DEPTH {
            return self.failure(ReadFailureKind::Limit(LimitKind::Depth));
        }
        self.trapped(machine.charge(1))?;
        self.depth += 1;
        let place = self.place;
        let form = self.form_inside(machine, place);
        self.depth -= 1;
        form
    }

    fn form_inside(&mut self, machine: &mut Machine, place: SourcePlace) -> ReadOutcome<Word> {
        let Some(character) = self.peek() else { return self.failure(ReadFailureKind::End) };
        match character {
            '(' => {
                self.next();
                self.list(machine, place)
            }
            ')' => self.syntax("unmatched close parenthesis"),
            '\'' => self.wrapped(machine, place, well_known::QUOTE),
            '`' => {
                self.backquotes += 1;
                let form = self.wrapped(machine, place, well_known::BACKQUOTE);
                self.backquotes -= 1;
                form
            }
            ',' => self.comma(machine, place),
            '"' => {
                self.next();
                let text = self.string()?;
                self.trapped(machine.make_text(text))
            }
            '#' => self.dispatch(machine, place),
            _ => self.token(machine),
        }
    }

    fn wrapped(
        &mut self,
        machine: &mut Machine,
        place: SourcePlace,
        symbol: u32,
    ) -> ReadOutcome<Word> {
        self.next();
        let form = self.form(machine)?;
        Ok(self.note(machine.heap.list(&[Word::symbol(symbol), form]), place))
    }

    fn note(&mut self, form: Word, place: SourcePlace) -> Word {
        self.places.insert(form.payload(), place);
        form
    }

    fn comma(&mut self, machine: &mut Machine, place: SourcePlace) -> ReadOutcome<Word> {
        if self.backquotes == 0 {
            return self.syntax("a comma that is not inside a backquote");
        }
        let symbol = match self.text.get(self.position + 1) {
            Some('@') => well_known::COMMA_AT,
            Some('.') => well_known::COMMA_DOT,
            _ => well_known::COMMA,
        };
        if symbol != well_known::COMMA {
            self.next();
        }
        self.backquotes -= 1;
        let form = self.wrapped(machine, place, symbol);
        self.backquotes += 1;
        form
    }

    /// Elements up to the closing parenthesis, and what follows a dot.
    fn elements(&mut self, machine: &mut Machine) -> ReadOutcome<(Vec<(Word, SourcePlace)>, Word)> {
        let mut elements = Vec::new();
        loop {
            self.skip_blanks()?;
            let place = self.place;
            match self.peek() {
                None => return self.failure(ReadFailureKind::End),
                Some(')') => {
                    self.next();
                    return Ok((elements, NIL));
                }
                Some('.') if self.text.get(self.position + 1).is_none_or(|c| is_delimiter(*c)) => {
                    if elements.is_empty() {
                        return self.syntax("nothing before the dot");
                    }
                    self.next();
                    let tail = self.form(machine)?;
                    self.skip_blanks()?;
                    if self.next() != Some(')') {
                        return self.syntax("more than one form after the dot");
                    }
                    return Ok((elements, tail));
                }
                Some(_) => elements.push((self.form(machine)?, place)),
            }
        }
    }

    fn list(&mut self, machine: &mut Machine, place: SourcePlace) -> ReadOutcome<Word> {
        let (elements, mut list) = self.elements(machine)?;
        for (element, place) in elements.iter().rev() {
            list = machine.heap.cons(*element, list);
            self.places.insert(list.payload(), *place);
        }
        if list.is_cons() {
            self.places.insert(list.payload(), place);
        }
        Ok(list)
    }

    fn string(&mut self) -> ReadOutcome<String> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return self.failure(ReadFailureKind::End),
                Some('"') => return Ok(text),
                Some('\\') => match self.next() {
                    Some(character) => text.push(character),
                    None => return self.failure(ReadFailureKind::End),
                },
                Some(character) => text.push(character),
            }
        }
    }

    fn dispatch(&mut self, machine: &mut Machine, place: SourcePlace) -> ReadOutcome<Word> {
        self.next();
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.next();
        }
        let Some(character) = self.peek() else { return self.failure(ReadFailureKind::End) };
        match (character.to_ascii_lowercase(), digits.as_str()) {
            ('\'', "") => self.wrapped(machine, place, well_known::FUNCTION),
            ('(', "") => {
                self.next();
                let (elements, _) = self.elements(machine)?;
                let words = elements.into_iter().map(|(word, _)| word).collect();
                Ok(machine.heap.vector_word(words))
            }
            ('\\', "") => self.character(),
            (':', "") => {
                self.next();
                let (name, _) = self.raw_token()?;
                Ok(Word::symbol(machine.symbols.make(SymbolHome::Nowhere, &name)))
            }
            ('x', "") => self.radix_number(machine, 16),
            ('o', "") => self.radix_number(machine, 8),
            ('b', "") => self.radix_number(machine, 2),
            ('r', radix) if radix.parse::<u32>().is_ok_and(|radix| (2..=36).contains(&radix)) => {
                let radix = radix.parse().unwrap_or(10);
                self.radix_number(machine, radix)
            }
            _ => self.outside(format!("#{digits}{character}")),
        }
    }

    fn radix_number(&mut self, machine: &mut Machine, radix: u32) -> ReadOutcome<Word> {
        self.next();
        let (token, _) = self.raw_token()?;
        let (top, bottom) = token.split_once('/').unwrap_or((&token, "1"));
        let is_good = token.len() <= READ_DIGITS && !bottom.starts_with(['+', '-']);
        let parsed = (parse_integer(top, radix), parse_integer(bottom, radix));
        match parsed {
            (Some(top), Some(bottom)) if is_good && !bottom.is_zero() => {
                let word = machine.ratio_word(top, bottom);
                self.trapped(word)
            }
            _ => self.syntax(format!("`{token}` is no number of radix {radix}")),
        }
    }

    fn character(&mut self) -> ReadOutcome<Word> {
        self.next();
        let Some(first) = self.next() else { return self.failure(ReadFailureKind::End) };
        let mut name = String::from(first);
        while let Some(character) = self.peek().filter(|c| !is_delimiter(*c)) {
            name.push(character);
            self.next();
        }
        if name.chars().count() == 1 {
            return Ok(Word::character(first));
        }
        match character_named(&name) {
            Some(character) => Ok(Word::character(character)),
            None => self.outside(format!("#\\{name}")),
        }
    }

    /// Characters of a token, upper case unless escaped, and whether any was escaped.
    fn raw_token(&mut self) -> ReadOutcome<(String, bool)> {
        let mut token = String::new();
        let mut is_escaped = false;
        self.colon = None;
        while let Some(character) = self.peek() {
            match character {
                '\\' => {
                    self.next();
                    is_escaped = true;
                    match self.next() {
                        Some(character) => token.push(character),
                        None => return self.failure(ReadFailureKind::End),
                    }
                }
                '|' => {
                    self.next();
                    is_escaped = true;
                    loop {
                        match self.next() {
                            None => return self.failure(ReadFailureKind::End),
                            Some('|') => break,
                            Some('\\') => token.extend(self.next()),
                            Some(character) => token.push(character),
                        }
                    }
                }
                _ if is_delimiter(character) => break,
                _ => {
                    self.next();
                    if character == ':' && self.colon.is_none() {
                        self.colon = Some(token.len());
                    }
                    token.push(crate::native::characters::upcase(character));
                }
            }
        }
        Ok((token, is_escaped))
    }

    fn token(&mut self, machine: &mut Machine) -> ReadOutcome<Word> {
        let (token, is_escaped) = self.raw_token()?;
        if !is_escaped {
            if token.chars().all(|c| c == '.') {
                return self.syntax("dots alone are no symbol");
            }
            if let Some(number) = self.number(machine, &token)? {
                return Ok(number);
            }
        }
        if let Some(colon) = self.colon {
            return self.qualified(machine, &token, colon);
        }
        Ok(Word::symbol(self.intern(machine, &token)))
    }

    fn intern(&self, machine: &mut Machine, name: &str) -> u32 {
        if let Some(symbol) = machine.symbols.find(SymbolHome::Lisp, name) {
            return symbol;
        }
        if DEFINERS.contains(&name)
            && let Some(symbol) = machine.symbols.find(SymbolHome::Bridle, name)
        {
            return symbol;
        }
        let home = if self.reading == SourceTrust::Prelude {
            SymbolHome::System
        } else {
            SymbolHome::User
        };
        machine.symbols.intern(home, name)
    }

    fn qualified(&self, machine: &mut Machine, token: &str, colon: usize) -> ReadOutcome<Word> {
        let (package, name) = (&token[..colon], &token[colon + 1..]);
        let name = name.strip_prefix(':').unwrap_or(name);
        if name.is_empty() || name.starts_with(':') {
            return self.syntax(format!("`{token}` has a colon too many"));
        }
        let symbol = match package {
            "" | "KEYWORD" => machine.symbols.intern(SymbolHome::Keyword, name),
            "CL-USER" | "COMMON-LISP-USER" => self.intern(machine, name),
            "CL" | "COMMON-LISP" => match machine.symbols.find(SymbolHome::Lisp, name) {
                Some(symbol) => symbol,
                None => return self.outside(token),
            },
            "BRIDLE" if self.reading == SourceTrust::Prelude => {
                machine.symbols.intern(SymbolHome::Bridle, name)
            }
            "BRIDLE" => match machine.symbols.find(SymbolHome::Bridle, name) {
                Some(symbol) => symbol,
                None => return self.outside(token),
            },
            _ => return self.outside(token),
        };
        Ok(Word::symbol(symbol))
    }

    fn number(&self, machine: &mut Machine, token: &str) -> ReadOutcome<Option<Word>> {
        if !is_number(token) {
            return Ok(None);
        }
        if token.len() > READ_DIGITS {
            return self.syntax("a number of too many digits");
        }
        let outcome = machine.parse_number(token);
        self.trapped(outcome).map(Some)
    }
}

/// Names of bridle that are read without their package: the definitions of a skill.
const DEFINERS: &[&str] = &["DEFSKILL", "DEFTOOL", "DEFCOMMAND", "DEFACTUATOR", "DEFPROVIDER"];

/// The character of a name, case ignored.
pub(crate) fn character_named(name: &str) -> Option<char> {
    let position = CONTROL_NAMES.iter().position(|known| known.eq_ignore_ascii_case(name));
    if let Some(position) = position {
        return char::from_u32(position as u32);
    }
    match name.to_ascii_lowercase().as_str() {
        "rubout" | "del" | "delete" => Some('\u{7f}'),
        "linefeed" => Some('\n'),
        "null" => Some('\0'),
        "escape" => Some('\u{1b}'),
        "nbsp" | "no-break_space" => Some('\u{a0}'),
        "bell" => Some('\u{7}'),
        lower => {
            let digits = lower.strip_prefix('u').filter(|digits| digits.len() >= 4)?;
            char::from_u32(u32::from_str_radix(digits.trim_start_matches('+'), 16).ok()?)
        }
    }
}

/// Whether a token is a number: an integer, a ratio or a float.
pub(crate) fn is_number(token: &str) -> bool {
    let body = token.strip_prefix(['+', '-']).unwrap_or(token);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(body) || body.strip_suffix('.').is_some_and(digits) {
        return true;
    }
    if let Some((top, bottom)) = body.split_once('/') {
        return digits(top) && digits(bottom);
    }
    let (mantissa, exponent) = split_exponent(body);
    if exponent.is_some_and(|power| !digits(power.strip_prefix(['+', '-']).unwrap_or(power))) {
        return false;
    }
    match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            (whole.is_empty() || digits(whole))
                && (digits(fraction)
                    || (fraction.is_empty() && exponent.is_some() && digits(whole)))
        }
        None => exponent.is_some() && digits(mantissa),
    }
}

fn split_exponent(body: &str) -> (&str, Option<&str>) {
    let marker = |c: char| matches!(c.to_ascii_uppercase(), 'E' | 'S' | 'F' | 'D' | 'L');
    match body.find(marker) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    }
}

impl Machine {
    /// The number of a token that [`is_number`].
    pub(crate) fn parse_number(&mut self, token: &str) -> Result<Word, Trap> {
        let integer = token.strip_suffix('.').unwrap_or(token);
        if let Some(number) = parse_integer(integer.strip_prefix('+').unwrap_or(integer), 10) {
            return self.integer_word(number);
        }
        if let Some((top, bottom)) = token.split_once('/') {
            let top = top.strip_prefix('+').unwrap_or(top);
            let (Some(top), Some(bottom)) = (parse_integer(top, 10), parse_integer(bottom, 10))
            else {
                return Err(self.simple_error("no number"));
            };
            if bottom.is_zero() {
                let one = Word::fixnum(1);
                return Err(self.division_by_zero(well_known::SLASH, one, Word::fixnum(0)));
            }
            return self.ratio_word(top, bottom);
        }
        let is_double = token.contains(['D', 'd', 'L', 'l']);
        let decimal = token.to_ascii_uppercase().replace(['S', 'F', 'D', 'L'], "E");
        if is_double {
            let number = decimal.parse::<f64>().unwrap_or(f64::INFINITY);
            return self
                .float_in_range(number.is_finite(), number == 0.0, token)
                .map(|()| self.heap.allocate(HeapObject::Double(number)));
        }
        let number = decimal.parse::<f32>().unwrap_or(f32::INFINITY);
        self.float_in_range(number.is_finite(), number == 0.0, token)?;
        Ok(Word::single(number))
    }

    fn float_in_range(&mut self, is_finite: bool, is_zero: bool, token: &str) -> Result<(), Trap> {
        let mantissa = token.split(|c: char| c.is_ascii_alphabetic()).next().unwrap_or("");
        let is_truly_zero = !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
        if is_finite && is_zero == is_truly_zero {
            return Ok(());
        }
        let number = crate::types::condition::SIMPLE_READER_ERROR;
        Err(self.message(number, "floating-point number out of range"))
    }
}
