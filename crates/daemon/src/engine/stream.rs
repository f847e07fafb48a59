//! The words between connections and the engine: what is asked for, what comes back.
//!
//! Plain data. Connections fill an [`AttachRequest`] and take [`OutboundItem`]s; nothing here acts.

use std::sync::Arc;

use bridle_host::{ActChannel, ThoughtChannel};
use bridle_loop::{
    ActuatorLocation, ActuatorRef, ActuatorSpec, KeywordName, RecordKind, SessionId,
    SessionWorkload, TextDigest,
};
use bridle_sexp::Value;

use crate::engine::error::EngineError;

/// Part that a shell plays in the session that it is attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum AttachRole {
    /// Speaks and listens.
    #[default]
    Controller,
    /// Listens.
    Observer,
}

/// Events that a connection wants to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamMode {
    /// One answer for each message, in the order of the messages, and nothing else.
    Answers,
    /// Every numbered event of the session after the cursor, status and deltas.
    Stream,
    /// Every event, for a side that is never asked to do or to approve anything and whose messages
    /// are answered at once, also while something of theirs waits for somebody's yes. Without a
    /// cursor, its own messages and the answers to them, until something happens that nobody said.
    Follow,
}

/// Request of a shell to join a session.
#[derive(Clone, Debug)]
pub(crate) struct AttachRequest {
    /// The session; `None` for a fresh one.
    pub(crate) session: Option<SessionId>,
    /// The last number it has seen; `None` begins at the head.
    pub(crate) cursor: Option<u64>,
    /// Part that it plays.
    pub(crate) role: AttachRole,
    /// Events that it wants.
    pub(crate) mode: StreamMode,
    /// The stable name of the client, under which repeats are recognized.
    pub(crate) client: Option<Box<str>>,
    /// Kind of the shell.
    pub(crate) shell: Option<KeywordName>,
    /// Its user's locale.
    pub(crate) locale: Option<Box<str>>,
    /// Its user's time zone.
    pub(crate) time_zone: Option<Box<str>>,
    /// Actuators that it offers, besides the one named like its kind.
    pub(crate) actuators: Vec<ShellOffer>,
    /// Drawings a second; `None` for the usual.
    pub(crate) render_rate: Option<u64>,
    /// Whether it wants to be told that a message is recorded.
    pub(crate) receipts: bool,
}

/// An actuator that a shell offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellOffer {
    /// Its name.
    pub(crate) name: KeywordName,
    /// The description of its actions, if the shell gave one, and the hash of that.
    pub(crate) spec: Option<(TextDigest, Arc<ActuatorSpec>)>,
}

impl ShellOffer {
    /// An actuator of which the name is all that is known.
    pub(crate) fn bare(name: KeywordName) -> ShellOffer {
        ShellOffer { name, spec: None }
    }

    /// An actuator that is described.
    pub(crate) fn described(spec: ActuatorSpec) -> ShellOffer {
        ShellOffer { name: spec.name.clone(), spec: Some((spec.digest(), Arc::new(spec))) }
    }

    /// Whether an actuator that a session knows is this one, as it is described.
    pub(in crate::engine) fn is_known_as(&self, known: &ActuatorRef) -> bool {
        let digest = self.spec.as_ref().map(|(digest, _)| *digest);
        known.name == self.name && (digest.is_none() || known.specs == digest)
    }

    /// The actuator as a session knows it.
    pub(in crate::engine) fn to_ref(&self) -> ActuatorRef {
        let (specs, actions) = match &self.spec {
            Some((digest, spec)) => (Some(*digest), spec.action_names()),
            None => (None, Vec::new()),
        };
        ActuatorRef { name: self.name.clone(), place: ActuatorLocation::Shell, actions, specs }
    }
}

impl AttachRequest {
    /// The wish of a client that said no hello: a fresh session, and answers alone.
    pub(crate) fn answers() -> AttachRequest {
        AttachRequest {
            session: None,
            cursor: None,
            role: AttachRole::Controller,
            mode: StreamMode::Answers,
            client: None,
            shell: None,
            locale: None,
            time_zone: None,
            actuators: Vec::new(),
            render_rate: None,
            receipts: false,
        }
    }
}

