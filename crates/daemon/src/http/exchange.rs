//! One OpenHarness request of a peer, carried out.
//!
//! [`post`](super::post) calls [`carry_out`] for requests over HTTP and `frame_peer` for those in
//! WebSocket frames and on lines. Checks, limits, idempotency and results are the same for all of
//! them; the reply is a message or a stream of events, which each transport writes in its own form.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use bridle_wire::openharness::ids::RequestId;
use bridle_wire::openharness::request::RequestContext;
use bridle_wire::openharness::{
    ErrorObject, OpenHarnessCode, ReceivedRequest, RefusedMessage, RequestEcho, RequestMessage,
    ResponseMessage,
};
use tokio::time::Instant;

use super::auth::now;
use super::cancel::{self, RunFollower};
use super::continuation::{self, AllowedContinuation, TokenPresenter};
use super::event_stream::{EventStream, StreamSubject};
use super::idempotency::IdempotencyKey;
use super::run::{self, InspectedRun, RunInProgress, RunRequest};
use super::shell_description::ShellDescription;
use super::to_response::{self, AnswerContext};
use super::{HttpService, approval_by_id, attachments, discovery};
use crate::access::principal::Principal;

/// Longest wait for an answer when the shell sets no timeout: the longest that a turn may take.
const MAX_ANSWER_WAIT: Duration = Duration::from_secs(600);

/// Wait for the final answer of a run whose timeout has passed: time to commit it to the record.
const EXPIRED_ANSWER_WAIT: Duration = Duration::from_secs(5);

/// An OpenHarness request whose sender is known and whose message was read.
pub(super) struct ExchangeRequest {
    pub(super) who: Principal,
    pub(super) received: Box<ReceivedRequest>,
    /// Size of the message in bytes, as it came.
    pub(super) bytes: usize,
    pub(super) format: ReplyFormat,
    /// Host by which the shell reached the daemon, for references to attachments; empty otherwise.
    pub(super) host: Box<str>,
    /// Request to whose directives this one brings results, where the message does not say so:
    /// cancelling that one ends this run, too.
    pub(super) continues: Option<RequestId>,
}

/// A message that was read and its size in bytes, or its refusal.
pub(super) type Received = Result<(Box<ReceivedRequest>, usize), Box<RefusedMessage>>;

/// Returns what the reply to a message repeats of it.
pub(super) fn echo_of(received: &Received) -> &RequestEcho {
    match received {
        Ok((received, _)) => &received.echo,
        Err(refused) => &refused.echo,
    }
}

/// Form of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyFormat {
    /// One message, when the answer is whole.
    Message,
    /// A stream of events, after the last one that the shell saw.
    Stream(Option<u64>),
}

/// Reply to a request.
pub(super) enum ExchangeReply {
    /// A message; `is_replay` if the answer was there before this copy of the request came.
    Message { message: Box<ResponseMessage>, is_replay: bool },
    /// Events that come while the answer is made.
    Stream(EventStream),
}

impl ExchangeReply {
    /// Returns a reply that says an error.
    pub(super) fn error(echo: &RequestEcho, error: ErrorObject) -> ExchangeReply {
        let message = Box::new(ResponseMessage::error(echo, error));
        ExchangeReply::Message { message, is_replay: false }
    }

    /// Returns the code of an error; `None` for an answer and for a stream.
    fn code(&self) -> Option<OpenHarnessCode> {
        match self {
            ExchangeReply::Message { message, .. } => message
                .response
                .error
                .as_ref()
                .map(|error| error.known().unwrap_or(OpenHarnessCode::InternalError)),
            ExchangeReply::Stream(_) => None,
        }
    }
}

/// Counts a reply among the HTTP statuses and logs it with its duration.
pub(super) struct ExchangeLog {
    /// Start of the exchange, if anybody reads the log.
    began: Option<Instant>,
}

impl ExchangeLog {
    /// Notes the start of an exchange.
    pub(super) fn start() -> ExchangeLog {
        let is_read = tracing::enabled!(target: "bridle::http", tracing::Level::DEBUG);
        ExchangeLog { began: is_read.then(Instant::now) }
    }

    /// Counts and logs the reply.
    pub(super) fn finish(self, http: &HttpService, reply: &ExchangeReply, correlation: &str) {
        let code = reply.code();
        let status = code.map_or(200, OpenHarnessCode::http_status);
        http.shared.metrics.http(status);
        if let Some(began) = self.began {
            let (code, ms) =
                (code.map_or("", OpenHarnessCode::as_str), began.elapsed().as_millis());
            tracing::debug!(target: "bridle::http", status, code, ms, correlation, "exchange");
        }
    }
}

