//! The loop over instructions. Registers of a function are a window of one vector; a callee's window
//! begins at its first argument. Nothing here calls itself: Lisp calls Lisp by frames alone.
//!
//! long: `Machine::run` is one table of instructions, and its local variables are its speed.

mod calls;
mod unwind;

use crate::code::{CodeTable, CompiledCode, Instruction};
use crate::equality::is_eql;
use crate::heap::HeapObject;
use crate::machine::{ArgumentWindow, CallFrame, FrameRole, Machine, MarkKind};
use crate::symbols::well_known;
use crate::trap::{LimitKind, StepResult, Trap, TrapKind, limit};
use crate::types::condition;
use crate::value::{NIL, UNBOUND, Word};

use calls::{ResolvedCallee, trap_call};
use unwind::UnwindLanding;

/// Instruction that runs next, and the registers it sees.
#[derive(Clone, Copy)]
pub(super) struct CodePosition {
    pub(super) code: u32,
    pub(super) position: usize,
    pub(super) base: usize,
    pub(super) closure: Word,
}

impl Machine {
    fn run(&mut self, codes: &CodeTable, start: CodePosition) -> StepResult {
        let CodePosition { code: mut number, mut position, mut base, mut closure } = start;
        let mut code: &CompiledCode = codes.get(number);
        macro_rules! get {
            ($register:expr) => {
                self.registers[base + $register as usize]
            };
        }
        macro_rules! set {
            ($register:expr, $value:expr) => {{
                let value = $value;
                self.registers[base + $register as usize] = value;
            }};
        }
        macro_rules! jump {
            ($cursor:expr) => {{
                let cursor: CodePosition = $cursor;
                number = cursor.code;
                code = codes.get(number);
                position = cursor.position;
                base = cursor.base;
                closure = cursor.closure;
            }};
        }
        macro_rules! push_frame {
            ($position:expr) => {
                self.frames.push(CallFrame {
                    code: number,
                    position: $position as u32,
                    base: base as u32,
                    role: FrameRole::Call,
                    closure,
                })
            };
        }
        // Calls `error`, or a condition's report and then the instruction again.
        macro_rules! raise {
            ($trap:expr) => {{
                let trap: Trap = $trap;
                let is_repeated = matches!(trap.as_ref(), TrapKind::Report(_) | TrapKind::Suspend);
                push_frame!(if is_repeated { position - 1 } else { position });
                let (symbol, word) = match trap_call(trap) {
                    Ok(call) => call,
                    Err(trap) => {
                        self.note_trace();
                        return Err(trap);
                    }
                };
                let function = self.symbols.cells[symbol as usize].function;
                let top = base + code.registers as usize;
                if self.registers.len() <= top {
                    self.registers.resize(top + 16, NIL);
                }
                self.registers[top] = word;
                let Ok(ResolvedCallee::Code(next, captured)) = self.callee(function) else {
                    return Err(limit(LimitKind::Depth));
                };
                self.arrange(codes.get(next), top, 1)?;
                jump!(CodePosition { code: next, position: 0, base: top, closure: captured });
                continue;
            }};
        }
        macro_rules! attempt {
            ($outcome:expr) => {
                match $outcome {
                    Ok(value) => value,
                    Err(trap) => raise!(trap),
                }
            };
        }
        macro_rules! tick {
            () => {
                self.fuel -= 1;
                if self.fuel < 0 || self.heap.is_collection_due() {
                    let top = base + code.registers as usize;
                    if let Err(trap) = self.pause(codes, top) {
                        push_frame!(position);
                        self.note_trace();
                        return Err(trap);
                    }
                }
            };
        }
        macro_rules! enter {
            ($callee:expr, $first:expr, $count:expr) => {
                match $callee {
                    ResolvedCallee::Code(next, captured) => {
                        let next_base = base + $first as usize;
                        let next_code = codes.get(next);
                        attempt!(self.arrange(next_code, next_base, $count));
                        if self.frames.len() >= self.limits.depth {
                            push_frame!(position);
                            self.note_trace();
                            return Err(limit(LimitKind::Depth));
                        }
                        push_frame!(position);
                        number = next;
                        code = next_code;
                        position = 0;
                        base = next_base;
                        closure = captured;
                    }
                    ResolvedCallee::Native(native) => {
                        let arguments =
                            ArgumentWindow { first: base + $first as usize, count: $count };
                        let value = attempt!(self.call_native(native, arguments));
                        set!($first, value);
                    }
                }
            };
        }
        // Returns to the caller; the value is in `$register`, its companions in `values`.
        macro_rules! leave {
            ($value:expr) => {{
                let value: Word = $value;
                self.registers[base] = value;
                let Some(frame) = self.frames.pop() else { return Ok(value) };
                match frame.role {
                    FrameRole::Call => {
                        number = frame.code;
                        code = codes.get(number);
                        position = frame.position as usize;
                        base = frame.base as usize;
                        closure = frame.closure;
                    }
                    FrameRole::Host => return Ok(value),
                    FrameRole::Unwind => {
                        let Some(pending) = self.unwinds.pop() else { return Ok(value) };
                        land!(self.unwind(codes, pending.mark, pending.value, pending.values));
                    }
                }
            }};
        }
        macro_rules! land {
            ($landing:expr) => {
                match $landing {
                    UnwindLanding::At(cursor) => jump!(cursor),
                    UnwindLanding::Cleanup(cursor, function) => {
                        let ResolvedCallee::Code(next, captured) = self.callee(function)? else {
                            return Err(limit(LimitKind::Depth));
                        };
                        self.arrange(codes.get(next), cursor.base, 0)?;
                        let base = cursor.base;
                        jump!(CodePosition { code: next, position: 0, base, closure: captured });
                    }
                }
            };
        }
        macro_rules! tail {
            ($callee:expr, $first:expr, $count:expr) => {{
                let count: usize = $count;
                match $callee {
                    ResolvedCallee::Code(next, captured) => {
                        let from = base + $first as usize;
                        self.registers.copy_within(from..from + count, base);
                        let next_code = codes.get(next);
                        if let Err(trap) = self.arrange(next_code, base, count) {
                            raise!(trap);
                        }
                        number = next;
                        code = next_code;
                        position = 0;
                        closure = captured;
                    }
                    ResolvedCallee::Native(native) => {
                        let arguments = ArgumentWindow { first: base + $first as usize, count };
                        let value = attempt!(self.call_native(native, arguments));
                        leave!(value);
                    }
                }
            }};
        }
        macro_rules! compare {
            ($one:expr, $two:expr, $target:expr, $fast:tt, $slow:ident) => {{
                let (one, two) = (get!($one), get!($two));
                let holds = if one.is_fixnum() && two.is_fixnum() {
                    one.0.cast_signed() $fast two.0.cast_signed()
                } else {
                    attempt!(self.$slow(one, two))
                };
                if !holds {
                    position = $target as usize;
                }
            }};
        }
        macro_rules! compare_small {
            ($one:expr, $small:expr, $target:expr, $fast:tt, $slow:ident, $swap:literal) => {{
                let one = get!($one);
                let two = Word::fixnum(i64::from($small));
                let holds = if one.is_fixnum() {
                    one.0.cast_signed() $fast two.0.cast_signed()
                } else if $swap {
                    attempt!(self.$slow(two, one))
                } else {
                    attempt!(self.$slow(one, two))
                };
                if !holds {
                    position = $target as usize;
                }
            }};
        }
        loop {
            let op = code.ops[position];
            position += 1;
            match op {
                Instruction::Move(to, from) => set!(to, get!(from)),
                Instruction::Constant(to, index) => set!(to, code.constants[index as usize]),
                Instruction::Nil(to) => set!(to, NIL),
                Instruction::True(to) => set!(to, Word::truth(true)),
                Instruction::Small(to, number) => set!(to, Word::fixnum(i64::from(number))),
                Instruction::Captured(to, index) => set!(to, self.captured(closure, index)),
                Instruction::CapturedCell(to, index) => {
                    let cell = self.captured(closure, index);
                    set!(to, self.heap.cell(cell));
                }
                Instruction::SetCapturedCell(index, from) => {
                    let cell = self.captured(closure, index);
                    let value = get!(from);
                    self.heap.set_cell(cell, value);
                }
                Instruction::NewCell(to, from) => {
                    let value = get!(from);
                    set!(to, self.heap.allocate(HeapObject::Cell(value)));
                }
                Instruction::Cell(to, from) => set!(to, self.heap.cell(get!(from))),
                Instruction::SetCell(cell, from) => {
                    let (cell, value) = (get!(cell), get!(from));
                    self.heap.set_cell(cell, value);
                }
                Instruction::Closure(to, made) => {
                    let word = self.make_closure(codes, made, base, closure);
                    set!(to, word);
                }
                Instruction::Global(to, symbol) => {
                    let value = self.symbols.cells[symbol as usize].value;
                    if value == UNBOUND {
                        let name = Word::symbol(symbol);
                        raise!(self.condition(condition::UNBOUND_VARIABLE, &[name]));
                    }
                    set!(to, value);
                }
                Instruction::SetGlobal(from, symbol) => {
                    self.symbols.cells[symbol as usize].value = get!(from);
                }
                Instruction::Bind(from, symbol) => {
                    let value = get!(from);
                    let cells = &mut self.symbols.cells[symbol as usize];
                    self.bindings.push((symbol, std::mem::replace(&mut cells.value, value)));
                    if self.bindings.len() > self.limits.depth {
                        return Err(limit(LimitKind::Depth));
                    }
                }
                Instruction::Unbind(count) => self.unbind_to(self.bindings.len() - count as usize),
                Instruction::Jump(target) => position = target as usize,
                Instruction::Back(target) => {
                    tick!();
                    position = target as usize;
                }
                Instruction::JumpNil(register, target) => {
                    if get!(register).is_nil() {
                        position = target as usize;
                    }
                }
                Instruction::JumpTrue(register, target) => {
                    if get!(register).is_true() {
                        position = target as usize;
                    }
                }
                Instruction::JumpSupplied(register, target) => {
                    if get!(register) != UNBOUND {
                        position = target as usize;
                    }
                }
                Instruction::Supplied(to, from) => set!(to, Word::truth(get!(from) != UNBOUND)),
                Instruction::UnlessLess(one, two, target) => compare!(one, two, target, <, is_less),
                Instruction::UnlessLessEqual(one, two, target) => {
                    compare!(one, two, target, <=, is_less_or_equal);
                }
                Instruction::UnlessNumbersEqual(one, two, target) => {
                    compare!(one, two, target, ==, is_number_equal);
                }
                Instruction::UnlessEq(one, two, target) => {
                    if get!(one) != get!(two) {
                        position = target as usize;
                    }
                }
                Instruction::UnlessEql(one, two, target) => {
                    let (one, two) = (get!(one), get!(two));
                    if one.is_object() {
                        self.fuel -= self.digit_steps(one) as i64;
                    }
                    if !is_eql(&self.heap, one, two) {
                        position = target as usize;
                    }
                }
                Instruction::UnlessCons(register, target) => {
                    if !get!(register).is_cons() {
                        position = target as usize;
                    }
                }
                Instruction::IfCons(register, target) => {
                    if get!(register).is_cons() {
                        position = target as usize;
                    }
                }
                Instruction::UnlessLessSmall(one, small, target) => {
                    compare_small!(one, small, target, <, is_less, false);
                }
                Instruction::UnlessGreaterSmall(one, small, target) => {
                    compare_small!(one, small, target, >, is_less, true);
                }
                Instruction::UnlessEqualSmall(one, small, target) => {
                    compare_small!(one, small, target, ==, is_number_equal, false);
                }
                Instruction::Add(to, one, two) => {
                    let (one, two) = (get!(one), get!(two));
                    let sum = if one.is_fixnum() && two.is_fixnum() {
                        one.0.cast_signed().checked_add(two.0.cast_signed())
                    } else {
                        None
                    };
                    match sum {
                        Some(sum) => set!(to, Word(sum.cast_unsigned())),
                        None => set!(to, attempt!(self.add(one, two))),
                    }
                }
                Instruction::Subtract(to, one, two) => {
                    let (one, two) = (get!(one), get!(two));
                    let difference = if one.is_fixnum() && two.is_fixnum() {
                        one.0.cast_signed().checked_sub(two.0.cast_signed())
                    } else {
                        None
                    };
                    match difference {
                        Some(difference) => set!(to, Word(difference.cast_unsigned())),
                        None => set!(to, attempt!(self.subtract(one, two))),
                    }
                }
                Instruction::Multiply(to, one, two) => {
                    let (one, two) = (get!(one), get!(two));
                    let product = if one.is_fixnum() && two.is_fixnum() {
                        (one.0.cast_signed() >> 1).checked_mul(two.0.cast_signed())
                    } else {
                        None
                    };
                    match product {
                        Some(product) => set!(to, Word(product.cast_unsigned())),
                        None => set!(to, attempt!(self.multiply(one, two))),
                    }
                }
                Instruction::AddSmall(to, one, small) => {
                    let one = get!(one);
                    let two = Word::fixnum(i64::from(small));
                    let sum = if one.is_fixnum() {
                        one.0.cast_signed().checked_add(two.0.cast_signed())
                    } else {
                        None
                    };
                    match sum {
                        Some(sum) => set!(to, Word(sum.cast_unsigned())),
                        None => set!(to, attempt!(self.add(one, two))),
                    }
                }
                Instruction::Car(to, from) => {
                    let word = get!(from);
                    if word.is_cons() {
                        set!(to, self.heap.pair(word).car);
                    } else if word.is_nil() {
                        set!(to, NIL);
                    } else {
                        raise!(self.type_error(word, well_known::LIST));
                    }
                }
                Instruction::Cdr(to, from) => {
                    let word = get!(from);
                    if word.is_cons() {
                        set!(to, self.heap.pair(word).cdr);
                    } else if word.is_nil() {
                        set!(to, NIL);
                    } else {
                        raise!(self.type_error(word, well_known::LIST));
                    }
                }
                Instruction::Cons(to, car, cdr) => {
                    let (car, cdr) = (get!(car), get!(cdr));
                    set!(to, self.heap.cons(car, cdr));
                }
                Instruction::SetCar(cons, from) => {
                    let (cons, value) = (get!(cons), get!(from));
                    match self.heap.pair_mut(cons) {
                        Some(pair) if cons.is_cons() => pair.car = value,
                        _ => raise!(self.type_error(cons, well_known::CONS)),
                    }
                }
                Instruction::SetCdr(cons, from) => {
                    let (cons, value) = (get!(cons), get!(from));
                    match self.heap.pair_mut(cons) {
                        Some(pair) if cons.is_cons() => pair.cdr = value,
                        _ => raise!(self.type_error(cons, well_known::CONS)),
                    }
                }
                Instruction::Not(to, from) => set!(to, Word::truth(get!(from).is_nil())),
                Instruction::Element(to, vector, index) => {
                    let (vector, index) = (get!(vector), get!(index));
                    set!(to, attempt!(self.element(vector, index)));
                }
                Instruction::StructureSlot(to, from) => {
                    let word = get!(from);
                    let Instruction::Slot(kind, slot) = code.ops[position] else {
                        return Err(limit(LimitKind::Depth));
                    };
                    position += 1;
                    let found = match self.heap.get(word) {
                        Some(HeapObject::Structure(number, slots))
                            if *number == kind || self.types.is_subtype(*number, kind) =>
                        {
                            slots.get(slot as usize).copied()
                        }
                        _ => None,
                    };
                    match found {
                        Some(value) => set!(to, value),
                        None => {
                            let name = self.types.get(kind).name;
                            raise!(self.type_error(word, name))
                        }
                    }
                }
                Instruction::Slot(..) => {}
                Instruction::CallNative { count, first, function } => {
                    let arguments =
                        ArgumentWindow { first: base + first as usize, count: count as usize };
                    self.fuel -= 1;
                    let value = attempt!(self.call_native(function, arguments));
                    set!(first, value);
                }
                Instruction::CallGlobal { count, first, symbol } => {
                    tick!();
                    let function = self.symbols.cells[symbol as usize].function;
                    if function == UNBOUND {
                        raise!(self.undefined_function(symbol));
                    }
                    let callee = attempt!(self.callee(function));
                    enter!(callee, first, count as usize);
                }
                Instruction::CallCode { count, first, code: next } => {
                    tick!();
                    enter!(ResolvedCallee::Code(next, NIL), first, count as usize);
                }
                Instruction::CallWord { count, first, function } => {
                    tick!();
                    let callee = attempt!(self.callee(get!(function)));
                    enter!(callee, first, count as usize);
                }
                Instruction::ApplyWord { count, first, function } => {
                    tick!();
                    let callee = attempt!(self.callee(get!(function)));
                    let count =
                        attempt!(self.spread(base + first as usize, count as usize, code, base));
                    enter!(callee, first, count);
                }
                Instruction::TailGlobal { count, first, symbol } => {
                    tick!();
                    let function = self.symbols.cells[symbol as usize].function;
                    if function == UNBOUND {
                        raise!(self.undefined_function(symbol));
                    }
                    let callee = attempt!(self.callee(function));
                    tail!(callee, first, count as usize);
                }
                Instruction::TailCode { count, first, code: next } => {
                    tick!();
                    tail!(ResolvedCallee::Code(next, NIL), first, count as usize);
                }
                Instruction::TailWord { count, first, function } => {
                    tick!();
                    let callee = attempt!(self.callee(get!(function)));
                    tail!(callee, first, count as usize);
                }
                Instruction::TailApply { count, first, function } => {
                    tick!();
                    let callee = attempt!(self.callee(get!(function)));
                    let count =
                        attempt!(self.spread(base + first as usize, count as usize, code, base));
                    tail!(callee, first, count);
                }
                Instruction::Return(register) => {
                    self.value_count = 1;
                    leave!(get!(register));
                }
                Instruction::ReturnValues(register) => leave!(get!(register)),
                Instruction::OneValue => self.value_count = 1,
                Instruction::ValuesToList(to, from) => {
                    let values = self.current_values(get!(from));
                    set!(to, self.heap.list(&values));
                    self.value_count = 1;
                }
                Instruction::ListToValues(to, from) => {
                    let list = get!(from);
                    let values = attempt!(self.list_elements(list));
                    set!(to, self.return_values(&values));
                }
                Instruction::SpreadValues(first, count) => {
                    if self.value_count == 1 {
                        for index in 1..count {
                            set!(first + index, NIL);
                        }
                    } else {
                        for index in 0..count {
                            let value = if (index as usize) < self.value_count {
                                self.values[index as usize]
                            } else {
                                NIL
                            };
                            set!(first + index, value);
                        }
                        self.value_count = 1;
                    }
                }
                Instruction::NewToken(to) => {
                    self.next_token += 1;
                    set!(to, Word::fixnum(self.next_token));
                }
                Instruction::MarkBlock(word, register, target)
                | Instruction::MarkCatch(word, register, target) => {
                    let kind = match op {
                        Instruction::MarkBlock(..) => MarkKind::Block,
                        _ => MarkKind::Catch,
                    };
                    let cursor = CodePosition { code: number, position: 0, base, closure };
                    self.push_mark(kind, get!(word), cursor, (target, register))?;
                }
                Instruction::MarkCleanup(function) => {
                    let cursor = CodePosition { code: number, position: 0, base, closure };
                    self.push_mark(MarkKind::Cleanup, get!(function), cursor, (0, 0))?;
                }
                Instruction::PopMark => {
                    self.marks.pop();
                }
                Instruction::ThrowToken(token, value) | Instruction::ThrowTag(token, value) => {
                    let kind = match op {
                        Instruction::ThrowToken(..) => MarkKind::Block,
                        _ => MarkKind::Catch,
                    };
                    let (token, value) = (get!(token), get!(value));
                    match self.find_mark(kind, token) {
                        Some(mark) => {
                            self.charge(1)?;
                            let values = self.current_values(value);
                            land!(self.unwind(codes, mark, value, values));
                        }
                        None => {
                            let text = if kind == MarkKind::Catch {
                                let tag = self.print_to_string(token);
                                format!("attempt to THROW to a tag that does not exist: {tag}")
                            } else {
                                "attempt to RETURN-FROM a block or GO to a tag that no longer exists"
                                    .to_owned()
                            };
                            raise!(self.message(condition::SIMPLE_CONTROL_ERROR, &text));
                        }
                    }
                }
            }
        }
    }
}
