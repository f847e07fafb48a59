//! `cargo xtask privacy`: everything that strangers can ask, about what is hidden and about what is not there
//! (`crates/daemon/tests/privacy.rs`, which `cargo test` runs with few questions).

use anyhow::{Context, Result, bail};

use crate::console::{ProgramRun, VerbConsole};

pub(crate) const HELP: &str = "\
usage: cargo xtask privacy [--questions N] [--seed N]

Hides secrets in a folder of Org files in every way, and asks N questions (10000 unless told) as another
user and as a program without a key, over both protocols, in random order. Fails if a secret comes out, or
if an answer about something hidden differs from the answer about something that never was. One of the
askers is another user: start it as root, or where sudo needs no password.";

/// Questions that must be answered well before a release.
const QUESTIONS: u64 = 10_000;

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let (mut questions, mut seed) = (QUESTIONS, 1_u64);
    let (pairs, []) = arguments.as_chunks::<2>() else {
        bail!("an option without a value\n\n{HELP}")
    };
    for [option, value] in pairs {
        let number = value.parse().with_context(|| format!("expected a number, got `{value}`"))?;
        match option.as_str() {
            "--questions" => questions = number,
            "--seed" => seed = number,
            other => bail!("no option `{other}`\n\n{HELP}"),
        }
    }
    console.say(format!("privacy: {questions} questions of strangers, seed {seed}"));
    ProgramRun::cargo(["test", "-p", "bridle-daemon", "--test", "privacy", "--", "--nocapture"])
        .env("BRIDLE_PRIVACY_QUESTIONS", questions.to_string())
        .env("BRIDLE_PRIVACY_SEED", seed.to_string())
        .run(console)
}
