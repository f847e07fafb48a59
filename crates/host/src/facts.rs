//! What the daemon tells the builtin thinker about itself.
//!
//! The daemon implements [`DaemonFacts`]; the builtin thinker asks, while a session waits: an answer is
//! looked up, never computed from history. Asked only after the question is recorded, and the
//! answer is recorded too, so replay needs none of this.

use std::time::Duration;

use bridle_loop::SessionId;

/// Knows what goes on in the daemon now.
pub trait DaemonFacts: Send + Sync {
    /// Sessions, those with the latest activity first, at most `limit` of them.
    fn sessions(&self, whose: SessionVisibility<'_>, limit: usize) -> SessionList;

    /// The daemon as a whole.
    fn status(&self) -> StatusFact;
}

/// Sessions that may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionVisibility<'p> {
    /// All: the owner asks.
    Everybodys,
    /// Only those made by this principal.
    Of(&'p str),
}

/// Some sessions, and how many there are in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionList {
    /// Sessions that the asker may see, shown or not.
    pub total: usize,
    /// The first of them.
    pub shown: Vec<SessionFact>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFact {
    /// Its name.
    pub session: SessionId,
    /// Number of its latest event.
    pub head: u64,
    /// Shells attached now.
    pub shells: usize,
    /// Whether a turn is running.
    pub busy: bool,
}

/// The daemon as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusFact {
    /// Its version.
    pub version: Box<str>,
    /// Since when it runs.
    pub uptime: Duration,
    /// Sessions there are, and of them those with a turn running.
    pub sessions: usize,
    /// See `sessions`.
    pub busy: usize,
    /// Shells attached now.
    pub shells: usize,
    /// Number of the latest record.
    pub record: u64,
    /// Reason why nothing can be recorded at the moment.
    pub trouble: Option<Box<str>>,
}
