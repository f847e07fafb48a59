//! Opening what is sealed, with the keys and salts of one moment. Remembers them for as long as one
//! call reads, never longer: a key that was destroyed is not kept alive by a reader.

use std::collections::{HashMap, VecDeque};
use std::ops::{ControlFlow, RangeInclusive};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::ReceiptRow;
use crate::append::MessageReceipt;
use crate::chain::{self, SessionIdentity};
use crate::cipher::{self, SALT_BYTES, Salt, SealLabel, SealPlace, SessionKey};
use crate::compacted_span::CompactedSpan;
use crate::database::{self, count};
use crate::error::StoreError;
use crate::receipts::{self, MAX_RECEIPTS, RECEIPT_BYTES, ReceiptEntry};
use crate::record::{Record, RecordBody, RecordNumber};
use crate::record_page::{self, PageRecords, RawRecord, SharedPartPlace, StoredBody};
use crate::session_ranges;

/// Opens the records of one moment.
pub(crate) struct RecordOpener<'c> {
    connection: &'c Connection,
    sessions: HashMap<i64, SessionSecrets>,
    /// Rows of salts, of the record that was opened last and of some that follow.
    salts: VecDeque<SaltRow>,
    /// The record behind those of which salts were needed so far.
    next: i64,
}

/// A row of salts: of which record the first is, and one after the other.
struct SaltRow(i64, Vec<u8>);

impl SaltRow {
    fn of(&self, number: i64) -> Option<Salt> {
        let index = usize::try_from(number.checked_sub(self.0)?).ok()?;
        self.1.as_chunks::<SALT_BYTES>().0.get(index).copied()
    }

    /// The record behind its own.
    fn end(&self) -> i64 {
        self.0.saturating_add(database::int((self.1.len() / SALT_BYTES) as u64))
    }
}

/// Rows of salts that are read at once by who reads on. A commit of one prompt has a row of its own, and
/// to look each of them up takes longer than to open what it is for.
const ROWS_AHEAD: i64 = 16;

/// Rows of salts, from that of a record on.
pub(super) const SALTS_FROM: &str = "SELECT first, salts FROM salt
    WHERE first >= (SELECT max(first) FROM salt WHERE first <= ?1) ORDER BY first LIMIT ?2";

/// Records that may lie between two for somebody to be reading on: a row has at most as many salts.
const NEARBY_RECORDS: i64 = 64;

/// A session, as far as its records need it.
struct SessionSecrets {
    name: Vec<u8>,
    identity: SessionIdentity,
    /// The daemon itself has none.
    key: Option<SessionKey>,
}

/// Body of a record, as far as it can be opened.
pub(crate) enum OpenedBody {
    /// The text.
    Text(Vec<u8>),
    /// The session's key is destroyed.
    NoKey,
    /// The salt of this record is destroyed: its own, or of one that it shares a part with.
    NoSalt(i64),
    /// Key, salt and sealed bytes do not belong together.
    Wrong,
    /// The blob is not there, or not the one that was kept.
    NoBlob,
    /// The record that it shares a part with cannot be read.
    NoOther(i64),
}

