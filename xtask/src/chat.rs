//! `cargo xtask chat`: `bridle chat` in a real tmux, with a daemon that is killed at random moments; its speed and memory;
//! and the recording of it in the docs. What is done and checked is in `peers/chat`; this file only starts it. Kills and
//! the recording are a step of `ci`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::clients::daemon;
use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask chat [--schedules N] [--seed S] [--measure [--release]] [--cast]

Kills the daemon at random moments under `bridle chat` in a real tmux, and holds what stands on the terminal against the
record; plays the conversation of docs/chat.cast. Needs tmux and python3.

  --schedules N  number of kills; 4 unless said
  --seed S       number that the moments come from; printed, so that a failure can be had again
  --measure      instead: first screen of 100,000 lines, time from a key to its letter while text streams, memory
  --release      with --measure: the program as it is installed
  --cast         writes docs/chat.cast anew";

/// Folder of the scripts.
const EQUIPMENT: &str = "peers/chat";

/// Schedules of kills in a run of `ci`.
const SCHEDULES: &str = "4";

/// The recording in the docs.
const CAST: &str = "docs/chat.cast";

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (mut schedules, mut seed, mut flags) = (SCHEDULES, None, Vec::new());
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("expected a number after {word}"));
        match word {
            "--schedules" => schedules = value()?,
            "--seed" => seed = Some(value()?),
            "--measure" | "--release" | "--cast" => flags.push(word),
            _ => bail!("unexpected argument `{word}`\n\n{HELP}"),
        }
    }
    let has = |flag| flags.contains(&flag);
    let profile: &[&str] = if has("--release") { &["--release"] } else { &[] };
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).args(profile).run(console)?;
    if has("--measure") {
        let bridle = match has("--release") {
            true => daemon().with_file_name("../release/bridle"),
            false => daemon(),
        };
        console.say(format!("chat: {}", script("measure.py", &bridle, &[])?));
        return Ok(());
    }
    let bridle = daemon();
    let cast = if has("--cast") { root().join(CAST) } else { scratch("cast.json") };
    let cast = cast.to_string_lossy();
    let lines = [
        script("cast.py", &bridle, &[&cast])?,
        script("schedules.py", &bridle, &[&[schedules], seed.as_slice()].concat())?,
    ];
    console.say(format!("chat: {}", lines.join("; ")));
    Ok(())
}

/// Runs a script with the program, a scratch folder and more; returns its last line.
fn script(name: &str, bridle: &Path, more: &[&str]) -> Result<String> {
    let folder = scratch(name);
    let run = ProgramRun::new("python3").args([root().join(EQUIPMENT).join(name)]);
    let run = run.args([bridle, folder.as_path()]).args(more).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = run.stdout()?;
    // What is left in the folder of temporary files is nobody's loss.
    let _ = fs::remove_dir_all(&folder);
    Ok(output.lines().last().unwrap_or_default().to_owned())
}

/// Folder that a script may fill; short, because sockets are in it.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("bridle-chat-{}-{name}", std::process::id()))
}
