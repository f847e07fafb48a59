//! Checks that the daemon makes of what it stands on: before it is ready, and every few minutes after. What they find is
//! in every health answer and in the log.
//!
//! `run` starts them; conversations read them. The record says of itself whether it takes what it is given.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::statvfs;

use crate::config::DaemonConfig;

/// Interval between two rounds of checks.
pub(crate) const SELF_CHECK_INTERVAL: Duration = Duration::from_secs(300);

/// Free bytes of the state directory's disk below which the record soon cannot grow.
const MIN_FREE_DISK_BYTES: u64 = 64 << 20;

/// Finding of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelfCheck {
    /// Name, a keyword of health answers.
    pub(crate) name: &'static str,
    /// Reason why it is not well, for its owner; `None` when it is.
    pub(crate) fault: Option<Box<str>>,
}

/// Findings of the latest round.
#[derive(Debug, Default)]
pub(crate) struct SelfChecks {
    has_fault: AtomicBool,
    latest: Mutex<Vec<SelfCheck>>,
}

impl SelfChecks {
    /// Makes a round. Blocks, for as long as the disk takes.
    pub(crate) fn run(&self, config: &DaemonConfig) {
        let found = vec![disk(&config.state), memory(config.memex.as_deref()), secrets(config)];
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        for check in &found {
            if let Some(fault) = check.fault.as_ref().filter(|_| !latest.contains(check)) {
                tracing::warn!(check = check.name, %fault, "a check of the daemon failed");
            }
        }
        self.has_fault.store(found.iter().any(|it| it.fault.is_some()), Ordering::Relaxed);
        *latest = found;
    }

    /// Whether the latest round found a fault.
    pub(crate) fn has_fault(&self) -> bool {
        self.has_fault.load(Ordering::Relaxed)
    }

    /// Findings of the latest round.
    pub(crate) fn latest(&self) -> Vec<SelfCheck> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn disk(state: &Path) -> SelfCheck {
    let fault = match statvfs(state) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            (free < MIN_FREE_DISK_BYTES).then(|| format!("{} MiB free for the record", free >> 20))
        }
        Err(error) => Some(format!("cannot look at the disk of the state directory: {error}")),
    };
    SelfCheck { name: "disk", fault: fault.map(Into::into) }
}

fn memory(folder: Option<&Path>) -> SelfCheck {
    let fault = folder.and_then(|folder| std::fs::read_dir(folder).err());
    let fault = fault.map(|error| format!("cannot read the Org folder: {error}").into());
    SelfCheck { name: "memory", fault }
}

fn secrets(config: &DaemonConfig) -> SelfCheck {
    let store = config.secret_store();
    let fault = store.list().err().map(|error| error.to_string().into());
    SelfCheck { name: "secrets", fault }
}

/// Makes a round on a thread that may wait.
pub(crate) async fn check_once(checks: Arc<SelfChecks>, config: DaemonConfig) {
    // A round that broke off leaves the findings of the one before.
    let _ = tokio::task::spawn_blocking(move || checks.run(&config)).await;
}

#[cfg(test)]
mod tests {
    use super::SelfChecks;
    use crate::config::DaemonConfig;

    #[test]
    fn a_missing_folder_and_damaged_secrets_are_found_and_pass_again() {
        let state = tempfile::tempdir().expect("a folder");
        let memex = state.path().join("org");
        let config = DaemonConfig {
            state: state.path().to_owned(),
            memex: Some(memex.clone()),
            ..DaemonConfig::default()
        };
        let checks = SelfChecks::default();
        let faults = || -> Vec<&'static str> {
            checks.run(&config);
            let found = checks.latest().into_iter().filter(|it| it.fault.is_some());
            found.map(|it| it.name).collect()
        };
        assert_eq!(faults(), ["memory"]);
        std::fs::write(state.path().join(bridle_jail::SECRETS_FILE), "junk").expect("written");
        assert_eq!(faults(), ["memory", "secrets"]);
        assert!(checks.has_fault());
        std::fs::remove_file(state.path().join(bridle_jail::SECRETS_FILE)).expect("removed");
        std::fs::create_dir(&memex).expect("made");
        assert!(faults().is_empty() && !checks.has_fault());
    }
}
