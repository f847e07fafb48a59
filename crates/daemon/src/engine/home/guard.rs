//! The policies that hold now: read, checked, recorded, installed.
//!
//! Asked by the hub who may do what to a session, and by every batch which policies its session is
//! to be judged by. A file that cannot be used changes nothing: the policies of before stay, at
//! the start the built-in ones, and the record, the log and the health check say so. What the
//! policies say to a proposal is decided by the loop.

use bridle_history::policy_sets::PolicySetCache;
use bridle_loop::{
    DEFAULT_POLICY, GuardPolicies, InstalledPolicies, PolicyBody, PolicyHash, PolicyRefusedBody,
    RecordKind,
};
use bridle_model_host::{INSTRUCTIONS_FILE, MODELS_FILE};
use bridle_record::NewRecord;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::access::policy_file;
use crate::access::policy_load::{self, LoadMarker};
use crate::config::{DaemonConfig, PolicyChoice};
use crate::engine::home::engine_files::SKILL_FOLDER;

/// The policies of one daemon.
pub(crate) struct PolicyGuard {
    choice: PolicyChoice,
    /// State folder, where the record is.
    state: PathBuf,
    marker: LoadMarker,
    /// Paths that nothing may be written to.
    protected: Vec<Box<str>>,
    present: RwLock<Arc<GuardState>>,
    /// Whether the record has the text of the present ones.
    recorded: AtomicBool,
    pub(in crate::engine) sets: Arc<PolicySetCache>,
    /// Held while policies are installed: one at a time.
    pub(in crate::engine) installing: tokio::sync::Mutex<()>,
}

/// Policies that hold.
#[derive(Debug)]
pub(crate) struct GuardState {
    /// Policies that sessions are judged by.
    pub(crate) installed: InstalledPolicies,
    text: Arc<str>,
    /// Reason why the file is not used as it is.
    pub(crate) fault: Option<Box<str>>,
}

/// A set and the text it was read from.
#[derive(Debug)]
pub(in crate::engine) struct PolicyCandidate {
    set: Arc<GuardPolicies>,
    text: Arc<str>,
}

