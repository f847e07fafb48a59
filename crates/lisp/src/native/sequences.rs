//! Functions of lists, vectors and strings that take no function.
//!
//! long: the keywords of one function.

use super::{MANY, NativeFunction, native};
use crate::equality::is_eql;
use crate::heap::{ArrayShape, HeapObject};
use crate::machine::{ArgumentWindow, Machine};
use crate::symbols::well_known;
use crate::text::LispText;
use crate::trap::{LimitKind, StepResult, limit};
use crate::value::{NIL, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("length", 1, 1, |m, a| length(m, m.argument(a, 0)).map(Word::count)),
    native("reverse", 1, 1, |m, a| {
        let sequence = m.argument(a, 0);
        let mut words = elements(m, sequence)?;
        words.reverse();
        like(m, sequence, &words)
    }),
    native("nreverse", 1, 1, |m, a| {
        let sequence = m.argument(a, 0);
        if sequence.is_cons() {
            return reverse_in_place(m, sequence);
        }
        let mut words = elements(m, sequence)?;
        words.reverse();
        store(m, sequence, &words)?;
        Ok(sequence)
    }),
    native("elt", 2, 2, |m, a| {
        let (sequence, index) = (m.argument(a, 0), m.argument(a, 1));
        if !(sequence.is_cons() || sequence.is_nil()) {
            let count = length(m, sequence)?;
            if index.as_index().is_none_or(|at| at >= count) {
                return Err(m.index_error(index, count));
            }
            return m.element(sequence, index);
        }
        let at = m.index_argument(index)?;
        let mut rest = sequence;
        for _ in 0..at {
            if !rest.is_cons() {
                break;
            }
            rest = m.heap.pair(rest).cdr;
            m.charge(1)?;
        }
        if rest.is_cons() { m.car(rest) } else { Err(m.index_error(index, at)) }
    }),
    native("aref", 1, 3, |m, a| {
        if a.count != 2 {
            return m.refuse("arrays that are no vectors");
        }
        m.element(m.argument(a, 0), m.argument(a, 1))
    }),
    native("svref", 2, 2, |m, a| {
        let vector = m.argument(a, 0);
        if let (Some(HeapObject::Vector(words, shape)), Some(at)) =
            (m.heap.get(vector), m.argument(a, 1).as_index())
            && shape.is_simple()
            && let Some(word) = words.get(at)
        {
            return Ok(*word);
        }
        let is_simple = shape(m, vector).is_some_and(ArrayShape::is_simple);
        if m.heap.vector(vector).is_none() || !is_simple {
            return Err(m.type_error(m.argument(a, 0), well_known::SIMPLE_VECTOR));
        }
        m.element(m.argument(a, 0), m.argument(a, 1))
    }),
    native("%set-element", 3, 3, |m, a| {
        m.set_element(m.argument(a, 0), m.argument(a, 1), m.argument(a, 2))
    }),
    native("subseq", 2, 3, |m, a| {
        let sequence = m.argument(a, 0);
        m.index_argument(m.argument(a, 1))?;
        if let Some(text) = m.heap.text(sequence) {
            let length = text.len();
            let (start, end) = m.bounds(m.optional(a, 1), m.optional(a, 2), length)?;
            let part = m.heap.text(sequence).map(|text| text.slice(start, end));
            return m.make_text(part.unwrap_or_else(LispText::new));
        }
        if sequence.is_cons() {
            return list_part(m, sequence, m.argument(a, 1), m.optional(a, 2));
        }
        let words = elements(m, sequence)?;
        let (start, end) = m.bounds(m.optional(a, 1), m.optional(a, 2), words.len())?;
        like(m, sequence, &words[start..end])
    }),
    native("copy-seq", 1, 1, |m, a| {
        let words = elements(m, m.argument(a, 0))?;
        like(m, m.argument(a, 0), &words)
    }),
    native("vector", 0, MANY, |m, a| {
        let words = m.arguments(a).to_vec();
        m.reserve(words.len() * 8)?;
        Ok(m.heap.vector_word(words))
    }),
    native("%list-to-vector", 1, 1, |m, a| {
        let words = m.list_elements(m.argument(a, 0))?;
        m.reserve(words.len() * 8)?;
        Ok(m.heap.vector_word(words))
    }),
    native("%elements", 1, 1, |m, a| {
        let words = elements(m, m.argument(a, 0))?;
        m.make_list(&words)
    }),
    native("%to-string", 1, 1, |m, a| {
        let words = elements(m, m.argument(a, 0))?;
        let mut text = LispText::new();
        for word in words {
            text.push(m.character_argument(word)?);
        }
        m.make_text(text)
    }),
    native("%like", 2, 2, |m, a| {
        let words = m.list_elements(m.argument(a, 1))?;
        like(m, m.argument(a, 0), &words)
    }),
    native("%store", 2, 2, |m, a| {
        let words = m.list_elements(m.argument(a, 1))?;
        store(m, m.argument(a, 0), &words)?;
        Ok(m.argument(a, 0))
    }),
    // item, vector or string, start, end; the caller has checked the bounds.
    native("%position-eql", 4, 4, |m, a| {
        let (item, vector) = (m.argument(a, 0), m.argument(a, 1));
        let start = m.index_argument(m.argument(a, 2))?;
        let end = m.index_argument(m.argument(a, 3))?;
        m.charge(m.digit_steps(item).saturating_mul(end.saturating_sub(start)))?;
        let found = match m.heap.get(vector) {
            Some(HeapObject::Vector(words, _)) => {
                words[start..end].iter().position(|word| is_eql(&m.heap, *word, item))
            }
            Some(HeapObject::Text(text, _)) => item
                .as_character()
                .and_then(|item| text.part(start, end).position(|character| character == item)),
            _ => return Err(m.type_error(vector, well_known::VECTOR)),
        };
        let steps = found.unwrap_or(end - start);
        m.charge(steps / 16)?;
        Ok(found.map_or(NIL, |at| Word::count(start + at)))
    }),
    native("make-array", 1, MANY, make_array),
    native("vector-push", 2, 2, |m, a| push(m, a, false)),
    native("vector-push-extend", 2, 3, |m, a| push(m, a, true)),
    native("vector-pop", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        let popped = match m.heap.object_mut(word) {
            Some(HeapObject::Vector(words, shape)) if word.is_object() && !shape.is_simple() => {
                words.pop()
            }
            Some(HeapObject::Text(text, shape)) if word.is_object() && !shape.is_simple() => {
                let last = text.len().checked_sub(1).and_then(|at| text.get(at));
                text.truncate(text.len().saturating_sub(1));
                last.map(Word::character)
            }
            _ => return Err(m.type_error(word, well_known::VECTOR)),
        };
        popped.map_or_else(|| Err(m.simple_error("There is nothing left to pop.")), Ok)
    }),
    native("fill-pointer", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        match m.heap.get(word) {
            Some(HeapObject::Vector(words, shape)) if !shape.is_simple() => {
                Ok(Word::count(words.len()))
            }
            Some(HeapObject::Text(text, shape)) if !shape.is_simple() => {
                Ok(Word::count(text.len()))
            }
            _ => Err(m.type_error(word, well_known::VECTOR)),
        }
    }),
    native("%set-fill-pointer", 2, 2, |m, a| {
        let (word, count) = (m.argument(a, 0), m.index_argument(m.argument(a, 1))?);
        match m.heap.object_mut(word) {
            Some(HeapObject::Vector(words, shape))
                if !shape.is_simple() && count <= words.len() =>
            {
                words.truncate(count);
            }
            Some(HeapObject::Text(text, shape)) if !shape.is_simple() && count <= text.len() => {
                text.truncate(count);
            }
            _ => return m.refuse("a fill pointer that grows"),
        }
        Ok(m.argument(a, 1))
    }),
    native("array-has-fill-pointer-p", 1, 1, |m, a| {
        Ok(Word::truth(!array_shape(m, m.argument(a, 0))?.is_simple()))
    }),
    native("adjustable-array-p", 1, 1, |m, a| {
        Ok(Word::truth(array_shape(m, m.argument(a, 0))?.is_adjustable()))
    }),
    native("array-dimension", 2, 2, |m, a| {
        let size = total_size(m, m.argument(a, 0))?;
        match m.index_argument(m.argument(a, 1))? {
            0 => Ok(Word::count(size)),
            _ => Err(m.simple_error("Axis number is too big")),
        }
    }),
    native("array-total-size", 1, 1, |m, a| total_size(m, m.argument(a, 0)).map(Word::count)),
    native("array-rank", 1, 1, |m, a| array_shape(m, m.argument(a, 0)).map(|_| Word::fixnum(1))),
    native("array-dimensions", 1, 1, |m, a| {
        let size = total_size(m, m.argument(a, 0))?;
        m.make_list(&[Word::count(size)])
    }),
];

