//! `bridle record size`, `compact` and `repair`, and forgetting many sessions: the file of the record, without asking
//! a daemon.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_daemon::upkeep::{self, UpkeepError, forget_selected};
use bridle_history::upkeep::{
    RecordSize, RepairReport, SelectedSessions, SessionSelection, SizeRow,
};
use bridle_history::{HistoryError, RecordHistory};
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable, local_minute};

use super::confirm::confirm;
use super::memory::time;
use super::output::print;
use super::record::{failure, state_dir};
use crate::args::record as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::GivenFlags;

/// Sessions that a preview names.
const MAX_SESSIONS_PREVIEWED: usize = 20;

/// Rows of each table of sizes that people see; `--json` has all.
const MAX_SIZE_ROWS: usize = 12;

pub(crate) fn run(verb: &args::RecordCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::RecordCommand::Size(args) => size(args),
        args::RecordCommand::Compact(args) => compact(args),
        args::RecordCommand::Repair(args) => repair(args),
    }
}

/// Forgets the sessions that `--anonymous` or `--before` names.
pub(super) fn forget_many(args: &args::ForgetArgs) -> Result<BridleExit, CommandFailure> {
    let selection = selection(args)?;
    let dir = state_dir(&GivenFlags::with_state(args.peer.file.clone(), args.state.clone()))?;
    let selected = RecordHistory::open(&dir).and_then(|history| history.select(selection));
    let selected = selected.map_err(|error| failure(&error))?;
    if !args.yes && (args.json || selected.sessions.is_empty()) {
        return print(&if args.json { preview_json(&selected) } else { preview(&selected) });
    }
    if !args.yes {
        print(&preview(&selected))?;
        let count = counted(selected.sessions.len() as u64, "session");
        let question = format!("Forget {count} for ever? It cannot be undone.");
        confirm(&question, &format!("forget {count}"), &format!("{count} are kept"))?;
    }
    let forgotten = forget_selected(&dir, selection, now()).map_err(|error| locked(&error))?;
    if args.json {
        let pairs = [("forgotten", forgotten), ("records", selected.records())];
        return print(&format!("{}\n", object(&pairs.map(|(key, it)| (key, it.to_string())))));
    }
    let records = counted(selected.records(), "record");
    print(&format!(
        "forgot {} with {records}; `bridle record compact` frees the disk space\n",
        counted(forgotten, "session")
    ))
}

fn selection(args: &args::ForgetArgs) -> Result<SessionSelection, CommandFailure> {
    let Some(text) = &args.before else { return Ok(SessionSelection::Anonymous) };
    let at = time::parse(text).ok_or_else(|| {
        CommandFailure::new(BridleExit::Usage, format!("bad time `{text}`"))
            .hint("expected a day, a UTC time or an age: 2026-01-31, 2026-01-31T08:00Z, 30d")
    })?;
    // A day is meant from its beginning on.
    let is_day = !text.contains([':', 'T']) && text.contains('-');
    Ok(SessionSelection::Before(if is_day { at + 1 - time::DAY_MS } else { at }))
}

fn preview(selected: &SelectedSessions) -> String {
    let mut table = TextTable::new([
        TableColumn::text("SESSION").shrinks(),
        TableColumn::text("OWNER").shrinks(),
        TableColumn::number("RECORDS"),
        TableColumn::text("LAST USED"),
    ]);
    for row in selected.sessions.iter().take(MAX_SESSIONS_PREVIEWED) {
        let records = row.records.to_string();
        table.push_row([&*row.name, &*row.owner, &*records, &*local_minute(row.last_at)]);
    }
    let mut text = table.render(OutputScreen::of_stdout(), "no sessions to forget");
    let more = selected.sessions.len().saturating_sub(MAX_SESSIONS_PREVIEWED);
    if more > 0 {
        text.push_str(&format!("and {more} more\n"));
    }
    if !selected.sessions.is_empty() {
        let sessions = counted(selected.sessions.len() as u64, "session");
        text.push_str(&format!("{sessions}, {}\n", counted(selected.records(), "record")));
    }
    if selected.waiting > 0 {
        let waiting = counted(selected.waiting, "session");
        text.push_str(&format!(
            "{waiting} stay: an action, an approval or a schedule is pending there\n"
        ));
    }
    text
}

