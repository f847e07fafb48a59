//! What the reader leaves behind: a tape of small nodes over the untouched text.
//!
//! The reader writes the tape; everyone else walks it through [`Node`], which is two words
//! wide and decodes an atom only when asked. Nothing here owns decoded data: for values that
//! outlive the text see [`Value`](crate::Value).

use std::borrow::Cow;
use std::ops::Range;

use crate::error::Place;
use crate::limits::Dialect;
use crate::read::{number, string};
use crate::symbol;

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// `nil`, `NIL` or `()`.
    Nil,
    /// `t` or `T`.
    T,
    /// A symbol that is not a keyword.
    Symbol,
    /// A keyword.
    Keyword,
    /// A string.
    String,
    /// An integer of any size.
    Integer,
    /// A ratio.
    Ratio,
    /// A float of either Lisp.
    Float,
    /// A character.
    Char,
    /// A proper list with at least one element.
    List,
    /// A list whose last child is its tail.
    Dotted,
    /// A vector.
    Vector,
    /// An Emacs string with text properties.
    Propertized,
}

/// One value on the tape. 16 bytes: four to a cache line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Start of its text.
    pub(crate) start: u32,
    /// End of its text.
    pub(crate) end: u32,
    /// The entry after its last descendant; while the list is open, its parent.
    pub(crate) next: u32,
    /// Kind of the node.
    pub(crate) kind: Kind,
    /// Bits of [`flag`].
    pub(crate) flags: u8,
    /// The reader's notes on an open list; nothing afterwards.
    pub(crate) notes: u16,
}

/// Bits of [`Entry::flags`].
pub(crate) mod flag {
    /// The source bytes of the atom are its spelling: nothing to decode.
    pub(crate) const PLAIN: u8 = 1;
    /// A vector written with brackets.
    pub(crate) const BRACKET: u8 = 2;
    /// A symbol that the text wrote as a mark, such as `'`.
    pub(crate) const MARK: u8 = 4;
    /// While open: a backquote that ends with this form.
    pub(crate) const BACKQUOTE: u8 = 8;
    /// While open: a comma that ends with this form.
    pub(crate) const COMMA: u8 = 16;
}

/// Memory of a tape, to be used again by the next read.
#[derive(Debug, Default)]
pub struct Tape(pub(crate) Vec<Entry>);

impl Tape {
    /// An empty one; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

/// One form that was read: the text and the tape over it.
#[derive(Debug)]
pub struct Tree<'s> {
    pub(crate) text: &'s str,
    pub(crate) entries: Vec<Entry>,
    pub(crate) consumed: usize,
    pub(crate) dialect: Dialect,
}

impl<'s> Tree<'s> {
    /// The form itself.
    pub fn root(&self) -> Node<'_> {
        Node { tree: self, index: 0 }
    }

    /// Bytes up to the end of the form, blanks before it included.
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// The whole text that was handed to the reader.
    pub fn source(&self) -> &'s str {
        self.text
    }

    /// Counts the values of the form, itself included.
    pub fn node_count(&self) -> usize {
        self.entries.len()
    }

    /// Gives the memory back for another read.
    pub fn into_tape(self) -> Tape {
        Tape(self.entries)
    }
}

/// One value of a [`Tree`].
#[derive(Debug, Clone, Copy)]
pub struct Node<'t> {
    pub(crate) tree: &'t Tree<'t>,
    pub(crate) index: u32,
}

