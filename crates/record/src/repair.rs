//! Repairing a damaged record: what can be read of it, from the first record on, becomes a new file, and the damaged
//! one is put aside. Nothing is guessed: the first record that does not fit the chain ends the new one. Called by
//! `bridle record repair` while no daemon runs. Knows the tables; what records mean it asks only of acts, so that
//! none is carried out twice.
//!
//! The new file is built in a folder of its own, which gets its final name when it is whole. From then on the
//! exchange can be interrupted anywhere: the record is not opened until it is done, and to repair again goes on with it.

mod build;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::append::{NewRecord, RecordAppend};
use crate::chain_ends;
use crate::database::{self, BUSY_TIMEOUT, RECORD_FILE, count};
use crate::error::StoreError;
use crate::fault;
use crate::forget::ForgetRequest;
use crate::open_checks::READY_FOLDER;
use crate::reader::RecordReader;
use crate::record::{ChainHead, RecordHash};
use crate::schema;
use crate::verify::{self, SoundPrefix};
use crate::version_links;
use crate::writer::{RecordStore, StoreOptions};

/// Folder in which the new file is built.
const BUILDING_FOLDER: &str = "record.repairing";

/// Kind of the record that says what was done.
pub const REPAIRED: &str = "repaired";

/// Numbers in the body of one `forgot` record.
const MAX_NUMBERS_PER_RECORD: usize = 1024;

/// Result of a repair, or of looking what one would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    /// Fault of the record in words; `None`: nothing that a repair could mend.
    pub fault: Option<Box<str>>,
    /// Number and hash of the last record that is kept; number 0 if there is none.
    pub kept: ChainHead,
    /// The last record that there are traces of.
    pub last_known: u64,
    /// Kept records whose bodies cannot be read; they count as forgotten.
    pub unreadable: u64,
    /// Sessions of which records are kept.
    pub sessions: u64,
    /// Versions of files that followed from records which are gone.
    pub detached: u64,
    /// Path to which the damaged file was moved.
    pub aside: Option<PathBuf>,
}

impl RepairReport {
    /// Number of records that are gone, as far as there are traces of them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.last_known.saturating_sub(self.kept.number.0)
    }
}

/// Looks what can be kept of a record.
///
/// # Errors
///
/// The file is no record of bridle, or has a version that is not known here.
pub fn inspect(dir: &Path) -> Result<RepairReport, StoreError> {
    Ok(examine(dir)?.1)
}

/// Puts what can be read of a record into a new file, and the damaged one aside, under a name with this time in
/// milliseconds. A record that is whole is left as it is. Nobody else may have it open.
///
/// # Errors
///
/// The record is as it was, or [`StoreError::RepairInterrupted`] says that repairing it again goes on.
pub fn repair(dir: &Path, by: &ForgetRequest) -> Result<RepairReport, StoreError> {
    if dir.join(READY_FOLDER).exists() {
        return finish(dir, by);
    }
    let (old, report) = examine(dir)?;
    if report.fault.is_none() {
        return Ok(report);
    }
    let building = dir.join(BUILDING_FOLDER);
    remove(&building)?;
    database::make_private(&building)?;
    build(&building, old, &report, by)?;
    fault::point("repair.built");
    sync(&building)?;
    rename(&building, &dir.join(READY_FOLDER))?;
    sync(dir)?;
    fault::point("repair.ready");
    let RepairReport { aside, detached, .. } = finish(dir, by)?;
    Ok(RepairReport { aside, detached, ..report })
}

/// The old record, open, and the part of it that is sound.
type Old = Option<(Connection, SoundPrefix)>;

fn examine(dir: &Path) -> Result<(Old, RepairReport), StoreError> {
    let known = version_links::latest_record(dir)?.unwrap_or(0);
    let mut report = RepairReport {
        fault: None,
        kept: ChainHead { number: crate::RecordNumber(0), hash: RecordHash([0; 32]) },
        last_known: known,
        unreadable: 0,
        sessions: 0,
        detached: 0,
        aside: None,
    };
    let unreadable = |report: RepairReport, fault: String| {
        Ok((None, RepairReport { fault: Some(fault.into()), ..report }))
    };
    if !dir.join(RECORD_FILE).exists() {
        return unreadable(report, "there is no record.db".into());
    }
    let connection = open_any(dir)?;
    let origin = match chain_ends::read_origin(&connection) {
        Ok(origin) => origin,
        Err(error) => return unreadable(report, format!("nothing can be read: {error}")),
    };
    let prefix = verify::sound_prefix(&connection, origin)?;
    report.kept.number = crate::RecordNumber(count(prefix.last));
    report.kept.hash = build::hash_of(&connection, prefix.last)?.unwrap_or(origin);
    report.last_known = known.max(count(last_row(&connection))).max(report.kept.number.0);
    report.sessions = prefix.sessions.keys().filter(|id| **id != 0).count() as u64;
    report.unreadable = prefix.unreadable.len() as u64;
    report.fault = fault_of(dir, known, &prefix);
    Ok((Some((connection, prefix)), report))
}

/// Describes the fault of a record, if it has one.
fn fault_of(dir: &Path, known: u64, prefix: &SoundPrefix) -> Option<Box<str>> {
    if let Some(broken) = &prefix.flaw {
        return Some(broken.to_string().into());
    }
    if count(prefix.last) < known {
        let last = count(prefix.last);
        return Some(StoreError::Behind { found: last, known }.to_string().into());
    }
    let whole = RecordReader::open(dir).and_then(|reader| reader.verify(None, &mut |_, _| ()));
    whole.err().map(|error| error.to_string().into())
}

