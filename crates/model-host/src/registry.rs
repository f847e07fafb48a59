//! Providers in force: what `models.org` in the folder of the memory says, read again when it changes.
//!
//! The daemon looks at the file again and again; thoughts ask for the set and keep theirs to the end. A provider with
//! a fault stays as it was.

use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bridle_models::{
    ModelTier, Provider, ProviderModel, ProviderProblem, ProviderSet, read_providers,
};

/// Name of the file of providers, in the folder of the memory.
pub const MODELS_FILE: &str = "models.org";

/// Bytes of the file that are read: one more than the reader takes, so that it says so.
const MAX_READ_BYTES: u64 = (1 << 20) + 1;

/// Flag of `open` that does not wait for the writer of a pipe.
const O_NONBLOCK: i32 = 0o4000;

/// Model, and the provider that serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSeat {
    /// Provider.
    pub provider: Provider,
    /// Model of it.
    pub model: ProviderModel,
}

impl ModelSeat {
    /// Name as the user writes it: `PROVIDER/MODEL`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name, self.model.name)
    }
}

/// Providers of a home.
#[derive(Debug, Default)]
pub struct ProviderRegistry(RwLock<RegistryState>);

#[derive(Debug, Default)]
struct RegistryState {
    file: Option<PathBuf>,
    /// The file as it was read last.
    stamp: Option<FileStamp>,
    set: Arc<ProviderSet>,
    problems: Arc<[ProviderProblem]>,
}

/// Facts that change when a file is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl ProviderRegistry {
    /// A registry of the file in this folder; without a folder there are no providers. Reads nothing yet.
    pub fn new(folder: Option<&Path>) -> Self {
        let registry = Self::default();
        if let Some(folder) = folder {
            registry.open_folder(folder);
        }
        registry
    }

    /// A registry of these providers, and of no file.
    pub fn of_set(set: ProviderSet) -> Self {
        Self(RwLock::new(RegistryState { set: Arc::new(set), ..RegistryState::default() }))
    }

    /// Names the folder of the memory: it may be chosen while the daemon runs.
    pub fn open_folder(&self, folder: &Path) {
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        (state.file, state.stamp) = (Some(folder.join(MODELS_FILE)), None);
    }

    /// Looks at the file, and takes over what changed; tells whether something did. Blocks.
    pub fn refresh(&self) -> bool {
        let (file, known) = {
            let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
            (state.file.clone(), state.stamp)
        };
        let Some(file) = file else { return false };
        let (text, stamp) = match read_file(&file, known) {
            Ok(None) => return false,
            Ok(Some((text, stamp))) => (text, Some(stamp)),
            // Without the file there is no provider.
            Err(_) if known.is_none() => return false,
            Err(_) => (String::new(), None),
        };
        let parsed = read_providers(&text);
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        state.set = Arc::new(parsed.over(&state.set));
        (state.problems, state.stamp) = (parsed.problems.into(), stamp);
        true
    }

    /// Providers in force.
    pub fn current(&self) -> Arc<ProviderSet> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).set)
    }

    /// Faults of the file as it is.
    pub fn problems(&self) -> Arc<[ProviderProblem]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).problems)
    }

    /// Whether a model can be asked.
    pub fn has_model(&self) -> bool {
        self.current().providers.iter().any(|provider| !provider.models.is_empty())
    }

    /// Models of a tier in the order of the file. Where the tier has none, those of the next that has: the usual
    /// work stands in for the others, and any model for the usual work.
    pub fn cascade(&self, tier: ModelTier) -> Vec<ModelSeat> {
        let set = self.current();
        let of_tier = |tier| seats(&set, |model| model.tiers.contains(&tier));
        let order = match tier {
            ModelTier::Reflex => [ModelTier::Reflex, ModelTier::Cognition, ModelTier::Reasoning],
            ModelTier::Cognition => [ModelTier::Cognition, ModelTier::Reasoning, ModelTier::Reflex],
            ModelTier::Reasoning => [ModelTier::Reasoning, ModelTier::Cognition, ModelTier::Reflex],
        };
        let found = order.into_iter().map(of_tier).find(|found| !found.is_empty());
        found.unwrap_or_else(|| seats(&set, |_| true))
    }

    /// The model of this name: `PROVIDER/MODEL`, or `MODEL` where only one provider has it.
    pub fn named(&self, name: &str) -> Option<ModelSeat> {
        let set = self.current();
        let (provider, model) = set.model(name)?;
        Some(ModelSeat { provider: provider.clone(), model: model.clone() })
    }
}

fn seats(set: &ProviderSet, fits: impl Fn(&ProviderModel) -> bool) -> Vec<ModelSeat> {
    let all = set.providers.iter().flat_map(|provider| {
        provider.models.iter().map(move |model| (provider.clone(), model.clone()))
    });
    let fitting = all.filter(|(_, model)| fits(model));
    fitting.map(|(provider, model)| ModelSeat { provider, model }).collect()
}

/// The text of a file and its stamp; `None` if it is as it was.
fn read_file(
    path: &Path,
    known: Option<FileStamp>,
) -> std::io::Result<Option<(String, FileStamp)>> {
    let file = std::fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(std::io::Error::other("no plain file"));
    }
    let changed = (facts.ctime(), facts.ctime_nsec());
    let stamp = FileStamp { inode: facts.ino(), size: facts.size(), changed };
    if known == Some(stamp) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), stamp)))
}

#[cfg(test)]
mod tests;
