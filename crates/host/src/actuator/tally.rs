//! `:tally`: one line in a file for each execution, so that fault tests can count them. Only in
//! builds with the feature `faults`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bridle_loop::{Action, Order, Outcome};
use bridle_sexp::Value;

use super::{Actuator, refuse_foreign_action};
use crate::io::{ActIo, HostFuture};

const ACTIONS: &[&str] = &["tally"];

/// Bytes of a file's name, as on every common file system.
const MAX_FILE_NAME_BYTES: usize = 255;

/// Counts in files of one directory.
pub(super) struct TallyActuator {
    directory: PathBuf,
}

impl TallyActuator {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Appends one line and waits until it is on the disk.
    fn append(directory: &Path, file: &str, line: &str) -> io::Result<()> {
        let path = directory.join(file);
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        // One write: a line is there as a whole or not at all.
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        // The name of a new file is on the disk once its directory is.
        File::open(directory)?.sync_all()
    }
}

impl Actuator for TallyActuator {
    fn actions(&self) -> &'static [&'static str] {
        ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            let Action::Tally { file } = order.action() else {
                return refuse_foreign_action(order, ACTIONS);
            };
            if !is_plain_name(file) {
                let text = "expected letters, digits, `-`, `_` and `.` inside";
                return Outcome::Failed(format!("file `{file}`, {text}").into());
            }
            let line = format!("{}-{}\n", io.context.session, io.context.effect.0);
            let (directory, name) = (self.directory.clone(), file.clone());
            let counted = io.run_blocking(move || Self::append(&directory, &name, &line)).await;
            match counted {
                Ok(Ok(())) => Outcome::Done(Value::Nil),
                Ok(Err(error)) => {
                    Outcome::Failed(format!("cannot count in `{file}`: {error}").into())
                }
                Err(_) => Outcome::UnknownOutcome,
            }
        })
    }
}

/// A name that stays inside the directory and shows up in a listing.
fn is_plain_name(file: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    !file.is_empty()
        && file.len() <= MAX_FILE_NAME_BYTES
        && !file.starts_with('.')
        && file.bytes().all(is_plain)
}
