//! The table of sockets, from samples of a little-endian machine.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::{
    MAX_LINE, MAX_TABLE, SocketEnds, SocketOwner, SocketQuery, SocketTable, TABLE_TRIES,
    answer_all, look_up,
};

const HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout \
     inode                                                     \n";

/// 127.0.0.1:50366 to 127.0.0.1:45945, of uid 1000: the listener, our end, the peer's end.
const V4: &str = "   \
    2: 0100007F:B379 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2504825 1 00000000e2b6861b 100 0 0 10 0                   \n   \
    6: 0100007F:B379 0100007F:C4BE 08 00000000:00000001 00:00000000 00000000     0        0 2504827 2 000000002299531b 20 0 1 10 -1                   \n  \
    18: 0100007F:C4BE 0100007F:B379 04 00000001:00000000 01:00000014 00000000  1000        0 2504826 2 000000004a23587f 20 0 0 10 -1                   \n";

/// [::1]:50368 to [::1]:45945, of uid 1001.
const V6: &str = "   \
    1: 00000000000000000000000001000000:C4C0 00000000000000000000000001000000:B379 01 00000000:00000000 00:00000000 00000000  1001        0 2504840 1 000000004a23587f 20 0 0 10 -1\n";

/// 127.0.0.1:50372 to 127.0.0.1:45945 from an IPv6 socket, of uid 1002.
const MAPPED: &str = "   \
    0: 0000000000000000FFFF00000100007F:C4C4 0000000000000000FFFF00000100007F:B379 01 00000000:00000000 00:00000000 00000000  1002        0 2504837 2 000000000d9649a9 20 0 0 10 -1\n";

/// The first connection, closed by its process: nobody's, and so listed as root's.
const ORPHAN: &str = "  \
    20: 0100007F:C4BE 0100007F:B379 05 00000000:00000000 03:00001770 00000000     0        0 0 3 00000000c97bc327                                      \n";

fn ends(peer: &str, own: &str) -> SocketEnds {
    SocketEnds::of(peer.parse().unwrap(), own.parse().unwrap()).expect("on this machine")
}

fn first() -> SocketEnds {
    ends("127.0.0.1:50366", "127.0.0.1:45945")
}

fn find(table: &str, ends: SocketEnds) -> SocketOwner {
    let mut found = HashMap::from([(ends, SocketOwner::Nobody)]);
    look_up(table.as_bytes(), &mut found).unwrap();
    found[&ends]
}

/// Fails unless the connection from `peer` is that of `expect` in a table with these rows.
#[cfg(target_endian = "little")]
#[track_caller]
fn check(rows: &str, peer: &str, own: &str, expect: SocketOwner) {
    assert_eq!(find(&format!("{HEADER}{rows}"), ends(peer, own)), expect);
}

#[cfg(target_endian = "little")]
#[test]
fn the_end_of_the_peer_is_found_and_no_other() {
    let all = format!("{V4}{V6}{MAPPED}");
    check(&all, "127.0.0.1:50366", "127.0.0.1:45945", SocketOwner::One(1000));
    check(&all, "[::1]:50368", "[::1]:45945", SocketOwner::One(1001));
    check(&all, "127.0.0.1:50372", "127.0.0.1:45945", SocketOwner::One(1002));
    // A listener on IPv6 sees its IPv4 peers like this.
    check(&all, "[::ffff:127.0.0.1]:50366", "[::ffff:127.0.0.1]:45945", SocketOwner::One(1000));
    // Our own end is not the peer's.
    check(&all, "127.0.0.1:45945", "127.0.0.1:50366", SocketOwner::One(0));
    for (peer, own) in [
        ("127.0.0.1:50366", "127.0.0.1:45946"),
        ("127.0.0.1:50367", "127.0.0.1:45945"),
        ("127.0.0.2:50366", "127.0.0.1:45945"),
        ("127.0.0.1:50368", "127.0.0.1:45945"),
        ("[::1]:50366", "[::1]:45945"),
    ] {
        check(&all, peer, own, SocketOwner::Nobody);
    }
}

#[test]
fn only_peers_on_this_machine_are_looked_for() {
    let own: SocketAddr = "192.168.0.2:9105".parse().unwrap();
    for peer in ["192.168.0.7:4000", "192.168.0.2:4000", "[2001:db8::1]:4000", "0.0.0.0:4000"] {
        assert_eq!(SocketEnds::of(peer.parse().unwrap(), own), None, "{peer}");
    }
    assert!(SocketEnds::of("[::ffff:127.0.0.9]:4000".parse().unwrap(), own).is_some());
}

#[cfg(target_endian = "little")]
#[test]
fn a_socket_that_is_nobodys_is_not_roots() {
    check(ORPHAN, "127.0.0.1:50366", "127.0.0.1:45945", SocketOwner::Nobody);
    check(&V4.replace(" 04 ", " 0A "), "127.0.0.1:50366", "127.0.0.1:45945", SocketOwner::Nobody);
}

#[cfg(target_endian = "little")]
#[test]
fn two_owners_of_one_socket_are_none() {
    let doubled = format!("{V4}{V4}");
    check(&doubled, "127.0.0.1:50366", "127.0.0.1:45945", SocketOwner::One(1000));
    let torn = format!("{V4}{}{V4}", V4.replace(" 1000 ", " 1001 "));
    check(&torn, "127.0.0.1:50366", "127.0.0.1:45945", SocketOwner::Several);
}

