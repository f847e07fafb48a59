//! A text copy of the record, for `grep` and editors: the lines of `bridle log`, appended as they
//! come. Stopped and started again, it goes on where the file ends.
//!
//! The copy is not the record: what is forgotten later stays in it.

use bridle_loop::RecordKind;
use bridle_record::RecordNumber;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::list::{RecordFormat, write_record, write_start};
use super::record_source::kind_of;
use super::{HistoryError, PAGE_RECORDS, RecordHistory, RecordSelection};

/// Bytes read at a time while the last line is looked for, from the end.
const READ_STEP_BYTES: u64 = 64 << 10;

/// Longest line looked for, in bytes: four times the largest message, for escapes.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// A copy that is being kept.
#[derive(Debug)]
pub struct RecordMirror {
    file: File,
    path: PathBuf,
    /// Number of the last record in the file.
    last: u64,
}

impl RecordMirror {
    /// Opens the copy, or begins one (mode 0600). Half a line at its end, which a crash may leave, is
    /// taken away.
    ///
    /// # Errors
    /// The file cannot be used, is being kept by somebody else, or is no copy of this record.
    pub fn open(path: &Path, history: &RecordHistory) -> Result<RecordMirror, HistoryError> {
        let failed = |source| HistoryError::Mirror { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(HistoryError::MirrorTaken { path: path.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let end = MirrorEnd::of(&mut file).map_err(failed)?;
        let foreign = |why| HistoryError::NotAMirror { path: path.to_owned(), why };
        let last = match &end.line {
            None => 0,
            Some(line) => place_of(line, history)?.map_err(foreign)?,
        };
        if !is_begun(&end.rest) {
            return Err(foreign("it ends with something else"));
        }
        // Only now: nothing of a file that is no copy is touched.
        file.set_len(end.size).map_err(failed)?;
        Ok(RecordMirror { file, path: path.to_owned(), last })
    }

    /// Number of the last record in the file.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Appends the next page; returns how many records that were, none when it is up to date.
    ///
    /// # Errors
    /// The record cannot be read, or the file cannot be written.
    pub fn catch_up(&mut self, history: &RecordHistory) -> Result<usize, HistoryError> {
        let page = history.page(self.last, &RecordSelection::default(), PAGE_RECORDS)?;
        let Some(end) = page.last() else { return Ok(0) };
        let mut text = String::new();
        for record in &page {
            write_record(record, RecordFormat::Emacs, &mut text);
            text.push('\n');
        }
        // Whole lines in one write: who reads meanwhile sees no half of one.
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|source| HistoryError::Mirror { path: self.path.clone(), source })?;
        self.last = end.number.0;
        Ok(page.len())
    }
}

/// Beginning of every line.
const LINE_START: &str = "(:number ";

/// The end of a file.
struct MirrorEnd {
    /// The last whole line.
    line: Option<String>,
    /// Size of the file up to there, its newline included.
    size: u64,
    /// The first bytes of what stands behind it.
    rest: Vec<u8>,
}

impl MirrorEnd {
    fn of(file: &mut File) -> io::Result<MirrorEnd> {
        let whole = file.seek(SeekFrom::End(0))?;
        let newline = newline_before(file, whole)?;
        let size = newline.map_or(0, |newline| newline + 1);
        let line = match newline {
            None => None,
            Some(end) => {
                let start = newline_before(file, end)?.map_or(0, |newline| newline + 1);
                Some(String::from_utf8_lossy(&piece(file, start, end)?).into_owned())
            }
        };
        let rest = piece(file, size, whole.min(size + LINE_START.len() as u64))?;
        Ok(MirrorEnd { line, size, rest })
    }
}

/// Whether this may be the beginning of a line that was never finished.
fn is_begun(rest: &[u8]) -> bool {
    LINE_START.as_bytes().starts_with(rest)
}

fn piece(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Place of the last newline before `end`.
fn newline_before(file: &mut File, end: u64) -> io::Result<Option<u64>> {
    let mut high = end;
    while high > 0 && end - high < MAX_LINE_BYTES {
        let low = high.saturating_sub(READ_STEP_BYTES);
        let chunk = piece(file, low, high)?;
        if let Some(at) = chunk.iter().rposition(|&byte| byte == b'\n') {
            return Ok(Some(low + at as u64));
        }
        high = low;
    }
    if high > 0 {
        return Err(io::Error::other(format!("no line end within {MAX_LINE_BYTES} bytes")));
    }
    Ok(None)
}

/// The number of the record that this line is a copy of, or why it is none.
fn place_of(
    line: &str,
    history: &RecordHistory,
) -> Result<Result<u64, &'static str>, HistoryError> {
    let number =
        line.strip_prefix(LINE_START).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    let Some(number) = number else {
        return Ok(Err("its last line is no record"));
    };
    let Some(record) = history.source.record(RecordNumber(number))? else {
        return Ok(Err("its last line has a number that is not here"));
    };
    if kind_of(&record) == Some(RecordKind::Compacted) {
        // What the line says is gone, with others that the copy may still have.
        return Ok(Ok(number));
    }
    let mut start = String::new();
    write_start(&record, RecordFormat::Emacs, &mut start);
    // The body may have been forgotten since.
    Ok(if line.starts_with(&start) { Ok(number) } else { Err("its last line differs") })
}
