//! The latest of many things, each found by its key: receipts of a session, requests of all of them.
//!
//! Things lie in the order in which they came, one after the other, and a small table says where: to look
//! for what is not there, as is usual, touches one line of it. A map from keys to things, with a queue of
//! keys beside it, is more than twice as large, and every thing in it lies somewhere else.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Key of an entry: enough bits of a hash that no two are the same.
pub(crate) type Key = [u8; 16];

/// At most so many things, the latest.
#[derive(Debug)]
pub(crate) struct BoundedQueue<T> {
    most: usize,
    /// Oldest first.
    things: VecDeque<(Key, T)>,
    /// The number of the oldest: things are counted as they come.
    oldest: u32,
    /// Numbers of things, by the hashes of their keys.
    places: HashTable<u32>,
    /// Nobody else knows it, so nobody makes up keys that share a place.
    secret: RandomState,
}

impl<T> BoundedQueue<T> {
    pub(crate) fn new(most: usize) -> BoundedQueue<T> {
        let (things, places) = (VecDeque::new(), HashTable::new());
        BoundedQueue { most, things, oldest: 0, places, secret: RandomState::new() }
    }

    /// The latest thing with this key.
    pub(crate) fn get(&self, key: &Key) -> Option<&T> {
        let place = self.place(key)?;
        self.things.get(place).map(|(_, thing)| thing)
    }

    /// Returns the entry of a key, to be changed.
    pub(crate) fn get_mut(&mut self, key: &Key) -> Option<&mut T> {
        let place = self.place(key)?;
        self.things.get_mut(place).map(|(_, thing)| thing)
    }

    /// Adds a thing; one with the same key is not found any more. The oldest goes when there are too many.
    pub(crate) fn add(&mut self, key: Key, thing: T) {
        if self.things.len() >= self.most {
            self.drop_oldest();
        }
        let BoundedQueue { things, oldest, places, secret, .. } = self;
        let number = oldest.wrapping_add(count(things.len()));
        let is_same = |&number: &u32| is_key(things, *oldest, number, &key);
        let hash = |&number: &u32| {
            things.get(place_of(*oldest, number)).map_or(0, |(key, _)| secret.hash_one(key))
        };
        match places.entry(secret.hash_one(key), is_same, hash) {
            Entry::Occupied(mut known) => *known.get_mut() = number,
            Entry::Vacant(free) => {
                free.insert(number);
            }
        }
        things.push_back((key, thing));
    }

    fn drop_oldest(&mut self) {
        let Some((key, _)) = self.things.pop_front() else { return };
        let gone = self.oldest;
        self.oldest = gone.wrapping_add(1);
        // Unless one with the same key came later.
        if let Ok(place) =
            self.places.find_entry(self.secret.hash_one(key), |&number| number == gone)
        {
            place.remove();
        }
    }

    fn place(&self, key: &Key) -> Option<usize> {
        let is_same = |&number: &u32| is_key(&self.things, self.oldest, number, key);
        let number = self.places.find(self.secret.hash_one(key), is_same)?;
        Some(place_of(self.oldest, *number))
    }
}

fn is_key<T>(things: &VecDeque<(Key, T)>, oldest: u32, number: u32, key: &Key) -> bool {
    things.get(place_of(oldest, number)).is_some_and(|(known, _)| known == key)
}

/// Index of the entry with a number.
fn place_of(oldest: u32, number: u32) -> usize {
    number.wrapping_sub(oldest) as usize
}

fn count(things: usize) -> u32 {
    u32::try_from(things).expect("far fewer things are kept than a number counts")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{BoundedQueue, Key};

    fn key(number: u64) -> Key {
        (u128::from(number) * 0x9E37_79B9_7F4A_7C15).to_le_bytes()
    }

    /// Against a plain map with the time of each: what comes again counts as new.
    #[test]
    fn the_latest_are_found_and_no_others() {
        const MOST: usize = 50;
        let mut latest = BoundedQueue::new(MOST);
        // Close to where numbers begin again.
        latest.oldest = u32::MAX - 300;
        let mut plain: HashMap<u64, usize> = HashMap::new();
        for time in 0..2_000_usize {
            // Every seventh is one of the last few again.
            let number = if time % 7 == 0 { time.saturating_sub(time % 60) } else { time } as u64;
            assert_eq!(latest.get(&key(number)).copied(), plain.get(&number).copied());
            latest.add(key(number), time);
            plain.insert(number, time);
            plain.retain(|_, at| *at + MOST > time);
            for (number, at) in &plain {
                assert_eq!(latest.get(&key(*number)), Some(at));
            }
            assert_eq!(latest.places.len(), plain.len());
        }
        assert_eq!(latest.things.len(), MOST);
    }

    #[test]
    fn a_thing_can_be_changed() {
        let mut latest = BoundedQueue::new(2);
        latest.add(key(1), 'a');
        *latest.get_mut(&key(1)).unwrap() = 'b';
        assert_eq!(latest.get(&key(1)), Some(&'b'));
        assert_eq!(latest.get_mut(&key(2)), None);
    }
}
