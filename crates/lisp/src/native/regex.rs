//! Regular expressions of the `regex` crate: time grows with the text alone, whatever the pattern.

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::{NativeFunction, native};
use crate::machine::Machine;
use crate::trap::StepResult;
use crate::value::{NIL, Word};

/// Patterns that were compiled.
#[derive(Clone, Default)]
pub(crate) struct RegexCache {
    compiled: HashMap<String, Arc<Regex>>,
}

/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;
/// Patterns that are kept.
const PATTERNS: usize = 32;

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
            words.push(m.make_text(found.as_str())?);
        }
        m.make_list(&words)
    }),
    // The replacement stands for itself.
    native("bridle:regex-replace-all", 3, 3, |m, a| {
        let (regex, text) = both(m, m.argument(a, 0), m.argument(a, 1))?;
        let replacement = m.string_argument(m.argument(a, 2))?;
        m.reserve((text.len() + 1).saturating_mul(replacement.len() + 1))?;
        let replaced = regex.replace_all(&text, regex::NoExpand(&replacement)).into_owned();
        m.make_text(replaced)
    }),
    native("bridle:regex-split", 2, 2, |m, a| {
        let (regex, text) = both(m, m.argument(a, 0), m.argument(a, 1))?;
        let mut words = Vec::new();
        for part in regex.split(&text) {
            words.push(m.make_text(part)?);
        }
        m.make_list(&words)
    }),
];

fn both(m: &mut Machine, pattern: Word, text: Word) -> StepResult<(Arc<Regex>, String)> {
    let (pattern, text) = (m.string_argument(pattern)?, m.string_argument(text)?);
    m.charge(text.len() / 4 + pattern.len())?;
    if let Some(regex) = m.regexes.compiled.get(&pattern) {
        return Ok((regex.clone(), text));
    }
    m.charge(10_000)?;
    let built = RegexBuilder::new(&pattern)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .nest_limit(64)
        .build();
    let Ok(regex) = built else { return Err(m.simple_error("bad regular expression")) };
    if m.regexes.compiled.len() >= PATTERNS {
        m.regexes.compiled.clear();
    }
    let regex = Arc::new(regex);
    m.regexes.compiled.insert(pattern, regex.clone());
    Ok((regex, text))
}
