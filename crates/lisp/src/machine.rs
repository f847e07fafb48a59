//! State of a running instance: registers, frames, bindings, marks, heap, symbols; and the small
//! helpers that native functions use. The loop over instructions is in `run.rs`.

use crate::code::CodeTable;
use crate::collect::CollectionMarks;
use crate::heap::{Heap, HeapObject};
use crate::instance::InstanceLimits;
use crate::number::RealNumber;
use crate::symbols::{SymbolTable, well_known};
use crate::text::LispText;
use crate::trap::{LimitKind, StepResult, Trap, TrapKind, limit, outside};
use crate::types::{TypeTable, condition};
use crate::value::{NIL, UNBOUND, Word};

/// A caller that waits.
#[derive(Clone, Copy)]
pub(crate) struct CallFrame {
    pub(crate) code: u32,
    pub(crate) position: u32,
    pub(crate) base: u32,
    pub(crate) role: FrameRole,
    pub(crate) closure: Word,
}

/// Step that follows when control comes back to a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameRole {
    /// Goes on with the next instruction.
    Call,
    /// The host gets the value.
    Host,
    /// A cleanup ended: unwinding goes on.
    Unwind,
}

/// A place that control may jump to from afar, or a cleanup on the way.
#[derive(Clone, Copy)]
pub(crate) struct ExitMark {
    pub(crate) kind: MarkKind,
    /// Token, catch tag, or cleanup function.
    pub(crate) word: Word,
    pub(crate) closure: Word,
    pub(crate) frames: u32,
    pub(crate) code: u32,
    pub(crate) base: u32,
    pub(crate) bindings: u32,
    pub(crate) unwinds: u32,
    pub(crate) target: u16,
    pub(crate) register: u16,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Block,
    Catch,
    Cleanup,
}

/// An exit that waits for a cleanup.
#[derive(Clone)]
pub(crate) struct PendingUnwind {
    pub(crate) mark: usize,
    pub(crate) value: Word,
    pub(crate) values: Vec<Word>,
}

/// Arguments of a native function: a window of the registers.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentWindow {
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// Everything that changes while an instance runs.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) heap: Heap,
    pub(crate) symbols: SymbolTable,
    pub(crate) types: TypeTable,
    pub(crate) registers: Vec<Word>,
    pub(crate) frames: Vec<CallFrame>,
    /// Dynamic bindings: symbol and the value before.
    pub(crate) bindings: Vec<(u32, Word)>,
    pub(crate) marks: Vec<ExitMark>,
    pub(crate) unwinds: Vec<PendingUnwind>,
    /// The values of the last call when `value_count` is not 1.
    pub(crate) values: Vec<Word>,
    pub(crate) value_count: usize,
    /// Steps left; when below zero, `pause` looks why.
    pub(crate) fuel: i64,
    pub(crate) limits: InstanceLimits,
    pub(crate) next_token: i64,
    pub(crate) output: String,
    pub(crate) error_output: String,
    /// Whether the last character of each output ended a line.
    pub(crate) at_line_start: [bool; 2],
    /// Words that Rust code holds across calls into Lisp.
    pub(crate) roots: Vec<Word>,
    /// Text of a condition whose report just ran.
    pub(crate) report: Option<(Word, LispText)>,
    /// Control strings that are being formatted, one inside the other.
    pub(crate) format_nesting: usize,
    /// Mixed into hashes.
    pub(crate) seed: u64,
    /// Frames at the moment an error went to the host.
    pub(crate) trace: Vec<(u32, u32)>,
    pub(crate) regexes: crate::native::regex::RegexCache,
    /// Requests to the host, and its answers.
    pub(crate) requests: crate::native::requests::HostRequests,
    /// Structure accessors: symbol, type and slot.
    pub(crate) accessors: std::sync::Arc<std::collections::HashMap<u32, (u32, u16)>>,
}

