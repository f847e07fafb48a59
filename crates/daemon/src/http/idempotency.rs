//! Which session a request belongs to.
//!
//! The session that a shell names is the session of that name, for framed connections too. What is
//! no name for them, and a conversation within a session, gets a name made of its hash. A request
//! that names none is a session of its own; its name is made of its id, so that a repeat finds it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bridle_loop::SessionId;
use bridle_wire::openharness::ids::RequestId;
use bridle_wire::openharness::request::RequestContext;
use bridle_wire::openharness::{RequestFingerprint, RequestMessage};
use sha2::{Digest as _, Sha256};

use super::cancel::RunLocation;
use crate::access::principal::Principal;
use crate::bounded_queue::{self, BoundedQueue};

/// What names that are made begin with.
const MADE: &str = "oh-";

/// Bytes of a hash in a name: nobody finds two that are the same.
const NAME_BYTES: usize = 16;

/// Requests that are remembered beyond their sessions, the latest.
const MAX_SEEN: usize = 1 << 16;

/// For how long they are: as long as a session knows its messages.
const SEEN_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The session of a request; `None` for one of its own that nothing finds again.
pub(super) fn of(who: &Principal, message: &RequestMessage) -> Option<SessionId> {
    let context = message.context();
    let Some(session) = context.and_then(|context| context.session_id.as_ref()) else {
        return Some(once(who, message.request_id.as_ref()?));
    };
    let thread = context.and_then(|context: &RequestContext| context.conversation_id.as_ref());
    Some(match (SessionId::parse(session.as_str()), thread) {
        (Ok(name), None) => name,
        (Err(_), None) => made(&["session", session.as_str()]),
        (_, Some(thread)) => made(&["thread", session.as_str(), thread.as_str()]),
    })
}

/// The session of a request that names none.
pub(super) fn once(who: &Principal, id: &RequestId) -> SessionId {
    made(&["once", &who.name(), id.as_str()])
}

/// What a request says about where it belongs, as a hash: its tenant, session and conversation.
pub(super) fn named(message: &RequestMessage) -> String {
    let tenant = message.request.auth.as_ref().and_then(|auth| auth.tenant_id.as_ref());
    let context = message.context();
    let session = context.and_then(|context| context.session_id.as_ref());
    let thread = context.and_then(|context| context.conversation_id.as_ref());
    let tenant = tenant.map_or("", |tenant| tenant.as_str());
    let (session, thread) = (
        session.map_or("", |session| session.as_str()),
        thread.map_or("", |thread| thread.as_str()),
    );
    hex(&hash(&["named", tenant, session, thread]))
}

/// The session of that name that is the principal's own, when the name is somebody else's.
pub(super) fn own(who: &Principal, session: &SessionId) -> SessionId {
    made(&["own", &who.name(), session.as_str()])
}

fn made(parts: &[&str]) -> SessionId {
    let name = MADE.to_owned() + &hex(&hash(parts));
    SessionId::parse(&name).expect("hex digits are a name")
}

/// A hash of texts, none of which can be taken for two.
fn hash(parts: &[&str]) -> [u8; NAME_BYTES] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    let whole: [u8; 32] = hasher.finalize().into();
    *whole.first_chunk().unwrap_or(&[0; NAME_BYTES])
}

/// Bytes as hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |digit: u8| DIGITS[usize::from(digit)];
    let mut text = vec![0; 2 * bytes.len()];
    for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    String::from_utf8(text).expect("hex digits are text")
}

/// Requests of all sessions, so that an id is not used again for another one. Each session knows
/// its own for longer than the daemon runs.
#[derive(Debug)]
pub(super) struct RequestIdempotency {
    index: Mutex<BoundedQueue<IdempotencyEntry>>,
    /// What keys are made with: nobody else knows it, so nobody finds two that are the same.
    secrets: [RandomState; 2],
}

/// By whom a request was sent, and its id, as long as the daemon runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdempotencyKey(bounded_queue::Key);