/// Kind of a numbered event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEventKind {
    /// A message of a shell.
    Signal,
    /// Words: the answer to a signal, or unasked.
    Say,
    /// An intent: somebody is asked to do something.
    Act,
    /// Outcome of an intent.
    Acted,
    /// A question of the guard: somebody is asked for a yes.
    Ask,
    /// An answer to it.
    Answered,
    /// Outcome of an intent or a question without word from whoever was asked.
    Settled,
}

impl StreamEventKind {
    /// The event that records of a kind are; `None` when they have no number in their session.
    pub(crate) fn of(kind: RecordKind) -> Option<StreamEventKind> {
        match kind {
            RecordKind::Signal => Some(StreamEventKind::Signal),
            RecordKind::Say => Some(StreamEventKind::Say),
            RecordKind::Act => Some(StreamEventKind::Act),
            RecordKind::Acted => Some(StreamEventKind::Acted),
            RecordKind::Ask => Some(StreamEventKind::Ask),
            RecordKind::Answered => Some(StreamEventKind::Answered),
            // What was compacted is gone, whatever it was.
            RecordKind::Settled | RecordKind::Compacted => Some(StreamEventKind::Settled),
            RecordKind::Began
            | RecordKind::Registered
            | RecordKind::ConsultantsChanged
            | RecordKind::Upgraded
            | RecordKind::Stop
            | RecordKind::Consulted
            | RecordKind::Drafted
            | RecordKind::PolicyInstalled
            | RecordKind::Counted
            | RecordKind::Tick
            | RecordKind::Cancelled
            | RecordKind::Withdrawn
            | RecordKind::Consult
            | RecordKind::Think
            | RecordKind::Decided
            | RecordKind::Finish
            | RecordKind::Started
            | RecordKind::Shown
            | RecordKind::Mark
            | RecordKind::DaemonUp
            | RecordKind::DaemonDown
            | RecordKind::Policy
            | RecordKind::PolicyRefused
            | RecordKind::Refused
            | RecordKind::Catalog
            | RecordKind::Log
            | RecordKind::Forgot
            | RecordKind::Compaction
            | RecordKind::Repaired => None,
        }
    }
}

/// A durable numbered event of a session.
#[derive(Debug)]
pub(crate) struct StreamEvent {
    /// Its number in the session.
    pub(crate) seq: u64,
    /// The number of its record.
    pub(crate) record: u64,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
    /// Kind of the event.
    pub(crate) kind: StreamEventKind,
    /// The body of its record, canonical text; `None` when it was erased.
    pub(crate) body: Option<Box<str>>,
    /// The live attachment that this is of or for; unknown for what is read from the record.
    pub(crate) origin: Option<AttachmentId>,
}

impl StreamEvent {
    /// Bytes that it holds, about.
    pub(in crate::engine) fn len(&self) -> usize {
        size_of::<StreamEvent>() + self.body.as_ref().map_or(0, |body| body.len())
    }
}

/// Names an attachment while the daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AttachmentId(pub(crate) u64);

/// Relation of an event to the shell that it is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventView {
    /// Its own signal, or the answer to one of its own. Of events from before the shell joined
    /// this is not known here: the body names the client.
    Own,
    /// An intent that this shell is asked to carry out, or a question that it may answer.
    Asked,
    /// Event of another shell.
    Other,
}

/// One thing to send.
#[derive(Debug)]
pub(crate) enum OutboundItem {
    /// A numbered event. Own signals come live too: whether they are shown is the caller's
    /// choice, see `live`.
    Event {
        /// The event.
        event: Arc<StreamEvent>,
        /// Relation to this shell.
        view: EventView,
        /// Whether it happened after this shell joined.
        live: bool,
    },
    /// A request that is still open, offered to a shell that may have seen its number before.
    Offer(Arc<StreamEvent>),
    /// A message is recorded.
    Receipt {
        /// The message's id, as its sender wrote it.
        id: Option<Value>,
        /// Its number.
        seq: u64,
    },
    /// A message came again: what there is to say to it was or will be said to the first.
    Repeat,
    /// A message is refused; nothing of it is recorded.
    Refused {
        /// The message's id, as its sender wrote it.
        id: Option<Value>,
        /// Reason of the refusal.
        failure: EngineError,
    },
    /// Activity of the engine now; not numbered.
    Status(SessionStatus),
    /// Text of something that is still being made; not numbered.
    Delta(ShownPiece),
    /// Text of a thought that was shown, and is not said: it does not count.
    Voided {
        /// The turn.
        turn: u64,
        /// The thought.
        thought: u64,
    },
    /// The session is gone, and this was the last.
    Gone(EngineError),
}

