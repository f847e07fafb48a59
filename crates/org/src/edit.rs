//! Insertions into an Org text: every byte that was there stays as it is. Made by `Document`; whoever asked
//! for one writes the result, or shows its diff.

use crate::lines::Lines;

/// Lines shown before and behind a change, as `diff -u` and `git` do.
const CONTEXT_LINES: usize = 3;

/// Lines put between two lines of a text.
#[derive(Clone, Debug)]
pub struct Edit<'t> {
    source: &'t [u8],
    at: usize,
    inserted: Vec<u8>,
}

impl<'t> Edit<'t> {
    /// Puts `text` at the first beginning of a line from `offset` on. It gets a line end where it has none,
    /// and so does a last line of the source without one, in the style of the first line.
    pub(crate) fn insert(source: &'t [u8], offset: usize, text: &[u8]) -> Self {
        let begins_line = offset == 0 || source.get(offset - 1) == Some(&b'\n');
        let next = memchr::memchr(b'\n', &source[offset..]).map(|newline| offset + newline + 1);
        let at = if begins_line { offset } else { next.unwrap_or(source.len()) };
        let newline = memchr::memchr(b'\n', source).filter(|at| source[..*at].ends_with(b"\r"));
        let newline: &[u8] = if newline.is_some() { b"\r\n" } else { b"\n" };
        let mut inserted = Vec::new();
        if !text.is_empty() {
            if at > 0 && source[at - 1] != b'\n' {
                inserted.extend_from_slice(newline);
            }
            inserted.extend_from_slice(text);
            if !text.ends_with(b"\n") {
                inserted.extend_from_slice(newline);
            }
        }
        Self { source, at, inserted }
    }

    /// The offset in the source where bytes are put.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The bytes that are put there.
    #[must_use]
    pub fn inserted(&self) -> &[u8] {
        &self.inserted
    }

    /// The text with the insertion.
    #[must_use]
    pub fn apply(&self) -> Vec<u8> {
        [&self.source[..self.at], &self.inserted, &self.source[self.at..]].concat()
    }

    /// The insertion as a unified diff of the file `name`; empty when nothing is inserted.
    #[must_use]
    pub fn diff(&self, name: &str) -> Vec<u8> {
        if self.inserted.is_empty() {
            return Vec::new();
        }
        let lines = Lines::new(self.source);
        let behind = memchr::memchr_iter(b'\n', &self.source[..self.at]).count();
        // A last line without a line end gets one, which makes it another line.
        let unended = self.at > 0 && self.source[self.at - 1] != b'\n';
        let first = behind.saturating_sub(CONTEXT_LINES);
        let last = lines.count().min(behind + CONTEXT_LINES);
        let mut body = Vec::new();
        (first..behind)
            .for_each(|index| show(b' ', lines.span(index, index + 1).of(self.source), &mut body));
        let mut added = self.inserted.clone();
        let changed = if unended { behind..behind + 1 } else { behind..behind };
        for index in changed.clone() {
            let line = lines.span(index, index + 1).of(self.source);
            show(b'-', line, &mut body);
            added = [line, &added].concat();
        }
        let count =
            added.split_inclusive(|byte| *byte == b'\n').map(|line| show(b'+', line, &mut body));
        let (count, tail) = (count.count(), changed.end..last);
        tail.for_each(|index| show(b' ', lines.span(index, index + 1).of(self.source), &mut body));
        let old = last.max(changed.end) - first;
        let new = old - changed.len() + count;
        let start = if old == 0 { 0 } else { first + 1 };
        let head = format!(
            "--- {}\n+++ {}\n@@ -{start},{old} +{},{new} @@\n",
            quoted("a/", name),
            quoted("b/", name),
            first + 1
        );
        [head.into_bytes(), body].concat()
    }
}

/// Adds a line of a diff.
fn show(sign: u8, line: &[u8], diff: &mut Vec<u8>) {
    diff.push(sign);
    diff.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        diff.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// The name as `git` writes it: between quotes where a byte could be mistaken for a part of the diff.
fn quoted(side: &str, name: &str) -> String {
    let plain = |byte: u8| !byte.is_ascii_control() && !matches!(byte, b'"' | b'\\');
    if name.bytes().all(plain) {
        return format!("{side}{name}");
    }
    let escape = |letter: char| match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii() && !plain(byte) => format!("\\{byte:03o}"),
        _ => letter.to_string(),
    };
    format!("\"{side}{}\"", name.chars().map(escape).collect::<String>())
}
