//! Events of an answer while it is made: the typed stream that every transport writes.
//!
//! [`exchange`](super::exchange) starts one when the shell asks for it; `sse` writes it to an HTTP
//! response, `frame_peer` to WebSocket frames and lines. One task a stream follows the run and sends
//! events; a reader that is slow makes it wait, and a reader that leaves ends it, not the run. A
//! resumed stream goes on behind the last event that the shell saw, with the events of
//! [`sent_events`](super::sent_events) as they were sent. After a restart they are made again of the
//! record, which has no pieces of text; those that the shell saw are left out.

use std::sync::Arc;
use std::task::{Context, Poll};

use bridle_wire::openharness::event::{
    DirectiveDelta, DirectiveDone, DirectiveStart, OpenHarnessEvent, StreamFinal, StreamOpen,
    StreamResume,
};
use bridle_wire::openharness::ids::{DirectiveId, RequestId, RunId, StreamId};
use bridle_wire::openharness::{
    Directive, ErrorObject, Json, OpenHarnessCode, ProtocolVersion, ReceivedRequest,
    ResponseMessage,
};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::cancel::RunFollower;
use super::run::{FinishedRun, RunInProgress, RunNews};
use super::sent_events::StreamResumption;
use super::shell_description::ShellDescription;
use super::to_response::{self, AnswerContext};
use super::{HttpService, directive, discovery};
use crate::access::principal::Principal;

/// Events that wait for a reader; then the stream waits.
const MAX_WAITING_EVENTS: usize = 16;

/// Time for which a stream can be resumed, in milliseconds: as long as a repeat is known.
const RESUME_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// Request of a stream, and its reader.
pub(super) struct StreamSubject {
    pub(super) received: Box<ReceivedRequest>,
    pub(super) about: ShellDescription,
    pub(super) who: Principal,
    /// Number of the event that the shell saw last.
    pub(super) last: Option<u64>,
    /// Time at which the shell no longer waits.
    pub(super) until: Instant,
    /// Task that ends the run at its timeout.
    pub(super) end: Option<AbortHandle>,
}

/// Events of a reply, in order, as they are made. Dropping it leaves the stream.
#[derive(Debug)]
pub(super) struct EventStream(mpsc::Receiver<Arc<OpenHarnessEvent>>);

impl EventStream {
    /// Starts the task that follows a run and makes its events.
    pub(super) fn start(
        http: &Arc<HttpService>,
        running: RunInProgress,
        subject: StreamSubject,
        follower: RunFollower,
    ) -> EventStream {
        let (events, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
        let resumption = http.sent.take_up(&running.name(), subject.last);
        let maker = EventMaker::new(events, &running, &subject, resumption);
        http.shared.tasks.spawn(follow(Arc::clone(http), running, subject, maker, follower));
        EventStream(receiver)
    }

    /// Waits for the next event; `None` after the last one.
    pub(super) async fn next(&mut self) -> Option<Arc<OpenHarnessEvent>> {
        self.0.recv().await
    }

    /// Polls for the next event.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Arc<OpenHarnessEvent>>> {
        self.0.poll_recv(cx)
    }
}

/// The shell has left.
struct ShellLeft;

/// Makes the events of a run until its end, or until the shell leaves.
async fn follow(
    http: Arc<HttpService>,
    running: RunInProgress,
    subject: StreamSubject,
    mut maker: EventMaker,
    follower: RunFollower,
) {
    match Box::pin(maker.make(&http, running, &subject)).await {
        Ok(()) => {}
        // The shell has left when everything was sent but the end.
        Err(ShellLeft) if maker.has_ended => {}
        Err(ShellLeft) => follower.leave(subject.who),
    }
}

