//! A shell of a schedule, one thread each: says numbered things, asks for receipts, says again what was
//! not acknowledged, is cut off, comes back with its cursor, and writes down everything it hears. What it
//! must never hear (a number twice, out of order, after a gap; a second answer) ends its schedule. The
//! auditor is a shell too, one that says nothing and starts at zero.

mod foreign;
mod saying;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bridle_sexp::Value;

use super::line::{LineInput, ListenPlace, OpenLine};
use super::patience::BoundedWait;
use super::random::SplitMix;
use super::witness;
pub(crate) use foreign::ClientLanguage;
pub(crate) use saying::{SayingKind, ShellSaying};

/// The actuator that the first shell of a session offers.
pub(crate) const BELL: &str = "bell";

/// Things said and not yet acknowledged, at most.
const IN_FLIGHT: usize = 6;

/// Pause before saying again what was refused for now, and between attempts to connect.
const AGAIN: Duration = Duration::from_millis(15);
const RECONNECT: Duration = Duration::from_millis(3);

/// Longest wait for the answer to a hello on a connection that stands.
const HELLO_WAIT: Duration = Duration::from_secs(20);

/// A daemon that is up: where it listens, and what a witness needs.
#[derive(Debug, Clone)]
pub(crate) struct RunningDaemon {
    pub(crate) tcp: ListenPlace,
    pub(crate) unix: ListenPlace,
    pub(crate) pid: u32,
    /// Folder of its files.
    pub(crate) folder: PathBuf,
}

/// State that the threads of a schedule share.
#[derive(Default)]
pub(crate) struct ScheduleBoard {
    /// The daemon that runs now.
    running: Mutex<Option<RunningDaemon>>,
    /// Time is up: everybody goes home.
    pub(crate) stop: AtomicBool,
    /// The last number of each session, once everything is said: who has it may go.
    goals: Mutex<BTreeMap<String, u64>>,
}

impl ScheduleBoard {
    pub(crate) fn set_running(&self, running: Option<RunningDaemon>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    pub(crate) fn running(&self) -> Option<RunningDaemon> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_goal(&self, session: &str, seq: u64) {
        self.goals.lock().unwrap_or_else(PoisonError::into_inner).insert(session.to_owned(), seq);
    }

    pub(crate) fn place(&self, road: ShellRoad) -> Option<ListenPlace> {
        let running = self.running()?;
        Some(if road == ShellRoad::Tcp { running.tcp } else { running.unix })
    }

    fn goal(&self, session: &str) -> Option<u64> {
        self.goals.lock().unwrap_or_else(PoisonError::into_inner).get(session).copied()
    }
}

/// By which socket a session is reached. A TCP peer without a key is another principal than the owner,
/// so all shells of a session take the same road.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellRoad {
    Tcp,
    Unix,
}

/// Offer of a shell in its hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellPart {
    /// Says things and carries out requests to the bell.
    Ringer,
    /// Says things.
    Talker,
    /// Only listens.
    Observer,
}

/// A shell and everything it knows.
pub(crate) struct ChaosShell {
    pub(crate) name: String,
    pub(crate) session: String,
    pub(crate) road: ShellRoad,
    pub(crate) part: ShellPart,
    pub(crate) sayings: Vec<ShellSaying>,
    /// Percent of writes that are cut short together with the connection.
    pub(crate) cuts: u64,
    pub(crate) random: SplitMix,
    pub(crate) notes: HeardNumbers,
    /// Everything said is acknowledged and answered; read by the conductor.
    pub(crate) done: Arc<AtomicBool>,
}

/// Numbered things that were heard.
#[derive(Default)]
pub(crate) struct HeardNumbers {
    /// Numbered messages, by number.
    pub(crate) events: BTreeMap<u64, Value>,
    /// Numbers of own sayings, told by receipts.
    own: BTreeSet<u64>,
    /// The last number of the session, as the last hello answer said.
    pub(crate) head: u64,
    /// Requests that were answered, until their outcome is heard.
    rung: BTreeMap<String, Value>,
    /// Effects that somebody was asked for and that have no outcome yet.
    open: BTreeSet<String>,
    /// Requests that were carried out.
    pub(crate) rings: BTreeSet<String>,
}

/// Reason why a connection is over.
enum ConnectionOver {
    /// The connection was cut, by either side.
    Cut,
    /// The shell may go home.
    Home,
}

/// A connection as one shell sees it.
struct ShellVisit {
    line: OpenLine,
    /// Counts connections, to know what was said on this one.
    number: u64,
    /// For the answer to our hello.
    patience: BoundedWait,
    /// The daemon has answered our hello.
    attached: bool,
    /// The daemon has said its own.
    greeted: bool,
    /// Result of sending our message.
    said: io::Result<()>,
}

