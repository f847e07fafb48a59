//! What a session wants to happen: everything [`crate::step()`] ever says.
//!
//! The daemon records effects in their order and then carries them out; what comes back is a new
//! event. A value here is a wish, not a deed.

mod body;
mod value;

use std::sync::Arc;

use bridle_sexp::Value;

use crate::consult::ConsultSubject;
use crate::decide::{ApprovalIntent, Order};
use crate::event::{ActuatorRef, Outcome, Signal, SignalSender};
use crate::hash::TextDigest;
use crate::ids::{CallId, EffectId, KeywordName, Seq, SessionId, TurnId, UnixMillis};
use crate::limits::SessionLimits;
use crate::policy::PolicyFacts;
use crate::privacy::Privacy;
use crate::state::SharedHistory;
use crate::summary::ConversationSummary;
use crate::thought::{ModelRef, ResultReference, ThoughtRound};
use crate::value_size::weight;

pub use body::{DecidedBody, FinishBody, IntentBody, OutcomeBody, PromptBody, SayBody, SharedText};

/// Output of one step, in order.
pub type Effects = Vec<Effect>;

/// Wish of the loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the reflex thinkers and the consultants; answered by `Event::Consulted`.
    Consult {
        /// Number that the answer names.
        id: EffectId,
        /// Knowledge of the reflex thinkers.
        context: SignalContext,
        /// Subject of the question.
        subject: ConsultSubject,
    },
    /// Ask a thinker; answered by `Event::Drafted`.
    Think {
        /// Number that the answer names.
        id: EffectId,
        /// Knowledge of the thinker.
        prompt: ThinkerPrompt,
    },
    /// Nothing to carry out: a proposal was judged, and this is why.
    Decided(Decision),
    /// Carry out an order; answered by `Event::Acted`.
    Act {
        /// Number that the answer names.
        id: EffectId,
        /// Its place in the stream.
        seq: Seq,
        /// The turn it belongs to.
        turn: TurnId,
        /// Order to carry out.
        order: Order,
        /// Time after which it is `expired`.
        deadline: UnixMillis,
    },
    /// Ask somebody who may say yes; answered by `Event::Answered`.
    Ask {
        /// Number that the answer names.
        id: EffectId,
        /// Its place in the stream.
        seq: Seq,
        /// Question, and the intent that it is about.
        question: Arc<ApprovalRequest>,
    },
    /// An act or a question ended here, without word from whoever was asked: it was denied,
    /// expired or superseded.
    Settled {
        /// The act or the question.
        id: EffectId,
        /// The place of its outcome in the stream.
        seq: Seq,
        /// Outcome of the act or the question.
        outcome: Outcome,
    },
    /// Have an act of the daemon stop. Answered by its `Event::Acted`, which says how it really ended.
    Stop {
        /// The act.
        id: EffectId,
    },
    /// Tell the shells.
    Say(Utterance),
    /// Nothing to carry out: a turn ended.
    Finish {
        /// The turn.
        turn: TurnId,
        /// End of the turn.
        reason: TurnEnd,
    },
}

/// Knowledge of reflex thinkers: the signal and what the session remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The number of the signal; none for one that came from time alone.
    pub seq: Option<Seq>,
    /// Start of the turn.
    pub at: UnixMillis,
    /// The signal.
    pub signal: Arc<Signal>,
    /// Place of the user, as the last `:focus`, `:point-update` or `:buffer-update` said.
    pub focus: Option<Arc<Value>>,
    /// Questions and answers before, oldest first.
    pub history: SharedHistory<PastExchange>,
    /// Summaries of the exchanges before those, one for each label.
    pub summaries: Arc<[ConversationSummary]>,
    /// Rulings before, oldest first.
    pub decisions: SharedHistory<RememberedRuling>,
    /// Actuators that can be reached.
    pub actuators: Arc<[ActuatorRef]>,
    /// Whether the turn is at its end, and what waits on its stage is asked for: no thinker has a say in that.
    pub is_closing: bool,
}

