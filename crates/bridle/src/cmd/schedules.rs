//! `bridle schedules`: what the sessions of a running daemon have planned, and taking one back.

use bridle_sexp::Value;
use bridle_shell::client::DaemonTarget;
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable, local_minute};
use bridle_shell::system::{self, SystemReply, SystemRequest};
use bridle_wire::time::rfc3339;

use super::output::print;
use super::session::refused;
use super::talk::find;
use crate::args::schedules as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

/// Names of sessions in an error.
const MAX_SESSIONS_NAMED: usize = 8;

pub(crate) fn run(args: args::SchedulesCommand) -> Result<BridleExit, CommandFailure> {
    match args.verb {
        Some(args::SchedulesVerb::Rm(removal)) => remove(removal),
        None => {
            let rows = listed(&find(args.peer)?)?;
            match args.json {
                true => print(&rows.iter().map(|row| row.json() + "\n").collect::<String>()),
                false => print(&table(&rows)),
            }
        }
    }
}

/// A schedule as the daemon lists it.
struct ScheduleRow {
    name: String,
    session: String,
    owner: String,
    due: i64,
    every: Option<i64>,
    left: Option<i64>,
    until: Option<i64>,
}

impl ScheduleRow {
    fn of(row: &Value) -> Option<ScheduleRow> {
        let text = |key| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key| row.get(key).and_then(Value::as_i64);
        let every = number("every");
        Some(ScheduleRow {
            name: text("name")?,
            session: text("session")?,
            owner: text("owner").unwrap_or_default(),
            due: number("due")?,
            every,
            // One that does not come again has one run.
            left: if every.is_none() { Some(1) } else { number("left") },
            until: number("until"),
        })
    }

    fn json(&self) -> String {
        let number = |it: Option<i64>| it.map_or("null".to_owned(), |it| it.to_string());
        object(&[
            ("name", quoted(&self.name)),
            ("session", quoted(&self.session)),
            ("owner", quoted(&self.owner)),
            ("next", quoted(&rfc3339(self.due))),
            ("every-ms", number(self.every)),
            ("runs-left", number(self.left)),
            ("until", self.until.map_or("null".to_owned(), |until| quoted(&rfc3339(until)))),
        ])
    }
}

fn table(rows: &[ScheduleRow]) -> String {
    let mut table = TextTable::new([
        TableColumn::text("NAME").shrinks(),
        TableColumn::text("SESSION").shrinks(),
        TableColumn::text("OWNER").shrinks().optional(),
        TableColumn::text("NEXT"),
        TableColumn::text("EVERY"),
        TableColumn::number("RUNS LEFT"),
        TableColumn::text("UNTIL").optional(),
    ]);
    for row in rows {
        // Planned before schedules had an end.
        let left = row.left.map_or("no end".to_owned(), |left| left.to_string());
        table.push_row([
            &*row.name,
            &*row.session,
            &*row.owner,
            &local_minute(row.due),
            &row.every.map_or("once".to_owned(), span),
            &left,
            &row.until.map_or("-".to_owned(), local_minute),
        ]);
    }
    table.render(OutputScreen::of_stdout(), "no schedules")
}

/// Writes a span of time in its largest unit that needs no fraction.
fn span(ms: i64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
    let fitting = units.iter().find(|(_, size)| ms % size == 0 && ms >= *size);
    let (unit, size) = fitting.unwrap_or(&("ms", 1));
    format!("{} {unit}", ms / size)
}

/// Asks for the schedules of all sessions that one may see, those first that are due first.
fn listed(targets: &[DaemonTarget]) -> Result<Vec<ScheduleRow>, CommandFailure> {
    match system::ask(targets, &SystemRequest::Schedules)? {
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(payload) => {
            let rows = payload.get("schedules").and_then(Value::elements).unwrap_or_default();
            Ok(rows.iter().filter_map(ScheduleRow::of).collect())
        }
    }
}

fn remove(removal: args::ScheduleRemoval) -> Result<BridleExit, CommandFailure> {
    let args::ScheduleRemoval { name, session, peer } = removal;
    let targets = find(peer)?;
    let mut sessions: Vec<String> = listed(&targets)?
        .into_iter()
        .filter(|row| row.name == name && session.as_ref().is_none_or(|it| *it == row.session))
        .map(|row| row.session)
        .collect();
    sessions.sort();
    let found = match &*sessions {
        [only] => only,
        [] => {
            let place = session.map_or(String::new(), |it| format!(" in session `{it}`"));
            return Err(CommandFailure::new(
                BridleExit::NoInput,
                format!("no schedule `{name}`{place}"),
            )
            .hint("`bridle schedules` lists schedules"));
        }
        several => {
            let named = several[..several.len().min(MAX_SESSIONS_NAMED)].join(", ");
            let count = several.len();
            return Err(CommandFailure::new(
                BridleExit::Usage,
                format!("{count} sessions have a schedule `{name}`: {named}"),
            )
            .hint("choose one with --session SESSION"));
        }
    };
    match system::ask_in(&targets, found, &SystemRequest::Unschedule(name.clone()))? {
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(_) => print(&format!("removed schedule {name} of session {found}\n")),
    }
}
