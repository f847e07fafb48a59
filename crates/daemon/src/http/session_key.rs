//! Session of a request.
//!
//! A session that a shell names is the session of that name, for framed connections too. A name that
//! they do not allow, and a conversation within a session, gets a session named by a hash. A request
//! without a session runs in a session of its own, named by its id, so that a repeat finds it.

use bridle_loop::SessionId;
use bridle_wire::openharness::RequestMessage;
use bridle_wire::openharness::ids::RequestId;
use bridle_wire::openharness::request::RequestContext;
use sha2::{Digest as _, Sha256};

use crate::access::principal::Principal;
use bridle_sexp::byte_text::hex;

/// Prefix of names that are hashes.
const HASHED_NAME_PREFIX: &str = "oh-";

/// Bytes of a hash in a name: enough that nobody finds two texts with the same one.
const NAME_HASH_BYTES: usize = 16;

/// Returns the session of a request; `None` for a new one that no repeat finds again.
pub(super) fn of(who: &Principal, message: &RequestMessage) -> Option<SessionId> {
    let context = message.context();
    let Some(session) = context.and_then(|context| context.session_id.as_ref()) else {
        return Some(once(who, message.request_id.as_ref()?));
    };
    let thread = context.and_then(|context: &RequestContext| context.conversation_id.as_ref());
    Some(match (SessionId::parse(session.as_str()), thread) {
        (Ok(name), None) => name,
        (Err(_), None) => made(&["session", session.as_str()]),
        (_, Some(thread)) => made(&["thread", session.as_str(), thread.as_str()]),
    })
}

/// Returns the session of a request that names none.
pub(super) fn once(who: &Principal, id: &RequestId) -> SessionId {
    made(&["once", &who.name(), id.as_str()])
}

/// Returns a hash of the tenant, session and conversation that a request names.
pub(super) fn named(message: &RequestMessage) -> String {
    let tenant = message.request.auth.as_ref().and_then(|auth| auth.tenant_id.as_ref());
    let context = message.context();
    let session = context.and_then(|context| context.session_id.as_ref());
    let thread = context.and_then(|context| context.conversation_id.as_ref());
    let tenant = tenant.map_or("", |tenant| tenant.as_str());
    let (session, thread) = (
        session.map_or("", |session| session.as_str()),
        thread.map_or("", |thread| thread.as_str()),
    );
    hex(&hash(&["named", tenant, session, thread]))
}

/// Returns the principal's own session for a name that belongs to somebody else.
pub(super) fn own(who: &Principal, session: &SessionId) -> SessionId {
    made(&["own", &who.name(), session.as_str()])
}

fn made(parts: &[&str]) -> SessionId {
    let name = HASHED_NAME_PREFIX.to_owned() + &hex(&hash(parts));
    SessionId::parse(&name).expect("hex digits are a name")
}

/// Hashes texts, each with its length: none can be taken for two.
fn hash(parts: &[&str]) -> [u8; NAME_HASH_BYTES] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    let whole: [u8; 32] = hasher.finalize().into();
    *whole.first_chunk().unwrap_or(&[0; NAME_HASH_BYTES])
}
