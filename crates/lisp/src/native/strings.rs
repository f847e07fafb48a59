//! Strings and characters.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::characters::{downcase, has_case, upcase};
use super::{MANY, NativeFunction, native};
use crate::equality::fold;
use crate::heap::HeapObject;
use crate::machine::{ArgumentWindow, Machine};
use crate::number::bits::parse_integer;
use crate::print::CONTROL_NAMES;
use crate::text::LispText;
use crate::trap::StepResult;
use crate::types::condition;
use crate::value::{NIL, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("string", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        if m.heap.text(word).is_some() {
            return Ok(word);
        }
        let text = m.designated_text(word)?;
        m.make_text(text)
    }),
    native("char", 2, 2, character_at),
    native("schar", 2, 2, character_at),
    native("make-string", 1, MANY, |m, a| {
        m.check_keys(a, 1, &["INITIAL-ELEMENT", "ELEMENT-TYPE"])?;
        check_element_type(m, m.key(a, 1, "ELEMENT-TYPE"))?;
        let count = m.index_argument(m.argument(a, 0))?;
        m.reserve(count.saturating_mul(4))?;
        let filler = match m.key(a, 1, "INITIAL-ELEMENT") {
            Some(word) => m.character_argument(word)?,
            None => '\0',
        };
        m.make_text(LispText::filled(filler, count))
    }),
    native("string-upcase", 1, MANY, |m, a| change_case(m, a, |c, _| upcase(c))),
    native("string-downcase", 1, MANY, |m, a| change_case(m, a, |c, _| downcase(c))),
    native("string-capitalize", 1, MANY, |m, a| {
        change_case(m, a, |c, is_start| if is_start { upcase(c) } else { downcase(c) })
    }),
    native("string-trim", 2, 2, |m, a| trim(m, a, true, true)),
    native("string-left-trim", 2, 2, |m, a| trim(m, a, true, false)),
    native("string-right-trim", 2, 2, |m, a| trim(m, a, false, true)),
    native("string=", 2, MANY, |m, a| Ok(Word::truth(compare(m, a, false)?.0.is_eq()))),
    native("string/=", 2, MANY, |m, a| order(m, a, false, Ordering::is_ne)),
    native("string<", 2, MANY, |m, a| order(m, a, false, Ordering::is_lt)),
    native("string>", 2, MANY, |m, a| order(m, a, false, Ordering::is_gt)),
    native("string<=", 2, MANY, |m, a| order(m, a, false, Ordering::is_le)),
    native("string>=", 2, MANY, |m, a| order(m, a, false, Ordering::is_ge)),
    native("string-equal", 2, MANY, |m, a| Ok(Word::truth(compare(m, a, true)?.0.is_eq()))),
    native("string-not-equal", 2, MANY, |m, a| order(m, a, true, Ordering::is_ne)),
    native("string-lessp", 2, MANY, |m, a| order(m, a, true, Ordering::is_lt)),
    native("string-greaterp", 2, MANY, |m, a| order(m, a, true, Ordering::is_gt)),
    native("string-not-greaterp", 2, MANY, |m, a| order(m, a, true, Ordering::is_le)),
    native("string-not-lessp", 2, MANY, |m, a| order(m, a, true, Ordering::is_ge)),
    native("%search-text", 4, 4, |m, a| {
        let needle = m.string_argument(m.argument(a, 0))?;
        let Some(text) = m.heap.text(m.argument(a, 1)) else { return Ok(NIL) };
        let length = text.len();
        let (start, end) = m.bounds(m.optional(a, 2), m.optional(a, 3), length)?;
        m.charge((end - start) / 16)?;
        let Some(text) = m.heap.text(m.argument(a, 1)) else { return Ok(NIL) };
        let part: String = text.part(start, end).collect();
        match part.find(&needle) {
            Some(at) => Ok(Word::count(start + part[..at].chars().count())),
            None => Ok(NIL),
        }
    }),
    native("parse-integer", 1, MANY, parse),
    native("char-code", 1, 1, |m, a| {
        Ok(Word::count(m.character_argument(m.argument(a, 0))? as usize))
    }),
    native("char-int", 1, 1, |m, a| {
        Ok(Word::count(m.character_argument(m.argument(a, 0))? as usize))
    }),
    native("code-char", 1, 1, |m, a| {
        let code = m.index_argument(m.argument(a, 0))?;
        let code = u32::try_from(code).unwrap_or(u32::MAX);
        match char::from_u32(code) {
            Some(character) => Ok(Word::character(character)),
            None if code < 0x11_0000 => m.refuse("surrogate characters"),
            None => Err(m.type_error(m.argument(a, 0), crate::symbols::well_known::UNSIGNED_BYTE)),
        }
    }),
    native("char-upcase", 1, 1, |m, a| {
        Ok(Word::character(upcase(m.character_argument(m.argument(a, 0))?)))
    }),
    native("char-downcase", 1, 1, |m, a| {
        Ok(Word::character(downcase(m.character_argument(m.argument(a, 0))?)))
    }),
    native("alpha-char-p", 1, 1, |m, a| {
        Ok(Word::truth(m.character_argument(m.argument(a, 0))?.is_alphabetic()))
    }),
    native("alphanumericp", 1, 1, |m, a| {
        Ok(Word::truth(m.character_argument(m.argument(a, 0))?.is_alphanumeric()))
    }),
    native("upper-case-p", 1, 1, |m, a| {
        let c = m.character_argument(m.argument(a, 0))?;
        Ok(Word::truth(downcase(c) != c))
    }),
    native("lower-case-p", 1, 1, |m, a| {
        let c = m.character_argument(m.argument(a, 0))?;
        Ok(Word::truth(upcase(c) != c))
    }),
    native("both-case-p", 1, 1, |m, a| {
        Ok(Word::truth(has_case(m.character_argument(m.argument(a, 0))?)))
    }),
    native("standard-char-p", 1, 1, |m, a| {
        let c = m.character_argument(m.argument(a, 0))?;
        Ok(Word::truth(c == '\n' || matches!(c, ' '..='~')))
    }),
    native("graphic-char-p", 1, 1, |m, a| {
        Ok(Word::truth(!m.character_argument(m.argument(a, 0))?.is_control()))
    }),
    native("digit-char-p", 1, 2, |m, a| {
        let c = m.character_argument(m.argument(a, 0))?;
        let radix = radix(m, m.optional(a, 1))?;
        if !c.is_ascii() {
            return if c.is_numeric() { m.refuse("digits beyond ASCII") } else { Ok(NIL) };
        }
        Ok(c.to_digit(radix).map_or(NIL, |digit| Word::fixnum(i64::from(digit))))
    }),
    native("digit-char", 1, 2, |m, a| {
        let digit = m.index_argument(m.argument(a, 0))?;
        let radix = radix(m, m.optional(a, 1))?;
        let digit = u32::try_from(digit).unwrap_or(u32::MAX);
        Ok(char::from_digit(digit, radix)
            .filter(|_| digit < radix)
            .map_or(NIL, |c| Word::character(c.to_ascii_uppercase())))
    }),
    native("char-name", 1, 1, |m, a| {
        let c = m.character_argument(m.argument(a, 0))?;
        match c {
            '\u{0}'..='\u{20}' => m.make_text(CONTROL_NAMES[c as usize]),
            '\u{7f}' => m.make_text("Rubout"),
            _ => m.refuse("names of characters"),
        }
    }),
    native("name-char", 1, 1, |m, a| {
        let name = m.designated_text(m.argument(a, 0))?.to_owned_string();
        match crate::read::character_named(&name) {
            Some(character) => Ok(Word::character(character)),
            None => m.refuse("names of characters"),
        }
    }),
    native("char=", 1, MANY, |m, a| chain(m, a, |c| c, Ordering::is_eq)),
    native("char<", 1, MANY, |m, a| chain(m, a, |c| c, Ordering::is_lt)),
    native("char>", 1, MANY, |m, a| chain(m, a, |c| c, Ordering::is_gt)),
    native("char<=", 1, MANY, |m, a| chain(m, a, |c| c, Ordering::is_le)),
    native("char>=", 1, MANY, |m, a| chain(m, a, |c| c, Ordering::is_ge)),
    native("char-equal", 1, MANY, |m, a| chain(m, a, fold, Ordering::is_eq)),
    native("char-lessp", 1, MANY, |m, a| chain(m, a, fold, Ordering::is_lt)),
    native("char-greaterp", 1, MANY, |m, a| chain(m, a, fold, Ordering::is_gt)),
    native("char/=", 1, MANY, |m, a| all_differ(m, a, |c| c)),
    native("char-not-equal", 1, MANY, |m, a| all_differ(m, a, fold)),
    native("char-not-lessp", 1, MANY, |m, a| chain(m, a, fold, Ordering::is_ge)),
    native("char-not-greaterp", 1, MANY, |m, a| chain(m, a, fold, Ordering::is_le)),
];

