//! When tokens were last good for something, to the hour.
//!
//! Kept apart from the tokens: the daemon alone writes this file, at most once an hour for each
//! token, and losing it loses nothing but a column of a list. Never asked when a token is judged.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{MAX_TOKENS, TokenId};
use crate::state_folder::no_follow;

/// Name of the file inside the state directory: `ID MILLISECONDS` a line.
const USED_FILE: &str = "tokens.used";

/// Name of the new file until it takes the place of the old one.
const NEW_FILE: &str = "tokens.used.new";

/// Resolution of a last use, in milliseconds: an hour. A finer one would be a diary, and a write each time.
const GRAIN_MS: i64 = 60 * 60 * 1_000;

/// Longest file that is read, in bytes: 32 for each token.
const MAX_FILE: u64 = (MAX_TOKENS as u64) << 5;

/// Last uses by token.
#[derive(Debug)]
pub(super) struct TokenLastUse {
    dir: PathBuf,
    /// Those that this process has seen, or read at its start.
    seen: Mutex<BTreeMap<TokenId, i64>>,
}

impl TokenLastUse {
    pub(super) fn load(dir: &Path) -> TokenLastUse {
        TokenLastUse { dir: dir.to_owned(), seen: Mutex::new(read(dir)) }
    }

    /// Notes that a token was used; writes it down when the hour is another one.
    pub(super) fn note(&self, id: &TokenId, now_ms: i64) {
        let hour = now_ms.div_euclid(GRAIN_MS) * GRAIN_MS;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(id).is_some_and(|last| *last >= hour) {
            return;
        }
        if seen.len() >= MAX_TOKENS && !seen.contains_key(id) {
            // Revoked ones are still among them: the longest unused goes.
            let oldest = seen.iter().min_by_key(|(_, last)| **last).map(|(id, _)| id.clone());
            oldest.map(|id| seen.remove(&id));
        }
        seen.insert(id.clone(), hour);
        if let Err(error) = write(&self.dir, &seen) {
            tracing::warn!(%error, "the last use of a token is not written down");
        }
    }

    /// Last uses as the file has them now.
    pub(super) fn all(&self) -> BTreeMap<TokenId, i64> {
        read(&self.dir)
    }
}

/// Reads the last uses; a file that cannot be read counts as empty.
fn read(dir: &Path) -> BTreeMap<TokenId, i64> {
    let mut text = String::new();
    let opened = OpenOptions::new().read(true).custom_flags(no_follow()).open(dir.join(USED_FILE));
    if opened.and_then(|file| file.take(MAX_FILE).read_to_string(&mut text)).is_err() {
        return BTreeMap::new();
    }
    let line = |line: &str| {
        let (id, last) = line.split_once(' ')?;
        Some((TokenId::parse(id)?, last.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Not synced: an hour that a crash takes is no loss.
fn write(dir: &Path, seen: &BTreeMap<TokenId, i64>) -> io::Result<()> {
    let text: String = seen.iter().map(|(id, last)| format!("{id} {last}\n")).collect();
    let new = dir.join(NEW_FILE);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(no_follow());
    let mut file = options.open(&new)?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(&new, dir.join(USED_FILE))
}
