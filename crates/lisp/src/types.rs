//! Structure and condition types: names, ancestors, slots. Built-in conditions have fixed numbers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::symbols::{SymbolHome, SymbolTable};
use crate::value::{UNBOUND, Word};

/// Slot of a structure or condition.
#[derive(Clone, Debug)]
pub(crate) struct SlotType {
    pub(crate) name: u32,
    /// Keywords that fill it when a condition is made.
    pub(crate) initargs: Vec<Word>,
    /// Function of no arguments that gives the value otherwise; `UNBOUND` for none.
    pub(crate) initform: Word,
}

/// A structure or condition type.
#[derive(Clone, Debug)]
pub(crate) struct RecordType {
    pub(crate) name: u32,
    /// Numbers of this type and of every type above it.
    pub(crate) ancestors: Vec<u32>,
    pub(crate) slots: Vec<SlotType>,
    pub(crate) is_condition: bool,
    /// String or function that reports a condition; `UNBOUND` for none.
    pub(crate) report: Word,
}

/// All types of an instance.
#[derive(Clone, Default)]
pub(crate) struct TypeTable {
    all: Arc<Vec<RecordType>>,
    by_name: Arc<HashMap<u32, u32>>,
    /// Aliases of `deftype`: symbol and expander function.
    pub(crate) aliases: HashMap<u32, Word>,
}

