//! Queries for objects of the Memex, and their results: a page, and a cursor to the next.

use std::fmt;

use super::catalog::{MemexObject, ObjectKind};
use crate::index::org_timestamp::{DateSpan, WallMinute};
use crate::index::rules::ObjectReach;

/// Objects on a page, unless said, and at most.
pub const DEFAULT_PAGE_OBJECTS: usize = 50;
/// See [`DEFAULT_PAGE_OBJECTS`].
pub const MAX_PAGE_OBJECTS: usize = 500;

/// Tags, keywords and properties in one question.
pub const MAX_QUERY_CONDITIONS: usize = 16;

/// Mode of a search by words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryMode {
    /// All words must be there.
    #[default]
    AllWords,
    /// The text is a question: objects that have the most and the rarest of its words come first. Dates in it are
    /// relative to this minute.
    Question {
        /// The present, by the user's wall clock. Without it no dates are read.
        now: Option<WallMinute>,
    },
}

/// A question. All that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemexQuery {
    /// Words: `words "a phrase" begin* -without`.
    pub text: Option<String>,
    /// Mode in which the words are searched for.
    pub mode: QueryMode,
    /// Tags that it must have, inherited ones included.
    pub tags: Vec<String>,
    /// Tags that it must not have.
    pub without_tags: Vec<String>,
    /// Keywords of which it must have one.
    pub todo: Vec<String>,
    /// Whether it has a keyword that says that nothing, or something, is left to do.
    pub done: Option<bool>,
    /// The priority that it must have.
    pub priority: Option<String>,
    /// Properties that it must have, in whatever case, and their values where they matter.
    pub properties: Vec<(String, Option<String>)>,
    /// A span of time into which one of its dates must fall.
    pub dates: Option<DateSpan>,
    /// Kind that the object must have.
    pub kind: Option<ObjectKind>,
    /// Reach that the object must have.
    pub scope: Option<ObjectReach>,
    /// Below what it must be: the key of an object, the path of a file or a folder.
    pub under: Option<String>,
    /// Objects on the page; 0 is [`DEFAULT_PAGE_OBJECTS`].
    pub limit: usize,
    /// Cursor of the page before.
    pub cursor: Option<QueryCursor>,
}

/// Cursor of a page of hits. It stays good while the Memex changes: no object comes twice, and none that was there
/// all the time is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryCursor {
    /// The index as it was.
    pub(crate) generation: u64,
    /// The last object that was looked at.
    pub(crate) after: i64,
    /// Its rank, in a search.
    pub(crate) rank: Option<f64>,
}

impl Eq for QueryCursor {}

impl QueryCursor {
    /// Reads one that was handed out.
    #[must_use]
    pub fn parse(text: &str) -> Option<QueryCursor> {
        let mut parts = text.split('.');
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (generation, after) = (number()?, i64::try_from(number()?).ok()?);
        let rank = match parts.next() {
            None => None,
            Some(bits) => {
                let rank = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
                Some(rank).filter(|rank| rank.is_finite()).map(Some)?
            }
        };
        parts.next().is_none().then_some(QueryCursor { generation, after, rank })
    }
}

impl fmt::Display for QueryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{:x}", self.generation, self.after)?;
        self.rank.map_or(Ok(()), |rank| write!(f, ".{:x}", rank.to_bits()))
    }
}

/// An object that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryHit {
    /// The object.
    pub object: MemexObject,
    /// In a search: how well it fits, smaller is better.
    pub rank: Option<f64>,
    /// In a search: the place where a word is, if the text is at hand.
    pub snippet: Option<String>,
    /// In a question: why it was found, the weightiest reason first.
    pub reasons: Vec<HitReason>,
}

/// A reason why a question found an object.
#[derive(Clone, Debug, PartialEq)]
pub struct HitReason {
    /// Word, phrase, tag or date of the question.
    pub term: String,
    /// Place where it stands.
    pub place: ReasonPlace,
    /// Share of the rank.
    pub weight: f64,
}

/// Place of a word that led to a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonPlace {
    /// In the title.
    Title,
    /// In the text.
    Text,
    /// Among the tags.
    Tag,
    /// A date of the object.
    Date,
    /// In an object close by, below the same heading.
    Near,
    /// In a heading above.
    Above,
}

impl ReasonPlace {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ReasonPlace::Title => "title",
            ReasonPlace::Text => "text",
            ReasonPlace::Tag => "tag",
            ReasonPlace::Date => "date",
            ReasonPlace::Near => "near",
            ReasonPlace::Above => "above",
        }
    }
}

/// A page of what was found. In a search the best come first; else those that the index has known longest.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPage {
    /// Hits, best first or in order of the index.
    pub hits: Vec<QueryHit>,
    /// Cursor of the next page; `None` at the end. A page may be short, or empty, before the end: one page looks at
    /// so many objects and no more.
    pub next: Option<QueryCursor>,
    /// Whether the Memex changed since the page before.
    pub changed: bool,
    /// In a search that fits more objects than are ranked: how many were.
    pub ranked: Option<usize>,
    /// In a question: the days that it names.
    pub dates: Option<DateSpan>,
    /// The index as it was.
    pub generation: u64,
}

impl QueryPage {
    /// Leaves out what is behind the first so many; the cursor leads to it.
    pub fn cut(&mut self, len: usize) {
        if len >= self.hits.len() {
            return;
        }
        self.hits.truncate(len);
        self.next = self.hits.last().map(|hit| hit.cursor(self.generation));
    }
}

impl QueryHit {
    /// Returns the cursor of a page that ends with this hit.
    pub(crate) fn cursor(&self, generation: u64) -> QueryCursor {
        QueryCursor { generation, after: self.object.id, rank: self.rank }
    }
}

/// The text of a search, and whether a snippet is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchText {
    /// With snippets.
    Snippets,
    /// Without: no file is read.
    None,
}
