//! `cargo xtask jail`: the trials of the jail, built once and run as an unprivileged user: attempts to
//! break out in the layer in force and in *copy*, programs over a stage, a commit killed at each of its
//! points, a soak. A step of `ci`, with fewer of each; the flags make it longer.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::console::{ProgramRun, VerbConsole, root};

pub(crate) const HELP: &str = "\
usage: cargo xtask jail [--runs N] [--every N] [--points N] [--bench] [--any-layer]

Runs the trials of crates/jail as a user without rights (as root: as an unused uid).

  --runs N      runs, and as many cancels, of the soak (50 unless told; 1000 for a release)
  --every N     every N-th program over a stage (8 unless told; 1 takes minutes)
  --points N    a commit killed at every N-th of its points (1 unless told)
  --bench       measures the cost beside a bare start as well
  --any-layer   accepts another layer than full";

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let [mut runs, mut every, mut points] = ["50", "8", "1"].map(str::to_owned);
    let (mut is_measured, mut is_any) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().filter(|text| text.parse::<u64>().is_ok());
            value.cloned().with_context(|| format!("`{word}` needs a number"))
        };
        match word.as_str() {
            "--runs" => runs = number()?,
            "--every" => every = number()?,
            "--points" => points = number()?,
            "--bench" => is_measured = true,
            "--any-layer" => is_any = true,
            other => bail!("no option `{other}`\n\n{HELP}"),
        }
    }
    let program = build()?;
    let mut trials: Vec<Vec<&str>> = vec![
        if is_any { vec!["escapes"] } else { vec!["escapes", "--full"] },
        vec!["narrow", "escapes"],
        vec!["commands"],
        vec!["programs", "--every", &every],
        vec!["narrow", "programs", "--every", &every],
        vec!["crash", "--every", &points],
        vec!["soak", "--runs", &runs],
    ];
    if is_measured {
        trials.push(vec!["bench"]);
        trials.push(vec!["narrow", "bench", "--rounds", "5"]);
    }
    for trial in trials {
        let output =
            Command::new(&program).args(&trial).output().context("cannot start the trials")?;
        console.say(String::from_utf8_lossy(&output.stdout).trim_end());
        let fault = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "jail: `{}` failed: {}", trial.join(" "), fault.trim());
    }
    Ok(())
}

/// Builds the program of the trials and says where it is.
fn build() -> Result<PathBuf> {
    let text = ProgramRun::cargo([
        "test",
        "--locked",
        "--package",
        "bridle-jail",
        "--test",
        "trial",
        "--no-run",
        "--message-format",
        "json",
    ])
    .stdout()?;
    let path = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["target"]["name"] == "trial")
        .find_map(|line| line["executable"].as_str().map(PathBuf::from))
        .context("cargo names no program of the trials")?;
    Ok(root().join(path))
}
