//! What a text says about itself that changes how it is read: keywords of progress, odd levels, abbreviations of
//! links, radio targets.

use std::borrow::Cow;

use crate::heading::{Todo, TodoWords};
use crate::keyword::{self, Keyword};
use crate::kind::Type;
use crate::line;
use crate::object::{Objects, Radio, Scratch};
use crate::property::set_by_keywords;
use crate::text::{Span, is_space, trim, word};
use crate::tree::{Node, NodeId, Tree};

/// Most files that `#+SETUPFILE:` lines lead to, one from another: what lies behind is not asked for.
const MAX_SETUP_FILES: usize = 32;

/// Settings for texts that set nothing else: what people keep in `init.el`.
#[derive(Clone, Debug, Default)]
pub struct Preset<'t> {
    /// Sequences of keywords of progress, as a line of keywords in a file has them, for texts without one.
    pub todo: Vec<&'t [u8]>,
    /// Words as behind `#+STARTUP:`; those of a text come after them.
    pub startup: &'t [u8],
    /// Whether nothing can be done before what is below it, and under `ORDERED` before what stands above it, is:
    /// `org-enforce-todo-dependencies`.
    pub enforce_dependencies: bool,
}

/// Settings of a text.
#[derive(Clone, Debug, Default)]
pub struct Settings<'t> {
    /// Settings that hold where the text sets nothing else.
    pub(crate) preset: Preset<'t>,
    pub(crate) words: TodoWords<'t>,
    /// Whether every second level is left out: `#+STARTUP: odd`.
    pub(crate) odd_levels: bool,
    /// `#+LINK: name replacement`, the last first: of several for one name, that one counts.
    pub(crate) abbreviations: Vec<(&'t [u8], &'t [u8])>,
    /// Highest, lowest and default priority: `#+PRIORITIES: A C B`.
    priorities: Option<[u8; 3]>,
    /// Radio targets: their texts are links wherever they are read.
    pub(crate) radio: Option<Radio>,
    /// All keywords, those of setup files where they are named.
    keywords: Vec<Keyword<'t>>,
    setup_files: Vec<&'t [u8]>,
}

impl<'t> Settings<'t> {
    /// Reads the keywords of a tree, and those of the files that it names for its setup, whose texts `setup` has.
    pub(crate) fn of(
        tree: &Tree<'t>,
        preset: Preset<'t>,
        setup: &mut dyn FnMut(&[u8]) -> Option<&'t [u8]>,
    ) -> Self {
        let (keywords, setup_files) = collected(tree, setup);
        let mut settings = Self { keywords, setup_files, preset, ..Self::default() };
        settings.words = TodoWords::new(&settings.keywords, &settings.preset.todo);
        settings.odd_levels = settings.startup().fold(false, |odd, option| {
            let is = |name: &[u8]| option.eq_ignore_ascii_case(name);
            is(b"odd") || (odd && !is(b"oddeven"))
        });
        let abbreviations = settings.values("LINK").filter_map(|value| {
            let name = word(value);
            let link = trim(&value[name.len()..]);
            (!name.is_empty() && !link.is_empty()).then_some((name, link))
        });
        settings.abbreviations = abbreviations.collect();
        settings.abbreviations.reverse();
        let priorities = settings.values("PRIORITIES").next();
        settings.priorities = priorities.and_then(|value| {
            let mut letters = value.split(|byte| is_space(*byte)).filter(|word| !word.is_empty());
            let mut next = || letters.next().filter(|word| word.len() == 1).map(|word| word[0]);
            Some([next()?, next()?, next()?])
        });
        settings
    }

