//! The connection's side of the engine: attaching, and pulling what there is to send.
//!
//! Nothing here is pushed: the engine wakes the task, and the task takes what its output has room
//! for. A peer that does not read costs its output limit and no more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bridle_wire::oacp::Failure;

use super::{Connection, Phase, Step};
use crate::engine::{Attach, Attachment};
use crate::talk::Need;

/// Bytes of output over which nothing more is pulled in one step: a full window of the socket,
/// after which others get their turn.
const PULL_WINDOW: usize = 64 << 10;

/// An attachment being made.
pub(super) type Attaching = Pin<Box<dyn Future<Output = Result<Arc<Attachment>, Failure>> + Send>>;

/// What pulling gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pulled {
    /// Nothing.
    Nothing,
    /// Everything that there was.
    All,
    /// As much as one step may; there may be more.
    Window,
}

impl Pulled {
    /// What the rest of the step leads to, after this.
    pub(super) fn then(self, step: Step) -> Step {
        match (step, self) {
            (Step::Wait, Pulled::All) => Step::Again,
            (Step::Wait | Step::Again, Pulled::Window) => Step::Yield,
            (step, _) => step,
        }
    }
}

impl Connection {
    /// Takes what the engine has for this peer, as far as the output has room; `unsent` bytes
    /// are there already.
    pub(super) fn pull(&mut self, unsent: usize, cx: &mut Context<'_>) -> Pulled {
        let most = PULL_WINDOW.min(self.shared().config.limits.output);
        let Connection { talk, seat, output, tally, phase, .. } = self;
        if unsent >= most || !matches!(phase, Phase::Open | Phase::Draining(_)) {
            return Pulled::Nothing;
        }
        let mut pulled = Pulled::Nothing;
        while let Some(attachment) = talk.attachment() {
            let Poll::Ready(out) = attachment.poll_next(cx) else { break };
            talk.tell(&seat.shared, out, output, tally);
            pulled = Pulled::All;
            if output.len() >= most {
                pulled = Pulled::Window;
                break;
            }
        }
        if pulled != Pulled::Nothing {
            self.held.set(self.holding());
        }
        pulled
    }

    /// Goes on with a message that waits for the engine, when it can.
    pub(super) fn await_engine(&mut self, cx: &mut Context<'_>) -> Step {
        if self.attaching.is_none() {
            match self.talk.need() {
                Some(Need::Answers) => return Step::Wait,
                Some(Need::Attached(want)) => self.attaching = Some(self.attach(want)),
                Some(Need::Nothing) | None => {
                    let Connection { talk, seat, output, tally, .. } = self;
                    talk.resume(&seat.shared, output, tally);
                    return Step::Again;
                }
            }
        }
        let Some(attaching) = &mut self.attaching else { return Step::Again };
        let Poll::Ready(result) = attaching.as_mut().poll(cx) else { return Step::Wait };
        self.attaching = None;
        let Connection { talk, seat, output, tally, .. } = self;
        talk.attached(&seat.shared, result, output, tally);
        self.held.set(self.holding());
        Step::Again
    }

    fn attach(&self, want: Attach) -> Attaching {
        let who = self.talk.principal(self.shared());
        let hub = Arc::clone(&self.shared().hub);
        Box::pin(hub.attach(who, want))
    }
}