fn preview_json(selected: &SelectedSessions) -> String {
    let sessions: Vec<String> = selected.sessions.iter().map(|row| quoted(&row.name)).collect();
    let pairs = [
        ("forgotten", "0".to_owned()),
        ("sessions", format!("[{}]", sessions.join(","))),
        ("records", selected.records().to_string()),
        ("waiting", selected.waiting.to_string()),
    ];
    format!("{}\n", object(&pairs))
}

fn size(args: &args::SizeArgs) -> Result<BridleExit, CommandFailure> {
    let dir = state_dir(args.state.given())?;
    let size = RecordHistory::open(&dir).and_then(|history| history.size());
    let size = size.map_err(|error| failure(&error))?;
    print(&if args.json { size_json(&size) } else { size_text(&size) })
}

fn size_text(size: &RecordSize) -> String {
    let mut text = format!(
        "record.db {}, log {}, free {}\n{} in {}; forgotten: {} in {}; compacted: {}\n",
        bytes(size.file_bytes),
        bytes(size.log_bytes),
        bytes(size.free_bytes),
        counted(size.all.records, "record"),
        bytes(size.all.bytes),
        counted(size.forgotten.records, "record"),
        bytes(size.forgotten.bytes),
        counted(size.compacted, "record"),
    );
    for (heading, rows) in
        [("PRINCIPAL", &size.principals), ("SESSION", &size.sessions), ("KIND", &size.kinds)]
    {
        let mut table = TextTable::new([
            TableColumn::text(heading).shrinks(),
            TableColumn::number("RECORDS"),
            TableColumn::number("SIZE"),
        ]);
        for row in rows.iter().take(MAX_SIZE_ROWS) {
            let name = if row.name.is_empty() { "(the daemon's own)" } else { &*row.name };
            table.push_row([name, &row.records.to_string(), &bytes(row.bytes)]);
        }
        text.push('\n');
        text.push_str(&table.render(OutputScreen::of_stdout(), "nothing is recorded yet"));
        let more = rows.len().saturating_sub(MAX_SIZE_ROWS);
        if more > 0 {
            text.push_str(&format!("and {more} more: --json\n"));
        }
    }
    text
}

fn size_json(size: &RecordSize) -> String {
    let row = |row: &SizeRow| {
        object(&[
            ("name", quoted(&row.name)),
            ("records", row.records.to_string()),
            ("bytes", row.bytes.to_string()),
        ])
    };
    let rows = |rows: &[SizeRow]| {
        let rows: Vec<String> = rows.iter().map(row).collect();
        format!("[{}]", rows.join(","))
    };
    let number = |number: u64| number.to_string();
    let object = object(&[
        ("file-bytes", number(size.file_bytes)),
        ("log-bytes", number(size.log_bytes)),
        ("free-bytes", number(size.free_bytes)),
        ("records", number(size.all.records)),
        ("bytes", number(size.all.bytes)),
        ("forgotten-records", number(size.forgotten.records)),
        ("forgotten-bytes", number(size.forgotten.bytes)),
        ("compacted-records", number(size.compacted)),
        ("principals", rows(&size.principals)),
        ("sessions", rows(&size.sessions)),
        ("kinds", rows(&size.kinds)),
    ]);
    format!("{object}\n")
}

