//! Idempotency: the request ids of the last day and the body and run of each.
//!
//! [`exchange`](super::exchange) refuses an id that comes again with another body, and `cancel` finds
//! the run of an id here. Sessions know their own messages for longer than the daemon runs; an id
//! that is forgotten here is found there.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bridle_wire::openharness::RequestFingerprint;
use bridle_wire::openharness::ids::RequestId;

use super::run_location::RunLocation;
use crate::access::principal::Principal;
use crate::bounded_queue::{self, BoundedQueue};

/// Requests that are remembered beyond their sessions, the latest.
const MAX_SEEN_REQUESTS: usize = 1 << 16;

/// Time for which a request is remembered: as long as a session knows its messages.
const SEEN_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Requests of all sessions, so that an id is not used again for another one. Each session knows
/// its own for longer than the daemon runs.
#[derive(Debug)]
pub(super) struct RequestIdempotency {
    index: Mutex<BoundedQueue<IdempotencyEntry>>,
    /// Secrets of the keys: nobody else knows them, so nobody finds two ids with the same key.
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
            index: Mutex::new(BoundedQueue::new(MAX_SEEN_REQUESTS)),
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
        let known = index.get(&key.0).filter(|entry| entry.at.elapsed() < SEEN_TTL);
        known.is_some_and(|entry| entry.body != body)
    }

    /// Returns the run of the request with this id, over or not.
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

    use super::{MAX_SEEN_REQUESTS, RequestIdempotency, RunLocation};
    use crate::access::principal::Principal;

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
        for n in 1..=MAX_SEEN_REQUESTS {
            seen.note(seen.key(&who, &id(n)), one, run.clone());
        }
        assert!(!seen.conflicts(seen.key(&who, &id(0)), other));
        assert!(seen.conflicts(seen.key(&who, &id(1)), other));
        for _ in 0..MAX_SEEN_REQUESTS {
            seen.note(seen.key(&who, &id(2)), one, run.clone());
        }
        assert!(seen.conflicts(seen.key(&who, &id(1)), other), "a repeat takes no other's place");
    }
}
