//! How a connection ends: what is still owed, how long that may take, and what is late.

use std::task::{Context, Poll};
use std::time::Duration;

use bridle_wire::Code;

use super::deadline::Late;
use super::{Closed, Connection, Phase, Step, scratch};

/// How long an ended connection waits for the peer to take the last frame and close.
const LINGER: Duration = Duration::from_secs(2);

impl Connection {
    pub(super) fn end_of_input(&mut self) -> Step {
        let Connection { talk, seat, input, output, tally, .. } = self;
        let why = talk.finish(&seat.shared, input, output, tally);
        self.leave(why);
        Step::Again
    }

    pub(super) fn stop_serving(&mut self, unsent: usize) -> Step {
        if self.seat.is_leaving() && !self.shared().stop.is_cancelled() {
            return self.give_way();
        }
        if !self.input.is_empty() {
            self.say_error(Code::ShuttingDown, "the daemon stops before this frame was complete");
        }
        let Connection { talk, seat, output, tally, .. } = self;
        talk.give_up(&seat.shared, output, tally);
        self.clogged = unsent > 0;
        self.leave(Closed::Stopped);
        Step::Again
    }

    /// Leaves this place to another: told once, and not waited for.
    fn give_way(&mut self) -> Step {
        let message = "no message came for a while, and somebody else needs the place";
        self.say_error(Code::TooManyConnections, message);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        // What the socket does not take at once is not sent: the place is needed now.
        let _ = self.flush(&mut cx);
        let _ = self.stream.poll_shutdown(&mut cx);
        Step::End(Closed::GaveWay)
    }

    pub(super) fn say_error(&mut self, code: Code, message: &str) {
        let Connection { talk, seat, output, tally, .. } = self;
        talk.say_error(&seat.shared, code, message, output, tally);
    }

    /// Nothing more is read from here on; what the engine has taken is still answered.
    pub(super) fn leave(&mut self, why: Closed) {
        let comes_back = why == Closed::Stopped && self.comes_back();
        if self.talk.unanswered() == 0 || why == Closed::BadSignature || comes_back {
            return self.close(why);
        }
        self.forget_input();
        // Only a peer that ended its own sending is waited for without limit: that is how
        // netcat asks, and each answer has a deadline of its own.
        if why != Closed::PeerEnded || self.talk.is_greeted() {
            let patience = self.patience(self.shared().config.limits.write_deadline);
            self.deadlines.start(Late::End, patience);
        }
        self.phase = Phase::Draining(why);
    }

    /// Waits for the answers that the engine owes.
    pub(super) fn drain(&mut self, why: Closed, cx: &mut Context<'_>) -> Step {
        if self.talk.unanswered() == 0 {
            self.close(why);
            return Step::Again;
        }
        if self.shared().stop.is_cancelled() || self.stop.as_mut().poll(cx).is_ready() {
            if self.comes_back() {
                self.close(why);
                return Step::Again;
            }
            // It may wait already, for longer than a daemon that stops has.
            self.deadlines.shorten(Late::End, self.shared().config.limits.shutdown_grace);
        }
        Step::Wait
    }

    /// A shell with a hello finds its answers behind its cursor: a daemon that stops does not wait
    /// for thoughts on its behalf, whether it is still there or has left.
    fn comes_back(&self) -> bool {
        self.talk.is_greeted()
    }

    fn forget_input(&mut self) {
        self.input = Vec::new();
        self.backlog = false;
        self.fetching = None;
        self.deadlines.stop_all();
    }

    /// Nothing more is read or waited for from here on.
    fn close(&mut self, why: Closed) {
        self.forget_input();
        let patience = self.patience(self.shared().config.limits.write_deadline);
        self.deadlines.start(Late::End, patience);
        self.phase = Phase::Closing(why);
    }

