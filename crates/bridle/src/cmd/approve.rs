//! `bridle approvals`, `approve` and `deny`: questions that wait for a yes, at a running daemon.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridle_loop::PREPARED;
use bridle_sexp::Value;
use bridle_shell::client::{DaemonTarget, ErrorAnswer};
use bridle_shell::screen::{local_second, neutral_line, plain_json};
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::confirm::confirm_unless;
use super::grant::{self, GrantWish, PlannedGrant};
use super::policy::{install_at, installed_at};
use super::record::print;
use super::session::refused;
use super::talk::find;
use super::why::one_line;
use crate::args::guard as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

/// Interval between two looks at whether an act has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn list(args: args::ApprovalsArgs) -> Result<BridleExit, CommandFailure> {
    let open = approvals(&find(args.peer)?)?;
    let mut text = String::new();
    for question in &open {
        match args.json {
            true => {
                text.push_str(&plain_json(question));
                text.push('\n');
            }
            false => text.push_str(&shown(question)),
        }
    }
    if open.is_empty() && !args.json {
        text.push_str("no pending approvals\n");
    }
    print(&text)
}

/// A question for people: everything that a yes would be for.
fn shown(question: &Value) -> String {
    let text = |key| question.get(key).and_then(Value::as_str).unwrap_or("-");
    let deadline = question.get("deadline").and_then(Value::as_i64).map(local_second);
    let mut out = format!("{}: {}\n", text("approval"), text("question"));
    if let Some(wanted) = question.get("wanted") {
        let diff = wanted.get(PREPARED).and_then(|it| it.get("diff")?.as_str());
        // Writing to a string cannot fail.
        let _ = match diff {
            None => writeln!(out, "  what: {}", one_line(wanted)),
            Some(_) => writeln!(out, "  what: {}", one_line(&asked(wanted))),
        };
        // The lines that a yes would change.
        for line in diff.unwrap_or_default().lines() {
            let _ = writeln!(out, "  | {}", neutral_line(line));
        }
    }
    let until = deadline.as_deref().unwrap_or("-");
    let _ = writeln!(out, "  requested by {}, expires {until}", text("asker"));
    if question.get("may-answer").is_some_and(Value::is_nil) {
        out.push_str("  you may not answer this approval\n");
    }
    out
}

/// The proposal without the facts that the daemon added.
fn asked(wanted: &Value) -> Value {
    let is_said = |key: &Value| key.as_keyword().is_none_or(|key| key != PREPARED);
    let pairs = wanted.pairs().into_iter().flatten().filter(|(key, _)| is_said(key));
    Value::list(pairs.flat_map(|(key, value)| [key.clone(), value.clone()]))
}

/// The questions that are open.
pub(super) fn approvals(targets: &[DaemonTarget]) -> Result<Vec<Value>, CommandFailure> {
    match system::ask(targets, &SystemRequest::Approvals)? {
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(payload) => {
            let list = payload.get("approvals").and_then(Value::elements);
            Ok(list.unwrap_or_default().to_vec())
        }
    }
}

pub(crate) fn approve(args: args::ApproveArgs) -> Result<BridleExit, CommandFailure> {
    let args::ApproveArgs {
        id,
        always,
        scope,
        span,
        preview,
        json,
        wait,
        no_wait,
        yes,
        state,
        peer,
    } = args;
    let waits = wait || (!no_wait && io::stdout().is_terminal());
    let given = GivenFlags::with_state(peer.file.clone(), state);
    let targets = find(peer)?;
    let wish = GrantWish { id: &id, scope, span };
    let plan = match always {
        false => None,
        true => Some(PlannedGrant::find(&targets, &given, &wish)?),
    };
    if let Some(plan) = &plan {
        if preview {
            return print(&if json { plan.json(&id, false) + "\n" } else { plan.shown() });
        }
        if !json {
            print(&plan.shown())?;
        }
        if !yes {
            let kept = "nothing was approved or written";
            let question = "Approve it and write this grant?";
            let is_over = || answered_elsewhere(&targets, &id);
            confirm_unless(question, "write the grant", kept, is_over)?;
        }
    }
    match &plan {
        Some(plan) => grant_as(&targets, &wish, plan, json)?,
        None => {
            let hash = seen(&targets, &id, json)?;
            say(&targets, &id, "allow", hash)?;
            if !json {
                print(&format!("approved {id}\n"))?;
            }
        }
    }
    if waits {
        match json {
            true => ended(&targets, &id)?,
            false => return outcome(&targets, &id),
        }
    }
    let told = |plan: &PlannedGrant| plan.json(&id, true) + "\n";
    let answer = || object(&[("approval", quoted(&id)), ("answer", quoted("allow"))]) + "\n";
    if json { print(&plan.as_ref().map_or_else(answer, told)) } else { Ok(BridleExit::Ok) }
}

