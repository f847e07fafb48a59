//! `:exec`: programs and scripts, in the jail, on the stage of the turn.
//!
//! Looked at before they are judged (`prepare`): which programs, in which project, what their names
//! do not say. Carried out by `run`. `:shell` is another name for it.

mod interactive;
mod output;
mod prepare;
mod run;

pub(crate) use run::spawn;

use bridle_host::{ActIo, Actuator, CrashOutcome, HostFuture, ProposalPlace, Readership};
use bridle_loop::{Action, Order, Outcome};
use bridle_sexp::Value;

use crate::payload;
use crate::workspace::Workspace;

/// Names of the actuator: its own, and the one that shells know.
pub const EXEC: [&str; 2] = ["exec", "shell"];

/// Names of its actions.
const ACTIONS: &[&str] = &["exec"];

/// Refusal of whoever is not the owner, and of a session that others read.
pub(crate) const OWNERS_ALONE_REFUSAL: &str =
    "files and programs are for the owner alone, and in a session that only owners read";

/// Runs programs.
pub struct ExecActuator(pub Workspace);

impl Actuator for ExecActuator {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        let (workspace, order, handle) = (self.0.clone(), order.clone(), io.clone());
        Box::pin(async move {
            let ran = io.run_blocking(move || match order.action() {
                Action::Exec(request) => run::run(&workspace, request, &handle),
                other => {
                    Err(crate::EffectError::refused(format!("`{}` runs nothing", other.name())))
                }
            });
            match ran.await {
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
            Readership::Owners => prepare::prepared(&self.0, payload, around.session),
            Readership::Others => payload::with_fault(payload, OWNERS_ALONE_REFUSAL),
        })
    }

    fn crash_outcome(&self, _: &Order, _: u64) -> CrashOutcome {
        let text = "the daemon ended while it ran, and the program with it; what it had changed by then waits on the \
                    stage of the turn";
        CrashOutcome::Ended(Outcome::Failed(text.into()))
    }
}
