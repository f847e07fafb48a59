//! What may wait in the inbox of a session.

use std::sync::Arc;

use bridle_host::{Host, ProposalPlace};
use bridle_loop::{
    ApprovalAnswer, Draft, Outcome, ReflexAdvice, Seq, SessionId, SessionStart, SignalKind,
    ThinkerFault, TimerTick, WithdrawalReason,
};
use bridle_record::{ForgetRequest, ForgetResult, RecordNumber};
use bridle_sexp::Value;
use tokio::sync::oneshot;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::access::principal::Principal;
use crate::engine::home::kept_files::KeptFiles;
use crate::engine::sessions::inbound_message::InboundMessage;
use crate::engine::sessions::live_session::ReplyWaiter;
use crate::engine::sessions::loaded_session::body_hash;
use crate::engine::stream::StreamEvent;

/// Principal that reports how an act of the host ended.
pub(in crate::engine) const HOST: &str = "host";

/// One thing for a session to do, in its order.
#[derive(Debug)]
pub(in crate::engine) enum InboxItem {
    /// A shell said something.
    Signal(Box<InboundMessage>),
    /// Answer to a question of the guard.
    Answer(Box<ApprovalAnswering>),
    /// An act ended, as its actuator or shell says.
    Outcome {
        effect: u64,
        outcome: Outcome,
        /// Principal that says so.
        principal: Arc<str>,
    },
    /// The consultants of a stage are done.
    Consulted { effect: u64, advice: ReflexAdvice },
    /// A thinker is done.
    Drafted { effect: u64, draft: Result<Draft, ThinkerFault> },
    /// A thought has shown a part of its text, behind so many bytes.
    Shown { effect: u64, offset: usize, text: String },
    /// An order for a host actuator is recorded; begin it.
    Start { effect: u64 },
    /// Time passed.
    Tick(TimerTick),
    /// Withdrawal of the work that was begun for a signal.
    Withdraw { seq: Seq, how: WithdrawalReason, principal: Arc<str> },
    /// Request for the signals whose work can still be given up.
    Ongoing(oneshot::Sender<Vec<Seq>>),
    /// Load the session and take up what was left open.
    Recover(TaskTrackerToken),
    /// The session begins as a continuation of another.
    Begin { began: Box<SessionStart>, done: oneshot::Sender<bool> },
    /// Save the State and give its memory back.
    Evict,
    /// Forget one of the session's records.
    Erase {
        record: RecordNumber,
        by: ForgetRequest,
        done: oneshot::Sender<Result<ForgetResult, String>>,
    },
    /// Say that everything before this is done.
    Reach(oneshot::Sender<()>),
    /// Let go of everything; the session is being forgotten.
    Close(oneshot::Sender<()>),
}

/// An answer to a question of the guard.
#[derive(Debug)]
pub(in crate::engine) struct ApprovalAnswering {
    pub(in crate::engine) answered: ApprovalAnswer,
    pub(in crate::engine) back: AnswerRoute,
}

/// Receiver of the outcome of an answer.
#[derive(Debug)]
pub(in crate::engine) enum AnswerRoute {
    /// A shell of the session, under the id of its message.
    Shell(ReplyWaiter, Option<Value>),
    /// Receiver outside of the session.
    To(oneshot::Sender<Arc<StreamEvent>>),
}

impl InboxItem {
    /// A copy of what must be done however often it fails: nobody will send it again.
    pub(in crate::engine) fn again(&self) -> Option<InboxItem> {
        match self {
            InboxItem::Outcome { effect, outcome, principal } => {
                let (outcome, principal) = (outcome.clone(), Arc::clone(principal));
                Some(InboxItem::Outcome { effect: *effect, outcome, principal })
            }
            InboxItem::Consulted { effect, advice } => {
                Some(InboxItem::Consulted { effect: *effect, advice: advice.clone() })
            }
            InboxItem::Drafted { effect, draft } => {
                Some(InboxItem::Drafted { effect: *effect, draft: draft.clone() })
            }
            InboxItem::Shown { effect, offset, text } => {
                Some(InboxItem::Shown { effect: *effect, offset: *offset, text: text.clone() })
            }
            InboxItem::Start { effect } => Some(InboxItem::Start { effect: *effect }),
            InboxItem::Tick(tick) => Some(InboxItem::Tick(*tick)),
            InboxItem::Withdraw { seq, how, principal } => {
                let principal = Arc::clone(principal);
                Some(InboxItem::Withdraw { seq: *seq, how: *how, principal })
            }
            InboxItem::Recover(token) => Some(InboxItem::Recover(token.clone())),
            InboxItem::Signal(_)
            | InboxItem::Answer(_)
            | InboxItem::Ongoing(_)
            | InboxItem::Begin { .. }
            | InboxItem::Evict
            | InboxItem::Erase { .. }
            | InboxItem::Reach(_)
            | InboxItem::Close(_) => None,
        }
    }

