//! What to do next: perceive, think, decide, act.
//!
//! A session is a [`State`] and a pile of [`Event`]s. [`step()`] takes one event, changes the state
//! and says what should happen now, as [`Effect`]s. It is pure: no clock, no files, no randomness,
//! nothing is looked up, nothing awaits. The daemon records events and effects, carries the effects
//! out and brings the results back as new events; replaying the record gives the same state and
//! the same effects, byte for byte.
//!
//! In reading order:
//! - `ids`, [`Limits`]: names, numbers, bounds
//! - `event`, `effect`: all that goes in and all that comes out
//! - `action`: what can be asked of an actuator, and what it touches
//! - `policy`: what may be done; `budget`, `hash`: what policies count, what approvals are bound to
//! - `state`: what a session remembers
//! - `step`: the dispatch, and the four stages in their order: `perceive`, `think`, `decide`, `act`;
//!   `approve` is where what needs a yes waits for it, `park` where a turn waits for its asker,
//!   `aftermath` what follows a turn that failed
//! - `field`, `weight`: how all of it is written as S-expressions, and how large it is

mod ids;

mod limits;

mod effect;
mod event;

mod action;

mod budget;
mod hash;
mod policy;

mod state;

mod act;
mod aftermath;
mod approve;
mod decide;
mod park;
mod perceive;
mod step;
mod think;

mod field;
mod weight;

pub use act::MAX_SCHEDULES_PER_PRINCIPAL;
pub use action::{
    ACTIONS as MEMORY_ACTIONS, Action, EDITS, Edit, NoAction, PREPARED, Planned, Prepared, Risk,
    Schedule, Spot, Touches, UNDOS, Undo, Undone, Verb, When,
};
pub use budget::Tallies;
pub use decide::{Intent, Order};
pub use effect::{
    Addressee, By, CheckResult, Checked, Code, Context, Decision, Deed, Effect, Effects, Exchange,
    Prompt, Question, Reason, Rejection, Rule, Ruling, Utterance, Verdict,
};
pub use event::{
    ANONYMOUS, Actuator, Advice, Answer, Answered, Asker, Began, Counted, Draft, Event, Fault,
    Fork, Outcome, Place, Proposal, Signal, SignalKind, Tick, Withdrawal,
};
pub use field::{Unreadable, reader};
pub use hash::{ActionHash, PolicyHash};
pub use ids::{BadName, EffectId, Name, Seq, SessionId, Time, TurnId};
pub use limits::Limits;
pub use policy::{
    Access, BadPolicies, DEFAULT_POLICY, Facts, Finding, GrantScope, GrantTerms, Installed,
    JUDGE_STACK_BYTES, LOADER_STACK_BYTES, Policies, Policy, PolicyFault, Recorded, Rehearsal,
    Tried, Visited, Word,
};
pub use state::{Keep, Past, ScheduleFact, State};
pub use step::step;