impl ShellVisit {
    /// Says hello before the daemon has. A connection over TCP that was made while a listener closed
    /// may have nobody at its other end, and no reset ever comes: Linux drops such a handshake in its
    /// last step without a word. Only who sends something finds out.
    fn begin(mut line: OpenLine, number: u64, hello: &Value) -> Self {
        // A broken connection shows at the next look at it.
        let said = line.send(hello);
        let patience = BoundedWait::new(HELLO_WAIT);
        Self { line, number, patience, attached: false, greeted: false, said }
    }

    /// Describes a hello that nobody answers.
    fn unanswered(&self, road: ShellRoad, board: &ScheduleBoard) -> String {
        let greeted =
            if self.greeted { "the daemon said its hello" } else { "the daemon said nothing" };
        let said = match &self.said {
            Ok(()) => "ours was said".to_owned(),
            Err(error) => format!("ours could not be said: {error}"),
        };
        let ends = witness::ends(self.line.ends());
        let daemon = witness::daemon(board);
        format!("no answer to the hello over {road:?}: {greeted}, {said}; {ends}\n{daemon}")
    }
}

impl ChaosShell {
    /// A shell that says nothing yet.
    pub(crate) fn new(name: String, session: &str, road: ShellRoad, part: ShellPart) -> Self {
        Self {
            name,
            session: session.to_owned(),
            road,
            part,
            sayings: Vec::new(),
            cuts: 0,
            random: SplitMix::new(0),
            notes: HeardNumbers::default(),
            done: Arc::default(),
        }
    }

    /// One that hears a session from its beginning to where it ends now.
    pub(crate) fn observer(session: &str, road: ShellRoad) -> Self {
        Self::new("auditor".to_owned(), session, road, ShellPart::Observer)
    }

    /// One that may begin a session and leave it.
    pub(crate) fn talker(session: &str) -> Self {
        Self::new("guest".to_owned(), session, ShellRoad::Unix, ShellPart::Talker)
    }

    /// Describes what is still open, for the report of a schedule that did not end.
    pub(crate) fn unfinished(&self) -> Option<String> {
        let open: Vec<String> =
            self.sayings.iter().filter(|saying| !saying.is_over()).map(ShellSaying::fate).collect();
        let (name, session) = (&self.name, &self.session);
        let (cursor, head) = (self.cursor(), self.notes.head);
        let known = format!("knows {cursor} numbers, attached last at {head}");
        (!open.is_empty()).then(|| format!("{name} in {session} {known}: {}", open.join(", ")))
    }

    /// Lives until everything is heard, or time is up. An error is something that must never happen.
    pub(crate) fn run(mut self, board: &ScheduleBoard) -> Result<Self, String> {
        let mut number = 0;
        while !board.stop.load(Ordering::Relaxed) {
            let line = board.place(self.road).and_then(|place| OpenLine::open(&place).ok());
            let Some(line) = line else {
                std::thread::sleep(RECONNECT);
                continue;
            };
            number += 1;
            match self.visit(ShellVisit::begin(line, number, &self.hello()), board) {
                Ok(ConnectionOver::Cut) => std::thread::sleep(RECONNECT),
                Ok(ConnectionOver::Home) => return Ok(self),
                Err(what) => {
                    return Err(format!("{} in {}: {what}", self.name, self.session));
                }
            }
        }
        Ok(self)
    }

    /// The highest number up to which everything is known.
    pub(crate) fn cursor(&self) -> u64 {
        let mut cursor = 0;
        while self.knows(cursor + 1) {
            cursor += 1;
        }
        cursor
    }

    fn knows(&self, seq: u64) -> bool {
        self.notes.events.contains_key(&seq) || self.notes.own.contains(&seq)
    }

    fn visit(
        &mut self,
        mut visit: ShellVisit,
        board: &ScheduleBoard,
    ) -> Result<ConnectionOver, String> {
        loop {
            if board.stop.load(Ordering::Relaxed) {
                return Ok(ConnectionOver::Home);
            }
            match visit.line.hear()? {
                LineInput::Gone => return Ok(ConnectionOver::Cut),
                LineInput::Messages(messages) => {
                    for message in messages {
                        self.take(&message, &mut visit)
                            .map_err(|why| format!("{why}: {message}"))?;
                    }
                }
            }
            if self.sayings.iter().all(ShellSaying::is_over) && self.notes.open.is_empty() {
                self.done.store(true, Ordering::Relaxed);
                if board.goal(&self.session).is_some_and(|goal| self.cursor() >= goal) {
                    return Ok(ConnectionOver::Home);
                }
            }
            if visit.attached {
                if self.part == ShellPart::Observer && self.cursor() >= self.notes.head {
                    return Ok(ConnectionOver::Home);
                }
                if self.random.chance(self.cuts / 4) || !self.speak(&mut visit) {
                    visit.line.cut();
                    return Ok(ConnectionOver::Cut);
                }
            } else if visit.patience.is_over() {
                return Err(visit.unanswered(self.road, board));
            }
        }
    }

