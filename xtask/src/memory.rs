//! `cargo xtask memory`: an agent and a user write the same files at the same time, for as many edits as
//! asked. The test is `crates/store/tests/edits.rs`, which `cargo test` runs with few.

use anyhow::{Context, Result, bail};

use crate::console::{Console, Run};

pub(crate) const HELP: &str = "\
usage: cargo xtask memory [--edits N]

Makes N edits (10000 unless told) by an agent and as many by a user, at the same time and in the same
files. Fails if a byte of the user's is lost, or if taking every change of the agent's back leaves
anything but the user's text.";

/// What must hold before a release.
const EDITS: u64 = 10_000;

pub(crate) fn run(arguments: &[String], console: &Console) -> Result<()> {
    let edits = match arguments {
        [] => EDITS,
        [flag, number] if flag == "--edits" => {
            number.parse().with_context(|| format!("--edits `{number}`, expected a number"))?
        }
        _ => bail!("{HELP}"),
    };
    console.say(format!("memory: {edits} edits by an agent and by a user, at the same time"));
    Run::new("cargo")
        .args(["test", "--quiet", "-p", "bridle-store", "--test", "edits"])
        .env("BRIDLE_EDITS", edits.to_string())
        .run(console)
}
