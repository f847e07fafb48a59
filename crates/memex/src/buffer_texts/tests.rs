//! Texts beside the record: kept as they came, sealed, gone when dropped.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{BufferTextStore, NewBufferText, OVERLAYS_FILE};
use bridle_record::StoreError;
use bridle_record::database::companions;

const TEXT: &str = "(org-data nil (section nil \"sesame \\\"open\\\" λ 😀\n\"))";

fn new<'o>(session: &'o str, seq: u64, content: &'o str) -> NewBufferText<'o> {
    NewBufferText { session, seq, facts: "(:file \"sesame.org\")", content }
}

fn bytes(dir: &Path) -> Vec<u8> {
    companions(&dir.join(OVERLAYS_FILE)).filter_map(|path| fs::read(path).ok()).flatten().collect()
}

fn holds(dir: &Path, word: &str) -> bool {
    bytes(dir).windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn a_text_comes_back_as_it_was_also_after_a_restart() {
    let dir = TempDir::new().unwrap();
    let mut overlays = BufferTextStore::open(dir.path()).unwrap();
    let large = TEXT.repeat(100_000);
    overlays.put(&[new("a", 1, TEXT), new("a", 2, &large), new("b", 1, "")]).unwrap();
    drop(overlays);
    let overlays = BufferTextStore::open(dir.path()).unwrap();
    assert_eq!(overlays.content("a", 1).unwrap().as_deref(), Some(TEXT));
    assert_eq!(overlays.content("a", 2).unwrap().as_deref(), Some(&*large));
    assert_eq!(overlays.content("b", 1).unwrap().as_deref(), Some(""));
    assert_eq!(overlays.content("b", 2).unwrap(), None);
    let rows = overlays.rows().unwrap();
    let names: Vec<(&str, u64)> = rows.iter().map(|row| (&*row.session, row.seq)).collect();
    assert_eq!(names, [("a", 1), ("a", 2), ("b", 1)]);
    assert!(rows.iter().all(|row| row.facts == "(:file \"sesame.org\")"));
}

#[test]
fn the_same_number_again_takes_the_place_of_the_first() {
    let dir = TempDir::new().unwrap();
    let mut overlays = BufferTextStore::open(dir.path()).unwrap();
    overlays.put(&[new("a", 1, "(old)")]).unwrap();
    overlays.put(&[new("a", 1, "(new)")]).unwrap();
    assert_eq!(overlays.rows().unwrap().len(), 1);
    assert_eq!(overlays.content("a", 1).unwrap().as_deref(), Some("(new)"));
}

#[test]
fn neither_text_nor_facts_are_in_the_files() {
    let dir = TempDir::new().unwrap();
    let mut overlays = BufferTextStore::open(dir.path()).unwrap();
    overlays.put(&[new("visible", 1, TEXT)]).unwrap();
    assert!(holds(dir.path(), "visible") && !holds(dir.path(), "sesame"));
}

#[test]
fn what_is_dropped_is_gone_and_its_space_is_given_back() {
    let dir = TempDir::new().unwrap();
    let mut overlays = BufferTextStore::open(dir.path()).unwrap();
    let large = "x".repeat(16 << 20);
    overlays.put(&[new("a", 1, &large), new("a", 2, "(a)"), new("b", 1, "(b)")]).unwrap();
    overlays.remove(&[("a".into(), 1), ("a".into(), 9), ("z".into(), 1)]).unwrap();
    assert_eq!(overlays.content("a", 1).unwrap(), None);
    overlays.scrub().unwrap();
    assert!(bytes(dir.path()).len() < 8 << 20);
    overlays.forget("a").unwrap();
    assert_eq!(overlays.rows().unwrap().len(), 1);
    assert_eq!(overlays.content("b", 1).unwrap().as_deref(), Some("(b)"));
}

#[test]
fn what_was_changed_on_the_disk_is_damage_and_not_a_text() {
    let dir = TempDir::new().unwrap();
    let mut overlays = BufferTextStore::open(dir.path()).unwrap();
    overlays.put(&[new("a", 1, TEXT)]).unwrap();
    overlays.connection.execute("UPDATE overlay SET content = zeroblob(64)", []).unwrap();
    assert!(matches!(overlays.content("a", 1), Err(StoreError::Damaged(_))));
    overlays.connection.execute("UPDATE overlay SET facts = zeroblob(64)", []).unwrap();
    assert!(matches!(overlays.rows(), Err(StoreError::Damaged(_))));
}

#[test]
fn another_database_is_left_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(OVERLAYS_FILE);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE mine (x)").unwrap();
    drop(other);
    assert!(matches!(BufferTextStore::open(dir.path()), Err(StoreError::Foreign { .. })));
}
