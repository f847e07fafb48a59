//! Nodes to instructions: values, calls, conditions. Exits are in `emit_control.rs`.
//!
//! long: one table of nodes, and the helpers that share its state.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Binding, CompileFailure, Compiled, Compiler, Inline, Node, Target, VariableId};
use crate::code::{Capture, Code, Op, Parameters, Register, SourcePlace};
use crate::value::{NIL, T, Word};

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Nothing,
    One(Register),
    /// All values; the first in the register.
    Many(Register),
    /// The function's own values.
    Tail,
}

/// Something to undo when control leaves.
#[derive(Clone, Copy)]
pub(super) enum Undo {
    Unbind(u16),
    PopMark,
}

/// Where a block's or tagbody's exits go.
pub(super) struct Exit {
    pub(super) want: Want,
    pub(super) undo: usize,
    /// Jumps to the end of a block.
    pub(super) jumps: Vec<usize>,
    /// Positions of tags, and jumps that wait for one.
    pub(super) tags: Vec<Option<usize>>,
    pub(super) tag_jumps: Vec<(usize, usize)>,
}

/// Instructions of one function while they are made.
pub(super) struct Emitter<'c, 'm> {
    pub(super) compiler: &'c mut Compiler<'m>,
    pub(super) code: Code,
    pub(super) next: Register,
    pub(super) registers: HashMap<VariableId, Register>,
    captures: Vec<VariableId>,
    pub(super) undo: Vec<Undo>,
    pub(super) exits: HashMap<usize, Exit>,
}

