//! The framed protocol, OACP, over TCP, the Unix socket and standard streams.
//!
//! In reading order:
//!
//! - `conn`: one task per connection, both directions; limits and deadlines
//! - `talk`: the bytes of one connection to answers, without any IO
//! - `convert`: events of a session to the messages that a shell gets

pub(crate) mod connection;
pub(crate) mod conversation;
pub(crate) mod to_frames;
