//! `cargo xtask acp`: `bridle acp` and a real daemon, driven by the official client libraries of npm and PyPI through
//! whole conversations; every line of the agent is judged by the published schema. Daemons and agents are killed at
//! random moments, and what an editor saw is compared with the record. Installs what it needs under `target/acp`.
//! Called by `ci`. What the conversations check is in `peers/acp`; this file only starts them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::clients::daemon;
use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask acp [--schedules N] [--seed S]
       cargo xtask acp --bench

Has the client libraries of npm and PyPI drive `bridle acp` through whole conversations, has `bridle conform acp`
look at an agent of the library of PyPI, then kills daemon and agent at random moments. Needs node, npm and python3; installs packages under target/acp.

  --schedules N  number of kills at random moments; 12 unless said
  --seed S       number that the moments come from; printed, so that a failure can be had again
  --bench        instead: times and memory of the release build beside codex-acp of npm, which asks the same model";

/// Folder that describes the test equipment.
const EQUIPMENT: &str = "peers/acp";

/// Longest wait of the kit for anything, in seconds.
const PATIENCE: &str = "20";

/// Schedules of kills in a run of `ci`.
const SCHEDULES: &str = "12";

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (mut schedules, mut seed) = (SCHEDULES, None);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("expected a number after {word}"));
        match word {
            "--schedules" => schedules = value()?,
            "--seed" => seed = Some(value()?),
            "--bench" => return bench(console),
            _ => bail!("unexpected argument `{word}`\n\n{HELP}"),
        }
    }
    install_packages(console)?;
    ProgramRun::cargo(["build", "--locked", "--package", "bridle"]).run(console)?;
    let lines = [
        node("conversation.mjs", &[])?,
        python("conversation.py")?,
        conforms(console)?,
        node("schedules.mjs", &[&[schedules], seed.as_slice()].concat())?,
    ];
    console.say(format!("acp: {}", lines.join("; ")));
    Ok(())
}

/// Agent of npm that is measured beside ours.
const RIVAL: &str = "@zed-industries/codex-acp@0.16.0";

/// Measures our agent and another one, in one run, with one model.
fn bench(console: &VerbConsole) -> Result<()> {
    install_packages(console)?;
    // Where it cannot be had, ours is measured alone.
    if npm(&["install", "--no-save", RIVAL], console).is_err() {
        console.say(format!("{RIVAL} cannot be installed"));
    }
    let build = ["build", "--release", "--locked", "--package", "bridle"];
    ProgramRun::cargo(build).run(console)?;
    let run = ProgramRun::new("node").args([folder().join("bench.mjs")]);
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let program = root().join(target).join("release/bridle");
    console.say(run.args([program, scratch("bench")]).stdout()?);
    Ok(())
}

/// Runs a script of JavaScript with the daemon, a scratch folder and more; returns its last line.
fn node(script: &str, more: &[&str]) -> Result<String> {
    let run = ProgramRun::new("node").args([folder().join(script)]);
    last_line(run.args([daemon(), scratch(script)]).args(more))
}

fn python(script: &str) -> Result<String> {
    let run = ProgramRun::new(folder().join("python/bin/python")).args([folder().join(script)]);
    last_line(run.args([daemon(), scratch(script)]))
}

/// Has the kit for agents look at one that is made of the library of PyPI, so that it is no kit for bridle alone.
fn conforms(console: &VerbConsole) -> Result<String> {
    let prompts = ["--prompt", "hello", "--prompt-slow", "slow", "--prompt-tool", "tool"];
    ProgramRun::new(daemon())
        .args(["conform", "acp", "--timeout", PATIENCE])
        .args(prompts)
        .args(["--"])
        .args([folder().join("python/bin/python"), folder().join("echo_agent.py")])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .run(console)?;
    Ok("an agent of the library of PyPI conforms".to_owned())
}

fn last_line(run: ProgramRun) -> Result<String> {
    let output = run.env("PYTHONDONTWRITEBYTECODE", "1").stdout()?;
    Ok(output.lines().last().unwrap_or_default().to_owned())
}

/// Folder that a script may fill; short, because sockets are in it.
fn scratch(script: &str) -> PathBuf {
    std::env::temp_dir().join(format!("bridle-acp-{}-{script}", std::process::id()))
}

/// Folder for packages and scripts.
fn folder() -> PathBuf {
    root().join("target/acp")
}

/// Installs the packages of npm and PyPI unless these versions are there, and puts the scripts beside them: a module
/// of JavaScript finds packages by where it is itself.
fn install_packages(console: &VerbConsole) -> Result<()> {
    let (equipment, folder) = (root().join(EQUIPMENT), folder());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let list = fs::read_dir(&equipment)
        .with_context(|| format!("cannot list `{}`", equipment.display()))?;
    for entry in list {
        let entry = entry?;
        fs::copy(entry.path(), folder.join(entry.file_name()))
            .with_context(|| format!("cannot copy `{}`", entry.path().display()))?;
    }
    once("package.json", "npm.installed", || {
        console.say("installing the client library of ACP and a validator (npm)");
        npm(&["install"], console)
    })?;
    once("requirements.txt", "python.installed", || {
        console.say("installing the client library of ACP (PyPI)");
        let place = folder.join("python");
        ProgramRun::new("python3").args(["-m", "venv", "--clear"]).args([&place]).run(console)?;
        let pip = ProgramRun::new(place.join("bin/pip")).args(["install", "--quiet", "-r"]);
        pip.args([folder.join("requirements.txt")]).run(console)
    })
}

fn npm(arguments: &[&str], console: &VerbConsole) -> Result<()> {
    let quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
    let run = ProgramRun::new("npm").args(arguments).args(["--prefix"]).args([folder()]);
    run.args(quiet).run(console)
}

/// Does work once for each text of a file of the equipment.
fn once(file: &str, mark: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let path = folder().join(file);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let mark = folder().join(mark);
    if fs::read_to_string(&mark).is_ok_and(|done| done == text) {
        return Ok(());
    }
    work()?;
    fs::write(&mark, text).with_context(|| format!("cannot write `{}`", mark.display()))
}
