//! Joining a session, and messages of peers that nobody knows.

use std::sync::Arc;

use bridle_loop::{SessionId, SignalKind};
use bridle_sexp::Value;

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::refusals::{NO_SUCH_SESSION, RefusedAttempt};
use crate::engine::hub::{Hub, SessionHandle};
use crate::engine::sessions::inbound_message::ShellSignal;
use crate::engine::sessions::live_session::GuardQuestion;
use crate::engine::sessions::load;
use crate::engine::sessions::shell_feed::{Reading, ShellFeed};
use crate::engine::shells::attached_shell::AttachedShell;
use crate::engine::stream::{AttachRequest, AttachRole, AttachmentId};

/// Attaches to a named session; it is made if there is none and a controller asks.
///
/// # Errors
/// `unknown-session`, `shutting-down`, `store-unavailable`.
pub(crate) async fn attach(
    hub: &Arc<Hub>,
    who: Principal,
    want: AttachRequest,
) -> Result<Arc<AttachedShell>, EngineError> {
    hub.running.check_open()?;
    if who == Principal::Anonymous {
        return Err(hub.forbid(&who, RefusedAttempt::Attach(want.role, want.session.as_ref())));
    }
    let Some(id) = &want.session else { return attach_fresh(hub, who, want) };
    let wants_past = want.role == AttachRole::Observer || want.cursor.is_some_and(|seq| seq > 0);
    // Held as soon as it is found: were it only seen, it could be swept with its last shell, and
    // be made anew without its past and with the wrong owner.
    let held = match hub.find(id).await? {
        Some(held) => held,
        None if wants_past => return Err(unknown_session()),
        None => hub.find_or_begin(id, &who.name()),
    };
    if !held.session.admits(&hub.home, &who, want.role) {
        return Err(hub.forbid(&who, RefusedAttempt::Attach(want.role, Some(id))));
    }
    join(hub, &held, who, want)
}

/// Attaches to a fresh session at once. It is recorded with its first message.
///
/// # Errors
/// `shutting-down`.
pub(crate) fn attach_fresh(
    hub: &Arc<Hub>,
    who: Principal,
    want: AttachRequest,
) -> Result<Arc<AttachedShell>, EngineError> {
    hub.running.check_open()?;
    // Whoever is unknown has no session, not even in memory.
    if who == Principal::Anonymous {
        return Err(hub.forbid(&who, RefusedAttempt::Attach(want.role, None)));
    }
    let held = hub.find_or_begin(&hub.directory.fresh_name(), &who.name());
    if !held.session.admits(&hub.home, &who, want.role) {
        return Err(hub.forbid(&who, RefusedAttempt::Attach(want.role, None)));
    }
    join(hub, &held, who, want)
}

fn join(
    hub: &Arc<Hub>,
    held: &SessionHandle,
    who: Principal,
    want: AttachRequest,
) -> Result<Arc<AttachedShell>, EngineError> {
    let session = &held.session;
    let mut inner = session.lock();
    if let Some(gone) = &inner.gone {
        return Err(gone.clone());
    }
    let attachment = AttachmentId(hub.directory.stamp());
    let feed = ShellFeed::new(attachment, who, want, inner.events.head);
    inner.join(feed);
    let open: Vec<GuardQuestion> = inner.open.questions.values().cloned().collect();
    session.offer_questions(&hub.home, &mut inner, &open, Some(attachment));
    drop(inner);
    Ok(Arc::new(AttachedShell::new(Arc::clone(hub), Arc::clone(session), attachment)))
}

/// Answers a message of a peer that nobody knows. The answer is no event: it has no number, is in
/// no record and no session, and is counted alone.
///
/// # Errors
/// `not-permitted` for everything but the built-in words.
pub(crate) fn answer_stranger(hub: &Arc<Hub>, signal: &ShellSignal) -> Result<Value, EngineError> {
    hub.running.check_open()?;
    let payload = Some(&signal.payload).filter(|_| signal.kind == SignalKind::Event);
    match payload.and_then(|payload| hub.home.host_ref().answer_stranger(payload)) {
        Some(answer) => {
            hub.metrics().strangers_answered.inc();
            Ok(answer)
        }
        None => Err(hub.forbid(&Principal::Anonymous, RefusedAttempt::Say(signal.kind))),
    }
}

/// Refuses the answer of a peer that nobody knows to a request that it was never sent.
pub(crate) fn refuse_stranger_answer(hub: &Arc<Hub>, id: Option<&Value>) -> EngineError {
    match hub.running.check_open() {
        Ok(()) => hub.forbid(&Principal::Anonymous, RefusedAttempt::Answer(id)),
        Err(error) => error,
    }
}

/// Begins to read events of a session after a number.
pub(in crate::engine) fn read_page(hub: &Hub, session: &SessionId, after: u64) -> Reading {
    let (readers, session, page) = (hub.home.readers.clone(), session.clone(), hub.limits.page);
    hub.running.tasks.spawn(async move { load::page(&readers, session, after, page).await })
}

fn unknown_session() -> EngineError {
    EngineError::because(EngineErrorCode::UnknownSession, NO_SUCH_SESSION)
}
