//! `format`: directives over a list of arguments. Everything is collected in one string; widths and
//! repetitions are charged, so a large one is a limit and not a bomb.
//!
//! long: one table of directives.

mod words;

use crate::machine::Machine;
use crate::number::RealNumber;
use crate::number::float_text::{fixed, plain, shortest_double, shortest_single};
use crate::trap::{LimitKind, StepResult, Trap, limit};
use crate::types::condition;
use crate::value::{NIL, Word};

/// One parameter of a directive.
#[derive(Clone, Copy, PartialEq)]
enum DirectiveParameter {
    Missing,
    Number(i64),
    Character(char),
    /// `v`: the next argument.
    Argument,
    /// `#`: how many are left.
    Count,
}

/// Text, or a directive with what is inside it.
enum ControlPiece {
    Text(String),
    Directive(FormatDirective),
}

struct FormatDirective {
    letter: char,
    colon: bool,
    at: bool,
    parameters: Vec<DirectiveParameter>,
    /// Clauses between an opening and its end, and whether the last is a default.
    clauses: Vec<Vec<ControlPiece>>,
    has_default: bool,
    end_colon: bool,
}

const KNOWN: &str = "ASDBOXRPFC%&~{}[];()^*?T|$W\n";
const NESTING: usize = 32;

/// Arguments and how many were used.
struct ArgumentCursor {
    words: Vec<Word>,
    at: usize,
}

/// What a piece wants besides going on.
#[derive(PartialEq)]
enum FormatFlow {
    On,
    Leave,
}

/// The first directive of a control string that the subset does not have.
pub(crate) fn refused_directive(control: &str) -> Option<String> {
    let mut characters = control.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '~' {
            continue;
        }
        let mut directive = String::from("~");
        loop {
            let next = characters.next()?;
            directive.push(next);
            if next == '\'' {
                directive.push(characters.next()?);
                continue;
            }
            if next.is_ascii_digit()
                || matches!(next, ',' | ':' | '@' | '#' | '+' | '-' | 'v' | 'V')
            {
                continue;
            }
            let upper = next.to_ascii_uppercase();
            if !KNOWN.contains(upper) && ("EGI_</>".contains(upper)) {
                return Some(directive);
            }
            break;
        }
    }
    None
}

fn bad(m: &mut Machine, text: &str) -> Trap {
    m.message(condition::FORMAT_ERROR, &format!("error in FORMAT: {text}"))
}

/// Reads pieces up to one of `ends`; returns them and the end's directive.
fn parse(
    m: &mut Machine,
    text: &[char],
    at: &mut usize,
    ends: &str,
    depth: usize,
) -> StepResult<(Vec<ControlPiece>, Option<FormatDirective>)> {
    if depth > NESTING {
        return Err(limit(LimitKind::Depth));
    }
    let mut pieces = Vec::new();
    let mut plain_text = String::new();
    while *at < text.len() {
        let character = text[*at];
        *at += 1;
        if character != '~' {
            plain_text.push(character);
            continue;
        }
        if !plain_text.is_empty() {
            pieces.push(ControlPiece::Text(std::mem::take(&mut plain_text)));
        }
        let mut directive = parse_directive(m, text, at)?;
        match directive.letter {
            letter if ends.contains(letter) => return Ok((pieces, Some(directive))),
            '{' | '[' | '(' => {
                parse_clauses(m, text, at, &mut directive, depth)?;
                pieces.push(ControlPiece::Directive(directive));
            }
            '}' | ']' | ')' | ';' => return Err(bad(m, "no corresponding open")),
            '\n' => {
                if directive.at {
                    pieces.push(ControlPiece::Text("\n".into()));
                }
                while !directive.colon
                    && *at < text.len()
                    && text[*at].is_whitespace()
                    && text[*at] != '\n'
                {
                    *at += 1;
                }
            }
            _ => pieces.push(ControlPiece::Directive(directive)),
        }
    }
    if !plain_text.is_empty() {
        pieces.push(ControlPiece::Text(plain_text));
    }
    if ends.is_empty() { Ok((pieces, None)) } else { Err(bad(m, "no corresponding close")) }
}