fn array_shape(m: &mut Machine, word: Word) -> StepResult<ArrayShape> {
    match shape(m, word) {
        Some(shape) => Ok(shape),
        None => Err(m.type_error(word, well_known::ARRAY)),
    }
}

/// Elements of an array, those behind its fill pointer included.
fn total_size(m: &mut Machine, word: Word) -> StepResult<usize> {
    let shape = array_shape(m, word)?;
    if shape.is_simple() { length(m, word) } else { Ok(shape.capacity()) }
}

/// Turns the conses of a list around; the first one becomes the last.
fn reverse_in_place(m: &mut Machine, list: Word) -> StepResult {
    let (mut done, mut rest) = (NIL, list);
    length(m, list)?;
    while rest.is_cons() {
        let next = m.heap.pair(rest).cdr;
        match m.heap.pair_mut(rest) {
            Some(pair) => pair.cdr = done,
            None => return m.refuse("assignment to a constant of the image"),
        }
        (done, rest) = (rest, next);
    }
    Ok(done)
}

fn shape(m: &Machine, word: Word) -> Option<ArrayShape> {
    match m.heap.get(word) {
        Some(HeapObject::Vector(_, shape) | HeapObject::Text(_, shape)) => Some(*shape),
        _ => None,
    }
}

pub(crate) fn length(m: &mut Machine, word: Word) -> StepResult<usize> {
    if word.is_cons() || word.is_nil() {
        let (mut rest, mut count) = (word, 0);
        while rest.is_cons() {
            count += 1;
            rest = m.heap.pair(rest).cdr;
            m.charge(1)?;
        }
        return if rest.is_nil() { Ok(count) } else { Err(m.type_error(rest, well_known::LIST)) };
    }
    match m.heap.get(word) {
        Some(HeapObject::Vector(words, _)) => Ok(words.len()),
        Some(HeapObject::Text(text, _)) => Ok(text.len()),
        _ => Err(m.type_error(word, well_known::SEQUENCE)),
    }
}

