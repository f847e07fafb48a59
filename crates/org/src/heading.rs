//! Headings: stars, `TODO` keyword, priority, title and tags.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::keyword::Keyword;
use crate::property::{Planning, Property, lookup};
use crate::text::{Span, all_chars, drop_blanks, first_char, is_blank, skip_blanks, trim};

/// Number of a heading in its document, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeadingId(pub(crate) usize);

/// A heading.
#[derive(Clone, Debug)]
pub struct Heading<'t> {
    /// The number of stars.
    pub level: usize,
    /// The `TODO` keyword.
    pub todo: Option<Todo<'t>>,
    /// The character of the cookie `[#A]`.
    pub priority: Option<&'t [u8]>,
    /// Whether the title begins with `COMMENT`, which is then not part of it.
    pub commented: bool,
    /// The title, without all of the above and without tags.
    pub title: &'t [u8],
    /// The tags of the heading itself, not those it inherits.
    pub tags: Vec<&'t [u8]>,
    /// The planning line below it.
    pub planning: Option<Planning<'t>>,
    /// The lines of its drawer, in order.
    pub properties: Vec<Property<'t>>,
    /// The line, from 1.
    pub line: usize,
    /// The line, with its end.
    pub span: Span,
    /// From the heading to the next one, of whatever level.
    pub section: Span,
    /// From the heading to the next one that is not below it.
    pub subtree: Span,
    /// The heading that it is below.
    pub parent: Option<HeadingId>,
    /// The headings right below it, in order.
    pub children: Vec<HeadingId>,
}

impl<'t> Heading<'t> {
    /// The value of the property `name`, in whatever case: that of `:NAME:` and behind it, with a blank
    /// between them, those of every `:NAME+:`.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<Cow<'t, [u8]>> {
        lookup(&self.properties, name)
    }
}

/// A `TODO` keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Todo<'t> {
    /// The keyword as written.
    pub keyword: &'t [u8],
    /// On which side of the bar it is.
    pub state: TodoState,
}

/// Whether a `TODO` keyword means that something is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoState {
    /// Work is left.
    Open,
    /// Nothing is.
    Done,
}

/// The `TODO` keywords of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct TodoWords<'t> {
    states: HashMap<&'t [u8], TodoState>,
    /// In order.
    all: Vec<Todo<'t>>,
    /// Marks of each keyword, in the same order.
    marks: Vec<TodoMarks<'t>>,
}

/// Marks of a keyword in its sequence, beside its side of the bar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TodoMarks<'t> {
    /// The first keyword of its sequence.
    pub(crate) head: &'t [u8],
    /// Whether the keywords are types, not steps.
    pub(crate) is_type: bool,
    /// Log when a heading gets the keyword: `WAIT(w@)`.
    pub(crate) entering: Option<LogKind>,
    /// Log when a heading loses the keyword, if its next keyword asks for nothing: `WAIT(w/!)`.
    pub(crate) leaving: Option<LogKind>,
}

/// Kind of entry in the log of a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogKind {
    /// A line with the time.
    Time,
    /// A timestamp, and a note.
    Note,
}