    /// All is written: the peer is given the chance to take it. Closing while the peer still
    /// sends would reset the connection and lose what the system has not delivered yet.
    pub(super) fn begin_linger(&mut self, why: Closed, cx: &mut Context<'_>) -> Step {
        match self.stream.poll_shutdown(cx) {
            Poll::Pending => return Step::Wait,
            Poll::Ready(Err(_)) => return Step::End(why),
            Poll::Ready(Ok(())) => {}
        }
        if why == Closed::PeerEnded {
            return Step::End(why);
        }
        self.deadlines.stop_all();
        self.deadlines.start(Late::End, self.patience(LINGER));
        self.phase = Phase::Lingering(why);
        Step::Again
    }

    pub(super) fn linger(&mut self, why: Closed, cx: &mut Context<'_>) -> Step {
        if why != Closed::Stopped && self.stop.as_mut().poll(cx).is_ready() {
            return Step::End(why);
        }
        scratch::lend(|scratch| match self.stream.poll_read(cx, &mut scratch.input) {
            // A daemon that stops does not wait for peers that owe nothing and are owed nothing.
            Poll::Pending if why == Closed::Stopped && !self.clogged => Step::End(why),
            Poll::Pending => Step::Wait,
            Poll::Ready(Ok(n)) if n > 0 => Step::Yield,
            Poll::Ready(_) => Step::End(why),
        })
    }

    /// How long the end may take: `usual`, or the grace when the daemon stops.
    fn patience(&self, usual: Duration) -> Duration {
        let shared = self.shared();
        if shared.stop.is_cancelled() { shared.config.limits.shutdown_grace } else { usual }
    }

    /// Something took too long.
    pub(super) fn late(&mut self, late: Late) -> Step {
        match late {
            Late::Frame if self.held.is_waiting() => {
                let message = "the daemon holds as many bytes as it may; send this again later";
                self.say_error(Code::Overloaded, message);
                self.close(Closed::FrameTimeout);
            }
            Late::Unit => {
                let message = "no whole form in as many bytes as the length says, and no text \
                               came to make it as many characters; is a bracket or quote open?";
                self.say_error(Code::UnitUnclear, message);
                self.close(Closed::FramingLost);
            }
            Late::Frame => {
                let limit = self.shared().config.limits.frame_deadline;
                let message = format!("expected a whole frame within {limit:?}, got part of one");
                self.say_error(Code::FrameTimeout, &message);
                self.close(Closed::FrameTimeout);
            }
            Late::Idle if self.talk.unanswered() > 0 || self.talk.waits() => {
                self.deadlines.stop(Late::Idle);
                self.deadlines.start(Late::Idle, self.shared().config.limits.stranger_idle);
            }
            Late::Idle => {
                let limit = self.shared().config.limits.stranger_idle;
                let message = format!("expected a whole message within {limit:?}, got none");
                self.say_error(Code::Expired, &message);
                self.close(Closed::Idle);
            }
            Late::Rest => self.deadlines.stop(Late::Rest),
            Late::Part => {
                let limit = self.shared().config.limits.frame_deadline;
                for _ in 0..self.talk.expire_parts(self.shared().tick()) {
                    let message = format!("expected the last part within {limit:?}, got no more");
                    self.say_error(Code::PartTimeout, &message);
                }
                self.deadlines.set(Late::Part, self.part_deadline());
                self.held.set(self.holding());
            }
            Late::Write => {
                // Too late to tell the peer: it does not read. Counted as what it would be told.
                self.shared().metrics.error(Code::SlowReader);
                tracing::warn!(origin = %self.talk.origin(), "the peer does not read its answers");
                return Step::End(Closed::SlowReader);
            }
            Late::End => {
                return match self.phase {
                    Phase::Draining(why) | Phase::Closing(why) | Phase::Lingering(why) => {
                        Step::End(why)
                    }
                    Phase::Open => Step::End(Closed::PeerGone),
                };
            }
        }
        Step::Again
    }
}
