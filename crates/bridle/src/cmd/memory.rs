//! `bridle memory` and `bridle undo`: the past of your files, and what takes changes back. The past is
//! read without a daemon; changes are made by the daemon, as its policies say.

mod edit;
mod taking_back;
pub(super) mod time;

use bridle_history::record_source::kind_of;
use bridle_history::{RecordHistory, StoreError};
use bridle_loop::RecordKind;
use bridle_memex::{
    FilePath, FileVersion, MemoryError, MemoryPreview, MergeConflict, VersionFilter,
    VersionHistory, VersionId, unified,
};
use bridle_sexp::Value;
use bridle_shell::screen::{
    OutputScreen, TableColumn, TextTable, local_minute, local_second, neutral_block, neutral_line,
};
use bridle_shell::system::{self, SystemReply, SystemRequest};
use bridle_wire::time::rfc3339;
use std::fmt::Write as _;

use super::commit_undo::{self, CommitChoice};
use super::diff;
use super::output::{print, print_bytes, print_styled};
use super::record::state_dir;
use super::session::refused;
use super::talk::find;
use crate::args::memory as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{GivenFlags, StateDir};

/// Session that a turn is of unless another is named.
const MAIN_SESSION: &str = "main";

pub(crate) fn run(verb: args::MemoryCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::MemoryCommand::Recall(question) => super::recall::run(question),
        args::MemoryCommand::Edit(args) => edit::run(*args),
        args::MemoryCommand::Log(args) => log(&args),
        args::MemoryCommand::Show(args) => show(&args),
        args::MemoryCommand::Diff(args) => compared(&args),
        args::MemoryCommand::At(args) => at(&args),
        args::MemoryCommand::Snapshot { name, peer } => {
            let payload = ask(system::ask(&find(peer)?, &SystemRequest::Snapshot(name))?)?;
            print(&kept(&payload))
        }
        args::MemoryCommand::Snapshots { json, state } => snapshots(json, &state),
        args::MemoryCommand::Restore { name, file, how } => {
            let only = file.as_deref().map(path).transpose()?;
            let shown = |preview: &MemoryPreview| preview.restore(&name, only.as_ref());
            taking_back::run(
                how,
                shown,
                &SystemRequest::Restore { name: name.clone(), file: file.clone() },
            )
        }
        args::MemoryCommand::Rollback { session, turn, how } => {
            let shown = |preview: &MemoryPreview| preview.rollback(&session, turn);
            taking_back::run(
                how,
                shown,
                &SystemRequest::Rollback { session: session.clone(), turn: Some(turn) },
            )
        }
    }
}

pub(crate) fn undo(args: args::UndoArgs) -> Result<BridleExit, CommandFailure> {
    let args::UndoArgs { record, files, turn, session, how } = args;
    let Some(record) = record else {
        return undo_session(how, session.as_deref().unwrap_or(MAIN_SESSION), turn);
    };
    let of = |given: &GivenFlags| change_behind(given, record);
    let given = GivenFlags::with_state(how.peer.file.clone(), how.state.clone());
    let record = of(&given)?;
    let what = vec![("record", diff::number(record))];
    let choice = CommitChoice { action: "undo", what, files };
    if let Some(exit) = commit_undo::run(&how, &choice)? {
        return Ok(exit);
    }
    taking_back::run(how, |preview| preview.undo(record), &SystemRequest::Undo { record })
}

/// Takes back what a session, or a turn of it, changed: files of projects, then the memory.
fn undo_session(
    how: args::TakeBackArgs,
    session: &str,
    turn: Option<u64>,
) -> Result<BridleExit, CommandFailure> {
    let mut what = vec![("session", Value::str(session))];
    what.extend(turn.map(|turn| ("turn", diff::number(turn))));
    let choice = CommitChoice { action: "rollback", what, files: Vec::new() };
    let files = commit_undo::run(&how, &choice)?;
    let planned = |preview: &MemoryPreview| match turn {
        Some(turn) => preview.rollback(session, turn),
        None => preview.rollback_session(session),
    };
    let given = GivenFlags::with_state(how.peer.file.clone(), how.state.clone());
    let memory = MemoryPreview::open(&state_dir(&given)?).and_then(|preview| planned(&preview));
    match (files, memory) {
        // Nothing of it is in the memory, or there is none.
        (Some(exit), Err(error)) if !matches!(error, MemoryError::Conflicts(_)) => Ok(exit),
        (None, Err(MemoryError::Past(StoreError::Missing { .. }))) => {
            taking_back::nothing(how.json)
        }
        _ => {
            let request = SystemRequest::Rollback { session: session.to_owned(), turn };
            taking_back::run(how, planned, &request)
        }
    }
}

