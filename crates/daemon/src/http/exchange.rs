//! One exchange: a request comes in, its answer goes out.
//!
//! The router calls [`exchange`]. Who asks is settled by the head alone; then the body is read before
//! anything else is refused, so that refusals repeat the ids that are in it.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::Response;
use bridle_wire::openharness::json::{BrokenJson, JsonFault};
use bridle_wire::openharness::request::RequestContext;
use bridle_wire::openharness::{
    Capabilities, ErrorObject, OpenHarnessCode, ReceivedRequest, RefusedMessage, RequestEcho,
    ResponseMessage, receive,
};

use tokio::time::Instant;

use super::auth::{HttpPeer, now};
use super::body::{self, BodyRead};
use super::cancel::{self, RunFollower};
use super::continuation::{self, AllowedContinuation, TokenPresenter};
use super::idempotency::IdempotencyKey;
use super::in_process::ContinuedRequest;
use super::run::{self, FinishedRun, InspectedRun, RunInProgress, RunRequest};
use super::stream::{self, StreamSubject};
use super::to_response::{self, ApprovalOffer};
use super::to_signal::ShellDescription;
use super::trace_headers::TraceHeaders;
use super::{HttpService, answer, approval_by_id, attachments, discovery, idempotency};
use crate::access::principal::Principal;
use crate::byte_budget::ConnectionBytes;

/// Where requests are posted; the router knows more names of it.
pub(super) const PATH: &str = "/v1/openharness";

/// Says that an answer was there already.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Another place for the id of a request.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How long an answer is waited for when the shell does not say: as long as a turn may take.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// How long the last word of a run is waited for whose time is over: a commit of the record.
const LAST_WORD: Duration = Duration::from_secs(5);

/// A body of more bytes is read on another thread: some 200 us for this much.
const LARGE: usize = 64 << 10;

/// What comes of an exchange.
enum ExchangeReply {
    /// A message.
    Message { message: Box<ResponseMessage>, is_replay: bool },
    /// A stream.
    Stream(RunInProgress, Box<StreamSubject>, RunFollower),
}

impl ExchangeReply {
    fn error(echo: &RequestEcho, error: ErrorObject) -> ExchangeReply {
        let message = Box::new(ResponseMessage::error(echo, error));
        ExchangeReply::Message { message, is_replay: false }
    }
}

/// Takes a request and answers it.
pub(super) async fn exchange(
    State(http): State<Arc<HttpService>>,
    Extension(peer): Extension<Arc<HttpPeer>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    posted(&http, &peer, head, body).await
}

/// Tells whether a request is an exchange, by its head alone.
pub(super) fn is_exchange(head: &Parts) -> bool {
    head.method == Method::POST && head.uri.path() == PATH
}

/// The same for a request that came to [`PATH`], without a router. Who asks is known by the head
/// before the body is read.
pub(super) async fn posted<B>(
    http: &Arc<HttpService>,
    peer: &HttpPeer,
    head: Parts,
    body: B,
) -> Response
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let who = match peer.let_in(http, &head.headers).await {
        Ok(who) => who,
        Err(code) => return refuse_by_head(http, &head, body, code).await,
    };
    let deadline = http.shared.config.limits.frame_deadline;
    let mut held = ConnectionBytes::new(Arc::clone(&http.shared.budget));
    match body::read(body, http.limits.bytes, deadline, &mut held).await {
        BodyRead::NoRoom => {
            let mut response = answer::error(
                OpenHarnessCode::EngineOverloaded,
                &RequestEcho::default(),
                TraceHeaders::of(&head.headers),
            );
            answer::close_after(&mut response);
            http.shared.metrics.http(response.status().as_u16());
            response
        }
        read => answered(http, (peer, who), head, (read, held)).await,
    }
}

