//! Run of a request in its session, until it is answered.
//!
//! `exchange` begins runs and waits for them; `event_stream` follows them. The engine recognizes a message that comes again by its principal, its
//! client and its id; a repeat follows the first one's events from its number on, whether they are
//! still to come or years old. An answer that says "try again later" is not final: the engine takes the
//! same request as a new one then.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bridle_loop::{SayBody, SessionId, Signal};
use bridle_sexp::Value;
use bridle_wire::openharness::ids::RequestId;
use bridle_wire::openharness::{OpenHarnessCode, ReceivedRequest};

use super::HttpService;
use super::attachments::AttachmentFacts;
use super::continuation::AllowedContinuation;
use super::run_location::{RunLocation, run_name};
use super::session_key;
use super::shell_description::ShellDescription;
use super::to_signal::{self, NAMED};
use crate::access::principal::Principal;
use crate::byte_budget::OWNED_FACTOR;
use crate::engine;
use crate::engine::{
    AttachRequest, AttachRole, AttachedShell, EngineError, EngineErrorCode, OutboundItem,
    ShellSignal, StreamEvent, StreamEventKind, StreamMode,
};
use crate::engine::{PieceChannel, ShownPiece};

/// The client under which the engine knows all requests of this protocol.
const REQUEST_CLIENT: &str = "openharness";

/// The client of requests that take a step: known by their tokens, not by their own ids.
const STEP_CLIENT: &str = "openharness-step";

/// A request that is to run.
#[derive(Debug)]
pub(super) struct RunRequest<'r> {
    pub(super) who: Principal,
    pub(super) received: &'r ReceivedRequest,
    pub(super) about: ShellDescription,
    /// The facts of its attachments, in order.
    pub(super) files: Vec<Option<AttachmentFacts>>,
    /// Bytes that came.
    pub(super) bytes: usize,
    /// Whether it must have come before: the shell saw the beginning of its answer.
    pub(super) is_resumed: bool,
    /// The step that it takes of an earlier run.
    pub(super) step: Option<AllowedContinuation>,
}

/// A request that was recorded, and what follows from it.
#[derive(Debug)]
pub(super) struct RunInProgress {
    attachment: Arc<AttachedShell>,
    /// The number of its signal.
    pub(super) seq: u64,
    began: Option<i64>,
    /// The answer, if it was there before this copy of the request came.
    ready: Option<Arc<StreamEvent>>,
    /// Whether it goes on with an earlier run.
    is_step: bool,
}

/// A request that was looked at without waiting.
#[derive(Debug)]
pub(super) enum InspectedRun {
    /// Answered.
    Ran(FinishedRun),
    /// Not answered yet.
    NotYet(RunInProgress),
}

/// News of a run.
#[derive(Debug)]
pub(super) enum RunNews {
    /// Text of the answer in the making.
    Delta(String),
    /// The answer.
    Answered(Arc<StreamEvent>),
    /// Nothing that concerns this request.
    Nothing,
}

/// Record of a request that is answered.
#[derive(Debug)]
pub(super) struct FinishedRun {
    pub(super) location: RunLocation,
    /// Time at which it was recorded, in milliseconds since 1970.
    pub(super) began: i64,
    /// Its answer.
    pub(super) said: Arc<StreamEvent>,
    /// Whether the answer was there before this copy of the request came.
    pub(super) is_replay: bool,
    /// Whether it went on with an earlier run.
    pub(super) is_step: bool,
}

/// Tells whether a message that was recorded is the request of this id.
pub(super) fn is_request(signal: &Signal, who: &Principal, id: &RequestId) -> bool {
    let Some(client) = signal.from.client.as_deref() else { return false };
    // Another try of older versions has a number behind it.
    let client = client.split('/').next().unwrap_or_default();
    let named = match client {
        REQUEST_CLIENT => signal.id.as_ref(),
        STEP_CLIENT => signal.payload.get(NAMED),
        _ => None,
    };
    *signal.from.principal == *who.name()
        && named.and_then(Value::as_str).is_some_and(|named| named == id.as_str())
}

