//! The bytes of versions, each kept once under its hash. A version that differs from one before it in
//! one place is kept as that difference: what lies between the first and the last byte that differ.
//! Called inside of transactions of `versions`; whether bytes are still wanted is decided there.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::hash_bytes;
use bridle_record::RecordHash;
use bridle_record::StoreError;
use bridle_record::database::{count, int};

/// Differences that may build on each other: reading a version applies so many at most.
const MAX_DELTA_CHAIN: i64 = 32;

/// A difference is kept if it has at most one in so many of the bytes: else it saves too little.
const MIN_DELTA_GAIN: usize = 4;

pub(super) const BLOB_TABLE: &str = "
CREATE TABLE blob (
  hash      BLOB PRIMARY KEY NOT NULL,
  base      BLOB,                        -- hash of what it differs from; NULL: nothing
  head      INTEGER NOT NULL,            -- so many bytes of the base come first,
  tail      INTEGER NOT NULL,            -- and so many last
  chain     INTEGER NOT NULL,            -- how many differences are below it
  bytes     BLOB NOT NULL                -- what is between
) STRICT;
CREATE INDEX blob_base ON blob (base) WHERE base IS NOT NULL;
";

/// Keeps bytes, as a difference from `base` where that is small.
pub(super) fn put(
    connection: &Connection,
    bytes: &[u8],
    base: Option<RecordHash>,
) -> Result<RecordHash, StoreError> {
    let hash = hash_bytes(bytes);
    let sql = "SELECT 1 FROM blob WHERE hash = ?1";
    let known = connection.prepare_cached(sql)?.exists([&hash.as_bytes()[..]])?;
    if known {
        return Ok(hash);
    }
    let delta = match base {
        Some(base) => difference(connection, base, bytes)?,
        None => None,
    };
    let (base, head, tail, chain) = match &delta {
        Some(delta) => (Some(&delta.base.as_bytes()[..]), delta.head, delta.tail, delta.chain),
        None => (None, 0, 0, 0),
    };
    let sql = "INSERT INTO blob (hash, base, head, tail, chain, bytes)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let between = &bytes[head..bytes.len() - tail];
    let (head, tail) = (int(head as u64), int(tail as u64));
    let row = params![&hash.as_bytes()[..], base, head, tail, chain, between];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(hash)
}

struct BlobDelta {
    base: RecordHash,
    head: usize,
    tail: usize,
    chain: i64,
}

fn difference(
    connection: &Connection,
    base: RecordHash,
    bytes: &[u8],
) -> Result<Option<BlobDelta>, StoreError> {
    let sql = "SELECT chain FROM blob WHERE hash = ?1";
    let chain: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row([&base.as_bytes()[..]], |row| row.get(0))
        .optional()?;
    let Some(chain) = chain.filter(|chain| *chain < MAX_DELTA_CHAIN) else { return Ok(None) };
    let old = get(connection, base)?;
    let most = old.len().min(bytes.len());
    let head = old.iter().zip(bytes).take_while(|(a, b)| a == b).count();
    let ends = old.iter().rev().zip(bytes.iter().rev());
    let tail = ends.take(most - head).take_while(|(a, b)| a == b).count();
    let is_small = (bytes.len() - head - tail) * MIN_DELTA_GAIN <= bytes.len();
    Ok(is_small.then_some(BlobDelta { base, head, tail, chain: chain + 1 }))
}

/// The bytes of a hash.
pub(super) fn get(connection: &Connection, hash: RecordHash) -> Result<Vec<u8>, StoreError> {
    let sql = "SELECT base, head, tail, bytes FROM blob WHERE hash = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let (mut layers, mut next) = (Vec::new(), Some(hash));
    while let Some(address) = next {
        let row = statement.query_row([&address.as_bytes()[..]], |row| {
            let base: Option<[u8; 32]> = row.get(0)?;
            let (head, tail): (i64, i64) = (row.get(1)?, row.get(2)?);
            Ok((base.map(RecordHash::from), count(head), count(tail), row.get::<_, Vec<u8>>(3)?))
        });
        let (base, head, tail, bytes) = row.optional()?.ok_or_else(|| lost(address))?;
        layers.push((head, tail, bytes));
        next = base;
        if layers.len() > usize::try_from(MAX_DELTA_CHAIN).unwrap_or(usize::MAX) + 1 {
            return Err(lost(hash));
        }
    }
    let (_, _, mut text) = layers.pop().unwrap_or_default();
    while let Some((head, tail, between)) = layers.pop() {
        let size = |count: u64| usize::try_from(count).ok().filter(|it| *it <= text.len());
        let (Some(head), Some(tail)) = (size(head), size(tail)) else { return Err(lost(hash)) };
        let end = text.split_off(text.len() - tail);
        text.truncate(head);
        text.extend_from_slice(&between);
        text.extend_from_slice(&end);
    }
    if hash_bytes(&text) == hash { Ok(text) } else { Err(lost(hash)) }
}

/// Destroys bytes that nothing wants any more; what differs from them is kept whole instead.
pub(super) fn remove(connection: &Connection, hash: RecordHash) -> Result<(), StoreError> {
    let key = &hash.as_bytes()[..];
    let heirs: Vec<[u8; 32]> = connection
        .prepare_cached("SELECT hash FROM blob WHERE base = ?1")?
        .query_map([key], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for heir in heirs {
        let whole = get(connection, heir.into())?;
        let sql = "UPDATE blob SET base = NULL, head = 0, tail = 0, chain = 0, bytes = ?2
                   WHERE hash = ?1";
        connection.prepare_cached(sql)?.execute(params![&heir[..], whole])?;
    }
    connection.prepare_cached("DELETE FROM blob WHERE hash = ?1")?.execute([key])?;
    Ok(())
}

fn lost(hash: RecordHash) -> StoreError {
    StoreError::Damaged(format!("no version `{hash}` in memory.db: it is forgotten or lost").into())
}
