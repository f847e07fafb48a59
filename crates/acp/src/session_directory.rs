//! Sessions of the daemon for `session/list`: the daemon's list, with folder and title read from the begin of each
//! session. Both are in the record and nowhere else, so what is forgotten there is not shown here.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bridle_sexp::{Value, read_one};
use bridle_shell::ShellError;
use bridle_shell::client::{DaemonClient, DaemonTarget};
use bridle_wire::oacp::{ClientHello, ShellRole};
use bridle_wire::time::rfc3339;

use crate::client_forms::{SESSION_NOTE, sessions};
use crate::daemon_event::{DaemonEvent, EventKind, text};
use crate::protocol::SessionInfo;
use crate::session_link::attached_to;

/// Sessions in a page.
const SESSIONS_PER_PAGE: usize = 50;

/// Sessions that one call looks into; a page may be short, and has a cursor then.
const MAX_GLANCES: usize = 200;

/// Events at the begin of a session that are looked at.
const MAX_EVENTS: u64 = 8;

/// Longest wait for them.
const GLANCE_TIMEOUT: Duration = Duration::from_millis(500);

/// Sessions whose begin is remembered.
const MAX_REMEMBERED: usize = 4_096;

/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 80;

/// Folder of a session that no editor began: the protocol wants one.
const NO_FOLDER: &str = "/";

/// Begin of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SessionBegin {
    folder: Option<String>,
    title: Option<String>,
}

/// Page of sessions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionPage {
    pub(crate) sessions: Vec<SessionInfo>,
    /// Continuation, if there is more.
    pub(crate) next: Option<String>,
}

/// Sessions of the daemon, with a memory of their begins.
#[derive(Debug, Default)]
pub(crate) struct SessionDirectory {
    begins: Mutex<BTreeMap<String, SessionBegin>>,
}

/// Place behind a session in the list, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListCursor {
    at: i64,
    session: String,
}

impl ListCursor {
    /// Reads a cursor; `None` for a text that is none.
    pub(crate) fn read(text: &str) -> Option<ListCursor> {
        let (at, session) = text.split_once(':')?;
        let is_name = !session.is_empty() && session.len() <= 64;
        let is_name =
            is_name && session.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        is_name.then(|| Some(ListCursor { at: at.parse().ok()?, session: session.to_owned() }))?
    }

    fn text(&self) -> String {
        format!("{}:{}", self.at, self.session)
    }
}

impl SessionDirectory {
    /// Lists a page of the sessions that this client may see.
    pub(crate) fn page(
        &self,
        targets: &[DaemonTarget],
        folder: Option<&str>,
        after: Option<&ListCursor>,
    ) -> Result<SessionPage, ShellError> {
        let mut client = DaemonClient::connect_any(targets)?;
        let answer = client.request(&sessions())?;
        let mut places = places(&answer);
        places.sort_by(|a, b| b.cmp(a));
        places.retain(|place| after.is_none_or(|after| place < after));
        let mut page = SessionPage { sessions: Vec::new(), next: None };
        for (looked, place) in places.iter().enumerate() {
            if page.sessions.len() == SESSIONS_PER_PAGE || looked == MAX_GLANCES {
                page.next = looked.checked_sub(1).map(|last| places[last].text());
                break;
            }
            let begin = self.begin(targets, &place.session);
            if folder.is_some() && begin.folder.as_deref() != folder {
                continue;
            }
            page.sessions.push(SessionInfo {
                session_id: place.session.clone(),
                cwd: begin.folder.unwrap_or_else(|| NO_FOLDER.to_owned()),
                title: begin.title,
                updated_at: Some(rfc3339(place.at)),
            });
        }
        Ok(page)
    }

    fn begin(&self, targets: &[DaemonTarget], session: &str) -> SessionBegin {
        let begins = || self.begins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(begin) = begins().get(session) {
            return begin.clone();
        }
        // A session that cannot be looked into is listed by its name.
        let begin = glance(targets, session).unwrap_or_default();
        let mut begins = begins();
        if begin.title.is_some() && begins.len() < MAX_REMEMBERED {
            begins.insert(session.to_owned(), begin.clone());
        }
        begin
    }
}

fn places(answer: &str) -> Vec<ListCursor> {
    let Ok(tree) = read_one(answer) else { return Vec::new() };
    let payload = tree.root().get("payload").map_or(Value::Nil, |it| it.to_value());
    let listed = payload.get("sessions").and_then(Value::elements).unwrap_or_default();
    let place = |it: &Value| {
        Some(ListCursor {
            at: it.get("at").and_then(Value::as_i64)?,
            session: text(it, "session")?,
        })
    };
    listed.iter().filter_map(place).collect()
}

/// Reads the first events of a session.
fn glance(targets: &[DaemonTarget], session: &str) -> Result<SessionBegin, ShellError> {
    let hello = ClientHello {
        session: Some(session.into()),
        cursor: Some(0),
        role: Some(ShellRole::Observer),
        ..ClientHello::default()
    };
    let (mut client, answer) = DaemonClient::introduce(targets, &hello)?;
    let last = attached_to(&answer).map_or(0, |(_, head)| head.min(MAX_EVENTS));
    let until = Instant::now() + GLANCE_TIMEOUT;
    let mut begin = SessionBegin::default();
    let mut seen = 0;
    while seen < last && begin.title.is_none() {
        let Ok(frame) = client.receive_within(until.saturating_duration_since(Instant::now()))
        else {
            return Ok(begin);
        };
        begin.folder = begin.folder.or_else(|| folder_of(&frame));
        let Some(event) = DaemonEvent::read(&frame) else { continue };
        if let EventKind::Prompt { text } = &event.kind {
            begin.title = Some(title(text));
        }
        seen = event.seq.unwrap_or(seen);
    }
    Ok(begin)
}

fn folder_of(frame: &str) -> Option<String> {
    let tree = read_one(frame).ok()?;
    let root = tree.root();
    let payload = root.get("type")?.is_keyword("log").then(|| root.get("payload"))??.to_value();
    let folder = text(&payload, "cwd").filter(|folder| folder.starts_with('/'));
    folder.filter(|_| text(&payload, "text").as_deref() == Some(SESSION_NOTE))
}

fn title(prompt: &str) -> String {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = bridle_shell::screen::neutral_line(line);
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((at, _)) => format!("{}\u{2026}", &line[..at]),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::ListCursor;

    #[test]
    fn cursors_are_read_as_they_were_written() {
        let cursor = ListCursor { at: 12, session: "s-1.a_b".to_owned() };
        assert_eq!(ListCursor::read(&cursor.text()), Some(cursor));
        for text in ["", "12", "12:", "x:s", "12:a/b", "12:a b"] {
            assert_eq!(ListCursor::read(text), None, "{text}");
        }
    }
}
