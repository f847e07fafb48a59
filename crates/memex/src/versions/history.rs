//! The past of the files, in `memory.db`: which versions there were, when, by whom, and why. A
//! database of its own: the record has what was decided and done, and its commits wait for nothing
//! here. Rows are only added, and settled once; forgetting takes them away again.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::{
    Connection, OpenFlags, OptionalExtension as _, Row, Transaction, TransactionBehavior, params,
};

use super::path::FilePath;
use super::{ChangeCause, FileChange, MemoryStore, blobs, snapshot};
use bridle_record::RecordHash;
use bridle_record::StoreError;
use bridle_record::database::{BUSY_TIMEOUT, count, int, protect};
pub use bridle_record::version_links::MEMORY_FILE;
use bridle_record::version_links::{MEMORY_APPLICATION_ID, MEMORY_SCHEMA_VERSION};

/// Author of changes that a watcher saw: anybody who can write the file.
const NOTICED_PRINCIPAL: &str = "user";

/// Most versions in one answer.
const MAX_LISTED_VERSIONS: usize = 10_000;

const VERSION_TABLES: &str = "
CREATE TABLE meta (
  only      INTEGER PRIMARY KEY CHECK (only = 1),
  root      TEXT NOT NULL                -- the folder of the files, for who reads without a daemon
) STRICT;

CREATE TABLE version (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  path      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  before    BLOB,                        -- hash of what was there; NULL: no file
  after     BLOB,                        -- hash of what is there since; NULL: no file
  origin    INTEGER NOT NULL,            -- see Origin
  state     INTEGER NOT NULL,            -- 0 begun, 1 done, 2 given up
  record    INTEGER,                     -- what it follows from
  session   TEXT NOT NULL,
  turn      INTEGER NOT NULL,
  principal TEXT NOT NULL,
  action    TEXT NOT NULL,
  label     TEXT NOT NULL                -- of the file that may lie beside; empty once it is gone
) STRICT;
CREATE INDEX version_path ON version (path, id);
CREATE INDEX version_record ON version (record) WHERE record IS NOT NULL;
CREATE INDEX version_turn ON version (session, turn) WHERE record IS NOT NULL;
CREATE INDEX version_label ON version (label) WHERE label <> '';
CREATE INDEX version_after ON version (after);
";

/// The number of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(pub u64);

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Origin of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionOrigin {
    /// Another program wrote the file.
    Seen,
    /// An edit.
    Edit,
    /// A change taken back.
    Undo,
    /// A turn taken back.
    Rollback,
    /// A snapshot brought back.
    Restore,
}

impl VersionOrigin {
    /// All of them, by the number that stands for them in the file.
    const ALL: [Self; 5] = [Self::Seen, Self::Edit, Self::Undo, Self::Rollback, Self::Restore];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Edit => "edit",
            Self::Undo => "undo",
            Self::Rollback => "rollback",
            Self::Restore => "restore",
        }
    }

    fn number(self) -> i64 {
        Self::ALL.iter().position(|it| *it == self).map_or(0, |at| int(at as u64))
    }
}

/// One version of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Its number.
    pub id: VersionId,
    /// The file.
    pub path: FilePath,
    /// Time of the write or of the notice, in milliseconds since 1970.
    pub at: i64,
    /// Hash of the content before; `None`: no file.
    pub before: Option<RecordHash>,
    /// Hash of the content since; `None`: no file.
    pub after: Option<RecordHash>,
    /// Origin of the version.
    pub origin: VersionOrigin,
    /// The record that it follows from.
    pub record: Option<u64>,
    /// The session of that record; empty without one.
    pub session: Box<str>,
    /// The turn of that session.
    pub turn: u64,
    /// Author, or the principal on whose behalf it was written.
    pub principal: Box<str>,
    /// Name of the action; empty for a version that was only noticed.
    pub action: Box<str>,
}

/// Filter of versions. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionFilter {
    /// Only those of this file.
    pub path: Option<FilePath>,
    /// Only those of this record.
    pub record: Option<u64>,
    /// None of after this time.
    pub until: Option<i64>,
    /// Not those that somebody else wrote.
    pub changes_only: bool,
}

/// A version for which something may still lie beside its file.
pub(super) struct LabeledVersion {
    pub(super) version: FileVersion,
    pub(super) label: Box<str>,
    /// End of the change, unless it was interrupted.
    pub(super) ended: Option<ChangeEnd>,
}

/// The past of the files, open for reading alone: also while a daemon writes.
pub struct VersionHistory {
    pub(super) connection: Connection,
}

impl fmt::Debug for VersionHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").finish_non_exhaustive()
    }
}

