//! The program of a skill, whatever runs it: calls that ask, wait and go on.
//!
//! The language of the daemon runs here. A block with `:process` runs as a program of its own, which who loads the skill
//! has to start: see [`SkillRuntime`].

use std::sync::Arc;

use bridle_lisp::{CallProgress, FunctionHandle, Instance, InstanceLimits, LispError, Snapshot};
use bridle_sexp::Value;

use crate::fault::{SkillFault, SkillFaultKind};
use crate::part::SkillPart;
use crate::skill::SkillLimits;
use crate::source::SkillSource;

/// Bytes that a skill may print in one call.
const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// End of a step of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramStep {
    /// Ended, with this value.
    Done(Value),
    /// Asks the host for this and waits.
    Waits(Value),
}

/// A program that is loaded. Each call begins from the state that loading left.
pub trait SkillProgram: Send + Sync {
    /// A call that has not begun.
    fn call(&self) -> Box<dyn ProgramCall>;
}

/// One call of a program.
pub trait ProgramCall: Send {
    /// Calls the part of this kind and name: kind as a keyword, name, list of arguments. Blocks.
    ///
    /// # Errors
    /// The program failed or ran into a limit.
    fn begin(&mut self, arguments: [Value; 3]) -> Result<ProgramStep, SkillFault>;

    /// Goes on with the answer to what it asked for. Blocks.
    ///
    /// # Errors
    /// As [`Self::begin`].
    fn resume(&mut self, answer: Value) -> Result<ProgramStep, SkillFault>;

    /// Takes the text that it printed since the last time.
    fn take_output(&mut self) -> String;
}

/// Program that runs in a process, as its file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessProgram {
    /// Language of its blocks, in small letters.
    pub language: String,
    /// Program and arguments, where the file names them; else what the language stands for.
    pub argv: Vec<String>,
    /// Its text, on the lines of the file.
    pub text: String,
}

/// A program that was started, and what it defines.
pub struct LoadedProgram {
    /// The program.
    pub program: Box<dyn SkillProgram>,
    /// Its parts as values: `(:kind :tool :name "x" :facts (..))`.
    pub parts: Vec<Value>,
}

/// Starter of programs that run in processes.
pub trait SkillRuntime: Send + Sync {
    /// Starts the program of a skill. Blocks.
    ///
    /// # Errors
    /// The program cannot be started, or is none.
    fn load(
        &self,
        source: &Arc<SkillSource>,
        process: &ProcessProgram,
    ) -> Result<LoadedProgram, SkillFault>;
}

/// A place where nothing can be started.
pub struct NoProcesses;

impl SkillRuntime for NoProcesses {
    fn load(&self, _: &Arc<SkillSource>, _: &ProcessProgram) -> Result<LoadedProgram, SkillFault> {
        let reason = "its program runs in a process, which needs a jail: see `bridle doctor`";
        Err(SkillFault::new(SkillFaultKind::Program, reason))
    }
}

/// Loads a program of the language of the daemon.
pub(crate) fn load(
    source: &Arc<SkillSource>,
    text: &str,
    limits: SkillLimits,
) -> Result<(LispProgram, Vec<SkillPart>), SkillFault> {
    let mut instance = Instance::new(InstanceLimits {
        fuel: limits.fuel,
        heap_bytes: limits.heap_bytes,
        output_bytes: MAX_OUTPUT_BYTES,
        ..InstanceLimits::default()
    });
    let fault = |error: &LispError| SkillFault::of_lisp(error, &source.file, &source.text);
    instance.load(text, &source.file).map_err(|error| fault(&error))?;
    let missing = || SkillFault::new(SkillFaultKind::Program, "the language has no skills");
    let list = instance.function("%SKILL-PARTS").ok_or_else(missing)?;
    let entry = instance.function("%SKILL-RUN").ok_or_else(missing)?;
    let parts = instance.call(list, &[]).map_err(|error| fault(&error))?;
    let parts = parts.elements().unwrap_or_default().iter().filter_map(SkillPart::read).collect();
    instance.take_output();
    let program = LispProgram { source: Arc::clone(source), snapshot: instance.snapshot(), entry };
    Ok((program, parts))
}

/// A program of the language of the daemon.
pub(crate) struct LispProgram {
    source: Arc<SkillSource>,
    snapshot: Snapshot,
    entry: FunctionHandle,
}

impl LispProgram {
    /// Values that a form prints, evaluated in a fresh instance.
    pub(crate) fn evaluate(&self, form: &str) -> Result<Vec<String>, SkillFault> {
        let mut instance = self.snapshot.instance();
        let mut last = Vec::new();
        let done = instance.evaluate(form, "test", |values| last = values.to_vec());
        done.map(|()| last).map_err(|error| {
            let mut fault = SkillFault::of_lisp(&error, &self.source.file, &self.source.text);
            fault.place = fault.place.filter(|place| place.file != "test");
            fault
        })
    }
}

impl SkillProgram for LispProgram {
    fn call(&self) -> Box<dyn ProgramCall> {
        Box::new(LispCall {
            source: Arc::clone(&self.source),
            instance: self.snapshot.instance(),
            entry: self.entry,
        })
    }
}

struct LispCall {
    source: Arc<SkillSource>,
    instance: Instance,
    entry: FunctionHandle,
}

impl LispCall {
    fn step(&self, result: Result<CallProgress, LispError>) -> Result<ProgramStep, SkillFault> {
        match result {
            Ok(CallProgress::Done(value)) => Ok(ProgramStep::Done(value)),
            Ok(CallProgress::Waits(value)) => Ok(ProgramStep::Waits(value)),
            Err(error) => Err(SkillFault::of_lisp(&error, &self.source.file, &self.source.text)),
        }
    }
}

impl ProgramCall for LispCall {
    fn begin(&mut self, arguments: [Value; 3]) -> Result<ProgramStep, SkillFault> {
        let begun = self.instance.begin(self.entry, &arguments);
        self.step(begun)
    }

    fn resume(&mut self, answer: Value) -> Result<ProgramStep, SkillFault> {
        let gone_on = self.instance.resume(answer);
        self.step(gone_on)
    }

    fn take_output(&mut self) -> String {
        self.instance.take_output()
    }
}
