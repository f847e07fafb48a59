//! Packing: what comes out is what went in, and bytes of somebody else are nobody's.

use proptest::prelude::*;

use super::{SessionRanges, pack, runs};

fn unpack(first: i64, packed: &[u8]) -> Vec<(i64, i64)> {
    SessionRanges::new(first, packed).collect()
}

proptest! {
    #[test]
    fn what_is_packed_comes_out_again(sessions in prop::collection::vec(0..=i64::MAX, 0..50), small in 0..300_i64) {
        let sessions = [&[0, small, 127, 128, i64::MAX], &sessions[..]].concat();
        let expected: Vec<_> = (7..).zip(sessions.iter().copied()).collect();
        prop_assert_eq!(unpack(7, &pack(&sessions)), expected);
    }

    #[test]
    fn any_bytes_can_be_unpacked(packed in prop::collection::vec(any::<u8>(), 0..50), first in any::<i64>()) {
        let found = unpack(first, &packed);
        prop_assert!(found.len() <= packed.len());
        prop_assert!(found.iter().all(|(_, session)| *session >= -1));
    }
}

#[test]
fn small_numbers_take_a_byte_and_what_is_cut_is_nobodys() {
    assert_eq!(pack(&[1, 127, 128]), [1, 127, 0x80, 1]);
    assert_eq!(unpack(1, &[1, 127, 0x80]), [(1, 1), (2, 127), (3, -1)]);
    // More bytes than a number has, and a number that is none of SQLite's.
    assert_eq!(unpack(1, &[0x80; 12]), [(1, -1)]);
    assert_eq!(unpack(1, &[&[0xff; 9][..], &[1, 5]].concat()), [(1, -1), (2, 5)]);
    assert_eq!(SessionRanges::new(5, &pack(&[3, 4, 3])).of(3).collect::<Vec<_>>(), [5, 7]);
}

#[test]
fn numbers_that_follow_each_other_are_read_at_once() {
    let of = |numbers: &[i64]| runs(numbers.iter().copied()).collect::<Vec<_>>();
    assert_eq!(of(&[]), []);
    assert_eq!(of(&[1, 2, 3, 7, 9, 10]), [(1, 3), (7, 7), (9, 10)]);
    assert_eq!(of(&[4, 4, i64::MAX]), [(4, 4), (4, 4), (i64::MAX, i64::MAX)]);
}
