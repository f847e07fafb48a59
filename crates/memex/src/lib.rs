//! The Memex: the user's folder of Org files, found, searched, edited, and kept in all its versions.
//!
//! The files belong to the user and are the truth. The index is derived and can be deleted; versions are kept in
//! `memory.db`, unsaved buffers in `overlays.db`, both beside the record. No tokio: [`service`] runs one thread of its
//! own, and everything else works on the caller's thread. Layout, in reading order:
//!
//! - [`index`]: which files are read, and the tables of what is in them
//! - [`search`]: queries, outline, focus
//! - [`versions`]: files replaced in one step, and all their versions
//! - [`buffer_texts`]: texts of unsaved buffers, kept until they are saved
//! - [`actuator`]: `:memory`, which edits the files and takes edits back
//! - [`service`]: the thread that keeps the index up to date, and answers from it
//! - [`survey`]: a folder looked at before it becomes a Memex

pub mod actuator;
pub mod buffer_texts;
pub mod index;
pub mod search;
pub mod service;
pub mod survey;
pub mod versions;

pub use actuator::{EditorSlot, MEMORY, MemoryEditor, RollbackChoice, preview_edit, suggestion};
pub use buffer_texts::{BufferTextRow, BufferTextStore, NewBufferText, OVERLAYS_FILE};
pub use index::*;
pub use search::*;
pub use service::*;
pub use versions::*;
