//! Ways out from afar: marks, cleanups on the way, and the values that arrive.

use super::CodePosition;
use super::calls::{HOST_FRAME, ResolvedCallee};
use crate::code::CodeTable;
use crate::machine::{CallFrame, ExitMark, FrameRole, Machine, MarkKind, PendingUnwind};
use crate::trap::{LimitKind, StepResult, Trap, limit};
use crate::value::Word;

/// Result of a way out that was looked for.
pub(super) enum UnwindLanding {
    At(CodePosition),
    /// A cleanup runs first: the function is to be called.
    Cleanup(CodePosition, Word),
}

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

    /// Notes a place to come back to: where it is, and the instruction and register that a value arrives at.
    pub(super) fn push_mark(
        &mut self,
        kind: MarkKind,
        word: Word,
        cursor: CodePosition,
        (target, register): (u16, u16),
    ) -> StepResult<()> {
        if self.marks.len() > self.limits.depth {
            return Err(limit(LimitKind::Depth));
        }
        self.marks.push(ExitMark {
            kind,
            word,
            closure: cursor.closure,
            frames: self.frames.len() as u32,
            code: cursor.code,
            base: cursor.base as u32,
            bindings: self.bindings.len() as u32,
            unwinds: self.unwinds.len() as u32,
            target,
            register,
        });
        Ok(())
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
