//! Calls: the function behind a word, its arguments in their places, the host as a caller.

use super::CodePosition;
use crate::code::{CodeTable, CompiledCode};
use crate::heap::HeapObject;
use crate::machine::{ArgumentWindow, CallFrame, FrameRole, Machine};
use crate::native::{MANY, NATIVES};
use crate::symbols::well_known;
use crate::trap::{LimitKind, StepResult, Trap, TrapKind, limit};
use crate::types::condition;
use crate::value::{NIL, UNBOUND, Word, tag};

/// Function that is about to run.
#[derive(Clone, Copy)]
pub(super) enum ResolvedCallee {
    Code(u32, Word),
    Native(u32),
}

impl Machine {
    /// Calls a function from the host. The machine is idle before and after.
    pub(crate) fn call(
        &mut self,
        codes: &CodeTable,
        function: Word,
        arguments: &[Word],
    ) -> StepResult {
        debug_assert!(self.frames.is_empty(), "Lisp is not called while it runs");
        self.value_count = 1;
        self.fuel -= 1;
        if self.registers.len() < arguments.len() + 16 {
            self.registers.resize(arguments.len() + 64, NIL);
        }
        self.registers[..arguments.len()].copy_from_slice(arguments);
        let result = match self.callee(function) {
            Ok(ResolvedCallee::Native(number)) => {
                let window = ArgumentWindow { first: 0, count: arguments.len() };
                match self.call_native(number, window) {
                    Err(trap) => self.run_trap(codes, trap, arguments.len()),
                    done => done,
                }
            }
            Ok(ResolvedCallee::Code(code, closure)) => {
                self.frames.push(HOST_FRAME);
                match self.arrange(codes.get(code), 0, arguments.len()) {
                    Ok(()) => self.run(codes, CodePosition { code, position: 0, base: 0, closure }),
                    Err(trap) => {
                        self.frames.pop();
                        self.run_trap(codes, trap, arguments.len())
                    }
                }
            }
            Err(trap) => self.run_trap(codes, trap, arguments.len()),
        };
        self.settle(codes, result)
    }

    /// Goes on behind the request that the host now has an answer to.
    pub(crate) fn resume(&mut self, codes: &CodeTable) -> StepResult {
        let Some(frame) = self.frames.pop() else { return Ok(NIL) };
        let CallFrame { code, position, base, closure, .. } = frame;
        let (position, base) = (position as usize, base as usize);
        let result = self.run(codes, CodePosition { code, position, base, closure });
        self.settle(codes, result)
    }

    /// Ends a call of the host: runs the cleanups of a failure, keeps what waits for an answer, forgets the rest.
    fn settle(&mut self, codes: &CodeTable, result: StepResult) -> StepResult {
        let result = match result {
            Err(trap) if matches!(trap.as_ref(), TrapKind::Suspend) => return Err(trap),
            Err(trap) if trap.is_condition() => {
                // A cleanup of a failed program cannot wait: its end is the end of the call.
                let may_wait = std::mem::take(&mut self.requests.may_wait);
                let result = self.run_cleanups(codes, trap);
                self.requests.may_wait = may_wait;
                result
            }
            result => result,
        };
        if result.is_err() {
            self.reset();
        }
        result
    }

    /// Signals a condition that no running function caused.
    pub(super) fn run_trap(&mut self, codes: &CodeTable, trap: Trap, base: usize) -> StepResult {
        let (function, word) = trap_call(trap)?;
        let function = self.symbols.cells[function as usize].function;
        let ResolvedCallee::Code(code, closure) = self.callee(function)? else { return Ok(NIL) };
        if self.registers.len() <= base {
            self.registers.resize(base + 1, NIL);
        }
        self.registers[base] = word;
        self.frames.push(HOST_FRAME);
        self.arrange(codes.get(code), base, 1)?;
        self.run(codes, CodePosition { code, position: 0, base, closure })
    }

