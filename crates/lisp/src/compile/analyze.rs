//! Forms to nodes: variables, calls, macros. Special forms are in `special.rs`.

use super::{
    COMPILE_DEPTH, CallTarget, CompileFailure, CompileResult, FormCompiler, FormNode,
    InlineOperation, ScopeEntry, VariableId,
};
use crate::native::NATIVES;
use crate::symbols::{SymbolHome, flag, well_known};
use crate::trap::LimitKind;
use crate::value::{NIL, T, UNBOUND, Word, tag};

/// Meaning of a name in function position.
enum NameMeaning {
    Local(VariableId),
    Macro(Word),
    Global(u32),
}

impl FormCompiler<'_> {
    pub(super) fn analyze(&mut self, form: Word) -> CompileResult<FormNode> {
        if self.depth >= COMPILE_DEPTH {
            return Err(CompileFailure::Limit(LimitKind::Depth));
        }
        self.machine.charge(1)?;
        self.depth += 1;
        let before = self.place;
        if form.is_cons()
            && let Some(place) = self.places.get(&form.payload())
        {
            self.place = *place;
        }
        let node = match self.analyze_inside(form) {
            // SBCL compiles a bad form into code that signals the error.
            Err(CompileFailure::Program(text)) if !self.is_prelude => self.failing(&text),
            Err(CompileFailure::Trap(trap)) if !self.is_prelude && trap.is_condition() => {
                self.failing("a macro failed while the form was compiled")
            }
            result => result,
        };
        // A failure keeps its place.
        if node.is_ok() {
            self.place = before;
        }
        self.depth -= 1;
        node
    }

    fn failing(&mut self, text: &str) -> CompileResult<FormNode> {
        let text = self.machine.heap.text_word(text);
        self.machine.roots.push(text);
        let symbol = self.machine.symbols.intern(SymbolHome::System, "%PROGRAM-ERROR");
        self.call_global(symbol, vec![FormNode::Constant(text)])
    }

    fn analyze_inside(&mut self, form: Word) -> CompileResult<FormNode> {
        if form.is_symbol() {
            return self.analyze_variable(form.payload());
        }
        if !form.is_cons() {
            return Ok(FormNode::Constant(form));
        }
        let pair = self.machine.heap.pair(form);
        let (head, arguments) = (pair.car, pair.cdr);
        if head.is_cons() {
            let inner = self.machine.heap.pair(head).car;
            if inner != Word::symbol(well_known::LAMBDA) {
                return Err(self.malformed(form));
            }
            let arguments = self.elements(arguments)?;
            let function = self.analyze_lambda(head)?;
            let arguments = self.analyze_each(&arguments)?;
            return Ok(FormNode::Call(CallTarget::Node(Box::new(function)), arguments, self.place));
        }
        if !head.is_symbol() {
            return Err(self.malformed(form));
        }
        match self.function_meaning(head) {
            NameMeaning::Local(variable) => {
                self.use_variable(variable);
                let arguments = self.elements(arguments)?;
                let arguments = self.analyze_each(&arguments)?;
                Ok(FormNode::Call(CallTarget::Local(variable), arguments, self.place))
            }
            NameMeaning::Macro(expander) => {
                let expansion = self.expand(expander, form)?;
                self.analyze(expansion)
            }
            NameMeaning::Global(symbol) => self.analyze_global(symbol, form, arguments),
        }
    }

    fn function_meaning(&self, name: Word) -> NameMeaning {
        for entry in self.scope.iter().rev() {
            match entry {
                ScopeEntry::Function(known, variable) if *known == name => {
                    return NameMeaning::Local(*variable);
                }
                ScopeEntry::Macro(known, expander) if *known == name => {
                    return NameMeaning::Macro(*expander);
                }
                _ => {}
            }
        }
        NameMeaning::Global(name.payload())
    }

    /// The local function of a name that may be `(setf name)`.
    pub(super) fn local_function(&mut self, name: Word) -> Option<VariableId> {
        let found = self.scope.iter().rev().find_map(|entry| match entry {
            ScopeEntry::Function(known, variable) if *known == name => Some(*variable),
            _ => None,
        });
        if let Some(variable) = found {
            self.use_variable(variable);
        }
        found
    }

    /// Expands a macro form once. The result is kept from the collector while compiling.
    fn expand(&mut self, expander: Word, form: Word) -> CompileResult<Word> {
        let environment = self.macro_environment();
        self.machine.roots.push(environment);
        let expansion = self.machine.call(self.codes, expander, &[form, environment])?;
        self.machine.roots.push(expansion);
        if expansion.is_cons() && !self.places.contains_key(&expansion.payload()) {
            // Errors of an expansion are shown at the macro's form: `place` stays.
        }
        Ok(expansion)
    }

    /// Local macros as an association list; a local function hides a macro with `nil`.
    fn macro_environment(&mut self) -> Word {
        let mut list = NIL;
        let mut has_symbol_macros = false;
        let marker = Word::symbol(self.machine.symbols.intern(SymbolHome::System, "%SYMBOL-MACRO"));
        for index in 0..self.scope.len() {
            let pair = match &self.scope[index] {
                ScopeEntry::Macro(name, expander) => (*name, *expander),
                ScopeEntry::Function(name, _) => (*name, NIL),
                ScopeEntry::SymbolMacro(name, expansion) => {
                    let (name, expansion) = (Word::symbol(*name), *expansion);
                    has_symbol_macros = true;
                    (self.list(&[marker, name, T]), expansion)
                }
                ScopeEntry::Variable(name, _) | ScopeEntry::Special(name) if has_symbol_macros => {
                    let name = Word::symbol(*name);
                    (self.list(&[marker, name]), NIL)
                }
                _ => continue,
            };
            let entry = self.machine.heap.cons(pair.0, pair.1);
            list = self.machine.heap.cons(entry, list);
        }
        list
    }

    fn analyze_variable(&mut self, symbol: u32) -> CompileResult<FormNode> {
        for entry in self.scope.iter().rev() {
            match entry {
                ScopeEntry::Variable(known, variable) if *known == symbol => {
                    let variable = *variable;
                    self.use_variable(variable);
                    return Ok(FormNode::Local(variable));
                }
                ScopeEntry::SymbolMacro(known, expansion) if *known == symbol => {
                    let expansion = *expansion;
                    return self.analyze(expansion);
                }
                ScopeEntry::Special(known) if *known == symbol => break,
                _ => {}
            }
        }
        let symbols = &self.machine.symbols;
        if symbols.home(symbol) == SymbolHome::Keyword {
            return Ok(FormNode::Constant(Word::symbol(symbol)));
        }
        match symbol {
            well_known::NIL => return Ok(FormNode::Constant(NIL)),
            well_known::T => return Ok(FormNode::Constant(T)),
            _ => {}
        }
        if symbols.home(symbol) == SymbolHome::Lisp && !symbols.has(symbol, flag::SPECIAL) {
            return self.outside(symbols.name(symbol));
        }
        Ok(FormNode::Global(symbol, self.place))
    }

    /// The lexical variable of a name; `None` when it is dynamic or unknown.
    pub(super) fn lexical(&mut self, symbol: u32) -> Option<VariableId> {
        for entry in self.scope.iter().rev() {
            match entry {
                ScopeEntry::Variable(known, variable) if *known == symbol => {
                    let variable = *variable;
                    self.use_variable(variable);
                    return Some(variable);
                }
                ScopeEntry::Special(known) if *known == symbol => return None,
                _ => {}
            }
        }
        None
    }

    pub(super) fn symbol_macro(&self, symbol: u32) -> Option<Word> {
        for entry in self.scope.iter().rev() {
            match entry {
                ScopeEntry::SymbolMacro(known, expansion) if *known == symbol => {
                    return Some(*expansion);
                }
                ScopeEntry::Variable(known, _) | ScopeEntry::Special(known) if *known == symbol => {
                    return None;
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn analyze_each(&mut self, forms: &[Word]) -> CompileResult<Vec<FormNode>> {
        forms.iter().map(|form| self.analyze(*form)).collect()
    }

    fn analyze_global(
        &mut self,
        symbol: u32,
        form: Word,
        arguments: Word,
    ) -> CompileResult<FormNode> {
        if let Some(node) = self.analyze_special(symbol, form, arguments)? {
            return Ok(node);
        }
        if self.machine.symbols.has(symbol, flag::MACRO) {
            let expander = self.machine.symbols.cells[symbol as usize].function;
            let expansion = self.expand(expander, form)?;
            return self.analyze(expansion);
        }
        let arguments = self.elements(arguments)?;
        self.check_call(symbol, &arguments)?;
        let nodes = self.analyze_each(&arguments)?;
        self.call_global(symbol, nodes)
    }

    /// A call of a global function by its name.
    pub(super) fn call_global(
        &mut self,
        symbol: u32,
        mut arguments: Vec<FormNode>,
    ) -> CompileResult<FormNode> {
        let function = self.machine.symbols.cells[symbol as usize].function;
        let home = self.machine.symbols.home(symbol);
        if function == UNBOUND && home == SymbolHome::Lisp && !self.is_prelude {
            return self.outside(self.machine.symbols.name(symbol));
        }
        if arguments.len() > 200 {
            // More than an instruction counts: a list of the rest.
            let rest = arguments.split_off(100);
            let list = self.machine.symbols.intern(SymbolHome::Lisp, "LIST");
            let mut tail = FormNode::Constant(NIL);
            for chunk in chunks(rest).into_iter().rev() {
                let mut part = chunk;
                part.push(tail);
                tail = self.call_global(well_known::LIST_STAR, part)?;
            }
            debug_assert_eq!(list, well_known::LIST, "LIST is a well-known symbol");
            arguments.push(tail);
            return Ok(FormNode::Apply(CallTarget::Global(symbol), arguments, self.place));
        }
        if matches!(home, SymbolHome::Lisp | SymbolHome::System)
            && let Some(inline) = inline_of(self.machine.symbols.name(symbol), arguments.len())
        {
            return Ok(self.inline(inline, arguments));
        }
        if let Some((kind, slot)) = self.machine.accessors.get(&symbol).copied()
            && arguments.len() == 1
            && let Some(argument) = arguments.pop()
        {
            return Ok(FormNode::Slot(kind, slot, Box::new(argument), self.place));
        }
        let target = if function.tag() == tag::NATIVE {
            let native = &NATIVES[function.payload() as usize];
            debug_assert!(native.least <= native.most, "`{}` has its counts swapped", native.name);
            CallTarget::Native(function.payload())
        } else {
            CallTarget::Global(symbol)
        };
        Ok(FormNode::Call(target, arguments, self.place))
    }

    fn inline(&mut self, inline: InlineChoice, mut arguments: Vec<FormNode>) -> FormNode {
        let place = self.place;
        match inline {
            InlineChoice::One(inline) => FormNode::Inline(inline, arguments, place),
            InlineChoice::Chain(chain) => {
                let first = arguments.pop().unwrap_or(FormNode::Constant(NIL));
                chain
                    .iter()
                    .rev()
                    .fold(first, |node, step| FormNode::Inline(*step, vec![node], place))
            }
            InlineChoice::Plus(amount) => {
                arguments.push(FormNode::Constant(Word::fixnum(amount)));
                FormNode::Inline(InlineOperation::Add, arguments, place)
            }
        }
    }
}

fn chunks(mut nodes: Vec<FormNode>) -> Vec<Vec<FormNode>> {
    let mut all = Vec::new();
    while nodes.len() > 100 {
        let rest = nodes.split_off(100);
        all.push(nodes);
        nodes = rest;
    }
    all.push(nodes);
    all
}

#[derive(Clone, Copy)]
enum InlineChoice {
    One(InlineOperation),
    Chain(&'static [InlineOperation]),
    Plus(i64),
}

fn inline_of(name: &str, count: usize) -> Option<InlineChoice> {
    use InlineChoice::{Chain, One, Plus};
    Some(match (name, count) {
        ("+", 2) => One(InlineOperation::Add),
        ("-", 2) => One(InlineOperation::Subtract),
        ("*", 2) => One(InlineOperation::Multiply),
        ("<", 2) => One(InlineOperation::Less),
        ("<=", 2) => One(InlineOperation::LessEqual),
        (">", 2) => One(InlineOperation::Greater),
        (">=", 2) => One(InlineOperation::GreaterEqual),
        ("=", 2) => One(InlineOperation::NumbersEqual),
        ("EQ", 2) => One(InlineOperation::Eq),
        ("EQL", 2) => One(InlineOperation::Eql),
        ("NOT" | "NULL", 1) => One(InlineOperation::Not),
        ("CONSP", 1) => One(InlineOperation::Consp),
        ("ATOM", 1) => One(InlineOperation::Atom),
        ("CAR" | "FIRST", 1) => One(InlineOperation::Car),
        ("CDR" | "REST", 1) => One(InlineOperation::Cdr),
        ("CONS", 2) => One(InlineOperation::Cons),
        ("%SET-CAR", 2) => One(InlineOperation::SetCar),
        ("%SET-CDR", 2) => One(InlineOperation::SetCdr),
        ("AREF", 2) => One(InlineOperation::Element),
        ("CADR" | "SECOND", 1) => Chain(&[InlineOperation::Car, InlineOperation::Cdr]),
        ("CDDR", 1) => Chain(&[InlineOperation::Cdr, InlineOperation::Cdr]),
        ("CAAR", 1) => Chain(&[InlineOperation::Car, InlineOperation::Car]),
        ("CDAR", 1) => Chain(&[InlineOperation::Cdr, InlineOperation::Car]),
        ("CADDR" | "THIRD", 1) => {
            Chain(&[InlineOperation::Car, InlineOperation::Cdr, InlineOperation::Cdr])
        }
        ("1+", 1) => Plus(1),
        ("1-", 1) => Plus(-1),
        _ => return None,
    })
}
