//! Special forms, and the macros that are simplest as such.
//!
//! long: one table of special forms.

use super::{
    BlockNode, CallTarget, CompileFailure, CompileResult, FormCompiler, FormNode, ScopeEntry,
    TagbodySegment, VariableBinding,
};
use crate::symbols::{SymbolHome, flag, well_known};
use crate::value::{NIL, T, Word, tag};

impl FormCompiler<'_> {
    /// The node of a special form; `None` for any other.
    pub(super) fn analyze_special(
        &mut self,
        symbol: u32,
        form: Word,
        arguments: Word,
    ) -> CompileResult<Option<FormNode>> {
        if !is_special(symbol) {
            return self.analyze_rare(symbol, form, arguments);
        }
        let parts = self.elements(arguments)?;
        let node = match (symbol, parts.as_slice()) {
            (well_known::QUOTE, [value]) => FormNode::Constant(*value),
            (well_known::IF, [test, yes, rest @ ..]) if rest.len() < 2 => {
                let no = rest.first().copied().unwrap_or(NIL);
                let (test, yes, no) =
                    (self.analyze(*test)?, self.analyze(*yes)?, self.analyze(no)?);
                FormNode::If(Box::new(test), Box::new(yes), Box::new(no))
            }
            (well_known::WHEN, [test, body @ ..]) => {
                let (test, body) = (self.analyze(*test)?, self.analyze_body(body)?);
                FormNode::If(Box::new(test), Box::new(body), Box::new(FormNode::Constant(NIL)))
            }
            (well_known::UNLESS, [test, body @ ..]) => {
                let (test, body) = (self.analyze(*test)?, self.analyze_body(body)?);
                FormNode::If(Box::new(test), Box::new(FormNode::Constant(NIL)), Box::new(body))
            }
            (well_known::COND, clauses) => self.analyze_cond(clauses)?,
            (well_known::AND, forms) => match forms {
                [] => FormNode::Constant(T),
                [one] => self.analyze(*one)?,
                _ => FormNode::And(self.analyze_each(forms)?),
            },
            (well_known::OR, forms) => match forms {
                [] => FormNode::Constant(NIL),
                [one] => self.analyze(*one)?,
                _ => FormNode::Or(self.analyze_each(forms)?),
            },
            (well_known::PROGN, forms) => self.analyze_body(forms)?,
            (well_known::LOCALLY, forms) => self.analyze_locally(forms)?,
            (well_known::LET, [bindings, body @ ..]) => self.analyze_let(*bindings, body, false)?,
            (well_known::LET_STAR, [bindings, body @ ..]) => {
                self.analyze_let(*bindings, body, true)?
            }
            (well_known::SETQ, pairs) => self.analyze_setq(pairs)?,
            (well_known::FUNCTION, [name]) => self.analyze_function(*name)?,
            (well_known::BLOCK, [name, body @ ..]) => self.analyze_block(*name, body)?,
            (well_known::RETURN_FROM, [name, rest @ ..]) if rest.len() < 2 => {
                self.analyze_return(*name, rest.first().copied().unwrap_or(NIL))?
            }
            (well_known::TAGBODY, forms) => self.analyze_tagbody(forms)?,
            (well_known::GO, [tag]) => self.analyze_go(*tag)?,
            (well_known::THE, [kind, value]) => self.analyze_the(*kind, *value)?,
            (well_known::FUNCALL, [function, arguments @ ..]) => {
                let target = self.analyze_target(*function)?;
                let arguments = self.analyze_each(arguments)?;
                self.funcall(target, arguments)?
            }
            (well_known::APPLY, [function, arguments @ ..]) if !arguments.is_empty() => {
                let target = self.analyze_target(*function)?;
                FormNode::Apply(target, self.analyze_each(arguments)?, self.place)
            }
            (well_known::MULTIPLE_VALUE_BIND, [names, values, body @ ..]) => {
                self.analyze_values_bind(*names, *values, body)?
            }
            (well_known::MULTIPLE_VALUE_LIST, [values]) => {
                FormNode::ValuesToList(Box::new(self.analyze(*values)?))
            }
            (well_known::MULTIPLE_VALUE_PROG1, [first, rest @ ..]) => {
                let (first, rest) = (self.analyze(*first)?, self.analyze_body(rest)?);
                FormNode::ValuesFirst(Box::new(first), Box::new(rest))
            }
            _ => return Err(self.malformed(form)),
        };
        Ok(Some(node))
    }

    fn analyze_rare(
        &mut self,
        symbol: u32,
        form: Word,
        arguments: Word,
    ) -> CompileResult<Option<FormNode>> {
        if !is_rare(symbol) {
            return Ok(None);
        }
        let parts = self.elements(arguments)?;
        let node = match (symbol, parts.as_slice()) {
            (well_known::LAMBDA | well_known::NAMED_LAMBDA, _) => self.analyze_lambda(form)?,
            (well_known::BACKQUOTE, [template]) => {
                let expansion = self.expand_backquote(*template, 1)?;
                self.machine.roots.push(expansion);
                self.analyze(expansion)?
            }
            (well_known::COMMA | well_known::COMMA_AT | well_known::COMMA_DOT, _) => {
                return self.program("comma not inside a backquote");
            }
            (well_known::FLET, [functions, body @ ..]) => {
                self.analyze_local_functions(*functions, body, false)?
            }
            (well_known::LABELS, [functions, body @ ..]) => {
                self.analyze_local_functions(*functions, body, true)?
            }
            (well_known::MACROLET, [macros, body @ ..]) => self.analyze_macrolet(*macros, body)?,
            (well_known::SYMBOL_MACROLET, [macros, body @ ..]) => {
                self.analyze_symbol_macrolet(*macros, body)?
            }
            (well_known::EVAL_WHEN, [situations, body @ ..]) => {
                let situations = self.elements(*situations)?;
                let is_run = situations.iter().any(|situation| {
                    let symbol = situation.as_symbol();
                    let name = symbol.map(|symbol| self.machine.symbols.name(symbol));
                    matches!(name, Some("EXECUTE" | "EVAL"))
                });
                if is_run { self.analyze_body(body)? } else { FormNode::Constant(NIL) }
            }
            (well_known::CATCH, [tag, body @ ..]) => {
                let (tag, body) = (self.analyze(*tag)?, self.analyze_body(body)?);
                FormNode::Catch(Box::new(tag), Box::new(body))
            }
            (well_known::THROW, [tag, value]) => {
                let (tag, value) = (self.analyze(*tag)?, self.analyze(*value)?);
                FormNode::Throw(Box::new(tag), Box::new(value), self.place)
            }
            (well_known::UNWIND_PROTECT, [body, cleanup @ ..]) => {
                self.analyze_cleanup(*body, cleanup)?
            }
            (well_known::MULTIPLE_VALUE_CALL, [function, forms @ ..]) => {
                self.analyze_values_call(*function, forms)?
            }
            (well_known::VALUES_LIST, [list]) => {
                FormNode::ListToValues(Box::new(self.analyze(*list)?))
            }
            (well_known::DEFUN, [name, parameters, body @ ..]) => {
                self.analyze_defun(*name, *parameters, body)?
            }
            (well_known::DEFMACRO, [name, pattern, body @ ..]) => {
                self.analyze_defmacro(*name, *pattern, body)?
            }
            (well_known::MACRO_LAMBDA, [name, pattern, body @ ..]) => {
                let lambda = self.macro_lambda(*name, *pattern, body)?;
                self.analyze(lambda)?
            }
            (well_known::DECLAIM, declarations) => self.analyze_declaim(declarations)?,
            (well_known::DECLARE, _) => return self.program("misplaced declaration"),
            (well_known::IN_PACKAGE, [name]) => self.analyze_in_package(*name)?,
            _ => return Err(self.malformed(form)),
        };
        Ok(Some(node))
    }

    pub(super) fn analyze_body(&mut self, forms: &[Word]) -> CompileResult<FormNode> {
        match forms {
            [] => Ok(FormNode::Constant(NIL)),
            [one] => self.analyze(*one),
            _ => Ok(FormNode::Sequence(self.analyze_each(forms)?)),
        }
    }

    fn analyze_cond(&mut self, clauses: &[Word]) -> CompileResult<FormNode> {
        let mut parts = Vec::new();
        for clause in clauses {
            let clause = self.elements(*clause)?;
            let [test, body @ ..] = clause.as_slice() else {
                return self.program("an empty COND clause");
            };
            let test = self.analyze(*test)?;
            let body = if body.is_empty() { None } else { Some(self.analyze_body(body)?) };
            parts.push((test, body));
        }
        let mut node = FormNode::Constant(NIL);
        for (test, body) in parts.into_iter().rev() {
            node = match body {
                Some(body) => FormNode::If(Box::new(test), Box::new(body), Box::new(node)),
                None => FormNode::Or(vec![test, node]),
            };
        }
        Ok(node)
    }

    fn analyze_setq(&mut self, pairs: &[Word]) -> CompileResult<FormNode> {
        if pairs.len() % 2 == 1 {
            return self.program("odd number of arguments to SETQ");
        }
        let mut nodes = Vec::new();
        for pair in pairs.chunks_exact(2) {
            let Some(symbol) = pair[0].as_symbol() else {
                return self.program("SETQ of something that is no symbol");
            };
            if let Some(expansion) = self.symbol_macro(symbol) {
                let form = self.list(&[Word::symbol(well_known::SETF), expansion, pair[1]]);
                self.machine.roots.push(form);
                nodes.push(self.analyze(form)?);
                continue;
            }
            let value = self.analyze(pair[1])?;
            match self.lexical(symbol) {
                Some(variable) => {
                    self.variables[variable].is_assigned = true;
                    nodes.push(FormNode::SetLocal(variable, Box::new(value)));
                }
                None => {
                    self.check_assignable(symbol)?;
                    nodes.push(FormNode::SetGlobal(symbol, Box::new(value)));
                }
            }
        }
        Ok(match nodes.len() {
            0 => FormNode::Constant(NIL),
            1 => nodes.remove(0),
            _ => FormNode::Sequence(nodes),
        })
    }

    fn check_assignable(&mut self, symbol: u32) -> CompileResult<()> {
        let symbols = &self.machine.symbols;
        if symbols.has(symbol, flag::CONSTANT) {
            let name = symbols.name(symbol).to_owned();
            return self.program(format!("{name} is a constant"));
        }
        if symbols.home(symbol) == SymbolHome::Lisp && !symbols.has(symbol, flag::SPECIAL) {
            return self.outside(symbols.name(symbol));
        }
        Ok(())
    }

    fn analyze_function(&mut self, name: Word) -> CompileResult<FormNode> {
        if name.is_cons() {
            let head = self.machine.heap.pair(name).car;
            if head == Word::symbol(well_known::LAMBDA)
                || head == Word::symbol(well_known::NAMED_LAMBDA)
            {
                return self.analyze_lambda(name);
            }
        }
        let symbol = self.function_name(name)?;
        if let Some(variable) = self.local_function(Word::symbol(symbol)) {
            return Ok(FormNode::Local(variable));
        }
        let function = self.machine.symbols.cells[symbol as usize].function;
        let is_macro = self.machine.symbols.has(symbol, flag::MACRO);
        if self.machine.symbols.home(symbol) == SymbolHome::Lisp && !self.is_prelude {
            if is_macro || is_special(symbol) && function == crate::value::UNBOUND {
                let name = self.machine.symbols.name(symbol).to_owned();
                return self.program(format!("{name} is no function"));
            }
            if function == crate::value::UNBOUND {
                return self.outside(self.machine.symbols.name(symbol));
            }
            if matches!(function.tag(), tag::NATIVE | tag::CODE) {
                return Ok(FormNode::Constant(function));
            }
        }
        let lookup = self.machine.symbols.intern(SymbolHome::System, "%FUNCTION");
        self.call_global(lookup, vec![FormNode::Constant(Word::symbol(symbol))])
    }

    /// The symbol that stands for a function name, `(setf name)` included.
    pub(super) fn function_name(&mut self, name: Word) -> CompileResult<u32> {
        if let Some(symbol) = name.as_symbol() {
            return Ok(symbol);
        }
        let parts = self.elements(name)?;
        match parts.as_slice() {
            [setf, place] if *setf == Word::symbol(well_known::SETF) && place.is_symbol() => {
                Ok(self.machine.setf_function_symbol(place.payload()))
            }
            _ => Err(self.malformed(name)),
        }
    }

    /// Function that `funcall` or `apply` calls, directly when it is named.
    fn analyze_target(&mut self, form: Word) -> CompileResult<CallTarget> {
        let node = self.analyze(form)?;
        Ok(match node {
            FormNode::Constant(word) if word.tag() == tag::NATIVE => {
                CallTarget::Native(word.payload())
            }
            FormNode::Local(variable) if self.variables[variable].holds.is_some() => {
                CallTarget::Local(variable)
            }
            FormNode::Constant(word) if word.is_symbol() && word.is_true() => {
                let symbol = word.payload();
                let symbols = &self.machine.symbols;
                let is_missing = symbols.cells[symbol as usize].function == crate::value::UNBOUND;
                if symbols.home(symbol) == SymbolHome::Lisp && is_missing && !self.is_prelude {
                    return self.outside(symbols.name(symbol));
                }
                CallTarget::Node(Box::new(FormNode::Constant(word)))
            }
            node => CallTarget::Node(Box::new(node)),
        })
    }

    fn funcall(
        &mut self,
        target: CallTarget,
        mut arguments: Vec<FormNode>,
    ) -> CompileResult<FormNode> {
        if arguments.len() <= 200 {
            return Ok(FormNode::Call(target, arguments, self.place));
        }
        let rest = arguments.split_off(100);
        let list = self.call_global(well_known::LIST, rest)?;
        arguments.push(list);
        Ok(FormNode::Apply(target, arguments, self.place))
    }

    fn analyze_block(&mut self, name: Word, body: &[Word]) -> CompileResult<FormNode> {
        let Some(symbol) = name.as_symbol() else { return self.program("a block without a name") };
        let block = self.new_block();
        self.scope.push(ScopeEntry::Block(symbol, block));
        let body = self.analyze_body(body);
        self.scope.pop();
        Ok(FormNode::Block(block, Box::new(body?)))
    }

    fn new_block(&mut self) -> usize {
        let token = self.new_variable();
        self.blocks.push(BlockNode {
            function: self.current,
            token,
            has_far_exits: false,
            cleanups: self.cleanups,
        });
        self.blocks.len() - 1
    }

    /// Notes an exit to a block; from another function, or across a cleanup, it is a far one.
    fn use_block(&mut self, block: usize) {
        let node = &self.blocks[block];
        if node.function != self.current || node.cleanups != self.cleanups {
            let token = node.token;
            self.blocks[block].has_far_exits = true;
            self.use_variable(token);
        }
    }

    fn analyze_return(&mut self, name: Word, value: Word) -> CompileResult<FormNode> {
        let found = self.scope.iter().rev().find_map(|entry| match entry {
            ScopeEntry::Block(known, block) if Word::symbol(*known) == name => Some(*block),
            _ => None,
        });
        let Some(block) = found else {
            let text = self.machine.print_to_string(name);
            return self.program(format!("return for unknown block: {text}"));
        };
        let value = self.analyze(value)?;
        self.use_block(block);
        Ok(FormNode::ReturnFrom(block, Box::new(value)))
    }

    fn analyze_tagbody(&mut self, forms: &[Word]) -> CompileResult<FormNode> {
        let block = self.new_block();
        let before = self.scope.len();
        let is_tag = |word: &Word| word.is_symbol() || word.is_fixnum();
        for (number, tag) in forms.iter().filter(|form| is_tag(form)).enumerate() {
            self.scope.push(ScopeEntry::Tag(*tag, block, number));
        }
        let mut segments = Vec::new();
        let mut number = 0;
        for form in forms {
            if is_tag(form) {
                segments.push(TagbodySegment::Tag(number));
                number += 1;
                continue;
            }
            match self.analyze(*form) {
                Ok(node) => segments.push(TagbodySegment::Form(node)),
                Err(failure) => {
                    self.scope.truncate(before);
                    return Err(failure);
                }
            }
        }
        self.scope.truncate(before);
        Ok(FormNode::Tagbody(block, segments))
    }

    fn analyze_go(&mut self, tag: Word) -> CompileResult<FormNode> {
        let found = self.scope.iter().rev().find_map(|entry| match entry {
            ScopeEntry::Tag(known, block, number) if *known == tag => Some((*block, *number)),
            _ => None,
        });
        let Some((block, number)) = found else {
            return self.program("attempt to GO to nonexistent tag");
        };
        self.use_block(block);
        Ok(FormNode::Go(block, number))
    }

    fn analyze_the(&mut self, kind: Word, value: Word) -> CompileResult<FormNode> {
        let value = self.analyze(value)?;
        let is_values =
            kind.is_cons() && self.machine.heap.pair(kind).car == Word::symbol(well_known::VALUES);
        if is_values || kind == T {
            return Ok(value);
        }
        let arguments = vec![value, FormNode::Constant(kind)];
        self.call_global(well_known::CHECK_TYPE, arguments)
    }

    fn analyze_values_bind(
        &mut self,
        names: Word,
        values: Word,
        body: &[Word],
    ) -> CompileResult<FormNode> {
        let names = self.elements(names)?;
        let values = self.analyze(values)?;
        let (declarations, body) = self.split_declarations(body)?;
        let before = self.scope.len();
        let mut variables = Vec::new();
        let mut specials = Vec::new();
        for name in names {
            let Some(symbol) = name.as_symbol() else {
                return self.program("a variable that is no symbol");
            };
            let variable = self.new_variable();
            variables.push(variable);
            if self.is_special_here(symbol, &declarations) {
                specials.push(VariableBinding::Dynamic(symbol, FormNode::Local(variable)));
                self.scope.push(ScopeEntry::Special(symbol));
            } else {
                self.scope.push(ScopeEntry::Variable(symbol, variable));
            }
        }
        let body = self.analyze_declared(&declarations, &body, before)?;
        let body = if specials.is_empty() { body } else { FormNode::Let(specials, Box::new(body)) };
        Ok(FormNode::ValuesBind(variables, Box::new(values), Box::new(body)))
    }

    fn analyze_values_call(&mut self, function: Word, forms: &[Word]) -> CompileResult<FormNode> {
        let target = self.analyze_target(function)?;
        let mut lists = Vec::new();
        for form in forms {
            lists.push(FormNode::ValuesToList(Box::new(self.analyze(*form)?)));
        }
        let all = self.call_global(well_known::APPEND, lists)?;
        Ok(FormNode::Apply(target, vec![all], self.place))
    }

    fn analyze_cleanup(&mut self, body: Word, cleanup: &[Word]) -> CompileResult<FormNode> {
        let lambda = [Word::symbol(well_known::LAMBDA), NIL];
        let forms = self.list(cleanup);
        let lambda = self.machine.heap.list_with_tail(&lambda, forms);
        self.machine.roots.push(lambda);
        let FormNode::Function(function) = self.analyze_lambda(lambda)? else {
            return self.program("a cleanup that is no function");
        };
        self.cleanups += 1;
        let body = self.analyze(body);
        self.cleanups -= 1;
        Ok(FormNode::Cleanup(Box::new(body?), function))
    }

    fn analyze_declaim(&mut self, declarations: &[Word]) -> CompileResult<FormNode> {
        for declaration in declarations {
            let parts = self.elements(*declaration)?;
            if parts.first() == Some(&Word::symbol(well_known::SPECIAL)) {
                for name in &parts[1..] {
                    if let Some(symbol) = name.as_symbol() {
                        self.machine.symbols.set_flag(symbol, flag::SPECIAL);
                    }
                }
            }
        }
        Ok(FormNode::Constant(NIL))
    }

    /// The skill's own package is the only one there is.
    fn analyze_in_package(&mut self, name: Word) -> CompileResult<FormNode> {
        let text = self.machine.designated_text(name)?.to_owned_string();
        match text.as_str() {
            "CL-USER" | "COMMON-LISP-USER" => Ok(FormNode::Constant(NIL)),
            _ => self.outside(format!("package {text}")),
        }
    }

    /// Rejects names that belong to the language.
    pub(super) fn check_definable(&mut self, symbol: u32, what: &str) -> CompileResult<()> {
        let symbols = &self.machine.symbols;
        if self.is_prelude
            || !symbols.is_base(symbol)
            || symbols.home(symbol) == SymbolHome::Nowhere
        {
            return Ok(());
        }
        let name = symbols.name(symbol).to_owned();
        Err(CompileFailure::Outside(format!("{what} {name}"), self.place))
    }
}

