//! `eql`, `equal`, `equalp` and the hashes that go with them. Iterative: depth costs no stack.
//!
//! long: the hash is one match over kinds of values.

use crate::heap::{Heap, HeapObject};
use crate::machine::Machine;
use crate::number::arithmetic::compare_numbers;
use crate::table::TableTest;
use crate::text::LispText;
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::{Word, tag};

/// Identity, and the same number of the same type.
#[inline]
pub(crate) fn is_eql(heap: &Heap, one: Word, two: Word) -> bool {
    one == two || (one.is_object() && two.is_object() && is_same_number(heap, one, two))
}

fn is_same_number(heap: &Heap, one: Word, two: Word) -> bool {
    match (heap.object(one), heap.object(two)) {
        (HeapObject::Double(one), HeapObject::Double(two)) => one.to_bits() == two.to_bits(),
        (HeapObject::Big(one), HeapObject::Big(two)) => one == two,
        (HeapObject::Ratio(one), HeapObject::Ratio(two)) => one == two,
        _ => false,
    }
}

/// Nodes of a key that its hash looks at.
const HASHED_NODES: usize = 1000;

impl Machine {
    pub(crate) fn is_equal(&mut self, one: Word, two: Word) -> StepResult<bool> {
        self.is_same(one, two, false)
    }

    pub(crate) fn is_equalp(&mut self, one: Word, two: Word) -> StepResult<bool> {
        self.is_same(one, two, true)
    }

    fn is_same(&mut self, one: Word, two: Word, is_loose: bool) -> StepResult<bool> {
        if one == two {
            return Ok(true);
        }
        if !(is_loose || one.is_cons() && two.is_cons()) {
            return self.is_same_atom(one, two, false, &mut Vec::new());
        }
        let mut pending = vec![(one, two)];
        let mut steps = 0_usize;
        while let Some((mut one, mut two)) = pending.pop() {
            loop {
                steps += 1;
                if steps.is_multiple_of(256) {
                    self.charge(256)?;
                    if pending.len() * 16 > self.heap.limit {
                        return Err(limit(LimitKind::Heap));
                    }
                }
                if one == two {
                    break;
                }
                if !(one.is_cons() && two.is_cons()) {
                    if !self.is_same_atom(one, two, is_loose, &mut pending)? {
                        return Ok(false);
                    }
                    break;
                }
                let (left, right) = (self.heap.pair(one), self.heap.pair(two));
                if left.car != right.car {
                    pending.push((left.car, right.car));
                }
                (one, two) = (left.cdr, right.cdr);
            }
        }
        self.charge(steps % 256)?;
        Ok(true)
    }

    /// Compares what is no cons; elements to compare are added to `pending`.
    fn is_same_atom(
        &mut self,
        one: Word,
        two: Word,
        is_loose: bool,
        pending: &mut Vec<(Word, Word)>,
    ) -> StepResult<bool> {
        if is_loose {
            self.charge(self.digit_steps(one) + self.digit_steps(two))?;
            if let (Some(one), Some(two)) = (self.try_number(one), self.try_number(two)) {
                self.charge_comparison(&one, &two)?;
                return Ok(compare_numbers(&one, &two).is_eq());
            }
            if let (Some(one), Some(two)) = (one.as_character(), two.as_character()) {
                return Ok(fold(one) == fold(two));
            }
        }
        let (Some(left), Some(right)) = (self.heap.get(one), self.heap.get(two)) else {
            return Ok(false);
        };
        let work = match left {
            HeapObject::Text(text, _) if is_loose => text.len() / 8,
            HeapObject::Text(text, _) => text.len() / 32,
            HeapObject::Vector(elements, _) => elements.len() / 8,
            _ => self.digit_steps(one),
        };
        let answer = match (left, right) {
            (HeapObject::Text(one, _), HeapObject::Text(two, _)) if is_loose => {
                one.len() == two.len() && one.iter().map(fold).eq(two.iter().map(fold))
            }
            (HeapObject::Text(one, _), HeapObject::Text(two, _)) => one == two,
            (HeapObject::Vector(one, _), HeapObject::Vector(two, _)) if is_loose => {
                pending.extend(one.iter().copied().zip(two.iter().copied()));
                one.len() == two.len()
            }
            (HeapObject::Text(text, _), HeapObject::Vector(vector, _))
            | (HeapObject::Vector(vector, _), HeapObject::Text(text, _))
                if is_loose =>
            {
                pending.extend(text.iter().map(Word::character).zip(vector.iter().copied()));
                text.len() == vector.len()
            }
            (HeapObject::Structure(kind, one), HeapObject::Structure(other, two)) if is_loose => {
                pending.extend(one.iter().copied().zip(two.iter().copied()));
                kind == other && !self.types.get(*kind).is_condition
            }
            (HeapObject::Table(_), HeapObject::Table(_)) if is_loose => {
                return self.refuse("EQUALP of hash tables");
            }
            _ => is_same_number(&self.heap, one, two),
        };
        self.charge(work)?;
        Ok(answer)
    }

