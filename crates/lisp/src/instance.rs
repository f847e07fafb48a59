//! The host's side: load a text, call a function, read what was printed, copy a loaded instance.

mod load_check;

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::{Arc, LazyLock};

use bridle_sexp::Value;

use crate::code::{CodeTable, SourcePlace};
use crate::compile::{CompileFailure, FormCompiler};
use crate::image::IMAGE;
use crate::machine::Machine;
use crate::native::requests::HostRequests;
use crate::read::{FormReader, ReadFailure, ReadFailureKind, SourceTrust};
use crate::report::{LispError, LispErrorKind, SourceLocation, hint, limit_hint};
use crate::symbols::{SymbolHome, flag, well_known};
use crate::trap::{LimitKind, Trap, TrapKind};
use crate::value::{NIL, UNBOUND, Word};

/// Bounds of what a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceLimits {
    /// Steps of one load or call: about a call, a jump back or 64 bytes of text each.
    pub fuel: u64,
    /// Bytes of live values.
    pub heap_bytes: usize,
    /// Nested calls.
    pub depth: usize,
    /// Bytes of output that the host has not taken.
    pub output_bytes: usize,
}

impl Default for InstanceLimits {
    /// About ten seconds, 64 MiB, 20,000 calls, 4 MiB of output.
    fn default() -> Self {
        Self { fuel: 500_000_000, heap_bytes: 64 << 20, depth: 20_000, output_bytes: 4 << 20 }
    }
}

/// A function of an instance, found once and called often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionHandle(u32);

/// State of a call that may ask the host.
#[derive(Debug, Clone, PartialEq)]
pub enum CallProgress {
    /// Ended, with its first value.
    Done(Value),
    /// Asks the host for this and waits: see [`Instance::resume`].
    Waits(Value),
}

/// An isolated Lisp: its own symbols, values and limits.
pub struct Instance {
    machine: Machine,
    codes: CodeTable,
    /// Forms that are being evaluated at top level, one inside the other.
    form_nesting: usize,
}

/// A loaded instance to make fresh ones of.
#[derive(Clone)]
pub struct Snapshot {
    machine: Arc<Machine>,
    codes: CodeTable,
}

/// Nested top-level forms, those that macros make included.
const MOST_NESTED_FORMS: usize = 200;

/// Mixed into hashes, so that nobody can prepare keys that collide.
static SEED: LazyLock<u64> = LazyLock::new(|| std::hash::RandomState::new().hash_one(0));

impl Instance {
    /// A fresh instance with the standard functions and nothing else.
    pub fn new(limits: InstanceLimits) -> Self {
        let mut machine = IMAGE.machine.clone();
        machine.limits = limits;
        machine.seed = *SEED;
        machine.heap.set_limit(limits.heap_bytes);
        Self { machine, codes: IMAGE.codes.clone(), form_nesting: 0 }
    }

    /// Fills the fuel; what a call before this one gave up is collected when it weighs much.
    fn refuel(&mut self) {
        self.machine.fuel = i64::try_from(self.machine.limits.fuel).unwrap_or(i64::MAX);
        let heap = &self.machine.heap;
        if heap.is_collection_due() || heap.bytes > heap.limit / 2 {
            // A heap that is full of globals is found by whoever allocates next.
            let _ = self.machine.collect(&self.codes, 0);
        }
    }

    pub(crate) fn from_parts(machine: Machine, codes: CodeTable) -> Self {
        Self { machine, codes, form_nesting: 0 }
    }

    pub(crate) fn into_parts(self) -> (Machine, CodeTable) {
        (self.machine, self.codes)
    }

    /// Loads a text. Values of its forms are forgotten. Nothing runs when a name in it is outside the subset.
    ///
    /// # Errors
    /// The first form that cannot be read, is outside the subset, or fails.
    pub fn load(&mut self, source: &str, file: &str) -> Result<(), LispError> {
        self.check_names(source, file)?;
        self.evaluate(source, file, |_| {})
    }

