//! `bridle memory` and `bridle undo`: the past of your files, and what takes changes back. The past is
//! read without a daemon; changes are made by the daemon, as its policies say.

mod edit;
mod taking_back;
pub(super) mod time;

use std::fmt::Write as _;

use bridle_history::{History, StoreError};
use bridle_sexp::Value;
use bridle_shell::screen::{
    Column, Screen, Table, local_minute, local_second, neutral_block, neutral_line,
};
use bridle_shell::system::{self, Ask, Said};
use bridle_store::memory::{
    Conflict, Error, FilePath, Past, Preview, Version, VersionId, Wanted, unified,
};
use bridle_wire::time::rfc3339;

use super::output::{print, print_bytes, print_styled};
use super::record::state_dir;
use super::session::refused;
use super::talk::find;
use crate::args::memory as args;
use crate::exit::{Exit, Failure};
use crate::json::{object, quoted};
use crate::settings::{Given, StateDir};

pub(crate) fn run(verb: args::Memory) -> Result<Exit, Failure> {
    match verb {
        args::Memory::Recall(question) => super::recall::run(question),
        args::Memory::Edit(args) => edit::run(*args),
        args::Memory::Log(args) => log(&args),
        args::Memory::Show(args) => show(&args),
        args::Memory::Diff(args) => diff(&args),
        args::Memory::At(args) => at(&args),
        args::Memory::Snapshot { name, peer } => {
            let payload = ask(system::ask(&find(peer)?, &Ask::Snapshot(name))?)?;
            print(&kept(&payload))
        }
        args::Memory::Snapshots { json, state } => snapshots(json, &state),
        args::Memory::Restore { name, file, how } => {
            let only = file.as_deref().map(path).transpose()?;
            let shown = |preview: &Preview| preview.restore(&name, only.as_ref());
            taking_back::run(how, shown, &Ask::Restore { name: name.clone(), file: file.clone() })
        }
        args::Memory::Rollback { session, turn, how } => {
            let shown = |preview: &Preview| preview.rollback(&session, turn);
            taking_back::run(how, shown, &Ask::Rollback { session: session.clone(), turn })
        }
    }
}

pub(crate) fn undo(args: args::Undo) -> Result<Exit, Failure> {
    let args::Undo { record, how } = args;
    let of = |given: &Given| change_behind(given, record);
    let given = Given::with_state(how.peer.file.clone(), how.state.clone());
    let record = of(&given)?;
    taking_back::run(how, |preview| preview.undo(record), &Ask::Undo { record })
}

/// The record of the act: people may name its outcome instead.
fn change_behind(given: &Given, record: u64) -> Result<u64, Failure> {
    let Ok(history) = History::open(&state_dir(given)?) else { return Ok(record) };
    let page = history.page(record.saturating_sub(1), &Default::default(), 1);
    let found = page.ok().and_then(|page| page.into_iter().next());
    let found = found.filter(|found| found.number.0 == record && &*found.kind == "acted");
    Ok(found.and_then(|found| found.cause).map_or(record, |cause| cause.0))
}

/// Which files were changed, as an answer of the daemon says.
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
    let mut text = format!("kept {files} {}\n", if files == 1 { "file" } else { "files" });
    if let Some(warning) = result.get("warning").and_then(Value::as_str) {
        let left_out = result.get("left-out").and_then(Value::elements).unwrap_or_default();
        let names: Vec<&str> = left_out.iter().filter_map(Value::as_str).collect();
        text.push_str(&format!("{warning}: {}\n", names.join(", ")));
    }
    text
}

/// What the daemon said; what waits for a yes is not done yet.
fn ask(said: Said) -> Result<Value, Failure> {
    let payload = match said {
        Said::Not(answer) => return Err(refused(&answer)),
        Said::Done(payload) => payload,
    };
    match payload.get("approval").and_then(Value::as_str) {
        Some(id) => {
            Err(Failure::new(Exit::Temporary, format!("it waits for a yes: question {id}"))
                .hint(format!("say it with `bridle approve {id}`")))
        }
        None => Ok(payload),
    }
}

fn log(args: &args::Log) -> Result<Exit, Failure> {
    let past = open(&args.state)?;
    let wanted = Wanted {
        path: args.file.as_deref().map(path).transpose()?,
        changes_only: args.changes,
        ..Wanted::default()
    };
    let versions = past.list(&wanted, args.limit).map_err(store_failure)?;
    print(&listed(&versions, args.json))
}

