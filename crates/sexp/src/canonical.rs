//! Canonical text straight from the tape, without making values.
//!
//! Equals `print(&node.to_value(), Dialect::Lisp)`; a property test says so. Each node is looked
//! at, but text that is already canonical is copied in runs, not atom by atom: 5 MB of an Org tree
//! have half a million atoms, and a copy of ten bytes costs more in calls than in bytes.

use crate::limits::Dialect;
use crate::read::{character, number, string};
use crate::tree::{self, Entry, Kind, Node, flag};

/// Appends the canonical text of `node`.
pub fn canonical(node: Node<'_>, out: &mut String) {
    let entries = &node.tree.entries;
    let mut out = Runs { text: node.tree.text, from: 0, to: 0, out };
    let mut open: Vec<Open> = Vec::new();
    let mut index = node.index;
    loop {
        let current = Node { tree: node.tree, index };
        let entry = current.entry();
        index += 1;
        if matches!(entry.kind, Kind::List | Kind::Dotted | Kind::Vector | Kind::Propertized) {
            let list = Open::new(entries, index - 1);
            out.begin(entry.start as usize);
            out.literal(list.opening());
            open.push(list);
            if index < entry.next {
                continue;
            }
        } else if entry.flags & flag::PLAIN != 0 {
            out.source(entry.start as usize, entry.end as usize);
        } else {
            atom(current, &mut out);
        }
        while let Some(list) = open.last().filter(|list| index == list.end) {
            out.literal(list.close);
            open.pop();
        }
        let Some(list) = open.last() else { return out.flush() };
        let is_tail = list.is_dotted && entries[index as usize].next == list.end;
        out.literal(if is_tail { " . " } else { " " });
    }
}

/// Output that is, as long as possible, one stretch of the source.
struct Runs<'t, 'o> {
    text: &'t str,
    /// The stretch that is not copied yet: none while both ends are equal.
    from: usize,
    to: usize,
    out: &'o mut String,
}

impl Runs<'_, '_> {
    /// Appends a stretch of the source.
    #[inline]
    fn source(&mut self, start: usize, end: usize) {
        if self.to != start {
            self.flush();
            self.from = start;
        }
        self.to = end;
    }

    /// Lets a stretch begin at `start`, if none is under way.
    #[inline]
    fn begin(&mut self, start: usize) {
        if self.from == self.to {
            (self.from, self.to) = (start, start);
        }
    }

    /// Appends a text that the source may also have here.
    #[inline]
    fn literal(&mut self, literal: &str) {
        if self.text.as_bytes()[self.to..].starts_with(literal.as_bytes()) {
            self.to += literal.len();
        } else {
            self.other(literal);
        }
    }

    /// Appends a text that is not the source's.
    fn other(&mut self, text: &str) {
        self.flush();
        self.out.push_str(text);
    }

    fn flush(&mut self) {
        self.out.push_str(&self.text[self.from..self.to]);
        self.from = self.to;
    }
}

/// A list that is being printed.
struct Open {
    end: u32,
    close: &'static str,
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
            close: if keeps_brackets { "]" } else { ")" },
            is_dotted: entry.kind == Kind::Dotted,
            is_vector,
        }
    }

    fn opening(&self) -> &'static str {
        match (self.is_vector, self.close) {
            (true, "]") => "[",
            (true, _) => "#(",
            (false, _) => "(",
        }
    }
}

/// Appends an atom whose source may not be its canonical text.
fn atom(node: Node<'_>, out: &mut Runs<'_, '_>) {
    let entry = node.entry();
    out.begin(entry.start as usize);
    match entry.kind {
        Kind::T => out.literal("t"),
        Kind::Symbol => out.other(&node.symbol().unwrap_or_default()),
        Kind::Keyword => {
            out.other(":");
            out.other(&node.keyword().unwrap_or_default());
        }
        Kind::String if string::is_canonical(node.source()) => {
            out.source(entry.start as usize, entry.end as usize);
        }
        Kind::String => {
            out.flush();
            string::write(&node.as_str().unwrap_or_default(), Dialect::Lisp, out.out);
        }
        Kind::Integer => out.other(&number::decimal(node.source())),
        Kind::Ratio => out.other(&number::ratio(node.source())),
        Kind::Float => out.source(entry.start as usize, entry.end as usize),
        Kind::Char => {
            out.flush();
            character::decode(node.source()).write(Dialect::Lisp, out.out);
        }
        Kind::Nil | Kind::List | Kind::Dotted | Kind::Vector | Kind::Propertized => {
            out.literal("nil");
        }
    }
}
