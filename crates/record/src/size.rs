//! Room that the record takes, in all and by session. Reads all of it; for `bridle record size`, and to tell what
//! forgetting would give back.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use crate::cipher::SALT_BYTES;
use crate::database::{self, count};
use crate::error::StoreError;
use crate::reader::RecordReader;
use crate::record_page::{self, RawRecord, StoredBody};

/// Sizes of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSize {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the log beside it.
    pub log_bytes: u64,
    /// Bytes of the file that are free, and used for what comes next.
    pub free_bytes: u64,
    /// All records that are there.
    pub all: SizeRow,
    /// Those that are forgotten: compacting takes them away.
    pub forgotten: SizeRow,
    /// Number of records that were taken away.
    pub compacted: u64,
    /// By who owns the session; `daemon` for the daemon's own.
    pub principals: Vec<SizeRow>,
    /// By session; the empty name for the daemon's own.
    pub sessions: Vec<SizeRow>,
    /// By kind.
    pub kinds: Vec<SizeRow>,
}

/// Size of some records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SizeRow {
    /// Name that the records of the row have in common.
    pub name: Box<str>,
    /// Number of records.
    pub records: u64,
    /// Their bytes, with salts and blobs.
    pub bytes: u64,
}

impl SizeRow {
    fn add(&mut self, bytes: u64) {
        self.records += 1;
        self.bytes += bytes;
    }
}

impl RecordReader {
    /// Adds up the sizes of all records.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn size(&self, dir: &Path) -> Result<RecordSize, StoreError> {
        let moment = self.moment()?;
        let mut sums = SizeSums::default();
        let _ = record_page::each(&moment, &(1..=i64::MAX), &mut |raw| {
            sums.take(&moment, raw)?;
            Ok(ControlFlow::Continue(()))
        })?;
        let pragma = |name| moment.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let free = count(pragma("freelist_count")?) * count(pragma("page_size")?);
        let path = dir.join(database::RECORD_FILE);
        let mut files =
            database::companions(&path).map(|file| fs::metadata(file).map_or(0, |file| file.len()));
        let (file_bytes, log_bytes) = (files.next().unwrap_or(0), files.next().unwrap_or(0));
        Ok(RecordSize { file_bytes, log_bytes, free_bytes: free, ..sums.into_size(&moment)? })
    }
}

#[derive(Default)]
struct SizeSums {
    sessions: BTreeMap<i64, SizeRow>,
    kinds: BTreeMap<Vec<u8>, SizeRow>,
    all: SizeRow,
    compacted: u64,
}

impl SizeSums {
    fn take(&mut self, moment: &Connection, raw: &RawRecord<'_>) -> Result<(), StoreError> {
        let blob = match raw.stored {
            StoredBody::Blob(address) => blob_bytes(moment, address)?,
            StoredBody::Compacted(_) => {
                self.compacted += raw.end().abs_diff(raw.number) + 1;
                0
            }
            _ => 0,
        };
        let bytes = (raw.bytes() + SALT_BYTES) as u64 + blob;
        self.all.add(bytes);
        self.sessions.entry(raw.session).or_default().add(bytes);
        self.kinds.entry(raw.kind.to_vec()).or_default().add(bytes);
        Ok(())
    }

    fn into_size(self, moment: &Connection) -> Result<RecordSize, StoreError> {
        let mut statement =
            moment.prepare_cached("SELECT name, owner, forgotten FROM session WHERE id = ?1")?;
        let (mut owners, mut sessions) = (BTreeMap::<Box<str>, SizeRow>::new(), Vec::new());
        let mut forgotten = SizeRow::default();
        for (id, row) in self.sessions {
            let found: Option<(Box<str>, Box<str>, bool)> = statement
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()?;
            let (name, owner, is_forgotten) = found.unwrap_or_default();
            let owner = if id == 0 { "daemon".into() } else { owner };
            let sum = owners.entry(owner).or_default();
            (sum.records, sum.bytes) = (sum.records + row.records, sum.bytes + row.bytes);
            if is_forgotten {
                forgotten.records += row.records;
                forgotten.bytes += row.bytes;
            }
            sessions.push(SizeRow { name, ..row });
        }
        let kinds = self.kinds.into_iter().map(|(kind, row)| {
            let name = String::from_utf8_lossy(&kind).into();
            SizeRow { name, ..row }
        });
        let mut kinds: Vec<SizeRow> = kinds.collect();
        let mut principals: Vec<SizeRow> =
            owners.into_iter().map(|(name, row)| SizeRow { name, ..row }).collect();
        for rows in [&mut kinds, &mut principals, &mut sessions] {
            rows.sort_by(|one, other| other.bytes.cmp(&one.bytes).then(one.name.cmp(&other.name)));
        }
        let (all, compacted) = (self.all, self.compacted);
        Ok(RecordSize {
            all,
            forgotten,
            compacted,
            principals,
            sessions,
            kinds,
            ..RecordSize::default()
        })
    }
}

fn blob_bytes(moment: &Connection, address: &[u8]) -> Result<u64, StoreError> {
    let bytes: Option<i64> = moment
        .prepare_cached("SELECT length(bytes) FROM blob WHERE hash = ?1")?
        .query_row([address], |row| row.get(0))
        .optional()?;
    Ok(count(bytes.unwrap_or(0)))
}
