//! Places for connections: who gets one, and who gives way.
//!
//! `listen` and `http/server` ask for a [`ConnectionSlot`] for each connection that they accept, and say how the
//! peer stands. Peers on the Unix socket and principals that are known have places that unknown peers
//! cannot take; unknown peers have a number of places for all of them and one for each user or
//! network. When those are taken, an unknown peer that finished no message for a while gives way to a
//! newcomer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::access::network::PeerSource;
use crate::config::DaemonLimits;

/// Most places that are kept for the Unix socket; fewer where `max-connections` is small.
pub(crate) const MAX_KEPT_FOR_UNIX: usize = 64;

/// Most places that are kept for principals that are known; fewer where `max-connections` is small.
pub(crate) const MAX_KEPT_FOR_KNOWN: usize = 1_024;

/// Share of all places that is kept for either of them at most: one in so many.
const KEPT_SHARE: usize = 4;

/// Time without a finished message after which an unknown peer gives way to a newcomer.
pub(crate) const GIVES_WAY_AFTER: Duration = Duration::from_secs(1);

/// Connections that were told to give way and are not gone yet; with more, newcomers are refused.
const MAX_LEAVING: usize = 32;

/// Standing of a peer when it is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerStanding {
    /// User of the Unix socket.
    Unix,
    /// Program of the daemon's own user.
    Known,
    /// Anybody else, until a credential says who it is.
    Stranger(PeerSource),
}

/// Numbers of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ConnectionCounts {
    /// Places in all.
    all: usize,
    /// Places that known principals may take.
    known: usize,
    /// Places that may be taken when an unknown peer comes.
    open: usize,
    /// Unknown peers.
    strangers: usize,
    /// Unknown peers of one user or network.
    each: usize,
}

impl ConnectionCounts {
    /// Counts the places of a daemon that may have `open_files` descriptors.
    fn new(limits: &DaemonLimits, open_files: Option<u64>) -> ConnectionCounts {
        let all = limits.connections.min(crate::descriptors::most_connections(open_files)).max(1);
        let for_unix = MAX_KEPT_FOR_UNIX.min(all / KEPT_SHARE);
        let for_known = MAX_KEPT_FOR_KNOWN.min(all / KEPT_SHARE);
        let (known, open) = (all - for_unix, all - for_unix - for_known);
        ConnectionCounts {
            all,
            known,
            open,
            strangers: limits.strangers.min(open),
            each: limits.strangers_each,
        }
    }
}

/// All places of a daemon.
#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    counts: ConnectionCounts,
    began: Instant,
    /// Connections open now.
    open: AtomicUsize,
    /// Whether the last newcomer found no place.
    crowded: AtomicBool,
    strangers: Mutex<StrangerSlots>,
    /// Cancelled when the daemon stops.
    stop: CancellationToken,
}

/// Unknown peers that have a place.
#[derive(Debug, Default)]
struct StrangerSlots {
    seated: HashMap<u64, Arc<StrangerSlot>>,
    by_source: HashMap<PeerSource, usize>,
    /// Those that were told to give way and still hold a descriptor.
    leaving: usize,
    /// Number of the next one.
    next: u64,
}

/// Place of an unknown peer.
#[derive(Debug)]
pub(crate) struct StrangerSlot {
    seats: Arc<ConnectionSlots>,
    number: u64,
    source: PeerSource,
    /// Milliseconds from the start of the daemon to its last finished message.
    active_ms: AtomicU64,
    /// Whether its peer has become known.
    is_known: AtomicBool,
    /// Whether it gives way.
    is_leaving: AtomicBool,
    /// Cancelled when it gives way, and when the daemon stops.
    leave: CancellationToken,
}

impl ConnectionSlots {
    /// Makes the places that the limits and the system allow.
    pub(crate) fn new(limits: &DaemonLimits, stop: CancellationToken) -> Arc<ConnectionSlots> {
        ConnectionSlots::beginning_at(Instant::now(), limits, stop)
    }

    fn beginning_at(
        began: Instant,
        limits: &DaemonLimits,
        stop: CancellationToken,
    ) -> Arc<ConnectionSlots> {
        let open_files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Arc::new(ConnectionSlots {
            counts: ConnectionCounts::new(limits, open_files),
            began,
            open: AtomicUsize::new(0),
            crowded: AtomicBool::new(false),
            strangers: Mutex::default(),
            stop,
        })
    }

    /// Connections open now.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Unknown peers that have a place now.
    pub(crate) fn strangers(&self) -> usize {
        self.lock().seated.len()
    }