impl<'t> TodoWords<'t> {
    /// Those that the file sets, or those of the preset when it sets none, or else `TODO` and `DONE`.
    pub(crate) fn new(keywords: &[Keyword<'t>], preset: &[&'t [u8]]) -> Self {
        let mut words = Self::default();
        // In this order, wherever they stand.
        for name in ["TYP_TODO", "TODO", "SEQ_TODO"] {
            let settings = keywords.iter().filter(|keyword| keyword.is(name));
            settings.for_each(|keyword| words.add(keyword.value, name == "TYP_TODO"));
        }
        let is_setting = |keyword: &Keyword<'t>| {
            ["TODO", "SEQ_TODO", "TYP_TODO"].iter().any(|name| keyword.is(name))
        };
        if !keywords.iter().any(is_setting) {
            preset.iter().for_each(|sequence| words.add(sequence, false));
            if words.all.is_empty() {
                words.add(b"TODO | DONE", false);
            }
        }
        // A word that is done in one sequence is done in all.
        for todo in &mut words.all {
            todo.state = words.states.get(todo.keyword).copied().unwrap_or(todo.state);
        }
        words
    }

    /// Adds one sequence: `TODO(t) NEXT | DONE(d!)`. Without a bar, the last one is done.
    fn add(&mut self, sequence: &'t [u8], is_type: bool) {
        let separates = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
        let words: Vec<&[u8]> = sequence.split(separates).filter(|word| !word.is_empty()).collect();
        let bar = words.iter().position(|word| *word == b"|");
        let done_from = bar.unwrap_or(words.len().saturating_sub(1));
        for (index, word) in words.iter().enumerate().filter(|(_, word)| **word != b"|") {
            let state = if index < done_from { TodoState::Open } else { TodoState::Done };
            let keyword = without_key(word);
            let known = self.states.entry(keyword).or_insert(state);
            if state == TodoState::Done {
                *known = state;
            }
            self.all.push(Todo { keyword, state });
            let first = words.iter().find(|word| **word != b"|");
            let head = first.map_or(keyword, |word| without_key(word));
            let (entering, leaving) = log_marks(word);
            self.marks.push(TodoMarks { head, is_type, entering, leaving });
        }
    }

    /// Returns the marks of a keyword where it stands first.
    pub(crate) fn marks(&self, word: &[u8]) -> Option<TodoMarks<'t>> {
        let at = self.all.iter().position(|todo| todo.keyword == word)?;
        self.marks.get(at).copied()
    }

    /// Returns the logs of all keywords that have a mark, the last keyword first.
    pub(crate) fn logged(&self) -> Vec<LoggedWord<'t>> {
        let both = self.all.iter().zip(&self.marks);
        let logged = both.filter_map(|(todo, marks)| {
            let TodoMarks { entering, leaving, .. } = *marks;
            let has_mark = entering.is_some() || leaving.is_some();
            has_mark.then_some(LoggedWord { keyword: todo.keyword, entering, leaving })
        });
        logged.rev().collect()
    }

    pub(crate) fn all(&self) -> &[Todo<'t>] {
        &self.all
    }

    /// Whether the file has this keyword.
    pub(crate) fn has(&self, word: &[u8]) -> bool {
        self.states.contains_key(word)
    }

    /// Returns the state that a keyword of the file stands for.
    pub(crate) fn state(&self, word: &[u8]) -> Option<TodoState> {
        self.states.get(word).copied()
    }

    fn find(&self, word: &'t [u8]) -> Option<Todo<'t>> {
        self.states.get(word).map(|state| Todo { keyword: word, state: *state })
    }
}

/// Parts of the line of a heading.
pub(crate) struct Title<'t> {
    pub(crate) todo: Option<Todo<'t>>,
    pub(crate) priority: Option<&'t [u8]>,
    pub(crate) commented: bool,
    pub(crate) title: &'t [u8],
    pub(crate) tags: Vec<&'t [u8]>,
    /// Bytes between the first colon of the tags and the last.
    pub(crate) tag_group: &'t [u8],
}

/// The title alone.
pub(crate) fn title_text<'t>(behind_stars: &'t [u8], words: &TodoWords<'t>) -> &'t [u8] {
    parts(behind_stars, words).title
}

/// Reads what follows the stars.
pub(crate) fn title<'t>(behind_stars: &'t [u8], words: &TodoWords<'t>) -> Title<'t> {
    let mut said = parts(behind_stars, words);
    let tags = said.tag_group.split(|byte| *byte == b':').filter(|tag| !tag.is_empty());
    said.tags = tags.collect();
    said
}

