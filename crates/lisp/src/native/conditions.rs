//! Structures and conditions: types, instances, slots.

use super::{MANY, NativeFunction, native};
use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::trap::StepResult;
use crate::types::{RecordType, SlotType};
use crate::value::{NIL, UNBOUND, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    // name, parents, slots as (name initargs initform-function-or-nil), report, is-condition
    native("%define-record", 5, 5, |m, a| {
        let name = m.symbol_argument(m.argument(a, 0))?;
        if m.symbols.is_base(name) {
            return m.refuse(&format!("redefinition of {}", m.symbols.name(name)));
        }
        let is_condition = m.argument(a, 4).is_true();
        let (mut ancestors, mut slots) = (Vec::new(), Vec::<SlotType>::new());
        for parent in m.list_elements(m.argument(a, 1))? {
            let symbol = m.symbol_argument(parent)?;
            let Some(number) = m.types.find(symbol) else {
                return Err(m.simple_error("a parent type that is not defined"));
            };
            let record = m.types.get(number);
            if record.is_condition != is_condition {
                return Err(m.simple_error("a parent type of another kind"));
            }
            for above in &record.ancestors {
                if !ancestors.contains(above) {
                    ancestors.push(*above);
                }
            }
            let new: Vec<SlotType> = record
                .slots
                .iter()
                .filter(|slot| !slots.iter().any(|known| known.name == slot.name))
                .cloned()
                .collect();
            slots.extend(new);
        }
        for slot in m.list_elements(m.argument(a, 2))? {
            let parts = m.list_elements(slot)?;
            let slot = SlotType {
                name: m.symbol_argument(parts[0])?,
                initargs: m.list_elements(parts[1])?,
                initform: if parts[2].is_nil() { UNBOUND } else { parts[2] },
            };
            match slots.iter_mut().find(|known| known.name == slot.name) {
                Some(known) => *known = slot,
                None => slots.push(slot),
            }
        }
        let report = if m.argument(a, 3).is_nil() { UNBOUND } else { m.argument(a, 3) };
        m.heap.bytes += 256 + slots.len() * 64;
        m.reserve(0)?;
        m.types.define(RecordType { name, ancestors, slots, is_condition, report });
        Ok(Word::symbol(name))
    }),
    native("%define-accessor", 3, 3, |m, a| {
        let accessor = m.symbol_argument(m.argument(a, 0))?;
        let (kind, slot) = slot_of(m, m.argument(a, 1), m.argument(a, 2))?;
        std::sync::Arc::make_mut(&mut m.accessors).insert(accessor, (kind, slot as u16));
        Ok(NIL)
    }),
    native("%record-slots", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let Some(number) = m.types.find(symbol) else { return Ok(NIL) };
        let slots: Vec<Word> =
            m.types.get(number).slots.iter().map(|slot| Word::symbol(slot.name)).collect();
        m.make_list(&slots)
    }),
    native("%record-initforms", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let Some(number) = m.types.find(symbol) else { return Ok(NIL) };
        let forms: Vec<Word> = m
            .types
            .get(number)
            .slots
            .iter()
            .map(|slot| if slot.initform == UNBOUND { NIL } else { slot.initform })
            .collect();
        m.make_list(&forms)
    }),
    native("%record-type", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let found = m.types.find(symbol);
        Ok(found.map_or(NIL, |number| Word::fixnum(i64::from(number))))
    }),
    native("%condition-type-p", 1, 1, |m, a| {
        let found = m.argument(a, 0).as_symbol().and_then(|symbol| m.types.find(symbol));
        Ok(Word::truth(found.is_some_and(|number| m.types.get(number).is_condition)))
    }),
    native("%make-record", 1, MANY, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let Some(number) = m.types.find(symbol) else {
            return Err(m.simple_error("a structure type that is not defined"));
        };
        let slots: Box<[Word]> = m.arguments(a)[1..].into();
        Ok(m.heap.allocate(HeapObject::Structure(number, slots)))
    }),
    // Fills by initargs; slots without a value stay unbound. Second value: slots to fill.
    native("%allocate-condition", 2, 2, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let number = m.types.find(symbol).filter(|number| m.types.get(*number).is_condition);
        let Some(number) = number else {
            if m.symbols.home(symbol) == crate::symbols::SymbolHome::Lisp {
                return m.refuse(&format!("condition {}", m.symbols.name(symbol)));
            }
            let text = format!("{} does not designate a condition class.", m.symbols.name(symbol));
            return Err(m.message(crate::types::condition::SIMPLE_TYPE_ERROR, &text));
        };
        let given = m.list_elements(m.argument(a, 1))?;
        let record = m.types.get(number);
        let slots: Vec<Word> = record
            .slots
            .iter()
            .map(|slot| {
                let found = given.chunks_exact(2).find(|pair| slot.initargs.contains(&pair[0]));
                // Simple conditions begin without a text and without arguments.
                let is_simple = m.symbols.home(slot.name) == crate::symbols::SymbolHome::System
                    && m.symbols.name(slot.name).starts_with("FORMAT-");
                found.map_or(if is_simple { NIL } else { UNBOUND }, |pair| pair[1])
            })
            .collect();
        let missing: Vec<Word> = slots
            .iter()
            .enumerate()
            .zip(&record.slots)
            .filter(|((_, value), slot)| **value == UNBOUND && slot.initform != UNBOUND)
            .map(|((index, _), _)| Word::count(index))
            .collect();
        let word = m.heap.allocate(HeapObject::Structure(number, slots.into()));
        let missing = m.make_list(&missing)?;
        Ok(m.return_values(&[word, missing]))
    }),
    native("%slot-initform", 2, 2, |m, a| {
        let Some((kind, _)) = m.record(m.argument(a, 0)) else { return Ok(NIL) };
        let index = m.argument(a, 1).as_index().unwrap_or(0);
        Ok(m.types.get(kind).slots[index].initform)
    }),
    native("%set-slot-at", 3, 3, |m, a| {
        let index = m.argument(a, 1).as_index().unwrap_or(0);
        let value = m.argument(a, 2);
        if let Some(HeapObject::Structure(_, slots)) = m.heap.object_mut(m.argument(a, 0)) {
            slots[index] = value;
        }
        Ok(value)
    }),
    // object, type name, slot name
    native("%struct-ref", 3, 3, |m, a| {
        let slot = checked_slot(m, m.argument(a, 0), m.argument(a, 1), m.argument(a, 2))?;
        let value = m.record(m.argument(a, 0)).and_then(|(_, slots)| slots.get(slot)).copied();
        match value {
            Some(value) if value != UNBOUND => Ok(value),
            _ => Err(m.condition(crate::types::condition::CELL_ERROR, &[m.argument(a, 2)])),
        }
    }),
    native("%struct-set", 4, 4, |m, a| {
        let slot = checked_slot(m, m.argument(a, 0), m.argument(a, 1), m.argument(a, 2))?;
        let value = m.argument(a, 3);
        if let Some(HeapObject::Structure(_, slots)) = m.heap.object_mut(m.argument(a, 0)) {
            slots[slot] = value;
        }
        Ok(value)
    }),
    native("copy-structure", 1, 1, |m, a| match m.record(m.argument(a, 0)) {
        Some((kind, slots)) => {
            let copy = HeapObject::Structure(kind, slots.into());
            Ok(m.heap.allocate(copy))
        }
        None => Err(m.type_error(m.argument(a, 0), crate::symbols::well_known::STRUCTURE_OBJECT)),
    }),
    native("%alias-type", 2, 2, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        if m.symbols.is_base(symbol) {
            return m.refuse(&format!("redefinition of {}", m.symbols.name(symbol)));
        }
        m.types.aliases.insert(symbol, m.argument(a, 1));
        Ok(m.argument(a, 0))
    }),
    native("%type-alias", 1, 1, |m, a| {
        let alias = m.argument(a, 0).as_symbol().and_then(|symbol| m.types.aliases.get(&symbol));
        Ok(alias.copied().unwrap_or(NIL))
    }),
];