    #[inline]
    pub(super) fn callee(&mut self, function: Word) -> StepResult<ResolvedCallee> {
        match function.tag() {
            tag::CODE => Ok(ResolvedCallee::Code(function.payload(), NIL)),
            tag::NATIVE => Ok(ResolvedCallee::Native(function.payload())),
            _ => self.other_callee(function),
        }
    }

    pub(super) fn other_callee(&mut self, function: Word) -> StepResult<ResolvedCallee> {
        if let Some(HeapObject::Closure(code, _)) = self.heap.get(function) {
            return Ok(ResolvedCallee::Code(*code, function));
        }
        if let Some(symbol) = function.as_symbol() {
            let inner = self.symbols.cells[symbol as usize].function;
            if inner == UNBOUND || self.symbols.has(symbol, crate::symbols::flag::MACRO) {
                return Err(self.undefined_function(symbol));
            }
            return self.callee(inner);
        }
        Err(self.type_error(function, well_known::FUNCTION))
    }

    pub(crate) fn undefined_function(&mut self, symbol: u32) -> Trap {
        let is_known = self.symbols.home(symbol) == crate::symbols::SymbolHome::Lisp;
        if is_known && symbol != well_known::NIL {
            return crate::trap::outside(self.symbols.name(symbol));
        }
        self.condition(condition::UNDEFINED_FUNCTION, &[Word::symbol(symbol)])
    }

    #[inline]
    pub(super) fn call_native(&mut self, number: u32, arguments: ArgumentWindow) -> StepResult {
        let native = &NATIVES[number as usize];
        if arguments.count < native.least as usize
            || (arguments.count > native.most as usize && native.most != MANY)
        {
            return Err(self.wrong_count(native.name, arguments.count));
        }
        self.value_count = 1;
        (native.function)(self, arguments)
    }

    #[cold]
    pub(super) fn wrong_count(&mut self, name: &str, count: usize) -> Trap {
        let text =
            format!("{} called with invalid number of arguments: {count}", name.to_uppercase());
        self.program_error(&text)
    }

    /// Checks the number of arguments, puts them where the function expects them, and makes room.
    #[inline]
    pub(super) fn arrange(
        &mut self,
        code: &CompiledCode,
        base: usize,
        count: usize,
    ) -> StepResult<()> {
        let end = base + code.registers as usize + 1;
        if self.registers.len() < end {
            self.grow(end)?;
        }
        match &code.parameters {
            None if count == code.required as usize => Ok(()),
            None => Err(self.wrong_lisp_count(code, count)),
            Some(_) => self.arrange_all(code, base, count),
        }
    }

    #[cold]
    pub(super) fn grow(&mut self, end: usize) -> StepResult<()> {
        if end > self.limits.depth.saturating_mul(64) {
            return Err(limit(LimitKind::Depth));
        }
        self.registers.resize(end.next_power_of_two().max(64), NIL);
        Ok(())
    }

    #[cold]
    pub(super) fn wrong_lisp_count(&mut self, code: &CompiledCode, count: usize) -> Trap {
        let name = self.print_to_string(code.name);
        self.wrong_count(&name, count)
    }