    /// Says what is due; false when the connection broke, or was broken.
    fn speak(&mut self, visit: &mut ShellVisit) -> bool {
        let waiting = self.sayings.iter().filter(|saying| saying.waits_on(visit.number)).count();
        let mut room = IN_FLIGHT.saturating_sub(waiting);
        for index in 0..self.sayings.len() {
            if room == 0 {
                return true;
            }
            let now = Instant::now();
            if !self.sayings[index].is_due(visit.number, now) {
                continue;
            }
            if self.sayings[index].is_new() && !self.random.chance(30) {
                return true;
            }
            let message = self.sayings[index].say(visit.number);
            if !self.write(visit, &message) {
                return false;
            }
            room -= 1;
        }
        true
    }

    /// Writes a message, or only its beginning and then nothing more.
    fn write(&mut self, visit: &mut ShellVisit, message: &Value) -> bool {
        let bytes = visit.line.frame(message);
        if self.random.chance(self.cuts) {
            let part = self.random.index(bytes.len());
            // Cut in any case.
            let _ = visit.line.write(&bytes[..part]);
            return false;
        }
        visit.line.write(&bytes).is_ok()
    }

    /// Understands one message of the daemon.
    fn take(&mut self, message: &Value, visit: &mut ShellVisit) -> Result<(), String> {
        let kind = |name: &str| message.get("type").is_some_and(|kind| kind.is_keyword(name));
        let payload = message.get("payload").unwrap_or(&Value::Nil);
        let says = |key: &str, name: &str| payload.get(key).is_some_and(|it| it.is_keyword(name));
        let seq = number(message.get("meta").and_then(|meta| meta.get("seq")));
        if !visit.greeted {
            if !says("action", "handshake") {
                return refused_at_the_door(payload);
            }
            visit.greeted = true;
            return Ok(());
        }
        if kind("RESPONSE") && says("action", "handshake") {
            return self.attach(payload, visit);
        }
        if kind("STATUS") && says("status", "admitted") {
            return self.receipt(message, payload);
        }
        if let Some(seq) = seq {
            if !visit.attached {
                return Err("a number before the hello was answered".to_owned());
            }
            // A request that is still open is offered again to a shell that came back.
            let offered_again = kind("REQUEST") && self.notes.events.contains_key(&seq);
            if !offered_again {
                self.numbered(seq, message)?;
            }
            return if kind("REQUEST") { self.ring(message, visit) } else { Ok(()) };
        }
        if kind("RESPONSE") && says("status", "error") {
            return self.refused(message, payload, visit);
        }
        // What a thought has shown is taken back where the thought was lost.
        if kind("STATUS") || says("action", "delta") || says("action", "voided") {
            return Ok(());
        }
        Err("not expected".to_owned())
    }

    pub(crate) fn hello(&self) -> Value {
        let keyword = Value::keyword;
        let mut fields = vec![
            ("action", keyword("handshake")),
            ("version", Value::str("0.3.0")),
            ("length", keyword("bytes")),
            ("client", Value::str(self.client())),
            ("session", Value::str(self.session.as_str())),
            ("cursor", integer(self.cursor())),
            ("shell", keyword("chaos")),
            ("receipts", Value::T),
        ];
        match self.part {
            ShellPart::Ringer => fields.push(("actuators", Value::list([keyword(BELL)]))),
            ShellPart::Talker => {}
            ShellPart::Observer => fields.push(("role", keyword("observer"))),
        }
        Value::plist([("type", keyword("EVENT")), ("payload", Value::plist(fields))])
    }

    /// A stable id in the form of a uuid.
    pub(crate) fn client(&self) -> String {
        let digits: u64 =
            self.name.bytes().fold(7, |sum, byte| sum.wrapping_mul(131).wrapping_add(byte.into()));
        format!("00000000-0000-4000-8000-{:012x}", digits & 0xFFFF_FFFF_FFFF)
    }

    fn attach(&mut self, payload: &Value, visit: &mut ShellVisit) -> Result<(), String> {
        let session = payload.get("session").and_then(Value::as_str);
        if session != Some(&self.session) {
            return Err(format!("expected session `{}`", self.session));
        }
        let head = number(payload.get("seq")).ok_or("a hello answer without `:seq`")?;
        if head < self.cursor() {
            return Err(format!("the session ends before number {}, heard before", self.cursor()));
        }
        self.notes.head = head;
        visit.attached = true;
        let again: Vec<Value> = self.notes.rung.values().cloned().collect();
        for response in again {
            let _ = visit.line.send(&response);
        }
        Ok(())
    }

