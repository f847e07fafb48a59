//! Questions to the daemon beside the conversation, each on a connection of its own: the sessions to
//! pick from, and grants.

use bridle_sexp::Value;
use bridle_shell::ShellError;
use bridle_shell::system::{self, SystemReply, SystemRequest};

use crate::event::{GrantOffer, GrantScopeOffer, SessionEntry};
use crate::link::LinkRoute;
use crate::notebook::FolderSession;

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
    Ok(listed.iter().filter_map(entry).filter(|it| it.events > 0).collect())
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
