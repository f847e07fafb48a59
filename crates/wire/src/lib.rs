//! Frames and messages of both protocols; no tasks, no sockets, no clock.
//!
//! The daemon and the shells call this crate with bytes and get plain data back: ids, texts and
//! trees, never handles. Layout, in reading order:
//!
//! - [`frame`]: where a frame begins and ends, read and written
//! - [`seal`]: who signed it
//! - [`parts`]: one large payload in many frames
//! - [`oacp`]: what the payload of a frame means (messages, hello, health, errors)
//! - [`openharness`]: the second protocol, JSON messages of shells and engines
//! - [`plain`]: values as plain JSON, and what hides in text
//! - [`time`]: moments as text

pub mod frame;
pub mod oacp;
pub mod openharness;
pub mod parts;
pub mod plain;
pub mod seal;
pub mod time;

pub use oacp::code::OacpCode;
