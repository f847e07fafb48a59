//! What a text says about itself that changes how it is read: keywords of progress, odd levels, abbreviations of
//! links, radio targets.

use crate::heading::TodoWords;
use crate::keyword::{self, Keyword};
use crate::kind::Type;
use crate::line;
use crate::object::{Objects, Radio, Scratch};
use crate::text::{is_space, trim, word};
use crate::tree::{Node, NodeId, Tree};

/// Settings of a text.
#[derive(Clone, Debug, Default)]
pub struct Settings<'t> {
    pub(crate) words: TodoWords<'t>,
    /// Whether every second level is left out: `#+STARTUP: odd`.
    pub(crate) odd_levels: bool,
    /// `#+LINK: name replacement`, in order.
    pub(crate) abbreviations: Vec<(&'t [u8], &'t [u8])>,
    /// Highest, lowest and default priority: `#+PRIORITIES: A C B`.
    priorities: Option<[u8; 3]>,
    /// What is a link wherever it is read.
    pub(crate) radio: Option<Radio>,
}

impl<'t> Settings<'t> {
    /// Reads the keywords of a tree.
    pub(crate) fn of(tree: &Tree<'t>) -> Self {
        let keywords: Vec<Keyword<'t>> = keywords(tree).collect();
        let values = |key: &'static str| {
            keywords.iter().filter(move |keyword| keyword.is(key)).map(|keyword| keyword.value)
        };
        let startup = values("STARTUP").flat_map(|value| value.split(|byte| is_space(*byte)));
        let odd_levels = startup.fold(false, |odd, option| match option {
            b"odd" => true,
            b"oddeven" => false,
            _ => odd,
        });
        let abbreviations = values("LINK").filter_map(|value| {
            let name = word(value);
            let link = trim(&value[name.len()..]);
            (!name.is_empty() && !link.is_empty()).then_some((name, link))
        });
        let priorities = values("PRIORITIES").next_back().and_then(|value| {
            let mut letters = value.split(|byte| is_space(*byte)).filter(|word| !word.is_empty());
            let mut next = || letters.next().filter(|word| word.len() == 1).map(|word| word[0]);
            Some([next()?, next()?, next()?])
        });
        Self {
            words: TodoWords::new(&keywords),
            odd_levels,
            abbreviations: abbreviations.collect(),
            priorities,
            radio: None,
        }
    }

    /// The highest, the lowest and the default priority, where the text sets them.
    #[must_use]
    pub fn priorities(&self) -> Option<[u8; 3]> {
        self.priorities
    }

    /// The abbreviations of links, each with what stands for it.
    #[must_use]
    pub fn link_abbreviations(&self) -> &[(&'t [u8], &'t [u8])] {
        &self.abbreviations
    }

    /// The level of a headline with so many stars.
    #[must_use]
    pub fn level(&self, stars: usize) -> usize {
        if self.odd_levels { stars / 2 + 1 } else { stars }
    }
}

/// The radio targets of a tree, if there are any: the text is read for them only where one could be.
pub(crate) fn radio(tree: &Tree<'_>) -> Option<Radio> {
    memchr::memmem::find(tree.whole, b"<<<")?;
    let mut radio = Radio::default();
    let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
    for id in 0..tree.nodes.len() {
        let node = &tree.nodes[id];
        let text = match node.kind {
            Type::Paragraph | Type::VerseBlock | Type::TableRow => node.contents(),
            Type::Headline | Type::Item => {
                let index = tree.lines.at(node.span().start);
                Some(tree.lines.span(index, index + 1))
            }
            _ => None,
        };
        if text.is_none_or(|text| memchr::memmem::find(text.of(tree.whole), b"<<<").is_none()) {
            continue;
        }
        tree.objects_into(NodeId(id), &mut scratch, &mut objects);
        let targets = objects.nodes().iter().filter(|object| object.kind == Type::RadioTarget);
        targets.filter_map(Node::contents).for_each(|text| radio.add(text.of(tree.whole)));
    }
    (!radio.is_empty()).then_some(radio)
}

/// The keywords of a tree that belong to no element below them, in order.
pub(crate) fn keywords<'a, 't>(
    tree: &'a Tree<'t>,
) -> impl Iterator<Item = Keyword<'t>> + use<'a, 't> {
    let nodes = tree.nodes.iter().filter(|node| node.kind == Type::Keyword);
    nodes.filter_map(|node| {
        let index = tree.lines.at(node.after_affiliated());
        let marked = line::after_mark(tree.lines.content(index))?;
        let (key, value) = keyword::keyword(marked).or_else(|| keyword::affiliated(marked))?;
        Some(Keyword { key, value, line: index + 1, span: tree.lines.span(index, index + 1) })
    })
}
