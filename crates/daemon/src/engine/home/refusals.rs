//! What principals tried and may not: refused the same way everywhere, and recorded.
//!
//! The record says who tried what with which session, never what was said. Strangers must not
//! fill the disk with their attempts, so only so many are recorded in a minute; the others are
//! counted, and the next record has their number. Peers that nobody knows are counted apart, so that
//! they do not hide what a known one tries.

use bridle_loop::{SessionId, SignalKind};
use bridle_sexp::Value;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::stream::AttachRole;

/// Attempts of known principals that are recorded in one [`REFUSAL_WINDOW`]: enough to see what goes on.
const MAX_RECORDED_PER_WINDOW: u32 = 60;

/// Attempts of peers that nobody knows that are recorded in one [`REFUSAL_WINDOW`].
const MAX_STRANGERS_RECORDED_PER_WINDOW: u32 = 12;

/// Time in which they are counted together.
const REFUSAL_WINDOW: Duration = Duration::from_secs(60);

/// Reason for a session that does not exist, or not for this client.
pub(in crate::engine) const NO_SUCH_SESSION: &str = "no session of that name for this connection";

/// Reason for an answer to a question that the shell was not asked.
pub(in crate::engine) const NOT_ASKED: &str =
    "nothing was asked under that id, or it is answered already";

/// Reason for a peer that nobody knows.
const NOBODY_KNOWS: &str = "the daemon does not know who you are: it answers health checks, \
                            `/help` and `/status`; use the Unix socket or a key for more";

/// Attempt of a principal to do what it may not.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RefusedAttempt<'a> {
    /// Joining a session; the one that it names, if any.
    Attach(AttachRole, Option<&'a SessionId>),
    /// Seeing which sessions there are.
    List,
    /// Saying something of this kind.
    Say(SignalKind),
    /// Installing policies.
    Install,
    /// Making, seeing or taking back grants.
    Grant,
    /// Choosing a project, or seeing what commits changed.
    Effects,
    /// Asking providers of models.
    Provider,
    /// Choosing the folder of the memory.
    OpenMemex,
    /// Asking what memory holds, or what the daemon logs.
    Recall,
    /// Answering what somebody else was asked.
    Answer(Option<&'a Value>),
}

/// Numbers of attempts that were recorded lately.
#[derive(Debug, Default)]
pub(in crate::engine) struct RefusalCounter {
    known: Mutex<PrincipalRefusals>,
    strangers: Mutex<PrincipalRefusals>,
}

#[derive(Debug, Default)]
struct PrincipalRefusals {
    began: Option<Instant>,
    recorded: u32,
    /// Not recorded since the last that was.
    unrecorded: u64,
}

impl RefusedAttempt<'_> {
    /// Returns the error for its principal: sessions of others do not exist.
    pub(in crate::engine) fn failure(self, who: &Principal) -> EngineError {
        if *who == Principal::Anonymous {
            return EngineError::because(EngineErrorCode::NotPermitted, NOBODY_KNOWS);
        }
        match self {
            RefusedAttempt::Attach(..) => {
                EngineError::because(EngineErrorCode::UnknownSession, NO_SUCH_SESSION)
            }
            RefusedAttempt::Answer(_) => {
                EngineError::because(EngineErrorCode::UnknownId, NOT_ASKED)
            }
            RefusedAttempt::List
            | RefusedAttempt::Say(_)
            | RefusedAttempt::Install
            | RefusedAttempt::Grant
            | RefusedAttempt::Effects
            | RefusedAttempt::Provider
            | RefusedAttempt::OpenMemex
            | RefusedAttempt::Recall => EngineErrorCode::NotPermitted.into(),
        }
    }

    pub(in crate::engine) fn body(self, code: EngineErrorCode, unrecorded: u64) -> Value {
        let (what, key, value) = match self {
            RefusedAttempt::Attach(role, session) => {
                let what = if role == AttachRole::Observer { "observe" } else { "control" };
                let name = session.map_or(Value::Nil, |session| Value::str(session.as_str()));
                (what, "session", name)
            }
            RefusedAttempt::List => ("list", "session", Value::Nil),
            RefusedAttempt::Install => ("install-policy", "session", Value::Nil),
            RefusedAttempt::Grant => ("grant", "session", Value::Nil),
            RefusedAttempt::Effects => ("effects", "session", Value::Nil),
            RefusedAttempt::Provider => ("provider", "session", Value::Nil),
            RefusedAttempt::OpenMemex => ("open-memex", "session", Value::Nil),
            RefusedAttempt::Recall => ("recall", "session", Value::Nil),
            RefusedAttempt::Say(kind) => ("say", "type", Value::keyword(kind_word(kind))),
            RefusedAttempt::Answer(id) => ("answer", "request", id.cloned().unwrap_or(Value::Nil)),
        };
        let mut pairs = vec![("attempt", Value::keyword(what)), (key, value)];
        pairs.push(("code", Value::keyword(code.as_str())));
        if unrecorded > 0 {
            pairs.push(("unrecorded", Value::int(i64::try_from(unrecorded).unwrap_or(i64::MAX))));
        }
        Value::plist(pairs.into_iter().filter(|(_, value)| !value.is_nil()))
    }
}

