//! Positions as Emacs counts them: in characters, from 1. Made for a text once; each answer then looks at a short
//! piece of it.

/// Bytes between two places whose positions are kept.
const STEP_BYTES: usize = 256;

/// Positions of the bytes of a text.
#[derive(Clone, Debug)]
pub struct Positions<'t> {
    source: &'t [u8],
    /// Characters before each multiple of the step.
    counts: Vec<u32>,
    /// Whether `\r\n` counts once: so Emacs reads a file in which every line ends so.
    line_ends: LineEnds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    Unix,
    Dos,
}

impl<'t> Positions<'t> {
    /// Counts the characters of a text.
    #[must_use]
    pub fn new(source: &'t [u8]) -> Self {
        let mut newlines = memchr::memchr_iter(b'\n', source).peekable();
        let dos = newlines.peek().is_some()
            && newlines.all(|newline| newline > 0 && source[newline - 1] == b'\r');
        let line_ends = if dos { LineEnds::Dos } else { LineEnds::Unix };
        let mut positions =
            Self { source, counts: Vec::with_capacity(source.len() / STEP_BYTES + 1), line_ends };
        let mut count = 0;
        for chunk in source.chunks(STEP_BYTES) {
            positions.counts.push(count);
            let start = (positions.counts.len() - 1) * STEP_BYTES;
            count += positions.begin_in(start, start + chunk.len());
        }
        positions
    }

    /// Whether Emacs sees `\r\n` as one character in this text.
    pub(crate) fn is_dos(&self) -> bool {
        self.line_ends == LineEnds::Dos
    }

    /// The position of the byte at `offset`; behind the text, that of its end.
    #[must_use]
    pub fn at(&self, offset: usize) -> usize {
        let offset = offset.min(self.source.len());
        let step = (offset / STEP_BYTES).min(self.counts.len().saturating_sub(1));
        let before = self.counts.get(step).copied().unwrap_or(0);
        crate::lines::widen(before + self.begin_in(step * STEP_BYTES, offset)) + 1
    }

    /// Counts the characters that begin from `start` to before `end`.
    fn begin_in(&self, start: usize, end: usize) -> u32 {
        let counts = (start..end).filter(|at| self.begins(*at)).count();
        crate::lines::narrow(counts)
    }

    /// Whether a character begins here. A byte that is no UTF-8 is a character.
    fn begins(&self, at: usize) -> bool {
        let byte = self.source[at];
        if byte == b'\r' {
            return self.line_ends == LineEnds::Unix || self.source.get(at + 1) != Some(&b'\n');
        }
        if byte & 0xc0 != 0x80 {
            return true;
        }
        let start =
            (at.saturating_sub(3)..at).rev().find(|start| self.source[*start] & 0xc0 != 0x80);
        let inside = start.is_some_and(|start| {
            crate::syntax::letter_at(self.source, start)
                .is_some_and(|letter| start + letter.len_utf8() > at)
        });
        !inside
    }
}