/// A piece of something in the making.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownPiece {
    /// The turn that makes it.
    pub(crate) turn: u64,
    /// The thought or the act, by its effect.
    pub(crate) thought: u64,
    /// The channel.
    pub(crate) channel: PieceChannel,
    /// Bytes of the channel before it.
    pub(crate) offset: usize,
    /// The text.
    pub(crate) text: String,
}

/// A channel on which something is shown in the making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceChannel {
    /// The answer.
    Text,
    /// The way to it.
    Reasoning,
    /// Output of what runs.
    Output,
    /// Distance to the end of what runs.
    Progress,
    /// A text that the user should see at once.
    Notice,
}

impl From<ThoughtChannel> for PieceChannel {
    fn from(channel: ThoughtChannel) -> PieceChannel {
        match channel {
            ThoughtChannel::Text => PieceChannel::Text,
            ThoughtChannel::Reasoning => PieceChannel::Reasoning,
        }
    }
}

impl From<ActChannel> for PieceChannel {
    fn from(channel: ActChannel) -> PieceChannel {
        match channel {
            ActChannel::Output => PieceChannel::Output,
            ActChannel::Progress => PieceChannel::Progress,
            ActChannel::Notice => PieceChannel::Notice,
        }
    }
}

impl PieceChannel {
    /// All of them.
    pub(crate) const ALL: [PieceChannel; 5] = [
        PieceChannel::Text,
        PieceChannel::Reasoning,
        PieceChannel::Output,
        PieceChannel::Progress,
        PieceChannel::Notice,
    ];

    /// As a keyword, without the colon.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            PieceChannel::Text => "text",
            PieceChannel::Reasoning => "reasoning",
            PieceChannel::Output => "output",
            PieceChannel::Progress => "progress",
            PieceChannel::Notice => "notice",
        }
    }

    /// Its place among all.
    pub(in crate::engine) fn place(self) -> usize {
        self as usize
    }
}

/// Activity of the engine in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionStatus {
    /// Activity of the turn.
    pub(crate) doing: EngineActivity,
    /// The turn it does it for.
    pub(crate) turn: Option<u64>,
    /// Skill that reports what it does in this turn, or did in the last one.
    pub(crate) reporter: Option<SkillReporter>,
}

/// Skill whose state shells are told under its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkillReporter {
    /// `:scribe`
    Scribe,
    /// `:gardener`
    Gardener,
}

impl SkillReporter {
    /// The reporter that is the author of a draft.
    pub(crate) fn of_author(name: &str) -> Option<Self> {
        let all = [Self::Scribe, Self::Gardener];
        all.into_iter().find(|it| name.strip_prefix("skill:") == Some(it.as_str()))
    }

    /// As a keyword, without the colon.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Scribe => "scribe",
            Self::Gardener => "gardener",
        }
    }
}

/// Activity of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EngineActivity {
    /// Nothing.
    #[default]
    Idle,
    /// A thinker is at work.
    Thinking,
    /// An actuator is at work, or a shell was asked.
    Acting,
    /// An approval is awaited.
    Asking,
}

/// Pairs that tell what a session has to do; nothing of it, no pairs.
pub(crate) fn workload_pairs(load: SessionWorkload) -> impl Iterator<Item = (&'static str, Value)> {
    let SessionWorkload { running, waiting, parked } = load;
    let pairs = [("running", running), ("waiting", waiting), ("parked", parked)];
    pairs
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(key, count)| (key, Value::int(i64::try_from(count).unwrap_or(i64::MAX))))
}

impl EngineActivity {
    /// As a keyword, without the colon.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            EngineActivity::Idle => "idle",
            EngineActivity::Thinking => "thinking",
            EngineActivity::Acting => "acting",
            EngineActivity::Asking => "asking",
        }
    }
}

/// Session, head and status, for a shell that has joined.
#[derive(Clone, Debug)]
pub(crate) struct AttachSnapshot {
    /// The session.
    pub(crate) session: SessionId,
    /// The last number given in it.
    pub(crate) seq: u64,
    /// Activity of the engine.
    pub(crate) status: SessionStatus,
    /// Number of its turns and signals, by what they do.
    pub(crate) load: SessionWorkload,
    /// Part that the shell plays.
    pub(crate) role: AttachRole,
}