fn slot_of(m: &mut Machine, kind: Word, name: Word) -> StepResult<(u32, usize)> {
    let (kind, name) = (m.symbol_argument(kind)?, m.symbol_argument(name)?);
    let number = m.types.find(kind);
    let slot = number
        .and_then(|number| m.types.get(number).slots.iter().position(|slot| slot.name == name));
    match (number, slot) {
        (Some(number), Some(slot)) => Ok((number, slot)),
        _ => Err(m.simple_error("no such slot")),
    }
}

fn checked_slot(m: &mut Machine, word: Word, kind: Word, name: Word) -> StepResult<usize> {
    let (number, _) = slot_of(m, kind, name)?;
    let name = m.symbol_argument(name)?;
    // Two conditions may name one reader: it reads the slot of this name in either.
    let has_slot = |own: u32| {
        let record = m.types.get(own);
        record.is_condition && record.slots.iter().any(|slot| slot.name == name)
    };
    let found =
        m.record(word).filter(|(own, _)| m.types.is_subtype(*own, number) || has_slot(*own));
    let Some((own, _)) = found else {
        return Err(m.wrong_type(word, kind));
    };
    let slot = m.types.get(own).slots.iter().position(|slot| slot.name == name);
    slot.ok_or_else(|| m.simple_error("no such slot"))
}
