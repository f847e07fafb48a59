//! The sealed file as daemon and commands share it: read again when it changed, changed under a lock, and the
//! source of the redactor that masks its secrets everywhere. One a home; whoever sends a request asks it by name and
//! host at the last moment.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::proxy::HostRule;
use crate::redact::SecretRedactor;
use crate::sealed::{SealKey, SealedSecrets, SecretError, SecretValue};

/// Name of the sealed file in the state directory.
pub const SECRETS_FILE: &str = "secrets.sealed";

/// Name of the key file in the state directory, when no other is named.
pub const SECRETS_KEY_FILE: &str = "secrets.key";

/// Identity of one version of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileVersion {
    fn of(path: &Path) -> Option<FileVersion> {
        let meta = std::fs::metadata(path).ok()?;
        Some(FileVersion {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

/// Content of the file as last read.
struct LoadedSecrets {
    version: Option<FileVersion>,
    secrets: Result<SealedSecrets, SecretError>,
    /// Every secret since the start, also replaced and removed ones: output may still hold them.
    known: BTreeMap<Vec<u8>, String>,
    redactor: Arc<SecretRedactor>,
}

/// Secrets of one home. Shared by threads and, through the file, by processes.
pub struct SecretStore {
    path: PathBuf,
    key: SealKey,
    loaded: Mutex<Option<LoadedSecrets>>,
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SecretStore {
    /// Names the sealed file in the state directory and its key. Nothing is read before it is asked for.
    #[must_use]
    pub fn new(state: &Path, key: SealKey) -> SecretStore {
        SecretStore { path: state.join(SECRETS_FILE), key, loaded: Mutex::new(None) }
    }

    /// Path of the sealed file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a sealed file.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Returns a secret for the host and port that it is about to be sent to. Without a sealed file every name is
    /// unknown.
    ///
    /// # Errors
    ///
    /// An unknown name, a host that the secret is not for, and a file that cannot be opened.
    pub fn for_host(&self, name: &str, host: &str, port: u16) -> Result<SecretValue, SecretError> {
        self.with_secrets(|secrets| secrets.for_host(name, host, port).cloned())?
            .unwrap_or_else(|| Err(SecretError::Unknown(name.to_owned())))
    }

    /// Returns names and hosts, in the order of the names.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened.
    pub fn list(&self) -> Result<Vec<(String, Vec<HostRule>)>, SecretError> {
        let listed = self.with_secrets(|secrets| {
            secrets.list().map(|(name, hosts)| (name.to_owned(), hosts.to_vec())).collect()
        })?;
        Ok(listed.unwrap_or_default())
    }

    /// Returns the redactor for all secrets of the file, as it is now.
    #[must_use]
    pub fn redactor(&self) -> Arc<SecretRedactor> {
        let version = FileVersion::of(&self.path);
        let mut loaded = self.lock();
        if version.is_none() && loaded.is_none() {
            return Arc::default();
        }
        Arc::clone(&self.refresh(&mut loaded, version).redactor)
    }

    /// Keeps a secret under a name, for these hosts; returns whether it replaced one.
    ///
    /// # Errors
    ///
    /// As [`SealedSecrets::set`]; and a file that cannot be opened.
    pub fn set(
        &self,
        name: &str,
        value: SecretValue,
        hosts: Vec<HostRule>,
    ) -> Result<bool, SecretError> {
        let _lock = self.hold()?;
        let mut secrets = SealedSecrets::open(&self.path, &self.key)?;
        let is_there = secrets.list().any(|(known, _)| known == name);
        secrets.set(name, value, hosts)?;
        Ok(is_there)
    }

    /// Removes a secret.
    ///
    /// # Errors
    ///
    /// An unknown name, and a file that cannot be opened or written.
    pub fn remove(&self, name: &str) -> Result<(), SecretError> {
        let _lock = self.hold()?;
        if !self.exists() {
            return Err(SecretError::Unknown(name.to_owned()));
        }
        SealedSecrets::open(&self.path, &self.key)?.remove(name)
    }

    /// Calls back with the secrets as they are now; `None` without a file.
    fn with_secrets<T>(
        &self,
        read: impl FnOnce(&SealedSecrets) -> T,
    ) -> Result<Option<T>, SecretError> {
        let Some(version) = FileVersion::of(&self.path) else { return Ok(None) };
        let mut loaded = self.lock();
        match &self.refresh(&mut loaded, Some(version)).secrets {
            Ok(secrets) => Ok(Some(read(secrets))),
            // The fault was told; asking again reads again.
            Err(_) => {
                SealedSecrets::open(&self.path, &self.key).map(|secrets| Some(read(&secrets)))
            }
        }
    }

    fn refresh<'l>(
        &self,
        loaded: &'l mut Option<LoadedSecrets>,
        version: Option<FileVersion>,
    ) -> &'l LoadedSecrets {
        let is_stale = loaded.as_ref().is_none_or(|it| it.version != version);
        let kept = if is_stale { None } else { loaded.take() };
        let mut known = match (kept, loaded.take()) {
            (Some(current), _) => return loaded.insert(current),
            (None, old) => old.map(|old| old.known).unwrap_or_default(),
        };
        let secrets = match version {
            Some(_) => SealedSecrets::open(&self.path, &self.key),
            None => Err(SecretError::NotOpened),
        };
        if let Ok(secrets) = &secrets {
            known.extend(secrets.values().map(|(name, value)| (value.to_vec(), name.to_owned())));
        }
        let patterns = known.iter().map(|(value, name)| (name.as_str(), value.as_slice()));
        let redactor = Arc::new(SecretRedactor::new(patterns));
        loaded.insert(LoadedSecrets { version, secrets, known, redactor })
    }

    /// Waits for the lock of the file; released when it is closed.
    fn hold(&self) -> Result<std::fs::File, SecretError> {
        let path = self.path.with_extension("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let opened = options.open(&path).and_then(|file| file.lock().map(|()| file));
        opened.map_err(|source: io::Error| SecretError::Io { what: "lock", path, source })
    }

    fn lock(&self) -> MutexGuard<'_, Option<LoadedSecrets>> {
        // What a panicking reader left is whole: it is replaced in one step.
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
