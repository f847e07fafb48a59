//! The State of a session with what the daemon must know beside it.
//!
//! Owned by the session while nothing happens and by its drive task while something does. Thrown
//! away whenever an append fails: the record is the truth, and `load` reads it again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bridle_loop::{
    Effect, EffectId, LOOP_VERSION, SessionId, SessionLimits, SessionStart, SessionState,
};
use bridle_record::{
    NewOpenEffect, RecordAppend, RecordCause, RecordHash, RecordNumber, StateCheckpoint, WakeTime,
};
use bridle_sexp::Value;

use crate::bounded_queue::{BoundedQueue, Key};
use crate::config::EngineLimits;
use crate::engine::home::schedules::{MAX_SCHEDULES_PER_SESSION, MIN_SCHEDULE_INTERVAL_MS};
use crate::engine::home::spending::cost;
use crate::engine::stream::{EngineActivity, SessionStatus, SkillReporter};

/// Records after which the State is written down, so that loading a session reads few: a hundred prompts,
/// which are stepped through again in some milliseconds. Every fifty made a State of 32 KB a tenth of what
/// the writer does for a prompt.
pub(in crate::engine) const CHECKPOINT_EVERY: usize = 512;

/// Time that a message's receipt is kept, in milliseconds: a day.
pub(in crate::engine) const RECEIPT_MS: i64 = 24 * 60 * 60 * 1000;

/// Receipts kept for a session, as the store keeps them.
pub(in crate::engine) const MAX_RECEIPTS_PER_SESSION: usize = 4096;

/// Records since the last checkpoint of a session.
#[derive(Debug)]
struct CheckpointCount {
    unsaved: usize,
    /// Number of them that makes the next one.
    save_at: usize,
}

/// A loaded session.
#[derive(Debug)]
pub(in crate::engine) struct LoadedSession {
    pub(in crate::engine) state: SessionState,
    /// Whether the record knows the session.
    pub(in crate::engine) born: bool,
    pub(in crate::engine) receipts: SessionReceipts,
    /// Messages with receipts that wait for their answers: the hash of each, by its number.
    pub(in crate::engine) unanswered: BTreeMap<u64, RecordHash>,
    /// Effects that the record knows as open, each with the record of its intent if known.
    pub(in crate::engine) open: BTreeMap<u64, Option<u64>>,
    /// Open effects that the record knows as started.
    pub(in crate::engine) started: BTreeSet<u64>,
    /// The wake time that the record knows.
    wake: Option<i64>,
    checkpoint: CheckpointCount,
    /// Activity of the turn, if there is one.
    doing: EngineActivity,
    /// Whether the events of the record give its State today; of meaning for a session of an older version.
    pub(in crate::engine) is_folded: bool,
    /// Skill of the turn, or of the last one, that reports what it does.
    reporter: Option<SkillReporter>,
    /// Principal that spoke last, and pays for what follows; the session's owner if that is not known.
    payer: Option<Box<str>>,
}

impl LoadedSession {
    /// Charges what was recorded to whoever it follows from, `payer` if that is somebody new; to the owner of the
    /// session if that is not known.
    pub(in crate::engine) fn bill(
        &mut self,
        append: &mut RecordAppend,
        payer: Option<Box<str>>,
        now: i64,
    ) {
        if append.drafts.is_empty() {
            return;
        }
        self.payer = payer.or(self.payer.take());
        let owner = || self.state.owner().unwrap_or_default();
        let spent = cost(append, self.payer.as_deref().unwrap_or_else(owner), now);
        append.spent = spent.map(Box::new);
    }

    /// A session to which nothing has happened.
    pub(in crate::engine) fn unborn(session: SessionId) -> LoadedSession {
        LoadedSession {
            checkpoint: CheckpointCount { unsaved: 0, save_at: first_checkpoint(&session) },
            state: SessionState::new(session),
            born: false,
            receipts: SessionReceipts::default(),
            unanswered: BTreeMap::new(),
            open: BTreeMap::new(),
            started: BTreeSet::new(),
            wake: None,
            doing: EngineActivity::Acting,
            is_folded: true,
            reporter: None,
            payer: None,
        }
    }

    /// The record of an effect's intent, as the cause of its outcome.
    pub(in crate::engine) fn intent(&self, effect: u64) -> RecordCause {
        match self.open.get(&effect) {
            Some(Some(record)) => RecordCause::Number(RecordNumber(*record)),
            _ => RecordCause::None,
        }
    }

