//! A text that becomes a skill of the folder: looked at, shown, and put there after a yes; taken back when it does not serve.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridle_jail::diff_texts;
use bridle_skill::{
    Capability, CapabilitySet, MAX_SKILL_BYTES, ProgramText, Skill, SkillId, SkillLimits,
    SkillSource, test_skill,
};
use thiserror::Error;

use crate::registry::SkillRegistry;
use crate::storage::StorageError;

/// Tests of a text that are run before anybody said yes to it.
const MAX_TRIED_TESTS: usize = 200;

/// Steps of a call of such a test, about 0.2 seconds.
const TRIED_FUEL: u64 = 10_000_000;

/// Reason why a text does not become a skill.
#[derive(Debug, Error)]
pub enum InstallFault {
    /// There is no folder of skills.
    #[error("no Org folder is chosen: bridle init DIR")]
    NoFolder,
    /// The name of the file is none.
    #[error("`{0}` is no name of a skill's file, expected such as `water-plants.org`")]
    Name(String),
    /// The text is no skill that is in order.
    #[error("{0}")]
    Text(String),
    /// Another file has a skill of this name.
    #[error("`{id}` is the name of {}", file.display())]
    Taken {
        /// The name.
        id: SkillId,
        /// The other file.
        file: PathBuf,
    },
    /// The file has changed since the change of it was shown.
    #[error("{} has changed since it was shown", .0.display())]
    Changed(PathBuf),
    /// Text that was taken back, since it does not serve.
    #[error("taken back, since it does not serve: {0}")]
    TakenBack(String),
    /// There is nothing to go back to.
    #[error("nothing of `{0}` was kept to go back to")]
    NoPrevious(SkillId),
    /// A file could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A text beside the file that it would replace.
#[derive(Debug, Clone)]
pub struct SkillInstall {
    /// The skill.
    pub id: SkillId,
    /// Its file.
    pub path: PathBuf,
    /// Text of the file now; `None` where there is none.
    pub before: Option<String>,
    /// The text that is to be.
    pub text: String,
    /// Capabilities that go beyond what is enabled.
    pub wider: Vec<Capability>,
    /// Tests of it.
    pub tests: usize,
    /// Whether it was loaded and tested; a program that runs in a process is not started before a yes.
    pub is_tested: bool,
}

impl SkillInstall {
    /// Looks at a text that is to be this file of the folder: reads it, and loads and tests it as far as that is done in
    /// the daemon's own language. Blocks.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn plan(registry: &SkillRegistry, file: &str, text: &str) -> Result<Self, InstallFault> {
        let folder = registry.folder().ok_or(InstallFault::NoFolder)?;
        if !is_file_name(file) {
            return Err(InstallFault::Name(file.chars().take(80).collect()));
        }
        let wrong = |fault: &dyn std::fmt::Display| InstallFault::Text(fault.to_string());
        let source = SkillSource::read(text, file).map_err(|fault| wrong(&fault))?;
        let (id, path) = (source.manifest.id.clone(), folder.join(file));
        if let Some(other) = registry.table().find(&id).filter(|other| other.file != path) {
            return Err(InstallFault::Taken { id, file: other.file.clone() });
        }
        let enabled = registry.storage().enabled(&id)?.unwrap_or_default();
        let wider = source.manifest.capabilities.wider_than(&enabled);
        let tests = source.tests.len();
        let is_tested = matches!(source.program, ProgramText::Lisp(_));
        if is_tested {
            if tests > MAX_TRIED_TESTS {
                let reason = format!("{tests} tests, expected at most {MAX_TRIED_TESTS}");
                return Err(InstallFault::Text(reason));
            }
            let limits = SkillLimits { fuel: TRIED_FUEL, ..SkillLimits::default() };
            let skill = Skill::load(source, limits).map_err(|fault| wrong(&fault))?;
            tested(&Arc::new(skill), file)?;
        }
        let before = text_of(&path)?;
        Ok(Self { id, path, before, text: text.to_owned(), wider, tests, is_tested })
    }

