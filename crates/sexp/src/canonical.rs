//! Canonical text straight from the tape, without making values.
//!
//! Equals `print(&node.to_value(), Dialect::Lisp)`; a property test says so. Most atoms are
//! copied as they stand.

use crate::limits::Dialect;
use crate::read::{character, number, string};
use crate::tree::{self, Entry, Kind, Node, flag};

/// Appends the canonical text of `node`.
pub fn canonical(node: Node<'_>, out: &mut String) {
    let entries = &node.tree.entries;
    let mut open: Vec<Open> = Vec::new();
    let mut index = node.index;
    loop {
        let current = Node { tree: node.tree, index };
        let entry = current.entry();
        index += 1;
        if matches!(entry.kind, Kind::List | Kind::Dotted | Kind::Vector | Kind::Propertized) {
            let list = Open::new(entries, index - 1);
            out.push_str(list.opening());
            open.push(list);
            if index < entry.next {
                continue;
            }
        } else {
            atom(current, out);
        }
        while let Some(list) = open.last().filter(|list| index == list.end) {
            out.push(list.close);
            open.pop();
        }
        let Some(list) = open.last() else { return };
        let is_tail = list.is_dotted && entries[index as usize].next == list.end;
        out.push_str(if is_tail { " . " } else { " " });
    }
}

/// A list that is being printed.
struct Open {
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

fn atom(node: Node<'_>, out: &mut String) {
    let entry = node.entry();
    if entry.flags & flag::PLAIN != 0 {
        return out.push_str(node.source());
    }
    match entry.kind {
        Kind::T => out.push('t'),
        Kind::Symbol => out.push_str(&node.symbol().unwrap_or_default()),
        Kind::Keyword => {
            out.push(':');
            out.push_str(&node.keyword().unwrap_or_default());
        }
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