    /// Takes a place, which an unknown peer may have to leave for it.
    fn take(self: &Arc<Self>, standing: PeerStanding) -> Option<Option<Arc<StrangerSlot>>> {
        let mut strangers = self.lock();
        // Added under the lock alone, so that two newcomers do not take the same place.
        let open = self.open();
        let has_room = match standing {
            PeerStanding::Unix => open < self.counts.all || strangers.displace(self, None),
            PeerStanding::Known => open < self.counts.known || strangers.displace(self, None),
            PeerStanding::Stranger(source) => {
                let own = strangers.by_source.get(&source).copied().unwrap_or(0);
                if own >= self.counts.each {
                    strangers.displace(self, Some(source))
                } else {
                    let is_free =
                        strangers.seated.len() < self.counts.strangers && open < self.counts.open;
                    is_free || strangers.displace(self, None)
                }
            }
        };
        if !has_room {
            return None;
        }
        self.open.fetch_add(1, Ordering::AcqRel);
        let PeerStanding::Stranger(source) = standing else { return Some(None) };
        Some(Some(strangers.seat(self, source)))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, StrangerSlots> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StrangerSlots {
    fn seat(&mut self, seats: &Arc<ConnectionSlots>, source: PeerSource) -> Arc<StrangerSlot> {
        let number = self.next;
        self.next += 1;
        let seat = Arc::new(StrangerSlot {
            seats: Arc::clone(seats),
            number,
            source,
            active_ms: AtomicU64::new(seats.now_ms()),
            is_known: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            leave: seats.stop.child_token(),
        });
        self.seated.insert(number, Arc::clone(&seat));
        *self.by_source.entry(source).or_default() += 1;
        seat
    }

    /// Has the one that was idle for longest give way, of `source` alone if that is given; tells
    /// whether there was one.
    fn displace(&mut self, seats: &ConnectionSlots, source: Option<PeerSource>) -> bool {
        if self.leaving >= MAX_LEAVING {
            return false;
        }
        let idle = u64::try_from(GIVES_WAY_AFTER.as_millis()).unwrap_or(u64::MAX);
        let latest = seats.now_ms().saturating_sub(idle);
        let of_source = self.seated.values().filter(|seat| source.is_none_or(|s| s == seat.source));
        let age = |seat: &&Arc<StrangerSlot>| seat.active_ms.load(Ordering::Relaxed);
        let Some(seat) = of_source.min_by_key(age).cloned() else { return false };
        if age(&&seat) > latest {
            return false;
        }
        seat.is_leaving.store(true, Ordering::Release);
        self.remove(&seat);
        self.leaving += 1;
        seat.leave.cancel();
        true
    }

    fn remove(&mut self, seat: &StrangerSlot) -> bool {
        if self.seated.remove(&seat.number).is_none() {
            return false;
        }
        if let Some(own) = self.by_source.get_mut(&seat.source) {
            *own -= 1;
            if *own == 0 {
                self.by_source.remove(&seat.source);
            }
        }
        true
    }
}

impl StrangerSlot {
    /// Key under which the peer is counted.
    pub(crate) fn source(&self) -> PeerSource {
        self.source
    }

    /// Notes that the peer finished a message.
    pub(crate) fn touch(&self) {
        self.active_ms.store(self.seats.now_ms(), Ordering::Relaxed);
    }

    /// Notes that the peer is known: it gives way to nobody, and its source has room for another.
    pub(crate) fn make_known(&self) {
        if !self.is_known.swap(true, Ordering::AcqRel) {
            self.seats.lock().remove(self);
        }
    }

    /// Tells whether the peer is still unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        !self.is_known.load(Ordering::Acquire)
    }

    /// Tells whether it gives way to somebody else.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Acquire)
    }

    /// Cancelled when it gives way, and when the daemon stops.
    pub(crate) fn leave(&self) -> &CancellationToken {
        &self.leave
    }
}

/// Place of one connection; free again when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    stranger: Option<Arc<StrangerSlot>>,
}

impl ConnectionSlot {
    /// Takes a place for a newcomer, if there is one for a peer of its standing.
    pub(crate) fn take(
        slots: &Arc<ConnectionSlots>,
        standing: PeerStanding,
    ) -> Option<ConnectionSlot> {
        let Some(stranger) = slots.take(standing) else {
            // Once per time that the limit is reached: a crowd must not flood the log as well.
            if !slots.crowded.swap(true, Ordering::Relaxed) {
                let limit = slots.counts.all;
                tracing::warn!(limit, "as many connections as allowed; more are refused");
            }
            return None;
        };
        slots.crowded.store(false, Ordering::Relaxed);
        Some(ConnectionSlot { slots: Arc::clone(slots), stranger })
    }

    /// Takes a place beyond the limit, for standard input and output.
    pub(crate) fn extra(slots: &Arc<ConnectionSlots>) -> ConnectionSlot {
        slots.open.fetch_add(1, Ordering::AcqRel);
        ConnectionSlot { slots: Arc::clone(slots), stranger: None }
    }

    /// Place among the unknown peers, while this one is unknown.
    pub(crate) fn stranger(&self) -> Option<&Arc<StrangerSlot>> {
        self.stranger.as_ref().filter(|seat| seat.is_unknown())
    }

    /// Token that is cancelled when this connection must end: the daemon stops, or it gives way.
    pub(crate) fn leave_token(&self) -> CancellationToken {
        match &self.stranger {
            Some(seat) => seat.leave.clone(),
            None => self.slots.stop.clone(),
        }
    }

    /// Tells whether this connection gives way to somebody else.
    pub(crate) fn is_leaving(&self) -> bool {
        self.stranger.as_ref().is_some_and(|seat| seat.is_leaving())
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let seats = &self.slots;
        if let Some(seat) = &self.stranger {
            let mut strangers = seats.lock();
            strangers.remove(seat);
            if seat.is_leaving() {
                strangers.leaving = strangers.leaving.saturating_sub(1);
            }
        }
        seats.open.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests;
