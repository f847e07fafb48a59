//! Bytes held for all connections together, and who waits for them to become fewer.
//!
//! Each connection owns a [`ConnectionBytes`] and tells it, once per batch, how many bytes it keeps
//! (unfinished input and unsent output). A connection that wants to read asks
//! [`ConnectionBytes::room`] first.
//!
//! When the limit is reached, one connection at a time holds the pass and reads on until it
//! has finished its frame; the others wait, except for their reserve. Without the pass, frames
//! that are all half received could wait for each other for ever. So the sum can go beyond the
//! limit by one frame, and by one read per worker thread.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Bytes that each connection may hold outside the common limit, so that small messages such
/// as health checks are answered however full the daemon is.
pub const RESERVE_BYTES: usize = 4 << 10;

/// Bytes of memory that a message takes for each byte of its text while it is a value: a large
/// Org tree takes 17, a long string one.
pub const OWNED_FACTOR: usize = 16;

/// The common limit.
#[derive(Debug)]
pub struct ByteBudget {
    limit: usize,
    used: AtomicUsize,
    /// Whether a connection holds the pass.
    pass_taken: AtomicBool,
    /// Told when the sum fell below the limit, and when the pass was given back.
    fell: Arc<Notify>,
}

impl ByteBudget {
    /// A budget of `limit` bytes with nothing held.
    pub fn new(limit: usize) -> ByteBudget {
        ByteBudget {
            limit,
            used: AtomicUsize::new(0),
            pass_taken: AtomicBool::new(false),
            fell: Arc::default(),
        }
    }

    /// Bytes held now, over all connections, their reserves not counted.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Tells whether the limit is reached.
    pub fn full(&self) -> bool {
        self.used() >= self.limit
    }

    /// Holds `bytes` that no connection keeps any more, until the result is dropped.
    pub fn load(self: &Arc<Self>, bytes: usize) -> InFlightBytes {
        self.used.fetch_add(bytes, Ordering::AcqRel);
        InFlightBytes { budget: Arc::clone(self), bytes }
    }

    fn free(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        if before >= self.limit && before - bytes < self.limit {
            self.fell.notify_waiters();
        }
    }
}

/// Bytes on their way through the daemon: a message that the engine has not recorded yet.
#[derive(Debug)]
pub struct InFlightBytes {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl InFlightBytes {
    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for InFlightBytes {
    fn drop(&mut self) {
        self.budget.free(self.bytes);
    }
}

/// Share of one connection in a [`ByteBudget`]; given back when dropped.
#[derive(Debug)]
pub struct ConnectionBytes {
    budget: Arc<ByteBudget>,
    bytes: usize,
    /// Whether this connection holds the pass.
    pass: bool,
    /// Set while waiting for the sum to fall. Boxed: most connections never wait.
    waiting: Option<Pin<Box<OwnedNotified>>>,
}

impl ConnectionBytes {
    /// A share of `budget` that holds nothing.
    pub fn new(budget: Arc<ByteBudget>) -> ConnectionBytes {
        ConnectionBytes { budget, bytes: 0, pass: false, waiting: None }
    }

    /// Says that this connection now keeps `bytes`.
    pub fn set(&mut self, bytes: usize) {
        let bytes = bytes.saturating_sub(RESERVE_BYTES);
        match bytes.cmp(&self.bytes) {
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Greater => {
                self.budget.used.fetch_add(bytes - self.bytes, Ordering::AcqRel);
            }
            std::cmp::Ordering::Less => self.budget.free(self.bytes - bytes),
        }
        self.bytes = bytes;
        if bytes == 0 && self.pass {
            self.pass = false;
            self.budget.pass_taken.store(false, Ordering::Release);
            self.budget.fell.notify_waiters();
        }
    }

    /// Returns how many bytes a connection that keeps `bytes` may read now: any number while
    /// the sum is under the limit or with the pass, else what is left of its reserve. At 0 the
    /// task is woken when it is worth asking again.
    pub fn room(&mut self, bytes: usize, cx: &mut Context<'_>) -> usize {
        loop {
            if !self.budget.full() {
                self.waiting = None;
                return usize::MAX;
            }
            if bytes < RESERVE_BYTES {
                self.waiting = None;
                return RESERVE_BYTES - bytes;
            }
            if self.pass || self.take_pass() {
                self.waiting = None;
                return usize::MAX;
            }
            let fell = &self.budget.fell;
            let created = self.waiting.is_none();
            let waiting =
                self.waiting.get_or_insert_with(|| Box::pin(Arc::clone(fell).notified_owned()));
            match waiting.as_mut().poll(cx) {
                Poll::Ready(()) => self.waiting = None,
                // Look again after the first poll: the sum may have fallen in between.
                Poll::Pending if created => {}
                Poll::Pending => return 0,
            }
        }
    }