/// Splits the line into its parts; the tags are not taken apart.
fn parts<'t>(behind_stars: &'t [u8], words: &TodoWords<'t>) -> Title<'t> {
    let mut rest = skip_blanks(behind_stars);
    let end = memchr::memchr(b' ', rest);
    let todo = end.and_then(|end| words.find(&rest[..end]));
    if let (Some(end), Some(_)) = (end, todo) {
        rest = skip_blanks(&rest[end..]);
    }
    let cookie = priority(rest);
    if let Some((_, behind)) = cookie {
        rest = behind;
    }
    let uncommented = rest.strip_prefix(b"COMMENT");
    rest = uncommented.unwrap_or(rest);
    // Tags have a blank before them. Where there is nothing but tags, it is the one behind the stars.
    if todo.is_none() && cookie.is_none() && uncommented.is_none() {
        rest = behind_stars;
    }
    let (front, tag_group) = tags(rest);
    Title {
        todo,
        priority: cookie.map(|(letter, _)| letter),
        commented: uncommented.is_some(),
        title: trim(front),
        tags: Vec::new(),
        tag_group,
    }
}

/// The character of `[#A]` and what follows the cookie and its blanks.
fn priority(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = bytes.strip_prefix(b"[#")?;
    let (_, rest) = first_char(inner)?;
    let letter = &inner[..inner.len() - rest.len()];
    Some((letter, skip_blanks(rest.strip_prefix(b"]")?)))
}

/// The title and what stands between the outer colons of `title :one:two:`.
fn tags(bytes: &[u8]) -> (&[u8], &[u8]) {
    let whole = drop_blanks(bytes);
    let length = whole.iter().rev().take_while(|byte| !is_blank(**byte)).count();
    let (front, group) = whole.split_at(whole.len() - length);
    let inner = group.strip_prefix(b":").and_then(|inner| inner.strip_suffix(b":"));
    let is_tag =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '@' | '#' | '%' | ':');
    match inner.filter(|inner| !front.is_empty() && !inner.is_empty() && all_chars(inner, is_tag)) {
        Some(inner) => (front, inner),
        None => (bytes, &[]),
    }
}

/// A keyword and what is logged for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedWord<'t> {
    pub(crate) keyword: &'t [u8],
    pub(crate) entering: Option<LogKind>,
    pub(crate) leaving: Option<LogKind>,
}

impl<'t> LoggedWord<'t> {
    /// Reads `WAIT(w@/!)`; `None` where nothing is logged.
    pub(crate) fn read(word: &'t [u8]) -> Option<Self> {
        let (entering, leaving) = log_marks(word);
        let has_mark = entering.is_some() || leaving.is_some();
        has_mark.then(|| Self { keyword: without_key(word), entering, leaving })
    }
}

/// Reads `(w@/!)` behind a keyword: the log of entering it and of leaving it.
fn log_marks(word: &[u8]) -> (Option<LogKind>, Option<LogKind>) {
    let open = memchr::memchr(b'(', word).filter(|_| word.ends_with(b")"));
    let Some(open) = open else { return (None, None) };
    let mut inner = &word[open + 1..word.len() - 1];
    let kind = |mark: u8| match mark {
        b'!' => Some(LogKind::Time),
        b'@' => Some(LogKind::Note),
        _ => None,
    };
    // The key that chooses the keyword is one character, and none of the marks.
    if let Some((_, rest)) = first_char(inner).filter(|_| !b"!@/".contains(&inner[0])) {
        inner = rest;
    }
    let entering = inner.first().and_then(|mark| kind(*mark));
    inner = if entering.is_some() { &inner[1..] } else { inner };
    match inner {
        [] => (entering, None),
        [b'/', mark] if kind(*mark).is_some() => (entering, kind(*mark)),
        // Something else stands there: it is no such mark.
        _ => (None, None),
    }
}

/// `TODO` of `TODO(t!)`.
fn without_key(word: &[u8]) -> &[u8] {
    let open = memchr::memchr(b'(', word).filter(|_| word.ends_with(b")"));
    &word[..open.unwrap_or(word.len())]
}
