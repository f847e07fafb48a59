//! How often somebody may ask.
//!
//! `gate` asks here for every request, once it knows from whom it is: each principal has a bucket of
//! its own, so that one who asks too often makes nobody else wait. Credentials that are not good
//! belong to nobody; they are counted for the address that they come from. Kept in memory, bounded;
//! nothing is slept for here.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{HttpRates, Rate};
use crate::network::Network;
use crate::principal::Principal;

/// Principals, and networks with bad credentials, that are told apart at a time: four times as many
/// as there can be tokens. When there are more, the further ones share a bucket.
pub(super) const MAX_BUCKETS: usize = 4_096;

/// How often the credentials of one network may be bad.
pub(super) const FAILURES: Rate = Rate { per_second: 1, burst: 30 };

/// Time between two looks through all buckets for those that are full again.
const SWEEP: Duration = Duration::from_secs(1);

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum From {
    /// This machine.
    Here,
    /// Another one.
    Elsewhere,
}

/// Somebody asks too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooOften;

/// The buckets of all that ask.
#[derive(Debug)]
pub(super) struct Rates {
    rates: HttpRates,
    began: Instant,
    principals: Mutex<Buckets<(Principal, From)>>,
    failures: Mutex<Buckets<Network>>,
}

impl Rates {
    /// Everybody may ask.
    pub(super) fn new(rates: HttpRates) -> Rates {
        let (principals, failures) = (Mutex::default(), Mutex::default());
        Rates { rates, began: Instant::now(), principals, failures }
    }

    /// Counts a request of somebody who is known.
    pub(super) fn ask(&self, who: &Principal, from: From) -> Result<(), TooOften> {
        let rate = match from {
            From::Here => self.rates.local,
            From::Elsewhere => self.rates.remote,
        };
        let Some(rate) = rate else { return Ok(()) };
        let mut buckets = self.principals.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take((who.clone(), from), rate, self.began.elapsed())
    }

    /// Counts a credential that is not good.
    pub(super) fn fail(&self, from: Network) -> Result<(), TooOften> {
        let mut buckets = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(from, FAILURES, self.began.elapsed())
    }

    /// Tells whether one more bad credential of a network is one too many. Counts nothing.
    pub(super) fn is_shut(&self, from: Network) -> bool {
        let buckets = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.is_empty(&from, FAILURES, self.began.elapsed())
    }
}

/// Buckets by whose they are. A bucket is the time at which it will be full again; one that is full
/// need not be kept.
#[derive(Debug)]
struct Buckets<K> {
    full_at: HashMap<K, Duration>,
    /// The bucket of all that have none of their own.
    others: Duration,
    /// When full ones were last looked for.
    swept: Option<Duration>,
}

impl<K> Default for Buckets<K> {
    fn default() -> Buckets<K> {
        Buckets { full_at: HashMap::new(), others: Duration::ZERO, swept: None }
    }
}

impl<K: Eq + Hash> Buckets<K> {
    /// Takes one out of a bucket, if there is one in it.
    fn take(&mut self, key: K, rate: Rate, now: Duration) -> Result<(), TooOften> {
        if self.full_at.len() >= MAX_BUCKETS && !self.full_at.contains_key(&key) {
            self.sweep(now);
            if self.full_at.len() >= MAX_BUCKETS {
                return take(&mut self.others, rate, now);
            }
        }
        take(self.full_at.entry(key).or_default(), rate, now)
    }

    /// Tells whether a bucket is empty.
    fn is_empty(&self, key: &K, rate: Rate, now: Duration) -> bool {
        let own = self.full_at.get(key);
        let is_crowded = self.full_at.len() >= MAX_BUCKETS;
        let mut full_at = own.copied().unwrap_or(if is_crowded { self.others } else { now });
        take(&mut full_at, rate, now).is_err()
    }

    /// Drops buckets that are full; not more often than it is worth.
    fn sweep(&mut self, now: Duration) {
        if self.swept.is_none_or(|last| now >= last + SWEEP) {
            self.swept = Some(now);
            self.full_at.retain(|_, full_at| *full_at > now);
        }
    }
}

fn take(full_at: &mut Duration, rate: Rate, now: Duration) -> Result<(), TooOften> {
    let step = Duration::from_secs(1) / rate.per_second.max(1);
    let after = (*full_at).max(now) + step;
    if after > now + step * rate.burst {
        return Err(TooOften);
    }
    *full_at = after;
    Ok(())
}

#[cfg(test)]
mod tests;
