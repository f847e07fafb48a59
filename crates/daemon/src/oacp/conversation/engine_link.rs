//! What goes to the engine, and what comes from it.
//!
//! A connection has nothing to do with the engine until a hello or the first message for it;
//! then a [`EngineLink`] is made. Making it may take a look into the record, so a message that needs
//! one waits here, and `connection` has nothing more read meanwhile: see [`Conversation::need`].
//!
//! long: one type, whose methods share its state.

use std::collections::VecDeque;
use std::sync::Arc;

use bridle_loop::{ActuatorSpec, KeywordName, SessionId, SignalKind};
use bridle_sexp::{Dialect, Keyword, Value};
use bridle_wire::OacpCode;
use bridle_wire::oacp::health::HealthCheck;
use bridle_wire::oacp::hello::{ClientHello, HelloActuator, ShellRole};
use bridle_wire::oacp::{
    ErrorReply, MessageId, MessageMeta, MessagePath, OacpMessage, response, success,
};

use super::payload_check::{EngineMessage, LARGE_PAYLOAD_BYTES};
use super::reply::NOT_ASKED;
use super::{ClientTerms, Conversation, ReplyContext};
use crate::access::principal::Principal;
use crate::engine;
use crate::engine::{
    AttachRequest, AttachRole, AttachSnapshot, AttachedShell, DaemonQuery, EngineError, EventView,
    OutboundItem, QueryAnswer, ResponseEffect, ShellOffer, StreamEvent, StreamEventKind,
    StreamMode, workload_pairs,
};
use crate::metrics::ConnectionTally;
use crate::oacp::error_code::error_reply;
use crate::oacp::service::OacpService;
use crate::oacp::to_frames::FrameReader;
use crate::oacp::to_signal::message_id;

/// Messages of a client without hello that may wait for their answers; beyond it nothing is
/// read from the client until one is answered. As many as a session lets wait.
pub(crate) const MAX_UNANSWERED: usize = 64;

/// Bytes of an answer's envelope: its id is the largest part of it.
const ENVELOPE_BYTES: usize = 320;

/// Reason for a client whose hello did not find a session, and that goes on as if it had.
const NO_SESSION: &str = "this connection is attached to no session; say hello again";

/// Reason for a session of an impossible name.
const SESSION_NAME: &str = "expected 1 to 64 letters, digits, `.`, `_` and `-`";

/// The engine's end of one conversation.
#[derive(Debug)]
pub(super) struct EngineLink {
    attachment: Arc<AttachedShell>,
    /// Messages that the engine took and did not answer yet.
    unanswered: usize,
    /// Answers to a client without hello that wait for those before them: each with how many
    /// messages have to be answered first.
    later: VecDeque<(usize, String)>,
}

impl EngineLink {
    fn new(attachment: Arc<AttachedShell>) -> Box<EngineLink> {
        Box::new(EngineLink { attachment, unanswered: 0, later: VecDeque::new() })
    }

    /// Notes that one message is answered.
    fn answered(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
        for (before, _) in &mut self.later {
            *before = before.saturating_sub(1);
        }
    }

    /// The next answer that has waited long enough.
    fn due(&mut self) -> Option<String> {
        let (_, text) = self.later.pop_front_if(|(before, _)| *before == 0)?;
        Some(text)
    }

    /// Tells whether as many answers are owed as may be.
    fn is_full(&self) -> bool {
        self.unanswered + self.later.len() >= MAX_UNANSWERED
    }
}

/// A message that waits until the engine has a place for it.
#[derive(Debug)]
pub(super) enum WaitingMessage {
    /// A hello that waits for its session.
    Hello(Option<MessageId>, Box<ClientHello>),
    /// A message that waits for answers to those before it.
    Signal(Box<EngineMessage>),
    /// A question for the daemon itself.
    Query(MessageId, DaemonQuery),
    /// One that is being answered.
    Told(MessageId),
    /// A health check that asks for more than everybody is told.
    Health(HealthCheck),
}

