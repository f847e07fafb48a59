//! What all connections of one daemon have in common.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use bridle_wire::parts::CallerMillis;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::network::PeerSource;
use crate::access::principal::Principal;
use crate::access::principal::sockets::{SocketEnds, SocketTable};
use crate::byte_budget::ByteBudget;
use crate::config::DaemonConfig;
use crate::connection_slots::{ConnectionSlot, ConnectionSlots, PeerStanding};
use crate::engine::Hub;
use crate::metrics::DaemonMetrics;
use crate::self_checks::SelfChecks;

/// Bytes that connections of unknown peers hold together, besides a reserve for each.
pub(crate) const MAX_STRANGER_IN_FLIGHT_BYTES: usize = 16 << 20;

/// One per daemon, behind an `Arc` in every task.
#[derive(Debug)]
pub(crate) struct DaemonShared {
    /// Settings, checked at start.
    pub(crate) config: DaemonConfig,
    /// Sessions and the record.
    pub(crate) hub: Arc<Hub>,
    /// Cancelled when the daemon stops, by [`DaemonShared::end`].
    pub(crate) stop: CancellationToken,
    /// Whether it is, or will be at once: seen without the lock of the token.
    ending: AtomicBool,
    /// Every connection task.
    pub(crate) tasks: TaskTracker,
    /// Bytes held by all connections.
    pub(crate) budget: Arc<ByteBudget>,
    /// Counters.
    pub(crate) metrics: DaemonMetrics,
    /// Owners of the sockets at the other ends.
    pub(crate) sockets: Arc<SocketTable>,
    /// Start of the daemon.
    pub(crate) started: Instant,
    /// Places for connections.
    pub(crate) seats: Arc<ConnectionSlots>,
    /// Bytes held by connections of unknown peers.
    pub(crate) stranger_budget: Arc<ByteBudget>,
    /// Checks of the daemon's own.
    pub(crate) checks: Arc<SelfChecks>,
}

impl DaemonShared {
    /// Prepares a daemon with a checked config.
    pub(crate) fn new(config: DaemonConfig, hub: Arc<Hub>) -> Arc<DaemonShared> {
        let metrics = DaemonMetrics::new(hub.metrics().clone());
        let stop = CancellationToken::new();
        Arc::new(DaemonShared {
            hub,
            seats: ConnectionSlots::new(&config.limits, stop.clone()),
            stop,
            ending: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            budget: Arc::new(ByteBudget::new(config.limits.in_flight)),
            metrics,
            sockets: SocketTable::new(rustix::process::geteuid().as_raw()),
            started: Instant::now(),
            stranger_budget: Arc::new(ByteBudget::new(MAX_STRANGER_IN_FLIGHT_BYTES)),
            checks: Arc::default(),
            config,
        })
    }

    /// Returns the uid whose peers are served on the Unix socket.
    pub(crate) fn own_uid(&self) -> u32 {
        self.sockets.own_uid
    }

    /// Stops the daemon.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.stop.cancel();
    }

    /// Completes when the daemon stops. For tasks that wake often for other reasons: the token, whose
    /// lock all of them share, is asked once for each waker.
    pub(crate) async fn ended(&self) {
        let mut stop = pin!(self.stop.cancelled());
        let mut known: Option<Waker> = None;
        poll_fn(|cx| {
            let is_known = known.as_ref().is_some_and(|known| known.will_wake(cx.waker()));
            if is_known && !self.ending.load(Ordering::Acquire) {
                return Poll::Pending;
            }
            known = Some(cx.waker().clone());
            stop.as_mut().poll(cx)
        })
        .await;
    }

    /// Looks at the socket of a TCP peer that was accepted: how it stands, and whose it is if that is
    /// certain already.
    pub(crate) fn look_at(
        &self,
        peer: SocketAddr,
        own: Option<SocketAddr>,
    ) -> (PeerStanding, Option<Option<u32>>) {
        let uid = match own.and_then(|own| SocketEnds::of(peer, own)) {
            Some(ends) => SocketTable::ask_kernel(ends).ok(),
            None => Some(None),
        };
        let standing = match Principal::of_socket(uid.flatten(), self.own_uid()) {
            Principal::Anonymous => {
                PeerStanding::Stranger(PeerSource::of(uid.flatten(), peer.ip()))
            }
            _ => PeerStanding::Known,
        };
        (standing, uid)
    }

    /// Takes a place for a newcomer and counts it, if there is a place for a peer of its standing.
    pub(crate) fn take_slot(&self, standing: PeerStanding) -> Option<ConnectionSlot> {
        let slot = ConnectionSlot::take(&self.seats, standing)?;
        self.metrics.accepted.inc();
        Some(slot)
    }

    /// Takes a place beyond the limit, for standard input and output, and counts it.
    pub(crate) fn extra_slot(&self) -> ConnectionSlot {
        self.metrics.accepted.inc();
        ConnectionSlot::extra(&self.seats)
    }

    /// Connections open now.
    pub(crate) fn open(&self) -> usize {
        self.seats.open()
    }

    /// The present, as deadlines of parts count it.
    pub(crate) fn tick(&self) -> CallerMillis {
        self.tick_after(Duration::ZERO)
    }

    /// The present and `delay`.
    pub(crate) fn tick_after(&self, delay: Duration) -> CallerMillis {
        let millis = (self.started.elapsed() + delay).as_millis();
        // Rounded up: a deadline must not come before its time.
        CallerMillis(u64::try_from(millis).map_or(u64::MAX, |millis| millis + 1))
    }

    /// The point in time of a tick.
    pub(crate) fn instant(&self, tick: CallerMillis) -> Instant {
        self.started + Duration::from_millis(tick.0)
    }
}