fn radix(m: &mut Machine, word: Option<Word>) -> StepResult<u32> {
    match word {
        None => Ok(10),
        Some(word) => match m.index_argument(word)? {
            radix @ 2..=36 => Ok(radix as u32),
            _ => Err(m.type_error(word, crate::symbols::well_known::INTEGER)),
        },
    }
}

fn character_at(m: &mut Machine, a: ArgumentWindow) -> StepResult {
    if m.heap.text(m.argument(a, 0)).is_none() {
        return Err(m.type_error(m.argument(a, 0), crate::symbols::well_known::STRING));
    }
    m.element(m.argument(a, 0), m.argument(a, 1))
}

/// Rejects strings of other elements than characters.
fn check_element_type(m: &mut Machine, kind: Option<Word>) -> StepResult<()> {
    use crate::symbols::well_known::{BASE_CHAR, CHARACTER};
    match kind.map(Word::as_symbol) {
        None | Some(Some(CHARACTER | BASE_CHAR)) => Ok(()),
        Some(_) => m.refuse("strings of a special element type"),
    }
}

fn change_case(m: &mut Machine, a: ArgumentWindow, change: fn(char, bool) -> char) -> StepResult {
    m.check_keys(a, 1, &["START", "END"])?;
    let text = m.designated_text(m.argument(a, 0))?;
    let (start, end) = m.bounds(m.key(a, 1, "START"), m.key(a, 1, "END"), text.len())?;
    m.charge(text.len() / 16)?;
    let mut is_start = true;
    let mut changed = LispText::new();
    for (index, character) in text.iter().enumerate() {
        if index < start || index >= end {
            changed.push(character);
            continue;
        }
        changed.push(change(character, is_start));
        is_start = !character.is_alphanumeric();
    }
    m.make_text(changed)
}