impl Machine {
    pub(crate) fn new(limits: InstanceLimits) -> Self {
        let mut symbols = SymbolTable::new();
        let types = TypeTable::with_conditions(&mut symbols);
        Self {
            heap: Heap::new(limits.heap_bytes),
            symbols,
            types,
            registers: Vec::new(),
            frames: Vec::new(),
            bindings: Vec::new(),
            marks: Vec::new(),
            unwinds: Vec::new(),
            values: Vec::new(),
            value_count: 1,
            fuel: 0,
            limits,
            next_token: 0,
            output: String::new(),
            error_output: String::new(),
            at_line_start: [true; 2],
            roots: Vec::new(),
            report: None,
            format_nesting: 0,
            seed: 0,
            trace: Vec::new(),
            regexes: crate::native::regex::RegexCache::default(),
            requests: crate::native::requests::HostRequests::default(),
            accessors: std::sync::Arc::default(),
        }
    }

    /// Takes `steps` from the fuel.
    #[inline]
    pub(crate) fn charge(&mut self, steps: usize) -> StepResult<()> {
        self.fuel -= steps as i64;
        if self.fuel < 0 || self.heap.bytes > self.heap.limit {
            return Err(self.exhausted());
        }
        Ok(())
    }

    #[cold]
    fn exhausted(&self) -> Trap {
        limit(if self.fuel < 0 { LimitKind::Fuel } else { LimitKind::Heap })
    }

    /// Refuses to make something of so many bytes where the heap has no room for it.
    pub(crate) fn reserve(&mut self, bytes: usize) -> StepResult<()> {
        if self.heap.bytes.saturating_add(bytes) > self.heap.limit {
            return Err(limit(LimitKind::Heap));
        }
        self.charge(bytes / 64)
    }

    /// Frees what cannot be reached any more. `top` is the end of the registers in use.
    pub(crate) fn collect(&mut self, codes: &CodeTable, top: usize) -> StepResult<()> {
        // A heap that is almost full is collected often: each time costs what is in it.
        self.fuel -= ((self.heap.pairs.len() + self.heap.objects.len()) / 4) as i64;
        let mut marks = CollectionMarks::new(&self.heap);
        let top = top.min(self.registers.len());
        self.registers[top..].fill(NIL);
        let heap = &self.heap;
        let mut reach = |word: Word| marks.reach(heap, word);
        self.registers[..top].iter().copied().for_each(&mut reach);
        self.frames.iter().for_each(|frame| reach(frame.closure));
        self.bindings.iter().for_each(|(_, value)| reach(*value));
        for mark in &self.marks {
            reach(mark.word);
            reach(mark.closure);
        }
        for pending in &self.unwinds {
            reach(pending.value);
            pending.values.iter().copied().for_each(&mut reach);
        }
        self.values.iter().copied().for_each(&mut reach);
        self.roots.iter().copied().for_each(&mut reach);
        for cells in &self.symbols.cells {
            reach(cells.value);
            reach(cells.function);
        }
        self.symbols.plists.values().copied().for_each(&mut reach);
        self.types.words().for_each(&mut reach);
        codes.own_constants().for_each(&mut reach);
        if let Some((word, _)) = &self.report {
            reach(*word);
        }
        self.heap.sweep(&marks);
        // Names are never freed.
        self.heap.bytes += self.symbols.own_bytes();
        self.heap.plan_collection();
        // Almost full is full: collecting for the last bytes would take all the time.
        if self.heap.bytes > self.heap.limit - self.heap.limit / 32 {
            return Err(limit(LimitKind::Heap));
        }
        Ok(())
    }

    // Conditions.

    /// A condition of a built-in type.
    pub(crate) fn condition(&mut self, number: u32, slots: &[Word]) -> Trap {
        let word = self.heap.allocate(HeapObject::Structure(number, slots.into()));
        Box::new(TrapKind::Condition(word))
    }

    pub(crate) fn type_error(&mut self, datum: Word, expected: u32) -> Trap {
        self.condition(condition::TYPE_ERROR, &[datum, Word::symbol(expected)])
    }

    pub(crate) fn index_error(&mut self, index: Word, length: usize) -> Trap {
        let below = self.heap.list(&[Word::count(length)]);
        let words = [Word::symbol(well_known::INTEGER), Word::fixnum(0), below];
        let expected = self.heap.list(&words);
        self.condition(condition::INDEX_ERROR, &[index, expected])
    }

    /// A condition whose report is this text; its type begins with the two slots of simple ones.
    pub(crate) fn message(&mut self, number: u32, text: &str) -> Trap {
        let text = text.replace('~', "~~");
        let control = self.heap.text_word(text);
        let mut slots = vec![UNBOUND; self.types.get(number).slots.len()];
        if let [first, second, ..] = slots.as_mut_slice() {
            (*first, *second) = (control, NIL);
        }
        self.condition(number, &slots)
    }

