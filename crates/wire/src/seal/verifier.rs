//! Verifies the frames that one side reads.
//!
//! Owned by the frame reader of a connection, which asks once for every place where the frame may
//! end and delivers nothing before the answer is yes.

use std::str;

use super::key::same;
use super::{
    ConnectionNonce, DAEMON_MARK, FrameDirection, Header, KeyId, Seal, SealSession, SigningKey,
    SigningKeyring, auth,
};
use crate::frame::FrameError;

/// The largest payload that is searched for a key's name before anything is proven, in bytes.
///
/// A hello is a few hundred bytes; 64 KiB leaves room for long lists of capabilities.
const MAX_HELLO: usize = 64 * 1024;

/// Whether a server still takes version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionOnePolicy {
    /// A client may speak version 1.
    Allow,
    /// Only version 2.
    Refuse,
}

/// Signer of the last frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameOrigin {
    /// A holder of this key, in version 1: perhaps long ago, since it can be sent again.
    V1(KeyId),
    /// A holder of this key, on this connection, as its next frame.
    V2(KeyId),
    /// Nobody known: the hello of a server that signs with a key we do not hold.
    ///
    /// Its nonce may be answered, since a false one only makes every later frame fail.
    Unproven,
}

/// Verifies frames, one after the other.
#[derive(Debug)]
pub struct FrameVerifier {
    keys: SigningKeyring,
    state: VerifierState,
    origin: Option<FrameOrigin>,
}

#[derive(Debug)]
enum VerifierState {
    /// A server before its client's first frame.
    Opening { nonce: ConnectionNonce, v1: VersionOnePolicy },
    /// A client before its server's hello.
    Greeting,
    /// A client that has the hello and not yet answered it.
    Greeted,
    /// Version 1 for good, whoever speaks.
    One,
    /// Version 1 for good, from a client.
    OneOfClient,
    /// Version 2 for good.
    Two { session: SealSession, direction: FrameDirection, next: u64 },
}

impl FrameVerifier {
    /// Verifies version 1 alone: old servers and clients, files of frames.
    pub fn v1(keys: SigningKeyring) -> FrameVerifier {
        FrameVerifier { keys, state: VerifierState::One, origin: None }
    }

    /// Verifies what a client sends to the server whose hello said `nonce`.
    pub fn server(
        keys: SigningKeyring,
        nonce: ConnectionNonce,
        v1: VersionOnePolicy,
    ) -> FrameVerifier {
        FrameVerifier { keys, state: VerifierState::Opening { nonce, v1 }, origin: None }
    }

    /// Verifies what a server sends to a client of version 2.
    ///
    /// The first frame, the server's hello, is taken even if it is signed with a key that is not
    /// in `keys`; [`FrameVerifier::origin`] tells. Then the client must [`FrameVerifier::answer`].
    pub fn client(keys: SigningKeyring) -> FrameVerifier {
        FrameVerifier { keys, state: VerifierState::Greeting, origin: None }
    }

    /// A client has answered the server's nonce: from now on only this session's frames are taken.
    pub fn answer(&mut self, session: SealSession) {
        self.state = VerifierState::Two { session, direction: FrameDirection::FromServer, next: 0 };
    }

    /// Signer of the last frame.
    pub fn origin(&self) -> Option<&FrameOrigin> {
        self.origin.as_ref()
    }

    /// The key of the peer, once a frame has proven it: the key to answer with.
    pub fn key(&self) -> Option<&SigningKey> {
        match self.origin.as_ref()? {
            FrameOrigin::V1(id) | FrameOrigin::V2(id) => self.keys.get(id.as_str()),
            FrameOrigin::Unproven => None,
        }
    }

    /// The session, once version 2 is agreed.
    pub fn session(&self) -> Option<&SealSession> {
        match &self.state {
            VerifierState::Two { session, .. } => Some(session),
            VerifierState::Opening { .. }
            | VerifierState::Greeting
            | VerifierState::Greeted
            | VerifierState::One
            | VerifierState::OneOfClient => None,
        }
    }