pub(super) fn empty_code(name: Word, file: Arc<str>) -> Code {
    Code {
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

impl Compiler<'_> {
    pub(super) fn emit_all(&mut self) -> Compiled<()> {
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

    fn emit_function(&mut self, function: usize) -> Compiled<Code> {
        let captures = self.captured_variables(function);
        let (name, file) = (self.functions[function].name, self.file.clone());
        let body = self.functions[function].body.take().unwrap_or(Node::Constant(NIL));
        let mut emitter = Emitter {
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
            emitter.emit(&body, Want::Tail)?;
        } else {
            let to = emitter.allocate()?;
            emitter.emit(&body, Want::Many(to))?;
            emitter.emit_undo(0);
            emitter.push(Op::ReturnValues(to));
        }
        if emitter.code.ops.len() > usize::from(u16::MAX) - 8 {
            return Err(CompileFailure::Program("a function too large: split it".into()));
        }
        let Emitter { mut code, .. } = emitter;
        // Who makes the closure was emitted before, and noted what it takes along.
        code.captures.clone_from(&self.codes.get(self.functions[function].code).captures);
        Ok(code)
    }
}

impl Emitter<'_, '_> {
    pub(super) fn push(&mut self, op: Op) -> usize {
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

    pub(super) fn allocate(&mut self) -> Compiled<Register> {
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
            Op::Jump(target)
            | Op::Back(target)
            | Op::JumpNil(_, target)
            | Op::JumpTrue(_, target)
            | Op::JumpSupplied(_, target)
            | Op::UnlessLess(_, _, target)
            | Op::UnlessLessEqual(_, _, target)
            | Op::UnlessNumbersEqual(_, _, target)
            | Op::UnlessEq(_, _, target)
            | Op::UnlessEql(_, _, target)
            | Op::UnlessCons(_, target)
            | Op::IfCons(_, target)
            | Op::UnlessLessSmall(_, _, target)
            | Op::UnlessGreaterSmall(_, _, target)
            | Op::UnlessEqualSmall(_, _, target)
            | Op::MarkBlock(_, _, target)
            | Op::MarkCatch(_, _, target) => *target = here,
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
            Some(Ok(small)) => Op::Small(to, small),
            _ if word == NIL => Op::Nil(to),
            _ if word == T => Op::True(to),
            _ => Op::Constant(to, self.constant(word)),
        };
        self.push(op);
    }

    /// Ends a node whose one value is in `from`.
    pub(super) fn deliver(&mut self, from: Register, want: Want) {
        match want {
            Want::Nothing => {}
            Want::One(to) | Want::Many(to) => {
                if to != from {
                    self.push(Op::Move(to, from));
                }
                if let Want::Many(_) = want {
                    self.push(Op::OneValue);
                }
            }
            Want::Tail => {
                self.push(Op::Return(from));
            }
        }
    }

    /// Ends a node whose values a call left, the first in `from`.
    pub(super) fn deliver_values(&mut self, from: Register, want: Want) {
        match want {
            Want::Nothing => {}
            Want::One(to) | Want::Many(to) => {
                if to != from {
                    self.push(Op::Move(to, from));
                }
            }
            Want::Tail => {
                self.push(Op::ReturnValues(from));
            }
        }
    }

    /// Register to compute a value in before `deliver`.
    fn destination(&mut self, want: Want) -> Compiled<Register> {
        match want {
            Want::One(to) | Want::Many(to) => Ok(to),
            _ => self.allocate(),
        }
    }

    fn parameters(&mut self, function: usize) -> Compiled<()> {
        let node = &mut self.compiler.functions[function];
        let required = std::mem::take(&mut node.required);
        let optional = std::mem::take(&mut node.optional);
        let rest = node.rest.take();
        let keys = node.keys.take();
        let auxiliary = std::mem::take(&mut node.auxiliary);
        let allows_other_keys = node.allows_other_keys;
        self.code.required = required.len() as u16;
        if !optional.is_empty() || rest.is_some() || keys.is_some() {
            self.code.parameters = Some(Box::new(Parameters {
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
            self.emit(value, Want::One(register))?;
            self.registers.insert(parameter.variable, register);
            self.settle(*parameter);
        }
        Ok(())
    }

    fn defaulted(&mut self, part: &super::DefaultedParameter) -> Compiled<()> {
        let register = self.registers[&part.parameter.variable];
        if let Some(supplied) = part.supplied {
            let to = self.allocate()?;
            self.registers.insert(supplied.variable, to);
            self.push(Op::Supplied(to, register));
        }
        let jump = self.push(Op::JumpSupplied(register, 0));
        let before = self.next;
        self.emit(&part.default, Want::One(register))?;
        self.next = before;
        self.patch(jump);
        self.settle(part.parameter);
        if let Some(supplied) = part.supplied {
            self.settle(supplied);
        }
        Ok(())
    }

    /// A parameter is in its register: put it into a cell or bind it where it needs that.
    fn settle(&mut self, parameter: super::Parameter) {
        let register = self.registers[&parameter.variable];
        if self.compiler.is_celled(parameter.variable) {
            self.push(Op::NewCell(register, register));
        }
        if let Some(symbol) = parameter.special {
            self.push(Op::Bind(register, symbol));
            self.undo.push(Undo::Unbind(1));
        }
    }

    /// Gives a variable the value in its register.
    pub(super) fn start_variable(&mut self, variable: VariableId, register: Register) {
        self.registers.insert(variable, register);
        if self.compiler.is_celled(variable) {
            self.push(Op::NewCell(register, register));
        }
    }

    /// Register of a variable that can be read where it is.
    fn plain_register(&self, node: &Node) -> Option<Register> {
        let Node::Local(variable) = node else { return None };
        if self.compiler.variables[*variable].is_assigned
            || self.compiler.variables[*variable].holds.is_some()
        {
            return None;
        }
        self.registers.get(variable).copied()
    }

    /// Register that holds a node's value, for reading at once.
    pub(super) fn operand(&mut self, node: &Node) -> Compiled<Register> {
        if let Some(register) = self.plain_register(node) {
            return Ok(register);
        }
        let register = self.allocate()?;
        self.emit(node, Want::One(register))?;
        Ok(register)
    }

    pub(super) fn emit(&mut self, node: &Node, want: Want) -> Compiled<()> {
        let before = self.next;
        self.emit_node(node, want)?;
        self.next = before;
        Ok(())
    }

    fn emit_node(&mut self, node: &Node, want: Want) -> Compiled<()> {
        match node {
            Node::Constant(word) => {
                if want == Want::Nothing {
                    return Ok(());
                }
                let to = self.destination(want)?;
                self.load(to, *word);
                self.deliver(to, want);
            }
            Node::Local(variable) => self.emit_local(*variable, want)?,
            Node::SetLocal(variable, value) => self.emit_set_local(*variable, value, want)?,
            Node::Global(symbol, place) => {
                let to = self.destination(want)?;
                self.at(*place);
                self.push(Op::Global(to, *symbol));
                self.deliver(to, want);
            }
            Node::SetGlobal(symbol, value) => {
                let from = self.allocate()?;
                self.emit(value, Want::One(from))?;
                self.push(Op::SetGlobal(from, *symbol));
                self.deliver(from, want);
            }
            Node::If(test, yes, no) => self.emit_if(test, yes, no, want)?,
            Node::And(nodes) | Node::Or(nodes) => {
                self.emit_and_or(nodes, matches!(node, Node::And(_)), want)?;
            }
            Node::Sequence(nodes) => {
                let Some((last, first)) = nodes.split_last() else { return Ok(()) };
                for node in first {
                    self.emit(node, Want::Nothing)?;
                }
                self.emit(last, want)?;
            }
            Node::Let(bindings, body) => self.emit_let(bindings, body, want)?,
            Node::Function(function) => {
                let to = self.destination(want)?;
                self.emit_closure(*function, to);
                self.deliver(to, want);
            }
            Node::Call(target, arguments, place) => {
                self.emit_call(target, arguments, *place, want, false)?;
            }
            Node::Apply(target, arguments, place) => {
                self.emit_call(target, arguments, *place, want, true)?;
            }
            Node::Inline(inline, arguments, place) => {
                self.emit_inline(*inline, arguments, *place, want)?;
            }
            Node::Slot(kind, slot, structure, place) => {
                let from = self.operand(structure)?;
                let to = self.destination(want)?;
                self.at(*place);
                self.push(Op::StructureSlot(to, from));
                self.push(Op::Slot(*kind, *slot));
                self.deliver(to, want);
            }
            _ => self.emit_control(node, want)?,
        }
        Ok(())
    }

    fn emit_local(&mut self, variable: VariableId, want: Want) -> Compiled<()> {
        if want == Want::Nothing {
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
            self.push(Op::Cell(to, register));
            self.deliver(to, want);
            return Ok(());
        }
        let index = self.capture_index(variable);
        let to = self.destination(want)?;
        self.push(if is_celled { Op::CapturedCell(to, index) } else { Op::Captured(to, index) });
        self.deliver(to, want);
        Ok(())
    }

    fn capture_index(&self, variable: VariableId) -> u16 {
        self.captures.iter().position(|known| *known == variable).unwrap_or(0) as u16
    }

    fn emit_set_local(&mut self, variable: VariableId, value: &Node, want: Want) -> Compiled<()> {
        let is_celled = self.compiler.is_celled(variable);
        let register = self.registers.get(&variable).copied();
        if let (false, Some(register)) = (is_celled, register) {
            if matches!(value, Node::Inline(..) | Node::Constant(_) | Node::Local(_)) {
                self.emit(value, Want::One(register))?;
            } else {
                let from = self.allocate()?;
                self.emit(value, Want::One(from))?;
                self.push(Op::Move(register, from));
            }
            self.deliver(register, want);
            return Ok(());
        }
        let from = self.allocate()?;
        self.emit(value, Want::One(from))?;
        match register {
            Some(cell) => self.push(Op::SetCell(cell, from)),
            None => {
                let index = self.capture_index(variable);
                self.push(Op::SetCapturedCell(index, from))
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
                Some(register) => Capture::Register(*register),
                None => Capture::Captured(self.capture_index(*variable)),
            })
            .collect();
        self.compiler.codes.set_captures(code, captures);
        self.push(Op::Closure(to, code));
    }

    fn emit_if(&mut self, test: &Node, yes: &Node, no: &Node, want: Want) -> Compiled<()> {
        let to_no = self.emit_condition(test)?;
        self.emit(yes, want)?;
        if want == Want::Tail {
            to_no.into_iter().for_each(|jump| self.patch(jump));
            return self.emit(no, want);
        }
        let is_empty = want == Want::Nothing && matches!(no, Node::Constant(_));
        if is_empty {
            to_no.into_iter().for_each(|jump| self.patch(jump));
            return Ok(());
        }
        let to_end = self.push(Op::Jump(0));
        to_no.into_iter().for_each(|jump| self.patch(jump));
        self.emit(no, want)?;
        self.patch(to_end);
        Ok(())
    }

    fn emit_and_or(&mut self, nodes: &[Node], is_and: bool, want: Want) -> Compiled<()> {
        let Some((last, first)) = nodes.split_last() else { return Ok(()) };
        let to = self.destination(want)?;
        let mut jumps = Vec::new();
        for node in first {
            self.emit(node, Want::One(to))?;
            jumps.push(self.push(if is_and { Op::JumpNil(to, 0) } else { Op::JumpTrue(to, 0) }));
        }
        self.emit(last, want)?;
        if want == Want::Tail {
            jumps.into_iter().for_each(|jump| self.patch(jump));
            self.push(Op::Return(to));
            return Ok(());
        }
        if let Want::Many(_) = want {
            let end = self.push(Op::Jump(0));
            jumps.into_iter().for_each(|jump| self.patch(jump));
            self.push(Op::OneValue);
            self.patch(end);
            return Ok(());
        }
        jumps.into_iter().for_each(|jump| self.patch(jump));
        Ok(())
    }

    fn emit_let(&mut self, bindings: &[Binding], body: &Node, want: Want) -> Compiled<()> {
        let mut dynamic = Vec::new();
        for binding in bindings {
            let register = self.allocate()?;
            match binding {
                Binding::Lexical(variable, value) => {
                    self.emit(value, Want::One(register))?;
                    self.start_variable(*variable, register);
                }
                Binding::Dynamic(symbol, value) => {
                    self.emit(value, Want::One(register))?;
                    dynamic.push((*symbol, register));
                }
            }
        }
        if dynamic.is_empty() {
            return self.emit(body, want);
        }
        for (symbol, register) in &dynamic {
            self.push(Op::Bind(*register, *symbol));
        }
        let depth = self.undo.len();
        self.undo.push(Undo::Unbind(dynamic.len() as u16));
        self.emit_guarded(body, want, depth)
    }

    fn emit_call(
        &mut self,
        target: &Target,
        arguments: &[Node],
        place: SourcePlace,
        want: Want,
        is_apply: bool,
    ) -> Compiled<()> {
        let function = match target {
            Target::Node(node) => Some(self.operand(node)?),
            Target::Local(variable) if self.compiler.variables[*variable].holds.is_none() => {
                let register = self.allocate()?;
                self.emit_local(*variable, Want::One(register))?;
                Some(register)
            }
            Target::Native(number) if is_apply => {
                let register = self.allocate()?;
                self.load(register, Word::native(*number));
                Some(register)
            }
            Target::Global(symbol) if is_apply => {
                let register = self.allocate()?;
                self.load(register, Word::symbol(*symbol));
                Some(register)
            }
            Target::Local(variable) if is_apply => {
                let register = self.allocate()?;
                self.emit_local(*variable, Want::One(register))?;
                Some(register)
            }
            _ => None,
        };
        let first = self.next;
        for argument in arguments {
            let register = self.allocate()?;
            self.emit(argument, Want::One(register))?;
        }
        if arguments.is_empty() {
            self.allocate()?;
        }
        self.at(place);
        let count = arguments.len() as u8;
        let is_tail = want == Want::Tail;
        let op = match (target, function) {
            (_, Some(function)) if is_apply && is_tail => Op::TailApply { count, first, function },
            (_, Some(function)) if is_apply => Op::ApplyWord { count, first, function },
            (_, Some(function)) if is_tail => Op::TailWord { count, first, function },
            (_, Some(function)) => Op::CallWord { count, first, function },
            (Target::Native(function), None) => {
                Op::CallNative { count, first, function: *function }
            }
            (Target::Global(symbol), None) if is_tail => {
                Op::TailGlobal { count, first, symbol: *symbol }
            }
            (Target::Global(symbol), None) => Op::CallGlobal { count, first, symbol: *symbol },
            (Target::Local(variable), None) => {
                let held = self.compiler.variables[*variable].holds.unwrap_or(0);
                let code = self.compiler.functions[held].code;
                if is_tail {
                    Op::TailCode { count, first, code }
                } else {
                    Op::CallCode { count, first, code }
                }
            }
            (Target::Node(_), None) => Op::Nil(first),
        };
        self.push(op);
        if is_tail && !matches!(op, Op::CallNative { .. }) {
            return Ok(());
        }
        self.deliver_values(first, want);
        Ok(())
    }

    fn emit_inline(
        &mut self,
        inline: Inline,
        arguments: &[Node],
        place: SourcePlace,
        want: Want,
    ) -> Compiled<()> {
        let small = match arguments.get(1) {
            Some(Node::Constant(word)) => word.as_fixnum().and_then(|n| i16::try_from(n).ok()),
            _ => None,
        };
        if is_condition(inline) {
            return self.emit_truth(&inline, arguments, place, want);
        }
        let one = self.operand(&arguments[0])?;
        let amount = match inline {
            Inline::Add => small,
            Inline::Subtract => small.and_then(i16::checked_neg),
            _ => None,
        };
        if let Some(amount) = amount {
            let to = self.destination(want)?;
            self.at(place);
            self.push(Op::AddSmall(to, one, amount));
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
            Inline::Add => Op::Add(to, one, two),
            Inline::Subtract => Op::Subtract(to, one, two),
            Inline::Multiply => Op::Multiply(to, one, two),
            Inline::Car => Op::Car(to, one),
            Inline::Cdr => Op::Cdr(to, one),
            Inline::Cons => Op::Cons(to, one, two),
            Inline::Not => Op::Not(to, one),
            _ => Op::Element(to, one, two),
        });
        self.deliver(to, want);
        Ok(())
    }

    /// A comparison as a value.
    fn emit_truth(
        &mut self,
        inline: &Inline,
        arguments: &[Node],
        place: SourcePlace,
        want: Want,
    ) -> Compiled<()> {
        let jumps = self.emit_comparison(*inline, arguments, place)?;
        let to = self.destination(want)?;
        self.push(Op::True(to));
        let end = self.push(Op::Jump(0));
        jumps.into_iter().for_each(|jump| self.patch(jump));
        self.push(Op::Nil(to));
        self.patch(end);
        self.deliver(to, want);
        Ok(())
    }

    /// Jumps to be patched to where control goes when the node is false.
    pub(super) fn emit_condition(&mut self, node: &Node) -> Compiled<Vec<usize>> {
        let before = self.next;
        let jumps = match node {
            Node::Inline(inline, arguments, place) if is_condition(*inline) => {
                self.emit_comparison(*inline, arguments, *place)?
            }
            Node::Inline(Inline::Not, arguments, _) => {
                let register = self.operand(&arguments[0])?;
                vec![self.push(Op::JumpTrue(register, 0))]
            }
            Node::And(nodes) => {
                let mut jumps = Vec::new();
                for node in nodes {
                    jumps.extend(self.emit_condition(node)?);
                }
                jumps
            }
            Node::Constant(word) if word.is_true() => Vec::new(),
            _ => {
                let register = self.operand(node)?;
                vec![self.push(Op::JumpNil(register, 0))]
            }
        };
        self.next = before;
        Ok(jumps)
    }

    fn emit_comparison(
        &mut self,
        inline: Inline,
        arguments: &[Node],
        place: SourcePlace,
    ) -> Compiled<Vec<usize>> {
        let small = match arguments.get(1) {
            Some(Node::Constant(word)) => word.as_fixnum().and_then(|n| i16::try_from(n).ok()),
            _ => None,
        };
        let one = self.operand(&arguments[0])?;
        let short = match (inline, small) {
            (Inline::Less, Some(small)) => Some(Op::UnlessLessSmall(one, small, 0)),
            (Inline::Greater, Some(small)) => Some(Op::UnlessGreaterSmall(one, small, 0)),
            (Inline::NumbersEqual, Some(small)) => Some(Op::UnlessEqualSmall(one, small, 0)),
            (Inline::Consp, _) => Some(Op::UnlessCons(one, 0)),
            (Inline::Atom, _) => Some(Op::IfCons(one, 0)),
            _ => None,
        };
        if let Some(op) = short {
            self.at(place);
            return Ok(vec![self.push(op)]);
        }
        let two = self.operand(&arguments[1])?;
        self.at(place);
        Ok(vec![self.push(match inline {
            Inline::Less => Op::UnlessLess(one, two, 0),
            Inline::LessEqual => Op::UnlessLessEqual(one, two, 0),
            Inline::Greater => Op::UnlessLess(two, one, 0),
            Inline::GreaterEqual => Op::UnlessLessEqual(two, one, 0),
            Inline::NumbersEqual => Op::UnlessNumbersEqual(one, two, 0),
            Inline::Eq => Op::UnlessEq(one, two, 0),
            _ => Op::UnlessEql(one, two, 0),
        })])
    }
}

fn is_condition(inline: Inline) -> bool {
    matches!(
        inline,
        Inline::Less
            | Inline::LessEqual
            | Inline::Greater
            | Inline::GreaterEqual
            | Inline::NumbersEqual
            | Inline::Eq
            | Inline::Eql
            | Inline::Consp
            | Inline::Atom
    )
}