    pub(crate) fn simple_error(&mut self, text: &str) -> Trap {
        self.message(condition::SIMPLE_ERROR, text)
    }

    pub(crate) fn program_error(&mut self, text: &str) -> Trap {
        self.message(condition::SIMPLE_PROGRAM_ERROR, text)
    }

    pub(crate) fn division_by_zero(&mut self, operation: u32, one: Word, two: Word) -> Trap {
        let operands = self.heap.list(&[one, two]);
        self.condition(condition::DIVISION_BY_ZERO, &[Word::symbol(operation), operands])
    }

    /// The condition of a quotient by zero: two zeros of which one is a float have no quotient at all.
    pub(crate) fn zero_divisor(
        &mut self,
        (left, right): (&RealNumber, &RealNumber),
        one: Word,
        two: Word,
    ) -> Trap {
        if left.is_zero() && !(left.is_rational() && right.is_rational()) {
            let operands = self.heap.list(&[one, two]);
            let operation = Word::symbol(well_known::SLASH);
            return self.condition(condition::FLOATING_POINT_INVALID, &[operation, operands]);
        }
        self.division_by_zero(well_known::SLASH, one, two)
    }

    // Arguments.

    #[inline]
    pub(crate) fn argument(&self, arguments: ArgumentWindow, index: usize) -> Word {
        self.registers[arguments.first + index]
    }

    /// An optional argument; `nil` counts as given.
    pub(crate) fn optional(&self, arguments: ArgumentWindow, index: usize) -> Option<Word> {
        (index < arguments.count).then(|| self.registers[arguments.first + index])
    }

    pub(crate) fn arguments(&self, arguments: ArgumentWindow) -> &[Word] {
        &self.registers[arguments.first..arguments.first + arguments.count]
    }

    /// Returns several values; the first is the result of the native function.
    pub(crate) fn return_values(&mut self, values: &[Word]) -> Word {
        self.value_count = values.len();
        if let ([one, two], [first, second, ..]) = (values, self.values.as_mut_slice()) {
            (*first, *second) = (*one, *two);
            return *one;
        }
        if values.len() != 1 {
            self.values.clear();
            self.values.extend_from_slice(values);
        }
        values.first().copied().unwrap_or(NIL)
    }

    // Lists.

    pub(crate) fn car(&mut self, word: Word) -> StepResult {
        if word.is_cons() {
            return Ok(self.heap.pair(word).car);
        }
        if word.is_nil() { Ok(NIL) } else { Err(self.type_error(word, well_known::LIST)) }
    }

    pub(crate) fn cdr(&mut self, word: Word) -> StepResult {
        if word.is_cons() {
            return Ok(self.heap.pair(word).cdr);
        }
        if word.is_nil() { Ok(NIL) } else { Err(self.type_error(word, well_known::LIST)) }
    }

    /// The elements of a proper list.
    pub(crate) fn list_elements(&mut self, list: Word) -> StepResult<Vec<Word>> {
        let (elements, rest) = self.list_parts(list)?;
        if rest.is_nil() { Ok(elements) } else { Err(self.type_error(rest, well_known::LIST)) }
    }

    /// Elements of a list, and what is behind its dot.
    pub(crate) fn list_parts(&mut self, list: Word) -> StepResult<(Vec<Word>, Word)> {
        let mut elements = Vec::new();
        let mut rest = list;
        while rest.is_cons() {
            let pair = self.heap.pair(rest);
            elements.push(pair.car);
            rest = pair.cdr;
            if elements.len() % 1024 == 0 {
                self.charge(1024)?;
                if elements.len() * 8 > self.heap.limit {
                    return Err(limit(LimitKind::Heap));
                }
            }
        }
        self.charge(elements.len() % 1024)?;
        Ok((elements, rest))
    }

    /// A list, accounted for.
    pub(crate) fn make_list(&mut self, elements: &[Word]) -> StepResult {
        self.reserve(elements.len() * 16)?;
        Ok(self.heap.list(elements))
    }

    // Text.

