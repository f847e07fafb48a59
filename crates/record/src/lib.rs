//! The record: everything that happened, append-only, hash-chained, sealed.
//!
//! The daemon's keeper owns the one [`RecordStore`] and commits batches; everybody else, in this process or
//! in another one, reads with a [`RecordReader`]. No tasks, no clock, no meaning: bodies are text that the
//! callers understand. Layout, in reading order:
//!
//! - [`record`]: what a record is, and how one is asked for
//! - [`append`]: what is handed in to be kept, all of it or nothing
//! - [`store`]: the one writer
//! - [`wal_checkpointer`]: from the log beside the file into the file, meanwhile
//! - [`reader`]: reading, also while the daemon writes
//! - [`verify`]: is the record what was written?
//! - [`compact`]: taking away what is forgotten, so that its room is given back
//! - [`size`]: who takes how much room
//! - [`spending`]: what principals have used of their budgets
//! - [`mod@repair`]: what can be read of a damaged record, in a new file
//! - [`forget`]: destroying what can be destroyed without breaking the chain
//! - [`file_shelf`]: files of shells, kept for a while, in a database of their own
//! - [`memory`]: the user's files, changed safely, and all their versions, in a database of their own
//! - [`buffer_texts`]: texts that are dropped again, in a database of their own
//! - [`memex`]: the user's Org files, and an index of what is in them
//! - [`fault`]: places where a test build may die
//!
//! ```
//! use bridle_record::{Append, Cause, Draft, Filter, NewSession, Number, Options, Store};
//! # fn main() -> Result<(), bridle_record::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let dir = dir.path();
//! let mut store = Store::open(dir, &Options::default())?;
//! let append = Append {
//!     session: Some(NewSession { name: "main".into(), owner: "uid:1000".into(), at: 5 }),
//!     drafts: vec![
//!         Draft::new("main", "began", 5, "uid:1000", "(:owner \"uid:1000\")"),
//!         Draft::new("main", "signal", 5, "uid:1000", "(:sensor :user-prompt)")
//!             .numbered(1)
//!             .caused_by(Cause::Earlier(0)),
//!     ],
//!     ..Append::default()
//! };
//! let numbers = store.commit(&[append])?; // durable when it returns
//! assert_eq!(numbers[0].get(1), Some(Number(2)));
//!
//! let reader = store.reader()?;
//! assert_eq!(reader.stream("main", 0, 10)?.len(), 1);
//! assert_eq!(reader.records(Number(0), &Filter::default(), 10)?.len(), 2);
//! # Ok(())
//! # }
//! ```

mod chain;
pub mod cipher;
pub mod database;
mod error;
mod record_page;
mod schema;
mod session_ranges;
pub mod side_database;
mod truncation_check;

pub mod append;
pub mod compact;
pub mod fault;
pub mod file_shelf;
pub mod forget;
pub mod reader;
pub mod record;
pub mod repair;
mod session_tail;
pub mod size;
pub mod spending;
pub mod store;
mod varint;
pub mod verify;
pub mod version_links;
pub mod wal_checkpointer;

pub use append::{
    AppendNumbers, MessageReceipt, NewOpenEffect, NewRecord, NewSessionRow, RecordAppend,
    RecordCause, SharedPart, StateCheckpoint, WakeTime, valid_session_name,
};
pub use compact::{Compaction, CompactionReport};
pub use error::{AppendRefusal, BrokenRecord, RecordFlaw, StoreError};
pub use file_shelf::{FileShelf, KeptFile, NewShelfFile, PutResult, ShelfFileName, ShelfRoom};
pub use forget::{ForgetRequest, ForgetResult};
pub use reader::{
    LoadedSessionRows, OpenEffectRow, ReceiptRow, RecordReader, SessionRow, WakingSession,
};
pub use record::{
    ChainHead, Record, RecordBody, RecordFilter, RecordHash, RecordNumber, hash_text,
};
pub use repair::{RepairReport, repair};
pub use size::{RecordSize, SizeRow};
pub use spending::BudgetUse;
pub use store::{RecordStore, StoreOptions};
pub use verify::VerifyReport;
pub use wal_checkpointer::WalCheckpointer;
