//! The Org file of a skill: its properties, its program with the line numbers of the file, its tests.

use bridle_org::{Document, Property, SourceBlock, Span};
use bridle_sexp::byte_text::hex;
use sha2::{Digest as _, Sha256};

use crate::fault::{SkillFault, SkillFaultKind};
use crate::manifest::{Capability, CapabilitySet, SkillId, SkillManifest, SkillTrigger};
use crate::program::ProcessProgram;
use crate::test_source::{self, SkillTest};

/// Bytes of a skill's file.
pub const MAX_SKILL_BYTES: usize = 512 << 10;

/// Triggers of one skill.
const MAX_TRIGGERS: usize = 64;

/// Languages of blocks that are the program.
const LANGUAGES: [&str; 3] = ["lisp", "common-lisp", "bridle-lisp"];

/// Title of the heading whose subtree has the tests.
const TESTS: &str = "Tests";

/// Tags of a property: `garden work`, `:garden:work:`, `#garden`.
fn tags(value: &str) -> impl Iterator<Item = String> {
    let words = value.split(|c: char| c.is_whitespace() || c == ':');
    let tags = words.map(|tag| tag.trim_start_matches('#').to_lowercase());
    tags.filter(|tag| !tag.is_empty())
}

/// The file of a skill, read and not yet loaded.
#[derive(Debug, Clone)]
pub struct SkillSource {
    /// Its properties.
    pub manifest: SkillManifest,
    /// Its tests, in order.
    pub tests: Vec<SkillTest>,
    /// File, as its reader named it.
    pub file: String,
    /// The whole text.
    pub text: String,
    /// SHA-256 of the text, in hexadecimal digits.
    pub hash: String,
    /// The program.
    pub program: ProgramText,
}

/// Program of a skill, by where it runs; every line stands where it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramText {
    /// In the daemon, in its language.
    Lisp(String),
    /// In a process.
    Process(ProcessProgram),
}

impl SkillSource {
    /// Reads a file. The name of it is the id of a skill that has none.
    ///
    /// # Errors
    /// The first thing that is not as it should be.
    pub fn read(text: &str, file: &str) -> Result<Self, SkillFault> {
        if text.len() > MAX_SKILL_BYTES {
            let reason = format!("{} bytes, expected at most {MAX_SKILL_BYTES}", text.len());
            return Err(SkillFault::new(SkillFaultKind::File, reason));
        }
        let document = Document::read(text.as_bytes());
        let reader = FileReader { document: &document, text, file };
        let tests = reader.tests_span();
        let program = reader.program(tests)?;
        let digest = Sha256::digest(text.as_bytes());
        Ok(Self {
            manifest: reader.manifest()?,
            tests: match tests {
                Some(span) => test_source::read(&document, span, text, file)?,
                None => Vec::new(),
            },
            file: file.to_owned(),
            text: text.to_owned(),
            hash: hex(&digest),
            program,
        })
    }
}

struct FileReader<'r, 't> {
    document: &'r Document<'t>,
    text: &'t str,
    file: &'r str,
}

impl FileReader<'_, '_> {
    fn fault(&self, line: usize, message: impl Into<String>) -> SkillFault {
        SkillFault::at_line(message, self.file, self.text, line)
    }

    fn manifest(&self) -> Result<SkillManifest, SkillFault> {
        let document = self.document;
        let mut manifest = SkillManifest {
            id: self.id()?,
            title: self.title(),
            priority: 0,
            triggers: Vec::new(),
            is_guard: false,
            depends_on: self.depends_on()?,
            capabilities: CapabilitySet::default(),
        };
        for property in document.properties() {
            self.apply(property, &mut manifest)?;
        }
        if manifest.triggers.len() > MAX_TRIGGERS {
            return Err(self.fault(1, format!("expected at most {MAX_TRIGGERS} triggers")));
        }
        Ok(manifest)
    }

