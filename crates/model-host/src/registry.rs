//! Providers in force: what `models.org` in the folder of the memory says, read again when it changes, with the settings
//! that the owner approved.
//!
//! The daemon looks at the file again and again; thoughts ask for the set and keep theirs to the end. A provider with
//! a fault stays as it was; one whose address, key or the like changed keeps the approved ones until a yes.

mod approvals;
mod review;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bridle_models::{
    ModelTier, ParsedProviders, Provider, ProviderModel, ProviderProblem, ProviderSet,
    read_providers,
};

pub use approvals::{ApprovalError, ApprovedByName, ProviderApprovals};
pub use review::{ProviderReview, WaitingProvider};

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

/// Model that a person may name, in words for any face.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    /// Name as the user writes it: `PROVIDER/MODEL`.
    pub name: String,
    /// Uses, as keywords without the colon.
    pub tiers: Vec<&'static str>,
    /// Reach of its provider, `local` or `remote`.
    pub privacy: &'static str,
    /// Tokens of prompt and answer together.
    pub context_tokens: Option<u32>,
    /// Whether it takes images.
    pub takes_images: bool,
}

/// Providers of a home.
#[derive(Debug, Default)]
pub struct ProviderRegistry {
    /// Place of the owner's yes; `None` for a registry of no file.
    approvals: Option<ProviderApprovals>,
    state: RwLock<RegistryState>,
}

#[derive(Debug, Default)]
struct RegistryState {
    file: Option<PathBuf>,
    /// File and approvals as they were read last.
    stamps: Option<RegistryStamps>,
    set: Arc<ProviderSet>,
    problems: Arc<[ProviderProblem]>,
    waiting: Arc<[WaitingProvider]>,
    /// Lines of the log that were written about the file as it is.
    told: BTreeSet<String>,
}

/// Facts that change when a file is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RegistryStamps {
    file: FileStamp,
    approvals: Option<FileStamp>,
}

impl FileStamp {
    fn of(facts: &std::fs::Metadata) -> Self {
        let changed = (facts.ctime(), facts.ctime_nsec());
        Self { inode: facts.ino(), size: facts.size(), changed }
    }
}

impl ProviderRegistry {
    /// A registry of the file in this folder; without a folder there are no providers. Reads nothing yet.
    pub fn new(folder: Option<&Path>, approvals: ProviderApprovals) -> Self {
        let registry = Self { approvals: Some(approvals), state: RwLock::default() };
        if let Some(folder) = folder {
            registry.open_folder(folder);
        }
        registry
    }

    /// A registry of these providers, and of no file.
    pub fn of_set(set: ProviderSet) -> Self {
        let state = RegistryState { set: Arc::new(set), ..RegistryState::default() };
        Self { approvals: None, state: RwLock::new(state) }
    }

