//! Compiled functions: register instructions of eight bytes, their constants, and where each came
//! from. Made by `compile/`, run by `run.rs`, shared by all instances of a snapshot.

use std::sync::Arc;

use crate::value::Word;

/// A register of the running function.
pub(crate) type Register = u16;

/// Position in a function's instructions.
pub(crate) type JumpTarget = u16;

/// One instruction. The destination comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    Move(Register, Register),
    Constant(Register, u16),
    Nil(Register),
    True(Register),
    Small(Register, i32),
    /// A captured variable.
    Captured(Register, u16),
    /// A captured variable that is shared in a cell, and its assignment.
    CapturedCell(Register, u16),
    SetCapturedCell(u16, Register),
    NewCell(Register, Register),
    Cell(Register, Register),
    SetCell(Register, Register),
    Closure(Register, u32),
    /// Value of a dynamic variable.
    Global(Register, u32),
    SetGlobal(Register, u32),
    Bind(Register, u32),
    Unbind(u16),
    Jump(JumpTarget),
    /// A jump backwards: costs fuel, and a place to collect.
    Back(JumpTarget),
    JumpNil(Register, JumpTarget),
    JumpTrue(Register, JumpTarget),
    /// Jumps when the argument was supplied.
    JumpSupplied(Register, JumpTarget),
    Supplied(Register, Register),
    /// Jumps when the comparison is false.
    UnlessLess(Register, Register, JumpTarget),
    UnlessLessEqual(Register, Register, JumpTarget),
    UnlessNumbersEqual(Register, Register, JumpTarget),
    UnlessEq(Register, Register, JumpTarget),
    UnlessEql(Register, Register, JumpTarget),
    UnlessCons(Register, JumpTarget),
    IfCons(Register, JumpTarget),
    /// Jumps when the comparison with a 16-bit constant is false: register, constant, target.
    UnlessLessSmall(Register, i16, JumpTarget),
    UnlessGreaterSmall(Register, i16, JumpTarget),
    UnlessEqualSmall(Register, i16, JumpTarget),
    Add(Register, Register, Register),
    Subtract(Register, Register, Register),
    Multiply(Register, Register, Register),
    AddSmall(Register, Register, i16),
    Car(Register, Register),
    Cdr(Register, Register),
    Cons(Register, Register, Register),
    /// Assign a half of a cons: cons, value.
    SetCar(Register, Register),
    SetCdr(Register, Register),
    Not(Register, Register),
    /// Element of a vector or string: destination, vector, index.
    Element(Register, Register, Register),
    /// Slot of a structure; the next instruction is `TableSlot`.
    StructureSlot(Register, Register),
    /// Type number and slot of `StructureSlot`.
    Slot(u32, u16),
    /// First argument, how many, and a native function's number; the value replaces the first
    /// argument. Calls below are the same.
    CallNative {
        count: u8,
        first: Register,
        function: u32,
    },
    CallGlobal {
        count: u8,
        first: Register,
        symbol: u32,
    },
    CallCode {
        count: u8,
        first: Register,
        code: u32,
    },
    CallWord {
        count: u8,
        first: Register,
        function: Register,
    },
    /// The last argument is a list of more.
    ApplyWord {
        count: u8,
        first: Register,
        function: Register,
    },
    TailGlobal {
        count: u8,
        first: Register,
        symbol: u32,
    },
    TailCode {
        count: u8,
        first: Register,
        code: u32,
    },
    TailWord {
        count: u8,
        first: Register,
        function: Register,
    },
    TailApply {
        count: u8,
        first: Register,
        function: Register,
    },
    /// Returns one value.
    Return(Register),
    /// Returns the values that the last call left.
    ReturnValues(Register),
    /// Says that there is exactly one value.
    OneValue,
    /// Makes a list of the values of the last call, whose first is in the second register.
    ValuesToList(Register, Register),
    /// Makes values of a list; the first goes into the register.
    ListToValues(Register, Register),
    /// Spreads the values of the last call over registers: first register, count. The first value
    /// is there already.
    SpreadValues(Register, u16),
    /// A number that no other running block or tagbody has.
    NewToken(Register),
    /// Marks for exits from afar: token or tag, where to land. The value arrives in the register.
    MarkBlock(Register, Register, JumpTarget),
    MarkCatch(Register, Register, JumpTarget),
    /// Function to call when control leaves.
    MarkCleanup(Register),
    PopMark,
    /// Leaves to the mark with this token: token, value.
    ThrowToken(Register, Register),
    /// Leaves to the catch with this tag: tag, value.
    ThrowTag(Register, Register),
}

