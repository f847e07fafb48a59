//! The engine: sessions, the record, and what carries the loop's effects out.
//!
//! Connections call [`Hub::attach`] and pull from the [`AttachedShell`] they get; they know nothing
//! else of this room. In reading order:
//!
//! - `stream`: the words between connections and the engine
//! - `attached_shell`: a connection's hold on a session
//! - `hub`: all sessions by name; start and stop
//! - `live_session`, `shell_feed`: one session in memory, and what each attached shell is owed
//! - `inbound_message`, `inbox_item`: what goes into a session; `refusals`: what does not
//! - `session_task`: the task that works it off: `load`, `batch` (one append), `publish` (what follows)
//! - `loaded_session`: the State of the loop, and what the daemon must know beside it
//! - `guard`: the policies that hold; `principal_usage`: what budgets count over all sessions
//! - `query`: what is asked of the daemon itself, answers to questions of the guard included;
//!   `context_query`: questions with `:target :context`, `unsaved_buffers` among them
//! - `workers`, `admin`: thoughts and acts outside of a session
//! - `redact`: a State that does not quote what is forgotten
//! - `spending`: what of the record's budgets is used
//! - `record_writer`, `readers`: the one writer of the record, and those who read it
//! - `clock`, `session_timers`: time
//! - `error`: what the engine refuses, and why
//! - `facts`: what the daemon tells about itself
//!
//! What everything here rests on: an event is recorded before anything follows from it, and
//! what follows is recorded before anybody hears of it.

mod admin;
mod attached_shell;
mod batch;
mod clock;
mod context_query;
mod error;
mod facts;
mod guard;
mod hub;
mod inbound_message;
mod inbox_item;
mod live_session;
mod load;
mod loaded_session;
mod memex_service;
mod memory_query;
mod principal_usage;
mod publish;
mod query;
mod readers;
mod record_writer;
mod redact;
mod refusals;
mod schedules;
mod session_task;
mod session_timers;
mod shell_feed;
mod spending;
mod stream;
mod unsaved_buffers;
mod workers;

pub(crate) use attached_shell::{ApprovalVerdict, AttachedShell, ResponseEffect};
pub(crate) use context_query::{QueryAnswer, QueryAsker};
pub(crate) use error::{EngineError, EngineErrorCode};
pub(crate) use hub::Hub;
pub(crate) use inbound_message::{ShellSignal, request_id};
pub(crate) use query::DaemonQuery;
#[cfg(test)]
pub(crate) use stream::EngineActivity;
pub(crate) use stream::{
    AttachRequest, AttachRole, AttachSnapshot, EventView, OutboundItem, SessionStatus, StreamEvent,
    StreamEventKind, StreamMode,
};
pub(crate) use unsaved_buffers::{CUT_KEYS, SentAst};

#[cfg(test)]
mod tests;
