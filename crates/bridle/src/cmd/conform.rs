//! `bridle conform`: runs a kit against a peer and reports.

mod engine;
mod forget;

use std::io::{self, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_conform::driven::Program;
use bridle_conform::report::{Bar, Ended, Outcome};
use bridle_conform::{
    self as conform, Case, Expected, Kit, Level, Options, Peer, client, oacp, shell,
};
use bridle_wire::seal::{Key, KeyId};

use forget::RunSessions;

use super::read_key;
use crate::args::conform::{Conform, Driven, FailOn, How, Oacp};
use crate::exit::{Exit, Failure};

pub(crate) fn run(verb: Conform) -> Result<Exit, Failure> {
    match verb {
        Conform::Oacp(args) => run_oacp(args),
        Conform::Engine(args) => engine::run(args),
        Conform::Shell(args) => run_shell(&args),
        Conform::OacpClient(args) => run_client(&args),
    }
}

fn run_oacp(args: Oacp) -> Result<Exit, Failure> {
    let cases = oacp::cases();
    let Some(addr) = args.addr.filter(|_| !args.how.list) else {
        return list(&cases);
    };
    let signed = match (args.signed, args.key_file) {
        (Some(addr), Some(file)) => {
            let key = Key::from_bytes(KeyId::new(&args.key_id), &read_key(&file)?);
            Some(oacp::Signed { addr, key })
        }
        _ => None,
    };
    let nonce = nonce();
    let sessions = RunSessions::of(&nonce, Some(&addr));
    let mut peer = oacp::Daemon::new(addr, signed, args.timeout, nonce);
    // Whether anybody is there at all is a question of its own, with its own exit code.
    if let Err(conform::Finding::Fault(what)) = peer.open() {
        return Err(Failure::new(Exit::Unavailable, what).hint("is the daemon up? `bridle health`"));
    }
    check(oacp::KIT, &cases, &mut peer, &args.how, sessions)
}

fn run_client(args: &Driven) -> Result<Exit, Failure> {
    let cases = client::cases();
    if args.how.list {
        return list(&cases);
    }
    check(
        client::KIT,
        &cases,
        &mut client::Clients::new(program(args)?),
        &args.how,
        RunSessions::default(),
    )
}

fn run_shell(args: &Driven) -> Result<Exit, Failure> {
    let cases = shell::cases();
    if args.how.list {
        return list(&cases);
    }
    let program = program(args)?;
    check(
        shell::KIT,
        &cases,
        &mut shell::Shells::new(program, nonce()),
        &args.how,
        RunSessions::default(),
    )
}

/// Whether there is such a program at all is a question of its own, with its own exit code.
fn program(args: &Driven) -> Result<Program, Failure> {
    let name = args.command.first().map(String::as_str).unwrap_or_default();
    let is_there = |path: &Path| path.is_file();
    let found = match name.contains('/') {
        true => is_there(Path::new(name)),
        false => std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|dir| is_there(&dir.join(name)))),
    };
    if !found {
        return Err(Failure::new(Exit::NoInput, format!("no program is called `{name}`"))
            .hint("name it behind --: bridle conform shell -- python3 my_shell.py"));
    }
    Ok(Program { command: args.command.clone(), timeout: args.timeout })
}

/// Runs the cases, reports as asked, and has the sessions of the run forgotten by one's own daemon.
fn check<P: Peer>(
    kit: Kit,
    cases: &[Case<P>],
    peer: &mut P,
    how: &How,
    mut sessions: RunSessions,
) -> Result<Exit, Failure> {
    let options = Options { only: how.only.clone(), expected: expected(cases, how)? };
    let bar = match how.fail_on {
        FailOn::Must => Bar::Must,
        FailOn::Should => Bar::Should,
    };
    let mut out = io::stdout().lock();
    let mut told = Ok(());
    let mut unoffered = Vec::new();
    let report = conform::run(kit, cases, peer, &options, &mut |outcome: &Outcome| {
        sessions.hear(outcome.notes.sessions());
        let is_shown = how.verbose || is_news(outcome, &mut unoffered);
        if is_shown && !how.json && told.is_ok() {
            told = out.write_all(outcome.to_text().as_bytes());
        }
    });
    if report.outcomes.is_empty() {
        let only = how.only.join("`, `");
        return Err(Failure::new(Exit::Usage, format!("no case begins with `{only}`"))
            .hint("`--list` shows them all"));
    }
    sessions.forget();
    let text = if how.json { report.to_json(bar) } else { report.summary(bar) };
    let written = told.and_then(|()| out.write_all(text.as_bytes()));
    written.map_err(|error| Failure::stream("cannot write the report", &error))?;
    if let Some(path) = &how.junit {
        write(path, &report.to_junit())?;
    }
    Ok(if report.conforms(bar) { Exit::Ok } else { Exit::Answered })
}

/// Whether a person wants to see it: no case that passed, and of a profile that is not offered only the first.
fn is_news(outcome: &Outcome, unoffered: &mut Vec<(Level, String)>) -> bool {
    match &outcome.ended {
        Ended::Passed => false,
        Ended::Unoffered(what) => {
            let told = (outcome.level, what.clone());
            let is_new = !unoffered.contains(&told);
            if is_new {
                unoffered.push(told);
            }
            is_new
        }
        Ended::Failed(_) | Ended::Stale(_) | Ended::Known { .. } => true,
    }
}

fn list<P>(cases: &[Case<P>]) -> Result<Exit, Failure> {
    let mut text = String::new();
    let longest = cases.iter().map(|case| case.section.len()).max().unwrap_or_default();
    let width = (longest + 1).max(6);
    for Case { id, level, section, title, .. } in cases {
        let level = level.to_string();
        text.push_str(&format!("{id:<8}{level:<7} {section:<width$}{title}\n"));
    }
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|error| Failure::stream("cannot write the list", &error))?;
    Ok(Exit::Ok)
}

fn expected<P>(cases: &[Case<P>], how: &How) -> Result<Expected, Failure> {
    let Some(path) = &how.expect else { return Ok(Expected::default()) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let what = format!("cannot read `{}`", path.display());
        Failure::because(Exit::NoInput, what, &error)
    })?;
    let ids: Vec<&str> = cases.iter().map(|case| case.id).collect();
    Expected::parse(&text, &ids).map_err(|error| {
        let what = format!("`{}`", path.display());
        Failure::because(Exit::Data, what, &error)
            .hint("a line is an id and the reason why it fails; `#` begins a comment")
    })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        let what = format!("cannot write `{}`", path.display());
        Failure::because(Exit::CannotCreate, what, &error)
    })
}

/// Digits that no run before had: sessions of a daemon outlive the run.
fn nonce() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}", since.as_nanos() & 0xffff_ffff_ffff)
}
