//! What the writer remembers between commits: the head of the chain and the sessions it wrote to. A
//! cache of what is in the file, thrown away whenever it may be wrong; never the truth.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use crate::chain::Identity;
use crate::error::Error;
use crate::record::{Hash, Head, Number};
use crate::schema::{count, int};
use crate::seal::SessionKey;

/// Sessions remembered at most; beyond that all are looked up anew.
const MAX_SESSIONS: usize = 4096;

/// Records looked at for the latest time: sessions write through one queue, so their times are mixed
/// only as far as that is deep.
const LATEST: u64 = 256;

/// What the writer remembers.
pub(crate) struct Known {
    pub(crate) head: Head,
    pub(crate) latest_at: i64,
    /// By name. Only those of this and earlier commits.
    pub(crate) sessions: HashMap<Box<str>, Live>,
    /// Changes when another connection wrote.
    data_version: i64,
}

/// A session as the writer needs it. Its row in the file is written once, at the end of a commit.
pub(crate) struct Live {
    pub(crate) id: i64,
    pub(crate) owner: Box<str>,
    pub(crate) created: i64,
    pub(crate) forgotten: bool,
    /// The daemon itself has none.
    pub(crate) key: Option<SessionKey>,
    pub(crate) head_seq: u64,
    pub(crate) records: u64,
    pub(crate) last: u64,
    pub(crate) last_at: i64,
    pub(crate) receipts: u64,
    pub(crate) wake: Option<i64>,
    /// Written to by the commit under way.
    pub(crate) touched: bool,
}

impl Known {
    /// What is known, looked up anew if need be. To be called inside a transaction.
    pub(crate) fn current<'a>(
        known: &'a mut Option<Self>,
        connection: &Connection,
    ) -> Result<&'a mut Self, Error> {
        let data_version = data_version(connection)?;
        let still_true = known.take().filter(|known| known.data_version == data_version);
        let mut current = match still_true {
            Some(current) => current,
            None => Self::read(connection, data_version)?,
        };
        if current.sessions.len() > MAX_SESSIONS {
            current.sessions.clear();
        }
        Ok(known.insert(current))
    }

    fn read(connection: &Connection, data_version: i64) -> Result<Self, Error> {
        let head = read_head(connection)?;
        let latest_at = connection.query_row(
            "SELECT coalesce(max(at), 0) FROM record WHERE number > ?1",
            [int(head.number.0.saturating_sub(LATEST))],
            |row| row.get(0),
        )?;
        Ok(Self { head, latest_at, sessions: HashMap::new(), data_version })
    }

    /// Makes sure that a session is remembered; `false` if there is none of that name.
    pub(crate) fn find(&mut self, connection: &Connection, name: &str) -> Result<bool, Error> {
        if self.sessions.contains_key(name) {
            return Ok(true);
        }
        let Some(live) = Live::read(connection, name)? else {
            return Ok(false);
        };
        self.sessions.insert(name.into(), live);
        Ok(true)
    }
}

impl Live {
    pub(crate) fn begin(id: i64, owner: &str, created: i64, key: SessionKey) -> Self {
        Self {
            id,
            owner: owner.into(),
            created,
            forgotten: false,
            key: Some(key),
            head_seq: 0,
            records: 0,
            last: 0,
            last_at: created,
            receipts: 0,
            wake: None,
            touched: false,
        }
    }

    pub(crate) fn identity<'a>(&'a self, name: &'a str) -> Identity<'a> {
        Identity {
            id: self.id,
            name: name.as_bytes(),
            owner: self.owner.as_bytes(),
            created: self.created,
        }
    }

    fn read(connection: &Connection, name: &str) -> Result<Option<Self>, Error> {
        let mut statement = connection.prepare_cached(
            "SELECT id, owner, created, forgotten, head_seq, records, last, last_at, receipts, wake,
                    (SELECT key FROM session_key WHERE session = id)
             FROM session WHERE name = ?1 ORDER BY id DESC LIMIT 1",
        )?;
        let live = statement
            .query_row([name], |row| {
                let key: Option<Vec<u8>> = row.get(10)?;
                Ok(Self {
                    id: row.get(0)?,
                    owner: row.get(1)?,
                    created: row.get(2)?,
                    forgotten: row.get(3)?,
                    key: key.as_deref().and_then(SessionKey::from_bytes),
                    head_seq: count(row.get(4)?),
                    records: count(row.get(5)?),
                    last: count(row.get(6)?),
                    last_at: row.get(7)?,
                    receipts: count(row.get(8)?),
                    wake: row.get(9)?,
                    touched: false,
                })
            })
            .optional()?;
        match live {
            Some(Self { id: 1.., key: None, .. }) => {
                Err(Error::Damaged(format!("session `{name}` has no key").into()))
            }
            live => Ok(live),
        }
    }
}

/// The last record, or the origin.
pub(crate) fn read_head(connection: &Connection) -> Result<Head, Error> {
    let head: Option<(i64, [u8; 32])> = connection
        .prepare_cached("SELECT number, hash FROM record ORDER BY number DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(match head {
        Some((number, hash)) => Head { number: Number(count(number)), hash: Hash(hash) },
        None => Head { number: Number(0), hash: read_origin(connection)? },
    })
}

/// What stands before the first record.
pub(crate) fn read_origin(connection: &Connection) -> Result<Hash, Error> {
    Ok(Hash(connection.query_row("SELECT origin FROM meta", [], |row| row.get(0))?))
}

fn data_version(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
