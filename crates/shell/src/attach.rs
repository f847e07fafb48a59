//! A session as a shell sees it: hello with a session and a cursor, then its events as they come.
//!
//! [`SessionFollower`] goes on across restarts of the daemon: it attaches again behind the last event that it
//! handed out, so each one is handed out once. Used by `tail`; what an event means is not looked at
//! here beyond its number.

use std::time::Duration;

use bridle_sexp::limits::DEPTH_CEILING;
use bridle_sexp::{Limits, Node, Reader};
use bridle_wire::oacp::{ClientHello, ShellRole};

use crate::client::{DaemonClient, DaemonTarget};
use crate::error::{ErrorKind, ShellError};

/// Silence after which the daemon is asked whether it is still there: a peer that vanished without a
/// word is noticed within this and one timeout.
const LINK_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// First wait before attaching again; doubled with each try.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// Longest wait between two tries: a restarted daemon is found within it.
const LAST_RETRY: Duration = Duration::from_secs(2);

/// Session and role to attach with.
#[derive(Debug, Clone)]
pub struct AttachOptions {
    /// The session; `None` asks for a new one.
    pub session: Option<String>,
    /// The last number seen; `None` begins with what comes next.
    pub cursor: Option<u64>,
    /// Speak, or only listen.
    pub role: ShellRole,
    /// Name of this client across restarts.
    pub client: Option<String>,
}

impl AttachOptions {
    fn hello(&self) -> ClientHello {
        ClientHello {
            session: self.session.as_deref().map(Into::into),
            cursor: self.cursor,
            role: Some(self.role),
            client: self.client.as_deref().map(Into::into),
            shell: Some("cli".into()),
            ..ClientHello::default()
        }
    }
}

/// A numbered event of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEvent {
    /// Number in the session, from 1.
    pub seq: u64,
    /// The message as it came.
    pub text: String,
}

/// A connection that is attached to a session.
#[derive(Debug)]
pub struct AttachedConnection {
    client: DaemonClient,
    session: String,
    head: u64,
}

impl AttachedConnection {
    /// Connects to the first target where somebody listens, and attaches.
    ///
    /// # Errors
    ///
    /// Nobody is there, the session is unknown, or the daemon has no sessions.
    pub fn new(
        targets: &[DaemonTarget],
        wish: &AttachOptions,
    ) -> Result<AttachedConnection, ShellError> {
        let (client, answer) = DaemonClient::introduce(targets, &wish.hello())?;
        let tree = reader().read_one(&answer);
        let tree = tree.map_err(|error| client.not_protocol(error.to_string()))?;
        let meta = tree.root().get("meta");
        let session = meta.and_then(|meta| meta.get("session")?.as_str());
        let Some((session, head)) = session.zip(meta.and_then(seq_of)) else {
            return Err(client.not_protocol("its answer to the hello names no session"));
        };
        Ok(AttachedConnection { session: session.into_owned(), head, client })
    }

    /// The session's name, also when the daemon chose it.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Number of the session's last event when this attached.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Waits for the next event, however long that takes. What has no number is passed over.
    ///
    /// # Errors
    ///
    /// The connection is lost.
    pub fn next_event(&mut self) -> Result<SessionEvent, ShellError> {
        let mut asked = false;
        loop {
            let received = if asked {
                self.client.receive()
            } else {
                self.client.receive_within(LINK_CHECK_INTERVAL)
            };
            let text = match received {
                Err(ShellError::Timeout { .. }) if !asked => {
                    self.client.send("(:type :health-check)")?;
                    asked = true;
                    continue;
                }
                received => received?,
            };
            asked = false;
            if let Some(seq) = self.number(&text)? {
                return Ok(SessionEvent { seq, text });
            }
        }
    }

    fn number(&self, text: &str) -> Result<Option<u64>, ShellError> {
        let tree = reader().read_one(text);
        let tree = tree.map_err(|error| self.client.not_protocol(error.to_string()))?;
        Ok(tree.root().get("meta").and_then(seq_of))
    }
}

/// The reader for events: a message as deep as the wire allows sits deeper in the event about it.
pub(crate) fn reader() -> Reader {
    Reader::new().limits(Limits { depth: DEPTH_CEILING, ..Limits::default() })
}

fn seq_of(meta: Node<'_>) -> Option<u64> {
    meta.get("seq")?.as_i64().and_then(|seq| u64::try_from(seq).ok())
}

/// News of the connection of a [`SessionFollower`], for whoever tells people.
#[derive(Debug)]
pub enum ConnectionNotice<'e> {
    /// The connection is lost; trying again.
    Lost(&'e ShellError),
    /// The connection is back, behind the event of this number.
    Back(u64),
}

/// Reaction to a lost connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostConnection {
    /// Treat the loss as an error.
    End,
    /// Attach again, as often as it takes.
    AttachAgain,
}

/// The events of a session across connections.
#[derive(Debug)]
pub struct SessionFollower {
    targets: Vec<DaemonTarget>,
    wish: AttachOptions,
    lost: LostConnection,
    /// `None` between two connections.
    attachment: Option<AttachedConnection>,
    /// Number of the last event handed out.
    seen: u64,
}

impl SessionFollower {
    /// Attaches for the first time.
    ///
    /// # Errors
    ///
    /// As [`AttachedConnection::new`]: the first time nothing is tried again.
    pub fn new(
        targets: Vec<DaemonTarget>,
        wish: AttachOptions,
        lost: LostConnection,
    ) -> Result<SessionFollower, ShellError> {
        let attachment = AttachedConnection::new(&targets, &wish)?;
        let seen = wish.cursor.unwrap_or(attachment.head());
        let wish = AttachOptions { session: Some(attachment.session().to_owned()), ..wish };
        Ok(SessionFollower { targets, wish, lost, attachment: Some(attachment), seen })
    }

    /// Number of the session's last event when this attached last.
    pub fn head(&self) -> u64 {
        self.attachment.as_ref().map_or(self.seen, AttachedConnection::head)
    }

    /// Number of the last event handed out.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Waits for the next event, however long that takes.
    ///
    /// # Errors
    ///
    /// The connection is lost and that is to be an error; or what no waiting helps against: the
    /// session is gone, or what answers is no daemon.
    pub fn next_event(
        &mut self,
        tell: &mut dyn FnMut(ConnectionNotice<'_>),
    ) -> Result<SessionEvent, ShellError> {
        let mut wait = FIRST_RETRY;
        loop {
            let next = match &mut self.attachment {
                Some(attachment) => attachment.next_event(),
                None => {
                    std::thread::sleep(wait);
                    wait = LAST_RETRY.min(wait * 2);
                    match self.attach_again() {
                        Ok(()) => {
                            tell(ConnectionNotice::Back(self.seen));
                            continue;
                        }
                        Err(error) => Err(error),
                    }
                }
            };
            match next {
                // A connection made again begins behind the cursor; this guards against one that does not.
                Ok(event) if event.seq <= self.seen => {}
                Ok(event) => {
                    self.seen = event.seq;
                    return Ok(event);
                }
                Err(error) if self.lost == LostConnection::AttachAgain && passes(&error) => {
                    if self.attachment.take().is_some() {
                        tell(ConnectionNotice::Lost(&error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn attach_again(&mut self) -> Result<(), ShellError> {
        self.wish.cursor = Some(self.seen);
        self.attachment = Some(AttachedConnection::new(&self.targets, &self.wish)?);
        Ok(())
    }
}

/// Whether the same may work a little later.
fn passes(error: &ShellError) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout)
}
