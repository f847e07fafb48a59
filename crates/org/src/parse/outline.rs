//! Headlines and sections: where each headline's subtree ends is known before the walk.

use super::{ElementFrame, Mode, Parsed, Parser};
use crate::kind::Type;
use crate::line::heading_level;
use crate::lines::{Class, Lines};
use crate::tree::Node;

/// A headline of the text.
struct Stars {
    line: usize,
    /// The line of the next headline that is not below it.
    end: usize,
}

/// All headlines, in order.
pub(super) struct Outline {
    headlines: Vec<Stars>,
    /// The headline that the walk meets next.
    next: usize,
}

impl Outline {
    pub(super) fn new(lines: &Lines<'_>) -> Self {
        let mut headlines: Vec<Stars> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for line in 0..lines.count() {
            if lines.class(line) != Class::Heading {
                continue;
            }
            let level = heading_level(lines.content(line)).unwrap_or(1);
            while let Some((above, _)) = open.pop_if(|(_, above)| *above >= level) {
                headlines[above].end = line;
            }
            open.push((headlines.len(), level));
            headlines.push(Stars { line, end: lines.count() });
        }
        Self { headlines, next: 0 }
    }
}

impl Parser<'_, '_> {
    pub(super) fn headline(&mut self, at: usize, limit: usize) -> Parsed {
        let known = self.outline.headlines.get(self.outline.next).filter(|stars| stars.line == at);
        let end = known.map_or(limit, |stars| stars.end).min(limit);
        self.outline.next += 1;
        let mut node = Node::new(Type::Headline, self.lines.start(at), self.lines.start(end));
        let first = self.lines.written(at + 1, end);
        let contents = (first < end).then(|| {
            let behind = self.lines.unblanked(first, end);
            node = node.with_contents(self.lines.start(first), self.lines.start(behind));
            self.frame(first, behind, Mode::Sections)
        });
        self.nodes.push(node);
        Parsed { behind: end, contents, kind: Type::Headline }
    }

    /// Reads what stands before the next headline. Org lets the last section of a headline end behind it, with
    /// the empty lines that the headline does not have: here it ends where the headline does.
    pub(super) fn section(&mut self, at: usize, limit: usize) -> Parsed {
        let next = self.outline.headlines.get(self.outline.next);
        let end = next.map_or(limit, |stars| stars.line).min(limit);
        let behind = self.lines.unblanked(at, end);
        let node = Node::new(Type::Section, self.lines.start(at), self.lines.start(end))
            .with_contents(self.lines.start(at), self.lines.start(behind));
        let first = self.nodes.len() == 1;
        let contents = self.frame(at, behind, if first { Mode::Top } else { Mode::Planning });
        self.nodes.push(node);
        Parsed { behind: end, contents: Some(contents), kind: Type::Section }
    }

    /// The inside of the node that is added next.
    pub(super) fn frame(&self, at: usize, limit: usize, mode: Mode) -> ElementFrame {
        ElementFrame { node: self.nodes.len(), at, limit, mode, list: None, inside_line: None }
    }
}
