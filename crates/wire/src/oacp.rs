//! The message model of the framed protocol: what a frame's payload means.
//!
//! Called by the daemon (read a request, write an answer) and by the shells (the other way
//! round). It knows nothing of bytes, lengths and signatures, and keeps no state.
//! The prose for people is `docs/protocol.md`.

pub mod code;

pub use code::Code;
