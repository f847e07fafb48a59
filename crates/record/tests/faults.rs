//! Dies at every point of a commit and of forgetting, in a process of its own, and looks at what is
//! left: all of what was acknowledged, nothing by half, a chain that holds. Also the shelf, the shadow
//! copies and the imitated full disk. Run with the feature `faults`.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bridle_record::fault::{COMPACT_POINTS, OPEN_POINTS, POINTS, REPAIR_POINTS, SHELF_POINTS};
use bridle_record::{
    FileShelf, ForgetRequest, NewRecord, NewSessionRow, NewShelfFile, PutResult, RecordAppend,
    RecordFilter, RecordNumber, RecordReader, RecordStore, ShelfRoom, StoreError, StoreOptions,
};

const WORK: &str = "BRIDLE_TEST_WORK";

/// Asks the child for a block that is nearly full, before it does anything else.
const FILLED: &str = "BRIDLE_TEST_FILLED";

fn main() {
    if let Some(dir) = std::env::var_os(WORK) {
        return work(Path::new(&dir));
    }
    for point in POINTS {
        for nth in [1, 2, 5] {
            dies_cleanly(point, nth);
        }
    }
    a_block_is_settled_whole_or_not_at_all();
    for point in COMPACT_POINTS.iter().chain(POINTS) {
        for nth in [1, 2, 4] {
            compacting_dies_cleanly(point, nth);
        }
    }
    for point in OPEN_POINTS {
        opening_dies_cleanly(point);
    }
    for point in REPAIR_POINTS {
        repairing_dies_cleanly(point);
    }
    for point in SHELF_POINTS {
        a_file_is_there_whole_or_not_at_all(point);
    }
    shadows_hold_what_was_acknowledged();
    a_full_disk_can_be_imitated();
}

/// Tells the child what to do instead of committing.
const TASK: &str = "BRIDLE_TEST_TASK";

fn by() -> ForgetRequest {
    ForgetRequest { principal: "me".into(), at: 9 }
}

/// A record with two forgotten sessions among four, of 24 records, and what is readable in it.
fn half_forgotten(dir: &Path) -> Vec<bridle_record::Record> {
    let mut store = RecordStore::open(dir, &StoreOptions::default()).unwrap();
    let names = ["s0", "s1", "s2", "s3"];
    for turn in 0..3 {
        let appends: Vec<_> = names.map(|name| append(name, turn)).to_vec();
        store.commit(&appends).unwrap();
    }
    store.forget_sessions(&["s1".into(), "s2".into()], &by()).unwrap();
    readable(dir)
}

/// Records of sessions that can be read.
fn readable(dir: &Path) -> Vec<bridle_record::Record> {
    let records = RecordReader::open(dir)
        .unwrap()
        .records(RecordNumber(0), &RecordFilter::default(), 999)
        .unwrap();
    let is_readable =
        |it: &bridle_record::Record| !it.session.is_empty() && it.body.text().is_some();
    records.into_iter().filter(is_readable).collect()
}

/// Dies while records are compacted: each run is there as it was, or replaced as a whole; to begin again ends it.
fn compacting_dies_cleanly(point: &str, nth: u32) {
    let dir = tempfile::tempdir().unwrap();
    let before = half_forgotten(dir.path());
    let fault = format!("{point}:{nth}");
    let (_, last, signal) = run(dir.path(), &[("BRIDLE_FAULT", &*fault), (TASK, "compact")]);
    assert!(signal == Some(9) || last == "done", "{fault}: {last} {signal:?}");
    if nth == 1 && COMPACT_POINTS.contains(&point) {
        assert_eq!(signal, Some(9), "{fault}");
    }
    check(dir.path(), 0, &fault);
    assert_eq!(readable(dir.path()), before, "{fault}");
    let mut store = RecordStore::open(dir.path(), &StoreOptions::default()).unwrap();
    store.compact(&by()).unwrap();
    drop(store);
    assert_eq!(readable(dir.path()), before, "{fault}");
    let reader = RecordReader::open(dir.path()).unwrap();
    assert_eq!(reader.verify(None, &mut |_, _| ()).unwrap().compacted, 12, "{fault}");
    let beside: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("record.db"))
        .collect();
    assert_eq!(beside, [] as [&str; 0], "{fault}: nothing lies beside");
}