fn trim(m: &mut Machine, a: ArgumentWindow, left: bool, right: bool) -> StepResult {
    let bag = super::sequences::elements(m, m.argument(a, 0))?;
    for word in &bag {
        m.character_argument(*word)?;
    }
    let bag: HashSet<Word> = bag.into_iter().collect();
    let text = m.designated_text(m.argument(a, 1))?;
    let is_in = |at: usize| text.get(at).is_some_and(|c| bag.contains(&Word::character(c)));
    let (mut start, mut end) = (0, text.len());
    while left && start < end && is_in(start) {
        start += 1;
    }
    while right && start < end && is_in(end - 1) {
        end -= 1;
    }
    m.charge(text.len() / 16)?;
    m.make_text(text.slice(start, end))
}

/// Order of two parts of strings, and the index in the first one where they differ.
fn compare(m: &mut Machine, a: ArgumentWindow, is_loose: bool) -> StepResult<(Ordering, usize)> {
    m.check_keys(a, 2, &["START1", "END1", "START2", "END2"])?;
    let (one, two) = (m.designated_text(m.argument(a, 0))?, m.designated_text(m.argument(a, 1))?);
    let first = m.bounds(m.key(a, 2, "START1"), m.key(a, 2, "END1"), one.len())?;
    let second = m.bounds(m.key(a, 2, "START2"), m.key(a, 2, "END2"), two.len())?;
    let change = |c: char| if is_loose { fold(c) } else { c };
    m.charge((first.1 - first.0).min(second.1 - second.0) / 8)?;
    let mut at = 0;
    loop {
        let left = (first.0 + at < first.1).then(|| one.get(first.0 + at)).flatten().map(change);
        let right =
            (second.0 + at < second.1).then(|| two.get(second.0 + at)).flatten().map(change);
        if left != right || left.is_none() {
            return Ok((left.cmp(&right), first.0 + at));
        }
        at += 1;
    }
}