/// Maker of the events of one stream.
struct EventMaker {
    events: mpsc::Sender<Arc<OpenHarnessEvent>>,
    stream: StreamId,
    run: String,
    request: Option<RequestId>,
    /// The number of the next event.
    seq: u64,
    /// The last event that the shell saw, of a stream that is made again.
    seen: Option<u64>,
    /// Events that were sent before, and the log of those to come.
    resumption: StreamResumption,
    /// Whether the first directive has begun.
    has_begun: bool,
    /// Whether the answer is there.
    has_ended: bool,
}

impl EventMaker {
    fn new(
        events: mpsc::Sender<Arc<OpenHarnessEvent>>,
        running: &RunInProgress,
        subject: &StreamSubject,
        resumption: StreamResumption,
    ) -> EventMaker {
        let run = running.name();
        EventMaker {
            events,
            stream: StreamId::new(run.as_str()).expect("a session and a number are short"),
            run,
            request: subject.received.echo.request_id.clone(),
            seq: resumption.next.unwrap_or(0),
            seen: subject.last.filter(|_| resumption.next.is_none()),
            has_begun: resumption.has_begun,
            resumption,
            has_ended: false,
        }
    }

    async fn make(
        &mut self,
        http: &HttpService,
        mut running: RunInProgress,
        subject: &StreamSubject,
    ) -> Result<(), ShellLeft> {
        for event in std::mem::take(&mut self.resumption.missed) {
            self.send(event).await?;
        }
        if self.resumption.is_over {
            self.has_ended = true;
            return Ok(());
        }
        if self.resumption.next.is_none() {
            self.open(subject).await?;
        }
        let late = tokio::time::sleep_until(subject.until);
        let mut late = std::pin::pin!(late);
        let ended = loop {
            let news = tokio::select! {
                news = running.news() => news,
                () = late.as_mut() => break Err(OpenHarnessCode::EngineTimeout),
                () = http.stop_is_near() => break Err(OpenHarnessCode::EngineOverloaded),
                () = self.events.closed() => return Err(ShellLeft),
            };
            match news {
                Ok(RunNews::Delta(text)) => self.delta(&text, &subject.about).await?,
                Ok(RunNews::Answered(said)) => break Ok(running.ran(said)),
                Ok(RunNews::Nothing) => {}
                Err(code) => break Err(code),
            }
        };
        self.has_ended = true;
        if let (Ok(_), Some(end)) = (&ended, &subject.end) {
            end.abort();
        }
        self.end(http, ended, subject).await
    }

    async fn open(&mut self, subject: &StreamSubject) -> Result<(), ShellLeft> {
        let asked = subject.received.message.capabilities.as_ref();
        let (supported, denials) = discovery::capabilities(&subject.who, asked);
        let open = StreamOpen {
            stream_id: self.stream.clone(),
            seq: self.next(),
            request_id: self.request.clone(),
            protocol_version: ProtocolVersion::ours(),
            run_id: RunId::new(self.run.as_str()).expect("a session and a number are short"),
            supported_capabilities: Some(supported),
            capability_denials: denials,
            resume: self.request.as_ref().map(|_| StreamResume { ttl_ms: RESUME_TTL_MS }),
        };
        self.emit(OpenHarnessEvent::StreamOpen(open)).await
    }

    /// Shows text of an answer in the making.
    async fn delta(&mut self, text: &str, about: &ShellDescription) -> Result<(), ShellLeft> {
        let text = about.printable(text);
        let directive_id = self.directive(0);
        if !self.has_begun {
            self.has_begun = true;
            let directive =
                directive::render("", about).with_id(directive_id.clone(), directive::RESULT_WISH);
            self.start(0, directive).await?;
        }
        let delta = DirectiveDelta {
            stream_id: self.stream.clone(),
            seq: self.next(),
            request_id: self.request.clone(),
            directive_id,
            path: "/payload/text".to_owned(),
            append: Some(text.into_owned()),
            value: None,
        };
        self.emit(OpenHarnessEvent::DirectiveDelta(delta)).await
    }

