//! What a face offers a person before anything is said: the commands that skills answer and the models that may be named,
//! and beside it what the thoughts of a session cost so far.
//!
//! Called by `query`. Nothing is recorded.

use std::sync::Arc;

use bridle_loop::{SessionAccess, SessionId};
use bridle_model_host::OfferedModel;
use bridle_sexp::Value;

use crate::access::principal::Principal;
use crate::engine::error::EngineError;
use crate::engine::home::refusals::RefusedAttempt;
use crate::engine::home::session_usage::{SessionUsage, read_on};
use crate::engine::hub::Hub;
use crate::engine::queries::query::success;

/// Commands that are told.
const MAX_TOLD_COMMANDS: usize = 256;

/// Models that are told.
const MAX_TOLD_SEATS: usize = 256;

/// Reason for a question that names no session.
const NO_SESSION: &str = "expected the name of a session";

/// Question about what is offered, or used.
#[derive(Debug)]
pub(crate) enum OfferQuery {
    /// Commands and models.
    Offers,
    /// Tokens and money of a session; of the asker's own without a name.
    Usage(Option<Box<str>>),
}

impl OfferQuery {
    /// Reads a request; `None` when it is about something else.
    pub(super) fn of(action: &Value, payload: &Value) -> Option<OfferQuery> {
        if action.is_keyword("offers") {
            Some(OfferQuery::Offers)
        } else if action.is_keyword("usage") {
            let name = payload.get("session").and_then(Value::as_str).map(Box::from);
            Some(OfferQuery::Usage(name))
        } else {
            None
        }
    }
}

/// Answers somebody who is known; a session is told to whoever may observe it.
///
/// # Errors
/// The asker is nobody, or there is no such session for it.
pub(super) async fn answer(
    hub: &Arc<Hub>,
    who: &Principal,
    asked: OfferQuery,
    own: Option<SessionId>,
) -> Result<Value, EngineError> {
    if *who == Principal::Anonymous {
        return Err(hub.forbid(who, RefusedAttempt::List));
    }
    match asked {
        OfferQuery::Offers => Ok(offers(hub, who)),
        OfferQuery::Usage(name) => {
            let name = name.or_else(|| own.map(|it| it.as_str().into()));
            let name = name.ok_or_else(|| EngineError::invalid("session", NO_SESSION))?;
            usage(hub, who, name).await
        }
    }
}

fn offers(hub: &Hub, who: &Principal) -> Value {
    let table = hub.home.abilities.skills.table();
    let commands = table.commands().take(MAX_TOLD_COMMANDS).map(|(name, about)| {
        Value::plist([("name", Value::str(name)), ("about", Value::str(about))])
    });
    let commands = Value::list(commands);
    // Which providers there are is the owner's to know.
    let seats = match hub.home.abilities.models.get().filter(|_| who.is_owner()) {
        Some(models) => models.registry.offered(),
        None => Vec::new(),
    };
    let models = Value::list(seats.iter().take(MAX_TOLD_SEATS).map(told_seat));
    success("offers", [("commands", commands), ("models", models)])
}

fn told_seat(seat: &OfferedModel) -> Value {
    let tiers = seat.tiers.iter().map(|tier| Value::keyword(tier));
    let context = seat.context_tokens.map(|count| ("context-length", Value::int(count.into())));
    let pairs = [
        ("model", Value::str(seat.name.as_str())),
        ("tiers", Value::list(tiers)),
        ("privacy", Value::keyword(seat.privacy)),
    ];
    let images = seat.takes_images.then(|| ("images", Value::bool(true)));
    Value::plist(pairs.into_iter().chain(context).chain(images))
}

async fn usage(hub: &Arc<Hub>, who: &Principal, name: Box<str>) -> Result<Value, EngineError> {
    let wanted = name.clone();
    let row = hub.home.readers.read(move |reader| reader.session(&wanted)).await?;
    let id = row.as_ref().and_then(|row| SessionId::parse(&row.name).ok());
    let is_seen = row
        .filter(|row| !row.forgotten)
        .zip(id)
        .is_some_and(|(row, id)| hub.home.may(who, SessionAccess::Observe, &id, &row.owner));
    if !is_seen {
        // One that has nothing yet costs nothing; whether it is there is nobody's to learn.
        return Ok(value(&SessionUsage::default(), hub, &name));
    }
    let (known, wanted) = (hub.home.session_usage.of(&name), name.clone());
    let usage = hub.home.readers.read(move |reader| read_on(reader, &wanted, known)).await?;
    hub.home.session_usage.keep(&name, usage.clone());
    Ok(value(&usage, hub, &name))
}

fn value(usage: &SessionUsage, hub: &Hub, session: &str) -> Value {
    let seat = usage.model.as_deref().and_then(|name| {
        let models = hub.home.abilities.models.get()?;
        models.registry.offered().into_iter().find(|it| it.name == name)
    });
    let size = seat.and_then(|seat| seat.context_tokens);
    let pairs = [
        ("session", Some(Value::str(session))),
        ("model", usage.model.as_deref().map(Value::str)),
        ("context", usage.context.map(Value::int)),
        ("context-length", size.map(|size| Value::int(size.into()))),
        ("cost-microdollars", Some(Value::int(usage.microdollars))),
        ("thoughts", Some(number(usage.thoughts))),
        ("unpriced", Some(number(usage.unpriced))),
    ];
    success("usage", pairs.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

fn number(count: u64) -> Value {
    Value::int(i64::try_from(count).unwrap_or(i64::MAX))
}
