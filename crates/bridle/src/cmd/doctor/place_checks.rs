//! Checks of what is on the disk: settings, permissions, free space, the record, the clock beside it, the secrets.

use std::fs::{Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bridle_history::{HistoryError, RecordHistory};
use rustix::fs::statvfs;

use super::{CheckOutcome, CheckReport, Patient, RepairMode};
use crate::cmd::memex_source::now_ms;
use crate::settings::{check_surroundings, stray_variables};

/// Free bytes below which there should be more, and below which the record soon cannot grow.
const LOW_DISK_BYTES: u64 = 1 << 30;
const FULL_DISK_BYTES: u64 = 100 << 20;

/// Records that are verified; a longer record is left to `bridle log verify`.
const MAX_VERIFIED_RECORDS: u64 = 200_000;

/// Milliseconds by which the record may be ahead of the clock.
const MAX_CLOCK_LAG_MS: i64 = 60_000;

/// A moment before this program existed: 2025-01-01.
const OLDEST_NOW_MS: i64 = 1_735_689_600_000;

/// Folders inside the state directory that are looked into.
const MAX_FOLDER_DEPTH: usize = 4;

/// Mode bits that let others in.
const OPEN_TO_OTHERS: u32 = 0o077;

pub(super) fn settings(patient: &Patient) -> CheckReport {
    const NAME: &str = "settings";
    let hint = "`bridle config check` names each";
    let found = check_surroundings();
    if let Some(fault) = found.faults.first() {
        return CheckReport::fault(NAME, fault.what(), hint);
    }
    if let Err(failure) = patient.settings.to_daemon() {
        return CheckReport::fault(NAME, failure.what(), "`bridle config show` shows each source");
    }
    let stray = stray_variables();
    if !stray.is_empty() {
        return CheckReport::warning(NAME, format!("unknown variables {}", stray.join(", ")), hint);
    }
    if let Some(doubt) = patient.settings.doubts().first() {
        return CheckReport::warning(NAME, doubt.clone(), hint);
    }
    match &patient.settings.file {
        Some(file) => CheckReport::fine(NAME, file.display().to_string()),
        None => CheckReport::fine(NAME, "no settings file; defaults and environment"),
    }
}

/// The state directory and all in it are for its owner alone, and nothing in it is a link.
pub(super) fn permissions(patient: &Patient) -> CheckReport {
    const NAME: &str = "permissions";
    let state = &patient.state;
    let is_missing = std::fs::symlink_metadata(state)
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if is_missing && patient.mode == RepairMode::Repair {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state);
        return match made {
            Ok(()) => {
                CheckReport::new(NAME, CheckOutcome::Repaired, format!("made {}", state.display()))
            }
            Err(error) => CheckReport::fault(
                NAME,
                format!("cannot make {}: {error}", state.display()),
                "name a directory of your own: the setting `state`",
            ),
        };
    }
    if is_missing {
        let said = format!("{} does not exist yet", state.display());
        return CheckReport::skipped(NAME, said)
            .hint("`bridle up` or `bridle doctor --fix` makes it");
    }
    let mut findings = StateFindings::default();
    if let Err(error) = findings.look(state, MAX_FOLDER_DEPTH) {
        let said = format!("cannot look at {}: {error}", state.display());
        return CheckReport::fault(NAME, said, "run this as the user of the daemon");
    }
    findings.report(NAME, patient.mode, state)
}

/// Files of the state directory that are not as they should be.
#[derive(Default)]
struct StateFindings {
    count: usize,
    open: Vec<(PathBuf, u32)>,
    /// Links, and files of others: what that is about, a person has to decide.
    foreign: Vec<PathBuf>,
}