/// Reason why a message waits.
#[derive(Debug)]
pub(crate) enum WaitReason {
    /// To know who is at the other end; bring it to [`Conversation::identified`].
    Principal,
    /// For an attachment like this; bring it to [`Conversation::attached`].
    Attached(AttachRequest),
    /// For the daemon's answer to this question; bring it to [`Conversation::told`]. Take the question with
    /// [`Conversation::take_query`].
    Query,
    /// Answers to earlier messages.
    Answers,
    /// Nothing any more: call [`Conversation::resume`].
    Nothing,
}

impl Conversation {
    /// Returns what the message in hand waits for; `None` when none does.
    pub(crate) fn need(&self) -> Option<WaitReason> {
        let unanswered = self.unanswered();
        let Some(waiting) = self.waiting.as_deref() else {
            return self.is_crowded().then_some(WaitReason::Answers);
        };
        if self.who.is_none() {
            return Some(WaitReason::Principal);
        }
        Some(match waiting {
            WaitingMessage::Hello(..) if unanswered > 0 => WaitReason::Answers,
            WaitingMessage::Hello(_, hello) => match wish(hello) {
                Ok(want) => WaitReason::Attached(want),
                Err(_) => WaitReason::Nothing,
            },
            WaitingMessage::Signal(_) if self.is_crowded() => WaitReason::Answers,
            WaitingMessage::Signal(_) | WaitingMessage::Health(_) => WaitReason::Nothing,
            WaitingMessage::Query(..) | WaitingMessage::Told(_) => WaitReason::Query,
        })
    }

    /// Tells whether nothing more may be answered before the engine has done something.
    pub(crate) fn waits(&self) -> bool {
        self.waiting.is_some() || self.is_crowded()
    }

    /// Tells whether a client without hello is owed as many answers as it may.
    pub(super) fn is_crowded(&self) -> bool {
        self.greeted.is_none() && self.link.as_ref().is_some_and(|link| link.is_full())
    }

    /// Keeps an answer to a client without hello until those before it are given. While the
    /// engine's own answers are said, nothing is before them.
    pub(super) fn put_off(&mut self, text: &str) -> bool {
        match &mut self.link {
            Some(link) if self.greeted.is_none() && link.unanswered > 0 => {
                link.later.push_back((link.unanswered, text.to_owned()));
                true
            }
            _ => false,
        }
    }

    /// Returns the number of messages that the engine has not answered yet.
    pub(crate) fn unanswered(&self) -> usize {
        self.link.as_ref().map_or(0, |link| link.unanswered)
    }

    /// Tells whether the client said hello.
    pub(crate) fn is_greeted(&self) -> bool {
        self.greeted.is_some()
    }

    /// The engine's end, when there is one.
    pub(crate) fn attachment(&self) -> Option<&Arc<AttachedShell>> {
        self.link.as_ref().map(|link| &link.attachment)
    }

    /// Takes what came of attaching, and goes on with the message that waited for it.
    pub(crate) fn attached(
        &mut self,
        service: &OacpService,
        result: Result<Arc<AttachedShell>, EngineError>,
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) {
        let mut batch = ReplyContext::new(service, out, tally);
        match self.waiting.take().map(|waiting| *waiting) {
            Some(WaitingMessage::Hello(id, hello)) => {
                self.greet(&mut batch, id.as_ref(), &hello, result.map_err(error_reply));
            }
            other => self.waiting = other.map(Box::new),
        }
    }

    /// Hands out the question that waits; its id stays.
    pub(crate) fn take_query(&mut self) -> Option<DaemonQuery> {
        match self.waiting.take().map(|waiting| *waiting) {
            Some(WaitingMessage::Query(id, query)) => {
                self.waiting = Some(Box::new(WaitingMessage::Told(id)));
                Some(query)
            }
            other => {
                self.waiting = other.map(Box::new);
                None
            }
        }
    }

