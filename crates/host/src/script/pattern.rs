//! Patterns of script rules against payloads: plists ignoring the case of keys, `*` for anything.
//!
//! Called by [`super::ScriptRule`]. Costs at most the length of the pattern and of the text it is held
//! against: a list of open pairs instead of recursion, the leftmost place for each piece of text
//! instead of trying them all. This is not a regular expression: `*` is the only sign.

use bridle_sexp::Value;

/// Bytes of one string that a pattern looks into: 64 KiB is more than anybody types, and a rule that
/// searches all of it takes 0.3 ms. Longer text is matched by `*` alone.
pub(crate) const MAX_MATCHED_TEXT: usize = 64 << 10;

/// Keys of one plist that a pattern looks at, from its beginning: no message of the protocol has
/// fifty.
pub(crate) const MAX_MATCHED_KEYS: usize = 1_024;

/// Wildcards in one rule, as many as `$1` to `$9` can name.
pub(crate) const MAX_WILDCARDS: usize = 9;

/// Text or value that a wildcard stood for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternCapture<'v> {
    /// `*` inside a string.
    Text(&'v str),
    /// The symbol `*`.
    Value(&'v Value),
}

/// Whether `value` fits `pattern`; adds what its wildcards stood for, in the order of the text.
pub(crate) fn fits<'v>(
    pattern: &Value,
    value: &'v Value,
    captures: &mut Vec<PatternCapture<'v>>,
) -> bool {
    let mut open = vec![(pattern, value)];
    while let Some((pattern, value)) = open.pop() {
        let fits = match (pattern, value) {
            (Value::Symbol(_), _) if is_wildcard(pattern) => {
                captures.push(PatternCapture::Value(value));
                true
            }
            (Value::Str(glob), Value::Str(text) | Value::Propertized { text, .. }) => {
                text_fits(glob, text, captures)
            }
            (Value::Keyword(own), Value::Keyword(other)) => own.is(&other.name()),
            (Value::List(_), _) if pattern.pairs().is_some() => {
                open_plist(pattern, value, &mut open)
            }
            (Value::List(own), Value::List(other)) | (Value::Vector(own), Value::Vector(other)) => {
                let same_length = own.len() == other.len();
                if same_length {
                    open.extend(own.iter().zip(other).rev());
                }
                same_length
            }
            _ => pattern == value,
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Whether `text` fits `glob`, ASCII case and surrounding blanks ignored.
pub(crate) fn text_fits<'v>(
    glob: &str,
    text: &'v str,
    captures: &mut Vec<PatternCapture<'v>>,
) -> bool {
    let text = text.trim();
    let pieces = pieces(glob.trim());
    let Some((first, rest)) = pieces.split_first() else { return text.is_empty() };
    let Some((last, middle)) = rest.split_last() else { return text.eq_ignore_ascii_case(first) };
    if first.is_empty() && rest.len() == 1 && last.is_empty() {
        captures.push(PatternCapture::Text(text));
        return true;
    }
    if text.len() > MAX_MATCHED_TEXT || text.len() < first.len() + last.len() {
        return false;
    }
    let (mut at, end) = (first.len(), text.len() - last.len());
    let bytes = text.as_bytes();
    if !bytes[..at].eq_ignore_ascii_case(first.as_bytes())
        || !bytes[end..].eq_ignore_ascii_case(last.as_bytes())
    {
        return false;
    }
    let folded = if middle.is_empty() { String::new() } else { text.to_ascii_lowercase() };
    for piece in middle {
        // The search is linear, and what comes before the leftmost place is never looked at again.
        let Some(found) = folded[at..end].find(piece.as_str()) else { return false };
        captures.push(PatternCapture::Text(&text[at..at + found]));
        at += found + piece.len();
    }
    captures.push(PatternCapture::Text(&text[at..end]));
    true
}

/// Counts the wildcards of a pattern.
pub(crate) fn wildcards(pattern: &Value) -> usize {
    let mut count = 0;
    let mut open = vec![pattern];
    while let Some(pattern) = open.pop() {
        count += match pattern {
            Value::Str(glob) => pieces(glob).len() - 1,
            other => usize::from(is_wildcard(other)),
        };
        open.extend(pattern.elements().unwrap_or_default());
    }
    count
}

/// Adds each key's pattern with the value of that key; `nil` also fits a key that is not there.
fn open_plist<'p, 'v>(
    pattern: &'p Value,
    value: &'v Value,
    open: &mut Vec<(&'p Value, &'v Value)>,
) -> bool {
    let start = open.len();
    for (key, wanted) in pattern.pairs().into_iter().flatten() {
        let Value::Keyword(key) = key else { return false };
        match lookup(value, &key.name()) {
            Some(found) => open.push((wanted, found)),
            None if wanted.is_nil() => {}
            None => return false,
        }
    }
    open[start..].reverse();
    true
}

fn lookup<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let Value::List(elements) = value else { return None };
    let mut pairs = elements.chunks_exact(2).take(MAX_MATCHED_KEYS);
    pairs.find(|pair| pair[0].is_keyword(key)).map(|pair| &pair[1])
}

fn is_wildcard(pattern: &Value) -> bool {
    pattern.as_symbol() == Some("*")
}

/// Splits a string at its wildcards, in lower case: at least one piece, one more than
/// there are wildcards. A backslash makes the next character an ordinary one.
fn pieces(glob: &str) -> Vec<String> {
    let mut pieces = vec![];
    let mut piece = String::new();
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => pieces.push(std::mem::take(&mut piece)),
            '\\' => piece.push(chars.next().unwrap_or('\\').to_ascii_lowercase()),
            _ => piece.push(c.to_ascii_lowercase()),
        }
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests;
