//! `bridle schedule`: what the sessions of a running daemon have planned; adding, pausing and removing.

use bridle_sexp::{Value, read_one};
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

pub(crate) fn run(args: args::ScheduleCommand) -> Result<BridleExit, CommandFailure> {
    match args.verb {
        Some(args::ScheduleVerb::Rm(choice)) => change(choice, ScheduleChange::Remove),
        Some(args::ScheduleVerb::Pause(choice)) => change(choice, ScheduleChange::Pause),
        Some(args::ScheduleVerb::Resume(choice)) => change(choice, ScheduleChange::Resume),
        Some(args::ScheduleVerb::Add(addition)) => add(addition),
        Some(args::ScheduleVerb::List(listing)) => list(listing),
        None => list(args.list),
    }
}

fn list(listing: args::ScheduleListing) -> Result<BridleExit, CommandFailure> {
    let rows = listed(&find(listing.peer)?)?;
    match listing.json {
        true => print(&rows.iter().map(|row| row.json() + "\n").collect::<String>()),
        false => print(&table(&rows)),
    }
}

/// Change of a schedule that is there.
#[derive(Clone, Copy)]
enum ScheduleChange {
    Remove,
    Pause,
    Resume,
}

impl ScheduleChange {
    fn request(self, name: String) -> SystemRequest {
        match self {
            Self::Remove => SystemRequest::Unschedule(name),
            Self::Pause => SystemRequest::PauseSchedule(name),
            Self::Resume => SystemRequest::ResumeSchedule(name),
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Remove => "removed",
            Self::Pause => "paused",
            Self::Resume => "resumed",
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
    cron: Option<String>,
    zone: Option<String>,
    missed: Option<String>,
    is_paused: bool,
    left: Option<i64>,
    until: Option<i64>,
}

impl ScheduleRow {
    fn of(row: &Value) -> Option<ScheduleRow> {
        let text = |key| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key| row.get(key).and_then(Value::as_i64);
        let every = number("every");
        let cron = text("cron");
        let missed = row.get("missed").and_then(Value::as_keyword).map(str::to_ascii_lowercase);
        Some(ScheduleRow {
            name: text("name")?,
            session: text("session")?,
            owner: text("owner").unwrap_or_default(),
            due: number("due")?,
            // One that does not come again has one run.
            left: if every.is_none() && cron.is_none() { Some(1) } else { number("left") },
            every,
            cron,
            zone: text("zone"),
            missed,
            is_paused: row.get("paused").is_some_and(|paused| !paused.is_nil()),
            until: number("until"),
        })
    }

    fn json(&self) -> String {
        let number = |it: Option<i64>| it.map_or("null".to_owned(), |it| it.to_string());
        let text = |it: &Option<String>| it.as_deref().map_or("null".to_owned(), quoted);
        object(&[
            ("name", quoted(&self.name)),
            ("session", quoted(&self.session)),
            ("owner", quoted(&self.owner)),
            ("next", quoted(&rfc3339(self.due))),
            ("every-ms", number(self.every)),
            ("cron", text(&self.cron)),
            ("zone", text(&self.zone)),
            ("missed", text(&self.missed)),
            ("paused", self.is_paused.to_string()),
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
            &(if row.is_paused { "paused".to_owned() } else { local_minute(row.due) }),
            &row.cron.clone().unwrap_or_else(|| row.every.map_or("once".to_owned(), span)),
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

/// Plans what the command line says.
fn add(addition: args::ScheduleAddition) -> Result<BridleExit, CommandFailure> {
    let text = |key, text: &str| (key, Value::str(text));
    let ms = |key, span: std::time::Duration| {
        (key, Value::int(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    };
    let payload = match &addition.payload {
        None => Value::plist([
            ("sensor", Value::keyword("user-prompt")),
            text("text", &addition.words.join(" ")),
        ]),
        Some(form) => {
            let tree = read_one(form).map_err(|error| {
                CommandFailure::new(BridleExit::Usage, format!("--payload: {error}"))
                    .hint("expected a plist such as `(:sensor :tea)`")
            })?;
            tree.root().to_value()
        }
    };
    let mut pairs = vec![text("name", &addition.name), ("payload", payload)];
    pairs.extend(addition.cron.as_deref().map(|cron| text("cron", cron)));
    pairs.extend(addition.zone.as_deref().map(|zone| text("zone", zone)));
    pairs.extend(addition.every.map(|span| ms("every", span)));
    pairs.extend(addition.after.map(|span| ms("in", span)));
    pairs.extend(addition.times.map(|times| ("times", Value::int(i64::from(times)))));
    pairs.push(("missed", Value::keyword(&addition.missed)));
    let targets = find(addition.peer)?;
    let ask = SystemRequest::Schedule(Value::plist(pairs));
    match system::ask_in(&targets, &addition.session, &ask)? {
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(done) => {
            let due =
                done.get("result").and_then(|result| result.get("due")).and_then(Value::as_i64);
            let next = due.map_or(String::new(), |due| format!(", next run {}", local_minute(due)));
            print(&format!(
                "added schedule {} to session {}{next}\n",
                addition.name, addition.session
            ))
        }
    }
}

/// Changes the only schedule that has a name.
fn change(
    choice: args::ScheduleChoice,
    change: ScheduleChange,
) -> Result<BridleExit, CommandFailure> {
    let args::ScheduleChoice { name, session, peer } = choice;
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
            .hint("`bridle schedule` lists schedules"));
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
    match system::ask_in(&targets, found, &change.request(name.clone()))? {
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(_) => {
            print(&format!("{} schedule {name} of session {found}\n", change.done()))
        }
    }
}
