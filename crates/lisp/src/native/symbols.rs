//! Symbols, functions, definitions and identity.

use num_traits::Signed as _;

use super::{MANY, NativeFunction, native};
use crate::equality::{is_eql, is_function};
use crate::heap::HeapObject;
use crate::machine::Machine;
use crate::symbols::{SymbolHome, flag, well_known};
use crate::trap::{StepResult, TrapKind, outside};
use crate::types::condition;
use crate::value::{NIL, UNBOUND, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("eq", 2, 2, |m, a| Ok(Word::truth(m.argument(a, 0) == m.argument(a, 1)))),
    native("eql", 2, 2, |m, a| {
        m.charge(m.digit_steps(m.argument(a, 0)))?;
        Ok(Word::truth(is_eql(&m.heap, m.argument(a, 0), m.argument(a, 1))))
    }),
    native("equal", 2, 2, |m, a| m.is_equal(m.argument(a, 0), m.argument(a, 1)).map(Word::truth)),
    native("equalp", 2, 2, |m, a| m.is_equalp(m.argument(a, 0), m.argument(a, 1)).map(Word::truth)),
    native("not", 1, 1, |m, a| Ok(Word::truth(m.argument(a, 0).is_nil()))),
    native("null", 1, 1, |m, a| Ok(Word::truth(m.argument(a, 0).is_nil()))),
    native("identity", 1, 1, |m, a| Ok(m.argument(a, 0))),
    native("values", 0, MANY, |m, a| {
        let values = m.arguments(a).to_vec();
        Ok(m.return_values(&values))
    }),
    native("values-list", 1, 1, |m, a| {
        let values = m.list_elements(m.argument(a, 0))?;
        Ok(m.return_values(&values))
    }),
    native("%define-function", 3, 3, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        m.symbols.cells[symbol as usize].function = m.argument(a, 1);
        m.symbols.clear_flag(symbol, flag::MACRO);
        Ok(m.argument(a, 2))
    }),
    native("%define-macro", 2, 2, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        m.symbols.cells[symbol as usize].function = m.argument(a, 1);
        m.symbols.set_flag(symbol, flag::MACRO);
        Ok(m.argument(a, 0))
    }),
    native("%proclaim-special", 2, 2, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        if m.symbols.home(symbol) == SymbolHome::Lisp && m.symbols.has(symbol, flag::LOCKED) {
            return m.refuse(&format!("redefinition of {}", m.symbols.name(symbol)));
        }
        m.symbols.set_flag(symbol, flag::SPECIAL);
        if m.argument(a, 1).is_true() {
            m.symbols.set_flag(symbol, flag::CONSTANT);
        }
        Ok(m.argument(a, 0))
    }),
    native("%set-global", 2, 2, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        m.symbols.cells[symbol as usize].value = m.argument(a, 1);
        Ok(m.argument(a, 1))
    }),
    native("%has-value", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        Ok(Word::truth(m.symbols.cells[symbol as usize].value != UNBOUND))
    }),
    native("boundp", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let is_bound = m.symbols.cells[symbol as usize].value != UNBOUND;
        if !is_bound && m.symbols.home(symbol) == SymbolHome::Lisp {
            return m.refuse("BOUNDP of a name outside the subset");
        }
        Ok(Word::truth(is_bound))
    }),
    native("fboundp", 1, 1, |m, a| {
        let symbol = function_name(m, m.argument(a, 0))?;
        let function = m.symbols.cells[symbol as usize].function;
        let is_language = m.symbols.home(symbol) == SymbolHome::Lisp;
        if is_language && (function == UNBOUND || m.symbols.has(symbol, flag::MACRO)) {
            return m.refuse("FBOUNDP of a macro or of a name outside the subset");
        }
        Ok(if function == UNBOUND { NIL } else { function })
    }),
    native("symbol-value", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        match m.symbols.cells[symbol as usize].value {
            UNBOUND => Err(m.condition(condition::UNBOUND_VARIABLE, &[Word::symbol(symbol)])),
            value => Ok(value),
        }
    }),
    native("set", 2, 2, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        if m.symbols.has(symbol, flag::CONSTANT) {
            return Err(m.program_error("a constant cannot be assigned"));
        }
        m.symbols.cells[symbol as usize].value = m.argument(a, 1);
        Ok(m.argument(a, 1))
    }),
    native("makunbound", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        if m.symbols.is_base(symbol) {
            return m.refuse("MAKUNBOUND of a name of the language");
        }
        m.symbols.cells[symbol as usize].value = UNBOUND;
        Ok(Word::symbol(symbol))
    }),
    native("%function", 1, 1, |m, a| global_function(m, m.argument(a, 0))),
    native("symbol-function", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        named_function(m, Word::symbol(symbol))
    }),
    native("fdefinition", 1, 1, |m, a| {
        let symbol = function_name(m, m.argument(a, 0))?;
        named_function(m, Word::symbol(symbol))
    }),
    native("functionp", 1, 1, |m, a| Ok(Word::truth(is_function(&m.heap, m.argument(a, 0))))),
    native("%macro-function", 2, 2, |m, a| {
        let (name, environment) = (m.argument(a, 0), m.argument(a, 1));
        for entry in m.list_elements(environment)? {
            if m.car(entry)? == name {
                return m.cdr(entry);
            }
        }
        let Some(symbol) = name.as_symbol() else { return Ok(NIL) };
        let is_macro = m.symbols.has(symbol, flag::MACRO);
        Ok(if is_macro { m.symbols.cells[symbol as usize].function } else { NIL })
    }),
    native("symbol-name", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let name = m.symbols.name(symbol).to_owned();
        m.make_text(name)
    }),
    native("symbol-plist", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        Ok(m.symbols.plists.get(&symbol).copied().unwrap_or(NIL))
    }),
    native("%set-plist", 2, 2, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let plist = m.argument(a, 1);
        m.symbols.plists.insert(symbol, plist);
        Ok(plist)
    }),
    native("intern", 1, 2, |m, a| {
        if a.count > 1 {
            return m.refuse("INTERN into a package");
        }
        let name = m.string_argument(m.argument(a, 0))?;
        m.reserve(name.len() + 128)?;
        m.heap.bytes += name.len() + 128;
        let (symbol, how) = match m.symbols.find(SymbolHome::Lisp, &name) {
            Some(symbol) => (symbol, "INHERITED"),
            None => match m.symbols.find(SymbolHome::User, &name) {
                Some(symbol) => (symbol, "INTERNAL"),
                None => (m.symbols.intern(SymbolHome::User, &name), ""),
            },
        };
        let how = if how.is_empty() { NIL } else { m.symbols.keyword(how) };
        Ok(m.return_values(&[Word::symbol(symbol), how]))
    }),
    native("find-symbol", 1, 2, |m, a| {
        if a.count > 1 {
            return m.refuse("FIND-SYMBOL in a package");
        }
        let name = m.string_argument(m.argument(a, 0))?;
        let found = [(SymbolHome::Lisp, "INHERITED"), (SymbolHome::User, "INTERNAL")]
            .into_iter()
            .find_map(|(home, how)| m.symbols.find(home, &name).map(|symbol| (symbol, how)));
        let Some((symbol, how)) = found else { return Ok(m.return_values(&[NIL, NIL])) };
        let how = m.symbols.keyword(how);
        Ok(m.return_values(&[Word::symbol(symbol), how]))
    }),
    native("%constant-symbol-p", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        let is_constant = m.symbols.has(symbol, flag::CONSTANT);
        if !is_constant && m.symbols.home(symbol) == SymbolHome::Lisp {
            return m.refuse("CONSTANTP of a name outside the subset");
        }
        Ok(Word::truth(is_constant))
    }),
    native("%keyword", 1, 1, |m, a| {
        let name = m.designated_text(m.argument(a, 0))?.to_owned_string();
        m.heap.bytes += name.len() + 128;
        Ok(m.symbols.keyword(&name))
    }),
    native("make-symbol", 1, 1, |m, a| {
        let name = m.string_argument(m.argument(a, 0))?;
        make_symbol(m, &name)
    }),
    native("gensym", 0, 1, |m, a| {
        let counter = m.global(well_known::GENSYM_COUNTER);
        let given = m.optional(a, 0);
        let number = given.filter(|word| m.integer(*word).is_ok());
        let prefix = match given.filter(|_| number.is_none()) {
            Some(word) => m.string_argument(word)?,
            None => "G".to_owned(),
        };
        let shown = number.unwrap_or(counter);
        if m.integer(shown)?.is_negative() {
            return Err(m.type_error(shown, well_known::UNSIGNED_BYTE));
        }
        if number.is_none() {
            let next = m.add(counter, Word::fixnum(1))?;
            m.symbols.cells[well_known::GENSYM_COUNTER as usize].value = next;
        }
        let name = format!("{prefix}{}", m.print_to_string(shown));
        make_symbol(m, &name)
    }),
    // Symbols of expansions, which the program's counter does not see.
    native("%fresh", 0, 0, |m, _| make_symbol(m, "G")),
    native("%keywordp", 1, 1, |m, a| {
        let symbol = m.argument(a, 0).as_symbol();
        Ok(Word::truth(symbol.is_some_and(|symbol| m.symbols.home(symbol) == SymbolHome::Keyword)))
    }),
    native("%unhandled", 1, 1, |m, a| Err(Box::new(TrapKind::Unhandled(m.argument(a, 0))))),
    native("%outside", 1, 1, |m, a| {
        let name = m.string_argument(m.argument(a, 0))?;
        Err(outside(name))
    }),
    native("%program-error", 1, 1, |m, a| {
        let text = m.string_argument(m.argument(a, 0))?;
        Err(m.program_error(&text))
    }),
    native("%setf-name", 1, 1, |m, a| {
        let symbol = m.symbol_argument(m.argument(a, 0))?;
        Ok(Word::symbol(m.setf_function_symbol(symbol)))
    }),
    native("%lisp-symbol-p", 1, 1, |m, a| {
        let symbol = m.argument(a, 0).as_symbol();
        Ok(Word::truth(symbol.is_some_and(|symbol| m.symbols.home(symbol) == SymbolHome::Lisp)))
    }),
];

