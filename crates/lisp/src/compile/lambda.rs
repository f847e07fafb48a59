//! Functions, variables and their declarations; local functions and macros.

use std::collections::HashSet;

use super::{
    CompileResult, DefaultedParameter, FormCompiler, FormNode, FunctionParameter, ScopeEntry,
    VariableBinding, VariableId,
};
use crate::symbols::{flag, well_known};
use crate::value::{NIL, T, Word};

/// Declarations at the head of a body.
#[derive(Default)]
pub(super) struct BodyDeclarations {
    specials: Vec<u32>,
    types: Vec<(u32, Word)>,
}

/// Part of a parameter list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterSection {
    Required,
    Optional,
    Rest,
    AfterRest,
    Key,
    Auxiliary,
}

impl FormCompiler<'_> {
    pub(super) fn split_declarations(
        &mut self,
        body: &[Word],
    ) -> CompileResult<(BodyDeclarations, Vec<Word>)> {
        let mut declarations = BodyDeclarations::default();
        let mut at = 0;
        while at < body.len() {
            let is_text = self.machine.heap.text(body[at]).is_some();
            if is_text && at + 1 < body.len() {
                at += 1;
                continue;
            }
            let is_declaration = body[at].is_cons()
                && self.machine.heap.pair(body[at]).car == Word::symbol(well_known::DECLARE);
            if !is_declaration {
                break;
            }
            for declaration in self.elements(body[at])?.into_iter().skip(1) {
                self.note_declaration(declaration, &mut declarations)?;
            }
            at += 1;
        }
        Ok((declarations, body[at..].to_vec()))
    }

    fn note_declaration(&mut self, form: Word, into: &mut BodyDeclarations) -> CompileResult<()> {
        let parts = self.elements(form)?;
        let Some(head) = parts.first().copied() else { return Ok(()) };
        let (kind, names) = match head.as_symbol() {
            Some(well_known::SPECIAL) => {
                into.specials.extend(parts[1..].iter().filter_map(|name| name.as_symbol()));
                return Ok(());
            }
            Some(well_known::TYPE) if parts.len() > 1 => (parts[1], &parts[2..]),
            Some(symbol) if is_type_declaration(symbol) => (head, &parts[1..]),
            None if head.is_cons() => (head, &parts[1..]),
            _ => return Ok(()),
        };
        into.types.extend(names.iter().filter_map(|name| Some((name.as_symbol()?, kind))));
        Ok(())
    }

    pub(super) fn is_special_here(&self, symbol: u32, declarations: &BodyDeclarations) -> bool {
        self.machine.symbols.has(symbol, flag::SPECIAL) || declarations.specials.contains(&symbol)
    }

    /// Analyzes a body under its declarations, then leaves the scope at `before`.
    pub(super) fn analyze_declared(
        &mut self,
        declarations: &BodyDeclarations,
        body: &[Word],
        before: usize,
    ) -> CompileResult<FormNode> {
        for symbol in &declarations.specials {
            self.scope.push(ScopeEntry::Special(*symbol));
        }
        let mut nodes = Vec::new();
        for (symbol, kind) in &declarations.types {
            if let Some(variable) = self.lexical(*symbol)
                && *kind != T
            {
                let arguments = vec![FormNode::Local(variable), FormNode::Constant(*kind)];
                nodes.push(self.call_global(well_known::CHECK_TYPE, arguments)?);
            }
        }
        let body = self.analyze_body(body);
        self.scope.truncate(before);
        let body = body?;
        if nodes.is_empty() {
            return Ok(body);
        }
        nodes.push(body);
        Ok(FormNode::Sequence(nodes))
    }

    pub(super) fn analyze_locally(&mut self, forms: &[Word]) -> CompileResult<FormNode> {
        let (declarations, body) = self.split_declarations(forms)?;
        let before = self.scope.len();
        self.analyze_declared(&declarations, &body, before)
    }

    fn check_variable(&mut self, name: Word) -> CompileResult<u32> {
        match name.as_symbol() {
            Some(symbol) if !self.machine.symbols.has(symbol, flag::CONSTANT) => Ok(symbol),
            _ => {
                let text = self.machine.print_to_string(name);
                self.program(format!("{text} cannot be a variable"))
            }
        }
    }

    fn bound_twice<T>(&mut self, name: Word) -> CompileResult<T> {
        let text = self.machine.print_to_string(name);
        self.program(format!("the variable {text} is bound twice"))
    }

    pub(super) fn analyze_let(
        &mut self,
        bindings: Word,
        body: &[Word],
        is_sequential: bool,
    ) -> CompileResult<FormNode> {
        let (declarations, body) = self.split_declarations(body)?;
        let before = self.scope.len();
        let mut nodes = Vec::new();
        let (mut names, mut bound) = (Vec::new(), HashSet::new());
        for binding in self.elements(bindings)? {
            let parts = if binding.is_cons() { self.elements(binding)? } else { vec![binding] };
            if parts.is_empty() || parts.len() > 2 {
                return Err(self.malformed(binding));
            }
            let symbol = self.check_variable(parts[0])?;
            if !is_sequential && !bound.insert(symbol) {
                return self.bound_twice(parts[0]);
            }
            let value = match parts.get(1) {
                Some(form) => self.analyze(*form)?,
                None => FormNode::Constant(NIL),
            };
            let (entry, node) = if self.is_special_here(symbol, &declarations) {
                (ScopeEntry::Special(symbol), VariableBinding::Dynamic(symbol, value))
            } else {
                let variable = self.new_variable();
                (ScopeEntry::Variable(symbol, variable), VariableBinding::Lexical(variable, value))
            };
            nodes.push(node);
            if is_sequential { self.scope.push(entry) } else { names.push(entry) }
        }
        self.scope.extend(names);
        let mut body = self.analyze_declared(&declarations, &body, before)?;
        if !is_sequential || !nodes.iter().any(|node| matches!(node, VariableBinding::Dynamic(..)))
        {
            return Ok(FormNode::Let(nodes, Box::new(body)));
        }
        // Dynamic bindings in sequence: each inside the one before.
        while let Some(node) = nodes.pop() {
            body = FormNode::Let(vec![node], Box::new(body));
        }
        Ok(body)
    }

    /// `(lambda parameters . body)` or `(%named-lambda name parameters . body)`.
    pub(super) fn analyze_lambda(&mut self, form: Word) -> CompileResult<FormNode> {
        let parts = self.elements(form)?;
        let is_named = parts[0] == Word::symbol(well_known::NAMED_LAMBDA);
        let skip = if is_named { 2 } else { 1 };
        let name = if is_named { parts[1] } else { Word::symbol(well_known::LAMBDA) };
        let Some(parameters) = parts.get(skip).copied() else {
            return Err(self.malformed(form));
        };
        self.analyze_parts(name, parameters, &parts[skip + 1..]).map(FormNode::Function)
    }

    fn analyze_parts(
        &mut self,
        name: Word,
        parameters: Word,
        body: &[Word],
    ) -> CompileResult<usize> {
        let (declarations, body) = self.split_declarations(body)?;
        let outer = (self.current, self.cleanups, self.scope.len());
        let function = self.new_function(name, Some(self.current));
        self.current = function;
        self.cleanups = 0;
        let result = self.analyze_parameters(function, parameters, &declarations).and_then(|()| {
            let before = self.scope.len();
            self.analyze_declared(&declarations, &body, before)
        });
        (self.current, self.cleanups) = (outer.0, outer.1);
        self.scope.truncate(outer.2);
        self.functions[function].body = Some(result?);
        Ok(function)
    }

    fn parameter(
        &mut self,
        name: Word,
        declarations: &BodyDeclarations,
    ) -> CompileResult<FunctionParameter> {
        let symbol = self.check_variable(name)?;
        let variable = self.new_variable();
        if self.is_special_here(symbol, declarations) {
            self.scope.push(ScopeEntry::Special(symbol));
            return Ok(FunctionParameter { variable, special: Some(symbol) });
        }
        self.scope.push(ScopeEntry::Variable(symbol, variable));
        Ok(FunctionParameter { variable, special: None })
    }

    fn analyze_parameters(
        &mut self,
        function: usize,
        parameters: Word,
        declarations: &BodyDeclarations,
    ) -> CompileResult<()> {
        let mut section = ParameterSection::Required;
        let (mut seen, mut names) = (self.scope.len(), HashSet::new());
        for item in self.elements(parameters)? {
            match item.as_symbol() {
                Some(well_known::OPTIONAL) => section = ParameterSection::Optional,
                Some(well_known::REST | well_known::BODY) => section = ParameterSection::Rest,
                Some(well_known::KEY) => {
                    section = ParameterSection::Key;
                    self.functions[function].keys = Some(Vec::new());
                }
                Some(well_known::AUX) => section = ParameterSection::Auxiliary,
                Some(well_known::ALLOW_OTHER_KEYS) => {
                    self.functions[function].allows_other_keys = true;
                }
                _ => self.analyze_parameter(function, section, item, declarations)?,
            }
            for at in seen..self.scope.len() {
                let (ScopeEntry::Variable(symbol, _) | ScopeEntry::Special(symbol)) =
                    self.scope[at]
                else {
                    continue;
                };
                if !names.insert(symbol) && section != ParameterSection::Auxiliary {
                    return self.bound_twice(Word::symbol(symbol));
                }
            }
            seen = self.scope.len();
            if section == ParameterSection::Rest && self.functions[function].rest.is_some() {
                section = ParameterSection::AfterRest;
            }
        }
        Ok(())
    }

    fn analyze_parameter(
        &mut self,
        function: usize,
        section: ParameterSection,
        item: Word,
        declarations: &BodyDeclarations,
    ) -> CompileResult<()> {
        match section {
            ParameterSection::Required => {
                let parameter = self.parameter(item, declarations)?;
                self.functions[function].required.push(parameter);
            }
            ParameterSection::Rest => {
                let parameter = self.parameter(item, declarations)?;
                self.functions[function].rest = Some(parameter);
            }
            ParameterSection::AfterRest => return self.program("more than one &REST parameter"),
            ParameterSection::Auxiliary => {
                let parts = if item.is_cons() { self.elements(item)? } else { vec![item] };
                if parts.len() > 2 {
                    return self.program("malformed &AUX parameter");
                }
                let value = self.analyze(parts.get(1).copied().unwrap_or(NIL))?;
                let parameter = self.parameter(parts[0], declarations)?;
                self.functions[function].auxiliary.push((parameter, value));
            }
            ParameterSection::Optional | ParameterSection::Key => {
                let parts = if item.is_cons() { self.elements(item)? } else { vec![item] };
                if parts.len() > 3 {
                    return self.program("malformed parameter");
                }
                let (keyword, name) = match section {
                    ParameterSection::Key => self.keyword_and_name(parts[0])?,
                    _ => (NIL, parts[0]),
                };
                let default = self.analyze(parts.get(1).copied().unwrap_or(NIL))?;
                let parameter = self.parameter(name, declarations)?;
                let supplied = match parts.get(2) {
                    Some(name) => Some(self.parameter(*name, declarations)?),
                    None => None,
                };
                let whole = DefaultedParameter { keyword, parameter, default, supplied };
                let node = &mut self.functions[function];
                match &mut node.keys {
                    Some(keys) if section == ParameterSection::Key => keys.push(whole),
                    _ => node.optional.push(whole),
                }
            }
        }
        Ok(())
    }

    /// Keyword and variable of a `&key` parameter that is given as `name` or `(keyword name)`.
    fn keyword_and_name(&mut self, item: Word) -> CompileResult<(Word, Word)> {
        if !item.is_cons() {
            let symbol = self.check_variable(item)?;
            let text = self.machine.symbols.name(symbol).to_owned();
            return Ok((self.machine.symbols.keyword(&text), item));
        }
        match self.elements(item)?[..] {
            [keyword, name] if keyword.is_symbol() => Ok((keyword, name)),
            _ => self.program("malformed &KEY parameter"),
        }
    }

    /// `(defun name parameters . body)`.
    pub(super) fn analyze_defun(
        &mut self,
        name: Word,
        parameters: Word,
        body: &[Word],
    ) -> CompileResult<FormNode> {
        let symbol = self.function_name(name)?;
        self.check_definable(symbol, "redefinition of")?;
        let block = if name.is_cons() { self.elements(name)?[1] } else { name };
        let lambda = self.block_lambda(name, block, parameters, body)?;
        let function = self.analyze_lambda(lambda)?;
        let arguments =
            vec![FormNode::Constant(Word::symbol(symbol)), function, FormNode::Constant(name)];
        self.call_global(well_known::DEFINE_FUNCTION, arguments)
    }

    /// A named lambda whose body is in a block, declarations in front of it.
    fn block_lambda(
        &mut self,
        name: Word,
        block: Word,
        parameters: Word,
        body: &[Word],
    ) -> CompileResult<Word> {
        let mut parts = vec![Word::symbol(well_known::NAMED_LAMBDA), name, parameters];
        let (_, rest) = self.split_declarations(body)?;
        parts.extend_from_slice(&body[..body.len() - rest.len()]);
        let mut inner = vec![Word::symbol(well_known::BLOCK), block];
        inner.extend_from_slice(&rest);
        let inner = self.list(&inner);
        parts.push(inner);
        let lambda = self.list(&parts);
        self.machine.roots.push(lambda);
        Ok(lambda)
    }

    pub(super) fn analyze_local_functions(
        &mut self,
        functions: Word,
        body: &[Word],
        is_recursive: bool,
    ) -> CompileResult<FormNode> {
        let before = self.scope.len();
        let mut parts = Vec::new();
        for definition in self.elements(functions)? {
            let definition = self.elements(definition)?;
            let [name, parameters, inner @ ..] = definition.as_slice() else {
                return self.program("malformed local function");
            };
            let symbol = self.function_name(*name)?;
            self.check_definable(symbol, "redefinition of")?;
            let block = if name.is_cons() { self.elements(*name)?[1] } else { *name };
            let lambda = self.block_lambda(*name, block, *parameters, inner)?;
            parts.push((Word::symbol(symbol), self.new_variable(), lambda));
        }
        let enter = |compiler: &mut Self| {
            for (name, variable, _) in &parts {
                compiler.scope.push(ScopeEntry::Function(*name, *variable));
            }
        };
        if is_recursive {
            enter(self);
        }
        let mut nodes: Vec<(VariableId, usize)> = Vec::new();
        for (_, variable, lambda) in &parts {
            let FormNode::Function(function) = self.analyze_lambda(*lambda)? else {
                return self.program("malformed local function");
            };
            self.variables[*variable].holds = Some(function);
            nodes.push((*variable, function));
        }
        if !is_recursive {
            enter(self);
        }
        let (declarations, body) = self.split_declarations(body)?;
        let body = self.analyze_declared(&declarations, &body, before)?;
        Ok(FormNode::Labels(nodes, Box::new(body)))
    }

    pub(super) fn analyze_macrolet(
        &mut self,
        macros: Word,
        body: &[Word],
    ) -> CompileResult<FormNode> {
        let before = self.scope.len();
        for definition in self.elements(macros)? {
            let definition = self.elements(definition)?;
            let [name, pattern, inner @ ..] = definition.as_slice() else {
                return self.program("malformed local macro");
            };
            let symbol = self.function_name(*name)?;
            self.check_definable(symbol, "redefinition of")?;
            let lambda = self.macro_lambda(*name, *pattern, inner)?;
            let mut inner = FormCompiler::new(
                self.machine,
                self.codes,
                self.places,
                self.file.clone(),
                self.is_prelude,
            );
            // Macros of macros around are seen; variables of the program are not.
            for entry in &self.scope {
                if let ScopeEntry::Macro(name, expander) = entry {
                    inner.scope.push(ScopeEntry::Macro(*name, *expander));
                }
            }
            inner.depth = self.depth;
            let thunk = inner.compile_form(lambda)?;
            let expander = self.machine.call(self.codes, thunk, &[])?;
            self.machine.roots.push(expander);
            self.scope.push(ScopeEntry::Macro(*name, expander));
        }
        let (declarations, body) = self.split_declarations(body)?;
        self.analyze_declared(&declarations, &body, before)
    }

    pub(super) fn analyze_symbol_macrolet(
        &mut self,
        macros: Word,
        body: &[Word],
    ) -> CompileResult<FormNode> {
        let before = self.scope.len();
        for definition in self.elements(macros)? {
            let definition = self.elements(definition)?;
            let [name, expansion] = definition.as_slice() else {
                return self.program("malformed symbol macro");
            };
            let symbol = self.check_variable(*name)?;
            if self.machine.symbols.has(symbol, flag::SPECIAL) {
                return self.program("a symbol macro cannot be special");
            }
            self.scope.push(ScopeEntry::SymbolMacro(symbol, *expansion));
        }
        let (declarations, body) = self.split_declarations(body)?;
        for index in before..self.scope.len() {
            let ScopeEntry::SymbolMacro(symbol, _) = self.scope[index] else { continue };
            if self.is_special_here(symbol, &declarations) {
                self.scope.truncate(before);
                return self.program("a symbol macro cannot be special");
            }
        }
        self.analyze_declared(&declarations, &body, before)
    }

    pub(super) fn analyze_defmacro(
        &mut self,
        name: Word,
        pattern: Word,
        body: &[Word],
    ) -> CompileResult<FormNode> {
        let Some(symbol) = name.as_symbol() else { return self.program("a macro without a name") };
        self.check_definable(symbol, "redefinition of")?;
        let lambda = self.macro_lambda(name, pattern, body)?;
        let function = self.analyze(lambda)?;
        let arguments = vec![FormNode::Constant(name), function];
        self.call_global(well_known::DEFINE_MACRO, arguments)
    }
}

fn is_type_declaration(symbol: u32) -> bool {
    matches!(
        symbol,
        well_known::FIXNUM
            | well_known::INTEGER
            | well_known::STRING
            | well_known::LIST
            | well_known::SYMBOL
            | well_known::NUMBER
            | well_known::REAL
            | well_known::RATIONAL
            | well_known::FLOAT
            | well_known::SINGLE_FLOAT
            | well_known::DOUBLE_FLOAT
            | well_known::CHARACTER
            | well_known::CONS
            | well_known::VECTOR
            | well_known::SIMPLE_VECTOR
            | well_known::SIMPLE_STRING
            | well_known::HASH_TABLE
            | well_known::SEQUENCE
            | well_known::BOOLEAN
            | well_known::KEYWORD
            | well_known::BIT
            | well_known::UNSIGNED_BYTE
    )
}