fn compact(args: &args::CompactArgs) -> Result<BridleExit, CommandFailure> {
    let dir = state_dir(args.state.given())?;
    let done = upkeep::compact(&dir, now()).map_err(|error| locked(&error))?;
    if args.json {
        let pairs = [
            ("records", done.records),
            ("ranges", done.runs),
            ("sessions", done.sessions),
            ("bytes-before", done.bytes_before),
            ("bytes-after", done.bytes_after),
        ];
        return print(&format!("{}\n", object(&pairs.map(|(key, it)| (key, it.to_string())))));
    }
    if done.records == 0 {
        let size = bytes(done.bytes_after);
        return print(&format!("nothing to compact; {size}\n"));
    }
    print(&format!(
        "{} removed: {} before, {} now\n",
        counted(done.records, "record"),
        bytes(done.bytes_before),
        bytes(done.bytes_after)
    ))
}

fn repair(args: &args::RepairArgs) -> Result<BridleExit, CommandFailure> {
    let dir = state_dir(args.state.given())?;
    if !dir.exists() {
        return Err(failure(&HistoryError::NoRecord { dir }));
    }
    let report = upkeep::repair(&dir, now(), args.dry_run).map_err(|error| locked(&error))?;
    print(&if args.json { repair_json(&report) } else { repair_text(&report, args.dry_run, &dir) })
}

fn repair_text(report: &RepairReport, is_dry: bool, dir: &Path) -> String {
    let Some(fault) = &report.fault else {
        let kept = counted(report.kept.number.0, "record");
        return format!("nothing to repair: {kept}, all intact\n");
    };
    let (kept, lost) = (report.kept.number.0, report.lost());
    let mut text = format!("found: {fault}\n");
    text.push_str(&match kept {
        0 => "kept: nothing is readable\n".to_owned(),
        _ => format!("kept: records 1 to {kept}, of {}\n", counted(report.sessions, "session")),
    });
    if lost > 0 {
        text.push_str(&format!("lost: records {} to {}\n", kept + 1, report.last_known));
    }
    if report.unreadable > 0 {
        let bodies = counted(report.unreadable, "kept record");
        text.push_str(&format!("lost: the bodies of {bodies}; they count as forgotten\n"));
    }
    if report.detached > 0 {
        let versions = counted(report.detached, "version");
        text.push_str(&format!("{versions} of files came from lost records; they stay\n"));
    }
    if let Some(aside) = &report.aside {
        text.push_str(&format!("the damaged file is {}\n", aside.display()));
    }
    text.push_str(&match is_dry {
        true => "nothing was changed; run this without --dry-run\n".to_owned(),
        false => format!("the record in {} is writable again\n", dir.display()),
    });
    text
}

fn repair_json(report: &RepairReport) -> String {
    let text = |text: Option<String>| text.map_or("null".to_owned(), |text| quoted(&text));
    let object = object(&[
        ("fault", text(report.fault.as_ref().map(ToString::to_string))),
        ("kept", report.kept.number.to_string()),
        ("lost", report.lost().to_string()),
        ("last-known", report.last_known.to_string()),
        ("unreadable", report.unreadable.to_string()),
        ("sessions", report.sessions.to_string()),
        ("detached-versions", report.detached.to_string()),
        ("aside", text(report.aside.as_ref().map(|path| path.display().to_string()))),
    ]);
    format!("{object}\n")
}

/// Explains why the file could not be changed: mostly because a daemon has it.
fn locked(error: &UpkeepError) -> CommandFailure {
    match error {
        UpkeepError::State(cause @ bridle_daemon::DaemonError::Locked { .. }) => {
            CommandFailure::because(BridleExit::Temporary, "the record is in use", cause)
                .hint("stop the daemon first, and start it again afterwards")
        }
        other => upkeep_failure(other),
    }
}

/// Explains why a record could not be changed, with the way out.
pub(super) fn upkeep_failure(error: &UpkeepError) -> CommandFailure {
    match error {
        UpkeepError::State(cause) => CommandFailure::because(BridleExit::Temporary, error, cause)
            .hint("a daemon runs there: leave out --state, and pass --addr if the settings do not name it"),
        UpkeepError::History(error) => failure(error),
        other => CommandFailure::new(BridleExit::Software, other)
            .hint("the log of `bridle up` may say more"),
    }
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Bytes as people read them.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
