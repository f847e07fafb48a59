//! Source blocks: what the first line says, the keywords above it, and the body.

use std::borrow::Cow;

use crate::arguments::{Argument, arguments};
use crate::heading::HeadingId;
use crate::keyword::Keyword;
use crate::text::{Span, skip_blanks, trim, word};

/// Number of a source block in its document, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub(crate) usize);

/// A block from `#+begin_src` to `#+end_src`, with the affiliated keywords above it.
#[derive(Clone, Debug)]
pub struct SourceBlock<'t> {
    /// The language, if one is named.
    pub language: Option<&'t [u8]>,
    /// Switches such as `-n 10 -r`.
    pub switches: Option<&'t [u8]>,
    /// Text behind language and switches.
    pub parameters: Option<&'t [u8]>,
    /// The keywords above the block that belong to it, in order.
    pub affiliated: Vec<Keyword<'t>>,
    /// The heading that it is under.
    pub heading: Option<HeadingId>,
    /// The whole, from the first affiliated keyword to the end of the last line.
    pub span: Span,
    /// The line of `#+begin_src`, from 1.
    pub line: usize,
    /// The lines between the first and the last, as they stand in the file.
    pub body_span: Span,
    pub(crate) source: &'t [u8],
}

impl<'t> SourceBlock<'t> {
    /// The value of `#+NAME:`; the last one where there are several.
    #[must_use]
    pub fn name(&self) -> Option<&'t [u8]> {
        self.affiliated.iter().rfind(|keyword| keyword.goes_by("NAME")).map(|keyword| keyword.value)
    }

    /// The values of `#+CAPTION:`, in order.
    pub fn captions(&self) -> impl Iterator<Item = &'t [u8]> {
        let captions = self.affiliated.iter().filter(|keyword| keyword.goes_by("CAPTION"));
        captions.map(|keyword| keyword.value)
    }

    /// The header arguments of the first line, in order.
    #[must_use]
    pub fn arguments(&self) -> Vec<Argument<'t>> {
        arguments(self.parameters.unwrap_or_default())
    }

    /// The value of the header argument `key`, as written; the last one where there are several.
    #[must_use]
    pub fn argument(&self, key: &str) -> Option<&'t [u8]> {
        let all = self.arguments();
        all.iter().rfind(|argument| argument.key == key.as_bytes()).map(|argument| argument.value)
    }

    /// The body without the commas that keep `*` and `#+` from being read as Org.
    #[must_use]
    pub fn body(&self) -> Cow<'t, [u8]> {
        unescape(self.body_span.of(self.source))
    }

    /// The line of the file, from 1, that line `number` of the body stands on, from 1: commas change no
    /// line, so that an error in the body has a place in the file.
    #[must_use]
    pub fn line_in_file(&self, number: usize) -> usize {
        self.line + number
    }
}

/// Language, switches and parameters.
pub(crate) struct Header<'t> {
    pub(crate) language: Option<&'t [u8]>,
    pub(crate) switches: Option<&'t [u8]>,
    pub(crate) parameters: Option<&'t [u8]>,
}

/// Reads what follows `#+begin_src`.
pub(crate) fn header(rest: &[u8]) -> Header<'_> {
    let (language, rest) = match rest.split_first() {
        Some((b' ', _)) => {
            let inner = skip_spaces(rest);
            let language = word(inner);
            if language.is_empty() {
                (None, rest)
            } else {
                (Some(language), &inner[language.len()..])
            }
        }
        _ => (None, rest),
    };
    let mut tail = rest;
    while let Some(next) = switch(tail) {
        tail = next;
    }
    let some = |bytes| Some(trim(bytes)).filter(|bytes: &&[u8]| !bytes.is_empty());
    Header { language, switches: some(&rest[..rest.len() - tail.len()]), parameters: some(tail) }
}

/// Returns the text behind one switch: `-l "format"`, `-i`, `-k`, `-r`, `-n 10`, `+n 10`. Org wants no blank behind
/// a switch, and neither does this.
fn switch(bytes: &[u8]) -> Option<&[u8]> {
    let inner = skip_spaces(bytes);
    if inner.len() == bytes.len() {
        return None;
    }
    match inner {
        [b'-', b'l' | b'L', b' ', b'"', format @ ..] => {
            memchr::memrchr(b'"', format).filter(|end| *end > 0).map(|end| &format[end + 1..])
        }
        [b'-', b'i' | b'k' | b'r' | b'I' | b'K' | b'R', rest @ ..] => Some(rest),
        [b'-' | b'+', b'n' | b'N', rest @ ..] => {
            let number = skip_spaces(rest);
            let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
            Some(if digits > 0 { &number[digits..] } else { rest })
        }
        _ => None,
    }
}

fn skip_spaces(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| **byte == b' ').count()..]
}

/// Takes one comma from each line that has blanks, commas and then `*` or `#+`.
fn unescape(body: &[u8]) -> Cow<'_, [u8]> {
    let mut plain: Option<Vec<u8>> = None;
    let mut start = 0;
    while start < body.len() {
        let end = memchr::memchr(b'\n', &body[start..]).map_or(body.len(), |at| start + at + 1);
        let line = &body[start..end];
        if let Some(comma) = escaping_comma(line) {
            let plain = plain.get_or_insert_with(|| body[..start].to_vec());
            plain.extend_from_slice(&line[..comma]);
            plain.extend_from_slice(&line[comma + 1..]);
        } else if let Some(plain) = &mut plain {
            plain.extend_from_slice(line);
        }
        start = end;
    }
    plain.map_or(Cow::Borrowed(body), Cow::Owned)
}

fn escaping_comma(line: &[u8]) -> Option<usize> {
    let inner = skip_blanks(line);
    let commas = inner.iter().take_while(|byte| **byte == b',').count();
    let behind = &inner[commas..];
    let escaped = commas > 0 && (behind.starts_with(b"*") || behind.starts_with(b"#+"));
    escaped.then(|| line.len() - inner.len())
}
