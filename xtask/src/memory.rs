//! `cargo xtask memory`: an agent and a user write the same files at the same time, for as many edits as
//! asked. First in one process, where they meet most often (`crates/memex/tests/edits.rs`, which
//! `cargo test` runs with few); then through the real daemon, which is killed meanwhile (`chaos/edits`).

use anyhow::{Context, Result, bail};

use crate::chaos::edits;
use crate::console::{ProgramRun, VerbConsole};

pub(crate) const HELP: &str = "\
usage: cargo xtask memory [--edits N] [--seed N]

Makes N edits (10000 unless told) by an agent and as many by a user, at the same time and in the same
files: in one process, and through a daemon that is killed meanwhile. Fails if a byte of the user's is
lost, or if taking every change of the agent's back leaves anything but the user's text.";

/// Edits that must hold before a release.
const EDITS: u64 = 10_000;

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (mut edits, mut seed) = (EDITS, 1);
    let (pairs, []) = arguments.as_chunks::<2>() else {
        bail!("an option without a value\n\n{HELP}")
    };
    for [option, value] in pairs {
        let number = value.parse().with_context(|| format!("expected a number, got `{value}`"))?;
        match option.as_str() {
            "--edits" => edits = number,
            "--seed" => seed = number,
            other => bail!("no option `{other}`\n\n{HELP}"),
        }
    }
    console.say(format!("memory: {edits} edits by an agent and by a user, at the same time"));
    ProgramRun::cargo(["test", "--quiet", "--workspace", "--test", "edits"])
        .env("BRIDLE_EDITS", edits.to_string())
        .run(console)?;
    edits::run(edits, seed, console)
}
