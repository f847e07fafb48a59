//! What all connections of one daemon have in common.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read};
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bridle_sexp::Dialect;
use bridle_wire::Code;
use bridle_wire::oacp::Id;
use bridle_wire::parts::Tick;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::config::Config;
use crate::conn::{Origin, Stream};
use crate::engine::Hub;
use crate::error::Error;
use crate::metrics::Metrics;
use crate::principal::sockets::Sockets;
use crate::talk::{Large, Verdict, Words, Work};

/// Random bytes in a nonce: enough that no two connections ever share one.
pub(crate) const NONCE_BYTES: usize = 16;

/// One per daemon, behind an `Arc` in every task.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What the daemon was told at start.
    pub(crate) config: Config,
    /// Sessions and the record.
    pub(crate) hub: Arc<Hub>,
    /// Texts that every connection sends, made once.
    pub(crate) words: Words,
    /// Cancelled when the daemon stops, by [`Shared::end`].
    pub(crate) stop: CancellationToken,
    /// Whether it is, or will be at once: seen without the lock of the token.
    ending: AtomicBool,
    /// Every connection task.
    pub(crate) tasks: TaskTracker,
    /// Bytes held by all connections.
    pub(crate) budget: Arc<Budget>,
    /// Counters.
    pub(crate) metrics: Metrics,
    /// Whose sockets are at the other ends.
    pub(crate) sockets: Arc<Sockets>,
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
    /// Connections open now.
    open: AtomicUsize,
    /// Whether the last peer found no seat.
    crowded: AtomicBool,
    /// Source of nonces; `None` when nothing is signed.
    random: Option<File>,
}

/// One of the places for connections; free again when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) shared: Arc<Shared>,
}

impl Shared {
    /// Prepares a daemon with a checked config.
    pub(crate) fn new(config: Config, hub: Arc<Hub>) -> Result<Arc<Shared>, Error> {
        let words = Words::new(&config)?;
        let random = match config.hmac.enforce {
            true => Some(File::open("/dev/urandom").map_err(Error::Random)?),
            false => None,
        };
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let half = (processors / 2).max(1);
        let metrics = Metrics::new(hub.metrics().clone());
        Ok(Arc::new(Shared {
            hub,
            words,
            stop: CancellationToken::new(),
            ending: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            budget: Arc::new(Budget::new(config.limits.in_flight)),
            metrics,
            sockets: Sockets::new(),
            own_uid: rustix::process::geteuid().as_raw(),
            started: Instant::now(),
            judges: Semaphore::new(half),
            ends: Arc::new(Semaphore::new(half)),
            epoch: since_1970(),
            assigned: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            crowded: AtomicBool::new(false),
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

    /// Connections open now.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// The present, as deadlines of parts count it.
    pub(crate) fn tick(&self) -> Tick {
        self.tick_after(Duration::ZERO)
    }

    /// The present and `delay`.
    pub(crate) fn tick_after(&self, delay: Duration) -> Tick {
        let millis = (self.started.elapsed() + delay).as_millis();
        // Rounded up: a deadline must not come before its time.
        Tick(u64::try_from(millis).map_or(u64::MAX, |millis| millis + 1))
    }

    /// The point in time of a tick.
    pub(crate) fn instant(&self, tick: Tick) -> Instant {
        self.started + Duration::from_millis(tick.0)
    }

    /// Takes a seat if one is free.
    pub(crate) fn seat(self: &Arc<Self>) -> Option<Seat> {
        let limit = self.config.limits.connections;
        let take = |open| (open < limit).then_some(open + 1);
        if self.open.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take).is_err() {
            // Once per time that the limit is reached: a crowd must not flood the log as well.
            if !self.crowded.swap(true, Ordering::Relaxed) {
                tracing::warn!(limit, "as many connections as allowed; more are refused");
            }
            return None;
        }
        self.crowded.store(false, Ordering::Relaxed);
        self.metrics.accepted.inc();
        Some(Seat { shared: Arc::clone(self) })
    }

    /// Takes a seat beyond the limit, for standard input and output.
    pub(crate) fn extra_seat(self: &Arc<Self>) -> Seat {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.metrics.accepted.inc();
        Seat { shared: Arc::clone(self) }
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
    pub(crate) fn assign_id(&self) -> Id {
        let number = self.assigned.fetch_add(1, Ordering::Relaxed) + 1;
        Id::Str(format!("bridle-{:x}-{number}", self.epoch).into())
    }

    /// Judges a large message on a thread of its own, a few at a time.
    pub(crate) fn judge(
        self: &Arc<Self>,
        work: Work,
        dialect: Dialect,
    ) -> JoinHandle<Result<Verdict, JoinError>> {
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            // Never closed; if it were, judging at once would be right.
            let _turn = shared.judges.acquire().await;
            tokio::task::spawn_blocking(move || work.judge(dialect)).await
        })
    }

    /// Writes a large event on a thread of its own, a few at a time together with the judging.
    pub(crate) fn write(self: &Arc<Self>, large: Large) -> JoinHandle<Result<String, JoinError>> {
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            // As for judging.
            let _turn = shared.judges.acquire().await;
            tokio::task::spawn_blocking(move || large.write()).await
        })
    }

    /// Tells a peer why it is not served and closes. Never waits: the frame fits the empty
    /// buffer of a fresh socket, and a peer for which it does not is closed without it.
    pub(crate) fn refuse(&self, stream: Stream, origin: Origin, code: Code) {
        self.metrics.refuse(code);
        let frame = self.words.refusal(code, matches!(origin, Origin::Tcp(_)));
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

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::AcqRel);
    }
}
