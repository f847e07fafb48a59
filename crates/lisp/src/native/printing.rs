//! Output: streams, printing and `format`; and reading a value from a string.

use super::{MANY, NativeFunction, native};
use crate::heap::{HeapObject, TextStream};
use crate::machine::{ArgumentWindow, Machine};
use crate::read::{FormReader, ReadFailureKind, SourceTrust};
use crate::symbols::well_known;
use crate::text::LispText;
use crate::trap::{StepResult, limit, outside};
use crate::types::condition;
use crate::value::{NIL, T, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("princ", 1, 2, |m, a| print(m, a, false, "", "")),
    native("prin1", 1, 2, |m, a| print(m, a, true, "", "")),
    native("print", 1, 2, |m, a| print(m, a, true, "\n", " ")),
    native("princ-to-string", 1, 1, |m, a| {
        let text = m.print(m.argument(a, 0), false)?;
        m.make_text(text)
    }),
    native("prin1-to-string", 1, 1, |m, a| {
        let text = m.print(m.argument(a, 0), true)?;
        m.make_text(text)
    }),
    native("terpri", 0, 1, |m, a| {
        let stream = stream(m, m.optional(a, 0))?;
        m.write(stream, "\n")?;
        Ok(NIL)
    }),
    native("fresh-line", 0, 1, |m, a| {
        let stream = stream(m, m.optional(a, 0))?;
        if m.is_at_line_start(stream) {
            return Ok(NIL);
        }
        m.write(stream, "\n")?;
        Ok(T)
    }),
    native("write-string", 1, MANY, |m, a| {
        let text = part(m, a)?;
        let stream = stream(m, m.optional(a, 1))?;
        m.write(stream, &text)?;
        Ok(m.argument(a, 0))
    }),
    native("write-line", 1, MANY, |m, a| {
        let text = part(m, a)?;
        let stream = stream(m, m.optional(a, 1))?;
        m.write(stream, &(text + "\n"))?;
        Ok(m.argument(a, 0))
    }),
    native("write-char", 1, 2, |m, a| {
        let character = m.character_argument(m.argument(a, 0))?;
        let stream = stream(m, m.optional(a, 1))?;
        m.write(stream, &character.to_string())?;
        Ok(m.argument(a, 0))
    }),
    native("finish-output", 0, 1, |m, a| stream(m, m.optional(a, 0)).map(|_| NIL)),
    native("force-output", 0, 1, |m, a| stream(m, m.optional(a, 0)).map(|_| NIL)),
    native("make-string-output-stream", 0, MANY, |m, a| {
        m.check_keys(a, 0, &["ELEMENT-TYPE"])?;
        if a.count > 0 {
            return m.refuse("strings of a special element type");
        }
        Ok(m.heap
            .allocate(HeapObject::Stream(Box::new(TextStream::ToText { text: LispText::new() }))))
    }),
    native("get-output-stream-string", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        let text = match m.heap.object_mut(word) {
            Some(HeapObject::Stream(stream)) if word.is_object() => match stream.as_mut() {
                TextStream::ToText { text } => std::mem::replace(text, LispText::new()),
                _ => return m.refuse("this stream"),
            },
            _ => return Err(m.type_error(word, well_known::STREAM)),
        };
        m.make_text(text)
    }),
    native("%stream", 1, 1, |m, a| {
        let kind =
            if m.argument(a, 0).is_true() { TextStream::ErrorOutput } else { TextStream::Output };
        Ok(m.heap.allocate(HeapObject::Stream(Box::new(kind))))
    }),
    native("format", 2, MANY, |m, a| {
        let control = m.string_argument(m.argument(a, 1))?;
        let arguments = m.arguments(a)[2..].to_vec();
        let target = m.argument(a, 0);
        if target.is_nil() {
            let text = m.format_to_string(&control, &arguments)?;
            return m.make_text(text);
        }
        let stream = stream(m, Some(target))?;
        let is_start = m.is_at_line_start(stream);
        let text = m.format_at(&control, &arguments, is_start)?;
        m.write(stream, &text)?;
        Ok(NIL)
    }),
    native("%set-report", 2, 2, |m, a| {
        let text = m.designated_text(m.argument(a, 1))?;
        m.report = Some((m.argument(a, 0), text));
        Ok(NIL)
    }),
    native("%report-function", 1, 1, |m, a| {
        let Some((kind, _)) = m.record(m.argument(a, 0)) else { return Ok(NIL) };
        let ancestors = m.types.get(kind).ancestors.clone();
        let found = ancestors.into_iter().map(|above| m.types.get(above).report);
        Ok(found.into_iter().find(|report| *report != crate::value::UNBOUND).unwrap_or(NIL))
    }),
    native("%read-from-string", 3, 3, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        read(m, &text, m.argument(a, 1), m.argument(a, 2))
    }),
];

