//! A guest: a thread that begins a session, says one thing in it, and has it forgotten, again and again,
//! over the owner's socket. Its request comes without a hello, so it must get exactly one answer. What it
//! was told is forgotten must stay so, whatever happens to the daemon in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridle_sexp::Value;

use super::line::{LineInput, OpenLine};
use super::patience::BoundedWait;
use super::shell::{ChaosShell, ScheduleBoard, ShellRoad};
use super::witness;

/// Longest wait for an answer on a connection that stands.
const ANSWER_WAIT: Duration = Duration::from_secs(20);

/// Pause between two visits.
const PAUSE: Duration = Duration::from_millis(5);

/// Knowledge of a guest at the end.
#[derive(Default)]
pub(crate) struct GuestShell {
    /// Sessions that are forgotten, as it was told.
    forgotten: Vec<String>,
}

impl GuestShell {
    /// Comes and goes until `stop`; an error is something that must never happen.
    pub(crate) fn run(mut self, board: &ScheduleBoard, stop: &AtomicBool) -> Result<Self, String> {
        for number in 1.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let session = format!("brief-{number}");
            let visit = self.visit(&session, board);
            let visit = visit.map_err(|what| format!("{what}\n{}", witness::daemon(board)))?;
            if visit == Some(true) {
                self.forgotten.push(session);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(self)
    }

    /// Counts the sessions that it had forgotten. Each must be unknown now.
    pub(crate) fn check(&self, board: &ScheduleBoard) -> Result<u64, String> {
        for session in &self.forgotten {
            let Some(mut line) = open(board) else { return Err("nobody listens".to_owned()) };
            let hello = ChaosShell::observer(session, ShellRoad::Unix).hello();
            let answer = ask(&mut line, &hello)?.ok_or("cut off in peace")?;
            let code = answer.get("payload").and_then(|payload| payload.get("code"));
            if !code.is_some_and(|code| code.is_keyword("unknown-session")) {
                return Err(format!("`{session}` was forgotten and is there: {answer}"));
            }
        }
        Ok(self.forgotten.len() as u64)
    }

    /// One session, from its beginning to its end. `None` when the connection broke.
    fn visit(&self, session: &str, board: &ScheduleBoard) -> Result<Option<bool>, String> {
        let Some(mut line) = open(board) else { return Ok(None) };
        let hello = ChaosShell::talker(session).hello();
        let Some(answer) = ask(&mut line, &hello)? else { return Ok(None) };
        if !succeeded(&answer)? {
            return Ok(Some(false));
        }
        let text = format!("echo {session}");
        let payload = [("sensor", Value::keyword("user-prompt")), ("text", Value::str(text))];
        let prompt = message("EVENT", payload);
        let Some(answer) = ask(&mut line, &prompt)? else { return Ok(None) };
        if !succeeded(&answer)? {
            return Ok(Some(false));
        }
        drop(line);
        let Some(mut line) = open(board) else { return Ok(None) };
        let payload = [("action", Value::keyword("forget")), ("session", Value::str(session))];
        let mut forget = vec![Value::keyword("target"), Value::keyword("system")];
        forget.extend(message("REQUEST", payload).elements().unwrap_or_default().iter().cloned());
        let Some(answer) = ask(&mut line, &Value::list(forget))? else { return Ok(None) };
        succeeded(&answer).map(Some)
    }
}

fn open(board: &ScheduleBoard) -> Option<OpenLine> {
    let mut line = OpenLine::open(&board.place(ShellRoad::Unix)?).ok()?;
    // The daemon's hello.
    wait(&mut line, |message| message.get("payload")?.get("action").cloned()).ok()??;
    Some(line)
}

fn message<const N: usize>(kind: &str, payload: [(&str, Value); N]) -> Value {
    Value::plist([
        ("type", Value::keyword(kind)),
        ("id", Value::int(1)),
        ("payload", Value::plist(payload)),
    ])
}

/// Sends a message and waits for its answer; `None` when the connection broke.
fn ask(line: &mut OpenLine, message: &Value) -> Result<Option<Value>, String> {
    if line.send(message).is_err() {
        return Ok(None);
    }
    let is_answer =
        |message: &Value| message.get("type").is_some_and(|it| it.is_keyword("RESPONSE"));
    wait(line, |message| is_answer(message).then(|| message.clone()))
}

fn wait<T>(line: &mut OpenLine, pick: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, String> {
    let mut patience = BoundedWait::new(ANSWER_WAIT);
    while !patience.is_over() {
        match line.hear()? {
            LineInput::Gone => return Ok(None),
            LineInput::Messages(messages) => {
                if let Some(found) = messages.iter().find_map(&pick) {
                    return Ok(Some(found));
                }
            }
        }
    }
    Err("a guest waits in vain".to_owned())
}

/// Whether an answer says so; an error must be one that passes.
fn succeeded(answer: &Value) -> Result<bool, String> {
    let payload = answer.get("payload").unwrap_or(&Value::Nil);
    if payload.get("status").is_some_and(|status| status.is_keyword("success")) {
        return Ok(true);
    }
    let code = payload.get("code").unwrap_or(&Value::Nil);
    // On a full disk forgetting fails; with another time it expires; of a daemon that died meanwhile
    // nobody knows.
    let fails = ["engine-failed", "expired", "unknown-outcome"];
    let passes = ["store-unavailable", "overloaded", "shutting-down"];
    if passes.iter().chain(&fails).any(|name| code.is_keyword(name)) {
        return Ok(false);
    }
    Err(format!("a guest is told {answer}"))
}