impl VersionHistory {
    /// Opens the past in a state directory.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none.
    pub fn open(state: &Path) -> Result<Self, StoreError> {
        let path = state.join(MEMORY_FILE);
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        if is_new(&connection, &path)? {
            return Err(StoreError::Missing { path });
        }
        Ok(Self { connection })
    }

    /// The folder that the files were in when it was last opened.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn root(&self) -> Result<PathBuf, StoreError> {
        let sql = "SELECT root FROM meta";
        Ok(self.connection.query_row(sql, [], |row| row.get::<_, String>(0))?.into())
    }

    /// Versions, the latest first, at most `limit` (and never more than 10,000).
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn list(
        &self,
        filter: &VersionFilter,
        limit: usize,
    ) -> Result<Vec<FileVersion>, StoreError> {
        list(&self.connection, filter, limit)
    }

    /// One version.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn version(&self, id: VersionId) -> Result<Option<FileVersion>, StoreError> {
        let sql = format!("{VERSION_COLUMNS} WHERE state = 1 AND id = ?1");
        let found = self.connection.query_row(&sql, [int(id.0)], |row| Ok(read(row)));
        found.optional()?.transpose()
    }

    /// The bytes of a version.
    ///
    /// # Errors
    /// The bytes are not there, or do not have this hash.
    pub fn content(&self, hash: RecordHash) -> Result<Vec<u8>, StoreError> {
        blobs::get(&self.connection, hash)
    }

    /// The version of each file at a time, by name: of one, or of all. Files that did not exist then
    /// are not there, and neither are those of which nothing was known yet.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn at(&self, time: i64, path: Option<&FilePath>) -> Result<Vec<FileVersion>, StoreError> {
        let sql = format!(
            "{VERSION_COLUMNS} WHERE id IN (SELECT max(id) FROM version WHERE state = 1 AND at <= ?1
             AND (?2 IS NULL OR path = ?2) GROUP BY path) AND after IS NOT NULL ORDER BY path"
        );
        let mut statement = self.connection.prepare(&sql)?;
        let path = path.map(FilePath::as_str);
        let rows = statement.query_map(params![time, path], |row| Ok(read(row)))?;
        rows.map(|row| row?).collect()
    }

    /// The snapshots, the latest first.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn snapshots(&self) -> Result<Vec<super::SnapshotRow>, StoreError> {
        snapshot::rows(&self.connection)
    }
}

impl MemoryStore {
    /// Returns versions as [`VersionHistory::list`] does.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn list(
        &self,
        filter: &VersionFilter,
        limit: usize,
    ) -> Result<Vec<FileVersion>, StoreError> {
        list(&self.lock(), filter, limit)
    }

    /// The bytes of a version.
    ///
    /// # Errors
    /// The bytes are not there, or do not have this hash.
    pub fn content(&self, hash: RecordHash) -> Result<Vec<u8>, StoreError> {
        blobs::get(&self.lock(), hash)
    }

    /// Forgets the versions that follow from a record, or from all of a session: that they were there,
    /// and their bytes, unless another version or a snapshot has the same. The files stay as they are.
    /// A change that was made on top of them can no longer be undone. Returns how many versions that
    /// were.
    ///
    /// # Errors
    /// Nothing was forgotten.
    pub fn forget(&self, session: &str, record: Option<u64>) -> Result<usize, StoreError> {
        forget(&mut self.lock(), session, record)
    }
}

/// Forgets versions as [`MemoryStore::forget`] does, with a connection at hand.
pub(super) fn forget(
    connection: &mut Connection,
    session: &str,
    record: Option<u64>,
) -> Result<usize, StoreError> {
    let begun = begin(connection)?;
    let of = "record IS NOT NULL AND session = ?1 AND (?2 IS NULL OR record = ?2)";
    let record = record.map(int);
    let sql = format!("SELECT before, after FROM version WHERE {of}");
    let mut hashes: Vec<[u8; 32]> = Vec::new();
    {
        let mut statement = begun.prepare(&sql)?;
        let mut rows = statement.query(params![session, record])?;
        while let Some(row) = rows.next()? {
            let pair: [Option<[u8; 32]>; 2] = [row.get(0)?, row.get(1)?];
            hashes.extend(pair.into_iter().flatten());
        }
    }
    let gone =
        begun.execute(&format!("DELETE FROM version WHERE {of}"), params![session, record])?;
    for hash in hashes {
        let sql = "SELECT EXISTS (SELECT 1 FROM version WHERE after = ?1)
                   OR EXISTS (SELECT 1 FROM snapshot_file WHERE hash = ?1)";
        if !begun.query_row(sql, [&hash[..]], |row| row.get::<_, bool>(0))? {
            blobs::remove(&begun, hash.into())?;
        }
    }
    begun.commit()?;
    // Old pages are in the log until it is emptied.
    let mut empty = connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)")?;
    empty.query_row([], |_| Ok(()))?;
    Ok(gone)
}

