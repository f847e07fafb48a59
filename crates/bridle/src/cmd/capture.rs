//! `bridle capture`: a text becomes a heading in the inbox of the Org folder, by an edit that the daemon makes. So it
//! has a version, stands in the record, and `bridle undo` takes it back.
//!
//! The text was typed by whoever runs the command, so a change that only adds lines is approved at once; should the
//! daemon show any other, the person is asked.

mod template;

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use bridle_loop::PREPARED;
use bridle_memex::{FilePath, VersionFilter, VersionHistory};
use bridle_sexp::Value;
use bridle_shell::ShellError;
use bridle_shell::client::{DaemonClient, DaemonTarget};
use bridle_shell::screen::neutral_block;
use bridle_shell::system::{self, SystemReply, SystemRequest, ask_context};

use self::template::{CaptureTemplate, CaptureText};
use super::confirm::confirm;
use super::launch::DaemonLaunch;
use super::memex_source::{now_ms, wait_for_index};
use super::output::print;
use super::record::state_dir;
use super::session::refused;
use super::talk::{find, is_named};
use super::{approve, hint_stdin};
use crate::args::notes::CaptureArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

/// File that captures go to.
const INBOX: &str = "inbox.org";

/// File of the templates.
const TEMPLATES: &str = "templates.org";

/// Longest text that is captured, in bytes: a note, and no archive.
const MAX_CAPTURE_BYTES: u64 = 256 << 10;

/// Versions of the file among which that of the capture is searched: others may write meanwhile.
const MAX_VERSIONS_SEARCHED: usize = 20;

pub(crate) fn run(args: CaptureArgs) -> Result<BridleExit, CommandFailure> {
    let CaptureArgs { words, template, file, dry_run, json, no_start, peer } = args;
    let own_state = match is_named(&peer) {
        true => None,
        false => Some(state_dir(&GivenFlags::from(peer.file.clone()))?),
    };
    let launch = match no_start || dry_run || own_state.is_none() {
        true => None,
        false => Some(DaemonLaunch::of(&peer.file)?),
    };
    let targets = find(peer)?;
    let text = CaptureText::of(&read_text(&words)?)?;
    if dry_run && template.is_none() {
        let file = file.unwrap_or_else(|| INBOX.to_owned());
        return print(&shown(&file, &CaptureTemplate::default().fill(&text, now_ms())?, json));
    }
    reach(&targets, launch.as_ref())?;
    let template = match template {
        None => CaptureTemplate::default(),
        Some(name) => find_template(&targets, &name)?,
    };
    let org = template.fill(&text, now_ms())?;
    let file = file.or_else(|| template.file.clone()).unwrap_or_else(|| INBOX.to_owned());
    if dry_run {
        return print(&shown(&file, &org, json));
    }
    let mut pairs = vec![
        ("action", Value::keyword("append-subtree")),
        ("path", Value::str(file.as_str())),
        ("text", Value::str(org.as_str())),
    ];
    let outline = template.heading.iter().map(|title| Value::str(title.as_str()));
    if !template.heading.is_empty() {
        pairs.push(("outline", Value::list(outline)));
    }
    let approval = write(&targets, Value::plist(pairs))?;
    let record = approval.zip(own_state).and_then(|(id, state)| record_of(&state, &id, &file));
    match json {
        true => print(&format!(
            "{}\n",
            object(&[
                ("status", quoted("captured")),
                ("file", quoted(&file)),
                ("text", quoted(&org)),
                ("record", record.map_or_else(|| "null".to_owned(), |it| it.to_string())),
            ])
        )),
        false => print(&told(&file, record)),
    }
}

fn shown(file: &str, org: &str, json: bool) -> String {
    match json {
        true => format!(
            "{}\n",
            object(&[
                ("status", quoted("would-capture")),
                ("file", quoted(file)),
                ("text", quoted(org)),
                ("record", "null".to_owned()),
            ])
        ),
        false => format!("would append to {file}:\n{}", neutral_block(org)),
    }
}

fn told(file: &str, record: Option<u64>) -> String {
    let file = neutral_block(file);
    match record {
        Some(record) => format!("captured in {file}; take it back: bridle undo {record}\n"),
        None => format!("captured in {file}\n"),
    }
}

/// The text of the command line, or of standard input.
fn read_text(words: &[String]) -> Result<String, CommandFailure> {
    if !words.is_empty() && words != ["-"] {
        return Ok(words.join(" "));
    }
    hint_stdin("a note, its first line the title");
    let mut text = String::new();
    let read = io::stdin().lock().take(MAX_CAPTURE_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            CommandFailure::new(BridleExit::Data, "the text on stdin is not UTF-8")
        }
        _ => CommandFailure::stream("cannot read stdin", &error),
    })?;
    if text.len() as u64 > MAX_CAPTURE_BYTES {
        let what = format!("the text has more than {} KiB", MAX_CAPTURE_BYTES >> 10);
        return Err(CommandFailure::new(BridleExit::Data, what)
            .hint("put it into a file of your Org folder, and capture a line about it"));
    }
    Ok(text)
}

