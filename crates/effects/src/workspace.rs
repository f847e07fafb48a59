//! Workspace of one owner: the jail, the projects of sessions, the stages of turns and the journal of commits.
//!
//! Opened once at the start: the jail is tried, commits without an end are finished or rolled back. Clones
//! are the same workspace.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridle_jail::{
    CommitJournal, HelperProgram, Jail, JailCapabilities, JailLayer, JailPromise, RecoveredCommit,
    RecoveryVerdict, Stage, StageOptions,
};
use bridle_loop::EffectFacts;

use crate::error::EffectError;
use crate::key_files::looks_like_key;
use crate::place;
use crate::projects::{ProjectTable, SessionProject};
use crate::turn_stages::TurnStages;

/// Everything that a workspace needs to know.
#[derive(Clone, Debug, Default)]
pub struct EffectsSetup {
    /// Program that builds the jail. `None`: nothing runs and nothing is staged.
    pub helper: Option<HelperProgram>,
    /// Folder for stages, journals and outputs; made when it is missing.
    pub folder: PathBuf,
    /// Project of sessions that were given none.
    pub project: Option<PathBuf>,
    /// Folders that programs may read beside those of the system, such as toolchains.
    pub read_roots: Vec<PathBuf>,
    /// Variables of every program, `NAME` and value.
    pub variables: Vec<(String, String)>,
    /// State, policies, settings, keys: nothing of it is read or written.
    pub protected: Vec<PathBuf>,
}

/// The jail, the projects, the stages and the commits of one owner.
#[derive(Clone, Debug)]
pub struct Workspace(Arc<WorkspaceParts>);

#[derive(Debug)]
struct WorkspaceParts {
    jail: Result<Jail, String>,
    setup: EffectsSetup,
    /// Protected paths, links followed.
    protected: Vec<PathBuf>,
    projects: ProjectTable,
    turns: TurnStages,
    journal: CommitJournal,
    recovered: Vec<RecoveredCommit>,
}

/// Most key-like files that are hidden from a run one by one; a project with more asks before each run.
const MAX_HIDDEN_KEYS: usize = 128;

impl Workspace {
    /// Opens a workspace: tries the jail, and brings commits that a crash broke off to their end.
    ///
    /// # Errors
    /// The folder cannot be used, or a journal cannot be read: somebody has to look.
    pub fn open(setup: EffectsSetup) -> Result<Self, EffectError> {
        make_private(&setup.folder)?;
        for name in ["outputs", "commits"] {
            make_private(&setup.folder.join(name))?;
        }
        let journal = CommitJournal::new(setup.folder.join("commits"));
        let recovered = journal.recover()?;
        let jail = match setup.helper.clone() {
            None => Err("this daemon was started without the helper of the jail".to_owned()),
            Some(helper) => Jail::new(helper, setup.folder.join("scratch"))
                .map_err(|error| EffectError::from(error).in_full()),
        };
        let turns = TurnStages::open(&setup.folder)?;
        let projects = ProjectTable::open(setup.folder.join("projects"), setup.project.as_deref())?;
        let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let protected = setup.protected.iter().map(real).collect();
        let parts = WorkspaceParts { jail, setup, protected, projects, turns, journal, recovered };
        Ok(Self(Arc::new(parts)))
    }

    /// The layer in force with its promises; the error says why no program runs.
    pub fn capabilities(&self) -> Result<&JailCapabilities, &str> {
        self.0.jail.as_ref().map(Jail::capabilities).map_err(String::as_str)
    }

    /// The layer in force; the error says why no program runs.
    pub(crate) fn layer(&self) -> Result<JailLayer, String> {
        let capabilities = self.capabilities()?;
        capabilities
            .layer
            .ok_or_else(|| format!("no program runs here: missing is {}", capabilities.missing()))
    }

    /// Whether the layer in force keeps a promise.
    pub(crate) fn keeps(&self, promise: JailPromise) -> bool {
        self.capabilities().is_ok_and(|all| all.state(promise).is_some_and(|state| state.held))
    }

    pub(crate) fn jail(&self) -> Result<&Jail, EffectError> {
        self.0.jail.as_ref().map_err(|reason| EffectError::refused(reason.clone()))
    }

    pub(crate) fn setup(&self) -> &EffectsSetup {
        &self.0.setup
    }

    pub(crate) fn journal(&self) -> &CommitJournal {
        &self.0.journal
    }

    pub(crate) fn turns(&self) -> &TurnStages {
        &self.0.turns
    }

    /// Commits that a crash had broken off, with the end they were given at the start.
    pub fn recovered(&self) -> &[RecoveredCommit] {
        &self.0.recovered
    }

    /// The end that a recovery gave to a commit.
    pub(crate) fn recovery_of(&self, commit: &str) -> Option<RecoveryVerdict> {
        let found = self.0.recovered.iter().find(|it| it.id.to_string() == commit);
        found.map(|it| it.verdict)
    }