impl<'c> RecordOpener<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { connection, sessions: HashMap::new(), salts: VecDeque::new(), next: i64::MIN }
    }

    /// A record, opened and believed.
    pub(crate) fn record(&mut self, raw: &RawRecord<'_>) -> Result<Record, StoreError> {
        let number = raw.number;
        let damaged = |what: &str| StoreError::Damaged(format!("record `{number}` {what}").into());
        let text = |bytes| String::from_utf8(bytes).map_err(|_| damaged("has bytes for text"));
        let body = match self.body(raw)? {
            OpenedBody::Text(bytes) => RecordBody::Text(text(bytes)?),
            OpenedBody::NoKey | OpenedBody::NoSalt(_) => RecordBody::Erased,
            OpenedBody::Wrong | OpenedBody::NoOther(_) => return Err(damaged("cannot be opened")),
            OpenedBody::NoBlob => return Err(damaged("has lost its body")),
        };
        let session = &self.session(raw.session)?.ok_or_else(|| damaged("has no session"))?.name;
        Ok(Record {
            session: text(session.clone())?.into(),
            number: RecordNumber(count(number)),
            seq: raw.seq.map(count),
            at: raw.at,
            cause: raw.cause.map(|cause| RecordNumber(count(cause))),
            principal: text(raw.principal.into())?.into(),
            kind: text(raw.kind.into())?.into(),
            version: u32::try_from(raw.version).map_err(|_| damaged("has no version"))?,
            body,
            prev: raw.prev,
            hash: raw.hash,
        })
    }

    /// Opens the body of a record.
    pub(crate) fn body(&mut self, raw: &RawRecord<'_>) -> Result<OpenedBody, StoreError> {
        match raw.stored {
            StoredBody::Inline(bytes) => self.unseal(raw, bytes.to_vec()),
            StoredBody::Blob(address) => match self.blob(address)? {
                Some(bytes) => self.unseal(raw, bytes),
                // What is forgotten need not be there.
                None if self.is_destroyed(raw)? => Ok(OpenedBody::NoSalt(raw.number)),
                None => Ok(OpenedBody::NoBlob),
            },
            StoredBody::Shared(bytes) => match self.unseal(raw, bytes.to_vec())? {
                OpenedBody::Text(bytes) => self.shared(raw, &bytes),
                other => Ok(other),
            },
            StoredBody::Compacted(bytes) => self.span(raw, bytes),
        }
    }

    /// Number of the record that a record shares a part with, if it does and can be read.
    pub(crate) fn shares_with(&mut self, raw: &RawRecord<'_>) -> Result<Option<i64>, StoreError> {
        let StoredBody::Shared(bytes) = raw.stored else { return Ok(None) };
        let OpenedBody::Text(bytes) = self.unseal(raw, bytes.to_vec())? else { return Ok(None) };
        let part = SharedPartPlace::read(&bytes).map(|(part, _)| part.later);
        Ok(part.map(|later| database::int(count(raw.number).saturating_add(later))))
    }

    /// Whether nobody can read a record any more: its key or its salt is destroyed, or that of the record
    /// that it shares a part with.
    pub(crate) fn is_erased(&mut self, raw: &RawRecord<'_>) -> Result<bool, StoreError> {
        if let StoredBody::Shared(_) = raw.stored {
            return Ok(matches!(self.body(raw)?, OpenedBody::NoKey | OpenedBody::NoSalt(_)));
        }
        self.is_destroyed(raw)
    }

    fn is_destroyed(&mut self, raw: &RawRecord<'_>) -> Result<bool, StoreError> {
        Ok(self.salt(raw.number)?.is_some_and(|salt| cipher::is_destroyed(&salt)))
    }

    /// Returns the facts about compacted records, with the names that their sessions still have.
    fn span(&mut self, raw: &RawRecord<'_>, bytes: &[u8]) -> Result<OpenedBody, StoreError> {
        let Some(span) = CompactedSpan::read(raw.number, raw.hash, bytes) else {
            return Ok(OpenedBody::Wrong);
        };
        let mut names = HashMap::new();
        for it in &span.sessions {
            let name = self.session(it.session)?.map(|session| session.name.clone());
            names.insert(it.session, name.and_then(|name| String::from_utf8(name).ok()));
        }
        let text = span.text(|id| names.remove(&id).flatten());
        Ok(OpenedBody::Text(text.into_bytes()))
    }

    /// Puts a body together of which a part stands in another record.
    fn shared(&mut self, raw: &RawRecord<'_>, bytes: &[u8]) -> Result<OpenedBody, StoreError> {
        let Some((part, own)) = SharedPartPlace::read(bytes) else { return Ok(OpenedBody::Wrong) };
        let number = database::int(count(raw.number).saturating_add(part.later));
        let mut near = PageRecords::new(raw.rest).flatten();
        // Mostly it is in the same record page.
        if let Some(other) = near.find(|other| other.number == number) {
            return self.put_together(raw, part, own, &other);
        }
        let (connection, mut opened) = (self.connection, OpenedBody::NoOther(number));
        let found = record_page::each_reaching(connection, &(number..=number), &mut |other| {
            opened = match other.stored {
                // It was forgotten before that.
                StoredBody::Compacted(_) => OpenedBody::NoSalt(number),
                _ => self.put_together(raw, part, own, other)?,
            };
            Ok(ControlFlow::Break(()))
        });
        match found {
            // Where the file is damaged, it is the other one that cannot be read.
            Ok(_) | Err(StoreError::Damaged(_)) => Ok(opened),
            Err(error) => Err(error),
        }
    }

    fn put_together(
        &mut self,
        raw: &RawRecord<'_>,
        part: SharedPartPlace,
        own: &[u8],
        other: &RawRecord<'_>,
    ) -> Result<OpenedBody, StoreError> {
        if other.session != raw.session || matches!(other.stored, StoredBody::Shared(_)) {
            return Ok(OpenedBody::NoOther(other.number));
        }
        Ok(match self.body(other)? {
            OpenedBody::Text(text) => {
                part.put_in(own, &text).map_or(OpenedBody::Wrong, OpenedBody::Text)
            }
            OpenedBody::Wrong | OpenedBody::NoBlob => OpenedBody::NoOther(other.number),
            gone => gone,
        })
    }

    /// Opens the stored bytes of a record.
    fn unseal(&mut self, raw: &RawRecord<'_>, stored: Vec<u8>) -> Result<OpenedBody, StoreError> {
        if raw.session == 0 {
            return Ok(OpenedBody::Text(stored));
        }
        let salt = self.salt(raw.number)?;
        let Some(key) = self.session(raw.session)?.and_then(|session| session.key.as_ref()) else {
            return Ok(OpenedBody::Wrong);
        };
        if key.is_destroyed() {
            return Ok(OpenedBody::NoKey);
        }
        let Some(salt) = salt else { return Ok(OpenedBody::Wrong) };
        if cipher::is_destroyed(&salt) {
            return Ok(OpenedBody::NoSalt(raw.number));
        }
        let place = SealPlace { label: SealLabel::Body, number: count(raw.number), salt: &salt };
        Ok(key.open(place, stored).map_or(OpenedBody::Wrong, OpenedBody::Text))
    }

    /// The last state of a session, and the record it was made after.
    pub(crate) fn checkpoint(
        &mut self,
        session: i64,
    ) -> Result<Option<(RecordNumber, String)>, StoreError> {
        let found: Option<(i64, Vec<u8>, Vec<u8>)> = self
            .connection
            .prepare_cached(
                "SELECT number, state, state_salt FROM checkpoint JOIN session_key USING (session)
                 WHERE session = ?1",
            )?
            .query_row([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((number, sealed, salt)) = found else { return Ok(None) };
        let damaged = || StoreError::Damaged(format!("the state after record `{number}`").into());
        let salt: Salt = salt.try_into().map_err(|_| damaged())?;
        let place = SealPlace { label: SealLabel::State, number: count(number), salt: &salt };
        let opened = self.open(session, place, sealed)?.ok_or_else(damaged)?;
        Ok(Some((RecordNumber(count(number)), String::from_utf8(opened).map_err(|_| damaged())?)))
    }

    /// The latest receipts of a session that are not older than `since`, oldest first. `last` is the
    /// number of its last record that is settled.
    pub(crate) fn receipts(
        &mut self,
        session: i64,
        last: i64,
        since: i64,
    ) -> Result<Vec<ReceiptRow>, StoreError> {
        let connection = self.connection;
        let given: i64 = connection
            .prepare_cached("SELECT receipts FROM session WHERE id = ?1")?
            .query_row([session], |row| row.get(0))?;
        let mut later = receipts::after(connection, session_ranges::settled_up_to(connection)?)?;
        later.retain(|entry| entry.session == session);
        let most = (count(given) + later.len() as u64).min(MAX_RECEIPTS);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut receipts = Vec::new();
        let mut add = |entries: &[ReceiptEntry]| {
            for entry in entries.iter().rev().filter(|entry| entry.at >= since) {
                receipts.extend(self.receipt(entry)?);
            }
            let full = receipts.len() >= most;
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        if add(&later)?.is_continue() {
            let within = oldest_receipt(connection)?..=last;
            let _ = session_ranges::settled_backward(connection, &within, &mut |places| {
                let mut numbers = places.of(session);
                let Some(first) = numbers.next() else { return Ok(ControlFlow::Continue(())) };
                let last = numbers.last().unwrap_or(first);
                let mut entries = receipts_within(connection, first..=last)?;
                entries.retain(|entry| entry.session == session);
                add(&entries)
            })?;
        }
        receipts.truncate(most);
        receipts.reverse();
        Ok(receipts)
    }

    /// A receipt, unless it is forgotten with its record or its session.
    fn receipt(&mut self, entry: &ReceiptEntry) -> Result<Option<ReceiptRow>, StoreError> {
        let salt =
            self.salt(database::int(entry.number))?.filter(|salt| !cipher::is_destroyed(salt));
        let session = self.session(entry.session)?;
        let key =
            session.and_then(|session| session.key.as_ref()).filter(|key| !key.is_destroyed());
        let (Some(salt), Some(key)) = (salt, key) else { return Ok(None) };
        let MessageReceipt { message, body } = entry.open(key, &salt);
        Ok(Some(ReceiptRow { seq: entry.seq, at: entry.at, message, body }))
    }

    /// Returns the identity of a session, for the hash of its records.
    pub(crate) fn identity(&mut self, id: i64) -> Result<Option<SessionIdentity>, StoreError> {
        Ok(self.session(id)?.map(|session| session.identity))
    }

    fn open(
        &mut self,
        session: i64,
        place: SealPlace<'_>,
        sealed: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = self.session(session)?.and_then(|session| session.key.as_ref());
        Ok(key.and_then(|key| key.open(place, sealed)))
    }

    fn session(&mut self, id: i64) -> Result<Option<&SessionSecrets>, StoreError> {
        if !self.sessions.contains_key(&id) {
            let found = self
                .connection
                .prepare_cached(
                    "SELECT name, owner, created, (SELECT key FROM session_key WHERE session = id)
                     FROM session WHERE id = ?1",
                )?
                .query_row([id], |row| {
                    let key: Option<Vec<u8>> = row.get(3)?;
                    let name = bytes(row, 0)?;
                    Ok(SessionSecrets {
                        identity: SessionIdentity::new(id, &name, &bytes(row, 1)?, row.get(2)?),
                        name,
                        key: key.as_deref().and_then(SessionKey::from_bytes),
                    })
                })
                .optional()?;
            let Some(session) = found else { return Ok(None) };
            self.sessions.insert(id, session);
        }
        Ok(self.sessions.get(&id))
    }

    /// The salt of a record; `None` if there is none.
    pub(crate) fn salt_of(&mut self, number: i64) -> Result<Option<Salt>, StoreError> {
        self.salt(number)
    }

    fn salt(&mut self, number: i64) -> Result<Option<Salt>, StoreError> {
        while let Some(salts) = self.salts.front() {
            if let Some(salt) = salts.of(number) {
                return Ok(Some(salt));
            }
            self.next = salts.end();
            self.salts.pop_front();
        }
        let reads_on = (0..=NEARBY_RECORDS).contains(&number.saturating_sub(self.next));
        let mut statement = self.connection.prepare_cached(SALTS_FROM)?;
        let rows = statement
            .query_map(params![number, if reads_on { ROWS_AHEAD } else { 1 }], |row| {
                Ok(SaltRow(row.get(0)?, row.get(1)?))
            })?;
        self.salts = rows.collect::<Result<_, _>>()?;
        Ok(self.salts.front().and_then(|salts| salts.of(number)))
    }

    fn blob(&self, address: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT bytes FROM blob WHERE hash = ?1")?
            .query_row([address], |row| row.get(0))
            .optional()?;
        Ok(bytes.filter(|bytes| chain::address(bytes).as_bytes() == address))
    }
}

/// A text column, whose bytes need not be text any more.
fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(column)?.as_bytes_or_null()?.unwrap_or_default().to_vec())
}

/// Number of the oldest record that has a receipt; without any, a number that no record has.
fn oldest_receipt(connection: &Connection) -> Result<i64, StoreError> {
    let oldest: Option<i64> = connection
        .prepare_cached("SELECT min(first) FROM receipt")?
        .query_row([], |row| row.get(0))?;
    Ok(oldest.unwrap_or(i64::MAX))
}

/// The receipts of all sessions for a range of records, oldest first. A row may begin before it.
fn receipts_within(
    connection: &Connection,
    numbers: RangeInclusive<i64>,
) -> Result<Vec<ReceiptEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT entries FROM receipt
         WHERE first >= coalesce((SELECT max(first) FROM receipt WHERE first <= ?1), 0)
               AND first <= ?2
         ORDER BY first",
    )?;
    let mut rows = statement.query(params![numbers.start(), numbers.end()])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let packed: Vec<u8> = row.get(0)?;
        let read = packed.as_chunks::<RECEIPT_BYTES>().0.iter().map(ReceiptEntry::read);
        entries.extend(read.filter(|entry| numbers.contains(&database::int(entry.number))));
    }
    Ok(entries)
}
