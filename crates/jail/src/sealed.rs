//! Secrets under seal: one file, XChaCha20-Poly1305, opened by a key file or a passphrase. Each secret
//! names the hosts that it may be sent to; it is asked for by name and host, and never printed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize as _, Zeroizing};

use crate::proxy::HostRule;
use crate::redact::MIN_SECRET_BYTES;

/// First bytes of the file: name and version of its form.
const MAGIC: &[u8; 8] = b"bridle\0\x01";

const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;
const KEY_BYTES: usize = 32;

/// Memory in KiB and passes of argon2id: half a second and 64 MiB for a guess.
const ARGON_MEMORY_KIB: u32 = 64 << 10;
const ARGON_PASSES: u32 = 3;

/// Most bytes of the file, of one secret, of a name.
const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_SECRET_BYTES: usize = 64 << 10;
const MAX_NAME_BYTES: usize = 64;

/// Most secrets in the file.
const MAX_SECRETS: usize = 1000;

/// Fault of the sealed file.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Wrong key, wrong passphrase, or a file that was tampered with: they cannot be told apart.
    #[error("the secrets cannot be opened: wrong key or passphrase, or a damaged file")]
    NotOpened,
    /// Key file that others may read.
    #[error("key file `{path}` has mode {mode:o}, expected 600: chmod 600 it")]
    KeyExposed {
        /// File of the key.
        path: PathBuf,
        /// Mode that it has.
        mode: u32,
    },
    /// Name, secret or host that is not allowed.
    #[error("invalid secret: {0}")]
    Invalid(String),
    /// Secret that is not there.
    #[error("no secret `{0}`")]
    Unknown(String),
    /// Host that the secret may not be sent to.
    #[error("secret `{name}` is not for host `{host}`")]
    WrongHost {
        /// Name of the secret.
        name: String,
        /// Host that was asked for.
        host: String,
    },
    /// Failure of the file system.
    #[error("cannot {what} `{path}`")]
    Io {
        /// Verb of the step.
        what: &'static str,
        /// File.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SecretError {
    let path = path.to_owned();
    move |source| SecretError::Io { what, path, source }
}

/// Key of the seal.
pub enum SealKey {
    /// File of 32 bytes with mode 0600; made when a new seal needs it.
    File(PathBuf),
    /// Passphrase; argon2id makes a key of it.
    Passphrase(Zeroizing<String>),
}

/// Bytes of a secret; wiped when dropped, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Vec<u8>);

impl Drop for SecretValue {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl SecretValue {
    /// Wraps bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> SecretValue {
        SecretValue(bytes)
    }

    /// Shows the bytes to who sends them.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(..)")
    }
}

#[derive(Serialize, Deserialize)]
struct SecretRow {
    hosts: Vec<String>,
    /// Bytes in hex: a secret is no text.
    value: String,
}

impl Drop for SecretRow {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}

#[derive(Debug, Clone)]
struct SecretEntry {
    hosts: Vec<HostRule>,
    value: SecretValue,
}

/// Opened file of secrets.
pub struct SealedSecrets {
    path: PathBuf,
    key: Zeroizing<[u8; KEY_BYTES]>,
    salt: [u8; SALT_BYTES],
    entries: BTreeMap<String, SecretEntry>,
}

impl fmt::Debug for SealedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedSecrets").field("names", &self.entries.keys()).finish_non_exhaustive()
    }
}

