//! What the writer remembers between commits: the head of the chain and the sessions it wrote to. A
//! cache of what is in the file, thrown away whenever it may be wrong; never the truth.

use std::collections::HashMap;
use std::ops::{ControlFlow, Index, IndexMut};

use rusqlite::{Connection, OptionalExtension, Row};

use self::Which::{ById, ByName};
use super::receipts;

use crate::append::NewSession;
use crate::chain::Identity;
use crate::error::Error;
use crate::leaf;
use crate::record::{Hash, Head, Number};
use crate::schema::{count, int};
use crate::seal::SessionKey;
use crate::tail;

/// Sessions remembered at most; beyond that all are looked up anew once their rows are written.
const MAX_SESSIONS: usize = 4096;

/// Records looked at for the latest time: sessions write through one queue, so their times are mixed
/// only as far as that is deep.
const LATEST: u64 = 256;

/// Where a session is remembered, as long as one commit lasts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(usize);

/// What the writer remembers.
pub(crate) struct Known {
    pub(crate) head: Head,
    pub(crate) latest_at: i64,
    /// Those of this and earlier commits.
    sessions: Vec<Live>,
    by_name: HashMap<Box<str>, Slot>,
    /// Those whose row does not say yet what they wrote.
    pub(crate) behind: Vec<Slot>,
    /// The session of each record that is not settled.
    pub(crate) unsettled: Vec<i64>,
    /// Changes when another connection wrote.
    data_version: i64,
}

/// A session as the writer needs it. Its row in the file is written once a block.
pub(crate) struct Live {
    pub(crate) id: i64,
    pub(crate) name: Box<str>,
    /// What its records vouch for.
    pub(crate) identity: Identity,
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

impl Known {
    /// What is known, looked up anew if need be. To be called inside a transaction.
    pub(crate) fn current<'a>(
        known: &'a mut Option<Self>,
        connection: &Connection,
    ) -> Result<&'a mut Self, Error> {
        let data_version = data_version(connection)?;
        let still_true = known.take().filter(|known| known.data_version == data_version);
        let current = match still_true {
            Some(current) => current,
            None => Self::read(connection, data_version)?,
        };
        Ok(known.insert(current))
    }

    fn read(connection: &Connection, data_version: i64) -> Result<Self, Error> {
        let head = read_head(connection)?;
        let latest = int(head.number.0.saturating_sub(LATEST)) + 1;
        let mut latest_at = 0;
        let _ = leaf::each(connection, &(latest..=i64::MAX), &mut |raw| {
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
    fn read_tails(&mut self, connection: &Connection) -> Result<(), Error> {
        let mut receipts: HashMap<i64, u64> = HashMap::new();
        for entry in receipts::after(connection, tail::settled(connection)?)? {
            *receipts.entry(entry.session).or_default() += 1;
        }
        let tails = tail::all(connection)?;
        self.unsettled = tails.sessions;
        for (id, tail) in tails.of {
            let mut live = Live::read(connection, ById(id))?
                .ok_or_else(|| Error::Damaged(format!("there is no session {id}").into()))?;
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
        if self.sessions.len() > MAX_SESSIONS && self.behind.is_empty() {
            self.sessions.clear();
            self.by_name.clear();
        }
    }

    /// The session of a name, looked up if need be.
    pub(crate) fn find(
        &mut self,
        connection: &Connection,
        name: &str,
    ) -> Result<Option<Slot>, Error> {
        if let Some(slot) = self.by_name.get(name) {
            return Ok(Some(*slot));
        }
        Ok(Live::read(connection, ByName(name))?.map(|live| self.add(live)))
    }

    /// Remembers a session, instead of an earlier one of its name.
    pub(crate) fn add(&mut self, live: Live) -> Slot {
        let slot = Slot(self.sessions.len());
        self.by_name.insert(live.name.clone(), slot);
        self.sessions.push(live);
        slot
    }

    /// Lets a session be looked up anew.
    pub(crate) fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
    }
}

/// Which session to look up.
#[derive(Clone, Copy)]
enum Which<'a> {
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

impl Index<Slot> for Known {
    type Output = Live;

    fn index(&self, slot: Slot) -> &Live {
        &self.sessions[slot.0]
    }
}

impl IndexMut<Slot> for Known {
    fn index_mut(&mut self, slot: Slot) -> &mut Live {
        &mut self.sessions[slot.0]
    }
}

impl Live {
    pub(crate) fn begin(id: i64, session: &NewSession, key: SessionKey) -> Self {
        let NewSession { name, owner, at } = session;
        Self {
            id,
            name: name.clone(),
            identity: Identity::new(id, name.as_bytes(), owner.as_bytes(), *at),
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

    fn read(connection: &Connection, which: Which<'_>) -> Result<Option<Self>, Error> {
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
                Err(Error::Damaged(format!("session `{name}` has no key").into()))
            }
            live => Ok(live),
        }
    }

    fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let key: Option<Vec<u8>> = row.get(11)?;
        let (id, name, owner): (_, Box<str>, Box<str>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Self {
            id,
            identity: Identity::new(id, name.as_bytes(), owner.as_bytes(), row.get(3)?),
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

/// The last record, or the origin.
pub(crate) fn read_head(connection: &Connection) -> Result<Head, Error> {
    let mut head = None;
    leaf::each_backward(connection, &mut |raw| {
        head = Some(Head { number: Number(count(raw.number)), hash: raw.hash });
        Ok(ControlFlow::Break(()))
    })?;
    match head {
        Some(head) => Ok(head),
        None => Ok(Head { number: Number(0), hash: read_origin(connection)? }),
    }
}

/// What stands before the first record.
pub(crate) fn read_origin(connection: &Connection) -> Result<Hash, Error> {
    Ok(Hash(connection.query_row("SELECT origin FROM meta", [], |row| row.get(0))?))
}

fn data_version(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
