//! Arenas that values live in. Indices below `base_*` belong to the frozen image that every
//! instance shares; the rest is the instance's own. Nothing is freed by Rust's `Drop` one by one:
//! `collect.rs` finds what is unreachable, and everything else dies with the arena.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::table::HashTable;
use crate::text::LispText;
use crate::value::{NIL, Word};

/// A cons.
#[derive(Clone, Copy)]
pub(crate) struct ConsPair {
    pub(crate) car: Word,
    pub(crate) cdr: Word,
}

/// Numerator and positive denominator without a common divisor; the denominator is not 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RatioParts {
    pub(crate) numerator: BigInt,
    pub(crate) denominator: BigInt,
}

/// Whether a vector or string has a fill pointer: its contents then end at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArrayShape {
    /// Elements that fit without growing, shifted by one, and whether it may grow;
    /// `u32::MAX` for a simple array.
    bits: u32,
}

impl ArrayShape {
    pub(crate) const SIMPLE: Self = Self { bits: u32::MAX };

    pub(crate) const fn filled(capacity: usize, adjustable: bool) -> Self {
        Self { bits: (capacity as u32 & 0x3fff_ffff) << 1 | adjustable as u32 }
    }

    pub(crate) const fn is_simple(self) -> bool {
        self.bits == u32::MAX
    }

    pub(crate) const fn is_adjustable(self) -> bool {
        !self.is_simple() && self.bits & 1 == 1
    }

    pub(crate) const fn capacity(self) -> usize {
        (self.bits >> 1) as usize
    }

    /// Dimension of an array of `count` active elements.
    pub(crate) const fn size(self, count: usize) -> usize {
        if self.is_simple() { count } else { self.capacity() }
    }
}

/// Destination of printed text.
#[derive(Clone, Debug)]
pub(crate) enum TextStream {
    /// The instance's output.
    Output,
    /// The instance's second output: warnings.
    ErrorOutput,
    /// A string that grows.
    ToText { text: LispText },
}

/// Everything that is neither in the word nor a cons.
#[derive(Clone)]
pub(crate) enum HeapObject {
    /// Unused, and the next one that is.
    Free(u32),
    Double(f64),
    Big(Box<BigInt>),
    Ratio(Box<RatioParts>),
    Text(LispText, ArrayShape),
    Vector(Vec<Word>, ArrayShape),
    Table(Box<HashTable>),
    /// A structure or a condition: its type's number and its slots.
    Structure(u32, Box<[Word]>),
    /// Code and the values of captured variables.
    Closure(u32, Box<[Word]>),
    /// A variable that closures share and somebody assigns.
    Cell(Word),
    Stream(Box<TextStream>),
}

impl HeapObject {
    /// Bytes of the arena and of what hangs on it.
    pub(crate) fn bytes(&self) -> usize {
        let inner = match self {
            Self::Free(_) | Self::Double(_) | Self::Cell(_) => 0,
            Self::Big(number) => big_bytes(number),
            Self::Ratio(parts) => big_bytes(&parts.numerator) + big_bytes(&parts.denominator),
            Self::Text(text, _) => text.bytes(),
            Self::Vector(elements, _) => elements.capacity() * 8,
            Self::Table(table) => table.bytes(),
            Self::Structure(_, slots) | Self::Closure(_, slots) => slots.len() * 8,
            Self::Stream(stream) => match stream.as_ref() {
                TextStream::ToText { text } => 64 + text.bytes(),
                _ => 64,
            },
        };
        OBJECT_BYTES + inner
    }
}

/// Bytes of the digits of an integer, and of its box.
pub(crate) fn big_bytes(number: &BigInt) -> usize {
    32 + usize::try_from(number.bits() / 8).unwrap_or(usize::MAX / 4)
}

const OBJECT_BYTES: usize = size_of::<HeapObject>();
const PAIR_BYTES: usize = size_of::<ConsPair>();

/// Bytes of new objects before the first collection.
const FIRST_COLLECTION_BYTES: usize = 1 << 20;

/// All values of an instance.
#[derive(Clone)]
pub(crate) struct Heap {
    pub(crate) base_pairs: Arc<Vec<ConsPair>>,
    pub(crate) base_objects: Arc<Vec<HeapObject>>,
    pub(crate) pairs: Vec<ConsPair>,
    pub(crate) objects: Vec<HeapObject>,
    /// First unused index of each arena, counted from 1; 0 for none.
    pub(crate) free_pair: u32,
    pub(crate) free_object: u32,
    /// Bytes in use after the last collection, and allocated since.
    pub(crate) bytes: usize,
    /// Bytes at which the next collection is due.
    pub(crate) collect_at: usize,
    pub(crate) limit: usize,
}

