//! The framed protocol, OACP, over TCP, the Unix socket and standard streams.
//!
//! In reading order:
//!
//! - `service`, `listen`: what connections have in common, and how a peer is let in
//! - `connection`: one task per connection, both directions; limits and deadlines
//! - `conversation`: the bytes of one connection to answers, without any IO
//! - `to_signal`: messages of a client to what the engine takes in
//! - `to_frames`: events of a session to the messages that a shell gets
//! - `error_code`: errors of the engine to those of the protocol

pub(crate) mod connection;
pub(crate) mod conversation;
pub(crate) mod error_code;
pub(crate) mod listen;
pub(crate) mod service;
pub(crate) mod to_frames;
pub(crate) mod to_signal;
