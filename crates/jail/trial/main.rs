//! The jail, tried: as helper of its own runs, as attacker inside of them, as the one who counts. Run by
//! `cargo xtask jail`, one trial a process: what *narrow* takes away is gone for the whole process.
//! Started by root it goes on as an unused user.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that people and CI read")]

mod bench;
mod commands;
mod crash;
mod escapes;
mod narrow;
mod programs;
mod soak;
mod world;

use std::ffi::OsString;
use std::process::ExitCode;

/// Uid and gid under which everything is tried when root starts it.
const TRIAL_ID: u32 = 61_234;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|it| it == "__jail") {
        return ExitCode::from(bridle_jail::run_helper(&arguments[1..]));
    }
    let words: Vec<String> =
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if world::is_root() && words.first().map(String::as_str) != Some("root") {
        return world::again_as_user(TRIAL_ID, &words);
    }
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["escapes", rest @ ..] => escapes::run(rest),
        ["narrow", rest @ ..] => narrow::run(rest),
        ["programs", rest @ ..] => programs::run(rest),
        ["commands"] => commands::run(),
        ["soak", rest @ ..] => soak::run(rest),
        ["soak-daemon", rest @ ..] => soak::daemon(rest),
        ["crash", rest @ ..] => crash::run(rest),
        ["crash-once", rest @ ..] => crash::once(rest),
        ["bench", rest @ ..] => bench::run(rest),
        ["root", rest @ ..] => programs::run_as_root(rest),
        other => Err(format!("no trial `{}`: run `cargo xtask jail`", other.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("trial: {text}");
            ExitCode::FAILURE
        }
    }
}
