//! What a text is: read, checked, and boiled down to what its answer needs.
//!
//! A pure function of the text, so that large ones can be judged on another thread while the
//! worker serves other connections.

use std::cell::RefCell;
use std::ops::Range;

use bridle_loop::{SensorClass, SignalKind};
use bridle_sexp::{Dialect, Node, Reader, Tape, Tree};
use bridle_wire::OacpCode;
use bridle_wire::frame::FrameError;
use bridle_wire::oacp::health::HealthCheck;
use bridle_wire::oacp::hello::ClientHello;
use bridle_wire::oacp::{ErrorReply, MessageId, MessageType, OacpMessage, strip_reserved};
use bridle_wire::parts::PartMessage;

use crate::byte_budget::OWNED_FACTOR;
use crate::engine::{DaemonQuery, SentFile, ShellSignal};
use crate::oacp::error_code::error_reply;
use crate::oacp::to_signal::{file_bytes, read_message, to_signal};

/// Payloads longer than this many bytes are judged apart. One that long takes some 100 us, and
/// a worker that stays longer with one connection is missed by the others.
pub(crate) const LARGE_PAYLOAD_BYTES: usize = 64 << 10;

/// Bytes of a message that a session keeps in its state: one that makes a turn waits there with
/// others until its turn has come, an answer to a request stays until the turn is over. What only
/// informs may be as large as the wire allows.
pub(super) const MAX_TURN_BYTES: usize = 1 << 20;

/// Reason for a message in parts that is itself a part.
const PART_OF_PARTS: &str = "expected a message put together from parts, got one more part";

/// Verdict on a text.
#[derive(Debug)]
pub(crate) enum PayloadVerdict {
    /// A health check.
    Health(HealthCheck),
    /// A client's hello.
    Hello(Option<MessageId>, Box<ClientHello>),
    /// A part of a larger message.
    Part(Option<MessageId>, PartMessage<'static>),
    /// Message for the engine.
    Signal(Box<EngineMessage>),
    /// A question for the daemon itself: answered without a turn of the engine.
    Query(Option<MessageId>, DaemonQuery),
    /// An answer to something that the engine asked.
    Answer(Box<OacpMessage>),
    /// A good message that nothing here takes.
    Other(Option<MessageId>, MessageType),
    /// A message that is too large for a turn of its session.
    TooLarge(Option<MessageId>),
    /// Not a good message.
    Refused(Option<MessageId>, ErrorReply),
}

/// A message for the engine: an event, a request or a log line.
#[derive(Debug)]
pub(crate) struct EngineMessage {
    /// The message, without what a client may not set.
    pub(crate) signal: ShellSignal,
    /// Id under which it is answered.
    pub(crate) id: Option<MessageId>,
    /// Bytes of its text.
    pub(crate) bytes: usize,
}

impl EngineMessage {
    /// Returns its weight among the bytes in flight: that of the value, and of the part that stays text.
    pub(crate) fn weight(&self) -> usize {
        let text = self.signal.ast.as_ref().map_or(0, |ast| ast.text().len());
        let files: usize = self.signal.files.iter().map(SentFile::len).sum();
        // Their text is a third longer than they are.
        let cut = text + files.saturating_mul(4) / 3;
        let kept = text.saturating_add(files);
        self.bytes.saturating_sub(cut).saturating_mul(OWNED_FACTOR).saturating_add(kept)
    }
}

/// A large text that waits to be judged.
#[derive(Debug)]
pub(crate) enum LargePayload {
    /// The payload of a frame, at this place in the input.
    Frame(Range<usize>),
    /// Payload of a frame at this place, with the input.
    Bytes(Vec<u8>, Range<usize>),
    /// A message put together from parts.
    Whole(String),
}

impl LargePayload {
    /// Bytes held by it.
    pub(crate) fn len(&self) -> usize {
        match self {
            LargePayload::Frame(payload) => payload.len(),
            LargePayload::Bytes(bytes, _) => bytes.len(),
            LargePayload::Whole(text) => text.len(),
        }
    }

    /// Judges it; takes as long as it takes.
    pub(crate) fn judge(&self, dialect: Dialect) -> PayloadVerdict {
        match self {
            LargePayload::Whole(text) => {
                judge(text, dialect, PayloadOrigin::Whole, &mut Tape::new())
            }
            LargePayload::Frame(_) => PayloadVerdict::Refused(None, OacpCode::Internal.into()),
            LargePayload::Bytes(bytes, payload) => match str::from_utf8(&bytes[payload.clone()]) {
                Ok(text) => judge(text, dialect, PayloadOrigin::Frame, &mut Tape::new()),
                // The decoder has checked it; if it ever does not, the peer is told.
                Err(error) => {
                    let fault = FrameError::InvalidUtf8 { at: error.valid_up_to() };
                    PayloadVerdict::Refused(
                        None,
                        ErrorReply::because(fault.code(), fault.to_string()),
                    )
                }
            },
        }
    }
}

/// Origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadOrigin {
    /// From a frame.
    Frame,
    /// Put together from parts; it may not be a part again.
    Whole,
}

thread_local! {
    /// The tape of this thread's last small message, so that the next one allocates nothing.
    static TAPE: RefCell<Tape> = RefCell::default();
}

