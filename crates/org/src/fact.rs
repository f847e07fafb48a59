//! What a node says beyond its place: the title of a headline, the value of a keyword, the path of a link. Read from
//! the source when asked, under the names that Org has for it. Used by `show`; not by whoever reads the tree.

mod element;
mod object;

use std::borrow::Cow;

use crate::kind::Type;
use crate::tree::{Node, Tree};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fact<'t> {
    /// Nothing.
    Nil,
    /// The fact holds.
    True,
    /// A number.
    Number(u64),
    /// A word of a closed list.
    Word(&'static str),
    /// Text as it stands, or made of it.
    Text(Cow<'t, [u8]>),
    /// Several.
    List(Vec<Fact<'t>>),
}

impl<'t> Fact<'t> {
    fn text(text: &'t [u8]) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    fn option(text: Option<&'t [u8]>) -> Self {
        text.map_or(Self::Nil, Self::text)
    }

    fn owned(text: Vec<u8>) -> Self {
        Self::Text(Cow::Owned(text))
    }

    fn flag(holds: bool) -> Self {
        if holds { Self::True } else { Self::Nil }
    }
}

/// Names and values, in a fixed order.
pub type Facts<'t> = Vec<(&'static str, Fact<'t>)>;

impl<'t> Tree<'t> {
    /// Returns the facts about an element, or an object of this tree, beyond its place.
    #[must_use]
    pub fn facts(&self, node: &Node) -> Facts<'t> {
        if node.kind.is_object() { object::facts(self, node) } else { element::facts(self, node) }
    }

    /// Returns the end of a node for Org. The last section of a headline ends behind it there, with the empty lines
    /// that the headline does not have.
    #[must_use]
    pub fn org_end(&self, node: &Node) -> usize {
        let end = node.span().end;
        if node.kind != Type::Section || end >= self.lines.source().len() {
            return end;
        }
        self.lines.start(self.lines.written(self.lines.at(end), self.lines.count()))
    }
}