/// Returns the host that references to attachments name; empty for a message that refers to none.
pub(super) fn host_of(message: &RequestMessage, header: Option<&HeaderValue>) -> Box<str> {
    let refers = message.context().is_some_and(|context| !context.attachments.is_empty());
    let host = header.filter(|_| refers).and_then(|host| host.to_str().ok());
    host.unwrap_or_default().into()
}

/// Carries a request out; errors are replies, too.
pub(super) async fn carry_out(http: &Arc<HttpService>, request: ExchangeRequest) -> ExchangeReply {
    let echo = request.received.echo.clone();
    let reply = match admit(http, request) {
        Ok(admitted) => answer(http, admitted).await,
        Err(error) => Err(error),
    };
    reply.unwrap_or_else(|error| ExchangeReply::error(&echo, *error))
}

/// A request that may run.
struct AdmittedRequest {
    request: ExchangeRequest,
    /// Key of its id, if it has one.
    key: Option<IdempotencyKey>,
    step: Option<AllowedContinuation>,
}

/// Checks everything that can be checked before the engine is asked.
fn admit(
    http: &HttpService,
    request: ExchangeRequest,
) -> Result<AdmittedRequest, Box<ErrorObject>> {
    let ExchangeRequest { who, received, .. } = &request;
    check_context(http, received)?;
    let context = received.message.context();
    let mut step = match context.is_some_and(|context| context.continuation.is_some()) {
        true => {
            let presenter = TokenPresenter { who, message: &received.message, now: now() };
            continuation::take(&http.seals, presenter)?
        }
        false => None,
    };
    if let (Some(step), Some(id)) = (&mut step, &request.continues) {
        step.named = Some(id.clone());
    }
    let key = received.message.request_id.as_ref().map(|id| http.seen.key(who, id));
    if key.is_some_and(|key| http.seen.conflicts(key, received.fingerprint)) {
        return Err(Box::new(ErrorObject::of(OpenHarnessCode::IdempotencyConflict)));
    }
    if http.shared.budget.full() {
        return Err(Box::new(ErrorObject::of(OpenHarnessCode::EngineOverloaded)));
    }
    Ok(AdmittedRequest { request, key, step })
}

/// Refuses a named procedure that no skill is for: this engine could only ignore it.
fn check_context(http: &HttpService, received: &ReceivedRequest) -> Result<(), Box<ErrorObject>> {
    let Some(context) = received.message.context() else { return Ok(()) };
    let procedure = context.task_hint.as_ref().and_then(|task| task.sop_id.as_ref());
    if procedure.is_some_and(|id| !http.shared.hub.knows_procedure(id.as_str())) {
        let error = ErrorObject::of(OpenHarnessCode::InvalidRequest)
            .with_message("this engine knows no procedure of that name")
            .with_detail("field", "context.task_hint.sop_id");
        return Err(Box::new(error));
    }
    Ok(())
}

/// Has the engine answer.
async fn answer(
    http: &Arc<HttpService>,
    admitted: AdmittedRequest,
) -> Result<ExchangeReply, Box<ErrorObject>> {
    let AdmittedRequest { request, key, step } = admitted;
    let ExchangeRequest { who, received, bytes, format, host, continues } = request;
    let context = received.message.context();
    let about = ShellDescription::of(context.and_then(|context| context.shell.as_ref()));
    if continuation::is_results_alone(&received.message) {
        let reader = AnswerContext { received: &received, about: &about, who: &who };
        return Box::pin(answer_by_name(http, reader)).await;
    }
    let deadlines = AnswerDeadlines::of(context);
    let is_resumed = matches!(format, ReplyFormat::Stream(Some(_)));
    let files = Vec::new();
    let mut wanted = RunRequest { who, received: &received, about, files, bytes, is_resumed, step };
    let mut running = begin(http, &mut wanted, &host, deadlines.reply).await?;
    if let Some(key) = key {
        http.seen.note(key, received.fingerprint, running.run());
    }
    if format == ReplyFormat::Message && continues.is_none() {
        // Most answers come with the receipt: then nobody has to wait for them, or to be counted.
        running = match running.finished().map_err(|code| Box::new(ErrorObject::of(code)))? {
            InspectedRun::Ran(ran) => {
                let reader =
                    AnswerContext { received: &received, about: &wanted.about, who: &wanted.who };
                let message = Box::new(to_response::compose(http, &ran, reader));
                return Ok(ExchangeReply::Message { message, is_replay: ran.is_replay });
            }
            InspectedRun::NotYet(running) => running,
        };
    }
    if let Some(id) = continues {
        http.seen.goes_on(&wanted.who, &id, running.run());
    }
    let follower = RunFollower::new(http, running.run());
    let end = deadlines.run.filter(|_| !running.is_over());
    let end = end.map(|time| cancel::end_at(http, wanted.who.clone(), running.run(), time));
    let RunRequest { who, about, .. } = wanted;
    if let ReplyFormat::Stream(last) = format {
        let subject = StreamSubject { received, about, who, last, until: deadlines.reply, end };
        return Ok(ExchangeReply::Stream(EventStream::start(http, running, subject, follower)));
    }
    let ran = within(http, deadlines.reply, pin!(running.finish())).await?;
    if let Some(end) = end {
        end.abort();
    }
    let reader = AnswerContext { received: &received, about: &about, who: &who };
    let message = Box::new(to_response::compose(http, &ran, reader));
    Ok(ExchangeReply::Message { message, is_replay: ran.is_replay })
}

