//! The daemon: listeners, connections, limits, and honest answers.
//!
//! The binary calls [`make_room()`] and [`run()`] with a [`DaemonConfig`]. This crate owns sockets,
//! tasks and clocks; what bytes mean is the business of `bridle_wire`, what to do next that of
//! `bridle_loop`. Layout, in reading order:
//!
//! - [`config`]: what a daemon is told at start
//! - [`make_room()`]: descriptors for all connections, before there are threads
//! - [`run()`]: start, serve, stop
//! - `access`: who is at the other end, with which credential ([`tokens`], [`pairing`], [`tls`],
//!   [`web_origin`]), how often, and by which policies ([`policy_file`], [`policy_load`], [`grants`])
//! - `engine`: sessions, the record, and what carries effects out
//! - `oacp`: the framed protocol; `http`: the same engine for shells that speak OpenHarness over HTTP
//! - `listen`: TCP, Unix socket, standard streams; the accept loops
//! - `connection_slots`: who gets a place, and who gives way
//! - [`fetch`]: what messages refer to, fetched without being led astray
//! - [`upkeep`]: changes to the record while no daemon runs
//! - [`byte_budget`], `metrics`, [`lock`], `shared`: what all connections have in common
//!
//! Deliberately absent: a lock or an allocation per frame, a buffer per idle connection, an
//! answer that is not bounded by what was asked.

mod access;
mod bounded_queue;
pub mod byte_budget;
pub mod config;
mod connection_slots;
mod descriptors;
mod engine;
pub mod error;
pub mod fetch;
mod http;
mod listen;
pub mod lock;
mod log_line;
mod metrics;
mod numbered_names;
mod oacp;
mod run;
mod self_checks;
mod shared;
mod state_folder;
pub mod upkeep;

pub use access::web_origin::WebOrigin;
pub use access::{
    grants, pairing, policy_file, policy_load, private_file, tls, tokens, web_origin,
};
pub use config::{
    AttachmentLimits, DaemonConfig, DaemonLimits, DesktopNotifier, EngineLimits, EventRate,
    HmacConfig, HmacKey, HttpRates, MessageRates, PolicyChoice,
};
pub use descriptors::make_room;
pub use error::DaemonError;
pub use http::SealError;
pub use listen::BoundAddresses;
pub use run::{DaemonEnd, run, shutdown_signal};