    fn apply(&self, property: &Property<'_>, to: &mut SkillManifest) -> Result<(), SkillFault> {
        let key = String::from_utf8_lossy(property.key).to_ascii_uppercase();
        let value = String::from_utf8_lossy(property.value).into_owned();
        let fault = |reason: String| self.fault(property.line, reason);
        let words = value.split_whitespace();
        match key.trim_end_matches('+') {
            "PRIORITY" => {
                let number = value.parse();
                to.priority = number.map_err(|_| fault(format!("`{value}` is no priority")))?;
            }
            "CAPABILITIES" => {
                for word in words {
                    let capability = Capability::parse(word);
                    to.capabilities.insert(capability.ok_or_else(|| {
                        fault(format!("`{word}` is no capability, expected TARGET/ACTION"))
                    })?);
                }
            }
            "TRIGGER_PATTERN" => to.triggers.push(SkillTrigger::pattern(&value).map_err(fault)?),
            "TRIGGER_SENSOR" => {
                let name = |word: &str| word.trim_start_matches(':').to_ascii_lowercase();
                to.triggers.extend(words.map(|word| SkillTrigger::Sensor(name(word))));
            }
            "TRIGGER_PLUGIN" | "PLUGIN_ID" => {
                to.triggers.extend(words.map(|word| SkillTrigger::Plugin(word.to_owned())));
            }
            "TRIGGER_SOP" | "SOP_ID" => {
                to.triggers.extend(words.map(|word| SkillTrigger::Procedure(word.to_owned())));
            }
            "TRIGGER_TAG" => to.triggers.extend(tags(&value).map(SkillTrigger::Tag)),
            "TRIGGER_SCHEDULE" => {
                let schedule = words.collect::<Vec<_>>().join(" ");
                if schedule.is_empty() {
                    return Err(fault("expected a schedule, such as `0 8 * * 1-5`".to_owned()));
                }
                to.triggers.push(SkillTrigger::Schedule(schedule));
            }
            "TRIGGER_ACTION" => {
                for word in words {
                    let action = Capability::parse(word).ok_or_else(|| {
                        fault(format!("`{word}` is no kind of action, expected TARGET/ACTION"))
                    })?;
                    to.triggers.push(SkillTrigger::Action(action));
                }
            }
            "GUARD" => apply_guard(&value, to).map_err(fault)?,
            other if other.starts_with("TRIGGER") || other.starts_with("CAPABILIT") => {
                let known = "CAPABILITIES, TRIGGER_ACTION, TRIGGER_PATTERN, TRIGGER_PLUGIN, \
                             TRIGGER_SCHEDULE, TRIGGER_SENSOR, TRIGGER_SOP, TRIGGER_TAG";
                return Err(fault(format!("`{other}` is unknown, expected one of {known}")));
            }
            _ => {}
        }
        Ok(())
    }

    fn id(&self) -> Result<SkillId, SkillFault> {
        let given = self.document.file_property("ID");
        let given = given.map(|id| String::from_utf8_lossy(&id).into_owned());
        let line = self.document.properties().iter().find(|it| it.key.eq_ignore_ascii_case(b"ID"));
        let name = given.unwrap_or_else(|| {
            let name = self.file.rsplit('/').next().unwrap_or_default();
            name.strip_suffix(".org").unwrap_or(name).to_owned()
        });
        let invalid = |error: crate::manifest::InvalidSkillId| {
            self.fault(line.map_or(1, |property| property.line), format!("`{name}`: {error}"))
        };
        SkillId::new(&name).map_err(invalid)
    }

    fn title(&self) -> String {
        let title = self.document.title().unwrap_or_default();
        let title = String::from_utf8_lossy(&title).into_owned();
        let plain = title.strip_prefix("SKILL:").unwrap_or(&title);
        plain.trim().to_owned()
    }

