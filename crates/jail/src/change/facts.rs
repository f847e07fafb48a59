//! Facts of a change set for the guard: counts, paths, secrets, what runs later. Data, no verdict.

use std::fs;

use serde::{Deserialize, Serialize};

use super::ChangeSet;
use super::later::{LaterRun, later_run};
use crate::error::JailError;
use crate::secret_scan::{SecretFinding, find_secrets};
use crate::tree::{PathState, path_text};

/// Largest file that is looked through for secrets, in bytes.
const MAX_SCANNED: u64 = 4 << 20;

/// Facts that policy is asked about before a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeFacts {
    /// Changed paths, folders included.
    pub files: u64,
    /// Deleted ones among them.
    pub deletions: u64,
    /// Bytes of all new contents.
    pub bytes: u64,
    /// Every changed path, as text.
    pub paths: Vec<String>,
    /// Secrets in new contents: path and kind, never the secret.
    pub secrets_found: Vec<(String, SecretFinding)>,
    /// Files that will run outside of the jail.
    pub runs_later: Vec<LaterRun>,
    /// Files that were given rights of their owner or group; a commit leaves these rights out.
    pub privileged: Vec<String>,
    /// Links that lead out of the project.
    pub links_outside: Vec<String>,
    /// Files too large to be looked through for secrets.
    pub unscanned: Vec<String>,
}

impl ChangeSet {
    /// Collects the facts.
    ///
    /// # Errors
    ///
    /// New contents that cannot be read are an error.
    pub fn facts(&self) -> Result<ChangeFacts, JailError> {
        let mut facts = ChangeFacts::default();
        for change in &self.changes {
            let name = path_text::escape(&change.path);
            facts.files += 1;
            facts.deletions += u64::from(change.after == PathState::Absent);
            facts.bytes += change.after.bytes();
            facts.runs_later.extend(later_run(change));
            if change.privileged {
                facts.privileged.push(name.clone());
            }
            match &change.after {
                PathState::Link { target } if leads_outside(&change.path, target) => {
                    facts.links_outside.push(name.clone());
                }
                PathState::File { bytes, .. } if *bytes > MAX_SCANNED => {
                    facts.unscanned.push(name.clone());
                }
                PathState::File { .. } if !change.ignored => {
                    let path = self.contents.join(&change.path);
                    let text = fs::read(&path).map_err(JailError::io("read", path))?;
                    let found = find_secrets(&change.path, &text);
                    facts.secrets_found.extend(found.into_iter().map(|it| (name.clone(), it)));
                }
                _ => {}
            }
            facts.paths.push(name);
        }
        Ok(facts)
    }
}

/// Whether a link at a path of the project leads out of it, by its text alone.
fn leads_outside(path: &std::path::Path, target: &std::path::Path) -> bool {
    use std::path::Component;

    let mut depth = path.components().count() - 1;
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
        }
    }
    false
}