fn parse_clauses(
    m: &mut Machine,
    text: &[char],
    at: &mut usize,
    directive: &mut FormatDirective,
    depth: usize,
) -> StepResult<()> {
    let ends = match directive.letter {
        '{' => "}",
        '(' => ")",
        _ => ";]",
    };
    loop {
        let (pieces, end) = parse(m, text, at, ends, depth + 1)?;
        directive.clauses.push(pieces);
        match end {
            Some(end) if end.letter == ';' => directive.has_default |= end.colon,
            Some(end) => {
                directive.end_colon = end.colon;
                return Ok(());
            }
            None => return Err(bad(m, "no corresponding close")),
        }
    }
}

fn parse_directive(m: &mut Machine, text: &[char], at: &mut usize) -> StepResult<FormatDirective> {
    let mut parameters = Vec::new();
    let (mut colon, mut is_at) = (false, false);
    let mut expects = true;
    loop {
        let Some(character) = text.get(*at).copied() else {
            return Err(bad(m, "string ended before directive was found"));
        };
        *at += 1;
        match character {
            '0'..='9' | '+' | '-' => {
                let mut digits = String::from(character);
                while let Some(digit) = text.get(*at).filter(|c| c.is_ascii_digit()) {
                    digits.push(*digit);
                    *at += 1;
                }
                let number =
                    digits.trim_start_matches('+').parse().map_err(|_| limit(LimitKind::Heap))?;
                parameters.push(DirectiveParameter::Number(number));
                expects = false;
            }
            '\'' => {
                let Some(value) = text.get(*at).copied() else {
                    return Err(bad(m, "string ended before directive was found"));
                };
                *at += 1;
                parameters.push(DirectiveParameter::Character(value));
                expects = false;
            }
            'v' | 'V' => {
                parameters.push(DirectiveParameter::Argument);
                expects = false;
            }
            '#' => {
                parameters.push(DirectiveParameter::Count);
                expects = false;
            }
            ',' => {
                if expects {
                    parameters.push(DirectiveParameter::Missing);
                }
                expects = true;
            }
            ':' => colon = true,
            '@' => is_at = true,
            letter => {
                let letter = letter.to_ascii_uppercase();
                return Ok(FormatDirective {
                    letter,
                    colon,
                    at: is_at,
                    parameters,
                    clauses: Vec::new(),
                    has_default: false,
                    end_colon: false,
                });
            }
        }
    }
}

impl ArgumentCursor {
    fn next(&mut self, m: &mut Machine) -> StepResult {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word.ok_or_else(|| bad(m, "No more arguments"))
    }

    fn left(&self) -> usize {
        self.words.len().saturating_sub(self.at)
    }
}

impl Machine {
    pub(crate) fn format_to_string(
        &mut self,
        control: &str,
        arguments: &[Word],
    ) -> StepResult<String> {
        self.format_at(control, arguments, true)
    }

    /// Formats; `is_start` says whether the output is at the start of a line.
    pub(crate) fn format_at(
        &mut self,
        control: &str,
        arguments: &[Word],
        is_start: bool,
    ) -> StepResult<String> {
        let text: Vec<char> = control.chars().collect();
        self.charge(text.len() / 16)?;
        let (pieces, _) = parse(self, &text, &mut 0, "", 0)?;
        let mut cursor = ArgumentCursor { words: arguments.to_vec(), at: 0 };
        let mut out = String::new();
        if !is_start {
            // Stands for the line before; removed below.
            out.push('\u{1}');
        }
        self.format_pieces(&pieces, &mut cursor, &mut out, 0)?;
        Ok(if is_start { out } else { out[1..].to_owned() })
    }

    fn format_pieces(
        &mut self,
        pieces: &[ControlPiece],
        cursor: &mut ArgumentCursor,
        out: &mut String,
        depth: usize,
    ) -> StepResult<FormatFlow> {
        if depth > NESTING {
            return Err(limit(LimitKind::Depth));
        }
        for piece in pieces {
            self.charge(1)?;
            if out.len() > self.heap.limit {
                return Err(limit(LimitKind::Heap));
            }
            match piece {
                ControlPiece::Text(text) => out.push_str(text),
                ControlPiece::Directive(directive) => {
                    if self.format_directive(directive, cursor, out, depth)? == FormatFlow::Leave {
                        return Ok(FormatFlow::Leave);
                    }
                }
            }
        }
        Ok(FormatFlow::On)
    }