fn order(
    m: &mut Machine,
    a: ArgumentWindow,
    is_loose: bool,
    holds: fn(Ordering) -> bool,
) -> StepResult {
    let (found, at) = compare(m, a, is_loose)?;
    Ok(if holds(found) { Word::count(at) } else { NIL })
}

fn chain(
    m: &mut Machine,
    a: ArgumentWindow,
    change: fn(char) -> char,
    holds: fn(Ordering) -> bool,
) -> StepResult {
    let mut all = true;
    let mut before = change(m.character_argument(m.argument(a, 0))?);
    for index in 1..a.count {
        let next = change(m.character_argument(m.argument(a, index))?);
        all &= holds(before.cmp(&next));
        before = next;
    }
    Ok(Word::truth(all))
}

fn all_differ(m: &mut Machine, a: ArgumentWindow, change: fn(char) -> char) -> StepResult {
    let mut seen = Vec::new();
    let mut all = true;
    for index in 0..a.count {
        let next = change(m.character_argument(m.argument(a, index))?);
        all &= !seen.contains(&next);
        seen.push(next);
        m.charge(seen.len() / 16)?;
    }
    Ok(Word::truth(all))
}

fn parse(m: &mut Machine, a: ArgumentWindow) -> StepResult {
    m.check_keys(a, 1, &["START", "END", "RADIX", "JUNK-ALLOWED"])?;
    let text = m.string_argument(m.argument(a, 0))?;
    let characters: Vec<char> = text.chars().collect();
    let (start, end) = m.bounds(m.key(a, 1, "START"), m.key(a, 1, "END"), characters.len())?;
    let radix = radix(m, m.key(a, 1, "RADIX"))?;
    let allows_junk = m.key(a, 1, "JUNK-ALLOWED").is_some_and(Word::is_true);
    let mut at = start;
    while at < end && characters[at].is_whitespace() {
        at += 1;
    }
    let mut digits = String::new();
    if at < end && matches!(characters[at], '+' | '-') {
        if characters[at] == '-' {
            digits.push('-');
        }
        at += 1;
    }
    let from = digits.len();
    while at < end && characters[at].is_ascii() && characters[at].is_digit(radix) {
        digits.push(characters[at]);
        at += 1;
    }
    m.charge(digits.len() / 16 * (digits.len() / 64 + 1))?;
    let number = if digits.len() > from { parse_integer(&digits, radix) } else { None };
    let mut after = at;
    while after < end && characters[after].is_whitespace() {
        after += 1;
    }
    match number {
        Some(number) if allows_junk => {
            let word = m.integer_word(number)?;
            Ok(m.return_values(&[word, Word::count(at)]))
        }
        Some(number) if after == end => {
            let word = m.integer_word(number)?;
            Ok(m.return_values(&[word, Word::count(after)]))
        }
        None if allows_junk => Ok(m.return_values(&[NIL, Word::count(at)])),
        _ => {
            let text = format!("junk in string {text:?}");
            Err(m.message(condition::SIMPLE_PARSE_ERROR, &text))
        }
    }
}

/// Whether a word is a string with a fill pointer, to be written to.
pub(crate) fn is_growing(m: &Machine, word: Word) -> bool {
    matches!(m.heap.get(word), Some(HeapObject::Text(_, shape)) if !shape.is_simple())
}
