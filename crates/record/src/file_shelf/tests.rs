//! What is put on the shelf is there for its owner until its time is over, and for nobody else.

use std::fs;
use std::path::Path;

use super::{FileShelf, KeptFile, NewShelfFile, PutResult, SHELF_FILE, ShelfFileName, ShelfRoom};
use crate::error::StoreError;

const ROOM: ShelfRoom = ShelfRoom { owner_bytes: 100, owner_files: 3, all_bytes: 150 };

/// A file whose hash is told by its first byte; the shelf believes what it is told.
fn file<'f>(owner: &'f str, content: &'f [u8], expires: i64) -> NewShelfFile<'f> {
    let sha256 = [content.first().copied().unwrap_or(0); 32];
    NewShelfFile { owner, kind: "text/plain", sha256, content, at: 10, expires }
}

fn put(shelf: &mut FileShelf, new: NewShelfFile<'_>) -> KeptFile {
    match shelf.put(new, &ROOM).unwrap() {
        PutResult::Kept(kept) => kept,
        PutResult::NoRoom => panic!("no room for {new:?}"),
    }
}

fn holds(dir: &Path, needle: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    })
}

#[test]
fn a_file_is_its_owners_and_outlives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let mut shelf = FileShelf::open(dir.path()).unwrap();
    let kept = put(&mut shelf, file("uid:1", b"hello", 50));
    assert_eq!((kept.bytes, &*kept.kind, kept.expires), (5, "text/plain", 50));
    drop(shelf);
    let shelf = FileShelf::open(dir.path()).unwrap();
    let name = ShelfFileName::parse(&kept.name.to_string()).unwrap();
    assert_eq!(shelf.find("uid:1", name, 49).unwrap(), Some(kept.clone()));
    assert_eq!(shelf.read("uid:1", name, 49).unwrap(), Some((kept, b"hello".to_vec())));
    assert_eq!(shelf.find("uid:2", name, 49).unwrap(), None);
    assert_eq!(shelf.read("uid:1", name, 50).unwrap(), None, "it is over");
}

#[test]
fn the_same_file_has_the_same_name_for_one_owner_and_another_for_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut shelf = FileShelf::open(dir.path()).unwrap();
    let first = put(&mut shelf, file("uid:1", b"hello", 50));
    let again = put(&mut shelf, file("uid:1", b"hello", 70));
    assert_eq!((first.name, again.expires), (again.name, 70));
    assert_eq!(put(&mut shelf, file("uid:1", b"hello", 60)).expires, 70, "the later time stays");
    assert_ne!(put(&mut shelf, file("uid:2", b"hello", 50)).name, first.name);
    let html = NewShelfFile { kind: "text/html", ..file("uid:1", b"hello", 50) };
    assert_ne!(put(&mut shelf, html).name, first.name);
    let other = tempfile::tempdir().unwrap();
    let mut other = FileShelf::open(other.path()).unwrap();
    assert_ne!(put(&mut other, file("uid:1", b"hello", 50)).name, first.name);
}

#[test]
fn room_is_counted_for_each_owner_and_for_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut shelf = FileShelf::open(dir.path()).unwrap();
    for byte in 1..=3u8 {
        put(&mut shelf, file("uid:1", &[byte], 50));
    }
    let no_room = |shelf: &mut FileShelf, owner: &str, content: &[u8]| {
        shelf.put(file(owner, content, 50), &ROOM).unwrap() == PutResult::NoRoom
    };
    assert!(no_room(&mut shelf, "uid:1", &[4]), "a fourth file");
    put(&mut shelf, file("uid:1", &[3], 60));
    assert!(no_room(&mut shelf, "uid:2", &[5; 101]), "more bytes than an owner has");
    put(&mut shelf, file("uid:2", &[5; 100], 50));
    assert!(no_room(&mut shelf, "uid:3", &[6; 48]), "more bytes than there are");
    put(&mut shelf, file("uid:3", &[6; 47], 50));
    // What is over makes room by itself.
    let late = NewShelfFile { at: 50, ..file("uid:1", &[7], 90) };
    put(&mut shelf, late);
    let kept = put(&mut shelf, file("uid:1", &[3], 60));
    assert!(shelf.find("uid:1", kept.name, 50).unwrap().is_some());
}

#[test]
fn nothing_is_in_the_clear_and_what_is_over_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut shelf = FileShelf::open(dir.path()).unwrap();
    let content = b"a secret that nobody else says".repeat(1000);
    let room = ShelfRoom { owner_bytes: 1 << 20, owner_files: 9, all_bytes: 1 << 20 };
    let new = NewShelfFile { kind: "application/x-told-to-none", ..file("uid:1", &content, 50) };
    let PutResult::Kept(kept) = shelf.put(new, &room).unwrap() else { panic!("no room") };
    assert!(!holds(dir.path(), b"nobody else says") && !holds(dir.path(), b"x-told-to-none"));
    let key: Vec<u8> =
        shelf.connection.query_row("SELECT key FROM file", [], |row| row.get(0)).unwrap();
    assert!(holds(dir.path(), &key));
    let size = || fs::metadata(dir.path().join(SHELF_FILE)).unwrap().len();
    shelf.sweep(49).unwrap();
    let before = size();
    assert_eq!(shelf.sweep(50).unwrap(), 1);
    assert!(!holds(dir.path(), &key), "its key went with it");
    assert!(size() < before, "its space was given back");
    assert_eq!(shelf.read("uid:1", kept.name, 0).unwrap(), None);
}

#[test]
fn what_was_edited_is_not_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut shelf = FileShelf::open(dir.path()).unwrap();
    let (one, two) =
        (put(&mut shelf, file("uid:1", b"one", 50)), put(&mut shelf, file("uid:1", b"two", 50)));
    let swap = "UPDATE file SET content = (SELECT content FROM file WHERE id = 2) WHERE id = 1";
    shelf.connection.execute(swap, []).unwrap();
    assert!(matches!(shelf.read("uid:1", one.name, 20), Err(StoreError::Damaged(_))));
    assert!(shelf.read("uid:1", two.name, 20).unwrap().is_some());
    shelf.connection.execute("UPDATE file SET facts = x'00'", []).unwrap();
    assert!(matches!(shelf.find("uid:1", two.name, 20), Err(StoreError::Damaged(_))));
}

#[test]
fn a_file_of_others_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    crate::RecordStore::open(dir.path(), &crate::StoreOptions::default()).unwrap();
    fs::rename(dir.path().join("record.db"), dir.path().join(SHELF_FILE)).unwrap();
    assert!(matches!(FileShelf::open(dir.path()), Err(StoreError::Foreign { .. })));
}

#[test]
fn names_are_read_as_they_are_written_and_nothing_else_is_one() {
    let digits = "0123456789abcdef0123456789abcdef";
    assert_eq!(ShelfFileName::parse(digits).unwrap().to_string(), digits);
    for bad in [
        "",
        "0",
        &digits[1..],
        &digits.to_uppercase(),
        &format!("{digits}0"),
        "../../../../etc/passwd/aaaaaaaaaaa",
    ] {
        assert_eq!(ShelfFileName::parse(bad), None, "{bad}");
    }
}