    pub(super) fn arrange_all(
        &mut self,
        code: &CompiledCode,
        base: usize,
        count: usize,
    ) -> StepResult<()> {
        let Some(parameters) = &code.parameters else { return Ok(()) };
        let required = code.required as usize;
        let positional = required + parameters.optional as usize;
        let takes_more = parameters.has_rest || parameters.keys.is_some();
        if count < required || (count > positional && !takes_more) {
            return Err(self.wrong_lisp_count(code, count));
        }
        let more: Vec<Word> = if count > positional {
            self.registers[base + positional..base + count].to_vec()
        } else {
            self.registers[base + count..base + positional].fill(UNBOUND);
            Vec::new()
        };
        let mut next = base + positional;
        if parameters.has_rest {
            let list = self.make_list(&more)?;
            self.registers[next] = list;
            next += 1;
        }
        let Some(keys) = &parameters.keys else { return Ok(()) };
        if more.len() % 2 == 1 {
            return Err(self.program_error("odd number of &KEY arguments"));
        }
        self.registers[next..next + keys.len()].fill(UNBOUND);
        let mut unknown = None;
        let mut allow = UNBOUND;
        for pair in more.chunks_exact(2) {
            if pair[0] == Word::symbol(well_known::K_ALLOW_OTHER_KEYS) && allow == UNBOUND {
                allow = pair[1];
            }
            match keys.iter().position(|key| *key == pair[0]) {
                Some(at) if self.registers[next + at] == UNBOUND => {
                    self.registers[next + at] = pair[1];
                }
                Some(_) => {}
                None if pair[0] == Word::symbol(well_known::K_ALLOW_OTHER_KEYS) => {}
                None => unknown = Some(pair[0]),
            }
        }
        let is_allowed = parameters.allows_other_keys || (allow != UNBOUND && allow.is_true());
        match unknown {
            Some(key) if !is_allowed => {
                let text = format!("unknown &KEY argument: {}", self.print_to_string(key));
                Err(self.program_error(&text))
            }
            _ => Ok(()),
        }
    }

    /// Fuel is out, or a collection is due.
    #[cold]
    pub(super) fn pause(&mut self, codes: &CodeTable, top: usize) -> StepResult<()> {
        if self.fuel < 0 {
            return Err(limit(LimitKind::Fuel));
        }
        if self.heap.is_collection_due() {
            self.fuel -= (self.heap.bytes / 256) as i64;
            return self.collect(codes, top);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn captured(&self, closure: Word, index: u16) -> Word {
        match self.heap.object(closure) {
            HeapObject::Closure(_, captured) => captured[index as usize],
            _ => NIL,
        }
    }

    pub(super) fn make_closure(
        &mut self,
        codes: &CodeTable,
        made: u32,
        base: usize,
        closure: Word,
    ) -> Word {
        use crate::code::CaptureSource;
        let captures = &codes.get(made).captures;
        let captured: Box<[Word]> = captures
            .iter()
            .map(|capture| match capture {
                CaptureSource::Register(register) => self.registers[base + *register as usize],
                CaptureSource::Captured(index) => self.captured(closure, *index),
            })
            .collect();
        self.heap.allocate(HeapObject::Closure(made, captured))
    }

    /// Replaces the last argument, a list, by its elements; returns the new count.
    pub(super) fn spread(
        &mut self,
        first: usize,
        count: usize,
        code: &CompiledCode,
        base: usize,
    ) -> StepResult<usize> {
        let list = self.registers[first + count - 1];
        let elements = self.list_elements(list)?;
        let end = first + count + elements.len() + 1;
        let end = end.max(base + code.registers as usize + 1);
        if self.registers.len() < end {
            self.grow(end)?;
        }
        self.registers[first + count - 1..first + count - 1 + elements.len()]
            .copy_from_slice(&elements);
        Ok(count - 1 + elements.len())
    }

    /// Remembers who called whom, for the host.
    pub(super) fn note_trace(&mut self) {
        let frames = self.frames.iter().rev().filter(|frame| frame.role == FrameRole::Call);
        self.trace = frames.take(TRACE_FRAMES).map(|frame| (frame.code, frame.position)).collect();
    }
}

/// Calls that a message for people shows.
const TRACE_FRAMES: usize = 32;

pub(super) const HOST_FRAME: CallFrame =
    CallFrame { code: 0, position: 0, base: 0, role: FrameRole::Host, closure: NIL };

/// The function that deals with a trap inside Lisp, and its argument.
pub(super) fn trap_call(trap: Trap) -> StepResult<(u32, Word)> {
    match *trap {
        TrapKind::Condition(word) => Ok((well_known::ERROR, word)),
        TrapKind::Report(word) => Ok((well_known::REPORT, word)),
        _ => Err(trap),
    }
}
