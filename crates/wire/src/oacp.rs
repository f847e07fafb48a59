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

pub use action::Action;
pub use code::Code;
pub use hello::{ClientHello, DaemonHello, Role, VERSION};
pub use invalid::{Invalid, Path, Step};
pub use message::{Id, Message, Meta, Target, Type, Unreadable, read};
pub use reply::{Failure, error_response, response, success, unreadable_response};
pub use reserved::strip_reserved;
pub use sanitize::sanitize;
pub use sensor::Sensor;
