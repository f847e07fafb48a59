//! The tree of an Org text: what each piece is, where it begins and ends, what is inside what.
//!
//! One vector of small nodes in the order of the text, each knowing where its descendants end: walking it needs
//! no recursion, and neither does dropping it. Nodes have spans and no text; what a node says beyond that (a
//! title, a value) is read from the source when somebody asks. Objects inside paragraphs, titles and cells are
//! not here: [`Tree::objects`] reads them on demand. Made by `parse`.

use crate::kind::Type;
use crate::lines::{Lines, narrow, widen};
use crate::object::{Caption, Objects, Scratch};
use crate::settings::{Preset, Settings};
use crate::text::Span;

/// Stands for "has no contents".
const NONE: u32 = u32::MAX;

/// Number of a node in its tree, in the order of the text; 0 is the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) usize);

/// An element, or an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub(crate) begin: u32,
    pub(crate) end: u32,
    contents_begin: u32,
    contents_end: u32,
    pub(crate) after_affiliated: u32,
    /// The first node behind all that are inside this one.
    pub(crate) next: u32,
    /// Type of the node.
    pub kind: Type,
}

impl Node {
    pub(crate) fn new(kind: Type, begin: usize, end: usize) -> Self {
        Self {
            begin: narrow(begin),
            end: narrow(end),
            contents_begin: NONE,
            contents_end: NONE,
            after_affiliated: narrow(begin),
            next: 0,
            kind,
        }
    }

    pub(crate) fn with_contents(mut self, begin: usize, end: usize) -> Self {
        self.contents_begin = narrow(begin);
        self.contents_end = narrow(end);
        self
    }

    pub(crate) fn with_affiliated(mut self, after: usize) -> Self {
        self.after_affiliated = narrow(after);
        self
    }

    /// All of it: affiliated keywords above it and blanks behind it included.
    #[must_use]
    pub fn span(&self) -> Span {
        Span { start: widen(self.begin), end: widen(self.end) }
    }

    /// Returns the span between the marks of the node; nothing where it can have no contents, or has none.
    #[must_use]
    pub fn contents(&self) -> Option<Span> {
        (self.contents_begin != NONE)
            .then(|| Span { start: widen(self.contents_begin), end: widen(self.contents_end) })
    }

    /// Returns the beginning of the node without its affiliated keywords.
    #[must_use]
    pub fn after_affiliated(&self) -> usize {
        widen(self.after_affiliated)
    }
}

/// An Org text that has been read into elements.
#[derive(Clone, Debug)]
pub struct Tree<'t> {
    /// All of the text, also what is too long to have structure.
    pub(crate) whole: &'t [u8],
    pub(crate) lines: Lines<'t>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) settings: Settings<'t>,
}

impl<'t> Tree<'t> {
    /// Reads a text. Every text is an Org text; time and memory are linear in its length.
    #[must_use]
    pub fn read(source: &'t [u8]) -> Self {
        Self::read_with(source, &Preset::default(), |_| None)
    }

    /// Reads a text for which these settings hold where it has none of its own.
    #[must_use]
    pub fn read_with_preset(source: &'t [u8], preset: &Preset<'t>) -> Self {
        Self::read_with(source, preset, |_| None)
    }

    /// Reads a text that has its setup elsewhere too: `setup` is asked for the text of each file that a `#+SETUPFILE:` line
    /// leads to, by its name as written, and may say that it has none. At most 32 are asked for, each once.
    #[must_use]
    pub fn read_with_setup(source: &'t [u8], setup: impl FnMut(&[u8]) -> Option<&'t [u8]>) -> Self {
        Self::read_with(source, &Preset::default(), setup)
    }

    /// Reads a text with a preset and with texts for its setup.
    #[must_use]
    pub fn read_with(
        source: &'t [u8],
        preset: &Preset<'t>,
        mut setup: impl FnMut(&[u8]) -> Option<&'t [u8]>,
    ) -> Self {
        let mut tree = Self::elements(source);
        tree.settings = Settings::of(&tree, preset.clone(), &mut setup);
        tree.settings.radio = crate::settings::radio(&tree);
        tree
    }

    /// The elements alone, without what the text says about itself.
    pub(crate) fn elements(source: &'t [u8]) -> Self {
        let lines = Lines::new(source);
        let nodes = crate::parse::parse(&lines);
        Self { whole: source, lines, nodes, settings: Settings::default() }
    }

