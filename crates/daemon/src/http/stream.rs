//! A streamed answer: profile `dev.bridle.sse.1`.
//!
//! Begun by `post` when the shell asks for it. One task a stream follows the request in its
//! session and hands events to the body of the response; whoever does not read makes it wait, and
//! whoever leaves ends it, not the run. The same request with `Last-OpenHarnessEvent-ID` takes it up again: it goes
//! on behind that event, with what was sent (`replay`) as it was sent. After a restart the events are made
//! again of the record, which has no pieces of text: those that the shell saw are left out.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bridle_wire::openharness::event::{
    DirectiveDelta, DirectiveDone, DirectiveStart, OpenHarnessEvent, StreamFinal, StreamOpen,
    StreamResume,
};
use bridle_wire::openharness::ids::{DirectiveId, RequestId, RunId, StreamId};
use bridle_wire::openharness::{
    Directive, ErrorObject, Json, OpenHarnessCode, ProtocolVersion, ReceivedRequest,
    ResponseMessage,
};
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior};

use super::cancel::RunFollower;
use super::exchange::{self, AnswerContext};
use super::run::{FinishedRun, RunInProgress, RunNews};
use super::sent_events::StreamResumption;
use super::to_signal::ShellDescription;
use super::trace_headers::TraceHeaders;
use super::{HttpService, discovery, to_response};
use crate::access::principal::Principal;

/// Where a shell says which event it saw last.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Tells proxies to pass events on as they come.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Time between two signs of life: less than any proxy waits.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The sign of life: a comment.
const SIGN: &[u8] = b": ka\n\n";

/// Events that wait for the shell; then the stream waits.
const MAX_WAITING: usize = 16;

/// For how long a stream can be taken up again: as long as a repeat is known.
const RESUME_MS: u64 = 24 * 60 * 60 * 1000;

/// The number of the event that a shell saw last; what is no number counts as none.
pub(super) fn last_event(headers: &HeaderMap) -> Option<u64> {
    headers.get(LAST_EVENT)?.to_str().ok()?.parse().ok()
}

/// What a stream is about.
pub(super) struct StreamSubject {
    pub(super) received: Box<ReceivedRequest>,
    pub(super) about: ShellDescription,
    pub(super) who: Principal,
    /// The event that the shell saw last.
    pub(super) last: Option<u64>,
    /// When the shell no longer waits.
    pub(super) until: Instant,
    /// What ends the run when its time is over.
    pub(super) end: Option<AbortHandle>,
}

