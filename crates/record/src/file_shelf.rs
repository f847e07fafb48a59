//! The shelf: files that shells hand in, kept for a while and then destroyed.
//!
//! The daemon owns the one [`FileShelf`] and hands in bytes, owners and times. A database of its own
//! beside the record, `files.db`: blobs of the record are part of a chain that nothing is ever taken
//! out of, and these expire. Each file is sealed under a key of its own, which goes with it; a file is
//! named by a keyed hash of its owner, its type and its content, so the same upload has the same name and
//! no name tells or can be guessed. Not here: who may ask, and what a file means.

use std::fmt;
use std::path::Path;

use bridle_sexp::byte_text::{hex, unhex_array};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::cipher::{self, Salt, SealLabel, SealPlace, SessionKey};
use crate::database::{count, int};
use crate::error::StoreError;
use crate::fault;
use crate::side_database::{self, SideFileKind};

/// Name of the file in the state directory. SQLite puts `-wal` and `-shm` beside it.
pub const SHELF_FILE: &str = "files.db";

/// Kind of the database; its header says `brdf`.
const DATABASE_KIND: SideFileKind =
    SideFileKind { file: SHELF_FILE, application: 0x6272_6466, version: 1 };

/// Bytes of a name: nobody finds two files that have the same.
const NAME_BYTES: usize = 16;

/// `secret` hides names. A row of `file` goes with its key; `secure_delete` overwrites both.
const TABLES: &str = "
CREATE TABLE meta (
  only      INTEGER PRIMARY KEY CHECK (only = 1),
  secret    BLOB NOT NULL                -- 32 bytes: the key of names
) STRICT;

CREATE TABLE file (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  name      BLOB NOT NULL UNIQUE,        -- 16 bytes
  owner     TEXT NOT NULL,
  size      INTEGER NOT NULL,
  expires   INTEGER NOT NULL,
  key       BLOB NOT NULL,               -- 32 bytes
  salt      BLOB NOT NULL,               -- 16 bytes
  facts     BLOB NOT NULL,               -- sealed: the hash of the content, and its type
  content   BLOB NOT NULL                -- sealed
) STRICT;
CREATE INDEX file_owner ON file (owner);
CREATE INDEX file_expires ON file (expires);
";

/// Limits of the shelf: over any of them, nothing more is taken until something expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShelfRoom {
    /// Bytes of one owner.
    pub owner_bytes: u64,
    /// Files of one owner.
    pub owner_files: u64,
    /// Bytes of all.
    pub all_bytes: u64,
}

/// A file to be kept.
#[derive(Clone, Copy)]
pub struct NewShelfFile<'f> {
    /// Owner of the file.
    pub owner: &'f str,
    /// The type of its content.
    pub kind: &'f str,
    /// The SHA-256 of its content.
    pub sha256: [u8; 32],
    /// Its content.
    pub content: &'f [u8],
    /// The present, in milliseconds since 1970.
    pub at: i64,
    /// Time at which the file is destroyed, in milliseconds since 1970.
    pub expires: i64,
}

impl fmt::Debug for NewShelfFile<'_> {
    /// Says how large it is; what it holds is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewFile").field("bytes", &self.content.len()).finish_non_exhaustive()
    }
}

/// The name of a kept file: 32 hex digits as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShelfFileName([u8; NAME_BYTES]);

impl ShelfFileName {
    /// Reads a name; `None` if it does not have the form of one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        unhex_array(text).map(Self)
    }
}

impl fmt::Display for ShelfFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Facts about a kept file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// Its name.
    pub name: ShelfFileName,
    /// The type of its content.
    pub kind: Box<str>,
    /// Bytes of its content.
    pub bytes: u64,
    /// The SHA-256 of its content.
    pub sha256: [u8; 32],
    /// Time at which the file is destroyed, in milliseconds since 1970.
    pub expires: i64,
}

/// Result of putting a file on the shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutResult {
    /// The file is on the disk.
    Kept(KeptFile),
    /// There is no room for it now.
    NoRoom,
}

/// The shelf, open for reading and writing.
pub struct FileShelf {
    connection: Connection,
    secret: [u8; 32],
}

