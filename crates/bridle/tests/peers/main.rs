//! Real peers against the real binary: Common Lisp under SBCL, Emacs in batch, Python, netcat and Chromium.
//!
//! The peers live in `peers/` and `examples/` and share no code with bridle. Each test starts processes on
//! the loopback with a bound on their time; nothing outlives its test. A peer that is not installed is a
//! failure with a hint and not a skip: a protocol is what its other side can read.
//!
//! - `support`: processes, the daemon under test, the forms that peers print
//! - `conversation`: the messages that a client can send, in four scripts
//! - `inbound`: peers as clients of the daemon
//! - `fragments`: large messages in small pieces, pipelined frames
//! - `codec`: `bridle frame` piped into peers and back
//! - `outbound`: bridle's own client at a Lisp server
//! - `browser`: pages in a real browser, over HTTP
//! - `websocket`: a library of Python on a WebSocket
//! - `circle`: what Org sees in files, to the daemon and back
//! - `org`: the thought trace, read by Org itself

mod browser;
mod circle;
mod codec;
mod conversation;
mod fragments;
mod inbound;
mod org;
mod outbound;
mod support;
mod websocket;
