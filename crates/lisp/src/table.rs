//! Hash tables that keep the order of SBCL: by slot, a freed slot is the next one used.
//!
//! A table knows words and hashes only; what is equal is decided by `equality.rs`, which sees the
//! heap.

use crate::value::{UNBOUND, Word};

/// Equality of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableTest {
    Eq,
    Eql,
    Equal,
    Equalp,
}

/// Keys and values of a hash table.
#[derive(Clone)]
pub(crate) struct HashTable {
    pub(crate) test: TableTest,
    slots: Vec<TableSlot>,
    /// Slots that were freed, the last freed is used first.
    free: Vec<u32>,
    /// Positions of slots, by hash; 0 is empty, `REMOVED` was a slot.
    index: Vec<u32>,
    /// Entries of `index` that are not 0.
    used: usize,
}

#[derive(Clone, Copy)]
struct TableSlot {
    /// `UNBOUND` in a free slot.
    key: Word,
    value: Word,
    hash: u64,
}

const REMOVED: u32 = u32::MAX;
const FIRST_INDEX_LENGTH: usize = 8;

impl HashTable {
    pub(crate) const fn new(test: TableTest) -> Self {
        Self { test, slots: Vec::new(), free: Vec::new(), index: Vec::new(), used: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        128 + self.slots.capacity() * size_of::<TableSlot>()
            + (self.index.capacity() + self.free.capacity()) * 4
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Slots, used and free: what an iteration counts over.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Key and value of a slot; none for a free one.
    pub(crate) fn entry(&self, slot: usize) -> Option<(Word, Word)> {
        let slot = self.slots.get(slot)?;
        if slot.key == UNBOUND { None } else { Some((slot.key, slot.value)) }
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = Word> + '_ {
        self.slots.iter().flat_map(|slot| [slot.key, slot.value])
    }

    /// The slot of a key with this hash that `is_same`.
    pub(crate) fn find(&self, hash: u64, mut is_same: impl FnMut(Word) -> bool) -> Option<usize> {
        if self.index.is_empty() {
            return None;
        }
        let mask = self.index.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.index[at] {
                0 => return None,
                REMOVED => {}
                position => {
                    let slot = &self.slots[position as usize - 1];
                    if slot.hash == hash && is_same(slot.key) {
                        return Some(position as usize - 1);
                    }
                }
            }
            at = (at + 1) & mask;
        }
    }

    pub(crate) fn value(&self, slot: usize) -> Word {
        self.slots[slot].value
    }

    pub(crate) fn set_value(&mut self, slot: usize, value: Word) {
        self.slots[slot].value = value;
    }

    /// Adds a key that is not in the table. Returns how many bytes it grew.
    pub(crate) fn insert(&mut self, hash: u64, key: Word, value: Word) -> usize {
        let before = self.bytes();
        if (self.used + 1) * 4 > self.index.len() * 3 {
            self.rebuild();
        }
        let slot = TableSlot { key, value, hash };
        let position = if let Some(position) = self.free.pop() {
            self.slots[position as usize] = slot;
            position
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        self.enter(hash, position);
        self.bytes() - before
    }

    fn enter(&mut self, hash: u64, position: u32) {
        let mask = self.index.len() - 1;
        let mut at = hash as usize & mask;
        while self.index[at] != 0 {
            at = (at + 1) & mask;
        }
        self.index[at] = position + 1;
        self.used += 1;
    }

    fn rebuild(&mut self) {
        let length = ((self.len() + 1) * 2).next_power_of_two().max(FIRST_INDEX_LENGTH);
        self.index = vec![0; length];
        self.used = 0;
        for position in 0..self.slots.len() {
            let slot = self.slots[position];
            if slot.key != UNBOUND {
                self.enter(slot.hash, position as u32);
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: usize) {
        let hash = self.slots[slot].hash;
        let mask = self.index.len() - 1;
        let mut at = hash as usize & mask;
        while self.index[at] != slot as u32 + 1 {
            at = (at + 1) & mask;
        }
        self.index[at] = REMOVED;
        self.slots[slot] = TableSlot { key: UNBOUND, value: UNBOUND, hash: 0 };
        self.free.push(slot as u32);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.test);
    }
}