impl Heap {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            base_pairs: Arc::new(Vec::new()),
            base_objects: Arc::new(Vec::new()),
            pairs: Vec::new(),
            objects: Vec::new(),
            free_pair: 0,
            free_object: 0,
            bytes: 0,
            collect_at: FIRST_COLLECTION_BYTES.min(limit / 2),
            limit,
        }
    }

    /// Moves all values into the shared base; only for the image, before anything runs.
    pub(crate) fn freeze(&mut self) {
        debug_assert!(self.base_pairs.is_empty(), "a base is frozen once");
        self.base_pairs = Arc::new(std::mem::take(&mut self.pairs));
        self.base_objects = Arc::new(std::mem::take(&mut self.objects));
        (self.free_pair, self.free_object, self.bytes) = (0, 0, 0);
    }

    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.plan_collection();
    }

    /// Decides when to collect next: when as much was allocated as is in use, or half of what is
    /// left, whichever is less.
    pub(crate) fn plan_collection(&mut self) {
        let room = self.limit.saturating_sub(self.bytes) / 2;
        self.collect_at = self.bytes + self.bytes.max(FIRST_COLLECTION_BYTES).min(room);
    }

    #[inline]
    pub(crate) fn is_collection_due(&self) -> bool {
        self.bytes > self.collect_at
    }

    #[inline]
    pub(crate) fn cons(&mut self, car: Word, cdr: Word) -> Word {
        self.bytes += PAIR_BYTES;
        let pair = ConsPair { car, cdr };
        if self.free_pair != 0 {
            let index = self.free_pair - 1;
            let place = &mut self.pairs[index as usize];
            self.free_pair = place.cdr.0 as u32;
            *place = pair;
            return Word::cons(index + self.base_pairs.len() as u32);
        }
        let index = self.base_pairs.len() + self.pairs.len();
        self.pairs.push(pair);
        Word::cons(index as u32)
    }

    pub(crate) fn allocate(&mut self, object: HeapObject) -> Word {
        self.bytes += object.bytes();
        if self.free_object != 0 {
            let index = self.free_object - 1;
            let place = &mut self.objects[index as usize];
            if let HeapObject::Free(next) = place {
                self.free_object = *next;
            }
            *place = object;
            return Word::object(index + self.base_objects.len() as u32);
        }
        let index = self.base_objects.len() + self.objects.len();
        self.objects.push(object);
        Word::object(index as u32)
    }

    /// The cons behind a word whose tag says that it is one.
    #[inline]
    pub(crate) fn pair(&self, word: Word) -> ConsPair {
        let index = word.payload() as usize;
        match index.checked_sub(self.base_pairs.len()) {
            Some(own) => self.pairs[own],
            None => self.base_pairs[index],
        }
    }

    /// The cons to change; none for a constant of the shared base.
    #[inline]
    pub(crate) fn pair_mut(&mut self, word: Word) -> Option<&mut ConsPair> {
        let own = (word.payload() as usize).checked_sub(self.base_pairs.len())?;
        self.pairs.get_mut(own)
    }

    #[inline]
    pub(crate) fn object(&self, word: Word) -> &HeapObject {
        let index = word.payload() as usize;
        match index.checked_sub(self.base_objects.len()) {
            Some(own) => &self.objects[own],
            None => &self.base_objects[index],
        }
    }

    #[inline]
    pub(crate) fn object_mut(&mut self, word: Word) -> Option<&mut HeapObject> {
        let own = (word.payload() as usize).checked_sub(self.base_objects.len())?;
        self.objects.get_mut(own)
    }

    /// The object of a word, if it is one.
    #[inline]
    pub(crate) fn get(&self, word: Word) -> Option<&HeapObject> {
        if word.is_object() { Some(self.object(word)) } else { None }
    }

    pub(crate) fn text_word(&mut self, text: impl Into<LispText>) -> Word {
        self.allocate(HeapObject::Text(text.into(), ArrayShape::SIMPLE))
    }

    pub(crate) fn vector_word(&mut self, elements: Vec<Word>) -> Word {
        self.allocate(HeapObject::Vector(elements, ArrayShape::SIMPLE))
    }

    /// A proper list.
    pub(crate) fn list(&mut self, elements: &[Word]) -> Word {
        self.list_with_tail(elements, NIL)
    }

    pub(crate) fn list_with_tail(&mut self, elements: &[Word], tail: Word) -> Word {
        elements.iter().rev().fold(tail, |rest, element| self.cons(*element, rest))
    }

    pub(crate) fn text(&self, word: Word) -> Option<&LispText> {
        match self.get(word) {
            Some(HeapObject::Text(text, _)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn vector(&self, word: Word) -> Option<&[Word]> {
        match self.get(word) {
            Some(HeapObject::Vector(elements, _)) => Some(elements),
            _ => None,
        }
    }

    pub(crate) fn table(&self, word: Word) -> Option<&HashTable> {
        match self.get(word) {
            Some(HeapObject::Table(table)) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn table_mut(&mut self, word: Word) -> Option<&mut HashTable> {
        match self.object_mut(word) {
            Some(HeapObject::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// The value of a variable's cell.
    #[inline]
    pub(crate) fn cell(&self, word: Word) -> Word {
        match self.object(word) {
            HeapObject::Cell(value) => *value,
            _ => NIL,
        }
    }

    #[inline]
    pub(crate) fn set_cell(&mut self, word: Word, value: Word) {
        if let Some(HeapObject::Cell(place)) = self.object_mut(word) {
            *place = value;
        }
    }
}
