//! Functions written in Rust: one table, made of the tables of the files below. None of them calls
//! back into Lisp: whatever takes a function is written in Lisp, in `prelude/`.

pub(crate) mod characters;
pub(crate) mod codec;
pub(crate) mod conditions;
pub(crate) mod json;
pub(crate) mod lists;
pub(crate) mod numbers;
pub(crate) mod printing;
pub(crate) mod regex;
pub(crate) mod sequences;
pub(crate) mod strings;
pub(crate) mod symbols;
pub(crate) mod tables;
pub(crate) mod typing;

use crate::machine::{ArgumentWindow, Machine};
use crate::trap::StepResult;

/// A function written in Rust.
#[derive(Clone, Copy)]
pub(crate) struct NativeFunction {
    /// As in Lisp, lower case; `%name` is for the prelude alone, `bridle:name` is bridle's.
    pub(crate) name: &'static str,
    pub(crate) least: u16,
    pub(crate) most: u16,
    pub(crate) function: fn(&mut Machine, ArgumentWindow) -> StepResult,
}

/// Any number of arguments.
pub(crate) const MANY: u16 = u16::MAX;

pub(crate) const fn native(
    name: &'static str,
    least: u16,
    most: u16,
    function: fn(&mut Machine, ArgumentWindow) -> StepResult,
) -> NativeFunction {
    NativeFunction { name, least, most, function }
}

const TABLES: [&[NativeFunction]; 11] = [
    symbols::TABLE,
    typing::TABLE,
    numbers::TABLE,
    lists::TABLE,
    sequences::TABLE,
    strings::TABLE,
    tables::TABLE,
    printing::TABLE,
    conditions::TABLE,
    json::TABLE,
    codec::TABLE,
];

const fn count() -> usize {
    let (mut total, mut at) = (regex::TABLE.len(), 0);
    while at < TABLES.len() {
        total += TABLES[at].len();
        at += 1;
    }
    total
}

/// All of them; a function's number is its position.
pub(crate) static NATIVES: [NativeFunction; count()] = {
    let mut all = [symbols::TABLE[0]; count()];
    let (mut table, mut next) = (0, 0);
    while table <= TABLES.len() {
        let part = if table == TABLES.len() { regex::TABLE } else { TABLES[table] };
        let mut at = 0;
        while at < part.len() {
            all[next] = part[at];
            next += 1;
            at += 1;
        }
        table += 1;
    }
    all
};

impl Machine {
    /// Value of a keyword argument behind the first `from` arguments.
    pub(crate) fn key(
        &self,
        arguments: ArgumentWindow,
        from: usize,
        name: &str,
    ) -> Option<crate::value::Word> {
        let rest = self.arguments(arguments).get(from..)?;
        let found = rest.chunks_exact(2).find(|pair| {
            pair[0].as_symbol().is_some_and(|symbol| self.symbols.name(symbol) == name)
        });
        found.map(|pair| pair[1])
    }
}