    /// Reads a text without running it.
    ///
    /// # Errors
    /// The text cannot be read.
    pub fn check(&mut self, source: &str) -> Result<(), LispErrorKind> {
        self.refuel();
        let text: Vec<char> = source.chars().collect();
        let mut reader = FormReader::new(&text, SourceTrust::Skill);
        loop {
            match reader.read(&mut self.machine) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(failure) => return Err(self.read_error(failure, &"check".into()).kind),
            }
        }
    }

    /// Loads a text, and hands on the printed values of each top-level form.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn evaluate(
        &mut self,
        source: &str,
        file: &str,
        on_values: impl FnMut(&[String]),
    ) -> Result<(), LispError> {
        self.refuel();
        self.evaluate_all(source, file, SourceTrust::Skill, on_values)
    }

    pub(crate) fn load_prelude(&mut self, source: &str, file: &str) -> Result<(), LispError> {
        self.evaluate_all(source, file, SourceTrust::Prelude, |_| {})
    }

    fn evaluate_all(
        &mut self,
        source: &str,
        file: &str,
        reading: SourceTrust,
        mut on_values: impl FnMut(&[String]),
    ) -> Result<(), LispError> {
        let text: Vec<char> = source.chars().collect();
        let file: Arc<str> = file.into();
        let mut reader = FormReader::new(&text, reading);
        loop {
            let form = match reader.read(&mut self.machine) {
                Ok(Some(form)) => form,
                Ok(None) => return Ok(()),
                Err(failure) => return Err(self.read_error(failure, &file)),
            };
            self.machine.roots.push(form);
            let result = self.evaluate_form(form, &reader, &file, reading);
            self.machine.roots.clear();
            let value = result?;
            if reading == SourceTrust::Skill {
                let place = reader.places.get(&form.payload()).copied().filter(|_| form.is_cons());
                match self.shown_values(value) {
                    Ok(shown) => on_values(&shown),
                    Err(trap) => return Err(self.trap_error_at(trap, place, &file)),
                }
            }
            reader.places.clear();
        }
    }

    /// Runs a form; `progn` and macros that become one are taken form by form.
    fn evaluate_form(
        &mut self,
        form: Word,
        reader: &FormReader<'_>,
        file: &Arc<str>,
        reading: SourceTrust,
    ) -> Result<Word, LispError> {
        // What a macro made may be nested as deep as it likes.
        if self.form_nesting >= MOST_NESTED_FORMS {
            let place = SourcePlace::default();
            return Err(self.compile_error(CompileFailure::Limit(LimitKind::Depth), place, file));
        }
        self.form_nesting += 1;
        let result = self.evaluate_nested(form, reader, file, reading);
        self.form_nesting -= 1;
        result
    }

    fn evaluate_nested(
        &mut self,
        form: Word,
        reader: &FormReader<'_>,
        file: &Arc<str>,
        reading: SourceTrust,
    ) -> Result<Word, LispError> {
        let place = reader.places.get(&form.payload()).copied().filter(|_| form.is_cons());
        if form.is_cons() {
            let pair = self.machine.heap.pair(form);
            let head = pair.car.as_symbol();
            if head == Some(well_known::PROGN) {
                let forms = match self.machine.list_elements(pair.cdr) {
                    Ok(forms) => forms,
                    Err(trap) => return Err(self.trap_error_at(trap, place, file)),
                };
                let mut value = NIL;
                self.machine.value_count = 1;
                for form in forms {
                    value = self.evaluate_form(form, reader, file, reading)?;
                }
                return Ok(value);
            }
            if let Some(symbol) = head
                && self.machine.symbols.has(symbol, flag::MACRO)
                && self.machine.roots.len() < 1000
            {
                let expander = self.machine.symbols.cells[symbol as usize].function;
                match self.machine.call(&self.codes, expander, &[form, NIL]) {
                    Ok(expansion) => {
                        self.machine.roots.push(expansion);
                        return self.evaluate_form(expansion, reader, file, reading);
                    }
                    Err(trap) => return Err(self.trap_error_at(trap, place, file)),
                }
            }
        }
        let is_prelude = reading == SourceTrust::Prelude;
        let function = self.compile_top_level(form, &reader.places, file, is_prelude)?;
        match self.machine.call(&self.codes, function, &[]) {
            Ok(value) => Ok(value),
            Err(trap) => Err(self.trap_error_at(trap, place, file)),
        }
    }

    /// Compiles a form into a function without parameters.
    fn compile_top_level(
        &mut self,
        form: Word,
        places: &HashMap<u32, SourcePlace>,
        file: &Arc<str>,
        is_prelude: bool,
    ) -> Result<Word, LispError> {
        let mut compiler =
            FormCompiler::new(&mut self.machine, &mut self.codes, places, file.clone(), is_prelude);
        let compiled = compiler.compile_form(form);
        let at = compiler.place();
        compiled.map_err(|failure| self.compile_error(failure, at, file))
    }

    fn shown_values(&mut self, first: Word) -> Result<Vec<String>, Trap> {
        let words = if self.machine.value_count == 1 {
            vec![first]
        } else {
            self.machine.values[..self.machine.value_count].to_vec()
        };
        words.into_iter().map(|word| self.machine.print(word, true)).collect()
    }

    /// The function of this name, in upper case as Lisp reads it; `None` when there is none. A name that begins
    /// with `%` is one of the host's side of skills.
    pub fn function(&self, name: &str) -> Option<FunctionHandle> {
        let symbols = &self.machine.symbols;
        let symbol = symbols
            .find(SymbolHome::User, name)
            .or_else(|| symbols.find(SymbolHome::Lisp, name))
            .or_else(|| {
                name.starts_with('%').then(|| symbols.find(SymbolHome::System, name)).flatten()
            })?;
        let is_function = symbols.cells[symbol as usize].function != UNBOUND;
        (is_function && !symbols.has(symbol, flag::MACRO)).then_some(FunctionHandle(symbol))
    }

    /// Calls a function with data and returns its first value as data.
    ///
    /// # Errors
    /// A condition that nobody handled, a limit, or a value that is no data. A request to the host is a condition.
    pub fn call(
        &mut self,
        function: FunctionHandle,
        arguments: &[Value],
    ) -> Result<Value, LispError> {
        let value = self.enter(function, arguments, false);
        let value = value.map_err(|trap| self.trap_error(trap))?;
        self.machine.export(value).map_err(|trap| self.trap_error(trap))
    }

    /// Calls a function that may ask the host for something. A call that still waits is given up.
    ///
    /// # Errors
    /// A condition that nobody handled, a limit, or a value that is no data.
    pub fn begin(
        &mut self,
        function: FunctionHandle,
        arguments: &[Value],
    ) -> Result<CallProgress, LispError> {
        let result = self.enter(function, arguments, true);
        self.progress(result)
    }

    /// Gives the call that waits its answer, and goes on with full fuel.
    ///
    /// # Errors
    /// As [`Self::begin`]; also where nothing waits.
    pub fn resume(&mut self, answer: Value) -> Result<CallProgress, LispError> {
        if self.machine.frames.is_empty() {
            let trap = self.machine.simple_error("no call waits for an answer");
            return Err(self.trap_error(trap));
        }
        // No collection here: the registers of the call that waits are in use.
        self.machine.fuel = i64::try_from(self.machine.limits.fuel).unwrap_or(i64::MAX);
        self.machine.requests.answer = Some(answer);
        let result = self.machine.resume(&self.codes);
        self.progress(result)
    }

    fn enter(
        &mut self,
        function: FunctionHandle,
        arguments: &[Value],
        may_wait: bool,
    ) -> Result<Word, Trap> {
        if !self.machine.frames.is_empty() {
            self.machine.reset();
        }
        self.refuel();
        let mut words = Vec::with_capacity(arguments.len());
        for argument in arguments {
            words.push(self.machine.import(argument, 0)?);
        }
        let word = self.machine.symbols.cells[function.0 as usize].function;
        self.machine.requests.may_wait = may_wait;
        let result = self.machine.call(&self.codes, word, &words);
        if self.machine.frames.is_empty() {
            self.machine.requests = HostRequests::default();
        }
        result
    }

    fn progress(&mut self, result: Result<Word, Trap>) -> Result<CallProgress, LispError> {
        match result {
            Ok(value) => {
                self.machine.requests = HostRequests::default();
                let value = self.machine.export(value).map_err(|trap| self.trap_error(trap))?;
                Ok(CallProgress::Done(value))
            }
            Err(trap) if matches!(trap.as_ref(), TrapKind::Suspend) => {
                let request = self.machine.requests.request.take().unwrap_or(Value::Nil);
                Ok(CallProgress::Waits(request))
            }
            Err(trap) => Err(self.trap_error(trap)),
        }
    }

    /// Takes what was printed since the last call.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.machine.output)
    }

    /// Takes what went to the error output, such as warnings.
    pub fn take_error_output(&mut self) -> String {
        std::mem::take(&mut self.machine.error_output)
    }

    /// Fuel that the last load or call left.
    pub fn fuel_left(&self) -> u64 {
        u64::try_from(self.machine.fuel).unwrap_or(0)
    }

    /// Bytes of values in use, those that the next collection frees included.
    pub fn heap_bytes(&self) -> usize {
        self.machine.heap.bytes
    }

    /// Keeps this state to make instances of.
    pub fn snapshot(self) -> Snapshot {
        let Self { mut machine, codes, .. } = self;
        machine.registers = Vec::new();
        machine.heap.pairs.shrink_to_fit();
        machine.heap.objects.shrink_to_fit();
        Snapshot { machine: Arc::new(machine), codes }
    }

    fn read_error(&mut self, failure: ReadFailure, file: &Arc<str>) -> LispError {
        let place = Some(located(file, failure.place));
        let plain = |kind, message: String| LispError {
            kind,
            message,
            place: place.clone(),
            calls: Vec::new(),
            hint: None,
        };
        match failure.kind {
            ReadFailureKind::End => {
                let mut error =
                    plain(LispErrorKind::Incomplete, "the text ends inside a form".into());
                error.hint = Some("close the parenthesis or string that is open");
                error
            }
            ReadFailureKind::Syntax(message) => plain(LispErrorKind::Syntax, message),
            ReadFailureKind::Outside(name) => plain(LispErrorKind::Outside, name),
            ReadFailureKind::Limit(kind) => {
                let mut error =
                    plain(LispErrorKind::Limit(kind), "the text is nested too deeply".into());
                error.hint = Some(limit_hint(kind));
                error
            }
            ReadFailureKind::Trap(trap) => self.trap_error_at(trap, Some(failure.place), file),
        }
    }

    fn compile_error(
        &mut self,
        failure: CompileFailure,
        at: SourcePlace,
        file: &Arc<str>,
    ) -> LispError {
        match failure {
            CompileFailure::Outside(name, place) => LispError {
                kind: LispErrorKind::Outside,
                message: name,
                place: Some(located(file, place)),
                calls: Vec::new(),
                hint: None,
            },
            CompileFailure::Program(message) => LispError {
                kind: LispErrorKind::Condition("PROGRAM-ERROR".into()),
                message,
                place: Some(located(file, at)),
                calls: Vec::new(),
                hint: None,
            },
            CompileFailure::Limit(kind) => LispError {
                kind: LispErrorKind::Limit(kind),
                message: "the form is nested too deeply".into(),
                place: Some(located(file, at)),
                calls: Vec::new(),
                hint: Some(limit_hint(kind)),
            },
            CompileFailure::Trap(trap) => self.trap_error_at(trap, Some(at), file),
        }
    }

    fn trap_error_at(
        &mut self,
        trap: Trap,
        place: Option<SourcePlace>,
        file: &Arc<str>,
    ) -> LispError {
        let mut error = self.trap_error(trap);
        if error.place.is_none() {
            error.place = place.filter(|place| place.line > 0).map(|place| located(file, place));
        }
        error
    }

    // The box is how traps travel.
    #[allow(clippy::boxed_local)]
    fn trap_error(&mut self, trap: Trap) -> LispError {
        let trace = std::mem::take(&mut self.machine.trace);
        let (calls, place) = self.shown_calls(&trace);
        let mut error = LispError {
            kind: LispErrorKind::Outside,
            message: String::new(),
            place,
            calls,
            hint: None,
        };
        match *trap {
            TrapKind::Outside(name) => error.message = name,
            TrapKind::Suspend => error.message = "a request to the host".into(),
            TrapKind::Limit(kind) => {
                error.kind = LispErrorKind::Limit(kind);
                error.message = "the program was stopped".into();
                error.hint = Some(limit_hint(kind));
            }
            TrapKind::Condition(word) | TrapKind::Unhandled(word) | TrapKind::Report(word) => {
                let kind =
                    self.machine.record(word).map(|(kind, _)| self.machine.types.get(kind).name);
                let name = kind.map_or("CONDITION", |symbol| self.machine.symbols.name(symbol));
                let name = name.trim_start_matches('%').to_owned();
                self.machine.fuel = self.machine.fuel.max(100_000);
                error.message = match self.machine.report(word) {
                    Ok(text) => text,
                    Err(_) => self.reported(word),
                };
                error.hint = hint(&name);
                error.kind = LispErrorKind::Condition(name);
            }
        }
        error
    }

    /// Text of a condition whose report is a Lisp function.
    fn reported(&mut self, word: Word) -> String {
        let function = self.machine.symbols.cells[well_known::REPORT as usize].function;
        match self.machine.call(&self.codes, function, &[word]) {
            Ok(_) => self.machine.report(word).unwrap_or_default(),
            Err(_) => "its report failed".to_owned(),
        }
    }

    /// Running functions for people, and the innermost place that a file of the skill has.
    fn shown_calls(&mut self, trace: &[(u32, u32)]) -> (Vec<String>, Option<SourceLocation>) {
        let mut calls = Vec::new();
        let mut innermost = None;
        for (number, position) in trace {
            let code = self.codes.get(*number);
            let (name, file) = (code.name, code.file.clone());
            let Some(place) = code.place(*position as usize) else { continue };
            // Places in the prelude mean nothing to people.
            if self.codes.is_base(*number) {
                continue;
            }
            let place = located(&file, place);
            if innermost.is_none() {
                innermost = Some(place.clone());
            }
            if name.is_true() && calls.len() < 12 {
                let name = self.machine.print_to_string(name);
                calls.push(format!("{name} at {place}"));
            }
        }
        (calls, innermost)
    }
}

impl Snapshot {
    /// A fresh instance in the state that was kept.
    pub fn instance(&self) -> Instance {
        Instance { machine: (*self.machine).clone(), codes: self.codes.clone(), form_nesting: 0 }
    }
}

fn located(file: &Arc<str>, place: SourcePlace) -> SourceLocation {
    SourceLocation { file: file.to_string(), line: place.line, column: place.column }
}
