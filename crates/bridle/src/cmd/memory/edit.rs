//! `bridle memory edit`: one change of a file, asked of the daemon. Its policies decide; what they ask for
//! is shown here, and a person at the terminal says yes or no at once.

use std::time::{SystemTime, UNIX_EPOCH};

use bridle_loop::PREPARED;
use bridle_memex::{MemoryPreview, preview_edit};
use bridle_sexp::Value;
use bridle_shell::client::DaemonTarget;
use bridle_shell::screen::local_minute;
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::super::approve;
use super::super::confirm::confirm_unless;
use super::super::record::{print, state_dir};
use super::super::session::refused;
use super::super::talk::find;
use super::{changed, colored, failure};
use crate::args::memory::{EditVerbArg, MemoryEditArgs};
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{GivenFlags, ResolvedSettings};

pub(super) fn run(args: MemoryEditArgs) -> Result<BridleExit, CommandFailure> {
    let payload = payload(&args);
    let MemoryEditArgs { yes, dry_run, json, state, peer, .. } = args;
    if dry_run {
        let given = GivenFlags::with_state(peer.file.clone(), state);
        let preview = MemoryPreview::open(&state_dir(&given)?).map_err(|error| failure(&error))?;
        let org = ResolvedSettings::resolve(&given)?.memex_rules()?.rules.org;
        let diff = preview_edit(&preview, &payload, &org, now()).map_err(|fault| {
            CommandFailure::new(BridleExit::Answered, fault).hint("no approval was requested")
        })?;
        return print(&told("would-change", &String::from_utf8_lossy(&diff), json, ""));
    }
    let targets = find(peer)?;
    let answer = match system::ask(&targets, &SystemRequest::Edit(payload))? {
        SystemReply::Not(answer) if answer.code == "refused" => {
            let why = format!("the daemon refused: {}", answer.message);
            return Err(CommandFailure::new(BridleExit::Answered, why).hint(
                match answer.message.starts_with("no file ") {
                    true => {
                        "nothing was changed; `bridle memory outline --depth 0` lists the files"
                    }
                    false => "nothing was changed",
                },
            ));
        }
        SystemReply::Not(answer) => return Err(refused(&answer)),
        SystemReply::Done(answer) => answer,
    };
    match answer.get("approval").and_then(Value::as_str) {
        Some(id) => settle(&targets, id, yes, json),
        None => {
            let diff = answer.get("result").and_then(|it| it.get("diff")?.as_str());
            let diff = diff.unwrap_or_default();
            print(&told("done", diff, json, &changed(&answer)))
        }
    }
}

/// Shows what the daemon asks, has it answered, and waits for the end.
fn settle(
    targets: &[DaemonTarget],
    id: &str,
    yes: bool,
    json: bool,
) -> Result<BridleExit, CommandFailure> {
    let open = approve::approvals(targets)?;
    let is_it = |it: &&Value| it.get("approval").and_then(Value::as_str) == Some(id);
    let question = open.iter().find(is_it);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let wanted = question.and_then(|it| it.get("wanted")?.get(PREPARED));
    let diff = text(wanted.and_then(|it| it.get("diff")));
    if !json {
        print(&told("asked", &diff, false, ""))?;
    }
    if !yes && let Err(failed) = confirm_change_unless(targets, id) {
        // Others have said how it ends.
        if approve::answered_elsewhere(targets, id).is_some() {
            return Err(failed);
        }
        return Err(match failed.exit() {
            BridleExit::Usage => {
                CommandFailure::new(BridleExit::Temporary, format!("waiting for approval {id}"))
                    .hint(format!("approve it with `bridle approve {id}`, or pass --yes"))
            }
            // A person said no: nothing waits any longer.
            BridleExit::Answered => {
                approve::say(targets, id, "deny", None)?;
                failed
            }
            _ => failed,
        });
    }
    let hash = question.and_then(|it| it.get("hash")?.as_str()).map(str::to_owned);
    approve::say(targets, id, "allow", hash)?;
    approve::ended(targets, id)?;
    print(&if json { told("done", &diff, true, "") } else { "done\n".to_owned() })
}

