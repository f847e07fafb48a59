//! A skill that is loaded: its program ran once, and every call begins from that state.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::fault::{SkillFault, SkillFaultKind};
use crate::manifest::SkillManifest;
use crate::part::{MAX_PARTS, PartKind, SkillPart};
use crate::program::{
    self, LispProgram, NoProcesses, ProgramCall, ProgramStep, SkillProgram, SkillRuntime,
};
use crate::source::{ProgramText, SkillSource};

/// Bounds of one call of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillLimits {
    /// Steps between two requests to the host, about 50 million a second.
    pub fuel: u64,
    /// Bytes of live values.
    pub heap_bytes: usize,
    /// Requests to the host.
    pub requests: usize,
}

impl Default for SkillLimits {
    /// About two seconds, 16 MiB, 1,000 requests.
    fn default() -> Self {
        Self { fuel: 100_000_000, heap_bytes: 16 << 20, requests: 1_000 }
    }
}

/// A skill that is loaded.
pub struct Skill {
    source: Arc<SkillSource>,
    parts: Vec<SkillPart>,
    program: LoadedSkill,
    limits: SkillLimits,
}

/// Program of a skill, by where it runs.
enum LoadedSkill {
    /// In the daemon.
    Lisp(LispProgram),
    /// In a process of its own.
    Process(Box<dyn SkillProgram>),
}

impl Skill {
    /// Loads a program that runs in the daemon. Nothing is asked of the host while it loads.
    ///
    /// # Errors
    /// The program is none, or fails, or defines nothing, or needs a process.
    pub fn load(source: SkillSource, limits: SkillLimits) -> Result<Self, SkillFault> {
        Self::load_with(source, limits, &NoProcesses)
    }

    /// Loads a program; one that runs in a process is started by the runtime. Blocks.
    ///
    /// # Errors
    /// As [`Self::load`]; also when the process cannot be started.
    pub fn load_with(
        source: SkillSource,
        limits: SkillLimits,
        runtime: &dyn SkillRuntime,
    ) -> Result<Self, SkillFault> {
        let source = Arc::new(source);
        let (program, parts) = match &source.program {
            ProgramText::Lisp(text) => {
                let (program, parts) = program::load(&source, text, limits)?;
                (LoadedSkill::Lisp(program), parts)
            }
            ProgramText::Process(process) => {
                let loaded = runtime.load(&source, process)?;
                let parts = loaded.parts.iter().take(MAX_PARTS + 1).filter_map(SkillPart::read);
                (LoadedSkill::Process(loaded.program), parts.collect())
            }
        };
        if parts.is_empty() || parts.len() > MAX_PARTS {
            let expected = "expected 1 to 256 of defskill, deftool, defcommand, defactuator";
            let reason = format!("the program defines {} parts, {expected}", parts.len());
            return Err(SkillFault::new(SkillFaultKind::Program, reason));
        }
        Ok(Self { source, parts, program, limits })
    }

    /// Its properties.
    pub fn manifest(&self) -> &SkillManifest {
        &self.source.manifest
    }

    /// Its file.
    pub fn source(&self) -> &SkillSource {
        &self.source
    }

    /// Its parts, in the order of the program.
    pub fn parts(&self) -> &[SkillPart] {
        &self.parts
    }

    /// Whether it has this part.
    pub fn has(&self, kind: PartKind, name: &str) -> bool {
        self.parts.iter().any(|part| part.kind == kind && part.name == name)
    }

    /// Text of its `defskill`, or else its title.
    pub fn doc(&self) -> &str {
        let own = self.parts.iter().find(|part| part.kind == PartKind::Skill);
        own.map(|part| part.doc.as_str())
            .filter(|doc| !doc.is_empty())
            .unwrap_or(&self.source.manifest.title)
    }

    /// Whether its program runs in a process of its own.
    pub fn is_process(&self) -> bool {
        matches!(self.program, LoadedSkill::Process(_))
    }

    pub(crate) fn call(&self) -> Box<dyn ProgramCall> {
        match &self.program {
            LoadedSkill::Lisp(program) => program.call(),
            LoadedSkill::Process(program) => program.call(),
        }
    }

    pub(crate) fn limits(&self) -> SkillLimits {
        self.limits
    }

    /// Values that a form of a test prints, evaluated in a fresh instance.
    pub(crate) fn evaluate(&self, form: &str) -> Result<Vec<String>, SkillFault> {
        let program = match &self.program {
            LoadedSkill::Lisp(program) => return program.evaluate(form),
            LoadedSkill::Process(program) => program,
        };
        let arguments = [Value::keyword("form"), Value::str(form), Value::Nil];
        match program.call().begin(arguments)? {
            ProgramStep::Done(values) => {
                let values = values.elements().unwrap_or_default().iter();
                Ok(values.filter_map(|value| value.as_str().map(str::to_owned)).collect())
            }
            ProgramStep::Waits(_) => {
                Err(SkillFault::new(SkillFaultKind::Run, "a form of a test asks nobody"))
            }
        }
    }
}

impl std::fmt::Debug for Skill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Skill").field("id", &self.source.manifest.id).finish_non_exhaustive()
    }
}

/// The keyword for a kind of part.
pub(crate) fn kind_word(kind: PartKind) -> Value {
    Value::keyword(kind.name())
}
