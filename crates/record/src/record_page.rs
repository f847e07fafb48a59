//! A page: records that were committed together, one after the other in the bytes of one row. A row for each record
//! cost two thirds of what sealing and hashing it does. Written by the batch; read by the reader, by `verify` and by
//! totals. Knows the bytes and the table, not what records mean.
//!
//! A record is the length of its fields, the fields, and the hash of those. An absent number is 0, since none that
//! may be absent is ever 0. All bytes are hostile: anybody may have changed the file.

use std::ops::{ControlFlow, RangeInclusive};

use rusqlite::{Connection, Row, params};

use crate::chain::SessionIdentity;
use crate::compacted_span;
use crate::error::StoreError;
use crate::record::RecordHash;
use crate::varint;

/// Most bytes of a record page: with its row, a page of the file. A single record that is larger has its own.
const PAGE_BYTES: usize = 16_340;

/// Most bytes of a record page in a commit that does not fill several pages. The next commit begins where it
/// ended, and what has no room in the rest of a page leaves that empty: so record pages are small.
const SMALL_PAGE_BYTES: usize = 4000;

/// Bytes of a commit from which on its record pages fill pages of the file.
const LARGE_COMMIT_BYTES: usize = 4 * PAGE_BYTES;

/// Bytes that a record has besides its fields: their length, and its hash.
const ENTRY_OVERHEAD_BYTES: usize = 3 + 32;

/// Tags of a body: the bytes themselves, the hash of a blob, or the bytes that are not shared.
const BODY_INLINE: u64 = 0;
const BODY_BLOB: u64 = 1;
const BODY_SHARED: u64 = 2;
/// A record that stands for others, which are gone: what is known of them.
const BODY_COMPACTED: u64 = 3;

/// Fields of a record besides its body.
pub(crate) struct RecordFacts<'a> {
    pub(crate) number: u64,
    pub(crate) session: i64,
    pub(crate) seq: Option<u64>,
    pub(crate) at: i64,
    pub(crate) cause: Option<u64>,
    pub(crate) version: u64,
    pub(crate) principal: &'a str,
    pub(crate) kind: &'a str,
}

/// The fields of a record that is being written.
#[derive(Default)]
pub(crate) struct RecordFields(Vec<u8>);

impl RecordFields {
    /// Begins a record.
    pub(crate) fn begin(&mut self, facts: &RecordFacts<'_>) {
        self.0.clear();
        self.number(facts.number);
        self.number(facts.session.cast_unsigned());
        self.number(facts.seq.unwrap_or(0));
        self.number(facts.at.cast_unsigned());
        self.number(facts.cause.unwrap_or(0));
        self.number(facts.version);
        self.bytes(facts.principal.as_bytes());
        self.bytes(facts.kind.as_bytes());
    }

    /// Goes on with a body of so many bytes, which `write` appends.
    pub(crate) fn inline(&mut self, length: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.body(BODY_INLINE, length, write);
    }

    /// Adds a [`SharedPartPlace`] and the rest of a body.
    pub(crate) fn shared(&mut self, length: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.body(BODY_SHARED, length, write);
    }

    /// Adds the span of the records that this one stands for.
    pub(crate) fn compacted(&mut self, span: &[u8]) {
        self.body(BODY_COMPACTED, span.len(), |bytes| bytes.extend_from_slice(span));
    }

    /// Ends a record that stands for others, which follow the one with this hash. Its fields.
    pub(crate) fn end_compacted(&mut self, prev: RecordHash) -> &[u8] {
        self.0.extend_from_slice(prev.as_bytes());
        &self.0
    }

    /// Adds the hash of the blob that has the body.
    pub(crate) fn blob(&mut self, address: RecordHash) {
        let hash = address.as_bytes();
        self.body(BODY_BLOB, hash.len(), |bytes| bytes.extend_from_slice(hash));
    }

    fn body(&mut self, place: u64, length: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.number(place);
        self.number(length as u64);
        write(&mut self.0);
    }

    /// Ends a record of a session, which follows the one with this hash.
    pub(crate) fn end(&mut self, prev: RecordHash, session: &SessionIdentity) -> RecordHash {
        self.0.extend_from_slice(prev.as_bytes());
        session.hash(&self.0)
    }

