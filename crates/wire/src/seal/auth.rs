//! Finds what a client's hello claims about itself, before anything is proven.
//!
//! Called by the verifier on the first frame of a connection alone; the claim is worth nothing
//! until the signature fits it.

use super::ConnectionNonce;

/// The version that a client claims by answering.
const VERSION: i64 = 2;

/// Content of `:auth (:hmac 2 :key ID :nonce N :answer N)` in a hello's payload.
#[derive(Debug)]
pub(super) struct AuthClaim {
    /// The name of the client's key.
    pub(super) key: String,
    /// The client's nonce.
    pub(super) nonce: ConnectionNonce,
    /// The server's nonce, repeated.
    pub(super) answer: ConnectionNonce,
}

/// The claim in a hello message, whose size the caller has bounded.
///
/// Only this one plist is looked at: what else the message says is read when it is proven.
pub(super) fn claim(hello: &str) -> Option<AuthClaim> {
    let tree = bridle_sexp::read_one(hello).ok()?;
    let auth = tree.root().get("payload")?.get("auth")?;
    if auth.get("hmac")?.as_i64() != Some(VERSION) {
        return None;
    }
    let nonce = |name| ConnectionNonce::parse(&auth.get(name)?.as_str()?).ok();
    Some(AuthClaim {
        key: auth.get("key")?.as_str()?.into_owned(),
        nonce: nonce("nonce")?,
        answer: nonce("answer")?,
    })
}

/// Tells whether a message, whose size the caller has bounded, is the hello of a server: it says how to
/// sign, with a nonce, and answers none.
pub(super) fn is_server_hello(hello: &str) -> bool {
    // Nearly no message has the word, and then it is not read.
    if !hello.contains("nonce") && !hello.contains("NONCE") {
        return false;
    }
    let Ok(tree) = bridle_sexp::read_one(hello) else { return false };
    let auth = tree.root().get("payload").and_then(|payload| payload.get("auth"));
    let Some(auth) = auth else { return false };
    let says = |name| auth.children().any(|child| child.is_keyword(name));
    says("nonce") && !says("answer")
}
