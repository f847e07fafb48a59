//! What elements say.

use super::{Fact, Facts};
use crate::heading::{TodoState, title};
use crate::item;
use crate::keyword;
use crate::kind::Type;
use crate::line;
use crate::property;
use crate::source::header;
use crate::text::{Span, drop_blanks, is_blank, skip_blanks, strip_prefix_any_case, trim, word};
use crate::tree::{Node, Tree};

pub(super) fn facts<'t>(tree: &Tree<'t>, node: &Node) -> Facts<'t> {
    let index = tree.lines.at(node.after_affiliated());
    let first = tree.lines.content(index);
    let marked = || line::after_mark(first).unwrap_or_default();
    match node.kind {
        Type::Headline => headline(tree, first),
        Type::Planning => planning(tree, index),
        Type::NodeProperty => {
            let (key, value) = property::pair(first).unwrap_or_default();
            vec![("key", Fact::text(key)), ("value", Fact::text(value))]
        }
        Type::Drawer => vec![("name", Fact::text(trim_mark(first, b':')))],
        Type::Clock => clock(first),
        Type::PlainList => vec![("type", list_type(first))],
        Type::Item => item_facts(first),
        Type::Table => table(tree, node, index),
        Type::TableRow => {
            let rule = skip_blanks(first).starts_with(b"|-");
            vec![("type", Fact::Word(if rule { "rule" } else { "standard" }))]
        }
        Type::SpecialBlock => vec![("type", Fact::option(line::block_begin(marked())))],
        Type::DynamicBlock => dynamic(marked()),
        Type::SrcBlock => source(marked()),
        Type::ExampleBlock => {
            let rest = strip_prefix_any_case(marked(), b"begin_example").unwrap_or_default();
            let switches = rest.starts_with(b" ").then(|| trim_spaces(rest));
            vec![("switches", Fact::option(switches))]
        }
        Type::ExportBlock => {
            let rest = strip_prefix_any_case(marked(), b"begin_export").unwrap_or_default();
            let back_end =
                Some(trim(rest)).filter(|name| !name.is_empty() && word(name).len() == name.len());
            vec![("type", back_end.map_or(Fact::Nil, |name| Fact::owned(upper(name))))]
        }
        Type::Keyword => {
            let said = keyword::keyword(marked()).or_else(|| keyword::affiliated(marked()));
            let (key, value) = said.unwrap_or_default();
            vec![("key", Fact::owned(upper(key))), ("value", Fact::text(value))]
        }
        Type::BabelCall => {
            let value = strip_prefix_any_case(marked(), b"call:").unwrap_or_default();
            vec![("value", Fact::text(trim(value)))]
        }
        Type::DiarySexp => vec![("value", Fact::text(first))],
        Type::FootnoteDefinition => {
            let label = first.get(4..).unwrap_or_default();
            let end = memchr::memchr(b']', label).unwrap_or(label.len());
            vec![("label", Fact::text(&label[..end]))]
        }
        _ => Vec::new(),
    }
}

fn headline<'t>(tree: &Tree<'t>, first: &'t [u8]) -> Facts<'t> {
    let stars = line::heading_level(first).unwrap_or(1);
    let said = title(&first[stars..], &tree.settings.words);
    let state = said.todo.map_or(Fact::Nil, |todo| match todo.state {
        TodoState::Open => Fact::Word("todo"),
        TodoState::Done => Fact::Word("done"),
    });
    let archived = said.tags.contains(&&b"ARCHIVE"[..]);
    let tags = said.tag_group.split(|byte| *byte == b':').filter(|_| !said.tag_group.is_empty());
    vec![
        ("level", Fact::Number(u64::try_from(tree.settings.level(stars)).unwrap_or(u64::MAX))),
        ("todo-keyword", Fact::option(said.todo.map(|todo| todo.keyword))),
        ("todo-type", state),
        ("priority", Fact::option(said.priority)),
        ("commented", Fact::flag(said.commented)),
        ("archived", Fact::flag(archived)),
        ("tags", Fact::List(tags.map(Fact::text).collect())),
        ("raw-value", Fact::text(said.title)),
    ]
}

fn planning<'t>(tree: &Tree<'t>, index: usize) -> Facts<'t> {
    let planning = property::planning(&tree.lines, index);
    vec![
        ("closed", Fact::option(planning.closed)),
        ("deadline", Fact::option(planning.deadline)),
        ("scheduled", Fact::option(planning.scheduled)),
    ]
}

