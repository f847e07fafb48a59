//! The engine: sessions, the record, and what carries the loop's effects out.
//!
//! Connections call [`Hub::attach`] and pull from the [`Attachment`] they get; they know nothing
//! else of this room. In reading order:
//!
//! - `terms`: the words between connections and the engine
//! - `attachment`: a connection's hold on a session
//! - `hub`: all sessions by name
//! - `session`, `feed`: one session in memory, and what each attached shell is owed
//! - `inbound`, `work`: what goes into a session

mod attachment;
mod core;
mod feed;
mod hub;
mod inbound;
mod session;
mod terms;
mod work;
mod workers;

pub(crate) use attachment::Attachment;
pub(crate) use hub::Hub;
pub(crate) use inbound::request_id;
pub(crate) use terms::{
    Attach, AttachmentId, Doing, Kind, Mode, Out, Principal, Snapshot, Status, StreamEvent, View,
};