    fn number(&mut self, number: u64) {
        varint::write(&mut self.0, number);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

/// A record page that is being written.
pub(crate) struct PageWriter {
    /// Most bytes of it.
    room: usize,
    /// Number of its first record.
    first: u64,
    records: Vec<u8>,
}

impl PageWriter {
    /// The first of a commit with about so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let room = if bytes < LARGE_COMMIT_BYTES { SMALL_PAGE_BYTES } else { PAGE_BYTES };
        Self { room, first: 0, records: Vec::with_capacity(room) }
    }

    /// Adds a record, whose hash this is. A record page without room for it is put into the table before.
    pub(crate) fn add(
        &mut self,
        number: u64,
        fields: &RecordFields,
        hash: &RecordHash,
        connection: &Connection,
    ) -> Result<(), StoreError> {
        if self.records.len() + fields.0.len() + ENTRY_OVERHEAD_BYTES > self.room {
            self.put(connection)?;
        }
        if self.records.is_empty() {
            self.first = number;
        }
        write_entry(&mut self.records, &fields.0, hash);
        Ok(())
    }

    /// Puts it into the table, unless it is empty, which it then is.
    pub(crate) fn put(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if !self.records.is_empty() {
            insert(connection, self.first.cast_signed(), &self.records)?;
            self.records.clear();
        }
        Ok(())
    }
}

/// A body as it is stored: sealed, unless it is the daemon's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredBody<'a> {
    /// All of it.
    Inline(&'a [u8]),
    /// The hash of the blob that has it.
    Blob(&'a [u8]),
    /// A [`SharedPartPlace`], and what of it does not stand in another record.
    Shared(&'a [u8]),
    /// The record stands for compacted ones: their span, see `compacted_span.rs`.
    Compacted(&'a [u8]),
}

/// Place of the part of a body that stands in another body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedPartPlace {
    /// Distance to the other record, in records.
    pub(crate) later: u64,
    /// Beginnings of the part in this body and in the other one.
    pub(crate) from: usize,
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

impl SharedPartPlace {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8);
        varint::write(&mut bytes, self.later);
        for place in [self.from, self.at, self.bytes] {
            varint::write(&mut bytes, place as u64);
        }
        bytes
    }

    /// Reads what [`SharedPartPlace::write`] made, and the rest.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (later, mut rest) = varint::read(bytes)?;
        let mut place = || {
            let (place, after) = varint::read(rest)?;
            rest = after;
            usize::try_from(place).ok()
        };
        let (from, at, bytes) = (place()?, place()?, place()?);
        Some((Self { later, from, at, bytes }, rest))
    }

    /// The body: what is its own, with the part out of the other one where it belongs.
    pub(crate) fn put_in(&self, own: &[u8], other: &[u8]) -> Option<Vec<u8>> {
        let (before, after) = own.split_at_checked(self.from)?;
        let part = other.get(self.at..self.at.checked_add(self.bytes)?)?;
        Some([before, part, after].concat())
    }
}

/// A record as it is stored. What it says of itself need not be true, nor its texts be text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawRecord<'a> {
    pub(crate) number: i64,
    pub(crate) session: i64,
    pub(crate) seq: Option<i64>,
    pub(crate) at: i64,
    pub(crate) cause: Option<i64>,
    pub(crate) version: u64,
    pub(crate) principal: &'a [u8],
    pub(crate) kind: &'a [u8],
    pub(crate) stored: StoredBody<'a>,
    pub(crate) prev: RecordHash,
    pub(crate) hash: RecordHash,
    /// Bytes that the hash is of.
    pub(crate) fields: &'a [u8],
    /// Bytes that follow the record in its page.
    pub(crate) rest: &'a [u8],
}

impl RawRecord<'_> {
    /// Number of the last record that it stands for: its own, unless others were compacted into it.
    pub(crate) fn end(&self) -> i64 {
        match self.stored {
            StoredBody::Compacted(span) => {
                compacted_span::end(span).map_or(self.number, |end| end.max(self.number))
            }
            _ => self.number,
        }
    }

    /// Appends it as it lies in a record page.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        write_entry(bytes, self.fields, &self.hash);
    }

    /// Returns the bytes that the record takes in a page.
    pub(crate) fn bytes(&self) -> usize {
        self.fields.len() + ENTRY_OVERHEAD_BYTES
    }
}

/// Appends a record as it lies in a record page: the length of its fields, the fields, the hash.
pub(crate) fn write_entry(bytes: &mut Vec<u8>, fields: &[u8], hash: &RecordHash) {
    varint::write(bytes, fields.len() as u64);
    bytes.extend_from_slice(fields);
    bytes.extend_from_slice(hash.as_bytes());
}

/// Puts a record page into the table.
pub(crate) fn insert(
    connection: &Connection,
    first: i64,
    records: &[u8],
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT INTO record (first, records) VALUES (?1, ?2)")?
        .execute(params![first, records])?;
    Ok(())
}

/// The records of a record page, in order. Bytes that are not of records are told once, in the place of the rest.
pub(crate) struct PageRecords<'a>(&'a [u8]);

impl<'a> PageRecords<'a> {
    pub(crate) fn new(records: &'a [u8]) -> Self {
        Self(records)
    }
}

