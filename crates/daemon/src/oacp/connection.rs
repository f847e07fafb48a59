//! One connection: one task, both directions.
//!
//! The accept loop makes a [`OacpConnection`] and spawns it; it is a future written by hand, so
//! that ten thousand idle ones cost a few hundred bytes each. A batch is: read once, answer
//! every whole frame, write once. What the bytes mean is asked of `conversation`; this file decides
//! when to read, when to write, when to wait and when to end.
//!
//! ```text
//! Open --(peer ended, framing lost, too late, daemon stops)--> Draining --> Closing --> Lingering
//!   \--(peer gone, peer does not read)--> end                  (the engine still owes answers)
//! ```

mod close_queue;
mod deadline;
mod end;
mod engine_events;
mod stream;
mod thread_buffers;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bridle_wire::OacpCode;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::access::principal::Principal;
use crate::byte_budget::{ConnectionBytes, OWNED_FACTOR};
use crate::connection_slots::ConnectionSlot;
use crate::metrics::ConnectionTally;
use crate::oacp::conversation::{
    AfterBatch, BatchRemainder, Conversation, LargePayload, PayloadVerdict,
};
use crate::oacp::service::OacpService;
use close_queue::CloseTurn;
use deadline::{ConnectionDeadlines, MissedDeadline};
use engine_events::{Fetching, LargeEventWrite};
pub(crate) use stream::{PeerOrigin, PeerStream};
use thread_buffers::{BULK_WINDOW, READ_WINDOW, ThreadBuffers};

/// Unsent bytes that must leave before a slow reader gets its full time again; a peer that
/// takes a byte now and then is as slow as one that takes none.
const WRITE_PROGRESS_BYTES: usize = 16 << 10;

/// Bytes of an unfinished frame that must arrive before its sender gets its full time again.
/// With the usual 30 s that is 9 kB/s: far below a peer that writes byte for byte, far above one
/// that only holds its place.
const READ_PROGRESS_BYTES: usize = 256 << 10;

/// Longest time for which nothing is read from a peer that sends too often.
const MAX_RATE_PAUSE: Duration = Duration::from_secs(1);

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The peer closed its end between frames.
    PeerEnded,
    /// The peer is gone: reset, or the stream failed.
    PeerGone,
    /// The framing was lost, or the stream ended inside a frame.
    FramingLost,
    /// A signature was wrong.
    BadSignature,
    /// A frame was not finished in time.
    FrameTimeout,
    /// The peer did not read its answers.
    SlowReader,
    /// An unknown peer said nothing for too long.
    Idle,
    /// An unknown peer gave way to somebody else.
    GaveWay,
    /// The daemon stopped.
    Stopped,
}

impl CloseReason {
    /// The reason as a label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CloseReason::PeerEnded => "peer-ended",
            CloseReason::PeerGone => "peer-gone",
            CloseReason::FramingLost => "framing-lost",
            CloseReason::BadSignature => "bad-signature",
            CloseReason::FrameTimeout => "frame-timeout",
            CloseReason::SlowReader => "slow-reader",
            CloseReason::Idle => "idle",
            CloseReason::GaveWay => "gave-way",
            CloseReason::Stopped => "stopped",
        }
    }
}

/// A connection in service.
pub(crate) struct OacpConnection {
    stream: PeerStream,
    /// All that connections have in common.
    service: Arc<OacpService>,
    /// Frees the place when dropped.
    seat: ConnectionSlot,
    talk: Conversation,
    /// Received bytes that are not answered yet: an unfinished frame, or whole frames whose
    /// answers would not fit the output. No capacity while empty.
    input: Vec<u8>,
    /// Whether `input` may hold a whole frame. Nothing is read before it is answered.
    backlog: bool,
    /// A large message on its way through another thread; nothing is read meanwhile.
    judging: Option<PayloadCheck>,
    /// A large event that is being written on another thread; nothing is pulled meanwhile.
    /// Boxed: most connections never have one.
    writing: Option<Box<LargeEventWrite>>,
    /// Work in the record that a message of the peer waits for; nothing is read meanwhile.
    fetching: Option<Fetching>,
    /// Bytes that the unfinished frame still needs, as the peer announced it.
    missing: usize,
    /// Answers that the socket did not take yet. No capacity while empty.
    output: Vec<u8>,
    /// Bytes sent since the write deadline was last started.
    progress: usize,
    /// Bytes read since the frame deadline was last started.
    arrived: usize,
    /// Whether answers were waiting for the peer when the daemon stopped.
    clogged: bool,
    phase: ConnectionPhase,
    deadlines: ConnectionDeadlines,
    /// Completes when the daemon stops, or when this connection gives way to another.
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    held: ConnectionBytes,
    tally: ConnectionTally,
    /// After the stream, so that the next one's turn comes when this one is closed.
    turn: CloseTurn,
}

