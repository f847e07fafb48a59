//! Copies of the databases of a state directory that belong together, made while a daemon may write them. Called by the
//! commands; a copy is a whole database of its own, without a log beside it.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use crate::database::RECORD_FILE;
use crate::error::StoreError;
use crate::file_shelf::SHELF_FILE;
use crate::version_links::MEMORY_FILE;

/// Databases besides the record that versions and messages refer to, in the order in which they are copied. The record
/// comes last: one that ends before what its versions follow from would not be opened.
const SIDE_FILES: [&str; 3] = [MEMORY_FILE, "overlays.db", SHELF_FILE];

/// Copies that are made when versions are written meanwhile.
const MAX_TRIES: u32 = 8;

/// Pages copied in one step, between which writers go on.
const STEP_PAGES: i32 = 4096;

/// Pause between two steps.
const STEP_PAUSE: Duration = Duration::from_millis(1);

/// Wait for whoever holds a database.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Copies the databases of a state directory into an empty folder; returns their names.
///
/// # Errors
/// There is no record, something cannot be read or written, or versions change faster than they can be copied.
pub fn backup_databases(dir: &Path, target: &Path) -> Result<Vec<&'static str>, StoreError> {
    let record =
        open(dir, RECORD_FILE)?.ok_or(StoreError::Missing { path: dir.join(RECORD_FILE) })?;
    let mut sides = Vec::new();
    for name in SIDE_FILES {
        if let Some(side) = open(dir, name)? {
            sides.push((name, side));
        }
    }
    for _ in 0..MAX_TRIES {
        let before = versions(&sides)?;
        for (name, side) in &sides {
            copy(side, &target.join(name))?;
        }
        copy(&record, &target.join(RECORD_FILE))?;
        if versions(&sides)? == before {
            let names = sides.iter().map(|(name, _)| *name);
            return Ok(names.chain([RECORD_FILE]).collect());
        }
    }
    Err(StoreError::Busy)
}

fn open(dir: &Path, name: &str) -> Result<Option<Connection>, StoreError> {
    let path = dir.join(name);
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT)?;
    Ok(Some(connection))
}

/// Numbers that change when somebody else writes.
fn versions(sides: &[(&str, Connection)]) -> Result<Vec<i64>, StoreError> {
    let of = |side: &Connection| side.pragma_query_value(None, "data_version", |row| row.get(0));
    Ok(sides.iter().map(|(_, side)| of(side)).collect::<Result<_, _>>()?)
}

fn copy(from: &Connection, path: &Path) -> Result<(), StoreError> {
    // A file of mode 0600 that SQLite finds keeps its mode.
    crate::database::protect(path)?;
    let mut to = Connection::open(path)?;
    Backup::new(from, &mut to)?.run_to_completion(STEP_PAGES, STEP_PAUSE, None)?;
    // The copy is read where nothing can be written beside it.
    to.pragma_update(None, "journal_mode", "DELETE")?;
    Ok(())
}