    /// Whether its files are to be kept, or an actuator may have to find something out about it before it is judged.
    pub(in crate::engine) fn wants_preparation(&self, host: &Host) -> bool {
        match self {
            InboxItem::Signal(inbound) if !inbound.files.is_empty() => true,
            InboxItem::Signal(inbound) => {
                let target = inbound.signal.target.as_ref();
                inbound.signal.kind == SignalKind::Request
                    && target.is_some_and(|target| host.prepares_for(target))
            }
            _ => false,
        }
    }

    /// Keeps the files of a message. What comes again is recognized by what its sender said. Blocks.
    pub(in crate::engine) fn keep_files(&mut self, shelf: &KeptFiles) {
        let InboxItem::Signal(inbound) = self else { return };
        let files = std::mem::take(&mut inbound.files);
        if !files.is_empty() {
            inbound.body.get_or_insert_with(|| body_hash(&inbound.signal));
            let signal = &mut inbound.signal;
            shelf.keep_sent(&signal.from.principal, &files, &mut signal.payload);
        }
    }

    /// Lets the actuator find that out, in a session of `owner`, as far as whoever reads that session may see
    /// it. Blocks.
    pub(in crate::engine) fn prepare(&mut self, host: &Host, session: &SessionId, owner: &str) {
        let InboxItem::Signal(inbound) = self else { return };
        if inbound.signal.kind != SignalKind::Request {
            return;
        }
        let signal = &inbound.signal;
        let Some(target) = signal.target.as_ref() else { return };
        let readers = Principal::readership(&signal.from, owner);
        let around = ProposalPlace { session: session.as_str(), readers };
        if let Some(payload) = host.prepare_payload(target, &signal.payload, around) {
            // What comes again is recognized by what its sender said.
            inbound.body.get_or_insert_with(|| body_hash(&inbound.signal));
            inbound.signal.payload = payload;
        }
    }

    /// The word for its kind, for the log: what was said is nobody's business there.
    pub(in crate::engine) fn kind(&self) -> &'static str {
        match self {
            InboxItem::Signal(_) => "signal",
            InboxItem::Answer(_) => "answer",
            InboxItem::Outcome { .. } => "outcome",
            InboxItem::Consulted { .. } => "advice",
            InboxItem::Drafted { .. } => "draft",
            InboxItem::Shown { .. } => "text",
            InboxItem::Start { .. } => "start",
            InboxItem::Tick(_) => "tick",
            InboxItem::Withdraw { .. } => "withdrawal",
            InboxItem::Ongoing(_) => "question",
            InboxItem::Recover(_) => "recovery",
            InboxItem::Begin { .. } => "beginning",
            InboxItem::Evict => "eviction",
            InboxItem::Erase { .. } => "erasure",
            InboxItem::Reach(_) => "reach",
            InboxItem::Close(_) => "close",
        }
    }

    /// Returns the principal that pays for the records of this item: the sender of a message; where time passes, the owner of
    /// the session, who planned that or let it be planned.
    pub(in crate::engine) fn payer(&self, session_owner: &str) -> Option<Box<str>> {
        match self {
            InboxItem::Signal(inbound) => Some((&*inbound.signal.from.principal).into()),
            InboxItem::Answer(answering) => Some((&*answering.answered.from.principal).into()),
            // What the host did, whoever spoke last pays for.
            InboxItem::Outcome { principal, .. } if **principal != *HOST => {
                Some((&**principal).into())
            }
            InboxItem::Tick(_) => Some(session_owner.into()),
            _ => None,
        }
    }

    /// The effect that this brings a result or a start of.
    pub(in crate::engine) fn effect(&self) -> Option<u64> {
        match self {
            InboxItem::Outcome { effect, .. }
            | InboxItem::Consulted { effect, .. }
            | InboxItem::Drafted { effect, .. }
            | InboxItem::Shown { effect, .. }
            | InboxItem::Start { effect } => Some(*effect),
            _ => None,
        }
    }

    /// Tells whether it counts as a message that waits.
    pub(in crate::engine) fn is_message(&self) -> bool {
        matches!(self, InboxItem::Signal(_) | InboxItem::Answer(_))
    }

    /// Returns its weight among the bytes in flight.
    pub(in crate::engine) fn bytes(&self) -> usize {
        match self {
            InboxItem::Signal(inbound) => inbound.load.bytes(),
            _ => 0,
        }
    }

    /// Tells whether this begins a session that has not begun.
    pub(in crate::engine) fn begins(&self) -> bool {
        matches!(self, InboxItem::Signal(_) | InboxItem::Tick(TimerTick::Heartbeat))
    }

    /// Tells whether this can be recorded together with other work.
    pub(in crate::engine) fn can_share(&self) -> bool {
        !matches!(
            self,
            InboxItem::Begin { .. }
                | InboxItem::Evict
                | InboxItem::Erase { .. }
                | InboxItem::Reach(_)
                | InboxItem::Close(_)
        )
    }
}
