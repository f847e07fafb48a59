//! `bridle status`: one screen about everything that goes on: the daemon, its sessions, open questions, the model,
//! the memory, the jail. `--watch` shows it again whenever it changed.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use bridle_jail::JailCapabilities;
use bridle_sexp::{Value, read_one};
use bridle_shell::client::{DaemonClient, DaemonTarget};
use bridle_shell::screen::{
    OutputScreen, TableColumn, TextTable, local_minute, neutral_line, plain_json,
};
use bridle_shell::system::{SystemReply, SystemRequest, ask_context, ask_on};
use bridle_wire::time::rfc3339;

use super::jail::probed;
use super::memex_source::now_ms;
use super::output::{print, unwritten};
use super::talk::{find_by, is_named};
use crate::args::notes::OverviewArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Time between two looks of `--watch`.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Sessions on the screen: those that do something, then the latest.
const SHOWN_SESSIONS: usize = 8;

/// Clears the screen and goes to its beginning.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

pub(crate) fn run(args: OverviewArgs) -> Result<BridleExit, CommandFailure> {
    let OverviewArgs { watch, json, peer } = args;
    let settings = ResolvedSettings::resolve(&GivenFlags::from(peer.file.clone()))?;
    let is_own = !is_named(&peer);
    let targets = find_by(peer, &settings)?;
    let surroundings = Surroundings {
        thinker: is_own.then(|| settings.word("thinker")).flatten(),
        jail: probed().ok().map(|it| layer_name(&it)),
    };
    if !watch {
        let status = DaemonStatus::ask(&targets);
        let exit = if status.is_healthy() { BridleExit::Ok } else { status.exit() };
        let out = if json { status.json(&surroundings) + "\n" } else { status.text(&surroundings) };
        return print(&out).map(|_| exit);
    }
    let mut last = String::new();
    loop {
        let status = DaemonStatus::ask(&targets);
        let out = if json { status.json(&surroundings) + "\n" } else { status.text(&surroundings) };
        // What only counts up is no news.
        let news = status.without_clock(&surroundings, json);
        if news != last {
            let clear = if json || !OutputScreen::of_stdout().is_terminal() { "" } else { CLEAR };
            let mut stdout = io::stdout().lock();
            stdout
                .write_all(format!("{clear}{out}").as_bytes())
                .and_then(|()| stdout.flush())
                .map_err(|error| unwritten(&error))?;
            last = news;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The layer in force, with the number of its promises.
fn layer_name(jail: &JailCapabilities) -> String {
    let held = jail.promises.iter().filter(|it| it.held).count();
    let layer = jail.layer.map_or_else(|| "none".to_owned(), |it| it.to_string());
    format!("{layer}, {held} of {} promises held", jail.promises.len())
}

/// Facts that are known without the daemon.
struct Surroundings {
    thinker: Option<String>,
    jail: Option<String>,
}

/// Answers of the daemon to everything that is shown.
struct DaemonStatus {
    /// Reason why nobody answers; the rest is empty then.
    absent: Option<String>,
    address: String,
    health: Value,
    sessions: Vec<Value>,
    approvals: Vec<Value>,
    memory: Option<Value>,
    at: i64,
}

impl DaemonStatus {
    fn ask(targets: &[DaemonTarget]) -> DaemonStatus {
        let mut status = DaemonStatus {
            absent: None,
            address: String::new(),
            health: Value::Nil,
            sessions: Vec::new(),
            approvals: Vec::new(),
            memory: None,
            at: now_ms(),
        };
        if let Err(error) = status.fill(targets) {
            status.absent = Some(error.to_string());
        }
        status
    }

    fn fill(&mut self, targets: &[DaemonTarget]) -> Result<(), bridle_shell::ShellError> {
        let mut client = DaemonClient::connect_any(targets)?;
        self.address = client.addr().to_string();
        let answer = client.request("(:type :health-check :detail t)")?;
        self.health = read_one(&answer).map_or(Value::Nil, |tree| tree.root().to_value());
        let mut listed =
            |ask: &SystemRequest, key: &str| -> Result<Vec<Value>, bridle_shell::ShellError> {
                Ok(match ask_on(&mut client, ask)? {
                    SystemReply::Done(told) => {
                        told.get(key).and_then(Value::elements).unwrap_or_default().to_vec()
                    }
                    SystemReply::Not(_) => Vec::new(),
                })
            };
        self.sessions = listed(&SystemRequest::Sessions, "sessions")?;
        self.approvals = listed(&SystemRequest::Approvals, "approvals")?;
        let memory = Value::plist([("action", Value::keyword("memex-status"))]);
        if let SystemReply::Done(told) = ask_context(targets, memory)? {
            self.memory = Some(told);
        }
        Ok(())
    }

    fn word(&self) -> &str {
        let word = self.health.get("status").and_then(Value::as_keyword);
        if self.absent.is_some() { "absent" } else { word.unwrap_or("unknown") }
    }

    fn is_healthy(&self) -> bool {
        self.word() == "healthy"
    }

    fn exit(&self) -> BridleExit {
        if self.absent.is_some() { BridleExit::Unavailable } else { BridleExit::Answered }
    }

    fn detail(&self, key: &str) -> Option<&Value> {
        self.health.get("detail").and_then(|it| it.get(key))
    }

    /// Counts the sessions that are in one of these states.
    fn count(&self, states: &[&str]) -> usize {
        self.sessions.iter().filter(|it| states.contains(&self.state(it))).count()
    }

    /// State of a session: the daemon's word, and `parked` where nothing goes on while a question is open.
    fn state<'v>(&'v self, session: &'v Value) -> &'v str {
        let name = session.get("session").and_then(Value::as_str).unwrap_or_default();
        let waits = self.approvals.iter().filter_map(|it| it.get("approval")?.as_str());
        let is_asked =
            waits.filter_map(|id| id.rsplit_once('-')).any(|(session, _)| session == name);
        match session.get("state").and_then(Value::as_keyword).unwrap_or("idle") {
            "idle" if is_asked => "parked",
            word => word,
        }
    }

    fn json(&self, around: &Surroundings) -> String {
        let optional = |text: &Option<String>| text.as_deref().map_or("null".to_owned(), quoted);
        let list = |values: &[Value]| {
            format!("[{}]", values.iter().map(plain_json).collect::<Vec<_>>().join(","))
        };
        let server = self.detail("server").and_then(Value::as_str).map(str::to_owned);
        let uptime = self.detail("uptime-seconds").and_then(Value::as_i64);
        object(&[
            ("status", quoted(self.word())),
            ("why", optional(&self.absent)),
            ("address", quoted(&self.address)),
            ("server", optional(&server)),
            ("uptime-seconds", uptime.map_or("null".to_owned(), |it| it.to_string())),
            ("running", self.count(&["thinking", "acting"]).to_string()),
            ("waiting", self.count(&["asking", "parked"]).to_string()),
            ("parked", self.count(&["parked"]).to_string()),
            ("sessions", list(&self.sessions)),
            ("approvals", list(&self.approvals)),
            ("thinker", optional(&around.thinker)),
            ("memory", self.memory.as_ref().map_or("null".to_owned(), plain_json)),
            ("jail", optional(&around.jail)),
            ("at", quoted(&rfc3339(self.at))),
        ])
    }

    /// Text that is shown, without the clock and the counters that run by themselves.
    fn without_clock(&self, around: &Surroundings, json: bool) -> String {
        let still = DaemonStatus {
            absent: self.absent.clone(),
            address: self.address.clone(),
            health: Value::plist([("status", Value::keyword(self.word()))]),
            sessions: self.sessions.clone(),
            approvals: self.approvals.clone(),
            memory: self.memory.clone(),
            at: 0,
        };
        if json { still.json(around) } else { still.text(around) }
    }

    fn text(&self, around: &Surroundings) -> String {
        let mut out = String::new();
        self.push_daemon(&mut out);
        if self.absent.is_none() {
            let all = self.sessions.len();
            let (running, waiting) = (self.count(&["thinking", "acting"]), self.count(&["asking"]));
            let parked = self.count(&["parked"]);
            let _ = writeln!(
                out,
                "sessions   {all}: {running} running, {} waiting for you ({parked} parked)",
                waiting + parked
            );
            match self.approvals.len() {
                0 => out.push_str("approvals  none open\n"),
                open => {
                    let _ = writeln!(out, "approvals  {open} open: bridle approvals");
                }
            }
            out.push_str(&self.memory_line());
        }
        if let Some(thinker) = &around.thinker {
            let _ = writeln!(out, "thinker    {}", neutral_line(thinker));
        }
        let jail = around.jail.as_deref().unwrap_or("unknown: bridle sandbox explain says why");
        let _ = writeln!(out, "jail       {jail}");
        self.push_sessions(&mut out);
        out
    }

    fn push_daemon(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match &self.absent {
            Some(why) => writeln!(
                out,
                "daemon     does not answer; start it: bridle up\n           {}",
                neutral_line(why)
            ),
            None => {
                let server = self.detail("server").and_then(Value::as_str).unwrap_or("bridle");
                let uptime = self.detail("uptime-seconds").and_then(Value::as_i64);
                let uptime = uptime.map(|it| format!(", up {}", span(it))).unwrap_or_default();
                let (word, server) = (neutral_line(self.word()), neutral_line(server));
                writeln!(
                    out,
                    "daemon     {word}, {server}{uptime}, {}",
                    neutral_line(&self.address)
                )
            }
        };
    }

    fn memory_line(&self) -> String {
        let Some(memory) = &self.memory else {
            return "memory     no Org folder: bridle setup\n".to_owned();
        };
        let text = |key: &str| memory.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| memory.get(key).and_then(Value::as_i64).unwrap_or_default();
        let state = memory.get("state").and_then(Value::as_keyword).unwrap_or("unknown");
        let skipped = match number("skipped-count") {
            0 => String::new(),
            count => format!(", {count} not read"),
        };
        let line = format!(
            "memory     {state}, {} files, {} headings{skipped}  {}",
            number("files"),
            number("headings"),
            text("folder")
        );
        format!("{}\n", neutral_line(line.trim_end()))
    }

    /// The sessions that do something, then the latest ones.
    fn push_sessions(&self, out: &mut String) {
        let mut rows: Vec<&Value> = self.sessions.iter().collect();
        rows.sort_by_key(|it| self.state(it) == "idle");
        let mut table = TextTable::new([
            TableColumn::text("SESSION").shrinks(),
            TableColumn::text("STATE"),
            TableColumn::number("EVENTS").optional(),
            TableColumn::number("SHELLS").optional(),
            TableColumn::text("LAST USED"),
        ]);
        for row in rows.iter().take(SHOWN_SESSIONS) {
            let number = |key: &str| row.get(key).and_then(Value::as_i64).unwrap_or_default();
            table.push_row([
                row.get("session").and_then(Value::as_str).unwrap_or_default(),
                self.state(row),
                &number("seq").to_string(),
                &number("shells").to_string(),
                &local_minute(number("at")),
            ]);
        }
        if !table.is_empty() {
            let _ = write!(out, "\n{}", table.render(OutputScreen::of_stdout(), ""));
        }
        if rows.len() > SHOWN_SESSIONS {
            let _ = writeln!(out, "and {} more: bridle sessions", rows.len() - SHOWN_SESSIONS);
        }
    }
}

/// A span of time in its largest unit.
fn span(seconds: i64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let unit = units.iter().find(|(size, _)| seconds >= *size);
    unit.map_or_else(|| format!("{seconds} s"), |(size, unit)| format!("{} {unit}", seconds / size))
}