    pub(crate) fn hash(&mut self, word: Word, test: TableTest) -> StepResult<u64> {
        match test {
            TableTest::Eq => Ok(mix(self.seed, word.0)),
            TableTest::Eql if !word.is_object() => Ok(mix(self.seed, word.0)),
            TableTest::Equal if !word.is_object() && !word.is_cons() => Ok(mix(self.seed, word.0)),
            _ => self.deep_hash(word, test),
        }
    }

    fn deep_hash(&mut self, word: Word, test: TableTest) -> StepResult<u64> {
        let is_deep = matches!(test, TableTest::Equal | TableTest::Equalp);
        let is_loose = test == TableTest::Equalp;
        let mut hash = self.seed;
        let mut pending = vec![word];
        let mut nodes = 0;
        let mut work = 1;
        while let Some(word) = pending.pop() {
            nodes += 1;
            if nodes > HASHED_NODES {
                break;
            }
            if is_deep && word.is_cons() {
                let pair = self.heap.pair(word);
                hash = mix(hash, 0xc0);
                pending.push(pair.cdr);
                pending.push(pair.car);
                continue;
            }
            work += self.digit_steps(word);
            if is_loose {
                work += self.heap.text(word).map_or(0, |text| text.len() / 8);
                if self.loose_hash(word, &mut hash, &mut pending) {
                    continue;
                }
            }
            match self.heap.get(word) {
                Some(HeapObject::Text(text, _)) if is_deep => {
                    work += text.len() / 32;
                    hash = text_hash(hash, text);
                }
                Some(HeapObject::Double(number)) => hash = mix(hash, number.to_bits()),
                Some(HeapObject::Big(number)) => {
                    number.iter_u64_digits().for_each(|digit| hash = mix(hash, digit));
                }
                Some(HeapObject::Ratio(parts)) => {
                    parts.numerator.iter_u64_digits().for_each(|digit| hash = mix(hash, digit));
                    parts.denominator.iter_u64_digits().for_each(|digit| hash = mix(hash, digit));
                }
                _ => hash = mix(hash, word.0),
            }
        }
        self.charge(work + nodes)?;
        Ok(hash)
    }

    /// Adds what `equalp` takes for the same; false where `equal` would do as well.
    fn loose_hash(&self, word: Word, hash: &mut u64, pending: &mut Vec<Word>) -> bool {
        if let Some(number) = self.try_number(word) {
            let float = number.to_f64();
            *hash = mix(*hash, if float == 0.0 { 0 } else { (float as f32).to_bits().into() });
            return true;
        }
        if let Some(character) = word.as_character() {
            *hash = mix(*hash, fold(character) as u64);
            return true;
        }
        match self.heap.get(word) {
            Some(HeapObject::Text(text, _)) => {
                text.iter().for_each(|c| *hash = mix(*hash, fold(c) as u64));
            }
            Some(HeapObject::Vector(elements, _)) => pending.extend(elements.iter().take(64)),
            Some(HeapObject::Structure(kind, slots)) => {
                *hash = mix(*hash, u64::from(*kind));
                pending.extend(slots.iter().take(64));
            }
            _ => return false,
        }
        true
    }

    /// Value of a key whose word says all about it: a small integer, symbol or character, or anything in a
    /// table that compares words. `None` for other keys and for what is no table.
    #[inline]
    pub(crate) fn find_plain(&self, table: Word, key: Word) -> Option<Option<Word>> {
        let table = self.heap.table(table)?;
        if !is_plain_key(table.test, key) {
            return None;
        }
        let slot = table.find(mix(self.seed, key.0), |other| other == key);
        Some(slot.map(|slot| table.value(slot)))
    }