fn part(m: &mut Machine, a: ArgumentWindow) -> StepResult<String> {
    m.check_keys(a, 2, &["START", "END"])?;
    if m.heap.vector(m.argument(a, 0)).is_some_and(<[Word]>::is_empty) {
        // SBCL prints nothing, or signals a type error, as its compiler knows the stream.
        return m.refuse("printing an empty vector as a string");
    }
    let text = m.string_argument(m.argument(a, 0))?;
    let count = text.chars().count();
    let (start, end) = m.bounds(m.key(a, 2, "START"), m.key(a, 2, "END"), count)?;
    Ok(text.chars().skip(start).take(end - start).collect())
}

fn print(
    m: &mut Machine,
    a: ArgumentWindow,
    escape: bool,
    before: &str,
    after: &str,
) -> StepResult {
    let text = m.print(m.argument(a, 0), escape)?;
    let stream = stream(m, m.optional(a, 1))?;
    m.write(stream, &format!("{before}{text}{after}"))?;
    Ok(m.argument(a, 0))
}

/// The stream of an argument: `nil` or nothing is standard output, and so is `t`.
fn stream(m: &mut Machine, word: Option<Word>) -> StepResult {
    match word {
        None | Some(NIL | T) => Ok(m.global(well_known::STANDARD_OUTPUT)),
        Some(word) if super::strings::is_growing(m, word) => Ok(word),
        Some(word) => match m.heap.get(word) {
            Some(HeapObject::Stream(_)) => Ok(word),
            _ => Err(m.type_error(word, well_known::STREAM)),
        },
    }
}

fn read(m: &mut Machine, text: &str, eof_is_error: Word, eof_value: Word) -> StepResult {
    let characters: Vec<char> = text.chars().collect();
    let mut reader = FormReader::new(&characters, SourceTrust::Skill);
    let failure = match reader.read(m) {
        Ok(Some(word)) => {
            // One blank behind a token belongs to it.
            let mut end = reader.position();
            let last = end.checked_sub(1).and_then(|at| characters.get(at));
            let is_token = last.is_some_and(|c| !matches!(c, ')' | '"'));
            if is_token && characters.get(end).is_some_and(|c| c.is_whitespace()) {
                end += 1;
            }
            return Ok(m.return_values(&[word, Word::count(end)]));
        }
        Ok(None) if eof_is_error.is_nil() => {
            return Ok(m.return_values(&[eof_value, Word::count(characters.len())]));
        }
        Ok(None) => ReadFailureKind::End,
        Err(failure) => failure.kind,
    };
    Err(match failure {
        ReadFailureKind::End => m.condition(condition::END_OF_FILE, &[NIL]),
        ReadFailureKind::Syntax(text) => m.message(condition::SIMPLE_READER_ERROR, &text),
        ReadFailureKind::Outside(name) => outside(name),
        ReadFailureKind::Limit(kind) => limit(kind),
        ReadFailureKind::Trap(trap) => trap,
    })
}

impl Machine {
    pub(crate) fn write(&mut self, stream: Word, text: &str) -> StepResult<()> {
        self.charge(text.len() / 16)?;
        self.reserve(text.len())?;
        let is_error = match self.heap.object_mut(stream) {
            Some(HeapObject::Text(target, _)) => {
                target.push_str(text);
                self.heap.bytes += text.len();
                return Ok(());
            }
            Some(HeapObject::Stream(target)) => match target.as_mut() {
                TextStream::ToText { text: target } => {
                    target.push_str(text);
                    self.heap.bytes += text.len();
                    return Ok(());
                }
                TextStream::ErrorOutput => true,
                _ => false,
            },
            // Streams of the image: output, then error output.
            None => {
                stream == self.global(well_known::ERROR_OUTPUT)
                    && stream != self.global(well_known::STANDARD_OUTPUT)
            }
            _ => false,
        };
        self.write_output(is_error, text)
    }

    pub(crate) fn is_at_line_start(&self, stream: Word) -> bool {
        let ends = |text: &LispText| text.len() == 0 || text.get(text.len() - 1) == Some('\n');
        match self.heap.get(stream) {
            Some(HeapObject::Stream(stream)) => match stream.as_ref() {
                TextStream::ToText { text } => ends(text),
                TextStream::ErrorOutput => self.at_line_start[1],
                _ => self.at_line_start[0],
            },
            Some(HeapObject::Text(text, _)) => ends(text),
            _ => true,
        }
    }
}
