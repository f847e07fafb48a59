//! Files of a new Org folder that are about models: `models.org` with examples, all switched off, and `agent.org` with the
//! user's instructions. Written by `bridle init` where they are not there.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use bridle_model_host::MODELS_FILE;
use bridle_models::DEFAULT_MODELS_FILE;

use crate::exit::{BridleExit, CommandFailure};

/// Name of the file of instructions.
const AGENT_FILE: &str = "agent.org";

/// Its first text. All of it goes with every question, so it is short.
const DEFAULT_AGENT_FILE: &str = "\
#+title: Instructions
# The model is told all of this with every question; each word costs. Only you change this file.
* About me
# Name, work, languages: what every answer should know.
* Answers
Be brief. Say what you do not know.
";

/// Writes the files that are not there; returns their names. What is there, a link too, stays as it is.
pub(crate) fn write_starters(folder: &Path) -> Result<Vec<&'static str>, CommandFailure> {
    let mut written = Vec::new();
    for (name, text) in [(MODELS_FILE, DEFAULT_MODELS_FILE), (AGENT_FILE, DEFAULT_AGENT_FILE)] {
        let path = folder.join(name);
        let mut options = std::fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(&path);
        let done = opened.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        match done {
            Ok(()) => written.push(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let what = format!("cannot write `{}`", path.display());
                return Err(CommandFailure::because(BridleExit::CannotCreate, what, &error)
                    .hint("check who owns the folder, and the free disk space"));
            }
        }
    }
    Ok(written)
}