    /// Slot of a key in a hash table.
    pub(crate) fn find_key(&mut self, table: Word, key: Word) -> StepResult<(u64, Option<usize>)> {
        let Some(test) = self.heap.table(table).map(|table| table.test) else {
            return Err(self.type_error(table, crate::symbols::well_known::HASH_TABLE));
        };
        if test == TableTest::Equal
            && let Some(text) = self.heap.text(key)
        {
            // The most common key of all: one text, compared at once.
            let hash = text_hash(self.seed, text);
            let is_same = |other: Word| other == key || self.heap.text(other) == Some(text);
            let slot = self.heap.table(table).and_then(|table| table.find(hash, is_same));
            let steps = text.len() / 16 + 1;
            self.charge(steps)?;
            return Ok((hash, slot));
        }
        let hash = self.hash(key, test)?;
        let Some(found) = self.heap.table(table) else { return Ok((hash, None)) };
        match test {
            TableTest::Equal if !key.is_cons() && !key.is_object() => {
                Ok((hash, found.find(hash, |other| other == key)))
            }
            TableTest::Eq => Ok((hash, found.find(hash, |other| other == key))),
            TableTest::Eql => Ok((hash, found.find(hash, |other| is_eql(&self.heap, other, key)))),
            _ => {
                // Equality may cost much: candidates first, then each with its charge.
                let mut candidates = Vec::new();
                found.find(hash, |other| {
                    candidates.push(other);
                    false
                });
                for other in candidates {
                    let is_found = match test {
                        TableTest::Equal => self.is_equal(other, key)?,
                        _ => self.is_equalp(other, key)?,
                    };
                    if is_found {
                        let slot = self
                            .heap
                            .table(table)
                            .and_then(|table| table.find(hash, |word| word == other));
                        return Ok((hash, slot));
                    }
                }
                Ok((hash, None))
            }
        }
    }

    pub(crate) fn put(&mut self, table: Word, key: Word, value: Word) -> StepResult<()> {
        let seed = self.seed;
        let is_plain = self.heap.table(table).is_some_and(|found| is_plain_key(found.test, key));
        let plain = if is_plain { self.heap.table_mut(table) } else { None };
        let (hash, slot) = match plain {
            Some(found) => {
                let hash = mix(seed, key.0);
                (hash, found.find(hash, |other| other == key))
            }
            None => self.find_key(table, key)?,
        };
        let Some(found) = self.heap.table_mut(table) else { return Ok(()) };
        let grown = match slot {
            Some(slot) => {
                found.set_value(slot, value);
                0
            }
            None => found.insert(hash, key, value),
        };
        self.heap.bytes += grown;
        if grown > 4096 { self.reserve(0) } else { Ok(()) }
    }
}

/// Case folded as `char-equal` does.
pub(crate) fn fold(character: char) -> char {
    crate::native::characters::downcase(character)
}

/// Whether equal keys have equal words in a table of this kind.
#[inline]
const fn is_plain_key(test: TableTest, key: Word) -> bool {
    match test {
        TableTest::Eq => true,
        TableTest::Eql => !key.is_object(),
        TableTest::Equal => !key.is_object() && !key.is_cons(),
        TableTest::Equalp => false,
    }
}

/// Mixes a text into a hash. A wide text may hold ASCII alone after an assignment: it counts as a narrow one.
fn text_hash(seed: u64, text: &LispText) -> u64 {
    let eight_bytes = |hash: u64, chunk: &[u8]| {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        mix(hash, u64::from_le_bytes(eight))
    };
    let hash = mix(seed, text.len() as u64);
    match text {
        // Most keys are short: as one chunk below, without a copy.
        LispText::Narrow(bytes) if (1..=8).contains(&bytes.len()) => {
            mix(hash, bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        }
        LispText::Narrow(bytes) => bytes.chunks(8).fold(hash, eight_bytes),
        LispText::Wide(characters) if characters.iter().all(char::is_ascii) => {
            let bytes: Vec<u8> = characters.iter().map(|c| *c as u8).collect();
            bytes.chunks(8).fold(hash, eight_bytes)
        }
        LispText::Wide(characters) => characters.iter().fold(hash, |hash, c| mix(hash, *c as u64)),
    }
}

/// Mixes a word into a hash.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
    let folded = (product as u64) ^ ((product >> 64) as u64);
    folded.rotate_left(29) ^ word.wrapping_mul(0x2127_599b_f432_5c37)
}

/// Whether a word is a function, not merely the name of one.
pub(crate) fn is_function(heap: &Heap, word: Word) -> bool {
    matches!(word.tag(), tag::NATIVE | tag::CODE)
        || matches!(heap.get(word), Some(HeapObject::Closure(..)))
}