/// Refuses a request whose sender is not let in. Of its body only as much is read as a connection may
/// hold, to repeat the ids in it.
async fn refuse_by_head<B>(
    http: &Arc<HttpService>,
    head: &Parts,
    body: B,
    code: OpenHarnessCode,
) -> Response
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let most = body::MAX_ECHOED_BYTES;
    let upper = body.size_hint().upper().and_then(|upper| usize::try_from(upper).ok());
    let mut echo = None;
    if upper.is_some_and(|upper| upper <= most) {
        let deadline = http.shared.config.limits.frame_deadline.min(body::STRANGER_PATIENCE);
        let mut held = ConnectionBytes::new(Arc::clone(&http.shared.stranger_budget));
        if let BodyRead::Whole(bytes) = body::read(body, most, deadline, &mut held).await {
            let received = receive(&bytes, &http.limits);
            echo = Some(received.map_or_else(|refused| refused.echo, |received| received.echo));
        }
    }
    let is_read = echo.is_some();
    let echo = echo.unwrap_or_default();
    let marks = TraceHeaders::of(&head.headers).with(&echo);
    let mut response = answer::error(code, &echo, marks);
    if !is_read {
        answer::close_after(&mut response);
    }
    http.shared.metrics.http(response.status().as_u16());
    response
}

/// Answers a request whose body was read.
async fn answered(
    http: &Arc<HttpService>,
    (peer, who): (&HttpPeer, Principal),
    head: Parts,
    (read, held): (BodyRead, ConnectionBytes),
) -> Response {
    let is_told = tracing::enabled!(target: "bridle::http", tracing::Level::DEBUG);
    let began = is_told.then(Instant::now);
    let marks = TraceHeaders::of(&head.headers);
    let received = parse(http, read).await;
    let echo = match &received {
        Ok((received, _)) => received.echo.clone(),
        Err(refused) => refused.echo.clone(),
    };
    let marks = marks.with(&echo);
    let admitted = admit(http, (peer, who), &head.headers, received);
    let admitted =
        admitted.map(|wanted| wanted.going_on(head.extensions.get::<ContinuedRequest>()));
    // A part of the buffer of its connection: not held while the engine works. A message on its way
    // through the engine is counted by its weight.
    drop((head, held));
    let answered = match admitted {
        Ok(wanted) => carry_out(http, wanted).await,
        Err(error) => Err(error),
    };
    let answered = answered.unwrap_or_else(|error| ExchangeReply::error(&echo, *error));
    let correlation = is_told.then(|| marks.correlation().to_owned());
    let (response, code) = match answered {
        ExchangeReply::Stream(running, subject, follower) => {
            (stream::respond(http, running, *subject, follower, marks), None)
        }
        ExchangeReply::Message { message, is_replay } => {
            let mut response = answer::message(&message, marks);
            if is_replay {
                response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            }
            (response, message.response.error.as_ref().and_then(ErrorObject::known))
        }
    };
    let status = response.status().as_u16();
    http.shared.metrics.http(status);
    if let Some(began) = began {
        let (code, ms) = (code.map_or("", OpenHarnessCode::as_str), began.elapsed().as_millis());
        tracing::debug!(target: "bridle::http", status, code, ms, correlation, "exchange");
    }
    response
}

/// A request that may run.
struct AdmittedRequest {
    who: Principal,
    received: Box<ReceivedRequest>,
    /// What it is remembered by, if it has an id.
    key: Option<IdempotencyKey>,
    bytes: usize,
    form: ResponseFormat,
    /// The name by which it came here; left out where it refers to nothing.
    host: Box<str>,
    step: Option<AllowedContinuation>,
    /// What it goes on with, where that cannot be seen in it.
    of: Option<ContinuedRequest>,
}

impl AdmittedRequest {
    /// The same as part of what another request began.
    fn going_on(mut self, of: Option<&ContinuedRequest>) -> AdmittedRequest {
        if let (Some(step), Some(ContinuedRequest(id))) = (&mut self.step, of) {
            step.named = Some(id.clone());
        }
        AdmittedRequest { of: of.cloned(), ..self }
    }
}

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseFormat {
    /// With one message.
    Whole,
    /// With events, after the one that the shell saw last.
    Stream(Option<u64>),
}

