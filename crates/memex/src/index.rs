//! The index of the Memex: which files are read, what is in them, and the tables that say so.
//!
//! Files are only ever read here. The index, `index.db`, is derived: deleting it costs the time to read the files
//! again. The index thread owns the one [`MemexIndex`]; everybody else asks a [`MemexCatalog`](crate::MemexCatalog).
//! No tasks, no watching, no clock. In reading order:
//!
//! - [`rules`]: what is read, what is private, and the limits; `ignore_pattern`: the lines of `.bridleignore`
//! - [`scan`]: the files of a folder; [`folder`]: one of them, opened without leaving the folder
//! - `file_sheet`: from the bytes of a file to its objects; `tags`: the tags of a file, which say what is private;
//!   [`org_timestamp`]: dates; `search_words`: text as it is searched
//! - `identity`: which heading of now is which one of before
//! - `schema`, [`writer`], `apply`: the tables, and how a change gets into them

pub mod folder;
pub mod org_timestamp;
pub mod rules;
pub mod scan;
pub mod writer;

pub(crate) mod apply;
pub(crate) mod file_sheet;
mod identity;
mod ignore_pattern;
pub(crate) mod schema;
pub(crate) mod search_words;
mod tags;

pub use folder::{MemexFolder, resolve};
pub use org_timestamp::{DateSpan, OrgTimestamp, StampKind, WallMinute};
pub use rules::{ObjectReach, OrgDefaults, PrivateAccess, ReadRules};
pub use scan::{FolderScan, FoundFile, SkipReason, SkippedPath, unread_reason};
pub use writer::{IndexChanges, IndexProgress, MemexIndex, count_headings, is_in_clear};
