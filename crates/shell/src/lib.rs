//! The faces of bridle that know only the protocol: a client library and the commands built on
//! it. Blocking std IO, no runtime, nothing of the daemon's insides.
//!
//! Layout, in reading order:
//!
//! - [`address`]: where a daemon is: a TCP address or a socket path
//! - [`client`]: one connection: frames out, frames in
//! - [`attach`]: a session's events, across connections
//! - [`frames`], [`form_stream`]: frames and forms from a stream, one after another, with their places
//! - [`sexp`], [`frame`]: commands on text and frames, without a daemon
//! - [`health`], [`send`], [`system`], [`tail`], [`tap`]: commands that talk or listen
//! - [`mod@ask`]: a Shell of OpenHarness on a terminal, or driven by lines
//! - [`openharness`]: a Shell of the second protocol, for any Engine
//! - [`screen`]: tables, local times, plain JSON, text made harmless for terminals
//! - [`pretty`]: forms laid out for people, colored on request
//! - [`error`]: what can go wrong, and the hint that goes with it

pub mod address;
pub mod ask;
pub mod attach;
pub mod client;
pub mod error;
pub mod form_stream;
pub mod frame;
pub mod frames;
pub mod health;
pub mod openharness;
pub mod pretty;
pub mod screen;
pub mod send;
pub mod sexp;
pub mod system;
pub mod tail;
pub mod tap;

pub use address::DaemonAddress;
pub use client::DaemonClient;
pub use error::ShellError;