/// Returns the word for a kind of message, as records of refused attempts have it.
fn kind_word(kind: SignalKind) -> &'static str {
    match kind {
        SignalKind::Event => "EVENT",
        SignalKind::Request => "REQUEST",
        SignalKind::Log => "LOG",
        SignalKind::Failed => "FAILED",
    }
}

impl RefusalCounter {
    /// Counts an attempt; if it is to be recorded, returns how many before it were not.
    pub(in crate::engine) fn count(&self, who: &Principal, now: Instant) -> Option<u64> {
        let (counted, most) = match who {
            Principal::Anonymous => (&self.strangers, MAX_STRANGERS_RECORDED_PER_WINDOW),
            _ => (&self.known, MAX_RECORDED_PER_WINDOW),
        };
        counted.lock().unwrap_or_else(PoisonError::into_inner).count(most, now)
    }
}

impl PrincipalRefusals {
    fn count(&mut self, most: u32, now: Instant) -> Option<u64> {
        if self.began.is_none_or(|began| now.saturating_duration_since(began) >= REFUSAL_WINDOW) {
            self.began = Some(now);
            self.recorded = 0;
        }
        if self.recorded == most {
            self.unrecorded += 1;
            return None;
        }
        self.recorded += 1;
        Some(std::mem::take(&mut self.unrecorded))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{
        MAX_RECORDED_PER_WINDOW, MAX_STRANGERS_RECORDED_PER_WINDOW, REFUSAL_WINDOW, RefusalCounter,
    };
    use crate::access::principal::Principal;

    #[test]
    fn a_flood_is_counted_and_the_next_record_says_so() {
        let refusals = RefusalCounter::default();
        let start = Instant::now();
        let count = |now| refusals.count(&Principal::LocalTcp(1000), now);
        for _ in 0..MAX_RECORDED_PER_WINDOW {
            assert_eq!(count(start), Some(0));
        }
        for _ in 0..1000 {
            assert_eq!(count(start + REFUSAL_WINDOW / 2), None);
        }
        assert_eq!(count(start + REFUSAL_WINDOW), Some(1000));
        assert_eq!(count(start + REFUSAL_WINDOW), Some(0));
    }

    #[test]
    fn strangers_do_not_hide_what_a_known_principal_tries() {
        let refusals = RefusalCounter::default();
        let now = Instant::now();
        let strangers = (0..1000).filter_map(|_| refusals.count(&Principal::Anonymous, now));
        assert_eq!(strangers.count(), usize::try_from(MAX_STRANGERS_RECORDED_PER_WINDOW).unwrap());
        assert_eq!(refusals.count(&Principal::LocalTcp(1000), now), Some(0));
    }
}
