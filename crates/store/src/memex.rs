//! The Memex: a folder of Org files that belongs to the user, and an index of what is in it.
//!
//! The files are the truth and are only ever read here. The index, `index.db`, is derived: deleting it costs the
//! time to read the files again. The daemon's librarian owns the one [`MemexIndex`] and tells it what changed;
//! everybody else asks a [`MemexCatalog`]. No tasks, no watching, no clock. In reading order:
//!
//! - [`rules`]: what is read, what is private, and the limits; `pattern`: the lines of `.bridleignore`
//! - [`scan`]: which files there are; [`folder`]: one of them, read without being led astray
//! - `sheet`: from the bytes of a file to its objects; `tags`: the tags of a file, which say what is private;
//!   [`org_timestamp`]: dates; `words`: text as it is searched
//! - `identity`: which heading of now is which one of before
//! - `schema`, [`index`], `apply`: the tables, and how a change gets into them
//! - [`catalog`], [`query`], `find`, [`outline`], [`focus`]: what can be asked

pub mod catalog;
pub mod focus;
pub mod folder;
pub mod index;
pub mod org_timestamp;
pub mod outline;
pub mod query;
pub mod rules;
pub mod scan;

mod apply;
mod file_sheet;
mod find;
mod identity;
mod ignore_pattern;
mod schema;
mod search_words;
mod tags;

pub use catalog::{
    DuplicateId, IndexCompleteness, IndexStatus, MemexCatalog, MemexObject, ObjectKind,
};
pub use focus::{FocusRequest, FocusView, OmittedObject};
pub use folder::{MemexFolder, resolve};
pub use index::{IndexChanges, IndexProgress, MemexIndex, count_headings, is_in_clear};
pub use org_timestamp::{DateSpan, OrgTimestamp, StampKind, WallMinute};
pub use outline::{OutlinePage, OutlineRequest};
pub use query::{MemexQuery, QueryCursor, QueryHit, QueryPage, SearchText};
pub use rules::{ObjectReach, OrgDefaults, PrivateAccess, ReadRules};
pub use scan::{FolderScan, FoundFile, SkipReason, SkippedPath, unread_reason};
