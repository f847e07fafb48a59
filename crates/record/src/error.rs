//! Errors of the record, in one enum. Callers match on [`StoreError::Full`], [`StoreError::Busy`] and
//! [`StoreError::Refused`]; the rest is for people to read.

use std::io;
use std::path::PathBuf;

use crate::record::{RecordHash, RecordNumber};

/// Reason why the record could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No space. Nothing of the commit was kept; the same commit works once there is space again.
    #[error("no space left for the record")]
    Full,
    /// Another process holds the record for writing. Nothing was kept; try again.
    #[error("the record is being written by another process")]
    Busy,
    /// One append breaks a rule. Nothing of the commit was kept; the others may be tried without it.
    #[error("append {append} refused")]
    Refused {
        /// Its index among those handed in.
        append: usize,
        /// The rule.
        #[source]
        reason: AppendRefusal,
    },
    /// There is no record in this directory.
    #[error("no record at `{}`", path.display())]
    Missing {
        /// Path at which it is expected.
        path: PathBuf,
    },
    /// The file is a database, but not a record.
    #[error("`{}` is not a record of bridle", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later version of bridle wrote it.
    #[error(
        "the record has schema version `{found}`, expected at most `{known}`: use a newer bridle"
    )]
    Newer {
        /// The version that the file has.
        found: u32,
        /// The newest version that can be read here.
        known: u32,
    },
    /// The record was written by a development version, before the first release.
    #[error(
        "the record has schema version `{found}`, expected `{known}`: it was written before the \
         first release; move record.db away to begin a new one"
    )]
    Older {
        /// The version that the file has.
        found: u32,
        /// The version that can be read here.
        known: u32,
    },
    /// A repair was interrupted while files were exchanged.
    #[error("a repair of the record was interrupted")]
    RepairInterrupted,
    /// The past of the user's files follows from records that are not there.
    #[error(
        "record.db ends with record {found}, but memory.db knows record {known}: the record was \
         removed, emptied or replaced by an older copy"
    )]
    Behind {
        /// The last record that is there; 0 without any.
        found: u64,
        /// The last one that is known of.
        known: u64,
    },
    /// No session has this name.
    #[error("no session `{0}`")]
    NoSession(Box<str>),
    /// No record has this number.
    #[error("no record `{0}`")]
    NoRecord(RecordNumber),
    /// The session or record is forgotten already.
    #[error("`{0}` is already forgotten")]
    AlreadyForgotten(Box<str>),
    /// The record belongs to the daemon itself, whose bodies are not sealed.
    #[error("`{0}` belongs to the daemon and cannot be forgotten")]
    NotSealed(Box<str>),
    /// Bytes in the file cannot have been written by this code. `log verify` says where.
    #[error("the record is damaged: {0}")]
    Damaged(Box<str>),
    /// Verifying found a record that is not as it was written.
    #[error(transparent)]
    Broken(#[from] BrokenRecord),
    /// The search text cannot be understood.
    #[error("{0}")]
    Search(&'static str),
    /// The Memex has no such object, or none that may be seen.
    #[error("no object `{0}` in the memex")]
    NoObject(Box<str>),
    /// The system gave no random bytes.
    #[error("no random bytes from the system")]
    Random(#[source] getrandom::Error),
    /// A file could not be made, read or protected.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The database said something else.
    #[error("the database refused")]
    Sql(#[source] rusqlite::Error),
}

/// The rule that an append breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendRefusal {
    /// A session's name does not have the form of one.
    #[error("session name `{0}`, expected 1 to 64 of `A-Z a-z 0-9 . _ -`")]
    BadName(Box<str>),
    /// A new session has the name of one that lives.
    #[error("session `{0}` exists already")]
    SessionExists(Box<str>),
    /// There is no such session.
    #[error("no session `{0}`")]
    NoSession(Box<str>),
    /// The session is forgotten: nothing can be added to it.
    #[error("session `{0}` is forgotten")]
    Forgotten(Box<str>),
    /// Numbers of a stream are dense.
    #[error("session `{session}`: seq `{got}`, expected `{expected}`")]
    Seq {
        /// The session.
        session: Box<str>,
        /// Number that comes next.
        expected: u64,
        /// Number that was handed in.
        got: u64,
    },
    /// Time does not go backward within a session.
    #[error("session `{session}`: time `{got}`, expected at least `{last}`")]
    Backward {
        /// The session.
        session: Box<str>,
        /// Time of its last record.
        last: i64,
        /// Time that was handed in.
        got: i64,
    },
    /// The cause is not before the record.
    #[error("draft {draft} has a cause that is not before it")]
    Cause {
        /// Index of the draft in its append.
        draft: usize,
    },
    /// A receipt says which number a message has.
    #[error("draft {draft} has a receipt and no seq")]
    Receipt {
        /// Index of the draft in its append.
        draft: usize,
    },
    /// The shared part of a body is not in the other body.
    #[error("draft {draft} shares what does not stand in a later draft of its session")]
    Shared {
        /// Index of the draft in its append.
        draft: usize,
    },
    /// The daemon's own records are no stream and have no state or effects.
    #[error("the daemon itself has no {0}")]
    Daemon(&'static str),
    /// A body or a state is larger than any that can be kept.
    #[error("body of `{got}` bytes, expected at most `{limit}`")]
    TooLarge {
        /// The limit, `MAX_BODY`.
        limit: usize,
        /// Its size in bytes.
        got: usize,
    },
}

/// The first record that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record {number} {flaw}")]
pub struct BrokenRecord {
    /// The record; for one that is missing, the number it had.
    pub number: RecordNumber,
    /// Flaw of the record.
    pub flaw: RecordFlaw,
}

/// Flaw of a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFlaw {
    /// A column, or who its session is, differs from what was hashed.
    #[error("was edited: its hash does not match")]
    Edited,
    /// The record and its hash were replaced: the next record remembers another hash.
    #[error("was replaced: the next record expects hash `{expected}`")]
    Replaced {
        /// The hash that the next record remembers.
        expected: RecordHash,
    },
    /// Its place is empty.
    #[error("is missing")]
    Missing,
    /// The record does not match the kept head of the chain.
    #[error("does not match the kept head `{kept}`")]
    NotTheHead {
        /// The hash that was kept elsewhere.
        kept: RecordHash,
    },
    /// The large body that it names is gone or differs.
    #[error("has lost its body, or another stands in its place")]
    Blob,
    /// Its key was changed, or taken away without a `forgot` record.
    #[error("cannot be opened, and no `forgot` record says why")]
    Unopened,
    /// Its number in the session does not follow the one before.
    #[error("has seq `{got}` in its session, expected `{expected}`")]
    Seq {
        /// Number that would follow.
        expected: u64,
        /// Number that the record has.
        got: u64,
    },
    /// Its session is unknown, or what is known of it (records, seq, time) differs from what is there.
    #[error("does not agree with the table of sessions")]
    Session,
    /// The rows that say which session records are of leave it out, or give it to another one.
    #[error("is not where its session looks for it: the tables of places disagree with the record")]
    Place,
    /// The record stands for records that are gone, and nothing in the chain says that this was done.
    #[error("stands for compacted records, and no `compaction` record vouches for it")]
    Unvouched,
    /// A head that was kept elsewhere is among records that are gone.
    #[error(
        "was compacted: a head that was kept before that can no longer be compared; keep a new one"
    )]
    Compacted,
    /// The record was put in where none was written.
    #[error("was added")]
    Added,
    /// The file is damaged where it stands.
    #[error("cannot be read: {0}")]
    Damaged(Box<str>),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase,
        };
        match error.sqlite_error_code() {
            Some(DiskFull) => Self::Full,
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy,
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(error.to_string().into()),
            _ => Self::Sql(error),
        }
    }
}
