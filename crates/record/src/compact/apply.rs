//! Replacing a run of records, table by table, inside of a transaction that others have begun. Rows that hold
//! records of the run and others are split; what is of the others keeps its bytes.

use rusqlite::{Connection, params};

use super::plan::RemovableRun;
use crate::chain;
use crate::cipher::SALT_BYTES;
use crate::compacted_span::COMPACTED;
use crate::database::count;
use crate::error::StoreError;
use crate::forget::ForgetRequest;
use crate::receipts::{RECEIPT_BYTES, ReceiptEntry};
use crate::record::RecordHash;
use crate::record_page::{self, RecordFacts, RecordFields};
use crate::session_ranges::{self, SessionRanges};

/// Version of the kind.
const KIND_VERSION: u64 = 1;

/// Puts one record in the place of a run.
pub(super) fn replace(
    connection: &Connection,
    run: &RemovableRun,
    by: &ForgetRequest,
) -> Result<(), StoreError> {
    replace_leaves(connection, run, by)?;
    split_salts(connection, run)?;
    split_places(connection, run)?;
    split_receipts(connection, run)?;
    let mut blob = connection.prepare_cached("DELETE FROM blob WHERE hash = ?1")?;
    for address in &run.blobs {
        blob.execute([address])?;
    }
    // Where a session begins stays known: the rest of it is looked for from there.
    let mut milestone = connection.prepare_cached(
        "DELETE FROM milestone WHERE session = ?1 AND seq > 0 AND seq BETWEEN ?2 AND ?3",
    )?;
    for it in run.span.sessions.iter().filter(|it| it.seqs.0 > 0) {
        milestone.execute(params![it.session, it.seqs.0, it.seqs.1])?;
    }
    Ok(())
}

/// Takes away all that is known of a forgotten session without records. The latest keeps its row, since its id
/// must not be given again.
pub(super) fn drop_session(
    connection: &Connection,
    id: i64,
    is_latest: bool,
) -> Result<(), StoreError> {
    for table in ["milestone", "checkpoint", "open_effect"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?
            .execute([id])?;
    }
    if is_latest {
        connection.execute(
            "UPDATE session SET head_seq = 0, records = 0, last = 0, last_at = 0, receipts = 0
             WHERE id = ?1",
            [id],
        )?;
        return Ok(());
    }
    connection.prepare_cached("DELETE FROM session_key WHERE session = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM session WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Hash of the record that stands for a run, with all that it says.
pub(super) fn digest(run: &RemovableRun, by: &ForgetRequest) -> RecordHash {
    let mut fields = RecordFields::default();
    digest_of(fields_of(run, by, &mut fields), &run.span.last)
}

/// Hashes a record that was read, for the digest of a span.
pub(crate) fn digest_of(fields: &[u8], hash: &RecordHash) -> RecordHash {
    chain::address(&[fields, hash.as_bytes()].concat())
}

/// Fields of the record that stands for a run.
fn fields_of<'f>(run: &RemovableRun, by: &ForgetRequest, fields: &'f mut RecordFields) -> &'f [u8] {
    fields.begin(&RecordFacts {
        number: count(run.span.from),
        session: 0,
        seq: None,
        at: run.at,
        cause: None,
        version: KIND_VERSION,
        principal: &by.principal,
        kind: COMPACTED,
    });
    fields.compacted(&run.span.write());
    fields.end_compacted(run.prev)
}

