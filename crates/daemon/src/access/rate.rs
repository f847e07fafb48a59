//! Buckets that say how often something may happen, and those of framed messages.
//!
//! `http/rate` counts requests with [`TokenBuckets`], `conversation` counts frames with [`MessageLimiter`]: each
//! principal has a bucket of its own, so that one who sends too often makes nobody else wait. Kept in
//! memory, bounded; nothing is slept for here.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::access::network::PeerSource;
use crate::access::principal::Principal;

/// Rate at which something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRate {
    /// Times a second in the long run, 1 to [`MAX_RATE`].
    pub per_second: u32,
    /// Times at once after a pause, 1 to [`MAX_RATE`].
    pub burst: u32,
}

/// Most that a [`EventRate`] can say: a thousandth of a nanosecond clock's ticks.
pub const MAX_RATE: u32 = 1_000_000;

/// Numbers of framed messages that one principal may send over TCP; more are answered
/// `:rate-limited`. The Unix socket and the standard streams are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRates {
    /// From a principal on another machine. `None`: as many as it likes.
    pub remote: Option<EventRate>,
    /// From a principal on this machine.
    pub local: Option<EventRate>,
    /// Frames of any kind, health checks included, from an unknown peer: of one user of this
    /// machine, or of one network.
    pub stranger: Option<EventRate>,
}

impl Default for MessageRates {
    fn default() -> MessageRates {
        MessageRates {
            // An editor that reports every movement of the cursor sends some thirty a second.
            remote: Some(EventRate { per_second: 200, burst: 1_000 }),
            // As over HTTP: it keeps a program that went mad in check.
            local: Some(EventRate { per_second: 10_000, burst: 20_000 }),
            // Health checks of a whole rack, and somebody who tries `help`.
            stranger: Some(EventRate { per_second: 20, burst: 100 }),
        }
    }
}

/// Keys that have a bucket of their own at a time: four times as many as there can be tokens. When
/// there are more, the further ones share a bucket.
pub(crate) const MAX_BUCKETS: usize = 4_096;

/// Time between two looks through all buckets for those that are full again.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Refusal of something that happens too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateExceeded {
    /// Time after which there is room for one more.
    pub(crate) retry_after: Duration,
}

/// Sender of frames, as its messages are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum MessageSender {
    /// Principal that is known, on this machine.
    Local(Principal),
    /// Principal that is known, on another machine.
    Remote(Principal),
    /// Unknown peer.
    Stranger(PeerSource),
}

/// Counts the messages of all TCP connections.
#[derive(Debug)]
pub(crate) struct MessageLimiter {
    rates: MessageRates,
    began: Instant,
    senders: Mutex<TokenBuckets<MessageSender>>,
}

impl MessageLimiter {
    /// Makes a limiter that has counted nothing.
    pub(crate) fn new(rates: MessageRates) -> MessageLimiter {
        MessageLimiter { rates, began: Instant::now(), senders: Mutex::default() }
    }

    /// Counts a message of a principal that is known.
    pub(crate) fn count_known(&self, who: &Principal, is_local: bool) -> Result<(), RateExceeded> {
        let rate = if is_local { self.rates.local } else { self.rates.remote };
        let Some(rate) = rate else { return Ok(()) };
        let sender = match is_local {
            true => MessageSender::Local(who.clone()),
            false => MessageSender::Remote(who.clone()),
        };
        self.count(sender, rate)
    }

    /// Counts a frame of an unknown peer.
    pub(crate) fn count_stranger(&self, source: PeerSource) -> Result<(), RateExceeded> {
        match self.rates.stranger {
            Some(rate) => self.count(MessageSender::Stranger(source), rate),
            None => Ok(()),
        }
    }

    fn count(&self, sender: MessageSender, rate: EventRate) -> Result<(), RateExceeded> {
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.take(sender, rate, self.began.elapsed())
    }
}

/// Buckets by whose they are. A bucket is the time at which it will be full again; one that is full
/// need not be kept.
#[derive(Debug)]
pub(crate) struct TokenBuckets<K> {
    full_at: HashMap<K, Duration>,
    /// The bucket of all that have none of their own.
    others: Duration,
    /// Last search for full buckets.
    swept: Option<Duration>,
}

impl<K> Default for TokenBuckets<K> {
    fn default() -> TokenBuckets<K> {
        TokenBuckets { full_at: HashMap::new(), others: Duration::ZERO, swept: None }
    }
}

impl<K: Eq + Hash> TokenBuckets<K> {
    /// Takes one out of a bucket, if there is one in it.
    pub(crate) fn take(
        &mut self,
        key: K,
        rate: EventRate,
        now: Duration,
    ) -> Result<(), RateExceeded> {
        if self.full_at.len() >= MAX_BUCKETS && !self.full_at.contains_key(&key) {
            self.sweep(now);
            if self.full_at.len() >= MAX_BUCKETS {
                return take(&mut self.others, rate, now);
            }
        }
        take(self.full_at.entry(key).or_default(), rate, now)
    }

    /// Drops buckets that are full; not more often than it is worth.
    fn sweep(&mut self, now: Duration) {
        if self.swept.is_none_or(|last| now >= last + SWEEP_INTERVAL) {
            self.swept = Some(now);
            self.full_at.retain(|_, full_at| *full_at > now);
        }
    }
}

fn take(full_at: &mut Duration, rate: EventRate, now: Duration) -> Result<(), RateExceeded> {
    let step = Duration::from_secs(1) / rate.per_second.max(1);
    let after = (*full_at).max(now) + step;
    let latest = now + step * rate.burst;
    if after > latest {
        return Err(RateExceeded { retry_after: after - latest });
    }
    *full_at = after;
    Ok(())
}

#[cfg(test)]
mod tests;