/// The record of the act: people may name its outcome instead.
fn change_behind(given: &GivenFlags, record: u64) -> Result<u64, CommandFailure> {
    let Ok(history) = RecordHistory::open(&state_dir(given)?) else { return Ok(record) };
    let page = history.page(record.saturating_sub(1), &Default::default(), 1);
    let found = page.ok().and_then(|page| page.into_iter().next());
    let found =
        found.filter(|found| found.number.0 == record && kind_of(found) == Some(RecordKind::Acted));
    Ok(found.and_then(|found| found.cause).map_or(record, |cause| cause.0))
}

/// Lists the files that were changed, from an answer of the daemon.
fn changed(payload: &Value) -> String {
    let files = payload.get("result").and_then(|it| it.get("files"));
    let files = files.and_then(Value::elements).unwrap_or_default().iter();
    let names: Vec<&str> = files.filter_map(Value::as_str).collect();
    format!("changed {}\n", names.join(", "))
}

/// The files that a snapshot has, and those that it left out.
fn kept(payload: &Value) -> String {
    let result = payload.get("result").unwrap_or(&Value::Nil);
    let files = result.get("files").and_then(Value::as_i64).unwrap_or_default();
    let mut text = format!("saved {files} {}\n", if files == 1 { "file" } else { "files" });
    if let Some(warning) = result.get("warning").and_then(Value::as_str) {
        let left_out = result.get("left-out").and_then(Value::elements).unwrap_or_default();
        let names: Vec<&str> = left_out.iter().filter_map(Value::as_str).collect();
        text.push_str(&format!("{warning}: {}\n", names.join(", ")));
    }
    text
}

/// Unwraps the answer of the daemon; what waits for an approval is not done yet.
fn ask(said: SystemReply) -> Result<Value, CommandFailure> {
    let payload = match said {
        SystemReply::Not(answer) => return Err(refused(&answer)),
        SystemReply::Done(payload) => payload,
    };
    match payload.get("approval").and_then(Value::as_str) {
        Some(id) => {
            Err(CommandFailure::new(BridleExit::Temporary, format!("waiting for approval {id}"))
                .hint(format!("approve it with `bridle approve {id}`")))
        }
        None => Ok(payload),
    }
}

fn log(args: &args::MemoryLogArgs) -> Result<BridleExit, CommandFailure> {
    let past = open(&args.state)?;
    let wanted = VersionFilter {
        path: args.file.as_deref().map(path).transpose()?,
        changes_only: args.changes,
        ..VersionFilter::default()
    };
    let versions = past.list(&wanted, args.limit).map_err(store_failure)?;
    print(&listed(&versions, args.json))
}

/// Versions for people, in a table; or for programs, an object a line.
fn listed(versions: &[FileVersion], json: bool) -> String {
    if json {
        return versions.iter().map(|version| version_json(version, &[]) + "\n").collect();
    }
    let mut table = TextTable::new([
        TableColumn::number("VERSION"),
        TableColumn::text("WHEN"),
        TableColumn::text("FILE").shrinks(),
        TableColumn::text("WHAT"),
        TableColumn::text("BY").shrinks().optional(),
        TableColumn::number("RECORD"),
    ]);
    for version in versions {
        let FileVersion { id, path, at, record, principal, action, .. } = version;
        let what = if action.is_empty() { version.origin.word() } else { action };
        let gone = if version.after.is_none() { " (gone)" } else { "" };
        table.push_row([
            &id.to_string(),
            &local_minute(*at),
            &format!("{path}{gone}"),
            what,
            principal,
            &record.map_or_else(|| "-".to_owned(), |record| record.to_string()),
        ]);
    }
    table.render(OutputScreen::of_stdout(), "no versions found")
}

fn line(version: &FileVersion) -> String {
    let FileVersion { id, path, at, record, principal, action, .. } = version;
    let what = if action.is_empty() { version.origin.word() } else { action };
    let gone = if version.after.is_none() { " (gone)" } else { "" };
    let record = record.map(|record| format!("  record {record}")).unwrap_or_default();
    format!("{id}  {}  {path}{gone}  {what} by {principal}{record}", local_second(*at))
}

