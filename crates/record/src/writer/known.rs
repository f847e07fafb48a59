//! Facts that the writer remembers between commits: the head of the chain and the sessions it wrote to. A cache of
//! the file, thrown away whenever it may be wrong; never the truth.

use std::collections::HashMap;
use std::ops::{ControlFlow, Index, IndexMut};

use rusqlite::{Connection, OptionalExtension, Row};

use self::SessionLookup::{ById, ByName};
use crate::chain_ends::read_head;
use crate::receipts;
use crate::session_ranges;

use crate::append::NewSessionRow;
use crate::chain::SessionIdentity;
use crate::cipher::SessionKey;
use crate::database::{count, int};
use crate::error::StoreError;
use crate::record::ChainHead;
use crate::record_page;
use crate::session_tail;

/// Sessions remembered at most; beyond that all are looked up anew once their rows are written.
const MAX_REMEMBERED_SESSIONS: usize = 4096;

/// Records looked at for the latest time: sessions write through one queue, so their times are mixed
/// only as far as that is deep.
const LATEST_RECORDS: u64 = 256;

/// Index of a session among the remembered ones, for as long as one commit lasts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionSlot(usize);

/// Facts that the writer remembers between commits.
pub(crate) struct WriterCache {
    pub(crate) head: ChainHead,
    pub(crate) latest_at: i64,
    /// Those of this and earlier commits.
    sessions: Vec<CachedSession>,
    by_name: HashMap<Box<str>, SessionSlot>,
    /// Those whose row does not say yet what they wrote.
    pub(crate) behind: Vec<SessionSlot>,
    /// The session of each record that is not settled.
    pub(crate) unsettled: Vec<i64>,
    /// Changes when another connection wrote.
    data_version: i64,
}

/// A session as the writer needs it. Its row in the file is written once a block.
pub(crate) struct CachedSession {
    pub(crate) id: i64,
    pub(crate) name: Box<str>,
    /// Identity that the session's records vouch for.
    pub(crate) identity: SessionIdentity,
    pub(crate) forgotten: bool,
    /// The daemon itself has none.
    pub(crate) key: Option<SessionKey>,
    pub(crate) head_seq: u64,
    pub(crate) records: u64,
    pub(crate) last: u64,
    pub(crate) last_at: i64,
    pub(crate) receipts: u64,
    pub(crate) wake: Option<i64>,
    /// Whether its row does not say yet what it wrote.
    pub(crate) behind: bool,
}

impl WriterCache {
    /// Returns the facts, looked up anew if need be. To be called inside a transaction.
    pub(crate) fn current<'a>(
        known: &'a mut Option<Self>,
        connection: &Connection,
    ) -> Result<&'a mut Self, StoreError> {
        let data_version = data_version(connection)?;
        let still_true = known.take().filter(|known| known.data_version == data_version);
        let current = match still_true {
            Some(current) => current,
            None => Self::read(connection, data_version)?,
        };
        Ok(known.insert(current))
    }

    fn read(connection: &Connection, data_version: i64) -> Result<Self, StoreError> {
        let head = read_head(connection)?;
        let latest = int(head.number.0.saturating_sub(LATEST_RECORDS)) + 1;
        let mut latest_at = 0;
        let _ = record_page::each(connection, &(latest..=i64::MAX), &mut |raw| {
            latest_at = raw.at.max(latest_at);
            Ok(ControlFlow::Continue(()))
        })?;
        let (sessions, by_name, behind) = (Vec::new(), HashMap::new(), Vec::new());
        let unsettled = Vec::new();
        let mut known =
            Self { head, latest_at, sessions, by_name, behind, unsettled, data_version };
        known.read_tails(connection)?;
        Ok(known)
    }

    /// Remembers all sessions whose rows do not say yet what they wrote.
    fn read_tails(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut receipts: HashMap<i64, u64> = HashMap::new();
        for entry in receipts::after(connection, session_ranges::settled_up_to(connection)?)? {
            *receipts.entry(entry.session).or_default() += 1;
        }
        let tails = session_tail::all(connection)?;
        self.unsettled = tails.sessions;
        for (id, tail) in tails.of {
            let mut live = CachedSession::read(connection, ById(id))?
                .ok_or_else(|| StoreError::Damaged(format!("there is no session {id}").into()))?;
            live.head_seq = live.head_seq.max(count(tail.head_seq));
            live.records += count(tail.records);
            live.last = count(tail.last);
            live.last_at = live.last_at.max(tail.last_at);
            live.receipts += receipts.get(&id).copied().unwrap_or(0);
            live.behind = true;
            let slot = self.add(live);
            self.behind.push(slot);
        }
        Ok(())
    }

    /// Forgets sessions if there are too many. Only when no row is behind.
    pub(crate) fn thin_out(&mut self) {
        if self.sessions.len() > MAX_REMEMBERED_SESSIONS && self.behind.is_empty() {
            self.sessions.clear();
            self.by_name.clear();
        }
    }

    /// The session of a name, looked up if need be.
    pub(crate) fn find(
        &mut self,
        connection: &Connection,
        name: &str,
    ) -> Result<Option<SessionSlot>, StoreError> {
        if let Some(slot) = self.by_name.get(name) {
            return Ok(Some(*slot));
        }
        Ok(CachedSession::read(connection, ByName(name))?.map(|live| self.add(live)))
    }

    /// Remembers a session, instead of an earlier one of its name.
    pub(crate) fn add(&mut self, live: CachedSession) -> SessionSlot {
        let slot = SessionSlot(self.sessions.len());
        self.by_name.insert(live.name.clone(), slot);
        self.sessions.push(live);
        slot
    }

    /// Lets a session be looked up anew.
    pub(crate) fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
    }
}