/// Reads the message; large ones on another thread.
async fn parse(
    http: &HttpService,
    read: BodyRead,
) -> Result<(Box<ReceivedRequest>, usize), Box<RefusedMessage>> {
    let (bytes, is_whole) = match read {
        BodyRead::Whole(bytes) => (bytes, true),
        BodyRead::TooLarge(mut bytes) => {
            // One byte more than is taken, so that the reader says so itself.
            bytes.push(b' ');
            (bytes.into(), true)
        }
        BodyRead::Broken(bytes) => (bytes, false),
        BodyRead::NoRoom => (Bytes::new(), false),
    };
    let (count, limits) = (bytes.len(), http.limits);
    // Passed on by several hands: in a place of its own.
    let read = move || receive(&bytes, &limits).map(Box::new);
    let received = if count <= LARGE {
        read()
    } else {
        let apart = tokio::task::spawn_blocking(read).await;
        apart.unwrap_or_else(|error| {
            tracing::error!(%error, "a message could not be read apart");
            receive(b"", &limits).map(Box::new)
        })
    };
    match received {
        // What looks whole is not, as long as more was announced.
        Ok(received) if !is_whole => {
            let broken = BrokenJson { fault: JsonFault::Incomplete, offset: count };
            Err(Box::new(RefusedMessage { refusal: broken.into(), echo: received.echo }))
        }
        received => received.map(|received| (received, count)),
    }
}

/// Checks everything else that can be checked before the engine is asked.
fn admit(
    http: &HttpService,
    (peer, who): (&HttpPeer, Principal),
    headers: &HeaderMap,
    received: Result<(Box<ReceivedRequest>, usize), Box<RefusedMessage>>,
) -> Result<AdmittedRequest, Box<ErrorObject>> {
    let of = |code| Box::new(ErrorObject::of(code));
    if !is_json(headers) {
        return Err(of(OpenHarnessCode::UnsupportedMediaType));
    }
    let (received, bytes) = received.map_err(|refused| Box::new(refused.refusal.error()))?;
    let form = form(peer, headers, received.message.capabilities.as_ref());
    let form = form.ok_or_else(|| of(OpenHarnessCode::NotAcceptable))?;
    let id = received.message.request_id.as_ref();
    if let Some(key) = headers.get(KEY)
        && Some(key.as_bytes()) != id.map(|id| id.as_str().as_bytes())
    {
        return Err(of(OpenHarnessCode::HeaderMismatch));
    }
    check_context(&received)?;
    let context = received.message.context();
    let step = match context.is_some_and(|context| context.continuation.is_some()) {
        true => {
            let bearer = TokenPresenter { who: &who, message: &received.message, now: now() };
            continuation::take(&http.seals, bearer)?
        }
        false => None,
    };
    let key = id.map(|id| http.seen.key(&who, id));
    if key.is_some_and(|key| http.seen.conflicts(key, received.fingerprint)) {
        return Err(of(OpenHarnessCode::IdempotencyConflict));
    }
    if http.shared.budget.full() {
        return Err(of(OpenHarnessCode::EngineOverloaded));
    }
    let refers = context.is_some_and(|context| !context.attachments.is_empty());
    let host = headers.get(HOST).filter(|_| refers).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default().into();
    Ok(AdmittedRequest { who, received, key, bytes, form, host, step, of: None })
}

/// Refuses what this engine could only ignore: a procedure that it does not know.
fn check_context(received: &ReceivedRequest) -> Result<(), Box<ErrorObject>> {
    let Some(context) = received.message.context() else { return Ok(()) };
    if context.task_hint.as_ref().is_some_and(|task| task.sop_id.is_some()) {
        let error = ErrorObject::of(OpenHarnessCode::InvalidRequest)
            .with_message("this engine knows no procedure of that name")
            .with_detail("field", "context.task_hint.sop_id");
        return Err(Box::new(error));
    }
    Ok(())
}

/// How a shell wants to be answered: with a stream, if it says so in both places.
fn form(
    peer: &HttpPeer,
    headers: &HeaderMap,
    asked: Option<&Capabilities>,
) -> Option<ResponseFormat> {
    if peer.follows(asked) && accepts(headers, &["text/event-stream"]) {
        return Some(ResponseFormat::Stream(stream::last_event(headers)));
    }
    accepts(headers, &JSON_RANGES).then_some(ResponseFormat::Whole)
}

