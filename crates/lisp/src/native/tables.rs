//! Hash tables.

use super::{MANY, NativeFunction, native};
use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::table::{HashTable, TableTest};
use crate::trap::StepResult;
use crate::value::{NIL, T, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("make-hash-table", 0, MANY, make_table),
    native("gethash", 2, 3, |m, a| {
        let (key, table) = (m.argument(a, 0), m.argument(a, 1));
        let found = match m.find_plain(table, key) {
            Some(found) => found,
            None => {
                let slot = m.find_key(table, key)?.1;
                slot.and_then(|slot| m.heap.table(table).map(|table| table.value(slot)))
            }
        };
        match found {
            Some(value) => Ok(m.return_values(&[value, T])),
            None => {
                let default = m.optional(a, 2).unwrap_or(NIL);
                Ok(m.return_values(&[default, NIL]))
            }
        }
    }),
    native("%puthash", 3, 3, |m, a| {
        m.put(m.argument(a, 1), m.argument(a, 0), m.argument(a, 2))?;
        Ok(m.argument(a, 2))
    }),
    native("remhash", 2, 2, |m, a| {
        let slot = m.find_key(m.argument(a, 1), m.argument(a, 0))?.1;
        if let (Some(slot), Some(table)) = (slot, m.heap.table_mut(m.argument(a, 1))) {
            table.remove(slot);
        }
        Ok(Word::truth(slot.is_some()))
    }),
    native("clrhash", 1, 1, |m, a| {
        table(m, m.argument(a, 0))?;
        if let Some(table) = m.heap.table_mut(m.argument(a, 0)) {
            table.clear();
        }
        Ok(m.argument(a, 0))
    }),
    native("hash-table-count", 1, 1, |m, a| Ok(Word::count(table(m, m.argument(a, 0))?.len()))),
    native("hash-table-p", 1, 1, |m, a| Ok(Word::truth(m.heap.table(m.argument(a, 0)).is_some()))),
    native("hash-table-test", 1, 1, |m, a| {
        Ok(Word::symbol(match table(m, m.argument(a, 0))?.test {
            TableTest::Eq => well_known::EQ,
            TableTest::Eql => well_known::EQL,
            TableTest::Equal => well_known::EQUAL,
            TableTest::Equalp => well_known::EQUALP,
        }))
    }),
    native("%table-slots", 1, 1, |m, a| Ok(Word::count(table(m, m.argument(a, 0))?.slot_count()))),
    native("%table-next", 2, 2, |m, a| {
        let mut slot = m.argument(a, 1).as_index().unwrap_or(0);
        let table = table(m, m.argument(a, 0))?;
        while slot < table.slot_count() && table.entry(slot).is_none() {
            slot += 1;
        }
        Ok(if slot < table.slot_count() { Word::count(slot) } else { NIL })
    }),
    native("%table-key", 2, 2, |m, a| {
        let slot = m.argument(a, 1).as_index().unwrap_or(0);
        Ok(table(m, m.argument(a, 0))?.entry(slot).map_or(NIL, |entry| entry.0))
    }),
    native("%table-value", 2, 2, |m, a| {
        let slot = m.argument(a, 1).as_index().unwrap_or(0);
        Ok(table(m, m.argument(a, 0))?.entry(slot).map_or(NIL, |entry| entry.1))
    }),
];

fn table(m: &mut Machine, word: Word) -> StepResult<&HashTable> {
    if m.heap.table(word).is_none() {
        return Err(m.type_error(word, well_known::HASH_TABLE));
    }
    m.heap.table(word).ok_or_else(|| crate::trap::outside("a hash table"))
}

fn make_table(m: &mut Machine, a: crate::machine::ArgumentWindow) -> StepResult {
    m.check_keys(a, 0, &["TEST", "SIZE", "REHASH-SIZE", "REHASH-THRESHOLD"])?;
    if let Some(size) = m.key(a, 0, "SIZE") {
        m.index_argument(size)?;
    }
    let test = m.key(a, 0, "TEST").unwrap_or(Word::symbol(well_known::EQL));
    let test = match test.as_symbol() {
        Some(symbol) => m.symbols.name(symbol).to_owned(),
        None if test.tag() == crate::value::tag::NATIVE => {
            super::NATIVES[test.payload() as usize].name.to_uppercase()
        }
        None => String::new(),
    };
    let test = match test.as_str() {
        "EQ" => TableTest::Eq,
        "EQL" => TableTest::Eql,
        "EQUAL" => TableTest::Equal,
        "EQUALP" => TableTest::Equalp,
        _ => return Err(m.simple_error("Unknown :TEST for MAKE-HASH-TABLE")),
    };
    Ok(m.heap.allocate(HeapObject::Table(Box::new(HashTable::new(test)))))
}
