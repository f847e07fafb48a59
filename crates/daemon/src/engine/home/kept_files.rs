//! Files that shells hand in: uploaded over HTTP, or inside a message of frames, of which they are cut out before it is
//! recorded. Kept for their principal alone and for a limited time.
//!
//! `http/attachments` hands files in and out; a session's messages have theirs kept before they are recorded; prompts read
//! them for the model.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridle_record::{FileShelf, KeptFile, NewShelfFile, PutResult, ShelfFileName, StoreError};
use bridle_sexp::Value;
use bridle_sexp::byte_text::hex;
use sha2::{Digest as _, Sha256};

use crate::config::{AttachmentLimits, DaemonConfig};
use crate::engine::clock::MonotonicClock;
use crate::error::DaemonError;

/// Prefix of every reference.
const REFERENCE_PREFIX: &str = "att-";

/// Type of a file that says none.
const DEFAULT_KIND: &str = "application/octet-stream";

/// Longest type of a file, in bytes.
const MAX_KIND_BYTES: usize = 127;

/// Key of the list in a payload.
const ATTACHMENTS: &str = "attachments";

/// Reason in the place of a file that was not kept.
const NO_ROOM: &str = "no room for more files until some expire";

/// The files of all principals.
#[derive(Debug)]
pub(crate) struct KeptFiles {
    shelf: Mutex<FileShelf>,
    limits: AttachmentLimits,
    clock: Arc<MonotonicClock>,
}

impl KeptFiles {
    /// Opens the shelf in the state directory.
    ///
    /// # Errors
    /// The shelf cannot be used.
    pub(in crate::engine) fn open(
        config: &DaemonConfig,
        clock: Arc<MonotonicClock>,
    ) -> Result<Arc<Self>, DaemonError> {
        let shelf = Mutex::new(FileShelf::open(&config.state).map_err(DaemonError::Files)?);
        Ok(Arc::new(Self { shelf, limits: config.files, clock }))
    }

    /// Limits of files.
    pub(crate) fn limits(&self) -> &AttachmentLimits {
        &self.limits
    }

    /// Keeps a file. Waits for the disk.
    ///
    /// # Errors
    /// The shelf takes nothing now.
    pub(crate) fn keep(
        &self,
        owner: &str,
        kind: &str,
        content: &[u8],
    ) -> Result<PutResult, StoreError> {
        let at = self.clock.now();
        let keep = i64::try_from(self.limits.keep.as_millis()).unwrap_or(i64::MAX);
        let sha256 = Sha256::digest(content).into();
        let expires = at.saturating_add(keep);
        let new = NewShelfFile { owner, kind, sha256, content, at, expires };
        self.lock().put(new, &self.limits.room())
    }

    /// The facts about a file of this owner. Waits for the disk.
    ///
    /// # Errors
    /// The shelf cannot be read.
    pub(crate) fn find(
        &self,
        owner: &str,
        reference: &str,
    ) -> Result<Option<KeptFile>, StoreError> {
        match name_of(reference) {
            Some(name) => self.lock().find(owner, name, self.clock.now()),
            None => Ok(None),
        }
    }

    /// The facts about a file of this owner, and its content. Waits for the disk.
    ///
    /// # Errors
    /// The shelf cannot be read.
    pub(crate) fn read(
        &self,
        owner: &str,
        reference: &str,
    ) -> Result<Option<(KeptFile, Vec<u8>)>, StoreError> {
        match name_of(reference) {
            Some(name) => self.lock().read(owner, name, self.clock.now()),
            None => Ok(None),
        }
    }

    /// Destroys what has expired; returns how many files that were. Waits for the disk.
    ///
    /// # Errors
    /// The shelf cannot be written.
    pub(crate) fn sweep(&self) -> Result<usize, StoreError> {
        self.lock().sweep(self.clock.now())
    }