    /// Takes the pass if it is free and something is held that can be finished with it.
    fn take_pass(&mut self) -> bool {
        self.pass = self.bytes > 0 && !self.budget.pass_taken.swap(true, Ordering::AcqRel);
        if self.pass {
            let (used, limit) = (self.budget.used(), self.budget.limit);
            tracing::warn!(used, limit, "bytes in flight at their limit; large messages wait");
        }
        self.pass
    }

    /// Tells whether this connection is paused by the common limit.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }
}

impl Drop for ConnectionBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteBudget, ConnectionBytes, RESERVE_BYTES};
    use std::sync::Arc;
    use std::task::{Context, Waker};

    fn held(budget: &Arc<ByteBudget>, bytes: usize) -> ConnectionBytes {
        let mut held = ConnectionBytes::new(Arc::clone(budget));
        held.set(bytes);
        held
    }

    #[test]
    fn small_holders_are_never_stopped_and_cost_nothing() {
        let budget = Arc::new(ByteBudget::new(1));
        let mut cx = Context::from_waker(Waker::noop());
        let big = held(&budget, RESERVE_BYTES + 10);
        let mut small = held(&budget, RESERVE_BYTES);
        assert_eq!(budget.used(), 10);
        assert_eq!(small.room(RESERVE_BYTES - 3, &mut cx), 3);
        assert_eq!(small.room(RESERVE_BYTES, &mut cx), 0);
        drop(big);
        assert_eq!(small.room(RESERVE_BYTES, &mut cx), usize::MAX);
    }

    #[test]
    fn one_at_a_time_may_finish_over_the_limit() {
        let budget = Arc::new(ByteBudget::new(10));
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = held(&budget, RESERVE_BYTES + 10);
        let mut second = held(&budget, RESERVE_BYTES + 10);
        assert_eq!(first.room(RESERVE_BYTES + 10, &mut cx), usize::MAX);
        assert_eq!(second.room(RESERVE_BYTES + 10, &mut cx), 0);
        assert!(second.is_waiting());
        first.set(RESERVE_BYTES + 500);
        assert_eq!(first.room(RESERVE_BYTES + 500, &mut cx), usize::MAX);
        // Done: the sum is still at the limit, and the pass is free.
        first.set(0);
        assert!(budget.full());
        assert_eq!(second.room(RESERVE_BYTES + 10, &mut cx), usize::MAX);
        assert_eq!(first.room(RESERVE_BYTES + 10, &mut cx), 0, "it holds nothing to finish");
    }

    #[test]
    fn a_load_counts_until_it_is_dropped() {
        let budget = Arc::new(ByteBudget::new(10));
        let mut cx = Context::from_waker(Waker::noop());
        let mut other = ConnectionBytes::new(Arc::clone(&budget));
        let load = budget.load(10);
        assert!(budget.full());
        assert_eq!(other.room(RESERVE_BYTES, &mut cx), 0);
        drop(load);
        assert_eq!((budget.used(), other.room(RESERVE_BYTES, &mut cx)), (0, usize::MAX));
    }

    #[tokio::test]
    async fn a_waiter_is_woken_when_the_sum_falls() {
        let budget = Arc::new(ByteBudget::new(100));
        let big = held(&budget, RESERVE_BYTES + 100);
        let mut other = ConnectionBytes::new(Arc::clone(&budget));
        let waiter = std::future::poll_fn(|cx| match other.room(RESERVE_BYTES, cx) {
            0 => std::task::Poll::Pending,
            _ => std::task::Poll::Ready(()),
        });
        let freer = async {
            tokio::task::yield_now().await;
            assert_eq!(budget.used(), 100);
            drop(big);
        };
        // Hangs if the waiter is not woken.
        tokio::join!(waiter, freer);
        assert_eq!(budget.used(), 0);
    }
}
