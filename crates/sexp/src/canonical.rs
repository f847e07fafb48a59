//! Canonical text straight from the tape, without making values.
//!
//! Equals `print(&node.to_value(), Dialect::Lisp)`; a property test says so. Most atoms are
//! copied as they stand, one by one: copying whole stretches of a canonical source is a sixth
//! faster there, and half as fast on every other source.

use crate::limits::Dialect;
use crate::read::{character, number, string};
use crate::tree::{self, Entry, Kind, Node, flag};

/// Appends the canonical text of `node`.
pub fn canonical(node: Node<'_>, out: &mut String) {
    // Most text is as long as its source, or shorter.
    out.reserve(node.span().len());
    if !is_list(node.entry()) {
        return atom(node, out);
    }
    let entries = &node.tree.entries;
    let mut around: Vec<Open> = Vec::new();
    let mut list = Open::new(entries, node.index);
    let mut index = list.first;
    out.push_str(list.opening());
    loop {
        if index == list.end {
            out.push(list.close);
            let Some(outer) = around.pop() else { return };
            list = outer;
            continue;
        }
        let entry = &entries[index as usize];
        if index != list.first {
            let is_tail = list.is_dotted && entry.next == list.end;
            if is_tail {
                out.push_str(" . ");
            } else {
                out.push(' ');
            }
        }
        if is_list(entry) {
            around.push(std::mem::replace(&mut list, Open::new(entries, index)));
            out.push_str(list.opening());
        } else {
            atom(Node { tree: node.tree, index }, out);
        }
        index += 1;
    }
}

fn is_list(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::List | Kind::Dotted | Kind::Vector | Kind::Propertized)
}

/// A list that is being printed.
struct Open {
    /// Its first element.
    first: u32,
    /// Index behind the last element.
    end: u32,
    close: char,
    is_dotted: bool,
    is_vector: bool,
}

impl Open {
    fn new(entries: &[Entry], index: u32) -> Self {
        let entry = &entries[index as usize];
        let is_vector = matches!(entry.kind, Kind::Vector | Kind::Propertized);
        // Written with `#(`, such a vector would come back as a propertized string.
        let keeps_brackets = entry.flags & flag::BRACKET != 0
            && tree::looks_propertized(entries, index + 1, entry.next);
        Self {
            first: index + 1,
            end: entry.next,
            close: if keeps_brackets { ']' } else { ')' },
            is_dotted: entry.kind == Kind::Dotted,
            is_vector,
        }
    }

    fn opening(&self) -> &'static str {
        match (self.is_vector, self.close) {
            (true, ']') => "[",
            (true, _) => "#(",
            (false, _) => "(",
        }
    }
}

#[inline(always)]
fn atom(node: Node<'_>, out: &mut String) {
    let entry = node.entry();
    if entry.flags & flag::PLAIN != 0 {
        out.push_str(node.source());
    } else {
        respelled(node, out);
    }
}

/// An atom that is not written as its source.
#[inline(never)]
fn respelled(node: Node<'_>, out: &mut String) {
    let entry = node.entry();
    match entry.kind {
        Kind::T => out.push('t'),
        Kind::Symbol => out.push_str(&node.symbol().unwrap_or_default()),
        Kind::Keyword => {
            out.push(':');
            out.push_str(&node.keyword().unwrap_or_default());
        }
        Kind::String if string::is_canonical(node.source()) => out.push_str(node.source()),
        Kind::String => string::write(&node.as_str().unwrap_or_default(), Dialect::Lisp, out),
        Kind::Integer => out.push_str(&number::decimal(node.source())),
        Kind::Ratio => out.push_str(&number::ratio(node.source())),
        Kind::Float => out.push_str(node.source()),
        Kind::Char => character::decode(node.source()).write(Dialect::Lisp, out),
        Kind::Nil | Kind::List | Kind::Dotted | Kind::Vector | Kind::Propertized => {
            out.push_str("nil");
        }
    }
}