    /// Keeps the files of a message, and names them in its payload. Waits for the disk.
    pub(in crate::engine) fn keep_sent(
        &self,
        owner: &str,
        files: &[SentFile],
        payload: &mut Value,
    ) {
        let Value::List(pairs) = payload else { return };
        let place = pairs.iter().step_by(2).position(|key| key.is_keyword(ATTACHMENTS));
        let Some(Value::List(entries)) = place.and_then(|place| pairs.get_mut(2 * place + 1))
        else {
            return;
        };
        for file in files {
            let Some(Value::List(entry)) = entries.get_mut(file.place) else { continue };
            let (key, told) = match self.keep(owner, &file.kind, &file.content) {
                Ok(PutResult::Kept(kept)) => ("ref", reference_to(kept.name)),
                Ok(PutResult::NoRoom) => ("lost", NO_ROOM.to_owned()),
                Err(error) => {
                    tracing::warn!(%error, "a file of a message was not kept");
                    ("lost", "it could not be kept".to_owned())
                }
            };
            entry.extend([Value::keyword(key), Value::str(told)]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, FileShelf> {
        // A shelf is a database: a thread that panicked left it whole.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the file of a reference.
fn name_of(reference: &str) -> Option<ShelfFileName> {
    reference.strip_prefix(REFERENCE_PREFIX).and_then(ShelfFileName::parse)
}

/// The reference to a file.
pub(crate) fn reference_to(name: ShelfFileName) -> String {
    format!("{REFERENCE_PREFIX}{name}")
}

/// File that came inside a message.
pub(crate) struct SentFile {
    /// Its place among the attachments.
    place: usize,
    /// The type that its sender gives it.
    kind: Box<str>,
    content: Vec<u8>,
}

impl fmt::Debug for SentFile {
    /// Says how large it is; what it holds is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentFile").field("bytes", &self.content.len()).finish_non_exhaustive()
    }
}

impl SentFile {
    /// Takes a file out of the entry of this place, which keeps its size and its hash.
    pub(crate) fn cut(place: usize, content: Vec<u8>, entry: &mut Vec<Value>) -> Self {
        let kind = entry.iter().position(|key| key.is_keyword("mime-type"));
        let kind = kind.and_then(|key| entry.get(key + 1)?.as_str());
        let fits = |kind: &&str| {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+/".contains(&byte);
            kind.len() <= MAX_KIND_BYTES && kind.contains('/') && kind.bytes().all(is_word)
        };
        let kind = kind.filter(fits).unwrap_or(DEFAULT_KIND).into();
        let sha256 = hex(&Sha256::digest(&content));
        let bytes = i64::try_from(content.len()).unwrap_or(i64::MAX);
        entry.extend([Value::keyword("sha256"), Value::str(sha256)]);
        entry.extend([Value::keyword("bytes"), Value::int(bytes)]);
        Self { place, kind, content }
    }

    /// Bytes of its content.
    pub(crate) fn len(&self) -> usize {
        self.content.len()
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::Value;

    use super::{DEFAULT_KIND, SentFile, name_of, reference_to};

    #[test]
    fn a_reference_is_read_as_it_is_written() {
        let reference = "att-0123456789abcdef0123456789abcdef";
        assert_eq!(reference_to(name_of(reference).unwrap()), reference);
        for bad in ["", "att-", "0123456789abcdef0123456789abcdef", "att_upload_01", "att-../../x"]
        {
            assert!(name_of(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_file_of_no_known_type_is_bytes() {
        let kind = |told: &str| {
            let mut entry = vec![Value::keyword("mime-type"), Value::str(told)];
            SentFile::cut(0, b"x".to_vec(), &mut entry).kind
        };
        assert_eq!(&*kind("image/png"), "image/png");
        for bad in ["png", "a/b; c", "", &"a/".repeat(100)] {
            assert_eq!(&*kind(bad), DEFAULT_KIND, "{bad}");
        }
    }
}
