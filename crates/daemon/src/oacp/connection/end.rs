//! How a connection ends: what is still owed, how long that may take, and what is late.

use std::task::{Context, Poll};
use std::time::Duration;

use bridle_wire::OacpCode;

use super::deadline::MissedDeadline;
use super::{CloseReason, ConnectionPhase, ConnectionStep, OacpConnection, thread_buffers};

/// Time that an ended connection waits for the peer to take the last frame and close.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

impl OacpConnection {
    pub(super) fn end_of_input(&mut self) -> ConnectionStep {
        let OacpConnection { talk, service, input, output, tally, .. } = self;
        let why = talk.finish(service, input, output, tally);
        self.leave(why);
        ConnectionStep::Again
    }

    pub(super) fn stop_serving(&mut self, unsent: usize) -> ConnectionStep {
        if self.seat.is_leaving() && !self.service.daemon.stop.is_cancelled() {
            return self.give_way();
        }
        if !self.input.is_empty() {
            self.say_error(
                OacpCode::ShuttingDown,
                "the daemon stops before this frame was complete",
            );
        }
        let OacpConnection { talk, service, output, tally, .. } = self;
        talk.give_up(service, output, tally);
        self.clogged = unsent > 0;
        self.leave(CloseReason::Stopped);
        ConnectionStep::Again
    }

    /// Leaves this place to another: told once, and not waited for.
    fn give_way(&mut self) -> ConnectionStep {
        let message = "no message came for a while, and somebody else needs the place";
        self.say_error(OacpCode::TooManyConnections, message);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        // What the socket does not take at once is not sent: the place is needed now.
        let _ = self.flush(&mut cx);
        let _ = self.stream.poll_shutdown(&mut cx);
        ConnectionStep::End(CloseReason::GaveWay)
    }

    pub(super) fn say_error(&mut self, code: OacpCode, message: &str) {
        let OacpConnection { talk, service, output, tally, .. } = self;
        talk.say_error(service, code, message, output, tally);
    }

    /// Nothing more is read from here on; what the engine has taken is still answered.
    pub(super) fn leave(&mut self, why: CloseReason) {
        let comes_back = why == CloseReason::Stopped && self.comes_back();
        if self.talk.unanswered() == 0 || why == CloseReason::BadSignature || comes_back {
            return self.close(why);
        }
        self.forget_input();
        // Only a peer that ended its own sending is waited for without limit: that is how
        // netcat asks, and each answer has a deadline of its own.
        if why != CloseReason::PeerEnded || self.talk.is_greeted() {
            let patience = self.patience(self.service.daemon.config.limits.write_deadline);
            self.deadlines.start(MissedDeadline::End, patience);
        }
        self.phase = ConnectionPhase::Draining(why);
    }