/// Takes the answers to questions that the shell knows by their names alone.
async fn answer_by_name(
    http: &HttpService,
    reader: AnswerContext<'_>,
) -> Result<ExchangeReply, Box<ErrorObject>> {
    let context = reader.received.message.context();
    if !context.is_some_and(|context| approval_by_id::are_answers(context.directive_results())) {
        return Err(Box::new(ErrorObject::of(OpenHarnessCode::ContinuationInvalid)));
    }
    let message = approval_by_id::decide(http, reader).await?;
    let asked = reader.received.message.capabilities.as_ref();
    let (supported, denials) = discovery::capabilities(reader.who, asked);
    let message = Box::new(message.with_capabilities(supported, denials));
    Ok(ExchangeReply::Message { message, is_replay: false })
}

/// Deadlines of an answer.
#[derive(Clone, Copy)]
struct AnswerDeadlines {
    /// Time at which the shell gets an error instead of an answer.
    reply: Instant,
    /// Time at which the run itself ends, if the shell set a timeout.
    run: Option<Instant>,
}

impl AnswerDeadlines {
    fn of(context: Option<&RequestContext>) -> AnswerDeadlines {
        let now = Instant::now();
        let timeout = context.and_then(RequestContext::timeout_ms).map(Duration::from_millis);
        let run =
            timeout.filter(|timeout| *timeout <= MAX_ANSWER_WAIT).map(|timeout| now + timeout);
        let reply = run.map_or(now + MAX_ANSWER_WAIT, |end| end + EXPIRED_ANSWER_WAIT);
        AnswerDeadlines { reply, run }
    }
}

/// Has a request recorded, with what is known of its attachments.
async fn begin(
    http: &Arc<HttpService>,
    wanted: &mut RunRequest<'_>,
    host: &str,
    in_time: Instant,
) -> Result<RunInProgress, Box<ErrorObject>> {
    if !wanted.is_resumed && attachments::repeats_first(wanted.received.message.context()) {
        // Rare, and much to keep while it is waited for: in a place of its own.
        return Box::pin(begin_with_files(http, wanted, host, in_time)).await;
    }
    within(http, in_time, pin!(run::begin(http, wanted))).await
}

/// Has a request with attachments recorded, unless it was recorded before.
async fn begin_with_files(
    http: &Arc<HttpService>,
    wanted: &mut RunRequest<'_>,
    host: &str,
    in_time: Instant,
) -> Result<RunInProgress, Box<ErrorObject>> {
    let message = &wanted.received.message;
    if message.request_id.is_some() {
        wanted.is_resumed = true;
        let found = async { Ok(run::begin(http, wanted).await) };
        let found = within(http, in_time, pin!(found)).await?;
        match found {
            Err(OpenHarnessCode::StreamExpired) => wanted.is_resumed = false,
            found => return found.map_err(|code| Box::new(ErrorObject::of(code))),
        }
    }
    let resolved = attachments::resolve(http, &wanted.who, host, message.context());
    let resolved = within(http, in_time, pin!(async { Ok(resolved.await) })).await??;
    wanted.files = resolved;
    within(http, in_time, pin!(run::begin(http, wanted))).await
}

/// Waits until the time is over, or the daemon stops. The work stays where it is: there is much of it,
/// and every hand that it goes through would keep a place for it.
async fn within<T>(
    http: &HttpService,
    time: Instant,
    work: Pin<&mut impl Future<Output = Result<T, OpenHarnessCode>>>,
) -> Result<T, Box<ErrorObject>> {
    let done = tokio::select! {
        biased;
        done = tokio::time::timeout_at(time, work) => done.unwrap_or(Err(OpenHarnessCode::EngineTimeout)),
        () = http.stop_is_near() => Err(OpenHarnessCode::EngineOverloaded),
    };
    done.map_err(|code| Box::new(ErrorObject::of(code)))
}