fn show(args: &args::MemoryShowArgs) -> Result<BridleExit, CommandFailure> {
    let past = open(&args.state)?;
    let versions = match (args.version, args.record) {
        (Some(id), _) => vec![version(&past, id)?],
        (None, record) => {
            let wanted = VersionFilter { record, ..VersionFilter::default() };
            let mut found = past.list(&wanted, usize::MAX).map_err(store_failure)?;
            found.reverse();
            if found.is_empty() {
                let record = record.unwrap_or_default();
                return Err(CommandFailure::new(
                    BridleExit::NoInput,
                    format!("record {record} changed no file"),
                )
                .hint("`bridle memory log --changes` lists the records that did"));
            }
            found
        }
    };
    let mut text = String::new();
    for version in &versions {
        let (before, after) = (bytes(&past, version.before)?, bytes(&past, version.after)?);
        let diff = unified(version.path.as_str(), before.as_deref(), after.as_deref());
        if args.json {
            let diff = quoted(&String::from_utf8_lossy(&diff));
            let _ = writeln!(text, "{}", version_json(version, &[("diff", diff)]));
        } else {
            let _ = writeln!(text, "version {}\n", neutral_line(&line(version)));
            let _ = writeln!(text, "{}", colored(&diff));
        }
    }
    print_styled(&text)
}

fn compared(args: &args::MemoryDiffArgs) -> Result<BridleExit, CommandFailure> {
    let preview =
        MemoryPreview::open(&state_dir(args.state.given())?).map_err(|it| failure(&it))?;
    let past = preview.past();
    let from = version(past, args.from)?;
    let old = bytes(past, from.after)?;
    let new = match args.to {
        Some(to) => bytes(past, version(past, to)?.after)?,
        None => preview.read(&from.path).map_err(|error| failure(&error))?.map(|seen| seen.bytes),
    };
    let diff = unified(from.path.as_str(), old.as_deref(), new.as_deref());
    if args.json {
        let diff = quoted(&String::from_utf8_lossy(&diff));
        let pairs = [("path", quoted(from.path.as_str())), ("diff", diff)];
        return print(&format!("{}\n", object(&pairs)));
    }
    print_styled(&colored(&diff))
}

fn at(args: &args::MemoryAtArgs) -> Result<BridleExit, CommandFailure> {
    let past = open(&args.state)?;
    let time = time::parse(&args.time).ok_or_else(|| {
        CommandFailure::new(BridleExit::Usage, format!("bad time `{}`", args.time))
            .hint("expected 2026-11-15, 2026-11-15T12:30Z or an age: 30m, 12h, 7d")
    })?;
    let file = args.file.as_deref().map(path).transpose()?;
    let versions = past.at(time, file.as_ref()).map_err(store_failure)?;
    if let (Some(file), false) = (&file, args.json) {
        let Some(version) = versions.first() else {
            let what = format!("no version of `{file}` from that time");
            return Err(CommandFailure::new(BridleExit::NoInput, what)
                .hint("`bridle memory log FILE` lists its versions"));
        };
        return print_bytes(&bytes(&past, version.after)?.unwrap_or_default());
    }
    print(&listed(&versions, args.json))
}

fn snapshots(json: bool, state: &StateDir) -> Result<BridleExit, CommandFailure> {
    let rows = open(state)?.snapshots().map_err(store_failure)?;
    let mut text = String::new();
    let mut table = TextTable::new([
        TableColumn::text("SNAPSHOT").shrinks(),
        TableColumn::text("WHEN"),
        TableColumn::number("FILES"),
        TableColumn::text("BY").shrinks().optional(),
    ]);
    for row in rows {
        let files = row.files.to_string();
        table.push_row([&*row.name, &local_minute(row.at), &files, &*row.principal]);
        let pairs = [
            ("name", quoted(&row.name)),
            ("at", quoted(&rfc3339(row.at))),
            ("principal", quoted(&row.principal)),
            ("files", files),
        ];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", object(&pairs));
    }
    let nothing = "no snapshots yet: `bridle memory snapshot NAME` creates one";
    print(&if json { text } else { table.render(OutputScreen::of_stdout(), nothing) })
}

fn version_json(version: &FileVersion, more: &[(&str, String)]) -> String {
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
    let mut pairs = vec![
        ("version", version.id.to_string()),
        ("path", quoted(version.path.as_str())),
        ("at", quoted(&rfc3339(version.at))),
        ("origin", quoted(version.origin.word())),
        ("action", quoted(&version.action)),
        ("principal", quoted(&version.principal)),
        ("record", or_null(version.record.map(|record| record.to_string()))),
        ("session", quoted(&version.session)),
        ("turn", version.turn.to_string()),
        ("before", or_null(version.before.map(|hash| quoted(&hash.to_string())))),
        ("after", or_null(version.after.map(|hash| quoted(&hash.to_string())))),
    ];
    pairs.extend(more.iter().map(|(key, value)| (*key, value.clone())));
    object(&pairs)
}

