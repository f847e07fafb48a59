//! What goes to the engine, and what comes from it.
//!
//! A connection has nothing to do with the engine until a hello or the first message for it;
//! then a [`Link`] is made. Making it may take a look into the record, so a message that needs
//! one waits here, and `conn` has nothing more read meanwhile: see [`Talk::need`].

use std::collections::VecDeque;
use std::sync::Arc;

use bridle_loop::{Name, SessionId};
use bridle_sexp::{Dialect, Keyword, Value};
use bridle_wire::Code;
use bridle_wire::oacp::health::Check;
use bridle_wire::oacp::hello::ClientHello;
use bridle_wire::oacp::{Failure, Id, Message, Meta, Path, Type, response, success};

use super::judge::{LARGE, Signal};
use super::reply::NOT_ASKED;
use super::{Batch, Greeted, Talk};
use crate::access::principal::Principal;
use crate::engine::{
    Attach, Attachment, Kind, Mode, Out, Query, Snapshot, StreamEvent, Taken, Told, View,
};
use crate::metrics::Tally;
use crate::oacp::convert::Reader;
use crate::shared::Shared;

/// Messages of a client without hello that may wait for their answers; beyond it nothing is
/// read from the client until one is answered. As many as a session lets wait.
pub(crate) const MAX_UNANSWERED: usize = 64;

/// Bytes of an answer's envelope: its id is the largest part of it.
const ENVELOPE: usize = 320;

/// What a client is told whose hello did not find a session, and that goes on as if it had.
const NO_SESSION: &str = "this connection is attached to no session; say hello again";

/// What a client is told that asks for a session of an impossible name.
const SESSION_NAME: &str = "expected 1 to 64 letters, digits, `.`, `_` and `-`";

/// The engine's end of one conversation.
#[derive(Debug)]
pub(super) struct Link {
    attachment: Arc<Attachment>,
    /// Messages that the engine took and did not answer yet.
    unanswered: usize,
    /// Answers to a client without hello that wait for those before them: each with how many
    /// messages have to be answered first.
    later: VecDeque<(usize, String)>,
}

