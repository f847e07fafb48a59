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
pub(crate) mod requests;
pub(crate) mod sequences;
pub(crate) mod strings;
pub(crate) mod symbols;
pub(crate) mod tables;
pub(crate) mod typing;

use crate::machine::{ArgumentWindow, Machine};
use crate::symbols::{SymbolHome, well_known};
use crate::trap::StepResult;
use crate::value::Word;

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

const TABLES: [&[NativeFunction]; 12] = [
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
    requests::TABLE,
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
    /// Rejects an odd number of keyword arguments behind the first `from`, and unknown ones.
    pub(crate) fn check_keys(
        &mut self,
        arguments: ArgumentWindow,
        from: usize,
        known: &[&str],
    ) -> StepResult<()> {
        if arguments.count <= from {
            return Ok(());
        }
        let rest = &self.arguments(arguments)[from..];
        if rest.len() % 2 == 1 {
            return Err(self.program_error("odd number of &KEY arguments"));
        }
        let allow = Word::symbol(well_known::K_ALLOW_OTHER_KEYS);
        let is_allowed = rest
            .chunks_exact(2)
            .find(|pair| pair[0] == allow)
            .is_some_and(|pair| pair[1].is_true());
        let is_known = |word: Word| {
            word.as_symbol().is_some_and(|symbol| {
                self.symbols.home(symbol) == SymbolHome::Keyword
                    && (word == allow || known.contains(&self.symbols.name(symbol)))
            })
        };
        if is_allowed || rest.chunks_exact(2).all(|pair| is_known(pair[0])) {
            return Ok(());
        }
        Err(self.program_error("unknown &KEY argument"))
    }

    /// Value of a keyword argument behind the first `from` arguments.
    pub(crate) fn key(&self, arguments: ArgumentWindow, from: usize, name: &str) -> Option<Word> {
        let rest = self.arguments(arguments).get(from..)?;
        let found = rest.chunks_exact(2).find(|pair| {
            pair[0].as_symbol().is_some_and(|symbol| self.symbols.name(symbol) == name)
        });
        found.map(|pair| pair[1])
    }
}