/// Opens a file whatever it says of itself, as long as it is a database.
fn open_any(dir: &Path) -> Result<Connection, StoreError> {
    match schema::open_reader(dir) {
        Err(error @ (StoreError::Newer { .. } | StoreError::Older { .. })) => return Err(error),
        Ok(connection) => return Ok(connection),
        Err(_) => {}
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(dir.join(RECORD_FILE), flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    let tables = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('record', 'session', 'salt', 'meta')",
        [],
        |row| row.get::<_, i64>(0),
    );
    match tables {
        Ok(4) | Err(_) => Ok(connection),
        Ok(0) if fs::metadata(dir.join(RECORD_FILE)).is_ok_and(|file| file.len() == 0) => {
            Ok(connection)
        }
        Ok(_) => Err(StoreError::Foreign { path: dir.join(RECORD_FILE) }),
    }
}

/// Number of the last row of records or salts that the tables still lead to.
fn last_row(connection: &Connection) -> i64 {
    let last = |table: &str| {
        let sql = format!("SELECT coalesce(max(first), 0) FROM {table}");
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0)
    };
    last("record").max(last("salt"))
}

/// Builds the new record in a folder.
fn build(
    folder: &Path,
    old: Old,
    report: &RepairReport,
    by: &ForgetRequest,
) -> Result<(), StoreError> {
    let mut drafts = Vec::new();
    let draft = |body: String, kind| NewRecord::new("", kind, by.at, &by.principal, body);
    if let Some((old, prefix)) = old {
        build::copy(&old, &prefix, report.lost() > 0, folder)?;
        let numbers: Vec<String> = prefix.unreadable.iter().map(ToString::to_string).collect();
        for some in numbers.chunks(MAX_NUMBERS_PER_RECORD) {
            let body = format!("{}{}))", crate::forget::MANY_RECORDS, some.join(" "));
            drafts.push(draft(body, crate::forget::FORGOT_KIND));
        }
        let firsts: Vec<String> = prefix.keyless.iter().map(ToString::to_string).collect();
        for some in firsts.chunks(MAX_NUMBERS_PER_RECORD) {
            let body = format!("{}{}))", crate::forget::MANY_SESSIONS, some.join(" "));
            drafts.push(draft(body, crate::forget::FORGOT_KIND));
        }
        let ranges: Vec<String> = prefix
            .unvouched
            .iter()
            .map(|(from, (to, digest))| format!("({from} {to} \"{digest}\")"))
            .collect();
        for some in ranges.chunks(MAX_NUMBERS_PER_RECORD) {
            let body = format!("(:records 0 :ranges ({}))", some.join(" "));
            drafts.push(draft(body, crate::compact::COMPACTION));
        }
    }
    let lost = report.lost();
    let (kept, unreadable) = (report.kept.number, report.unreadable);
    let body = format!("(:kept {kept} :lost {lost} :unreadable {unreadable})");
    drafts.push(draft(body, REPAIRED));
    let mut store = RecordStore::open(folder, &StoreOptions::default())?;
    store.commit(&[RecordAppend { drafts, ..RecordAppend::default() }])?;
    store.scrub()?;
    drop(store);
    let verified = RecordReader::open(folder)?.verify(None, &mut |_, _| ());
    verified.map(drop)
}

/// Exchanges the files. Whatever was done of it before an interruption is not done again.
fn finish(dir: &Path, by: &ForgetRequest) -> Result<RepairReport, StoreError> {
    let (ready, record) = (dir.join(READY_FOLDER), dir.join(RECORD_FILE));
    let aside = dir.join(format!("{RECORD_FILE}.damaged-{}", by.at));
    if ready.join(RECORD_FILE).exists() {
        for (old, suffix) in database::companions(&record).zip(["", "-wal", "-shm"]) {
            if !old.exists() {
                continue;
            }
            match suffix {
                // It is made anew from the others.
                "-shm" => fs::remove_file(&old).map_err(failed(&old))?,
                _ => rename(&old, &dir.join(format!("{}{suffix}", file_name(&aside))))?,
            }
            fault::point("repair.aside");
        }
        sync(dir)?;
        rename(&ready.join(RECORD_FILE), &record)?;
        sync(dir)?;
        fault::point("repair.exchanged");
    }
    remove(&ready)?;
    sync(dir)?;
    let reader = RecordReader::open(dir)?;
    let (head, mut kept) = (reader.head()?, 0);
    reader
        .last(REPAIRED, 1, &mut |record| kept = kept_by(record.body.text().unwrap_or_default()))?;
    let detached = version_links::detach_after(dir, kept)?;
    let aside = aside.exists().then_some(aside);
    Ok(RepairReport {
        fault: Some("a repair was interrupted".into()),
        kept: head,
        last_known: head.number.0,
        unreadable: 0,
        sessions: 0,
        detached,
        aside,
    })
}

/// Number of the last record that was kept, as a `repaired` record says.
fn kept_by(body: &str) -> u64 {
    let kept = body.strip_prefix("(:kept ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    kept.unwrap_or(0)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(failed(from))
}

fn remove(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(folder)(error)),
        _ => Ok(()),
    }
}

/// Has the names in a folder, and the record in it, written to the disk.
fn sync(folder: &Path) -> Result<(), StoreError> {
    let record = folder.join(RECORD_FILE);
    if record.exists() {
        File::open(&record).and_then(|file| file.sync_all()).map_err(failed(&record))?;
    }
    File::open(folder).and_then(|it| it.sync_all()).map_err(failed(folder))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = path.to_path_buf();
    move |source| StoreError::Io { path, source }
}