/// Judges a text that is not large.
pub(super) fn judge_small(text: &str, dialect: Dialect, depth: PayloadOrigin) -> PayloadVerdict {
    TAPE.with_borrow_mut(|tape| judge(text, dialect, depth, tape))
}

fn judge(text: &str, dialect: Dialect, depth: PayloadOrigin, tape: &mut Tape) -> PayloadVerdict {
    let tree = match Reader::new().dialect(dialect).read_one_into(text, tape) {
        Ok(tree) => tree,
        Err(error) => return PayloadVerdict::Refused(None, ErrorReply::from(&error)),
    };
    let verdict = judge_tree(&tree, dialect, depth);
    *tape = tree.into_tape();
    verdict
}

fn judge_tree(tree: &Tree<'_>, dialect: Dialect, depth: PayloadOrigin) -> PayloadVerdict {
    if let Some(check) = HealthCheck::from_tree(tree) {
        return PayloadVerdict::Health(check);
    }
    let envelope = match OacpMessage::envelope(tree) {
        Ok(envelope) => envelope,
        Err(invalid) => return PayloadVerdict::Refused(OacpMessage::peek_id(tree), invalid.into()),
    };
    let OacpMessage { id, kind, .. } = envelope;
    match kind {
        MessageType::Event if is_handshake(tree) => return judge_hello(tree, id),
        MessageType::Event if payload(tree).is_none() => {
            return match (PartMessage::read(tree.root()), depth) {
                (Some(part), PayloadOrigin::Frame) => PayloadVerdict::Part(id, owned(part)),
                _ => PayloadVerdict::Refused(
                    id,
                    ErrorReply::because(OacpCode::PartMismatch, PART_OF_PARTS),
                ),
            };
        }
        MessageType::Status | MessageType::HealthCheck | MessageType::HealthResponse => {
            return PayloadVerdict::Other(id, kind);
        }
        MessageType::Event | MessageType::Request | MessageType::Response | MessageType::Log => {}
    }
    let kept = tree.source().len();
    if kept > MAX_TURN_BYTES && kept - file_bytes(tree) > MAX_TURN_BYTES && makes_turn(tree, kind) {
        // Before anything is made of it: values take many times as much as the text.
        return PayloadVerdict::TooLarge(id);
    }
    let (mut message, cut) = match read_message(tree, dialect) {
        Ok(read) => read,
        Err(failure) => return PayloadVerdict::Refused(id, failure),
    };
    let dropped = strip_reserved(&mut message);
    if kind == MessageType::Response {
        return PayloadVerdict::Answer(Box::new(message));
    }
    let Some(signal) = to_signal(message, &dropped, cut) else {
        return PayloadVerdict::Other(id, kind);
    };
    let target = signal.target.as_ref().filter(|_| signal.kind == SignalKind::Request);
    match target.and_then(|target| DaemonQuery::of(target, &signal.payload)) {
        Some(Ok(query)) => PayloadVerdict::Query(id, query),
        Some(Err(error)) => PayloadVerdict::Refused(id, error_reply(error)),
        None => {
            let bytes = tree.source().len();
            PayloadVerdict::Signal(Box::new(EngineMessage { signal, id, bytes }))
        }
    }
}

/// Tells whether a message waits for a turn of its session, or answers a request of one.
fn makes_turn(tree: &Tree<'_>, kind: MessageType) -> bool {
    let sensor = payload(tree).and_then(|payload| payload.get("sensor"));
    let sensor_makes_turn =
        |sensor: Node<'_>| SensorClass::matching(|name| sensor.is_keyword(name)).makes_turn();
    match kind {
        MessageType::Log => false,
        MessageType::Event => sensor.is_none_or(sensor_makes_turn),
        _ => true,
    }
}

/// The refusal of a message that is too large for a turn of its session.
pub(super) fn too_large() -> ErrorReply {
    let text = format!("expected at most {MAX_TURN_BYTES} bytes in a message of this kind");
    ErrorReply::because(OacpCode::InvalidValue, text)
}

fn judge_hello(tree: &Tree<'_>, id: Option<MessageId>) -> PayloadVerdict {
    match OacpMessage::from_tree(tree).and_then(|event| ClientHello::from_message(&event)) {
        Ok(Some(hello)) => PayloadVerdict::Hello(id, Box::new(hello)),
        Ok(None) => PayloadVerdict::Other(id, MessageType::Event),
        Err(invalid) => PayloadVerdict::Refused(id, invalid.into()),
    }
}

fn payload<'t>(tree: &'t Tree<'_>) -> Option<Node<'t>> {
    tree.root().get("payload")
}

fn is_handshake(tree: &Tree<'_>) -> bool {
    payload(tree)
        .and_then(|payload| payload.get("action"))
        .is_some_and(|action| action.is_keyword("handshake"))
}

fn owned(part: PartMessage<'_>) -> PartMessage<'static> {
    match part {
        PartMessage::Part { id, n, of, data } => {
            PartMessage::Part { id, n, of, data: data.into_owned().into() }
        }
        PartMessage::Abort { id } => PartMessage::Abort { id },
    }
}
