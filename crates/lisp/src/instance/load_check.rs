//! A look at a whole text before it runs: what is outside the subset is found in its last line too, before its first
//! line has done anything. Definitions are carried out in a copy of the instance, everything else is only compiled.

use std::sync::Arc;

use super::Instance;
use crate::read::{FormReader, SourceTrust};
use crate::report::{LispError, LispErrorKind};
use crate::symbols::{SymbolHome, flag, well_known};
use crate::value::{NIL, Word};

impl Instance {
    /// Looks for names outside the subset in a text without running it. What cannot be told before a macro or a
    /// variable has its value is left to the run.
    ///
    /// # Errors
    /// The first thing outside the subset, with its place.
    pub fn check_names(&self, source: &str, file: &str) -> Result<(), LispError> {
        let mut copy =
            Self { machine: self.machine.clone(), codes: self.codes.clone(), form_nesting: 0 };
        copy.refuel();
        let text: Vec<char> = source.chars().collect();
        let file: Arc<str> = file.into();
        let mut reader = FormReader::new(&text, SourceTrust::Skill);
        loop {
            let form = match reader.read(&mut copy.machine) {
                Ok(Some(form)) => form,
                Ok(None) => return Ok(()),
                Err(failure) => return only_outside(copy.read_error(failure, &file)),
            };
            copy.machine.roots.push(form);
            let result = copy.check_form(form, &reader, &file, 0);
            copy.machine.roots.clear();
            if let Err(error) = result {
                only_outside(error)?;
            }
            reader.places.clear();
        }
    }

    fn check_form(
        &mut self,
        form: Word,
        reader: &FormReader<'_>,
        file: &Arc<str>,
        depth: usize,
    ) -> Result<(), LispError> {
        let head = self.machine.car(form).ok().and_then(Word::as_symbol);
        if let Some(symbol) = head.filter(|_| form.is_cons() && depth < MOST_EXPANSIONS) {
            if symbol == well_known::PROGN {
                let rest = self.machine.heap.pair(form).cdr;
                for form in self.machine.list_elements(rest).unwrap_or_default() {
                    self.check_form(form, reader, file, depth + 1)?;
                }
                return Ok(());
            }
            if self.machine.symbols.has(symbol, flag::MACRO) {
                let expander = self.machine.symbols.cells[symbol as usize].function;
                // A macro that fails, or that needs a value of a variable, is the run's business.
                let Ok(expansion) = self.machine.call(&self.codes, expander, &[form, NIL]) else {
                    return Ok(());
                };
                self.machine.roots.push(expansion);
                return self.check_form(expansion, reader, file, depth + 1);
            }
        }
        let function = self.compile_top_level(form, &reader.places, file, false)?;
        if head.is_some_and(|symbol| self.is_definition(symbol)) {
            let _definition = self.machine.call(&self.codes, function, &[]);
        }
        Ok(())
    }

    /// Whether forms of this name define, without doing anything else.
    fn is_definition(&self, symbol: u32) -> bool {
        let symbols = &self.machine.symbols;
        let is_system = symbols.home(symbol) == SymbolHome::System;
        is_system && DEFINERS.contains(&symbols.name(symbol))
            || matches!(symbol, well_known::DEFUN | well_known::DEFMACRO | well_known::DECLAIM)
    }
}

/// Nested macros and `progn` forms that are followed.
const MOST_EXPANSIONS: usize = 200;

/// Functions of the prelude that definitions expand into.
const DEFINERS: &[&str] =
    &["%PROCLAIM-SPECIAL", "%DEFINE-RECORD", "%DEFINE-ACCESSOR", "%SET-PLIST", "%ALIAS-TYPE"];

/// The error if it is one of the subset; all others show when the text runs.
fn only_outside(error: LispError) -> Result<(), LispError> {
    if error.kind == LispErrorKind::Outside { Err(error) } else { Ok(()) }
}
