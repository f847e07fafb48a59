//! Grants by request of an owner: offered, made, listed, taken back.
//!
//! Called by `query` for whoever is an owner. The yes comes first, as with any answer: what is not allowed now
//! gets no grant. Then the file of policies is replaced in one step, and what it says is installed and recorded as
//! after any other change of it.

use std::path::PathBuf;
use std::sync::Arc;

use bridle_loop::{ActionHash, GrantScope, SessionId};
use bridle_sexp::Value;

use crate::access::grants::{
    GrantEntry, GrantError, GrantRequest, PolicyPatch, grant_span, list_grants, prepare_grant,
    revoke_grants,
};
use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::hub::Hub;
use crate::engine::queries::policy_install::install_policies;
use crate::engine::queries::query::{ApprovalName, ApprovalReply, approve, success};

/// Decisions of the past that each scope is tried on: the latest, as many as are judged in a moment.
const MAX_REHEARSED_DECISIONS: usize = 2_000;

/// Time that a grant holds unless it is said.
const DEFAULT_SPAN: &str = "7d";

/// Word that stands for every grant that is over.
const EXPIRED: &str = "expired";

/// Reason for a request that names no scope.
const NO_SCOPE: &str = "expected a scope, such as `:file`; the question has those that there are";

/// Request about grants.
#[derive(Debug)]
pub(crate) enum GrantQuery {
    /// Offer of each scope, tried on the past.
    Preview(GrantWish),
    /// A yes, and a grant.
    Make(GrantWish, Option<ActionHash>),
    /// The grants of the file.
    List,
    /// One of them taken back by its id, or all that are over.
    Revoke(Box<str>),
}

/// Question, scope and time of a grant.
#[derive(Debug)]
pub(crate) struct GrantWish {
    named: ApprovalName,
    scope: Option<GrantScope>,
    /// In seconds.
    span: i64,
}

impl GrantQuery {
    /// Reads a request; `None` when it is about something else.
    pub(super) fn of(action: &Value, payload: &Value) -> Option<Result<GrantQuery, EngineError>> {
        let says = |name| action.is_keyword(name);
        if says("grant") {
            Some(GrantQuery::grant(payload))
        } else if says("grants") {
            Some(Ok(GrantQuery::List))
        } else if says("revoke-grant") {
            let id = payload.get("grant").and_then(Value::as_str);
            let missing = || EngineError::invalid("grant", "expected the id of a grant");
            Some(id.map(|id| GrantQuery::Revoke(id.into())).ok_or_else(missing))
        } else {
            None
        }
    }

    fn grant(payload: &Value) -> Result<GrantQuery, EngineError> {
        let named = ApprovalName::of(payload)?;
        let scope = match payload.get("scope") {
            None => None,
            Some(scope) => {
                let known = scope.as_keyword().map(str::to_ascii_lowercase);
                let known = known.as_deref().and_then(GrantScope::of_word);
                Some(known.ok_or_else(|| EngineError::invalid("scope", NO_SCOPE))?)
            }
        };
        let span = payload.get("for").map_or(Some(DEFAULT_SPAN), Value::as_str);
        let span = grant_span(span.unwrap_or_default());
        let span = span.map_err(|expected| EngineError::invalid("for", &*expected))?;
        let span = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        let wish = GrantWish { named, scope, span };
        if payload.get("preview").is_some_and(|preview| !preview.is_nil()) {
            return Ok(GrantQuery::Preview(wish));
        }
        if wish.scope.is_none() {
            return Err(EngineError::invalid("scope", NO_SCOPE));
        }
        Ok(GrantQuery::Make(wish, ApprovalReply::hash_of(payload)?))
    }
}

/// Writes the scopes of a question: what an owner may be offered beside yes and no.
pub(crate) fn scopes(scopes: Vec<(GrantScope, String)>) -> Value {
    let scopes = scopes.into_iter().map(|(scope, allows)| {
        let allows = ("allows", Value::str(allows));
        Value::plist([("scope", Value::keyword(scope.word())), allows])
    });
    Value::list(scopes)
}

/// Answers a request of an owner.
///
/// # Errors
/// There is no such question or grant, or no such grant can be made.
pub(super) async fn answer(
    hub: &Arc<Hub>,
    who: &Principal,
    asked: GrantQuery,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    match asked {
        GrantQuery::Preview(wish) => {
            let (name, patch) = prepare(hub, &wish, own.as_ref(), MAX_REHEARSED_DECISIONS).await?;
            let head = [("approval", Value::str(&*name)), ("written", Value::Nil)];
            Ok(success("grant", head.into_iter().chain(patch.to_pairs())))
        }
        GrantQuery::Make(wish, seen) => make(hub, who, wish, seen, own).await,
        GrantQuery::List => {
            let now = hub.home.now() / 1_000;
            let listed = on_file(hub, |file| list_grants(&file)).await?;
            let grants = Value::list(listed.iter().map(|grant| entry(grant, now)));
            Ok(success("grants", [("grants", grants)]))
        }
        GrantQuery::Revoke(id) => revoke(hub, who, id).await,
    }
}