/// Dies while a record is made, or one of the version before is brought up to date: the next start has it.
fn opening_dies_cleanly(point: &str) {
    let dir = tempfile::tempdir().unwrap();
    let is_old = point == "store.open.migrated";
    if is_old {
        half_forgotten(dir.path());
        let connection = rusqlite::Connection::open(dir.path().join("record.db")).unwrap();
        connection.execute_batch("DROP TABLE spent; PRAGMA user_version = 4").unwrap();
    }
    let (_, last, signal) = run(dir.path(), &[("BRIDLE_FAULT", point), (TASK, "open")]);
    assert_eq!(signal, Some(9), "{point}: {last}");
    let head = check(dir.path(), if is_old { 25 } else { 0 }, point);
    assert_eq!(head, if is_old { 25 } else { 0 }, "{point}");
}

/// Dies while a record is repaired: it is the damaged one, or to repair again ends with the new one; the damaged
/// bytes are never gone.
fn repairing_dies_cleanly(point: &str) {
    let dir = tempfile::tempdir().unwrap();
    half_forgotten(dir.path());
    let file = dir.path().join("record.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection
        .execute_batch(
            "DROP TRIGGER record_is_not_edited;
             UPDATE record SET records = zeroblob(9) WHERE first = (SELECT max(first) FROM record);
             PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
    drop(connection);
    let damaged = fs::read(&file).unwrap();
    let (_, last, signal) = run(dir.path(), &[("BRIDLE_FAULT", point), (TASK, "repair")]);
    assert_eq!(signal, Some(9), "{point}: {last}");
    let is_there = |bytes: &[u8]| {
        fs::read_dir(dir.path()).unwrap().any(|it| {
            let path = it.unwrap().path();
            path.is_file() && fs::read(path).unwrap() == bytes
        })
    };
    assert!(is_there(&damaged), "{point}");
    let opened = RecordStore::open(dir.path(), &StoreOptions::default());
    match point {
        "repair.built" => {}
        _ => assert!(matches!(opened, Err(StoreError::RepairInterrupted)), "{point}: {opened:?}"),
    }
    drop(opened);
    bridle_record::repair(dir.path(), &by()).unwrap();
    assert!(is_there(&damaged), "{point}");
    check(dir.path(), 24, point);
    let folders =
        fs::read_dir(dir.path()).unwrap().filter(|it| it.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 0, "{point}: nothing lies beside");
}

/// Commits and forgets, and says on standard output what was acknowledged.
fn work(dir: &Path) {
    if std::env::var("BRIDLE_FAULT").is_ok_and(|name| name.starts_with("shelf")) {
        let mut shelf = FileShelf::open(dir).unwrap();
        for byte in 1..=2 {
            put(&mut shelf, byte);
            say("shelved");
        }
        return;
    }
    if std::env::var_os(TASK).is_some_and(|task| task == "repair") {
        bridle_record::repair(dir, &by()).unwrap();
        return say("done");
    }
    let mut store = RecordStore::open(dir, &StoreOptions::default()).unwrap();
    if let Some(task) = std::env::var_os(TASK) {
        if task == "compact" {
            store.compact(&by()).unwrap();
        }
        return say("done");
    }
    if std::env::var_os(FILLED).is_some() {
        let begin = NewSessionRow { name: "filled".into(), owner: "me".into(), at: 1 };
        let drafts = vec![NewRecord::new("filled", "tick", 5, "me", "()"); 1010];
        let filled = RecordAppend { session: Some(begin), drafts, ..RecordAppend::default() };
        store.commit(&[filled]).unwrap();
    }
    for session in 0..6 {
        let name = format!("s{session}");
        let appends: Vec<_> = (0..3).map(|turn| append(&name, turn)).collect();
        for append in &appends {
            match store.commit(std::slice::from_ref(append)) {
                Ok(numbers) => say(&format!("kept {}", numbers[0].last().unwrap())),
                Err(StoreError::Full) => return say("full"),
                Err(error) => panic!("{error:?}"),
            }
        }
        if session % 2 == 0 {
            let by = ForgetRequest { principal: "me".into(), at: 9 };
            let forgotten = store.forget_session(&name, &by).unwrap();
            say(&format!("kept {}", forgotten.number));
        }
    }
    say("done");
}

/// Puts a file on the shelf, and the process dies meanwhile: what is there can be read.
fn a_file_is_there_whole_or_not_at_all(point: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (_, last, signal) = run(dir.path(), &[("BRIDLE_FAULT", &format!("{point}:2"))]);
    assert_eq!((signal, &*last), (Some(9), "shelved"), "{point}");
    let mut shelf = FileShelf::open(dir.path()).unwrap();
    // The second one, whether it was kept or not, can be put again.
    for byte in 1..=2 {
        let kept = put(&mut shelf, byte);
        let (_, content) = shelf.read("me", kept.name, 1).unwrap().unwrap();
        assert_eq!(content, [byte; 9000], "{point}");
    }
}

fn put(shelf: &mut FileShelf, byte: u8) -> bridle_record::KeptFile {
    let content = &[byte; 9000];
    let new =
        NewShelfFile { owner: "me", kind: "x/y", sha256: [byte; 32], content, at: 1, expires: 9 };
    let room = ShelfRoom { owner_bytes: 1 << 20, owner_files: 9, all_bytes: 1 << 20 };
    match shelf.put(new, &room).unwrap() {
        PutResult::Kept(kept) => kept,
        PutResult::NoRoom => panic!("no room"),
    }
}

fn append(name: &str, turn: u64) -> RecordAppend {
    let seq = turn * 2 + 1;
    let draft = |seq| NewRecord::new(name, "say", 5, "me", "x".repeat(2000)).numbered(seq);
    let begin = NewSessionRow { name: name.into(), owner: "me".into(), at: 1 };
    RecordAppend {
        session: (turn == 0).then_some(begin),
        drafts: vec![draft(seq), draft(seq + 1)],
        ..RecordAppend::default()
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// Runs [`work`] in a child; what it acknowledged, its last line, and the signal that ended it.
fn run(dir: &Path, environment: &[(&str, &str)]) -> (u64, String, Option<i32>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(WORK, dir)
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let signal = child.wait().unwrap().signal();
    let kept = out.lines().filter_map(|line| line.strip_prefix("kept ")).next_back();
    let last = out.lines().next_back().unwrap_or_default().into();
    (kept.map_or(0, |number| number.parse().unwrap()), last, signal)
}

/// What a record holds after a crash. It must be whole, and hold at least what was acknowledged.
fn check(dir: &Path, acknowledged: u64, what: &str) -> u64 {
    let mut store = RecordStore::open(dir, &StoreOptions::default()).unwrap();
    let head = store.head().unwrap().number.0;
    assert!(head >= acknowledged, "{what}: {acknowledged} acknowledged, {head} there");
    let reader = store.reader().unwrap();
    let verified = reader.verify(None, &mut |_, _| ()).unwrap();
    assert_eq!(verified.head.number.0, head, "{what}");
    for row in reader.sessions().unwrap() {
        assert!(row.head_seq.is_multiple_of(2), "{what}: a commit is there whole or not at all");
    }
    let more = NewSessionRow { name: "after".into(), owner: "me".into(), at: 1 };
    store.commit(&[RecordAppend { session: Some(more), ..RecordAppend::default() }]).unwrap();
    head
}

fn dies_cleanly(point: &str, nth: u32) {
    let dir = tempfile::tempdir().unwrap();
    let shadow = tempfile::tempdir().unwrap();
    let fault = format!("{point}:{nth}");
    let shadow = shadow.path().to_str().unwrap();
    let environment = [("BRIDLE_FAULT", &*fault), ("BRIDLE_FAULT_SHADOW", shadow)];
    let (acknowledged, last, signal) = run(dir.path(), &environment);
    // Forgetting is asked for three times; the rest happens at least five.
    let reached = nth <= 3 || !(point.contains("forg") || point.contains("scrub"));
    match reached {
        true => assert_eq!(signal, Some(9), "{fault}: {last}"),
        false => assert_eq!((signal, &*last), (None, "done"), "{fault}"),
    }
    let head = check(dir.path(), acknowledged, &fault);
    assert!(head <= acknowledged + 2, "{fault}: at most one commit was in the air");
}

/// Record 1,023 fills a block, in the eighth commit: whoever dies around it leaves what a session wrote
/// where a reader finds it.
fn a_block_is_settled_whole_or_not_at_all() {
    let before = ["begin:8", "record:1021", "record:1022", "tables:7", "commit:8"];
    let after = ["committed:8", "begin:9", "record:1023"];
    // Forgetting has settled those up to 1,016.
    let before = before.map(|fault| (fault, 1021, (1016, 1)));
    let after = after.map(|fault| (fault, 1023, (1023, 2)));
    for (fault, head, settled) in before.into_iter().chain(after) {
        let dir = tempfile::tempdir().unwrap();
        let fault = format!("store.{fault}");
        let (acknowledged, last, signal) =
            run(dir.path(), &[("BRIDLE_FAULT", &*fault), (FILLED, "1")]);
        assert_eq!(signal, Some(9), "{fault}: {last}");
        assert_eq!(check(dir.path(), acknowledged, &fault), head, "{fault}");
        let reader = RecordReader::open(dir.path()).unwrap();
        let count = |name: &str| {
            let filter = RecordFilter { session: Some(name.into()), ..RecordFilter::default() };
            reader.records(RecordNumber(0), &filter, usize::MAX).unwrap().len() as u64
        };
        // One record says that `s0` was forgotten.
        assert_eq!((count("filled"), count("s0")), (1010, 6), "{fault}");
        assert_eq!(count("s1"), head - 1017, "{fault}");
        let connection = rusqlite::Connection::open(dir.path().join("record.db")).unwrap();
        let sql = "SELECT settled, (SELECT count(*) FROM place) FROM meta";
        let found: (i64, i64) =
            connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(found, settled, "{fault}");
    }
}

fn shadows_hold_what_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let shadow = tempfile::tempdir().unwrap();
    let environment = [
        ("BRIDLE_FAULT", "store.begin:8"),
        ("BRIDLE_FAULT_SHADOW", shadow.path().to_str().unwrap()),
    ];
    let (acknowledged, _, signal) = run(dir.path(), &environment);
    assert_eq!((acknowledged, signal), (13, Some(9)));
    let mut copies: Vec<PathBuf> =
        fs::read_dir(shadow.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    copies.sort();
    let names: Vec<_> = copies.iter().map(|copy| copy.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["commit-6", "commit-7"]);
    assert_eq!(check(&copies[1], acknowledged, "the last shadow"), acknowledged);
}

fn a_full_disk_can_be_imitated() {
    let dir = tempfile::tempdir().unwrap();
    let full = dir.path().join("full");
    fs::write(&full, "").unwrap();
    let environment = [("BRIDLE_FAULT_FULL", full.to_str().unwrap())];
    let (_, last, signal) = run(dir.path(), &environment);
    assert_eq!((&*last, signal), ("full", None));
    fs::remove_file(&full).unwrap();
    let before = RecordReader::open(dir.path()).unwrap().head().unwrap().number.0;
    let after = check(dir.path(), before, "after a full disk");
    assert_eq!(before, after);
}
