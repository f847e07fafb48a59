//! What can happen to a session: everything [`crate::step()`] is ever told.
//!
//! Made by the daemon from messages, results and time; recorded before anything follows from it.
//! Plain data: ids, names and values, never handles.

mod body;
mod value;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::consult::{ConsultFinding, ConsultantRef};
use crate::hash::{ActionHash, PolicyHash, TextDigest};
use crate::ids::{CallId, EffectId, KeywordName, Seq, SessionId, TurnId};
use crate::limits::SessionLimits;
use crate::policy::{GuardPolicies, InstalledPolicies};
use crate::privacy::Privacy;
use crate::provenance::Provenance;
use crate::thought::{DraftStop, ModelRef, OpaqueText, TokenUsage};
use crate::upgrade::SessionUpgrade;

pub use body::{
    AnsweredBody, CancelledBody, PolicySourceBody, ProposalsBody, SignalBody, WithdrawnBody,
};

/// Input of the loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The session began; the first event of each.
    Began(SessionStart),
    /// A shell said something.
    Signal(Arc<Signal>),
    /// The actuators that can be reached from now on, and no others.
    Registered(Vec<ActuatorRef>),
    /// The consultants that are asked from now on, and no others.
    ConsultantsChanged(Vec<ConsultantRef>),
    /// Advice of the reflex thinkers and the consultants.
    Consulted {
        /// The consultation.
        effect: EffectId,
        /// Their advice.
        advice: ReflexAdvice,
    },
    /// Draft of a thinker.
    Drafted {
        /// The thought.
        effect: EffectId,
        /// Its draft, or why there is none.
        draft: Result<Draft, ThinkerFault>,
    },
    /// Outcome of an act.
    Acted {
        /// The act.
        effect: EffectId,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Answer of a person to a question.
    Answered(ApprovalAnswer),
    /// The policies that hold from now on.
    PolicyInstalled(InstalledPolicies),
    /// Acts of a principal in other sessions.
    Counted(PrincipalUsage),
    /// Time passed.
    Tick(TimerTick),
    /// The daemon gives a turn up.
    Cancelled {
        /// The turn; any other than the current one is ignored.
        turn: TurnId,
        /// Reason, for people.
        reason: Box<str>,
    },
    /// End of the wish for what was begun for a signal.
    Withdrawn {
        /// The signal; one that is answered already is left as it is.
        seq: Seq,
        /// Reason.
        how: WithdrawalReason,
    },
    /// A later version of the loop holds from now on.
    Upgraded(Box<SessionUpgrade>),
}

/// Reason why an answer is no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawalReason {
    /// Its asker called it off, or left for good.
    Cancelled,
    /// The time that its asker gave is over.
    Expired,
}

/// First words of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionStart {
    /// The principal that the session belongs to.
    pub owner: Box<str>,
    /// Its limits, until something sets others.
    pub limits: SessionLimits,
    /// Version of the loop that steps through it; 0 before versions were counted.
    pub version: u32,
    /// Origin, if it continues another session.
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
    /// A thing that was perceived: `:EVENT`.
    Event,
    /// A thing that is asked for: `:REQUEST`.
    Request,
    /// A thing to note: `:LOG`.
    Log,
    /// A turn of the session failed after it had changed files; said by the session to itself.
    Failed,
}

/// Message of a shell.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Kind of the message.
    pub kind: SignalKind,
    /// Sender, as the daemon knows it, not as the message claims.
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
    /// Hash that the answerer saw; an answer to something else counts for nothing.
    pub hash: Option<ActionHash>,
    /// Yes or no.
    pub answer: ApprovalChoice,
    /// Answerer, as the daemon knows it.
    pub from: SignalSender,
    /// The message's id, to be returned with what it is told.
    pub id: Option<Value>,
    /// For how many milliseconds the same is to be allowed without asking. The session only notes
    /// the wish: a grant is a policy, and installed as one.
    pub always: Option<i64>,
}

/// Acts of a principal in other sessions of the daemon in the last hour: budgets count them, and a
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

/// Sender of a signal.
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

/// Actuator, as a session knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActuatorRef {
    /// Name, for targets.
    pub name: KeywordName,
    /// Location.
    pub place: ActuatorLocation,
    /// Actions; every known action if empty.
    pub actions: Vec<KeywordName>,
    /// Hash of the description of its actions, if there is one.
    pub specs: Option<TextDigest>,
}

/// Location of an actuator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActuatorLocation {
    /// In an attached shell: it is sent a request and may be away for long.
    Shell,
    /// In the daemon.
    Host,
}

