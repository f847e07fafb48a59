//! Backquote templates to calls of `list*` and `append`.

use super::{CompileResult, FormCompiler};
use crate::symbols::well_known;
use crate::value::{NIL, Word};

impl FormCompiler<'_> {
    pub(super) fn expand_backquote(&mut self, template: Word, depth: usize) -> CompileResult<Word> {
        self.machine.charge(1)?;
        if depth > 16 || self.depth > super::COMPILE_DEPTH {
            return self.program("backquotes nested too deeply");
        }
        if let Some(items) = self.machine.heap.vector(template).map(<[Word]>::to_vec) {
            let list = self.list(&items);
            let inner = self.expand_backquote(list, depth)?;
            return Ok(self.list(&[Word::symbol(well_known::TO_VECTOR), inner]));
        }
        if !template.is_cons() {
            return Ok(self.list(&[Word::symbol(well_known::QUOTE), template]));
        }
        let (head, inner) = self.marked(template);
        match head {
            Some(well_known::COMMA) if depth == 1 => return Ok(inner),
            Some(mark @ (well_known::COMMA | well_known::BACKQUOTE)) => {
                let next = if mark == well_known::COMMA { depth - 1 } else { depth + 1 };
                let inner = self.expand_backquote(inner, next)?;
                let mark = self.list(&[Word::symbol(well_known::QUOTE), Word::symbol(mark)]);
                return Ok(self.list(&[Word::symbol(well_known::LIST), mark, inner]));
            }
            Some(well_known::COMMA_AT | well_known::COMMA_DOT) if depth == 1 => {
                return self.program(",@ after a backquote or a dot");
            }
            _ => {}
        }
        self.depth += 1;
        let result = self.expand_list(template, depth);
        self.depth -= 1;
        result
    }

    /// Mark and argument of `(mark argument)`.
    fn marked(&self, form: Word) -> (Option<u32>, Word) {
        let pair = self.machine.heap.pair(form);
        let Some(
            symbol @ (well_known::COMMA
            | well_known::COMMA_AT
            | well_known::COMMA_DOT
            | well_known::BACKQUOTE),
        ) = pair.car.as_symbol()
        else {
            return (None, NIL);
        };
        if !pair.cdr.is_cons() {
            return (None, NIL);
        }
        (Some(symbol), self.machine.heap.pair(pair.cdr).car)
    }

    fn expand_list(&mut self, template: Word, depth: usize) -> CompileResult<Word> {
        let mut items = Vec::new();
        let mut tail = template;
        while tail.is_cons() {
            // A comma behind a dot is the end of the list.
            if !items.is_empty() && self.marked(tail).0.is_some() {
                break;
            }
            let pair = self.machine.heap.pair(tail);
            items.push(pair.car);
            tail = pair.cdr;
            self.machine.charge(1)?;
        }
        let mut result = if tail.is_nil() { NIL } else { self.expand_backquote(tail, depth)? };
        let mut plain: Vec<Word> = Vec::new();
        for item in items.into_iter().rev() {
            let mark = if item.is_cons() { self.marked(item) } else { (None, NIL) };
            let is_splice = matches!(mark.0, Some(well_known::COMMA_AT | well_known::COMMA_DOT));
            if is_splice && depth == 1 {
                result = self.close(&mut plain, result);
                result = if result.is_nil() {
                    mark.1
                } else {
                    self.list(&[Word::symbol(well_known::APPEND), mark.1, result])
                };
            } else if is_splice {
                let inner = self.expand_backquote(mark.1, depth - 1)?;
                let name = Word::symbol(mark.0.unwrap_or(well_known::COMMA_AT));
                let name = self.list(&[Word::symbol(well_known::QUOTE), name]);
                plain.push(self.machine.heap.list(&[Word::symbol(well_known::LIST), name, inner]));
            } else {
                plain.push(self.expand_backquote(item, depth)?);
            }
        }
        Ok(self.close(&mut plain, result))
    }

    /// `(list* items... rest)`, items in reverse.
    fn close(&mut self, plain: &mut Vec<Word>, rest: Word) -> Word {
        if plain.is_empty() {
            return rest;
        }
        let mut parts = vec![Word::symbol(if rest.is_nil() {
            well_known::LIST
        } else {
            well_known::LIST_STAR
        })];
        parts.extend(plain.drain(..).rev());
        if rest.is_true() {
            parts.push(rest);
        }
        self.list(&parts)
    }
}
