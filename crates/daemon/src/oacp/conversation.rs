//! One connection's side of the conversation: bytes in, answers out, no IO and no clock.
//!
//! `connection` calls [`Conversation::answer`] with everything received and not yet answered, and
//! [`Conversation::tell`] with what the engine has to say. The rule that a client without hello can rely
//! on: each frame gets exactly one answer frame, in the order of the frames; only health is
//! answered at once. Two frames are worth a note:
//!
//! - a hello is answered like anything else, with one `:RESPONSE`;
//! - a part of a large message is answered with a short receipt as long as parts are missing,
//!   unless a hello was said: then only the whole message is answered, after its last part.

mod canned_replies;
mod engine_link;
mod parts;
mod payload_check;
mod reply;
mod suggestion;

use std::io;
use std::ops::Range;
use std::time::Duration;

use bridle_sexp::{Dialect, Reader};
use bridle_wire::OacpCode;
use bridle_wire::frame::{DecodeStep, DecoderOptions, FrameDecoder, FrameEncoder, FrameError};
use bridle_wire::oacp::health::{HealthCheck, HealthStatus};
use bridle_wire::oacp::{ErrorReply, MessageId, OacpMessage};
use bridle_wire::parts::PartAssembler;
use bridle_wire::seal::{
    ConnectionNonce, FrameSigner, FrameVerifier, SigningKey, VersionOnePolicy,
};

use crate::access::network::PeerSource;
use crate::access::principal::Principal;
use crate::access::rate::RateExceeded;
use crate::metrics::ConnectionTally;
use crate::oacp::connection::{CloseReason, PeerOrigin};
use crate::oacp::service::OacpService;
pub(crate) use canned_replies::CannedReplies;
use engine_link::{EngineLink, WaitingMessage};
pub(crate) use engine_link::{LargeEvent, TracedAnswer, WaitReason};
use payload_check::{LARGE_PAYLOAD_BYTES, PayloadOrigin, judge_small};
pub(crate) use payload_check::{LargePayload, PayloadVerdict};

/// Largest frame of an unknown peer. It can ask for health and built-in words, which take no more.
pub(crate) const MAX_STRANGER_FRAME_BYTES: usize = 64 << 10;

/// Largest frame where frames are signed and none has proven who speaks: as large as a turn may be.
pub(crate) const MAX_UNPROVEN_FRAME_BYTES: usize = payload_check::MAX_TURN_BYTES;

/// The target whose trace events tell of every message in and out: its type, size and hash.
const WIRE: &str = "bridle::wire";

/// Rest of an answered batch.
#[derive(Debug)]
pub(crate) struct BatchRemainder {
    /// Bytes at the front of the input that are done with.
    pub(crate) consumed: usize,
    /// Whether at least one frame ended in this batch.
    pub(crate) finished_frame: bool,
    /// Next step of the connection.
    pub(crate) then: AfterBatch,
}

/// Next step of the connection after a batch.
#[derive(Debug)]
pub(crate) enum AfterBatch {
    /// Wait for the next frame.
    Between,
    /// Wait for the rest of a frame, at least `more` bytes.
    Inside {
        /// Said by the peer; never allocated.
        more: usize,
        /// Whether they come only if the peer counts characters.
        reading_on: bool,
    },
    /// The output is full; call again with the rest of the input when it is sent.
    OutputFull,
    /// Have this judged elsewhere and bring the verdict to [`Conversation::conclude`]; then call again
    /// with the rest of the input.
    Judge(LargePayload),
    /// A message waits for the engine, see [`Conversation::need`]; when it does no more, call again with
    /// the rest of the input.
    Engine,
    /// The peer sends too often and was told so; call again with the rest of the input after this
    /// time.
    Rest(Duration),
    /// The last answer says why; nothing more can be read.
    Close(CloseReason),
}

