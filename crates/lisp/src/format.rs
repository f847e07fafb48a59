//! `format`: directives over a list of arguments. Everything is collected in one string; widths and
//! repetitions are charged, so a large one is a limit and not a bomb.
//!
//! long: a match with an arm for each directive.

mod control;
mod floats;
mod values;
mod words;

pub(crate) use control::refused_directive;
use control::{
    ControlPiece, DirectiveParameter, FormatDirective, MAX_DIRECTIVE_NESTING, bad, parse,
};

use num_traits::Signed as _;

use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::{NIL, Word};

/// Arguments and how many were used.
struct ArgumentCursor {
    words: Vec<Word>,
    at: usize,
    /// Atom behind the dot of the list that the arguments come from, or `nil`.
    tail: Word,
    /// Whether no list is left where the arguments are one of several, for `~:^`.
    is_last_list: Option<bool>,
}

/// Kinds of the parameters of a directive: `n` numbers, `c` characters, `x` either.
fn parameter_kinds(letter: char) -> &'static str {
    match letter {
        'A' | 'S' | '$' => "nnnc",
        'D' | 'B' | 'O' | 'X' => "nccn",
        'R' => "nnccn",
        'F' => "nnncc",
        '%' | '&' | '~' | '|' | '*' | '{' | '[' => "n",
        'T' => "nn",
        '^' => "xxx",
        _ => "",
    }
}

/// Whether formatting goes on behind a piece.
#[derive(PartialEq)]
enum FormatFlow {
    On,
    Leave,
    /// `~:^`: leaves the loop over lists too.
    LeaveLists,
}

/// Whether the parameters of `~^` say that it leaves; `None` without parameters.
fn is_end(parameters: &[DirectiveParameter]) -> Option<bool> {
    let is_given = |parameter: &&DirectiveParameter| **parameter != DirectiveParameter::Missing;
    let given: Vec<DirectiveParameter> = parameters.iter().take_while(is_given).copied().collect();
    Some(match given.as_slice() {
        [] => return None,
        [one] => *one == DirectiveParameter::Number(0),
        [one, two] => one == two,
        [one, two, three, ..] => match (one, two, three) {
            (
                DirectiveParameter::Number(low),
                DirectiveParameter::Number(middle),
                DirectiveParameter::Number(high),
            ) => low <= middle && middle <= high,
            _ => false,
        },
    })
}

impl ArgumentCursor {
    const fn new(words: Vec<Word>) -> Self {
        Self { words, at: 0, tail: NIL, is_last_list: None }
    }

    /// The elements of a list; its end, which may be all there is, matters only when it is reached.
    fn of_list(m: &mut Machine, list: Word) -> StepResult<Self> {
        let (words, tail) = m.list_parts(list)?;
        Ok(Self { tail, ..Self::new(words) })
    }

    fn next(&mut self, m: &mut Machine) -> StepResult {
        if let Some(word) = self.words.get(self.at) {
            self.at += 1;
            return Ok(*word);
        }
        self.check_end(m)?;
        self.at += 1;
        Err(bad(m, "No more arguments"))
    }

    /// Whether no argument is left; a dot is one.
    fn is_over(&self) -> bool {
        self.at >= self.words.len() && self.tail.is_nil()
    }

    /// Arguments that are left.
    fn left(&self, m: &mut Machine) -> StepResult<usize> {
        self.check_end(m)?;
        Ok(self.words.len().saturating_sub(self.at))
    }

    /// Signals a type error for a list that ends in a dot.
    fn check_end(&self, m: &mut Machine) -> StepResult<()> {
        if self.tail.is_nil() { Ok(()) } else { Err(m.type_error(self.tail, well_known::LIST)) }
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
        let mut cursor = ArgumentCursor::new(arguments.to_vec());
        let mut out = String::new();
        if !is_start {
            // Stands for the line before; removed below.
            out.push('\u{1}');
        }
        self.format_pieces(&pieces, &mut cursor, &mut out, 0)?;
        Ok(if is_start { out } else { out[1..].to_owned() })
    }

