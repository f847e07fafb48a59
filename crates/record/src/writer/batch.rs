//! One transaction: how appends become rows. Called by the store, which begins and commits it; if
//! anything here fails, nothing of it is kept.

use rusqlite::{Connection, params};

use super::known::{CachedSession, SessionSlot, WriterCache};
use super::{MAX_BODY, MAX_INLINE_BODY_BYTES};
use crate::append::{
    AppendNumbers, NewRecord, NewSessionRow, RecordAppend, RecordCause, StateCheckpoint, WakeTime,
};
use crate::append::{NewOpenEffect, SharedPart, valid_session_name};
use crate::chain;
use crate::cipher::{self, SALT_BYTES, Salt, SealLabel, SealPlace, SessionKey};
use crate::database::int;
use crate::error::{AppendRefusal, StoreError};
use crate::fault;
use crate::receipts::RECEIPT_AGE;
use crate::receipts::{self, RECEIPT_BYTES, RECEIPTS_PER_ROW, ReceiptEntry};
use crate::record::{ChainHead, RecordNumber};
use crate::record_page::{PageWriter, RecordFacts, RecordFields, SharedPartPlace};
use crate::schema::{BLOCK_RECORDS, MILESTONE_INTERVAL};
use crate::session_ranges;
use crate::spending;

/// Salts in one row: a kilobyte, so that several rows share a page of the file.
const SALTS_PER_ROW: usize = 64;

/// Version that every kind has today.
const KIND_VERSION: u64 = 1;

/// A transaction under way.
pub(crate) struct CommitBatch<'t> {
    connection: &'t Connection,
    known: &'t mut WriterCache,
    /// Records that are not in the table yet.
    page: PageWriter,
    /// Buffer for the fields of a record.
    fields: RecordFields,
    /// One for each record that will come.
    salts: Vec<Salt>,
    /// The session of each record so far.
    sessions: Vec<i64>,
    /// Number of the first record.
    first: u64,
    /// Receipts of the drafts so far, one entry after the other.
    receipts: Vec<u8>,
    /// The session that was written to last: mostly it is the next one too.
    recent: Option<SessionSlot>,
    /// Index of the append under way, for refusals.
    append: usize,
}

impl<'t> CommitBatch<'t> {
    /// Begins to write at most `drafts` records, whose bodies have about so many bytes.
    pub(crate) fn new(
        connection: &'t Connection,
        known: &'t mut WriterCache,
        drafts: usize,
        bytes: usize,
    ) -> Result<Self, StoreError> {
        let mut salts = vec![[0; SALT_BYTES]; drafts];
        getrandom::fill(salts.as_flattened_mut()).map_err(StoreError::Random)?;
        let first = known.head.number.0 + 1;
        let (sessions, receipts) = (Vec::with_capacity(drafts), Vec::new());
        Ok(Self {
            connection,
            known,
            page: PageWriter::new(bytes),
            fields: RecordFields::default(),
            salts,
            sessions,
            first,
            receipts,
            recent: None,
            append: 0,
        })
    }

    /// Writes one append.
    pub(crate) fn append(
        &mut self,
        index: usize,
        append: &RecordAppend,
    ) -> Result<AppendNumbers, StoreError> {
        self.append = index;
        if let Some(session) = &append.session {
            self.begin(session)?;
        }
        let numbers =
            AppendNumbers { first: self.known.head.number.0 + 1, count: append.drafts.len() };
        for (index, draft) in append.drafts.iter().enumerate() {
            let part = self.part(&append.drafts, index)?;
            self.draft(draft, part, index, numbers)?;
            fault::point("store.record");
        }
        self.effects(append)?;
        if let Some(checkpoint) = &append.checkpoint {
            self.checkpoint(checkpoint)?;
        }
        if let Some(wake) = &append.wake {
            self.wake(wake)?;
        }
        if let Some(spent) = &append.spent {
            spending::note(self.connection, spent)?;
        }
        fault::point("store.tables");
        Ok(numbers)
    }

