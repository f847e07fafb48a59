//! Nodes to instructions: values, calls, conditions. Exits are in `emit_control.rs`.
//!
//! long: one table of nodes, and the helpers that share its state.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    CallTarget, CompileFailure, CompileResult, FormCompiler, FormNode, InlineOperation,
    VariableBinding, VariableId,
};
use crate::code::{
    CaptureSource, CompiledCode, Instruction, ParameterLayout, Register, SourcePlace,
};
use crate::value::{NIL, T, Word};

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueUse {
    Nothing,
    One(Register),
    /// All values; the first in the register.
    Many(Register),
    /// The function's own values.
    Tail,
}

/// Something to undo when control leaves.
#[derive(Clone, Copy)]
pub(super) enum ExitAction {
    Unbind(u16),
    PopMark,
}

/// Where a block's or tagbody's exits go.
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

    /// What a function really captures: static functions are constants.
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

    fn constant(&mut self, word: Word) -> u16 {
        let constants = &mut self.code.constants;
        let index = constants.iter().position(|known| *known == word).unwrap_or_else(|| {
            constants.push(word);
            constants.len() - 1
        });
        index as u16
    }

    fn load(&mut self, to: Register, word: Word) {
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
    fn destination(&mut self, want: ValueUse) -> CompileResult<Register> {
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

    /// A parameter is in its register: put it into a cell or bind it where it needs that.
    fn settle(&mut self, parameter: super::FunctionParameter) {
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
    fn plain_register(&self, node: &FormNode) -> Option<Register> {
        let FormNode::Local(variable) = node else { return None };
        if self.compiler.variables[*variable].is_assigned
            || self.compiler.variables[*variable].holds.is_some()
        {
            return None;
        }
        self.registers.get(variable).copied()
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

    fn emit_local(&mut self, variable: VariableId, want: ValueUse) -> CompileResult<()> {
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

    fn emit_if(
        &mut self,
        test: &FormNode,
        yes: &FormNode,
        no: &FormNode,
        want: ValueUse,
    ) -> CompileResult<()> {
        let to_no = self.emit_condition(test)?;
        self.emit(yes, want)?;
        if want == ValueUse::Tail {
            to_no.into_iter().for_each(|jump| self.patch(jump));
            return self.emit(no, want);
        }
        let is_empty = want == ValueUse::Nothing && matches!(no, FormNode::Constant(_));
        if is_empty {
            to_no.into_iter().for_each(|jump| self.patch(jump));
            return Ok(());
        }
        let to_end = self.push(Instruction::Jump(0));
        to_no.into_iter().for_each(|jump| self.patch(jump));
        self.emit(no, want)?;
        self.patch(to_end);
        Ok(())
    }

    fn emit_and_or(
        &mut self,
        nodes: &[FormNode],
        is_and: bool,
        want: ValueUse,
    ) -> CompileResult<()> {
        let Some((last, first)) = nodes.split_last() else { return Ok(()) };
        let to = self.destination(want)?;
        let mut jumps = Vec::new();
        for node in first {
            self.emit(node, ValueUse::One(to))?;
            jumps.push(self.push(if is_and {
                Instruction::JumpNil(to, 0)
            } else {
                Instruction::JumpTrue(to, 0)
            }));
        }
        self.emit(last, want)?;
        if want == ValueUse::Tail {
            jumps.into_iter().for_each(|jump| self.patch(jump));
            self.push(Instruction::Return(to));
            return Ok(());
        }
        if let ValueUse::Many(_) = want {
            let end = self.push(Instruction::Jump(0));
            jumps.into_iter().for_each(|jump| self.patch(jump));
            self.push(Instruction::OneValue);
            self.patch(end);
            return Ok(());
        }
        jumps.into_iter().for_each(|jump| self.patch(jump));
        Ok(())
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

    fn emit_call(
        &mut self,
        target: &CallTarget,
        arguments: &[FormNode],
        place: SourcePlace,
        want: ValueUse,
        is_apply: bool,
    ) -> CompileResult<()> {
        let function = match target {
            CallTarget::Node(node) => Some(self.operand(node)?),
            CallTarget::Local(variable) if self.compiler.variables[*variable].holds.is_none() => {
                let register = self.allocate()?;
                self.emit_local(*variable, ValueUse::One(register))?;
                Some(register)
            }
            CallTarget::Native(number) if is_apply => {
                let register = self.allocate()?;
                self.load(register, Word::native(*number));
                Some(register)
            }
            CallTarget::Global(symbol) if is_apply => {
                let register = self.allocate()?;
                self.load(register, Word::symbol(*symbol));
                Some(register)
            }
            CallTarget::Local(variable) if is_apply => {
                let register = self.allocate()?;
                self.emit_local(*variable, ValueUse::One(register))?;
                Some(register)
            }
            _ => None,
        };
        let first = self.next;
        for argument in arguments {
            let register = self.allocate()?;
            self.emit(argument, ValueUse::One(register))?;
        }
        if arguments.is_empty() {
            self.allocate()?;
        }
        self.at(place);
        let count = arguments.len() as u8;
        let is_tail = want == ValueUse::Tail;
        let op = match (target, function) {
            (_, Some(function)) if is_apply && is_tail => {
                Instruction::TailApply { count, first, function }
            }
            (_, Some(function)) if is_apply => Instruction::ApplyWord { count, first, function },
            (_, Some(function)) if is_tail => Instruction::TailWord { count, first, function },
            (_, Some(function)) => Instruction::CallWord { count, first, function },
            (CallTarget::Native(function), None) => {
                Instruction::CallNative { count, first, function: *function }
            }
            (CallTarget::Global(symbol), None) if is_tail => {
                Instruction::TailGlobal { count, first, symbol: *symbol }
            }
            (CallTarget::Global(symbol), None) => {
                Instruction::CallGlobal { count, first, symbol: *symbol }
            }
            (CallTarget::Local(variable), None) => {
                let held = self.compiler.variables[*variable].holds.unwrap_or(0);
                let code = self.compiler.functions[held].code;
                if is_tail {
                    Instruction::TailCode { count, first, code }
                } else {
                    Instruction::CallCode { count, first, code }
                }
            }
            (CallTarget::Node(_), None) => Instruction::Nil(first),
        };
        self.push(op);
        if is_tail && !matches!(op, Instruction::CallNative { .. }) {
            return Ok(());
        }
        self.deliver_values(first, want);
        Ok(())
    }

    fn emit_inline(
        &mut self,
        inline: InlineOperation,
        arguments: &[FormNode],
        place: SourcePlace,
        want: ValueUse,
    ) -> CompileResult<()> {
        let small = match arguments.get(1) {
            Some(FormNode::Constant(word)) => word.as_fixnum().and_then(|n| i16::try_from(n).ok()),
            _ => None,
        };
        if is_condition(inline) {
            return self.emit_truth(&inline, arguments, place, want);
        }
        let one = self.operand(&arguments[0])?;
        let amount = match inline {
            InlineOperation::Add => small,
            InlineOperation::Subtract => small.and_then(i16::checked_neg),
            _ => None,
        };
        if let Some(amount) = amount {
            let to = self.destination(want)?;
            self.at(place);
            self.push(Instruction::AddSmall(to, one, amount));
            self.deliver(to, want);
            return Ok(());
        }
        let two = match arguments.get(1) {
            Some(node) => self.operand(node)?,
            None => one,
        };
        let to = self.destination(want)?;
        self.at(place);
        self.push(match inline {
            InlineOperation::Add => Instruction::Add(to, one, two),
            InlineOperation::Subtract => Instruction::Subtract(to, one, two),
            InlineOperation::Multiply => Instruction::Multiply(to, one, two),
            InlineOperation::Car => Instruction::Car(to, one),
            InlineOperation::Cdr => Instruction::Cdr(to, one),
            InlineOperation::Cons => Instruction::Cons(to, one, two),
            InlineOperation::Not => Instruction::Not(to, one),
            _ => Instruction::Element(to, one, two),
        });
        self.deliver(to, want);
        Ok(())
    }

    /// A comparison as a value.
    fn emit_truth(
        &mut self,
        inline: &InlineOperation,
        arguments: &[FormNode],
        place: SourcePlace,
        want: ValueUse,
    ) -> CompileResult<()> {
        let jumps = self.emit_comparison(*inline, arguments, place)?;
        let to = self.destination(want)?;
        self.push(Instruction::True(to));
        let end = self.push(Instruction::Jump(0));
        jumps.into_iter().for_each(|jump| self.patch(jump));
        self.push(Instruction::Nil(to));
        self.patch(end);
        self.deliver(to, want);
        Ok(())
    }

    /// Jumps to be patched to where control goes when the node is false.
    pub(super) fn emit_condition(&mut self, node: &FormNode) -> CompileResult<Vec<usize>> {
        let before = self.next;
        let jumps = match node {
            FormNode::Inline(inline, arguments, place) if is_condition(*inline) => {
                self.emit_comparison(*inline, arguments, *place)?
            }
            FormNode::Inline(InlineOperation::Not, arguments, _) => {
                let register = self.operand(&arguments[0])?;
                vec![self.push(Instruction::JumpTrue(register, 0))]
            }
            FormNode::And(nodes) => {
                let mut jumps = Vec::new();
                for node in nodes {
                    jumps.extend(self.emit_condition(node)?);
                }
                jumps
            }
            FormNode::Constant(word) if word.is_true() => Vec::new(),
            _ => {
                let register = self.operand(node)?;
                vec![self.push(Instruction::JumpNil(register, 0))]
            }
        };
        self.next = before;
        Ok(jumps)
    }

    fn emit_comparison(
        &mut self,
        inline: InlineOperation,
        arguments: &[FormNode],
        place: SourcePlace,
    ) -> CompileResult<Vec<usize>> {
        let small = match arguments.get(1) {
            Some(FormNode::Constant(word)) => word.as_fixnum().and_then(|n| i16::try_from(n).ok()),
            _ => None,
        };
        let one = self.operand(&arguments[0])?;
        let short = match (inline, small) {
            (InlineOperation::Less, Some(small)) => {
                Some(Instruction::UnlessLessSmall(one, small, 0))
            }
            (InlineOperation::Greater, Some(small)) => {
                Some(Instruction::UnlessGreaterSmall(one, small, 0))
            }
            (InlineOperation::NumbersEqual, Some(small)) => {
                Some(Instruction::UnlessEqualSmall(one, small, 0))
            }
            (InlineOperation::Consp, _) => Some(Instruction::UnlessCons(one, 0)),
            (InlineOperation::Atom, _) => Some(Instruction::IfCons(one, 0)),
            _ => None,
        };
        if let Some(op) = short {
            self.at(place);
            return Ok(vec![self.push(op)]);
        }
        let two = self.operand(&arguments[1])?;
        self.at(place);
        Ok(vec![self.push(match inline {
            InlineOperation::Less => Instruction::UnlessLess(one, two, 0),
            InlineOperation::LessEqual => Instruction::UnlessLessEqual(one, two, 0),
            InlineOperation::Greater => Instruction::UnlessLess(two, one, 0),
            InlineOperation::GreaterEqual => Instruction::UnlessLessEqual(two, one, 0),
            InlineOperation::NumbersEqual => Instruction::UnlessNumbersEqual(one, two, 0),
            InlineOperation::Eq => Instruction::UnlessEq(one, two, 0),
            _ => Instruction::UnlessEql(one, two, 0),
        })])
    }
}

fn is_condition(inline: InlineOperation) -> bool {
    matches!(
        inline,
        InlineOperation::Less
            | InlineOperation::LessEqual
            | InlineOperation::Greater
            | InlineOperation::GreaterEqual
            | InlineOperation::NumbersEqual
            | InlineOperation::Eq
            | InlineOperation::Eql
            | InlineOperation::Consp
            | InlineOperation::Atom
    )
}
