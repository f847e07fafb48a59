//! `bridle conform`: runs a kit against a peer and reports.

mod acp;
mod engine;
mod forget;

use std::io::{self, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_conform::driven::ProgramOptions;
use bridle_conform::report::{CaseEnd, CaseOutcome, FailureBar};
use bridle_conform::{
    self as conform, ConformanceCase, ExpectedFailures, KitKind, KitPeer, RequirementLevel,
    RunOptions, client, oacp, shell,
};
use bridle_wire::seal::{KeyId, SigningKey};

use forget::RunSessions;

use super::read_key;
use crate::args::conform::{
    ConformCommand, ConformOacpArgs, ConformOptions, DrivenProgramArgs, FailOnArg,
};
use crate::exit::{BridleExit, CommandFailure};

pub(crate) fn run(verb: ConformCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        ConformCommand::Oacp(args) => run_oacp(args),
        ConformCommand::Engine(args) => engine::run(args),
        ConformCommand::Shell(args) => run_shell(&args),
        ConformCommand::OacpClient(args) => run_client(&args),
        ConformCommand::Acp(args) => acp::run(&args),
    }
}

fn run_oacp(args: ConformOacpArgs) -> Result<BridleExit, CommandFailure> {
    let cases = oacp::cases();
    let Some(addr) = args.addr.filter(|_| !args.how.list) else {
        return list(&cases);
    };
    let signed = match (args.signed, args.key_file) {
        (Some(addr), Some(file)) => {
            let key = SigningKey::from_bytes(KeyId::new(&args.key_id), &read_key(&file)?);
            Some(oacp::SignedDaemon { addr, key })
        }
        _ => None,
    };
    let nonce = nonce();
    let sessions = RunSessions::of(&nonce, Some(&addr));
    let mut peer = oacp::DaemonUnderTest::new(addr, signed, args.timeout, nonce);
    // Whether anybody is there at all is a question of its own, with its own exit code.
    if let Err(conform::CheckFinding::Fault(what)) = peer.open() {
        return Err(CommandFailure::new(BridleExit::Unavailable, what)
            .hint("is the daemon up? `bridle health`"));
    }
    check(oacp::KIT, &cases, &mut peer, &args.how, sessions)
}

fn run_client(args: &DrivenProgramArgs) -> Result<BridleExit, CommandFailure> {
    let cases = client::cases();
    if args.how.list {
        return list(&cases);
    }
    check(
        client::KIT,
        &cases,
        &mut client::ClientUnderTest::new(program(args)?),
        &args.how,
        RunSessions::default(),
    )
}

fn run_shell(args: &DrivenProgramArgs) -> Result<BridleExit, CommandFailure> {
    let cases = shell::cases();
    if args.how.list {
        return list(&cases);
    }
    let program = program(args)?;
    check(
        shell::KIT,
        &cases,
        &mut shell::ShellUnderTest::new(program, nonce()),
        &args.how,
        RunSessions::default(),
    )
}

/// Whether there is such a program at all is a question of its own, with its own exit code.
fn program(args: &DrivenProgramArgs) -> Result<ProgramOptions, CommandFailure> {
    let name = args.command.first().map(String::as_str).unwrap_or_default();
    let is_there = |path: &Path| path.is_file();
    let found = match name.contains('/') {
        true => is_there(Path::new(name)),
        false => std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|dir| is_there(&dir.join(name)))),
    };
    if !found {
        return Err(CommandFailure::new(
            BridleExit::NoInput,
            format!("program `{name}` not found"),
        )
        .hint("put it after --: bridle conform shell -- python3 my_shell.py"));
    }
    Ok(ProgramOptions { command: args.command.clone(), timeout: args.timeout })
}

/// Runs the cases, reports as asked, and has the sessions of the run forgotten by one's own daemon.
fn check<P: KitPeer>(
    kit: KitKind,
    cases: &[ConformanceCase<P>],
    peer: &mut P,
    how: &ConformOptions,
    mut sessions: RunSessions,
) -> Result<BridleExit, CommandFailure> {
    let options = RunOptions { only: how.only.clone(), expected: expected(cases, how)? };
    let bar = match how.fail_on {
        FailOnArg::Must => FailureBar::Must,
        FailOnArg::Should => FailureBar::Should,
    };
    let mut out = io::stdout().lock();
    let mut told = Ok(());
    let mut unoffered = Vec::new();
    let report = conform::run(kit, cases, peer, &options, &mut |outcome: &CaseOutcome| {
        sessions.hear(outcome.notes.sessions());
        let is_shown = how.verbose || is_news(outcome, &mut unoffered);
        if is_shown && !how.json && told.is_ok() {
            told = out.write_all(outcome.to_text().as_bytes());
        }
    });
    if report.outcomes.is_empty() {
        let only = how.only.join("`, `");
        return Err(CommandFailure::new(
            BridleExit::Usage,
            format!("no case begins with `{only}`"),
        )
        .hint("`--list` shows them all"));
    }
    sessions.forget();
    let text = if how.json { report.to_json(bar) } else { report.summary(bar) };
    let written = told.and_then(|()| out.write_all(text.as_bytes()));
    written.map_err(|error| CommandFailure::stream("cannot write the report", &error))?;
    if let Some(path) = &how.junit {
        write(path, &report.to_junit())?;
    }
    Ok(if report.conforms(bar) { BridleExit::Ok } else { BridleExit::Answered })
}

/// Whether a person wants to see it: no case that passed, and of a profile that is not offered only the first.
fn is_news(outcome: &CaseOutcome, unoffered: &mut Vec<(RequirementLevel, String)>) -> bool {
    match &outcome.ended {
        CaseEnd::Passed => false,
        CaseEnd::Unoffered(what) => {
            let told = (outcome.level, what.clone());
            let is_new = !unoffered.contains(&told);
            if is_new {
                unoffered.push(told);
            }
            is_new
        }
        CaseEnd::Failed(_) | CaseEnd::Stale(_) | CaseEnd::Known { .. } => true,
    }
}

fn list<P>(cases: &[ConformanceCase<P>]) -> Result<BridleExit, CommandFailure> {
    let mut text = String::new();
    let longest = cases.iter().map(|case| case.section.len()).max().unwrap_or_default();
    let width = (longest + 1).max(6);
    for ConformanceCase { id, level, section, title, .. } in cases {
        let level = level.to_string();
        text.push_str(&format!("{id:<8}{level:<7} {section:<width$}{title}\n"));
    }
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|error| CommandFailure::stream("cannot write the list", &error))?;
    Ok(BridleExit::Ok)
}

fn expected<P>(
    cases: &[ConformanceCase<P>],
    how: &ConformOptions,
) -> Result<ExpectedFailures, CommandFailure> {
    let Some(path) = &how.expect else { return Ok(ExpectedFailures::default()) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let what = format!("cannot read `{}`", path.display());
        CommandFailure::because(BridleExit::NoInput, what, &error)
    })?;
    let ids: Vec<&str> = cases.iter().map(|case| case.id).collect();
    ExpectedFailures::parse(&text, &ids).map_err(|error| {
        let what = format!("`{}`", path.display());
        CommandFailure::because(BridleExit::Data, what, &error)
            .hint("a line is an id and the reason why it fails; `#` begins a comment")
    })
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    std::fs::write(path, text).map_err(|error| {
        let what = format!("cannot write `{}`", path.display());
        CommandFailure::because(BridleExit::CannotCreate, what, &error)
    })
}

/// Digits that no run before had: sessions of a daemon outlive the run.
fn nonce() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}", since.as_nanos() & 0xffff_ffff_ffff)
}
