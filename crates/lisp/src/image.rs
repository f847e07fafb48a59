//! The shared image: names of the standard, native functions, and the prelude, compiled once.

use std::sync::{Arc, LazyLock};

use crate::code::CodeTable;
use crate::instance::{Instance, InstanceLimits};
use crate::machine::Machine;
use crate::native::NATIVES;
use crate::symbols::{SymbolHome, flag};
use crate::value::{UNBOUND, Word};

/// Machine and code of a fresh instance.
pub(crate) struct StandardImage {
    pub(crate) machine: Machine,
    pub(crate) codes: CodeTable,
}

/// Lisp sources of the prelude, in order.
const PRELUDE: &[(&str, &str)] = &[
    ("macros.lisp", include_str!("prelude/macros.lisp")),
    ("sequences.lisp", include_str!("prelude/sequences.lisp")),
    ("numbers.lisp", include_str!("prelude/numbers.lisp")),
    ("printing.lisp", include_str!("prelude/printing.lisp")),
    ("conditions.lisp", include_str!("prelude/conditions.lisp")),
    ("loop.lisp", include_str!("prelude/loop.lisp")),
    ("org.lisp", include_str!("prelude/org.lisp")),
    ("skill.lisp", include_str!("prelude/skill.lisp")),
];

/// Every name of the standard, also of what is refused.
const NAMES: &str = include_str!("prelude/names.txt");

pub(crate) static IMAGE: LazyLock<Arc<StandardImage>> = LazyLock::new(|| Arc::new(build()));

fn build() -> StandardImage {
    let limits = InstanceLimits { fuel: u64::MAX >> 2, ..InstanceLimits::default() };
    let mut machine = Machine::new(limits);
    machine.fuel = i64::MAX >> 1;
    for name in NAMES.lines() {
        machine.symbols.intern(SymbolHome::Lisp, name);
    }
    for (number, native) in NATIVES.iter().enumerate() {
        let symbol = machine.symbols.intern_designated(native.name);
        let cells = &mut machine.symbols.cells[symbol as usize];
        debug_assert_eq!(cells.function, UNBOUND, "`{}` is there twice", native.name);
        cells.function = Word::native(number as u32);
    }
    let mut instance = Instance::from_parts(machine, CodeTable::default());
    for (file, source) in PRELUDE {
        if let Err(error) = instance.load_prelude(source, file) {
            // A prelude that does not compile is a fault of this crate, found by its first test.
            unreachable!("prelude: {error}");
        }
    }
    let (mut machine, mut codes) = instance.into_parts();
    for symbol in 0..machine.symbols.len() as u32 {
        machine.symbols.set_flag(symbol, flag::LOCKED);
    }
    machine.reset();
    machine.registers = Vec::new();
    machine.roots = Vec::new();
    machine.heap.freeze();
    machine.symbols.freeze();
    codes.freeze();
    StandardImage { machine, codes }
}
