//! How often somebody may ask.
//!
//! `gate` asks here for every request, once it knows from whom it is: each principal has a bucket of
//! its own, so that one who asks too often makes nobody else wait. Credentials that are not good
//! belong to nobody; they are counted for the address that they come from. Kept in memory, bounded;
//! nothing is slept for here.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::access::network::PeerNetwork;
use crate::access::principal::Principal;
use crate::access::rate::{RateExceeded, TokenBuckets};
use crate::config::{EventRate, HttpRates};

/// How often the credentials of one network may be bad.
pub(super) const FAILURES: EventRate = EventRate { per_second: 1, burst: 30 };

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestSource {
    /// This machine.
    Here,
    /// Another one.
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
        buckets.take(from, FAILURES, self.began.elapsed())
    }
}
