//! Signs the frames that one side writes.
//!
//! Owned by the frame writer of a connection.

use super::{DAEMON_MARK, Direction, Header, Key, Nonce, Seal, SealText};

/// What both sides of a version 2 connection know.
#[derive(Clone, Debug)]
pub struct Session {
    /// The key that the client named.
    pub key: Key,
    /// The client's nonce.
    pub client: Nonce,
    /// The server's nonce.
    pub server: Nonce,
}

impl Session {
    /// The signature of frame number `counter` in one direction.
    pub(super) fn seal(
        &self,
        direction: Direction,
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
pub struct Signer {
    version: Version,
}

#[derive(Clone, Debug)]
enum Version {
    One { key: Key, is_daemon: bool },
    Two { session: Session, direction: Direction, next: u64 },
}

impl Signer {
    /// Signs payloads alone, as old clients do.
    pub fn v1(key: Key) -> Signer {
        Signer { version: Version::One { key, is_daemon: false } }
    }

    /// Signs payloads alone, as a server does: its hello, and what it says to old clients. Each payload
    /// has [`DAEMON_MARK`] before it.
    pub fn v1_server(key: Key) -> Signer {
        Signer { version: Version::One { key, is_daemon: true } }
    }

    /// What stands before a payload that is signed, and is signed with it.
    pub(crate) fn mark(&self) -> &'static str {
        match self.version {
            Version::One { is_daemon: true, .. } => DAEMON_MARK,
            Version::One { .. } | Version::Two { .. } => "",
        }
    }

    /// Signs all that a server writes once the client has named a key.
    pub fn server(session: Session) -> Signer {
        Signer::v2(session, Direction::FromServer)
    }

    /// Signs all that a client writes, from its first frame.
    pub fn client(session: Session) -> Signer {
        Signer::v2(session, Direction::FromClient)
    }

    fn v2(session: Session, direction: Direction) -> Signer {
        Signer { version: Version::Two { session, direction, next: 0 } }
    }

    /// The signature of the next frame, in lower-case hex.
    pub(crate) fn sign(&mut self, header: &Header, payload: &[u8]) -> SealText {
        let seal = match &mut self.version {
            Version::One { key, .. } => key.seal([payload]),
            Version::Two { session, direction, next } => {
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