    /// Change of the file, as a diff.
    pub fn diff(&self) -> String {
        let name = Path::new("skills").join(self.path.file_name().unwrap_or_default());
        diff_texts(&name, self.before.as_deref(), Some(&self.text))
    }

    /// Puts the text into the folder, enables what it asks for, and has it serve; takes all of it back when it does not.
    /// Blocks.
    ///
    /// # Errors
    /// The file has changed meanwhile, the text is not in order, or it was taken back.
    pub fn carry_out(&self, registry: &SkillRegistry) -> Result<(), InstallFault> {
        if text_of(&self.path)? != self.before {
            return Err(InstallFault::Changed(self.path.clone()));
        }
        let file = self.path.display().to_string();
        let skill = registry.load(&self.text, &file);
        let skill = skill.map_err(|fault| InstallFault::Text(fault.to_string()))?;
        tested(&skill, &file)?;
        let storage = registry.storage();
        let enabled = storage.enabled(&self.id)?;
        let all = enabled.iter().flat_map(CapabilitySet::iter);
        let all: CapabilitySet = all.chain(skill.manifest().capabilities.iter()).cloned().collect();
        storage.keep_previous(&self.id, self.before.as_deref())?;
        storage.enable(&self.id, &all)?;
        replace(&self.path, Some(&self.text))?;
        registry.refresh();
        let table = registry.table();
        let serving = table.find(&self.id).map(|entry| entry.skill.source().hash.as_str());
        if serving == Some(skill.source().hash.as_str()) {
            return Ok(());
        }
        let problem = table.problems().iter().find(|problem| problem.file == file);
        let reason = problem.map_or("the folder was not read", |it| it.reason.as_str()).to_owned();
        replace(&self.path, self.before.as_deref())?;
        match &enabled {
            Some(set) => storage.enable(&self.id, set)?,
            None => storage.disable(&self.id).map(drop)?,
        }
        registry.refresh();
        Err(InstallFault::TakenBack(reason))
    }

    /// The way back to the text before the last that was installed; a skill that is new is taken away.
    ///
    /// # Errors
    /// Nothing was kept.
    pub fn go_back(registry: &SkillRegistry, id: &SkillId) -> Result<Option<Self>, InstallFault> {
        let kept = registry.storage().previous(id)?;
        let kept = kept.ok_or_else(|| InstallFault::NoPrevious(id.clone()))?;
        let table = registry.table();
        let path = match table.find(id) {
            Some(entry) => entry.file.clone(),
            None => registry.folder().ok_or(InstallFault::NoFolder)?.join(format!("{id}.org")),
        };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        match kept {
            Some(text) => Self::plan(registry, &name, &text).map(Some),
            None => {
                replace(&path, None)?;
                registry.storage().disable(id)?;
                registry.refresh();
                Ok(None)
            }
        }
    }
}

fn is_file_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let stem = name.strip_suffix(".org").unwrap_or_default();
    !stem.is_empty() && name.len() <= 80 && !name.starts_with('.') && name.bytes().all(fits)
}

/// The first test that fails.
fn tested(skill: &Arc<Skill>, file: &str) -> Result<(), InstallFault> {
    let failed = test_skill(skill).into_iter().find_map(|test| {
        let reason = test.failure?;
        Some(format!("{file}:{}: test `{}`: {reason}", test.line, test.name))
    });
    failed.map_or(Ok(()), |reason| Err(InstallFault::Text(reason)))
}

/// Text of a file; what is no file, or no text, is nothing that may be replaced.
fn text_of(path: &Path) -> Result<Option<String>, InstallFault> {
    let failed = |source| StorageError::File { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error).into()),
        Ok(facts) if !facts.is_file() || facts.len() > MAX_SKILL_BYTES as u64 => {
            return Err(failed(io::Error::other("it is no file of a skill")).into());
        }
        Ok(_) => {}
    }
    Ok(fs::read_to_string(path).map(Some).map_err(failed)?)
}

/// Writes a file beside and then in its place, or takes it away.
fn replace(path: &Path, text: Option<&str>) -> Result<(), StorageError> {
    let failed = |source| StorageError::File { path: path.to_owned(), source };
    let Some(text) = text else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        };
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    let written = || -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o644).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    written().map_err(failed)
}
