//! `:file`: files read, listed, searched and changed; those of a project as the stage of the turn has them.

mod change;
mod look;
mod own;
mod prepare;
mod view;

use bridle_host::{ActIo, Actuator, CrashOutcome, HostFuture, ProposalPlace, Readership};
use bridle_loop::{Action, FILE_ACTIONS, FileOperation, FileRequest, Order, Outcome};
use bridle_sexp::Value;

use crate::error::EffectError;
use crate::exec::OWNERS_ALONE_REFUSAL;
use crate::payload;
use crate::workspace::Workspace;

pub use own::{OwnFileCheck, change_own, prepared_own};

/// Name of the actuator.
pub const FILE: &str = "file";

/// Reads and changes files.
pub struct FileActuator(pub Workspace);

impl Actuator for FileActuator {
    fn actions(&self) -> &'static [&'static str] {
        FILE_ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        let (workspace, order, handle) = (self.0.clone(), order.clone(), io.clone());
        Box::pin(async move {
            let done = io.run_blocking(move || match order.action() {
                Action::File(request) => carry_out(&workspace, request, &handle),
                other => Err(EffectError::refused(format!("`{}` is about no file", other.name()))),
            });
            match done.await {
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

    fn crash_outcome(&self, order: &Order, _: u64) -> CrashOutcome {
        match order.action() {
            // The same again, whatever was done of it.
            Action::File(file) if !file.is_change() => CrashOutcome::NotDone,
            Action::File(file) if matches!(file.operation, FileOperation::Write { .. }) => {
                CrashOutcome::NotDone
            }
            _ => {
                let text = "the daemon ended meanwhile; look at the file before it is tried again";
                CrashOutcome::Ended(Outcome::Failed(text.into()))
            }
        }
    }
}

fn carry_out(
    workspace: &Workspace,
    request: &FileRequest,
    io: &ActIo,
) -> Result<Value, EffectError> {
    match &request.operation {
        FileOperation::Read { from, lines } => look::read(workspace, request, io, *from, *lines),
        FileOperation::List { depth } => look::list(workspace, request, io, *depth),
        FileOperation::Search { pattern } => look::search(workspace, request, io, pattern),
        _ if request.facts.staged => change::on_stage(workspace, request, io),
        _ => change::in_place(workspace, request, io),
    }
}