/// Knowledge of a thinker: the context and the turn so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ThinkerPrompt {
    /// The context.
    pub context: SignalContext,
    /// Rounds of outcomes before this thought.
    pub depth: u32,
    /// Drafts of this turn that were vetoed.
    pub tries: u32,
    /// Vetoed proposals, oldest first.
    pub rejected: Vec<Arc<ProposalRejection>>,
    /// Acts and their outcomes, oldest first; of long ago, only how they ended.
    pub results: Vec<Arc<Deed>>,
    /// Drafts of this turn and what became of their calls, oldest first.
    pub rounds: Vec<Arc<ThoughtRound>>,
    /// Drafts before those, which the record alone has.
    pub forgotten: u64,
    /// Hash of the actuators and of the descriptions of their actions: what the thinker can ask for.
    pub catalog: Option<TextDigest>,
    /// Thinker that is meant, by name; the one of the settings if absent.
    pub thinker: Option<KeywordName>,
}

/// A question and its answer, cut to the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastExchange {
    /// Words of the user.
    pub asked: Box<str>,
    /// Text of the answer.
    pub said: Box<str>,
    /// Label of the answer: the strictest of what it was made of.
    pub privacy: Privacy,
}

/// A proposal that was vetoed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalRejection {
    /// Target that it named.
    pub target: Option<KeywordName>,
    /// Action that it named.
    pub action: Option<KeywordName>,
    /// The error code.
    pub code: RefusalCode,
    /// Reason, for people and thinkers.
    pub reason: Box<str>,
}

/// An act of this turn and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Deed {
    /// Actuator that got it.
    pub target: KeywordName,
    /// Action that was carried out.
    pub action: KeywordName,
    /// Outcome of it; of a large result the short values, where `stored` names the rest.
    pub outcome: Outcome,
    /// Name of the call that it answers.
    pub call: Option<CallId>,
    /// Payload that was carried out.
    pub arguments: Arc<Value>,
    /// Place of a result that is too large to be kept.
    pub stored: Option<ResultReference>,
    /// Label of the result.
    pub privacy: Privacy,
}

/// Question of the guard about an action that needs a yes.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRequest {
    /// The turn in which it was asked first.
    pub turn: TurnId,
    /// Intent: exactly this, and nothing else, follows from a yes.
    pub intent: ApprovalIntent,
    /// Author of the proposal.
    pub by: ProposalAuthor,
    /// For whom.
    pub asker: SignalSender,
    /// The question in words, made of typed facts alone.
    pub text: Box<str>,
    /// Principals that are known to the session and may answer. Whether somebody may is judged when
    /// the answer comes.
    pub who: Vec<Box<str>>,
    /// Time after which it is `expired`.
    pub expires: UnixMillis,
}

/// One proposal, what was checked, and the verdict: a line of the thought trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The verdict, as it is remembered.
    pub ruling: Arc<RememberedRuling>,
    /// Payload, as it would be carried out.
    pub payload: Arc<Value>,
    /// Its place among the proposals of its event, if the record names it instead of the payload.
    pub proposal: Option<usize>,
    /// Explanation of its author.
    pub explanation: Option<Box<str>>,
    /// The rules in the order in which they were asked; the last one decided.
    pub checked: Vec<RuleCheck>,
    /// Keys of the proposal that belong to the engine and were dropped.
    pub dropped: Vec<Box<str>>,
    /// Facts of the policies, if they were asked.
    pub facts: Option<Box<PolicyFacts>>,
}

/// A verdict: what the session remembers of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedRuling {
    /// The turn.
    pub turn: TurnId,
    /// Author of the proposal.
    pub by: ProposalAuthor,
    /// Model that proposed it, if it has a name.
    pub model: Option<Arc<ModelRef>>,
    /// Target; `asker` for what is said to the one who asked.
    pub target: Option<KeywordName>,
    /// The action.
    pub action: Option<KeywordName>,
    /// The rule that decided.
    pub rule: DecisionRule,
    /// The policies that determined it, if they were asked.
    pub policies: Vec<Box<str>>,
    /// Allowed, asked for, or the code of the refusal.
    pub verdict: Verdict,
    /// Reason, for people.
    pub reason: Box<str>,
}

impl Deed {
    /// An act that answers no call.
    pub(crate) fn of(target: &KeywordName, action: KeywordName, outcome: Outcome) -> Self {
        let (target, arguments) = (target.clone(), Arc::new(Value::Nil));
        let (call, stored, privacy) = (None, None, Privacy::default());
        Self { target, action, outcome, call, arguments, stored, privacy }
    }

