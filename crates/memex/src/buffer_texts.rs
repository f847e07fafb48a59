//! Texts of unsaved buffers: ASTs that belong to a session until its shell says that they are saved.
//!
//! The daemon owns the one [`BufferTextStore`] and hands in the texts of its messages. They are in a database of
//! their own beside the record, `overlays.db`: records stay for ever, and these texts are large, come with every
//! change of a buffer and are dropped when it is saved. The record has the hash of each. A text is named by its
//! session and by the number of the message that brought it; facts and text are sealed under a key of their own,
//! which goes with them. Not here: what they mean, and who may ask.

use std::fmt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use bridle_record::StoreError;
use bridle_record::cipher::{self, Salt, SealLabel, SealPlace, SessionKey};
use bridle_record::database::{count, int};
use bridle_record::side_database::{self, SideFileKind};

/// Name of the file in the state directory. SQLite puts `-wal` and `-shm` beside it.
pub const OVERLAYS_FILE: &str = "overlays.db";

/// Kind of the database; its header says `brdo`.
const DATABASE_KIND: SideFileKind =
    SideFileKind { file: OVERLAYS_FILE, application: 0x6272_646f, version: 1 };

/// Free pages of the file that are kept for the next text instead of being given back: 4 MiB, one large
/// AST.
const MAX_SPARE_PAGES: i64 = 1024;

/// `secure_delete` overwrites a row with its key.
const TABLES: &str = "
CREATE TABLE overlay (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  session   TEXT NOT NULL,
  seq       INTEGER NOT NULL,            -- of the message that brought it
  key       BLOB NOT NULL,               -- 32 bytes
  salt      BLOB NOT NULL,               -- 16 bytes
  facts     BLOB NOT NULL,               -- sealed
  content   BLOB NOT NULL,               -- sealed
  UNIQUE (session, seq)
) STRICT;
";

/// A text to be kept.
#[derive(Clone, Copy)]
pub struct NewBufferText<'o> {
    /// The session.
    pub session: &'o str,
    /// The number of the message in it.
    pub seq: u64,
    /// Facts about the text that the caller needs without reading it.
    pub facts: &'o str,
    /// The text.
    pub content: &'o str,
}

impl fmt::Debug for NewBufferText<'_> {
    /// Says how large it is; what it holds is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewOverlay")
            .field("seq", &self.seq)
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}

/// Facts about a kept text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferTextRow {
    /// Its session.
    pub session: Box<str>,
    /// The number of its message.
    pub seq: u64,
    /// As they were handed in.
    pub facts: String,
}

/// The texts, open for reading and writing.
pub struct BufferTextStore {
    connection: Connection,
}

impl fmt::Debug for BufferTextStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlays").finish_non_exhaustive()
    }
}

