//! A loss of power, acted out on the files of a killed daemon. The faults build copies the record aside
//! after each commit, before it tells anybody: that copy is what a disk surely has. What was written
//! later may have reached the disk or not, sector by sector, in any order.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::plan::Power;
use super::random::Random;

/// The record and its log.
const RECORD: &str = "record.db";
const LOG: &str = "record.db-wal";

/// Memory shared by the record's readers, never synced: gone with the power.
const SHARED: &str = "record.db-shm";

/// Bytes of the header that starts a log over; with another header, the log is another one.
const LOG_HEADER: usize = 32;

/// Bytes that a disk writes wholly or not at all.
const SECTOR: usize = 512;

/// Folders of whole copies are called this and the count of commits.
const COPY: &str = "commit-";

/// Replaces the files in `state` by what a loss of power leaves of them. Without a copy nothing was ever
/// committed in this life, and the files stay as they were at its start: returns whether there was one.
pub(crate) fn lose_power(state: &Path, shadow: &Path, power: &Power) -> Result<bool> {
    let Some(copy) = newest_copy(shadow)? else { return Ok(false) };
    remove(&state.join(SHARED))?;
    let synced_log = read(&copy.join(LOG))?;
    let live_log = read(&state.join(LOG))?;
    let synced_record = read(&copy.join(RECORD))?;
    let live_record = read(&state.join(RECORD))?;
    let same_log = synced_log.get(..LOG_HEADER).is_some()
        && synced_log.get(..LOG_HEADER) == live_log.get(..LOG_HEADER);
    let (record, log) = match power {
        // The log was started over: its header was synced before anything behind it, so the pieces of
        // both cannot mix.
        Power::Torn(random) if same_log => {
            let mut random = random.clone();
            let record = if random.chance(50) {
                torn(&synced_record, &live_record, &mut random)
            } else {
                synced_record
            };
            (record, torn(&synced_log, &live_log, &mut random))
        }
        Power::Torn(_) | Power::Synced => (synced_record, synced_log),
    };
    write(&state.join(RECORD), &record)?;
    write(&state.join(LOG), &log)?;
    Ok(true)
}

/// The copy of the last commit.
fn newest_copy(shadow: &Path) -> Result<Option<PathBuf>> {
    let list = match fs::read_dir(shadow) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        result => result.with_context(|| format!("cannot list `{}`", shadow.display()))?,
    };
    let mut newest: Option<(u64, PathBuf)> = None;
    for entry in list {
        let path = entry.context("cannot list the copies")?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let count = name.strip_prefix(COPY).and_then(|count| count.parse().ok());
        if let Some(count) = count
            && newest.as_ref().is_none_or(|(best, _)| *best < count)
        {
            newest = Some((count, path));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

/// Each sector as it was synced or as it was written later. The file ends at any length between.
fn torn(synced: &[u8], live: &[u8], random: &mut Random) -> Vec<u8> {
    let mut mixed = synced.to_vec();
    let grown = live.len().saturating_sub(synced.len());
    mixed.resize(synced.len() + random.index(grown + 1), 0);
    let share = random.below(101);
    for start in (0..mixed.len().min(live.len())).step_by(SECTOR) {
        let end = (start + SECTOR).min(mixed.len()).min(live.len());
        if random.chance(share) {
            mixed[start..end].copy_from_slice(&live[start..end]);
        }
    }
    mixed
}

fn read(path: &Path) -> Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        result => result.with_context(|| format!("cannot read `{}`", path.display())),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return remove(path);
    }
    fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::torn;
    use crate::chaos::random::Random;

    #[test]
    fn a_torn_file_has_sectors_of_both_and_never_less_than_was_synced() {
        let (synced, live) = (vec![1; 1500], vec![2; 4000]);
        for seed in 0..200 {
            let mixed = torn(&synced, &live, &mut Random::new(seed));
            assert!((1500..=4000).contains(&mixed.len()));
            assert!(mixed[..1500].iter().all(|byte| [1, 2].contains(byte)));
            assert!(mixed.iter().skip(1536).all(|byte| [0, 2].contains(byte)));
        }
    }
}