/// Built-in conditions: constant, name, parents by name, slots with their initargs.
macro_rules! conditions {
    ($($constant:ident = $name:literal [$($parent:literal),*] ($($slot:literal),*);)*) => {
        /// Numbers of built-in condition types.
        pub(crate) mod condition {
            #[allow(dead_code, clippy::upper_case_acronyms, non_camel_case_types)]
            #[repr(u32)]
            enum ConditionNumber { $($constant),* }
            $(#[allow(dead_code)] pub(crate) const $constant: u32 = ConditionNumber::$constant as u32;)*
            pub(super) const ALL: &[(&str, &[&str], &[&str])] =
                &[$(($name, &[$($parent),*], &[$($slot),*])),*];
        }
    };
}

conditions! {
    CONDITION = "CONDITION" [] ();
    SERIOUS = "SERIOUS-CONDITION" ["CONDITION"] ();
    ERROR = "ERROR" ["SERIOUS-CONDITION"] ();
    SIMPLE_CONDITION = "SIMPLE-CONDITION" ["CONDITION"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
    SIMPLE_ERROR = "SIMPLE-ERROR" ["SIMPLE-CONDITION", "ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
    WARNING = "WARNING" ["CONDITION"] ();
    SIMPLE_WARNING = "SIMPLE-WARNING" ["SIMPLE-CONDITION", "WARNING"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
    STYLE_WARNING = "STYLE-WARNING" ["WARNING"] ();
    TYPE_ERROR = "TYPE-ERROR" ["ERROR"] ("DATUM", "EXPECTED-TYPE");
    SIMPLE_TYPE_ERROR = "SIMPLE-TYPE-ERROR" ["SIMPLE-CONDITION", "TYPE-ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS", "DATUM", "EXPECTED-TYPE");
    CONTROL_ERROR = "CONTROL-ERROR" ["ERROR"] ();
    PROGRAM_ERROR = "PROGRAM-ERROR" ["ERROR"] ();
    CELL_ERROR = "CELL-ERROR" ["ERROR"] ("NAME");
    UNBOUND_VARIABLE = "UNBOUND-VARIABLE" ["CELL-ERROR"] ("NAME");
    UNDEFINED_FUNCTION = "UNDEFINED-FUNCTION" ["CELL-ERROR"] ("NAME");
    ARITHMETIC_ERROR = "ARITHMETIC-ERROR" ["ERROR"] ("OPERATION", "OPERANDS");
    DIVISION_BY_ZERO = "DIVISION-BY-ZERO" ["ARITHMETIC-ERROR"] ("OPERATION", "OPERANDS");
    FLOATING_POINT_OVERFLOW = "FLOATING-POINT-OVERFLOW" ["ARITHMETIC-ERROR"] ("OPERATION", "OPERANDS");
    FLOATING_POINT_UNDERFLOW = "FLOATING-POINT-UNDERFLOW" ["ARITHMETIC-ERROR"] ("OPERATION", "OPERANDS");
    FLOATING_POINT_INVALID = "FLOATING-POINT-INVALID-OPERATION" ["ARITHMETIC-ERROR"] ("OPERATION", "OPERANDS");
    PARSE_ERROR = "PARSE-ERROR" ["ERROR"] ();
    STREAM_ERROR = "STREAM-ERROR" ["ERROR"] ("STREAM");
    END_OF_FILE = "END-OF-FILE" ["STREAM-ERROR"] ("STREAM");
    READER_ERROR = "READER-ERROR" ["PARSE-ERROR", "STREAM-ERROR"] ("STREAM");
    PACKAGE_ERROR = "PACKAGE-ERROR" ["ERROR"] ("PACKAGE");
    PRINT_NOT_READABLE = "PRINT-NOT-READABLE" ["ERROR"] ("OBJECT");
    STORAGE_CONDITION = "STORAGE-CONDITION" ["SERIOUS-CONDITION"] ();
    // SBCL's own, which have no name in the standard.
    INDEX_ERROR = "%INDEX-ERROR" ["TYPE-ERROR"] ("DATUM", "EXPECTED-TYPE");
    SIMPLE_PROGRAM_ERROR = "%SIMPLE-PROGRAM-ERROR" ["SIMPLE-CONDITION", "PROGRAM-ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
    SIMPLE_CONTROL_ERROR = "%SIMPLE-CONTROL-ERROR" ["SIMPLE-CONDITION", "CONTROL-ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
    SIMPLE_PARSE_ERROR = "%SIMPLE-PARSE-ERROR" ["SIMPLE-CONDITION", "PARSE-ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
    SIMPLE_READER_ERROR = "%SIMPLE-READER-ERROR" ["SIMPLE-CONDITION", "READER-ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS", "STREAM");
    FORMAT_ERROR = "%FORMAT-ERROR" ["SIMPLE-CONDITION", "ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
    CASE_FAILURE = "%CASE-FAILURE" ["TYPE-ERROR"] ("DATUM", "EXPECTED-TYPE");
    JSON_ERROR = "bridle:JSON-ERROR" ["SIMPLE-CONDITION", "PARSE-ERROR"] ("FORMAT-CONTROL", "FORMAT-ARGUMENTS");
}

impl TypeTable {
    pub(crate) fn with_conditions(symbols: &mut SymbolTable) -> Self {
        let mut table = Self::default();
        for (name, parents, slots) in condition::ALL {
            let name = symbols.intern_designated(name);
            let mut ancestors = Vec::new();
            for parent in *parents {
                let parent = symbols.intern_designated(parent);
                if let Some(number) = table.find(parent) {
                    table.get(number).ancestors.iter().for_each(|above| {
                        if !ancestors.contains(above) {
                            ancestors.push(*above);
                        }
                    });
                }
            }
            let slots = slots.iter().map(|slot| SlotType {
                name: symbols.intern(SymbolHome::System, slot),
                initargs: vec![symbols.keyword(slot)],
                initform: UNBOUND,
            });
            let slots = slots.collect();
            table.define(RecordType {
                name,
                ancestors,
                slots,
                is_condition: true,
                report: UNBOUND,
            });
        }
        table
    }

    /// Adds a type, or replaces the one of that name, and returns its number.
    pub(crate) fn define(&mut self, mut record: RecordType) -> u32 {
        let number = self.all.len() as u32;
        record.ancestors.insert(0, number);
        let name = record.name;
        Arc::make_mut(&mut self.all).push(record);
        Arc::make_mut(&mut self.by_name).insert(name, number);
        number
    }

    pub(crate) fn find(&self, name: u32) -> Option<u32> {
        self.by_name.get(&name).copied()
    }

    pub(crate) fn get(&self, number: u32) -> &RecordType {
        &self.all[number as usize]
    }

    pub(crate) fn is_subtype(&self, number: u32, above: u32) -> bool {
        number == above || self.get(number).ancestors.contains(&above)
    }

    /// Words that types hold: roots of the collector.
    pub(crate) fn words(&self) -> impl Iterator<Item = Word> + '_ {
        let slots = self.all.iter().flat_map(|record| record.slots.iter());
        slots
            .map(|slot| slot.initform)
            .chain(self.all.iter().map(|record| record.report))
            .chain(self.aliases.values().copied())
    }
}

impl SymbolTable {
    /// Interns a name as Rust tables write it: `%NAME` is the system's, `bridle:NAME` bridle's.
    pub(crate) fn intern_designated(&mut self, name: &str) -> u32 {
        if let Some(name) = name.strip_prefix("bridle:") {
            self.intern(SymbolHome::Bridle, &name.to_uppercase())
        } else if name.starts_with('%') || name.starts_with("*%") {
            self.intern(SymbolHome::System, &name.to_uppercase())
        } else {
            self.intern(SymbolHome::Lisp, &name.to_uppercase())
        }
    }
}
