//! What a single line can be: the start or the end of a block, a drawer, an item. Called by `lines` and `parse`
//! with lines without their ends. Whether a block that starts here is a block is not known here: that takes
//! the line that closes it.

use crate::text::{
    all_chars, drop_blanks, is_blank, is_space, skip_blanks, strip_prefix_any_case, word,
};

/// Columns from one tab stop to the next, as Org counts the indentation of items.
const TAB_WIDTH: usize = 8;

pub(crate) fn is_empty(line: &[u8]) -> bool {
    line.iter().all(|byte| is_blank(*byte))
}

/// `-----`, given a line without its indentation.
pub(crate) fn is_rule(inner: &[u8]) -> bool {
    let rule = drop_blanks(inner);
    rule.len() >= 5 && rule.iter().all(|byte| *byte == b'-')
}

/// `+--+--+`, given a line without its indentation.
pub(crate) fn is_table_rule(inner: &[u8]) -> bool {
    let rule = drop_blanks(inner);
    let Some(rest) = rule.strip_prefix(b"+").filter(|rest| rest.ends_with(b"+")) else {
        return false;
    };
    let mut cells = rest[..rest.len() - 1].split(|byte| *byte == b'+');
    cells.all(|cell| !cell.is_empty() && cell.iter().all(|byte| *byte == b'-'))
}

/// The number of stars of a heading: stars at the first column and a blank behind them.
pub(crate) fn heading_level(line: &[u8]) -> Option<usize> {
    let stars = line.iter().take_while(|byte| **byte == b'*').count();
    (stars > 0 && line.get(stars) == Some(&b' ')).then_some(stars)
}

pub(crate) fn is_clock(line: &[u8]) -> bool {
    strip_prefix_any_case(skip_blanks(line), b"clock:").is_some()
}

/// Returns the text behind `#+`.
pub(crate) fn after_mark(line: &[u8]) -> Option<&[u8]> {
    skip_blanks(line).strip_prefix(b"#+")
}

/// The name in `begin_NAME ...`, given what follows `#+`.
pub(crate) fn block_begin(marked: &[u8]) -> Option<&[u8]> {
    let name = word(strip_prefix_any_case(marked, b"begin_")?);
    (!name.is_empty()).then_some(name)
}

/// The name in `end_NAME`.
pub(crate) fn block_end(marked: &[u8]) -> Option<&[u8]> {
    let name = drop_blanks(strip_prefix_any_case(marked, b"end_")?);
    (!name.is_empty() && !name.iter().any(|byte| is_space(*byte))).then_some(name)
}

/// `#+call:`.
pub(crate) fn is_call(marked: &[u8]) -> bool {
    strip_prefix_any_case(marked, b"call:").is_some()
}

/// Whether a dynamic block begins: `#+begin: name`, or without the colon.
pub(crate) fn is_dynamic(marked: &[u8]) -> bool {
    let rest = strip_prefix_any_case(marked, b"begin");
    rest.is_some_and(|rest| matches!(rest, [b':', b' ', ..] | [b' ', ..]))
}

/// Whether a list takes this for the beginning of a dynamic block.
pub(crate) fn is_dynamic_colon(marked: &[u8]) -> bool {
    strip_prefix_any_case(marked, b"begin:").is_some()
}

pub(crate) fn is_dynamic_end(marked: &[u8]) -> bool {
    strip_prefix_any_case(marked, b"end")
        .is_some_and(|rest| is_empty(rest.strip_prefix(b":").unwrap_or(rest)))
}

/// `:NAME:` alone on its line.
pub(crate) fn is_drawer(line: &[u8]) -> bool {
    let inner = drop_blanks(skip_blanks(line)).strip_prefix(b":");
    let name = inner.and_then(|inner| inner.strip_suffix(b":"));
    name.is_some_and(|name| !name.is_empty() && all_chars(name, is_label))
}

pub(crate) fn is_drawer_end(line: &[u8]) -> bool {
    drop_blanks(skip_blanks(line)).eq_ignore_ascii_case(b":end:")
}

/// `[fn:NAME]` at the first column.
pub(crate) fn is_footnote(line: &[u8]) -> bool {
    let Some(rest) = strip_prefix_any_case(line, b"[fn:") else { return false };
    let name = rest.split(|byte| *byte == b']').next().unwrap_or_default();
    name.len() < rest.len() && !name.is_empty() && all_chars(name, is_label)
}

/// Whether the line begins an item of a list.
pub(crate) fn is_item(line: &[u8]) -> bool {
    let inner = skip_blanks(line);
    let behind = match inner {
        [b'-' | b'+', rest @ ..] => rest,
        [b'*', rest @ ..] if inner.len() < line.len() => rest,
        _ => {
            let digits = inner.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match &inner[digits..] {
                [b'.' | b')', rest @ ..] if digits > 0 => rest,
                _ => return false,
            }
        }
    };
    behind.first().is_none_or(|byte| is_blank(*byte))
}

/// The column of the first byte that is not blank.
pub(crate) fn indentation(line: &[u8]) -> usize {
    let blanks = line.iter().take_while(|byte| is_blank(**byte));
    blanks.fold(0, |column, byte| match byte {
        b'\t' => (column / TAB_WIDTH + 1) * TAB_WIDTH,
        _ => column + 1,
    })
}

/// The name in `\begin{NAME}`.
pub(crate) fn environment_begin(line: &[u8]) -> Option<&[u8]> {
    let rest = strip_prefix_any_case(skip_blanks(line), b"\\begin{")?;
    let name = &rest[..rest.iter().take_while(|byte| is_environment(**byte)).count()];
    (!name.is_empty() && rest.get(name.len()) == Some(&b'}')).then_some(name)
}

/// The name in `\end{NAME}` at the end of a line.
pub(crate) fn environment_end(line: &[u8]) -> Option<&[u8]> {
    const MARK: &[u8] = b"\\end{";
    let inner = drop_blanks(line).strip_suffix(b"}")?;
    let length = inner.iter().rev().take_while(|byte| is_environment(**byte)).count();
    let (front, name) = inner.split_at(inner.len() - length);
    let mark = &front[front.len().checked_sub(MARK.len())?..];
    (!name.is_empty() && mark.eq_ignore_ascii_case(MARK)).then_some(name)
}

/// Whether the bytes begin with `\\end{`.
pub(crate) fn is_environment_end(bytes: &[u8]) -> bool {
    strip_prefix_any_case(bytes, b"\\end{").is_some()
}

fn is_environment(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'*'
}

/// `[-_[:word:]]`, by the syntax table of Org mode.
fn is_label(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '-' | '_' | '$' | '%' | '\'')
}
