//! The folder of skills, and the table made of it. Reading it again replaces the whole table at once; of a skill that is
//! not in order, the version before it stays.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use bridle_skill::{
    CapabilitySet, MAX_SKILL_BYTES, NoProcesses, PartKind, Skill, SkillFault, SkillId, SkillLimits,
    SkillRuntime, SkillSource, SkillTrigger, dependency_order, test_skill,
};

use crate::storage::SkillStorage;

/// Files of one folder that are read.
const MAX_SKILL_FILES: usize = 2_000;

/// Reason why a file does not serve as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProblem {
    /// The file.
    pub file: String,
    /// The skill, where that is known.
    pub skill: Option<SkillId>,
    /// The reason, with its place.
    pub reason: String,
    /// Whether a version before it serves.
    pub serves_old: bool,
}

/// A skill that serves.
#[derive(Debug, Clone)]
pub struct SkillEntry {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Its file.
    pub file: PathBuf,
}

/// All skills that serve, and what is wrong with the files that do not.
#[derive(Debug, Default)]
pub struct SkillTable {
    skills: BTreeMap<SkillId, SkillEntry>,
    order: Vec<SkillId>,
    problems: Vec<SkillProblem>,
}

impl SkillTable {
    /// Skills, the greatest priority first, those of the same by name.
    pub fn skills(&self) -> impl Iterator<Item = &SkillEntry> {
        self.order.iter().filter_map(|id| self.skills.get(id))
    }

    /// A skill by its name.
    pub fn find(&self, id: &SkillId) -> Option<&SkillEntry> {
        self.skills.get(id)
    }

    /// Words behind a slash that skills answer, each with the first line of what it is for.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.skills().flat_map(|entry| entry.skill.parts());
        let commands = parts.filter(|part| part.kind == PartKind::Command);
        commands.map(|part| (part.name.as_str(), part.doc.lines().next().unwrap_or_default()))
    }

    /// Schedules, each with the skill that it wakes.
    pub fn schedules(&self) -> impl Iterator<Item = (&SkillId, &str)> {
        self.skills().flat_map(|entry| {
            let manifest = entry.skill.manifest();
            manifest.triggers.iter().filter_map(|trigger| match trigger {
                SkillTrigger::Schedule(schedule) => Some((&manifest.id, schedule.as_str())),
                _ => None,
            })
        })
    }

    /// Whether a skill is for the procedure of this `sop_id`.
    pub fn knows_procedure(&self, id: &str) -> bool {
        let is_it = |trigger: &SkillTrigger| matches!(trigger, SkillTrigger::Procedure(known) if known == id);
        self.skills().any(|entry| entry.skill.manifest().triggers.iter().any(is_it))
    }

    /// Faults of files.
    pub fn problems(&self) -> &[SkillProblem] {
        &self.problems
    }
}

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    changed: Option<SystemTime>,
    bytes: u64,
}

/// Result of reading a file, so that one that did not change is not read again.
#[derive(Clone)]
struct ReadFile {
    stamp: FileStamp,
    /// Capabilities that were enabled for it then.
    enabled: Option<CapabilitySet>,
    result: Result<Arc<Skill>, SkillProblem>,
}

/// The skills of one home.
pub struct SkillRegistry {
    /// The folder; a daemon that begins without one may get it while it runs.
    folder: RwLock<Option<PathBuf>>,
    storage: SkillStorage,
    limits: SkillLimits,
    /// Starter of programs that run in processes.
    runtime: Box<dyn SkillRuntime>,
    table: RwLock<Arc<SkillTable>>,
    files: Mutex<BTreeMap<PathBuf, ReadFile>>,
    versions: Mutex<HashMap<String, Arc<Skill>>>,
}

impl SkillRegistry {
    /// A registry of the skills in this folder; without one it stays empty. Nothing is read yet.
    pub fn new(folder: Option<PathBuf>, storage: SkillStorage) -> Self {
        Self {
            folder: RwLock::new(folder),
            storage,
            limits: SkillLimits::default(),
            runtime: Box::new(NoProcesses),
            table: RwLock::default(),
            files: Mutex::default(),
            versions: Mutex::default(),
        }
    }

    /// Has programs that run in processes started by this.
    #[must_use]
    pub fn with_runtime(self, runtime: Box<dyn SkillRuntime>) -> Self {
        Self { runtime, ..self }
    }