    /// Takes what the daemon says to a question, and answers who asked.
    pub(crate) fn told(
        &mut self,
        service: &OacpService,
        told: Result<QueryAnswer, EngineError>,
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) {
        let mut batch = ReplyContext::new(service, out, tally);
        match self.waiting.take().map(|waiting| *waiting) {
            Some(WaitingMessage::Told(id)) => match told {
                Ok(QueryAnswer::Value(payload)) => {
                    self.say(&mut batch, &response(Some(&id), MessageMeta::default(), payload));
                }
                Ok(QueryAnswer::Text(payload)) => self.say_payload(&mut batch, &id, &payload),
                Err(error) => self.refuse(&mut batch, Some(&id), &error_reply(error)),
            },
            other => self.waiting = other.map(Box::new),
        }
    }

    /// Answers with a payload that is text already, or says that it does not fit.
    fn say_payload(&mut self, batch: &mut ReplyContext<'_>, id: &MessageId, payload: &str) {
        let mut text = String::with_capacity(payload.len() + ENVELOPE_BYTES);
        text.push_str("(:type :RESPONSE :id ");
        bridle_sexp::print(&id.to_value(), self.dialect, &mut text);
        text.push_str(" :payload ");
        text.push_str(payload);
        text.push(')');
        if self.put_off(&text) {
            return;
        }
        if let Err(error) = self.try_say(batch, &text) {
            let message = format!("the answer does not fit: {error}");
            self.refuse(batch, Some(id), &ErrorReply::because(error.code(), message));
        }
    }

    /// Goes on with a message that waits for nothing any more.
    pub(crate) fn resume(
        &mut self,
        service: &OacpService,
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) {
        let mut batch = ReplyContext::new(service, out, tally);
        match self.waiting.take().map(|waiting| *waiting) {
            Some(WaitingMessage::Signal(signal)) => self.signal(&mut batch, signal),
            Some(WaitingMessage::Health(check)) => self.health(&mut batch, check),
            Some(WaitingMessage::Hello(id, hello)) => {
                // Only a wish that cannot be put waits for nothing.
                let failure = wish(&hello).err().unwrap_or_else(|| OacpCode::Internal.into());
                self.greet(&mut batch, id.as_ref(), &hello, Err(failure));
            }
            other => self.waiting = other.map(Box::new),
        }
    }

    /// Refuses a message that still waits, since the daemon stops.
    pub(crate) fn give_up(
        &mut self,
        service: &OacpService,
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) {
        let mut batch = ReplyContext::new(service, out, tally);
        let id = match self.waiting.take().map(|waiting| *waiting) {
            Some(WaitingMessage::Signal(waiting)) => waiting.id,
            Some(WaitingMessage::Hello(id, _)) => id,
            Some(WaitingMessage::Query(id, _) | WaitingMessage::Told(id)) => Some(id),
            Some(WaitingMessage::Health(_)) | None => return,
        };
        self.refuse(&mut batch, id.as_ref(), &OacpCode::ShuttingDown.into());
    }