impl fmt::Debug for FileShelf {
    /// Says no more than that it is one; what it remembers is a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl FileShelf {
    /// Opens the shelf in a directory, or makes one.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] and [`StoreError::Newer`] leave the file as it is.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let connection = side_database::open(dir, DATABASE_KIND, |begun| {
            let secret: [u8; 32] = cipher::random()?;
            begun.execute_batch(TABLES)?;
            begun.execute("INSERT INTO meta (only, secret) VALUES (1, ?1)", [&secret[..]])?;
            Ok(())
        })?;
        let secret: Vec<u8> =
            connection.query_row("SELECT secret FROM meta", [], |row| row.get(0))?;
        let secret = secret.try_into().map_err(|_| damaged("the key of names"))?;
        Ok(Self { connection, secret })
    }

    /// Keeps a file. One that is there already is kept until the later of both times.
    ///
    /// # Errors
    /// Nothing was kept. [`StoreError::Full`] passes.
    pub fn put(
        &mut self,
        new: NewShelfFile<'_>,
        room: &ShelfRoom,
    ) -> Result<PutResult, StoreError> {
        let name = self.name(&new);
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        sweep(&begun, new.at)?;
        fault::point("shelf.begin");
        let known: Option<i64> = begun
            .query_row("SELECT expires FROM file WHERE name = ?1", [&name.0[..]], |row| row.get(0))
            .optional()?;
        let expires = known.unwrap_or(i64::MIN).max(new.expires);
        match known {
            Some(_) => {
                let sql = "UPDATE file SET expires = ?2 WHERE name = ?1";
                begun.execute(sql, params![&name.0[..], expires])?;
            }
            None if !has_room(&begun, &new, room)? => {
                // What expired is gone all the same.
                begun.commit()?;
                return Ok(PutResult::NoRoom);
            }
            None => insert(&begun, name, &new)?,
        }
        fault::point("shelf.commit");
        begun.commit()?;
        fault::point("shelf.committed");
        let bytes = length(new.content);
        let (kind, sha256) = (new.kind.into(), new.sha256);
        Ok(PutResult::Kept(KeptFile { name, kind, bytes, sha256, expires }))
    }

    /// Returns the facts about a file of this owner; `None` if there is none, or it has expired.
    ///
    /// # Errors
    /// The shelf cannot be read.
    pub fn find(
        &self,
        owner: &str,
        name: ShelfFileName,
        at: i64,
    ) -> Result<Option<KeptFile>, StoreError> {
        Ok(self.row(owner, name, at)?.map(|row| row.kept))
    }

    /// Returns the facts about a file of this owner, and its content.
    ///
    /// # Errors
    /// The shelf cannot be read, or the content was not sealed by this code.
    pub fn read(
        &self,
        owner: &str,
        name: ShelfFileName,
        at: i64,
    ) -> Result<Option<(KeptFile, Vec<u8>)>, StoreError> {
        let Some(row) = self.row(owner, name, at)? else { return Ok(None) };
        let sealed: Vec<u8> = self.connection.query_row(
            "SELECT content FROM file WHERE id = ?1",
            [int(row.id)],
            |row| row.get(0),
        )?;
        let content = row.key.open(place(SealLabel::Content, row.id, &row.salt), sealed);
        Ok(Some((row.kept, content.ok_or_else(|| damaged("a file"))?)))
    }

    /// Destroys what has expired, and gives its space back; returns how many files that were.
    ///
    /// # Errors
    /// The shelf cannot be written; expired files are not handed out all the same.
    pub fn sweep(&mut self, at: i64) -> Result<usize, StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let swept = sweep(&begun, at)?;
        begun.commit()?;
        let free: i64 =
            self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free > 0 {
            let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum")?;
            let mut pages = vacuum.query([])?;
            while pages.next()?.is_some() {}
        }
        // Old pages, keys among them, are in the log until it is emptied.
        let mut empty = self.connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)")?;
        empty.query_row([], |_| Ok(()))?;
        Ok(swept)
    }

    fn name(&self, new: &NewShelfFile<'_>) -> ShelfFileName {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        for part in [new.owner.as_bytes(), new.kind.as_bytes(), &new.sha256] {
            hasher.update(&length(part).to_le_bytes()).update(part);
        }
        let mut name = [0; NAME_BYTES];
        hasher.finalize_xof().fill(&mut name);
        ShelfFileName(name)
    }

    fn row(
        &self,
        owner: &str,
        name: ShelfFileName,
        at: i64,
    ) -> Result<Option<ShelfRow>, StoreError> {
        let sql = "SELECT id, size, expires, key, salt, facts FROM file
                   WHERE name = ?1 AND owner = ?2 AND expires > ?3";
        let found = self.connection.query_row(sql, params![&name.0[..], owner, at], |row| {
            let (id, size, expires): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (key, salt): (Vec<u8>, Vec<u8>) = (row.get(3)?, row.get(4)?);
            Ok((count(id), count(size), expires, key, salt, row.get(5)?))
        });
        let Some((id, bytes, expires, key, salt, facts)) = found.optional()? else {
            return Ok(None);
        };
        let key = SessionKey::from_bytes(&key).ok_or_else(|| damaged("the key of a file"))?;
        let salt: Salt = salt.try_into().map_err(|_| damaged("the salt of a file"))?;
        let facts = key.open(place(SealLabel::Facts, id, &salt), facts);
        let (sha256, kind) =
            facts.as_deref().and_then(read_facts).ok_or_else(|| damaged("the facts of a file"))?;
        Ok(Some(ShelfRow { id, key, salt, kept: KeptFile { name, kind, bytes, sha256, expires } }))
    }
}