    /// A text as a skill: loaded, not tested, and not in the table. Blocks.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn load(&self, text: &str, file: &str) -> Result<Arc<Skill>, SkillFault> {
        let source = SkillSource::read(text, file)?;
        Skill::load_with(source, self.limits, &*self.runtime).map(Arc::new)
    }

    /// Whether there is a folder to look at.
    pub fn has_folder(&self) -> bool {
        self.folder().is_some()
    }

    /// Looks at this folder from now on.
    pub fn take_folder(&self, folder: PathBuf) {
        *self.folder.write().unwrap_or_else(PoisonError::into_inner) = Some(folder);
    }

    /// The folder, if there is one.
    pub fn folder(&self) -> Option<PathBuf> {
        self.folder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The skills that serve now.
    pub fn table(&self) -> Arc<SkillTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Saved values and versions.
    pub fn storage(&self) -> &SkillStorage {
        &self.storage
    }

    /// The version of this hash, also one that no file has any more. Blocks when it is read again.
    pub fn version(&self, hash: &str) -> Option<Arc<Skill>> {
        let known = self.versions.lock().unwrap_or_else(PoisonError::into_inner).get(hash).cloned();
        if known.is_some() {
            return known;
        }
        let text = self.storage.read_version(hash)?;
        let source = SkillSource::read(&text, "an earlier version").ok()?;
        let skill = Arc::new(Skill::load_with(source, self.limits, &*self.runtime).ok()?);
        if skill.source().hash != hash {
            return None;
        }
        self.remember(&skill);
        Some(skill)
    }

    fn remember(&self, skill: &Arc<Skill>) {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.len() >= MAX_LOADED_VERSIONS {
            // Those that serve are in the table, and the others can be read again.
            versions.clear();
        }
        versions.insert(skill.source().hash.clone(), Arc::clone(skill));
    }

    /// Reads what changed in the folder; whether the table changed. Blocks, and runs the tests of changed skills.
    pub fn refresh(&self) -> bool {
        let Some(folder) = self.folder() else { return false };
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.table();
        let mut after = BTreeMap::new();
        let mut is_changed = false;
        for (path, stamp) in org_files(&folder) {
            let kept = files.get(&path).filter(|file| file.stamp == stamp);
            // What waits to be enabled may be in order now, and what was may no longer be.
            let kept = kept.filter(|file| file.enabled == self.enabled_of(&file.result));
            let read = kept.cloned();
            is_changed |= read.is_none();
            let read = read.unwrap_or_else(|| {
                let result = self.read(&path);
                ReadFile { stamp, enabled: self.enabled_of(&result), result }
            });
            after.insert(path, read);
        }
        is_changed |= after.len() != files.len();
        if !is_changed {
            return false;
        }
        let table = self.assemble(&after, &before);
        *files = after;
        drop(files);
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        true
    }

    /// Whether what it asks for is still enabled.
    fn is_enabled(&self, skill: &Skill) -> bool {
        let manifest = skill.manifest();
        let enabled = self.storage.enabled(&manifest.id);
        let enabled = enabled.map(Option::unwrap_or_default);
        enabled.is_ok_and(|set| manifest.capabilities.wider_than(&set).is_empty())
    }

    /// Capabilities that the owner has enabled for the skill of a file.
    fn enabled_of(&self, result: &Result<Arc<Skill>, SkillProblem>) -> Option<CapabilitySet> {
        let id = match result {
            Ok(skill) => &skill.manifest().id,
            Err(problem) => problem.skill.as_ref()?,
        };
        self.storage.enabled(id).ok().flatten()
    }

    /// A file as a skill that is in order: loaded, tested, and asking for no more than was enabled.
    fn read(&self, path: &Path) -> Result<Arc<Skill>, SkillProblem> {
        let file = path.display().to_string();
        let problem = |skill: Option<SkillId>, reason: String| SkillProblem {
            file: file.clone(),
            skill,
            reason,
            serves_old: false,
        };
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| problem(None, format!("{file}: {error}")))?;
        let fault = |fault: &SkillFault| fault.to_string();
        let source = SkillSource::read(&text, &file).map_err(|it| problem(None, fault(&it)))?;
        let id = source.manifest.id.clone();
        let wrong = |reason: String| problem(Some(id.clone()), reason);
        let asked = &source.manifest.capabilities;
        let enabled = self.storage.enabled(&id).map_err(|error| wrong(error.to_string()))?;
        let wider = asked.wider_than(&enabled.unwrap_or_default());
        if !wider.is_empty() {
            let list: Vec<String> = wider.iter().map(ToString::to_string).collect();
            let (list, advice) = (list.join(", "), format!("bridle skill enable {file}"));
            return Err(wrong(format!("{WIDER}{list}; to allow that: {advice}")));
        }
        let skill = Skill::load_with(source, self.limits, &*self.runtime);
        let skill = skill.map_err(|it| wrong(fault(&it)))?;
        let skill = Arc::new(skill);
        let failed = test_skill(&skill).into_iter().find_map(|test| {
            let reason = test.failure?;
            Some(format!("{file}:{}: test `{}`: {reason}", test.line, test.name))
        });
        if let Some(reason) = failed {
            return Err(wrong(reason));
        }
        let kept = self.storage.keep_version(&skill.source().hash, &text);
        kept.map_err(|error| wrong(error.to_string()))?;
        Ok(skill)
    }

    fn assemble(&self, files: &BTreeMap<PathBuf, ReadFile>, before: &SkillTable) -> SkillTable {
        let mut table = SkillTable::default();
        for (path, file) in files {
            match &file.result {
                Ok(skill) => {
                    let id = skill.manifest().id.clone();
                    if let Some(other) = table.skills.get(&id) {
                        let reason = format!("`{id}` is also the name of {}", other.file.display());
                        table.problems.push(SkillProblem {
                            file: path.display().to_string(),
                            skill: Some(id),
                            reason,
                            serves_old: false,
                        });
                        continue;
                    }
                    self.remember(skill);
                    let entry = SkillEntry { skill: Arc::clone(skill), file: path.clone() };
                    table.skills.insert(id, entry);
                }
                Err(problem) => {
                    // The version that serves stays, as long as its file is there.
                    let old = before.skills.values().find(|entry| entry.file == *path);
                    let old = old.filter(|entry| self.is_enabled(&entry.skill));
                    let serves_old = old.is_some();
                    if let Some(old) = old {
                        let id = old.skill.manifest().id.clone();
                        table.skills.entry(id).or_insert_with(|| old.clone());
                    }
                    table.problems.push(SkillProblem { serves_old, ..problem.clone() });
                }
            }
        }
        table.leave_out_dependents();
        table.sort();
        table
    }
}

