//! Header arguments of a source block: `:tangle no :policy-id x`. Split as `org-babel` does it, blanks
//! inside brackets and double quotes left alone; values are text and nothing evaluates them.

use crate::text::{is_blank, trim};

/// One header argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument<'t> {
    /// The key without its colon.
    pub key: &'t [u8],
    /// The value as written, quotes included; empty when there is none.
    pub value: &'t [u8],
}

/// The arguments in `parameters`. What stands before the first key, or behind a bare colon, is not one.
pub(crate) fn arguments(parameters: &[u8]) -> Vec<Argument<'_>> {
    pieces(parameters).into_iter().filter_map(argument).collect()
}

fn argument(piece: &[u8]) -> Option<Argument<'_>> {
    let inner = piece.strip_prefix(b":")?;
    let is_white = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let length = inner.iter().position(is_white).unwrap_or(inner.len());
    let (key, value) = inner.split_at(length);
    (!key.is_empty()).then(|| Argument { key, value: trim(value) })
}

/// Cuts before each colon that follows a blank outside brackets and quotes.
fn pieces(parameters: &[u8]) -> Vec<&[u8]> {
    let closing = closing_brackets(parameters);
    let mut quotes_close = true;
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(&byte) = parameters.get(at) {
        let before = at.checked_sub(1).map(|before| parameters[before]);
        match byte {
            b':' if before.is_some_and(is_blank) => {
                found.push(&parameters[start..at - 1]);
                start = at;
                at += 1;
            }
            b'(' | b'[' => at = closing[at].map_or(at + 1, |close| close + 1),
            b'"' if quotes_close && before != Some(b'\\') => {
                let close = closing_quote(parameters, at);
                // Where no quote closes here, none closes further on: looking again would be quadratic.
                quotes_close = close.is_some();
                at = close.unwrap_or(at) + 1;
            }
            _ => at += 1,
        }
    }
    found.push(&parameters[start..]);
    found
}

/// The offset of the bracket that closes each opening one. As Org has it: a round one is closed by its match,
/// square ones left aside; a square one by the next `]` with no round one open since. What is open further
/// out does not matter for either, so one walk answers for all.
fn closing_brackets(bytes: &[u8]) -> Vec<Option<usize>> {
    let mut closing = vec![None; bytes.len()];
    let (mut round, mut square): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' => round.push(at),
            b'[' => square.push(at),
            b')' => {
                if let Some(open) = round.pop() {
                    closing[open] = Some(at);
                }
            }
            b']' => {
                let inside = |open: &mut usize| round.last().is_none_or(|round| round < open);
                while let Some(open) = square.pop_if(inside) {
                    closing[open] = Some(at);
                }
            }
            _ => {}
        }
    }
    closing
}

/// The offset of the quote that closes the one at `open`: the next without a backslash before it.
fn closing_quote(bytes: &[u8], open: usize) -> Option<usize> {
    let pairs = bytes[open..].windows(2);
    pairs.into_iter().position(|pair| pair[0] != b'\\' && pair[1] == b'"').map(|at| open + at + 1)
}