/// Answers with a stream.
pub(super) fn respond(
    http: &Arc<HttpService>,
    running: RunInProgress,
    subject: StreamSubject,
    follower: RunFollower,
    marks: TraceHeaders,
) -> Response {
    let (events, receiver) = mpsc::channel(MAX_WAITING);
    let taken = http.sent.take_up(&running.name(), subject.last);
    let teller = StreamWriter::new(events, &running, &subject, taken);
    let task = tell(Arc::clone(http), running, subject, teller, follower);
    http.shared.tasks.spawn(task);
    let mut response = Response::new(Body::new(EventBody(receiver)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    marks.put(headers);
    response
}

/// The shell has left.
struct ShellLeft;

async fn tell(
    http: Arc<HttpService>,
    running: RunInProgress,
    subject: StreamSubject,
    mut teller: StreamWriter,
    follower: RunFollower,
) {
    let told = Box::pin(teller.tell(&http, running, &subject)).await;
    match told {
        Ok(()) => {}
        // It has left when everything was said but the end.
        Err(ShellLeft) if teller.has_ended => {}
        Err(ShellLeft) => follower.leave(subject.who),
    }
}

/// Writes the events of one stream.
struct StreamWriter {
    events: mpsc::Sender<Bytes>,
    stream: StreamId,
    run: String,
    request: Option<RequestId>,
    /// The number of the next event.
    seq: u64,
    /// The last event that the shell saw, of a stream that is made again.
    seen: Option<u64>,
    /// What was sent before.
    taken: StreamResumption,
    /// Whether the first directive has begun.
    has_begun: bool,
    /// Whether the answer is there.
    has_ended: bool,
}

impl StreamWriter {
    fn new(
        events: mpsc::Sender<Bytes>,
        running: &RunInProgress,
        subject: &StreamSubject,
        taken: StreamResumption,
    ) -> StreamWriter {
        let run = running.name();
        StreamWriter {
            events,
            stream: StreamId::new(run.as_str()).expect("a session and a number are short"),
            run,
            request: subject.received.echo.request_id.clone(),
            seq: taken.next.unwrap_or(0),
            seen: subject.last.filter(|_| taken.next.is_none()),
            has_begun: taken.has_begun,
            taken,
            has_ended: false,
        }
    }

    async fn tell(
        &mut self,
        http: &HttpService,
        mut running: RunInProgress,
        subject: &StreamSubject,
    ) -> Result<(), ShellLeft> {
        for event in std::mem::take(&mut self.taken.missed) {
            self.put(event).await?;
        }
        if self.taken.is_over {
            self.has_ended = true;
            return Ok(());
        }
        if self.taken.next.is_none() {
            self.open(subject).await?;
        }
        let mut signs = tokio::time::interval(KEEP_ALIVE);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        signs.tick().await;
        let late = tokio::time::sleep_until(subject.until);
        let mut late = std::pin::pin!(late);
        let ended = loop {
            let news = tokio::select! {
                news = running.news() => news,
                _ = signs.tick() => {
                    self.put(SIGN.into()).await?;
                    continue;
                }
                () = late.as_mut() => break Err(OpenHarnessCode::EngineTimeout),
                () = exchange::stopped(http) => break Err(OpenHarnessCode::EngineOverloaded),
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
            resume: self.request.as_ref().map(|_| StreamResume { ttl_ms: RESUME_MS }),
        };
        self.say(OpenHarnessEvent::StreamOpen(open)).await
    }

    /// Shows text of an answer in the making.
    async fn delta(&mut self, text: &str, about: &ShellDescription) -> Result<(), ShellLeft> {
        let text = to_response::shown(text, about);
        let directive_id = self.directive(0);
        if !self.has_begun {
            self.has_begun = true;
            let directive =
                to_response::render("", about).with_id(directive_id.clone(), to_response::WISH);
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
        self.say(OpenHarnessEvent::DirectiveDelta(delta)).await
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
            Ok(ran) => exchange::written(http, ran, AnswerContext { received, about, who }),
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
        self.say(OpenHarnessEvent::StreamFinal(last)).await
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
        self.say(OpenHarnessEvent::DirectiveDelta(delta)).await?;
        let done = DirectiveDone {
            stream_id: self.stream.clone(),
            seq: self.next(),
            request_id: self.request.clone(),
            directive_id,
            directive: directive.clone(),
        };
        self.say(OpenHarnessEvent::DirectiveDone(done)).await
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
        self.say(OpenHarnessEvent::DirectiveStart(start)).await
    }

    fn directive(&self, index: usize) -> DirectiveId {
        to_response::directive_id(&self.run, index)
    }

    fn next(&mut self) -> u64 {
        let seq = self.seq;
        self.seq = seq.saturating_add(1);
        seq
    }

    async fn say(&self, event: OpenHarnessEvent) -> Result<(), ShellLeft> {
        let bytes = Bytes::from(event.to_sse());
        let (begins, ends) = (
            matches!(event, OpenHarnessEvent::DirectiveStart(_)),
            matches!(event, OpenHarnessEvent::StreamFinal(_)),
        );
        self.taken.log.add(self.taken.teller, event.seq(), &bytes, begins, ends);
        match self.seen {
            Some(seen) if event.seq() <= seen => Ok(()),
            _ => self.put(bytes).await,
        }
    }

    async fn put(&self, bytes: Bytes) -> Result<(), ShellLeft> {
        self.events.send(bytes).await.map_err(|_| ShellLeft)
    }
}

/// The body of a response: events as they come.
struct EventBody(mpsc::Receiver<Bytes>);

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