/// Variable that a closure takes along.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CaptureSource {
    /// From a register of the function that makes the closure.
    Register(Register),
    /// From what that function captured itself.
    Captured(u16),
}

/// Parameters other than required ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParameterLayout {
    pub(crate) optional: u16,
    pub(crate) has_rest: bool,
    /// Keywords, if there is `&key`.
    pub(crate) keys: Option<Vec<Word>>,
    pub(crate) allows_other_keys: bool,
}

/// Line and column in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct SourcePlace {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A compiled function.
#[derive(Clone, Debug)]
pub(crate) struct CompiledCode {
    pub(crate) name: Word,
    pub(crate) ops: Vec<Instruction>,
    pub(crate) constants: Vec<Word>,
    pub(crate) captures: Vec<CaptureSource>,
    pub(crate) registers: u16,
    pub(crate) required: u16,
    pub(crate) parameters: Option<Box<ParameterLayout>>,
    /// Places of instructions that may fail, by position.
    pub(crate) places: Vec<(u16, SourcePlace)>,
    pub(crate) file: Arc<str>,
}

impl CompiledCode {
    /// Place of the instruction before `position`, or of the closest one before it.
    pub(crate) fn place(&self, position: usize) -> Option<SourcePlace> {
        let end = self.places.partition_point(|(at, _)| (*at as usize) < position);
        self.places[..end].last().map(|(_, place)| *place)
    }
}

/// All functions of an instance: those of the image, then its own.
#[derive(Clone, Default)]
pub(crate) struct CodeTable {
    base: Arc<Vec<CompiledCode>>,
    own: Vec<Arc<CompiledCode>>,
}

impl CodeTable {
    #[inline]
    pub(crate) fn get(&self, index: u32) -> &CompiledCode {
        let index = index as usize;
        match index.checked_sub(self.base.len()) {
            Some(own) => &self.own[own],
            None => &self.base[index],
        }
    }

    /// Whether a function belongs to the image.
    pub(crate) fn is_base(&self, index: u32) -> bool {
        (index as usize) < self.base.len()
    }

    pub(crate) fn push(&mut self, code: CompiledCode) -> u32 {
        self.own.push(Arc::new(code));
        (self.base.len() + self.own.len()) as u32 - 1
    }

    pub(crate) fn set(&mut self, index: u32, code: CompiledCode) {
        let own = index as usize - self.base.len();
        self.own[own] = Arc::new(code);
    }

    /// Says what the closures of a function take along, before it is compiled itself.
    pub(crate) fn set_captures(&mut self, index: u32, captures: Vec<CaptureSource>) {
        let own = index as usize - self.base.len();
        Arc::make_mut(&mut self.own[own]).captures = captures;
    }

    /// Constants of the instance's own functions: roots of the collector.
    pub(crate) fn own_constants(&self) -> impl Iterator<Item = Word> + '_ {
        self.own.iter().flat_map(|code| {
            code.constants
                .iter()
                .copied()
                .chain(code.parameters.iter().filter_map(|p| p.keys.as_ref()).flatten().copied())
        })
    }

    /// Moves all functions into the shared base; only for the image.
    pub(crate) fn freeze(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.base = Arc::new(own.into_iter().map(Arc::unwrap_or_clone).collect());
    }
}
