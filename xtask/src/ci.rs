//! `cargo xtask ci`: everything that must hold before a change lands, one step after the other. The
//! test command of the README and the whole of `.ci/run`. A step writes to its own log under
//! `target/ci`; the terminal gets one line per step, and the end of the log when a step fails.

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::console::{ProgramRun, VerbConsole, root};
use crate::{
    acp, chaos, chat, clients, emacs, jail, layers, memory, models, peers, schemathesis, setup,
    siege, tidy, tour, vectors,
};

pub(crate) const HELP: &str = "\
usage: cargo xtask ci [STEP...]

Runs all steps, or the named ones, and stops at the first that fails. A missing peer is a failure,
never a skip. Logs are in target/ci. Steps:

  setup fmt layers tidy deny clippy build test doc tour vectors peers clients emacs models acp chat chaos approvals jail memory schemathesis siege apart";

/// Lines of a failed step's log to show: a few screens, the rest is in the file.
const SHOWN_LINES: usize = 120;

/// One step: its name, and what to do.
struct CiStep {
    name: &'static str,
    work: StepWork,
}

enum StepWork {
    /// Programs, one after the other; fails when one does.
    Programs(Vec<ProgramRun>),
    /// Another verb of ours with its arguments.
    Verb(fn(&[String], &VerbConsole) -> Result<()>, &'static [&'static str]),
}

impl CiStep {
    /// Command that runs this step alone, its output on the terminal.
    fn rerun(&self) -> String {
        match &self.work {
            StepWork::Programs(runs) => {
                let lines: Vec<String> = runs.iter().map(ToString::to_string).collect();
                lines.join(" && ")
            }
            StepWork::Verb(_, arguments) => {
                let words: Vec<&str> = ["cargo xtask", self.name]
                    .into_iter()
                    .chain(arguments.iter().copied())
                    .collect();
                words.join(" ")
            }
        }
    }
}

/// The workspaces of their own: never built by a newcomer, and still kept alive.
const APART: &[&str] = &["fuzz/Cargo.toml", "bench/Cargo.toml", "schema-diff/Cargo.toml"];

fn steps() -> Vec<CiStep> {
    let programs = |name, runs| CiStep { name, work: StepWork::Programs(runs) };
    let verb = |name, run, arguments| CiStep { name, work: StepWork::Verb(run, arguments) };
    let fmt = ProgramRun::cargo(["fmt", "--all", "--check"]);
    let fmt_apart =
        APART.iter().map(|path| ProgramRun::cargo(["fmt", "--check", "--manifest-path", path]));
    let clippy = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let clippy_faults = faults(&["clippy", "--all-targets"]).args(["--", "-D", "warnings"]);
    let apart = APART.iter().map(|path| {
        let clippy = ["clippy", "--locked", "--all-targets", "--manifest-path", path];
        ProgramRun::cargo(clippy).args(["--", "-D", "warnings"])
    });
    let doc = ["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"];
    vec![
        verb("setup", setup::run, &[]),
        programs("fmt", std::iter::once(fmt).chain(fmt_apart).collect()),
        verb("layers", layers::run, &[]),
        verb("tidy", tidy::run, &[]),
        programs("deny", vec![ProgramRun::cargo(["deny", "check", "licenses", "bans", "sources"])]),
        programs("clippy", vec![ProgramRun::cargo(clippy), clippy_faults]),
        programs("build", vec![ProgramRun::cargo(["build", "--locked", "--workspace"])]),
        programs(
            "test",
            vec![ProgramRun::cargo(["test", "--locked", "--workspace"]), faults(&["test"])],
        ),
        programs("doc", vec![ProgramRun::cargo(doc).env("RUSTDOCFLAGS", "-D warnings")]),
        verb("tour", tour::run, &[]),
        verb("vectors", vectors::run, &[]),
        verb("peers", peers::run, &["--check"]),
        verb("clients", clients::run, &[]),
        verb("emacs", emacs::run, &[]),
        verb("models", models::run, &[]),
        verb("acp", acp::run, &[]),
        verb("chat", chat::run, &[]),
        verb("chaos", chaos::run, &["--schedules", "60"]),
        verb("approvals", chaos::approvals::run, &["--rounds", "60"]),
        verb("jail", jail::run, &["--any-layer", "--every", "12", "--points", "6", "--runs", "20"]),
        verb("memory", memory::run, &["--edits", "300"]),
        verb("schemathesis", schemathesis::run, &["--seconds", "45"]),
        verb("siege", siege::run, &["--connections", "400", "--seconds", "6"]),
        programs("apart", apart.collect()),
    ]
}

