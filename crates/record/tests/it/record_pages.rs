//! The bytes of the table of records, read and written without any code of the store, as somebody would
//! who changes them behind its back.

use rusqlite::{Connection, params};

/// A record, field by field, true or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Number, session, seq, time, cause, version.
    pub(crate) numbers: [u64; 6],
    pub(crate) principal: Vec<u8>,
    pub(crate) kind: Vec<u8>,
    /// 0: the body follows; 1: the hash of its blob.
    pub(crate) place: u64,
    pub(crate) body: Vec<u8>,
    pub(crate) prev: Vec<u8>,
    pub(crate) hash: Vec<u8>,
}

/// Where the time is among the numbers.
pub(crate) const AT: usize = 3;

impl Entry {
    pub(crate) fn number(&self) -> u64 {
        self.numbers[0]
    }
}

fn take_number(bytes: &mut &[u8]) -> u64 {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).expect("a number ends") + 1;
    let (number, rest) = bytes.split_at(end);
    *bytes = rest;
    number.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
}

fn take(bytes: &mut &[u8], length: u64) -> Vec<u8> {
    let (taken, rest) = bytes.split_at(usize::try_from(length).unwrap());
    *bytes = rest;
    taken.to_vec()
}

fn take_bytes(bytes: &mut &[u8]) -> Vec<u8> {
    let length = take_number(bytes);
    take(bytes, length)
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

fn put_bytes(bytes: &mut Vec<u8>, some: &[u8]) {
    put_number(bytes, some.len() as u64);
    bytes.extend_from_slice(some);
}

pub(crate) fn read(mut bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let fields = take_bytes(&mut bytes);
        let mut rest = &fields[..];
        entries.push(Entry {
            numbers: [(); 6].map(|()| take_number(&mut rest)),
            principal: take_bytes(&mut rest),
            kind: take_bytes(&mut rest),
            place: take_number(&mut rest),
            body: take_bytes(&mut rest),
            prev: rest.to_vec(),
            hash: take(&mut bytes, 32),
        });
    }
    entries
}

pub(crate) fn write(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        let mut fields = Vec::new();
        entry.numbers.iter().for_each(|number| put_number(&mut fields, *number));
        put_bytes(&mut fields, &entry.principal);
        put_bytes(&mut fields, &entry.kind);
        put_number(&mut fields, entry.place);
        put_bytes(&mut fields, &entry.body);
        fields.extend_from_slice(&entry.prev);
        put_bytes(&mut bytes, &fields);
        bytes.extend_from_slice(&entry.hash);
    }
    bytes
}

/// All records, by record page.
pub(crate) fn all(connection: &Connection) -> Vec<(i64, Vec<Entry>)> {
    let mut statement = connection.prepare("SELECT first, records FROM record").unwrap();
    let rows = statement.query_map([], |row| {
        let records: Vec<u8> = row.get(1)?;
        Ok((row.get(0)?, read(&records)))
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// Changes the list of all records, and writes it with the record pages divided as before. A record page without records
/// goes; one whose first record went begins with the next.
pub(crate) fn change(connection: &Connection, change: impl FnOnce(&mut Vec<Entry>)) {
    let pages = all(connection);
    let ends: Vec<u64> =
        pages.iter().map(|(_, entries)| entries.last().unwrap().number()).collect();
    let mut entries: Vec<Entry> = pages.into_iter().flat_map(|(_, entries)| entries).collect();
    change(&mut entries);
    connection.execute("DELETE FROM record", []).unwrap();
    for end in ends {
        let rest = entries.iter().position(|entry| entry.number() > end).unwrap_or(entries.len());
        let after = entries.split_off(rest);
        let page = std::mem::replace(&mut entries, after);
        if let Some(first) = page.first() {
            connection
                .execute(
                    "INSERT INTO record (first, records) VALUES (?1, ?2)",
                    params![first.number().cast_signed(), write(&page)],
                )
                .unwrap();
        }
    }
    assert_eq!(entries, []);
}
