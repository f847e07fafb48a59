//! A record that version 4 of the tables wrote: it opens, verifies, exports and replays, and its open approval is
//! still there.
//!
//! `tests/records/tables-4.sql` is the dump of such a file: eight sessions with prompts, an act that was approved, one
//! that was denied, and one that waits.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::Home;

const DUMP: &str = include_str!("../records/tables-4.sql");

/// Home whose record is the one of the dump.
fn home_with_older_record() -> Home {
    let home = Home::new();
    let folder = home.path(".local/state/bridle");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    let file = Path::new(&folder).join("record.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch(DUMP).unwrap();
    drop(connection);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    home
}

#[test]
fn a_record_of_an_older_version_opens_verifies_exports_and_replays() {
    let home = home_with_older_record();
    let verified = home.run(&["log", "verify"]);
    assert!(verified.stdout.starts_with("99 records, head "), "{verified:?}");
    let org = home.run(&["log", "export", "--org"]);
    assert!(org.stdout.contains("** Turn 1: clean up old"), "{}", org.stdout);
    // Nothing but the text of states is another one: every event and every effect is the same.
    let replayed = home.run(&["replay"]);
    assert_eq!(
        (replayed.code, &*replayed.stdout),
        (
            0,
            "same: 8 sessions, 50 events, 51 effects, 5 states\nolder version, other text: state 3\n"
        )
    );
}
