//! Calls, inline operations and comparisons to instructions.

use super::emit::{CodeEmitter, ValueUse};
use super::{CallTarget, CompileResult, FormNode, InlineOperation};
use crate::code::{Instruction, SourcePlace};
use crate::value::Word;

impl CodeEmitter<'_, '_> {
    pub(super) fn emit_call(
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

    pub(super) fn emit_inline(
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
        let amount = match inline {
            InlineOperation::Add => small,
            InlineOperation::Subtract => small.and_then(i16::checked_neg),
            _ => None,
        };
        if let Some(amount) = amount {
            let (one, _) = self.operands(&arguments[0], None)?;
            let to = self.destination(want)?;
            self.at(place);
            self.push(Instruction::AddSmall(to, one, amount));
            self.deliver(to, want);
            return Ok(());
        }
        let (one, two) = self.operands(&arguments[0], arguments.get(1))?;
        if let InlineOperation::SetCar | InlineOperation::SetCdr = inline {
            self.at(place);
            self.push(match inline {
                InlineOperation::SetCar => Instruction::SetCar(one, two),
                _ => Instruction::SetCdr(one, two),
            });
            self.deliver(two, want);
            return Ok(());
        }
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
    pub(super) fn emit_truth(
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

    pub(super) fn emit_comparison(
        &mut self,
        inline: InlineOperation,
        arguments: &[FormNode],
        place: SourcePlace,
    ) -> CompileResult<Vec<usize>> {
        let small = match arguments.get(1) {
            Some(FormNode::Constant(word)) => word.as_fixnum().and_then(|n| i16::try_from(n).ok()),
            _ => None,
        };
        let has_one =
            small.is_some() || matches!(inline, InlineOperation::Consp | InlineOperation::Atom);
        let second = if has_one { None } else { arguments.get(1) };
        let (one, two) = self.operands(&arguments[0], second)?;
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
        let two = if has_one { self.operand(&arguments[1])? } else { two };
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