/// A large message that is being judged.
struct PayloadCheck {
    task: JoinHandle<Result<PayloadVerdict, JoinError>>,
    /// Bytes that it holds meanwhile.
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
enum ConnectionPhase {
    /// Frames are read and answered.
    Open,
    /// Nothing more is read; answers of the engine are waited for.
    Draining(CloseReason),
    /// Nothing more is read; what is owed is written.
    Closing(CloseReason),
    /// All is written; the peer is given time to take it.
    Lingering(CloseReason),
}

/// Consequence of a step of the task.
enum ConnectionStep {
    /// Look again at once.
    Again,
    /// Others first; then look again.
    Yield,
    /// Nothing to do until something happens.
    Wait,
    /// The end.
    End(CloseReason),
}

impl OacpConnection {
    /// Takes an accepted stream; the hello is the first thing it writes. `who` is whose socket is at
    /// the other end, if that is known by now.
    ///
    /// # Errors
    /// The system gives no random bytes for the nonce of a signed connection.
    pub(crate) fn new(
        stream: PeerStream,
        origin: PeerOrigin,
        who: Option<Principal>,
        seat: ConnectionSlot,
        service: &Arc<OacpService>,
    ) -> io::Result<OacpConnection> {
        let service = &service;
        let mut output = Vec::new();
        let source = seat.stranger().map(|stranger| stranger.source());
        let talk = Conversation::new(service, (origin, who, source), &mut output)?;
        let mut deadlines = ConnectionDeadlines::default();
        let budget = match source {
            Some(_) => {
                deadlines.start(MissedDeadline::Idle, service.daemon.config.limits.stranger_idle);
                &service.daemon.stranger_budget
            }
            None => &service.daemon.budget,
        };
        tracing::debug!(%origin, "connection opened");
        Ok(OacpConnection {
            stop: Box::pin(seat.leave_token().cancelled_owned()),
            held: ConnectionBytes::new(Arc::clone(budget)),
            stream,
            talk,
            input: Vec::new(),
            backlog: false,
            judging: None,
            fetching: None,
            writing: None,
            missing: 0,
            output,
            progress: 0,
            arrived: 0,
            clogged: false,
            phase: ConnectionPhase::Open,
            deadlines,
            tally: ConnectionTally { frames_out: 1, ..ConnectionTally::default() },
            turn: CloseTurn::None,
            seat,
            service: Arc::clone(service),
        })
    }

    fn step(&mut self, cx: &mut Context<'_>) -> ConnectionStep {
        if let ConnectionPhase::Closing(why) = self.phase
            && why != CloseReason::Stopped
            && self.turn.poll(&self.service.ends, cx).is_pending()
        {
            return ConnectionStep::Wait;
        }
        let unsent = match self.flush(cx) {
            Ok(unsent) => unsent,
            Err(error) => {
                tracing::debug!(origin = %self.talk.origin(), %error, "write failed");
                return ConnectionStep::End(CloseReason::PeerGone);
            }
        };
        let pulled = self.pull(unsent, cx);
        pulled.then(self.serve(unsent, cx))
    }

