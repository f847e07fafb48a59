//! Whose socket is at the other end of a TCP connection, by what the system knows of it.
//!
//! `connection` asks once for a connection, when it says the first thing for which it matters who says
//! it. Nothing is kept: a port is somebody else's a moment later. The kernel answers a question
//! about one socket in 6 us. Where it knows no such questions, every TCP socket is listed with the
//! uid that made it in `/proc/net/tcp` and `tcp6`; reading that takes 5 ms even if there are few. One
//! reading then answers everybody who asked before it began, so that a crowd that arrives together
//! costs a few readings, one at a time, and not one each. On other systems nobody is known.

#[cfg(target_os = "linux")]
mod diag;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, oneshot};

/// The two halves of the table. A client with an IPv6 socket that talks to an IPv4 address is
/// in the second.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Bytes of one half that are read: some 400,000 sockets of 150 bytes. A peer beyond is unknown.
const MAX_TABLE: u64 = 64 << 20;

/// Bytes of a line; the longest that Linux writes has about 200. A longer one is passed over.
const MAX_LINE: u64 = 512;

/// Readings before a socket that is not found is unknown. The table is no snapshot: while others
/// come and go, a reading may pass over one that is there all the time.
const TABLE_TRIES: usize = 3;

/// State of a socket that waits for connections.
const LISTEN: &str = "0A";

/// Both ends of a connection, as its peer sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SocketEnds {
    near: SocketAddr,
    far: SocketAddr,
}

impl SocketEnds {
    /// The ends of a connection that was accepted at `own` from `peer`; `None` unless the peer
    /// is on this machine.
    pub(crate) fn of(peer: SocketAddr, own: SocketAddr) -> Option<SocketEnds> {
        let ends = SocketEnds { near: plain(peer), far: plain(own) };
        ends.near.ip().is_loopback().then_some(ends)
    }
}

/// Asks the system, for all connections.
#[derive(Debug)]
pub(crate) struct SocketTable {
    /// The uid of this process.
    pub(crate) own_uid: u32,
    /// Waiters for the next reading; at most one for each connection.
    waiting: Mutex<Vec<SocketQuery>>,
    /// The one turn to read.
    turn: Arc<Semaphore>,
}

#[derive(Debug)]
struct SocketQuery {
    ends: SocketEnds,
    answer: oneshot::Sender<Option<u32>>,
}

impl SocketTable {
    /// Nobody asks yet.
    pub(crate) fn new(own_uid: u32) -> Arc<SocketTable> {
        let turn = Arc::new(Semaphore::new(1));
        Arc::new(SocketTable { own_uid, waiting: Mutex::default(), turn })
    }

    /// The uid of the socket at the near end; `None` when it is not known for certain.
    pub(crate) async fn uid(self: Arc<SocketTable>, ends: SocketEnds) -> Option<u32> {
        match SocketTable::ask_kernel(ends) {
            Ok(uid) => return uid,
            Err(error) => tracing::debug!(%error, "the kernel cannot be asked about a socket"),
        }
        self.listed(ends).await
    }

    /// Asks the kernel about one socket without waiting; `Err` where only the table can tell.
    pub(crate) fn ask_kernel(ends: SocketEnds) -> io::Result<Option<u32>> {
        #[cfg(target_os = "linux")]
        {
            diag::uid(ends)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = ends;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Looks the owner up in the table.
    async fn listed(self: Arc<SocketTable>, ends: SocketEnds) -> Option<u32> {
        let (answer, mut answered) = oneshot::channel();
        self.lock().push(SocketQuery { ends, answer });
        let turn = tokio::select! {
            biased;
            uid = &mut answered => return uid.ok().flatten(),
            turn = Arc::clone(&self.turn).acquire_owned() => turn,
        };
        tokio::task::spawn_blocking(move || {
            // Held by the reading itself: it goes on when the connection does not.
            let _turn = turn;
            let questions = std::mem::take(&mut *self.lock());
            answer_all(questions, || TABLES.map(|path| File::open(path).ok()));
        });
        answered.await.ok().flatten()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<SocketQuery>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Owner of a socket, as far as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketOwner {
    Nobody,
    One(u32),
    /// More than one user, which cannot be. Nothing is believed then.
    Several,
}

/// Answers questions from as many readings of the table as it takes.
fn answer_all<T: Read, const N: usize>(
    questions: Vec<SocketQuery>,
    open: impl Fn() -> [Option<T>; N],
) {
    let mut found: HashMap<SocketEnds, SocketOwner> =
        questions.iter().map(|question| (question.ends, SocketOwner::Nobody)).collect();
    for _ in 0..TABLE_TRIES {
        for table in open().into_iter().flatten() {
            if let Err(error) = look_up(table, &mut found) {
                tracing::warn!(%error, "the table of sockets cannot be read");
            }
        }
        if !found.values().any(|found| *found == SocketOwner::Nobody) {
            break;
        }
    }
    for SocketQuery { ends, answer } in questions {
        let uid = match found.get(&ends) {
            Some(SocketOwner::One(uid)) => Some(*uid),
            _ => None,
        };
        // An error says that the connection is gone.
        let _ = answer.send(uid);
    }
}

/// Looks for all of `found` in one half of the table.
fn look_up(table: impl Read, found: &mut HashMap<SocketEnds, SocketOwner>) -> io::Result<()> {
    let mut table = BufReader::with_capacity(64 << 10, table.take(MAX_TABLE));
    let mut line = Vec::new();
    let mut inside = false;
    loop {
        line.clear();
        if table.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        // Neither a piece of a line that is too long, nor one that is cut by the end.
        let is_whole = !inside && line.ends_with(b"\n");
        inside = !line.ends_with(b"\n");
        if !is_whole {
            continue;
        }
        let Some((ends, uid)) = str::from_utf8(&line).ok().and_then(row) else { continue };
        if let Some(found) = found.get_mut(&ends) {
            *found = match *found {
                SocketOwner::Nobody => SocketOwner::One(uid),
                SocketOwner::One(known) if known == uid => SocketOwner::One(uid),
                SocketOwner::One(_) | SocketOwner::Several => SocketOwner::Several,
            };
        }
    }
}

/// Reads a line: `SL: LOCAL REMOTE STATE QUEUES TIMER RETRANSMITS UID TIMEOUT INODE ...`.
///
/// A socket without inode belongs to no process any more and is listed under uid 0, whoever made
/// it: believed, anybody could be root by closing in time.
fn row(line: &str) -> Option<(SocketEnds, u32)> {
    let mut fields = line.split_ascii_whitespace();
    let near = address(fields.nth(1)?)?;
    let far = address(fields.next()?)?;
    let state = fields.next()?;
    let uid = decimal(fields.nth(3)?)?;
    let inode = decimal(fields.nth(1)?)?;
    if state == LISTEN || inode == 0 {
        return None;
    }
    Some((SocketEnds { near, far }, u32::try_from(uid).ok()?))
}

/// Reads `ADDRESS:PORT`: words of 32 bits as they lie in memory, and a number.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::try_from(hex(port, 4)?).ok()?;
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(ip)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(ip.get(at * 8..at * 8 + 8)?)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(plain(SocketAddr::new(ip, port)))
}

fn word(text: &str) -> Option<[u8; 4]> {
    hex(text, 8).map(u32::to_ne_bytes)
}

/// Exactly so many hex digits, and no sign.
fn hex(text: &str, digits: usize) -> Option<u32> {
    let is_hex = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { u32::from_str_radix(text, 16).ok() } else { None }
}

fn decimal(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// An address in the one form in which it is compared: IPv4 as IPv4, without scope.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