    fn format_directive(
        &mut self,
        d: &FormatDirective,
        cursor: &mut ArgumentCursor,
        out: &mut String,
        depth: usize,
    ) -> StepResult<FormatFlow> {
        let parameters = self.format_parameters(d, cursor)?;
        let number = |index: usize| match parameters.get(index) {
            Some(DirectiveParameter::Number(number)) => Some(*number),
            _ => None,
        };
        match d.letter {
            'A' | 'S' | 'W' => self.format_aesthetic(d, &parameters, cursor, out)?,
            'D' => self.format_integer(d, 10, &parameters, cursor, out)?,
            'B' => self.format_integer(d, 2, &parameters, cursor, out)?,
            'O' => self.format_integer(d, 8, &parameters, cursor, out)?,
            'X' => self.format_integer(d, 16, &parameters, cursor, out)?,
            'R' => match number(0) {
                Some(radix @ 2..=36) => {
                    self.format_integer(d, radix as u32, &parameters[1..], cursor, out)?;
                }
                None => {
                    let word = cursor.next(self)?;
                    let text = words::spelled(self, word, d.colon, d.at)?;
                    out.push_str(&text);
                }
                _ => return self.refuse("this radix in FORMAT"),
            },
            'C' => {
                let word = cursor.next(self)?;
                let character = self.character_argument(word)?;
                if d.at {
                    out.push_str(&self.print(word, true)?);
                } else if d.colon && (character.is_control() || character == ' ') {
                    out.push_str(&self.print(word, true)?[2..]);
                } else {
                    out.push(character);
                }
            }
            'F' => self.format_fixed(d, &parameters, cursor, out)?,
            '$' => return self.refuse("FORMAT directive ~$"),
            '%' | '~' | '|' | '&' => {
                let count = usize::try_from(number(0).unwrap_or(1)).unwrap_or(0);
                self.reserve(count)?;
                let text = match d.letter {
                    '~' => "~",
                    '|' => "\u{c}",
                    _ => "\n",
                };
                let is_fresh = d.letter == '&' && (out.is_empty() || out.ends_with('\n'));
                let count = if is_fresh { count.saturating_sub(1) } else { count };
                out.push_str(&text.repeat(count));
            }
            'P' => {
                if d.colon {
                    cursor.at = cursor.at.saturating_sub(1);
                }
                let word = cursor.next(self)?;
                let is_one = word == Word::fixnum(1);
                out.push_str(match (d.at, is_one) {
                    (true, true) => "y",
                    (true, false) => "ies",
                    (false, true) => "",
                    (false, false) => "s",
                });
            }
            'T' => self.format_tab(d, number(0), number(1), out)?,
            '*' => {
                let count = number(0);
                let target = match (d.at, d.colon) {
                    (true, _) => count.unwrap_or(0),
                    (_, true) => cursor.at as i64 - count.unwrap_or(1),
                    _ => cursor.at as i64 + count.unwrap_or(1),
                };
                match usize::try_from(target) {
                    Ok(target) if target <= cursor.words.len() => cursor.at = target,
                    _ => return Err(bad(self, "index out of bounds")),
                }
            }
            '?' => {
                let control = cursor.next(self)?;
                let control = self.string_argument(control)?;
                let text: Vec<char> = control.chars().collect();
                let (pieces, _) = parse(self, &text, &mut 0, "", depth)?;
                if d.at {
                    self.format_pieces(&pieces, cursor, out, depth + 1)?;
                } else {
                    let list = cursor.next(self)?;
                    let words = self.list_elements(list)?;
                    self.format_pieces(
                        &pieces,
                        &mut ArgumentCursor { words, at: 0 },
                        out,
                        depth + 1,
                    )?;
                }
            }
            '^' => {
                if d.colon || number(0).is_some() {
                    return self.refuse("FORMAT directive ~:^");
                }
                return Ok(if cursor.left() == 0 { FormatFlow::Leave } else { FormatFlow::On });
            }
            '(' => {
                let mut inner = String::new();
                let flow = self.format_pieces(&d.clauses[0], cursor, &mut inner, depth + 1)?;
                out.push_str(&words::case(&inner, d.colon, d.at));
                return Ok(flow);
            }
            '[' => return self.format_choice(d, number(0), cursor, out, depth),
            '{' => self.format_loop(d, number(0), cursor, out, depth)?,
            letter if "EGI_</>".contains(letter) => {
                return self.refuse(&format!("FORMAT directive ~{letter}"));
            }
            _ => return Err(bad(self, "Unknown directive")),
        }
        Ok(FormatFlow::On)
    }

