//! A save that comes when its file was replaced already is put where it was meant to be, and is in the past in any
//! case. Such a save looks like this: a file is held open for reading, replaced, and opened again for writing.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::super::late_saves::{HOLD_MS, HOLD_WHILE_WRITTEN_MS, MAX_HELD_FILES};
use super::super::{apply, history};
use super::{MemoryError, Rig, VersionFilter, VersionOrigin, open, path, why};

/// A program that has found a file.
struct Found(File);

impl Found {
    fn new(rig: &Rig, name: &str) -> Self {
        Self(File::open(rig.file(name)).unwrap())
    }

    /// Opens and empties it, wherever it is now.
    fn open(&self) -> File {
        let path = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        OpenOptions::new().write(true).truncate(true).open(path).unwrap()
    }

    fn save(&self, text: &str) {
        self.open().write_all(text.as_bytes()).unwrap();
    }
}

impl Rig {
    fn remove(&self, record: u64, name: &str) {
        self.memory.apply(&[self.change(name, None)], &why(record)).unwrap();
    }

    /// All texts of a file, the latest first.
    fn past(&self, name: &str) -> Vec<(VersionOrigin, String)> {
        let wanted = VersionFilter { path: Some(path(name)), ..VersionFilter::default() };
        let text = |hash| String::from_utf8(self.memory.content(hash).unwrap()).unwrap();
        let all = self.memory.list(&wanted, 1000).unwrap();
        all.into_iter().map(|it| (it.origin, it.after.map(text).unwrap_or_default())).collect()
    }
}

/// What was seen, or edited.
fn seen(text: &str) -> (VersionOrigin, String) {
    (VersionOrigin::Seen, text.into())
}

fn edit(text: &str) -> (VersionOrigin, String) {
    (VersionOrigin::Edit, text.into())
}

#[test]
fn a_late_save_is_put_where_it_was_meant_to_be() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let user = Found::new(&rig, "a.org");
    rig.write(1, "a.org", "a\nagent\n");
    assert!(rig.memory.look_for_late_saves(10).unwrap(), "it is held");
    assert_eq!(rig.text("a.org"), "a\nagent\n");
    user.save("user\n");
    assert!(rig.memory.look_for_late_saves(11).unwrap());
    assert_eq!(rig.text("a.org"), "user\n");
    assert_eq!(rig.past("a.org"), [seen("user\n"), edit("a\nagent\n"), seen("a\n")]);
    assert_eq!(rig.beside(), [""; 0]);
    // Of the same size, and in the same moment.
    user.save("USER\n");
    rig.memory.look_for_late_saves(12).unwrap();
    assert_eq!(rig.text("a.org"), "USER\n");
    assert_eq!(rig.past("a.org")[..2], [seen("USER\n"), seen("user\n")]);
    // And what was done can be undone, as ever.
    rig.write(2, "a.org", "USER\nagent\n");
    rig.memory.apply(&rig.memory.undo(2).unwrap(), &why(3)).unwrap();
    assert_eq!(rig.text("a.org"), "USER\n");
}

#[test]
fn a_late_save_comes_before_the_next_change() {
    let rig = Rig::new(&[("a.org", "a\n"), ("b.org", "b\n")]);
    let user = Found::new(&rig, "a.org");
    rig.write(1, "a.org", "one\n");
    rig.write(2, "a.org", "two\n");
    let next = rig.change("a.org", Some("three\n"));
    user.save("user\n");
    let refused = rig.memory.apply(&[next], &why(3)).unwrap_err();
    assert!(matches!(refused, MemoryError::Changed { .. }), "{refused:?}");
    assert_eq!(rig.text("a.org"), "user\n", "it takes the place of all that was put there since");
    assert_eq!(rig.past("a.org"), [seen("user\n"), edit("two\n"), edit("one\n"), seen("a\n")]);
    // A snapshot has it, too.
    user.save("again\n");
    rig.memory.snapshot("s", "uid:1000", 9).unwrap();
    assert_eq!(rig.text("a.org"), "again\n");
    assert_eq!(rig.memory.restore("s", None).unwrap(), []);
}

