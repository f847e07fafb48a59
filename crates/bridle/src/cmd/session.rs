//! `bridle tail`, `fork` and `forget`: sessions of a running daemon.

use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_daemon::upkeep::forget::{Target, forget as forget_offline};
use bridle_sexp::Value;
use bridle_shell::attach::Notice;
use bridle_shell::client::ErrorAnswer;
use bridle_shell::screen::{Screen, data_writer, neutral_line};
use bridle_shell::system::{self, Ask, Said};
use bridle_shell::tail::{self, Output, Until};

use super::confirm::confirm;
use super::record::{print, state_dir};
use super::talk::{find, is_named};
use super::upkeep::{forget_many, upkeep_failure};
use crate::args::{Peer, record as args};
use crate::exit::{Exit, Failure};
use crate::settings::Given;

pub(crate) fn tail(args: args::Tail) -> Result<Exit, Failure> {
    let order = tail::Order {
        targets: find(args.peer)?,
        session: args.session,
        after: args.after,
        until: if args.follow { Until::Forever } else { Until::Head },
        output: match args.output {
            args::RecordOutput { json: true, .. } => Output::Json,
            args::RecordOutput { lisp: true, .. } => Output::Lisp,
            _ => Output::Text(Screen::of_stdout()),
        },
    };
    let mut tell = |notice: Notice<'_>| {
        // When stderr is gone, the events still go out.
        let _ = match notice {
            Notice::Lost(error) => {
                let error = error.to_string();
                writeln!(io::stderr().lock(), "{}; trying again", neutral_line(&error))
            }
            Notice::Back(seen) => writeln!(io::stderr().lock(), "attached again behind {seen}"),
        };
    };
    tail::run(order, &mut data_writer(), &mut tell)?;
    Ok(Exit::Ok)
}

pub(crate) fn fork(args: args::Fork) -> Result<Exit, Failure> {
    let targets = find(args.peer)?;
    match system::ask(&targets, &Ask::Fork { record: args.record, name: args.name })? {
        Said::Not(answer) => Err(refused(&answer)),
        Said::Done(payload) => {
            let result = payload.get("result").and_then(|result| result.get("session"));
            let session = result.and_then(Value::as_str).unwrap_or_default();
            print(&format!("{session}\n"))
        }
    }
}

pub(crate) fn forget(args: args::Forget) -> Result<Exit, Failure> {
    let Some(what) = &args.what else { return forget_many(&args) };
    let target = match what.parse::<u64>() {
        Ok(number) if !args.session => Target::Record(number),
        _ => Target::Session(what.as_str().into()),
    };
    if !args.yes {
        let what = named(&target);
        let question = format!("Forget {what} for ever? It cannot be undone.");
        confirm(&question, &format!("forget {what}"), &format!("{what} is kept"))?;
    }
    // A daemon may only be passed over where nobody was named: its record is another one.
    let offline = match &args.state {
        Some(_) => Offline::Only,
        None if is_named(&args.peer) => Offline::Never,
        None => Offline::IfNobodyAnswers,
    };
    let given = Given::with_state(args.peer.file.clone(), args.state);
    if offline == Offline::Only || !forget_at_daemon(args.peer, &target, offline)? {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        forget_offline(&state_dir(&given)?, &target, now)
            .map_err(|error| upkeep_failure(&error))?;
    }
    print(&format!("forgot {}\n", named(&target)))
}

/// When the state directory is worked on without a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offline {
    Only,
    IfNobodyAnswers,
    Never,
}

/// Asks the daemon; `false` when nobody answers and that may be.
fn forget_at_daemon(peer: Peer, target: &Target, offline: Offline) -> Result<bool, Failure> {
    let ask = match target {
        Target::Record(number) => Ask::ForgetRecord(*number),
        Target::Session(name) => Ask::ForgetSession(name.to_string()),
    };
    match system::ask(&find(peer)?, &ask) {
        Ok(Said::Done(_)) => Ok(true),
        Ok(Said::Not(answer)) => Err(refused(&answer)),
        // Nobody listens: the record is nobody's, unless the lock says otherwise.
        Err(bridle_shell::Error::Connect { .. }) if offline == Offline::IfNobodyAnswers => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn named(target: &Target) -> String {
    match target {
        Target::Session(name) => format!("session {name}"),
        Target::Record(number) => format!("record {number}"),
    }
}

/// The daemon said no, and why.
pub(super) fn refused(answer: &ErrorAnswer) -> Failure {
    if answer.code == "unknown-target" && answer.message.contains("bridle init") {
        // It says itself what to do.
        return Failure::new(Exit::NoInput, &answer.message);
    }
    let missing =
        [("no record `", "log"), ("no session `", "sessions"), ("no schedule `", "schedules")]
            .iter()
            .find(|(start, _)| answer.message.starts_with(start));
    if let Some((_, list)) = missing {
        return Failure::new(Exit::NoInput, &answer.message)
            .hint(format!("`bridle {list}` lists what exists"));
    }
    let (exit, hint) = match answer.code.as_str() {
        "unknown-id" => (Exit::NoInput, "`bridle approvals` lists what is open"),
        "unknown-session" => (Exit::NoInput, "`bridle sessions` lists what exists"),
        "not-permitted" | "refused" => {
            (Exit::Permission, "ask over the Unix socket, as the user who runs the daemon")
        }
        _ => (Exit::Answered, "`bridle log` shows what is there"),
    };
    Failure::new(exit, format!("the daemon refused: {}: {}", answer.code, answer.message))
        .hint(hint)
}
