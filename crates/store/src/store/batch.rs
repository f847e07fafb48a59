//! One transaction: how appends become rows. Called by the store, which begins and commits it; if
//! anything here fails, nothing of it is kept.

use rusqlite::{CachedStatement, Connection, params};

use super::known::{Known, Live};
use super::{MAX_BODY, MAX_INLINE, RECEIPT_AGE};
use crate::append::{Append, Cause, Checkpoint, Draft, NewSession, Numbers, Receipt, Wake};
use crate::append::{Open, valid_session_name};
use crate::chain::{self, Link, Stored};
use crate::error::{Error, Refusal};
use crate::fault;
use crate::record::{Hash, Number};
use crate::schema::{BLOCK, MILESTONE, int};
use crate::seal::{self, Label, Place, SALT, Salt, SessionKey};

/// Salts in one row: a kilobyte, so that several rows share a page of the file.
const SALTS: usize = 64;

/// Version that every kind has today.
const KIND_VERSION: i64 = 1;

/// A transaction under way.
pub(crate) struct Batch<'t> {
    connection: &'t Connection,
    known: &'t mut Known,
    insert: CachedStatement<'t>,
    /// One for each record that will come.
    salts: Vec<Salt>,
    /// Number of the first record.
    first: u64,
    /// Sessions whose row must be written.
    touched: Vec<Box<str>>,
    /// Index of the append under way, for refusals.
    append: usize,
}