#[test]
fn a_line_that_is_none_says_nothing() {
    let good = V4.lines().last().unwrap();
    let broken = [
        good.replace("0100007F:C4BE", "+100007F:C4BE"),
        good.replace("0100007F:C4BE", "0100007F:+4BE"),
        good.replace("0100007F:C4BE", "0100007F:0C4BE"),
        good.replace("0100007F:C4BE", "0100007FC4BE"),
        good.replace("0100007F:C4BE", "0100007F00:C4BE"),
        good.replace("0100007F:C4BE", "é00007F:C4BE"),
        good.replace(" 1000 ", " -1 "),
        good.replace(" 1000 ", " +1000 "),
        good.replace(" 1000 ", " 0x3e8 "),
        good.replace(" 1000 ", " 4294968296 "),
        good.replace(" 1000 ", " 99999999999999999999999 "),
        good.replace(" 2504826 ", " x "),
        good.replace(' ', "\u{a0}"),
        good.split_once(" 2504826").unwrap().0.to_owned(),
        good.chars().filter(|char| *char != ' ').collect(),
        String::new(),
    ];
    for line in broken {
        assert_eq!(find(&format!("{line}\n"), first()), SocketOwner::Nobody, "{line}");
    }
    for cut in 0..good.len() {
        assert_eq!(find(&good[..cut], first()), SocketOwner::Nobody, "cut at {cut}");
    }
    let mut noise = good.as_bytes().to_vec();
    noise[3] = 0xff;
    let mut found = HashMap::from([(first(), SocketOwner::Nobody)]);
    look_up(&noise[..], &mut found).unwrap();
    assert_eq!(found[&first()], SocketOwner::Nobody);
}

#[cfg(target_endian = "little")]
#[test]
fn long_lines_are_passed_over_and_the_next_one_counts() {
    for length in [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1, 100 * MAX_LINE] {
        let long = "x".repeat(usize::try_from(length).unwrap());
        check(
            &format!("{long}\n{V4}"),
            "127.0.0.1:50366",
            "127.0.0.1:45945",
            SocketOwner::One(1000),
        );
    }
    // The end of a long line is no line, though it looks like one.
    let padding = " ".repeat(usize::try_from(MAX_LINE).unwrap());
    let row = V4.lines().last().unwrap();
    assert_eq!(find(&format!("{padding}{row}\n"), first()), SocketOwner::Nobody);
}

#[test]
fn a_table_without_end_is_left() {
    let mut found = HashMap::from([(first(), SocketOwner::Nobody)]);
    let endless = Counting { read: Cell::new(0) };
    look_up(&endless, &mut found).unwrap();
    assert_eq!(found[&first()], SocketOwner::Nobody);
    assert!(endless.read.get() <= MAX_TABLE, "{} bytes were read", endless.read.get());
}

/// Lines of a usual length for ever.
struct Counting {
    read: Cell<u64>,
}

impl Read for &Counting {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        for line in buf.chunks_mut(150) {
            line.fill(b'0');
            line[line.len() - 1] = b'\n';
        }
        self.read.set(self.read.get() + buf.len() as u64);
        Ok(buf.len())
    }
}

#[test]
fn a_socket_that_a_reading_passed_over_is_looked_for_again() {
    let ask = |readable_at: usize| {
        let (answer, mut answered) = oneshot::channel();
        let readings = Cell::new(0);
        answer_all(vec![SocketQuery { ends: first(), answer }], || {
            readings.set(readings.get() + 1);
            [(readings.get() == readable_at).then_some(V4.as_bytes()), None]
        });
        (answered.try_recv().unwrap(), readings.get())
    };
    assert_eq!(ask(TABLE_TRIES + 1), (None, TABLE_TRIES));
    if cfg!(target_endian = "little") {
        assert_eq!(ask(1), (Some(1000), 1));
        assert_eq!(ask(TABLE_TRIES), (Some(1000), TABLE_TRIES));
    }
}

#[tokio::test]
async fn a_crowd_is_answered_by_the_real_table() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (sockets, tasks) = (SocketTable::new(0), TaskTracker::new());
    let own = listener.local_addr().unwrap();
    let mut crowd = Vec::new();
    for _ in 0..100 {
        let (ours, theirs) = tokio::join!(listener.accept(), TcpStream::connect(own));
        let (ours, peer) = ours.unwrap();
        crowd.push((ours, theirs.unwrap(), peer));
    }
    let asked = crowd.iter().map(|(_, _, peer)| {
        let sockets = Arc::clone(&sockets);
        tasks.spawn(sockets.listed(SocketEnds::of(*peer, own).unwrap()))
    });
    let me = rustix::process::geteuid().as_raw();
    for answer in asked.collect::<Vec<_>>() {
        assert_eq!(answer.await.unwrap(), Some(me));
    }
    let nobody = SocketEnds::of("127.0.0.1:1".parse().unwrap(), own).unwrap();
    assert_eq!(Arc::clone(&sockets).listed(nobody).await, None);
    assert_eq!(sockets.uid(nobody).await, None);
}