/// The elements of any sequence.
pub(crate) fn elements(m: &mut Machine, word: Word) -> StepResult<Vec<Word>> {
    let words = match m.heap.get(word) {
        Some(HeapObject::Vector(words, _)) => words.clone(),
        Some(HeapObject::Text(text, _)) => text.iter().map(Word::character).collect(),
        _ if word.is_cons() || word.is_nil() => return m.list_elements(word),
        _ => return Err(m.type_error(word, well_known::SEQUENCE)),
    };
    m.reserve(words.len() * 8)?;
    Ok(words)
}

/// A part of a list; what comes behind its end is not looked at.
fn list_part(m: &mut Machine, list: Word, start: Word, end: Option<Word>) -> StepResult {
    let first = m.index_argument(start)?;
    let last = match end.filter(|end| end.is_true()) {
        Some(end) => Some(m.index_argument(end)?),
        None => None,
    };
    let (mut words, mut rest, mut at) = (Vec::new(), list, 0);
    while rest.is_cons() && last.is_none_or(|last| at < last) {
        let pair = m.heap.pair(rest);
        if at >= first {
            words.push(pair.car);
        }
        (rest, at) = (pair.cdr, at + 1);
        m.charge(1)?;
        if words.len() * 16 > m.heap.limit {
            return Err(limit(LimitKind::Heap));
        }
    }
    let is_improper = last.is_none() && rest.is_true();
    if is_improper || at < first || last.is_some_and(|last| last < first || at < last) {
        return Err(m.index_error(end.unwrap_or(start), at));
    }
    m.make_list(&words)
}

