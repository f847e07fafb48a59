//! What skills leave in the state directory: versions by their hash, saved values, capabilities that the owner enabled.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bridle_sexp::byte_text::hex;
use bridle_sexp::{Value, read_one};
use bridle_skill::{Capability, CapabilitySet, MAX_SKILL_BYTES, SkillId};
use thiserror::Error;

/// Bytes of the value that a skill saves for one principal.
const MAX_SAVED_BYTES: usize = 1 << 20;

/// The state directory could not be read or written, or a value is too large.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A saved value is larger than a skill may keep.
    #[error("the value has {0} bytes, expected at most {MAX_SAVED_BYTES}")]
    TooLarge(usize),
    /// A file holds something else than was written to it.
    #[error("{0} is damaged: delete it to begin anew")]
    Damaged(PathBuf),
}

/// Folder `skills` of a state directory.
#[derive(Debug, Clone)]
pub struct SkillStorage {
    folder: PathBuf,
}

impl SkillStorage {
    /// Takes the state directory; nothing is read or made yet.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("skills") }
    }

    /// Keeps the text of a version.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_version(&self, hash: &str, text: &str) -> Result<(), StorageError> {
        let path = self.version(hash);
        match path.exists() {
            true => Ok(()),
            false => write(&path, text),
        }
    }

    /// Text of a version that was kept.
    pub fn read_version(&self, hash: &str) -> Option<String> {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = is_hash.then(|| self.version(hash))?;
        read(&path, MAX_SKILL_BYTES).ok().flatten()
    }

    /// Keeps what a file had before a text was installed: a text, or that there was none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn keep_previous(
        &self,
        skill: &SkillId,
        text: Option<&str>,
    ) -> Result<(), StorageError> {
        let marked = text.map_or_else(String::new, |text| format!("={text}"));
        write(&self.previous_file(skill), &marked)
    }

    /// Text that a file had before: `Some(None)` where there was no file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn previous(&self, skill: &SkillId) -> Result<Option<Option<String>>, StorageError> {
        let kept = read(&self.previous_file(skill), MAX_SKILL_BYTES + 1)?;
        Ok(kept.map(|marked| marked.strip_prefix('=').map(str::to_owned)))
    }

    fn previous_file(&self, skill: &SkillId) -> PathBuf {
        self.folder.join("previous").join(skill.as_str())
    }

    /// Value that a skill saved last for this principal; nil before the first.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn saved(&self, skill: &SkillId, principal: &str) -> Result<Value, StorageError> {
        let path = self.saved_file(skill, principal);
        let Some(text) = read(&path, MAX_SAVED_BYTES)? else { return Ok(Value::Nil) };
        let value = read_one(&text).map(|tree| tree.root().to_value());
        value.map_err(|_| StorageError::Damaged(path))
    }

    /// Principals for whom a skill saved something.
    pub fn saved_for(&self, skill: &SkillId) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join("saved").join(skill.as_str()));
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let bytes = |name: &str| {
            let digits = name
                .as_bytes()
                .chunks(2)
                .map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
            String::from_utf8(digits.collect::<Option<Vec<u8>>>()?).ok()
        };
        let mut all: Vec<String> = names
            .filter_map(|name| bytes(name.to_str().filter(|it| !it.starts_with('.'))?))
            .collect();
        all.sort();
        all
    }

    /// Saves a value of a skill for this principal.
    ///
    /// # Errors
    /// The value is too large, or the file cannot be written.
    pub fn save(
        &self,
        skill: &SkillId,
        principal: &str,
        value: &Value,
    ) -> Result<(), StorageError> {
        let text = value.to_string();
        if text.len() > MAX_SAVED_BYTES {
            return Err(StorageError::TooLarge(text.len()));
        }
        write(&self.saved_file(skill, principal), &text)
    }

    /// Capabilities that the owner enabled for a skill; `None` for one that was never enabled.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn enabled(&self, skill: &SkillId) -> Result<Option<CapabilitySet>, StorageError> {
        let path = self.enabled_file(skill);
        let Some(text) = read(&path, MAX_SKILL_BYTES)? else { return Ok(None) };
        let all = text.split_whitespace().map(Capability::parse).collect::<Option<Vec<_>>>();
        let all = all.ok_or(StorageError::Damaged(path))?;
        Ok(Some(all.into_iter().collect()))
    }

    /// Enables a skill with these capabilities.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn enable(&self, skill: &SkillId, set: &CapabilitySet) -> Result<(), StorageError> {
        let lines: String = set.iter().map(|capability| format!("{capability}\n")).collect();
        write(&self.enabled_file(skill), &lines)
    }

    /// Takes back what was enabled for a skill; whether it was.
    ///
    /// # Errors
    /// The file cannot be deleted.
    pub fn disable(&self, skill: &SkillId) -> Result<bool, StorageError> {
        let path = self.enabled_file(skill);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StorageError::File { path, source }),
        }
    }

    /// Skills that the owner enabled as guards. One whose file is damaged counts as one.
    pub fn guards(&self) -> Vec<SkillId> {
        let entries = fs::read_dir(self.folder.join("enabled"));
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| SkillId::new(name.to_str()?).ok());
        let is_guard = |id: &SkillId| match self.enabled(id) {
            Ok(set) => set.is_some_and(|set| set.allows_guard()),
            Err(_) => true,
        };
        ids.filter(is_guard).collect()
    }

    /// Text of a shipped skill that was copied for the user last; `None` for one that never was.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn given(&self, name: &str) -> Result<Option<String>, StorageError> {
        read(&self.given_file(name), MAX_SKILL_BYTES)
    }

    /// Notes that a shipped skill was copied with this text.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn give(&self, name: &str, text: &str) -> Result<(), StorageError> {
        write(&self.given_file(name), text)
    }

    fn given_file(&self, name: &str) -> PathBuf {
        self.folder.join("given").join(name)
    }

    fn version(&self, hash: &str) -> PathBuf {
        self.folder.join("versions").join(format!("{hash}.org"))
    }

    fn enabled_file(&self, skill: &SkillId) -> PathBuf {
        self.folder.join("enabled").join(skill.as_str())
    }

    /// The name of a principal may have any character, so it is written in hexadecimal digits.
    fn saved_file(&self, skill: &SkillId, principal: &str) -> PathBuf {
        let named = principal.as_bytes();
        let name = hex(&named[..named.len().min(MAX_NAME_BYTES)]);
        self.folder.join("saved").join(skill.as_str()).join(name)
    }
}

/// Bytes of a principal that name a file: file systems take names of 255.
const MAX_NAME_BYTES: usize = 120;

/// Text of a file; `None` when there is no such file.
fn read(path: &Path, limit: usize) -> Result<Option<String>, StorageError> {
    let failed = |source| StorageError::File { path: path.to_owned(), source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(facts) if facts.len() > limit as u64 => {
            return Err(StorageError::Damaged(path.to_owned()));
        }
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some).map_err(failed)
}

/// Writes a file beside and then in its place: whatever happens, one of the two is whole.
fn write(path: &Path, text: &str) -> Result<(), StorageError> {
    let failed = |source| StorageError::File { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    // A name that no id has.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    let written = || -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    written().map_err(failed)
}