/// Has a request recorded, or finds it recorded.
///
/// # Errors
/// The engine refuses the request, and nothing of it is recorded.
pub(super) async fn begin(
    http: &HttpService,
    wanted: &RunRequest<'_>,
) -> Result<RunInProgress, OpenHarnessCode> {
    let place = match &wanted.step {
        Some(step) => Some(step.session.clone()),
        None => session_key::of(&wanted.who, &wanted.received.message),
    };
    let attachment = join(http, wanted, place.as_ref()).await?;
    let refused = |failure: &EngineError| wanted.refused(failure);
    let message = to_signal::message(wanted.received, wanted.step.as_ref(), &wanted.files);
    let message = ShellSignal { id: wanted.id(), ..message };
    let load = http.shared.budget.load(wanted.bytes.saturating_mul(OWNED_FACTOR));
    let admitted = match &wanted.step {
        _ if wanted.is_resumed => attachment.admit_again(message, load),
        Some(step) if step.is_late => attachment.admit_again(message, load),
        Some(step) => attachment.admit_answering(message, &step.verdicts, load),
        None => attachment.admit(message, load),
    };
    admitted.map_err(|failure| refused(&failure))?;
    let seq = loop {
        match next(&attachment).await {
            OutboundItem::Receipt { seq, .. } => break seq,
            OutboundItem::Refused { failure, .. } | OutboundItem::Gone(failure) => {
                return Err(refused(&failure));
            }
            _ => {}
        }
    };
    let is_step = wanted.step.is_some();
    let mut running = RunInProgress::new(attachment, seq, is_step);
    // Said together with the receipt, so it is known without waiting.
    if running.is_repeated().await? {
        let session = running.attachment.session().clone();
        let cursor = Some(seq.saturating_sub(1));
        let want = AttachRequest { cursor, ..attach(wanted, Some(session)) };
        let attachment = enter(http, wanted, want).await.map_err(|failure| refused(&failure))?;
        running = RunInProgress::new(attachment, seq, is_step);
        running.catch_up().await?;
    }
    Ok(running)
}

/// Attaches to the session of a request; where its name is somebody else's, to one of its own.
async fn join(
    http: &HttpService,
    wanted: &RunRequest<'_>,
    place: Option<&SessionId>,
) -> Result<Arc<AttachedShell>, OpenHarnessCode> {
    let Some(place) = place else {
        let fresh =
            engine::attach_fresh(&http.shared.hub, wanted.who.clone(), attach(wanted, None));
        return fresh.map_err(|failure| refused(&failure));
    };
    let first = enter(http, wanted, attach(wanted, Some(place.clone()))).await;
    let unknown = EngineErrorCode::UnknownSession;
    match first {
        // It was there when the token was issued, and is nobody's or another's now.
        Err(failure) if failure.code == unknown && wanted.step.is_some() => {
            Err(OpenHarnessCode::ContinuationInvalid)
        }
        Err(failure) if failure.code == unknown => {
            let own = session_key::own(&wanted.who, place);
            let second = enter(http, wanted, attach(wanted, Some(own))).await;
            second.map_err(|failure| refused(&failure))
        }
        other => other.map_err(|failure| refused(&failure)),
    }
}

async fn enter(
    http: &HttpService,
    wanted: &RunRequest<'_>,
    want: AttachRequest,
) -> Result<Arc<AttachedShell>, EngineError> {
    engine::attach(&http.shared.hub, wanted.who.clone(), want).await
}

fn attach(wanted: &RunRequest<'_>, session: Option<SessionId>) -> AttachRequest {
    let client = if wanted.step.is_some() { STEP_CLIENT } else { REQUEST_CLIENT };
    AttachRequest {
        session,
        cursor: None,
        role: AttachRole::Controller,
        mode: StreamMode::Follow,
        client: Some(client.into()),
        shell: wanted.about.kind.clone(),
        locale: wanted.about.locale.clone(),
        time_zone: wanted.about.time_zone.clone(),
        actuators: Vec::new(),
        render_rate: None,
        receipts: true,
    }
}

impl RunRequest<'_> {
    /// The id under which it is known when it comes again. A step is known by its token, so that a
    /// second one under the same token is none, whatever the request calls itself.
    fn id(&self) -> Option<Value> {
        if let Some(step) = &self.step {
            return Some(Value::str(step.id.as_str()));
        }
        let id = self.received.message.request_id.as_ref();
        id.map(|id| Value::str(id.as_str()))
    }

    /// Returns the code of a refusal of the engine; a step has codes of its own.
    fn refused(&self, failure: &EngineError) -> OpenHarnessCode {
        match (&self.step, refused(failure)) {
            (Some(_), OpenHarnessCode::IdempotencyConflict) => {
                OpenHarnessCode::ContinuationConsumed
            }
            (Some(step), OpenHarnessCode::StreamExpired) if step.is_late => {
                OpenHarnessCode::ContinuationExpired
            }
            (_, code) => code,
        }
    }
}

impl RunInProgress {
    fn new(attachment: Arc<AttachedShell>, seq: u64, is_step: bool) -> RunInProgress {
        RunInProgress { attachment, seq, began: None, ready: None, is_step }
    }

    /// The name of the run: its session and the number of its signal.
    pub(super) fn name(&self) -> String {
        run_name(self.attachment.session(), self.seq)
    }

    /// Returns its session and number.
    pub(super) fn run(&self) -> RunLocation {
        RunLocation { session: self.attachment.session().clone(), seq: self.seq }
    }