    /// Writes what belongs to the transaction as a whole.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        self.page.put(self.connection)?;
        let written = usize::try_from(self.known.head.number.0 + 1 - self.first).unwrap_or(0);
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO salt (first, sessions, salts) VALUES (?1, ?2, ?3)")?;
        let mut first = self.first;
        let salts = self.salts[..written].chunks(SALTS_PER_ROW);
        for (salts, sessions) in salts.zip(self.sessions.chunks(SALTS_PER_ROW)) {
            insert.execute(params![
                int(first),
                session_ranges::pack(sessions),
                salts.as_flattened()
            ])?;
            first += salts.len() as u64;
        }
        self.write_receipts()?;
        if self.ends_block() {
            self.settle()?;
            self.known.thin_out();
        }
        Ok(())
    }

    /// Whether the commit filled a block.
    fn ends_block(&self) -> bool {
        let block = |number: u64| int(number) / BLOCK_RECORDS;
        block(self.first) != block(self.known.head.number.0 + 1)
    }

    /// Brings the tables of sessions and places up to date.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE session SET head_seq = ?2, records = ?3, last = ?4, last_at = ?5, receipts = ?6
             WHERE id = ?1",
        )?;
        for slot in std::mem::take(&mut self.known.behind) {
            let live = &mut self.known[slot];
            live.behind = false;
            let CachedSession { id, head_seq, records, last, last_at, receipts, .. } = &*live;
            update.execute(params![
                id,
                int(*head_seq),
                int(*records),
                int(*last),
                last_at,
                int(*receipts)
            ])?;
        }
        let head = int(self.known.head.number.0);
        let places = std::mem::take(&mut self.known.unsettled);
        if !places.is_empty() {
            let first = head + 1 - int(places.len() as u64);
            self.connection
                .prepare_cached("INSERT INTO place (first, sessions) VALUES (?1, ?2)")?
                .execute(params![first, session_ranges::pack(&places)])?;
        }
        self.connection.prepare_cached("UPDATE meta SET settled = ?1")?.execute([head])?;
        Ok(())
    }

    /// Writes the receipts. Those that count no more are dropped, two blocks for each one that was
    /// filled.
    fn write_receipts(&self) -> Result<(), StoreError> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO receipt (first, at, entries) VALUES (?1, ?2, ?3)")?;
        for chunk in self.receipts.as_chunks::<RECEIPT_BYTES>().0.chunks(RECEIPTS_PER_ROW) {
            let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { continue };
            let (first, last) = (ReceiptEntry::read(first), ReceiptEntry::read(last));
            insert.execute(params![int(first.number), last.at, chunk.as_flattened()])?;
        }
        if self.ends_block() {
            let since = self.known.latest_at.saturating_sub(RECEIPT_AGE);
            self.connection
                .prepare_cached(
                    "DELETE FROM receipt
                     WHERE first < (SELECT min(first) FROM receipt) + ?1 AND at < ?2",
                )?
                .execute(params![2 * BLOCK_RECORDS, since])?;
        }
        Ok(())
    }

    fn refuse<T>(&self, reason: AppendRefusal) -> Result<T, StoreError> {
        Err(StoreError::Refused { append: self.append, reason })
    }

    fn begin(&mut self, session: &NewSessionRow) -> Result<(), StoreError> {
        let NewSessionRow { name, owner, at } = session;
        if !valid_session_name(name) {
            return self.refuse(AppendRefusal::BadName(name.clone()));
        }
        if let Some(slot) = self.known.find(self.connection, name)?
            && !self.known[slot].forgotten
        {
            return self.refuse(AppendRefusal::SessionExists(name.clone()));
        }
        self.connection
            .prepare_cached(
                "INSERT INTO session (name, owner, created, last_at) VALUES (?1, ?2, ?3, ?3)",
            )?
            .execute(params![name, owner, at])?;
        let id = self.connection.last_insert_rowid();
        let key = SessionKey::new()?;
        self.connection
            .prepare_cached(
                "INSERT INTO session_key (session, key, state_salt) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![id, key.as_bytes(), [0_u8; SALT_BYTES]])?;
        self.recent = Some(self.known.add(CachedSession::begin(id, session, key)));
        Ok(())
    }

    /// A session that can be written to.
    fn live(&mut self, name: &str) -> Result<SessionSlot, StoreError> {
        let slot = match self.recent {
            Some(slot) if *self.known[slot].name == *name => slot,
            _ => match self.known.find(self.connection, name)? {
                Some(slot) => slot,
                None => return self.refuse(AppendRefusal::NoSession(name.into())),
            },
        };
        let live = &mut self.known[slot];
        if live.forgotten {
            return self.refuse(AppendRefusal::Forgotten(name.into()));
        }
        if !live.behind {
            live.behind = true;
            self.known.behind.push(slot);
        }
        self.recent = Some(slot);
        Ok(slot)
    }

    /// Returns the slot of a session, but not that of the daemon itself.
    fn sealed(&mut self, name: &str, what: &'static str) -> Result<SessionSlot, StoreError> {
        if name.is_empty() {
            return self.refuse(AppendRefusal::Daemon(what));
        }
        self.live(name)
    }

    /// The part of a draft that stands in another one.
    fn part(
        &self,
        drafts: &[NewRecord],
        index: usize,
    ) -> Result<Option<SharedPartPlace>, StoreError> {
        let draft = &drafts[index];
        let Some(SharedPart { from, with, at, bytes }) = draft.shared else { return Ok(None) };
        let other = drafts.get(with).filter(|other| {
            with > index && other.session == draft.session && other.shared.is_none()
        });
        let own = cut(draft, from, bytes);
        let same = own.is_some() && own == other.and_then(|other| cut(other, at, bytes));
        if !same || draft.session.is_empty() {
            return self.refuse(AppendRefusal::Shared { draft: index });
        }
        let later = (with - index) as u64;
        Ok(Some(SharedPartPlace { later, from, at, bytes }))
    }

    fn draft(
        &mut self,
        draft: &NewRecord,
        part: Option<SharedPartPlace>,
        index: usize,
        numbers: AppendNumbers,
    ) -> Result<(), StoreError> {
        self.check_size(draft.body.len())?;
        let cause = self.cause(draft.cause, index, numbers)?;
        let number = self.known.head.number.0 + 1;
        let slot = self.check_order(draft)?;
        let salt = self.salts[usize::try_from(number - self.first).unwrap_or(usize::MAX)];
        self.receipt(draft, index, slot, &salt)?;
        let live = &self.known[slot];
        self.fields.begin(&RecordFacts {
            number,
            session: live.id,
            seq: draft.seq,
            at: live.last_at,
            cause,
            version: KIND_VERSION,
            principal: &draft.principal,
            kind: draft.kind,
        });
        let place = SealPlace { label: SealLabel::Body, number, salt: &salt };
        let key = live.key.as_ref();
        let is_kept = match (part, key) {
            (Some(part), Some(key)) => store_rest(key, place, part, &draft.body, &mut self.fields),
            _ => false,
        };
        if !is_kept {
            store_body(self.connection, key, place, &draft.body, &mut self.fields)?;
        }
        let hash = self.fields.end(self.known.head.hash, &live.identity);
        self.page.add(number, &self.fields, &hash, self.connection)?;
        self.milestone(slot, draft.seq, number)?;
        self.remember(slot, ChainHead { number: RecordNumber(number), hash });
        Ok(())
    }

    /// Goes on from a record that is written.
    fn remember(&mut self, slot: SessionSlot, head: ChainHead) {
        let CachedSession { id, last_at, .. } = self.known[slot];
        self.sessions.push(id);
        self.known.unsettled.push(id);
        self.known.latest_at = self.known.latest_at.max(last_at);
        self.known.head = head;
    }

    /// Notes where a session begins, and every so many numbers of its stream.
    fn milestone(
        &self,
        slot: SessionSlot,
        seq: Option<u64>,
        number: u64,
    ) -> Result<(), StoreError> {
        let live = &self.known[slot];
        let reached = match seq {
            _ if live.records == 1 => 0,
            Some(seq) if seq.is_multiple_of(MILESTONE_INTERVAL) => seq,
            _ => return Ok(()),
        };
        self.connection
            .prepare_cached("INSERT INTO milestone (session, seq, number) VALUES (?1, ?2, ?3)")?
            .execute(params![live.id, int(reached), int(number)])?;
        Ok(())
    }

    fn check_size(&self, bytes: usize) -> Result<(), StoreError> {
        if bytes > MAX_BODY {
            return self.refuse(AppendRefusal::TooLarge { limit: MAX_BODY, got: bytes });
        }
        Ok(())
    }

    fn cause(
        &self,
        cause: RecordCause,
        index: usize,
        numbers: AppendNumbers,
    ) -> Result<Option<u64>, StoreError> {
        match cause {
            RecordCause::None => Ok(None),
            RecordCause::Number(RecordNumber(number)) if (1..numbers.first).contains(&number) => {
                Ok(Some(number))
            }
            RecordCause::Earlier(earlier) if earlier < index => {
                Ok(Some(numbers.first + earlier as u64))
            }
            _ => self.refuse(AppendRefusal::Cause { draft: index }),
        }
    }

    /// Counts the draft in its session, if it may follow. The session's last time is then the draft's,
    /// or a later one: the daemon's own records, made by many threads, may have to wait for it.
    fn check_order(&mut self, draft: &NewRecord) -> Result<SessionSlot, StoreError> {
        let NewRecord { session, seq, at, .. } = draft;
        let number = self.known.head.number.0 + 1;
        let slot = match seq {
            Some(_) => self.sealed(session, "stream")?,
            None => self.live(session)?,
        };
        let live = &mut self.known[slot];
        let (expected, last) = (live.head_seq + 1, live.last_at);
        match seq {
            Some(seq) if *seq != expected => {
                let refusal =
                    AppendRefusal::Seq { session: (&**session).into(), expected, got: *seq };
                return self.refuse(refusal);
            }
            Some(seq) => live.head_seq = *seq,
            None => {}
        }
        if *at < last && !session.is_empty() {
            return self.refuse(AppendRefusal::Backward {
                session: (&**session).into(),
                last,
                got: *at,
            });
        }
        let live = &mut self.known[slot];
        live.last_at = last.max(*at);
        live.records += 1;
        live.last = number;
        Ok(slot)
    }

    /// Notes the receipt of a draft that was counted, if it has one.
    fn receipt(
        &mut self,
        draft: &NewRecord,
        index: usize,
        slot: SessionSlot,
        salt: &Salt,
    ) -> Result<(), StoreError> {
        let Some(receipt) = &draft.receipt else { return Ok(()) };
        let live = &mut self.known[slot];
        let (Some(seq), Some(key)) = (draft.seq, &live.key) else {
            return self.refuse(AppendRefusal::Receipt { draft: index });
        };
        live.receipts += 1;
        let masked = receipts::mask(key, live.last, salt, receipt);
        let entry =
            ReceiptEntry { number: live.last, session: live.id, seq, at: live.last_at, masked };
        entry.write(&mut self.receipts);
        Ok(())
    }

    fn effects(&mut self, append: &RecordAppend) -> Result<(), StoreError> {
        for open @ NewOpenEffect { session, effect, deadline } in &append.opened {
            let slot = self.sealed(session, "effects")?;
            let id = self.known[slot].id;
            if append.closed.iter().any(|closed| closes(closed, open)) {
                continue;
            }
            self.connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO open_effect (session, effect, deadline)
                     VALUES (?1, ?2, ?3)",
                )?
                .execute(params![id, int(*effect), deadline])?;
        }
        for (session, effect) in &append.started {
            let slot = self.sealed(session, "effects")?;
            let id = self.known[slot].id;
            self.connection
                .prepare_cached(
                    "UPDATE open_effect SET started = 1 WHERE session = ?1 AND effect = ?2",
                )?
                .execute(params![id, int(*effect)])?;
        }
        for closed @ (session, effect) in &append.closed {
            let slot = self.sealed(session, "effects")?;
            let id = self.known[slot].id;
            if append.opened.iter().any(|open| closes(closed, open)) {
                continue;
            }
            self.connection
                .prepare_cached("DELETE FROM open_effect WHERE session = ?1 AND effect = ?2")?
                .execute(params![id, int(*effect)])?;
        }
        Ok(())
    }

    /// Puts a state in the place of the last one, under a new salt: the old one is gone with its own.
    pub(crate) fn checkpoint(&mut self, checkpoint: &StateCheckpoint) -> Result<(), StoreError> {
        self.check_size(checkpoint.state.len())?;
        let slot = self.sealed(&checkpoint.session, "state")?;
        let live = &self.known[slot];
        let salt: Salt = cipher::random()?;
        let place = SealPlace { label: SealLabel::State, number: live.last, salt: &salt };
        let key = live.key.as_ref().expect("every session has a key");
        let mut sealed = Vec::with_capacity(checkpoint.state.len() + cipher::TAG_BYTES);
        key.seal_into(place, &[checkpoint.state.as_bytes()], &mut sealed);
        let (id, last) = (live.id, live.last);
        self.connection
            .prepare_cached("UPDATE session_key SET state_salt = ?2 WHERE session = ?1")?
            .execute(params![id, salt])?;
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO checkpoint (session, number, state) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![id, int(last), sealed])?;
        Ok(())
    }

    fn wake(&mut self, wake: &WakeTime) -> Result<(), StoreError> {
        let slot = self.sealed(&wake.session, "wake time")?;
        let live = &mut self.known[slot];
        if live.wake == wake.at {
            return Ok(());
        }
        live.wake = wake.at;
        let id = live.id;
        self.connection
            .prepare_cached("UPDATE session SET wake = ?2 WHERE id = ?1")?
            .execute(params![id, wake.at])?;
        Ok(())
    }

    /// Writes one record that stands alone.
    pub(crate) fn add(&mut self, draft: &NewRecord) -> Result<RecordNumber, StoreError> {
        let numbers = AppendNumbers { first: self.known.head.number.0 + 1, count: 1 };
        self.draft(draft, None, 0, numbers)?;
        Ok(RecordNumber(numbers.first))
    }

    pub(crate) fn connection(&self) -> &'t Connection {
        self.connection
    }

    /// Lets a session be looked up anew.
    pub(crate) fn unknow(&mut self, name: &str) {
        self.known.remove(name);
        self.recent = None;
    }
}

