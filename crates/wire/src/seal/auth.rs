//! Finds what a client's hello claims about itself, before anything is proven.
//!
//! Called by the verifier on the first frame of a connection alone; the claim is worth nothing
//! until the signature fits it.

use super::Nonce;

/// What `:auth (:hmac 2 :key ID :nonce N :answer N)` in a hello's payload says.
#[derive(Debug)]
pub(super) struct Claim {
    /// The name of the client's key.
    pub(super) key: String,
    /// The client's nonce.
    pub(super) nonce: Nonce,
    /// The server's nonce, repeated.
    pub(super) answer: Nonce,
}

/// The claim in a hello message.
pub(super) fn claim(_hello: &str) -> Option<Claim> {
    None
}
