//! The engine: sessions, the record, and what carries the loop's effects out.
//!
//! Connections call [`Hub::attach`] and pull from the [`Attachment`] they get; they know nothing
//! else of this room. In reading order:
//!
//! - `terms`: the words between connections and the engine
//! - `attachment`: a connection's hold on a session
//! - `hub`: all sessions by name; start and stop
//! - `session`, `feed`: one session in memory, and what each attached shell is owed
//! - `inbound`, `work`: what goes into a session; `refusals`: what does not
//! - `drive`: the task that works it off: `load`, `batch` (one append), `settle` (what follows)
//! - `core`: the State of the loop, and what the daemon must know beside it
//! - `guard`: the policies that hold; `sums`: what budgets count over all sessions
//! - `query`: what is asked of the daemon itself, answers to questions of the guard included;
//!   `context`: the same with `:target :context`, `overlay` among it
//! - `workers`, `admin`: thoughts and acts outside of a session
//! - `redact`: a State that does not quote what is forgotten
//! - `spending`: what of the record's budgets is used
//! - `keeper`, `readers`: the one writer of the record, and those who read it
//! - `clock`, `wakes`: time
//! - `facts`: what the daemon tells about itself
//!
//! What everything here rests on: an event is recorded before anything follows from it, and
//! what follows is recorded before anybody hears of it.

mod admin;
mod attachment;
mod batch;
mod clock;
mod context;
mod core;
mod drive;
mod facts;
mod feed;
mod guard;
mod hub;
mod inbound;
mod keeper;
mod load;
mod overlay;
mod plans;
mod query;
mod readers;
mod recall;
mod redact;
mod refusals;
mod session;
mod settle;
mod spending;
mod sums;
mod terms;
mod wakes;
mod work;
mod workers;

pub(crate) use attachment::{Attachment, Taken, Verdict};
pub(crate) use context::{Inquirer, Told};
pub(crate) use hub::Hub;
pub(crate) use inbound::request_id;
pub(crate) use overlay::{Ast, read as read_message};
pub(crate) use query::Query;
#[cfg(test)]
pub(crate) use terms::Doing;
pub(crate) use terms::{Attach, Kind, Mode, Out, Snapshot, Status, StreamEvent, View};

#[cfg(test)]
mod tests;
