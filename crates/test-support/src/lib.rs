//! Daemons to test against, and clients to drive them. A dev-dependency only.
//!
//! - [`daemon`]: a daemon in the process of the test; its record must verify and replay at the end
//! - [`server_process`]: a program that prints a `ready` line, killed when it is dropped
//! - [`frame_client`]: the framed protocol over any stream
//! - [`http_client`], [`tls_client`], [`websocket_client`]: OpenHarness over HTTP, TLS and WebSocket
//! - [`valid_response`]: every byte of HTTP that a daemon says, held to its schema
//! - [`model_server`], [`chat_model_server`]: servers of language models, of four vendors and of the usual codec
//! - [`hang_guard`], [`other_user`]: time limits, and programs of another user

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

pub mod chat_model_server;
pub mod daemon;
pub mod frame_client;
pub mod hang_guard;
pub mod http_client;
pub mod model_server;
pub mod other_user;
pub mod server_process;
pub mod tls_client;
pub mod valid_response;
pub mod websocket_client;
