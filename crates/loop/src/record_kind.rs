//! Kinds of records: the one list of everything that the record can hold.
//!
//! Read by whoever folds, replays, explains or publishes records. The store keeps the kind of a record as
//! text and knows no list. A kind that is added here leaves every match over [`RecordKind`] incomplete:
//! the codec of events, replay, the stream, the explanation and the trace.

mod note;

pub use note::{
    CatalogBody, CompactedBody, MarkBody, PolicyBody, PolicyRefusedBody, ShownBody, StartedBody,
};

/// Groups of records that are treated alike wherever their kind does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordClass {
    /// Input of [`crate::step()`]: a State is the fold of these.
    Event,
    /// Output of [`crate::step()`]: replay gives the same again.
    Effect,
    /// Notes of the engine in a session, which change no State.
    Note,
    /// Records of the daemon, which belong to no session.
    Daemon,
    /// Records that the store writes by itself.
    Store,
}

macro_rules! record_kinds {
    ($($class:ident { $($(#[$doc:meta])+ $variant:ident $word:literal),+ $(,)? })+) => {
        /// The type of a record's body.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RecordKind {
            $($($(#[$doc])+ $variant,)+)+
        }

        impl RecordKind {
            /// Every kind, by class.
            pub const ALL: &[RecordKind] = &[$($(RecordKind::$variant),+),+];

            /// The word by which the record names the kind.
            pub const fn word(self) -> &'static str {
                match self {
                    $($(RecordKind::$variant => $word),+),+
                }
            }

            /// The kind of this word; `None` for one that a later version writes.
            pub fn parse(word: &str) -> Option<RecordKind> {
                Some(match word {
                    $($($word => RecordKind::$variant),+,)+
                    _ => return None,
                })
            }

            /// The group that the kind belongs to.
            pub const fn class(self) -> RecordClass {
                match self {
                    $($(RecordKind::$variant)|+ => RecordClass::$class),+
                }
            }
        }
    };
}

record_kinds! {
    Event {
        /// The beginning of a session.
        Began "began",
        /// A message of a shell.
        Signal "signal",
        /// The actuators that can be reached from then on.
        Registered "registered",
        /// The consultants that are asked from then on.
        ConsultantsChanged "consultants-changed",
        /// Advice of the reflex thinkers, with the question in it where they answered at once.
        Consulted "consulted",
        /// A thinker's draft, or the reason why there is none.
        Drafted "drafted",
        /// The outcome of an act, as its actuator told it.
        Acted "acted",
        /// A person's answer to a question of the guard.
        Answered "answered",
        /// The policies that hold from then on.
        PolicyInstalled "policy-installed",
        /// A principal's acts in other sessions.
        Counted "counted",
        /// Time that passed.
        Tick "tick",
        /// A turn that the daemon gave up.
        Cancelled "cancelled",
        /// A signal whose asker wants no answer any more.
        Withdrawn "withdrawn",
        /// A session that goes on by a later version of the loop.
        Upgraded "upgraded",
    }
    Effect {
        /// A question to the reflex thinkers.
        Consult "consult",
        /// A question to a thinker.
        Think "think",
        /// A proposal that was judged.
        Decided "decided",
        /// An order to an actuator.
        Act "act",
        /// A question of the guard to people.
        Ask "ask",
        /// The end of an act or a question without word from whoever was asked.
        Settled "settled",
        /// An order that is no longer wanted; its outcome is still awaited.
        Stop "stop",
        /// A message to the shells.
        Say "say",
        /// The end of a turn.
        Finish "finish",
    }
    Note {
        /// An order that an actuator of the daemon is about to carry out.
        Started "started",
        /// Text that a thought has shown to shells, and whose draft is still to come.
        Shown "shown",
        /// The hash of a State. Only in records of older versions: it stands in `finish` now.
        Mark "mark",
    }
    Daemon {
        /// The start of the daemon.
        DaemonUp "daemon-up",
        /// The orderly end of the daemon.
        DaemonDown "daemon-down",
        /// A set of policies, with its text.
        Policy "policy",
        /// Policies that were not installed.
        PolicyRefused "policy-refused",
        /// An attempt at what its principal may not do.
        Refused "refused",
        /// The description of an actuator's actions.
        Catalog "catalog",
        /// A line about the record itself.
        Log "log",
    }
    Store {
        /// Records that were forgotten.
        Forgot "forgot",
        /// The stand-in for records of one session that were compacted.
        Compacted "compacted",
        /// The record of the daemon that vouches for those.
        Compaction "compaction",
        /// A repair of the record.
        Repaired "repaired",
    }
}

impl RecordKind {
    /// Whether it is input of [`crate::step()`].
    pub const fn is_event(self) -> bool {
        matches!(self.class(), RecordClass::Event)
    }

    /// Whether it is output of [`crate::step()`].
    pub const fn is_effect(self) -> bool {
        matches!(self.class(), RecordClass::Effect)
    }

    /// All kinds of a class.
    pub fn of_class(class: RecordClass) -> impl Iterator<Item = RecordKind> {
        Self::ALL.iter().copied().filter(move |kind| kind.class() == class)
    }
}

impl std::fmt::Display for RecordKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests;
