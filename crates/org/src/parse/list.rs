//! Lists. The structure of a list, that is where each of its items ends, is made in one walk over its lines
//! before the list is read, as Org does it; items further in are part of it.

use std::ops::Range;

use super::{Mode, Parsed, Parser, Place};
use crate::item;
use crate::kind::Type;
use crate::line;
use crate::lines::{Class, narrow, widen};
use crate::tree::Node;

/// Stands for "no sibling": there are fewer bullets than bytes.
const NONE: u32 = u32::MAX;

/// The bullets of one list, those further in included: a range of `Parser::bullets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Structure {
    first: usize,
    end: usize,
}

impl Structure {
    fn range(self) -> Range<usize> {
        self.first..self.end
    }
}

/// An item before it is read. A text may be nothing but items, so it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bullet {
    line: u32,
    /// The column of the bullet.
    column: u32,
    /// The line behind the item.
    end: u32,
    /// The next item of the same list, or [`NONE`].
    sibling: u32,
    /// Whether it is in no other item of the structure.
    outermost: bool,
}

impl Parser<'_, '_> {
    pub(super) fn plain_list(&mut self, place: Place, list: Option<Structure>) -> Parsed {
        let known = list.and_then(|list| Some((list, self.bullet_at(list, place.at)?)));
        let known = known.or_else(|| self.known_list(place.at, place.limit));
        let (list, first) = known.unwrap_or_else(|| {
            let list = self.structure(place.at, place.limit);
            self.last_list = Some((list, place.limit));
            (list, list.first)
        });
        let mut last = first;
        while self.bullets[last].sibling != NONE {
            last = widen(self.bullets[last].sibling);
        }
        // The empty lines behind a list that ends an item are the list's, and not among the contents of the item.
        let end = widen(self.bullets[last].end).max(place.at + 1);
        let behind = self.lines.written(end, place.limit).max(end);
        let contents = self.lines.span(place.at, end);
        let node =
            self.node(Type::PlainList, place, behind).with_contents(contents.start, contents.end);
        let mut frame = self.frame(place.at, end, Mode::Items);
        frame.list = Some(list);
        self.nodes.push(node);
        Parsed { behind, contents: Some(frame), kind: Type::PlainList }
    }

    pub(super) fn item(&mut self, at: usize, list: Option<Structure>) -> Parsed {
        let found = list.and_then(|list| self.bullet_at(list, at));
        let end = found.map_or(at + 1, |index| widen(self.bullets[index].end)).max(at + 1);
        let line = self.lines.content(at);
        let mut node = Node::new(Type::Item, self.lines.start(at), self.lines.start(end));
        let contents =
            self.contents_behind(at, item::body(line), end).map(|(offset, mut frame)| {
                frame.limit = self.lines.unblanked(at + 1, end);
                frame.list = list;
                node = node.with_contents(offset, self.lines.start(frame.limit));
                frame
            });
        self.nodes.push(node);
        Parsed { behind: end, contents, kind: Type::Item }
    }

    /// The bullet of a line. Lines are read in order, so it nearly always is the one that was asked for last, or the
    /// next: a search by halves would touch distant memory for each item of a long list.
    fn bullet_at(&mut self, list: Structure, line: usize) -> Option<usize> {
        let line = narrow(line);
        let near = self.last_bullet..(self.last_bullet + 2).min(list.end);
        let mut near = near.skip_while(|index| *index < list.first);
        let found = near.find(|index| self.bullets[*index].line == line).or_else(|| {
            let bullets = self.bullets.get(list.range())?;
            let index = bullets.binary_search_by_key(&line, |bullet| bullet.line).ok()?;
            Some(list.first + index)
        })?;
        self.last_bullet = found;
        Some(found)
    }

    /// The structure made last, when it was made across this line with nothing open there: making it again from
    /// here would give the same.
    fn known_list(&mut self, at: usize, limit: usize) -> Option<(Structure, usize)> {
        let (list, _) = self.last_list.filter(|(_, known_limit)| *known_limit == limit)?;
        let index = self.bullet_at(list, at)?;
        self.bullets[index].outermost.then_some((list, index))
    }

    /// Walks the lines of a list. Text that is not indented more than an item ends it; two empty lines end
    /// all of them; blocks and drawers are passed over.
    fn structure(&mut self, from: usize, limit: usize) -> Structure {
        let first = self.bullets.len();
        let mut open: Vec<usize> = Vec::new();
        let mut at = from;
        let mut last_written = from;
        let end = loop {
            if at >= limit {
                break self.lines.unblanked(last_written, limit);
            }
            match self.lines.class(at) {
                Class::Blank if self.lines.two_blanks(at) => break at,
                Class::Blank => {
                    at += 1;
                    continue;
                }
                Class::Item => {
                    self.bullet(at, &mut open);
                    last_written = at;
                    at += 1;
                }
                _ => {
                    let column = narrow(line::indentation(self.lines.content(at)));
                    let end = self.lines.unblanked(last_written, at);
                    while let Some(item) = open.pop_if(|item| column <= self.bullets[*item].column)
                    {
                        self.bullets[item].end = narrow(end);
                    }
                    if open.is_empty() {
                        break end;
                    }
                    at = self.behind_block(at, limit);
                    last_written = at - 1;
                }
            }
        };
        for item in open {
            self.bullets[item].end = narrow(end);
        }
        Structure { first, end: self.bullets.len() }
    }

    /// Adds the item of a line, and ends those that it is not in.
    fn bullet(&mut self, at: usize, open: &mut Vec<usize>) {
        let (line, column) = (narrow(at), narrow(line::indentation(self.lines.content(at))));
        let new = self.bullets.len();
        while let Some(item) = open.pop_if(|item| column <= self.bullets[*item].column) {
            let ended = &mut self.bullets[item];
            ended.end = line;
            ended.sibling = if ended.column == column { narrow(new) } else { NONE };
        }
        let outermost = open.is_empty();
        self.bullets.push(Bullet { line, column, end: narrow(at + 1), sibling: NONE, outermost });
        open.push(new);
    }

    /// The line behind the block or drawer that begins at this line of a list, or the next line.
    fn behind_block(&self, at: usize, limit: usize) -> usize {
        let last =
            match self.lines.class(at) {
                // Also `:END:` alone: Org takes it for a drawer that closes itself.
                Class::Drawer => self.closers.drawer(at, limit),
                Class::Marked => line::after_mark(self.lines.content(at)).and_then(|marked| {
                    match line::block_begin(marked) {
                        Some(name) => self.closers.block(name, at + 1, limit),
                        None if line::is_dynamic_colon(marked) => self.closers.colon(at + 1, limit),
                        None => None,
                    }
                }),
                _ => None,
            };
        last.unwrap_or(at) + 1
    }
}