/// The state of one conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    origin: PeerOrigin,
    /// Principal at the other end; `None` while nothing was said for which it matters.
    who: Option<Box<Principal>>,
    /// Key under which an unknown peer is counted; `None` once it is known.
    source: Option<PeerSource>,
    decoder: FrameDecoder,
    encoder: FrameEncoder,
    signing: SigningState,
    /// The dialect of the client's texts and of the answers.
    dialect: Dialect,
    /// Terms that the client's hello settled; `None` before a hello.
    greeted: Option<ClientTerms>,
    /// Messages in parts that are not whole yet. Boxed: most connections never have one.
    parts: Option<Box<PartAssembler>>,
    /// A large message that its last part has just completed; empty between calls.
    whole: Option<String>,
    /// The engine's end. Boxed: a connection that only asks for health has none.
    link: Option<Box<EngineLink>>,
    /// A message that waits for the engine; nothing is answered meanwhile.
    waiting: Option<Box<WaitingMessage>>,
}

/// Terms that a client's hello settled.
#[derive(Clone, Copy, Debug)]
struct ClientTerms {
    /// The client puts messages together from parts.
    parts: bool,
    /// Answers that were sent in parts so far; numbers the next one.
    said: u64,
    /// Keys of [`crate::engine::ANSWER_KEYS`] that its answers have.
    keys: [bool; 3],
}

/// State of a connection's signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SigningState {
    /// Nothing is signed.
    Off,
    /// The client has not sent its first frame; we sign in version 1.
    Opening,
    /// Version and key are settled.
    Settled,
}

/// Everything that a batch needs besides the conversation itself.
struct ReplyContext<'b> {
    service: &'b OacpService,
    out: &'b mut Vec<u8>,
    tally: &'b mut ConnectionTally,
    /// Looked up once: whether messages are traced.
    traced: bool,
    /// Looked up once: how the daemon is.
    status: HealthStatus,
}

impl<'b> ReplyContext<'b> {
    fn new(
        service: &'b OacpService,
        out: &'b mut Vec<u8>,
        tally: &'b mut ConnectionTally,
    ) -> ReplyContext<'b> {
        let traced = tracing::enabled!(target: WIRE, tracing::Level::TRACE);
        let daemon = &service.daemon;
        let is_full = daemon.budget.full() || !daemon.hub.home.is_healthy();
        let status = if is_full || daemon.checks.has_fault() {
            HealthStatus::Degraded
        } else {
            HealthStatus::Healthy
        };
        ReplyContext { service, out, tally, traced, status }
    }
}

impl Conversation {
    /// Begins a conversation by appending the hello to `out`. Besides its origin, a peer has whose
    /// socket it holds, if that is known, and the key under which it is counted while it is unknown.
    ///
    /// # Errors
    /// The system gives no random bytes for the nonce of a signed connection.
    pub(crate) fn new(
        service: &OacpService,
        (origin, who, source): (PeerOrigin, Option<Principal>, Option<PeerSource>),
        out: &mut Vec<u8>,
    ) -> io::Result<Conversation> {
        let mut encoder = FrameEncoder::new(service.daemon.config.unknown_unit);
        let keys = service.replies.keys().filter(|_| matches!(origin, PeerOrigin::Tcp(_)));
        let max_frame = match (source, keys) {
            (None, _) => service.daemon.config.limits.frame,
            (Some(_), None) => service.daemon.config.limits.frame.min(MAX_STRANGER_FRAME_BYTES),
            (Some(_), Some(_)) => service.daemon.config.limits.frame.min(MAX_UNPROVEN_FRAME_BYTES),
        };
        let options = DecoderOptions { max_frame, unit: None };
        // Where frames are signed, the key says who speaks, and not the socket.
        let who = who.filter(|_| keys.is_none());
        let (decoder, signing) = match keys {
            None => {
                out.extend_from_slice(service.replies.plain_hello(source.is_some()));
                (FrameDecoder::new(options), SigningState::Off)
            }
            Some(keys) => {
                let nonce = ConnectionNonce::from_random(service.nonce()?);
                let v1 = if service.daemon.config.hmac.allow_v1 {
                    VersionOnePolicy::Allow
                } else {
                    VersionOnePolicy::Refuse
                };
                encoder.set_signer(FrameSigner::v1_server(keys.first().clone()));
                // A hello is a few hundred bytes: it always fits.
                let _ = encoder.encode(&service.replies.signed_hello(&nonce), out);
                let verifier = FrameVerifier::server(keys.clone(), nonce, v1);
                (FrameDecoder::signed(options, verifier), SigningState::Opening)
            }
        };
        Ok(Conversation {
            origin,
            who: known(origin).or(who).map(Box::new),
            source,
            decoder,
            encoder,
            signing,
            dialect: Dialect::Lisp,
            greeted: None,
            parts: None,
            whole: None,
            link: None,
            waiting: None,
        })
    }