/// A row, opened as far as its facts.
struct ShelfRow {
    id: u64,
    key: SessionKey,
    salt: Salt,
    kept: KeptFile,
}

fn sweep(begun: &Transaction<'_>, at: i64) -> Result<usize, StoreError> {
    Ok(begun.execute("DELETE FROM file WHERE expires <= ?1", [at])?)
}

fn has_room(
    begun: &Transaction<'_>,
    new: &NewShelfFile<'_>,
    room: &ShelfRoom,
) -> Result<bool, StoreError> {
    let sum = "SELECT count(*), coalesce(sum(size), 0) FROM file";
    let pair = |row: &rusqlite::Row<'_>| Ok((count(row.get(0)?), count(row.get(1)?)));
    let (files, bytes): (u64, u64) =
        begun.query_row(&format!("{sum} WHERE owner = ?1"), [new.owner], pair)?;
    let (_, all): (u64, u64) = begun.query_row(sum, [], pair)?;
    let more = length(new.content);
    Ok(files < room.owner_files
        && bytes.saturating_add(more) <= room.owner_bytes
        && all.saturating_add(more) <= room.all_bytes)
}

fn insert(
    begun: &Transaction<'_>,
    name: ShelfFileName,
    new: &NewShelfFile<'_>,
) -> Result<(), StoreError> {
    let key = SessionKey::new()?;
    let salt: Salt = cipher::random()?;
    let sql = "INSERT INTO file (name, owner, size, expires, key, salt, facts, content)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, x'', x'')";
    let size = int(length(new.content));
    begun.execute(
        sql,
        params![&name.0[..], new.owner, size, new.expires, &key.as_bytes()[..], &salt[..]],
    )?;
    // Its number is part of what it is sealed with.
    let id = count(begun.last_insert_rowid());
    let facts = key.seal(place(SealLabel::Facts, id, &salt), write_facts(new));
    let content = key.seal(place(SealLabel::Content, id, &salt), new.content.to_vec());
    let sql = "UPDATE file SET facts = ?2, content = ?3 WHERE id = ?1";
    begun.execute(sql, params![int(id), facts, content])?;
    Ok(())
}

fn place(label: SealLabel, number: u64, salt: &Salt) -> SealPlace<'_> {
    SealPlace { label, number, salt }
}

fn write_facts(new: &NewShelfFile<'_>) -> Vec<u8> {
    [&new.sha256[..], new.kind.as_bytes()].concat()
}

fn read_facts(facts: &[u8]) -> Option<([u8; 32], Box<str>)> {
    let (sha256, kind) = facts.split_first_chunk()?;
    Some((*sha256, std::str::from_utf8(kind).ok()?.into()))
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("{what} in {SHELF_FILE}").into())
}

#[cfg(test)]
mod tests;
