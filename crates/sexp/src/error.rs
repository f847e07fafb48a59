//! Why a text was refused, and where.
//!
//! [`Category`] is for code to match on and never loses a member; the reason is for people.
//! "Not enough text yet" is no error: see [`Progress`](crate::Progress).

use std::borrow::Cow;
use std::fmt;

/// A refused text: what kind of trouble, where, and a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    category: Category,
    place: Place,
    reason: Cow<'static, str>,
}

impl Error {
    /// Makes an error about the byte `offset` of `text`.
    pub(crate) fn at(
        category: Category,
        text: &str,
        offset: usize,
        reason: Cow<'static, str>,
    ) -> Self {
        Self { category, place: Place::of(text, offset), reason }
    }

    /// The kind of trouble.
    pub fn category(&self) -> Category {
        self.category
    }

    /// Returns the place of the error; the end of the text when something is missing there.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The sentence for people, without category and place.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { offset, line, column } = self.place;
        write!(f, "{} at {line}:{column} (byte {offset}): {}", self.category, self.reason)
    }
}

impl std::error::Error for Error {}

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Bytes before it.
    pub offset: usize,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
}

impl Place {
    /// Counts lines and columns up to `offset`, which may be the end of the text.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let is_continuation = |byte: &&u8| **byte & 0xC0 == 0x80;
        let tail = &before[start..];
        let column = tail.len() - tail.iter().filter(is_continuation).count() + 1;
        Self { offset, line, column }
    }
}

/// The kinds of trouble; a closed list whose names are part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// No form in the text at all.
    Empty,
    /// The text ends inside a form.
    Incomplete,
    /// More than blanks after the form.
    Trailing,
    /// A closing mark without its opening one, or of the other sort.
    Unbalanced,
    /// A dot that stands for nothing.
    Dot,
    /// A comma outside backquote.
    Comma,
    /// A comment where comments are off.
    Comment,
    /// `{` or `}`.
    Brace,
    /// A control character outside a string.
    Control,
    /// A malformed number, or a ratio over zero.
    Number,
    /// An unknown character name.
    Character,
    /// A string escape that stands for no character.
    Escape,
    /// Colons in a place where no package prefix can be.
    Package,
    /// `#.` or `#,`: code to run while reading.
    ReadEval,
    /// `#<`: printed so as not to be read.
    Unreadable,
    /// `#S(..)` or `#s(..)`.
    Structure,
    /// `#P`.
    Pathname,
    /// `#C`.
    Complex,
    /// `#+` or `#-`.
    Feature,
    /// Bit vectors, sized vectors and arrays of other ranks.
    Array,
    /// `#1=`, `#1#` or `##`.
    Label,
    /// Any other `#` syntax.
    Dispatch,
    /// Nested deeper than [`Limits::depth`](crate::Limits::depth).
    LimitDepth,
    /// An atom longer than [`Limits::atom_bytes`](crate::Limits::atom_bytes).
    LimitAtom,
    /// More values than [`Limits::elements`](crate::Limits::elements).
    LimitElements,
    /// More digits than [`Limits::integer_digits`](crate::Limits::integer_digits).
    LimitDigits,
    /// A text of 4 GiB or more: places on the tape are 32 bits wide.
    LimitText,
    /// Text that is not JSON, from [`json::from_json`](crate::json::from_json).
    Json,
}

impl Category {
    /// The name that goes out to peers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Incomplete => "incomplete",
            Self::Trailing => "trailing",
            Self::Unbalanced => "unbalanced",
            Self::Dot => "dot",
            Self::Comma => "comma",
            Self::Comment => "comment",
            Self::Brace => "brace",
            Self::Control => "control",
            Self::Number => "number",
            Self::Character => "character",
            Self::Escape => "escape",
            Self::Package => "package",
            Self::ReadEval => "read-eval",
            Self::Unreadable => "unreadable",
            Self::Structure => "structure",
            Self::Pathname => "pathname",
            Self::Complex => "complex",
            Self::Feature => "feature",
            Self::Array => "array",
            Self::Label => "label",
            Self::Dispatch => "dispatch",
            Self::LimitDepth => "limit-depth",
            Self::LimitAtom => "limit-atom",
            Self::LimitElements => "limit-elements",
            Self::LimitDigits => "limit-digits",
            Self::LimitText => "limit-text",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Trouble inside the reader, before line and column are counted.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The kind of trouble.
    pub(crate) category: Category,
    /// The byte it is about.
    pub(crate) at: usize,
    /// The sentence for people.
    pub(crate) reason: Cow<'static, str>,
    /// Whether more text could still cure it, because it is about the text's last token.
    pub(crate) curable: bool,
}

impl Fault {
    /// Trouble that no further text cures.
    pub(crate) fn new(category: Category, at: usize, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { category, at, reason: reason.into(), curable: false }
    }

    /// The text ends at `at`, inside a form.
    pub(crate) fn incomplete(at: usize, reason: &'static str) -> Self {
        Self { category: Category::Incomplete, at, reason: reason.into(), curable: true }
    }

    /// Marks trouble with a token that ends where the text does.
    pub(crate) fn curable_if(mut self, touches_end: bool) -> Self {
        self.curable |= touches_end;
        self
    }
}