    /// One step of the phase in which the connection is; `unsent` bytes are owed.
    fn serve(&mut self, unsent: usize, cx: &mut Context<'_>) -> ConnectionStep {
        match self.phase {
            ConnectionPhase::Open if self.judging.is_some() => self.await_verdict(cx),
            ConnectionPhase::Open if self.stop.as_mut().poll(cx).is_ready() => {
                self.stop_serving(unsent)
            }
            ConnectionPhase::Open if unsent >= self.service.daemon.config.limits.output => {
                ConnectionStep::Wait
            }
            ConnectionPhase::Open if self.deadlines.is_running(MissedDeadline::Rest) => {
                ConnectionStep::Wait
            }
            ConnectionPhase::Open if self.talk.waits() => self.await_engine(cx),
            ConnectionPhase::Open if self.backlog => self.answer_backlog(),
            ConnectionPhase::Open => self.read_and_answer(cx),
            ConnectionPhase::Draining(why) => self.drain(why, cx),
            ConnectionPhase::Closing(_) if unsent > 0 => ConnectionStep::Wait,
            ConnectionPhase::Closing(why) => self.begin_linger(why, cx),
            ConnectionPhase::Lingering(why) => self.linger(why, cx),
        }
    }

    /// Writes what is owed; returns how many bytes remain.
    fn flush(&mut self, cx: &mut Context<'_>) -> io::Result<usize> {
        if self.output.is_empty() {
            return Ok(0);
        }
        let mut sent = 0;
        while sent < self.output.len() {
            match self.stream.poll_write(cx, &self.output[sent..]) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(n)) => {
                    sent += n;
                    self.count_sent(n);
                }
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {
                    self.output.drain(..sent);
                    self.held.set(self.holding());
                    let deadline = self.service.daemon.config.limits.write_deadline;
                    self.deadlines.start(MissedDeadline::Write, deadline);
                    return Ok(self.output.len());
                }
            }
        }
        self.output = Vec::new();
        self.progress = 0;
        self.deadlines.stop(MissedDeadline::Write);
        self.held.set(self.holding());
        Ok(0)
    }

    fn count_sent(&mut self, n: usize) {
        self.tally.bytes_out += n as u64;
        self.progress += n;
        if self.progress >= WRITE_PROGRESS_BYTES {
            self.progress = 0;
            self.deadlines.stop(MissedDeadline::Write);
        }
    }

    fn count_read(&mut self, n: usize) {
        self.tally.bytes_in += n as u64;
        self.arrived += n;
        if self.arrived >= READ_PROGRESS_BYTES {
            // An unfinished frame starts it anew when the bytes are settled.
            self.arrived = 0;
            self.deadlines.stop(MissedDeadline::Frame);
        }
    }

    fn read_and_answer(&mut self, cx: &mut Context<'_>) -> ConnectionStep {
        let room = self.held.room(self.holding(), cx);
        if room == 0 {
            return ConnectionStep::Wait;
        }
        let window = if self.missing > READ_WINDOW { BULK_WINDOW } else { READ_WINDOW };
        let window = window.min(room);
        thread_buffers::lend(|scratch| {
            let n = match self.stream.poll_read(cx, &mut scratch.input[..window]) {
                Poll::Pending => return ConnectionStep::Wait,
                Poll::Ready(Err(error)) => {
                    tracing::debug!(origin = %self.talk.origin(), %error, "read failed");
                    return ConnectionStep::End(CloseReason::PeerGone);
                }
                Poll::Ready(Ok(0)) => return self.end_of_input(),
                Poll::Ready(Ok(n)) => n,
            };
            self.count_read(n);
            self.answer_read(n, scratch);
            if let Err(error) = self.send_batch(scratch, cx) {
                tracing::debug!(origin = %self.talk.origin(), %error, "write failed");
                return ConnectionStep::End(CloseReason::PeerGone);
            }
            // A full window means that there is probably more: others get their turn first.
            if n == window { ConnectionStep::Yield } else { ConnectionStep::Again }
        })
    }

    /// Answers the frames in the `n` bytes just read, together with what was held before.
    fn answer_read(&mut self, n: usize, scratch: &mut ThreadBuffers) {
        let ThreadBuffers { input, output } = scratch;
        let read = &input[..n];
        if !self.input.is_empty() {
            self.input.extend_from_slice(read);
            return self.answer_held(output);
        }
        let out = if self.output.is_empty() { output } else { &mut self.output };
        let next = self.talk.answer(&self.service, read, out, &mut self.tally);
        self.input.extend_from_slice(&read[next.consumed..]);
        self.settle(next, read);
    }

    /// Answers the frames in the input held.
    fn answer_held(&mut self, output: &mut Vec<u8>) {
        let out = if self.output.is_empty() { output } else { &mut self.output };
        let next = self.talk.answer(&self.service, &self.input, out, &mut self.tally);
        if let AfterBatch::Judge(LargePayload::Frame(_)) = next.then {
            // A large frame leaves with the buffer it came in; the rest is small.
            let rest = self.input.split_off(next.consumed);
            let bytes = std::mem::replace(&mut self.input, rest);
            return self.settle_owned(next, bytes);
        }
        self.drop_input(next.consumed);
        self.settle(next, &[]);
    }

    /// Answers frames that had to wait: for room in the output, or for a verdict.
    fn answer_backlog(&mut self) -> ConnectionStep {
        let mut output = std::mem::take(&mut self.output);
        self.answer_held(&mut output);
        self.output = output;
        self.held.set(self.holding());
        ConnectionStep::Yield
    }

    /// Brings the verdict on a large message, when it has come.
    fn await_verdict(&mut self, cx: &mut Context<'_>) -> ConnectionStep {
        let Some(judging) = &mut self.judging else { return ConnectionStep::Again };
        let verdict = match Pin::new(&mut judging.task).poll(cx) {
            Poll::Pending => return ConnectionStep::Wait,
            Poll::Ready(Ok(Ok(verdict))) => verdict,
            Poll::Ready(Ok(Err(error)) | Err(error)) => {
                tracing::error!(origin = %self.talk.origin(), %error, "a message could not be judged");
                PayloadVerdict::Refused(None, OacpCode::Internal.into())
            }
        };
        self.judging = None;
        let OacpConnection { talk, service, output, tally, .. } = self;
        if let Some(LargePayload::Whole(text)) = talk.conclude(service, verdict, output, tally) {
            self.begin_judging(LargePayload::Whole(text));
        }
        self.deadlines.set(MissedDeadline::Part, self.part_deadline());
        self.backlog = true;
        self.held.set(self.holding());
        ConnectionStep::Again
    }

    fn begin_judging(&mut self, work: LargePayload) {
        let bytes = work.len().saturating_mul(OWNED_FACTOR);
        let task = self.service.judge(work, self.talk.dialect());
        self.judging = Some(PayloadCheck { task, bytes });
    }

    /// Notes what the answered batch leaves behind; `input` is where its places point to.
    fn settle(&mut self, next: BatchRemainder, input: &[u8]) {
        let bytes = match &next.then {
            AfterBatch::Judge(LargePayload::Frame(_)) => input.to_vec(),
            _ => Vec::new(),
        };
        self.settle_owned(next, bytes);
    }

    fn settle_owned(&mut self, next: BatchRemainder, bytes: Vec<u8>) {
        if next.finished_frame {
            self.note_frame();
            self.arrived = 0;
            self.deadlines.stop(MissedDeadline::Frame);
            self.deadlines.stop(MissedDeadline::Unit);
            self.deadlines.set(MissedDeadline::Part, self.part_deadline());
        }
        self.backlog = false;
        self.missing = 0;
        match next.then {
            AfterBatch::Between => self.deadlines.stop(MissedDeadline::Frame),
            AfterBatch::Inside { more, reading_on } => {
                self.missing = more;
                if reading_on {
                    self.deadlines.start(
                        MissedDeadline::Unit,
                        self.service.daemon.config.limits.unit_deadline,
                    );
                }
                self.deadlines
                    .start(MissedDeadline::Frame, self.service.daemon.config.limits.frame_deadline);
            }
            AfterBatch::OutputFull | AfterBatch::Engine => self.backlog = true,
            AfterBatch::Judge(LargePayload::Frame(payload)) => {
                self.begin_judging(LargePayload::Bytes(bytes, payload));
            }
            AfterBatch::Judge(work) => self.begin_judging(work),
            AfterBatch::Rest(time) => {
                self.backlog = true;
                self.deadlines.start(MissedDeadline::Rest, time.min(MAX_RATE_PAUSE));
            }
            AfterBatch::Close(why) => self.leave(why),
        }
        self.held.set(self.holding());
    }

    /// Notes that the peer finished a frame, and whether it is known by now.
    fn note_frame(&mut self) {
        let Some(stranger) = self.seat.stranger() else { return };
        stranger.touch();
        self.deadlines.stop(MissedDeadline::Idle);
        self.deadlines.start(MissedDeadline::Idle, self.service.daemon.config.limits.stranger_idle);
        self.note_principal();
    }

    /// Gives a peer that is known by now the place and the limits of one.
    fn note_principal(&mut self) {
        let is_known = self.talk.principal().is_some_and(|who| *who != Principal::Anonymous);
        let Some(stranger) = self.seat.stranger().filter(|_| is_known) else { return };
        stranger.make_known();
        self.talk.make_known(&self.service);
        self.deadlines.stop(MissedDeadline::Idle);
        self.held = ConnectionBytes::new(Arc::clone(&self.service.daemon.budget));
        self.held.set(self.holding());
    }

    fn part_deadline(&self) -> Option<Instant> {
        self.talk.part_deadline().map(|tick| self.service.daemon.instant(tick))
    }

    /// Sends the answers of this batch; keeps what the socket does not take.
    fn send_batch(&mut self, scratch: &mut ThreadBuffers, cx: &mut Context<'_>) -> io::Result<()> {
        self.service.daemon.metrics.add(&mut self.tally);
        if scratch.output.is_empty() {
            return Ok(());
        }
        let taken = match self.stream.poll_write(cx, &scratch.output) {
            Poll::Ready(Ok(n)) => n,
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => 0,
        };
        self.tally.bytes_out += taken as u64;
        if taken < scratch.output.len() {
            self.output.extend_from_slice(&scratch.output[taken..]);
            self.held.set(self.holding());
        }
        Ok(())
    }

    fn holding(&self) -> usize {
        let judging = self.judging.as_ref().map_or(0, |judging| judging.bytes);
        let writing = self.writing.as_ref().map_or(0, |writing| writing.bytes);
        self.input.len() + self.output.len() + self.talk.holding() + judging + writing
    }

    fn drop_input(&mut self, consumed: usize) {
        if consumed == self.input.len() {
            self.input = Vec::new();
        } else if consumed > 0 {
            self.input.drain(..consumed);
            // One large frame must not leave its room behind a small rest.
            if self.input.capacity() > BULK_WINDOW && self.input.len() < READ_WINDOW {
                self.input.shrink_to_fit();
            }
        }
    }

    fn end(&mut self, why: CloseReason) {
        let service = &self.service;
        service.daemon.metrics.add(&mut self.tally);
        service.daemon.metrics.close(why.as_str());
        tracing::debug!(origin = %self.talk.origin(), reason = why.as_str(), "connection closed");
    }
}

impl Future for OacpConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let mut step = this.step(cx);
            if let ConnectionStep::Wait | ConnectionStep::Yield = step
                && let Poll::Ready(late) = this.deadlines.poll(cx)
            {
                step = this.late(late);
            }
            match step {
                ConnectionStep::Again => {}
                ConnectionStep::Wait => {
                    this.turn.pass_on();
                    return Poll::Pending;
                }
                ConnectionStep::Yield => {
                    this.turn.pass_on();
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                ConnectionStep::End(why) => {
                    this.end(why);
                    return Poll::Ready(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OacpConnection;

    #[test]
    fn an_idle_connection_is_small() {
        // Ten thousand of them are 9 MB.
        let bytes = size_of::<OacpConnection>();
        assert!(bytes <= 904, "{bytes} bytes");
    }
}