/// Has the engine answer.
async fn carry_out(
    http: &Arc<HttpService>,
    admitted: AdmittedRequest,
) -> Result<ExchangeReply, Box<ErrorObject>> {
    let AdmittedRequest { who, received, key, bytes, form, host, step, of } = admitted;
    let context = received.message.context();
    let about = ShellDescription::of(context.and_then(|context| context.shell.as_ref()));
    if continuation::is_results_alone(&received.message) {
        let heard = AnswerContext { received: &received, about: &about, who: &who };
        return Box::pin(answer_by_name(http, heard)).await;
    }
    let patience = AnswerPatience::of(context);
    let is_resumed = matches!(form, ResponseFormat::Stream(Some(_)));
    let files = Vec::new();
    let mut wanted = RunRequest { who, received: &received, about, files, bytes, is_resumed, step };
    let mut running = begin(http, &mut wanted, &host, patience.until).await?;
    if let Some(key) = key {
        http.seen.note(key, received.fingerprint, running.run());
    }
    if form == ResponseFormat::Whole && of.is_none() {
        // Most answers come with the receipt: then nobody has to wait for them, or to be counted.
        running = match running.finished().map_err(|code| Box::new(ErrorObject::of(code)))? {
            InspectedRun::Ran(ran) => {
                let heard =
                    AnswerContext { received: &received, about: &wanted.about, who: &wanted.who };
                let message = Box::new(written(http, &ran, heard));
                return Ok(ExchangeReply::Message { message, is_replay: ran.is_replay });
            }
            InspectedRun::NotYet(running) => running,
        };
    }
    if let Some(ContinuedRequest(id)) = of {
        http.seen.goes_on(&wanted.who, &id, running.run());
    }
    let follower = RunFollower::new(http, running.run());
    let end = patience.end.filter(|_| !running.is_over());
    let end = end.map(|time| cancel::end_at(http, wanted.who.clone(), running.run(), time));
    let RunRequest { who, about, .. } = wanted;
    if let ResponseFormat::Stream(last) = form {
        let subject = StreamSubject { received, about, who, last, until: patience.until, end };
        return Ok(ExchangeReply::Stream(running, Box::new(subject), follower));
    }
    let ran = within(http, patience.until, pin!(running.finish())).await?;
    if let Some(end) = end {
        end.abort();
    }
    let message =
        written(http, &ran, AnswerContext { received: &received, about: &about, who: &who });
    Ok(ExchangeReply::Message { message: Box::new(message), is_replay: ran.is_replay })
}

/// Has questions answered that the shell knows by their names alone.
async fn answer_by_name(
    http: &HttpService,
    heard: AnswerContext<'_>,
) -> Result<ExchangeReply, Box<ErrorObject>> {
    let context = heard.received.message.context();
    if !context.is_some_and(|context| approval_by_id::are_answers(context.directive_results())) {
        return Err(Box::new(ErrorObject::of(OpenHarnessCode::ContinuationInvalid)));
    }
    let message = approval_by_id::decide(http, heard).await?;
    let asked = heard.received.message.capabilities.as_ref();
    let (supported, denials) = discovery::capabilities(heard.who, asked);
    let message = Box::new(message.with_capabilities(supported, denials));
    Ok(ExchangeReply::Message { message, is_replay: false })
}

/// Who hears an answer.
#[derive(Clone, Copy)]
pub(super) struct AnswerContext<'h> {
    pub(super) received: &'h ReceivedRequest,
    pub(super) about: &'h ShellDescription,
    pub(super) who: &'h Principal,
}

/// The answer to a request, with what is offered.
pub(super) fn written(
    http: &HttpService,
    ran: &FinishedRun,
    heard: AnswerContext<'_>,
) -> ResponseMessage {
    let AnswerContext { received, about, who } = heard;
    let asked = received.message.capabilities.as_ref();
    let place = discovery::can_ask(asked).then(|| idempotency::named(&received.message));
    let asks = place.as_deref().map(|place| ApprovalOffer { seals: &http.seals, who, place });
    let is_user = matches!(who, Principal::Uid(_));
    let message = to_response::answer(
        ran,
        to_response::ResponseReader { echo: &received.echo, about, is_user, asks },
    );
    let (supported, denials) = discovery::capabilities(who, asked);
    message.with_capabilities(supported, denials)
}

/// For how long a shell waits.
#[derive(Clone, Copy)]
struct AnswerPatience {
    /// When nobody waits for the answer any more.
    until: Instant,
    /// When the run itself ends, if the shell says so.
    end: Option<Instant>,
}