    /// Returns the principal at the other end, once it is known.
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.who.as_deref()
    }

    /// Takes who is at the other end; holds as long as the connection does.
    pub(crate) fn identified(&mut self, who: Principal) {
        self.who = Some(Box::new(who));
    }

    /// Hands a message to the engine, or has it wait.
    pub(super) fn signal(&mut self, batch: &mut ReplyContext<'_>, mut message: Box<EngineMessage>) {
        if message.signal.kind == SignalKind::Request && message.id.is_none() {
            let id = batch.service.assign_id();
            message.signal.id = Some(id.to_value());
            message.id = Some(id);
        }
        if self.who.is_none() {
            self.waiting = Some(Box::new(WaitingMessage::Signal(message)));
            return;
        }
        if self.who.as_deref() == Some(&Principal::Anonymous) {
            return self.answer_stranger(batch, &message);
        }
        let budget = match self.source {
            Some(_) => &batch.service.daemon.stranger_budget,
            None => &batch.service.daemon.budget,
        };
        if self.source.is_some() && budget.full() {
            let failure = OacpCode::Overloaded.into();
            return self.decline(batch, message.id.as_ref(), &failure);
        }
        let greeted = self.greeted.is_some();
        let link = match self.link(batch.service) {
            Ok(link) => link,
            Err(failure) => return self.decline(batch, message.id.as_ref(), &failure),
        };
        if !greeted && link.is_full() {
            self.waiting = Some(Box::new(WaitingMessage::Signal(message)));
            return;
        }
        let load = budget.load(message.weight());
        let EngineMessage { signal, id, .. } = *message;
        match link.attachment.admit(signal, load) {
            Ok(()) => link.unanswered += 1,
            Err(error) => self.decline(batch, id.as_ref(), &error_reply(error)),
        }
    }

    /// Answers a message of a peer that nobody knows: without the engine, a number or a record.
    fn answer_stranger(&mut self, batch: &mut ReplyContext<'_>, message: &EngineMessage) {
        let id = message.id.as_ref();
        match engine::answer_stranger(&batch.service.daemon.hub, &message.signal) {
            Ok(payload) => self.say(batch, &response(id, MessageMeta::default(), payload)),
            Err(error) => self.decline(batch, id, &error_reply(error)),
        }
    }

    /// Says that the engine does not take a message, and counts it.
    pub(super) fn decline(
        &mut self,
        batch: &mut ReplyContext<'_>,
        id: Option<&MessageId>,
        failure: &ErrorReply,
    ) {
        batch.service.daemon.metrics.engine.refused.inc();
        self.refuse(batch, id, failure);
    }

    /// The engine's end; made now for a client without hello that speaks to it first.
    fn link(&mut self, service: &OacpService) -> Result<&mut EngineLink, ErrorReply> {
        if self.link.is_none() {
            let who = self.who.as_deref().cloned().unwrap_or(Principal::Anonymous);
            if self.greeted.is_some() {
                return Err(ErrorReply::because(OacpCode::UnknownSession, NO_SESSION));
            }
            let attachment =
                engine::attach_fresh(&service.daemon.hub, who, AttachRequest::answers());
            let attachment = attachment.map_err(error_reply)?;
            self.link = Some(EngineLink::new(attachment));
        }
        self.link.as_deref_mut().ok_or_else(|| OacpCode::Internal.into())
    }

    /// Brings a shell's answer to what the engine asked it.
    pub(super) fn answered(&mut self, batch: &mut ReplyContext<'_>, message: &OacpMessage) {
        if self.who.as_deref() == Some(&Principal::Anonymous) {
            let id = message.id.as_ref().map(MessageId::to_value);
            let error = engine::refuse_stranger_answer(&batch.service.daemon.hub, id.as_ref());
            return self.decline(batch, message.id.as_ref(), &error_reply(error));
        }
        let taken = match &self.link {
            Some(link) => respond(&link.attachment, message).map_err(error_reply),
            None => Err(ErrorReply::because(OacpCode::UnknownId, NOT_ASKED)),
        };
        match (taken, &mut self.link) {
            (Ok(ResponseEffect::Answered), Some(link)) => link.unanswered += 1,
            (Ok(_), _) => {}
            (Err(failure), _) => self.refuse(batch, message.id.as_ref(), &failure),
        }
    }

    /// Has a question for the daemon itself wait: its answer is in the record.
    pub(super) fn query(
        &mut self,
        service: &OacpService,
        id: Option<MessageId>,
        query: DaemonQuery,
    ) {
        let id = id.unwrap_or_else(|| service.assign_id());
        self.waiting = Some(Box::new(WaitingMessage::Query(id, query)));
    }

    /// Has a health check wait until it is known who asks.
    pub(super) fn await_principal(&mut self, check: HealthCheck) {
        self.waiting = Some(Box::new(WaitingMessage::Health(check)));
    }

    /// Has a hello wait for its session.
    pub(super) fn hello(&mut self, id: Option<MessageId>, hello: Box<ClientHello>) {
        self.waiting = Some(Box::new(WaitingMessage::Hello(id, hello)));
    }

    /// Applies a client's hello and says what now holds.
    fn greet(
        &mut self,
        batch: &mut ReplyContext<'_>,
        id: Option<&MessageId>,
        hello: &ClientHello,
        result: Result<Arc<AttachedShell>, ErrorReply>,
    ) {
        if let Some(unit) = hello.length {
            self.decoder.set_unit(unit);
            self.encoder.set_unit(unit);
        }
        if let Some(dialect) = hello.dialect {
            self.dialect = dialect;
        }
        if let Some(max_frame) = hello.max_frame {
            self.encoder.set_max_frame(max_frame);
        }
        let parts = hello.capabilities.iter().any(|name| &**name == "parts");
        let wants = |key: &str| hello.capabilities.iter().any(|name| &**name == key);
        let keys = engine::ANSWER_KEYS.map(wants);
        self.greeted = Some(ClientTerms { parts, said: 0, keys });
        self.link = None;
        match result {
            Ok(attachment) => {
                let answer = self.welcome(id, &attachment.snapshot());
                self.link = Some(EngineLink::new(attachment));
                self.say(batch, &answer);
            }
            Err(failure) => self.refuse(batch, id, &failure),
        }
    }

    fn welcome(&self, id: Option<&MessageId>, snapshot: &AttachSnapshot) -> OacpMessage {
        let dialect = match self.dialect {
            Dialect::Lisp => "lisp",
            Dialect::Emacs => "emacs",
        };
        let unit = self.decoder.unit().map_or(Value::Nil, |unit| Value::keyword(unit.as_str()));
        let max_frame = i64::try_from(self.encoder.max_frame()).unwrap_or(i64::MAX);
        let seq = i64::try_from(snapshot.seq).unwrap_or(i64::MAX);
        let settled = [
            ("action", Value::keyword("handshake")),
            ("length", unit),
            ("dialect", Value::keyword(dialect)),
            ("max-frame", Value::int(max_frame)),
            ("session", Value::str(snapshot.session.as_str())),
            ("seq", Value::int(seq)),
            ("role", Value::keyword(to_shell_role(snapshot.role).as_str())),
            ("state", Value::keyword(snapshot.status.doing.as_str())),
        ];
        let load = workload_pairs(snapshot.load);
        success(id, session_meta(snapshot), settled.into_iter().chain(load))
    }

    /// Returns how to write something that is too large to be written here.
    pub(crate) fn large(&self, told: &OutboundItem) -> Option<LargeEvent> {
        let (event, view) = match told {
            OutboundItem::Event { event, view: EventView::Own, live: true }
                if event.kind == StreamEventKind::Signal =>
            {
                return None;
            }
            OutboundItem::Event { event, view, .. } => (event, *view),
            OutboundItem::Offer(event) => (event, EventView::Asked),
            _ => return None,
        };
        if event.body.as_ref().is_none_or(|body| body.len() <= LARGE_PAYLOAD_BYTES) {
            return None;
        }
        let session = self.link.as_ref()?.attachment.session().clone();
        Some(LargeEvent { session, dialect: self.dialect, event: Arc::clone(event), view })
    }

    /// Returns how to write an answer that this client wants to see more of than the answer says.
    pub(crate) fn traced(&self, told: &OutboundItem) -> Option<TracedAnswer> {
        let keys = self.greeted.as_ref()?.keys;
        let OutboundItem::Event { event, view: EventView::Own, .. } = told else { return None };
        if event.kind != StreamEventKind::Say || event.body.is_none() || !keys.contains(&true) {
            return None;
        }
        let session = self.link.as_ref()?.attachment.session().clone();
        Some(TracedAnswer { session, dialect: self.dialect, event: Arc::clone(event), keys })
    }

    /// Says what the engine has for this client, with the text of it if that is written.
    pub(crate) fn tell(
        &mut self,
        service: &OacpService,
        (told, text): (OutboundItem, Option<String>),
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) {
        // Taken out meanwhile, so that the rest of the conversation can be used.
        let Some(mut link) = self.link.take() else { return };
        let batch = &mut ReplyContext::new(service, out, tally);
        if let OutboundItem::Gone(error) = told {
            return self.lose(batch, *link, &error_reply(error));
        }
        if answers_own(&told) {
            link.answered();
        }
        let reader = FrameReader { session: link.attachment.session(), dialect: self.dialect };
        match told {
            // Its sender knows what it said.
            OutboundItem::Event { event, view: EventView::Own, live: true }
                if event.kind == StreamEventKind::Signal => {}
            OutboundItem::Event { event, view, .. } => {
                let text = text.unwrap_or_else(|| reader.event(&event, view));
                self.tell_event(batch, &reader, &link, (&event, view), &text);
            }
            OutboundItem::Offer(event) => {
                let text = text.unwrap_or_else(|| reader.event(&event, EventView::Asked));
                self.tell_event(batch, &reader, &link, (&event, EventView::Asked), &text);
            }
            OutboundItem::Receipt { id, seq } => {
                self.say_text(batch, &reader.receipt(id.as_ref(), seq));
            }
            OutboundItem::Status(status) => self.say_text(batch, &reader.status(status)),
            OutboundItem::Delta(piece) => self.say_text(batch, &reader.delta(&piece)),
            OutboundItem::Voided { turn, thought } => {
                self.say_text(batch, &reader.voided(turn, thought));
            }
            OutboundItem::Refused { id, failure } => {
                let id = id.as_ref().and_then(message_id);
                self.decline(batch, id.as_ref(), &error_reply(failure));
            }
            OutboundItem::Repeat | OutboundItem::Gone(_) => {}
        }
        while let Some(text) = link.due() {
            self.say_text(batch, &text);
        }
        self.link = Some(link);
    }

    /// Says a numbered event, or, if it does not fit, something short with its number.
    fn tell_event(
        &mut self,
        batch: &mut ReplyContext<'_>,
        reader: &FrameReader<'_>,
        link: &EngineLink,
        (event, view): (&StreamEvent, EventView),
        text: &str,
    ) {
        if self.try_say(batch, text).is_ok() {
            return;
        }
        let max_frame = self.encoder.max_frame();
        tracing::debug!(seq = event.seq, bytes = text.len(), max_frame, "an event does not fit");
        self.say_text(batch, &reader.omitted(event, view, text.len(), max_frame));
        if view == EventView::Asked {
            // Nobody else can know that this shell will never see what it was asked.
            let _ = respond(&link.attachment, &reader.cannot(event));
        }
    }

    /// The session is gone: everybody who waits for an answer is told, and nothing more comes.
    fn lose(&mut self, batch: &mut ReplyContext<'_>, mut link: EngineLink, failure: &ErrorReply) {
        if self.greeted.is_some() {
            return self.refuse(batch, None, failure);
        }
        for _ in 0..link.unanswered {
            self.refuse(batch, None, failure);
            link.answered();
            while let Some(text) = link.due() {
                self.say_text(batch, &text);
            }
        }
    }
}

