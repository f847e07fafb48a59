//! Questions to the daemon beside the conversation, each on a connection of its own: the sessions to
//! pick from, and grants.

use std::time::Duration;

use bridle_sexp::Value;
use bridle_shell::ShellError;
use bridle_shell::system::{self, SystemReply, SystemRequest};

use bridle_wire::oacp::{ClientHello, ShellRole};

use crate::event::{GrantOffer, GrantScopeOffer, SessionEntry};
use crate::link::{LinkRoute, head_of};
use crate::message::{self, DaemonNews, EventBody, EventHead};
use crate::notebook::FolderSession;
use crate::style::{StyledLine, TextStyle};
use crate::transcript::{self, EventAge};

/// Sessions without a title that are looked into for one list.
const MAX_GLANCES: usize = 30;

/// Events of a session among which its title is.
const GLANCE_EVENTS: u64 = 8;

/// Lines of a session that are shown on the other screen.
const MAX_REPLAYED_LINES: usize = 200_000;

/// Longest wait for the next event of a session.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Time that a grant from here holds.
const GRANT_SPAN: &str = "7d";

/// Sessions of the daemon, the latest first, with the titles that this user's notebook has.
///
/// # Errors
/// Nobody answers.
pub fn sessions(
    route: &LinkRoute,
    known: &[FolderSession],
) -> Result<Vec<SessionEntry>, ShellError> {
    let told = match system::ask_on(&mut route.plain()?, &SystemRequest::Sessions)? {
        SystemReply::Done(told) => told,
        SystemReply::Not(_) => Value::Nil,
    };
    let listed = told.get("sessions").and_then(Value::elements).unwrap_or_default();
    let entry = |it: &Value| {
        let name = it.get("session")?.as_str()?.to_owned();
        let number = |key| it.get(key).and_then(Value::as_i64).unwrap_or_default();
        let title = known.iter().find(|known| known.session == name);
        Some(SessionEntry {
            title: title.map(|it| it.title.clone()).unwrap_or_default(),
            name,
            at: number("at"),
            events: u64::try_from(number("seq")).unwrap_or_default(),
        })
    };
    // A session without an event is one that somebody opened and left.
    let mut entries: Vec<SessionEntry> =
        listed.iter().filter_map(entry).filter(|it| it.events > 0).collect();
    let untitled = entries.iter_mut().filter(|it| it.title.is_empty());
    // Over ssh each glance would be a connection of its own.
    if matches!(route, LinkRoute::Targets(_)) {
        untitled.take(MAX_GLANCES).for_each(|it| it.title = title_of(route, &it.name));
    }
    Ok(entries)
}

/// First prompt of a session that this user's notebook does not have; empty when it is not among the first events.
fn title_of(route: &LinkRoute, session: &str) -> String {
    let mut title = String::new();
    // One that cannot be looked into is listed by its name.
    let _ = read_events(route, session, GLANCE_EVENTS, |_, body| {
        if let EventBody::Prompt(text) = body {
            title = text.lines().next().unwrap_or_default().chars().take(80).collect();
        }
        title.is_empty()
    });
    title
}

/// Lines of a whole session, with their title.
///
/// # Errors
/// A sentence: nobody answers, or there is no such session.
pub fn replay(
    route: &LinkRoute,
    session: &str,
    columns: usize,
) -> Result<(String, Vec<StyledLine>), String> {
    let mut lines = Vec::new();
    let read = read_events(route, session, u64::MAX, |head, body| {
        lines.extend(transcript::event_lines(head, body, columns, EventAge::New));
        lines.len() < MAX_REPLAYED_LINES
    });
    read.map_err(|error| error.to_string())?;
    if lines.len() >= MAX_REPLAYED_LINES {
        let more = format!("⋮ more: bridle tail --session {session}");
        lines.push(StyledLine::of(&more, TextStyle::DIM));
    }
    Ok((format!("{session} from its beginning"), lines))
}

/// Reads the first events of a session as an observer, until `take` has enough.
fn read_events(
    route: &LinkRoute,
    session: &str,
    most: u64,
    mut take: impl FnMut(&EventHead, &EventBody) -> bool,
) -> Result<(), ShellError> {
    let hello = ClientHello {
        session: Some(session.into()),
        cursor: Some(0),
        role: Some(ShellRole::Observer),
        version: Some(bridle_wire::oacp::VERSION.into()),
        length: Some(bridle_wire::frame::LengthUnit::Bytes),
        ..ClientHello::default()
    };
    let (mut client, answer) = route.introduced(&hello)?;
    let last = head_of(&answer).min(most);
    let mut seen = 0;
    while seen < last {
        let frame = client.receive_within(READ_TIMEOUT)?;
        let Some(DaemonNews::Event(head, body)) = message::read(&frame) else { continue };
        seen = head.seq;
        if !take(&head, &body) {
            break;
        }
    }
    Ok(())
}

/// Scopes in which a question could be allowed from now on. The error is a sentence.
///
/// # Errors
/// Nobody answers, or the daemon makes no such grant.
pub fn preview_grant(route: &LinkRoute, approval: &str) -> Result<GrantOffer, String> {
    let told = ask(route, approval, None, None)?;
    let scopes = told.get("scopes").and_then(Value::elements).unwrap_or_default();
    let offer = |it: &Value| {
        let number = |key| it.get(key).and_then(Value::as_i64).unwrap_or_default();
        let examples = it.get("examples").and_then(Value::elements).unwrap_or_default();
        Some(GrantScopeOffer {
            scope: it.get("scope")?.as_keyword()?.to_ascii_lowercase(),
            sentence: it.get("sentence")?.as_str()?.to_owned(),
            matched: number("matched"),
            decisions: number("decisions"),
            examples: examples.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    };
    Ok(GrantOffer {
        approval: approval.to_owned(),
        hash: told.get("hash").and_then(Value::as_str).map(str::to_owned),
        scopes: scopes.iter().filter_map(offer).collect(),
    })
}

/// Says yes and makes the grant; returns its sentence.
///
/// # Errors
/// A sentence: nobody answers, or the daemon refuses.
pub fn write_grant(
    route: &LinkRoute,
    approval: &str,
    scope: &str,
    hash: Option<String>,
) -> Result<String, String> {
    let told = ask(route, approval, Some(scope.to_owned()), hash)?;
    let sentence = told.get("sentence").and_then(Value::as_str).unwrap_or("the grant is made");
    Ok(sentence.to_owned())
}

/// Without a scope nothing is done yet.
fn ask(
    route: &LinkRoute,
    approval: &str,
    scope: Option<String>,
    hash: Option<String>,
) -> Result<Value, String> {
    let is_preview = scope.is_none();
    let approval = approval.to_owned();
    let wanted =
        SystemRequest::Grant { approval, scope, span: GRANT_SPAN.to_owned(), hash, is_preview };
    let reply = route.plain().and_then(|mut client| system::ask_on(&mut client, &wanted));
    match reply.map_err(|error| error.to_string())? {
        SystemReply::Done(told) => Ok(told),
        SystemReply::Not(refusal) => Err(refusal.message),
    }
}
