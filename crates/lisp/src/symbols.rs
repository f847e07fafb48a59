//! Symbols: names, homes, value and function cells. Names of the shared image are in one table for
//! all instances; cells are the instance's own.

use std::collections::HashMap;
use std::sync::Arc;

use crate::value::{NIL, T, UNBOUND, Word};

/// Package that a symbol belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum SymbolHome {
    /// `COMMON-LISP`: every name of the standard, also those that are refused.
    Lisp = 0,
    Keyword = 1,
    /// The skill's own.
    User = 2,
    /// The functions that bridle adds.
    Bridle = 3,
    /// Uninterned.
    Nowhere = 4,
    /// Helpers of the prelude; no text of a skill can name them.
    System = 5,
}

const PACKAGE_COUNT: usize = 6;

/// Bytes of a symbol with a short name, in all tables.
const SYMBOL_BYTES: usize = 160;

/// Bits that say what a symbol stands for.
pub(crate) mod flag {
    /// Variables of this name are bound dynamically.
    pub(crate) const SPECIAL: u8 = 1;
    /// The value never changes.
    pub(crate) const CONSTANT: u8 = 2;
    /// The function cell holds a macro's expander.
    pub(crate) const MACRO: u8 = 4;
    /// Defined by the image: a skill may neither redefine nor assign it.
    pub(crate) const LOCKED: u8 = 8;
}

#[derive(Clone)]
struct SymbolName {
    name: Arc<str>,
    home: SymbolHome,
}

#[derive(Clone, Copy)]
pub(crate) struct SymbolCells {
    pub(crate) value: Word,
    pub(crate) function: Word,
}

#[derive(Clone, Default)]
struct NameTable {
    names: Vec<SymbolName>,
    by_name: [HashMap<Arc<str>, u32>; PACKAGE_COUNT],
}

/// Every symbol of an instance.
#[derive(Clone)]
pub(crate) struct SymbolTable {
    base: Arc<NameTable>,
    own: NameTable,
    pub(crate) cells: Vec<SymbolCells>,
    flags: Vec<u8>,
    pub(crate) plists: HashMap<u32, Word>,
}

impl SymbolTable {
    /// A table with the symbols that Rust code names, at the numbers it knows.
    pub(crate) fn new() -> Self {
        let mut symbols = Self {
            base: Arc::default(),
            own: NameTable::default(),
            cells: Vec::new(),
            flags: Vec::new(),
            plists: HashMap::new(),
        };
        for (number, (home, name)) in well_known::ALL.iter().enumerate() {
            let index = symbols.intern(*home, name);
            debug_assert_eq!(index as usize, number, "`{name}` is named twice");
        }
        symbols.define_constant(well_known::NIL, NIL);
        symbols.define_constant(well_known::T, T);
        symbols
    }

    /// Moves all names into the shared base; only for the image.
    pub(crate) fn freeze(&mut self) {
        self.base = Arc::new(std::mem::take(&mut self.own));
    }

    pub(crate) fn define_constant(&mut self, symbol: u32, value: Word) {
        self.cells[symbol as usize].value = value;
        self.set_flag(symbol, flag::CONSTANT | flag::SPECIAL);
    }

    fn entry(&self, symbol: u32) -> &SymbolName {
        let index = symbol as usize;
        match index.checked_sub(self.base.names.len()) {
            Some(own) => &self.own.names[own],
            None => &self.base.names[index],
        }
    }

    pub(crate) fn name(&self, symbol: u32) -> &str {
        &self.entry(symbol).name
    }

    pub(crate) fn home(&self, symbol: u32) -> SymbolHome {
        self.entry(symbol).home
    }

    pub(crate) fn find(&self, home: SymbolHome, name: &str) -> Option<u32> {
        let tables = [&self.base, &self.own];
        tables.iter().find_map(|table| table.by_name[home as usize].get(name)).copied()
    }

