//! The daemon: listeners, connections, limits, and honest answers.
//!
//! The binary calls [`make_room()`] and [`run()`] with a [`Config`]. This crate owns sockets,
//! tasks and clocks; what bytes mean is the business of `bridle_wire`, what to do next that of
//! `bridle_loop`. Layout, in reading order:
//!
//! - [`config`]: what a daemon is told at start
//! - [`make_room()`]: descriptors for all connections, before there are threads
//! - [`run()`]: start, serve, stop
//! - `listen`: TCP, Unix socket, standard streams; the accept loops
//! - `seats`: who gets a place, and who gives way; `rate`: how often somebody may send
//! - `conn`: one task per connection, both directions; limits and deadlines
//! - `principal`: who is at the other end of a connection
//! - [`tokens`]: who may come in with a secret, and for what
//! - [`pairing`]: how a device gets one, with a code that is good once
//! - [`tls`]: the way in from other machines; [`web_origin`]: the way in for web pages
//! - `talk`: bytes of one connection to answers, without any IO
//! - `convert`: what happens in a session to what a shell sees of it
//! - [`fetch`]: what messages refer to, fetched without being led astray
//! - `http`: the same engine for shells that speak OpenHarness over HTTP
//! - `engine`: sessions, the record, and what carries effects out
//! - `memory`: the actuator that edits the user's files
//! - [`librarian`]: the index of the user's Org files, and who keeps it
//! - [`history`]: the record, read by the commands without a daemon
//! - [`policy_file`], [`policy_load`]: the file of policies, read and replaced whole; its text, loaded
//! - [`budget`], `metrics`, [`lock`], `network`, `numbered`, [`private`], `shared`: what all connections have in common
//!
//! Deliberately absent: a lock or an allocation per frame, a buffer per idle connection, an
//! answer that is not bounded by what was asked.

pub mod budget;
pub mod config;
mod conn;
mod convert;
mod descriptors;
mod engine;
pub mod error;
pub mod fetch;
pub mod history;
mod http;
mod latest;
pub mod librarian;
mod listen;
pub mod lock;
mod log_line;
pub(crate) mod memory;
mod metrics;
mod network;
mod numbered;
pub mod pairing;
pub mod policy_file;
pub mod policy_load;
mod principal;
pub mod private;
mod rate;
mod run;
mod seats;
mod shared;
mod state_folder;
mod talk;
pub mod tls;
pub mod tokens;
pub mod web_origin;

pub use config::{
    Config, EngineLimits, FileLimits, Hmac, HmacKey, HttpRates, Limits, MessageRates, PolicyChoice,
    Rate, RollbackChoice,
};
pub use descriptors::make_room;
pub use error::Error;
pub use http::SealsError;
pub use listen::Bound;
pub use memory::preview_edit;
pub use memory::suggestion::count_slips;
pub use run::{run, shutdown_signal};
pub use web_origin::WebOrigin;