pub(super) fn list(
    connection: &Connection,
    filter: &VersionFilter,
    limit: usize,
) -> Result<Vec<FileVersion>, StoreError> {
    let sql = format!(
        "{VERSION_COLUMNS} WHERE state = 1 AND (?1 IS NULL OR path = ?1) AND (?2 IS NULL OR record = ?2)
         AND (?3 IS NULL OR at <= ?3) AND (?4 = 0 OR record IS NOT NULL) ORDER BY id DESC LIMIT ?5"
    );
    let mut statement = connection.prepare(&sql)?;
    let path = filter.path.as_ref().map(FilePath::as_str);
    let limit = int(limit.min(MAX_LISTED_VERSIONS) as u64);
    let rows = statement.query_map(
        params![path, filter.record.map(int), filter.until, filter.changes_only, limit],
        |row| Ok(read(row)),
    )?;
    rows.map(|row| row?).collect()
}

/// All changes of one turn, in the order in which they were made.
pub(super) fn of_turn(
    connection: &Connection,
    session: &str,
    turn: u64,
) -> Result<Vec<FileVersion>, StoreError> {
    let sql = format!(
        "{VERSION_COLUMNS} WHERE state = 1 AND record IS NOT NULL AND session = ?1 AND turn = ?2 ORDER BY id"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params![session, int(turn)], |row| Ok(read(row)))?;
    rows.map(|row| row?).collect()
}

/// Versions that the turns of a session made, in order.
pub(super) fn of_session(
    connection: &Connection,
    session: &str,
) -> Result<Vec<FileVersion>, StoreError> {
    let sql = format!(
        "{VERSION_COLUMNS} WHERE state = 1 AND record IS NOT NULL AND session = ?1 ORDER BY id"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params![session], |row| Ok(read(row)))?;
    rows.map(|row| row?).collect()
}

/// Keeps a version that somebody else wrote; tells whether it is news.
pub(super) fn notice(
    begun: &Transaction<'_>,
    path: &FilePath,
    content: Option<&[u8]>,
    at: i64,
) -> Result<bool, StoreError> {
    let latest: Option<Option<[u8; 32]>> = begun
        .prepare_cached(
            "SELECT after FROM version WHERE path = ?1 AND state = 1 ORDER BY id DESC LIMIT 1",
        )?
        .query_row([path.as_str()], |row| row.get(0))
        .optional()?;
    let before = latest.flatten().map(RecordHash::from);
    if content.map(super::hash_bytes) == before && (latest.is_some() || content.is_none()) {
        return Ok(false);
    }
    let after = content.map(|content| blobs::put(begun, content, before)).transpose()?;
    let why = ChangeCause {
        origin: VersionOrigin::Seen,
        record: None,
        session: "".into(),
        turn: 0,
        principal: NOTICED_PRINCIPAL.into(),
        action: "".into(),
        at,
    };
    add(begun, path, (before, after), &why, None)?;
    Ok(true)
}

/// Notes that a change begins: its bytes are kept, and the file that will lie beside has a name.
pub(super) fn plan(
    begun: &Transaction<'_>,
    change: &FileChange,
    why: &ChangeCause,
    label: &str,
) -> Result<VersionId, StoreError> {
    let after = change.after.as_deref();
    let after = after.map(|after| blobs::put(begun, after, change.before)).transpose()?;
    add(begun, &change.path, (change.before, after), why, Some(label))
}

fn add(
    begun: &Transaction<'_>,
    path: &FilePath,
    (before, after): (Option<RecordHash>, Option<RecordHash>),
    why: &ChangeCause,
    label: Option<&str>,
) -> Result<VersionId, StoreError> {
    let sql = "INSERT INTO version (path, at, before, after, origin, state, record, session, turn,
               principal, action, label) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let bytes = |hash: Option<RecordHash>| hash.map(|hash| hash.as_bytes().to_vec());
    begun.prepare_cached(sql)?.execute(params![
        path.as_str(),
        why.at,
        bytes(before),
        bytes(after),
        why.origin.number(),
        if label.is_some() { STATE_BEGUN } else { STATE_DONE },
        why.record.map(int),
        why.session,
        int(why.turn),
        why.principal,
        why.action,
        label.unwrap_or_default(),
    ])?;
    Ok(VersionId(count(begun.last_insert_rowid())))
}

const STATE_BEGUN: i64 = 0;
const STATE_DONE: i64 = 1;
const STATE_GIVEN_UP: i64 = 2;

/// End of a change that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeEnd {
    Done,
    GivenUp,
}

