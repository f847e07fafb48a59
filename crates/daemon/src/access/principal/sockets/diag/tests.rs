//! Questions to the real kernel, and answers that it would not give.

#![expect(clippy::disallowed_types, reason = "nothing waits here but the test itself")]

use std::net::{TcpListener, TcpStream};

use super::{ERROR, HEAD_BYTES, LISTEN, UID_OFFSET, V4, identity, question, read, uid};
use crate::access::principal::sockets::SocketEnds;

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[test]
fn the_kernel_knows_who_made_a_socket() {
    for place in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(place).unwrap();
        let own = listener.local_addr().unwrap();
        let theirs = TcpStream::connect(own).unwrap();
        let (ours, peer) = listener.accept().unwrap();
        let ends = SocketEnds::of(peer, own).unwrap();
        assert_eq!(uid(ends).unwrap(), Some(me()), "{place}");
        // Ours is there as well, the other way around.
        assert_eq!(uid(SocketEnds::of(own, peer).unwrap()).unwrap(), Some(me()), "{place}");
        // Once closed it is nobody's, whatever the kernel still keeps of it.
        drop(theirs);
        assert_eq!(uid(ends).unwrap(), None, "{place}");
        drop(ours);
    }
}

#[test]
fn a_listener_is_nobodys_peer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap();
    let nobody = "127.0.0.1:1".parse().unwrap();
    assert_eq!(uid(SocketEnds::of(nobody, own).unwrap()).unwrap(), None);
    // The kernel would name the listener here.
    assert_eq!(uid(SocketEnds::of(own, nobody).unwrap()).unwrap(), None);
}

#[test]
fn a_client_with_an_ipv6_socket_is_found_under_its_ipv4_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap();
    let mapped = format!("[::ffff:127.0.0.1]:{}", own.port());
    let _theirs = TcpStream::connect(mapped.parse::<std::net::SocketAddr>().unwrap()).unwrap();
    let (_ours, peer) = listener.accept().unwrap();
    assert_eq!(uid(SocketEnds::of(peer, own).unwrap()).unwrap(), Some(me()));
}

/// An answer about these ends: uid 7, inode 9, established.
fn answer(ends: SocketEnds) -> Vec<u8> {
    let mut answer = question(ends);
    answer.resize(UID_OFFSET + 8, 0);
    answer[HEAD_BYTES] = V4;
    answer[HEAD_BYTES + 1] = 1;
    answer[HEAD_BYTES + 4..HEAD_BYTES + 4 + 48].copy_from_slice(&identity(ends));
    answer[UID_OFFSET..UID_OFFSET + 4].copy_from_slice(&7_u32.to_ne_bytes());
    answer[UID_OFFSET + 4..UID_OFFSET + 8].copy_from_slice(&9_u32.to_ne_bytes());
    answer
}

#[test]
fn only_what_fits_is_believed() {
    let ends =
        SocketEnds::of("127.0.0.1:5".parse().unwrap(), "127.0.0.1:6".parse().unwrap()).unwrap();
    let other =
        SocketEnds::of("127.0.0.1:5".parse().unwrap(), "127.0.0.1:7".parse().unwrap()).unwrap();
    let whole = answer(ends);
    assert_eq!(read(&whole, ends).unwrap(), Some(7));
    assert_eq!(read(&whole, other).unwrap(), None, "about another socket");
    let changed = |at: usize, byte: u8| {
        let mut answer = whole.clone();
        answer[at] = byte;
        read(&answer, ends).unwrap()
    };
    assert_eq!(changed(UID_OFFSET + 4, 0), None, "no inode");
    assert_eq!(changed(HEAD_BYTES + 1, LISTEN), None, "a listener");
    for length in 0..whole.len() {
        assert!(read(&whole[..length], ends).is_err(), "cut after {length}");
    }
    let mut error = whole.clone();
    error[4..6].copy_from_slice(&ERROR.to_ne_bytes());
    let mut failed = |code: i32| {
        error[HEAD_BYTES..HEAD_BYTES + 4].copy_from_slice(&(-code).to_ne_bytes());
        read(&error, ends)
    };
    assert_eq!(failed(2).unwrap(), None, "ENOENT");
    assert_eq!(failed(95).unwrap_err().raw_os_error(), Some(95), "EOPNOTSUPP");
}