fn version(past: &VersionHistory, id: u64) -> Result<FileVersion, CommandFailure> {
    let found = past.version(VersionId(id)).map_err(store_failure)?;
    found.ok_or_else(|| {
        CommandFailure::new(BridleExit::NoInput, format!("no version {id}"))
            .hint("`bridle memory log` lists versions")
    })
}

fn bytes(
    past: &VersionHistory,
    hash: Option<bridle_record::RecordHash>,
) -> Result<Option<Vec<u8>>, CommandFailure> {
    hash.map(|hash| past.content(hash)).transpose().map_err(store_failure)
}

fn path(text: &str) -> Result<FilePath, CommandFailure> {
    FilePath::parse(text).ok_or_else(|| {
        CommandFailure::new(BridleExit::Usage, format!("no file `{text}`"))
            .hint("give its path relative to the Org folder, such as projects/garden.org")
    })
}

fn open(state: &StateDir) -> Result<VersionHistory, CommandFailure> {
    VersionHistory::open(&state_dir(state.given())?).map_err(store_failure)
}

fn store_failure(error: StoreError) -> CommandFailure {
    failure(&MemoryError::from(error))
}

/// Explains why something was not done, with the way out; conflicts are shown in full.
fn failure(error: &MemoryError) -> CommandFailure {
    let (exit, hint) = match error {
        MemoryError::Conflicts(_) => {
            (BridleExit::Answered, "nothing was written; resolve these conflicts by hand")
        }
        MemoryError::Past(StoreError::Missing { .. }) => (
            BridleExit::NoInput,
            "no versions recorded there yet: run `bridle up --memex DIR`, or pass --state DIR",
        ),
        MemoryError::NoChange(_) | MemoryError::NoTurn { .. } | MemoryError::NoSession(_) => {
            (BridleExit::NoInput, "`bridle memory log --changes` lists changes")
        }
        MemoryError::NoSnapshot(_) => {
            (BridleExit::NoInput, "`bridle memory snapshots` lists snapshots")
        }
        MemoryError::NotInSnapshot { .. } => (
            BridleExit::NoInput,
            "give its path relative to the Org folder; `bridle memory restore NAME --dry-run` shows every file in the snapshot",
        ),
        MemoryError::Past(StoreError::Busy | StoreError::Full) => {
            (BridleExit::Temporary, "try again in a moment, and check the free disk space")
        }
        _ => (BridleExit::Io, "check the Org folder and its owner"),
    };
    let failed = match std::error::Error::source(error) {
        Some(cause) => CommandFailure::because(exit, error, cause),
        None => CommandFailure::new(exit, error),
    };
    let conflicts = match error {
        MemoryError::Conflicts(conflicts) => &conflicts[..],
        _ => &[],
    };
    conflicts.iter().flat_map(shown).fold(failed, CommandFailure::detail).hint(hint)
}

/// A conflict: where it is, what is there, and what undoing would make of it.
fn shown(conflict: &MergeConflict) -> Vec<String> {
    let path = conflict.path.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut lines = vec![format!("{path}:{}:", conflict.line)];
    let sides = [("now", &conflict.now), ("then", &conflict.base), ("back to", &conflict.target)];
    for (word, text) in sides {
        let text = String::from_utf8_lossy(text);
        match text.is_empty() {
            true => lines.push(format!("  {word}: (nothing)")),
            false => lines.extend(text.lines().map(|line| format!("  {word}: {line}"))),
        }
    }
    lines
}

/// A diff for people: colored on a terminal, with nothing in it that a terminal would obey.
pub(super) fn colored(diff: &[u8]) -> String {
    let text = String::from_utf8_lossy(diff);
    let style = super::style();
    if style.controls == bridle_shell::pretty::ControlStyle::Keep {
        return text.into_owned();
    }
    let color = style.color == bridle_shell::pretty::ColorChoice::Always;
    let mut out = String::new();
    for line in text.lines() {
        let tame = neutral_block(line);
        let code = match line.as_bytes().first() {
            Some(b'+') if color => "\x1b[32m",
            Some(b'-') if color => "\x1b[31m",
            Some(b'@') if color => "\x1b[36m",
            _ => "",
        };
        let end = if code.is_empty() { "" } else { "\x1b[0m" };
        let _ = writeln!(out, "{code}{tame}{end}");
    }
    out
}
