//! Control strings: text and directives with their parameters and clauses.
//!
//! long: a match with an arm for each directive.

use crate::machine::Machine;
use crate::trap::{LimitKind, StepResult, Trap, limit};
use crate::types::condition;

/// One parameter of a directive.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum DirectiveParameter {
    Missing,
    Number(i64),
    Character(char),
    /// `v`: the next argument.
    Argument,
    /// `#`: how many are left.
    Count,
}

/// Text, or a directive with what is inside it.
pub(super) enum ControlPiece {
    Text(String),
    Directive(FormatDirective),
}

pub(super) struct FormatDirective {
    pub(super) letter: char,
    pub(super) colon: bool,
    pub(super) at: bool,
    pub(super) parameters: Vec<DirectiveParameter>,
    /// Clauses between an opening and its end, and whether the last is a default.
    pub(super) clauses: Vec<Vec<ControlPiece>>,
    pub(super) has_default: bool,
    pub(super) end_colon: bool,
}

pub(super) const KNOWN: &str = "ASDBOXRPFC%&~{}[];()^*?T|$W\n";
pub(super) const MAX_DIRECTIVE_NESTING: usize = 32;

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

pub(super) fn bad(m: &mut Machine, text: &str) -> Trap {
    m.message(condition::FORMAT_ERROR, &format!("error in FORMAT: {text}"))
}

/// Reads pieces up to one of `ends`; returns them and the end's directive.
pub(super) fn parse(
    m: &mut Machine,
    text: &[char],
    at: &mut usize,
    ends: &str,
    depth: usize,
) -> StepResult<(Vec<ControlPiece>, Option<FormatDirective>)> {
    if depth > MAX_DIRECTIVE_NESTING {
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
                // An empty text tells `~{~}` that there is something inside.
                pieces.push(ControlPiece::Text(if directive.at { "\n" } else { "" }.into()));
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

pub(super) fn parse_clauses(
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

pub(super) fn parse_directive(
    m: &mut Machine,
    text: &[char],
    at: &mut usize,
) -> StepResult<FormatDirective> {
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
                // A number beyond all widths is as good as the largest one.
                let end = if character == '-' { i64::MIN } else { i64::MAX };
                let number = digits.trim_start_matches('+').parse().unwrap_or(end);
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