fn clock(first: &[u8]) -> Facts<'_> {
    // The blanks behind the keyword are passed over first: an arrow right behind them is none.
    let keyword = memchr::memmem::find(first, b"CLOCK:").map_or(0, |at| at + b"CLOCK:".len());
    let rest = skip_blanks(&first[keyword..]);
    let arrow = memchr::memmem::find(rest, b" => ");
    let duration = arrow.map(|arrow| drop_blanks(skip_blanks(&rest[arrow + 4..])));
    let duration =
        duration.filter(|text| !text.is_empty() && !text.iter().any(|byte| is_blank(*byte)));
    let status = if duration.is_some() { "closed" } else { "running" };
    vec![("status", Fact::Word(status)), ("duration", Fact::option(duration))]
}

fn list_type(first: &[u8]) -> Fact<'_> {
    let inner = skip_blanks(first);
    Fact::Word(if inner.first().is_some_and(u8::is_ascii_alphanumeric) {
        "ordered"
    } else if item::read(first).tag.is_some() {
        "descriptive"
    } else {
        "unordered"
    })
}

fn item_facts(first: &[u8]) -> Facts<'_> {
    let said = item::read(first);
    let checkbox = said.checkbox.map_or(Fact::Nil, |span| match span.of(first) {
        b"[X]" => Fact::Word("on"),
        b"[-]" => Fact::Word("trans"),
        _ => Fact::Word("off"),
    });
    let counter = said.counter.map_or(Fact::Nil, |span| Fact::Number(counter(span, first)));
    vec![
        ("bullet", Fact::text(said.bullet.of(first))),
        ("checkbox", checkbox),
        ("counter", counter),
    ]
}

/// The number of a counter; of a letter, its place in the alphabet.
fn counter(span: Span, first: &[u8]) -> u64 {
    match span.of(first) {
        [letter] if letter.is_ascii_alphabetic() => {
            u64::from(letter.to_ascii_uppercase() - b'A' + 1)
        }
        digits => number(digits),
    }
}

/// The number that the digits are, or the largest there is.
pub(super) fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |number: u64, digit| {
        number.saturating_mul(10).saturating_add(u64::from(digit.wrapping_sub(b'0')))
    })
}

fn table<'t>(tree: &Tree<'t>, node: &Node, index: usize) -> Facts<'t> {
    let is_org = node.contents().is_some();
    let end = tree.lines.at(node.span().end.saturating_sub(1)) + 1;
    let behind =
        node.contents().map_or(index, |contents| tree.lines.at(contents.end.saturating_sub(1)) + 1);
    let formulas = (behind..end).filter_map(|index| {
        let marked = line::after_mark(tree.lines.content(index))?;
        Some(trim_spaces(strip_prefix_any_case(marked, b"tblfm: ")?))
    });
    let mut formulas: Vec<Fact<'t>> = formulas.map(Fact::text).collect();
    formulas.reverse();
    vec![
        ("type", Fact::Word(if is_org { "org" } else { "table.el" })),
        ("tblfm", Fact::List(formulas)),
    ]
}

fn dynamic(marked: &[u8]) -> Facts<'_> {
    let rest = strip_prefix_any_case(marked, b"begin:").map(skip_blanks).unwrap_or_default();
    let name = word(rest);
    let arguments = &rest[name.len()..];
    let arguments = (!arguments.is_empty()).then(|| skip_blanks(arguments));
    let name = Some(name).filter(|name| !name.is_empty());
    vec![("block-name", Fact::option(name)), ("arguments", Fact::option(arguments))]
}

fn source(marked: &[u8]) -> Facts<'_> {
    let header = header(marked.get(b"begin_src".len()..).unwrap_or_default());
    vec![
        ("language", Fact::option(header.language)),
        ("switches", Fact::option(header.switches)),
        ("parameters", Fact::option(header.parameters)),
    ]
}

fn trim_mark(first: &[u8], mark: u8) -> &[u8] {
    let inner = drop_blanks(skip_blanks(first));
    inner.strip_prefix(&[mark]).and_then(|inner| inner.strip_suffix(&[mark])).unwrap_or(inner)
}

fn trim_spaces(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| **byte == b' ').count()..]
}

/// In upper case, by Unicode where it is text.
pub(super) fn upper(bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_uppercase().into_bytes(),
        Err(_) => bytes.to_ascii_uppercase(),
    }
}