impl<'a> Iterator for PageRecords<'a> {
    type Item = Result<RawRecord<'a>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = read(self.0);
        self.0 = read.map_or(&[], |(_, rest)| rest);
        Some(read.map(|(raw, _)| raw).ok_or_else(|| StoreError::Damaged(NO_RECORD.into())))
    }
}

const NO_RECORD: &str = "bytes among the records are not of any";

/// The record that these bytes begin with, and the rest.
fn read(bytes: &[u8]) -> Option<(RawRecord<'_>, &[u8])> {
    let (fields, rest) = read_bytes(bytes)?;
    let (hash, rest) = rest.split_first_chunk()?;
    let (number, after) = read_number(fields)?;
    let (session, after) = read_number(after)?;
    let (seq, after) = read_number(after)?;
    let (at, after) = read_number(after)?;
    let (cause, after) = read_number(after)?;
    let (version, after) = varint::read(after)?;
    let (principal, after) = read_bytes(after)?;
    let (kind, after) = read_bytes(after)?;
    let (place, after) = varint::read(after)?;
    let (body, prev) = read_bytes(after)?;
    let stored = match place {
        BODY_INLINE => StoredBody::Inline(body),
        BODY_BLOB => StoredBody::Blob(body),
        BODY_SHARED => StoredBody::Shared(body),
        BODY_COMPACTED => StoredBody::Compacted(body),
        _ => return None,
    };
    let [seq, cause] = [seq, cause].map(|number| (number != 0).then_some(number));
    let (prev, hash) = (RecordHash(prev.try_into().ok()?), RecordHash(*hash));
    let raw = RawRecord {
        number,
        session,
        seq,
        at,
        cause,
        version,
        principal,
        kind,
        stored,
        prev,
        hash,
        fields,
        rest,
    };
    Some((raw, rest))
}

fn read_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    varint::read(bytes).map(|(number, rest)| (number.cast_signed(), rest))
}

fn read_bytes(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = varint::read(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// Record pages with records of a range of numbers, the first of them perhaps from before it.
pub(crate) const PAGES_WITHIN: &str = "SELECT first, records FROM record
    WHERE first >= coalesce((SELECT max(first) FROM record WHERE first <= ?1), 1) AND first <= ?2
    ORDER BY first";

/// All record pages, the last one first.
const PAGES_BACKWARD: &str = "SELECT first, records FROM record ORDER BY first DESC";

/// The record page of a row of `first` and `records`.
pub(crate) fn of_row<'a>(row: &'a Row<'_>) -> Result<(i64, PageRecords<'a>), StoreError> {
    let records = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
    Ok((row.get(0)?, PageRecords::new(records)))
}

/// Hands out the records of a range of numbers, in order, until it is told to stop.
pub(crate) fn each(
    connection: &Connection,
    range: &RangeInclusive<i64>,
    take: &mut dyn FnMut(&RawRecord<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<ControlFlow<()>, StoreError> {
    each_of(connection, range, &|raw| range.contains(&raw.number), take)
}

/// Visits the records of a range, and the record before it that stands for some of the range.
pub(crate) fn each_reaching(
    connection: &Connection,
    range: &RangeInclusive<i64>,
    take: &mut dyn FnMut(&RawRecord<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<ControlFlow<()>, StoreError> {
    let reaches = |raw: &RawRecord<'_>| raw.number <= *range.end() && raw.end() >= *range.start();
    each_of(connection, range, &reaches, take)
}

fn each_of(
    connection: &Connection,
    range: &RangeInclusive<i64>,
    is_wanted: &dyn Fn(&RawRecord<'_>) -> bool,
    take: &mut dyn FnMut(&RawRecord<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<ControlFlow<()>, StoreError> {
    let mut statement = connection.prepare_cached(PAGES_WITHIN)?;
    let mut rows = statement.query(params![range.start(), range.end()])?;
    while let Some(row) = rows.next()? {
        for raw in of_row(row)?.1 {
            let raw = raw?;
            if is_wanted(&raw) && take(&raw)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Hands out all records, the last one first, until it is told to stop.
pub(crate) fn each_backward(
    connection: &Connection,
    take: &mut dyn FnMut(&RawRecord<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(PAGES_BACKWARD)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let page = of_row(row)?.1.collect::<Result<Vec<_>, _>>()?;
        for raw in page.iter().rev() {
            if take(raw)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Of which session a record is, and its seq; `None` if there is no such record.
pub(crate) fn whose(
    connection: &Connection,
    number: i64,
) -> Result<Option<(i64, Option<i64>)>, StoreError> {
    let mut found = None;
    let _ = each(connection, &(number..=number), &mut |raw| {
        found = Some((raw.session, raw.seq));
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests;