    /// Folders that programs may read beside those of the system.
    pub fn read_roots(&self) -> &[PathBuf] {
        &self.0.setup.read_roots
    }

    /// Folder of a session's project.
    pub fn project_of(&self, session: &str) -> Option<PathBuf> {
        self.0.projects.of(session)
    }

    /// Gives a session the project around a folder: the git work tree, or the folder itself.
    ///
    /// # Errors
    /// There is no such folder, or it holds the state of the daemon.
    pub fn choose_project(
        &self,
        session: &str,
        folder: &Path,
    ) -> Result<SessionProject, EffectError> {
        let state = fs::canonicalize(&self.0.setup.folder)
            .map_err(EffectError::io("find", &self.0.setup.folder))?;
        self.0.projects.choose(session, folder, &[state])
    }

    /// Whether changes of a project are committed on a ref of git.
    pub fn has_steward(&self, project: &Path) -> bool {
        self.0.projects.has_steward(project)
    }

    /// Has changes of a project committed on a ref of git, or not.
    ///
    /// # Errors
    /// The choice cannot be kept.
    pub fn set_steward(&self, project: &Path, is_wanted: bool) -> Result<(), EffectError> {
        self.0.projects.set_steward(project, is_wanted)
    }

    /// Whether a path, links followed, is of bridle itself.
    pub(crate) fn is_protected(&self, path: &Path) -> bool {
        self.0.protected.iter().any(|folder| path.starts_with(folder))
    }

    /// Folder of outputs that were too long for their outcomes.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.0.setup.folder.join("outputs")
    }

    /// Whether a path is such an output.
    pub(crate) fn is_output(&self, path: &Path) -> bool {
        fs::canonicalize(self.outputs()).is_ok_and(|outputs| path.parent() == Some(&*outputs))
    }

    /// The stage of a turn, begun unless it has one.
    pub(crate) fn stage(
        &self,
        session: &str,
        turn: u64,
        project: &Path,
    ) -> Result<Stage, EffectError> {
        let jail = self.jail()?;
        let layer = self.layer().map_err(EffectError::refused)?;
        let mut hidden = self.0.protected.clone();
        if layer != JailLayer::Full {
            // A copy is all writable: what must not be seen is not copied.
            hidden.extend(key_files(project).0);
        }
        let options = || StageOptions {
            project: project.to_owned(),
            stages: self.turns().folder().to_owned(),
            layer,
            identity: jail.identity(),
            hidden,
        };
        let stage = self.turns().find_or_begin(session, turn, options)?;
        match stage.project() == project {
            true => Ok(stage),
            false => Err(EffectError::refused(format!(
                "this turn works in `{}`: end it first",
                stage.project().display()
            ))),
        }
    }

    /// Paths that a run must not see.
    pub(crate) fn hidden(&self, project: &Path, keys: bool) -> Vec<PathBuf> {
        let keys = if keys { Vec::new() } else { key_files(project).0 };
        self.0.protected.iter().cloned().chain(keys).collect()
    }

    /// Facts about one path, for the policies.
    pub(crate) fn facts_of(&self, session: &str, path: &Path) -> (EffectFacts, Option<PathBuf>) {
        let project = self.project_of(session);
        let real = place::real_path(path);
        let inside = match (&project, &real) {
            (Some(project), Some(real)) => real.starts_with(project),
            _ => false,
        };
        let facts = EffectFacts {
            project: text(project.as_deref()),
            inside,
            keys: real.as_deref().is_some_and(looks_like_key),
            paths: real.iter().map(|real| text(Some(real))).collect(),
            ..EffectFacts::default()
        };
        (facts, real)
    }
}

/// Text of a path for the policies; empty without one.
pub(crate) fn text(path: Option<&Path>) -> Box<str> {
    path.map(|path| path.to_string_lossy().into()).unwrap_or_default()
}

/// Files of a project that look like keys, and whether there are more than can be hidden.
pub(crate) fn key_files(project: &Path) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    // What a package manager unpacked and a build left are nobody's keys.
    let is_left_out = |name: &std::ffi::OsStr| {
        ["node_modules", "target", ".venv", "venv", "vendor", ".git"].iter().any(|it| name == *it)
    };
    let walk = ignore::WalkBuilder::new(project)
        .standard_filters(false)
        .max_depth(Some(MAX_KEY_DEPTH))
        .filter_entry(move |entry| !is_left_out(entry.file_name()))
        .build();
    for entry in walk.flatten().take(MAX_KEY_WALK) {
        let relative = entry.path().strip_prefix(project).unwrap_or(entry.path());
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if is_file && looks_like_key(relative) {
            if found.len() == MAX_HIDDEN_KEYS {
                return (found, true);
            }
            found.push(entry.into_path());
        }
    }
    (found, false)
}

/// Levels and entries of a project in which keys are looked for.
const MAX_KEY_DEPTH: usize = 32;
const MAX_KEY_WALK: usize = 200_000;

fn make_private(folder: &Path) -> Result<(), EffectError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(EffectError::io("make folder", folder))
}