impl PolicyGuard {
    /// Reads the policies for the first time. Never fails: without a good file the built-in ones
    /// hold. Asks whether a text was installed before, by the same engine: such a text ends no loader.
    pub(in crate::engine) fn start(
        config: &DaemonConfig,
        was_installed: impl Fn(PolicyHash) -> bool,
    ) -> PolicyGuard {
        let marker = LoadMarker::of_state(&config.state);
        let (candidate, fault) = match read(&config.policy, &marker, was_installed) {
            Ok(candidate) => (candidate, None),
            Err(reason) => (PolicyCandidate::built_in(), Some(reason)),
        };
        let protected = protected(config);
        let PolicyCandidate { set, text } = candidate;
        let installed = InstalledPolicies::new(Arc::clone(&set), protected.clone());
        let sets = PolicySetCache::default();
        sets.keep(&set);
        PolicyGuard {
            choice: config.policy.clone(),
            state: config.state.clone(),
            marker,
            protected,
            present: RwLock::new(Arc::new(GuardState { installed, text, fault })),
            recorded: AtomicBool::new(false),
            sets: Arc::new(sets),
            installing: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the policies that hold now.
    pub(crate) fn present(&self) -> Arc<GuardState> {
        Arc::clone(&self.present.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells whether the record has the text of what holds.
    pub(in crate::engine) fn is_recorded(&self) -> bool {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Notes that the record has it.
    pub(in crate::engine) fn set_recorded(&self) {
        self.recorded.store(true, Ordering::Relaxed);
    }

    /// Reads and checks the file again. Takes as long as its examples take.
    pub(in crate::engine) fn read(&self) -> Result<PolicyCandidate, Box<str>> {
        read(&self.choice, &self.marker, |_| false)
    }

    /// Lets a set hold that the record has.
    pub(in crate::engine) fn install(&self, candidate: PolicyCandidate) -> PolicyHash {
        let PolicyCandidate { set, text } = candidate;
        let installed = InstalledPolicies::new(Arc::clone(&set), self.protected.clone());
        self.sets.keep(&set);
        self.replace(GuardState { installed, text, fault: None });
        self.set_recorded();
        set.hash()
    }

    /// Notes that the file cannot be used; what held goes on to hold.
    pub(in crate::engine) fn refuse(&self, reason: &str) {
        let present = self.present();
        self.replace(GuardState {
            installed: present.installed.clone(),
            text: Arc::clone(&present.text),
            fault: Some(reason.into()),
        });
    }

    fn replace(&self, next: GuardState) {
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }

    /// The state folder, which has the record that grants are made from.
    pub(in crate::engine) fn state_folder(&self) -> &Path {
        &self.state
    }

    /// The file, for messages and for grants.
    pub(in crate::engine) fn file(&self) -> Option<&Path> {
        self.choice.file()
    }
}

impl PolicyCandidate {
    fn built_in() -> PolicyCandidate {
        PolicyCandidate { set: GuardPolicies::built_in(), text: DEFAULT_POLICY.into() }
    }

    /// Its hash.
    pub(in crate::engine) fn hash(&self) -> PolicyHash {
        self.set.hash()
    }

    /// The record of it.
    pub(in crate::engine) fn draft(&self, at: i64, principal: &str) -> NewRecord {
        draft(self.set.hash(), &self.text, at, principal)
    }
}

impl GuardState {
    /// The record of it.
    pub(in crate::engine) fn draft(&self, at: i64, principal: &str) -> NewRecord {
        draft(self.installed.hash(), &self.text, at, principal)
    }
}

fn draft(hash: PolicyHash, text: &str, at: i64, principal: &str) -> NewRecord {
    let body = PolicyBody::write(hash, text);
    NewRecord::new("", RecordKind::Policy.word(), at, principal, body)
}

/// The record of policies that were not installed.
pub(in crate::engine) fn refusal(
    file: Option<&Path>,
    reason: &str,
    at: i64,
    principal: &str,
) -> NewRecord {
    let file = file.map(|file| file.display().to_string());
    let body = PolicyRefusedBody::write(file.as_deref(), reason);
    NewRecord::new("", RecordKind::PolicyRefused.word(), at, principal, body)
}

/// Reads a set and runs its examples; says what is wrong, with the lines of the file.
fn read(
    choice: &PolicyChoice,
    marker: &LoadMarker,
    was_installed: impl Fn(PolicyHash) -> bool,
) -> Result<PolicyCandidate, Box<str>> {
    let Some(file) = choice.file() else { return Ok(PolicyCandidate::built_in()) };
    let text = match policy_file::read(file) {
        Ok(text) => text,
        Err(policy_file::PolicyFileError::Missing)
            if matches!(choice, PolicyChoice::IfThere(_)) =>
        {
            return Ok(PolicyCandidate::built_in());
        }
        Err(error) => {
            let why = error.source().map(|source| format!(": {source}")).unwrap_or_default();
            return Err(format!("`{}` is not used: {error}{why}", file.display()).into());
        }
    };
    let hash = PolicyHash::of(&text);
    if marker.is_left_for(hash) && !was_installed(hash) {
        return Err(policy_load::quarantine_reason(file).into());
    }
    match marker.around(hash, || policy_load::load(&text)) {
        Ok(set) => Ok(PolicyCandidate { set: Arc::new(set), text: text.into() }),
        Err(bad) => Err(format!("`{}`: {bad}", file.display()).into()),
    }
}

/// Files and folders of the memory that are bridle's own: skills, providers, instructions.
pub(in crate::engine) fn own_files(config: &DaemonConfig) -> Vec<PathBuf> {
    let own = [SKILL_FOLDER, MODELS_FILE, INSTRUCTIONS_FILE];
    config.memex.iter().flat_map(|memex| own.map(|name| memex.join(name))).collect()
}

/// Returns the paths that nothing may be written to: as they are named, and as the system knows them.
pub(in crate::engine) fn protected(config: &DaemonConfig) -> Vec<Box<str>> {
    let named = config.protected.iter().map(PathBuf::as_path);
    let named = named.chain(config.policy.file()).chain([config.state.as_path()]);
    let own = own_files(config);
    let named = named.chain(own.iter().map(PathBuf::as_path));
    let mut all: Vec<Box<str>> = Vec::new();
    for path in named {
        let ways = [std::path::absolute(path).ok(), path.canonicalize().ok()];
        all.extend(ways.into_iter().flatten().map(|path| path.to_string_lossy().into()));
    }
    all.sort_unstable();
    all.dedup();
    all
}