/// Says yes, and makes the grant. The answer comes first: what is not allowed now gets no policy.
fn grant_as(
    targets: &[DaemonTarget],
    wish: &GrantWish<'_>,
    plan: &PlannedGrant,
    is_quiet: bool,
) -> Result<(), CommandFailure> {
    let approved = || format!("approved {}\n", wish.id);
    let Some(patch) = plan.patch() else {
        let made = plan.make(targets, wish)?;
        if !is_quiet {
            print(&(approved() + &made))?;
        }
        return Ok(());
    };
    say(targets, wish.id, "allow", plan.hash())?;
    if !is_quiet {
        print(&approved())?;
    }
    patch.write().map_err(|error| grant::failure(&error))?;
    if is_quiet {
        return installed_at(targets).map(drop);
    }
    print(&format!("wrote {}\n", patch.file.display()))?;
    install_at(targets).map(drop)
}

/// End of an approval that somebody else answered, or that is over; `None` while it is open, and
/// while the daemon cannot be asked.
pub(super) fn answered_elsewhere(targets: &[DaemonTarget], id: &str) -> Option<String> {
    let Ok(SystemReply::Done(stands)) =
        system::ask(targets, &SystemRequest::Approval(id.to_owned()))
    else {
        return None;
    };
    let how = stands.get("how").and_then(Value::as_keyword)?;
    let by = stands.get("by").and_then(Value::as_str).map(|by| format!(" by {by}"));
    Some(match by {
        Some(by) => neutral_line(&format!("{id} was answered elsewhere: {how}{by}")).into_owned(),
        None => neutral_line(&format!("{id} is no longer pending: {how}")).into_owned(),
    })
}

/// Waits until what was allowed has ended: an act has a deadline, and ends with it.
fn outcome(targets: &[DaemonTarget], id: &str) -> Result<BridleExit, CommandFailure> {
    ended(targets, id)?;
    print(&format!("done {id}\n"))
}

/// Waits for the end of an act, silently when it was carried out.
pub(super) fn ended(targets: &[DaemonTarget], id: &str) -> Result<(), CommandFailure> {
    loop {
        let stands = match system::ask(targets, &SystemRequest::Approval(id.to_owned()))? {
            SystemReply::Not(answer) => return Err(refused(&answer)),
            SystemReply::Done(payload) => payload,
        };
        let Some(word) = stands.get("outcome").and_then(Value::as_keyword) else {
            std::thread::sleep(POLL_INTERVAL);
            continue;
        };
        let said = stands.get("said");
        let reason = said.and_then(|said| said.get("message").or_else(|| said.get("reason")));
        let reason = reason.and_then(Value::as_str).map(|it| format!(": {it}")).unwrap_or_default();
        return match word {
            "done" => Ok(()),
            "unknown-outcome" => Err(CommandFailure::new(
                BridleExit::Answered,
                format!("the outcome of {id} is unknown{reason}"),
            )
            .hint("check `bridle approvals`: it may ask you to approve a retry")),
            word => Err(CommandFailure::new(
                BridleExit::Answered,
                format!("{id} was approved, but {word}{reason}"),
            )
            .hint("`bridle effects` shows the history")),
        };
    }
}

pub(crate) fn deny(args: args::DenyArgs) -> Result<BridleExit, CommandFailure> {
    say(&find(args.peer)?, &args.id, "deny", None)?;
    print(&format!("denied {}\n", args.id))
}

/// Shows what is asked for, and gives its hash: the yes is for that and for nothing else. A question
/// that is not open is left to the daemon, which knows how it ended.
fn seen(
    targets: &[DaemonTarget],
    id: &str,
    is_quiet: bool,
) -> Result<Option<String>, CommandFailure> {
    let open = approvals(targets)?;
    let is_it = |it: &&Value| it.get("approval").and_then(Value::as_str) == Some(id);
    let Some(question) = open.iter().find(is_it) else { return Ok(None) };
    if !is_quiet {
        print(&shown(question))?;
    }
    Ok(question.get("hash").and_then(Value::as_str).map(str::to_owned))
}

/// Answers a question, without a word.
pub(super) fn say(
    targets: &[DaemonTarget],
    id: &str,
    verdict: &'static str,
    hash: Option<String>,
) -> Result<(), CommandFailure> {
    let ask = SystemRequest::Approve { approval: id.to_owned(), verdict, hash };
    match system::ask(targets, &ask)? {
        SystemReply::Not(answer) => Err(unanswered(&answer)),
        SystemReply::Done(_) => Ok(()),
    }
}

/// The answer does not count, and why.
pub(super) fn unanswered(answer: &ErrorAnswer) -> CommandFailure {
    if answer.how.is_some() || answer.code == "expired" {
        return CommandFailure::new(BridleExit::Answered, &answer.message)
            .hint("`bridle approvals` lists pending approvals");
    }
    refused(answer)
}

pub(super) fn now_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