    /// Judges a frame that may end here; a good one moves the state on.
    ///
    /// # Errors
    ///
    /// [`FrameError::BadSignature`] may mean that the frame ends elsewhere;
    /// [`FrameError::Replayed`] is final.
    pub(crate) fn verify(
        &mut self,
        header: &Header,
        seal: &Seal,
        payload: &[u8],
    ) -> Result<(), FrameError> {
        let origin = match &mut self.state {
            VerifierState::One => self.verify_v1(seal, payload).ok_or(FrameError::BadSignature)?,
            VerifierState::OneOfClient => {
                self.verify_v1_of_client(seal, payload).ok_or(FrameError::BadSignature)?
            }
            VerifierState::Two { session, direction, next } => {
                verify_v2(session, *direction, *next, header, seal, payload)?;
                *next = next.wrapping_add(1);
                FrameOrigin::V2(session.key.id().clone())
            }
            VerifierState::Opening { nonce, v1 } => {
                let (nonce, v1) = (*nonce, *v1);
                self.open(nonce, v1, header, seal, payload)?
            }
            VerifierState::Greeting => {
                let origin = self.verify_v1(seal, payload);
                if origin.is_none() && !payload.is_ascii() {
                    // Unproven text has no proven end either.
                    return Err(FrameError::BadSignature);
                }
                self.state = VerifierState::Greeted;
                origin.unwrap_or(FrameOrigin::Unproven)
            }
            VerifierState::Greeted => return Err(FrameError::BadSignature),
        };
        self.origin = Some(origin);
        Ok(())
    }

    /// The first frame of a client decides the version.
    fn open(
        &mut self,
        nonce: ConnectionNonce,
        v1: VersionOnePolicy,
        header: &Header,
        seal: &Seal,
        payload: &[u8],
    ) -> Result<FrameOrigin, FrameError> {
        if v1 == VersionOnePolicy::Allow
            && let Some(origin) = self.verify_v1_of_client(seal, payload)
        {
            self.state = VerifierState::OneOfClient;
            return Ok(origin);
        }
        let session = self.session_of(nonce, payload).ok_or(FrameError::BadSignature)?;
        let direction = FrameDirection::FromClient;
        verify_v2(&session, direction, 0, header, seal, payload)?;
        let origin = FrameOrigin::V2(session.key.id().clone());
        self.state = VerifierState::Two { session, direction, next: 1 };
        Ok(origin)
    }

    /// The session that a client's hello claims.
    fn session_of(&self, server: ConnectionNonce, payload: &[u8]) -> Option<SealSession> {
        if payload.len() > MAX_HELLO {
            return None;
        }
        let claim = auth::claim(str::from_utf8(payload).ok()?)?;
        let key = self.keys.get(&claim.key)?.clone();
        (claim.answer == server).then_some(SealSession { key, client: claim.nonce, server })
    }

    /// Verifies what a client sends in version 1: nothing that a server could have signed. The hello of an older
    /// server has no mark, so it is known by what it says.
    fn verify_v1_of_client(&self, seal: &Seal, payload: &[u8]) -> Option<FrameOrigin> {
        let is_own = payload.starts_with(DAEMON_MARK.as_bytes())
            || (payload.len() <= MAX_HELLO
                && str::from_utf8(payload).is_ok_and(auth::is_server_hello));
        if is_own { None } else { self.verify_v1(seal, payload) }
    }

    fn verify_v1(&self, seal: &Seal, payload: &[u8]) -> Option<FrameOrigin> {
        let text = if payload.is_ascii() { None } else { str::from_utf8(payload).ok() };
        let key = self.keys.iter().find(|key| {
            same(&key.seal([payload]), seal)
                || text
                    .and_then(|text| key.seal_latin1(text))
                    .is_some_and(|latin1| same(&latin1, seal))
        })?;
        Some(FrameOrigin::V1(key.id().clone()))
    }
}

fn verify_v2(
    session: &SealSession,
    direction: FrameDirection,
    next: u64,
    header: &Header,
    seal: &Seal,
    payload: &[u8],
) -> Result<(), FrameError> {
    let fits = |counter| same(&session.seal(direction, counter, header, payload), seal);
    if fits(next) {
        Ok(())
    } else if fits(next.wrapping_sub(1)) || fits(next.wrapping_add(1)) {
        // Only to tell an honest peer what is wrong; the connection closes either way.
        Err(FrameError::Replayed)
    } else {
        Err(FrameError::BadSignature)
    }
}
