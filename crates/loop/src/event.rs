//! What can happen to a session: everything [`crate::step()`] is ever told.
//!
//! Made by the daemon from messages, results and time; recorded before anything follows from it.
//! Plain data: ids, names and values, never handles.

mod body;
mod value;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::hash::{ActionHash, PolicyHash};
use crate::ids::{EffectId, KeywordName, Seq, SessionId, TurnId};
use crate::limits::SessionLimits;
use crate::policy::{GuardPolicies, InstalledPolicies};

pub use body::{
    AnsweredBody, CancelledBody, PolicySourceBody, ProposalsBody, SignalBody, WithdrawnBody,
};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The session began; the first event of each.
    Began(SessionStart),
    /// A shell said something.
    Signal(Arc<Signal>),
    /// These actuators can be reached from now on, and no others.
    Registered(Vec<ActuatorRef>),
    /// What the reflex thinkers advise.
    Consulted {
        /// The consultation.
        effect: EffectId,
        /// Their advice.
        advice: ReflexAdvice,
    },
    /// What a thinker drafted.
    Drafted {
        /// The thought.
        effect: EffectId,
        /// Its draft, or why there is none.
        draft: Result<Draft, ThinkerFault>,
    },
    /// How an act ended.
    Acted {
        /// The act.
        effect: EffectId,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Somebody answered a question.
    Answered(ApprovalAnswer),
    /// These policies hold from now on.
    PolicyInstalled(InstalledPolicies),
    /// What somebody did in other sessions.
    Counted(PrincipalUsage),
    /// Time passed.
    Tick(TimerTick),
    /// The daemon gives a turn up.
    Cancelled {
        /// The turn; any other than the current one is ignored.
        turn: TurnId,
        /// Why, for people.
        reason: Box<str>,
    },
    /// What was begun for a signal is no longer wanted.
    Withdrawn {
        /// The signal; one that is answered already is left as it is.
        seq: Seq,
        /// Why.
        how: WithdrawalReason,
    },
}

/// Why something is no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawalReason {
    /// Its asker called it off, or left for good.
    Cancelled,
    /// The time that its asker gave is over.
    Expired,
}

/// How a session begins.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionStart {
    /// The principal that the session belongs to.
    pub owner: Box<str>,
    /// Its limits, for good.
    pub limits: SessionLimits,
    /// Where it comes from, if it continues another session.
    pub fork: Option<ForkPoint>,
}

/// The point of another session that this one continues from.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkPoint {
    /// The other session.
    pub session: SessionId,
    /// The number of its last record that counts.
    pub record: u64,
    /// Its state there, as `SessionState::to_value` gives it.
    pub state: Value,
}

/// The kind of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// Something was perceived: `:EVENT`.
    Event,
    /// Something is asked for: `:REQUEST`.
    Request,
    /// Something is to be noted: `:LOG`.
    Log,
    /// A turn of the session failed after it had changed files; said by the session to itself.
    Failed,
}

/// What a shell said.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// What kind of message it was.
    pub kind: SignalKind,
    /// Who said it, as the daemon knows, not as the message claims.
    pub from: SignalSender,
    /// The message's id, to be returned with the answer.
    pub id: Option<Value>,
    /// The actuator it is for.
    pub target: Option<KeywordName>,
    /// The payload, without what a client may not set.
    pub payload: Value,
    /// The paths of what a client may not set and did.
    pub dropped: Vec<Box<str>>,
    /// Whether the one answer may wait for somebody's yes. Else the answer is `pending-approval` at
    /// once, and the outcome is said when there is one.
    pub patient: bool,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalAnswer {
    /// The question.
    pub approval: EffectId,
    /// What the answerer saw; an answer to something else counts for nothing.
    pub hash: Option<ActionHash>,
    /// Yes or no.
    pub answer: ApprovalChoice,
    /// Who answers, as the daemon knows.
    pub from: SignalSender,
    /// The message's id, to be returned with what it is told.
    pub id: Option<Value>,
    /// For how many milliseconds the same is to be allowed without asking. The session only notes
    /// the wish: a grant is a policy, and installed as one.
    pub always: Option<i64>,
}