    pub(crate) fn intern(&mut self, home: SymbolHome, name: &str) -> u32 {
        if let Some(symbol) = self.find(home, name) {
            return symbol;
        }
        let symbol = self.make(home, name);
        let name = self.entry(symbol).name.clone();
        self.own.by_name[home as usize].insert(name, symbol);
        if home == SymbolHome::Keyword {
            self.define_constant(symbol, Word::symbol(symbol));
        }
        symbol
    }

    /// A symbol that no name finds.
    pub(crate) fn make(&mut self, home: SymbolHome, name: &str) -> u32 {
        self.own.names.push(SymbolName { name: name.into(), home });
        self.cells.push(SymbolCells { value: UNBOUND, function: UNBOUND });
        self.flags.push(0);
        self.cells.len() as u32 - 1
    }

    /// Bytes of names that the image does not share.
    pub(crate) fn own_bytes(&self) -> usize {
        self.own.names.len() * SYMBOL_BYTES
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether it came with the image.
    pub(crate) fn is_base(&self, symbol: u32) -> bool {
        (symbol as usize) < self.base.names.len()
    }

    pub(crate) fn keyword(&mut self, name: &str) -> Word {
        Word::symbol(self.intern(SymbolHome::Keyword, name))
    }

    pub(crate) fn has(&self, symbol: u32, flag: u8) -> bool {
        self.flags[symbol as usize] & flag != 0
    }

    pub(crate) fn set_flag(&mut self, symbol: u32, flag: u8) {
        self.flags[symbol as usize] |= flag;
    }

    pub(crate) fn clear_flag(&mut self, symbol: u32, flag: u8) {
        self.flags[symbol as usize] &= !flag;
    }
}

/// Symbols that Rust code names, with fixed numbers.
macro_rules! well_known {
    ($($home:ident { $($constant:ident = $name:literal),* $(,)? })*) => {
        /// Numbers of symbols that Rust code names.
        pub(crate) mod well_known {
            use super::SymbolHome;
            #[allow(dead_code, non_camel_case_types, clippy::upper_case_acronyms)]
            #[repr(u32)]
            enum SymbolNumber { $($($constant),*),* }
            $($(pub(crate) const $constant: u32 = SymbolNumber::$constant as u32;)*)*
            pub(super) const ALL: &[(SymbolHome, &str)] = &[$($((SymbolHome::$home, $name)),*),*];
        }
    };
}

well_known! {
    Lisp {
        NIL = "NIL", T = "T", QUOTE = "QUOTE", LAMBDA = "LAMBDA", FUNCTION = "FUNCTION", IF = "IF",
        PROGN = "PROGN", LET = "LET", LET_STAR = "LET*", SETQ = "SETQ", BLOCK = "BLOCK",
        RETURN_FROM = "RETURN-FROM", TAGBODY = "TAGBODY", GO = "GO", CATCH = "CATCH",
        UNWIND_PROTECT = "UNWIND-PROTECT", FLET = "FLET", LABELS = "LABELS",
        MACROLET = "MACROLET", SYMBOL_MACROLET = "SYMBOL-MACROLET", THE = "THE",
        LOCALLY = "LOCALLY", EVAL_WHEN = "EVAL-WHEN", MULTIPLE_VALUE_CALL = "MULTIPLE-VALUE-CALL",
        MULTIPLE_VALUE_PROG1 = "MULTIPLE-VALUE-PROG1", MULTIPLE_VALUE_BIND = "MULTIPLE-VALUE-BIND",
        MULTIPLE_VALUE_LIST = "MULTIPLE-VALUE-LIST", COND = "COND", AND = "AND", OR = "OR",
        WHEN = "WHEN", UNLESS = "UNLESS", DECLARE = "DECLARE", SPECIAL = "SPECIAL",
        TYPE = "TYPE", FUNCALL = "FUNCALL", APPLY = "APPLY", THROW = "THROW",         OPTIONAL = "&OPTIONAL", REST = "&REST", BODY = "&BODY", KEY = "&KEY", AUX = "&AUX",
        ALLOW_OTHER_KEYS = "&ALLOW-OTHER-KEYS", WHOLE = "&WHOLE", ENVIRONMENT = "&ENVIRONMENT",
        DEFUN = "DEFUN", DEFMACRO = "DEFMACRO", SETF = "SETF", LIST = "LIST",
        LIST_STAR = "LIST*", APPEND = "APPEND", CONS = "CONS", VECTOR = "VECTOR", STRING = "STRING",
        FORMAT = "FORMAT", ERROR = "ERROR", WARN = "WARN", SIGNAL = "SIGNAL",         DECLAIM = "DECLAIM",         PRINT_BASE = "*PRINT-BASE*", PRINT_RADIX = "*PRINT-RADIX*",         PRINT_LENGTH = "*PRINT-LENGTH*", PRINT_LEVEL = "*PRINT-LEVEL*", PRINT_CASE = "*PRINT-CASE*",
        PRINT_READABLY = "*PRINT-READABLY*", PRINT_PRETTY = "*PRINT-PRETTY*",
        PRINT_CIRCLE = "*PRINT-CIRCLE*", PRINT_ESCAPE = "*PRINT-ESCAPE*",         STANDARD_OUTPUT = "*STANDARD-OUTPUT*", ERROR_OUTPUT = "*ERROR-OUTPUT*",
                STAR = "*", SLASH = "/",
        SINGLE_FLOAT = "SINGLE-FLOAT", DOUBLE_FLOAT = "DOUBLE-FLOAT", INTEGER = "INTEGER",
        REAL = "REAL", RATIONAL = "RATIONAL", NUMBER = "NUMBER", SYMBOL = "SYMBOL",
        SEQUENCE = "SEQUENCE", CHARACTER = "CHARACTER", HASH_TABLE = "HASH-TABLE",
        FLOAT = "FLOAT", RATIO = "RATIO", FIXNUM = "FIXNUM", BIGNUM = "BIGNUM", BIT = "BIT",
        BOOLEAN = "BOOLEAN", KEYWORD = "KEYWORD", NULL = "NULL", ATOM = "ATOM", STREAM = "STREAM",
        SIMPLE_VECTOR = "SIMPLE-VECTOR", SIMPLE_STRING = "SIMPLE-STRING", ARRAY = "ARRAY",
        SIMPLE_ARRAY = "SIMPLE-ARRAY", COMPILED_FUNCTION = "COMPILED-FUNCTION",
        STANDARD_CHAR = "STANDARD-CHAR", BASE_CHAR = "BASE-CHAR", UNSIGNED_BYTE = "UNSIGNED-BYTE",
        STRUCTURE_OBJECT = "STRUCTURE-OBJECT",         EQ = "EQ", EQL = "EQL", EQUAL = "EQUAL",
        EQUALP = "EQUALP", MEMBER = "MEMBER", MOD = "MOD",
        VALUES = "VALUES",                 IN_PACKAGE = "IN-PACKAGE", GENSYM_COUNTER = "*GENSYM-COUNTER*",
    }
    Keyword {
        K_ALLOW_OTHER_KEYS = "ALLOW-OTHER-KEYS",
        K_UPCASE = "UPCASE", K_DOWNCASE = "DOWNCASE", K_CAPITALIZE = "CAPITALIZE",
        K_NULL = "NULL", K_TRUE = "TRUE", K_FALSE = "FALSE",
                    }
    System {
        NAMED_LAMBDA = "%NAMED-LAMBDA", BACKQUOTE = "%BACKQUOTE", COMMA = "%COMMA",
        COMMA_AT = "%COMMA-AT", COMMA_DOT = "%COMMA-DOT", REPORT = "%REPORT",
        TO_VECTOR = "%LIST-TO-VECTOR", CHECK_TYPE = "%CHECK-THE",
                VALUES_LIST = "%VALUES-LIST", DEFINE_MACRO = "%DEFINE-MACRO",
        DEFINE_FUNCTION = "%DEFINE-FUNCTION", MACRO_LAMBDA = "%MACRO-LAMBDA",
    }
}
