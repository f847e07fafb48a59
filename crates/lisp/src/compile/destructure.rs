//! Macro parameter lists: a pattern becomes a `let*` that takes a form apart.
//!
//! long: one walk over a pattern, whose state is eight variables.

use super::{COMPILE_DEPTH, CompileFailure, CompileResult, FormCompiler};
use crate::symbols::{SymbolHome, well_known};
use crate::trap::LimitKind;
use crate::value::{NIL, T, Word};

impl FormCompiler<'_> {
    /// The expander of a macro: a function of form and environment.
    pub(super) fn macro_lambda(
        &mut self,
        name: Word,
        pattern: Word,
        body: &[Word],
    ) -> CompileResult<Word> {
        let form = self.fresh("FORM");
        let environment = self.fresh("ENV");
        let mut bindings = Vec::new();
        let mut pattern = pattern;
        if pattern.is_cons()
            && self.machine.heap.pair(pattern).car == Word::symbol(well_known::WHOLE)
        {
            let rest = self.machine.heap.pair(pattern).cdr;
            if !rest.is_cons() {
                return Err(self.malformed(pattern));
            }
            let pair = self.machine.heap.pair(rest);
            // DESTRUCTURING-BIND has no name; its value is behind the place of a macro's name.
            let whole = if name.is_nil() { self.call("CDR", &[form]) } else { form };
            self.bind_pattern(pair.car, whole, environment, &mut bindings)?;
            pattern = pair.cdr;
        }
        let source = self.call("CDR", &[form]);
        self.destructure(pattern, source, environment, &mut bindings)?;
        let lets: Vec<Word> =
            bindings.into_iter().map(|(name, value)| self.list(&[name, value])).collect();
        let lets = self.list(&lets);
        let (_, rest) = self.split_declarations(body)?;
        let mut inner = vec![Word::symbol(well_known::LET_STAR), lets];
        inner.extend_from_slice(&body[..body.len() - rest.len()]);
        let mut block = vec![Word::symbol(well_known::BLOCK), name];
        block.extend_from_slice(&rest);
        let block = self.list(&block);
        inner.push(block);
        let inner = self.list(&inner);
        let parameters = self.list(&[form, environment]);
        let lambda = Word::symbol(well_known::NAMED_LAMBDA);
        let lambda = self.list(&[lambda, name, parameters, inner]);
        self.machine.roots.push(lambda);
        Ok(lambda)
    }

    fn fresh(&mut self, name: &str) -> Word {
        Word::symbol(self.machine.symbols.make(SymbolHome::Nowhere, name))
    }

    fn call(&mut self, name: &str, arguments: &[Word]) -> Word {
        let mut parts = vec![Word::symbol(self.machine.symbols.intern_designated(name))];
        parts.extend_from_slice(arguments);
        self.list(&parts)
    }

    fn quoted(&mut self, word: Word) -> Word {
        self.list(&[Word::symbol(well_known::QUOTE), word])
    }

    /// Adds the bindings that take `source` apart.
    fn destructure(
        &mut self,
        pattern: Word,
        source: Word,
        environment: Word,
        bindings: &mut Vec<(Word, Word)>,
    ) -> CompileResult<()> {
        let (mut items, tail) = self.machine.list_parts(pattern)?;
        if tail.is_true() {
            items.push(Word::symbol(well_known::REST));
            items.push(tail);
        }
        if items.first() == Some(&Word::symbol(well_known::WHOLE)) && items.len() > 1 {
            self.bind_pattern(items[1], source, environment, bindings)?;
            items.drain(..2);
        }
        // The environment is there before any default value.
        while let Some(at) =
            items.iter().position(|item| item.as_symbol() == Some(well_known::ENVIRONMENT))
        {
            if let Some(name) = items.get(at + 1) {
                bindings.push((*name, environment));
            }
            items.drain(at..(at + 2).min(items.len()));
        }
        let is_key = |item: &Word| {
            matches!(
                item.as_symbol(),
                Some(
                    well_known::OPTIONAL
                        | well_known::REST
                        | well_known::BODY
                        | well_known::KEY
                        | well_known::AUX
                        | well_known::ENVIRONMENT
                )
            )
        };
        let required = items.iter().take_while(|item| !is_key(item)).count();
        let optional = match items.get(required) {
            Some(item) if item.as_symbol() == Some(well_known::OPTIONAL) => {
                items[required + 1..].iter().take_while(|item| !is_key(item)).count()
            }
            _ => 0,
        };
        let is_open = items.iter().any(|item| {
            matches!(item.as_symbol(), Some(well_known::REST | well_known::BODY | well_known::KEY))
        });
        let most = if is_open { NIL } else { Word::count(required + optional) };
        let mut rest = self.fresh("REST");
        let has_keys = items.iter().any(|item| item.as_symbol() == Some(well_known::KEY));
        let takes_atoms = if is_open && !has_keys { Word::count(required + optional) } else { NIL };
        let checked = self.call("%CHECK-LIST", &[source, Word::count(required), most, takes_atoms]);
        bindings.push((rest, checked));
        let mut section = Word::symbol(NIL.payload());
        let mut keys = Vec::new();
        let mut allows = false;
        let mut at = 0;
        while at < items.len() {
            let item = items[at];
            at += 1;
            if item.as_symbol() == Some(well_known::ALLOW_OTHER_KEYS) {
                allows = true;
                continue;
            }
            if is_key(&item) {
                section = item;
                continue;
            }
            match section.as_symbol() {
                Some(well_known::REST | well_known::BODY) => {
                    self.bind_pattern(item, rest, environment, bindings)?;
                }
                Some(well_known::OPTIONAL) => {
                    let parts = if item.is_cons() { self.elements(item)? } else { vec![item] };
                    let given = self.call("CAR", &[rest]);
                    self.bind_default(&parts, rest, given, environment, bindings)?;
                    rest = self.next_rest(rest, bindings);
                }
                Some(well_known::KEY) => {
                    let parts = if item.is_cons() { self.elements(item)? } else { vec![item] };
                    let (keyword, name) = self.key_names(parts[0])?;
                    keys.push(keyword);
                    let found = self.fresh("FOUND");
                    let quoted = self.quoted(keyword);
                    let find = self.call("%FIND-KEY", &[rest, quoted]);
                    bindings.push((found, find));
                    let given = self.call("CADR", &[found]);
                    let mut named = parts.clone();
                    named[0] = name;
                    self.bind_default(&named, found, given, environment, bindings)?;
                }
                Some(well_known::AUX) => {
                    let parts = if item.is_cons() { self.elements(item)? } else { vec![item] };
                    bindings.push((parts[0], parts.get(1).copied().unwrap_or(NIL)));
                }
                _ => {
                    let first = self.call("CAR", &[rest]);
                    self.bind_pattern(item, first, environment, bindings)?;
                    rest = self.next_rest(rest, bindings);
                }
            }
        }
        if items.iter().any(|item| item.as_symbol() == Some(well_known::KEY)) {
            let keys = self.list(&keys);
            let keys = self.quoted(keys);
            let check = self.call("%CHECK-KEYS", &[rest, keys, if allows { T } else { NIL }]);
            let unused = self.fresh("KEYS");
            bindings.push((unused, check));
        }
        Ok(())
    }

    fn next_rest(&mut self, rest: Word, bindings: &mut Vec<(Word, Word)>) -> Word {
        let next = self.fresh("REST");
        let value = self.call("CDR", &[rest]);
        bindings.push((next, value));
        next
    }

    fn key_names(&mut self, name: Word) -> CompileResult<(Word, Word)> {
        if name.is_cons() {
            let pair = self.elements(name)?;
            return Ok((pair[0], pair.get(1).copied().unwrap_or(NIL)));
        }
        let text = self.machine.designated_text(name)?.to_owned_string();
        Ok((self.machine.symbols.keyword(&text), name))
    }

    /// Binds `(name default supplied)`; `given` counts when `test` is true.
    fn bind_default(
        &mut self,
        parts: &[Word],
        test: Word,
        given: Word,
        environment: Word,
        bindings: &mut Vec<(Word, Word)>,
    ) -> CompileResult<()> {
        let default = parts.get(1).copied().unwrap_or(NIL);
        let value = self.list(&[Word::symbol(well_known::IF), test, given, default]);
        self.bind_pattern(parts[0], value, environment, bindings)?;
        if let Some(supplied) = parts.get(2) {
            let value = self.list(&[Word::symbol(well_known::IF), test, T, NIL]);
            bindings.push((*supplied, value));
        }
        Ok(())
    }

    fn bind_pattern(
        &mut self,
        pattern: Word,
        value: Word,
        environment: Word,
        bindings: &mut Vec<(Word, Word)>,
    ) -> CompileResult<()> {
        if pattern.is_symbol() && pattern.is_true() {
            bindings.push((pattern, value));
            return Ok(());
        }
        if !pattern.is_cons() && pattern.is_true() {
            return Err(self.malformed(pattern));
        }
        // A pattern that a macro made may be as deep as it likes.
        if self.depth >= COMPILE_DEPTH {
            return Err(CompileFailure::Limit(LimitKind::Depth));
        }
        let inner = self.fresh("PART");
        bindings.push((inner, value));
        self.depth += 1;
        let result = self.destructure(pattern, inner, environment, bindings);
        self.depth -= 1;
        result
    }
}