    /// A session as the record has it, `unsaved` records after its checkpoint.
    pub(in crate::engine) fn read(
        state: SessionState,
        receipts: SessionReceipts,
        unsaved: usize,
    ) -> LoadedSession {
        let wake = state.next_deadline().map(|time| time.0);
        let session = state.session().clone();
        let waiting = state.unanswered();
        let known = waiting.filter_map(|(seq, signal)| Some((seq.0, hash_of(signal)?)));
        let unanswered = known.collect();
        LoadedSession {
            unanswered,
            state,
            born: true,
            receipts,
            wake,
            checkpoint: CheckpointCount { unsaved, save_at: first_checkpoint(&session) },
            ..LoadedSession::unborn(session)
        }
    }

    /// Adds to an append what follows from its records: which effects are open, when to wake,
    /// and a checkpoint when it is time.
    pub(in crate::engine) fn complete(&mut self, append: &mut RecordAppend) {
        let session: Box<str> = self.state.session().as_str().into();
        let outstanding = self.state.outstanding();
        let any = |is: fn(&Effect) -> bool| outstanding.iter().any(|(_, effect)| is(effect));
        self.doing = if any(|it| !matches!(it, Effect::Act { .. } | Effect::Ask { .. })) {
            EngineActivity::Thinking
        } else if any(|it| matches!(it, Effect::Ask { .. }))
            && !any(|it| matches!(it, Effect::Act { .. }))
        {
            EngineActivity::Asking
        } else {
            EngineActivity::Acting
        };
        let thought = outstanding.iter().find_map(|(_, effect)| match effect {
            Effect::Think { prompt, .. } => Some(prompt),
            _ => None,
        });
        if let Some(prompt) = thought {
            // Who thinks is known from the first draft of a turn.
            let author = prompt.rounds.first().and_then(|round| round.model.as_ref());
            self.reporter = author.and_then(|author| SkillReporter::of_author(&author.name));
        }
        let waits: BTreeMap<u64, Option<i64>> =
            outstanding.iter().map(|(id, effect)| (id.0, deadline(effect))).collect();
        for (&effect, &deadline) in &waits {
            self.open.entry(effect).or_insert_with(|| {
                append.opened.push(NewOpenEffect { session: session.clone(), effect, deadline });
                None
            });
        }
        let over: Vec<u64> =
            self.open.keys().filter(|id| !waits.contains_key(id)).copied().collect();
        for effect in over {
            append.closed.push((session.clone(), effect));
            self.open.remove(&effect);
            self.started.remove(&effect);
        }
        let wake = self.state.next_deadline().map(|time| time.0);
        if wake != self.wake {
            self.wake = wake;
            append.wake = Some(WakeTime { session: session.clone(), at: wake });
        }
        self.checkpoint.unsaved += append.drafts.len();
        if self.checkpoint.unsaved >= self.checkpoint.save_at {
            append.checkpoint = self.checkpoint();
            self.checkpoint.save_at = CHECKPOINT_EVERY;
        }
    }

    /// The checkpoint to write, if there is something new to save.
    pub(in crate::engine) fn checkpoint(&mut self) -> Option<StateCheckpoint> {
        if self.checkpoint.unsaved == 0 {
            return None;
        }
        self.checkpoint.unsaved = 0;
        let state = self.state.text();
        Some(StateCheckpoint { session: self.state.session().as_str().into(), state })
    }

    /// Records since the last checkpoint.
    pub(in crate::engine) fn unsaved(&self) -> usize {
        self.checkpoint.unsaved
    }

    /// Returns the activity of the session, as shells are told.
    pub(in crate::engine) fn status(&self) -> SessionStatus {
        let reporter = self.reporter;
        let Some(turn) = self.state.turn() else {
            return SessionStatus { reporter, ..SessionStatus::default() };
        };
        SessionStatus { doing: self.doing, turn: Some(turn.0), reporter }
    }

    /// Tells whether an answer to this effect is still awaited.
    pub(in crate::engine) fn awaits(&self, effect: u64) -> bool {
        self.state.awaits(EffectId(effect))
    }
}

/// After how many records a session is written down the first time: sooner than later on, and not all
/// sessions at the same. Two hundred that began together and were asked in turn were all written down
/// in the same commit, which made each of them wait 100 ms.
fn first_checkpoint(session: &SessionId) -> usize {
    let add = |sum: usize, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
    let spread = session.as_str().bytes().fold(0, add);
    CHECKPOINT_EVERY / 2 + spread % (CHECKPOINT_EVERY / 2)
}

/// Returns the first event of a session of this owner, with the limits of the settings.
pub(in crate::engine) fn began(owner: &str, settings: &EngineLimits) -> SessionStart {
    let limits = session_limits(settings);
    SessionStart { owner: owner.into(), limits, version: LOOP_VERSION, fork: None }
}