impl<'t> Batch<'t> {
    /// Begins to write at most `drafts` records.
    pub(crate) fn new(
        connection: &'t Connection,
        known: &'t mut Known,
        drafts: usize,
    ) -> Result<Self, Error> {
        let insert = connection.prepare_cached(
            "INSERT INTO record (number, session, seq, at, cause, principal, kind, version, body,
                                 blob, prev, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        let mut salts = vec![[0; SALT]; drafts];
        getrandom::fill(salts.as_flattened_mut()).map_err(Error::Random)?;
        let first = known.head.number.0 + 1;
        Ok(Self { connection, known, insert, salts, first, touched: Vec::new(), append: 0 })
    }

    /// Writes one append.
    pub(crate) fn append(&mut self, index: usize, append: &Append) -> Result<Numbers, Error> {
        self.append = index;
        if let Some(session) = &append.session {
            self.begin(session)?;
        }
        let numbers = Numbers { first: self.known.head.number.0 + 1, count: append.drafts.len() };
        for (index, draft) in append.drafts.iter().enumerate() {
            self.draft(draft, index, numbers)?;
            fault::point("store.record");
        }
        for receipt in &append.receipts {
            self.receipt(receipt)?;
        }
        self.effects(append)?;
        if let Some(checkpoint) = &append.checkpoint {
            self.checkpoint(checkpoint)?;
        }
        if let Some(wake) = &append.wake {
            self.wake(wake)?;
        }
        fault::point("store.tables");
        Ok(numbers)
    }

    /// Writes what belongs to the transaction as a whole.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let written = usize::try_from(self.known.head.number.0 + 1 - self.first).unwrap_or(0);
        let mut insert =
            self.connection.prepare_cached("INSERT INTO salt (first, salts) VALUES (?1, ?2)")?;
        let mut first = self.first;
        for chunk in self.salts[..written].chunks(SALTS) {
            insert.execute(params![int(first), chunk.as_flattened()])?;
            first += chunk.len() as u64;
        }
        let mut update = self.connection.prepare_cached(
            "UPDATE session SET head_seq = ?2, records = ?3, last = ?4, last_at = ?5, receipts = ?6
             WHERE id = ?1",
        )?;
        for name in &self.touched {
            let Some(live) = self.known.sessions.get_mut(name) else { continue };
            live.touched = false;
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
        if self.known.find(self.connection, name)? && !self.known.sessions[name].forgotten {
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
        self.known.sessions.insert(name.clone(), Live::begin(id, owner, *at, key));
        Ok(())
    }

    /// A session that can be written to.
    fn live(&mut self, name: &str) -> Result<&mut Live, Error> {
        if !self.known.find(self.connection, name)? {
            return self.refuse(Refusal::NoSession(name.into()));
        }
        if self.known.sessions[name].forgotten {
            return self.refuse(Refusal::Forgotten(name.into()));
        }
        let live = self.known.sessions.get_mut(name).expect("found above");
        if !live.touched {
            live.touched = true;
            self.touched.push(name.into());
        }
        Ok(live)
    }

    /// The same, but not the daemon itself.
    fn sealed(&mut self, name: &str, what: &'static str) -> Result<&mut Live, Error> {
        if name.is_empty() {
            return self.refuse(Refusal::Daemon(what));
        }
        self.live(name)
    }

    fn draft(&mut self, draft: &Draft, index: usize, numbers: Numbers) -> Result<(), Error> {
        self.check_size(draft.body.len())?;
        let cause = self.cause(draft.cause, index, numbers)?;
        let number = self.known.head.number.0 + 1;
        let at = self.check_order(draft)?;
        let salt = self.salts[usize::try_from(number - self.first).unwrap_or(usize::MAX)];
        let prev = self.known.head.hash;
        let live = &self.known.sessions[&draft.session];
        let bytes = store_body(live.key.as_ref(), number, &salt, &draft.body);
        let blob = (bytes.len() > MAX_INLINE).then(|| chain::address(&bytes));
        let stored = match &blob {
            Some(hash) => Stored::Blob(hash.as_bytes()),
            None => Stored::Inline(&bytes),
        };
        let link = Link {
            number: int(number),
            session: live.identity(&draft.session),
            seq: draft.seq.map(int),
            at,
            cause: cause.map(int),
            principal: draft.principal.as_bytes(),
            kind: draft.kind.as_bytes(),
            version: KIND_VERSION,
            stored,
            prev: prev.as_bytes(),
        };
        let hash = link.hash();
        self.insert.execute(params![
            link.number,
            link.session.id,
            link.seq,
            at,
            link.cause,
            &*draft.principal,
            draft.kind,
            KIND_VERSION,
            blob.is_none().then_some(&bytes[..]),
            blob.as_ref().map(Hash::as_bytes),
            prev.as_bytes(),
            hash.as_bytes(),
        ])?;
        if let Some(blob) = blob {
            self.connection
                .prepare_cached("INSERT OR IGNORE INTO blob (hash, bytes) VALUES (?1, ?2)")?
                .execute(params![blob.as_bytes(), bytes])?;
        }
        self.milestone(&draft.session, draft.seq, number)?;
        self.known.head.number = Number(number);
        self.known.head.hash = hash;
        self.known.latest_at = self.known.latest_at.max(at);
        Ok(())
    }

    /// Notes where a session begins, and every so many numbers of its stream.
    fn milestone(&self, session: &str, seq: Option<u64>, number: u64) -> Result<(), Error> {
        let live = &self.known.sessions[session];
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

    /// Counts the draft in its session, if it may follow. Its time, which the daemon's own records,
    /// made by many threads, may have to wait for.
    fn check_order(&mut self, draft: &Draft) -> Result<i64, Error> {
        let Draft { session, seq, at, .. } = draft;
        let number = self.known.head.number.0 + 1;
        let live = match seq {
            Some(_) => self.sealed(session, "stream")?,
            None => self.live(session)?,
        };
        let (expected, last) = (live.head_seq + 1, live.last_at);
        match seq {
            Some(seq) if *seq != expected => {
                let refusal = Refusal::Seq { session: session.clone(), expected, got: *seq };
                return self.refuse(refusal);
            }
            Some(seq) => live.head_seq = *seq,
            None => {}
        }
        if *at < last && !session.is_empty() {
            return self.refuse(Refusal::Backward { session: session.clone(), last, got: *at });
        }
        live.last_at = last.max(*at);
        live.records += 1;
        live.last = number;
        Ok(live.last_at)
    }

    fn receipt(&mut self, receipt: &Receipt) -> Result<(), Error> {
        let live = self.sealed(&receipt.session, "receipts")?;
        live.receipts += 1;
        let salt: Salt = seal::random()?;
        let place = Place { label: Label::Receipt, number: receipt.seq, salt: &salt };
        let key = live.key.as_ref().expect("every session has a key");
        let sealed = [&salt[..], &key.seal(place, receipt_text(receipt))].concat();
        let id = live.id;
        self.connection
            .prepare_cached(
                "INSERT INTO receipt (session, seq, at, sealed) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![id, int(receipt.seq), receipt.at, sealed])?;
        if self.connection.last_insert_rowid() % BLOCK == 0 {
            self.drop_old_receipts(receipt.at.saturating_sub(RECEIPT_AGE))?;
        }
        Ok(())
    }

    /// Drops receipts that count no more, two blocks for each one that was filled.
    fn drop_old_receipts(&self, since: i64) -> Result<(), Error> {
        self.connection
            .prepare_cached(
                "DELETE FROM receipt
                 WHERE id < (SELECT min(id) FROM receipt) + ?1 AND at < ?2",
            )?
            .execute(params![2 * BLOCK, since])?;
        Ok(())
    }

    fn effects(&mut self, append: &Append) -> Result<(), Error> {
        for open @ Open { session, effect, deadline } in &append.opened {
            let id = self.sealed(session, "effects")?.id;
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
            let id = self.sealed(session, "effects")?.id;
            self.connection
                .prepare_cached(
                    "UPDATE open_effect SET started = 1 WHERE session = ?1 AND effect = ?2",
                )?
                .execute(params![id, int(*effect)])?;
        }
        for closed @ (session, effect) in &append.closed {
            let id = self.sealed(session, "effects")?.id;
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
        let live = self.sealed(&checkpoint.session, "state")?;
        let salt: Salt = seal::random()?;
        let place = Place { label: Label::State, number: live.last, salt: &salt };
        let key = live.key.as_ref().expect("every session has a key");
        let sealed = key.seal(place, copy(&checkpoint.state));
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
        let live = self.sealed(&wake.session, "wake time")?;
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
        self.draft(draft, 0, numbers)?;
        Ok(Number(numbers.first))
    }

    pub(crate) fn connection(&self) -> &'t Connection {
        self.connection
    }

    /// Lets a session be looked up anew.
    pub(crate) fn unknow(&mut self, name: &str) {
        self.known.sessions.remove(name);
    }
}

fn closes(closed: &(Box<str>, u64), open: &Open) -> bool {
    closed.0 == open.session && closed.1 == open.effect
}

/// A body as it will be stored.
fn store_body(key: Option<&SessionKey>, number: u64, salt: &Salt, body: &str) -> Vec<u8> {
    let place = Place { label: Label::Body, number, salt };
    match key {
        Some(key) => key.seal(place, copy(body)),
        None => body.as_bytes().to_vec(),
    }
}

/// The bytes of a text, with room for the tag that sealing adds.
fn copy(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + seal::TAG);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// What of a receipt nobody may read once its session is forgotten. Read by [`read_receipt`].
fn receipt_text(receipt: &Receipt) -> Vec<u8> {
    let mut text = receipt.body_hash.as_bytes().to_vec();
    for field in [&receipt.principal, &receipt.client, &receipt.id] {
        text.extend_from_slice(&(field.len() as u64).to_le_bytes());
        text.extend_from_slice(field.as_bytes());
    }
    text
}

/// Principal, client, id and body hash, out of what [`receipt_text`] made.
pub(crate) fn read_receipt(text: &[u8]) -> Option<([Box<str>; 3], Hash)> {
    let (hash, mut rest) = text.split_first_chunk::<32>()?;
    let mut field = || {
        let (length, after) = rest.split_first_chunk::<8>()?;
        let (field, after) =
            after.split_at_checked(u64::from_le_bytes(*length).try_into().ok()?)?;
        rest = after;
        Some(Box::from(std::str::from_utf8(field).ok()?))
    };
    Some(([field()?, field()?, field()?], Hash(*hash)))
}
