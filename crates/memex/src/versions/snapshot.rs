//! Snapshots: all files at a moment, under a name. Bringing one back makes changes like any other;
//! files that came since are left alone, and nothing that is replaced is lost.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::error::MemoryError;
use super::history;
use super::path::FilePath;
use super::undo::UndoView;
use super::{FileChange, MemoryStore, blobs};
use crate::unread_reason;
use bridle_record::RecordHash;
use bridle_record::database::{count, int};
use bridle_record::valid_session_name;

/// Files that a snapshot may have: several times a large collection.
pub(super) const MAX_SNAPSHOT_FILES: usize = 100_000;

/// Files that are kept in one transaction: others may write in between.
const SNAPSHOT_BATCH_FILES: usize = 64;

pub(super) const SNAPSHOT_TABLES: &str = "
CREATE TABLE snapshot (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  at        INTEGER NOT NULL,
  principal TEXT NOT NULL
) STRICT;
CREATE TABLE snapshot_file (
  snapshot  INTEGER NOT NULL,
  path      TEXT NOT NULL,
  hash      BLOB NOT NULL,
  PRIMARY KEY (snapshot, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX snapshot_hash ON snapshot_file (hash);
";

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Its name.
    pub name: Box<str>,
    /// Time of the snapshot, in milliseconds since 1970.
    pub at: i64,
    /// On whose behalf.
    pub principal: Box<str>,
    /// Number of files.
    pub files: u64,
}

/// A snapshot that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSnapshot {
    /// Number of files.
    pub files: usize,
    /// Files that it does not have, because their text may not be kept.
    pub left_out: Vec<FilePath>,
}

impl MemoryStore {
    /// Keeps all files as they are now under a name. A file that cannot be read, or that no index reads, is left out.
    ///
    /// # Errors
    /// The name is taken or cannot be one, or there are too many files.
    pub fn snapshot(
        &self,
        name: &str,
        principal: &str,
        at: i64,
    ) -> Result<NewSnapshot, MemoryError> {
        // The same names as sessions have: they are typed.
        if !valid_session_name(name) {
            return Err(MemoryError::SnapshotName(name.into()));
        }
        if find(&self.lock(), name)?.is_some() {
            return Err(MemoryError::SnapshotExists(name.into()));
        }
        self.look_at_late(&self.lock(), at)?;
        let mut kept: Vec<(FilePath, RecordHash)> = Vec::new();
        let mut left_out = Vec::new();
        for batch in self.root.files()?.chunks(SNAPSHOT_BATCH_FILES) {
            let mut connection = self.lock();
            let begun = history::begin(&mut connection)?;
            for path in batch {
                let seen = self.root.find(path).and_then(|spot| super::file_swap::read(&spot));
                if unread_reason(self.root(), path.as_str()).is_some() {
                    continue;
                }
                if let Ok(Some(seen)) = seen {
                    if !self.may_keep(path, &seen.bytes) {
                        left_out.push(path.clone());
                        continue;
                    }
                    history::notice(&begun, path, Some(&seen.bytes), at)?;
                    kept.push((path.clone(), seen.hash));
                }
            }
            begun.commit()?;
        }
        let mut connection = self.lock();
        let begun = history::begin(&mut connection)?;
        let sql = "INSERT INTO snapshot (name, at, principal) VALUES (?1, ?2, ?3)";
        begun.execute(sql, params![name, at, principal])?;
        let id = begun.last_insert_rowid();
        for (path, hash) in &kept {
            let sql = "INSERT INTO snapshot_file (snapshot, path, hash) VALUES (?1, ?2, ?3)";
            let row = params![id, path.as_str(), &hash.as_bytes()[..]];
            begun.prepare_cached(sql)?.execute(row)?;
        }
        begun.commit()?;
        Ok(NewSnapshot { files: kept.len(), left_out })
    }

    /// Returns the changes that bring the files of a snapshot back: all, or one of them.
    ///
    /// # Errors
    /// There is no such snapshot, or a file cannot be read.
    pub fn restore(
        &self,
        name: &str,
        only: Option<&FilePath>,
    ) -> Result<Vec<FileChange>, MemoryError> {
        UndoView { connection: &self.lock(), root: &self.root }.restore(name, only)
    }

    /// The snapshots, the latest first.
    ///
    /// # Errors
    /// The past cannot be read.
    pub fn snapshots(&self) -> Result<Vec<SnapshotRow>, MemoryError> {
        Ok(rows(&self.lock())?)
    }
}

impl UndoView<'_> {
    pub(super) fn restore(
        &self,
        name: &str,
        only: Option<&FilePath>,
    ) -> Result<Vec<FileChange>, MemoryError> {
        let found = find(self.connection, name)?;
        let id = found.ok_or_else(|| MemoryError::NoSnapshot(name.into()))?;
        let files = files(self.connection, id)?;
        if let Some(path) = only.filter(|only| !files.iter().any(|(path, _)| path == *only)) {
            return Err(MemoryError::NotInSnapshot { name: name.into(), path: path.clone() });
        }
        let mut changes = Vec::new();
        for (path, hash) in files {
            if only.is_some_and(|only| *only != path) {
                continue;
            }
            let before = self.root.read(&path)?.map(|seen| seen.hash);
            if before != Some(hash) {
                let after = Some(blobs::get(self.connection, hash)?);
                changes.push(FileChange { path, before, after });
            }
        }
        Ok(changes)
    }
}

fn find(connection: &Connection, name: &str) -> Result<Option<i64>, bridle_record::StoreError> {
    let sql = "SELECT id FROM snapshot WHERE name = ?1";
    Ok(connection.query_row(sql, [name], |row| row.get(0)).optional()?)
}

fn files(
    connection: &Connection,
    id: i64,
) -> Result<Vec<(FilePath, RecordHash)>, bridle_record::StoreError> {
    let sql = "SELECT path, hash FROM snapshot_file WHERE snapshot = ?1 ORDER BY path";
    let mut statement = connection.prepare(sql)?;
    let rows = statement
        .query_map([id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, [u8; 32]>(1)?)))?;
    let mut files = Vec::new();
    for row in rows {
        let (path, hash) = row?;
        files.extend(FilePath::parse(&path).map(|path| (path, RecordHash::from(hash))));
    }
    Ok(files)
}

pub(super) fn rows(connection: &Connection) -> Result<Vec<SnapshotRow>, bridle_record::StoreError> {
    let sql = "SELECT name, at, principal,
               (SELECT count(*) FROM snapshot_file WHERE snapshot = id) FROM snapshot ORDER BY id DESC
               LIMIT ?1";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([int(MAX_SNAPSHOT_FILES as u64)], |row| {
        Ok(SnapshotRow {
            name: row.get::<_, String>(0)?.into(),
            at: row.get(1)?,
            principal: row.get::<_, String>(2)?.into(),
            files: count(row.get(3)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