/// A new sequence of the same kind as `model`.
fn like(m: &mut Machine, model: Word, words: &[Word]) -> StepResult {
    match m.heap.get(model) {
        Some(HeapObject::Text(..)) => {
            let text: LispText = words.iter().filter_map(|word| word.as_character()).collect();
            m.make_text(text)
        }
        Some(HeapObject::Vector(..)) => {
            m.reserve(words.len() * 8)?;
            Ok(m.heap.vector_word(words.to_vec()))
        }
        _ => m.make_list(words),
    }
}

/// Overwrites the first elements of a vector or string.
fn store(m: &mut Machine, target: Word, words: &[Word]) -> StepResult<()> {
    for word in words {
        if m.heap.text(target).is_some() {
            m.character_argument(*word)?;
        }
    }
    match m.heap.object_mut(target) {
        Some(HeapObject::Vector(places, _)) => {
            places.iter_mut().zip(words).for_each(|(place, word)| *place = *word);
        }
        Some(HeapObject::Text(text, _)) => {
            for (index, word) in words.iter().enumerate() {
                text.set(index, word.as_character().unwrap_or(' '));
            }
        }
        _ => {}
    }
    Ok(())
}

fn push(m: &mut Machine, a: ArgumentWindow, extends: bool) -> StepResult {
    let (item, target) = (m.argument(a, 0), m.argument(a, 1));
    if m.heap.text(target).is_some() {
        m.character_argument(item)?;
    }
    let Some(shape) = shape(m, target).filter(|shape| !shape.is_simple()) else {
        return Err(m.type_error(target, well_known::VECTOR));
    };
    let count = length(m, target)?;
    if count >= shape.capacity() {
        if !extends {
            return Ok(NIL);
        }
        if !shape.is_adjustable() {
            return m.refuse("VECTOR-PUSH-EXTEND on an array that is not adjustable");
        }
    }
    let next =
        if count < shape.capacity() { shape } else { ArrayShape::filled((count + 1) * 2, true) };
    m.heap.bytes += 16;
    m.charge(1)?;
    match m.heap.object_mut(target) {
        Some(HeapObject::Vector(words, shape)) => {
            words.push(item);
            *shape = next;
        }
        Some(HeapObject::Text(text, shape)) => {
            text.push(item.as_character().unwrap_or(' '));
            *shape = next;
        }
        _ => {}
    }
    Ok(Word::count(count))
}

