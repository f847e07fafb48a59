//! Nodes to instructions: values and variables. Calls are in `emit_call.rs`, exits in `emit_control.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use super::{CompileFailure, CompileResult, FormCompiler, FormNode, VariableBinding, VariableId};
use crate::code::{
    CaptureSource, CompiledCode, Instruction, ParameterLayout, Register, SourcePlace,
};
use crate::value::{NIL, T, Word};

/// Use of a value once it is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueUse {
    Nothing,
    One(Register),
    /// All values; the first in the register.
    Many(Register),
    /// The function's own values.
    Tail,
}

/// Binding or mark to take back when control leaves.
#[derive(Clone, Copy)]
pub(super) enum ExitAction {
    Unbind(u16),
    PopMark,
}

/// Positions that a block's or tagbody's exits jump to.
pub(super) struct ExitTargets {
    pub(super) want: ValueUse,
    pub(super) undo: usize,
    /// Jumps to the end of a block.
    pub(super) jumps: Vec<usize>,
    /// Positions of tags, and jumps that wait for one.
    pub(super) tags: Vec<Option<usize>>,
    pub(super) tag_jumps: Vec<(usize, usize)>,
}

/// Instructions of one function while they are made.
pub(super) struct CodeEmitter<'c, 'm> {
    pub(super) compiler: &'c mut FormCompiler<'m>,
    pub(super) code: CompiledCode,
    pub(super) next: Register,
    pub(super) registers: HashMap<VariableId, Register>,
    captures: Vec<VariableId>,
    pub(super) undo: Vec<ExitAction>,
    pub(super) exits: HashMap<usize, ExitTargets>,
}

pub(super) fn empty_code(name: Word, file: Arc<str>) -> CompiledCode {
    CompiledCode {
        name,
        ops: Vec::new(),
        constants: Vec::new(),
        captures: Vec::new(),
        registers: 1,
        required: 0,
        parameters: None,
        places: Vec::new(),
        file,
    }
}

