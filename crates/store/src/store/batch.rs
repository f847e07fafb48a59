//! One transaction: how appends become rows. Called by the store, which begins and commits it; if
//! anything here fails, nothing of it is kept.

use rusqlite::{Connection, params};

use super::known::{Known, Live, Slot};
use super::receipts::{self, ENTRIES, ENTRY, Entry};
use super::{MAX_BODY, MAX_INLINE, RECEIPT_AGE};
use crate::append::{Append, Cause, Checkpoint, Draft, NewSession, Numbers, Wake};
use crate::append::{Open, Shared, valid_session_name};
use crate::chain;
use crate::error::{Error, Refusal};
use crate::fault;
use crate::leaf::{Facts, Fields, Leaf, Part};
use crate::places;
use crate::record::{Head, Number};
use crate::schema::{BLOCK, MILESTONE, int};
use crate::seal::{self, Label, Place, SALT, Salt, SessionKey};
use crate::spending;

/// Salts in one row: a kilobyte, so that several rows share a page of the file.
const SALTS: usize = 64;

/// Version that every kind has today.
const KIND_VERSION: u64 = 1;

/// A transaction under way.
pub(crate) struct Batch<'t> {
    connection: &'t Connection,
    known: &'t mut Known,
    /// Records that are not in the table yet.
    leaf: Leaf,
    /// Where the fields of a record are put together.
    fields: Fields,
    /// One for each record that will come.
    salts: Vec<Salt>,
    /// The session of each record so far.
    sessions: Vec<i64>,
    /// Number of the first record.
    first: u64,
    /// Receipts of the drafts so far, one entry after the other.
    receipts: Vec<u8>,
    /// The session that was written to last: mostly it is the next one too.
    recent: Option<Slot>,
    /// Index of the append under way, for refusals.
    append: usize,
}

impl<'t> Batch<'t> {
    /// Begins to write at most `drafts` records, whose bodies have about so many bytes.
    pub(crate) fn new(
        connection: &'t Connection,
        known: &'t mut Known,
        drafts: usize,
        bytes: usize,
    ) -> Result<Self, Error> {
        let mut salts = vec![[0; SALT]; drafts];
        getrandom::fill(salts.as_flattened_mut()).map_err(Error::Random)?;
        let first = known.head.number.0 + 1;
        let (sessions, receipts) = (Vec::with_capacity(drafts), Vec::new());
        Ok(Self {
            connection,
            known,
            leaf: Leaf::new(bytes),
            fields: Fields::default(),
            salts,
            sessions,
            first,
            receipts,
            recent: None,
            append: 0,
        })
    }