    /// The bytes that were read.
    #[must_use]
    pub fn source(&self) -> &'t [u8] {
        self.whole
    }

    /// Returns the settings of the text: keywords of progress, tags, link abbreviations.
    #[must_use]
    pub fn settings(&self) -> &Settings<'t> {
        &self.settings
    }

    /// The node that holds all others.
    #[must_use]
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// The elements in the order of the text, each before those inside it.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node of that number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    /// The numbers of all nodes, in order.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    /// Counts the nodes inside the one of that number, those further in included.
    #[must_use]
    pub fn inside(&self, index: usize) -> usize {
        self.nodes.get(index).map_or(0, |node| widen(node.next).saturating_sub(index + 1))
    }

    /// The nodes right inside `id`, in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = self.nodes.get(id.0).map_or(0, |node| widen(node.next));
        let first = Some(id.0 + 1).filter(|child| *child < end);
        let next = move |child: &usize| {
            Some(widen(self.nodes[*child].next)).filter(|next| *next < end && next > child)
        };
        std::iter::successors(first, next).map(NodeId)
    }

    /// The objects inside a node that holds them right away, such as a paragraph or a title; none for others.
    #[must_use]
    pub fn objects(&self, id: NodeId) -> Objects {
        let mut objects = Objects::default();
        self.objects_into(id, &mut Scratch::default(), &mut objects);
        objects
    }

    /// As [`Tree::objects`], into a list that was used before: nothing is allocated once it has grown.
    pub fn objects_into(&self, id: NodeId, scratch: &mut Scratch, objects: &mut Objects) {
        objects.clear();
        if let Some(node) = self.nodes.get(id.0) {
            crate::object::read(self, node, scratch, objects);
        }
    }

    /// The captions above an element, in order.
    #[must_use]
    pub fn captions(&self, id: NodeId) -> Vec<Caption> {
        let node = self.nodes.get(id.0).filter(|node| node.after_affiliated > node.begin);
        let Some(node) = node else { return Vec::new() };
        let first = self.lines.at(node.span().start);
        let end = self.lines.at(node.after_affiliated());
        (first..end).filter_map(|index| crate::keyword::caption(&self.lines, index)).collect()
    }

    /// The objects in the captions above an element, those of all captions in the order of the text.
    #[must_use]
    pub fn caption_objects(&self, id: NodeId) -> Objects {
        let mut objects = Objects::default();
        self.caption_objects_into(id, &mut Scratch::default(), &mut objects);
        objects
    }

    /// As [`Tree::caption_objects`], into a list that was used before.
    pub fn caption_objects_into(&self, id: NodeId, scratch: &mut Scratch, objects: &mut Objects) {
        objects.clear();
        let has_keywords =
            self.nodes.get(id.0).is_some_and(|node| node.after_affiliated > node.begin);
        if has_keywords {
            crate::object::read_captions(self, &self.captions(id), scratch, objects);
        }
    }

    /// The pieces of text that the nodes own, each piece once, in the order of the nodes: what a node has
    /// outside of the nodes inside it, before, between and behind them. Put together they are the source.
    pub fn pieces(&self) -> impl Iterator<Item = &'t [u8]> + '_ {
        let mut open: Vec<usize> = Vec::new();
        let (mut index, mut at) = (0, 0);
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let closes = open.last().copied().filter(|last| index >= widen(self.nodes[*last].next));
            let from = at;
            if let Some(last) = closes {
                open.pop();
                at = widen(self.nodes[last].end);
            } else if let Some(node) = self.nodes.get(index) {
                open.push(index);
                index += 1;
                at = widen(node.begin);
            } else {
                ended = true;
                at = self.whole.len();
            }
            Some(self.whole.get(from..at).unwrap_or_default())
        })
    }

    /// The text again, put together from what each node owns.
    #[must_use]
    pub fn print(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.whole.len());
        self.pieces().for_each(|piece| text.extend_from_slice(piece));
        text
    }

    /// The offset of the first byte that [`Tree::print`] would not give back; nothing when it gives back all.
    #[must_use]
    pub fn first_loss(&self) -> Option<usize> {
        let printed = self.print();
        let same =
            self.whole.iter().zip(&printed).take_while(|(left, right)| left == right).count();
        (same < self.whole.len() || printed.len() != self.whole.len()).then_some(same)
    }
}
