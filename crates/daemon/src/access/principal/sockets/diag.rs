//! One question to the kernel about one socket, over netlink (`sock_diag(7)`): who made it? Some
//! microseconds, however many sockets there are. Asked by the table of sockets, which is read when
//! the kernel knows no such questions; what the answer means for a peer is not decided here.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};

use super::{SocketEnds, plain};

/// Type of a question and of its answer, `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;

/// Type of an answer that is an error, `NLMSG_ERROR`.
const ERROR: u16 = 2;

/// Flag of a question, `NLM_F_REQUEST`.
const REQUEST: u16 = 1;

/// `AF_INET`, `AF_INET6` and `IPPROTO_TCP`.
const V4: u8 = 2;
const V6: u8 = 10;
const TCP: u8 = 6;

/// State of a socket that waits for connections: what the kernel finds if there is no connection.
const LISTEN: u8 = 10;

/// Bytes of the head of every netlink message, and of the identity of a socket.
const HEAD_BYTES: usize = 16;
const SOCKET_ID_BYTES: usize = 48;

/// Offsets of uid and inode in an answer: after head, four small fields, the identity, three counters.
const UID_OFFSET: usize = HEAD_BYTES + 4 + SOCKET_ID_BYTES + 12;

/// Bytes of an answer that are read: ours have 72 and some attributes.
const ANSWER_BYTES: usize = 512;

/// The uid of the socket at the near end; `None` if there is none that a process holds.
///
/// # Errors
///
/// When the kernel cannot be asked.
pub(super) fn uid(ends: SocketEnds) -> io::Result<Option<u32>> {
    let socket = open()?;
    let question = question(ends);
    if send(&socket, &question, SendFlags::empty())? != question.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    let mut answer = [0; ANSWER_BYTES];
    // The kernel answers before `send` returns: nothing is waited for.
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    read(answer.get(..length).unwrap_or_default(), ends)
}

fn open() -> io::Result<OwnedFd> {
    let protocol = Some(netlink::SOCK_DIAG);
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
    connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    Ok(socket)
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn question(ends: SocketEnds) -> Vec<u8> {
    let id = identity(ends);
    let mut bytes = Vec::with_capacity(HEAD_BYTES + 8 + SOCKET_ID_BYTES);
    let length = u32::try_from(HEAD_BYTES + 8 + SOCKET_ID_BYTES).unwrap_or_default();
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes.extend_from_slice(&REQUEST.to_ne_bytes());
    // Sequence and port: there is one question, and the kernel knows who asks.
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[family(ends.near), TCP, 0, 0]);
    // Sockets in any state.
    bytes.extend_from_slice(&u32::MAX.to_ne_bytes());
    bytes.extend_from_slice(&id);
    bytes
}

/// `struct inet_diag_sockid`: ports and addresses in network order, any device, no cookie.
fn identity(ends: SocketEnds) -> [u8; SOCKET_ID_BYTES] {
    let mut id = [0; SOCKET_ID_BYTES];
    id[0..2].copy_from_slice(&ends.near.port().to_be_bytes());
    id[2..4].copy_from_slice(&ends.far.port().to_be_bytes());
    for (at, address) in [(4, ends.near), (20, ends.far)] {
        match address.ip() {
            IpAddr::V4(ip) => id[at..at + 4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => id[at..at + 16].copy_from_slice(&ip.octets()),
        }
    }
    id[40..48].fill(0xff);
    id
}

fn family(address: SocketAddr) -> u8 {
    if address.is_ipv4() { V4 } else { V6 }
}

/// Reads `struct nlmsghdr` and `struct inet_diag_msg`, or `struct nlmsgerr`.
///
/// A socket without inode belongs to no process any more and is said to be of uid 0, whoever made it:
/// believed, anybody could be root by closing in time.
fn read(answer: &[u8], ends: SocketEnds) -> io::Result<Option<u32>> {
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match (kind, word(answer, HEAD_BYTES)) {
        (Some(BY_FAMILY), Some(_)) => {}
        (Some(ERROR), Some(code)) if is_missing(code) => return Ok(None),
        (Some(ERROR), Some(code)) => {
            return Err(io::Error::from_raw_os_error(code.cast_signed().wrapping_neg()));
        }
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    let (Some(uid), Some(inode)) = (word(answer, UID_OFFSET), word(answer, UID_OFFSET + 4)) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let state = answer[HEAD_BYTES + 1];
    Ok((state != LISTEN && inode != 0 && told(answer) == Some(ends)).then_some(uid))
}

/// The ends of the socket that an answer is about. An IPv6 socket that talks to an IPv4 address has
/// both of its addresses in the form of IPv6.
fn told(answer: &[u8]) -> Option<SocketEnds> {
    let id = answer.get(HEAD_BYTES + 4..HEAD_BYTES + 4 + SOCKET_ID_BYTES)?;
    let end = |port: usize, at: usize| {
        let port = u16::from_be_bytes(id.get(port..port + 2)?.try_into().ok()?);
        let ip = match answer[HEAD_BYTES] {
            V4 => IpAddr::from(<[u8; 4]>::try_from(id.get(at..at + 4)?).ok()?),
            V6 => IpAddr::from(<[u8; 16]>::try_from(id.get(at..at + 16)?).ok()?),
            _ => return None,
        };
        Some(plain(SocketAddr::new(ip, port)))
    };
    Some(SocketEnds { near: end(0, 4)?, far: end(2, 20)? })
}

fn is_missing(code: u32) -> bool {
    code.cast_signed().wrapping_neg() == Errno::NOENT.raw_os_error()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests;