#[derive(Clone, Debug)]
struct IdempotencyEntry {
    body: RequestFingerprint,
    at: Instant,
    run: RunLocation,
}

impl Default for RequestIdempotency {
    fn default() -> RequestIdempotency {
        RequestIdempotency {
            index: Mutex::new(BoundedQueue::new(MAX_SEEN)),
            secrets: Default::default(),
        }
    }
}

impl RequestIdempotency {
    /// The key of a principal's request.
    pub(super) fn key(&self, who: &Principal, id: &RequestId) -> IdempotencyKey {
        // Hashed apart, so that none can be taken for the other.
        let both = (who.text(), id.as_str());
        let [first, second] = &self.secrets;
        let hash = u128::from(first.hash_one(&both)) << 64 | u128::from(second.hash_one(&both));
        IdempotencyKey(hash.to_le_bytes())
    }

    /// Tells whether an id was used with another body.
    pub(super) fn conflicts(&self, key: IdempotencyKey, body: RequestFingerprint) -> bool {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let known = index.get(&key.0).filter(|entry| entry.at.elapsed() < SEEN_FOR);
        known.is_some_and(|entry| entry.body != body)
    }

    /// Where a request of this id runs or ran.
    pub(super) fn run(&self, who: &Principal, id: &RequestId) -> Option<RunLocation> {
        let key = self.key(who, id);
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.get(&key.0).map(|entry| entry.run.clone())
    }

    /// Notes that what a request began goes on elsewhere: that is what calling it off ends.
    pub(super) fn goes_on(&self, who: &Principal, id: &RequestId, run: RunLocation) {
        let key = self.key(who, id);
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = index.get_mut(&key.0) {
            entry.run = run;
        }
    }

    /// Notes a request that was recorded.
    pub(super) fn note(&self, key: IdempotencyKey, body: RequestFingerprint, run: RunLocation) {
        let at = Instant::now();
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = IdempotencyEntry { body, at, run };
        match index.get_mut(&key.0) {
            // One that is sent again and again takes no other's place.
            Some(known) => *known = entry,
            None => index.add(key.0, entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridle_wire::openharness::RequestFingerprint;
    use bridle_wire::openharness::ids::RequestId;

    use bridle_loop::SessionId;

    use super::{MAX_SEEN, RequestIdempotency, RunLocation, hex};
    use crate::access::principal::Principal;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(hex(&[0x00, 0x0f, 0xa5, 0xff]), "000fa5ff");
        assert_eq!(hex(&[]), "");
    }

    #[test]
    fn an_id_is_a_principals_own_and_the_oldest_are_forgotten() {
        let seen = RequestIdempotency::default();
        let id = |n: usize| RequestId::new(format!("r{n}")).unwrap();
        let (one, other) = (RequestFingerprint([1; 32]), RequestFingerprint([2; 32]));
        let who = Principal::LocalHttp(1000);
        let run = RunLocation { session: SessionId::parse("desk").unwrap(), seq: 7 };
        seen.note(seen.key(&who, &id(0)), one, run.clone());
        assert_eq!(seen.run(&who, &id(0)), Some(run.clone()));
        assert_eq!(seen.run(&Principal::LocalHttp(1001), &id(0)), None);
        assert!(!seen.conflicts(seen.key(&who, &id(0)), one));
        assert!(seen.conflicts(seen.key(&who, &id(0)), other));
        assert!(!seen.conflicts(seen.key(&Principal::LocalHttp(1001), &id(0)), other));
        for n in 1..=MAX_SEEN {
            seen.note(seen.key(&who, &id(n)), one, run.clone());
        }
        assert!(!seen.conflicts(seen.key(&who, &id(0)), other));
        assert!(seen.conflicts(seen.key(&who, &id(1)), other));
        for _ in 0..MAX_SEEN {
            seen.note(seen.key(&who, &id(2)), one, run.clone());
        }
        assert!(seen.conflicts(seen.key(&who, &id(1)), other), "a repeat takes no other's place");
    }
}
