//! All that framed connections have in common beside the daemon's own: texts, ids, nonces, and turns for large work.
//!
//! Made once by `run`; every connection has it.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_sexp::Dialect;
use bridle_wire::OacpCode;
use bridle_wire::oacp::MessageId;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};

use crate::access::rate::MessageLimiter;
use crate::error::DaemonError;
use crate::oacp::connection::{PeerOrigin, PeerStream};
use crate::oacp::conversation::{
    CannedReplies, LargeEvent, LargePayload, PayloadVerdict, TracedAnswer,
};
use crate::shared::DaemonShared;

/// Random bytes in a nonce: enough that no two connections ever share one.
pub(crate) const NONCE_BYTES: usize = 16;

/// One per daemon, behind an `Arc` in every framed connection.
#[derive(Debug)]
pub(crate) struct OacpService {
    /// The daemon's own: config, engine, limits, counters.
    pub(crate) daemon: Arc<DaemonShared>,
    /// Texts that every connection sends, made once.
    pub(crate) replies: CannedReplies,
    /// Counts messages of TCP connections.
    pub(crate) limiter: MessageLimiter,
    /// Turns for ending connections, as many as for judging and for the same reason.
    pub(crate) ends: Arc<Semaphore>,
    /// Turns for judging large messages: half the processors, so that the workers have the
    /// other half, and memory for trees is bounded.
    judges: Semaphore,
    /// Milliseconds from 1970 to the start: sets the ids of this run apart.
    epoch: u64,
    /// Ids given so far.
    assigned: AtomicU64,
    /// Source of nonces; `None` when nothing is signed.
    random: Option<File>,
}

impl OacpService {
    /// Prepares the service of a daemon with a checked config.
    ///
    /// # Errors
    /// The signing keys cannot be used, or the system gives no random bytes.
    pub(crate) fn new(daemon: Arc<DaemonShared>) -> Result<Arc<OacpService>, DaemonError> {
        let config = &daemon.config;
        let replies = CannedReplies::new(config)?;
        let random = match config.hmac.enforce {
            true => Some(File::open("/dev/urandom").map_err(DaemonError::Random)?),
            false => None,
        };
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let half = (processors / 2).max(1);
        Ok(Arc::new(OacpService {
            replies,
            limiter: MessageLimiter::new(config.message_rates),
            ends: Arc::new(Semaphore::new(half)),
            judges: Semaphore::new(half),
            epoch: unix_millis(),
            assigned: AtomicU64::new(0),
            random,
            daemon,
        }))
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
        let service = Arc::clone(self);
        self.daemon.tasks.spawn(async move {
            // Never closed; if it were, judging at once would be right.
            let _turn = service.judges.acquire().await;
            tokio::task::spawn_blocking(move || work.judge(dialect)).await
        })
    }

    /// Writes a large event on a thread of its own, a few at a time together with the judging.
    pub(crate) fn write(
        self: &Arc<Self>,
        large: LargeEvent,
    ) -> JoinHandle<Result<String, JoinError>> {
        let service = Arc::clone(self);
        self.daemon.tasks.spawn(async move {
            // As for judging.
            let _turn = service.judges.acquire().await;
            tokio::task::spawn_blocking(move || large.write()).await
        })
    }

    /// Writes an answer with what the record says about it.
    pub(crate) fn write_traced(
        self: &Arc<Self>,
        answer: TracedAnswer,
    ) -> JoinHandle<Result<String, JoinError>> {
        let service = Arc::clone(self);
        self.daemon.tasks.spawn(async move { Ok(answer.write(&service).await) })
    }

    /// Tells a peer why it is not served and closes. Never waits: the frame fits the empty
    /// buffer of a fresh socket, and a peer for which it does not is closed without it.
    pub(crate) fn refuse(&self, stream: PeerStream, origin: PeerOrigin, code: OacpCode) {
        self.daemon.metrics.refuse(code);
        let frame = self.replies.refusal(code, matches!(origin, PeerOrigin::Tcp(_)));
        if let Err(error) = stream.say_and_close(&frame) {
            tracing::debug!(%error, "a refused peer was not told");
        }
    }
}

/// Milliseconds since 1970; 0 for a clock before it.
fn unix_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}
