//! What stands between forms: blanks, and comments where they are on.
//!
//! Called by the pass in [`scan`](super::scan) and, after the form, by the reader.

use super::token::is_blank;
use crate::error::{Category, Fault};
use crate::limits::Comments;

/// Skips blanks and, if they are on, comments.
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize, comments: Comments) -> Result<usize, Fault> {
    loop {
        match bytes.get(at..).unwrap_or_default() {
            [byte, ..] if is_blank(*byte) => at += 1,
            [b';', ..] if comments == Comments::Skip => at = skip_line(bytes, at, comments)?,
            [b'#', b'|', ..] if comments == Comments::Skip => at = skip_block(bytes, at, comments)?,
            _ => return Ok(at),
        }
    }
}

/// The end of the comment from `;` on.
pub(super) fn skip_line(bytes: &[u8], at: usize, comments: Comments) -> Result<usize, Fault> {
    if comments == Comments::Refuse {
        return Err(Fault::new(Category::Comment, at, "comments are off here"));
    }
    Ok(memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1))
}

/// The end of the comment that begins with `#|`; they nest.
pub(super) fn skip_block(bytes: &[u8], at: usize, comments: Comments) -> Result<usize, Fault> {
    if comments == Comments::Refuse {
        return Err(Fault::new(Category::Comment, at, "comments are off here"));
    }
    let mut open = 1_usize;
    let mut from = at + 2;
    while open > 0 {
        let Some(found) = memchr::memchr2(b'#', b'|', bytes.get(from..).unwrap_or_default()) else {
            return Err(Fault::incomplete(bytes.len(), "the text ends inside a comment"));
        };
        from += found;
        match bytes.get(from..from + 2) {
            Some(b"|#") => open -= 1,
            Some(b"#|") => open += 1,
            _ => {
                from += 1;
                continue;
            }
        }
        from += 2;
    }
    Ok(from)
}
