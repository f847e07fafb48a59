//! Ways out from afar: marks, cleanups on the way, and the values that arrive.

use super::calls::HOST_FRAME;
use super::{CodePosition, ResolvedCallee, UnwindLanding};
use crate::code::CodeTable;
use crate::machine::{CallFrame, FrameRole, Machine, MarkKind, PendingUnwind};
use crate::trap::{StepResult, Trap};
use crate::value::Word;

impl Machine {
    /// Runs the cleanups of a program that a condition ends, the innermost first. A cleanup may leave to a
    /// place that still waits; the program then goes on. Limits run no cleanups.
    pub(super) fn run_cleanups(&mut self, codes: &CodeTable, mut trap: Trap) -> StepResult {
        let mut trace = std::mem::take(&mut self.trace);
        while let Some(mark) = self.marks.pop() {
            if mark.kind != MarkKind::Cleanup {
                continue;
            }
            self.frames.truncate(mark.frames as usize);
            self.unbind_to(mark.bindings as usize);
            self.unwinds.truncate(mark.unwinds as usize);
            let ResolvedCallee::Code(code, closure) = self.callee(mark.word)? else { continue };
            let base = mark.base as usize + codes.get(mark.code).registers as usize;
            let roots = self.roots.len();
            self.roots.extend(trap.word());
            self.frames.push(HOST_FRAME);
            let result = match self.arrange(codes.get(code), base, 0) {
                Ok(()) => self.run(codes, CodePosition { code, position: 0, base, closure }),
                Err(trap) => Err(trap),
            };
            self.roots.truncate(roots);
            match result {
                Ok(value) if self.frames.len() < mark.frames as usize => return Ok(value),
                Ok(_) => {}
                Err(next) if next.is_condition() => {
                    trap = next;
                    trace = std::mem::take(&mut self.trace);
                }
                Err(next) => return Err(next),
            }
        }
        self.trace = trace;
        Err(trap)
    }

    pub(super) fn find_mark(&self, kind: MarkKind, word: Word) -> Option<usize> {
        self.marks.iter().rposition(|mark| mark.kind == kind && mark.word == word)
    }

    pub(super) fn unbind_to(&mut self, count: usize) {
        while self.bindings.len() > count {
            if let Some((symbol, value)) = self.bindings.pop() {
                self.symbols.cells[symbol as usize].value = value;
            }
        }
    }

    /// Unwinds to a mark, or to the cleanup before it.
    pub(super) fn unwind(
        &mut self,
        codes: &CodeTable,
        target: usize,
        value: Word,
        values: Vec<Word>,
    ) -> UnwindLanding {
        loop {
            let is_last = self.marks.len() == target + 1;
            let Some(mark) = self.marks.pop() else { unreachable!("the mark was found before") };
            let cursor = CodePosition {
                code: mark.code,
                position: mark.target as usize,
                base: mark.base as usize,
                closure: mark.closure,
            };
            if is_last {
                self.frames.truncate(mark.frames as usize);
                self.unbind_to(mark.bindings as usize);
                self.unwinds.truncate(mark.unwinds as usize);
                self.registers[cursor.base + mark.register as usize] = value;
                self.value_count = values.len();
                if values.len() != 1 {
                    self.values = values;
                }
                return UnwindLanding::At(cursor);
            }
            if mark.kind == MarkKind::Cleanup {
                self.frames.truncate(mark.frames as usize);
                self.unbind_to(mark.bindings as usize);
                self.unwinds.truncate(mark.unwinds as usize);
                self.unwinds.push(PendingUnwind { mark: target, value, values });
                self.frames.push(CallFrame {
                    code: mark.code,
                    position: 0,
                    base: mark.base,
                    role: FrameRole::Unwind,
                    closure: mark.closure,
                });
                let top = cursor.base + codes.get(mark.code).registers as usize;
                return UnwindLanding::Cleanup(CodePosition { base: top, ..cursor }, mark.word);
            }
        }
    }

    /// The values of the last call, of which the first is given.
    pub(super) fn current_values(&self, first: Word) -> Vec<Word> {
        if self.value_count == 1 { vec![first] } else { self.values[..self.value_count].to_vec() }
    }
}
