//! Who gets a place, and who gives way.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::{ConnectionCounts, ConnectionSlots, GIVES_WAY_AFTER, PeerStanding, StrangerSlot};
use crate::access::network::PeerSource;
use crate::config::DaemonLimits;

fn limits(connections: usize, strangers: usize, each: usize) -> DaemonLimits {
    DaemonLimits { connections, strangers, strangers_each: each, ..DaemonLimits::default() }
}

/// Places of a daemon, and the peers that hold them.
struct Room {
    seats: Arc<ConnectionSlots>,
    stop: CancellationToken,
}

impl Room {
    fn new(connections: usize, strangers: usize, each: usize) -> Room {
        // A daemon that runs for a while already, so that a peer can be set back to its beginning.
        let stop = CancellationToken::new();
        let began = Instant::now().checked_sub(2 * GIVES_WAY_AFTER).unwrap();
        let seats = ConnectionSlots::beginning_at(
            began,
            &limits(connections, strangers, each),
            stop.clone(),
        );
        Room { seats, stop }
    }

    fn take(&self, standing: PeerStanding) -> Option<Option<Arc<StrangerSlot>>> {
        self.seats.take(standing)
    }

    fn stranger(&self, uid: u32) -> Option<Arc<StrangerSlot>> {
        self.take(PeerStanding::Stranger(PeerSource::Uid(uid))).flatten()
    }
}

/// Sets a peer back to the beginning of the daemon: it has finished nothing since.
fn idle(seat: &StrangerSlot) {
    seat.active_ms.store(0, Ordering::Relaxed);
}

#[test]
fn places_are_kept_for_the_unix_socket_and_for_known_principals() {
    let counts =
        |connections, files| ConnectionCounts::new(&limits(connections, 4_096, 256), files);
    let usual = counts(16_384, None);
    assert_eq!((usual.all, usual.known, usual.open), (16_384, 16_320, 15_296));
    let few = counts(16, None);
    assert_eq!((few.all, few.known, few.open, few.strangers), (16, 12, 8, 8));
    // Fewer descriptors than connections: what is not a connection has room besides.
    let poor = counts(16_384, Some(1_024));
    assert!(poor.all < 1_024 && poor.known < poor.all && poor.open < poor.known, "{poor:?}");
    assert_eq!(counts(1, Some(8)).all, 1);
}

#[test]
fn strangers_fill_neither_the_places_of_known_principals_nor_those_of_the_unix_socket() {
    let room = Room::new(16, 16, 16);
    let strangers: Vec<_> = (0..20).filter_map(|uid| room.stranger(uid)).collect();
    assert_eq!(strangers.len(), 8);
    let known = (0..20).filter(|_| room.take(PeerStanding::Known).is_some()).count();
    assert_eq!(known, 4);
    let unix = (0..20).filter(|_| room.take(PeerStanding::Unix).is_some()).count();
    assert_eq!((unix, room.seats.open()), (4, 16));
}

#[test]
fn one_user_has_its_number_of_places_and_takes_none_of_another() {
    let room = Room::new(1_000, 100, 3);
    let mad: Vec<_> = (0..10).filter_map(|_| room.stranger(7)).collect();
    assert_eq!(mad.len(), 3);
    assert!(room.stranger(8).is_some());
    mad[0].make_known();
    assert!(room.stranger(7).is_some(), "a peer that became known counts no more");
    assert!(room.stranger(7).is_none());
}

#[test]
fn the_stranger_that_was_idle_for_longest_gives_way_to_a_newcomer() {
    let room = Room::new(1_000, 2, 2);
    let (first, second) = (room.stranger(1).unwrap(), room.stranger(2).unwrap());
    assert!(room.stranger(3).is_none(), "nobody is idle");
    idle(&second);
    let third = room.stranger(3).unwrap();
    assert!(second.is_leaving() && second.leave().is_cancelled());
    assert!(!first.is_leaving() && !room.stop.is_cancelled());
    // A peer that became known gives way to nobody.
    idle(&third);
    idle(&first);
    first.make_known();
    assert!(room.stranger(4).is_some(), "a known peer leaves its place among strangers free");
    assert!(room.stranger(5).is_some());
    assert!(third.is_leaving() && !first.is_leaving());
}

#[test]
fn an_idle_stranger_gives_way_to_the_owner_when_all_places_are_taken() {
    let room = Room::new(2, 2, 2);
    let (first, second) = (room.stranger(1).unwrap(), room.stranger(1).unwrap());
    assert!(room.take(PeerStanding::Unix).is_none());
    idle(&first);
    assert!(room.take(PeerStanding::Unix).is_some());
    assert!(first.is_leaving() && !second.is_leaving());
}
