//! Instructions for exits: blocks, tags, catches, cleanups, several values, local functions.
//!
//! long: one table of nodes.

use super::emit::{CodeEmitter, ExitAction, ExitTargets, ValueUse};
use super::{CompileResult, FormNode, TagbodySegment};
use crate::code::Instruction;

impl CodeEmitter<'_, '_> {
    pub(super) fn emit_if(
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

    pub(super) fn emit_and_or(
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

    pub(super) fn emit_control(&mut self, node: &FormNode, want: ValueUse) -> CompileResult<()> {
        match node {
            FormNode::Block(block, body) => self.emit_block(*block, body, want),
            FormNode::ReturnFrom(block, value) => self.emit_return(*block, value),
            FormNode::Tagbody(block, segments) => self.emit_tagbody(*block, segments, want),
            FormNode::Go(block, tag) => self.emit_go(*block, *tag),
            FormNode::Catch(tag, body) => {
                let tag = self.operand(tag)?;
                let to = self.allocate()?;
                let mark = self.push(Instruction::MarkCatch(tag, to, 0));
                self.emit_marked(mark, body, to, want)
            }
            FormNode::Throw(tag, value, place) => {
                let tag_register = self.allocate()?;
                self.emit(tag, ValueUse::One(tag_register))?;
                let from = self.allocate()?;
                self.emit(value, ValueUse::Many(from))?;
                self.at(*place);
                self.push(Instruction::ThrowTag(tag_register, from));
                Ok(())
            }
            FormNode::Cleanup(body, function) => self.emit_cleanup(body, *function, want),
            FormNode::ValuesToList(values) => {
                let from = self.allocate()?;
                self.emit(values, ValueUse::Many(from))?;
                self.push(Instruction::ValuesToList(from, from));
                self.deliver(from, want);
                Ok(())
            }
            FormNode::ListToValues(list) => {
                let from = self.allocate()?;
                self.emit(list, ValueUse::One(from))?;
                self.push(Instruction::ListToValues(from, from));
                self.deliver_values(from, want);
                Ok(())
            }
            FormNode::ValuesBind(variables, values, body) => {
                let first = self.next;
                for _ in 0..variables.len().max(1) {
                    self.allocate()?;
                }
                self.emit(values, ValueUse::Many(first))?;
                self.push(Instruction::SpreadValues(first, variables.len() as u16));
                self.push(Instruction::OneValue);
                for (index, variable) in variables.iter().enumerate() {
                    self.start_variable(*variable, first + index as u16);
                }
                self.emit(body, want)
            }
            FormNode::ValuesFirst(first, rest) => {
                let kept = self.allocate()?;
                self.emit(first, ValueUse::Many(kept))?;
                self.push(Instruction::ValuesToList(kept, kept));
                self.emit(rest, ValueUse::Nothing)?;
                self.push(Instruction::ListToValues(kept, kept));
                self.deliver_values(kept, want);
                Ok(())
            }
            FormNode::Labels(functions, body) => self.emit_labels(functions, body, want),
            _ => Ok(()),
        }
    }

    /// Emits what leaves everything above `depth`, without forgetting it.
    pub(super) fn emit_undo(&mut self, depth: usize) {
        for index in (depth..self.undo.len()).rev() {
            let op = match self.undo[index] {
                ExitAction::Unbind(count) => Instruction::Unbind(count),
                ExitAction::PopMark => Instruction::PopMark,
            };
            self.push(op);
        }
    }

    /// Emits a body whose undo is above `depth`, undoes it, and delivers the values.
    pub(super) fn emit_guarded(
        &mut self,
        body: &FormNode,
        want: ValueUse,
        depth: usize,
    ) -> CompileResult<()> {
        let (inner, to) = match want {
            ValueUse::Tail => {
                let to = self.allocate()?;
                (ValueUse::Many(to), to)
            }
            ValueUse::One(to) | ValueUse::Many(to) => (want, to),
            ValueUse::Nothing => (want, 0),
        };
        self.emit(body, inner)?;
        self.emit_undo(depth);
        self.undo.truncate(depth);
        if want == ValueUse::Tail {
            self.push(Instruction::ReturnValues(to));
        }
        Ok(())
    }

    /// Body under a mark that lands behind it with its value in `to`.
    fn emit_marked(
        &mut self,
        mark: usize,
        body: &FormNode,
        to: u16,
        want: ValueUse,
    ) -> CompileResult<()> {
        let depth = self.undo.len();
        self.undo.push(ExitAction::PopMark);
        self.emit(body, ValueUse::Many(to))?;
        self.undo.truncate(depth);
        self.push(Instruction::PopMark);
        self.patch(mark);
        self.deliver_values(to, want);
        Ok(())
    }

    fn emit_block(&mut self, block: usize, body: &FormNode, want: ValueUse) -> CompileResult<()> {
        let node = &self.compiler.blocks[block];
        let (is_far, token) = (node.has_far_exits, node.token);
        let undo = self.undo.len();
        let exit = |want| ExitTargets {
            want,
            undo,
            jumps: Vec::new(),
            tags: Vec::new(),
            tag_jumps: Vec::new(),
        };
        if !is_far {
            self.exits.insert(block, exit(want));
            self.emit(body, want)?;
            self.finish_block(block);
            return Ok(());
        }
        let register = self.allocate()?;
        self.push(Instruction::NewToken(register));
        self.registers.insert(token, register);
        let to = self.allocate()?;
        let mark = self.push(Instruction::MarkBlock(register, to, 0));
        self.undo.push(ExitAction::PopMark);
        self.exits.insert(block, exit(ValueUse::Many(to)));
        self.emit(body, ValueUse::Many(to))?;
        self.undo.truncate(undo);
        self.push(Instruction::PopMark);
        self.finish_block(block);
        self.patch(mark);
        self.deliver_values(to, want);
        Ok(())
    }

    fn finish_block(&mut self, block: usize) {
        if let Some(exit) = self.exits.remove(&block) {
            exit.jumps.into_iter().for_each(|jump| self.patch(jump));
        }
    }

    fn emit_return(&mut self, block: usize, value: &FormNode) -> CompileResult<()> {
        let local = self.exits.get(&block).map(|exit| (exit.want, exit.undo));
        let Some((want, undo)) = local else {
            let token = self.allocate()?;
            let variable = self.compiler.blocks[block].token;
            self.emit(&FormNode::Local(variable), ValueUse::One(token))?;
            let from = self.allocate()?;
            self.emit(value, ValueUse::Many(from))?;
            self.push(Instruction::ThrowToken(token, from));
            return Ok(());
        };
        let is_across_cleanup = self.crosses_cleanup(block);
        if is_across_cleanup {
            let token = self.registers[&self.compiler.blocks[block].token];
            let from = self.allocate()?;
            self.emit(value, ValueUse::Many(from))?;
            self.push(Instruction::ThrowToken(token, from));
            return Ok(());
        }
        if want == ValueUse::Tail && self.undo.len() > undo {
            let from = self.allocate()?;
            self.emit(value, ValueUse::Many(from))?;
            self.emit_undo(undo);
            self.push(Instruction::ReturnValues(from));
            return Ok(());
        }
        self.emit(value, want)?;
        if want == ValueUse::Tail {
            return Ok(());
        }
        self.emit_undo(undo);
        let jump = self.push(Instruction::Jump(0));
        if let Some(exit) = self.exits.get_mut(&block) {
            exit.jumps.push(jump);
        }
        Ok(())
    }

    fn crosses_cleanup(&self, block: usize) -> bool {
        self.compiler.blocks[block].cleanups != self.compiler.cleanups
    }

    fn emit_tagbody(
        &mut self,
        block: usize,
        segments: &[TagbodySegment],
        want: ValueUse,
    ) -> CompileResult<()> {
        let node = &self.compiler.blocks[block];
        let (is_far, token) = (node.has_far_exits, node.token);
        let count =
            segments.iter().filter(|segment| matches!(segment, TagbodySegment::Tag(_))).count();
        let mut landing = None;
        let mut undo = self.undo.len();
        if is_far {
            let register = self.allocate()?;
            self.push(Instruction::NewToken(register));
            self.registers.insert(token, register);
            let to = self.allocate()?;
            let mark = self.push(Instruction::MarkBlock(register, to, 0));
            self.undo.push(ExitAction::PopMark);
            undo += 1;
            landing = Some((register, to, mark));
        }
        self.exits.insert(
            block,
            ExitTargets {
                want,
                undo,
                jumps: Vec::new(),
                tags: vec![None; count],
                tag_jumps: Vec::new(),
            },
        );
        for segment in segments {
            match segment {
                TagbodySegment::Tag(tag) => {
                    let here = self.code.ops.len();
                    if let Some(exit) = self.exits.get_mut(&block) {
                        exit.tags[*tag] = Some(here);
                    }
                }
                TagbodySegment::Form(node) => self.emit(node, ValueUse::Nothing)?,
            }
        }
        if let Some((register, to, mark)) = landing {
            self.undo.pop();
            self.push(Instruction::PopMark);
            let end = self.push(Instruction::Jump(0));
            // An exit from afar removed the mark: set it again, then go to the tag.
            self.patch(mark);
            let here = self.here();
            self.push(Instruction::MarkBlock(register, to, here));
            for tag in 0..count {
                let skip = self.push(Instruction::UnlessEqualSmall(to, tag as i16, 0));
                let jump = self.push(Instruction::Jump(0));
                if let Some(exit) = self.exits.get_mut(&block) {
                    exit.tag_jumps.push((jump, tag));
                }
                self.patch(skip);
            }
            self.patch(end);
        }
        if let Some(exit) = self.exits.remove(&block) {
            for (jump, tag) in exit.tag_jumps {
                let target = exit.tags[tag].unwrap_or(0);
                self.patch_to(jump, target as u16);
            }
        }
        let to = self.allocate()?;
        if want != ValueUse::Nothing {
            self.push(Instruction::Nil(to));
        }
        self.deliver(to, want);
        Ok(())
    }

    fn emit_go(&mut self, block: usize, tag: usize) -> CompileResult<()> {
        let local = self.exits.get(&block).map(|exit| (exit.undo, exit.tags[tag]));
        match local {
            Some((undo, position)) if !self.crosses_cleanup(block) => {
                self.emit_undo(undo);
                let jump = match position {
                    Some(position) => self.push(Instruction::Back(position as u16)),
                    None => self.push(Instruction::Jump(0)),
                };
                if let (None, Some(exit)) = (position, self.exits.get_mut(&block)) {
                    exit.tag_jumps.push((jump, tag));
                }
            }
            _ => {
                let token = self.allocate()?;
                let variable = self.compiler.blocks[block].token;
                self.emit(&FormNode::Local(variable), ValueUse::One(token))?;
                let from = self.allocate()?;
                self.push(Instruction::Small(from, tag as i32));
                self.push(Instruction::OneValue);
                self.push(Instruction::ThrowToken(token, from));
            }
        }
        Ok(())
    }

    fn emit_cleanup(
        &mut self,
        body: &FormNode,
        function: usize,
        want: ValueUse,
    ) -> CompileResult<()> {
        let thunk = self.allocate()?;
        self.emit_closure(function, thunk);
        let to = self.allocate()?;
        self.push(Instruction::MarkCleanup(thunk));
        self.undo.push(ExitAction::PopMark);
        self.compiler.cleanups += 1;
        let result = self.emit(body, ValueUse::Many(to));
        self.compiler.cleanups -= 1;
        self.undo.pop();
        result?;
        self.push(Instruction::PopMark);
        self.push(Instruction::ValuesToList(to, to));
        let first = self.allocate()?;
        self.push(Instruction::CallWord { count: 0, first, function: thunk });
        self.push(Instruction::ListToValues(to, to));
        self.deliver_values(to, want);
        Ok(())
    }

    fn emit_labels(
        &mut self,
        functions: &[(usize, usize)],
        body: &FormNode,
        want: ValueUse,
    ) -> CompileResult<()> {
        let dynamic: Vec<(usize, usize)> = functions
            .iter()
            .copied()
            .filter(|(variable, _)| self.compiler.variables[*variable].holds.is_none())
            .collect();
        let mut registers = Vec::new();
        for (variable, _) in &dynamic {
            let register = self.allocate()?;
            self.push(Instruction::Nil(register));
            if self.compiler.variables[*variable].is_captured {
                // Made before the functions that refer to each other through it.
                self.compiler.variables[*variable].is_assigned = true;
            }
            self.start_variable(*variable, register);
            registers.push(register);
        }
        for ((variable, function), register) in dynamic.iter().zip(registers) {
            let made = self.allocate()?;
            self.emit_closure(*function, made);
            if self.compiler.variables[*variable].is_captured {
                self.push(Instruction::SetCell(register, made));
            } else {
                self.push(Instruction::Move(register, made));
            }
        }
        self.emit(body, want)
    }
}
