//! Signs the frames that one side writes.
//!
//! Owned by the frame writer of a connection.

use super::{ConnectionNonce, DAEMON_MARK, FrameDirection, Header, Seal, SealText, SigningKey};

/// Knowledge that both sides of a version 2 connection share.
#[derive(Clone, Debug)]
pub struct SealSession {
    /// The key that the client named.
    pub key: SigningKey,
    /// The client's nonce.
    pub client: ConnectionNonce,
    /// The server's nonce.
    pub server: ConnectionNonce,
}

impl SealSession {
    /// The signature of frame number `counter` in one direction.
    pub(super) fn seal(
        &self,
        direction: FrameDirection,
        counter: u64,
        header: &Header,
        payload: &[u8],
    ) -> Seal {
        self.key.seal([
            &[direction.byte()],
            self.client.as_bytes(),
            self.server.as_bytes(),
            &counter.to_be_bytes(),
            header,
            payload,
        ])
    }
}

/// Signs frames, one after the other.
#[derive(Clone, Debug)]
pub struct FrameSigner {
    version: SealVersion,
}

#[derive(Clone, Debug)]
enum SealVersion {
    One { key: SigningKey, is_daemon: bool },
    Two { session: SealSession, direction: FrameDirection, next: u64 },
}

impl FrameSigner {
    /// Signs payloads alone, as old clients do.
    pub fn v1(key: SigningKey) -> FrameSigner {
        FrameSigner { version: SealVersion::One { key, is_daemon: false } }
    }

    /// Signs payloads alone, as a server does: its hello, and what it says to old clients. Each payload
    /// has [`DAEMON_MARK`] before it.
    pub fn v1_server(key: SigningKey) -> FrameSigner {
        FrameSigner { version: SealVersion::One { key, is_daemon: true } }
    }

    /// Prefix of a payload that is signed, and is signed with it.
    pub(crate) fn mark(&self) -> &'static str {
        match self.version {
            SealVersion::One { is_daemon: true, .. } => DAEMON_MARK,
            SealVersion::One { .. } | SealVersion::Two { .. } => "",
        }
    }

    /// Signs all that a server writes once the client has named a key.
    pub fn server(session: SealSession) -> FrameSigner {
        FrameSigner::v2(session, FrameDirection::FromServer)
    }

    /// Signs all that a client writes, from its first frame.
    pub fn client(session: SealSession) -> FrameSigner {
        FrameSigner::v2(session, FrameDirection::FromClient)
    }

    fn v2(session: SealSession, direction: FrameDirection) -> FrameSigner {
        FrameSigner { version: SealVersion::Two { session, direction, next: 0 } }
    }

    /// The signature of the next frame, in lower-case hex.
    pub(crate) fn sign(&mut self, header: &Header, payload: &[u8]) -> SealText {
        let seal = match &mut self.version {
            SealVersion::One { key, .. } => key.seal([payload]),
            SealVersion::Two { session, direction, next } => {
                let seal = session.seal(*direction, *next, header, payload);
                // 2^64 frames do not fit into the life of a connection.
                *next = next.wrapping_add(1);
                seal
            }
        };
        let mut text = [0; size_of::<SealText>()];
        crate::frame::write_hex(&seal, &mut text);
        text
    }
}
