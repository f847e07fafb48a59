//! Emphasis, code and links inside a line.

use super::MarkupKind;
use crate::style::{AnsiColor, StyledLine, TextSpan, TextStyle};

/// Emphasis inside emphasis goes no deeper.
const MAX_DEPTH: usize = 4;

/// Adds a text with its markup to a line.
pub(super) fn push(text: &str, style: TextStyle, kind: MarkupKind, out: &mut StyledLine) {
    push_nested(text, style, kind, 0, out);
}

fn push_nested(text: &str, style: TextStyle, kind: MarkupKind, depth: usize, out: &mut StyledLine) {
    let mut plain = 0;
    let mut at = 0;
    let mut before = ' ';
    while let Some(letter) = text[at..].chars().next() {
        if depth < MAX_DEPTH
            && let Some(found) = piece(&text[at..], before, kind)
        {
            out.push(&text[plain..at], style);
            show(&found.piece, style, kind, depth, out);
            at += found.bytes;
            plain = at;
            before = 'x';
            continue;
        }
        before = letter;
        at += letter.len_utf8();
    }
    if plain < text.len() {
        out.push(&text[plain..], style);
    }
    out.spans.retain(|span| !span.text().is_empty());
}

/// Markup at the beginning of a text.
struct FoundMarkup<'t> {
    piece: InlinePiece<'t>,
    /// Length of the markup with its marks.
    bytes: usize,
}

enum InlinePiece<'t> {
    Emphasis(&'t str, TextStyle),
    Code(&'t str),
    Link { text: &'t str, address: &'t str },
}

fn show(
    piece: &InlinePiece<'_>,
    style: TextStyle,
    kind: MarkupKind,
    depth: usize,
    out: &mut StyledLine,
) {
    match piece {
        InlinePiece::Emphasis(text, added) => {
            let style = TextStyle {
                bold: style.bold || added.bold,
                italic: style.italic || added.italic,
                underline: style.underline || added.underline,
                strike: style.strike || added.strike,
                ..style
            };
            push_nested(text, style, kind, depth + 1, out);
        }
        InlinePiece::Code(text) => {
            out.push(text, TextStyle { color: Some(AnsiColor::Cyan), ..style });
        }
        InlinePiece::Link { text, address } => {
            let linked = TextStyle { underline: true, ..style };
            out.spans.push(TextSpan::linked(text, linked, address));
            // Where a link leads is said: its text may claim anything.
            if text != address {
                out.push(&format!(" ({address})"), TextStyle { dim: true, ..style });
            }
        }
    }
}

fn piece(text: &str, before: char, kind: MarkupKind) -> Option<FoundMarkup<'_>> {
    let is_edge = !before.is_alphanumeric();
    let emphasis = |mark: &str, style| {
        let inner = enclosed(text, mark)?;
        let bytes = inner.len() + 2 * mark.len();
        Some(FoundMarkup { piece: InlinePiece::Emphasis(inner, style), bytes })
    };
    let code = |mark: &str| {
        let inner = enclosed(text, mark)?;
        let bytes = inner.len() + 2 * mark.len();
        Some(FoundMarkup { piece: InlinePiece::Code(inner), bytes })
    };
    let italic = TextStyle { italic: true, ..TextStyle::PLAIN };
    let underline = TextStyle { underline: true, ..TextStyle::PLAIN };
    let strike = TextStyle { strike: true, ..TextStyle::PLAIN };
    match (text.as_bytes().first()?, kind) {
        (b'h', _) if is_edge => bare_link(text),
        (b'`', MarkupKind::Markdown) => code("``").or_else(|| code("`")),
        (b'[', MarkupKind::Markdown) => org_link(text).or_else(|| markdown_link(text)),
        (b'*', MarkupKind::Markdown) if is_edge || text.starts_with("**") => {
            emphasis("**", TextStyle::BOLD).or_else(|| emphasis("*", italic))
        }
        (b'_', MarkupKind::Markdown) if is_edge => {
            emphasis("__", TextStyle::BOLD).or_else(|| emphasis("_", italic))
        }
        (b'~', MarkupKind::Markdown) => emphasis("~~", strike),
        (b'<', _) => angle_link(text),
        (b'[', MarkupKind::Org) => org_link(text),
        (b'*', MarkupKind::Org) if is_edge => emphasis("*", TextStyle::BOLD),
        (b'/', MarkupKind::Org) if is_edge => emphasis("/", italic),
        (b'_', MarkupKind::Org) if is_edge => emphasis("_", underline),
        (b'+', MarkupKind::Org) if is_edge => emphasis("+", strike),
        (b'=', MarkupKind::Org) if is_edge => code("="),
        (b'~', MarkupKind::Org) if is_edge => code("~"),
        _ => None,
    }
}

/// Text between two marks: it begins and ends with no blank, and no letter follows the second mark.
fn enclosed<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(mark)?;
    if rest.starts_with(|letter: char| letter.is_whitespace()) {
        return None;
    }
    let ends = rest.match_indices(mark).map(|(at, _)| at);
    let is_end = |at: &usize| {
        let inner = &rest[..*at];
        let behind = rest[at + mark.len()..].chars().next();
        !inner.is_empty()
            && !inner.ends_with(|letter: char| letter.is_whitespace())
            && !behind.is_some_and(|letter| letter.is_alphanumeric() || mark.starts_with(letter))
    };
    // Looking far for an end that is not there would make long lines slow.
    let end = ends.take(64).find(is_end)?;
    Some(&rest[..end])
}

fn is_address(text: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| text.starts_with(scheme))
}

fn bare_link(text: &str) -> Option<FoundMarkup<'_>> {
    if !is_address(text) {
        return None;
    }
    let is_end = |letter: char| letter.is_whitespace() || "<>\"'`|]".contains(letter);
    let end = text.find(is_end).unwrap_or(text.len());
    let mut address = text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
    if !address.contains('(') {
        address = address.trim_end_matches(')');
    }
    let piece = InlinePiece::Link { text: address, address };
    (address.len() > "https://".len()).then_some(FoundMarkup { piece, bytes: address.len() })
}

fn markdown_link(text: &str) -> Option<FoundMarkup<'_>> {
    let middle = text.find("](")?;
    let label = &text[1..middle];
    let rest = &text[middle + 2..];
    let address = &rest[..rest.find(')')?];
    let is_label = !label.is_empty() && !label.contains(['[', ']']);
    let piece = InlinePiece::Link { text: label, address };
    let bytes = middle + 2 + address.len() + 1;
    (is_label && !address.contains(' ')).then_some(FoundMarkup { piece, bytes })
}

fn org_link(text: &str) -> Option<FoundMarkup<'_>> {
    let inner = text.strip_prefix("[[")?;
    let inner = &inner[..inner.find("]]")?];
    let (address, label) = inner.split_once("][").unwrap_or((inner, inner));
    let piece = InlinePiece::Link { text: label, address };
    (!label.is_empty()).then_some(FoundMarkup { piece, bytes: inner.len() + 4 })
}

fn angle_link(text: &str) -> Option<FoundMarkup<'_>> {
    let inner = text.strip_prefix('<')?;
    let address = &inner[..inner.find('>')?];
    let is_link = is_address(address) && !address.contains(char::is_whitespace);
    let piece = InlinePiece::Link { text: address, address };
    is_link.then_some(FoundMarkup { piece, bytes: address.len() + 2 })
}