    /// A string word, accounted for.
    pub(crate) fn make_text(&mut self, text: impl Into<LispText>) -> StepResult {
        let text = text.into();
        self.reserve(text.bytes())?;
        Ok(self.heap.text_word(text))
    }

    /// The characters of a string designator: a string, symbol or character.
    pub(crate) fn designated_text(&mut self, word: Word) -> StepResult<LispText> {
        if let Some(text) = self.heap.text(word) {
            let text = text.clone();
            self.charge(text.len() / 64)?;
            return Ok(text);
        }
        if let Some(symbol) = word.as_symbol() {
            return Ok(LispText::from(self.symbols.name(symbol)));
        }
        match word.as_character() {
            Some(character) => Ok(LispText::filled(character, 1)),
            None => Err(self.type_error(word, well_known::STRING)),
        }
    }

    /// The contents of a string.
    pub(crate) fn string_argument(&mut self, word: Word) -> StepResult<String> {
        match self.heap.text(word) {
            Some(text) => {
                let text = text.to_owned_string();
                self.charge(text.len() / 64)?;
                Ok(text)
            }
            None => Err(self.type_error(word, well_known::STRING)),
        }
    }

    pub(crate) fn character_argument(&mut self, word: Word) -> StepResult<char> {
        match word.as_character() {
            Some(character) => Ok(character),
            None => Err(self.type_error(word, well_known::CHARACTER)),
        }
    }

    pub(crate) fn symbol_argument(&mut self, word: Word) -> StepResult<u32> {
        match word.as_symbol() {
            Some(symbol) => Ok(symbol),
            None => Err(self.type_error(word, well_known::SYMBOL)),
        }
    }

    /// A count or index.
    pub(crate) fn index_argument(&mut self, word: Word) -> StepResult<usize> {
        match word.as_index() {
            Some(index) => Ok(index),
            None => Err(self.type_error(word, well_known::UNSIGNED_BYTE)),
        }
    }

    /// A count of any size; one beyond all lists is as good as the largest index.
    pub(crate) fn count_argument(&mut self, word: Word) -> StepResult<usize> {
        match self.heap.get(word) {
            Some(HeapObject::Big(number)) if number.sign() == num_bigint::Sign::Plus => {
                Ok(usize::MAX >> 1)
            }
            _ => self.index_argument(word),
        }
    }

    /// Start and end of a part of something of this length, as `:start` and `:end` say.
    pub(crate) fn bounds(
        &mut self,
        start: Option<Word>,
        end: Option<Word>,
        length: usize,
    ) -> StepResult<(usize, usize)> {
        let first = match start {
            Some(word) if word.is_true() => self.index_argument(word)?,
            _ => 0,
        };
        let last = match end {
            Some(word) if word.is_true() => self.index_argument(word)?,
            _ => length,
        };
        if first > last || last > length {
            return Err(self.index_error(Word::count(last), length));
        }
        Ok((first, last))
    }

    /// The value of a dynamic variable, `nil` when it has none.
    pub(crate) fn global(&self, symbol: u32) -> Word {
        let value = self.symbols.cells[symbol as usize].value;
        if value == UNBOUND { NIL } else { value }
    }

    /// Writes to the instance's output or its second one.
    pub(crate) fn write_output(&mut self, is_error: bool, text: &str) -> StepResult<()> {
        let Some(last) = text.as_bytes().last() else { return Ok(()) };
        self.at_line_start[usize::from(is_error)] = *last == b'\n';
        let used = self.output.len() + self.error_output.len();
        if used + text.len() > self.limits.output_bytes {
            return Err(limit(LimitKind::Output));
        }
        let output = if is_error { &mut self.error_output } else { &mut self.output };
        output.push_str(text);
        self.charge(text.len() / 64)
    }

    /// Forgets everything that a call left behind when it was given up.
    pub(crate) fn reset(&mut self) {
        while let Some((symbol, value)) = self.bindings.pop() {
            self.symbols.cells[symbol as usize].value = value;
        }
        self.frames.clear();
        self.marks.clear();
        self.unwinds.clear();
        self.report = None;
        self.requests = crate::native::requests::HostRequests::default();
        self.values.clear();
        self.value_count = 1;
        self.registers.fill(NIL);
    }

    /// Refuses something that only running shows.
    pub(crate) fn refuse<T>(&self, name: &str) -> StepResult<T> {
        Err(outside(name))
    }
}