    /// Answers every whole frame in `input`, as far as the answers fit the output limit.
    pub(crate) fn answer(
        &mut self,
        service: &OacpService,
        input: &[u8],
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) -> BatchRemainder {
        let mut batch = ReplyContext::new(service, out, tally);
        let frames_before = batch.tally.frames_in;
        let mut at = 0;
        let then = loop {
            if batch.out.len() >= service.daemon.config.limits.output {
                break AfterBatch::OutputFull;
            }
            match self.decoder.decode(&input[at..]) {
                Ok(DecodeStep::Frame { payload, consumed }) => {
                    batch.tally.frames_in += 1;
                    let payload = at + payload.start..at + payload.end;
                    at += consumed;
                    if let Some(then) = self.frame(&mut batch, input, payload) {
                        break then;
                    }
                }
                Ok(DecodeStep::Refused { consumed, error }) => {
                    batch.tally.frames_in += 1;
                    self.fault(&mut batch, &error, &input[at..]);
                    at += consumed;
                    if self.waits() {
                        break AfterBatch::Engine;
                    }
                }
                Ok(DecodeStep::Need { skip, more }) => {
                    at += skip;
                    break match self.decoder.inside_frame() {
                        true => AfterBatch::Inside { more, reading_on: self.decoder.reading_on() },
                        false => AfterBatch::Between,
                    };
                }
                Err(lost) => {
                    self.fault(&mut batch, &lost.error, &input[at..]);
                    break AfterBatch::Close(closed_by(&lost.error));
                }
            }
        };
        BatchRemainder { consumed: at, finished_frame: tally.frames_in != frames_before, then }
    }

    /// Judges the end of the stream; `input` is what was not answered.
    pub(crate) fn finish(
        &mut self,
        service: &OacpService,
        input: &[u8],
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) -> CloseReason {
        match self.decoder.finish(input) {
            Ok(()) => CloseReason::PeerEnded,
            Err(lost) => {
                self.say_error(service, lost.code(), &lost.error.to_string(), out, tally);
                closed_by(&lost.error)
            }
        }
    }

    /// Says an error that answers no message.
    pub(crate) fn say_error(
        &mut self,
        service: &OacpService,
        code: OacpCode,
        message: &str,
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) {
        let mut batch = ReplyContext::new(service, out, tally);
        self.refuse(&mut batch, None, &ErrorReply::because(code, message));
    }

    /// Answers with the verdict on a large text.
    pub(crate) fn conclude(
        &mut self,
        service: &OacpService,
        verdict: PayloadVerdict,
        out: &mut Vec<u8>,
        tally: &mut ConnectionTally,
    ) -> Option<LargePayload> {
        let mut batch = ReplyContext::new(service, out, tally);
        self.reply(&mut batch, verdict);
        self.whole.take().map(LargePayload::Whole)
    }

    /// Returns the origin of the client.
    pub(crate) fn origin(&self) -> PeerOrigin {
        self.origin
    }

    /// The dialect that texts are to be judged in.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Gives the peer the limits of one that is known.
    pub(crate) fn make_known(&mut self, service: &OacpService) {
        self.source = None;
        self.decoder.set_max_frame(service.daemon.config.limits.frame);
    }

    /// Counts a frame of a TCP peer; says for how long to read nothing from one that sends too often.
    /// A plain health check of a known peer is not asked about here.
    fn count(&mut self, batch: &mut ReplyContext<'_>, text: &[u8]) -> Option<AfterBatch> {
        let PeerOrigin::Tcp(address) = self.origin else { return None };
        let limiter = &batch.service.limiter;
        let counted = match (self.source, self.who.as_deref()) {
            (Some(source), None | Some(Principal::Anonymous)) => limiter.count_stranger(source),
            (_, Some(who)) => limiter.count_known(who, address.ip().to_canonical().is_loopback()),
            (None, None) => Ok(()),
        };
        let RateExceeded { retry_after } = counted.err()?;
        let id = str::from_utf8(text)
            .ok()
            .filter(|text| text.len() <= LARGE_PAYLOAD_BYTES)
            .and_then(id_of);
        let wait = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        let failure = ErrorReply { retry_after_ms: Some(wait), ..OacpCode::RateLimited.into() };
        self.refuse(batch, id.as_ref(), &failure);
        Some(AfterBatch::Rest(retry_after))
    }