#[test]
fn of_two_late_saves_the_later_stays_and_both_are_kept() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let first = Found::new(&rig, "a.org");
    rig.write(1, "a.org", "one\n");
    let second = Found::new(&rig, "a.org");
    rig.write(2, "a.org", "two\n");
    let stamp = |found: &Found| found.0.metadata().unwrap().modified().unwrap();
    second.save("earlier\n");
    first.save("later\n");
    while stamp(&first) == stamp(&second) {
        first.save("later\n");
    }
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!(rig.text("a.org"), "later\n");
    assert_eq!(rig.past("a.org")[..2], [seen("later\n"), seen("earlier\n")]);
}

#[test]
fn what_the_user_saved_again_stays() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let user = Found::new(&rig, "a.org");
    rig.write(1, "a.org", "agent\n");
    user.save("late\n");
    fs::write(rig.file("a.org"), "newer\n").unwrap();
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!(rig.text("a.org"), "newer\n");
    let expected = [seen("newer\n"), seen("late\n"), edit("agent\n"), seen("a\n")];
    assert_eq!(rig.past("a.org"), expected);
    rig.memory.look_for_late_saves(11).unwrap();
    assert_eq!(rig.past("a.org"), expected, "and no more of it");
    assert_eq!(rig.beside(), [""; 0]);
}

