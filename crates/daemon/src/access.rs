//! Access: principals, their credentials, rate limits and the file of policies.
//!
//! Below the engine and both protocols; knows neither. In reading order:
//!
//! - `principal`: the identity of a connection, and what it alone permits
//! - [`tokens`]: bearer tokens and their scopes
//! - [`pairing`]: the one-time code with which a device gets a token
//! - [`tls`]: certificates of the server and of clients
//! - [`web_origin`]: web pages that may ask over HTTP
//! - `secret_hash`: tokens, codes and secrets at rest
//! - `network`, `rate`: the address of a peer, and token buckets for messages
//! - [`private_file`]: files of the state folder that are for one user alone
//! - [`policy_file`], [`policy_load`]: the file of policies, read and replaced whole; its text, loaded
//! - [`grants`]: permits for what somebody said yes to, made, listed and taken back

pub mod grants;
pub(crate) mod network;
pub mod pairing;
pub mod policy_file;
pub mod policy_load;
pub(crate) mod principal;
pub mod private_file;
pub(crate) mod rate;
pub(crate) mod secret_hash;
pub mod tls;
pub mod tokens;
pub mod web_origin;