    /// Answers one frame, or says why no further one can be answered now.
    #[inline]
    fn frame(
        &mut self,
        batch: &mut ReplyContext<'_>,
        input: &[u8],
        payload: Range<usize>,
    ) -> Option<AfterBatch> {
        let bytes = &input[payload.clone()];
        let is_check = is_plain_check(bytes);
        let is_counted_first = self.signing == SigningState::Off && self.source.is_some();
        if is_counted_first && let Some(rest) = self.count(batch, bytes) {
            return Some(rest);
        }
        if self.signing == SigningState::Off && !batch.traced && is_check {
            batch.out.extend_from_slice(batch.service.replies.framed_health(batch.status));
            batch.tally.frames_out += 1;
            return None;
        }
        self.settle_signing();
        if let Some(unit) = self.decoder.unit() {
            self.encoder.set_unit(unit);
        }
        if !is_check
            && !is_counted_first
            && let Some(rest) = self.count(batch, bytes)
        {
            return Some(rest);
        }
        if batch.traced {
            tracing::trace!(target: WIRE, "in {}", batch.service.replies.outline(bytes));
        }
        if bytes.len() > LARGE_PAYLOAD_BYTES {
            return Some(AfterBatch::Judge(LargePayload::Frame(payload)));
        }
        match str::from_utf8(bytes) {
            Ok(text) => {
                let verdict = judge_small(text, self.dialect, PayloadOrigin::Frame);
                self.reply(batch, verdict);
            }
            // The decoder has checked it; if it ever does not, the peer is told.
            Err(error) => {
                let fault = FrameError::InvalidUtf8 { at: error.valid_up_to() };
                self.fault(batch, &fault, &[]);
            }
        }
        if self.waits() {
            return Some(AfterBatch::Engine);
        }
        self.whole.take().map(|text| AfterBatch::Judge(LargePayload::Whole(text)))
    }

    /// The first good frame of a client settles version and key for what we write, too.
    fn settle_signing(&mut self) {
        if self.signing != SigningState::Opening {
            return;
        }
        let Some(verifier) = self.decoder.verifier() else { return };
        let of_key = |key: &SigningKey| Box::new(Principal::Key(key.id().as_str().into()));
        self.who = verifier.key().map(of_key);
        let signer = match (verifier.session(), verifier.key()) {
            (Some(session), _) => FrameSigner::server(session.clone()),
            (None, Some(key)) => FrameSigner::v1_server(key.clone()),
            (None, None) => return,
        };
        self.encoder.set_signer(signer);
        self.signing = SigningState::Settled;
    }

    /// Answers a frame whose bytes are at fault.
    fn fault(&mut self, batch: &mut ReplyContext<'_>, error: &FrameError, input: &[u8]) {
        let mut message = error.to_string();
        if let FrameError::BadHeader { .. } = error
            && let Some(hint) = suggestion::other_protocol(input)
        {
            message.push_str("; ");
            message.push_str(hint);
        }
        self.refuse(batch, None, &ErrorReply::because(error.code(), message));
    }
}

/// The id of a message, if it has one.
fn id_of(text: &str) -> Option<MessageId> {
    let tree = Reader::new().read_one(text).ok()?;
    OacpMessage::peek_id(&tree)
}

/// Returns the principal of a peer by the way it came, if that says it.
fn known(origin: PeerOrigin) -> Option<Principal> {
    match origin {
        PeerOrigin::Stdio => Some(Principal::Stdio),
        PeerOrigin::Unix(uid) => Some(uid.map_or(Principal::Anonymous, Principal::Uid)),
        PeerOrigin::Tcp(_) => None,
    }
}

#[inline]
fn is_plain_check(payload: &[u8]) -> bool {
    str::from_utf8(payload).is_ok_and(HealthCheck::is_plain)
}

/// Returns the reason of a close after lost framing.
fn closed_by(error: &FrameError) -> CloseReason {
    match error {
        FrameError::BadSignature | FrameError::Replayed => CloseReason::BadSignature,
        _ => CloseReason::FramingLost,
    }
}