/// Tells whether this is what a message of this connection waited for.
fn answers_own(told: &OutboundItem) -> bool {
    match told {
        OutboundItem::Event { event, view: EventView::Own, live: true } => {
            event.kind == StreamEventKind::Say
        }
        OutboundItem::Refused { .. } | OutboundItem::Repeat => true,
        _ => false,
    }
}

fn session_meta(snapshot: &AttachSnapshot) -> MessageMeta {
    let seq = i64::try_from(snapshot.seq).unwrap_or(i64::MAX);
    MessageMeta {
        source: None,
        session: Some(snapshot.session.as_str().into()),
        extra: vec![(Keyword::from_name("seq"), Value::int(seq))],
    }
}

/// An event whose text is written on another thread.
#[derive(Debug)]
pub(crate) struct LargeEvent {
    session: SessionId,
    dialect: Dialect,
    event: Arc<StreamEvent>,
    view: EventView,
}

impl LargeEvent {
    /// Bytes of the event and of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.event.body.as_ref().map_or(0, |body| 2 * body.len())
    }

    /// Writes it; takes as long as it takes.
    pub(crate) fn write(&self) -> String {
        FrameReader { session: &self.session, dialect: self.dialect }.event(&self.event, self.view)
    }
}

/// An answer with what it followed from.
#[derive(Debug)]
pub(crate) struct TracedAnswer {
    session: SessionId,
    dialect: Dialect,
    event: Arc<StreamEvent>,
    keys: [bool; 3],
}

