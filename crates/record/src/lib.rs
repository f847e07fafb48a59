//! The record: everything that happened, append-only, hash-chained, sealed.
//!
//! The daemon's record writer owns the one [`RecordStore`] and commits batches; everybody else, in this process or
//! in another one, reads with a [`RecordReader`]. No tasks, no clock, no meaning: bodies are text that the
//! callers understand. Layout, from the bottom up:
//!
//! - [`record`]: numbers, hashes, and records as readers get them; `error`: reasons of failure
//! - [`append`]: records and tables to be kept, all of them or none
//! - `chain`, [`cipher`], `record_page`, [`receipts`], [`compacted_span`]: bytes in the file
//! - `schema`: tables of the record; [`database`]: helpers for every SQLite file; [`side_database`]: databases
//!   beside the record; [`version_links`]: the one column of `memory.db` that names records
//! - [`reader`]: reading, also while the daemon writes; [`size`], [`spending`]: totals
//! - [`writer`]: the one writer; [`wal_checkpointer`] copies its log into the file meanwhile
//! - [`verify`]: comparing the record with its chain
//! - [`forget`]: destroying keys, so that the chain stays whole; [`compact`] gives the room back
//! - [`mod@repair`]: the sound part of a damaged record, in a new file
//! - [`backup`]: copies of all databases that belong together
//! - [`file_shelf`]: files of shells, kept for a while, in a database of their own
//! - [`fault`]: places where a test build may die
//!
//! ```
//! use bridle_record::{
//!     NewRecord, NewSessionRow, RecordAppend, RecordCause, RecordFilter, RecordNumber, RecordStore,
//!     StoreOptions,
//! };
//! # fn main() -> Result<(), bridle_record::StoreError> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let dir = dir.path();
//! let mut store = RecordStore::open(dir, &StoreOptions::default())?;
//! let append = RecordAppend {
//!     session: Some(NewSessionRow { name: "main".into(), owner: "uid:1000".into(), at: 5 }),
//!     drafts: vec![
//!         NewRecord::new("main", "began", 5, "uid:1000", "(:owner \"uid:1000\")"),
//!         NewRecord::new("main", "signal", 5, "uid:1000", "(:sensor :user-prompt)")
//!             .numbered(1)
//!             .caused_by(RecordCause::Earlier(0)),
//!     ],
//!     ..RecordAppend::default()
//! };
//! let numbers = store.commit(&[append])?; // durable when it returns
//! assert_eq!(numbers[0].get(1), Some(RecordNumber(2)));
//!
//! let reader = store.reader()?;
//! assert_eq!(reader.stream("main", 0, 10)?.len(), 1);
//! assert_eq!(reader.records(RecordNumber(0), &RecordFilter::default(), 10)?.len(), 2);
//! # Ok(())
//! # }
//! ```

mod chain;
mod chain_ends;
mod error;
mod open_checks;
mod record_page;
mod schema;
mod session_ranges;
mod session_tail;
mod varint;

pub mod append;
pub mod backup;
pub mod cipher;
pub mod compact;
pub mod compacted_span;
pub mod database;
pub mod fault;
pub mod file_shelf;
pub mod forget;
pub mod reader;
pub mod receipts;
pub mod record;
pub mod repair;
pub mod side_database;
pub mod size;
pub mod spending;
pub mod verify;
pub mod version_links;
pub mod wal_checkpointer;
pub mod writer;

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
pub use verify::VerifyReport;
pub use wal_checkpointer::WalCheckpointer;
pub use writer::{RecordStore, StoreOptions};