/// Limits of sessions, as the settings say.
pub(in crate::engine) fn session_limits(settings: &EngineLimits) -> SessionLimits {
    let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let turns = &settings.turns;
    SessionLimits {
        approval_ms: milliseconds(settings.approval),
        depth: turns.rounds,
        acts: turns.acts,
        vetoes_in_row: turns.vetoes,
        turn_deadline_ms: milliseconds(turns.time),
        host_act_ms: milliseconds(turns.act_time),
        turn_tokens: turns.tokens,
        turn_microdollars: turns.microdollars,
        budget_asks: turns.asks.into(),
        schedules: MAX_SCHEDULES_PER_SESSION,
        schedule_min_ms: MIN_SCHEDULE_INTERVAL_MS,
        ..SessionLimits::default()
    }
}

fn deadline(effect: &Effect) -> Option<i64> {
    match effect {
        Effect::Act { deadline, .. } => Some(deadline.0),
        Effect::Ask { question, .. } => Some(question.expires.0),
        _ => None,
    }
}

/// Messages that were admitted, to recognize them when they come again.
#[derive(Debug)]
pub(in crate::engine) struct SessionReceipts(BoundedQueue<AdmittedMessage>);

/// Message that was admitted.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct AdmittedMessage {
    pub(in crate::engine) body: RecordHash,
    pub(in crate::engine) seq: u64,
    pub(in crate::engine) at: i64,
}

impl Default for SessionReceipts {
    fn default() -> SessionReceipts {
        SessionReceipts(BoundedQueue::new(MAX_RECEIPTS_PER_SESSION))
    }
}

impl SessionReceipts {
    /// Returns the message that was admitted under this hash and is not too old at `now`.
    pub(in crate::engine) fn find(&self, message: RecordHash, now: i64) -> Option<AdmittedMessage> {
        let fresh = |admitted: &&AdmittedMessage| admitted.at.saturating_add(RECEIPT_MS) > now;
        let known = self.0.get(&key(message)).filter(fresh).copied();
        known.filter(|admitted| admitted.body != void_body())
    }

    /// Notes a message; the oldest go when there are too many.
    pub(in crate::engine) fn note(&mut self, message: RecordHash, admitted: AdmittedMessage) {
        self.0.add(key(message), admitted);
    }
}

/// The body of a receipt that counts no more: its message was answered with "try again later", so it
/// is new when it comes again. No message has this body, since each has a kind and a target.
pub(in crate::engine) fn void_body() -> RecordHash {
    bridle_record::hash_text("void")
}

/// The hash under which a signal is recognized, if its client has a name.
pub(in crate::engine) fn hash_of(signal: &bridle_loop::Signal) -> Option<RecordHash> {
    let (client, id) = (signal.from.client.as_ref()?, signal.id.as_ref()?);
    Some(message_hash(&signal.from.principal, client, &id.to_string()))
}

/// The hash of a message as it is kept: half of it. A busy session holds thousands.
fn key(message: RecordHash) -> Key {
    *message.as_bytes().first_chunk().unwrap_or(&Key::default())
}

/// The hash under which a message is recognized: who sent it, and its id as canonical text.
pub(in crate::engine) fn message_hash(principal: &str, client: &str, id: &str) -> RecordHash {
    let mut text = String::with_capacity(principal.len() + client.len() + id.len() + 16);
    for (index, part) in [principal, client, id].into_iter().enumerate() {
        text.push_str(if index == 0 { "" } else { " " });
        quote(part, &mut text);
    }
    bridle_record::hash_text(&text)
}

/// Adds a text in quotes, so that no two have the same: as Rust shows it, which takes twenty times as
/// long where nothing in it needs to be escaped.
fn quote(part: &str, text: &mut String) {
    use std::fmt::Write as _;
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if part.bytes().all(is_plain) {
        text.push('"');
        text.push_str(part);
        text.push('"');
    } else {
        // Writing to a string cannot fail.
        let _ = write!(text, "{part:?}");
    }
}

/// The hash under which a body is recognized: what is asked, not who asks from where.
pub(in crate::engine) fn body_hash(signal: &bridle_loop::Signal) -> RecordHash {
    let target = signal.target.as_ref().map_or(Value::Nil, bridle_loop::KeywordName::to_value);
    let kind = match signal.kind {
        bridle_loop::SignalKind::Event => "event",
        bridle_loop::SignalKind::Request => "request",
        bridle_loop::SignalKind::Log => "log",
        bridle_loop::SignalKind::Failed => "failed",
    };
    let mut text = format!("{kind} {target} ");
    bridle_sexp::print(&signal.payload, bridle_sexp::Dialect::Lisp, &mut text);
    bridle_record::hash_text(&text)
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn a_quoted_text_is_as_rust_shows_it() {
        for part in ["", "uid:1000", "it's", "a \"b\" c", "back\\slash", "line\n", "\u{7f}", "ü€"]
        {
            let mut text = String::new();
            quote(part, &mut text);
            assert_eq!(text, format!("{part:?}"));
        }
    }
}
