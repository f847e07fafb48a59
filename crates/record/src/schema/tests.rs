//! Opening: who may read the files, and which files are refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rusqlite::{Connection, StatementStatus};

use super::{FULL_LOG_BYTES, PAGE_BYTES, open_reader, open_writer};
use crate::database::{RECORD_FILE, companions};
use crate::error::StoreError;

#[test]
fn nobody_else_can_read_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let modes = || {
        companions(&dir.path().join(RECORD_FILE))
            .map(|file| fs::metadata(file).unwrap().permissions().mode() & 0o777)
            .collect::<Vec<_>>()
    };
    let connection = open_writer(dir.path()).unwrap();
    assert_eq!(modes(), [0o600; 3]);
    // Also when somebody was careless in between.
    fs::set_permissions(dir.path().join(RECORD_FILE), fs::Permissions::from_mode(0o644)).unwrap();
    drop(connection);
    let _connection = open_writer(dir.path()).unwrap();
    assert_eq!(modes(), [0o600; 3]);
}

#[test]
fn is_as_durable_as_it_must_be() {
    let dir = tempfile::tempdir().unwrap();
    let connection = open_writer(dir.path()).unwrap();
    let ask = |pragma: &str| -> String {
        connection
            .query_row(&format!("SELECT CAST({pragma} AS TEXT) FROM pragma_{pragma}"), [], |row| {
                row.get(0)
            })
            .unwrap()
    };
    let asked = ["journal_mode", "synchronous", "secure_delete", "temp_store"].map(ask);
    assert_eq!(asked, ["wal", "2", "1", "2"]);
}

#[test]
fn a_new_file_has_large_pages_and_an_old_one_keeps_its_own() {
    for (before, page) in [(None, PAGE_BYTES), (Some(4096), 4096)] {
        let dir = tempfile::tempdir().unwrap();
        if let Some(before) = before {
            let old = Connection::open(dir.path().join(RECORD_FILE)).unwrap();
            old.pragma_update(None, "page_size", before).unwrap();
            old.execute_batch("VACUUM").unwrap();
        }
        for _ in 0..2 {
            let connection = open_writer(dir.path()).unwrap();
            let ask = |pragma: &str| -> i64 {
                connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
            };
            assert_eq!(ask("page_size"), page);
            assert_eq!(ask("wal_autocheckpoint") * page, FULL_LOG_BYTES);
        }
    }
}

#[test]
fn a_newer_record_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    open_writer(dir.path()).unwrap().pragma_update(None, "user_version", 6).unwrap();
    let before = fs::read(dir.path().join(RECORD_FILE)).unwrap();
    for opened in [open_writer(dir.path()), open_reader(dir.path())] {
        let error = opened.unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 6, known: 5 }));
        assert_eq!(
            error.to_string(),
            "the record has schema version `6`, expected at most `5`: use a newer bridle"
        );
    }
    assert_eq!(fs::read(dir.path().join(RECORD_FILE)).unwrap(), before);
}

#[test]
fn an_older_record_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    open_writer(dir.path()).unwrap().pragma_update(None, "user_version", 3).unwrap();
    let before = fs::read(dir.path().join(RECORD_FILE)).unwrap();
    for opened in [open_writer(dir.path()), open_reader(dir.path())] {
        assert!(matches!(opened.unwrap_err(), StoreError::Older { found: 3, known: 5 }));
    }
    assert_eq!(fs::read(dir.path().join(RECORD_FILE)).unwrap(), before);
}

/// Makes a file as version 4 was.
fn make_version_4(dir: &std::path::Path) {
    let connection = open_writer(dir).unwrap();
    connection.execute_batch("DROP TABLE spent; PRAGMA user_version = 4").unwrap();
}

#[test]
fn a_file_of_the_version_before_is_read_as_it_is_and_brought_up_to_date_by_a_writer() {
    let dir = tempfile::tempdir().unwrap();
    make_version_4(dir.path());
    let version = |connection: &Connection| -> u32 {
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    assert_eq!(version(&open_reader(dir.path()).unwrap()), 4);
    assert_eq!(version(&open_writer(dir.path()).unwrap()), 5);
    let reader = open_reader(dir.path()).unwrap();
    assert_eq!(version(&reader), 5);
    let spent: i64 = reader.query_row("SELECT count(*) FROM spent", [], |row| row.get(0)).unwrap();
    assert_eq!(spent, 0);
}

#[test]
fn statements_are_planned_once() {
    let dir = tempfile::tempdir().unwrap();
    let connection = open_writer(dir.path()).unwrap();
    for connection in [connection, open_reader(dir.path()).unwrap()] {
        let sql = "SELECT id FROM session WHERE name = ?1 ORDER BY id DESC LIMIT 1";
        let mut statement = connection.prepare(sql).unwrap();
        for name in ["a", "b", "c", "d"] {
            assert!(!statement.exists([name]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}

#[test]
fn another_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(RECORD_FILE);
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let before = fs::read(&file).unwrap();
    assert!(matches!(open_writer(dir.path()), Err(StoreError::Foreign { .. })));
    assert!(matches!(open_reader(dir.path()), Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::write(&file, "not a database at all, but long enough to be looked at").unwrap();
    assert!(matches!(open_writer(dir.path()), Err(StoreError::Damaged(_))));
}

#[test]
fn an_empty_file_is_no_record_to_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(RECORD_FILE), "").unwrap();
    assert!(matches!(open_reader(dir.path()), Err(StoreError::Missing { .. })));
}
