//! What may wait in the inbox of a session.

use std::sync::Arc;

use bridle_host::Host;
use bridle_loop::{Answered, Began, Draft, Fault, Outcome, Seq, SignalKind, Tick, Withdrawal};
use bridle_store::{By, Forgotten, Number};
use bridle_wire::oacp::Id;
use tokio::sync::oneshot;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::core::body_hash;
use super::inbound::Inbound;
use super::session::Waiter;
use super::terms::StreamEvent;
use super::workers::HOST;
use crate::access::principal::Principal;
use crate::memory::MEMORY;

/// One thing for a session to do, in its order.
#[derive(Debug)]
pub(super) enum Work {
    /// A shell said something.
    Signal(Box<Inbound>),
    /// Somebody answered a question of the guard.
    Answer(Box<Answering>),
    /// An act ended, as its actuator or shell says.
    Outcome {
        effect: u64,
        outcome: Outcome,
        /// Who says so.
        principal: Arc<str>,
    },
    /// A thinker is done.
    Drafted { effect: u64, draft: Result<Draft, Fault> },
    /// An order for a host actuator is recorded; begin it.
    Start { effect: u64 },
    /// Time passed.
    Tick(Tick),
    /// What was begun for a signal is no longer wanted.
    Withdraw { seq: Seq, how: Withdrawal, principal: Arc<str> },
    /// Somebody wants to know the signals for which something was begun that can be given up.
    Ongoing(oneshot::Sender<Vec<Seq>>),
    /// Load the session and take up what was left open.
    Recover(TaskTrackerToken),
    /// The session begins as a continuation of another.
    Begin { began: Box<Began>, done: oneshot::Sender<bool> },
    /// Save the State and give its memory back.
    Evict,
    /// Forget one of the session's records.
    Erase { record: Number, by: By, done: oneshot::Sender<Result<Forgotten, String>> },
    /// Say that everything before this is done.
    Reach(oneshot::Sender<()>),
    /// Let go of everything; the session is being forgotten.
    Close(oneshot::Sender<()>),
}

/// An answer to a question of the guard.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) answered: Answered,
    pub(super) back: Back,
}

/// Who is told what became of an answer.
#[derive(Debug)]
pub(super) enum Back {
    /// A shell of the session, under the id of its message.
    Shell(Waiter, Option<Id>),
    /// Somebody who answered from elsewhere.
    To(oneshot::Sender<Arc<StreamEvent>>),
}

impl Work {
    /// A copy of what must be done however often it fails: nobody will send it again.
    pub(super) fn again(&self) -> Option<Work> {
        match self {
            Work::Outcome { effect, outcome, principal } => {
                let (outcome, principal) = (outcome.clone(), Arc::clone(principal));
                Some(Work::Outcome { effect: *effect, outcome, principal })
            }
            Work::Drafted { effect, draft } => {
                Some(Work::Drafted { effect: *effect, draft: draft.clone() })
            }
            Work::Start { effect } => Some(Work::Start { effect: *effect }),
            Work::Tick(tick) => Some(Work::Tick(*tick)),
            Work::Withdraw { seq, how, principal } => {
                let principal = Arc::clone(principal);
                Some(Work::Withdraw { seq: *seq, how: *how, principal })
            }
            Work::Recover(token) => Some(Work::Recover(token.clone())),
            Work::Signal(_)
            | Work::Answer(_)
            | Work::Ongoing(_)
            | Work::Begin { .. }
            | Work::Evict
            | Work::Erase { .. }
            | Work::Reach(_)
            | Work::Close(_) => None,
        }
    }

    /// Whether an actuator may have to find something out about it before it is judged.
    pub(super) fn wants_preparation(&self) -> bool {
        match self {
            Work::Signal(inbound) => {
                let target = inbound.signal.target.as_ref();
                inbound.signal.kind == SignalKind::Request
                    && target.is_some_and(|target| target.as_str() == MEMORY)
            }
            _ => false,
        }
    }

    /// Lets the actuator find that out, in a session of `owner`, as far as whoever reads that session may see
    /// it. Blocks.
    pub(super) fn prepare(&mut self, host: &Host, owner: &str) {
        let Work::Signal(inbound) = self else { return };
        let signal = &inbound.signal;
        let Some(target) = signal.target.as_ref() else { return };
        let readers = Principal::readership(&signal.from, owner);
        if let Some(payload) = host.prepares(target, &signal.payload, readers) {
            // What comes again is recognized by what its sender said.
            inbound.body.get_or_insert_with(|| body_hash(&inbound.signal));
            inbound.signal.payload = payload;
        }
    }

    /// The word for its kind, for the log: what was said is nobody's business there.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Work::Signal(_) => "signal",
            Work::Answer(_) => "answer",
            Work::Outcome { .. } => "outcome",
            Work::Drafted { .. } => "draft",
            Work::Start { .. } => "start",
            Work::Tick(_) => "tick",
            Work::Withdraw { .. } => "withdrawal",
            Work::Ongoing(_) => "question",
            Work::Recover(_) => "recovery",
            Work::Begin { .. } => "beginning",
            Work::Evict => "eviction",
            Work::Erase { .. } => "erasure",
            Work::Reach(_) => "reach",
            Work::Close(_) => "close",
        }
    }

    /// Who is charged for what is recorded because of it: whoever says something; where time passes, the owner of
    /// the session, who planned that or let it be planned.
    pub(super) fn payer(&self, session_owner: &str) -> Option<Box<str>> {
        match self {
            Work::Signal(inbound) => Some((&*inbound.signal.from.principal).into()),
            Work::Answer(answering) => Some((&*answering.answered.from.principal).into()),
            // What the host did, whoever spoke last pays for.
            Work::Outcome { principal, .. } if **principal != *HOST => Some((&**principal).into()),
            Work::Tick(_) => Some(session_owner.into()),
            _ => None,
        }
    }

    /// The effect that this brings a result or a start of.
    pub(super) fn effect(&self) -> Option<u64> {
        match self {
            Work::Outcome { effect, .. }
            | Work::Drafted { effect, .. }
            | Work::Start { effect } => Some(*effect),
            _ => None,
        }
    }

    /// Tells whether it counts as a message that waits.
    pub(super) fn is_message(&self) -> bool {
        matches!(self, Work::Signal(_) | Work::Answer(_))
    }

    /// How much it weighs among the bytes in flight.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Work::Signal(inbound) => inbound.load.bytes(),
            _ => 0,
        }
    }

    /// Tells whether this begins a session that has not begun.
    pub(super) fn begins(&self) -> bool {
        matches!(self, Work::Signal(_) | Work::Tick(Tick::Heartbeat))
    }

    /// Tells whether this can be recorded together with other work.
    pub(super) fn can_share(&self) -> bool {
        !matches!(
            self,
            Work::Begin { .. } | Work::Evict | Work::Erase { .. } | Work::Reach(_) | Work::Close(_)
        )
    }
}