    /// The values of the keyword `key`, in whatever case, in order, those of setup files included.
    pub fn values(&self, key: &str) -> impl Iterator<Item = &'t [u8]> {
        self.keywords.iter().filter(move |keyword| keyword.is(key)).map(|keyword| keyword.value)
    }

    /// The names of the files that `#+SETUPFILE:` lines lead to, as written but for quotes. Reading them is up to the
    /// caller: [`Tree::read_with_setup`].
    #[must_use]
    pub fn setup_files(&self) -> &[&'t [u8]] {
        &self.setup_files
    }

    /// The keywords of progress, in order, and on which side of the bar each is.
    #[must_use]
    pub fn states(&self) -> &[Todo<'t>] {
        self.words.all()
    }

    /// The tags that every headline inherits: `#+FILETAGS:`.
    pub fn file_tags(&self) -> impl Iterator<Item = &'t [u8]> {
        let separates = |byte: &u8| *byte == b':' || is_space(*byte);
        self.values("FILETAGS")
            .flat_map(move |value| value.split(separates))
            .filter(|tag| !tag.is_empty())
    }

    /// The category: `#+CATEGORY:`, of several the first.
    #[must_use]
    pub fn category(&self) -> Option<&'t [u8]> {
        self.values("CATEGORY").next()
    }

    /// Returns the place that archived subtrees go to: `#+ARCHIVE:`, of several the first.
    #[must_use]
    pub fn archive(&self) -> Option<&'t [u8]> {
        self.values("ARCHIVE").next()
    }

    /// The words of `#+STARTUP:`, in order, those of the preset before them.
    pub fn startup(&self) -> impl Iterator<Item = &'t [u8]> {
        let values = std::iter::once(self.preset.startup).chain(self.values("STARTUP"));
        let options = values.flat_map(|value| value.split(|byte| is_space(*byte)));
        options.filter(|option| !option.is_empty())
    }

    /// The value that `#+PROPERTY:` lines give a property.
    pub(crate) fn property(&self, name: &[u8]) -> Option<Cow<'t, [u8]>> {
        set_by_keywords(self.values("PROPERTY"), name)
    }

    /// The highest, the lowest and the default priority, where the text sets them.
    #[must_use]
    pub fn priorities(&self) -> Option<[u8; 3]> {
        self.priorities
    }

    /// The abbreviations of links, each with what stands for it; of several for one name, the first counts.
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

/// The keywords of a tree, those of the files for its setup where they are named, and the names of these files.
fn collected<'t>(
    tree: &Tree<'t>,
    setup: &mut dyn FnMut(&[u8]) -> Option<&'t [u8]>,
) -> (Vec<Keyword<'t>>, Vec<&'t [u8]>) {
    let own: Vec<Keyword<'t>> = keywords(tree).collect();
    let (mut all, mut files) = (Vec::with_capacity(own.len()), Vec::new());
    let mut open = vec![own.into_iter()];
    while let Some(source) = open.last_mut() {
        let Some(keyword) = source.next() else {
            open.pop();
            continue;
        };
        let name = keyword.is("SETUPFILE").then(|| unquoted(keyword.value));
        all.push(keyword);
        let Some(name) = name.filter(|name| !name.is_empty() && !files.contains(name)) else {
            continue;
        };
        if files.len() < MAX_SETUP_FILES {
            files.push(name);
            if let Some(text) = setup(name) {
                let inner: Vec<Keyword<'t>> = keywords(&Tree::elements(text)).collect();
                open.push(inner.into_iter());
            }
        }
    }
    (all, files)
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(value)
}

/// The radio targets of a tree, if there are any: the text is read for them only where one could be.
pub(crate) fn radio(tree: &Tree<'_>) -> Option<Radio> {
    memchr::memmem::find(tree.whole, b"<<<")?;
    let mut radio = Radio::default();
    let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
    for id in 0..tree.nodes.len() {
        let node = &tree.nodes[id];
        if node.after_affiliated > node.begin {
            tree.caption_objects_into(NodeId(id), &mut scratch, &mut objects);
            targets(&objects).for_each(|text| radio.add(text.of(tree.whole)));
        }
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
        targets(&objects).for_each(|text| radio.add(text.of(tree.whole)));
    }
    (!radio.is_empty()).then_some(radio)
}

fn targets(objects: &Objects) -> impl Iterator<Item = Span> {
    let targets = objects.nodes().iter().filter(|object| object.kind == Type::RadioTarget);
    targets.filter_map(Node::contents)
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