impl TracedAnswer {
    /// Bytes of the answer and of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.event.body.as_ref().map_or(0, |body| 2 * body.len())
    }

    /// Writes it; the answer alone where the record cannot be read.
    pub(crate) async fn write(self, service: &OacpService) -> String {
        let TracedAnswer { session, dialect, event, keys } = self;
        let hub = &service.daemon.hub;
        let found = engine::trace_answer(hub, session.clone(), Arc::clone(&event)).await;
        let reader = FrameReader { session: &session, dialect };
        let text = reader.event(&event, EventView::Own);
        let Ok(values) = found else { return text };
        let wanted = engine::ANSWER_KEYS.into_iter().zip(values).zip(keys);
        reader.extended(text, wanted.filter(|(_, is_wanted)| *is_wanted).map(|(pair, _)| pair))
    }
}

/// Hands the answer to a request to the engine.
fn respond(
    attachment: &AttachedShell,
    message: &OacpMessage,
) -> Result<ResponseEffect, EngineError> {
    let id = message.id.as_ref().map(MessageId::to_value);
    attachment.respond(id.as_ref(), message.payload.as_ref().unwrap_or(&Value::Nil))
}

fn to_attach_role(role: ShellRole) -> AttachRole {
    match role {
        ShellRole::Controller => AttachRole::Controller,
        ShellRole::Observer => AttachRole::Observer,
    }
}