impl SealedSecrets {
    /// Opens the file, or begins an empty one when there is none; nothing is written before a change.
    ///
    /// # Errors
    ///
    /// A key that does not open it, a key file that others may read, and files that cannot be read are
    /// refused.
    pub fn open(path: &Path, key: &SealKey) -> Result<SealedSecrets, SecretError> {
        let sealed = match File::open(path) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(io("read", path))?;
                Some(bytes)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(io("open", path)(error)),
        };
        let Some(sealed) = sealed else {
            let salt = random::<SALT_BYTES>()?;
            let key = derive(key, &salt, KeyFile::MayBeMade)?;
            return Ok(SealedSecrets {
                path: path.to_owned(),
                key,
                salt,
                entries: BTreeMap::new(),
            });
        };
        let header = MAGIC.len() + SALT_BYTES + NONCE_BYTES;
        if sealed.len() < header || sealed[..MAGIC.len()] != *MAGIC {
            return Err(SecretError::NotOpened);
        }
        let salt: [u8; SALT_BYTES] = sealed[MAGIC.len()..MAGIC.len() + SALT_BYTES]
            .try_into()
            .map_err(|_| SecretError::NotOpened)?;
        let key = derive(key, &salt, KeyFile::MustExist)?;
        let nonce: [u8; NONCE_BYTES] =
            sealed[header - NONCE_BYTES..header].try_into().map_err(|_| SecretError::NotOpened)?;
        let payload = Payload { msg: &sealed[header..], aad: &sealed[..MAGIC.len() + SALT_BYTES] };
        let plain = cipher(&key)
            .decrypt(&XNonce::from(nonce), payload)
            .map(Zeroizing::new)
            .map_err(|_| SecretError::NotOpened)?;
        let rows: BTreeMap<String, SecretRow> =
            serde_json::from_slice(&plain).map_err(|_| SecretError::NotOpened)?;
        let entries =
            rows.into_iter().map(entry).collect::<Option<_>>().ok_or(SecretError::NotOpened)?;
        Ok(SealedSecrets { path: path.to_owned(), key, salt, entries })
    }

    /// Names and hosts, without the secrets.
    pub fn list(&self) -> impl Iterator<Item = (&str, &[HostRule])> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry.hosts.as_slice()))
    }

    /// Keeps a secret under a name, for these hosts, and writes the file.
    ///
    /// # Errors
    ///
    /// A name that is no name, an empty or too large secret, no host, or a failing write is refused; the
    /// file then is as before.
    pub fn set(
        &mut self,
        name: &str,
        value: SecretValue,
        hosts: Vec<HostRule>,
    ) -> Result<(), SecretError> {
        let is_name = !name.is_empty()
            && name.len() <= MAX_NAME_BYTES
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_name {
            return Err(SecretError::Invalid(format!(
                "a name has 1 to {MAX_NAME_BYTES} of `a-z A-Z 0-9 - _ .`"
            )));
        }
        if !(MIN_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&value.0.len()) {
            return Err(SecretError::Invalid(format!(
                "a secret has {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes, got {}",
                value.0.len()
            )));
        }
        if !self.entries.contains_key(name) && self.entries.len() >= MAX_SECRETS {
            return Err(SecretError::Invalid(format!("there are {MAX_SECRETS} secrets already")));
        }
        if hosts.is_empty() {
            return Err(SecretError::Invalid(
                "name at least one host that it may be sent to".into(),
            ));
        }
        let old = self.entries.insert(name.to_owned(), SecretEntry { hosts, value });
        self.write().inspect_err(|_| match old {
            Some(old) => drop(self.entries.insert(name.to_owned(), old)),
            None => drop(self.entries.remove(name)),
        })
    }

    /// Removes a secret and writes the file.
    ///
    /// # Errors
    ///
    /// An unknown name and a failing write are errors.
    pub fn remove(&mut self, name: &str) -> Result<(), SecretError> {
        let old = self.entries.remove(name).ok_or_else(|| SecretError::Unknown(name.to_owned()))?;
        self.write().inspect_err(|_| drop(self.entries.insert(name.to_owned(), old)))
    }

    /// The secret, for a host that it may be sent to.
    ///
    /// # Errors
    ///
    /// An unknown name, and a host or port that the secret is not for, are refused.
    pub fn for_host(&self, name: &str, host: &str, port: u16) -> Result<&SecretValue, SecretError> {
        let entry = self.entries.get(name).ok_or_else(|| SecretError::Unknown(name.to_owned()))?;
        if !entry.hosts.iter().any(|rule| rule.allows(host, port)) {
            return Err(SecretError::WrongHost { name: name.to_owned(), host: host.to_owned() });
        }
        Ok(&entry.value)
    }

    /// Names and secrets, for the redactor.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry.value.reveal()))
    }

    fn write(&self) -> Result<(), SecretError> {
        let rows: BTreeMap<&str, SecretRow> = self
            .entries
            .iter()
            .map(|(name, entry)| {
                let hosts = entry.hosts.iter().map(ToString::to_string).collect();
                (name.as_str(), SecretRow { hosts, value: to_hex(entry.value.reveal()) })
            })
            .collect();
        let plain = Zeroizing::new(serde_json::to_vec(&rows).expect("texts become JSON"));
        let nonce = random::<NONCE_BYTES>()?;
        let mut sealed = MAGIC.to_vec();
        sealed.extend(self.salt);
        let payload = Payload { msg: &plain, aad: &sealed };
        let body = cipher(&self.key)
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SecretError::Invalid("too much to seal".into()))?;
        sealed.extend(nonce);
        sealed.extend(body);
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        // A leftover of a crash is in the way of `create_new`; it holds nothing that counts.
        let _ = fs::remove_file(&beside);
        write_private(&beside, &sealed)?;
        fs::rename(&beside, &self.path).map_err(io("replace", &self.path))?;
        if let Some(folder) = self.path.parent() {
            File::open(folder).and_then(|it| it.sync_all()).map_err(io("sync", folder))?;
        }
        Ok(())
    }
}

fn entry((name, row): (String, SecretRow)) -> Option<(String, SecretEntry)> {
    let hosts = row.hosts.iter().map(|text| HostRule::parse(text).ok()).collect::<Option<_>>()?;
    Some((name, SecretEntry { hosts, value: SecretValue(from_hex(&row.value)?) }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyFile {
    MayBeMade,
    MustExist,
}

fn derive(
    key: &SealKey,
    salt: &[u8; SALT_BYTES],
    file: KeyFile,
) -> Result<Zeroizing<[u8; KEY_BYTES]>, SecretError> {
    let mut out = Zeroizing::new([0_u8; KEY_BYTES]);
    match key {
        SealKey::Passphrase(phrase) => {
            let params = Params::new(ARGON_MEMORY_KIB, ARGON_PASSES, 1, Some(KEY_BYTES))
                .map_err(|_| SecretError::NotOpened)?;
            Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                .hash_password_into(phrase.as_bytes(), salt, &mut *out)
                .map_err(|_| SecretError::NotOpened)?;
        }
        SealKey::File(path) => {
            if file == KeyFile::MayBeMade && !path.exists() {
                let fresh = Zeroizing::new(random::<KEY_BYTES>()?);
                write_private(path, &*fresh)?;
            }
            let mut opened = File::open(path).map_err(io("open", path))?;
            let mode = opened.metadata().map_err(io("look at", path))?.mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(SecretError::KeyExposed { path: path.clone(), mode });
            }
            opened.read_exact(&mut *out).map_err(io("read", path))?;
        }
    }
    Ok(out)
}

fn cipher(key: &Zeroizing<[u8; KEY_BYTES]>) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&(**key).into())
}

fn random<const N: usize>() -> Result<[u8; N], SecretError> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes)
        .map_err(|_| SecretError::Invalid("the system has no randomness".into()))?;
    Ok(bytes)
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<(), SecretError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(io("make", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io("write", path))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests;
