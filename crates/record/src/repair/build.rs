//! Copying the sound part of a record into a new file, table by table. Tables that only lead to records are made
//! anew from the records; of the others, rows that cannot be read are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use crate::cipher::{SALT_BYTES, Salt};
use crate::database::{self, count};
use crate::error::StoreError;
use crate::reader::{OpenedBody, RecordOpener};
use crate::receipts::{RECEIPT_BYTES, ReceiptEntry};
use crate::record::RecordHash;
use crate::record_page::{self, RawRecord, StoredBody};
use crate::schema::{self, BLOCK_RECORDS, MILESTONE_INTERVAL};
use crate::session_ranges;
use crate::verify::SoundPrefix;

/// Bytes of records in a row.
const PAGE_BODY_BYTES: usize = 4000;

/// Records between two commits of the copy.
const SALTS_PER_ROW: usize = 64;

/// Hash of a record; `None` if it is not there.
pub(super) fn hash_of(
    connection: &Connection,
    number: i64,
) -> Result<Option<RecordHash>, StoreError> {
    let mut hash = None;
    let _ = record_page::each_reaching(connection, &(number..=number), &mut |raw| {
        hash = Some(raw.hash);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(hash)
}

/// Copies the records of a prefix into a new file, with all that belongs to them. `is_cut`: others followed, so
/// that nobody knows how what was begun has ended.
pub(super) fn copy(
    old: &Connection,
    prefix: &SoundPrefix,
    is_cut: bool,
    folder: &Path,
) -> Result<(), StoreError> {
    let mut new = schema::open_writer(folder)?;
    let transaction = new.transaction()?;
    let mut copy = RepairCopy {
        old,
        new: &transaction,
        prefix,
        opener: RecordOpener::new(old),
        page: (0, Vec::new()),
        salts: (0, Vec::new(), Vec::new()),
        places: (0, Vec::new()),
        acts: BTreeSet::new(),
        begun: BTreeMap::new(),
    };
    let origin: Vec<u8> = old.query_row("SELECT origin FROM meta", [], |row| row.get(0))?;
    transaction
        .execute("UPDATE meta SET origin = ?1, settled = ?2", params![origin, prefix.last])?;
    copy.sessions()?;
    let mut copied = Ok(());
    let _ = record_page::each(old, &(1..=prefix.last), &mut |raw| {
        copied = copy.record(raw);
        Ok(if copied.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    copied?;
    copy.put_leaf()?;
    copy.put_salts()?;
    copy.put_places()?;
    copy.rest(is_cut);
    transaction.commit()?;
    Ok(())
}

struct RepairCopy<'c> {
    old: &'c Connection,
    new: &'c Connection,
    prefix: &'c SoundPrefix,
    opener: RecordOpener<'c>,
    /// Number of the first record, and the records.
    page: (i64, Vec<u8>),
    /// Number of the first record, its and the next sessions, their salts.
    salts: (i64, Vec<i64>, Vec<u8>),
    /// Number of the first record, its and the next sessions.
    places: (i64, Vec<i64>),
    /// Acts without an outcome, by session and effect.
    acts: BTreeSet<(i64, i64)>,
    /// Records so far, by session.
    begun: BTreeMap<i64, i64>,
}

impl RepairCopy<'_> {
    /// Sessions that have records, and their keys; and the latest, whose id must not be given again.
    fn sessions(&self) -> Result<(), StoreError> {
        for (id, seen) in &self.prefix.sessions {
            let row = self
                .old
                .prepare_cached(
                    "SELECT name, owner, created, forgotten, wake FROM session WHERE id = ?1",
                )?
                .query_row([id], |row| {
                    Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
                })
                .optional()?;
            // A session that was taken away stays so.
            let Some([name, owner, created, forgotten, wake]): Option<[Value; 5]> = row else {
                continue;
            };
            if *id == 0 {
                self.new.execute(
                    "UPDATE session SET records = ?1, last = ?2, last_at = ?3 WHERE id = 0",
                    params![seen.records, seen.last, seen.last_at],
                )?;
                continue;
            }
            let key = "SELECT key, state_salt FROM session_key WHERE session = ?1";
            let key: Option<(Vec<u8>, Vec<u8>)> = self
                .old
                .prepare_cached(key)?
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let (key, state_salt) = key.unwrap_or_else(|| (vec![0; 32], vec![0; SALT_BYTES]));
            self.new.execute(
                "INSERT INTO session (id, name, owner, created, forgotten, wake, head_seq, records,
                                      last, last_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    id,
                    name,
                    owner,
                    created,
                    forgotten,
                    wake,
                    seen.head_seq,
                    seen.records,
                    seen.last,
                    seen.last_at
                ],
            )?;
            self.new.execute(
                "INSERT INTO session_key (session, key, state_salt) VALUES (?1, ?2, ?3)",
                params![id, key, state_salt],
            )?;
        }
        Ok(())
    }

    fn record(&mut self, raw: &RawRecord<'_>) -> Result<(), StoreError> {
        if self.page.1.len() + raw.bytes() > PAGE_BODY_BYTES {
            self.put_leaf()?;
        }
        if self.page.1.is_empty() {
            self.page.0 = raw.number;
        }
        raw.write(&mut self.page.1);
        if let StoredBody::Compacted(bytes) = raw.stored {
            return self.gap(raw, bytes);
        }
        if let StoredBody::Blob(address) = raw.stored {
            let sql = "SELECT bytes FROM blob WHERE hash = ?1";
            let bytes: Option<Vec<u8>> =
                self.old.query_row(sql, [address], |row| row.get(0)).optional().unwrap_or(None);
            if let Some(bytes) = bytes {
                self.new
                    .prepare_cached("INSERT OR IGNORE INTO blob (hash, bytes) VALUES (?1, ?2)")?
                    .execute(params![address, bytes])?;
            }
        }
        self.salt(raw)?;
        if self.places.1.is_empty() {
            self.places.0 = raw.number;
        }
        self.places.1.push(raw.session);
        if self.places.1.len() as u64 >= count(BLOCK_RECORDS) {
            self.put_places()?;
        }
        self.milestone(raw)?;
        self.follow(raw)
    }

    /// The salt of a record; nothing, if it cannot be read with it.
    fn salt(&mut self, raw: &RawRecord<'_>) -> Result<(), StoreError> {
        let salt: Salt = match self.prefix.unreadable.contains(&raw.number) {
            true => [0; SALT_BYTES],
            false => self.opener.salt_of(raw.number)?.unwrap_or_default(),
        };
        if self.salts.1.is_empty() {
            self.salts.0 = raw.number;
        }
        self.salts.1.push(raw.session);
        self.salts.2.extend_from_slice(&salt);
        if self.salts.1.len() >= SALTS_PER_ROW {
            self.put_salts()?;
        }
        Ok(())
    }

    fn milestone(&mut self, raw: &RawRecord<'_>) -> Result<(), StoreError> {
        let seen = self.begun.entry(raw.session).or_default();
        *seen += 1;
        let first = self.prefix.sessions.get(&raw.session).map(|seen| seen.first);
        let reached = match raw.seq {
            _ if *seen == 1 && first == Some(raw.number) => 0,
            Some(seq) if count(seq).is_multiple_of(MILESTONE_INTERVAL) => seq,
            _ => return Ok(()),
        };
        self.new
            .prepare_cached("INSERT INTO milestone (session, seq, number) VALUES (?1, ?2, ?3)")?
            .execute(params![raw.session, reached, raw.number])?;
        Ok(())
    }

    /// Follows acts from their intent to their outcome.
    fn follow(&mut self, raw: &RawRecord<'_>) -> Result<(), StoreError> {
        let is_intent = raw.kind == b"act";
        if !is_intent && raw.kind != b"acted" && raw.kind != b"settled" {
            return Ok(());
        }
        let OpenedBody::Text(text) = self.opener.body(raw)? else { return Ok(()) };
        let text = String::from_utf8_lossy(&text).into_owned();
        let Ok(tree) = bridle_sexp::read_one(&text) else { return Ok(()) };
        let Some(effect) =
            tree.root().to_value().get("effect").and_then(bridle_sexp::Value::as_i64)
        else {
            return Ok(());
        };
        match is_intent {
            true => self.acts.insert((raw.session, effect)),
            false => self.acts.remove(&(raw.session, effect)),
        };
        Ok(())
    }

    /// Records that were compacted: rows end before them and begin behind them.
    fn gap(&mut self, raw: &RawRecord<'_>, bytes: &[u8]) -> Result<(), StoreError> {
        self.put_salts()?;
        self.put_places()?;
        let span = crate::compacted_span::CompactedSpan::read(raw.number, raw.hash, bytes);
        let sessions = span.map(|span| span.sessions).unwrap_or_default();
        // Of a session that was taken away nothing is left that a milestone could lead to.
        for it in sessions.iter().filter(|it| self.prefix.sessions.contains_key(&it.session)) {
            let seen = self.begun.entry(it.session).or_default();
            if *seen == 0 {
                self.new
                    .prepare_cached(
                        "INSERT INTO milestone (session, seq, number) VALUES (?1, 0, ?2)",
                    )?
                    .execute(params![it.session, it.first])?;
            }
            *seen += database::int(it.records);
        }
        self.places = (raw.number, sessions.iter().map(|it| it.session).collect());
        self.put_places()
    }

    fn put_leaf(&mut self) -> Result<(), StoreError> {
        let (first, records) = (self.page.0, std::mem::take(&mut self.page.1));
        match records.is_empty() {
            true => Ok(()),
            false => record_page::insert(self.new, first, &records),
        }
    }

    fn put_salts(&mut self) -> Result<(), StoreError> {
        let (first, sessions, salts) = std::mem::take(&mut self.salts);
        if !sessions.is_empty() {
            self.new
                .prepare_cached("INSERT INTO salt (first, sessions, salts) VALUES (?1, ?2, ?3)")?
                .execute(params![first, session_ranges::pack(&sessions), salts])?;
        }
        Ok(())
    }

    fn put_places(&mut self) -> Result<(), StoreError> {
        let (first, sessions) = std::mem::take(&mut self.places);
        if !sessions.is_empty() {
            self.new
                .prepare_cached("INSERT INTO place (first, sessions) VALUES (?1, ?2)")?
                .execute(params![first, session_ranges::pack(&sessions)])?;
        }
        Ok(())
    }

    /// States, receipts, what waits for an outcome and what is used of budgets, as far as they can be read.
    fn rest(&mut self, is_cut: bool) {
        // What cannot be read of these is lost, and nothing that was promised depends on it: states are computed
        // from the records, a receipt that is missing lets a message be sent twice after a repair alone.
        let _ = self.checkpoints();
        let _ = self.receipts();
        let _ = self.open_effects(is_cut);
        let _ = self.spendings();
    }

    fn checkpoints(&mut self) -> Result<(), StoreError> {
        for id in self.prefix.sessions.keys() {
            let Ok(Some((number, _))) = self.opener.checkpoint(*id) else { continue };
            let within = database::int(number.0) <= self.prefix.last;
            let sql = "SELECT state FROM checkpoint WHERE session = ?1";
            let state: Vec<u8> = self.old.query_row(sql, [id], |row| row.get(0))?;
            if within {
                self.new.execute(
                    "INSERT INTO checkpoint (session, number, state) VALUES (?1, ?2, ?3)",
                    params![id, database::int(number.0), state],
                )?;
            }
        }
        Ok(())
    }

    fn receipts(&self) -> Result<(), StoreError> {
        let mut statement = self.old.prepare("SELECT at, entries FROM receipt ORDER BY first")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (at, packed): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
            let entries = packed.as_chunks::<RECEIPT_BYTES>().0.iter();
            let last = count(self.prefix.last);
            let kept: Vec<_> = entries.filter(|it| ReceiptEntry::read(it).number <= last).collect();
            let Some(first) = kept.first().map(|entry| ReceiptEntry::read(entry).number) else {
                continue;
            };
            let bytes: Vec<u8> = kept.iter().flat_map(|entry| **entry).collect();
            self.new.execute(
                "INSERT OR IGNORE INTO receipt (first, at, entries) VALUES (?1, ?2, ?3)",
                params![database::int(first), at, bytes],
            )?;
            for entry in kept {
                self.new.execute(
                    "UPDATE session SET receipts = receipts + 1 WHERE id = ?1",
                    [ReceiptEntry::read(entry).session],
                )?;
            }
        }
        Ok(())
    }

    /// Copies the effects that wait for an outcome. Where records are gone, an act without an outcome may have been
    /// begun, and ended: so that it is not carried out once more, it counts as begun.
    fn open_effects(&self, is_cut: bool) -> Result<(), StoreError> {
        let add = "INSERT OR REPLACE INTO open_effect (session, effect, deadline, started)
                   VALUES (?1, ?2, ?3, ?4)";
        if is_cut {
            for (session, effect) in &self.acts {
                self.new.execute(add, params![session, effect, None::<i64>, 1])?;
            }
            return Ok(());
        }
        let mut statement =
            self.old.prepare("SELECT session, effect, deadline, started FROM open_effect")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let columns: [Value; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            self.new.execute(add, columns)?;
        }
        Ok(())
    }

    fn spendings(&self) -> Result<(), StoreError> {
        let mut statement = self.old.prepare("SELECT principal, bytes, at FROM spent")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let columns: [Value; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
            self.new
                .execute("INSERT INTO spent (principal, bytes, at) VALUES (?1, ?2, ?3)", columns)?;
        }
        Ok(())
    }
}
