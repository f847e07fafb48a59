//! From a message of a shell to what the loop is told.
//!
//! Called under the session's lock: moves and small copies only.

use bridle_loop::{
    ApprovalAnswer, KeywordName, Outcome, SessionId, Signal, SignalKind, SignalSender,
};
use bridle_record::MessageReceipt;
use bridle_sexp::Value;

use crate::byte_budget::InFlightBytes;
use crate::engine::home::kept_files::SentFile;
use crate::engine::home::unsaved_buffers::SentAst;
use crate::engine::sessions::loaded_session::{body_hash, hash_of};
use crate::engine::sessions::shell_feed::ShellFeed;
use crate::engine::stream::{AttachmentId, StreamMode};

/// A message for the engine, as its face read it. The session adds who says it.
#[derive(Debug)]
pub(crate) struct ShellSignal {
    /// Event, request or log line.
    pub(crate) kind: SignalKind,
    /// The id as its sender wrote it: an integer or a string.
    pub(crate) id: Option<Value>,
    /// Actuator that a request is for.
    pub(crate) target: Option<KeywordName>,
    /// Kind of the shell, where a message says it and no hello did.
    pub(crate) shell: Option<KeywordName>,
    /// Property list; nil is the empty one.
    pub(crate) payload: Value,
    /// Paths of what its face took away.
    pub(crate) dropped: Vec<Box<str>>,
    /// The AST of a buffer that it brings.
    pub(crate) ast: Option<SentAst>,
    /// Files that it brings.
    pub(crate) files: Vec<SentFile>,
}

/// A message on its way through the inbox.
#[derive(Debug)]
pub(in crate::engine) struct InboundMessage {
    pub(in crate::engine) signal: Signal,
    pub(in crate::engine) attachment: AttachmentId,
    /// Its place in the order of answers, for a client without hello.
    pub(in crate::engine) ticket: Option<u64>,
    /// Whether its sender wants to know that it is recorded.
    pub(in crate::engine) wants_receipt: bool,
    /// Answers to questions of the guard that it brings: recorded with it, before it.
    pub(in crate::engine) answers: Vec<ApprovalAnswer>,
    /// Its share of the bytes in flight.
    pub(in crate::engine) load: InFlightBytes,
    pub(in crate::engine) newness: MessageNewness,
    /// The AST of a buffer that it brings.
    pub(in crate::engine) ast: Option<SentAst>,
    /// Files that it brings, not kept yet.
    pub(in crate::engine) files: Vec<SentFile>,
    /// Hash by which its body is recognized when it comes again, if not by its payload.
    pub(in crate::engine) body: Option<bridle_record::RecordHash>,
}

impl InboundMessage {
    /// By what it will be known when it comes again, if its client has a name.
    pub(in crate::engine) fn receipt(&self) -> Option<MessageReceipt> {
        let message = hash_of(&self.signal)?;
        Some(MessageReceipt { message, body: self.body.unwrap_or_else(|| body_hash(&self.signal)) })
    }
}

/// Whether a message may be new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum MessageNewness {
    /// New or a repeat.
    Any,
    /// Repeat of a message that came before.
    Repeat,
}

/// Makes the loop's signal of a message; its sender is known from the connection.
pub(in crate::engine) fn read(
    message: ShellSignal,
    feed: &ShellFeed,
    ticket: Option<u64>,
    load: InFlightBytes,
) -> InboundMessage {
    let ShellSignal { kind, id, target, shell, payload, dropped, ast, files } = message;
    let from = SignalSender {
        principal: feed.who.text().into(),
        owner: feed.who.is_owner(),
        client: feed.about.client.clone(),
        // A client without hello may say what it is with each message.
        shell: feed.about.shell.clone().or(shell),
        locale: feed.about.locale.clone(),
        time_zone: feed.about.time_zone.clone(),
    };
    let body = body_of(feed.mode, &payload);
    let signal = Signal {
        kind,
        from,
        id,
        target,
        payload,
        dropped,
        // A client without hello has nothing else to hear the outcome from than its one answer;
        // one that follows has nothing to wait for a yes with.
        patient: feed.mode == StreamMode::Stream,
    };
    InboundMessage {
        signal,
        attachment: feed.id,
        ticket,
        wants_receipt: feed.about.receipts,
        answers: Vec::new(),
        load,
        newness: MessageNewness::Any,
        ast,
        files,
        body,
    }
}

/// A request over HTTP has the fingerprint of what came with it: the same request is the same,
/// whatever was found out about its attachments meanwhile.
fn body_of(mode: StreamMode, payload: &Value) -> Option<bridle_record::RecordHash> {
    if mode != StreamMode::Follow {
        return None;
    }
    payload.get("request").and_then(Value::as_str).map(bridle_record::hash_text)
}

/// The id under which a shell is asked: the session and the effect.
pub(crate) fn request_id(session: &SessionId, effect: u64) -> String {
    format!("{session}-{effect}")
}

/// The effect that a shell's answer names; `None` when it is none of this session.
pub(in crate::engine) fn effect_of(id: &Value, session: &SessionId) -> Option<u64> {
    let number = id.as_str()?.strip_prefix(session.as_str())?.strip_prefix('-')?;
    number.parse().ok()
}

/// Returns the outcome of a request, as a shell's answer says it.
pub(in crate::engine) fn outcome_of(payload: &Value) -> Outcome {
    let says = |name| payload.get("status").is_some_and(|status| status.is_keyword(name));
    let reason = || -> Box<str> {
        let texts = ["message", "reason", "text"];
        let text = texts.into_iter().find_map(|key| payload.get(key).and_then(Value::as_str));
        text.unwrap_or("the shell gave no reason").into()
    };
    if says("denied") {
        Outcome::Denied(reason())
    } else if says("error") || says("failed") {
        Outcome::Failed(reason())
    } else {
        Outcome::Done(payload.clone())
    }
}