#[test]
fn a_late_save_brings_a_removed_file_back() {
    let rig = Rig::new(&[("a.org", "a\n"), ("b.org", "b\n")]);
    for name in ["a.org", "b.org"] {
        fs::set_permissions(rig.file(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let (one, other) = (Found::new(&rig, "a.org"), Found::new(&rig, "b.org"));
    rig.remove(1, "a.org");
    rig.remove(2, "b.org");
    one.save("user\n");
    other.save("user\n");
    fs::write(rig.file("b.org"), "newer\n").unwrap();
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!((rig.text("a.org"), rig.text("b.org")), ("user\n".into(), "newer\n".into()));
    assert_eq!(rig.file("a.org").metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(rig.past("b.org")[..2], [seen("newer\n"), seen("user\n")]);
    assert_eq!(rig.beside(), [""; 0]);
}

#[test]
fn a_change_that_was_taken_back_loses_no_late_save() {
    let rig = Rig::new(&[("a.org", "a\n"), ("b.org", "b\n")]);
    let user = Found::new(&rig, "a.org");
    // The second file cannot be written, when the first is already.
    let _held = File::options().append(true).open(rig.file("b.org")).unwrap();
    let changes = [rig.change("a.org", Some("agent\n")), rig.change("b.org", Some("agent\n"))];
    let refused = rig.memory.apply(&changes, &why(1));
    assert!(matches!(refused, Err(MemoryError::Open { .. })), "{refused:?}");
    assert_eq!(rig.text("a.org"), "a\n", "taken back");
    user.save("user\n");
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!(rig.text("a.org"), "user\n");
    assert_eq!(rig.beside(), [""; 0]);
}

#[test]
fn who_is_still_writing_is_waited_for() {
    let rig = Rig::new(&[("a.org", "a\n"), ("b.org", "b\n")]);
    let user = Found::new(&rig, "a.org");
    rig.write(1, "a.org", "agent\n");
    let mut open = user.open();
    open.write_all(b"us").unwrap();
    assert!(rig.memory.look_for_late_saves(10).unwrap());
    assert_eq!(rig.text("a.org"), "agent\n");
    let next = rig.change("a.org", Some("more\n"));
    let refused = rig.memory.apply(&[next], &why(2)).unwrap_err();
    assert!(
        matches!(refused, MemoryError::Open { by, .. } if by == std::process::id()),
        "{refused:?}"
    );
    rig.write(3, "b.org", "another file\n");
    assert!(rig.memory.look_for_late_saves(10 + HOLD_MS).unwrap(), "as long as it is open");
    open.write_all(b"er\n").unwrap();
    drop(open);
    rig.memory.look_for_late_saves(11 + HOLD_MS).unwrap();
    assert_eq!(rig.text("a.org"), "user\n");
}

#[test]
fn an_emptied_file_is_looked_at_twice() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let user = Found::new(&rig, "a.org");
    rig.write(1, "a.org", "agent\n");
    // As it looks while a program is between emptying the file and having it open.
    drop(user.open());
    let next = rig.change("a.org", Some("more\n"));
    let refused = rig.memory.apply(&[next], &why(2)).unwrap_err();
    assert!(matches!(refused, MemoryError::Changed { .. }), "{refused:?}");
    assert_eq!(rig.text("a.org"), "agent\n");
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!(rig.text("a.org"), "", "that is all there is");
    user.save("user\n");
    rig.memory.look_for_late_saves(11).unwrap();
    assert_eq!(rig.text("a.org"), "user\n");
}

#[test]
fn files_are_held_for_a_time_only() {
    let rig = Rig::new(&[("a.org", "a\n"), ("b.org", "b\n")]);
    assert!(!rig.memory.look_for_late_saves(1).unwrap(), "nothing is held");
    let (one, other) = (Found::new(&rig, "a.org"), Found::new(&rig, "b.org"));
    rig.write(1, "a.org", "agent\n");
    rig.write(2, "b.org", "agent\n");
    assert!(rig.memory.look_for_late_saves(1000).unwrap());
    assert!(rig.memory.look_for_late_saves(999 + HOLD_MS).unwrap());
    // One is being written when its time comes, and for too long: then what there is of it is kept.
    let mut open = other.open();
    open.write_all(b"a part").unwrap();
    assert!(rig.memory.look_for_late_saves(1000 + HOLD_MS).unwrap());
    one.save("too late\n");
    assert!(rig.memory.look_for_late_saves(999 + HOLD_WHILE_WRITTEN_MS).unwrap());
    assert_eq!(rig.text("a.org"), "agent\n");
    assert!(!rig.memory.look_for_late_saves(1000 + HOLD_WHILE_WRITTEN_MS).unwrap());
    assert_eq!(rig.text("b.org"), "agent\n");
    assert_eq!(rig.past("b.org")[..2], [seen("agent\n"), seen("a part")]);
}

#[test]
fn no_more_than_so_many_files_are_held() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let oldest = Found::new(&rig, "a.org");
    rig.write(1, "a.org", "0\n");
    let second = Found::new(&rig, "a.org");
    for more in 1..=MAX_HELD_FILES {
        rig.write(2, "a.org", &format!("{more}\n"));
        // Of a record of its own, so that it is not taken for done.
        rig.memory.forget("work", Some(2)).unwrap();
    }
    assert_eq!(rig.memory.late().len(), MAX_HELD_FILES);
    oldest.save("let go\n");
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!(rig.text("a.org"), format!("{MAX_HELD_FILES}\n"));
    second.save("held\n");
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!(rig.text("a.org"), "held\n");
    assert!(rig.memory.late().len() <= MAX_HELD_FILES);
}

#[test]
fn a_late_save_into_a_folder_that_is_gone_is_kept() {
    let rig = Rig::new(&[("in/a.org", "a\n")]);
    let user = Found::new(&rig, "in/a.org");
    rig.write(1, "in/a.org", "agent\n");
    fs::remove_dir_all(rig.file("in")).unwrap();
    user.save("user\n");
    rig.memory.look_for_late_saves(10).unwrap();
    assert_eq!(rig.past("in/a.org")[0], seen("user\n"));
    assert!(!rig.file("in").exists());
}

#[test]
fn what_a_crash_leaves_of_it_is_cleared_away_and_nothing_is_lost() {
    for (in_place, beside) in [("agent\n", "user\n"), ("user\n", "agent\n")] {
        let rig = Rig::new(&[("a.org", "a\n")]);
        rig.write(1, "a.org", "agent\n");
        // Died while the two changed places: before, or after.
        let label = apply::label().unwrap();
        {
            let mut connection = rig.memory.lock();
            let begun = history::begin(&mut connection).unwrap();
            history::notice(&begun, &path("a.org"), Some(b"user\n"), 2).unwrap();
            history::label_latest(&begun, &path("a.org"), &label).unwrap();
            begun.commit().unwrap();
        }
        fs::write(rig.file("a.org"), in_place).unwrap();
        fs::write(rig.file(&label), beside).unwrap();
        let Rig { state, root, memory } = rig;
        drop(memory);
        let memory = open(&state, &root);
        let rig = Rig { state, root, memory };
        assert_eq!(rig.beside(), [""; 0]);
        assert_eq!(rig.text("a.org"), in_place);
        assert_eq!(rig.past("a.org"), [seen("user\n"), edit("agent\n"), seen("a\n")]);
    }
}
