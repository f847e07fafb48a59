//! Verifies the frames that one side reads.
//!
//! Owned by the frame reader of a connection, which asks once for every place where the frame may
//! end and delivers nothing before the answer is yes.

use std::str;

use super::key::same;
use super::{DAEMON_MARK, Direction, Header, Key, KeyId, Keyring, Nonce, Seal, Session, auth};
use crate::frame::FrameError;

/// The largest payload that is searched for a key's name before anything is proven, in bytes.
///
/// A hello is a few hundred bytes; 64 KiB leaves room for long lists of capabilities.
const MAX_HELLO: usize = 64 * 1024;

/// Whether a server still takes version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V1 {
    /// A client may speak version 1.
    Allow,
    /// Only version 2.
    Refuse,
}

/// Who signed the last frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
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
pub struct Verifier {
    keys: Keyring,
    state: State,
    origin: Option<Origin>,
}

#[derive(Debug)]
enum State {
    /// A server before its client's first frame.
    Opening { nonce: Nonce, v1: V1 },
    /// A client before its server's hello.
    Greeting,
    /// A client that has the hello and not yet answered it.
    Greeted,
    /// Version 1 for good, whoever speaks.
    One,
    /// Version 1 for good, from a client.
    OneOfClient,
    /// Version 2 for good.
    Two { session: Session, direction: Direction, next: u64 },
}

impl Verifier {
    /// Verifies version 1 alone: old servers and clients, files of frames.
    pub fn v1(keys: Keyring) -> Verifier {
        Verifier { keys, state: State::One, origin: None }
    }

    /// Verifies what a client sends to the server whose hello said `nonce`.
    pub fn server(keys: Keyring, nonce: Nonce, v1: V1) -> Verifier {
        Verifier { keys, state: State::Opening { nonce, v1 }, origin: None }
    }

    /// Verifies what a server sends to a client of version 2.
    ///
    /// The first frame, the server's hello, is taken even if it is signed with a key that is not
    /// in `keys`; [`Verifier::origin`] tells. Then the client must [`Verifier::answer`].
    pub fn client(keys: Keyring) -> Verifier {
        Verifier { keys, state: State::Greeting, origin: None }
    }

    /// A client has answered the server's nonce: from now on only this session's frames are taken.
    pub fn answer(&mut self, session: Session) {
        self.state = State::Two { session, direction: Direction::FromServer, next: 0 };
    }

    /// Who signed the last frame.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// The key of the peer, once a frame has proven it: the key to answer with.
    pub fn key(&self) -> Option<&Key> {
        match self.origin.as_ref()? {
            Origin::V1(id) | Origin::V2(id) => self.keys.get(id.as_str()),
            Origin::Unproven => None,
        }
    }

    /// The session, once version 2 is agreed.
    pub fn session(&self) -> Option<&Session> {
        match &self.state {
            State::Two { session, .. } => Some(session),
            State::Opening { .. }
            | State::Greeting
            | State::Greeted
            | State::One
            | State::OneOfClient => None,
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
            State::One => self.verify_v1(seal, payload).ok_or(FrameError::BadSignature)?,
            State::OneOfClient => {
                self.verify_v1_of_client(seal, payload).ok_or(FrameError::BadSignature)?
            }
            State::Two { session, direction, next } => {
                verify_v2(session, *direction, *next, header, seal, payload)?;
                *next = next.wrapping_add(1);
                Origin::V2(session.key.id().clone())
            }
            State::Opening { nonce, v1 } => {
                let (nonce, v1) = (*nonce, *v1);
                self.open(nonce, v1, header, seal, payload)?
            }
            State::Greeting => {
                let origin = self.verify_v1(seal, payload);
                if origin.is_none() && !payload.is_ascii() {
                    // Unproven text has no proven end either.
                    return Err(FrameError::BadSignature);
                }
                self.state = State::Greeted;
                origin.unwrap_or(Origin::Unproven)
            }
            State::Greeted => return Err(FrameError::BadSignature),
        };
        self.origin = Some(origin);
        Ok(())
    }

    /// The first frame of a client decides the version.
    fn open(
        &mut self,
        nonce: Nonce,
        v1: V1,
        header: &Header,
        seal: &Seal,
        payload: &[u8],
    ) -> Result<Origin, FrameError> {
        if v1 == V1::Allow
            && let Some(origin) = self.verify_v1_of_client(seal, payload)
        {
            self.state = State::OneOfClient;
            return Ok(origin);
        }
        let session = self.session_of(nonce, payload).ok_or(FrameError::BadSignature)?;
        let direction = Direction::FromClient;
        verify_v2(&session, direction, 0, header, seal, payload)?;
        let origin = Origin::V2(session.key.id().clone());
        self.state = State::Two { session, direction, next: 1 };
        Ok(origin)
    }

    /// The session that a client's hello claims.
    fn session_of(&self, server: Nonce, payload: &[u8]) -> Option<Session> {
        if payload.len() > MAX_HELLO {
            return None;
        }
        let claim = auth::claim(str::from_utf8(payload).ok()?)?;
        let key = self.keys.get(&claim.key)?.clone();
        (claim.answer == server).then_some(Session { key, client: claim.nonce, server })
    }

    /// The same for what a client sends: nothing that a server could have signed. The hello of an older
    /// server has no mark, so it is known by what it says.
    fn verify_v1_of_client(&self, seal: &Seal, payload: &[u8]) -> Option<Origin> {
        let is_own = payload.starts_with(DAEMON_MARK.as_bytes())
            || (payload.len() <= MAX_HELLO
                && str::from_utf8(payload).is_ok_and(auth::is_server_hello));
        if is_own { None } else { self.verify_v1(seal, payload) }
    }

    fn verify_v1(&self, seal: &Seal, payload: &[u8]) -> Option<Origin> {
        let text = if payload.is_ascii() { None } else { str::from_utf8(payload).ok() };
        let key = self.keys.iter().find(|key| {
            same(&key.seal([payload]), seal)
                || text
                    .and_then(|text| key.seal_latin1(text))
                    .is_some_and(|latin1| same(&latin1, seal))
        })?;
        Some(Origin::V1(key.id().clone()))
    }
}

fn verify_v2(
    session: &Session,
    direction: Direction,
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
