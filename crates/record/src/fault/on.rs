//! A build with faults: dies, copies and fills the disk as the environment says. For the chaos
//! harness; what cannot be read or copied panics, since a harness that goes on without its faults
//! would prove nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::database;

/// Fault point at which to die, and the passing that counts.
struct Plan {
    name: String,
    nth: u64,
    passed: AtomicU64,
}

/// Dies here by `SIGKILL` if `BRIDLE_FAULT` names this point.
pub fn point(name: &str) {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    let plan = PLAN.get_or_init(|| env::var("BRIDLE_FAULT").ok().map(|text| Plan::parse(&text)));
    let Some(plan) = plan.as_ref().filter(|plan| plan.name == name) else { return };
    if plan.passed.fetch_add(1, Ordering::SeqCst) + 1 == plan.nth {
        kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    }
}

impl Plan {
    fn parse(text: &str) -> Self {
        let (name, nth) = text.split_once(':').unwrap_or((text, "1"));
        let nth = nth.parse().expect("BRIDLE_FAULT is `name` or `name:nth`");
        Self { name: name.into(), nth, passed: AtomicU64::new(0) }
    }
}

/// Copies the record's files to `BRIDLE_FAULT_SHADOW/commit-N`, whole or not at all.
pub(crate) fn shadow(dir: &Path) {
    static TARGET: OnceLock<Option<PathBuf>> = OnceLock::new();
    static COMMITS: AtomicU64 = AtomicU64::new(0);
    let target = TARGET.get_or_init(|| env::var_os("BRIDLE_FAULT_SHADOW").map(PathBuf::from));
    let Some(target) = target else { return };
    let commit = COMMITS.fetch_add(1, Ordering::SeqCst) + 1;
    copy(dir, target, commit).expect("the shadow copy can be written");
    point("store.shadowed");
}

fn copy(dir: &Path, target: &Path, commit: u64) -> std::io::Result<()> {
    let next = target.join("next");
    if next.exists() {
        fs::remove_dir_all(&next)?;
    }
    fs::create_dir_all(&next)?;
    for file in database::companions(&dir.join(database::RECORD_FILE)) {
        // The shared memory is made anew from the log, as after a power cut.
        let name = file.file_name().unwrap_or_default();
        if file.exists() && !name.to_string_lossy().ends_with("-shm") {
            fs::copy(&file, next.join(name))?;
        }
    }
    let named = |commit: u64| target.join(format!("commit-{commit}"));
    if named(commit).exists() {
        fs::remove_dir_all(named(commit))?;
    }
    fs::rename(&next, named(commit))?;
    match fs::remove_dir_all(named(commit.saturating_sub(2))) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether the file named by `BRIDLE_FAULT_FULL` exists; `None` if none is named.
pub(crate) fn disk_is_full() -> Option<bool> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| env::var_os("BRIDLE_FAULT_FULL").map(PathBuf::from));
    file.as_ref().map(|file| file.exists())
}