impl Link {
    fn new(attachment: Arc<Attachment>) -> Box<Link> {
        Box::new(Link { attachment, unanswered: 0, later: VecDeque::new() })
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
pub(super) enum Waiting {
    /// A hello that waits for its session.
    Hello(Option<Id>, Box<ClientHello>),
    /// A message that waits for answers to those before it.
    Signal(Box<Signal>),
    /// A question for the daemon itself.
    Query(Id, Query),
    /// One that is being answered.
    Told(Id),
    /// A health check that asks for more than everybody is told.
    Health(Check),
}

/// What a waiting message waits for.
#[derive(Debug)]
pub(crate) enum Need {
    /// To know who is at the other end; bring it to [`Talk::identified`].
    Principal,
    /// That the connection is attached like this; bring it to [`Talk::attached`].
    Attached(Attach),
    /// What the daemon says to this question; bring it to [`Talk::told`]. Take the question with
    /// [`Talk::take_query`].
    Query,
    /// Answers to earlier messages.
    Answers,
    /// Nothing any more: call [`Talk::resume`].
    Nothing,
}

impl Talk {
    /// Returns what the message in hand waits for; `None` when none does.
    pub(crate) fn need(&self) -> Option<Need> {
        let unanswered = self.unanswered();
        let Some(waiting) = self.waiting.as_deref() else {
            return self.is_crowded().then_some(Need::Answers);
        };
        if self.who.is_none() {
            return Some(Need::Principal);
        }
        Some(match waiting {
            Waiting::Hello(..) if unanswered > 0 => Need::Answers,
            Waiting::Hello(_, hello) => match wish(hello) {
                Ok(want) => Need::Attached(want),
                Err(_) => Need::Nothing,
            },
            Waiting::Signal(_) if self.is_crowded() => Need::Answers,
            Waiting::Signal(_) | Waiting::Health(_) => Need::Nothing,
            Waiting::Query(..) | Waiting::Told(_) => Need::Query,
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

    /// How many messages the engine has not answered yet.
    pub(crate) fn unanswered(&self) -> usize {
        self.link.as_ref().map_or(0, |link| link.unanswered)
    }

    /// Tells whether the client said hello.
    pub(crate) fn is_greeted(&self) -> bool {
        self.greeted.is_some()
    }

    /// The engine's end, when there is one.
    pub(crate) fn attachment(&self) -> Option<&Arc<Attachment>> {
        self.link.as_ref().map(|link| &link.attachment)
    }

    /// Takes what came of attaching, and goes on with the message that waited for it.
    pub(crate) fn attached(
        &mut self,
        shared: &Shared,
        result: Result<Arc<Attachment>, Failure>,
        out: &mut Vec<u8>,
        tally: &mut Tally,
    ) {
        let mut batch = Batch::new(shared, out, tally);
        match self.waiting.take().map(|waiting| *waiting) {
            Some(Waiting::Hello(id, hello)) => {
                self.greet(&mut batch, id.as_ref(), &hello, result);
            }
            other => self.waiting = other.map(Box::new),
        }
    }

    /// Hands out the question that waits; its id stays.
    pub(crate) fn take_query(&mut self) -> Option<Query> {
        match self.waiting.take().map(|waiting| *waiting) {
            Some(Waiting::Query(id, query)) => {
                self.waiting = Some(Box::new(Waiting::Told(id)));
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
        shared: &Shared,
        told: Result<Told, Failure>,
        out: &mut Vec<u8>,
        tally: &mut Tally,
    ) {
        let mut batch = Batch::new(shared, out, tally);
        match self.waiting.take().map(|waiting| *waiting) {
            Some(Waiting::Told(id)) => match told {
                Ok(Told::Value(payload)) => {
                    self.say(&mut batch, &response(Some(&id), Meta::default(), payload));
                }
                Ok(Told::Text(payload)) => self.say_payload(&mut batch, &id, &payload),
                Err(failure) => self.refuse(&mut batch, Some(&id), &failure),
            },
            other => self.waiting = other.map(Box::new),
        }
    }

    /// Answers with a payload that is text already, or says that it does not fit.
    fn say_payload(&mut self, batch: &mut Batch<'_>, id: &Id, payload: &str) {
        let mut text = String::with_capacity(payload.len() + ENVELOPE);
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
            self.refuse(batch, Some(id), &Failure::because(error.code(), message));
        }
    }

    /// Goes on with a message that waits for nothing any more.
    pub(crate) fn resume(&mut self, shared: &Shared, out: &mut Vec<u8>, tally: &mut Tally) {
        let mut batch = Batch::new(shared, out, tally);
        match self.waiting.take().map(|waiting| *waiting) {
            Some(Waiting::Signal(signal)) => self.signal(&mut batch, signal),
            Some(Waiting::Health(check)) => self.health(&mut batch, check),
            Some(Waiting::Hello(id, hello)) => {
                // Only a wish that cannot be put waits for nothing.
                let failure = wish(&hello).err().unwrap_or_else(|| Code::Internal.into());
                self.greet(&mut batch, id.as_ref(), &hello, Err(failure));
            }
            other => self.waiting = other.map(Box::new),
        }
    }

    /// Refuses a message that still waits, since the daemon stops.
    pub(crate) fn give_up(&mut self, shared: &Shared, out: &mut Vec<u8>, tally: &mut Tally) {
        let mut batch = Batch::new(shared, out, tally);
        let id = match self.waiting.take().map(|waiting| *waiting) {
            Some(Waiting::Signal(signal)) => signal.message.id,
            Some(Waiting::Hello(id, _)) => id,
            Some(Waiting::Query(id, _) | Waiting::Told(id)) => Some(id),
            Some(Waiting::Health(_)) | None => return,
        };
        self.refuse(&mut batch, id.as_ref(), &Code::ShuttingDown.into());
    }

    /// Who is at the other end, once it is known.
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.who.as_deref()
    }

    /// Takes who is at the other end; holds as long as the connection does.
    pub(crate) fn identified(&mut self, who: Principal) {
        self.who = Some(Box::new(who));
    }

    /// Hands a message to the engine, or has it wait.
    pub(super) fn signal(&mut self, batch: &mut Batch<'_>, mut signal: Box<Signal>) {
        if signal.message.kind == Type::Request && signal.message.id.is_none() {
            signal.message.id = Some(batch.shared.assign_id());
        }
        if self.who.is_none() {
            self.waiting = Some(Box::new(Waiting::Signal(signal)));
            return;
        }
        if self.who.as_deref() == Some(&Principal::Anonymous) {
            return self.answer_stranger(batch, &signal.message);
        }
        let budget = match self.source {
            Some(_) => &batch.shared.stranger_budget,
            None => &batch.shared.budget,
        };
        if self.source.is_some() && budget.full() {
            let failure = Code::Overloaded.into();
            return self.decline(batch, signal.message.id.as_ref(), &failure);
        }
        let greeted = self.greeted.is_some();
        let link = match self.link(batch.shared) {
            Ok(link) => link,
            Err(failure) => return self.decline(batch, signal.message.id.as_ref(), &failure),
        };
        if !greeted && link.is_full() {
            self.waiting = Some(Box::new(Waiting::Signal(signal)));
            return;
        }
        let load = budget.load(signal.weight());
        let Signal { message, dropped, ast, .. } = *signal;
        let id = message.id.clone();
        match link.attachment.admit((message, ast), &dropped, load) {
            Ok(()) => link.unanswered += 1,
            Err(failure) => self.decline(batch, id.as_ref(), &failure),
        }
    }

    /// Answers a message of a peer that nobody knows: without the engine, a number or a record.
    fn answer_stranger(&mut self, batch: &mut Batch<'_>, message: &Message) {
        let id = message.id.as_ref();
        match batch.shared.hub.answer_stranger(message) {
            Ok(payload) => self.say(batch, &response(id, Meta::default(), payload)),
            Err(failure) => self.decline(batch, id, &failure),
        }
    }

    /// Says that the engine does not take a message, and counts it.
    pub(super) fn decline(&mut self, batch: &mut Batch<'_>, id: Option<&Id>, failure: &Failure) {
        batch.shared.metrics.engine.refused.inc();
        self.refuse(batch, id, failure);
    }

    /// The engine's end; made now for a client without hello that speaks to it first.
    fn link(&mut self, shared: &Shared) -> Result<&mut Link, Failure> {
        if self.link.is_none() {
            let who = self.who.as_deref().cloned().unwrap_or(Principal::Anonymous);
            if self.greeted.is_some() {
                return Err(Failure::because(Code::UnknownSession, NO_SESSION));
            }
            let attachment = shared.hub.attach_fresh(who, Attach::answers())?;
            self.link = Some(Link::new(attachment));
        }
        self.link.as_deref_mut().ok_or_else(|| Code::Internal.into())
    }

    /// Brings a shell's answer to what the engine asked it.
    pub(super) fn answered(&mut self, batch: &mut Batch<'_>, message: &Message) {
        if self.who.as_deref() == Some(&Principal::Anonymous) {
            return self.answer_stranger(batch, message);
        }
        let taken = match &self.link {
            Some(link) => link.attachment.respond(message),
            None => Err(Failure::because(Code::UnknownId, NOT_ASKED)),
        };
        match (taken, &mut self.link) {
            (Ok(Taken::Answered), Some(link)) => link.unanswered += 1,
            (Ok(_), _) => {}
            (Err(failure), _) => self.refuse(batch, message.id.as_ref(), &failure),
        }
    }

    /// Has a question for the daemon itself wait: its answer is in the record.
    pub(super) fn query(&mut self, shared: &Shared, id: Option<Id>, query: Query) {
        let id = id.unwrap_or_else(|| shared.assign_id());
        self.waiting = Some(Box::new(Waiting::Query(id, query)));
    }

    /// Has a health check wait until it is known who asks.
    pub(super) fn await_principal(&mut self, check: Check) {
        self.waiting = Some(Box::new(Waiting::Health(check)));
    }

    /// Has a hello wait for its session.
    pub(super) fn hello(&mut self, id: Option<Id>, hello: Box<ClientHello>) {
        self.waiting = Some(Box::new(Waiting::Hello(id, hello)));
    }

    /// Applies a client's hello and says what now holds.
    fn greet(
        &mut self,
        batch: &mut Batch<'_>,
        id: Option<&Id>,
        hello: &ClientHello,
        result: Result<Arc<Attachment>, Failure>,
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
        self.greeted = Some(Greeted { parts, said: 0 });
        self.link = None;
        match result {
            Ok(attachment) => {
                let answer = self.welcome(id, &attachment.snapshot());
                self.link = Some(Link::new(attachment));
                self.say(batch, &answer);
            }
            Err(failure) => self.refuse(batch, id, &failure),
        }
    }

    fn welcome(&self, id: Option<&Id>, snapshot: &Snapshot) -> Message {
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
            ("role", Value::keyword(snapshot.role.as_str())),
            ("state", Value::keyword(snapshot.status.doing.as_str())),
        ];
        success(id, session_meta(snapshot), settled)
    }

    /// Returns how to write something that is too large to be written here.
    pub(crate) fn large(&self, told: &Out) -> Option<Large> {
        let (event, view) = match told {
            Out::Event { event, view: View::Own, live: true } if event.kind == Kind::Signal => {
                return None;
            }
            Out::Event { event, view, .. } => (event, *view),
            Out::Offer(event) => (event, View::Asked),
            _ => return None,
        };
        if event.body.as_ref().is_none_or(|body| body.len() <= LARGE) {
            return None;
        }
        let session = self.link.as_ref()?.attachment.session().clone();
        Some(Large { session, dialect: self.dialect, event: Arc::clone(event), view })
    }

    /// Says what the engine has for this client, with the text of it if that is written.
    pub(crate) fn tell(
        &mut self,
        shared: &Shared,
        (told, text): (Out, Option<String>),
        out: &mut Vec<u8>,
        tally: &mut Tally,
    ) {
        // Taken out meanwhile, so that the rest of the conversation can be used.
        let Some(mut link) = self.link.take() else { return };
        let batch = &mut Batch::new(shared, out, tally);
        if let Out::Gone(failure) = &told {
            return self.lose(batch, *link, failure);
        }
        if answers_own(&told) {
            link.answered();
        }
        let reader = Reader { session: link.attachment.session(), dialect: self.dialect };
        match told {
            // Its sender knows what it said.
            Out::Event { event, view: View::Own, live: true } if event.kind == Kind::Signal => {}
            Out::Event { event, view, .. } => {
                let text = text.unwrap_or_else(|| reader.event(&event, view));
                self.tell_event(batch, &reader, &link, (&event, view), &text);
            }
            Out::Offer(event) => {
                let text = text.unwrap_or_else(|| reader.event(&event, View::Asked));
                self.tell_event(batch, &reader, &link, (&event, View::Asked), &text);
            }
            Out::Receipt { id, seq } => self.say_text(batch, &reader.receipt(id.as_ref(), seq)),
            Out::Status(status) => self.say_text(batch, &reader.status(status)),
            Out::Delta { turn, text } => self.say_text(batch, &reader.delta(turn, &text)),
            Out::Refused { id, failure } => self.decline(batch, id.as_ref(), &failure),
            Out::Repeat | Out::Gone(_) => {}
        }
        while let Some(text) = link.due() {
            self.say_text(batch, &text);
        }
        self.link = Some(link);
    }

    /// Says a numbered event, or, if it does not fit, something short with its number.
    fn tell_event(
        &mut self,
        batch: &mut Batch<'_>,
        reader: &Reader<'_>,
        link: &Link,
        (event, view): (&StreamEvent, View),
        text: &str,
    ) {
        if self.try_say(batch, text).is_ok() {
            return;
        }
        let max_frame = self.encoder.max_frame();
        tracing::debug!(seq = event.seq, bytes = text.len(), max_frame, "an event does not fit");
        self.say_text(batch, &reader.omitted(event, view, text.len(), max_frame));
        if view == View::Asked {
            // Nobody else can know that this shell will never see what it was asked.
            let _ = link.attachment.respond(&reader.cannot(event));
        }
    }

    /// The session is gone: everybody who waits for an answer is told, and nothing more comes.
    fn lose(&mut self, batch: &mut Batch<'_>, mut link: Link, failure: &Failure) {
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
fn answers_own(told: &Out) -> bool {
    match told {
        Out::Event { event, view: View::Own, live: true } => event.kind == Kind::Say,
        Out::Refused { .. } | Out::Repeat => true,
        _ => false,
    }
}

fn session_meta(snapshot: &Snapshot) -> Meta {
    let seq = i64::try_from(snapshot.seq).unwrap_or(i64::MAX);
    Meta {
        source: None,
        session: Some(snapshot.session.as_str().into()),
        extra: vec![(Keyword::from_name("seq"), Value::int(seq))],
    }
}

/// An event whose text is written on another thread.
#[derive(Debug)]
pub(crate) struct Large {
    session: SessionId,
    dialect: Dialect,
    event: Arc<StreamEvent>,
    view: View,
}

impl Large {
    /// Bytes of the event and of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.event.body.as_ref().map_or(0, |body| 2 * body.len())
    }

    /// Writes it; takes as long as it takes.
    pub(crate) fn write(&self) -> String {
        Reader { session: &self.session, dialect: self.dialect }.event(&self.event, self.view)
    }
}

/// What a hello asks of the engine.
fn wish(hello: &ClientHello) -> Result<Attach, Failure> {
    let session = match &hello.session {
        Some(name) => Some(SessionId::parse(name).map_err(|_| {
            let path = Path::of(&["payload", "session"]);
            Failure { path, ..Failure::because(Code::InvalidValue, SESSION_NAME) }
        })?),
        None => None,
    };
    Ok(Attach {
        session,
        cursor: hello.cursor,
        role: hello.role.unwrap_or_default(),
        mode: Mode::Stream,
        client: hello.client.clone(),
        shell: hello.shell.as_deref().map(Name::new),
        locale: hello.locale.clone(),
        time_zone: hello.time_zone.clone(),
        actuators: hello.actuators.iter().map(|name| Name::new(name)).collect(),
        render_rate: hello.render_rate,
        receipts: hello.receipts,
    })
}