    /// Tells whether it was answered before this copy of the request came.
    pub(super) fn is_over(&self) -> bool {
        self.ready.is_some()
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// The session is gone.
    pub(super) async fn finish(mut self) -> Result<FinishedRun, OpenHarnessCode> {
        loop {
            if let RunNews::Answered(said) = self.news().await? {
                return Ok(self.ran(said));
            }
        }
    }

    /// Takes what is there; the answer may be among it.
    ///
    /// # Errors
    /// The session is gone.
    pub(super) fn finished(mut self) -> Result<InspectedRun, OpenHarnessCode> {
        if let Some(said) = self.ready.clone() {
            return Ok(InspectedRun::Ran(self.ran(said)));
        }
        // Whoever is woken here waits for nothing: what is not there yet is waited for later.
        let mut nobody = Context::from_waker(Waker::noop());
        while let Poll::Ready(out) = self.attachment.poll_next(&mut nobody) {
            if let RunNews::Answered(said) = self.heard(out)? {
                return Ok(InspectedRun::Ran(self.ran(said)));
            }
        }
        Ok(InspectedRun::NotYet(self))
    }

    /// Takes one thing from the session. Nothing is lost when this is not waited for.
    ///
    /// # Errors
    /// The session is gone.
    pub(super) async fn news(&mut self) -> Result<RunNews, OpenHarnessCode> {
        if let Some(said) = &self.ready {
            return Ok(RunNews::Answered(Arc::clone(said)));
        }
        let out = next(&self.attachment).await;
        self.heard(out)
    }

    /// Reads an item of the session; most are about other requests.
    fn heard(&mut self, out: OutboundItem) -> Result<RunNews, OpenHarnessCode> {
        Ok(match out {
            OutboundItem::Event { event, .. } => {
                self.take(event).map_or(RunNews::Nothing, RunNews::Answered)
            }
            // A response has no other channel than the answer.
            OutboundItem::Delta(ShownPiece { turn, channel: PieceChannel::Text, text, .. })
                if self.attachment.is_about(turn, self.seq) =>
            {
                RunNews::Delta(text)
            }
            OutboundItem::Gone(failure) => return Err(refused(&failure)),
            _ => RunNews::Nothing,
        })
    }

    /// Notes an event; hands it back when it is the answer.
    fn take(&mut self, event: Arc<StreamEvent>) -> Option<Arc<StreamEvent>> {
        match event.kind {
            StreamEventKind::Signal if event.seq == self.seq => self.began = Some(event.at),
            StreamEventKind::Say if event.seq > self.seq && answers(&event) == Some(self.seq) => {
                return Some(event);
            }
            _ => {}
        }
        None
    }

    /// All that was recorded, with the answer.
    pub(super) fn ran(self, said: Arc<StreamEvent>) -> FinishedRun {
        let RunInProgress { attachment, seq, began, ready, is_step } = self;
        let (began, is_replay) = (began.unwrap_or(said.at), ready.is_some());
        let location = RunLocation { session: attachment.session().clone(), seq };
        FinishedRun { location, began, said, is_replay, is_step }
    }

    /// Tells whether the message came before. The answer is not lost by looking: what follows a
    /// receipt of something new is at most the message itself.
    async fn is_repeated(&mut self) -> Result<bool, OpenHarnessCode> {
        match next(&self.attachment).await {
            OutboundItem::Repeat => Ok(true),
            OutboundItem::Event { event, .. } => {
                self.take(event);
                Ok(false)
            }
            OutboundItem::Gone(failure) => Err(refused(&failure)),
            _ => Ok(false),
        }
    }

    /// Reads what happened since the first copy of a message that came before.
    async fn catch_up(&mut self) -> Result<(), OpenHarnessCode> {
        let head = self.attachment.snapshot().seq;
        let mut at = self.seq.saturating_sub(1);
        let mut erased = None;
        while at < head && self.ready.is_none() {
            match next(&self.attachment).await {
                OutboundItem::Event { event, .. } => {
                    at = event.seq;
                    if event.seq > self.seq && event.body.is_none() {
                        erased = Some(Arc::clone(&event));
                    }
                    self.ready = self.take(event);
                }
                OutboundItem::Gone(failure) => return Err(refused(&failure)),
                _ => {}
            }
        }
        // Nothing works on it and something behind it was erased: the answer is among that.
        if self.ready.is_none() && self.attachment.snapshot().status.turn.is_none() {
            self.ready = erased;
        }
        Ok(())
    }
}

async fn next(attachment: &AttachedShell) -> OutboundItem {
    poll_fn(|cx| attachment.poll_next(cx)).await
}

/// The number of the signal that something said answers.
fn answers(event: &StreamEvent) -> Option<u64> {
    SayBody::answers_in(event.body.as_deref()?)
}

/// Returns the code of a refusal of the engine.
fn refused(failure: &EngineError) -> OpenHarnessCode {
    match failure.code {
        EngineErrorCode::IdConflict => OpenHarnessCode::IdempotencyConflict,
        EngineErrorCode::UnknownId => OpenHarnessCode::StreamExpired,
        EngineErrorCode::NotPermitted | EngineErrorCode::UnknownSession => {
            OpenHarnessCode::Forbidden
        }
        EngineErrorCode::Overloaded
        | EngineErrorCode::ShuttingDown
        | EngineErrorCode::StoreUnavailable => OpenHarnessCode::EngineOverloaded,
        EngineErrorCode::InvalidValue
        | EngineErrorCode::Unsupported
        | EngineErrorCode::UnknownTarget
        | EngineErrorCode::Internal => OpenHarnessCode::InternalError,
    }
}
