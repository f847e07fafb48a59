//! Output of a run: shown piece by piece, kept up to a cap, cut in the outcome and whole in a file.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use bridle_host::{ActChannel, ActIo};
use bridle_jail::{OutputPiece, OutputStream};

use crate::error::EffectError;
use crate::workspace::Workspace;

/// Bytes of output that an outcome has: its beginning and its end, where errors are.
const HEAD_BYTES: usize = 12 << 10;
const TAIL_BYTES: usize = 20 << 10;

/// Age from which kept outputs are removed.
const MAX_AGE_SECONDS: u64 = 7 * 24 * 3600;

/// Output of one run, both streams in the order in which they came.
pub(super) struct RunOutput<'i> {
    io: &'i ActIo,
    kept: Vec<u8>,
    /// Beginning of a character whose rest has not come, of each stream.
    unfinished: [Vec<u8>; 2],
}

/// Output as an outcome has it.
pub(super) struct ToldOutput {
    pub(super) text: String,
    /// File with all that was kept, when the text has not all of it.
    pub(super) file: Option<PathBuf>,
}

impl<'i> RunOutput<'i> {
    pub(super) fn new(io: &'i ActIo) -> Self {
        Self { io, kept: Vec::new(), unfinished: Default::default() }
    }

    /// Takes a piece.
    pub(super) fn take(&mut self, piece: &OutputPiece) {
        let unfinished = &mut self.unfinished[usize::from(piece.stream == OutputStream::Stderr)];
        unfinished.extend_from_slice(&piece.bytes);
        let end = whole_characters(unfinished);
        let whole: Vec<u8> = unfinished.drain(..end).collect();
        self.io.show(ActChannel::Output, &plain(&whole));
        self.kept.extend(whole);
    }

    /// Ends it: the text for the outcome, and a file for what is longer.
    pub(super) fn told(mut self, workspace: &Workspace) -> Result<ToldOutput, EffectError> {
        for rest in std::mem::take(&mut self.unfinished) {
            self.kept.extend(rest);
        }
        let text = plain(&self.kept);
        if text.len() <= HEAD_BYTES + TAIL_BYTES {
            return Ok(ToldOutput { text, file: None });
        }
        let file = keep(workspace, &text)?;
        let (mut head, mut tail) = (HEAD_BYTES, text.len() - TAIL_BYTES);
        while !text.is_char_boundary(head) {
            head -= 1;
        }
        while !text.is_char_boundary(tail) {
            tail += 1;
        }
        let left_out = tail - head;
        let text = format!("{}\n[{left_out} bytes left out]\n{}", &text[..head], &text[tail..]);
        Ok(ToldOutput { text, file: Some(file) })
    }
}

/// Bytes at the beginning that are whole characters, or none at all.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => bytes.len(),
    }
}

/// Text of bytes: no NUL, and a sign in the place of what is none.
fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// Keeps a text by its hash.
fn keep(workspace: &Workspace, text: &str) -> Result<PathBuf, EffectError> {
    let folder = workspace.outputs();
    let folder = fs::canonicalize(&folder).map_err(EffectError::io("find", &folder))?;
    remove_old(&folder);
    let path = folder.join(format!("{}.txt", &blake3::hash(text.as_bytes()).to_hex()[..32]));
    let mut options = fs::OpenOptions::new();
    let made = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(EffectError::io("write", &path))?;
    Ok(path)
}

fn remove_old(folder: &std::path::Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age =
            entry.metadata().and_then(|it| it.modified()).ok().and_then(|it| it.elapsed().ok());
        if age.is_some_and(|age| age.as_secs() > MAX_AGE_SECONDS) {
            // What cannot be removed now is tried again with the next output.
            let _ = fs::remove_file(entry.path());
        }
    }
}
