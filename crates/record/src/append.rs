//! Input of [`RecordStore::commit`](crate::RecordStore::commit): new records and the small tables that must change in
//! the same transaction. Plain data, checked when it is committed.

use std::borrow::Cow;
use std::sync::Arc;

use crate::record::{RecordHash, RecordNumber};
use crate::spending::BudgetUse;

/// Longest name of a session, in bytes: it is typed, and it is part of every frame's meta.
pub const MAX_SESSION_NAME: usize = 64;

/// Whether a text may name a session: `[A-Za-z0-9._-]{1,64}`.
#[must_use]
pub fn valid_session_name(name: &str) -> bool {
    (1..=MAX_SESSION_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Records and tables that are kept together or not at all. Usually one batch of one session; the store commits
/// many appends in one transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordAppend {
    /// A session that begins with this append.
    pub session: Option<NewSessionRow>,
    /// The records, in order.
    pub drafts: Vec<NewRecord>,
    /// Effects that now wait for an outcome.
    pub opened: Vec<NewOpenEffect>,
    /// Effects, by session and id, that are about to be executed by an actuator.
    pub started: Vec<(Box<str>, u64)>,
    /// Effects, by session and id, that have their outcome. One that is not open is ignored; one that
    /// is opened by this same append ends up closed.
    pub closed: Vec<(Box<str>, u64)>,
    /// The state of the session as it is after these drafts.
    pub checkpoint: Option<StateCheckpoint>,
    /// Time at which the session wants to be woken next.
    pub wake: Option<WakeTime>,
    /// Budget that is used up with the append.
    pub spent: Option<Box<BudgetUse>>,
}

/// A session to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSessionRow {
    /// See [`valid_session_name`]. A name may be used again once the session that had it is forgotten.
    pub name: Box<str>,
    /// The principal it belongs to.
    pub owner: Box<str>,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// A record to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// Name of its session; empty for the daemon's own, whose bodies are not sealed. Those of one append
    /// share it.
    pub session: Arc<str>,
    /// Its place in the session's stream: one more than the last, or the append is refused.
    pub seq: Option<u64>,
    /// Milliseconds since the epoch; not before the session's last record.
    pub at: i64,
    /// The record it follows from.
    pub cause: RecordCause,
    /// Principal who caused the record: mostly the engine itself.
    pub principal: Cow<'static, str>,
    /// Kind of the record.
    pub kind: &'static str,
    /// Body, as canonical S-expression text.
    pub body: String,
    /// By which the message that it is will be known. Only one that is numbered can have it.
    pub receipt: Option<MessageReceipt>,
    /// Part of the body that is kept with another record alone.
    pub shared: Option<SharedPart>,
}

impl NewRecord {
    /// A draft that is not numbered in its session and has no cause.
    #[must_use]
    pub fn new(
        session: &str,
        kind: &'static str,
        at: i64,
        principal: &str,
        body: impl Into<String>,
    ) -> Self {
        Self {
            session: session.into(),
            seq: None,
            at,
            cause: RecordCause::None,
            principal: principal.to_owned().into(),
            kind,
            body: body.into(),
            receipt: None,
            shared: None,
        }
    }

    /// Numbers the record in the stream of its session.
    #[must_use]
    pub fn numbered(mut self, seq: u64) -> Self {
        self.seq = Some(seq);
        self
    }

    /// Adds the receipt of the message that the record admits.
    #[must_use]
    pub fn known_by(mut self, receipt: MessageReceipt) -> Self {
        self.receipt = Some(receipt);
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn caused_by(mut self, cause: RecordCause) -> Self {
        self.cause = cause;
        self
    }
}

/// A part of a body that stands in another one too. It is kept there alone; who reads the record gets all
/// of it, unless the other one is forgotten: then both are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedPart {
    /// Beginning of the part in this body, in bytes.
    pub from: usize,
    /// The other one: a later draft of the same append and session, by its index, that shares nothing.
    pub with: usize,
    /// Beginning of the part in the other body, in bytes.
    pub at: usize,
    /// Length of the part in bytes.
    pub bytes: usize,
}

/// Record that another one follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordCause {
    /// Nothing that is recorded.
    None,
    /// A record that is already kept.
    Number(RecordNumber),
    /// A draft of the same append, by its index; before this one.
    Earlier(usize),
}

/// Proof that a message was admitted: sent again, it gets the same answer. Both hashes are kept masked, so that
/// they tell nothing once their record or its session is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageReceipt {
    /// Hash of who sent which message: principal, client and id.
    pub message: RecordHash,
    /// Hash of the message's body.
    pub body: RecordHash,
}

/// An effect that waits for its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOpenEffect {
    /// Its session.
    pub session: Box<str>,
    /// Its id within the session.
    pub effect: u64,
    /// Deadline of the effect, in milliseconds since the epoch.
    pub deadline: Option<i64>,
}

/// The state of a session after its last record, so that loading it need not read its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateCheckpoint {
    /// Its session. The checkpoint counts as made after the session's last draft of this append.
    pub session: Box<str>,
    /// The state, as canonical text.
    pub state: String,
}

/// Time at which a session wants to be woken next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeTime {
    /// The session.
    pub session: Box<str>,
    /// Milliseconds since the epoch; `None` takes an earlier wish back.
    pub at: Option<i64>,
}

/// The numbers that the drafts of one append were given: they follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendNumbers {
    pub(crate) first: u64,
    pub(crate) count: usize,
}

impl AppendNumbers {
    /// The number of the draft at this index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<RecordNumber> {
        (index < self.count).then(|| RecordNumber(self.first + index as u64))
    }

    /// The number of the last draft, if there was one.
    #[must_use]
    pub fn last(&self) -> Option<RecordNumber> {
        self.count.checked_sub(1).and_then(|index| self.get(index))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = RecordNumber> + use<> {
        (self.first..self.first + self.count as u64).map(RecordNumber)
    }
}
