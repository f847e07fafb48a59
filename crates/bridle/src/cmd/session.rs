//! `bridle tail`, `fork` and `forget`: sessions of a running daemon.

use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_daemon::upkeep::forget::{ForgetTarget, forget as forget_offline};
use bridle_sexp::Value;
use bridle_shell::attach::ConnectionNotice;
use bridle_shell::client::ErrorAnswer;
use bridle_shell::screen::{OutputScreen, data_writer, neutral_line};
use bridle_shell::system::{self, SystemReply, SystemRequest};
use bridle_shell::tail::{self, TailEnd, TailOutput};

use super::confirm::confirm;
use super::record::{print, state_dir};
use super::talk::{find, is_named};
use super::upkeep::{forget_many, upkeep_failure};
use crate::args::{PeerArgs, record as args};
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::GivenFlags;

pub(crate) fn tail(args: args::TailArgs) -> Result<BridleExit, CommandFailure> {
    let order = tail::TailOrder {
        targets: find(args.peer)?,
        session: args.session,
        after: args.after,
        until: if args.follow { TailEnd::Forever } else { TailEnd::Head },
        output: match args.output {
            args::RecordOutputArgs { json: true, .. } => TailOutput::Json,
            args::RecordOutputArgs { lisp: true, .. } => TailOutput::Lisp,
            _ => TailOutput::Text(OutputScreen::of_stdout()),
        },
    };
    let mut tell = |notice: ConnectionNotice<'_>| {
        // When stderr is gone, the events still go out.
        let _ = match notice {
            ConnectionNotice::Lost(error) => {
                let error = error.to_string();
                writeln!(io::stderr().lock(), "{}; reconnecting", neutral_line(&error))
            }
            ConnectionNotice::Back(seen) => {
                writeln!(io::stderr().lock(), "reconnected after event {seen}")
            }
        };
    };
    tail::run(order, &mut data_writer(), &mut tell)?;
    Ok(BridleExit::Ok)
}

pub(crate) fn fork(args: args::ForkArgs) -> Result<BridleExit, CommandFailure> {
    let targets = find(args.peer)?;
    match system::ask(&targets, &SystemRequest::Fork { record: args.record, name: args.name })? {
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(payload) => {
            let result = payload.get("result").and_then(|result| result.get("session"));
            let session = result.and_then(Value::as_str).unwrap_or_default();
            print(&format!("{session}\n"))
        }
    }
}

pub(crate) fn forget(args: args::ForgetArgs) -> Result<BridleExit, CommandFailure> {
    let Some(what) = &args.what else { return forget_many(&args) };
    let target = match what.parse::<u64>() {
        Ok(number) if !args.session => ForgetTarget::Record(number),
        _ => ForgetTarget::Session(what.as_str().into()),
    };
    if !args.yes {
        let what = named(&target);
        let question = format!("Forget {what} for ever? It cannot be undone.");
        confirm(&question, &format!("forget {what}"), &format!("{what} is kept"))?;
    }
    // A daemon may only be passed over where nobody was named: its record is another one.
    let offline = match &args.state {
        Some(_) => OfflineAccess::Only,
        None if is_named(&args.peer) => OfflineAccess::Never,
        None => OfflineAccess::IfNobodyAnswers,
    };
    let given = GivenFlags::with_state(args.peer.file.clone(), args.state);
    if offline == OfflineAccess::Only || !forget_at_daemon(args.peer, &target, offline)? {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        forget_offline(&state_dir(&given)?, &target, now)
            .map_err(|error| upkeep_failure(&error))?;
    }
    print(&format!("forgot {}\n", named(&target)))
}

/// Conditions of work on the state folder without a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfflineAccess {
    Only,
    IfNobodyAnswers,
    Never,
}

/// Asks the daemon; `false` when nobody answers and that may be.
fn forget_at_daemon(
    peer: PeerArgs,
    target: &ForgetTarget,
    offline: OfflineAccess,
) -> Result<bool, CommandFailure> {
    let ask = match target {
        ForgetTarget::Record(number) => SystemRequest::ForgetRecord(*number),
        ForgetTarget::Session(name) => SystemRequest::ForgetSession(name.to_string()),
    };
    match system::ask(&find(peer)?, &ask) {
        Ok(SystemReply::Done(_)) => Ok(true),
        Ok(SystemReply::Not(answer)) => Err(refused(&answer)),
        // Nobody listens: the record is nobody's, unless the lock says otherwise.
        Err(bridle_shell::ShellError::Connect { .. })
            if offline == OfflineAccess::IfNobodyAnswers =>
        {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn named(target: &ForgetTarget) -> String {
    match target {
        ForgetTarget::Session(name) => format!("session {name}"),
        ForgetTarget::Record(number) => format!("record {number}"),
    }
}

/// The daemon said no, and why.
pub(super) fn refused(answer: &ErrorAnswer) -> CommandFailure {
    if answer.code == "unknown-target" && answer.message.contains("bridle init") {
        // It says itself what to do.
        return CommandFailure::new(BridleExit::NoInput, &answer.message);
    }
    let missing =
        [("no record `", "log"), ("no session `", "sessions"), ("no schedule `", "schedule")]
            .iter()
            .find(|(start, _)| answer.message.starts_with(start));
    if let Some((_, list)) = missing {
        return CommandFailure::new(BridleExit::NoInput, &answer.message)
            .hint(format!("`bridle {list}` lists them"));
    }
    let (exit, hint) = match answer.code.as_str() {
        "unknown-id" => (BridleExit::NoInput, "`bridle approvals` lists pending approvals"),
        "unknown-session" => (BridleExit::NoInput, "`bridle sessions` lists sessions"),
        "not-permitted" | "refused" => {
            (BridleExit::Permission, "use the Unix socket, as the user who runs the daemon")
        }
        _ => (BridleExit::Answered, "`bridle log` shows the record"),
    };
    CommandFailure::new(exit, format!("the daemon refused: {}: {}", answer.code, answer.message))
        .hint(hint)
}