/// Answer of reflex thinkers to a context.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReflexAdvice {
    /// Proposals, in order.
    pub proposals: Vec<Proposal>,
    /// Whether a thinker should be asked as well.
    pub think: bool,
    /// Whether the owner has said in the settings that what is proposed after a failed turn is to be
    /// done: then it is judged as if whoever began that turn had asked for it. Of no meaning elsewhere.
    pub standing: bool,
    /// Thinker that is to be asked, by name; the one of the settings if absent.
    pub thinker: Option<KeywordName>,
    /// Objections of consultants.
    pub findings: Vec<ConsultFinding>,
}

/// Answer of a thinker to a prompt.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Draft {
    /// Text for the asker: the answer if there are no calls, else said while they run.
    pub text: Box<str>,
    /// Calls, in order; no text and no calls end the turn. Judged one by one, carried out side by side.
    pub calls: Vec<Proposal>,
    /// Model that made it; `None` for a thinker that has no name.
    pub model: Option<ModelRef>,
    /// Cost.
    pub usage: Option<TokenUsage>,
    /// Reason why it ends where it does.
    pub stop: DraftStop,
    /// State of its provider, for the next prompt of the turn.
    pub opaque: Option<OpaqueText>,
    /// Label of it: the strictest of what its thinker was told.
    pub privacy: Privacy,
    /// Parts of the prompt it was made from, and what it cites; for the record, and read by nobody who decides.
    pub manifest: Option<Arc<Value>>,
}

/// Reason why a thinker has no draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinkerFault {
    /// The cause, for people.
    pub reason: Box<str>,
    /// Whether the same may succeed later.
    pub retryable: bool,
}

/// Wish of a thinker or asker. It carries no authority.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The actuator; the asker for what is to be said, else the asker's shell, if absent.
    pub target: Option<KeywordName>,
    /// The action and its arguments.
    pub payload: Value,
    /// Explanation, for people.
    pub explanation: Option<Box<str>>,
    /// Whether the outcome goes back to think. Always so for one with a name.
    pub then_think: bool,
    /// Name of the call, if its thinker wants to know the outcome under one.
    pub call: Option<CallId>,
    /// Origins of its values, as the daemon found them out; `None` where nobody looked.
    pub provenance: Option<Arc<Provenance>>,
}

/// End of an act.
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

/// Time that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerTick {
    /// A deadline or a schedule may be due.
    Deadline,
    /// The regular beat.
    Heartbeat,
}

impl Draft {
    /// A draft of calls alone, by a thinker without a name.
    pub fn of_calls(calls: Vec<Proposal>) -> Self {
        Self { calls, ..Self::default() }
    }

    /// A draft of text alone, by a thinker without a name.
    pub fn of_text(text: impl Into<Box<str>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Proposal {
    /// A wish without a name, an explanation or a second thought.
    pub fn new(target: Option<KeywordName>, payload: Value) -> Self {
        Self { target, payload, explanation: None, then_think: false, call: None, provenance: None }
    }

    /// A message to the asker.
    pub fn message(text: &str) -> Self {
        let action = ("action", Value::keyword("message"));
        Self::new(None, Value::plist([action, ("text", Value::str(text))]))
    }

    /// Whether the outcome goes back to think: it was asked for, or it has a name to be answered by.
    pub(crate) fn wants_outcome(&self) -> bool {
        self.then_think || self.call.is_some()
    }
}

impl SignalSender {
    /// A sender without a hello.
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

/// Beginning of the clients under which skills ask for something while they carry out an order.
const SKILL_CLIENT: &str = "skill:";

impl SignalSender {
    /// Client of a skill's requests. Whoever else calls itself so gains nothing: what it asks for is judged as what
    /// a thinker wants.
    pub fn skill_client(skill: &str) -> Box<str> {
        [SKILL_CLIENT, skill].concat().into()
    }

    /// Whether a skill asks for it.
    pub(crate) fn is_skill(&self) -> bool {
        self.client.as_deref().is_some_and(|client| client.starts_with(SKILL_CLIENT))
    }
}

impl Event {
    /// The hash of the policies that it installs, if they are not here.
    pub fn wants_policies(&self) -> Option<PolicyHash> {
        match self {
            Event::PolicyInstalled(installed) => installed.wanted(),
            Event::Upgraded(upgrade) => upgrade.state.as_ref().and_then(|it| it.wants_policies()),
            _ => None,
        }
    }

    /// Takes the policies that it installs, if they are the ones.
    pub fn supply(&mut self, set: &Arc<GuardPolicies>) {
        match self {
            Event::PolicyInstalled(installed) => installed.supply(set),
            Event::Upgraded(upgrade) => {
                upgrade.state.iter_mut().for_each(|state| state.supply(set));
            }
            _ => {}
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
