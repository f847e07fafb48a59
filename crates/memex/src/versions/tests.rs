//! Files are changed whole or not at all, only below their folder, and never behind anybody's back.

mod authorship;
mod late;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::{
    ChangeCause, ChangeOutcome, FileChange, FilePath, MAX_NOTICED_BYTES, MemoryError,
    MemoryOptions, MemoryStore, NoticedChange, VersionFilter, VersionHistory, VersionOrigin,
    hash_bytes, unified,
};

struct Rig {
    state: TempDir,
    root: TempDir,
    memory: MemoryStore,
}

fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

fn why(record: u64) -> ChangeCause {
    ChangeCause {
        origin: VersionOrigin::Edit,
        record: Some(record),
        session: "work".into(),
        turn: record / 10,
        principal: "uid:1000".into(),
        action: "set-state".into(),
        at: i64::try_from(record).unwrap(),
    }
}

impl Rig {
    fn new(files: &[(&str, &str)]) -> Rig {
        let (state, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        for (name, text) in files {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let memory = open(&state, &root);
        Rig { state, root, memory }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    fn notice(&self, name: &str, at: i64) -> NoticedChange {
        self.memory.notice(&[path(name)], at, &|_, _| true).unwrap()[0]
    }

    fn change(&self, name: &str, after: Option<&str>) -> FileChange {
        let path = path(name);
        let before = self.memory.read(&path).unwrap().map(|seen| seen.hash);
        FileChange { path, before, after: after.map(|text| text.as_bytes().to_vec()) }
    }

    fn write(&self, record: u64, name: &str, after: &str) {
        self.memory.apply(&[self.change(name, Some(after))], &why(record)).unwrap();
    }

    /// What is in a folder besides the files that people see.
    fn beside(&self) -> Vec<String> {
        let names = fs::read_dir(self.root.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".bridle-")).collect()
    }
}

fn open(state: &TempDir, root: &TempDir) -> MemoryStore {
    let protected = vec![root.path().join("policy.org"), state.path().to_owned()];
    let options = MemoryOptions { root: root.path().to_owned(), protected };
    MemoryStore::open(state.path(), &options).unwrap()
}

#[test]
fn a_change_keeps_mode_and_leaves_nothing_beside() {
    let rig = Rig::new(&[("a.org", "* TODO a\n")]);
    fs::set_permissions(rig.file("a.org"), fs::Permissions::from_mode(0o640)).unwrap();
    rig.write(7, "a.org", "* DONE a\n");
    assert_eq!(rig.text("a.org"), "* DONE a\n");
    assert_eq!(rig.file("a.org").metadata().unwrap().mode() & 0o7777, 0o640);
    assert_eq!(rig.beside(), [""; 0]);
    let past = VersionHistory::open(rig.state.path()).unwrap();
    let listed = past.list(&VersionFilter::default(), 10).unwrap();
    let told: Vec<_> = listed.iter().map(|it| (it.origin, it.record, it.at)).collect();
    assert_eq!(told, [(VersionOrigin::Edit, Some(7), 7), (VersionOrigin::Seen, None, 7)]);
    assert_eq!(past.content(listed[1].after.unwrap()).unwrap(), b"* TODO a\n");
    assert_eq!(past.at(6, None).unwrap(), []);
    assert_eq!(past.at(7, Some(&path("a.org"))).unwrap(), [listed[0].clone()]);
}

#[test]
fn files_come_and_go() {
    let rig = Rig::new(&[]);
    rig.write(1, "new.org", "n\n");
    let change = rig.change("new.org", None);
    rig.memory.apply(&[change], &why(2)).unwrap();
    assert!(!rig.file("new.org").exists());
    assert_eq!(rig.beside(), [""; 0]);
    // A file that came meanwhile is not written over.
    let change = rig.change("new.org", Some("mine\n"));
    fs::write(rig.file("new.org"), "theirs\n").unwrap();
    let refused = rig.memory.apply(&[change], &why(3));
    assert!(matches!(refused, Err(MemoryError::Changed { .. })), "{refused:?}");
    assert_eq!(rig.text("new.org"), "theirs\n");
    assert_eq!(rig.beside(), [""; 0]);
}

#[test]
fn a_file_that_is_not_what_was_read_is_left_alone() {
    let rig = Rig::new(&[("a.org", "one\n"), ("b.org", "one\n")]);
    let both = [rig.change("a.org", Some("two\n")), rig.change("b.org", Some("two\n"))];
    fs::write(rig.file("b.org"), "user\n").unwrap();
    let refused = rig.memory.apply(&both, &why(1));
    assert!(matches!(&refused, Err(MemoryError::Changed { path }) if path.as_str() == "b.org"));
    assert_eq!((rig.text("a.org"), rig.text("b.org")), ("one\n".into(), "user\n".into()));
    assert_eq!(
        rig.memory.list(&VersionFilter { record: Some(1), ..VersionFilter::default() }, 9).unwrap(),
        []
    );
    assert_eq!(rig.beside(), [""; 0]);
}

#[test]
fn no_name_leads_out() {
    for name in ["", "/a", "../a", "a/../b", "a//b", "./a", "a/.", "a\0b", &"a/".repeat(65)] {
        assert_eq!(FilePath::parse(name), None, "{name:?}");
    }
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("o.org"), "outside\n").unwrap();
    let rig = Rig::new(&[("in/a.org", "inside\n")]);
    symlink(outside.path(), rig.file("folder")).unwrap();
    symlink(outside.path().join("o.org"), rig.file("link.org")).unwrap();
    symlink("../../o.org", rig.file("in/up.org")).unwrap();
    symlink("loop.org", rig.file("loop.org")).unwrap();
    symlink("in/../../x", rig.file("hidden.org")).unwrap();
    for name in ["folder/o.org", "link.org", "in/up.org", "loop.org", "hidden.org"] {
        let change = FileChange { path: path(name), before: None, after: Some(b"x".to_vec()) };
        let refused = rig.memory.apply(&[change], &why(1));
        assert!(matches!(refused, Err(MemoryError::Outside { .. })), "{name}: {refused:?}");
        assert!(matches!(rig.memory.read(&path(name)), Err(MemoryError::Outside { .. })), "{name}");
    }
    assert_eq!(fs::read_to_string(outside.path().join("o.org")).unwrap(), "outside\n");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_link_inside_stays_a_link() {
    let rig = Rig::new(&[("in/a.org", "a\n")]);
    symlink("in/a.org", rig.file("link.org")).unwrap();
    symlink(rig.root.path().canonicalize().unwrap().join("in"), rig.file("also")).unwrap();
    symlink("../link.org", rig.file("in/back.org")).unwrap();
    for (record, name) in ["link.org", "also/a.org", "in/back.org"].into_iter().enumerate() {
        let text = format!("{name}\n");
        rig.write(record as u64 + 1, name, &text);
        assert_eq!(rig.text("in/a.org"), text);
        assert_eq!(rig.memory.real_path(&path(name)).unwrap(), path("in/a.org"));
    }
    assert!(rig.file("link.org").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn what_is_no_plain_file_is_refused_without_waiting() {
    let rig = Rig::new(&[("folder/a.org", "")]);
    mknodat(CWD, rig.file("pipe.org"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for name in ["pipe.org", "folder"] {
        let refused = rig.memory.read(&path(name));
        assert!(matches!(refused, Err(MemoryError::NotPlain { .. })), "{name}: {refused:?}");
        let change = FileChange { path: path(name), before: None, after: Some(b"x".to_vec()) };
        let refused = rig.memory.apply(&[change], &why(1));
        assert!(matches!(refused, Err(MemoryError::NotPlain { .. })), "{name}: {refused:?}");
    }
    let file = fs::File::create(rig.file("huge.org")).unwrap();
    file.set_len(super::MAX_MEMORY_FILE_BYTES + 1).unwrap();
    assert!(matches!(rig.memory.read(&path("huge.org")), Err(MemoryError::TooLarge { .. })));
}

#[test]
fn a_file_with_several_names_changes_under_one() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    fs::hard_link(rig.file("a.org"), rig.file("b.org")).unwrap();
    rig.write(1, "a.org", "A\n");
    assert_eq!((rig.text("a.org"), rig.text("b.org")), ("A\n".into(), "a\n".into()));
}

#[test]
fn who_edits_a_file_keeps_it() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let lock = rig.file(".#a.org");
    let tries = || rig.memory.apply(&[rig.change("a.org", Some("b\n"))], &why(1));
    for held in [format!("me@{host}.{}:1", std::process::id()), "me@elsewhere.1:1".into()] {
        symlink(&held, &lock).unwrap();
        let refused = tries();
        assert!(
            matches!(&refused, Err(MemoryError::Locked { by, .. }) if **by == held),
            "{refused:?}"
        );
        fs::remove_file(&lock).unwrap();
    }
    fs::write(&lock, "me@elsewhere.1:1").unwrap();
    assert!(matches!(tries(), Err(MemoryError::Locked { .. })), "where links cannot be made");
    fs::remove_file(&lock).unwrap();
    let is_modified = Arc::new(AtomicBool::new(true));
    let (own, file) = (Arc::clone(&is_modified), rig.file("a.org").canonicalize().unwrap());
    rig.memory.set_buffer_owners(Box::new(move |path| {
        (own.load(Ordering::Relaxed) && path == file).then(|| "emacs".into())
    }));
    assert!(matches!(tries(), Err(MemoryError::Modified { by, .. }) if &*by == "emacs"));
    is_modified.store(false, Ordering::Relaxed);
    assert_eq!(rig.text("a.org"), "a\n");
    // One that has ended holds nothing: no process has this number.
    symlink(format!("me@{host}.{}", i32::MAX), &lock).unwrap();
    tries().unwrap();
    assert_eq!(rig.text("a.org"), "b\n");
}

#[test]
fn protected_files_are_never_written() {
    let rig = Rig::new(&[("policy.org", "p\n")]);
    symlink("policy.org", rig.file("mine.org")).unwrap();
    for name in ["policy.org", "mine.org"] {
        let refused = rig.memory.apply(&[rig.change(name, Some("x\n"))], &why(1));
        assert!(matches!(refused, Err(MemoryError::Protected { .. })), "{name}: {refused:?}");
    }
    assert_eq!(rig.text("policy.org"), "p\n");
}

#[test]
fn what_others_write_is_a_version_once() {
    let rig = Rig::new(&[]);
    let check = |content: Option<&str>, at: i64, expect: NoticedChange| {
        match content {
            Some(text) => fs::write(rig.file("a.org"), text).unwrap(),
            None => drop(fs::remove_file(rig.file("a.org"))),
        }
        assert_eq!(rig.notice("a.org", at), expect, "{content:?}");
    };
    check(Some("1\n"), 1, NoticedChange::News(2));
    check(Some("1\n"), 2, NoticedChange::Same);
    // Empty is not gone.
    check(Some(""), 3, NoticedChange::News(0));
    check(None, 4, NoticedChange::News(0));
    check(None, 5, NoticedChange::Same);
    assert_eq!(rig.notice("never.org", 6), NoticedChange::Same);
    assert_eq!(rig.notice("no/folder.org", 7), NoticedChange::Same);
    fs::write(rig.file("a.org"), "1\n").unwrap();
    rig.write(9, "a.org", "2\n");
    // Its own work is no news.
    check(Some("2\n"), 10, NoticedChange::Same);
    let known: Vec<_> = rig.memory.known().unwrap().into_iter().collect();
    assert_eq!(known, [path("a.org")]);
}

#[test]
fn what_others_write_is_not_kept_when_it_is_too_large_no_file_or_not_to_be_kept() {
    let rig = Rig::new(&[("a.org", "secret\n")]);
    let withheld =
        rig.memory.notice(&[path("a.org")], 1, &|_, bytes| bytes != b"secret\n").unwrap();
    assert_eq!(withheld, [NoticedChange::Passed]);
    let file = fs::File::create(rig.file("large.org")).unwrap();
    file.set_len(MAX_NOTICED_BYTES + 1).unwrap();
    assert_eq!(rig.notice("large.org", 2), NoticedChange::Passed);
    file.set_len(MAX_NOTICED_BYTES).unwrap();
    assert_eq!(rig.notice("large.org", 3), NoticedChange::News(MAX_NOTICED_BYTES));
    fs::create_dir(rig.file("folder.org")).unwrap();
    assert_eq!(rig.notice("folder.org", 4), NoticedChange::Passed);
    mknodat(CWD, rig.file("pipe.org"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert_eq!(rig.notice("pipe.org", 5), NoticedChange::Passed);
    symlink("/etc/passwd", rig.file("out.org")).unwrap();
    assert_eq!(rig.notice("out.org", 6), NoticedChange::Passed);
}

#[test]
fn one_change_is_taken_back_and_the_rest_stays() {
    let rig = Rig::new(&[("a.org", "* TODO a\ntext\n* b\n")]);
    rig.write(11, "a.org", "* DONE a\ntext\n* b\n");
    rig.write(12, "a.org", "* DONE a\ntext\n* b :tag:\n");
    fs::write(rig.file("a.org"), "* DONE a\nuser\ntext\n* b :tag:\n").unwrap();
    let back = rig.memory.undo(11).unwrap();
    let undo = ChangeCause { origin: VersionOrigin::Undo, action: "undo".into(), ..why(13) };
    rig.memory.apply(&back, &undo).unwrap();
    assert_eq!(rig.text("a.org"), "* TODO a\nuser\ntext\n* b :tag:\n");
    assert_eq!(rig.memory.undo(11).unwrap(), [], "it is as it was");
    // The undo is a change, too.
    let back = rig.memory.undo(13).unwrap();
    rig.memory.apply(&back, &why(14)).unwrap();
    assert_eq!(rig.text("a.org"), "* DONE a\nuser\ntext\n* b :tag:\n");
    fs::write(rig.file("a.org"), "* WAIT a\nuser\ntext\n* b :tag:\n").unwrap();
    let Err(MemoryError::Conflicts(found)) = rig.memory.undo(14) else { panic!("a conflict") };
    assert_eq!((found[0].line, &*found[0].now), (1, &b"* WAIT a\n"[..]));
    assert!(matches!(rig.memory.undo(99), Err(MemoryError::NoChange(99))));
}

#[test]
fn a_file_that_was_made_goes_unless_somebody_wrote_in_it() {
    let rig = Rig::new(&[]);
    rig.write(1, "new.org", "mine\n");
    fs::write(rig.file("new.org"), "mine\nuser\n").unwrap();
    rig.memory.apply(&rig.memory.undo(1).unwrap(), &why(2)).unwrap();
    assert_eq!(rig.text("new.org"), "user\n");
    rig.write(3, "other.org", "mine\n");
    rig.memory.apply(&rig.memory.undo(3).unwrap(), &why(4)).unwrap();
    assert!(!rig.file("other.org").exists());
    rig.memory.apply(&rig.memory.undo(4).unwrap(), &why(5)).unwrap();
    assert_eq!(rig.text("other.org"), "mine\n");
}

#[test]
fn a_turn_is_taken_back_and_what_others_wrote_stays() {
    let rig = Rig::new(&[("a.org", "a\nend\n"), ("b.org", "b\nend\n")]);
    rig.write(20, "a.org", "a1\nend\n");
    rig.write(21, "b.org", "b1\nend\n");
    // Between two changes of the turn, and after them.
    fs::write(rig.file("a.org"), "a1\nend\nmeanwhile\n").unwrap();
    rig.write(22, "a.org", "a2\nend\nmeanwhile\n");
    fs::write(rig.file("a.org"), "since\na2\nend\nmeanwhile\n").unwrap();
    let back = rig.memory.rollback("work", 2).unwrap();
    assert_eq!(back.len(), 2);
    // The same lines: nothing at all is taken back.
    fs::write(rig.file("b.org"), "user\nend\n").unwrap();
    let Err(MemoryError::Conflicts(found)) = rig.memory.rollback("work", 2) else {
        panic!("a conflict")
    };
    assert_eq!((found.len(), found[0].path.clone()), (1, Some(path("b.org"))));
    fs::write(rig.file("b.org"), "b1\nend\n").unwrap();
    rig.memory.apply(&back, &why(30)).unwrap();
    assert_eq!(rig.text("a.org"), "since\na\nend\nmeanwhile\n");
    assert_eq!(rig.text("b.org"), "b\nend\n");
    assert!(matches!(rig.memory.rollback("work", 7), Err(MemoryError::NoTurn { .. })));
}

#[test]
fn a_file_that_a_program_is_about_to_write_is_left_alone() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    // Opened, emptied, and not written yet: the text is only in the program.
    let mut open = fs::File::create(rig.file("a.org")).unwrap();
    let seen = rig.memory.read(&path("a.org")).unwrap().unwrap();
    let change = |after: &[u8]| FileChange {
        path: path("a.org"),
        before: Some(seen.hash),
        after: Some(after.to_vec()),
    };
    let refused = rig.memory.apply(&[change(b"agent\n")], &why(20)).unwrap_err();
    assert!(
        matches!(refused, MemoryError::Open { by, .. } if by == std::process::id()),
        "{refused:?}"
    );
    let gone = FileChange { after: None, ..change(b"") };
    assert!(matches!(rig.memory.apply(&[gone], &why(21)), Err(MemoryError::Open { .. })));
    std::io::Write::write_all(&mut open, b"user\n").unwrap();
    drop(open);
    assert_eq!(rig.text("a.org"), "user\n");
    // Who only reads it is not in the way.
    let _reader = fs::File::open(rig.file("a.org")).unwrap();
    rig.write(22, "a.org", "user\nagent\n");
}

#[test]
fn what_may_not_be_kept_is_in_no_version_and_no_snapshot() {
    let rig = Rig::new(&[("open.org", "open\n"), ("clear.org", "hush\n"), ("lost.org", "lost\n")]);
    fs::write(rig.file(".bridleignore"), "lost.org\n").unwrap();
    let hides = |bytes: &[u8]| bytes.windows(4).any(|word| word == b"hush");
    rig.memory.set_keep_rule(Box::new(move |_, bytes| !hides(bytes)));
    let made = rig.memory.snapshot("all", "uid:1000", 1).unwrap();
    assert_eq!((made.files, made.left_out), (1, vec![path("clear.org")]));
    assert_eq!(rig.memory.restore("all", None).unwrap(), []);
    // Neither as it was nor as it would be.
    for (name, after) in [("clear.org", "sealed\n"), ("open.org", "hush\n"), ("new.org", "hush\n")]
    {
        let refused = rig.memory.apply(&[rig.change(name, Some(after))], &why(10));
        assert!(matches!(refused, Err(MemoryError::InClear { .. })), "{name}: {refused:?}");
    }
    assert_eq!(rig.text("open.org"), "open\n");
    let kept = fs::read(rig.state.path().join("memory.db")).unwrap();
    let log = fs::read(rig.state.path().join("memory.db-wal")).unwrap_or_default();
    assert!(!hides(&kept) && !hides(&log), "it is in the past");
}

#[test]
fn snapshots_come_back() {
    let rig = Rig::new(&[("a.org", "a\n"), ("in/b.org", "b\n"), ("c.txt", "c\n"), (".h.org", "")]);
    assert_eq!(rig.memory.snapshot("before", "uid:1000", 5).unwrap().files, 2);
    let again = rig.memory.snapshot("before", "uid:1000", 6);
    assert!(matches!(again, Err(MemoryError::SnapshotExists(_))));
    assert!(matches!(rig.memory.snapshot("a/b", "x", 6), Err(MemoryError::SnapshotName(_))));
    fs::write(rig.file("a.org"), "changed\n").unwrap();
    fs::remove_file(rig.file("in/b.org")).unwrap();
    fs::write(rig.file("new.org"), "new\n").unwrap();
    let one = rig.memory.restore("before", Some(&path("a.org"))).unwrap();
    assert_eq!(one.len(), 1);
    rig.memory.apply(&rig.memory.restore("before", None).unwrap(), &why(1)).unwrap();
    assert_eq!((rig.text("a.org"), rig.text("in/b.org")), ("a\n".into(), "b\n".into()));
    assert_eq!(rig.text("new.org"), "new\n", "what came since is left alone");
    let rows = VersionHistory::open(rig.state.path()).unwrap().snapshots().unwrap();
    assert_eq!((&*rows[0].name, rows[0].files, rows.len()), ("before", 2, 1));
    assert!(matches!(rig.memory.restore("none", None), Err(MemoryError::NoSnapshot(_))));
    let none = rig.memory.restore("before", Some(&path("new.org")));
    assert!(matches!(none, Err(MemoryError::NotInSnapshot { .. })), "{none:?}");
}

#[test]
fn many_versions_of_a_long_file_take_little_room_and_are_exact() {
    let rig = Rig::new(&[]);
    let line = |number: usize| format!("line {number} of a long file\n");
    let mut lines: Vec<String> = (0..4000).map(line).collect();
    let a = path("a.org");
    for at in 0..100_usize {
        lines[at * 37] = format!("changed {at}\n");
        fs::write(rig.file("a.org"), lines.concat()).unwrap();
        rig.notice("a.org", at as i64);
    }
    let past = VersionHistory::open(rig.state.path()).unwrap();
    let all =
        past.list(&VersionFilter { path: Some(a), ..VersionFilter::default() }, 1000).unwrap();
    assert_eq!(all.len(), 100);
    for version in &all {
        let hash = version.after.unwrap();
        assert_eq!(hash_bytes(&past.content(hash).unwrap()), hash);
    }
    let kept: i64 = rig
        .memory
        .lock()
        .query_row("SELECT sum(length(bytes)) FROM blob", [], |row| row.get(0))
        .unwrap();
    let whole = i64::try_from(lines.concat().len()).unwrap();
    assert!(kept < 6 * whole, "{kept} for 100 versions of {whole}");
}

#[test]
fn what_is_forgotten_is_nowhere_and_the_rest_can_be_read() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let text = "x\n".repeat(5000);
    rig.write(1, "a.org", &text);
    rig.write(2, "a.org", &format!("{text}secret\n"));
    rig.write(3, "a.org", &format!("{text}secret\nmore\n"));
    fs::write(rig.file("a.org"), format!("{text}more\n")).unwrap();
    rig.write(4, "a.org", &format!("{text}more\nend\n"));
    assert_eq!(rig.memory.forget("work", Some(2)).unwrap(), 1);
    assert_eq!(rig.memory.forget("work", Some(3)).unwrap(), 1);
    assert_eq!(rig.memory.forget("other", None).unwrap(), 0);
    let state = |name: &str| fs::read(rig.state.path().join(name)).unwrap_or_default();
    for name in ["memory.db", "memory.db-wal"] {
        assert!(!state(name).windows(6).any(|bytes| bytes == b"secret"), "{name}");
    }
    for version in rig.memory.list(&VersionFilter::default(), 100).unwrap() {
        for hash in [version.before, version.after].into_iter().flatten() {
            let _ = rig.memory.content(hash);
        }
    }
    let undone = rig.memory.undo(4).unwrap();
    assert_eq!(undone[0].after.as_deref(), Some(format!("{text}more\n").as_bytes()));
    assert_eq!(rig.memory.forget("work", None).unwrap(), 2);
}

#[test]
fn what_was_done_is_told_and_not_done_twice() {
    let rig = Rig::new(&[("a.org", "a\n")]);
    let change = rig.change("a.org", Some("b\n"));
    let wanted = [path("a.org")];
    assert_eq!(rig.memory.outcome_of(1, &wanted).unwrap(), ChangeOutcome::NotDone);
    rig.memory.apply(std::slice::from_ref(&change), &why(1)).unwrap();
    assert_eq!(rig.memory.outcome_of(1, &wanted).unwrap(), ChangeOutcome::Done);
    fs::write(rig.file("a.org"), "user\n").unwrap();
    assert_eq!(rig.memory.apply(&[change], &why(1)).unwrap(), []);
    assert_eq!(rig.text("a.org"), "user\n");
}

#[test]
fn only_a_database_of_its_own_is_used() {
    let (state, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(state.path().join("memory.db"), "something else").unwrap();
    let options = MemoryOptions { root: root.path().to_owned(), protected: Vec::new() };
    assert!(matches!(MemoryStore::open(state.path(), &options), Err(MemoryError::Past(_))));
    let options = MemoryOptions { root: root.path().join("none"), protected: Vec::new() };
    let state = TempDir::new().unwrap();
    assert!(matches!(MemoryStore::open(state.path(), &options), Err(MemoryError::Root { .. })));
    assert!(VersionHistory::open(Path::new("/nonexistent")).is_err());
}

#[test]
fn diffs_of_versions_are_for_people() {
    let diff = unified("a.org", Some(b"* TODO a\n"), Some(b"* DONE a\n"));
    let expect = "--- a/a.org\n+++ b/a.org\n@@ -1,1 +1,1 @@\n-* TODO a\n+* DONE a\n";
    assert_eq!(String::from_utf8_lossy(&diff), expect);
}