async fn make(
    hub: &Arc<Hub>,
    who: &Principal,
    wish: GrantWish,
    seen: Option<ActionHash>,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    let (name, patch) = prepare(hub, &wish, own.as_ref(), 0).await?;
    // A yes is for what the grant was made from, and for what was seen where that is said.
    let hash = seen.or_else(|| ActionHash::parse(&patch.hash));
    let told = approve(hub, who, wish.named, ApprovalReply::allow(hash), own).await?;
    if !told.get("status").is_some_and(|status| status.is_keyword("success")) {
        return Ok(told);
    }
    let pairs = patch.to_pairs();
    on_file(hub, move |_| patch.write()).await?;
    let installed = install_policies(hub, &who.name()).await?;
    let head = [
        ("approval", Value::str(&*name)),
        ("answer", Value::keyword("allow")),
        ("written", Value::bool(true)),
        ("installed", Value::str(installed.to_string())),
    ];
    Ok(success("grant", head.into_iter().chain(pairs)))
}

async fn revoke(hub: &Arc<Hub>, who: &Principal, id: Box<str>) -> Result<Value, EngineError> {
    let now = hub.home.now() / 1_000;
    let name = id.clone();
    let gone = on_file(hub, move |file| {
        revoke_grants(&file, |grant| match &*id {
            EXPIRED => grant.until <= now,
            id => *grant.id == *id,
        })
    });
    let gone = gone.await?;
    if gone.is_empty() && *name != *EXPIRED {
        return Err(failure(&GrantError::UnknownGrant(name.into())));
    }
    if !gone.is_empty() {
        install_policies(hub, &who.name()).await?;
    }
    let grants = Value::list(gone.iter().map(|grant| entry(grant, now)));
    Ok(success("revoke-grant", [("grants", grants)]))
}

/// The change that a wish leads to, and the question's name in full.
async fn prepare(
    hub: &Arc<Hub>,
    wish: &GrantWish,
    own: Option<&SessionId>,
    rehearsed: usize,
) -> Result<(Box<str>, PolicyPatch), EngineError> {
    let no_name = || EngineError::invalid("approval", "expected a name such as `work-7`");
    let name = wish.named.in_full(own).ok_or_else(no_name)?;
    let until = (hub.home.now() / 1_000).saturating_add(wish.span);
    let (scope, id) = (wish.scope, name.clone());
    let state = hub.home.guard.state_folder().to_owned();
    let patch = on_file(hub, move |file| {
        prepare_grant(&GrantRequest {
            id: &id,
            scope,
            until,
            file: &file,
            state: &state,
            rehearsed,
        })
    });
    Ok((name, patch.await?))
}

/// Works on the file of policies, on a thread that may wait.
async fn on_file<T: Send + 'static>(
    hub: &Hub,
    work: impl FnOnce(PathBuf) -> Result<T, GrantError> + Send + 'static,
) -> Result<T, EngineError> {
    let Some(file) = hub.home.guard.file().map(PathBuf::from) else {
        let why = "this daemon reads no file of policies, so there is no place for a grant";
        return Err(EngineError::because(EngineErrorCode::InvalidValue, why));
    };
    match tokio::task::spawn_blocking(move || work(file)).await {
        Ok(done) => done.map_err(|error| failure(&error)),
        Err(error) => {
            tracing::error!(%error, "work on grants broke off");
            Err(EngineErrorCode::Internal.into())
        }
    }
}

/// The error for a shell: the reason and what is behind it.
fn failure(error: &GrantError) -> EngineError {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text.push_str(&format!(": {source}"));
        cause = source.source();
    }
    let code = match error {
        GrantError::UnknownQuestion(_) | GrantError::UnknownGrant(_) => EngineErrorCode::UnknownId,
        GrantError::History(_) | GrantError::Unwritten { .. } => EngineErrorCode::StoreUnavailable,
        _ => EngineErrorCode::InvalidValue,
    };
    EngineError::because(code, text)
}

fn entry(grant: &GrantEntry, now: i64) -> Value {
    Value::plist([
        ("grant", Value::str(&*grant.id)),
        ("title", Value::str(&*grant.title)),
        ("sentence", Value::str(grant.sentence.as_str())),
        ("owner", Value::str(&*grant.owner)),
        ("until", Value::int(grant.until)),
        ("expired", Value::bool(grant.until <= now)),
    ])
}