    /// Names the folder of the memory: it may be chosen while the daemon runs.
    pub fn open_folder(&self, folder: &Path) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        (state.file, state.stamps) = (Some(folder.join(MODELS_FILE)), None);
    }

    /// Looks at the file and the approvals, and takes over what changed; tells whether something did. Blocks.
    pub fn refresh(&self) -> bool {
        let (file, known, before) = {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            (state.file.clone(), state.stamps, Arc::clone(&state.set))
        };
        let Some((file, approvals)) = file.zip(self.approvals.as_ref()) else { return false };
        let approved_stamp = approvals.stamp();
        let same_approvals = known.filter(|known| known.approvals == approved_stamp);
        let (text, stamp) = match read_file(&file, same_approvals.map(|known| known.file)) {
            Ok(None) => return false,
            Ok(Some((text, stamp))) => (text, Some(stamp)),
            // Without the file there is no provider.
            Err(_) if known.is_none() => return false,
            Err(_) => (String::new(), None),
        };
        let approved = match approvals.read() {
            Ok(approved) => approved,
            Err(error) => {
                // Who cannot tell what was approved changes nothing.
                self.tell(BTreeSet::from([format!("{}", ErrorChain(&error))]));
                return false;
            }
        };
        let parsed = read_providers(&text);
        let before = first_or(before, &parsed, approvals);
        let is_good = parsed.problems.is_empty();
        let review = ProviderReview::of(parsed, &before, &approved);
        for provider in &review.harmless {
            warn_of(approvals.approve_new(provider));
        }
        if is_good && stamp.is_some() && approvals.last_good().as_deref() != Some(&text) {
            warn_of(approvals.keep_good(&text));
        }
        self.tell(log_lines(&review));
        let stamps = stamp.map(|file| RegistryStamps { file, approvals: approved_stamp });
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.set = Arc::new(review.in_force);
        (state.problems, state.waiting) = (review.problems.into(), review.waiting.into());
        state.stamps = stamps;
        true
    }

    /// Logs what was not said yet.
    fn tell(&self, lines: BTreeSet<String>) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        for line in lines.difference(&state.told) {
            tracing::warn!(what = %line, "a provider is not in force as it is saved");
        }
        state.told = lines;
    }

    /// Providers in force.
    pub fn current(&self) -> Arc<ProviderSet> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).set)
    }

    /// Faults of the file as it is.
    pub fn problems(&self) -> Arc<[ProviderProblem]> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).problems)
    }

    /// Providers whose settings wait for the owner's yes.
    pub fn waiting(&self) -> Arc<[WaitingProvider]> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).waiting)
    }

    /// Whether a model can be asked.
    pub fn has_model(&self) -> bool {
        self.current().providers.iter().any(|provider| !provider.models.is_empty())
    }

    /// All models in force, in the order of the file.
    pub fn offered(&self) -> Vec<OfferedModel> {
        let offer = |seat: &ModelSeat| OfferedModel {
            name: seat.name(),
            tiers: seat.model.tiers.iter().map(|tier| tier.as_str()).collect(),
            privacy: seat.provider.privacy.as_str(),
            context_tokens: seat.model.context_tokens,
            takes_images: seat.model.takes_images,
        };
        seats(&self.current(), |_| true).iter().map(offer).collect()
    }

    /// Models that a name stands for: that model, or the first one of that provider; without a name the first one of
    /// every provider.
    pub fn seats_named(&self, name: Option<&str>) -> Vec<ModelSeat> {
        let set = self.current();
        let first = |provider: &Provider| {
            let model = provider.models.first()?.clone();
            Some(ModelSeat { provider: provider.clone(), model })
        };
        match name {
            None => set.providers.iter().filter_map(first).collect(),
            Some(name) => {
                let of_provider = set.provider(name).and_then(first);
                of_provider.or_else(|| self.named(name)).into_iter().collect()
            }
        }
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

/// Compares `models.org` in a folder with the approvals, as a daemon would take it over; changes nothing.
///
/// # Errors
/// The file or the approvals cannot be read. A file that is not there has no providers.
pub fn review_folder(
    folder: &Path,
    approvals: &ProviderApprovals,
) -> Result<ProviderReview, ApprovalError> {
    let path = folder.join(MODELS_FILE);
    let text = match read_file(&path, None) {
        Ok(read) => read.map(|(text, _)| text).unwrap_or_default(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(ApprovalError::File { path, source }),
    };
    let parsed = read_providers(&text);
    let before = first_or(Arc::default(), &parsed, approvals);
    Ok(ProviderReview::of(parsed, &before, &approvals.read()?))
}

/// Providers that those with a fault stay at: the set in force, or the last file without a fault after a start.
fn first_or(
    before: Arc<ProviderSet>,
    parsed: &ParsedProviders,
    approvals: &ProviderApprovals,
) -> Arc<ProviderSet> {
    if !before.providers.is_empty() || parsed.problems.is_empty() {
        return before;
    }
    let last = approvals.last_good().map(|text| read_providers(&text).providers);
    Arc::new(ProviderSet { providers: last.unwrap_or_default() })
}

fn log_lines(review: &ProviderReview) -> BTreeSet<String> {
    let faults = review.problems.iter().map(|fault| format!("{MODELS_FILE}, {fault}"));
    let waiting = review.waiting.iter().map(|waiting| {
        let fields: Vec<&str> = waiting.changes.iter().map(|it| it.field.as_str()).collect();
        let (name, fields) = (&waiting.saved.name, fields.join(", "));
        format!("`{name}`: {fields} wait for approval: bridle model approve {name}")
    });
    faults.chain(waiting).collect()
}

fn warn_of(done: Result<(), ApprovalError>) {
    if let Err(error) = done {
        tracing::warn!(error = %ErrorChain(&error), "the state of providers cannot be kept");
    }
}

/// Error with its causes.
struct ErrorChain<'e>(&'e dyn std::error::Error);

impl std::fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        self.0.source().map_or(Ok(()), |source| write!(f, ": {source}"))
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
    let stamp = FileStamp::of(&facts);
    if known == Some(stamp) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), stamp)))
}

#[cfg(test)]
mod tests;
