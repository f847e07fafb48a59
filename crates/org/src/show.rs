//! The tree as text, for people and other programs: one S-expression a node, or JSON. Used by `bridle org tree`
//! and by the comparison with Emacs.

use std::borrow::Cow;

use crate::fact::Fact;
use crate::object::{Objects, Scratch};
use crate::position::Positions;
use crate::text::Span;
use crate::tree::{Node, NodeId, Tree};

/// In what the places of a tree are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Bytes, from 0.
    Bytes,
    /// Characters, from 1, as Emacs does.
    Characters,
}

/// One node as it is shown.
#[derive(Clone, Debug)]
pub struct Shown<'t> {
    /// Number of nodes around the node.
    pub depth: usize,
    /// The node.
    pub node: Node,
    /// All of it, as it is counted.
    pub span: Span,
    /// Contents, as they are counted.
    pub contents: Option<Span>,
    /// Behind its affiliated keywords, as it is counted.
    pub after_affiliated: usize,
    /// Facts about the node.
    pub facts: Vec<(&'static str, Fact<'t>)>,
}

impl<'t> Tree<'t> {
    /// Hands every element and object, in the order of the text, to `each`.
    pub fn show(&self, count: Count, mut each: impl FnMut(&Shown<'t>)) {
        let positions = Positions::new(self.source());
        let place = |offset: usize| match count {
            Count::Bytes => offset,
            Count::Characters => positions.at(offset),
        };
        let spans = |span: Span| Span { start: place(span.start), end: place(span.end) };
        let shown = |depth: usize, node: &Node| Shown {
            depth,
            node: *node,
            span: Span { start: place(node.span().start), end: place(self.org_end(node)) },
            contents: node.contents().map(spans),
            after_affiliated: place(node.after_affiliated()),
            facts: if count == Count::Characters && positions.is_dos() {
                self.facts(node)
                    .into_iter()
                    .map(|(name, fact)| (name, one_line_end(fact)))
                    .collect()
            } else {
                self.facts(node)
            },
        };
        let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
        let mut ends: Vec<usize> = Vec::new();
        for (index, node) in self.nodes().iter().enumerate() {
            while ends.pop_if(|end| *end <= index).is_some() {}
            each(&shown(ends.len(), node));
            ends.push(crate::lines::widen(node.next));
            for captions in [true, false] {
                if captions {
                    self.caption_objects_into(NodeId(index), &mut scratch, &mut objects);
                } else {
                    self.objects_into(NodeId(index), &mut scratch, &mut objects);
                }
                let mut inner: Vec<usize> = Vec::new();
                for (index, object) in objects.nodes().iter().enumerate() {
                    while inner.pop_if(|end| *end <= index).is_some() {}
                    each(&shown(ends.len() + inner.len(), object));
                    inner.push(index + 1 + objects.inside(index));
                }
            }
        }
    }
}

/// The value as Emacs has it, which sees no `\r` in a text in which every line ends with `\r\n`.
fn one_line_end(fact: Fact<'_>) -> Fact<'_> {
    match fact {
        Fact::Text(text) if memchr::memmem::find(&text, b"\r\n").is_some() => {
            let kept = text.iter().zip(text.iter().skip(1).chain([&0]));
            let kept = kept.filter(|pair| *pair != (&b'\r', &b'\n')).map(|(byte, _)| *byte);
            Fact::Text(Cow::Owned(kept.collect()))
        }
        // Lists hold values that are no lists.
        Fact::List(all) => Fact::List(
            all.into_iter()
                .map(|fact| if matches!(fact, Fact::List(_)) { fact } else { one_line_end(fact) })
                .collect(),
        ),
        other => other,
    }
}

impl Shown<'_> {
    /// `(DEPTH TYPE BEGIN END CONTENTS-BEGIN CONTENTS-END AFTER-AFFILIATED VALUE..)`, on one line.
    #[must_use]
    pub fn sexp(&self) -> Vec<u8> {
        let number = |place: Option<usize>| {
            place.map_or_else(|| "nil".to_owned(), |place| place.to_string())
        };
        let mut text = format!(
            "({} {} {} {} {} {} {}",
            self.depth,
            self.node.kind.name(),
            self.span.start,
            self.span.end,
            number(self.contents.map(|contents| contents.start)),
            number(self.contents.map(|contents| contents.end)),
            self.after_affiliated,
        )
        .into_bytes();
        for (_, fact) in &self.facts {
            text.push(b' ');
            write_sexp(fact, &mut text);
        }
        text.push(b')');
        text
    }
}

fn write_sexp(fact: &Fact<'_>, text: &mut Vec<u8>) {
    match fact {
        Fact::Nil => text.extend_from_slice(b"nil"),
        Fact::True => text.extend_from_slice(b"t"),
        Fact::Number(number) => text.extend_from_slice(number.to_string().as_bytes()),
        // The only character of these words that a reader of Lisp would stumble over.
        Fact::Word(word) => text.extend_from_slice(word.replace('.', "\\.").as_bytes()),
        Fact::Text(value) => {
            text.push(b'"');
            for chunk in value.utf8_chunks() {
                for byte in chunk.valid().bytes() {
                    match byte {
                        b'"' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
                        b'\n' => text.extend_from_slice(b"\\n"),
                        0x0c => text.extend_from_slice(b"\\f"),
                        _ => text.push(byte),
                    }
                }
                // A byte that is no text, as Lisp writes it.
                for byte in chunk.invalid() {
                    text.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                }
            }
            text.push(b'"');
        }
        Fact::List(all) if all.is_empty() => text.extend_from_slice(b"nil"),
        Fact::List(all) => {
            for (index, fact) in all.iter().enumerate() {
                text.push(if index == 0 { b'(' } else { b' ' });
                // Lists of lists do not occur; what is in a list is a leaf.
                if !matches!(fact, Fact::List(_)) {
                    write_sexp(fact, text);
                }
            }
            text.push(b')');
        }
    }
}