impl BufferTextStore {
    /// Opens the texts in a directory, or begins with none.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] and [`StoreError::Newer`] leave the file as it is.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let connection =
            side_database::open(dir, DATABASE_KIND, |begun| Ok(begun.execute_batch(TABLES)?))?;
        Ok(Self { connection })
    }

    /// Everything that is kept, by session and number; the texts are not read.
    ///
    /// # Errors
    /// The file cannot be read, or a row was not written by this code.
    pub fn rows(&self) -> Result<Vec<BufferTextRow>, StoreError> {
        let mut query = self.connection.prepare(
            "SELECT id, session, seq, key, salt, facts FROM overlay ORDER BY session, seq",
        )?;
        let mut rows = query.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let seq = count(row.get(2)?);
            let sealed = SealContext { id: row.get(0)?, key: row.get(3)?, salt: row.get(4)? };
            let facts = sealed.open(SealLabel::OverlayFacts, row.get(5)?)?;
            all.push(BufferTextRow { session: row.get::<_, String>(1)?.into(), seq, facts });
        }
        Ok(all)
    }

    /// Keeps all of them, or nothing. When this returns, they are on the disk. One that has session and
    /// number of an older one takes its place.
    ///
    /// # Errors
    /// Nothing was kept.
    pub fn put(&mut self, texts: &[NewBufferText<'_>]) -> Result<(), StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for new in texts {
            let (key, salt): (SessionKey, Salt) = (SessionKey::new()?, cipher::random()?);
            let sql = "INSERT OR REPLACE INTO overlay (session, seq, key, salt, facts, content)
                       VALUES (?1, ?2, ?3, ?4, x'', x'')";
            begun
                .execute(sql, params![new.session, int(new.seq), &key.as_bytes()[..], &salt[..]])?;
            // Its number is part of what it is sealed with.
            let id = begun.last_insert_rowid();
            let place = |label| SealPlace { label, number: count(id), salt: &salt };
            let facts = key.seal(place(SealLabel::OverlayFacts), new.facts.into());
            let content = key.seal(place(SealLabel::OverlayText), new.content.into());
            let sql = "UPDATE overlay SET facts = ?2, content = ?3 WHERE id = ?1";
            begun.execute(sql, params![id, facts, content])?;
        }
        begun.commit()?;
        Ok(())
    }

    /// The text that a message brought; `None` if it is not kept, or no more.
    ///
    /// # Errors
    /// The file cannot be read, or the text was not sealed by this code.
    pub fn content(&self, session: &str, seq: u64) -> Result<Option<String>, StoreError> {
        let sql = "SELECT id, key, salt, content FROM overlay WHERE session = ?1 AND seq = ?2";
        let found = self
            .connection
            .query_row(sql, params![session, int(seq)], |row| {
                let sealed = SealContext { id: row.get(0)?, key: row.get(1)?, salt: row.get(2)? };
                Ok((sealed, row.get(3)?))
            })
            .optional()?;
        found.map(|(sealed, content)| sealed.open(SealLabel::OverlayText, content)).transpose()
    }

    /// Drops texts by session and number; those that are not there are passed over. They may be back
    /// after a power cut: nobody waits for the disk here.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn remove(&mut self, texts: &[(Box<str>, u64)]) -> Result<(), StoreError> {
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        let removed = self.remove_now(texts);
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        removed
    }

    fn remove_now(&mut self, texts: &[(Box<str>, u64)]) -> Result<(), StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (session, seq) in texts {
            let sql = "DELETE FROM overlay WHERE session = ?1 AND seq = ?2";
            begun.execute(sql, params![&**session, int(*seq)])?;
        }
        begun.commit()?;
        self.give_back()
    }

    /// Drops everything of a session, and wipes it from the log beside the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget(&mut self, session: &str) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM overlay WHERE session = ?1", [session])?;
        self.give_back()?;
        self.scrub()
    }

    /// Wipes what was dropped from the log beside the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn scrub(&mut self) -> Result<(), StoreError> {
        let mut empty = self.connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)")?;
        empty.query_row([], |_| Ok(()))?;
        Ok(())
    }

    /// Gives free pages back to the disk, but for some that the next text will need.
    fn give_back(&mut self) -> Result<(), StoreError> {
        let free: i64 =
            self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free > MAX_SPARE_PAGES {
            let sql = format!("PRAGMA incremental_vacuum({})", free - MAX_SPARE_PAGES);
            let mut vacuum = self.connection.prepare(&sql)?;
            let mut pages = vacuum.query([])?;
            while pages.next()?.is_some() {}
        }
        Ok(())
    }
}

/// Key, salt and number that seal one row.
struct SealContext {
    id: i64,
    key: Vec<u8>,
    salt: Vec<u8>,
}

impl SealContext {
    fn open(&self, label: SealLabel, sealed: Vec<u8>) -> Result<String, StoreError> {
        let damaged =
            || StoreError::Damaged(format!("overlay `{}` in {OVERLAYS_FILE}", self.id).into());
        let key = SessionKey::from_bytes(&self.key).ok_or_else(damaged)?;
        let salt: &Salt = self.salt.as_slice().try_into().map_err(|_| damaged())?;
        let text = key.open(SealPlace { label, number: count(self.id), salt }, sealed);
        String::from_utf8(text.ok_or_else(damaged)?).map_err(|_| damaged())
    }
}

#[cfg(test)]
mod tests;