    fn receipt(&mut self, message: &Value, payload: &Value) -> Result<(), String> {
        let seq = number(payload.get("seq")).ok_or("a receipt without `:seq`")?;
        let saying =
            saying::find(&mut self.sayings, message).ok_or("a receipt for nothing said")?;
        saying.admit(seq)?;
        self.notes.own.insert(seq);
        Ok(())
    }

    fn numbered(&mut self, seq: u64, message: &Value) -> Result<(), String> {
        let meta = message.get("meta").unwrap_or(&Value::Nil);
        if meta.get("session").and_then(Value::as_str) != Some(&self.session) {
            return Err("an event of another session".to_owned());
        }
        let last = self.notes.events.last_key_value().map_or(0, |(last, _)| *last);
        if seq <= last {
            return Err(format!("number {seq} after number {last}"));
        }
        if let Some(missing) = (last + 1..seq).find(|seq| !self.knows(*seq)) {
            return Err(format!("number {missing} is missing before number {seq}"));
        }
        let kind = |name: &str| message.get("type").is_some_and(|kind| kind.is_keyword(name));
        if kind("RESPONSE") {
            let answers = number(meta.get("answers")).ok_or("an answer without `:answers`")?;
            let saying =
                saying::find(&mut self.sayings, message).ok_or("an answer to nothing said")?;
            saying.answer(seq, answers)?;
        }
        let payload = message.get("payload").unwrap_or(&Value::Nil);
        if let Some(effect) = payload.get("effect").and_then(Value::as_str) {
            if payload.get("action").is_some_and(|action| action.is_keyword("asked")) {
                self.notes.open.insert(effect.to_owned());
            } else {
                self.notes.open.remove(effect);
                self.notes.rung.remove(effect);
            }
        }
        self.notes.events.insert(seq, message.clone());
        Ok(())
    }

    /// Carries a request out, if it is new, and answers it.
    fn ring(&mut self, request: &Value, visit: &mut ShellVisit) -> Result<(), String> {
        let id = request.get("id").and_then(Value::as_str).ok_or("a request without an id")?;
        self.notes.rings.insert(id.to_owned());
        let response = Value::plist([
            ("type", Value::keyword("RESPONSE")),
            ("id", Value::str(id)),
            ("payload", Value::plist([("status", Value::keyword("success"))])),
        ]);
        self.notes.rung.insert(id.to_owned(), response.clone());
        // The next look at the connection shows that it is gone; the answer is then said again.
        if !self.write(visit, &response) {
            visit.line.cut();
        }
        Ok(())
    }

    fn refused(
        &mut self,
        message: &Value,
        payload: &Value,
        visit: &ShellVisit,
    ) -> Result<(), String> {
        let code = payload.get("code").unwrap_or(&Value::Nil);
        if let Some(saying) = saying::find(&mut self.sayings, message) {
            let again = ["store-unavailable", "overloaded", "shutting-down"];
            if again.iter().any(|name| code.is_keyword(name)) {
                saying.refuse(Instant::now() + AGAIN);
                return Ok(());
            }
            return Err("refused for good".to_owned());
        }
        // A request answered twice, because the first answer's outcome was not heard before a cut; or a
        // hello while the disk is full or the daemon ends.
        let for_now = ["unknown-id", "store-unavailable", "overloaded", "shutting-down"];
        if for_now.iter().any(|name| code.is_keyword(name)) {
            if code.is_keyword("unknown-id")
                && let Some(id) = message.get("id").and_then(Value::as_str)
            {
                self.notes.rung.remove(id);
            }
            if !visit.attached {
                visit.line.cut();
            }
            return Ok(());
        }
        Err("an error for nothing said".to_owned())
    }
}

/// Instead of its hello a daemon may say that it ends, or serves as many as it can.
fn refused_at_the_door(payload: &Value) -> Result<(), String> {
    let code = payload.get("code").unwrap_or(&Value::Nil);
    let for_now = ["shutting-down", "too-many-connections"];
    if for_now.iter().any(|name| code.is_keyword(name)) {
        return Ok(());
    }
    Err("expected the daemon's hello".to_owned())
}

pub(crate) fn number(value: Option<&Value>) -> Option<u64> {
    value?.as_i64().and_then(|number| u64::try_from(number).ok())
}

fn integer(number: u64) -> Value {
    Value::int(i64::try_from(number).expect("numbers of a short test"))
}

#[cfg(test)]
mod tests;
