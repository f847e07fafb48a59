//! Org text: headings, their properties, and source blocks, read without losing a byte.
//!
//! Policies and skills are written in Org; this room reads the files, says on which line each thing
//! stands, and adds text to a file without touching the rest of it. It follows the grammar of Org
//! 9.5.5 (`org-element` of Emacs 28) for what it knows; paragraphs, lists, tables and markup are
//! [`Kind::Text`] until somebody needs them. No IO, no evaluation: a source block is text here.
//!
//! In reading order:
//! - `text`: spans, lines, classes of bytes
//! - `line`: what a single line can be
//! - `keyword`: `#+KEY: value`
//! - `property`: drawers of properties, planning lines
//! - `heading`: stars, `TODO`, priority, title, tags
//! - `arguments`: `:key value` pairs of a source block
//! - `source`: source blocks
//! - `scan`: from lines to elements
//! - `document`: the whole
//! - `edit`: insertions, and their unified diff

mod text;

mod line;

mod arguments;
mod heading;
mod keyword;
mod property;
mod source;

mod scan;

mod document;
mod edit;

pub use arguments::Argument;
pub use document::{Document, Element, Kind, Opaque};
pub use edit::Edit;
pub use heading::{Heading, HeadingId, Todo, TodoState};
pub use keyword::Keyword;
pub use property::{Planning, Property};
pub use source::{SourceBlock, SourceId};
pub use text::Span;
