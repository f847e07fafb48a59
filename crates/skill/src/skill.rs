//! A skill that is loaded: its program ran once, and every call begins from that state.

use bridle_lisp::{FunctionHandle, Instance, InstanceLimits, LispError, Snapshot};
use bridle_sexp::Value;

use crate::fault::{SkillFault, SkillFaultKind};
use crate::manifest::SkillManifest;
use crate::part::{MAX_PARTS, PartKind, SkillPart};
use crate::source::SkillSource;

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

/// Bytes that a skill may print in one call.
const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// A skill that is loaded.
pub struct Skill {
    source: SkillSource,
    parts: Vec<SkillPart>,
    snapshot: Snapshot,
    entry: FunctionHandle,
    limits: SkillLimits,
}

impl Skill {
    /// Loads the program. Nothing is asked of the host while it loads.
    ///
    /// # Errors
    /// The program is none, or fails, or defines nothing.
    pub fn load(source: SkillSource, limits: SkillLimits) -> Result<Self, SkillFault> {
        let mut instance = Instance::new(InstanceLimits {
            fuel: limits.fuel,
            heap_bytes: limits.heap_bytes,
            output_bytes: MAX_OUTPUT_BYTES,
            ..InstanceLimits::default()
        });
        let fault = |error: &LispError| SkillFault::of_lisp(error, &source.file, &source.text);
        instance.load(&source.program, &source.file).map_err(|error| fault(&error))?;
        let missing = || SkillFault::new(SkillFaultKind::Program, "the language has no skills");
        let list = instance.function("%SKILL-PARTS").ok_or_else(missing)?;
        let entry = instance.function("%SKILL-RUN").ok_or_else(missing)?;
        let parts = instance.call(list, &[]).map_err(|error| fault(&error))?;
        let parts: Vec<SkillPart> =
            parts.elements().unwrap_or_default().iter().filter_map(SkillPart::read).collect();
        if parts.is_empty() || parts.len() > MAX_PARTS {
            let expected = "expected 1 to 256 of defskill, deftool, defcommand, defactuator";
            let reason = format!("the program defines {} parts, {expected}", parts.len());
            return Err(SkillFault::new(SkillFaultKind::Program, reason));
        }
        instance.take_output();
        Ok(Self { source, parts, snapshot: instance.snapshot(), entry, limits })
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

    pub(crate) fn instance(&self) -> Instance {
        self.snapshot.instance()
    }

    pub(crate) fn entry(&self) -> FunctionHandle {
        self.entry
    }

    pub(crate) fn limits(&self) -> SkillLimits {
        self.limits
    }

    pub(crate) fn fault(&self, error: &LispError) -> SkillFault {
        SkillFault::of_lisp(error, &self.source.file, &self.source.text)
    }

    /// Values that a form of a test prints, evaluated in a fresh instance.
    pub(crate) fn evaluate(&self, form: &str) -> Result<Vec<String>, SkillFault> {
        let mut instance = self.instance();
        let mut last = Vec::new();
        let done = instance.evaluate(form, "test", |values| last = values.to_vec());
        done.map(|()| last).map_err(|error| {
            let mut fault = self.fault(&error);
            fault.place = fault.place.filter(|place| place.file != "test");
            fault
        })
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
