//! JSON both ways. Objects are property lists with keyword keys, arrays are vectors; `null`, `true`
//! and `false` are `:null`, `t` and `:false`, so that the empty list stays the empty object's.
//!
//! long: the encoder is one match over kinds of values.

use super::{NativeFunction, native};
use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::symbols::{SymbolHome, well_known};
use crate::trap::{LimitKind, StepResult, limit};
use crate::types::condition;
use crate::value::{NIL, T, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("bridle:json-encode", 1, 1, |m, a| {
        let mut out = String::new();
        encode(m, m.argument(a, 0), &mut out, 0)?;
        m.make_text(out)
    }),
    native("bridle:json-decode", 1, 1, |m, a| {
        let text: Vec<char> = m.string_argument(m.argument(a, 0))?.chars().collect();
        let mut at = 0;
        let value = decode(m, &text, &mut at, 0)?;
        skip(&text, &mut at);
        if at < text.len() {
            return Err(bad(m, "text behind the value"));
        }
        Ok(value)
    }),
];

const MAX_JSON_DEPTH: usize = 128;

fn bad(m: &mut Machine, what: &str) -> crate::trap::Trap {
    m.message(condition::JSON_ERROR, &format!("bad JSON: {what}"))
}

fn quote(text: impl Iterator<Item = char>, out: &mut String) {
    out.push('"');
    for character in text {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn encode(m: &mut Machine, word: Word, out: &mut String, depth: usize) -> StepResult<()> {
    m.charge(1)?;
    if depth > MAX_JSON_DEPTH {
        return Err(limit(LimitKind::Depth));
    }
    if out.len() > m.heap.limit {
        return Err(limit(LimitKind::Heap));
    }
    if let Some(symbol) = word.as_symbol() {
        match symbol {
            well_known::NIL => out.push_str("{}"),
            well_known::T => out.push_str("true"),
            well_known::K_NULL => out.push_str("null"),
            well_known::K_TRUE => out.push_str("true"),
            well_known::K_FALSE => out.push_str("false"),
            _ => {
                let name = m.symbols.name(symbol).to_lowercase();
                quote(name.chars(), out);
            }
        }
        return Ok(());
    }
    if word.is_cons() {
        let words = m.list_elements(word)?;
        if words.len() % 2 == 1 || !words.iter().step_by(2).all(|key| key.is_symbol()) {
            return Err(bad(m, "a list that is no property list"));
        }
        out.push('{');
        for (index, pair) in words.chunks_exact(2).enumerate() {
            if index > 0 {
                out.push(',');
            }
            let name = pair[0].as_symbol().map(|s| m.symbols.name(s).to_lowercase());
            quote(name.unwrap_or_default().chars(), out);
            out.push(':');
            encode(m, pair[1], out, depth + 1)?;
        }
        out.push('}');
        return Ok(());
    }
    if let Some(words) = m.heap.vector(word).map(<[Word]>::to_vec) {
        out.push('[');
        for (index, word) in words.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            encode(m, word, out, depth + 1)?;
        }
        out.push(']');
        return Ok(());
    }
    if let Some(text) = m.heap.text(word) {
        quote(text.iter(), out);
        return Ok(());
    }
    if let Some(single) = word.as_single() {
        out.push_str(&format!("{single:?}"));
        return Ok(());
    }
    match m.heap.get(word) {
        Some(HeapObject::Double(number)) => out.push_str(&format!("{number:?}")),
        Some(HeapObject::Big(_)) | None if word.as_character().is_none() => {
            out.push_str(&m.print(word, true)?);
        }
        _ => return Err(bad(m, "a value that JSON has no word for")),
    }
    Ok(())
}

fn skip(text: &[char], at: &mut usize) {
    while text.get(*at).is_some_and(|c| matches!(c, ' ' | '\n' | '\r' | '\t')) {
        *at += 1;
    }
}

fn decode(m: &mut Machine, text: &[char], at: &mut usize, depth: usize) -> StepResult {
    m.charge(1)?;
    if depth > MAX_JSON_DEPTH {
        return Err(limit(LimitKind::Depth));
    }
    skip(text, at);
    match text.get(*at) {
        Some('{') => decode_object(m, text, at, depth),
        Some('[') => {
            *at += 1;
            let mut words = Vec::new();
            skip(text, at);
            if text.get(*at) == Some(&']') {
                *at += 1;
                return Ok(m.heap.vector_word(words));
            }
            loop {
                words.push(decode(m, text, at, depth + 1)?);
                skip(text, at);
                *at += 1;
                match text.get(*at - 1) {
                    Some(',') => {}
                    Some(']') => break,
                    _ => return Err(bad(m, "an array without its end")),
                }
            }
            m.reserve(words.len() * 8)?;
            Ok(m.heap.vector_word(words))
        }
        Some('"') => {
            let value = decode_string(m, text, at)?;
            m.make_text(value)
        }
        Some(_) => decode_atom(m, text, at),
        None => Err(bad(m, "the text ends")),
    }
}

fn decode_object(m: &mut Machine, text: &[char], at: &mut usize, depth: usize) -> StepResult {
    *at += 1;
    let mut words = Vec::new();
    skip(text, at);
    if text.get(*at) == Some(&'}') {
        *at += 1;
        return Ok(NIL);
    }
    loop {
        skip(text, at);
        let key = decode_string(m, text, at)?;
        skip(text, at);
        if text.get(*at) != Some(&':') {
            return Err(bad(m, "a key without a colon"));
        }
        *at += 1;
        m.heap.bytes += key.len() + 128;
        words.push(Word::symbol(m.symbols.intern(SymbolHome::Keyword, &key.to_uppercase())));
        words.push(decode(m, text, at, depth + 1)?);
        skip(text, at);
        *at += 1;
        match text.get(*at - 1) {
            Some(',') => {}
            Some('}') => return m.make_list(&words),
            _ => return Err(bad(m, "an object without its end")),
        }
    }
}

fn decode_string(m: &mut Machine, text: &[char], at: &mut usize) -> StepResult<String> {
    if text.get(*at) != Some(&'"') {
        return Err(bad(m, "expected a string"));
    }
    *at += 1;
    let mut value = String::new();
    loop {
        let Some(character) = text.get(*at).copied() else {
            return Err(bad(m, "a string without its end"));
        };
        *at += 1;
        match character {
            '"' => return Ok(value),
            '\\' => {
                let escape = text.get(*at).copied().unwrap_or('"');
                *at += 1;
                value.push(match escape {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    '"' | '\\' | '/' => escape,
                    'u' => decode_unicode(m, text, at)?,
                    _ => return Err(bad(m, "an unknown escape")),
                });
            }
            c if (c as u32) < 0x20 => return Err(bad(m, "a control character in a string")),
            c => value.push(c),
        }
    }
}

fn decode_unicode(m: &mut Machine, text: &[char], at: &mut usize) -> StepResult<char> {
    let unit = |at: &mut usize| {
        let digits: String = text.iter().skip(*at).take(4).collect();
        *at += 4;
        u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4)
    };
    let first = unit(at);
    let code = match first {
        Some(high @ 0xd800..=0xdbff) if text.get(*at) == Some(&'\\') => {
            *at += 2;
            unit(at)
                .filter(|low| (0xdc00..=0xdfff).contains(low))
                .map(|low| 0x1_0000 + (high - 0xd800) * 0x400 + (low - 0xdc00))
        }
        other => other,
    };
    code.and_then(char::from_u32).ok_or_else(|| bad(m, "a bad \\u escape"))
}

fn decode_atom(m: &mut Machine, text: &[char], at: &mut usize) -> StepResult {
    let start = *at;
    while text.get(*at).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) {
        *at += 1;
    }
    let atom: String = text[start..*at].iter().collect();
    match atom.as_str() {
        "true" => return Ok(T),
        "false" => return Ok(Word::symbol(well_known::K_FALSE)),
        "null" => return Ok(Word::symbol(well_known::K_NULL)),
        _ => {}
    }
    let body = atom.strip_prefix('-').unwrap_or(&atom);
    let is_plain = body.starts_with(|c: char| c.is_ascii_digit())
        && !(body.len() > 1 && body.starts_with('0') && body.as_bytes()[1].is_ascii_digit());
    if !is_plain || atom.len() > 1000 {
        return Err(bad(m, "an unknown word"));
    }
    if body.bytes().all(|byte| byte.is_ascii_digit()) {
        return m.parse_number(&atom);
    }
    match atom.parse::<f64>() {
        Ok(number) if number.is_finite() && !atom.ends_with('.') => m.double_word(number),
        _ => Err(bad(m, "a bad number")),
    }
}