impl SkillTable {
    /// A table of one skill.
    pub(crate) fn of_one(skill: &Arc<Skill>) -> Self {
        let mut table = Self::default();
        let entry = SkillEntry { skill: Arc::clone(skill), file: PathBuf::new() };
        table.skills.insert(skill.manifest().id.clone(), entry);
        table.sort();
        table
    }

    /// Copy of the table with this skill in the place of that of its name.
    pub(crate) fn with(&self, skill: &Arc<Skill>) -> Self {
        let mut table = Self { skills: self.skills.clone(), ..Self::default() };
        let entry = SkillEntry { skill: Arc::clone(skill), file: PathBuf::new() };
        table.skills.insert(skill.manifest().id.clone(), entry);
        table.sort();
        table
    }

    /// Leaves out skills that depend on what is not there.
    fn leave_out_dependents(&mut self) {
        let needs = self.skills.iter();
        let needs = needs.map(|(id, it)| (id.clone(), it.skill.manifest().depends_on.clone()));
        let (_, faults) = dependency_order(&needs.collect());
        for (id, fault) in faults {
            let Some(entry) = self.skills.remove(&id) else { continue };
            self.problems.push(SkillProblem {
                file: entry.file.display().to_string(),
                skill: Some(id),
                reason: fault.to_string(),
                serves_old: false,
            });
        }
    }

    fn sort(&mut self) {
        let mut order: Vec<(i64, SkillId)> = self
            .skills
            .iter()
            .map(|(id, entry)| (-entry.skill.manifest().priority, id.clone()))
            .collect();
        order.sort();
        self.order = order.into_iter().map(|(_, id)| id).collect();
    }
}

/// Beginning of the reason of a skill that waits to be enabled.
const WIDER: &str = "asks for more than was enabled: ";

/// Versions that are kept loaded beside those that serve.
const MAX_LOADED_VERSIONS: usize = 2_000;

/// Org files of a folder with their stamps, by name. Links, hidden files and what is too large are left out.
fn org_files(folder: &Path) -> BTreeMap<PathBuf, FileStamp> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    let stamped = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_str()?;
        let facts = fs::symlink_metadata(&path).ok()?;
        let is_skill = name.ends_with(".org") && !name.starts_with(['.', '#']) && facts.is_file();
        let stamp = FileStamp { changed: facts.modified().ok(), bytes: facts.len() };
        (is_skill && facts.len() <= MAX_SKILL_BYTES as u64).then_some((path, stamp))
    });
    stamped.take(MAX_SKILL_FILES).collect()
}