    fn format_parameters(
        &mut self,
        d: &FormatDirective,
        cursor: &mut ArgumentCursor,
    ) -> StepResult<Vec<DirectiveParameter>> {
        let mut all = Vec::new();
        for parameter in &d.parameters {
            all.push(match parameter {
                DirectiveParameter::Count => DirectiveParameter::Number(cursor.left() as i64),
                DirectiveParameter::Argument => {
                    let word = cursor.next(self)?;
                    match (word.as_fixnum(), word.as_character()) {
                        (Some(number), _) => DirectiveParameter::Number(number),
                        (_, Some(character)) => DirectiveParameter::Character(character),
                        _ if word.is_nil() => DirectiveParameter::Missing,
                        _ => return Err(bad(self, "bad parameter")),
                    }
                }
                other => *other,
            });
        }
        Ok(all)
    }

    /// Pads to a width, at the left when `is_left`.
    fn pad(
        &mut self,
        text: &str,
        width: Option<i64>,
        filler: char,
        is_left: bool,
        out: &mut String,
    ) -> StepResult<()> {
        let count = text.chars().count();
        let width = width.and_then(|width| usize::try_from(width).ok()).unwrap_or(0);
        let missing = width.saturating_sub(count);
        self.reserve(missing.saturating_mul(4))?;
        let padding: String = std::iter::repeat_n(filler, missing).collect();
        if is_left {
            out.push_str(&padding);
        }
        out.push_str(text);
        if !is_left {
            out.push_str(&padding);
        }
        Ok(())
    }

    fn format_aesthetic(
        &mut self,
        d: &FormatDirective,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let mut text = self.print(word, d.letter != 'A')?;
        if d.colon && word == NIL {
            text = "()".into();
        }
        if p.is_empty() {
            out.push_str(&text);
            return Ok(());
        }
        if p.len() > 1
            && !matches!(p[1..], [DirectiveParameter::Missing, DirectiveParameter::Missing, _])
        {
            return self.refuse("column steps in FORMAT directive ~A");
        }
        let filler = match p.get(3) {
            Some(DirectiveParameter::Character(character)) => *character,
            _ => ' ',
        };
        let width = if let Some(DirectiveParameter::Number(width)) = p.first() {
            Some(*width)
        } else {
            None
        };
        self.pad(&text, width, filler, d.at, out)
    }