/// Key by which a session is looked up.
#[derive(Clone, Copy)]
enum SessionLookup<'a> {
    ByName(&'a str),
    ById(i64),
}

macro_rules! live_columns {
    () => {
        "SELECT id, name, owner, created, forgotten, head_seq, records, last, last_at, receipts, wake,
                (SELECT key FROM session_key WHERE session = id)
         FROM session "
    };
}

impl Index<SessionSlot> for WriterCache {
    type Output = CachedSession;

    fn index(&self, slot: SessionSlot) -> &CachedSession {
        &self.sessions[slot.0]
    }
}

impl IndexMut<SessionSlot> for WriterCache {
    fn index_mut(&mut self, slot: SessionSlot) -> &mut CachedSession {
        &mut self.sessions[slot.0]
    }
}

impl CachedSession {
    pub(crate) fn begin(id: i64, session: &NewSessionRow, key: SessionKey) -> Self {
        let NewSessionRow { name, owner, at } = session;
        Self {
            id,
            name: name.clone(),
            identity: SessionIdentity::new(id, name.as_bytes(), owner.as_bytes(), *at),
            forgotten: false,
            key: Some(key),
            head_seq: 0,
            records: 0,
            last: 0,
            last_at: *at,
            receipts: 0,
            wake: None,
            behind: false,
        }
    }

    fn read(connection: &Connection, which: SessionLookup<'_>) -> Result<Option<Self>, StoreError> {
        let live = match which {
            ByName(name) => connection
                .prepare_cached(concat!(
                    live_columns!(),
                    "WHERE name = ?1 ORDER BY id DESC LIMIT 1"
                ))?
                .query_row([name], Self::of_row),
            ById(id) => connection
                .prepare_cached(concat!(live_columns!(), "WHERE id = ?1"))?
                .query_row([id], Self::of_row),
        };
        match live.optional()? {
            Some(Self { id: 1.., name, key: None, .. }) => {
                Err(StoreError::Damaged(format!("session `{name}` has no key").into()))
            }
            live => Ok(live),
        }
    }

    fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let key: Option<Vec<u8>> = row.get(11)?;
        let (id, name, owner): (_, Box<str>, Box<str>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Self {
            id,
            identity: SessionIdentity::new(id, name.as_bytes(), owner.as_bytes(), row.get(3)?),
            name,
            forgotten: row.get(4)?,
            head_seq: count(row.get(5)?),
            records: count(row.get(6)?),
            last: count(row.get(7)?),
            last_at: row.get(8)?,
            receipts: count(row.get(9)?),
            wake: row.get(10)?,
            key: key.as_deref().and_then(SessionKey::from_bytes),
            behind: false,
        })
    }
}

fn data_version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