    /// Notes where the record has the result, if it is too large to be kept.
    pub(crate) fn store(&mut self, seq: Option<Seq>, limits: &SessionLimits) {
        let (Some(seq), Outcome::Done(result)) = (seq, &self.outcome) else { return };
        let bytes = weight(result);
        if bytes <= limits.payload {
            self.stored = ResultReference::of(seq, result, bytes);
        }
    }

    /// The deed as it is kept of long ago: how it ended, and what a failed turn has to name.
    pub(crate) fn brief(&self) -> Self {
        let outcome = match &self.outcome {
            Outcome::Done(result) => Outcome::Done(match result.get("files") {
                Some(files) => Value::plist([("files", files.clone())]),
                None => Value::Nil,
            }),
            other => other.clone(),
        };
        Self { privacy: self.privacy, ..Self::of(&self.target, self.action.clone(), outcome) }
    }
}

impl ThinkerPrompt {
    /// Label of what the turn has drafted and found out: of whatever is made of all of it.
    pub fn privacy(&self) -> Privacy {
        let drafts = self.rounds.iter().map(|round| round.privacy);
        let deeds = self.results.iter().map(|deed| deed.privacy);
        drafts.chain(deeds).fold(Privacy::default(), Privacy::max)
    }
}

impl RememberedRuling {
    /// Names of the policies that decided it, else of the rule.
    pub fn decided_by(&self) -> String {
        if self.policies.is_empty() { self.rule.word().into() } else { self.policies.join(" ") }
    }
}

/// Author of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProposalAuthor {
    /// The asker itself, with a `:REQUEST`.
    Asker,
    /// A reflex thinker.
    Reflex,
    /// A thinker.
    Thinker,
}

/// A rule that was asked about a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCheck {
    /// The rule.
    pub rule: DecisionRule,
    /// Answer of the rule.
    pub result: CheckResult,
}

/// Answer of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// Not its business, or no objection.
    Pass,
    /// Allowed.
    Allow,
    /// Allowed if somebody says yes.
    Ask,
    /// Denied.
    Deny,
}

/// The rules of `decide`, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionRule {
    /// The payload is a plist with a known action and the arguments it needs.
    WellFormed,
    /// The payload is not larger than a proposal may be.
    Size,
    /// The target exists.
    Target,
    /// The target can do it.
    Action,
    /// The turn and the session have budget left.
    Budget,
    /// No consultant objects.
    Consultant,
    /// The policies allow it.
    Policy,
    /// A person who may has said yes, and the policies still allow it.
    Approval,
}

/// Result of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Allowed.
    Allow,
    /// Allowed if somebody says yes.
    Ask,
    /// Denied.
    Deny(RefusalCode),
}

/// Code of a refusal or failure, in the words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCode {
    /// The arguments of an action are not what it needs.
    InvalidValue,
    /// Nothing here carries this action out.
    Unsupported,
    /// No such target.
    UnknownTarget,
    /// Decided against.
    Refused,
    /// Given up because somebody said so.
    Cancelled,
    /// Nobody answered in time.
    Expired,
    /// A thinker or an actuator failed.
    EngineFailed,
    /// Begun, and nobody knows how it ended.
    UnknownOutcome,
    /// A queue or a budget is full.
    Overloaded,
}

/// Message to the shells.
#[derive(Clone, Debug, PartialEq)]
pub struct Utterance {
    /// Its place in the stream.
    pub seq: Seq,
    /// The signal that it answers; none when nobody asked.
    pub answers: Option<Seq>,
    /// Addressee, if somebody asked.
    pub to: Option<Addressee>,
    /// The payload of the `:RESPONSE`: `:status`, then the rest.
    pub payload: Value,
}

/// Shell and message that an answer is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Addressee {
    /// The stable id of its shell.
    pub client: Option<Box<str>>,
    /// The id of its message.
    pub id: Option<Value>,
}

/// End of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// Answered.
    Answered,
    /// Refused: what was proposed was not allowed.
    Refused,
    /// A thinker or an actuator failed.
    Failed,
    /// Interrupted, or given up by the daemon.
    Cancelled,
    /// Not answered in time.
    Expired,
    /// A later request took its place.
    Superseded,
    /// Answered while a part of it waits for somebody's yes.
    Pending,
}
