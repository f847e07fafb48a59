//! The Memex: a folder of Org files that belongs to the user, and an index of what is in it.
//!
//! The files are the truth and are only ever read here. The index, `index.db`, is derived: deleting it costs the
//! time to read the files again. The daemon's librarian owns the one [`Index`] and tells it what changed;
//! everybody else asks a [`Catalog`]. No tasks, no watching, no clock. In reading order:
//!
//! - [`rules`]: what is read, what is private, and the limits; `pattern`: the lines of `.bridleignore`
//! - [`scan`]: which files there are; [`file`](mod@file): one of them, read without being led astray
//! - `sheet`: from the bytes of a file to its objects; `tags`: the tags of a file, which say what is private;
//!   [`stamp`]: dates; `words`: text as it is searched
//! - `identity`: which heading of now is which one of before
//! - `schema`, [`index`], `apply`: the tables, and how a change gets into them
//! - [`catalog`], [`query`], `find`, [`outline`], [`focus`]: what can be asked

pub mod catalog;
pub mod file;
pub mod focus;
pub mod index;
pub mod outline;
pub mod query;
pub mod rules;
pub mod scan;
pub mod stamp;

mod apply;
mod find;
mod identity;
mod pattern;
mod schema;
mod sheet;
mod tags;
mod words;

pub use catalog::{Catalog, Duplicate, Object, ObjectKind, Standing, Status};
pub use file::{Memex, resolve};
pub use focus::{Focus, Left, Vision};
pub use index::{Changes, Index, Progress, count_headings, is_in_clear};
pub use outline::{Outline, OutlinePage};
pub use query::{Cursor, Hit, Page, Query, Text};
pub use rules::{Eyes, OrgDefaults, Rules, Scope};
pub use scan::{Found, Scan, Skipped, Why, unread_reason};
pub use stamp::{Dates, Moment, Stamp, StampKind};