fn make_array(m: &mut Machine, a: ArgumentWindow) -> StepResult {
    let known = ["ELEMENT-TYPE", "INITIAL-ELEMENT", "INITIAL-CONTENTS", "ADJUSTABLE"];
    let more = ["FILL-POINTER", "DISPLACED-TO", "DISPLACED-INDEX-OFFSET"];
    m.check_keys(a, 1, &[&known[..], &more].concat())?;
    let mut dimension = m.argument(a, 0);
    if dimension.is_nil() {
        return m.refuse("arrays that are no vectors");
    }
    if dimension.is_cons() {
        let all = m.list_elements(dimension)?;
        if all.len() != 1 {
            return m.refuse("arrays that are no vectors");
        }
        dimension = all[0];
    }
    let count = m.index_argument(dimension)?;
    if m.key(a, 1, "DISPLACED-TO").is_some_and(Word::is_true) {
        return m.refuse("displaced arrays");
    }
    let kind = m.key(a, 1, "ELEMENT-TYPE").unwrap_or(Word::truth(true));
    let is_text = matches!(kind.as_symbol(), Some(well_known::CHARACTER | well_known::BASE_CHAR));
    if !is_text && kind != Word::truth(true) {
        return m.refuse("arrays of a special element type");
    }
    let initial = m.key(a, 1, "INITIAL-ELEMENT");
    let contents = match m.key(a, 1, "INITIAL-CONTENTS") {
        Some(word) => Some(elements(m, word)?),
        None => None,
    };
    if contents.as_ref().is_some_and(|words| words.len() != count) {
        return Err(m.simple_error("wrong number of elements in :INITIAL-CONTENTS"));
    }
    let adjustable = m.key(a, 1, "ADJUSTABLE").is_some_and(Word::is_true);
    let fill = match m.key(a, 1, "FILL-POINTER") {
        Some(word) if word == Word::truth(true) => Some(count),
        Some(word) if word.is_true() => Some(m.index_argument(word)?),
        _ => None,
    };
    if fill.is_none() && adjustable {
        return m.refuse("adjustable arrays without a fill pointer");
    }
    let shape = fill.map_or(ArrayShape::SIMPLE, |_| ArrayShape::filled(count, adjustable));
    let used = fill.unwrap_or(count);
    if used > count {
        return Err(m.simple_error("fill pointer beyond the end"));
    }
    m.reserve(count.saturating_mul(8))?;
    if is_text {
        let filler = match initial {
            Some(word) => m.character_argument(word)?,
            None => '\0',
        };
        let mut text = LispText::filled(filler, used);
        for (index, word) in contents.iter().flatten().take(used).enumerate() {
            text.set(index, m.character_argument(*word)?);
        }
        return Ok(m.heap.allocate(HeapObject::Text(text, shape)));
    }
    let mut words = contents.unwrap_or_else(|| vec![initial.unwrap_or(Word::fixnum(0)); count]);
    words.truncate(used);
    Ok(m.heap.allocate(HeapObject::Vector(words, shape)))
}

impl Machine {
    /// Element of a vector or string.
    pub(crate) fn element(&mut self, vector: Word, index: Word) -> StepResult {
        let at = index.as_index();
        let (found, length) = match self.heap.get(vector) {
            Some(HeapObject::Vector(words, _)) => {
                (at.and_then(|at| words.get(at)).copied(), words.len())
            }
            Some(HeapObject::Text(text, _)) => {
                (at.and_then(|at| text.get(at)).map(Word::character), text.len())
            }
            _ => return Err(self.type_error(vector, well_known::VECTOR)),
        };
        if let Some(word) = found {
            return Ok(word);
        }
        let shape = shape(self, vector).filter(|shape| !shape.is_simple());
        if at.is_some_and(|at| shape.is_some_and(|shape| at < shape.capacity())) {
            return self.refuse("elements behind a fill pointer");
        }
        Err(self.index_error(index, length))
    }

    pub(crate) fn set_element(&mut self, vector: Word, index: Word, value: Word) -> StepResult {
        if vector.is_cons() {
            let mut rest = vector;
            for _ in 0..self.index_argument(index)? {
                rest = self.cdr(rest)?;
                self.charge(1)?;
            }
            match self.heap.pair_mut(rest) {
                Some(pair) if rest.is_cons() => pair.car = value,
                _ => return Err(self.index_error(index, 0)),
            }
            return Ok(value);
        }
        self.element(vector, index)?;
        let at = self.index_argument(index)?;
        let character = match self.heap.text(vector) {
            Some(_) => self.character_argument(value)?,
            None => ' ',
        };
        match self.heap.object_mut(vector) {
            Some(HeapObject::Vector(words, _)) => words[at] = value,
            Some(HeapObject::Text(text, _)) => text.set(at, character),
            _ => return self.refuse("assignment to a constant of the image"),
        }
        Ok(value)
    }
}