    /// Shows the directives of an answer whole, and then the answer.
    async fn end(
        &mut self,
        http: &HttpService,
        ended: Result<FinishedRun, OpenHarnessCode>,
        subject: &StreamSubject,
    ) -> Result<(), ShellLeft> {
        let StreamSubject { received, about, who, .. } = subject;
        let message = match &ended {
            Ok(ran) => to_response::compose(http, ran, AnswerContext { received, about, who }),
            Err(code) => {
                let error = ResponseMessage::error(&received.echo, ErrorObject::of(*code));
                let asked = received.message.capabilities.as_ref();
                let (supported, denials) = discovery::capabilities(who, asked);
                error.with_capabilities(supported, denials)
            }
        };
        self.leave_room(message.response.action_directives.len());
        for (index, directive) in message.response.action_directives.iter().enumerate() {
            self.whole(index, directive).await?;
        }
        let last = StreamFinal {
            stream_id: self.stream.clone(),
            seq: self.next(),
            request_id: self.request.clone(),
            message: Box::new(message),
        };
        self.emit(OpenHarnessEvent::StreamFinal(last)).await
    }

    /// Sees to it that the end of a stream that is made again has a number that the shell did not see:
    /// pieces of text, which are not made again, had numbers before.
    fn leave_room(&mut self, directives: usize) {
        let begun = u64::from(self.has_begun && directives > 0);
        let count = u64::try_from(directives).unwrap_or(u64::MAX).saturating_mul(3);
        let last = self.seq.saturating_add(count).saturating_sub(begun);
        if let Some(seen) = self.seen.filter(|seen| *seen >= last) {
            self.seq = seen.saturating_add(1);
        }
    }

    /// Completes a directive: whatever was shown of it, its payload is now this.
    async fn whole(&mut self, index: usize, directive: &Directive) -> Result<(), ShellLeft> {
        let directive_id = self.directive(index);
        if index > 0 || !self.has_begun {
            self.start(index, directive.clone()).await?;
        }
        let delta = DirectiveDelta {
            stream_id: self.stream.clone(),
            seq: self.next(),
            request_id: self.request.clone(),
            directive_id: directive_id.clone(),
            path: "/payload".to_owned(),
            append: None,
            value: directive.payload.clone().map(Json::Object),
        };
        self.emit(OpenHarnessEvent::DirectiveDelta(delta)).await?;
        let done = DirectiveDone {
            stream_id: self.stream.clone(),
            seq: self.next(),
            request_id: self.request.clone(),
            directive_id,
            directive: directive.clone(),
        };
        self.emit(OpenHarnessEvent::DirectiveDone(done)).await
    }

    async fn start(&mut self, index: usize, directive: Directive) -> Result<(), ShellLeft> {
        let start = DirectiveStart {
            stream_id: self.stream.clone(),
            seq: self.next(),
            request_id: self.request.clone(),
            index: u64::try_from(index).unwrap_or(u64::MAX),
            directive_id: self.directive(index),
            directive: Directive { payload: None, ..directive },
        };
        self.emit(OpenHarnessEvent::DirectiveStart(start)).await
    }

    fn directive(&self, index: usize) -> DirectiveId {
        directive::directive_id(&self.run, index)
    }

    fn next(&mut self) -> u64 {
        let seq = self.seq;
        self.seq = seq.saturating_add(1);
        seq
    }

    /// Keeps an event and sends it, unless the shell saw it before.
    async fn emit(&self, event: OpenHarnessEvent) -> Result<(), ShellLeft> {
        let event = Arc::new(event);
        self.resumption.log.add(self.resumption.writer, &event);
        match self.seen {
            Some(seen) if event.seq() <= seen => Ok(()),
            _ => self.send(event).await,
        }
    }

    async fn send(&self, event: Arc<OpenHarnessEvent>) -> Result<(), ShellLeft> {
        self.events.send(event).await.map_err(|_| ShellLeft)
    }
}
