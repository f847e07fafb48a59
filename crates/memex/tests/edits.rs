//! An agent and a user write the same files at the same time. No byte of the user's is lost, and when
//! every change of the agent's is taken back, one by one and in any order, each takes its own lines alone,
//! and exactly the user's text is left; a change that cannot be taken back is one that the user has
//! written over, and says so. The user saves as editors do, locks and unlocked files included, and at times finds a
//! file and writes it only when it was replaced already.
//!
//! `BRIDLE_EDITS=N` makes N edits of each; `cargo xtask memory` does so.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bridle_memex::{
    ChangeCause, FileChange, FilePath, MemoryError, MemoryOptions, MemoryStore, VersionOrigin,
};
use tempfile::TempDir;

/// Edits of each side unless the environment says otherwise.
const USUAL: u64 = 150;

/// Files that both write.
const FILES: usize = 3;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides.max(1) as u64).unwrap()
    }
}

fn name(file: usize) -> FilePath {
    FilePath::parse(&format!("{file}.org")).unwrap()
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn is_agents(line: &[u8]) -> bool {
    line.starts_with(b"agent")
}

fn why(record: u64, origin: VersionOrigin) -> ChangeCause {
    ChangeCause {
        origin,
        record: Some(record),
        session: "work".into(),
        turn: 1,
        principal: "uid:1000".into(),
        action: "edit".into(),
        at: 1,
    }
}

/// A change that the agent made.
struct Made {
    record: u64,
    path: FilePath,
    /// The line that came, and the one that it took the place of.
    line: Vec<u8>,
    instead_of: Option<Vec<u8>>,
}

/// Puts a line of the agent's somewhere, or changes one of its own.
fn agent(memory: &MemoryStore, edits: u64, done: &AtomicBool) -> Vec<Made> {
    let (mut dice, mut made) = (Dice(0x9e37_79b9_7f4a_7c15), Vec::new());
    for record in 1..=edits {
        let path = name(dice.roll(FILES));
        let Ok(Some(seen)) = memory.read(&path) else { continue };
        let mut text = lines(&seen.bytes);
        let own: Vec<usize> = (0..text.len()).filter(|at| is_agents(&text[*at])).collect();
        let line = format!("agent {record} \u{e4}\r\n").into_bytes();
        let instead_of = match dice.roll(4) {
            0 if !own.is_empty() => {
                Some(std::mem::replace(&mut text[own[dice.roll(own.len())]], line.clone()))
            }
            _ => {
                text.insert(dice.roll(text.len() + 1), line.clone());
                None
            }
        };
        let after = Some(text.concat());
        let change = FileChange { path: path.clone(), before: Some(seen.hash), after };
        match memory.apply(&[change], &why(record, VersionOrigin::Edit)) {
            Ok(_) => made.push(Made { record, path, line, instead_of }),
            Err(
                MemoryError::Changed { .. } | MemoryError::Locked { .. } | MemoryError::Open { .. },
            ) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    done.store(true, Ordering::SeqCst);
    made
}

/// Edits lines of the user's own, until the agent is done; what the user's lines are then.
fn user(root: &Path, edits: u64, done: &AtomicBool) -> Vec<Vec<Vec<u8>>> {
    let (mut dice, mut number) = (Dice(0x2545_f491_4f6c_dd1d), 0);
    let mut own: Vec<Vec<Vec<u8>>> = (0..FILES).map(|file| vec![first_line(file)]).collect();
    while number < edits || !done.load(Ordering::SeqCst) {
        number += 1;
        let file = dice.roll(FILES);
        let path = root.join(name(file).as_str());
        let save = Save::ALL[dice.roll(Save::ALL.len())];
        save.begin(&path);
        // What the user wrote is there, whatever the agent did meanwhile.
        let mut text = read_own(&path, &own[file]);
        let theirs: Vec<usize> = (0..text.len()).filter(|at| !is_agents(&text[*at])).collect();
        let line = format!("user {number} \u{1f333}\n").into_bytes();
        match dice.roll(6) {
            0 | 1 if theirs.len() > 1 => {
                let which = dice.roll(theirs.len());
                text.remove(theirs[which]);
                own[file].remove(which);
            }
            2 | 3 => {
                let which = dice.roll(theirs.len());
                text[theirs[which]].clone_from(&line);
                own[file][which] = line;
            }
            _ => {
                let which = dice.roll(theirs.len() + 1);
                let at = theirs.get(which).copied().unwrap_or(text.len());
                text.insert(at, line.clone());
                own[file].insert(which, line);
            }
        }
        save.end(&path, &text.concat(), &mut dice);
    }
    own
}

/// How a user saves.
#[derive(Clone, Copy)]
enum Save {
    /// A new file in the place of the old one.
    Rename,
    /// The old file becomes a backup, and a new one is written under its name, while a lock says so: as
    /// Emacs does.
    Emacs,
    /// Into the file itself, under such a lock.
    Locked,
    /// Into the file itself, and nobody is told.
    InPlace,
    /// The same, by a program that has found the file and waits for the processor or the disk before it can open it:
    /// nobody can tell that it is there.
    Late,
}

impl Save {
    const ALL: [Self; 5] = [Self::Rename, Self::Emacs, Self::Locked, Self::InPlace, Self::Late];

    fn begin(self, path: &Path) {
        if matches!(self, Self::Emacs | Self::Locked) {
            symlink(format!("me@{}.{}:1", host(), std::process::id()), lock(path)).unwrap();
        }
    }

    fn end(self, path: &Path, text: &[u8], dice: &mut Dice) {
        match self {
            Self::Rename => {
                let beside = path.with_extension("saving");
                fs::write(&beside, text).unwrap();
                fs::rename(&beside, path).unwrap();
            }
            Self::Emacs => {
                fs::rename(path, path.with_extension("org~")).unwrap();
                fs::write(path, text).unwrap();
            }
            Self::Locked | Self::InPlace => fs::write(path, text).unwrap(),
            Self::Late => {
                let found = File::open(path).unwrap();
                let wait = u64::try_from(dice.roll(MAX_LATE)).unwrap();
                std::thread::sleep(Duration::from_micros(wait));
                let found = format!("/proc/self/fd/{}", found.as_raw_fd());
                let mut open = OpenOptions::new().write(true).truncate(true).open(found).unwrap();
                open.write_all(text).unwrap();
            }
        }
        if matches!(self, Self::Emacs | Self::Locked) {
            fs::remove_file(lock(path)).unwrap();
        }
    }
}

/// Where Emacs says that it has a file.
fn lock(path: &Path) -> PathBuf {
    path.with_file_name(format!(".#{}", path.file_name().unwrap().to_str().unwrap()))
}

/// How late a save is at most, in microseconds: as long as the agent takes for some changes, so that many come when all
/// of one is over.
const MAX_LATE: usize = 30_000;

/// How long a user waits until what was saved is there. Only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads a file that the user has saved. A save that comes while the agent replaces the file is put back in a moment;
/// no person is quick enough to look in between, this one is.
fn read_own(path: &Path, own: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    loop {
        let text = lines(&fs::read(path).unwrap());
        let found: Vec<_> = text.iter().filter(|line| !is_agents(line)).cloned().collect();
        if found == own {
            return text;
        }
        assert!(Instant::now() < until, "{}: {found:?}, expected {own:?}", path.display());
        std::thread::yield_now();
    }
}

/// Time between two looks for saves that came late, as whoever owns a memory takes them.
const LOOK: Duration = Duration::from_millis(5);

/// Looks for saves that came late until the user is done, and once more.
fn mind(memory: &MemoryStore, done: &AtomicBool) {
    loop {
        let is_last = done.load(Ordering::SeqCst);
        memory.look_for_late_saves(1).unwrap();
        if is_last {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "elsewhere".into(), |host| host.trim().to_owned())
}

fn first_line(file: usize) -> Vec<u8> {
    format!("user's first line of {file}\n").into_bytes()
}

#[test]
fn an_agent_and_a_user_write_at_the_same_time() {
    let edits = std::env::var("BRIDLE_EDITS").ok().and_then(|text| text.parse().ok());
    let edits: u64 = edits.unwrap_or(USUAL);
    let (state, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let root: PathBuf = folder.path().canonicalize().unwrap();
    for file in 0..FILES {
        fs::write(root.join(name(file).as_str()), first_line(file)).unwrap();
    }
    let options = MemoryOptions { root: root.clone(), protected: Vec::new() };
    let memory = MemoryStore::open(state.path(), &options).unwrap();
    let (agent_done, all_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let (made, own) = std::thread::scope(|scope| {
        let agent = scope.spawn(|| agent(&memory, edits, &agent_done));
        let user = scope.spawn(|| user(&root, edits, &agent_done));
        let minder = scope.spawn(|| mind(&memory, &all_done));
        let (made, own) = (agent.join(), user.join());
        all_done.store(true, Ordering::SeqCst);
        minder.join().unwrap();
        (made.unwrap(), own.unwrap())
    });
    assert!(!made.is_empty(), "the agent got to write");
    let text = |file: usize| fs::read(root.join(name(file).as_str())).unwrap();
    let users = |file: usize| -> Vec<Vec<u8>> {
        lines(&text(file)).into_iter().filter(|line| !is_agents(line)).collect()
    };
    (0..FILES).for_each(|file| assert_eq!(users(file), own[file]));
    let count = made.len();
    let refused = take_all_back(&memory, made, edits);
    for (file, own) in own.iter().enumerate() {
        assert_eq!(text(file), own.concat(), "exactly the user's text is left");
    }
    println!("{count} of {edits} edits made, {refused} of them written over by the user");
    assert!(refused < count, "some could be taken back");
    let hidden = fs::read_dir(&root).unwrap().map(|it| it.unwrap().file_name());
    let hidden: Vec<_> = hidden.filter(|it| it.to_string_lossy().starts_with('.')).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// Takes every change back, in an order of its own; those that another change builds on come later. How
/// many could not be: those were written over, and nothing of them is there.
fn take_all_back(memory: &MemoryStore, mut left: Vec<Made>, edits: u64) -> usize {
    let mut dice = Dice(0x1234_5678_9abc_def1);
    let mut next = edits + 1;
    loop {
        for at in (1..left.len()).rev() {
            left.swap(at, dice.roll(at + 1));
        }
        let before = left.len();
        left.retain(|made| match memory.undo(made.record) {
            Ok(changes) => {
                take_one_back(memory, made, &changes, next);
                next += 1;
                false
            }
            Err(MemoryError::Conflicts(found)) => {
                assert!(!found.is_empty());
                true
            }
            Err(error) => panic!("{error:?}"),
        });
        if left.len() == before {
            return left.len();
        }
    }
}

/// Takes a change back alone: its line is what it was before, or gone, and no other byte is touched.
fn take_one_back(memory: &MemoryStore, made: &Made, changes: &[FileChange], next: u64) {
    let text = || memory.read(&made.path).unwrap().unwrap().bytes;
    let mut expected = lines(&text());
    match (expected.iter().position(|line| *line == made.line), &made.instead_of) {
        (Some(at), Some(before)) => expected[at].clone_from(before),
        (Some(at), None) => drop(expected.remove(at)),
        (None, _) => {}
    }
    memory.apply(changes, &why(next, VersionOrigin::Undo)).unwrap();
    assert_eq!(text(), expected.concat(), "change {} alone", made.record);
}