    /// Formats one piece after the other. Nesting counts through reports of conditions that are arguments: their
    /// number is up to the program, and each takes a piece of the host's stack.
    fn format_pieces(
        &mut self,
        pieces: &[ControlPiece],
        cursor: &mut ArgumentCursor,
        out: &mut String,
        depth: usize,
    ) -> StepResult<FormatFlow> {
        if self.format_nesting > MAX_DIRECTIVE_NESTING {
            return Err(limit(LimitKind::Depth));
        }
        self.format_nesting += 1;
        let flow = self.format_each(pieces, cursor, out, depth);
        self.format_nesting -= 1;
        flow
    }

    fn format_each(
        &mut self,
        pieces: &[ControlPiece],
        cursor: &mut ArgumentCursor,
        out: &mut String,
        depth: usize,
    ) -> StepResult<FormatFlow> {
        for piece in pieces {
            self.charge(1)?;
            if out.len() > self.heap.limit {
                return Err(limit(LimitKind::Heap));
            }
            match piece {
                ControlPiece::Text(text) => out.push_str(text),
                ControlPiece::Directive(directive) => {
                    let flow = self.format_directive(directive, cursor, out, depth)?;
                    if flow != FormatFlow::On {
                        return Ok(flow);
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
                Some(radix) => {
                    return Err(self.type_error(Word::fixnum(radix), well_known::INTEGER));
                }
            },
            'C' => self.format_character(d, cursor, out)?,
            'F' => self.format_fixed(d, &parameters, cursor, out)?,
            '$' => self.format_money(d, &parameters, cursor, out)?,
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
                    (_, true) => (cursor.at as i64).saturating_sub(count.unwrap_or(1)),
                    _ => (cursor.at as i64).saturating_add(count.unwrap_or(1)),
                };
                if d.at || d.colon || target > cursor.words.len() as i64 {
                    cursor.check_end(self)?;
                }
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
                    let mut inner = ArgumentCursor::of_list(self, list)?;
                    self.format_pieces(&pieces, &mut inner, out, depth + 1)?;
                }
            }
            '^' => {
                let is_over = match (is_end(&parameters), d.colon, cursor.is_last_list) {
                    (_, true, None) => return Err(bad(self, "~:^ outside of ~:{")),
                    (Some(is_over), ..) => is_over,
                    (None, true, Some(is_last)) => is_last,
                    (None, false, _) => cursor.is_over(),
                };
                return Ok(match (is_over, d.colon) {
                    (false, _) => FormatFlow::On,
                    (true, true) => FormatFlow::LeaveLists,
                    (true, false) => FormatFlow::Leave,
                });
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

    fn format_character(
        &mut self,
        d: &FormatDirective,
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let Some(character) = word.as_character() else {
            return Err(bad(self, "the argument of ~C is no character"));
        };
        match (d.colon, d.at) {
            (true, _) if character == ' ' => out.push_str("Space"),
            (true, _) => out.push_str(&self.print(word, true)?[2..]),
            (false, true) => out.push_str(&self.print(word, true)?),
            (false, false) => out.push(character),
        }
        Ok(())
    }

    fn format_parameters(
        &mut self,
        d: &FormatDirective,
        cursor: &mut ArgumentCursor,
    ) -> StepResult<Vec<DirectiveParameter>> {
        let mut all = Vec::new();
        for parameter in &d.parameters {
            all.push(match parameter {
                DirectiveParameter::Count => DirectiveParameter::Number(cursor.left(self)? as i64),
                DirectiveParameter::Argument => {
                    let word = cursor.next(self)?;
                    match (word.as_fixnum(), word.as_character()) {
                        (Some(number), _) => DirectiveParameter::Number(number),
                        (_, Some(character)) => DirectiveParameter::Character(character),
                        _ if word.is_nil() => DirectiveParameter::Missing,
                        _ if matches!(self.heap.get(word), Some(HeapObject::Big(_))) => {
                            let number = self.integer(word)?;
                            let end = if number.is_negative() { i64::MIN } else { i64::MAX };
                            DirectiveParameter::Number(i64::try_from(number).unwrap_or(end))
                        }
                        _ if self.try_number(word).is_some() => {
                            return self.refuse("a parameter of FORMAT that is no integer");
                        }
                        _ => return Err(self.type_error(word, well_known::INTEGER)),
                    }
                }
                other => *other,
            });
        }
        self.check_parameters(d, &all)?;
        Ok(all)
    }

    /// Rejects more parameters than a directive has, and numbers where it wants characters, or the other way round.
    fn check_parameters(
        &mut self,
        d: &FormatDirective,
        parameters: &[DirectiveParameter],
    ) -> StepResult<()> {
        let kinds = parameter_kinds(d.letter);
        if parameters.len() > kinds.len() {
            return Err(bad(self, "too many parameters"));
        }
        // The radix comes first.
        let has_column = d.letter != 'R' && "ASDBOX".contains(d.letter);
        for (index, (parameter, kind)) in parameters.iter().zip(kinds.chars()).enumerate() {
            match (parameter, kind) {
                (DirectiveParameter::Character(_), 'n') if d.letter == '[' => {
                    return Err(bad(self, "the parameter of ~[ is no integer"));
                }
                (DirectiveParameter::Character(character), 'n') => {
                    let character = Word::character(*character);
                    return Err(self.type_error(character, well_known::INTEGER));
                }
                (DirectiveParameter::Number(_), 'c') => {
                    return self.refuse("a number where FORMAT wants a character");
                }
                (DirectiveParameter::Number(number), _)
                    if *number < 0 && index == 0 && has_column =>
                {
                    return self.refuse("a negative width in FORMAT");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn format_tab(
        &mut self,
        d: &FormatDirective,
        column: Option<i64>,
        step: Option<i64>,
        out: &mut String,
    ) -> StepResult<()> {
        if d.colon || out.starts_with('\u{1}') && !out.contains('\n') {
            return self.refuse("this use of FORMAT directive ~T");
        }
        let line = out.rsplit('\n').next().unwrap_or("").chars().count();
        let column = usize::try_from(column.unwrap_or(1)).unwrap_or(0);
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(0);
        let blanks = if d.at {
            let least = line.saturating_add(column);
            let end = if step == 0 { least } else { least.div_ceil(step).saturating_mul(step) };
            end - line
        } else if line < column {
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
                let Ok(number) = self.integer(word) else {
                    return Err(bad(self, "the argument of ~[ is no integer"));
                };
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
        // Without text inside, the control string is an argument.
        let given;
        let body = if d.clauses[0].is_empty() {
            let control = cursor.next(self)?;
            if crate::equality::is_function(&self.heap, control) {
                return self.refuse("a function as a control string");
            }
            let control = self.string_argument(control)?;
            let text: Vec<char> = control.chars().collect();
            self.charge(text.len() / 16)?;
            given = parse(self, &text, &mut 0, "", depth)?.0;
            &given
        } else {
            &d.clauses[0]
        };
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let mut own;
        let source = if d.at {
            cursor
        } else {
            let list = cursor.next(self)?;
            own = ArgumentCursor::of_list(self, list)?;
            &mut own
        };
        let mut rounds = 0;
        while rounds < most && (!source.is_over() || (rounds == 0 && d.end_colon)) {
            rounds += 1;
            let before = (source.at, out.len());
            let flow = if d.colon {
                let list = source.next(self)?;
                let mut inner = ArgumentCursor::of_list(self, list)?;
                inner.is_last_list = Some(source.is_over());
                match self.format_pieces(body, &mut inner, out, depth + 1)? {
                    FormatFlow::LeaveLists => FormatFlow::Leave,
                    _ => FormatFlow::On,
                }
            } else {
                self.format_pieces(body, source, out, depth + 1)?
            };
            if flow != FormatFlow::On {
                break;
            }
            if (source.at, out.len()) == before {
                self.charge(1000)?;
            }
        }
        Ok(())
    }
}