/// A command of cargo over the rooms that have tests of their own in a build that may be killed.
fn faults(command: &[&'static str]) -> ProgramRun {
    let rooms = ["bridle-record", "bridle-memex", "bridle-host"].map(|room| ["--package", room]);
    let rooms = rooms.as_flattened().iter().copied();
    let features = ["--features", "bridle-record/faults,bridle-memex/faults,bridle-host/faults"];
    ProgramRun::cargo(command.iter().copied()).args(["--locked"]).args(rooms).args(features)
}

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let steps: Vec<CiStep> = steps()
        .into_iter()
        .filter(|step| arguments.is_empty() || arguments.iter().any(|name| name == step.name))
        .collect();
    if let Some(name) = arguments.iter().find(|name| !steps.iter().any(|step| step.name == *name)) {
        bail!("no step `{name}`\n\n{HELP}");
    }
    let logs = root().join("target/ci");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make `{}`", logs.display()))?;
    let start = Instant::now();
    for (passed, step) in steps.iter().enumerate() {
        let log = logs.join(format!("{}.log", step.name));
        console.begin(format!("{:12} ", step.name));
        let began = Instant::now();
        let result = perform(step, &log);
        let seconds = began.elapsed().as_secs_f64();
        let text = fs::read_to_string(&log).unwrap_or_default();
        match result {
            Ok(()) => console.say(format!("ok     {seconds:6.1}s  {}", note(&text)).trim_end()),
            Err(error) => {
                console.say(format!("FAILED {seconds:6.1}s"));
                show_failure(step, &text, &error, console);
                console.say(format!("steps: {passed} passed, 1 failed"));
                bail!("step `{}` failed; the whole log is {}", step.name, shorten(&log));
            }
        }
    }
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    console.say(format!("all steps in {minutes:.1} minutes"));
    console.say(format!("steps: {} passed, 0 failed", steps.len()));
    Ok(())
}

fn perform(step: &CiStep, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?;
    let console = VerbConsole::log(file);
    match &step.work {
        StepWork::Programs(runs) => runs.iter().try_for_each(|run| run.run(&console)),
        StepWork::Verb(verb, arguments) => {
            let arguments: Vec<String> =
                arguments.iter().map(|&argument| argument.into()).collect();
            verb(&arguments, &console)
        }
    }
}

fn show_failure(step: &CiStep, log: &str, error: &anyhow::Error, console: &VerbConsole) {
    let lines: Vec<&str> = log.lines().collect();
    let hidden = lines.len().saturating_sub(SHOWN_LINES);
    if hidden > 0 {
        console.say(format!("... {hidden} lines above"));
    }
    console.say(lines[hidden..].join("\n"));
    console.say(format!("{error:#}\n\nto run this step again: {}", step.rerun()));
}

/// Summary of a passed step: the number of tests, or its last line when it is ours.
fn note(log: &str) -> String {
    let tests: usize = log.lines().filter_map(tests_passed).sum();
    if tests > 0 {
        return format!("{tests} tests passed");
    }
    let last = log.lines().last().unwrap_or_default();
    match last.split_once(": ") {
        Some((head, text)) if steps().iter().any(|step| step.name == head) => text.into(),
        _ => String::new(),
    }
}

/// 12 for `test result: ok. 12 passed; 0 failed; ...`.
fn tests_passed(line: &str) -> Option<usize> {
    line.strip_prefix("test result: ok. ")?.split_once(" passed;")?.0.parse().ok()
}

fn shorten(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::{HELP, note, steps};

    #[test]
    fn the_note_counts_tests_of_all_crates() {
        let log = "test result: ok. 3 passed; 0 failed; 0 ignored\nnoise\n\
                   test result: ok. 4 passed; 0 failed; 0 ignored\n";
        assert_eq!(note(log), "7 tests passed");
        assert_eq!(note("tidy: 12 files, nothing to say"), "12 files, nothing to say");
        assert_eq!(note("Finished in: 3s"), "");
    }

    #[test]
    fn help_names_the_steps_in_order() {
        let names: Vec<&str> = steps().iter().map(|step| step.name).collect();
        assert!(HELP.ends_with(&names.join(" ")), "{names:?}");
    }

    #[test]
    fn a_step_says_how_to_run_it_again() {
        let again: Vec<String> = steps().iter().map(super::CiStep::rerun).collect();
        assert!(again.contains(&"cargo xtask peers --check".into()), "{again:?}");
        assert!(again[1].starts_with("cargo fmt --all --check && "), "{again:?}");
    }
}
