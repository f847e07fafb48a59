//! Keys of providers, read from where the file of providers says: the environment, a file of the user alone, a
//! program, or the daemon's own store of secrets.
//!
//! Called by `exchange` before each attempt. What a program printed is kept until a provider refuses it, because a
//! program may ask the user; the others are read each time. A key is wiped when it is dropped, and no error shows any
//! of it.

use std::collections::HashMap;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bridle_models::KeySource;
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

use crate::error::InferenceError;

/// Longest key, in bytes; the longest of a vendor has some hundreds.
const MAX_KEY_BYTES: usize = 8 << 10;

/// Time that a program may take: it may ask the user.
const KEY_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Bits of a mode that let others read or write.
const OTHERS_MODE_BITS: u32 = 0o077;

/// Key of a provider. Shows nothing of itself.
#[derive(Clone)]
pub struct ProviderKey(Zeroizing<String>);

/// Store of secrets by name, each bound to hosts.
pub trait SecretLookup: Send + Sync {
    /// Returns the secret of this name for this host. Blocks.
    ///
    /// # Errors
    /// There is none, or it is bound to other hosts; the text has nothing of the secret.
    fn secret(&self, name: &str, host: &str) -> Result<Zeroizing<String>, String>;
}

/// Store without any secret.
#[derive(Clone, Copy, Debug)]
pub struct NoSecrets;

/// Reader of keys.
pub struct KeyReader {
    secrets: Arc<dyn SecretLookup>,
    /// Keys that programs printed.
    printed: Mutex<HashMap<Vec<String>, ProviderKey>>,
}

impl std::fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProviderKey(..)")
    }
}

impl ProviderKey {
    /// Takes the first line of a text.
    fn of_text(text: &str, source: &KeySource) -> Result<Self, InferenceError> {
        let line = text.lines().next().unwrap_or_default().trim();
        let is_plain = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain || line.len() > MAX_KEY_BYTES {
            let text = format!("`{source}` has no line of plain characters");
            return Err(InferenceError::Key(text));
        }
        Ok(Self(Zeroizing::new(line.to_owned())))
    }

    /// Returns the key, for a header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl SecretLookup for NoSecrets {
    fn secret(&self, name: &str, _: &str) -> Result<Zeroizing<String>, String> {
        Err(format!("no secret is named `{name}`"))
    }
}

impl KeyReader {
    /// Makes a reader that finds `secret:NAME` in this store.
    pub fn new(secrets: Arc<dyn SecretLookup>) -> Self {
        Self { secrets, printed: Mutex::default() }
    }

    /// Reads a key for a host.
    ///
    /// # Errors
    /// Fails on a key that is not there, that others can read, or that is none.
    pub async fn read(
        &self,
        source: &KeySource,
        host: &str,
    ) -> Result<ProviderKey, InferenceError> {
        let text = match source {
            KeySource::Environment(name) => Zeroizing::new(of_environment(name)?),
            KeySource::File(path) => {
                let path = path.clone();
                blocking(move || of_file(&path)).await?
            }
            KeySource::Command(words) => return self.of_command(words, source).await,
            KeySource::Secret(name) => {
                let (secrets, name, host) =
                    (Arc::clone(&self.secrets), name.clone(), host.to_owned());
                blocking(move || secrets.secret(&name, &host).map_err(InferenceError::Key)).await?
            }
        };
        ProviderKey::of_text(&text, source)
    }

    /// Forgets a key that a provider refused.
    pub fn forget(&self, source: &KeySource) {
        if let KeySource::Command(words) = source {
            self.printed.lock().unwrap_or_else(PoisonError::into_inner).remove(words);
        }
    }

    async fn of_command(
        &self,
        words: &[String],
        source: &KeySource,
    ) -> Result<ProviderKey, InferenceError> {
        let known = self.printed.lock().unwrap_or_else(PoisonError::into_inner).get(words).cloned();
        if let Some(key) = known {
            return Ok(key);
        }
        let printed = tokio::time::timeout(KEY_COMMAND_TIMEOUT, printed(words)).await;
        let late = |_| {
            let seconds = KEY_COMMAND_TIMEOUT.as_secs();
            InferenceError::Key(format!("`{}` did not end within {seconds} s", words[0]))
        };
        let text = printed.map_err(late)??;
        let key = ProviderKey::of_text(&text, source)?;
        let mut all = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(words.to_vec(), key.clone());
        Ok(key)
    }
}

fn of_environment(name: &str) -> Result<String, InferenceError> {
    std::env::var(name)
        .map_err(|_| InferenceError::Key(format!("the environment of the daemon has no `{name}`")))
}

/// Runs a call that blocks.
async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, InferenceError> + Send + 'static,
) -> Result<T, InferenceError> {
    let broken = |_| InferenceError::Key("its reader broke off".to_owned());
    tokio::task::spawn_blocking(call).await.map_err(broken)?
}

/// Text of a file that belongs to this user and that nobody else can read.
fn of_file(path: &str) -> Result<Zeroizing<String>, InferenceError> {
    let fault = |why: &str| InferenceError::Key(format!("`{path}` {why}"));
    let unreadable = |error: std::io::Error| fault(&format!("cannot be read: {error}"));
    let whole = match path.strip_prefix("~/") {
        Some(rest) => match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
            Some(home) => PathBuf::from(home).join(rest),
            None => return Err(fault("is below a home that is not set")),
        },
        None => PathBuf::from(path),
    };
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(whole);
    let file = opened.map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err(fault("is no plain file"));
    }
    if facts.mode() & OTHERS_MODE_BITS != 0 || facts.uid() != rustix::process::geteuid().as_raw() {
        return Err(fault("can be read by others: `chmod 600` makes it yours alone"));
    }
    let mut text = Zeroizing::new(String::new());
    let limit = MAX_KEY_BYTES as u64 + 1;
    file.take(limit).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// First bytes of what a program prints. It is killed when nobody waits for it any more.
async fn printed(words: &[String]) -> Result<Zeroizing<String>, InferenceError> {
    let program = &words[0];
    let fault = |why: String| InferenceError::Key(format!("`{program}` {why}"));
    let mut command = tokio::process::Command::new(program);
    command.args(&words[1..]).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| fault(format!("cannot be run: {error}")))?;
    let mut text = Zeroizing::new(String::new());
    if let Some(output) = child.stdout.take() {
        let read = output.take(MAX_KEY_BYTES as u64 + 1).read_to_string(&mut text).await;
        read.map_err(|_| fault("printed no text".to_owned()))?;
    }
    let ended = child.wait().await.map_err(|error| fault(error.to_string()))?;
    if ended.success() { Ok(text) } else { Err(fault(format!("ended with {ended}"))) }
}

#[cfg(test)]
mod tests;
