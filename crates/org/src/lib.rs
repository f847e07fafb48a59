//! Org text: read into a tree without losing a byte, changed without touching what is not meant.
//!
//! Policies, skills and memory are written in Org. This room reads the files, says what each piece is and where
//! it stands, and edits a file so that every other byte stays. It follows the grammar of Org 9.5.5
//! (`org-element` of Emacs 28). No IO, no evaluation: a source block is text here.
//!
//! In reading order:
//! - `text`: spans, classes of bytes; `lines`: the table of lines
//! - `line`, `keyword`, `property`, `heading`, `item`, `arguments`, `source`: what single lines say
//! - `moment`: minutes of the calendar
//! - `kind`, `tree`: types, nodes, the tree; `parse`: from lines to elements; `settings`
//! - `object`: what is inside paragraphs, titles and cells
//! - `fact`, `position`, `show`: what nodes say, where Emacs sees them, and both as text
//! - `document`: headings, source blocks and keywords, for whoever needs no more
//! - `edit`: changes, and their unified diff

mod text;

mod line;
mod lines;
mod syntax;

mod arguments;
mod heading;
mod item;
mod keyword;
mod property;
mod source;

mod kind;
mod moment;
mod parse;
mod settings;
mod tree;

mod object;

mod fact;
mod position;
mod show;

mod document;
mod edit;

pub use arguments::Argument;
pub use document::{Document, Element, Kind, Opaque};
pub use edit::{Archived, Edit, EditError, Origin, Plan, Splice, StateChange};
pub use fact::{Fact, Facts};
pub use heading::{Heading, HeadingId, Todo, TodoState};
pub use keyword::Keyword;
pub use kind::Type;
pub use moment::Moment;
pub use object::{Caption, Objects, Scratch};
pub use position::Positions;
pub use property::{Planning, Property};
pub use settings::{Preset, Settings};
pub use show::{Count, Shown};
pub use source::{SourceBlock, SourceId};
pub use text::Span;
pub use tree::{Node, NodeId, Tree};
