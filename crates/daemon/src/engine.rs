//! The engine: sessions, the record, and what carries the loop's effects out.
//!
//! Faces attach with [`AttachedShell`] and pull from it; they know nothing else of this room. From the bottom up:
//!
//! - `error`, `clock`, `stream`: refusals, time, and the words between connections and the engine
//! - `home`: everything of one owner: the record, its readers and budgets, policies, memory, buffers
//! - `sessions`: one session in memory: inbox, State, what each attached shell is owed
//! - `hub`: all sessions by name, and the tasks that run
//! - `workers`: thoughts and acts outside of a session
//! - `commit`: the task of a session: one append, and what follows from it
//! - `shells`: a connection's hold on a session
//! - `queries`: what is asked of the daemon itself, beside a session
//! - `skills`: what the skills of the memory offer, ask for and plan
//! - `start`: the beginning and the end
//!
//! What everything here rests on: an event is recorded before anything follows from it, and
//! what follows is recorded before anybody hears of it.

mod clock;
mod commit;
mod error;
mod home;
mod hub;
mod queries;
mod sessions;
mod shells;
mod skills;
mod start;
mod stream;
mod workers;

pub(crate) use error::{EngineError, EngineErrorCode};
pub(crate) use home::kept_files::{KeptFiles, SentFile, reference_to};
pub(crate) use home::unsaved_buffers::{CUT_KEYS, SentAst};
pub(crate) use hub::Hub;
pub(crate) use queries::answer_trace::{ANSWER_KEYS, trace_answer};
pub(crate) use queries::context_query::{QueryAnswer, QueryAsker, inform};
pub(crate) use queries::facts::count_traffic;
pub(crate) use queries::grant_query::scopes as written_scopes;
pub(crate) use queries::ongoing_message::{find_ongoing, withdraw};
pub(crate) use queries::policy_install::install_policies;
pub(crate) use queries::query::{DaemonQuery, ask_daemon};
pub(crate) use sessions::inbound_message::{ShellSignal, request_id};
pub(crate) use shells::attached_shell::{ApprovalVerdict, AttachedShell, ResponseEffect};
pub(crate) use shells::join::{answer_stranger, attach, attach_fresh, refuse_stranger_answer};
pub(crate) use start::{start_hub, stop_hub};
pub(crate) use stream::{
    AttachRequest, AttachRole, AttachSnapshot, EventView, OutboundItem, PieceChannel,
    SessionStatus, ShellOffer, ShownPiece, StreamEvent, StreamEventKind, StreamMode,
    workload_pairs,
};
#[cfg(test)]
pub(crate) use stream::{EngineActivity, SkillReporter};

#[cfg(test)]
mod tests;
