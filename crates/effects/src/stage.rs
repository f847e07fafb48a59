//! `:stage`: what becomes of the changes of a turn. Committed by one yes to the diff of all of them, dropped,
//! shown; commits are taken back by their record or turn.

mod cause;
mod commit;
mod take_back;

use bridle_host::{ActIo, Actuator, CrashOutcome, HostFuture, ProposalPlace, Readership};
use bridle_loop::{
    Action, KeywordName, Order, Outcome, Proposal, ReflexAdvice, StageOperation, UndoTarget,
};
use bridle_sexp::Value;

use crate::error::EffectError;
use crate::exec::OWNERS_ALONE_REFUSAL;
use crate::payload;
use crate::workspace::Workspace;

pub(crate) use commit::apply as apply_changes;
pub use take_back::describe_commit;

/// Name of the actuator.
pub const STAGE: &str = "stage";

/// Names of its actions.
const ACTIONS: &[&str] = &["commit", "discard", "changes", "undo", "rollback"];

/// Commits, drops and takes back.
pub struct StageActuator(pub Workspace);

impl Actuator for StageActuator {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        let (workspace, order, handle) = (self.0.clone(), order.clone(), io.clone());
        Box::pin(async move {
            match io.run_blocking(move || carry_out(&workspace, &order, &handle)).await {
                Ok(Ok(result)) => Outcome::Done(result),
                Ok(Err(error)) => error.outcome(),
                Err(_) => Outcome::UnknownOutcome,
            }
        })
    }

    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        payload.pairs().map(drop)?;
        Some(match around.readers {
            Readership::Others => payload::with_fault(payload, OWNERS_ALONE_REFUSAL),
            Readership::Owners => match payload.get("action").and_then(Value::as_keyword) {
                Some("undo" | "rollback") => take_back::prepared(&self.0, payload),
                _ => commit::prepared(&self.0, payload),
            },
        })
    }

    fn advise_at_end(&self, session: &str, turn: u64) -> ReflexAdvice {
        let Some(stage) = commit::to_commit(&self.0, session, turn) else {
            return ReflexAdvice::default();
        };
        let payload = Value::plist([
            ("action", Value::keyword("commit")),
            ("stage", Value::str(stage.as_str())),
        ]);
        let proposal = Proposal::new(Some(KeywordName::new(STAGE)), payload);
        ReflexAdvice { proposals: vec![proposal], ..ReflexAdvice::default() }
    }

    fn crash_outcome(&self, order: &Order, record: u64) -> CrashOutcome {
        match order.action() {
            Action::Stage(stage) => commit::crash_outcome(&self.0, stage, record),
            Action::Undo(_) => take_back::crash_outcome(&self.0, record),
            _ => CrashOutcome::Unknown,
        }
    }
}

fn carry_out(workspace: &Workspace, order: &Order, io: &ActIo) -> Result<Value, EffectError> {
    match order.action() {
        Action::Stage(stage) => match &stage.operation {
            StageOperation::Commit { hash } => {
                commit::commit(workspace, &stage.stage, hash.as_deref(), io)
            }
            StageOperation::Discard => commit::discard(workspace, &stage.stage),
            StageOperation::Changes => commit::shown(workspace, &stage.stage),
        },
        Action::Undo(undo) => match &undo.what {
            UndoTarget::Snapshot { .. } => Err(EffectError::refused("snapshots are the memory's")),
            what => take_back::take_back(workspace, what, order.payload(), io),
        },
        other => Err(EffectError::refused(format!("`{}` is about no stage", other.name()))),
    }
}