/// The present, in milliseconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Asks whether to change the files, until somebody else has answered.
fn confirm_change_unless(targets: &[DaemonTarget], id: &str) -> Result<(), CommandFailure> {
    let is_over = || approve::answered_elsewhere(targets, id);
    confirm_unless("Apply this change?", "change the files", "nothing was changed", is_over)
}

/// A change for people, or for programs.
fn told(status: &str, diff: &str, json: bool, more: &str) -> String {
    match json {
        true => format!("{}\n", object(&[("status", quoted(status)), ("diff", quoted(diff))])),
        false => format!("{}{more}", colored(diff.as_bytes())),
    }
}

fn payload(args: &MemoryEditArgs) -> Value {
    let heading = (args.id.as_ref(), &args.outline[..], args.line);
    let mut pairs = vec![("path", Value::str(args.file.as_str()))];
    pairs.extend(spot(heading));
    let or_nil = |text: &Option<String>| text.as_deref().map_or(Value::Nil, Value::str);
    let text = |text: &String| Value::str(text.as_str());
    let (action, more) = match &args.verb {
        EditVerbArg::Title { text: it } => ("set-title", vec![("title", text(it))]),
        EditVerbArg::State { keyword, note } => {
            let note = note.iter().map(|it| ("note", text(it)));
            ("set-state", std::iter::once(("state", or_nil(keyword))).chain(note).collect())
        }
        EditVerbArg::Priority { letter } => ("set-priority", vec![("priority", or_nil(letter))]),
        EditVerbArg::Tags { tags } => {
            ("set-tags", vec![("tags", Value::list(tags.iter().map(text)))])
        }
        EditVerbArg::Property { key, value } => {
            ("set-property", vec![("key", text(key)), ("value", or_nil(value))])
        }
        EditVerbArg::Plan { which, stamp } => {
            ("set-planning", vec![("plan", Value::keyword(which)), ("stamp", or_nil(stamp))])
        }
        EditVerbArg::Insert { text: it } => ("insert-subtree", vec![("text", text(it))]),
        EditVerbArg::Append { text: it } => ("append-subtree", vec![("text", text(it))]),
        EditVerbArg::Up => ("move-up", Vec::new()),
        EditVerbArg::Refile { to_file, to_id, to_outline, to_line } => {
            let mut to: Vec<_> = to_file.iter().map(|it| ("path", text(it))).collect();
            to.extend(spot((to_id.as_ref(), to_outline, *to_line)));
            ("refile", vec![("to", Value::plist(to))])
        }
        EditVerbArg::Archive { into } => {
            let to = into.iter().map(|it| ("to", Value::plist([("path", text(it))])));
            ("archive", to.collect())
        }
        EditVerbArg::Delete => ("delete-subtree", Vec::new()),
        EditVerbArg::Checkbox => ("toggle-checkbox", Vec::new()),
        EditVerbArg::ClockIn { at } => ("clock-in", at.iter().map(|it| ("at", text(it))).collect()),
        EditVerbArg::ClockOut { at } => {
            ("clock-out", at.iter().map(|it| ("at", text(it))).collect())
        }
    };
    pairs.push(("action", Value::keyword(action)));
    // What is logged is logged in the time of whoever asks.
    if matches!(action, "set-state" | "set-planning" | "refile") {
        pairs.push(("at", Value::str(format!("[{}]", local_minute(now())))));
    }
    pairs.extend(more);
    Value::plist(pairs)
}

/// The words for a heading.
fn spot(
    (id, outline, line): (Option<&String>, &[String], Option<u64>),
) -> Vec<(&'static str, Value)> {
    let mut pairs: Vec<_> = id.map(|id| ("id", Value::str(id.as_str()))).into_iter().collect();
    if !outline.is_empty() {
        let titles = outline.iter().map(|title| Value::str(title.as_str()));
        pairs.push(("outline", Value::list(titles)));
    }
    pairs.extend(line.map(|line| ("line", Value::int(i64::try_from(line).unwrap_or(i64::MAX)))));
    pairs
}
