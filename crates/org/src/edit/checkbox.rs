//! Checkboxes: one is checked or unchecked, those above it follow, and the cookies that count them are brought up to
//! date, `[1/3]` and `[33%]` alike. As Org does it, and no byte more.

use super::count::{Counts, cookie_splice, has_word};
use super::{Edit, EditError, Splice};
use crate::item;
use crate::kind::Type;
use crate::lines::widen;
use crate::object::{Objects, Scratch};
use crate::text::Span;
use crate::tree::{NodeId, Tree};

/// A box of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Boxed {
    /// The offset of the character between the brackets.
    at: usize,
    mark: u8,
}

/// The items of the part of a text that a change of a checkbox can reach.
struct Items {
    /// The nodes of that part.
    first: usize,
    end: usize,
    /// For each node of it, the box it has, after the change.
    boxes: Vec<Option<Boxed>>,
    /// For each node of it, the node that it is right inside of.
    parents: Vec<usize>,
}

impl<'t> Tree<'t> {
    /// Checks a checkbox, or unchecks one that is checked. The boxes of the items above it, and the cookies that count
    /// boxes in the same section, follow.
    ///
    /// # Errors
    ///
    /// The node is no item, or has no checkbox, or the `ORDERED` property of its headline asks for another to be checked
    /// before it.
    pub fn toggle_checkbox(&self, item: NodeId) -> Result<Edit<'t>, EditError> {
        self.node(item).filter(|node| node.kind == Type::Item).ok_or(EditError::OtherType)?;
        let mut items = self.items_around(item);
        let old = items.boxed(item.0).ok_or(EditError::Missing)?;
        let before = items.boxes.clone();
        items.set(item.0, if old.mark == b'X' { b' ' } else { b'X' });
        let (top, end) = self.whole_list(item, &items);
        self.settle(&mut items, top, end);
        if self.own_property(items.first, b"ORDERED").is_some_and(|value| value != b"nil") {
            self.in_order(&mut items, item.0, top, end)?;
        }
        let changed = before.iter().zip(&items.boxes).filter_map(|(before, after)| {
            let (before, after) = (before.as_ref()?, after.as_ref()?);
            (before.mark != after.mark).then(|| Splice {
                span: Span { start: after.at, end: after.at + 1 },
                text: vec![after.mark],
            })
        });
        let mut splices: Vec<Splice> = changed.collect();
        self.count_boxes(&items, &mut splices);
        Ok(Edit::new(self.whole, splices))
    }

    /// The items of the section that a node is in.
    fn items_around(&self, id: NodeId) -> Items {
        let is_section = |index: &usize| self.nodes[*index].kind == Type::Section;
        let section = (0..id.0).rev().find(is_section).unwrap_or(0);
        let above = section.checked_sub(1).filter(|at| self.nodes[*at].kind == Type::Headline);
        let first = above.unwrap_or(section);
        let end = widen(self.nodes[section].next);
        let mut items =
            Items { first, end, boxes: vec![None; end - first], parents: vec![first; end - first] };
        let mut open: Vec<usize> = vec![first];
        for index in first + 1..end {
            while open.pop_if(|above| widen(self.nodes[*above].next) <= index).is_some() {}
            items.parents[index - first] = open.last().copied().unwrap_or(first);
            open.push(index);
            let node = &self.nodes[index];
            if node.kind == Type::Item {
                let start = node.span().start;
                let line = self.lines.content(self.lines.at(start));
                items.boxes[index - first] = item::read(line)
                    .checkbox
                    .map(|span| Boxed { at: start + span.start + 1, mark: line[span.start + 1] });
            }
        }
        items
    }

    /// From the outermost list that an item is in, through items and lists alone, to behind all that is in it.
    fn whole_list(&self, item: NodeId, items: &Items) -> (usize, usize) {
        let mut top = item.0;
        loop {
            let above = items.parent(top);
            if above == top || !matches!(self.nodes[above].kind, Type::Item | Type::PlainList) {
                return (top, widen(self.nodes[top].next));
            }
            top = above;
        }
    }

    /// Gives each box with boxes right below it the mark that they ask for, from the inside out.
    fn settle(&self, items: &mut Items, top: usize, end: usize) {
        // What the boxes right below each item are: open, checked, between.
        let mut below = vec![[false; 3]; end - top];
        for index in (top..end).rev().filter(|index| self.nodes[*index].kind == Type::Item) {
            let mark = match below[index - top] {
                [true, true, _] | [_, _, true] => Some(b'-'),
                [_, true, _] => Some(b'X'),
                [true, ..] => Some(b' '),
                _ => None,
            };
            if let Some(mark) = mark {
                items.set(index, mark);
            }
            let Some(boxed) = items.boxed(index) else { continue };
            // Above an item is its list, and above that the item that it is in.
            let above = items.parent(items.parent(index));
            if above >= top && self.nodes[above].kind == Type::Item {
                let kind = match boxed.mark {
                    b'X' => 1,
                    b'-' => 2,
                    _ => 0,
                };
                below[above - top][kind] = true;
            }
        }
    }

    /// Under `ORDERED`, nothing is checked behind what is not: checking it is refused, unchecking takes the others along.
    fn in_order(
        &self,
        items: &mut Items,
        item: usize,
        top: usize,
        end: usize,
    ) -> Result<(), EditError> {
        let all = |items: &Items| -> Vec<(usize, u8)> {
            (top..end).filter_map(|index| Some((index, items.boxed(index)?.mark))).collect()
        };
        let marks = all(items);
        let Some(first) = marks.iter().position(|(_, mark)| *mark == b' ') else { return Ok(()) };
        if marks[first..].iter().all(|(_, mark)| *mark != b'X') {
            return Ok(());
        }
        if marks[first].0 < item {
            return Err(EditError::Blocked);
        }
        for (index, _) in &marks[first..] {
            items.set(*index, b' ');
        }
        self.settle(items, top, end);
        Ok(())
    }

    /// Brings the cookies of a section up to date, where they count boxes.
    fn count_boxes(&self, items: &Items, splices: &mut Vec<Splice>) {
        let data = self.own_property(items.first, b"COOKIE_DATA").unwrap_or_default();
        if has_word(data, b"todo") {
            return;
        }
        let counts = items.counts(self, has_word(data, b"recursive"));
        let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
        for index in items.first..items.end {
            let kind = self.nodes[index].kind;
            if !matches!(kind, Type::Headline | Type::Paragraph | Type::VerseBlock | Type::Item) {
                continue;
            }
            self.objects_into(NodeId(index), &mut scratch, &mut objects);
            let cookies = objects.nodes().iter().filter(|node| node.kind == Type::StatisticsCookie);
            for cookie in cookies {
                let counts = counts[self.container(items, index) - items.first];
                splices.push(cookie_splice(self.whole, cookie, counts));
            }
        }
    }

    /// Returns the container whose boxes a cookie in that node counts: an item, a block, or all of the section.
    fn container(&self, items: &Items, index: usize) -> usize {
        let mut at = index;
        while at > items.first {
            match self.nodes[at].kind {
                Type::Drawer
                | Type::CenterBlock
                | Type::DynamicBlock
                | Type::Item
                | Type::QuoteBlock
                | Type::SpecialBlock
                | Type::VerseBlock => return at,
                _ => at = items.parent(at),
            }
        }
        items.first
    }
}

impl Items {
    fn boxed(&self, index: usize) -> Option<Boxed> {
        self.boxes.get(index.checked_sub(self.first)?).copied().flatten()
    }

    fn set(&mut self, index: usize, mark: u8) {
        if let Some(boxed) = self.boxes[index - self.first].as_mut() {
            boxed.mark = mark;
        }
    }

    fn parent(&self, index: usize) -> usize {
        self.parents[index - self.first]
    }

    /// For each node, how many boxes there are in it, and how many of them are checked: those of its outermost items, or
    /// of all.
    fn counts(&self, tree: &Tree<'_>, recursive: bool) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); self.end - self.first];
        for index in (self.first + 1..self.end).rev() {
            let inside = counts[index - self.first];
            let above = &mut counts[self.parent(index) - self.first];
            if let Some(boxed) = self.boxed(index) {
                above.add(Counts { all: 1, done: usize::from(boxed.mark == b'X') });
            }
            if tree.nodes[index].kind != Type::Item || recursive {
                above.add(inside);
            }
        }
        counts
    }
}