pub(super) fn settle(
    connection: &Connection,
    id: VersionId,
    how: ChangeEnd,
) -> Result<(), StoreError> {
    let state = match how {
        ChangeEnd::Done => STATE_DONE,
        ChangeEnd::GivenUp => STATE_GIVEN_UP,
    };
    let sql = "UPDATE version SET state = ?2 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![int(id.0), state])?;
    Ok(())
}

/// Changes for which something may still lie beside: those that were interrupted, and the latest.
pub(super) fn labeled(connection: &Connection) -> Result<Vec<LabeledVersion>, StoreError> {
    let sql = format!("{VERSION_COLUMNS} WHERE label <> '' ORDER BY id");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        let (label, state): (String, i64) = (row.get(11)?, row.get(12)?);
        let ended = match state {
            STATE_BEGUN => None,
            STATE_DONE => Some(ChangeEnd::Done),
            _ => Some(ChangeEnd::GivenUp),
        };
        Ok(read(row).map(|version| LabeledVersion { version, label: label.into(), ended }))
    })?;
    rows.map(|row| row?).collect()
}

/// Notes that something may come to lie beside a file, with the latest version of it.
pub(super) fn label_latest(
    begun: &Transaction<'_>,
    path: &FilePath,
    label: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE version SET label = ?2
               WHERE id = (SELECT max(id) FROM version WHERE path = ?1 AND state = 1)";
    begun.prepare_cached(sql)?.execute(params![path.as_str(), label])?;
    Ok(())
}

/// Notes that nothing lies beside any more for changes that have ended. Done together with the next
/// change, so that it costs no commit of its own.
pub(super) fn cleared(connection: &Connection) -> Result<(), StoreError> {
    let sql = "UPDATE version SET label = '' WHERE label <> '' AND state <> 0";
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

pub(super) fn begin(connection: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

const VERSION_COLUMNS: &str =
    "SELECT id, path, at, before, after, origin, record, session, turn, principal,
                       action, label, state FROM version";

fn read(row: &Row<'_>) -> Result<FileVersion, StoreError> {
    let path: String = row.get(1)?;
    let damaged = |what: &str| StoreError::Damaged(format!("{what} in {MEMORY_FILE}").into());
    let hash = |at| row.get::<_, Option<[u8; 32]>>(at).map(|hash| hash.map(RecordHash::from));
    let origin = usize::try_from(row.get::<_, i64>(5)?).ok();
    Ok(FileVersion {
        id: VersionId(count(row.get(0)?)),
        path: FilePath::parse(&path).ok_or_else(|| damaged("a name"))?,
        at: row.get(2)?,
        before: hash(3)?,
        after: hash(4)?,
        origin: *origin
            .and_then(|origin| VersionOrigin::ALL.get(origin))
            .ok_or_else(|| damaged("an origin"))?,
        record: row.get::<_, Option<i64>>(6)?.map(count),
        session: row.get::<_, String>(7)?.into(),
        turn: count(row.get(8)?),
        principal: row.get::<_, String>(9)?.into(),
        action: row.get::<_, String>(10)?.into(),
    })
}

/// Opens the past of a folder for writing, and makes it if there is none.
pub(super) fn open_writer(state: &Path, root: &Path) -> Result<Connection, StoreError> {
    let path = state.join(MEMORY_FILE);
    protect(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let is_new = is_new(&connection, &path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    if is_new {
        let made = begin(&mut connection)?;
        made.execute_batch(VERSION_TABLES)?;
        made.execute_batch(blobs::BLOB_TABLE)?;
        made.execute_batch(snapshot::SNAPSHOT_TABLES)?;
        made.pragma_update(None, "application_id", MEMORY_APPLICATION_ID)?;
        made.pragma_update(None, "user_version", MEMORY_SCHEMA_VERSION)?;
        made.commit()?;
    }
    let sql = "INSERT INTO meta (only, root) VALUES (1, ?1) ON CONFLICT DO UPDATE SET root = ?1";
    connection.execute(sql, [root.to_string_lossy()])?;
    Ok(connection)
}

/// Tells whether the file is still empty.
fn is_new(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let of = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (of("application_id")?, of("user_version")?, tables) {
        (0, 0, 0) => Ok(true),
        (MEMORY_APPLICATION_ID, MEMORY_SCHEMA_VERSION, _) => Ok(false),
        (MEMORY_APPLICATION_ID, found, _) if found > MEMORY_SCHEMA_VERSION => {
            Err(StoreError::Newer {
                found: u32::try_from(found).unwrap_or(u32::MAX),
                known: MEMORY_SCHEMA_VERSION.unsigned_abs(),
            })
        }
        _ => Err(StoreError::Foreign { path: path.into() }),
    }
}