fn make_symbol(m: &mut Machine, name: &str) -> StepResult {
    m.heap.bytes += name.len() + 96;
    m.reserve(0)?;
    Ok(Word::symbol(m.symbols.make(SymbolHome::Nowhere, name)))
}

/// The symbol behind a function name, `(setf name)` included.
fn function_name(m: &mut Machine, word: Word) -> StepResult<u32> {
    if !word.is_cons() {
        return m.symbol_argument(word);
    }
    let (setf, rest) = (m.car(word)?, m.cdr(word)?);
    let is_proper = rest.is_cons() && m.heap.pair(rest).cdr.is_nil();
    let parts = if is_proper { vec![setf, m.heap.pair(rest).car] } else { Vec::new() };
    match parts.as_slice() {
        [setf, place] if *setf == Word::symbol(well_known::SETF) && place.is_symbol() => {
            if m.symbols.home(place.payload()) == SymbolHome::Lisp {
                return m.refuse("functions that assign places of the language");
            }
            Ok(m.setf_function_symbol(place.payload()))
        }
        _ => Err(m.type_error(word, well_known::SYMBOL)),
    }
}

/// The function of a symbol; macros and special operators are no values here.
fn named_function(m: &mut Machine, word: Word) -> StepResult {
    let symbol = m.symbol_argument(word)?;
    if m.symbols.has(symbol, flag::MACRO) {
        return m.refuse("SYMBOL-FUNCTION of a macro");
    }
    global_function(m, word)
}

fn global_function(m: &mut Machine, word: Word) -> StepResult {
    if is_function(&m.heap, word) {
        return Ok(word);
    }
    let symbol = m.symbol_argument(word)?;
    let function = m.symbols.cells[symbol as usize].function;
    if function == UNBOUND || m.symbols.has(symbol, flag::MACRO) {
        return Err(m.undefined_function(symbol));
    }
    Ok(function)
}

impl Machine {
    /// The symbol whose function assigns the place that `symbol` reads.
    pub(crate) fn setf_function_symbol(&mut self, symbol: u32) -> u32 {
        let name = format!("(SETF {}/{symbol})", self.symbols.name(symbol));
        self.symbols.intern(SymbolHome::System, &name)
    }

    /// Slots of a structure or condition.
    pub(crate) fn record(&self, word: Word) -> Option<(u32, &[Word])> {
        match self.heap.get(word) {
            Some(HeapObject::Structure(kind, slots)) => Some((*kind, slots)),
            _ => None,
        }
    }
}