/// So many bytes of a draft's body.
fn cut(draft: &NewRecord, from: usize, bytes: usize) -> Option<&[u8]> {
    draft.body.as_bytes().get(from..from.checked_add(bytes)?)
}

fn closes(closed: &(Box<str>, u64), open: &NewOpenEffect) -> bool {
    closed.0 == open.session && closed.1 == open.effect
}

/// Puts into the fields of a record what of its body does not stand in another one; `false` if that is too
/// much for them.
fn store_rest(
    key: &SessionKey,
    place: SealPlace<'_>,
    part: SharedPartPlace,
    body: &str,
    fields: &mut RecordFields,
) -> bool {
    let (written, body) = (part.write(), body.as_bytes());
    let (before, after) = (&body[..part.from], &body[part.from + part.bytes..]);
    let length = written.len() + before.len() + after.len() + cipher::TAG_BYTES;
    if length > MAX_INLINE_BODY_BYTES {
        return false;
    }
    fields.shared(length, |bytes| key.seal_into(place, &[&written, before, after], bytes));
    true
}

/// Puts a body into the fields of its record; a large one into a blob, and the hash of that into the fields.
fn store_body(
    connection: &Connection,
    key: Option<&SessionKey>,
    place: SealPlace<'_>,
    body: &str,
    fields: &mut RecordFields,
) -> Result<(), StoreError> {
    let length = body.len() + key.map_or(0, |_| cipher::TAG_BYTES);
    let store = |bytes: &mut Vec<u8>| match key {
        Some(key) => key.seal_into(place, &[body.as_bytes()], bytes),
        None => bytes.extend_from_slice(body.as_bytes()),
    };
    if length <= MAX_INLINE_BODY_BYTES {
        fields.inline(length, store);
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(length);
    store(&mut bytes);
    let address = chain::address(&bytes);
    connection
        .prepare_cached("INSERT OR IGNORE INTO blob (hash, bytes) VALUES (?1, ?2)")?
        .execute(params![address.as_bytes(), bytes])?;
    fields.blob(address);
    Ok(())
}
