//! What to do next: perceive, think, decide, act.
//!
//! A session is a [`SessionState`] and a pile of [`Event`]s. [`step()`] takes one event, changes the state
//! and says what should happen now, as [`Effect`]s. It is pure: no clock, no files, no randomness,
//! nothing is looked up, nothing awaits. The daemon records events and effects, carries the effects
//! out and brings the results back as new events; replaying the record gives the same state and
//! the same effects, byte for byte.
//!
//! In reading order:
//! - `ids`, [`SessionLimits`]: names, numbers, bounds
//! - `event`, `effect`: all that goes in and all that comes out
//! - `action`: what can be asked of an actuator, and what it touches; `action_spec`: descriptions of that for
//!   thinkers
//! - `policy`: what may be done; `budget`, `hash`: what policies count, what approvals are bound to
//! - `privacy`, `provenance`, `thought`: labels of texts; where the words of an act come from; what thinkers say, and what became of it
//! - `state`: what a session remembers
//! - `step`: the dispatch, and the four stages in their order: `perceive`, `think`, `decide`, `act`;
//!   `approve` keeps what needs a yes until somebody answers, `side_turn` has turns run beside the one that
//!   may think, `schedule` sends signals later, `parked_turn` keeps a turn that waits for its asker, `failed_turn` the turn that follows one that failed
//! - `summary`: what is kept of exchanges that no longer fit; `upgrade`: sessions that outlive their version
//! - `record_kind`: kinds of records, and the bodies that are neither events nor effects; `event/body` and
//!   `effect/body` are the recorded form of those
//! - `plist_codec`, `value_size`: how all of it is written as S-expressions, and how large it is

mod ids;
mod sensor;

mod limits;
mod privacy;
mod provenance;

mod effect;
mod event;

mod action;
mod action_spec;

mod budget;
mod consult;
mod hash;
mod policy;
mod record_kind;

mod state;

mod act;
mod approve;
mod decide;
mod failed_turn;
mod parked_turn;
mod perceive;
mod schedule;
mod side_turn;
mod step;
mod stop;
mod summary;
mod think;
mod thought;
mod turn_budget;
mod upgrade;

mod plist_codec;
mod value_size;

pub use action::{
    ACTIONS as MEMORY_ACTIONS, Action, CONTEXT, CONTEXT_ACTIONS, ChangeCounts, CompactRequest,
    ContextRead, DirectiveRequest, EDITS, EditOperation, EffectFacts, ExecCommand, ExecRequest,
    FILE_ACTIONS, FileOperation, FileRequest, GoOnRequest, HTTP_ACTIONS, InvalidAction,
    LimitsRequest, MAX_TOLD, MemoryEdit, OrgLocation, PREPARED, PlanningKeyword, PreparedEdit,
    ReleaseRequest, RiskLevel, SKILL, STAGE_ACTIONS, ScheduleRequest, StageOperation, StageRequest,
    TOOL, ToolCall, TouchedResource, UNDOS, UndoRequest, UndoTarget, WebRequest,
};
pub use action_spec::{
    ActionSpec, ActuatorSpec, ArgumentShape, ArgumentSpec, InvalidSpec, MAX_ACTION_SPECS,
    MAX_ACTUATOR_SPEC_BYTES, MAX_ARGUMENT_SPECS, MAX_SPEC_TEXT_BYTES, ToolName,
};
pub use budget::PrincipalTallies;
pub use consult::{
    ConsultFinding, ConsultObjection, ConsultQuestion, ConsultStage, ConsultSubject, ConsultantRef,
    MAX_FINDINGS,
};
pub use decide::{ApprovalIntent, MALFORMED, Order};
pub use effect::{
    Addressee, ApprovalRequest, CheckResult, DecidedBody, Decision, DecisionRule, Deed, Effect,
    Effects, FinishBody, IntentBody, OutcomeBody, PastExchange, PromptBody, ProposalAuthor,
    ProposalRejection, RefusalCode, RememberedRuling, RuleCheck, SayBody, SharedText,
    SignalContext, ThinkerPrompt, TurnEnd, Utterance, Verdict,
};
pub use event::{
    ANONYMOUS, ActuatorLocation, ActuatorRef, AnsweredBody, ApprovalAnswer, ApprovalChoice,
    CancelledBody, Draft, Event, ForkPoint, Outcome, PolicySourceBody, PrincipalUsage, Proposal,
    ProposalsBody, ReflexAdvice, SessionStart, Signal, SignalBody, SignalKind, SignalSender,
    ThinkerFault, TimerTick, WithdrawalReason, WithdrawnBody,
};
pub use hash::{ActionHash, PolicyHash, TextDigest};
pub use ids::{
    CallId, EffectId, InvalidSessionName, KeywordName, Seq, SessionId, TurnId, UnixMillis,
};
pub use limits::SessionLimits;
pub use plist_codec::{UnreadableValue, reader};
pub use policy::{
    DEFAULT_POLICY, ExampleResult, GrantScope, GrantTerms, GuardPolicies, InstalledPolicies,
    InvalidPolicies, JUDGE_STACK_BYTES, LOADER_STACK_BYTES, PolicyEntry, PolicyFacts, PolicyFault,
    PolicyFinding, PolicyRehearsal, PolicyVerdict, RecordedJudgment, SessionAccess, VisitedSession,
    grant_scopes,
};
pub use privacy::Privacy;
pub use provenance::{
    MAX_TRACED_BYTES, MAX_TRACED_VALUES, Provenance, TextSource, TracedKind, TracedValue,
};
pub use record_kind::{
    CatalogBody, CompactedBody, MarkBody, PolicyBody, PolicyRefusedBody, RecordClass, RecordKind,
    ShownBody, StartedBody,
};
pub use schedule::{MAX_SCHEDULES_PER_PRINCIPAL, MissedRun, ScheduleFact, ZoneOffsets};
pub use sensor::SensorClass;
pub use side_turn::SessionWorkload;
pub use state::{HashedEntry, SessionState, SharedHistory};
pub use step::step;
pub use summary::ConversationSummary;
pub use thought::{
    CallEnd, DraftStop, ModelRef, OpaqueText, ResultReference, RoundCall, ThoughtRound, TokenUsage,
};
pub use upgrade::{LOOP_VERSION, SessionUpgrade};
