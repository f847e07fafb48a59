//! Many runs, cancels and kills of the daemon: nothing of them may stay, no process, no descriptor, no
//! folder, no memory.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use bridle_jail::JailEnd;

use crate::escapes::{MARK, left_over};
use crate::world::{World, option, text};

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let runs = option(words, "--runs", 200)?;
    let world = World::new("soak")?;
    fs::write(world.project().join("file"), "x\n").map_err(text)?;
    // The first runs allocate what stays for good.
    for _ in 0..runs.min(10) {
        one_run(&world)?;
        one_cancel(&world)?;
    }
    let (descriptors, resident) = (open_descriptors()?, resident_kib()?);
    for _ in 0..runs {
        one_run(&world)?;
    }
    for _ in 0..runs {
        one_cancel(&world)?;
    }
    let kills = (runs / 4).max(5);
    for _ in 0..kills {
        one_kill(&world)?;
    }
    let (descriptors_now, resident_now) = (open_descriptors()?, resident_kib()?);
    let stages = fs::read_dir(world.path("stages")).map_err(text)?.count();
    let folders = names_in(&world.path("scratch"))?.len();
    let orphan = left_over(MARK);
    println!(
        "soak: {runs} runs, {runs} cancels, {kills} kills of the daemon: descriptors {descriptors} -> {descriptors_now}, \
         resident {resident} -> {resident_now} KiB, {stages} stages and {folders} folders left, orphans: {}",
        orphan.as_deref().unwrap_or("none")
    );
    let is_clean =
        orphan.is_none() && descriptors_now <= descriptors && stages == 0 && folders == 0;
    // A tenth, and what an allocator keeps of a small process.
    let is_small = resident_now <= resident + resident / 10 + 1024;
    if is_clean && is_small { Ok(()) } else { Err("something is left".into()) }
}

fn one_run(world: &World) -> Result<(), String> {
    let stage = world.stage()?;
    let (outcome, output) = world.run(
        &world.script("echo x > made; setsid sleep 31337 >/dev/null 2>&1 & echo done"),
        Some(&stage),
    )?;
    if outcome.end != JailEnd::Exited(0) || !output.contains("done") {
        return Err(format!("a run ended as {outcome:?}: {output}"));
    }
    stage.discard().map_err(text)
}

fn one_cancel(world: &World) -> Result<(), String> {
    let stage = world.stage()?;
    let spec =
        world.script("sleep 31337 & setsid sleep 31337 & echo ready; trap '' TERM; sleep 31337");
    let child = world.jail.spawn(&spec, Some(&stage)).map_err(text)?;
    if child.next_piece(Duration::from_secs(20)).is_none() {
        return Err("a run does not begin".into());
    }
    child.cancel();
    let outcome = child.wait().map_err(text)?;
    if outcome.end != JailEnd::Cancelled {
        return Err(format!("a cancel ended as {outcome:?}"));
    }
    stage.discard().map_err(text)
}

/// A daemon of its own is killed while its program runs; the next one cleans up.
fn one_kill(world: &World) -> Result<(), String> {
    let base = world.path("killed");
    let mut daemon = Command::new("/proc/self/exe")
        .args(["soak-daemon"])
        .arg(&base)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(text)?;
    let mut ready = [0; 6];
    let mut out = daemon.stdout.take().ok_or("no output")?;
    std::io::Read::read_exact(&mut out, &mut ready).map_err(text)?;
    daemon.kill().map_err(text)?;
    daemon.wait().map_err(text)?;
    if let Some(orphan) = left_over(MARK) {
        return Err(format!("after a kill of the daemon: {orphan}"));
    }
    let mut left = Vec::new();
    // A helper that is still ending holds its stage: the next sweep takes it.
    for _ in 0..50 {
        let jail = bridle_jail::Jail::new(bridle_jail::HelperProgram::own(), base.join("scratch"))
            .map_err(text)?;
        drop(jail);
        bridle_jail::Stage::sweep(&base.join("stages"), Duration::ZERO).map_err(text)?;
        left = names_in(&base.join("stages"))?;
        left.extend(names_in(&base.join("scratch"))?);
        if left.is_empty() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("left after a kill of the daemon: {}", left.join(", ")))
}

/// Paths in a folder, without the empty one that every run mounts over, which stays for the next.
fn names_in(folder: &std::path::Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(text)?;
    let is_left = |entry: &std::io::Result<fs::DirEntry>| {
        entry.as_ref().is_ok_and(|entry| entry.file_name() != "base")
    };
    let entries = entries.filter(is_left);
    let path =
        |entry: std::io::Result<fs::DirEntry>| Some(entry.ok()?.path().display().to_string());
    Ok(entries.filter_map(path).collect())
}

/// The daemon that is killed.
pub(crate) fn daemon(words: &[&str]) -> Result<(), String> {
    let base = std::path::Path::new(words.first().ok_or("BASE")?);
    fs::create_dir_all(base.join("project")).map_err(text)?;
    let jail = bridle_jail::Jail::new(bridle_jail::HelperProgram::own(), base.join("scratch"))
        .map_err(text)?;
    let stage = bridle_jail::Stage::begin(&bridle_jail::StageOptions {
        project: base.join("project"),
        stages: base.join("stages"),
        layer: jail.capabilities().layer.ok_or("no layer")?,
        identity: None,
        hidden: Vec::new(),
    })
    .map_err(text)?;
    let script = "sleep 31337 & setsid sleep 31337 & echo ready; sleep 31337";
    let spec = bridle_jail::JailSpec::new(
        bridle_jail::JailCommand::Script(script.into()),
        base.join("project"),
    );
    let child = jail.spawn(&spec, Some(&stage)).map_err(text)?;
    let piece = child.next_piece(Duration::from_secs(20)).ok_or("the program does not begin")?;
    print!("{}", String::from_utf8_lossy(&piece.bytes));
    std::io::Write::flush(&mut std::io::stdout()).map_err(text)?;
    child.wait().map(drop).map_err(text)
}

fn open_descriptors() -> Result<usize, String> {
    Ok(fs::read_dir("/proc/self/fd").map_err(text)?.count())
}

fn resident_kib() -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(text)?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).ok_or_else(|| "no number".into())
}
