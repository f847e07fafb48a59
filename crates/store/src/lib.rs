//! The record: everything that happened, append-only, hash-chained, sealed.
//!
//! The daemon's keeper owns the one [`Store`] and commits batches; everybody else, in this process or
//! in another one, reads with a [`Reader`]. No tasks, no clock, no meaning: bodies are text that the
//! callers understand. Layout, in reading order:
//!
//! - [`record`]: what a record is, and how one is asked for
//! - [`append`]: what is handed in to be kept, all of it or nothing
//! - [`store`]: the one writer
//! - [`copier`]: from the log beside the file into the file, meanwhile
//! - [`reader`]: reading, also while the daemon writes
//! - [`verify`]: is the record what was written?
//! - [`compact`]: taking away what is forgotten, so that its room is given back
//! - [`size`]: who takes how much room
//! - [`spending`]: what principals have used of their budgets
//! - [`mod@repair`]: what can be read of a damaged record, in a new file
//! - [`forget`]: destroying what can be destroyed without breaking the chain
//! - [`shelf`]: files of shells, kept for a while, in a database of their own
//! - [`memory`]: the user's files, changed safely, and all their versions, in a database of their own
//! - [`overlay`]: texts that are dropped again, in a database of their own
//! - [`memex`]: the user's Org files, and an index of what is in them
//! - [`fault`]: places where a test build may die
//!
//! ```
//! use bridle_store::{Append, Cause, Draft, Filter, NewSession, Number, Options, Store};
//! # fn main() -> Result<(), bridle_store::Error> {
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

mod behind;
mod beside;
mod chain;
mod error;
mod leaf;
mod places;
mod schema;
mod seal;

pub mod append;
pub mod compact;
pub mod copier;
pub mod fault;
pub mod forget;
pub mod memex;
pub mod memory;
pub mod overlay;
pub mod reader;
pub mod record;
pub mod repair;
pub mod shelf;
pub mod size;
pub mod spending;
pub mod store;
mod tail;
mod varint;
pub mod verify;

pub use append::{
    Append, Cause, Checkpoint, Draft, NewSession, Numbers, Open, Receipt, Shared, Wake,
    valid_session_name,
};
pub use compact::{Compaction, CompactionReport};
pub use copier::Copier;
pub use error::{Broken, Error, Flaw, Refusal};
pub use forget::{By, Forgotten};
pub use overlay::{NewOverlay, OverlayRow, Overlays};
pub use reader::{Loaded, OpenRow, Reader, ReceiptRow, SessionRow, Waiting};
pub use record::{Body, Filter, Hash, Head, Number, Record, hash_text};
pub use repair::{RepairReport, repair};
pub use shelf::{FileName, Kept, NewFile, Put, Room, Shelf};
pub use size::{RecordSize, SizeRow};
pub use spending::Spending;
pub use store::{Options, Store};
pub use verify::Verified;