impl AnswerPatience {
    fn of(context: Option<&RequestContext>) -> AnswerPatience {
        let now = Instant::now();
        let said = context.and_then(RequestContext::timeout_ms).map(Duration::from_millis);
        let end = said.filter(|said| *said <= MAX_WAIT).map(|said| now + said);
        let until = end.map_or(now + MAX_WAIT, |end| end + LAST_WORD);
        AnswerPatience { until, end }
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

/// The same for a request that refers to something.
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
        () = stopped(http) => Err(OpenHarnessCode::EngineOverloaded),
    };
    done.map_err(|code| Box::new(ErrorObject::of(code)))
}

/// Completes when the daemon stops and there is just enough time left to say so.
pub(super) async fn stopped(http: &HttpService) {
    http.shared.ended().await;
    tokio::time::sleep(http.shared.config.limits.shutdown_grace / 2).await;
}

/// Tells whether the body is JSON by its type, in an encoding that JSON may have.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return false;
    };
    // Nothing is unpacked here.
    let is_plain = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(is_plain) {
        return false;
    }
    if kind == "application/json" {
        return true;
    }
    let mut parts = kind.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let is_json = essence.eq_ignore_ascii_case("application/json")
        || (begins(essence, "application/") && ends(essence, "+json"));
    let charsets = parts.filter_map(|part| part.split_once('='));
    let mut charsets = charsets.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    is_json
        && charsets.all(|(_, value)| value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"))
}

/// Tells whether a text begins with another, whatever the case.
fn begins(text: &str, start: &str) -> bool {
    let first = text.as_bytes().get(..start.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(start.as_bytes()))
}

/// The same for its end.
fn ends(text: &str, end: &str) -> bool {
    let from = text.len().checked_sub(end.len());
    let last = from.and_then(|from| text.as_bytes().get(from..));
    last.is_some_and(|last| last.eq_ignore_ascii_case(end.as_bytes()))
}

/// What a shell says that takes JSON.
const JSON_RANGES: [&str; 3] = ["*/*", "application/*", "application/json"];

/// What a shell says behind a type that it does not take.
const REFUSALS: [&str; 4] = ["q=0", "q=0.0", "q=0.00", "q=0.000"];

/// Tells whether the shell takes one of these types; one that says nothing takes JSON.
fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|range| !range.is_empty())
        .peekable();
    if ranges.peek().is_none() {
        return types == JSON_RANGES;
    }
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let is_none = |part| REFUSALS.iter().any(|none: &&str| none.eq_ignore_ascii_case(part));
        let is_refused = parts.any(is_none);
        types.iter().any(|wanted| wanted.eq_ignore_ascii_case(kind)) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
    use axum::http::{HeaderMap, HeaderValue};

    use super::{JSON_RANGES, accepts, is_json};

    #[test]
    fn the_type_of_a_body_is_json_in_utf8() {
        let check = |kind: &'static str| {
            is_json(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]))
        };
        for good in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/vnd.x+json;charset=\"utf-8\"",
        ] {
            assert!(check(good), "{good}");
        }
        for bad in
            ["text/plain", "application/x-www-form-urlencoded", "application/json;charset=l1"]
        {
            assert!(!check(bad), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
        let coded = |coding: &'static str| {
            let kind = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
            is_json(&HeaderMap::from_iter([
                kind,
                (CONTENT_ENCODING, HeaderValue::from_static(coding)),
            ]))
        };
        assert!(coded("identity"));
        assert!(!coded("gzip") && !coded("identity, gzip") && !coded(""));
    }

    #[test]
    fn what_a_shell_accepts_must_include_json() {
        let check = |accept: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            accepts(&headers, &JSON_RANGES)
        };
        for good in ["*/*", "application/*", "text/html, application/json;q=0.5", ""] {
            assert!(check(good), "{good}");
        }
        for bad in ["text/html", "application/json;q=0", "image/png, text/*"] {
            assert!(!check(bad), "{bad}");
        }
        assert!(accepts(&HeaderMap::new(), &JSON_RANGES));
        assert!(!accepts(&HeaderMap::new(), &["text/event-stream"]));
    }
}
