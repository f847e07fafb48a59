//! Dies at every point of a change of the user's files, in a process of its own, and looks at what is left: each file
//! is the old or the new one, which of them is known, and nothing lies beside them. Run with the feature `faults`.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bridle_memex::{
    ChangeCause, ChangeOutcome, FileChange, FilePath, MEMORY_FAULT_POINTS, MemoryOptions,
    MemoryStore, VersionFilter, VersionOrigin, hash_bytes,
};

/// Names the folder to the child that edits.
const WORK: &str = "BRIDLE_TEST_WORK";

fn main() {
    if let Some(dir) = std::env::var_os(WORK) {
        return edit(Path::new(&dir));
    }
    for point in MEMORY_FAULT_POINTS {
        for nth in [1, 2] {
            a_file_of_the_memory_is_the_old_or_the_new_one(point, nth);
            for then in [Then::Completed, Then::Withdrawn] {
                a_subtree_that_moves_is_never_lost(point, nth, then);
            }
        }
    }
}

fn files(dir: &Path) -> (MemoryStore, PathBuf) {
    let root = dir.join("files");
    let options = MemoryOptions { root: root.clone(), protected: Vec::new() };
    (MemoryStore::open(dir, &options).unwrap(), root)
}

/// The texts of the two files of one change, before and after.
const TEXTS: [(&str, &str, &str); 2] =
    [("a.org", "old a\n", "old a\nnew a\n"), ("b.org", "old b\n", "new b\n")];

/// The same of a subtree that goes into an archive: it is put there before it is taken from here.
const MOVED: [(&str, &str, &str); 2] = [
    ("there.org", "* Old\n", "* Old\n* DONE Beans\nSown.\n"),
    ("here.org", "* Keep\n* DONE Beans\nSown.\n* Last\n", "* Keep\n* Last\n"),
];

/// What moves.
const SUBTREE: &str = "* DONE Beans\nSown.\n";

/// Set for who is to move it.
const MOVE: &str = "BRIDLE_TEST_MOVE";

fn changes(texts: &[(&str, &str, &str); 2]) -> Vec<FileChange> {
    let change = |(name, old, new): (&str, &str, &str)| FileChange {
        path: FilePath::parse(name).unwrap(),
        before: Some(hash_bytes(old.as_bytes())),
        after: Some(new.as_bytes().to_vec()),
    };
    texts.map(change).to_vec()
}

fn why() -> ChangeCause {
    ChangeCause {
        origin: VersionOrigin::Edit,
        record: Some(7),
        session: "s".into(),
        turn: 1,
        principal: "me".into(),
        action: "edit".into(),
        at: 1,
    }
}

fn edit(dir: &Path) {
    let (memory, _) = files(dir);
    let texts = if std::env::var_os(MOVE).is_some() { &MOVED } else { &TEXTS };
    memory.apply(&changes(texts), &why()).unwrap();
    say("done");
}

/// What becomes of a move that a crash interrupted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Completed,
    Withdrawn,
}

