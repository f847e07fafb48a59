//! Text and values with `$1` to `$9`, filled from what a rule's wildcards stood for.
//!
//! Called by [`super::ScriptRule`]. In a string `$1` is the text of the capture, `$$` a dollar sign; the
//! symbol `$1` is the captured value itself. What comes out is bounded, however often a capture is
//! used.

use bridle_sexp::{Symbol, Value};

use super::pattern::PatternCapture;

/// Bytes that one draft can grow to by its captures: 1 MiB, as large as the script itself.
pub(crate) const MAX_EXPANDED: usize = 1 << 20;

/// Lists inside each other in a captured value that is put into a draft: with what the script and
/// the record put around it, it stays readable under the reader's own limit.
pub(crate) const MAX_CAPTURED_DEPTH: usize = 64;

/// Reason why a template cannot be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// The draft would grow too long.
    #[error("captures make the draft longer than {MAX_EXPANDED} bytes")]
    TooLong,
    /// A captured value is nested too deep to be put into a draft.
    #[error("`${0}` is a value nested deeper than {MAX_CAPTURED_DEPTH} lists")]
    TooDeep(usize),
}

/// Fills templates of one draft, all from the same captures and the same room.
pub(crate) struct TemplateFiller<'v> {
    captures: Vec<PatternCapture<'v>>,
    /// Text of the captures, made when first asked for.
    texts: Vec<Option<Box<str>>>,
    room: usize,
}

impl<'v> TemplateFiller<'v> {
    /// One with all of its room.
    pub(crate) fn new(captures: Vec<PatternCapture<'v>>) -> Self {
        let texts = vec![None; captures.len()];
        Self { captures, texts, room: MAX_EXPANDED }
    }

    /// A string with its captures put in.
    ///
    /// # Errors
    /// No room left, or a capture that fits nowhere.
    pub(crate) fn text(&mut self, template: &str) -> Result<String, TemplateError> {
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let mut after = rest[at + 1..].chars();
            match after.next() {
                Some('$') => out.push('$'),
                Some(c) if digit(c).is_some_and(|index| index < self.captures.len()) => {
                    let index = digit(c).unwrap_or_default();
                    self.reserve(index)?;
                    out.push_str(self.texts[index].as_deref().unwrap_or_default());
                }
                _ => {
                    out.push('$');
                    after = rest[at + 1..].chars();
                }
            }
            rest = after.as_str();
        }
        out.push_str(rest);
        Ok(out)
    }

    /// A value with its captures put in, inside strings and in place of symbols.
    ///
    /// # Errors
    /// No room left, or a capture that fits nowhere.
    pub(crate) fn value(&mut self, template: &Value) -> Result<Value, TemplateError> {
        // Lists that are open: where they came from, what is left of them, what is done.
        let mut open: Vec<OpenList<'_>> = Vec::new();
        let mut next = template;
        loop {
            let mut done = match next {
                Value::List(elements) | Value::Vector(elements) | Value::Dotted(elements, _) => {
                    open.push(OpenList { of: next, left: elements.iter(), done: Vec::new() });
                    None
                }
                atom => Some(self.atom(atom)?),
            };
            loop {
                let Some(list) = open.last_mut() else { return Ok(done.unwrap_or(Value::Nil)) };
                list.done.extend(done.take());
                if let Some(element) = list.left.next() {
                    next = element;
                    break;
                }
                done = open.pop().map(OpenList::close);
            }
        }
    }

    fn atom(&mut self, atom: &Value) -> Result<Value, TemplateError> {
        match atom {
            Value::Str(template) => Ok(Value::str(self.text(template)?)),
            Value::Symbol(symbol) => match reference(symbol) {
                Some(index) if index < self.captures.len() => {
                    self.reserve(index)?;
                    match self.captures[index] {
                        PatternCapture::Text(text) => Ok(Value::str(text)),
                        PatternCapture::Value(value) if depth(value) > MAX_CAPTURED_DEPTH => {
                            Err(TemplateError::TooDeep(index + 1))
                        }
                        PatternCapture::Value(value) => Ok(value.clone()),
                    }
                }
                _ => Ok(atom.clone()),
            },
            _ => Ok(atom.clone()),
        }
    }

    /// Takes the room that capture `index` needs.
    fn reserve(&mut self, index: usize) -> Result<(), TemplateError> {
        let text = self.texts[index].get_or_insert_with(|| match self.captures[index] {
            PatternCapture::Text(text) => text.into(),
            PatternCapture::Value(Value::Str(text)) => text.clone(),
            PatternCapture::Value(value) => value.to_string().into(),
        });
        self.room = self.room.checked_sub(text.len()).ok_or(TemplateError::TooLong)?;
        Ok(())
    }
}

/// The largest number behind a `$`, in strings and symbols alike; 0 without any.
pub(crate) fn largest_reference(template: &Value) -> usize {
    let mut largest = 0;
    let mut open = vec![template];
    while let Some(template) = open.pop() {
        largest = largest.max(match template {
            Value::Str(text) => largest_in_text(text),
            Value::Symbol(symbol) => reference(symbol).map_or(0, |index| index + 1),
            _ => 0,
        });
        open.extend(template.elements().unwrap_or_default());
    }
    largest
}

/// As [`largest_reference`], of one string.
pub(crate) fn largest_in_text(text: &str) -> usize {
    let mut largest = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '$' {
            let index = chars.clone().next().and_then(digit);
            largest = largest.max(index.map_or(0, |index| index + 1));
            if chars.clone().next() == Some('$') {
                chars.next();
            }
        }
    }
    largest
}

/// Lists around the innermost value.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let elements = match value {
            Value::Propertized { runs, .. } => runs.as_slice(),
            other => other.elements().unwrap_or_default(),
        };
        open.extend(elements.iter().map(|element| (element, depth + 1)));
    }
    deepest
}

/// A list that is being filled.
struct OpenList<'t> {
    of: &'t Value,
    left: std::slice::Iter<'t, Value>,
    done: Vec<Value>,
}

impl OpenList<'_> {
    fn close(self) -> Value {
        match self.of {
            Value::Vector(_) => Value::vector(self.done),
            // A tail is an atom, and no capture goes there.
            Value::Dotted(_, tail) => Value::dotted(self.done, (**tail).clone()),
            _ => Value::list(self.done),
        }
    }
}

/// The capture that the symbol `$1` to `$9` names, counted from 0.
fn reference(symbol: &Symbol) -> Option<usize> {
    let mut chars = symbol.spelling().strip_prefix('$')?.chars();
    let index = chars.next().and_then(digit)?;
    chars.next().is_none().then_some(index)
}

fn digit(c: char) -> Option<usize> {
    match c {
        '1'..='9' => Some(c as usize - '1' as usize),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