/// Finds a daemon, or starts one and says so.
fn reach(targets: &[DaemonTarget], launch: Option<&DaemonLaunch>) -> Result<(), CommandFailure> {
    match (DaemonClient::connect_any(targets), launch) {
        (Ok(_), _) => Ok(()),
        (Err(ShellError::Connect { .. }), Some(launch)) => {
            launch.start().map_err(|why| CommandFailure::new(BridleExit::Unavailable, why))?;
            let line = format!("started a daemon; its log is {}\n", launch.log().display());
            // When stderr is gone, the note is kept all the same.
            let _ = io::stderr().lock().write_all(neutral_block(&line).as_bytes());
            Ok(())
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Reads a template from its file in the Org folder.
fn find_template(targets: &[DaemonTarget], name: &str) -> Result<CaptureTemplate, CommandFailure> {
    wait_for_index(targets)?;
    let asked = |pairs: Vec<(&str, Value)>| ask_context(targets, Value::plist(pairs));
    let outline = asked(vec![
        ("action", Value::keyword("outline")),
        ("under", Value::str(TEMPLATES)),
        ("depth", Value::int(1)),
    ])?;
    let missing = |hint: String| {
        CommandFailure::new(BridleExit::NoInput, format!("no template `{name}` in {TEMPLATES}"))
            .hint(hint)
    };
    let headings = match outline {
        SystemReply::Done(told) => {
            told.get("objects").and_then(Value::elements).unwrap_or_default().to_vec()
        }
        SystemReply::Not(answer) if answer.code == "unknown-id" => {
            return Err(missing(format!(
                "make the file {TEMPLATES} in your Org folder with a heading `* {name}`: docs/commands.md"
            )));
        }
        SystemReply::Not(answer) => return Err(refused(&answer)),
    };
    let title = |object: &Value| {
        let is_heading = object.get("level").and_then(Value::as_i64) == Some(1);
        object.get("title").and_then(Value::as_str).filter(|_| is_heading).map(str::to_owned)
    };
    let is_it = |it: &&Value| title(it).is_some_and(|it| it.to_lowercase() == name.to_lowercase());
    let Some(found) = headings.iter().find(is_it) else {
        let known: Vec<String> = headings.iter().filter_map(title).collect();
        return Err(missing(format!("it has: {}", known.join(", "))));
    };
    let id = found.get("id").cloned().unwrap_or(Value::Nil);
    match asked(vec![("action", Value::keyword("get-object")), ("id", id)])? {
        SystemReply::Done(told) => {
            CaptureTemplate::of(told.get("object").unwrap_or(&Value::Nil), name)
        }
        SystemReply::Not(answer) => Err(refused(&answer)),
    }
}

/// Has the daemon write; gives the approval that it took, if it took one.
fn write(targets: &[DaemonTarget], payload: Value) -> Result<Option<String>, CommandFailure> {
    let answer = match system::ask(targets, &SystemRequest::Edit(payload))? {
        SystemReply::Done(answer) => answer,
        SystemReply::Not(answer) if answer.code == "refused" => {
            let why = format!("the daemon refused: {}", answer.message);
            return Err(CommandFailure::new(BridleExit::Answered, why).hint("nothing was changed"));
        }
        SystemReply::Not(answer) => return Err(refused(&answer)),
    };
    let Some(id) = answer.get("approval").and_then(Value::as_str) else { return Ok(None) };
    let open = approve::approvals(targets)?;
    let question = open.iter().find(|it| it.get("approval").and_then(Value::as_str) == Some(id));
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let prepared = question.and_then(|it| it.get("wanted")?.get(PREPARED));
    let diff = text(prepared.and_then(|it| it.get("diff")));
    let hash = question.and_then(|it| it.get("hash")?.as_str()).map(str::to_owned);
    if question.is_some_and(|it| it.get("may-answer").is_some_and(Value::is_nil)) {
        return Err(CommandFailure::new(
            BridleExit::Temporary,
            format!("waiting for approval {id}, which you may not answer"),
        )
        .hint(format!("who may answers it with `bridle approve {id}`")));
    }
    if !only_adds(&diff) || hash.is_none() {
        print(&neutral_block(&diff))?;
        if let Err(failed) =
            confirm("Apply this change?", "change more than it adds", "nothing was changed")
        {
            approve::say(targets, id, "deny", None)?;
            return Err(failed);
        }
    }
    approve::say(targets, id, "allow", hash)?;
    approve::ended(targets, id)?;
    Ok(Some(id.to_owned()))
}

/// Whether a diff takes nothing away; an empty one is not understood.
fn only_adds(diff: &str) -> bool {
    let mut lines = diff.lines();
    let starts = lines.next().is_some_and(|line| line.starts_with("--- "));
    starts && !lines.any(|line| line.starts_with('-'))
}

/// The record of the change that an approval allowed, from the versions on this machine: what `bridle undo` takes.
fn record_of(state: &Path, approval: &str, file: &str) -> Option<u64> {
    let (session, _) = approval.rsplit_once('-')?;
    let past = VersionHistory::open(state).ok()?;
    let of_file = VersionFilter {
        path: FilePath::parse(file),
        changes_only: true,
        ..VersionFilter::default()
    };
    let latest = past.list(&of_file, MAX_VERSIONS_SEARCHED).ok()?;
    latest.into_iter().find(|it| &*it.session == session)?.record
}

#[cfg(test)]
mod tests {
    use super::only_adds;

    #[test]
    fn a_diff_that_takes_away_is_not_taken_for_one_that_adds() {
        assert!(only_adds("--- a/inbox.org\n+++ b/inbox.org\n@@ -1,1 +1,2 @@\n * A\n+* B\n"));
        assert!(!only_adds("--- a/x.org\n+++ b/x.org\n@@ -1,1 +1,1 @@\n-* A\n+* B\n"));
        assert!(!only_adds(""));
        assert!(!only_adds("--- a/x.org\n+++ b/x.org\n--- looks like a header\n"));
    }
}
