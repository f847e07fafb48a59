//! The message model of the framed protocol: what a frame's payload means.
//!
//! Called by the daemon (read a request, write an answer) and by the shells (the other way
//! round). It knows nothing of bytes, lengths and signatures, and keeps no state.
//! The prose for people is `docs/protocol.md`.

pub mod action;
pub mod code;
pub mod health;
pub mod hello;
pub mod invalid;
pub mod message;
mod part;
pub mod reply;
pub mod reserved;
pub mod sanitize;
pub mod sensor;
mod shape;
mod view;

pub use action::OacpAction;
pub use code::OacpCode;
pub use hello::{ClientHello, DaemonHello, HelloActuator, ShellRole, VERSION};
pub use invalid::{InvalidMessage, MessagePath, PathStep};
pub use message::{
    MessageId, MessageMeta, MessageType, OacpMessage, RequestTarget, UnreadableText, read,
};
pub use reply::{ErrorReply, error_response, response, success, unreadable_response};
pub use reserved::strip_reserved;
pub use sanitize::sanitize;
pub use sensor::OacpSensor;