    /// Waits for the answers that the engine owes.
    pub(super) fn drain(&mut self, why: CloseReason, cx: &mut Context<'_>) -> ConnectionStep {
        if self.talk.unanswered() == 0 {
            self.close(why);
            return ConnectionStep::Again;
        }
        if self.service.daemon.stop.is_cancelled() || self.stop.as_mut().poll(cx).is_ready() {
            if self.comes_back() {
                self.close(why);
                return ConnectionStep::Again;
            }
            // It may wait already, for longer than a daemon that stops has.
            self.deadlines
                .shorten(MissedDeadline::End, self.service.daemon.config.limits.shutdown_grace);
        }
        ConnectionStep::Wait
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
    fn close(&mut self, why: CloseReason) {
        self.forget_input();
        let patience = self.patience(self.service.daemon.config.limits.write_deadline);
        self.deadlines.start(MissedDeadline::End, patience);
        self.phase = ConnectionPhase::Closing(why);
    }

    /// All is written: the peer is given the chance to take it. Closing while the peer still
    /// sends would reset the connection and lose what the system has not delivered yet.
    pub(super) fn begin_linger(
        &mut self,
        why: CloseReason,
        cx: &mut Context<'_>,
    ) -> ConnectionStep {
        match self.stream.poll_shutdown(cx) {
            Poll::Pending => return ConnectionStep::Wait,
            Poll::Ready(Err(_)) => return ConnectionStep::End(why),
            Poll::Ready(Ok(())) => {}
        }
        if why == CloseReason::PeerEnded {
            return ConnectionStep::End(why);
        }
        self.deadlines.stop_all();
        self.deadlines.start(MissedDeadline::End, self.patience(LINGER_TIMEOUT));
        self.phase = ConnectionPhase::Lingering(why);
        ConnectionStep::Again
    }

    pub(super) fn linger(&mut self, why: CloseReason, cx: &mut Context<'_>) -> ConnectionStep {
        if why != CloseReason::Stopped && self.stop.as_mut().poll(cx).is_ready() {
            return ConnectionStep::End(why);
        }
        thread_buffers::lend(|scratch| match self.stream.poll_read(cx, &mut scratch.input) {
            // A daemon that stops does not wait for peers that owe nothing and are owed nothing.
            Poll::Pending if why == CloseReason::Stopped && !self.clogged => {
                ConnectionStep::End(why)
            }
            Poll::Pending => ConnectionStep::Wait,
            Poll::Ready(Ok(n)) if n > 0 => ConnectionStep::Yield,
            Poll::Ready(_) => ConnectionStep::End(why),
        })
    }

    /// Returns the time that the end may take: `usual`, or the grace when the daemon stops.
    fn patience(&self, usual: Duration) -> Duration {
        let service = &self.service;
        if service.daemon.stop.is_cancelled() {
            service.daemon.config.limits.shutdown_grace
        } else {
            usual
        }
    }

    /// Acts on a missed deadline.
    pub(super) fn late(&mut self, late: MissedDeadline) -> ConnectionStep {
        match late {
            MissedDeadline::Frame if self.held.is_waiting() => {
                let message = "the daemon holds as many bytes as it may; send this again later";
                self.say_error(OacpCode::Overloaded, message);
                self.close(CloseReason::FrameTimeout);
            }
            MissedDeadline::Unit => {
                let message = "no whole form in as many bytes as the length says, and no text \
                               came to make it as many characters; is a bracket or quote open?";
                self.say_error(OacpCode::UnitUnclear, message);
                self.close(CloseReason::FramingLost);
            }
            MissedDeadline::Frame => {
                let limit = self.service.daemon.config.limits.frame_deadline;
                let message = format!("expected a whole frame within {limit:?}, got part of one");
                self.say_error(OacpCode::FrameTimeout, &message);
                self.close(CloseReason::FrameTimeout);
            }
            MissedDeadline::Idle if self.talk.unanswered() > 0 || self.talk.waits() => {
                self.deadlines.stop(MissedDeadline::Idle);
                self.deadlines
                    .start(MissedDeadline::Idle, self.service.daemon.config.limits.stranger_idle);
            }
            MissedDeadline::Idle => {
                let limit = self.service.daemon.config.limits.stranger_idle;
                let message = format!("expected a whole message within {limit:?}, got none");
                self.say_error(OacpCode::Expired, &message);
                self.close(CloseReason::Idle);
            }
            MissedDeadline::Rest => self.deadlines.stop(MissedDeadline::Rest),
            MissedDeadline::Part => {
                let limit = self.service.daemon.config.limits.frame_deadline;
                for _ in 0..self.talk.expire_parts(self.service.daemon.tick()) {
                    let message = format!("expected the last part within {limit:?}, got no more");
                    self.say_error(OacpCode::PartTimeout, &message);
                }
                self.deadlines.set(MissedDeadline::Part, self.part_deadline());
                self.held.set(self.holding());
            }
            MissedDeadline::Write => {
                // Too late to tell the peer: it does not read. Counted as what it would be told.
                self.service.daemon.metrics.error(OacpCode::SlowReader);
                tracing::warn!(origin = %self.talk.origin(), "the peer does not read its answers");
                return ConnectionStep::End(CloseReason::SlowReader);
            }
            MissedDeadline::End => {
                return match self.phase {
                    ConnectionPhase::Draining(why)
                    | ConnectionPhase::Closing(why)
                    | ConnectionPhase::Lingering(why) => ConnectionStep::End(why),
                    ConnectionPhase::Open => ConnectionStep::End(CloseReason::PeerGone),
                };
            }
        }
        ConnectionStep::Again
    }
}
