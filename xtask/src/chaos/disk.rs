//! A loss of power, acted out on the files of a killed daemon. The faults build copies the record aside
//! after each commit, before it tells anybody: that copy is what a disk surely has. What was written
//! later may have reached the disk or not, sector by sector, in any order.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::plan::PowerLoss;
use super::random::SplitMix;

/// The record and its log.
const RECORD: &str = "record.db";
const LOG: &str = "record.db-wal";

/// Memory shared by the record's readers, never synced: gone with the power.
const SHARED: &str = "record.db-shm";

/// Bytes of the header that starts a log over; with another header, the log is another one.
const LOG_HEADER: usize = 32;

/// Bytes before each page in the log: the number of the page comes first.
const FRAME_HEADER: usize = 24;

/// Bytes that a disk writes wholly or not at all.
const SECTOR: usize = 512;

/// Folders of whole copies are called this and the count of commits.
const COPY: &str = "commit-";

/// Replaces the files in `state` by what a loss of power leaves of them. Without a copy nothing was ever
/// committed in this life, and the files stay as they were at its start: returns whether there was one.
pub(crate) fn lose_power(state: &Path, shadow: &Path, power: &PowerLoss) -> Result<bool> {
    let Some(copy) = newest_copy(shadow)? else { return Ok(false) };
    remove(&state.join(SHARED))?;
    let files = |dir: &Path| -> Result<RecordFiles> {
        Ok(RecordFiles { record: read(&dir.join(RECORD))?, log: read(&dir.join(LOG))? })
    };
    let left = left(files(&copy)?, &files(state)?, power);
    write(&state.join(RECORD), &left.record)?;
    write(&state.join(LOG), &left.log)?;
    Ok(true)
}

/// The bytes of the record and of its log.
struct RecordFiles {
    record: Vec<u8>,
    log: Vec<u8>,
}

/// Files that a loss of power leaves, of which some were surely on the disk.
fn left(synced: RecordFiles, live: &RecordFiles, power: &PowerLoss) -> RecordFiles {
    let PowerLoss::Torn(random) = power else { return synced };
    let header = synced.log.get(..LOG_HEADER);
    if header.is_none() || header != live.log.get(..LOG_HEADER) {
        // The log was started over: its header was synced before anything behind it, so the pieces of
        // both cannot mix.
        return synced;
    }
    let mut random = random.clone();
    if !random.chance(50) {
        let log = torn(&synced.log, &live.log, &mut random);
        return RecordFiles { log, ..synced };
    }
    let record = torn(&synced.record, &live.record, &mut random);
    let kept = copied(&synced.record, live).max(synced.log.len()).min(live.log.len());
    RecordFiles { record, log: torn(&live.log[..kept], &live.log, &mut random) }
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

/// Bytes of the log that must have been synced before the record got what it has: a page is copied from
/// the log only once its frame is on the disk. A daemon that is killed after a commit, and before that is
/// copied aside, may have copied such pages.
fn copied(synced: &[u8], live: &RecordFiles) -> usize {
    let RecordFiles { record, log } = live;
    let Some(page) = log.get(8..12).and_then(|bytes| bytes.first_chunk()) else { return 0 };
    let page = u32::from_be_bytes(*page) as usize;
    let frames = log.get(LOG_HEADER..).unwrap_or_default().chunks_exact(FRAME_HEADER + page);
    let mut bytes = 0;
    for (index, frame) in frames.enumerate() {
        let (head, content) = frame.split_at(FRAME_HEADER);
        let number = head.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)) as usize;
        let at = number.saturating_sub(1) * page;
        // By sectors: whoever is killed may have written half a page.
        let is_there = (0..page).step_by(SECTOR).any(|from| {
            let sector = content.get(from..from + SECTOR);
            let place = at + from..at + from + SECTOR;
            record.get(place.clone()) == sector && synced.get(place) != sector
        });
        if is_there {
            bytes = LOG_HEADER + (index + 1) * (FRAME_HEADER + page);
        }
    }
    bytes
}

/// Each sector as it was synced or as it was written later. The file ends at any length between.
fn torn(synced: &[u8], live: &[u8], random: &mut SplitMix) -> Vec<u8> {
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
    use super::{FRAME_HEADER, LOG_HEADER, RecordFiles, copied, left, torn};
    use crate::chaos::plan::PowerLoss;
    use crate::chaos::random::SplitMix;

    /// Bytes of a page, as in the header of the log.
    const PAGE: usize = 1024;

    /// A log with one frame for each pair of a page's number and what it is full of.
    fn log(frames: &[(u8, u8)]) -> Vec<u8> {
        let mut log = vec![0; LOG_HEADER];
        log[8..12].copy_from_slice(&1024_u32.to_be_bytes());
        for (number, content) in frames {
            let mut head = [0; FRAME_HEADER];
            head[3] = *number;
            log.extend_from_slice(&head);
            log.extend_from_slice(&[*content; PAGE]);
        }
        log
    }

    /// Two pages full of something.
    fn record(first: u8, second: u8) -> Vec<u8> {
        [[first; PAGE], [second; PAGE]].concat()
    }

    #[test]
    fn a_page_that_was_copied_was_in_the_log_before() {
        let of = |record: Vec<u8>, log: Vec<u8>| {
            copied(&self::record(1, 2), &RecordFiles { record, log })
        };
        let frames = || log(&[(1, 5), (2, 7), (1, 9)]);
        let two = LOG_HEADER + 2 * (FRAME_HEADER + PAGE);
        assert_eq!(of(record(1, 7), frames()), two);
        assert_eq!(of(record(1, 2), frames()), 0);
        assert_eq!(of(record(1, 7), b"too short".to_vec()), 0);
        let mut half = record(1, 2);
        half[PAGE + 512..].fill(7);
        assert_eq!(of(half, frames()), two);
    }

    #[test]
    fn no_record_is_ahead_of_its_log() {
        let live = RecordFiles { record: record(1, 7), log: log(&[(1, 5), (2, 7), (1, 9)]) };
        let second = LOG_HEADER + FRAME_HEADER + PAGE..LOG_HEADER + 2 * (FRAME_HEADER + PAGE);
        let (mut ahead, mut lost) = (0, 0);
        for seed in 0..200 {
            let synced = RecordFiles { record: record(1, 2), log: log(&[(1, 5)]) };
            let files = left(synced, &live, &PowerLoss::Torn(SplitMix::new(seed)));
            let is_whole = files.log.get(second.clone()) == live.log.get(second.clone());
            let is_ahead = files.record[PAGE..].contains(&7);
            assert!(is_whole || !is_ahead, "seed {seed}");
            ahead += usize::from(is_ahead);
            lost += usize::from(!is_whole);
        }
        assert!(ahead > 20 && lost > 20, "{ahead} {lost}");
    }

    #[test]
    fn a_torn_file_has_sectors_of_both_and_never_less_than_was_synced() {
        let (synced, live) = (vec![1; 1500], vec![2; 4000]);
        for seed in 0..200 {
            let mixed = torn(&synced, &live, &mut SplitMix::new(seed));
            assert!((1500..=4000).contains(&mixed.len()));
            assert!(mixed[..1500].iter().all(|byte| [1, 2].contains(byte)));
            assert!(mixed.iter().skip(1536).all(|byte| [0, 2].contains(byte)));
        }
    }
}