fn to_shell_role(role: AttachRole) -> ShellRole {
    match role {
        AttachRole::Controller => ShellRole::Controller,
        AttachRole::Observer => ShellRole::Observer,
    }
}

/// Reads an actuator of a hello.
fn offer((index, offered): (usize, &HelloActuator)) -> Result<ShellOffer, ErrorReply> {
    let name = KeywordName::new(&offered.name);
    let Some(actions) = &offered.actions else { return Ok(ShellOffer::bare(name)) };
    let spec = ActuatorSpec::declared(name, actions).map_err(|invalid| {
        let path = MessagePath::of(&["payload", "actuators"]).index(index).key("actions");
        ErrorReply { path, ..ErrorReply::because(OacpCode::InvalidValue, invalid.to_string()) }
    })?;
    Ok(ShellOffer::described(spec))
}

/// Makes the attach request of a hello.
fn wish(hello: &ClientHello) -> Result<AttachRequest, ErrorReply> {
    let session = match &hello.session {
        Some(name) => Some(SessionId::parse(name).map_err(|_| {
            let path = MessagePath::of(&["payload", "session"]);
            ErrorReply { path, ..ErrorReply::because(OacpCode::InvalidValue, SESSION_NAME) }
        })?),
        None => None,
    };
    Ok(AttachRequest {
        session,
        cursor: hello.cursor,
        role: hello.role.map(to_attach_role).unwrap_or_default(),
        mode: StreamMode::Stream,
        client: hello.client.clone(),
        shell: hello.shell.as_deref().map(KeywordName::new),
        locale: hello.locale.clone(),
        time_zone: hello.time_zone.clone(),
        actuators: hello.actuators.iter().enumerate().map(offer).collect::<Result<_, _>>()?,
        render_rate: hello.render_rate,
        receipts: hello.receipts,
    })
}