/// Versions for people, in a table; or for programs, an object a line.
fn listed(versions: &[Version], json: bool) -> String {
    if json {
        return versions.iter().map(|version| version_json(version, &[]) + "\n").collect();
    }
    let mut table = Table::new([
        Column::number("VERSION"),
        Column::text("WHEN"),
        Column::text("FILE").shrinks(),
        Column::text("WHAT"),
        Column::text("BY").shrinks().optional(),
        Column::number("RECORD"),
    ]);
    for version in versions {
        let Version { id, path, at, record, principal, action, .. } = version;
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
    table.render(Screen::of_stdout(), "nothing found: no version of this is kept")
}

fn line(version: &Version) -> String {
    let Version { id, path, at, record, principal, action, .. } = version;
    let what = if action.is_empty() { version.origin.word() } else { action };
    let gone = if version.after.is_none() { " (gone)" } else { "" };
    let record = record.map(|record| format!("  record {record}")).unwrap_or_default();
    format!("{id}  {}  {path}{gone}  {what} by {principal}{record}", local_second(*at))
}

fn show(args: &args::Show) -> Result<Exit, Failure> {
    let past = open(&args.state)?;
    let versions = match (args.version, args.record) {
        (Some(id), _) => vec![version(&past, id)?],
        (None, record) => {
            let wanted = Wanted { record, ..Wanted::default() };
            let mut found = past.list(&wanted, usize::MAX).map_err(store_failure)?;
            found.reverse();
            if found.is_empty() {
                let record = record.unwrap_or_default();
                return Err(Failure::new(
                    Exit::NoInput,
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

fn diff(args: &args::Diff) -> Result<Exit, Failure> {
    let preview = Preview::open(&state_dir(args.state.given())?).map_err(|it| failure(&it))?;
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

fn at(args: &args::At) -> Result<Exit, Failure> {
    let past = open(&args.state)?;
    let time = time::parse(&args.time).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("no time `{}`", args.time))
            .hint("expected 2026-11-15, 2026-11-15T12:30Z, or so long ago: 30m, 12h, 7d")
    })?;
    let file = args.file.as_deref().map(path).transpose()?;
    let versions = past.at(time, file.as_ref()).map_err(store_failure)?;
    if let (Some(file), false) = (&file, args.json) {
        let Some(version) = versions.first() else {
            let what = format!("`{file}` was not there then, or nothing was known of it");
            return Err(Failure::new(Exit::NoInput, what)
                .hint("`bridle memory log FILE` lists its versions"));
        };
        return print_bytes(&bytes(&past, version.after)?.unwrap_or_default());
    }
    print(&listed(&versions, args.json))
}

fn snapshots(json: bool, state: &StateDir) -> Result<Exit, Failure> {
    let rows = open(state)?.snapshots().map_err(store_failure)?;
    let mut text = String::new();
    let mut table = Table::new([
        Column::text("SNAPSHOT").shrinks(),
        Column::text("WHEN"),
        Column::number("FILES"),
        Column::text("BY").shrinks().optional(),
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
    let nothing = "no snapshot yet: `bridle memory snapshot NAME` keeps one";
    print(&if json { text } else { table.render(Screen::of_stdout(), nothing) })
}

fn version_json(version: &Version, more: &[(&str, String)]) -> String {
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

fn version(past: &Past, id: u64) -> Result<Version, Failure> {
    let found = past.version(VersionId(id)).map_err(store_failure)?;
    found.ok_or_else(|| {
        Failure::new(Exit::NoInput, format!("no version {id}"))
            .hint("`bridle memory log` lists what exists")
    })
}

fn bytes(
    past: &Past,
    hash: Option<bridle_store::memory::Hash>,
) -> Result<Option<Vec<u8>>, Failure> {
    hash.map(|hash| past.content(hash)).transpose().map_err(store_failure)
}

fn path(text: &str) -> Result<FilePath, Failure> {
    FilePath::parse(text).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("no file `{text}`"))
            .hint("name it as it is below the folder, such as projects/garden.org")
    })
}

fn open(state: &StateDir) -> Result<Past, Failure> {
    Past::open(&state_dir(state.given())?).map_err(store_failure)
}

fn store_failure(error: StoreError) -> Failure {
    failure(&Error::from(error))
}

/// Why something was not done, with the way out; conflicts are shown in full.
fn failure(error: &Error) -> Failure {
    let (exit, hint) = match error {
        Error::Conflicts(_) => {
            (Exit::Answered, "nothing was written; change these places by hand, or leave them")
        }
        Error::Past(StoreError::Missing { .. }) => (
            Exit::NoInput,
            "no file was looked after there yet: run `bridle up --memex DIR`, or name --state DIR",
        ),
        Error::NoChange(_) | Error::NoTurn { .. } => {
            (Exit::NoInput, "`bridle memory log --changes` lists what was changed")
        }
        Error::NoSnapshot(_) => (Exit::NoInput, "`bridle memory snapshots` lists what exists"),
        Error::NotInSnapshot { .. } => (
            Exit::NoInput,
            "name it as it is below the folder; `bridle memory restore NAME --dry-run` shows all that would come back",
        ),
        Error::Past(StoreError::Busy | StoreError::Full) => {
            (Exit::Temporary, "try again in a moment; check the space on the disk")
        }
        _ => (Exit::Io, "check the folder of your files, and who owns it"),
    };
    let failed = match std::error::Error::source(error) {
        Some(cause) => Failure::because(exit, error, cause),
        None => Failure::new(exit, error),
    };
    let conflicts = match error {
        Error::Conflicts(conflicts) => &conflicts[..],
        _ => &[],
    };
    conflicts.iter().flat_map(shown).fold(failed, Failure::detail).hint(hint)
}

/// A conflict: where it is, what is there, and what undoing would make of it.
fn shown(conflict: &Conflict) -> Vec<String> {
    let path = conflict.path.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut lines = vec![format!("{path}:{}:", conflict.line)];
    let sides = [("now", &conflict.now), ("then", &conflict.base), ("back to", &conflict.wanted)];
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
fn colored(diff: &[u8]) -> String {
    let text = String::from_utf8_lossy(diff);
    let style = super::style();
    if style.controls == bridle_shell::pretty::Controls::Keep {
        return text.into_owned();
    }
    let color = style.color == bridle_shell::pretty::Color::Always;
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