fn replace_leaves(
    connection: &Connection,
    run: &RemovableRun,
    by: &ForgetRequest,
) -> Result<(), StoreError> {
    let (from, to) = (run.span.from, run.span.to);
    let (mut before, mut after, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    {
        let mut statement = connection.prepare_cached(record_page::PAGES_WITHIN)?;
        let mut rows = statement.query(params![from, to])?;
        while let Some(row) = rows.next()? {
            let (first, records) = record_page::of_row(row)?;
            firsts.push(first);
            for raw in records {
                let raw = raw?;
                if raw.end() < from {
                    raw.write(&mut before);
                } else if raw.number > to {
                    raw.write(&mut after);
                }
            }
        }
    }
    let mut delete = connection.prepare_cached("DELETE FROM record WHERE first = ?1")?;
    for first in &firsts {
        delete.execute([first])?;
    }
    if let Some(first) = firsts.first().filter(|_| !before.is_empty()) {
        record_page::insert(connection, *first, &before)?;
    }
    let mut fields = RecordFields::default();
    let mut entry = Vec::new();
    record_page::write_entry(&mut entry, fields_of(run, by, &mut fields), &run.span.last);
    record_page::insert(connection, from, &entry)?;
    if !after.is_empty() {
        record_page::insert(connection, to.saturating_add(1), &after)?;
    }
    Ok(())
}

fn split_salts(connection: &Connection, run: &RemovableRun) -> Result<(), StoreError> {
    let (from, to) = (run.span.from, run.span.to);
    let rows: Vec<(i64, Vec<u8>, Vec<u8>)> = connection
        .prepare_cached(
            "SELECT first, sessions, salts FROM salt
             WHERE first >= coalesce((SELECT max(first) FROM salt WHERE first <= ?1), 0)
                   AND first <= ?2 ORDER BY first",
        )?
        .query_map(params![from, to], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut delete = connection.prepare_cached("DELETE FROM salt WHERE first = ?1")?;
    let mut insert = connection
        .prepare_cached("INSERT INTO salt (first, sessions, salts) VALUES (?1, ?2, ?3)")?;
    for (first, packed, salts) in rows {
        let of: Vec<(i64, i64)> = SessionRanges::new(first, &packed).collect();
        let salts = salts.as_chunks::<SALT_BYTES>().0;
        let pairs = || of.iter().zip(salts);
        if pairs().all(|((number, _), _)| *number < from || *number > to) {
            continue;
        }
        delete.execute([first])?;
        let is_before = |number: i64| number < from;
        let is_after = |number: i64| number > to;
        for part in [&is_before as &dyn Fn(i64) -> bool, &is_after] {
            let kept: Vec<_> = pairs().filter(|((number, _), _)| part(*number)).collect();
            let Some(((first, _), _)) = kept.first() else { continue };
            let sessions: Vec<i64> = kept.iter().map(|((_, session), _)| *session).collect();
            let salts: Vec<u8> = kept.iter().flat_map(|(_, salt)| **salt).collect();
            insert.execute(params![first, session_ranges::pack(&sessions), salts])?;
        }
    }
    Ok(())
}

fn split_places(connection: &Connection, run: &RemovableRun) -> Result<(), StoreError> {
    let (from, to) = (run.span.from, run.span.to);
    let rows: Vec<(i64, Vec<u8>)> = connection
        .prepare_cached(session_ranges::PLACES_FORWARD)?
        .query_map(params![from, to], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut delete = connection.prepare_cached("DELETE FROM place WHERE first = ?1")?;
    let mut insert =
        connection.prepare_cached("INSERT INTO place (first, sessions) VALUES (?1, ?2)")?;
    for (first, packed) in rows {
        let of: Vec<(i64, i64)> = SessionRanges::new(first, &packed).collect();
        if of.iter().all(|(number, _)| *number < from || *number > to) {
            continue;
        }
        delete.execute([first])?;
        let before: Vec<_> = of.iter().filter(|(number, _)| *number < from).collect();
        let after: Vec<_> = of.iter().filter(|(number, _)| *number > to).collect();
        for part in [before, after] {
            let Some((first, _)) = part.first() else { continue };
            let sessions: Vec<i64> = part.iter().map(|(_, session)| *session).collect();
            insert.execute(params![first, session_ranges::pack(&sessions)])?;
        }
    }
    if !run.span.sessions.is_empty() {
        let sessions: Vec<i64> = run.span.sessions.iter().map(|it| it.session).collect();
        insert.execute(params![from, session_ranges::pack(&sessions)])?;
    }
    Ok(())
}

fn split_receipts(connection: &Connection, run: &RemovableRun) -> Result<(), StoreError> {
    let (from, to) = (count(run.span.from), count(run.span.to));
    let rows: Vec<(i64, i64, Vec<u8>)> = connection
        .prepare_cached(
            "SELECT first, at, entries FROM receipt
             WHERE first >= coalesce((SELECT max(first) FROM receipt WHERE first <= ?1), 0)
                   AND first <= ?2 ORDER BY first",
        )?
        .query_map(params![run.span.from, run.span.to], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    for (first, at, packed) in rows {
        let entries = packed.as_chunks::<RECEIPT_BYTES>().0;
        let is_kept =
            |entry: &&[u8; RECEIPT_BYTES]| !(from..=to).contains(&ReceiptEntry::read(entry).number);
        let kept: Vec<_> = entries.iter().filter(is_kept).collect();
        if kept.len() == entries.len() {
            continue;
        }
        connection.prepare_cached("DELETE FROM receipt WHERE first = ?1")?.execute([first])?;
        if let Some(number) = kept.first().map(|entry| ReceiptEntry::read(entry).number) {
            let bytes: Vec<u8> = kept.iter().flat_map(|entry| **entry).collect();
            connection
                .prepare_cached("INSERT INTO receipt (first, at, entries) VALUES (?1, ?2, ?3)")?
                .execute(params![number.cast_signed(), at, bytes])?;
        }
    }
    Ok(())
}