/// A subtree moves from one file into another, and the process dies meanwhile. It is in one of them at least, in both
/// only while the past says that the move is not done; it can be completed, or taken back, and is there once then.
fn a_subtree_that_moves_is_never_lost(point: &str, nth: u32, then: Then) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("files");
    fs::create_dir(&root).unwrap();
    MOVED.iter().for_each(|(name, old, _)| fs::write(root.join(name), old).unwrap());
    let fault = format!("{point}:{nth} {then:?}");
    let environment = [("BRIDLE_FAULT", &*format!("{point}:{nth}")), (MOVE, "1")];
    let (last, signal) = run(dir.path(), &environment);
    assert!(signal == Some(9) || last == "done", "{fault}: {last}");
    let texts = || MOVED.map(|(name, _, _)| fs::read_to_string(root.join(name)).unwrap());
    let there = |texts: &[String; 2]| texts.iter().filter(|it| it.contains(SUBTREE)).count();
    let found = texts();
    for ((_, old, new), text) in MOVED.iter().zip(&found) {
        assert!(text == old || text == new, "{fault}: {text:?}");
    }
    let (memory, _) = files(dir.path());
    assert_eq!(texts(), found, "{fault}: a start changes no file");
    let paths = MOVED.map(|(name, _, _)| FilePath::parse(name).unwrap());
    let told = memory.outcome_of(7, &paths).unwrap();
    let is_done = MOVED.iter().zip(&found).all(|((_, _, new), text)| text == new);
    assert_eq!(told, if is_done { ChangeOutcome::Done } else { ChangeOutcome::NotDone }, "{fault}");
    match there(&found) {
        1 => {}
        2 => assert_eq!(told, ChangeOutcome::NotDone, "{fault}: twice, and the past says so"),
        count => panic!("{fault}: {count} times: {found:?}"),
    }
    match then {
        Then::Completed => memory.apply(&changes(&MOVED), &why()).map(drop).unwrap(),
        // What is whole is taken back by an undo, as any change is.
        Then::Withdrawn if is_done => {
            memory
                .apply(&memory.undo(7).unwrap(), &ChangeCause { record: Some(8), ..why() })
                .map(drop)
                .unwrap();
        }
        Then::Withdrawn => drop(memory.withdraw(&why()).unwrap()),
    }
    let wanted = match then {
        Then::Completed => MOVED.map(|(_, _, new)| new.to_owned()),
        Then::Withdrawn => MOVED.map(|(_, old, _)| old.to_owned()),
    };
    assert_eq!(texts(), wanted, "{fault}");
    assert_eq!(there(&texts()), 1, "{fault}");
    assert_eq!(fs::read_dir(&root).unwrap().count(), 2, "{fault}: nothing lies beside");
}

/// Two files are changed together, and the process dies meanwhile. Each is the old or the new one; which
/// is known after the start; what is not done can be done; and nothing lies beside them.
fn a_file_of_the_memory_is_the_old_or_the_new_one(point: &str, nth: u32) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("files");
    fs::create_dir(&root).unwrap();
    TEXTS.iter().for_each(|(name, old, _)| fs::write(root.join(name), old).unwrap());
    let fault = format!("{point}:{nth}");
    let (last, signal) = run(dir.path(), &[("BRIDLE_FAULT", &*fault)]);
    let once = ["memory.planned", "memory.settled", "memory.cleared"];
    match nth == 1 || !once.contains(&point) {
        true => assert_eq!(signal, Some(9), "{fault}: {last}"),
        false => return assert_eq!((signal, &*last), (None, "done"), "{fault}"),
    }
    let texts = || TEXTS.map(|(name, _, _)| fs::read_to_string(root.join(name)).unwrap());
    let found = texts();
    for ((_, old, new), text) in TEXTS.iter().zip(&found) {
        assert!(text == old || text == new, "{fault}: {text:?}");
    }
    let (memory, root) = files(dir.path());
    let beside = fs::read_dir(&root).unwrap().count();
    assert_eq!(beside, 2, "{fault}: nothing lies beside");
    assert_eq!(texts(), found, "{fault}: a start changes no file");
    for ((name, _, new), text) in TEXTS.iter().zip(&found) {
        let told = memory.outcome_of(7, &[FilePath::parse(name).unwrap()]).unwrap();
        let is_new = text == new;
        assert_eq!(
            told,
            if is_new { ChangeOutcome::Done } else { ChangeOutcome::NotDone },
            "{fault}: {name}"
        );
    }
    // The rest can be done, and nothing is done twice.
    memory.apply(&changes(&TEXTS), &why()).unwrap();
    assert_eq!(texts(), TEXTS.map(|(_, _, new)| new.to_owned()), "{fault}");
    let wanted = VersionFilter { record: Some(7), ..VersionFilter::default() };
    assert_eq!(memory.list(&wanted, 9).unwrap().len(), 2, "{fault}");
    let back = memory.undo(7).unwrap();
    memory.apply(&back, &ChangeCause { record: Some(8), ..why() }).unwrap();
    assert_eq!(texts(), TEXTS.map(|(_, old, _)| old.to_owned()), "{fault}");
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// Runs [`edit`] in a child; its last line, and the signal that ended it.
fn run(dir: &Path, environment: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(WORK, dir)
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let signal = child.wait().unwrap().signal();
    (out.lines().next_back().unwrap_or_default().into(), signal)
}