    /// Writes one append.
    pub(crate) fn append(&mut self, index: usize, append: &Append) -> Result<Numbers, Error> {
        self.append = index;
        if let Some(session) = &append.session {
            self.begin(session)?;
        }
        let numbers = Numbers { first: self.known.head.number.0 + 1, count: append.drafts.len() };
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
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.leaf.put(self.connection)?;
        let written = usize::try_from(self.known.head.number.0 + 1 - self.first).unwrap_or(0);
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO salt (first, sessions, salts) VALUES (?1, ?2, ?3)")?;
        let mut first = self.first;
        let salts = self.salts[..written].chunks(SALTS);
        for (salts, sessions) in salts.zip(self.sessions.chunks(SALTS)) {
            insert.execute(params![int(first), places::pack(sessions), salts.as_flattened()])?;
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
        let block = |number: u64| int(number) / BLOCK;
        block(self.first) != block(self.known.head.number.0 + 1)
    }

    /// Brings the tables of sessions and places up to date.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        let mut update = self.connection.prepare_cached(
            "UPDATE session SET head_seq = ?2, records = ?3, last = ?4, last_at = ?5, receipts = ?6
             WHERE id = ?1",
        )?;
        for slot in std::mem::take(&mut self.known.behind) {
            let live = &mut self.known[slot];
            live.behind = false;
            let Live { id, head_seq, records, last, last_at, receipts, .. } = &*live;
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
                .execute(params![first, places::pack(&places)])?;
        }
        self.connection.prepare_cached("UPDATE meta SET settled = ?1")?.execute([head])?;
        Ok(())
    }

    /// Writes the receipts. Those that count no more are dropped, two blocks for each one that was
    /// filled.
    fn write_receipts(&self) -> Result<(), Error> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO receipt (first, at, entries) VALUES (?1, ?2, ?3)")?;
        for chunk in self.receipts.as_chunks::<ENTRY>().0.chunks(ENTRIES) {
            let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { continue };
            let (first, last) = (Entry::read(first), Entry::read(last));
            insert.execute(params![int(first.number), last.at, chunk.as_flattened()])?;
        }
        if self.ends_block() {
            let since = self.known.latest_at.saturating_sub(RECEIPT_AGE);
            self.connection
                .prepare_cached(
                    "DELETE FROM receipt
                     WHERE first < (SELECT min(first) FROM receipt) + ?1 AND at < ?2",
                )?
                .execute(params![2 * BLOCK, since])?;
        }
        Ok(())
    }

    fn refuse<T>(&self, reason: Refusal) -> Result<T, Error> {
        Err(Error::Refused { append: self.append, reason })
    }

    fn begin(&mut self, session: &NewSession) -> Result<(), Error> {
        let NewSession { name, owner, at } = session;
        if !valid_session_name(name) {
            return self.refuse(Refusal::BadName(name.clone()));
        }
        if let Some(slot) = self.known.find(self.connection, name)?
            && !self.known[slot].forgotten
        {
            return self.refuse(Refusal::SessionExists(name.clone()));
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
            .execute(params![id, key.as_bytes(), [0_u8; SALT]])?;
        self.recent = Some(self.known.add(Live::begin(id, session, key)));
        Ok(())
    }

    /// A session that can be written to.
    fn live(&mut self, name: &str) -> Result<Slot, Error> {
        let slot = match self.recent {
            Some(slot) if *self.known[slot].name == *name => slot,
            _ => match self.known.find(self.connection, name)? {
                Some(slot) => slot,
                None => return self.refuse(Refusal::NoSession(name.into())),
            },
        };
        let live = &mut self.known[slot];
        if live.forgotten {
            return self.refuse(Refusal::Forgotten(name.into()));
        }
        if !live.behind {
            live.behind = true;
            self.known.behind.push(slot);
        }
        self.recent = Some(slot);
        Ok(slot)
    }

    /// The same, but not the daemon itself.
    fn sealed(&mut self, name: &str, what: &'static str) -> Result<Slot, Error> {
        if name.is_empty() {
            return self.refuse(Refusal::Daemon(what));
        }
        self.live(name)
    }

    /// The part of a draft that stands in another one.
    fn part(&self, drafts: &[Draft], index: usize) -> Result<Option<Part>, Error> {
        let draft = &drafts[index];
        let Some(Shared { from, with, at, bytes }) = draft.shared else { return Ok(None) };
        let other = drafts.get(with).filter(|other| {
            with > index && other.session == draft.session && other.shared.is_none()
        });
        let own = cut(draft, from, bytes);
        let same = own.is_some() && own == other.and_then(|other| cut(other, at, bytes));
        if !same || draft.session.is_empty() {
            return self.refuse(Refusal::Shared { draft: index });
        }
        let later = (with - index) as u64;
        Ok(Some(Part { later, from, at, bytes }))
    }

    fn draft(
        &mut self,
        draft: &Draft,
        part: Option<Part>,
        index: usize,
        numbers: Numbers,
    ) -> Result<(), Error> {
        self.check_size(draft.body.len())?;
        let cause = self.cause(draft.cause, index, numbers)?;
        let number = self.known.head.number.0 + 1;
        let slot = self.check_order(draft)?;
        let salt = self.salts[usize::try_from(number - self.first).unwrap_or(usize::MAX)];
        self.receipt(draft, index, slot, &salt)?;
        let live = &self.known[slot];
        self.fields.begin(&Facts {
            number,
            session: live.id,
            seq: draft.seq,
            at: live.last_at,
            cause,
            version: KIND_VERSION,
            principal: &draft.principal,
            kind: draft.kind,
        });
        let place = Place { label: Label::Body, number, salt: &salt };
        let key = live.key.as_ref();
        let is_kept = match (part, key) {
            (Some(part), Some(key)) => store_rest(key, place, part, &draft.body, &mut self.fields),
            _ => false,
        };
        if !is_kept {
            store_body(self.connection, key, place, &draft.body, &mut self.fields)?;
        }
        let hash = self.fields.end(self.known.head.hash, &live.identity);
        self.leaf.add(number, &self.fields, &hash, self.connection)?;
        self.milestone(slot, draft.seq, number)?;
        self.remember(slot, Head { number: Number(number), hash });
        Ok(())
    }

    /// Goes on from a record that is written.
    fn remember(&mut self, slot: Slot, head: Head) {
        let Live { id, last_at, .. } = self.known[slot];
        self.sessions.push(id);
        self.known.unsettled.push(id);
        self.known.latest_at = self.known.latest_at.max(last_at);
        self.known.head = head;
    }

    /// Notes where a session begins, and every so many numbers of its stream.
    fn milestone(&self, slot: Slot, seq: Option<u64>, number: u64) -> Result<(), Error> {
        let live = &self.known[slot];
        let reached = match seq {
            _ if live.records == 1 => 0,
            Some(seq) if seq.is_multiple_of(MILESTONE) => seq,
            _ => return Ok(()),
        };
        self.connection
            .prepare_cached("INSERT INTO milestone (session, seq, number) VALUES (?1, ?2, ?3)")?
            .execute(params![live.id, int(reached), int(number)])?;
        Ok(())
    }

    fn check_size(&self, bytes: usize) -> Result<(), Error> {
        if bytes > MAX_BODY {
            return self.refuse(Refusal::TooLarge { limit: MAX_BODY, got: bytes });
        }
        Ok(())
    }

    fn cause(&self, cause: Cause, index: usize, numbers: Numbers) -> Result<Option<u64>, Error> {
        match cause {
            Cause::None => Ok(None),
            Cause::Number(Number(number)) if (1..numbers.first).contains(&number) => {
                Ok(Some(number))
            }
            Cause::Earlier(earlier) if earlier < index => Ok(Some(numbers.first + earlier as u64)),
            _ => self.refuse(Refusal::Cause { draft: index }),
        }
    }

    /// Counts the draft in its session, if it may follow. The session's last time is then the draft's,
    /// or a later one: the daemon's own records, made by many threads, may have to wait for it.
    fn check_order(&mut self, draft: &Draft) -> Result<Slot, Error> {
        let Draft { session, seq, at, .. } = draft;
        let number = self.known.head.number.0 + 1;
        let slot = match seq {
            Some(_) => self.sealed(session, "stream")?,
            None => self.live(session)?,
        };
        let live = &mut self.known[slot];
        let (expected, last) = (live.head_seq + 1, live.last_at);
        match seq {
            Some(seq) if *seq != expected => {
                let refusal = Refusal::Seq { session: (&**session).into(), expected, got: *seq };
                return self.refuse(refusal);
            }
            Some(seq) => live.head_seq = *seq,
            None => {}
        }
        if *at < last && !session.is_empty() {
            return self.refuse(Refusal::Backward { session: (&**session).into(), last, got: *at });
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
        draft: &Draft,
        index: usize,
        slot: Slot,
        salt: &Salt,
    ) -> Result<(), Error> {
        let Some(receipt) = &draft.receipt else { return Ok(()) };
        let live = &mut self.known[slot];
        let (Some(seq), Some(key)) = (draft.seq, &live.key) else {
            return self.refuse(Refusal::Receipt { draft: index });
        };
        live.receipts += 1;
        let masked = receipts::mask(key, live.last, salt, receipt);
        let entry = Entry { number: live.last, session: live.id, seq, at: live.last_at, masked };
        entry.write(&mut self.receipts);
        Ok(())
    }

    fn effects(&mut self, append: &Append) -> Result<(), Error> {
        for open @ Open { session, effect, deadline } in &append.opened {
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
    pub(crate) fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.check_size(checkpoint.state.len())?;
        let slot = self.sealed(&checkpoint.session, "state")?;
        let live = &self.known[slot];
        let salt: Salt = seal::random()?;
        let place = Place { label: Label::State, number: live.last, salt: &salt };
        let key = live.key.as_ref().expect("every session has a key");
        let mut sealed = Vec::with_capacity(checkpoint.state.len() + seal::TAG);
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

    fn wake(&mut self, wake: &Wake) -> Result<(), Error> {
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
    pub(crate) fn add(&mut self, draft: &Draft) -> Result<Number, Error> {
        let numbers = Numbers { first: self.known.head.number.0 + 1, count: 1 };
        self.draft(draft, None, 0, numbers)?;
        Ok(Number(numbers.first))
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
fn cut(draft: &Draft, from: usize, bytes: usize) -> Option<&[u8]> {
    draft.body.as_bytes().get(from..from.checked_add(bytes)?)
}

fn closes(closed: &(Box<str>, u64), open: &Open) -> bool {
    closed.0 == open.session && closed.1 == open.effect
}

/// Puts into the fields of a record what of its body does not stand in another one; `false` if that is too
/// much for them.
fn store_rest(
    key: &SessionKey,
    place: Place<'_>,
    part: Part,
    body: &str,
    fields: &mut Fields,
) -> bool {
    let (written, body) = (part.write(), body.as_bytes());
    let (before, after) = (&body[..part.from], &body[part.from + part.bytes..]);
    let length = written.len() + before.len() + after.len() + seal::TAG;
    if length > MAX_INLINE {
        return false;
    }
    fields.shared(length, |bytes| key.seal_into(place, &[&written, before, after], bytes));
    true
}

/// Puts a body into the fields of its record; a large one into a blob, and the hash of that into the fields.
fn store_body(
    connection: &Connection,
    key: Option<&SessionKey>,
    place: Place<'_>,
    body: &str,
    fields: &mut Fields,
) -> Result<(), Error> {
    let length = body.len() + key.map_or(0, |_| seal::TAG);
    let store = |bytes: &mut Vec<u8>| match key {
        Some(key) => key.seal_into(place, &[body.as_bytes()], bytes),
        None => bytes.extend_from_slice(body.as_bytes()),
    };
    if length <= MAX_INLINE {
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
