//! The end of all descendants where there is no pid namespace: for the supervisor, to whom every
//! orphan of its run comes. They are looked for until none is left; each is first kept from starting
//! more, so that a program that multiplies does not outrun its end.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};

/// Pause between two rounds, while killed processes vanish.
const ROUND_PAUSE: Duration = Duration::from_millis(1);

/// Rounds after which even a process that the kernel holds is left to it.
const MAX_ROUNDS: usize = 5_000;

pub(super) fn end_descendants() {
    for _ in 0..MAX_ROUNDS {
        let living = descendants();
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        for &pid in &living {
            // Another uid, or already gone: the signal below says the same.
            let _ = rustix::process::prlimit(Some(pid), Resource::Nproc, none);
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Err(_) if living.is_empty() => return,
            Ok(None) | Err(_) => std::thread::sleep(ROUND_PAUSE),
        }
    }
}

/// Pids of all processes whose chain of parents leads here.
fn descendants() -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|text| text.parse::<i32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some((state, parent)) = state_and_parent(&stat)
            && state != 'Z'
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        let next = children.remove(&parent).unwrap_or_default();
        found.extend(next.iter().copied().filter_map(Pid::from_raw));
        open.extend(next);
    }
    found
}

/// Fields 3 and 4 of `/proc/PID/stat`; the name before them may have blanks and brackets.
fn state_and_parent(stat: &str) -> Option<(char, i32)> {
    let rest = &stat[stat.rfind(')')? + 1..];
    let mut words = rest.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}