    fn format_integer(
        &mut self,
        d: &FormatDirective,
        radix: u32,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let width = if let Some(DirectiveParameter::Number(width)) = p.first() {
            Some(*width)
        } else {
            None
        };
        let character = |index: usize, default| match p.get(index) {
            Some(DirectiveParameter::Character(character)) => *character,
            _ => default,
        };
        let style =
            crate::print::PrintStyle { base: radix, radix: false, ..self.print_style(false)? };
        let mut text = self.print_styled(word, style)?;
        let is_integer = word.is_fixnum()
            || matches!(self.heap.get(word), Some(crate::heap::HeapObject::Big(_)));
        if is_integer {
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits.to_owned()),
                None => (if d.at { "+" } else { "" }, text.clone()),
            };
            let grouped = if d.colon {
                let every = match p.get(3) {
                    Some(DirectiveParameter::Number(every)) if *every > 0 => {
                        usize::try_from(*every).unwrap_or(3)
                    }
                    _ => 3,
                };
                words::group(&digits, character(2, ','), every)
            } else {
                digits
            };
            text = format!("{sign}{grouped}");
        }
        self.pad(&text, width, character(1, ' '), true, out)
    }

    fn format_fixed(
        &mut self,
        d: &FormatDirective,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let number = |index: usize| match p.get(index) {
            Some(DirectiveParameter::Number(number)) => Some(*number),
            _ => None,
        };
        if p.get(2).is_some_and(|scale| *scale != DirectiveParameter::Missing) || p.len() > 3 {
            return self.refuse("more than two parameters of FORMAT directive ~F");
        }
        let Some(value) = self.try_number(word) else {
            let text = self.print(word, false)?;
            return self.pad(&text, number(0), ' ', true, out);
        };
        let single = match &value {
            RealNumber::Double(_) => None,
            value => Some(self.as_single(value)?),
        };
        let double = match single {
            Some(single) => f64::from(single),
            None => value.to_f64(),
        };
        let text = match number(1) {
            Some(decimals) => {
                let decimals = usize::try_from(decimals).unwrap_or(0);
                if decimals > 100 {
                    return self.refuse("more than 100 decimals in FORMAT");
                }
                fixed(double.abs(), decimals)
            }
            None if number(0).is_some() => {
                return self.refuse("FORMAT directive ~F with a width and no decimals");
            }
            None => {
                let digits = match single {
                    Some(single) => shortest_single(single.abs()),
                    None => shortest_double(double.abs()),
                };
                plain(&digits.digits, if digits.digits == "0" { 1 } else { digits.exponent })
            }
        };
        let sign = if double.is_sign_negative() {
            "-"
        } else if d.at {
            "+"
        } else {
            ""
        };
        let mut shown = format!("{sign}{text}");
        // A zero before the point goes where the width leaves no room for it.
        if let Some(width) = number(0)
            && shown.len() as i64 > width
            && text.starts_with("0.")
            && text.len() > 2
        {
            shown = format!("{sign}{}", &text[1..]);
        }
        self.pad(&shown, number(0), ' ', true, out)
    }

    fn format_tab(
        &mut self,
        d: &FormatDirective,
        column: Option<i64>,
        step: Option<i64>,
        out: &mut String,
    ) -> StepResult<()> {
        if d.at || d.colon || out.starts_with('\u{1}') && !out.contains('\n') {
            return self.refuse("this use of FORMAT directive ~T");
        }
        let line = out.rsplit('\n').next().unwrap_or("").chars().count();
        let column = usize::try_from(column.unwrap_or(1)).unwrap_or(0);
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(0);
        let blanks = if line < column {
            column - line
        } else if step == 0 {
            0
        } else {
            step - (line - column) % step
        };
        self.reserve(blanks)?;
        out.extend(std::iter::repeat_n(' ', blanks));
        Ok(())
    }

    fn format_choice(
        &mut self,
        d: &FormatDirective,
        number: Option<i64>,
        cursor: &mut ArgumentCursor,
        out: &mut String,
        depth: usize,
    ) -> StepResult<FormatFlow> {
        if d.at {
            let word = cursor.next(self)?;
            if word.is_nil() {
                return Ok(FormatFlow::On);
            }
            cursor.at -= 1;
            return self.format_pieces(&d.clauses[0], cursor, out, depth + 1);
        }
        if d.colon {
            let word = cursor.next(self)?;
            let Some(clause) = d.clauses.get(usize::from(word.is_true())) else {
                return Err(bad(self, "~:[ needs two clauses"));
            };
            return self.format_pieces(clause, cursor, out, depth + 1);
        }
        let index = match number {
            Some(number) => number,
            None => {
                let word = cursor.next(self)?;
                let number = self.integer(word)?;
                i64::try_from(number).unwrap_or(-1)
            }
        };
        let last = d.clauses.len() - 1;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let limit = if d.has_default { last } else { d.clauses.len() };
        if index < limit {
            return self.format_pieces(&d.clauses[index], cursor, out, depth + 1);
        }
        if d.has_default {
            return self.format_pieces(&d.clauses[last], cursor, out, depth + 1);
        }
        Ok(FormatFlow::On)
    }

    fn format_loop(
        &mut self,
        d: &FormatDirective,
        most: Option<i64>,
        cursor: &mut ArgumentCursor,
        out: &mut String,
        depth: usize,
    ) -> StepResult<()> {
        if d.clauses[0].is_empty() {
            return self.refuse("an empty ~{ ~} in FORMAT");
        }
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let mut own;
        let source = if d.at {
            cursor
        } else {
            let list = cursor.next(self)?;
            own = ArgumentCursor { words: self.list_elements(list)?, at: 0 };
            &mut own
        };
        let mut rounds = 0;
        while rounds < most && (source.left() > 0 || (rounds == 0 && d.end_colon)) {
            rounds += 1;
            let before = (source.at, out.len());
            let flow = if d.colon {
                let list = source.next(self)?;
                let words = self.list_elements(list)?;
                self.format_pieces(
                    &d.clauses[0],
                    &mut ArgumentCursor { words, at: 0 },
                    out,
                    depth + 1,
                )?;
                FormatFlow::On
            } else {
                self.format_pieces(&d.clauses[0], source, out, depth + 1)?
            };
            if flow == FormatFlow::Leave {
                break;
            }
            if (source.at, out.len()) == before {
                self.charge(1000)?;
            }
        }
        Ok(())
    }
}