    /// Ids behind `#+DEPENDS_ON:`, with or without `id:` before them.
    fn depends_on(&self) -> Result<Vec<SkillId>, SkillFault> {
        let mut all = Vec::new();
        let keywords = self.document.keywords().iter().filter(|keyword| keyword.is("DEPENDS_ON"));
        for keyword in keywords {
            let value = String::from_utf8_lossy(keyword.value);
            for word in value.split_whitespace() {
                let id = SkillId::new(word.strip_prefix("id:").unwrap_or(word));
                all.push(
                    id.map_err(|error| self.fault(keyword.line, format!("`{word}`: {error}")))?,
                );
            }
        }
        Ok(all)
    }

    fn tests_span(&self) -> Option<Span> {
        let mut headings = self.document.headings().iter();
        let found = headings.find(|it| it.title.eq_ignore_ascii_case(TESTS.as_bytes()));
        found.map(|heading| heading.subtree)
    }

    /// Blocks of the program; every line stands where it stands in the file.
    fn program(&self, tests: Option<Span>) -> Result<ProgramText, SkillFault> {
        let mut program = String::with_capacity(self.text.len());
        let mut line = 1;
        let mut count = 0;
        let mut process: Option<Option<(String, Vec<String>)>> = None;
        for block in self.document.sources().iter().filter(|block| self.is_program(block, tests)) {
            count += 1;
            let own = self.process_of(block);
            if process.as_ref().is_some_and(|before| *before != own) {
                let reason = "all blocks of a program run in one place: give them the same language and `:process`";
                return Err(self.fault(block.line_in_file(0), reason));
            }
            process = Some(own);
            let first = block.line_in_file(1);
            while line < first {
                program.push('\n');
                line += 1;
            }
            let body = block.body();
            let body = String::from_utf8_lossy(&body);
            program.push_str(&body);
            line += body.matches('\n').count();
        }
        if count == 0 {
            return Err(self.fault(1, "no block `#+begin_src lisp`: a skill has a program"));
        }
        Ok(match process.flatten() {
            None => ProgramText::Lisp(program),
            Some((language, argv)) => {
                ProgramText::Process(ProcessProgram { language, argv, text: program })
            }
        })
    }

    /// Language and arguments of a block that runs in a process: `:process t`, or the program itself.
    fn process_of(&self, block: &SourceBlock<'_>) -> Option<(String, Vec<String>)> {
        let own = block.argument("process").map(String::from_utf8_lossy);
        let of_file = self
            .document
            .properties()
            .iter()
            .find(|property| property.key.eq_ignore_ascii_case(b"PROCESS"));
        let of_file = of_file.map(|property| String::from_utf8_lossy(property.value));
        let value = own.or(of_file)?;
        let value = value.trim();
        if matches!(value, "nil" | "no") {
            return None;
        }
        let language = String::from_utf8_lossy(block.language.unwrap_or_default());
        let argv = match value {
            "" | "t" | "yes" => Vec::new(),
            argv => argv.split_whitespace().map(str::to_owned).collect(),
        };
        Some((language.to_ascii_lowercase(), argv))
    }

    fn is_program(&self, block: &SourceBlock<'_>, tests: Option<Span>) -> bool {
        let language = block.language.unwrap_or_default();
        let is_lisp = LANGUAGES.iter().any(|name| language.eq_ignore_ascii_case(name.as_bytes()));
        let is_test = tests
            .is_some_and(|tests| tests.start <= block.span.start && block.span.start < tests.end);
        let heading = block.heading.and_then(|id| self.document.heading(id));
        let is_off = heading.is_some_and(|heading| heading.commented)
            || block.argument("load") == Some(b"no");
        let is_process = block.argument("process").is_some();
        (is_lisp || is_process) && !is_test && !is_off
    }
}

/// Makes a skill a guard if its property says so.
fn apply_guard(value: &str, to: &mut SkillManifest) -> Result<(), String> {
    match value.trim().to_ascii_lowercase().as_str() {
        "t" | "yes" => {
            to.is_guard = true;
            to.capabilities.insert(Capability::guard());
            Ok(())
        }
        "nil" | "no" => Ok(()),
        _ => Err(format!("`{value}`, expected `t` or `nil`")),
    }
}