impl StateFindings {
    fn look(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        let meta = std::fs::symlink_metadata(path)?;
        self.judge(path, &meta, depth == MAX_FOLDER_DEPTH);
        if !meta.is_dir() || depth == 0 {
            return Ok(());
        }
        for entry in std::fs::read_dir(path)? {
            match self.look(&entry?.path(), depth - 1) {
                // Gone meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Folders inside are closed by the one around them; a file may be linked elsewhere.
    fn judge(&mut self, path: &Path, meta: &Metadata, is_outermost: bool) {
        self.count += 1;
        if meta.is_symlink() || meta.uid() != rustix::process::geteuid().as_raw() {
            self.foreign.push(path.to_owned());
        } else if (meta.is_file() || (is_outermost && meta.is_dir()))
            && meta.mode() & OPEN_TO_OTHERS != 0
        {
            self.open.push((path.to_owned(), meta.mode() & 0o777));
        }
    }

    fn report(&self, name: &'static str, mode: RepairMode, state: &Path) -> CheckReport {
        if let Some(path) = self.foreign.first() {
            let said = format!("{} is a link or another user's", path.display());
            return CheckReport::fault(name, said, "remove it, or `chown` it to yourself");
        }
        let Some((path, was)) = self.open.first() else {
            let said = format!("{}, {} files, yours alone", state.display(), self.count);
            return CheckReport::fine(name, said);
        };
        let said = format!("{} has mode {was:03o}, {} in all", path.display(), self.open.len());
        if mode == RepairMode::Look {
            let hint =
                "`bridle doctor --fix` closes them; replace keys and tokens that others could read";
            return CheckReport::fault(name, said, hint);
        }
        for (path, was) in &self.open {
            let closed = std::fs::set_permissions(path, Permissions::from_mode(was & 0o700));
            if let Err(error) = closed {
                let said = format!("cannot close {}: {error}", path.display());
                return CheckReport::fault(name, said, "chmod it yourself");
            }
        }
        CheckReport::new(name, CheckOutcome::Repaired, format!("closed: {said}"))
            .hint("replace keys and tokens that others could read")
    }
}

pub(super) fn disk(patient: &Patient) -> CheckReport {
    const NAME: &str = "disk";
    // What does not exist yet comes to stand beside its nearest parent.
    let place = patient.state.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let found = match statvfs(place) {
        Ok(found) => found,
        Err(error) => return CheckReport::warning(NAME, error.to_string(), "`df` may say more"),
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let said = format!("{} MiB free for {}", free >> 20, patient.state.display());
    let hint = "free some space, or `bridle record size` and `bridle forget`";
    match free {
        0..FULL_DISK_BYTES => CheckReport::fault(NAME, said, hint),
        FULL_DISK_BYTES..LOW_DISK_BYTES => CheckReport::warning(NAME, said, hint),
        _ => CheckReport::fine(NAME, said),
    }
}

/// The hash chain of the record.
pub(super) fn record(patient: &Patient) -> CheckReport {
    const NAME: &str = "record";
    let history = match RecordHistory::open(&patient.state) {
        Ok(history) => history,
        Err(HistoryError::NoRecord { .. }) => {
            return CheckReport::skipped(NAME, "nothing is recorded yet");
        }
        Err(error) => {
            let hint = "`bridle record repair --dry-run` shows what can be kept";
            return CheckReport::fault(NAME, error.to_string(), hint);
        }
    };
    let count = history.size().map_or(0, |size| size.all.records);
    if count > MAX_VERIFIED_RECORDS {
        let said = format!("{count} records, too many to verify here");
        return CheckReport::fine(NAME, said).hint("`bridle log verify` checks all of them");
    }
    match history.verify(None, &mut |_, _| {}) {
        Ok(_) => CheckReport::fine(NAME, format!("{count} records, hash chain intact")),
        Err(error) => CheckReport::fault(
            NAME,
            error.to_string(),
            "restore a backup: `bridle restore`; or salvage it: `bridle record repair --dry-run`",
        ),
    }
}

/// The clock beside the record: one that went back makes times lie.
pub(super) fn clock(patient: &Patient) -> CheckReport {
    const NAME: &str = "clock";
    let now = now_ms();
    let hint = "set the clock of the system: `timedatectl set-ntp true`";
    if now < OLDEST_NOW_MS {
        return CheckReport::fault(NAME, "the clock is years behind", hint);
    }
    let sessions = RecordHistory::open(&patient.state).and_then(|history| history.sessions());
    let latest = sessions.ok().and_then(|rows| rows.iter().map(|row| row.last_at).max());
    match latest {
        Some(latest) if latest > now + MAX_CLOCK_LAG_MS => {
            let said = format!("the record is {} s ahead of the clock", (latest - now) / 1000);
            CheckReport::warning(NAME, said, hint)
        }
        Some(_) => CheckReport::fine(NAME, "not behind the record"),
        None => CheckReport::fine(NAME, "set"),
    }
}

pub(super) fn secrets(patient: &Patient) -> CheckReport {
    const NAME: &str = "secrets";
    let store = match patient.settings.secret_store() {
        Ok(store) => store,
        Err(failure) => {
            return CheckReport::fault(
                NAME,
                failure.what(),
                "`bridle config show` shows the source",
            );
        }
    };
    if !store.exists() {
        return CheckReport::skipped(NAME, "none are kept");
    }
    match store.list() {
        Ok(all) => {
            CheckReport::fine(NAME, format!("{} sealed, and their key opens them", all.len()))
        }
        Err(error) => {
            let failure = crate::cmd::secret::failure(&error);
            CheckReport::fault(NAME, failure.what(), "`bridle secret list` says what to do")
        }
    }
}
