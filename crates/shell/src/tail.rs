//! `bridle tail`: the events of a session, each once, with their numbers.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

use bridle_sexp::{Kind, Node};
use bridle_wire::oacp::ShellRole;

use crate::attach::{
    AttachOptions, ConnectionNotice, LostConnection, SessionEvent, SessionFollower, reader,
};
use crate::client::DaemonTarget;
use crate::error::ShellError;
use crate::screen::table::cut;
use crate::screen::{OutputScreen, local_minute, neutral_line, plain_json};

/// Events to print.
#[derive(Debug)]
pub struct TailOrder {
    /// Daemons to try, in order.
    pub targets: Vec<DaemonTarget>,
    /// The session.
    pub session: String,
    /// Events behind this number.
    pub after: u64,
    /// End of the output.
    pub until: TailEnd,
    /// Form of an event.
    pub output: TailOutput,
}

/// Condition that ends the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailEnd {
    /// At the last event that is there now.
    Head,
    /// Never: wait for more, across restarts of the daemon.
    Forever,
}

/// Form in which an event is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailOutput {
    /// `SEQ TIME KIND TEXT`, one line each; cut to the width of a terminal.
    Text(OutputScreen),
    /// The message as it came.
    Lisp,
    /// The message as JSON, one a line.
    Json,
}

/// Prints events; `tell` hears of lost connections.
///
/// # Errors
///
/// Nobody is there, the session is unknown, or the output cannot be written.
pub fn run(
    order: TailOrder,
    out: &mut dyn Write,
    tell: &mut dyn FnMut(ConnectionNotice<'_>),
) -> Result<(), ShellError> {
    let wish = AttachOptions {
        session: Some(order.session),
        cursor: Some(order.after),
        role: ShellRole::Observer,
        client: None,
    };
    let lost = match order.until {
        TailEnd::Head => LostConnection::End,
        TailEnd::Forever => LostConnection::AttachAgain,
    };
    let mut follower = SessionFollower::new(order.targets, wish, lost)?;
    let last = match order.until {
        TailEnd::Head => follower.head(),
        TailEnd::Forever => u64::MAX,
    };
    let mut line = String::new();
    while follower.seen() < last {
        let event = follower.next_event(tell)?;
        line.clear();
        write_event(&event, order.output, &mut line);
        line.push('\n');
        out.write_all(line.as_bytes()).map_err(ShellError::Write)?;
        // Whoever reads follows too; a pipe would keep the line until the next thousand.
        if order.until == TailEnd::Forever || follower.seen() >= last {
            out.flush().map_err(ShellError::Write)?;
        }
    }
    Ok(())
}

fn write_event(event: &SessionEvent, output: TailOutput, out: &mut String) {
    let tree = match reader().read_one(&event.text) {
        Ok(tree) if output != TailOutput::Lisp => tree,
        // The attachment has read its number, so it is a form.
        _ => return out.push_str(event.text.trim()),
    };
    match output {
        TailOutput::Json => out.push_str(&plain_json(&tree.root().to_value())),
        TailOutput::Text(screen) => {
            let line = people(event.seq, tree.root());
            match screen.width {
                Some(width) => out.push_str(&cut(&line, width)),
                None => out.push_str(&line),
            }
        }
        TailOutput::Lisp => out.push_str(event.text.trim()),
    }
}

/// One line: number, time, kind, and what was said.
fn people(seq: u64, message: Node<'_>) -> String {
    let meta = message.get("meta");
    let at = meta.and_then(|meta| meta.get("at")?.as_i64());
    let time = at.map_or_else(|| "-".to_owned(), local_minute);
    let payload = message.get("payload");
    let kind = kind_of(meta, payload);
    // Writing to a string cannot fail.
    let mut out = String::new();
    let _ = write!(out, "{seq:>6}  {time:<16}  {:<12}  ", neutral_line(&kind));
    let text = payload.and_then(said);
    match text {
        Some(text) => out.push_str(&neutral_line(&text)),
        None => out.push_str(&neutral_line(payload.map_or("", |payload| payload.source()))),
    }
    out.truncate(out.trim_end().len());
    out
}

/// The first name that the payload has for itself.
fn kind_of<'t>(meta: Option<Node<'t>>, payload: Option<Node<'t>>) -> Cow<'t, str> {
    let name = |key: &str| payload.and_then(|payload| payload.get(key)?.keyword());
    let is_answer = meta.is_some_and(|meta| meta.get("answers").is_some_and(|it| !it.is_nil()));
    if payload.and_then(|it| it.get("status")).is_some_and(|it| it.is_keyword("error")) {
        return "error".into();
    }
    if is_answer {
        return "answer".into();
    }
    name("sensor").or_else(|| name("action")).unwrap_or("message".into())
}

/// Text of an event, as a person would call it.
fn said(payload: Node<'_>) -> Option<Cow<'_, str>> {
    let keys = ["text", "message", "command"];
    let found = keys.into_iter().find_map(|key| payload.get(key));
    found.filter(|node| node.kind() == Kind::String)?.as_str()
}

#[cfg(test)]
mod tests;
