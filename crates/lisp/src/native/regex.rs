//! Regular expressions of the `regex` crate: time grows with the text alone, whatever the pattern.

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::{NativeFunction, native};
use crate::machine::Machine;
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::{NIL, Word};

/// Patterns that were compiled.
#[derive(Clone, Default)]
pub(crate) struct RegexCache {
    compiled: HashMap<String, Arc<Regex>>,
}

/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;
/// Bytes that most compiled patterns stay below; compiling a larger one costs more.
const PLAIN_PATTERN_BYTES: usize = 64 << 10;
/// Steps that compiling a pattern takes, and a large one.
const COMPILE_STEPS: usize = 10_000;
const LARGE_COMPILE_STEPS: usize = 300_000;
/// Patterns that are kept.
const MAX_CACHED_PATTERNS: usize = 32;

pub(crate) const TABLE: &[NativeFunction] = &[
    // First match as a vector of the whole and its groups, nil for a group that took no part.
    native("bridle:regex-match", 2, 2, |m, a| {
        let (regex, text) = both(m, m.argument(a, 0), m.argument(a, 1))?;
        let Some(found) = regex.captures(&text) else { return Ok(NIL) };
        let parts: Vec<Option<String>> =
            found.iter().map(|part| part.map(|part| part.as_str().to_owned())).collect();
        let mut words = Vec::new();
        for part in parts {
            words.push(match part {
                Some(part) => m.make_text(part)?,
                None => NIL,
            });
        }
        Ok(m.heap.vector_word(words))
    }),
    native("bridle:regex-find-all", 2, 2, |m, a| {
        let (regex, text) = both(m, m.argument(a, 0), m.argument(a, 1))?;
        let mut words = Vec::new();
        for found in regex.find_iter(&text) {
            charge_match(m, &text, found.end())?;
            words.push(m.make_text(found.as_str())?);
        }
        m.make_list(&words)
    }),
    // The replacement stands for itself.
    native("bridle:regex-replace-all", 3, 3, |m, a| {
        let (regex, text) = both(m, m.argument(a, 0), m.argument(a, 1))?;
        let replacement = m.string_argument(m.argument(a, 2))?;
        let (mut replaced, mut at) = (String::new(), 0);
        for found in regex.find_iter(&text) {
            charge_match(m, &text, found.end())?;
            replaced.push_str(&text[at..found.start()]);
            replaced.push_str(&replacement);
            at = found.end();
            if replaced.len() > m.heap.limit {
                return Err(limit(LimitKind::Heap));
            }
        }
        replaced.push_str(&text[at..]);
        m.make_text(replaced)
    }),
    native("bridle:regex-split", 2, 2, |m, a| {
        let (regex, text) = both(m, m.argument(a, 0), m.argument(a, 1))?;
        let mut words = Vec::new();
        for part in regex.split(&text) {
            charge_match(m, &text, part.as_ptr().addr() - text.as_ptr().addr())?;
            words.push(m.make_text(part)?);
        }
        m.make_list(&words)
    }),
];

/// Takes the cost of a match from the fuel: some patterns look at the whole rest of the text for each.
fn charge_match(m: &mut Machine, text: &str, at: usize) -> StepResult<()> {
    m.charge((text.len() - at) / 64 + 1)
}

fn both(m: &mut Machine, pattern: Word, text: Word) -> StepResult<(Arc<Regex>, String)> {
    let (pattern, text) = (m.string_argument(pattern)?, m.string_argument(text)?);
    m.charge(text.len() / 4 + pattern.len())?;
    if let Some(regex) = m.regexes.compiled.get(&pattern) {
        return Ok((regex.clone(), text));
    }
    m.charge(COMPILE_STEPS)?;
    let build = |bytes| {
        RegexBuilder::new(&pattern)
            .size_limit(bytes)
            .dfa_size_limit(PATTERN_BYTES)
            .nest_limit(64)
            .build()
    };
    let mut built = build(PLAIN_PATTERN_BYTES);
    if matches!(built, Err(regex::Error::CompiledTooBig(_))) {
        m.charge(LARGE_COMPILE_STEPS)?;
        built = build(PATTERN_BYTES);
    }
    let Ok(regex) = built else { return Err(m.simple_error("bad regular expression")) };
    if m.regexes.compiled.len() >= MAX_CACHED_PATTERNS {
        m.regexes.compiled.clear();
    }
    let regex = Arc::new(regex);
    m.regexes.compiled.insert(pattern, regex.clone());
    Ok((regex, text))
}
