//! The Agent Client Protocol, version 1, on standard input and output: an editor talks to `bridle acp`, which
//! talks to the daemon as a shell of the framed protocol. Nothing is decided or kept here; the daemon decides,
//! and its record has everything.
//!
//! Layout, in reading order:
//!
//! - [`bounded_lines`]: lines of an input that is not trusted
//! - [`json_rpc`]: lines to messages, and faults to errors
//! - [`protocol`]: the messages of ACP that are read and written
//! - `client_forms`: what is said to the daemon
//! - `daemon_event`: what the daemon says; `daemon_offers`: its commands and models
//! - `terminal_actuator`: the terminals of an editor, as the daemon is told of them
//! - `render`: events of the daemon as updates of ACP
//! - `session_link`: one session's connection, made again as often as it takes
//! - `session_directory`: sessions of the daemon, with folder and title
//! - [`agent`]: the loop that owns all state, one file for each verb

pub mod agent;
pub mod bounded_lines;
mod client_forms;
mod daemon_event;
mod daemon_offers;
pub mod json_rpc;
pub mod protocol;
mod render;
mod session_directory;
mod session_link;
mod terminal_actuator;

pub use agent::{AcpError, AgentOptions, run};
