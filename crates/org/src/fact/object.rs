//! What objects say.

mod link;
mod stamp;

use std::borrow::Cow;

use super::{Fact, Facts};
use crate::kind::Type;
use crate::text::{drop_blanks, trim};
use crate::tree::{Node, Tree};

pub(super) fn facts<'t>(tree: &Tree<'t>, node: &Node) -> Facts<'t> {
    // Without the blanks behind it.
    let text = drop_blanks(node.span().of(tree.whole));
    let inside = |open: usize, close: usize| {
        Fact::text(text.get(open..text.len().saturating_sub(close)).unwrap_or_default())
    };
    match node.kind {
        Type::Code | Type::Verbatim => vec![("value", inside(1, 1))],
        Type::Target => vec![("value", inside(2, 2))],
        Type::RadioTarget => vec![("value", inside(3, 3))],
        Type::StatisticsCookie | Type::LatexFragment => vec![("value", inside(0, 0))],
        Type::Link => link::facts(tree, node, text),
        Type::Timestamp => stamp::facts(text),
        Type::FootnoteReference => {
            let label = text.get(4..).unwrap_or_default();
            let end =
                label.iter().position(|byte| matches!(byte, b':' | b']')).unwrap_or(label.len());
            let label = Some(&label[..end]).filter(|label| !label.is_empty());
            let kind = if node.contents().is_some() { "inline" } else { "standard" };
            vec![("label", Fact::option(label)), ("type", Fact::Word(kind))]
        }
        Type::Entity => entity(node.span().of(tree.whole)),
        Type::Macro => macro_facts(text),
        Type::ExportSnippet => {
            let inner = text.get(2..).unwrap_or_default();
            let inner = inner.strip_suffix(b"@@").unwrap_or(inner);
            let colon = memchr::memchr(b':', inner).unwrap_or(0);
            let value = inner.get(colon + 1..).filter(|_| text.ends_with(b"@@")).unwrap_or(text);
            vec![("back-end", Fact::text(&inner[..colon])), ("value", Fact::text(value))]
        }
        Type::InlineSrcBlock => inline_source(text),
        Type::InlineBabelCall => vec![("value", Fact::text(text))],
        Type::Subscript | Type::Superscript => {
            vec![("use-brackets", Fact::flag(text.get(1) == Some(&b'{')))]
        }
        Type::Citation => {
            let style = text
                .strip_prefix(b"[cite/")
                .map(|rest| &rest[..memchr::memchr(b':', rest).unwrap_or(rest.len())]);
            vec![("style", Fact::option(style))]
        }
        Type::CitationReference => vec![("key", Fact::option(crate::object::citation_key(text)))],
        _ => Vec::new(),
    }
}

fn entity(text: &[u8]) -> Facts<'_> {
    let name = text.get(1..).unwrap_or_default();
    // Spaces are part of the name of the entity that stands for them, tabs are not.
    let spaces = name.iter().skip(1).take_while(|byte| **byte == b' ').count();
    let name = if name.starts_with(b"_") { &name[..=spaces] } else { drop_blanks(name) };
    let braces = name.strip_suffix(b"{}");
    vec![
        ("name", Fact::text(braces.unwrap_or(name))),
        ("use-brackets", Fact::flag(braces.is_some())),
    ]
}

/// Key and arguments of `{{{key(one,two)}}}`; a comma behind a backslash does not part them.
fn macro_facts(text: &[u8]) -> Facts<'_> {
    let inner = text.get(3..text.len().saturating_sub(3)).unwrap_or_default();
    let open = memchr::memchr(b'(', inner);
    let key = &inner[..open.unwrap_or(inner.len())];
    let arguments = open.and_then(|open| inner.get(open + 1..inner.len() - 1));
    let arguments = arguments.map_or(Fact::Nil, |arguments| {
        Fact::List(
            split_arguments(&squeeze(trim(arguments))).into_iter().map(Fact::owned).collect(),
        )
    });
    vec![("key", Fact::owned(key.to_ascii_lowercase())), ("args", arguments)]
}

fn split_arguments(text: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut slashes = 0;
    for byte in text {
        let last = all.len() - 1;
        match byte {
            b'\\' => slashes += 1,
            b',' => {
                all[last].extend(std::iter::repeat_n(b'\\', slashes / 2));
                if slashes % 2 == 0 {
                    all.push(Vec::new());
                } else {
                    all[last].push(b',');
                }
                slashes = 0;
            }
            _ => {
                all[last].extend(std::iter::repeat_n(b'\\', slashes));
                slashes = 0;
                all[last].push(*byte);
            }
        }
    }
    let last = all.len() - 1;
    all[last].extend(std::iter::repeat_n(b'\\', slashes));
    all
}

/// Runs of blanks and line ends as one blank.
fn squeeze(text: &[u8]) -> Cow<'_, [u8]> {
    let mut squeezed = Vec::with_capacity(text.len());
    for byte in text {
        if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            squeezed.push(*byte);
        } else if squeezed.last() != Some(&b' ') {
            squeezed.push(b' ');
        }
    }
    Cow::Owned(squeezed)
}

/// Language, parameters and value of `src_lang[parameters]{value}`.
fn inline_source(text: &[u8]) -> Facts<'_> {
    let inner = text.get(4..).unwrap_or_default();
    let name = inner.iter().position(|byte| matches!(byte, b'[' | b'{')).unwrap_or(inner.len());
    let (language, rest) = inner.split_at(name);
    let close = if rest.first() == Some(&b'[') { closing(rest) } else { None };
    let parameters = close.map(|close| trim(&rest[1..close])).filter(|text| !text.is_empty());
    let value = &rest[close.map_or(0, |close| close + 1)..];
    let value = value.get(1..value.len().saturating_sub(1)).unwrap_or_default();
    let parameters = parameters.map_or(Fact::Nil, |text| Fact::owned(unbreak(text)));
    vec![
        ("language", Fact::text(language)),
        ("parameters", parameters),
        ("value", Fact::text(value)),
    ]
}

/// Returns the place that closes the square bracket at the beginning of the bytes.
fn closing(bytes: &[u8]) -> Option<usize> {
    let mut open = 0usize;
    bytes.iter().position(|byte| {
        match byte {
            b'[' => open += 1,
            b']' => open -= 1,
            _ => {}
        }
        open == 0
    })
}

/// Line ends and the indentation behind them as one blank.
fn unbreak(text: &[u8]) -> Vec<u8> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let mut joined = lines.next().unwrap_or_default().to_vec();
    for line in lines {
        joined.push(b' ');
        joined.extend_from_slice(crate::text::skip_blanks(line));
    }
    joined
}
