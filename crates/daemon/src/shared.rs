//! What all connections of one daemon have in common.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bridle_sexp::Dialect;
use bridle_wire::OacpCode;
use bridle_wire::oacp::MessageId;
use bridle_wire::parts::CallerMillis;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::network::PeerSource;
use crate::access::principal::Principal;
use crate::access::principal::sockets::{SocketEnds, SocketTable};
use crate::access::rate::MessageLimiter;
use crate::byte_budget::ByteBudget;
use crate::config::DaemonConfig;
use crate::connection_slots::{ConnectionSlots, PeerStanding};
use crate::engine::Hub;
use crate::error::DaemonError;
use crate::metrics::DaemonMetrics;
use crate::oacp::connection::{PeerOrigin, PeerStream};
use crate::oacp::conversation::{CannedReplies, LargeEvent, LargePayload, PayloadVerdict};

/// Bytes that connections of unknown peers hold together, besides a reserve for each.
pub(crate) const MAX_STRANGER_IN_FLIGHT_BYTES: usize = 16 << 20;

/// Random bytes in a nonce: enough that no two connections ever share one.
pub(crate) const NONCE_BYTES: usize = 16;

/// One per daemon, behind an `Arc` in every task.
#[derive(Debug)]
pub(crate) struct DaemonShared {
    /// What the daemon was told at start.
    pub(crate) config: DaemonConfig,
    /// Sessions and the record.
    pub(crate) hub: Arc<Hub>,
    /// Texts that every connection sends, made once.
    pub(crate) words: CannedReplies,
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
    /// Whose sockets are at the other ends.
    pub(crate) sockets: Arc<SocketTable>,
    /// The uid whose peers are served on the Unix socket.
    pub(crate) own_uid: u32,
    /// When the daemon started.
    pub(crate) started: Instant,
    /// Turns for judging large messages: half the processors, so that the workers have the
    /// other half, and memory for trees is bounded.
    judges: Semaphore,
    /// Turns for ending connections, as many and for the same reason.
    pub(crate) ends: Arc<Semaphore>,
    /// Milliseconds from 1970 to the start: sets the ids of this run apart.
    epoch: u64,
    /// Ids given so far.
    assigned: AtomicU64,
    /// Places for connections.
    pub(crate) seats: Arc<ConnectionSlots>,
    /// Counts messages of TCP connections.
    pub(crate) limiter: MessageLimiter,
    /// Bytes held by connections of unknown peers.
    pub(crate) stranger_budget: Arc<ByteBudget>,
    /// Source of nonces; `None` when nothing is signed.
    random: Option<File>,
}

impl DaemonShared {
    /// Prepares a daemon with a checked config.
    pub(crate) fn new(
        config: DaemonConfig,
        hub: Arc<Hub>,
    ) -> Result<Arc<DaemonShared>, DaemonError> {
        let words = CannedReplies::new(&config)?;
        let random = match config.hmac.enforce {
            true => Some(File::open("/dev/urandom").map_err(DaemonError::Random)?),
            false => None,
        };
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let half = (processors / 2).max(1);
        let metrics = DaemonMetrics::new(hub.metrics().clone());
        Ok(Arc::new(DaemonShared {
            hub,
            words,
            stop: CancellationToken::new(),
            ending: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            budget: Arc::new(ByteBudget::new(config.limits.in_flight)),
            metrics,
            sockets: SocketTable::new(),
            own_uid: rustix::process::geteuid().as_raw(),
            started: Instant::now(),
            judges: Semaphore::new(half),
            ends: Arc::new(Semaphore::new(half)),
            epoch: since_1970(),
            assigned: AtomicU64::new(0),
            seats: ConnectionSlots::new(&config.limits),
            limiter: MessageLimiter::new(config.message_rates),
            stranger_budget: Arc::new(ByteBudget::new(MAX_STRANGER_IN_FLIGHT_BYTES)),
            random,
            config,
        }))
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
        let standing = match Principal::of_socket(uid.flatten(), self.own_uid) {
            Principal::Anonymous => {
                PeerStanding::Stranger(PeerSource::of(uid.flatten(), peer.ip()))
            }
            _ => PeerStanding::Known,
        };
        (standing, uid)
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

    /// Fills a nonce with random bytes.
    pub(crate) fn nonce(&self) -> io::Result<[u8; NONCE_BYTES]> {
        let mut nonce = [0; NONCE_BYTES];
        let closed = || io::Error::other("the random source is not open");
        let mut random = self.random.as_ref().ok_or_else(closed)?;
        random.read_exact(&mut nonce)?;
        Ok(nonce)
    }

    /// The id of a request that names a target and no id. Never given twice, so that it is not
    /// taken for a repeat; a text, since clients count with integers.
    pub(crate) fn assign_id(&self) -> MessageId {
        let number = self.assigned.fetch_add(1, Ordering::Relaxed) + 1;
        MessageId::Str(format!("bridle-{:x}-{number}", self.epoch).into())
    }

    /// Judges a large message on a thread of its own, a few at a time.
    pub(crate) fn judge(
        self: &Arc<Self>,
        work: LargePayload,
        dialect: Dialect,
    ) -> JoinHandle<Result<PayloadVerdict, JoinError>> {
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            // Never closed; if it were, judging at once would be right.
            let _turn = shared.judges.acquire().await;
            tokio::task::spawn_blocking(move || work.judge(dialect)).await
        })
    }

    /// Writes a large event on a thread of its own, a few at a time together with the judging.
    pub(crate) fn write(
        self: &Arc<Self>,
        large: LargeEvent,
    ) -> JoinHandle<Result<String, JoinError>> {
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            // As for judging.
            let _turn = shared.judges.acquire().await;
            tokio::task::spawn_blocking(move || large.write()).await
        })
    }

    /// Tells a peer why it is not served and closes. Never waits: the frame fits the empty
    /// buffer of a fresh socket, and a peer for which it does not is closed without it.
    pub(crate) fn refuse(&self, stream: PeerStream, origin: PeerOrigin, code: OacpCode) {
        self.metrics.refuse(code);
        let frame = self.words.refusal(code, matches!(origin, PeerOrigin::Tcp(_)));
        if let Err(error) = stream.say_and_close(&frame) {
            tracing::debug!(%error, "a refused peer was not told");
        }
    }
}

/// Milliseconds since 1970; 0 for a clock before it.
fn since_1970() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}