fn is_special(symbol: u32) -> bool {
    matches!(
        symbol,
        well_known::QUOTE
            | well_known::IF
            | well_known::WHEN
            | well_known::UNLESS
            | well_known::COND
            | well_known::AND
            | well_known::OR
            | well_known::PROGN
            | well_known::LOCALLY
            | well_known::LET
            | well_known::LET_STAR
            | well_known::SETQ
            | well_known::FUNCTION
            | well_known::BLOCK
            | well_known::RETURN_FROM
            | well_known::TAGBODY
            | well_known::GO
            | well_known::THE
            | well_known::FUNCALL
            | well_known::APPLY
            | well_known::MULTIPLE_VALUE_BIND
            | well_known::MULTIPLE_VALUE_LIST
            | well_known::MULTIPLE_VALUE_PROG1
    )
}

fn is_rare(symbol: u32) -> bool {
    matches!(
        symbol,
        well_known::LAMBDA
            | well_known::NAMED_LAMBDA
            | well_known::BACKQUOTE
            | well_known::COMMA
            | well_known::COMMA_AT
            | well_known::COMMA_DOT
            | well_known::FLET
            | well_known::LABELS
            | well_known::MACROLET
            | well_known::SYMBOL_MACROLET
            | well_known::EVAL_WHEN
            | well_known::CATCH
            | well_known::THROW
            | well_known::UNWIND_PROTECT
            | well_known::MULTIPLE_VALUE_CALL
            | well_known::VALUES_LIST
            | well_known::DEFUN
            | well_known::DEFMACRO
            | well_known::MACRO_LAMBDA
            | well_known::DECLAIM
            | well_known::DECLARE
            | well_known::IN_PACKAGE
    )
}