impl FormCompiler<'_> {
    pub(super) fn emit_all(&mut self) -> CompileResult<()> {
        self.find_static_functions();
        for function in 0..self.functions.len() {
            let code = self.emit_function(function)?;
            let number = self.functions[function].code;
            self.codes.set(number, code);
        }
        Ok(())
    }

    /// Local functions that capture nothing but each other need no closure.
    fn find_static_functions(&mut self) {
        loop {
            let mut changed = false;
            for variable in 0..self.variables.len() {
                let Some(function) = self.variables[variable].holds else { continue };
                let captures = &self.functions[function].captures;
                let is_static = captures.iter().all(|used| self.variables[*used].holds.is_some());
                if !is_static {
                    self.variables[variable].holds = None;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn is_celled(&self, variable: VariableId) -> bool {
        let variable = &self.variables[variable];
        variable.is_captured && variable.is_assigned
    }

    /// Variables that a closure stores; functions without captures are constants and left out.
    pub(super) fn captured_variables(&self, function: usize) -> Vec<VariableId> {
        let captures = &self.functions[function].captures;
        captures.iter().copied().filter(|used| self.variables[*used].holds.is_none()).collect()
    }

    fn emit_function(&mut self, function: usize) -> CompileResult<CompiledCode> {
        let captures = self.captured_variables(function);
        let (name, file) = (self.functions[function].name, self.file.clone());
        let body = self.functions[function].body.take().unwrap_or(FormNode::Constant(NIL));
        let mut emitter = CodeEmitter {
            compiler: self,
            code: empty_code(name, file),
            next: 0,
            registers: HashMap::new(),
            captures,
            undo: Vec::new(),
            exits: HashMap::new(),
        };
        emitter.parameters(function)?;
        if emitter.undo.is_empty() {
            emitter.emit(&body, ValueUse::Tail)?;
        } else {
            let to = emitter.allocate()?;
            emitter.emit(&body, ValueUse::Many(to))?;
            emitter.emit_undo(0);
            emitter.push(Instruction::ReturnValues(to));
        }
        if emitter.code.ops.len() > usize::from(u16::MAX) - 8 {
            return Err(CompileFailure::Program("a function too large: split it".into()));
        }
        let CodeEmitter { mut code, .. } = emitter;
        // Who makes the closure was emitted before, and noted what it takes along.
        code.captures.clone_from(&self.codes.get(self.functions[function].code).captures);
        Ok(code)
    }
}

impl CodeEmitter<'_, '_> {
    pub(super) fn push(&mut self, op: Instruction) -> usize {
        self.code.ops.push(op);
        self.code.ops.len() - 1
    }

    pub(super) fn here(&self) -> u16 {
        self.code.ops.len() as u16
    }

    pub(super) fn at(&mut self, place: SourcePlace) {
        if place.line > 0 {
            let position = self.here();
            self.code.places.push((position, place));
        }
    }

    pub(super) fn allocate(&mut self) -> CompileResult<Register> {
        let register = self.next;
        if register > 60_000 {
            return Err(CompileFailure::Program("a function too large: split it".into()));
        }
        self.next += 1;
        self.code.registers = self.code.registers.max(self.next + 1);
        Ok(register)
    }

    /// Points a jump at the next instruction.
    pub(super) fn patch(&mut self, position: usize) {
        let here = self.here();
        self.patch_to(position, here);
    }

    pub(super) fn patch_to(&mut self, position: usize, here: u16) {
        match &mut self.code.ops[position] {
            Instruction::Jump(target)
            | Instruction::Back(target)
            | Instruction::JumpNil(_, target)
            | Instruction::JumpTrue(_, target)
            | Instruction::JumpSupplied(_, target)
            | Instruction::UnlessLess(_, _, target)
            | Instruction::UnlessLessEqual(_, _, target)
            | Instruction::UnlessNumbersEqual(_, _, target)
            | Instruction::UnlessEq(_, _, target)
            | Instruction::UnlessEql(_, _, target)
            | Instruction::UnlessCons(_, target)
            | Instruction::IfCons(_, target)
            | Instruction::UnlessLessSmall(_, _, target)
            | Instruction::UnlessGreaterSmall(_, _, target)
            | Instruction::UnlessEqualSmall(_, _, target)
            | Instruction::MarkBlock(_, _, target)
            | Instruction::MarkCatch(_, _, target) => *target = here,
            _ => {}
        }
    }

    pub(super) fn constant(&mut self, word: Word) -> u16 {
        let constants = &mut self.code.constants;
        let index = constants.iter().position(|known| *known == word).unwrap_or_else(|| {
            constants.push(word);
            constants.len() - 1
        });
        index as u16
    }

    pub(super) fn load(&mut self, to: Register, word: Word) {
        let op = match word.as_fixnum().map(i32::try_from) {
            Some(Ok(small)) => Instruction::Small(to, small),
            _ if word == NIL => Instruction::Nil(to),
            _ if word == T => Instruction::True(to),
            _ => Instruction::Constant(to, self.constant(word)),
        };
        self.push(op);
    }

    /// Ends a node whose one value is in `from`.
    pub(super) fn deliver(&mut self, from: Register, want: ValueUse) {
        match want {
            ValueUse::Nothing => {}
            ValueUse::One(to) | ValueUse::Many(to) => {
                if to != from {
                    self.push(Instruction::Move(to, from));
                }
                if let ValueUse::Many(_) = want {
                    self.push(Instruction::OneValue);
                }
            }
            ValueUse::Tail => {
                self.push(Instruction::Return(from));
            }
        }
    }

    /// Ends a node whose values a call left, the first in `from`.
    pub(super) fn deliver_values(&mut self, from: Register, want: ValueUse) {
        match want {
            ValueUse::Nothing => {}
            ValueUse::One(to) | ValueUse::Many(to) => {
                if to != from {
                    self.push(Instruction::Move(to, from));
                }
            }
            ValueUse::Tail => {
                self.push(Instruction::ReturnValues(from));
            }
        }
    }

    /// Register to compute a value in before `deliver`.
    pub(super) fn destination(&mut self, want: ValueUse) -> CompileResult<Register> {
        match want {
            ValueUse::One(to) | ValueUse::Many(to) => Ok(to),
            _ => self.allocate(),
        }
    }

    fn parameters(&mut self, function: usize) -> CompileResult<()> {
        let node = &mut self.compiler.functions[function];
        let required = std::mem::take(&mut node.required);
        let optional = std::mem::take(&mut node.optional);
        let rest = node.rest.take();
        let keys = node.keys.take();
        let auxiliary = std::mem::take(&mut node.auxiliary);
        let allows_other_keys = node.allows_other_keys;
        self.code.required = required.len() as u16;
        if !optional.is_empty() || rest.is_some() || keys.is_some() {
            self.code.parameters = Some(Box::new(ParameterLayout {
                optional: optional.len() as u16,
                has_rest: rest.is_some(),
                keys: keys.as_ref().map(|keys| keys.iter().map(|key| key.keyword).collect()),
                allows_other_keys,
            }));
        }
        let all = required.iter().chain(optional.iter().map(|part| &part.parameter));
        let all = all.chain(rest.iter());
        let all = all.chain(keys.iter().flatten().map(|part| &part.parameter));
        for parameter in all {
            let register = self.allocate()?;
            self.registers.insert(parameter.variable, register);
        }
        for parameter in &required {
            self.settle(*parameter);
        }
        for part in &optional {
            self.defaulted(part)?;
        }
        if let Some(rest) = rest {
            self.settle(rest);
        }
        for part in keys.iter().flatten() {
            self.defaulted(part)?;
        }
        for (parameter, value) in &auxiliary {
            let register = self.allocate()?;
            self.emit(value, ValueUse::One(register))?;
            self.registers.insert(parameter.variable, register);
            self.settle(*parameter);
        }
        Ok(())
    }

    fn defaulted(&mut self, part: &super::DefaultedParameter) -> CompileResult<()> {
        let register = self.registers[&part.parameter.variable];
        if let Some(supplied) = part.supplied {
            let to = self.allocate()?;
            self.registers.insert(supplied.variable, to);
            self.push(Instruction::Supplied(to, register));
        }
        let jump = self.push(Instruction::JumpSupplied(register, 0));
        let before = self.next;
        self.emit(&part.default, ValueUse::One(register))?;
        self.next = before;
        self.patch(jump);
        self.settle(part.parameter);
        if let Some(supplied) = part.supplied {
            self.settle(supplied);
        }
        Ok(())
    }

    /// Puts a parameter into a cell, or binds it, where it needs that; its value is in its register.
    pub(super) fn settle(&mut self, parameter: super::FunctionParameter) {
        let register = self.registers[&parameter.variable];
        if self.compiler.is_celled(parameter.variable) {
            self.push(Instruction::NewCell(register, register));
        }
        if let Some(symbol) = parameter.special {
            self.push(Instruction::Bind(register, symbol));
            self.undo.push(ExitAction::Unbind(1));
        }
    }

    /// Gives a variable the value in its register.
    pub(super) fn start_variable(&mut self, variable: VariableId, register: Register) {
        self.registers.insert(variable, register);
        if self.compiler.is_celled(variable) {
            self.push(Instruction::NewCell(register, register));
        }
    }

    /// Register of a variable that can be read where it is.
    pub(super) fn plain_register(&self, node: &FormNode) -> Option<Register> {
        let FormNode::Local(variable) = node else { return None };
        if self.compiler.variables[*variable].is_assigned
            || self.compiler.variables[*variable].holds.is_some()
        {
            return None;
        }
        self.registers.get(variable).copied()
    }

    /// Register of a local variable, assigned ones included, when nothing is evaluated before it is read.
    pub(super) fn register_in_place(&self, node: &FormNode) -> Option<Register> {
        let FormNode::Local(variable) = node else { return None };
        let holds = self.compiler.variables[*variable].holds.is_some();
        if holds || self.compiler.is_celled(*variable) {
            return None;
        }
        self.registers.get(variable).copied()
    }

    /// Registers of one or two operands. The last one is read where it is, and so is the first one when
    /// evaluating the other cannot assign it.
    pub(super) fn operands(
        &mut self,
        one: &FormNode,
        two: Option<&FormNode>,
    ) -> CompileResult<(Register, Register)> {
        let is_quiet = two.is_none_or(|two| {
            matches!(two, FormNode::Constant(_) | FormNode::Local(_) | FormNode::Global(..))
        });
        let first = match self.register_in_place(one).filter(|_| is_quiet) {
            Some(register) => register,
            None => self.operand(one)?,
        };
        let Some(two) = two else { return Ok((first, first)) };
        match self.register_in_place(two) {
            Some(register) => Ok((first, register)),
            None => Ok((first, self.operand(two)?)),
        }
    }

    /// Register that holds a node's value, for reading at once.
    pub(super) fn operand(&mut self, node: &FormNode) -> CompileResult<Register> {
        if let Some(register) = self.plain_register(node) {
            return Ok(register);
        }
        let register = self.allocate()?;
        self.emit(node, ValueUse::One(register))?;
        Ok(register)
    }

    pub(super) fn emit(&mut self, node: &FormNode, want: ValueUse) -> CompileResult<()> {
        let before = self.next;
        self.emit_node(node, want)?;
        self.next = before;
        Ok(())
    }

    fn emit_node(&mut self, node: &FormNode, want: ValueUse) -> CompileResult<()> {
        match node {
            FormNode::Constant(word) => {
                if want == ValueUse::Nothing {
                    return Ok(());
                }
                let to = self.destination(want)?;
                self.load(to, *word);
                self.deliver(to, want);
            }
            FormNode::Local(variable) => self.emit_local(*variable, want)?,
            FormNode::SetLocal(variable, value) => self.emit_set_local(*variable, value, want)?,
            FormNode::Global(symbol, place) => {
                let to = self.destination(want)?;
                self.at(*place);
                self.push(Instruction::Global(to, *symbol));
                self.deliver(to, want);
            }
            FormNode::SetGlobal(symbol, value) => {
                let from = self.allocate()?;
                self.emit(value, ValueUse::One(from))?;
                self.push(Instruction::SetGlobal(from, *symbol));
                self.deliver(from, want);
            }
            FormNode::If(test, yes, no) => self.emit_if(test, yes, no, want)?,
            FormNode::And(nodes) | FormNode::Or(nodes) => {
                self.emit_and_or(nodes, matches!(node, FormNode::And(_)), want)?;
            }
            FormNode::Sequence(nodes) => {
                let Some((last, first)) = nodes.split_last() else { return Ok(()) };
                for node in first {
                    self.emit(node, ValueUse::Nothing)?;
                }
                self.emit(last, want)?;
            }
            FormNode::Let(bindings, body) => self.emit_let(bindings, body, want)?,
            FormNode::Function(function) => {
                let to = self.destination(want)?;
                self.emit_closure(*function, to);
                self.deliver(to, want);
            }
            FormNode::Call(target, arguments, place) => {
                self.emit_call(target, arguments, *place, want, false)?;
            }
            FormNode::Apply(target, arguments, place) => {
                self.emit_call(target, arguments, *place, want, true)?;
            }
            FormNode::Inline(inline, arguments, place) => {
                self.emit_inline(*inline, arguments, *place, want)?;
            }
            FormNode::Slot(kind, slot, structure, place) => {
                let from = self.operand(structure)?;
                let to = self.destination(want)?;
                self.at(*place);
                self.push(Instruction::StructureSlot(to, from));
                self.push(Instruction::Slot(*kind, *slot));
                self.deliver(to, want);
            }
            _ => self.emit_control(node, want)?,
        }
        Ok(())
    }

    pub(super) fn emit_local(&mut self, variable: VariableId, want: ValueUse) -> CompileResult<()> {
        if want == ValueUse::Nothing {
            return Ok(());
        }
        if let Some(function) = self.compiler.variables[variable].holds {
            let to = self.destination(want)?;
            let word = Word::code(self.compiler.functions[function].code);
            self.load(to, word);
            self.deliver(to, want);
            return Ok(());
        }
        let is_celled = self.compiler.is_celled(variable);
        if let Some(register) = self.registers.get(&variable).copied() {
            if !is_celled {
                self.deliver(register, want);
                return Ok(());
            }
            let to = self.destination(want)?;
            self.push(Instruction::Cell(to, register));
            self.deliver(to, want);
            return Ok(());
        }
        let index = self.capture_index(variable);
        let to = self.destination(want)?;
        self.push(if is_celled {
            Instruction::CapturedCell(to, index)
        } else {
            Instruction::Captured(to, index)
        });
        self.deliver(to, want);
        Ok(())
    }

    fn capture_index(&self, variable: VariableId) -> u16 {
        self.captures.iter().position(|known| *known == variable).unwrap_or(0) as u16
    }

    fn emit_set_local(
        &mut self,
        variable: VariableId,
        value: &FormNode,
        want: ValueUse,
    ) -> CompileResult<()> {
        let is_celled = self.compiler.is_celled(variable);
        let register = self.registers.get(&variable).copied();
        if let (false, Some(register)) = (is_celled, register) {
            if matches!(value, FormNode::Inline(..) | FormNode::Constant(_) | FormNode::Local(_)) {
                self.emit(value, ValueUse::One(register))?;
            } else {
                let from = self.allocate()?;
                self.emit(value, ValueUse::One(from))?;
                self.push(Instruction::Move(register, from));
            }
            self.deliver(register, want);
            return Ok(());
        }
        let from = self.allocate()?;
        self.emit(value, ValueUse::One(from))?;
        match register {
            Some(cell) => self.push(Instruction::SetCell(cell, from)),
            None => {
                let index = self.capture_index(variable);
                self.push(Instruction::SetCapturedCell(index, from))
            }
        };
        self.deliver(from, want);
        Ok(())
    }

    pub(super) fn emit_closure(&mut self, function: usize, to: Register) {
        let captured = self.compiler.captured_variables(function);
        let code = self.compiler.functions[function].code;
        if captured.is_empty() {
            self.load(to, Word::code(code));
            return;
        }
        let captures = captured
            .iter()
            .map(|variable| match self.registers.get(variable) {
                Some(register) => CaptureSource::Register(*register),
                None => CaptureSource::Captured(self.capture_index(*variable)),
            })
            .collect();
        self.compiler.codes.set_captures(code, captures);
        self.push(Instruction::Closure(to, code));
    }

    fn emit_let(
        &mut self,
        bindings: &[VariableBinding],
        body: &FormNode,
        want: ValueUse,
    ) -> CompileResult<()> {
        let mut dynamic = Vec::new();
        for binding in bindings {
            let register = self.allocate()?;
            match binding {
                VariableBinding::Lexical(variable, value) => {
                    self.emit(value, ValueUse::One(register))?;
                    self.start_variable(*variable, register);
                }
                VariableBinding::Dynamic(symbol, value) => {
                    self.emit(value, ValueUse::One(register))?;
                    dynamic.push((*symbol, register));
                }
            }
        }
        if dynamic.is_empty() {
            return self.emit(body, want);
        }
        for (symbol, register) in &dynamic {
            self.push(Instruction::Bind(*register, *symbol));
        }
        let depth = self.undo.len();
        self.undo.push(ExitAction::Unbind(dynamic.len() as u16));
        self.emit_guarded(body, want, depth)
    }
}
