//! The collector: marks what is reachable from roots that the machine names, and puts the rest on
//! the free lists. Nothing moves, so words stay valid. Iterative: deep data costs memory, not stack.

use crate::heap::{ConsPair, Heap, HeapObject};
use crate::value::{Word, tag};

/// Marks of one collection.
pub(crate) struct CollectionMarks {
    pairs: Vec<u64>,
    objects: Vec<u64>,
    /// Reached and not yet looked into.
    pending: Vec<Word>,
}

impl CollectionMarks {
    pub(crate) fn new(heap: &Heap) -> Self {
        Self {
            pairs: vec![0; heap.pairs.len().div_ceil(64)],
            objects: vec![0; heap.objects.len().div_ceil(64)],
            pending: Vec::new(),
        }
    }

    /// Marks a root and everything reachable from it.
    pub(crate) fn reach(&mut self, heap: &Heap, root: Word) {
        self.note(heap, root);
        while let Some(word) = self.pending.pop() {
            if word.is_cons() {
                let pair = heap.pair(word);
                self.note(heap, pair.car);
                self.note(heap, pair.cdr);
                continue;
            }
            match heap.object(word) {
                HeapObject::Vector(words, _) => {
                    words.iter().for_each(|word| self.note(heap, *word));
                }
                HeapObject::Structure(_, words) | HeapObject::Closure(_, words) => {
                    words.iter().for_each(|word| self.note(heap, *word));
                }
                HeapObject::Cell(value) => self.note(heap, *value),
                HeapObject::Table(table) => table.words().for_each(|word| self.note(heap, word)),
                _ => {}
            }
        }
    }

    /// Marks one word and remembers to look into it.
    fn note(&mut self, heap: &Heap, word: Word) {
        let (marks, base) = match word.tag() {
            tag::CONS => (&mut self.pairs, heap.base_pairs.len()),
            tag::OBJECT => (&mut self.objects, heap.base_objects.len()),
            _ => return,
        };
        // The base is never collected and points only into itself.
        let Some(index) = (word.payload() as usize).checked_sub(base) else { return };
        let Some(bits) = marks.get_mut(index / 64) else { return };
        let bit = 1 << (index % 64);
        if *bits & bit == 0 {
            *bits |= bit;
            self.pending.push(word);
        }
    }
}

fn is_marked(marks: &[u64], index: usize) -> bool {
    marks[index / 64] & (1 << (index % 64)) != 0
}

impl Heap {
    /// Frees what has no mark and counts what is left.
    pub(crate) fn sweep(&mut self, marks: &CollectionMarks) {
        let (mut bytes, mut free) = (0, 0);
        for index in (0..self.pairs.len()).rev() {
            if is_marked(&marks.pairs, index) {
                bytes += size_of::<ConsPair>();
            } else {
                self.pairs[index] = ConsPair { car: Word(tag::MARKER), cdr: Word(u64::from(free)) };
                free = index as u32 + 1;
            }
        }
        self.free_pair = free;
        free = 0;
        for index in (0..self.objects.len()).rev() {
            if is_marked(&marks.objects, index) {
                bytes += self.objects[index].bytes();
            } else {
                self.objects[index] = HeapObject::Free(free);
                free = index as u32 + 1;
            }
        }
        self.free_object = free;
        self.bytes = bytes;
        self.plan_collection();
    }
}