/// What a principal did in other sessions of the daemon in the last hour: budgets count it, and a
/// session cannot know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrincipalUsage {
    /// The principal.
    pub principal: Box<str>,
    /// Acts by span of five minutes, counted from 1970.
    pub spans: Vec<(i64, i64)>,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalChoice {
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// The name of a principal of whom nothing is known.
pub const ANONYMOUS: &str = "anonymous";

/// Who sent a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalSender {
    /// The principal, such as `uid:1000`.
    pub principal: Box<str>,
    /// Whether that is an owner of this daemon.
    pub owner: bool,
    /// The stable id that its shell gave in its hello.
    pub client: Option<Box<str>>,
    /// The kind of its shell.
    pub shell: Option<KeywordName>,
    /// The language of its user.
    pub locale: Option<Box<str>>,
    /// The time zone of its user.
    pub time_zone: Option<Box<str>>,
}

/// Something that can carry out actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActuatorRef {
    /// What a target names.
    pub name: KeywordName,
    /// Where it lives.
    pub place: ActuatorLocation,
    /// What it can do; every known action if empty.
    pub actions: Vec<KeywordName>,
}

/// Where an actuator lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActuatorLocation {
    /// In an attached shell: it is sent a request and may be away for long.
    Shell,
    /// In the daemon.
    Host,
}

/// What reflex thinkers say to a context.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReflexAdvice {
    /// What to do.
    pub proposals: Vec<Proposal>,
    /// Whether a thinker should be asked as well.
    pub think: bool,
    /// Whether the owner has said in the settings that what is proposed after a failed turn is to be
    /// done: then it is judged as if whoever began that turn had asked for it. Of no meaning elsewhere.
    pub standing: bool,
}

/// What a thinker says to a prompt.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Draft {
    /// What to do; nothing ends the turn.
    pub proposals: Vec<Proposal>,
}

/// Why a thinker has no draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinkerFault {
    /// The cause, for people.
    pub reason: Box<str>,
    /// Whether the same may succeed later.
    pub retryable: bool,
}

/// Something that somebody wants to be done. It carries no authority.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The actuator; the asker for what is to be said, else the asker's shell, if absent.
    pub target: Option<KeywordName>,
    /// The action and its arguments.
    pub payload: Value,
    /// Why, for people.
    pub explanation: Option<Box<str>>,
    /// Whether the outcome goes back to think.
    pub then_think: bool,
}

/// How an act ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Carried out, with this result.
    Done(Value),
    /// Refused by the one who was asked, for this reason.
    Denied(Box<str>),
    /// Nobody answered in time.
    Expired,
    /// A later request took its place.
    Superseded,
    /// Tried and failed, for this reason.
    Failed(Box<str>),
    /// Begun, and nobody knows how it ended.
    UnknownOutcome,
}

/// Which time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerTick {
    /// A deadline or a schedule may be due.
    Deadline,
    /// The regular beat.
    Heartbeat,
}

impl SignalSender {
    /// Somebody without a hello.
    pub fn new(principal: &str) -> Self {
        Self {
            principal: principal.into(),
            owner: false,
            client: None,
            shell: None,
            locale: None,
            time_zone: None,
        }
    }
}

impl Event {
    /// The hash of the policies that it installs, if they are not here.
    pub fn wants_policies(&self) -> Option<PolicyHash> {
        match self {
            Event::PolicyInstalled(installed) => installed.wanted(),
            _ => None,
        }
    }

    /// Takes the policies that it installs, if they are the ones.
    pub fn supply(&mut self, set: &Arc<GuardPolicies>) {
        if let Event::PolicyInstalled(installed) = self {
            installed.supply(set);
        }
    }
}

impl ApprovalChoice {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            ApprovalChoice::Allow => "allow",
            ApprovalChoice::Deny => "deny",
        }
    }
}

impl Outcome {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Done(_) => "done",
            Outcome::Denied(_) => "denied",
            Outcome::Expired => "expired",
            Outcome::Superseded => "superseded",
            Outcome::Failed(_) => "failed",
            Outcome::UnknownOutcome => "unknown-outcome",
        }
    }
}
