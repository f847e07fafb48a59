//! The turn of a connection to end.
//!
//! Ending is the costliest step of a quiet connection: a last frame, a shutdown, a close. When a
//! thousand peers leave at once, whoever asks something meanwhile would stand in line behind all
//! of them. So connections end a few at a time, and the workers that are left serve the others.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// A turn not asked for, waited for, or taken. It is given back when dropped.
#[derive(Debug, Default)]
pub(super) enum CloseTurn {
    /// Not asked for.
    #[default]
    None,
    /// In line. Boxed, because a connection that is open has none.
    Waiting(Box<PollSemaphore>),
    /// Taken. Only held: dropping it is what it is for.
    Taken { _permit: OwnedSemaphorePermit },
}

impl CloseTurn {
    /// Takes a turn, at once or when the task is woken for it.
    pub(super) fn poll(&mut self, turns: &Arc<Semaphore>, cx: &mut Context<'_>) -> Poll<()> {
        if let CloseTurn::None = self {
            *self = match Arc::clone(turns).try_acquire_owned() {
                Ok(permit) => CloseTurn::Taken { _permit: permit },
                Err(_) => CloseTurn::Waiting(Box::new(PollSemaphore::new(Arc::clone(turns)))),
            };
        }
        if let CloseTurn::Waiting(line) = self {
            match line.poll_acquire(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(permit)) => *self = CloseTurn::Taken { _permit: permit },
                // Never closed; if it were, ending at once would be right.
                Poll::Ready(None) => *self = CloseTurn::None,
            }
        }
        Poll::Ready(())
    }

    /// Gives a taken turn to the next one: who waits for its peer must not keep others waiting.
    pub(super) fn pass_on(&mut self) {
        if let CloseTurn::Taken { .. } = self {
            *self = CloseTurn::None;
        }
    }
}

#[cfg(test)]
mod tests;
