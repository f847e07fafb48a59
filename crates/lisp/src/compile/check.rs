//! What a call's constant arguments show at load: format strings with directives that are refused.

use super::{CompileResult, FormCompiler};
use crate::symbols::well_known;
use crate::value::Word;

impl FormCompiler<'_> {
    pub(super) fn check_call(&mut self, symbol: u32, arguments: &[Word]) -> CompileResult<()> {
        let control = match symbol {
            well_known::FORMAT => arguments.get(1),
            well_known::ERROR | well_known::WARN | well_known::SIGNAL => arguments.first(),
            _ => None,
        };
        let Some(control) = control else { return Ok(()) };
        let Some(text) = self.machine.heap.text(*control) else { return Ok(()) };
        let text = text.to_owned_string();
        match crate::format::refused_directive(&text) {
            Some(directive) => self.outside(format!("FORMAT directive {directive}")),
            None => Ok(()),
        }
    }
}
