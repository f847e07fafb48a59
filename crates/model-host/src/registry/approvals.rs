//! Yes of the owner to settings of providers, in the state directory: one line a provider, in a file of the user alone.
//! A file that cannot be trusted approves nothing. Written by the commands of the owner, and by the daemon for
//! providers that need no yes when they first appear.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bridle_models::{ApprovedSettings, Provider, ProviderField};
use bridle_sexp::{Value, read_one};

use super::FileStamp;

/// Name of the file in the state directory, and of what is renamed to it.
const APPROVALS_FILE: &str = "providers.approved";
const NEW_FILE: &str = "providers.approved.new";

/// Name of the file whose lock whoever changes the other one has.
const LOCK_FILE: &str = "providers.lock";

/// Name of the copy of the last file of providers without a fault.
const LAST_GOOD_FILE: &str = "providers.last";

/// Bytes of the file that are read: 64 providers with all of their hosts fit.
const MAX_APPROVALS_BYTES: u64 = 1 << 20;

/// Bits of a mode that let others read or write.
const OTHERS_MODE_BITS: u32 = 0o077;

/// Reason why approvals cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The file cannot be read or written.
    #[error("cannot use `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file can be read or written by others, or is another user's.
    #[error("`{}` is open to others or not yours: remove it, then `bridle model approve` asks again", .0.display())]
    Exposed(PathBuf),
    /// The file is not what was written.
    #[error("`{}` is damaged: remove it, then `bridle model approve` asks again", .0.display())]
    Damaged(PathBuf),
}

/// Approved settings by the name of the provider.
pub type ApprovedByName = BTreeMap<String, ApprovedSettings>;

/// Place of the approvals.
#[derive(Clone, Debug)]
pub struct ProviderApprovals {
    folder: PathBuf,
}

impl ProviderApprovals {
    /// Takes the state directory; nothing is read or made yet.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.to_owned() }
    }

    /// Reads all of them.
    ///
    /// # Errors
    /// The file cannot be trusted; nothing in it counts then.
    pub fn read(&self) -> Result<ApprovedByName, ApprovalError> {
        let path = self.path(APPROVALS_FILE);
        let Some(text) = read_private(&path)? else { return Ok(BTreeMap::new()) };
        let lines = text.lines().map(entry);
        let all: Option<ApprovedByName> = lines.collect();
        all.ok_or(ApprovalError::Damaged(path))
    }

    /// Keeps a yes to the settings of this provider, as it is.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn approve(&self, provider: &Provider) -> Result<(), ApprovalError> {
        self.change(|all| {
            all.insert(provider.name.clone(), line_of(provider));
        })
    }

    /// Keeps the settings of a provider unless there are any of that name.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(super) fn approve_new(&self, provider: &Provider) -> Result<(), ApprovalError> {
        self.change(|all| {
            all.entry(provider.name.clone()).or_insert_with(|| line_of(provider));
        })
    }

    /// Forgets the provider of this name.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn forget(&self, name: &str) -> Result<(), ApprovalError> {
        self.change(|all| {
            all.remove(name);
        })
    }

    /// Text of the last file of providers without a fault, if it is there and can be trusted.
    pub(super) fn last_good(&self) -> Option<String> {
        read_private(&self.path(LAST_GOOD_FILE)).ok().flatten()
    }

    /// Keeps the text of a file without a fault.
    pub(super) fn keep_good(&self, text: &str) -> Result<(), ApprovalError> {
        let _lock = self.lock()?;
        self.write(LAST_GOOD_FILE, text)
    }

    /// Facts that change when the approvals do.
    pub(super) fn stamp(&self) -> Option<FileStamp> {
        std::fs::symlink_metadata(self.path(APPROVALS_FILE)).ok().map(|facts| FileStamp::of(&facts))
    }

    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, String>),
    ) -> Result<(), ApprovalError> {
        let path = self.path(APPROVALS_FILE);
        let _lock = self.lock()?;
        let before = read_private(&path)?.unwrap_or_default();
        let mut lines = BTreeMap::new();
        for line in before.lines() {
            let (name, _) = entry(line).ok_or_else(|| ApprovalError::Damaged(path.clone()))?;
            lines.insert(name, format!("{line}\n"));
        }
        change(&mut lines);
        let after: String = lines.into_values().collect();
        if after == before { Ok(()) } else { self.write(APPROVALS_FILE, &after) }
    }

    /// Waits until nobody else changes a file; released when it is closed.
    fn lock(&self) -> Result<File, ApprovalError> {
        let path = self.path(LOCK_FILE);
        let locked = || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let mut options = OpenOptions::new();
            let options = options.write(true).create(true).truncate(false).mode(0o600);
            let file = options.custom_flags(no_follow()).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        locked().map_err(|source| ApprovalError::File { path: path.clone(), source })
    }

    /// Writes a file beside and then in its place: whatever happens, one of the two is whole.
    fn write(&self, name: &str, text: &str) -> Result<(), ApprovalError> {
        let (path, beside) = (self.path(name), self.path(NEW_FILE));
        let written = || {
            match std::fs::remove_file(&beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, &path)?;
            File::open(&self.folder)?.sync_all()
        };
        written().map_err(|source| ApprovalError::File { path: path.clone(), source })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Text of a file that is this user's alone; `None` if there is none.
fn read_private(path: &Path) -> Result<Option<String>, ApprovalError> {
    let failed = |source| ApprovalError::File { path: path.to_owned(), source };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(facts) if !facts.is_file() => return Err(ApprovalError::Exposed(path.to_owned())),
        Ok(_) => {}
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(no_follow()).open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    let is_own = facts.uid() == rustix::process::geteuid().as_raw();
    if !is_own || facts.mode() & OTHERS_MODE_BITS != 0 {
        return Err(ApprovalError::Exposed(path.to_owned()));
    }
    let mut text = String::new();
    let read = file.take(MAX_APPROVALS_BYTES + 1).read_to_string(&mut text);
    match read {
        Ok(count) if count as u64 <= MAX_APPROVALS_BYTES => Ok(Some(text)),
        Ok(_) => Err(ApprovalError::Damaged(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(ApprovalError::Damaged(path.to_owned()))
        }
        Err(error) => Err(failed(error)),
    }
}

fn no_follow() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    i32::try_from(flags.bits()).unwrap_or_default()
}

/// Key of a property in a line.
fn key(field: ProviderField) -> String {
    field.as_str().to_lowercase().replace('_', "-")
}

fn line_of(provider: &Provider) -> String {
    let mut pairs = vec![("provider".to_owned(), Value::str(&*provider.name))];
    let texts = provider.approval_texts();
    pairs.extend(texts.map(|(field, text)| (key(field), Value::str(text))));
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.clone()));
    format!("{}\n", Value::plist(pairs))
}

/// Name and settings of a line.
fn entry(line: &str) -> Option<(String, ApprovedSettings)> {
    let tree = read_one(line).ok()?;
    let value = tree.root().to_value();
    let name = value.get("provider")?.as_str()?.to_owned();
    let settings = ApprovedSettings::read(|field| value.get(&key(field))?.as_str())?;
    Some((name, settings))
}
