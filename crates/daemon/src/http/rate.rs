//! Rate limits of requests, by principal, and of bad credentials, by network.
//!
//! `auth` asks for every request, once it knows the principal. Each principal has a token bucket of its
//! own, so that one that asks too often makes nobody else wait. Bad credentials have no principal; they
//! count for the network that they come from. Kept in memory, bounded; nothing waits here.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::access::network::PeerNetwork;
use crate::access::principal::Principal;
use crate::access::rate::{RateExceeded, TokenBuckets};
use crate::config::{EventRate, HttpRates};

/// Rate of bad credentials of one network.
pub(super) const BAD_CREDENTIAL_RATE: EventRate = EventRate { per_second: 1, burst: 30 };

/// Side from which a request comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestSource {
    /// From this machine.
    Here,
    /// From another machine.
    Elsewhere,
}

/// The buckets of all that ask.
#[derive(Debug)]
pub(super) struct HttpRateLimiter {
    rates: HttpRates,
    began: Instant,
    principals: Mutex<TokenBuckets<(Principal, RequestSource)>>,
    failures: Mutex<TokenBuckets<PeerNetwork>>,
}

impl HttpRateLimiter {
    /// Everybody may ask.
    pub(super) fn new(rates: HttpRates) -> HttpRateLimiter {
        let (principals, failures) = (Mutex::default(), Mutex::default());
        HttpRateLimiter { rates, began: Instant::now(), principals, failures }
    }

    /// Counts a request of somebody who is known.
    pub(super) fn ask(&self, who: &Principal, from: RequestSource) -> Result<(), RateExceeded> {
        let rate = match from {
            RequestSource::Here => self.rates.local,
            RequestSource::Elsewhere => self.rates.remote,
        };
        let Some(rate) = rate else { return Ok(()) };
        let mut buckets = self.principals.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take((who.clone(), from), rate, self.began.elapsed())
    }

    /// Counts a credential that is not good.
    pub(super) fn fail(&self, from: PeerNetwork) -> Result<(), RateExceeded> {
        let mut buckets = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(from, BAD_CREDENTIAL_RATE, self.began.elapsed())
    }
}