impl<'t> Node<'t> {
    #[inline]
    pub(crate) fn entry(self) -> &'t Entry {
        &self.tree.entries[self.index as usize]
    }

    /// Returns the kind of the node.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.entry().kind
    }

    /// The bytes of the text that it was read from.
    pub fn span(&self) -> Range<usize> {
        let entry = self.entry();
        entry.start as usize..entry.end as usize
    }

    /// Its exact source text.
    #[inline]
    pub fn source(&self) -> &'t str {
        let entry = self.entry();
        &self.tree.text[entry.start as usize..entry.end as usize]
    }

    /// Returns the place of the node. Counts lines from the beginning of the text: for messages only.
    pub fn place(&self) -> Place {
        Place::of(self.tree.text, self.entry().start as usize)
    }

    /// Its elements; for [`Kind::Dotted`] the tail is the last. Atoms have none.
    #[inline]
    pub fn children(&self) -> Children<'t> {
        Children { tree: self.tree, at: self.index + 1, end: self.entry().next }
    }

    /// Itself and everything inside it, in the order of the text: a list comes before its
    /// elements. The fastest way to see every value.
    #[inline]
    pub fn descendants(&self) -> impl Iterator<Item = Node<'t>> + use<'t> {
        let tree = self.tree;
        (self.index..self.entry().next).map(move |index| Node { tree, index })
    }

    /// Counts the children.
    pub fn len(&self) -> usize {
        self.children().count()
    }

    /// Whether it has no children.
    pub fn is_empty(&self) -> bool {
        self.entry().next == self.index + 1
    }

    /// Whether it is `nil`.
    pub fn is_nil(&self) -> bool {
        self.kind() == Kind::Nil
    }

    /// The contents, if it is a string.
    #[inline]
    pub fn as_str(&self) -> Option<Cow<'t, str>> {
        let entry = self.entry();
        if entry.kind != Kind::String {
            return None;
        }
        let inner = &self.tree.text[entry.start as usize + 1..entry.end as usize - 1];
        if entry.flags & flag::PLAIN != 0 {
            return Some(Cow::Borrowed(inner));
        }
        Some(Cow::Owned(string::unescape(inner, self.tree.dialect)))
    }

    /// The canonical spelling without its colon, if it is a keyword.
    #[inline]
    pub fn keyword(&self) -> Option<Cow<'t, str>> {
        let entry = self.entry();
        if entry.kind != Kind::Keyword {
            return None;
        }
        if entry.flags & flag::PLAIN != 0 {
            let name = &self.tree.text[entry.start as usize + 1..entry.end as usize];
            return Some(Cow::Borrowed(name));
        }
        Some(Cow::Owned(self.respelled_keyword()))
    }

    /// Apart, so that the common case of `keyword` is small enough to be inlined.
    #[cold]
    fn respelled_keyword(&self) -> String {
        let mut spelling = symbol::respell(self.source(), self.tree.dialect);
        spelling.remove(0);
        spelling
    }

    /// Whether it is a keyword of the characters `name`; as [`Keyword::is`](crate::Keyword::is).
    #[inline]
    pub fn is_keyword(&self, name: &str) -> bool {
        let entry = self.entry();
        entry.kind == Kind::Keyword
            && if entry.flags & flag::PLAIN != 0 {
                self.tree.text.as_bytes()[entry.start as usize + 1..entry.end as usize]
                    .eq_ignore_ascii_case(name.as_bytes())
            } else {
                self.keyword().is_some_and(|own| symbol::name_of(&own).eq_ignore_ascii_case(name))
            }
    }

    /// The canonical spelling, if it is a symbol; `nil` and `t` are none, nor are keywords.
    #[inline]
    pub fn symbol(&self) -> Option<Cow<'t, str>> {
        let entry = self.entry();
        if entry.kind != Kind::Symbol {
            return None;
        }
        if entry.flags & flag::PLAIN != 0 {
            return Some(Cow::Borrowed(self.source()));
        }
        Some(self.respelled_symbol())
    }

    /// Apart, as for keywords.
    #[cold]
    fn respelled_symbol(&self) -> Cow<'t, str> {
        if self.entry().flags & flag::MARK != 0 {
            return Cow::Borrowed(symbol::of_mark(self.source()));
        }
        Cow::Owned(symbol::respell(self.source(), self.tree.dialect))
    }

    /// The number, if it is an integer of at most 64 bits.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        let entry = self.entry();
        if entry.kind != Kind::Integer {
            return None;
        }
        if entry.flags & flag::PLAIN != 0 {
            let text = self.tree.text.as_bytes();
            return Some(number::plain_to_i64(text, entry.start as usize, entry.end as usize));
        }
        number::to_i64(self.source())
    }

    /// The number, if it is an integer or float within the range of an `f64`.
    pub fn as_f64(&self) -> Option<f64> {
        match self.kind() {
            Kind::Integer => number::integer_to_f64(self.source()),
            Kind::Float => number::float_to_f64(self.source()),
            _ => None,
        }
    }
}

/// The children of a [`Node`], in order.
#[derive(Debug, Clone)]
pub struct Children<'t> {
    tree: &'t Tree<'t>,
    at: u32,
    end: u32,
}

impl<'t> Iterator for Children<'t> {
    type Item = Node<'t>;

    #[inline]
    fn next(&mut self) -> Option<Node<'t>> {
        if self.at >= self.end {
            return None;
        }
        let node = Node { tree: self.tree, index: self.at };
        self.at = node.entry().next;
        Some(node)
    }
}

/// Whether the elements of a vector, from `first` to before `end`, are a string and then triples
/// of two integers and a property list.
pub(crate) fn looks_propertized(entries: &[Entry], first: u32, end: u32) -> bool {
    let mut place = 0;
    let mut at = first;
    while at < end {
        let entry = &entries[at as usize];
        let fits = match (place, entry.kind) {
            (0, kind) => kind == Kind::String,
            (_, Kind::Integer) => place % 3 != 0,
            (_, Kind::List | Kind::Nil) => place % 3 == 0,
            _ => false,
        };
        if !fits {
            return false;
        }
        place += 1;
        at = entry.next;
    }
    place > 1 && place % 3 == 1
}
