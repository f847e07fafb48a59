//! Starts a daemon in the background for a face that finds none. The daemon outlives the face.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::record::state_dir;
use crate::exit::CommandFailure;
use crate::settings::{ConfigFile, GivenFlags};

/// Longest wait for a daemon that was started: it checks its record first.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// Log of a daemon that nobody started by hand, in its state folder.
const LOG_NAME: &str = "daemon.log";

/// Daemon to start: the settings file, and the place of its log.
#[derive(Debug, Clone)]
pub(super) struct DaemonLaunch {
    config: Option<PathBuf>,
    state: PathBuf,
}

impl DaemonLaunch {
    /// Finds out what a daemon with these settings would use.
    pub(super) fn of(file: &ConfigFile) -> Result<DaemonLaunch, CommandFailure> {
        let state = state_dir(&GivenFlags::from(file.clone()))?;
        Ok(DaemonLaunch { config: file.config.clone(), state })
    }

    /// File with the log of the daemon.
    pub(super) fn log(&self) -> PathBuf {
        self.state.join(LOG_NAME)
    }

    /// Starts the daemon and waits until it is ready. The error is a sentence.
    pub(super) fn start(&self) -> Result<(), String> {
        let cannot = |what: &str| format!("cannot start the daemon: {what}");
        let program = std::env::current_exe().map_err(|error| cannot(&error.to_string()))?;
        let log = open_log(&self.state, &self.log());
        let log = log.map_err(|error| cannot(&format!("`{}`: {error}", self.log().display())))?;
        let mut command = Command::new(program);
        command.arg("up");
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        // A group of its own: what ends the face, or its terminal, does not end the daemon.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).process_group(0);
        let mut child = command.spawn().map_err(|error| cannot(&error.to_string()))?;
        let (sender, ready) = channel();
        let stdout = child.stdout.take();
        let wait = move || {
            let line = stdout.and_then(|out| BufReader::new(out).lines().next()?.ok());
            let _ = sender.send(line.is_some_and(|line| line.starts_with("ready ")));
            // Nobody else learns of its end.
            let _ = child.wait();
        };
        std::thread::Builder::new().spawn(wait).map_err(|error| cannot(&error.to_string()))?;
        match ready.recv_timeout(READY_TIMEOUT) {
            Ok(true) => Ok(()),
            _ => Err(cannot(&format!("`{}` says why", self.log().display()))),
        }
    }
}

fn open_log(state: &Path, path: &Path) -> std::io::Result<File> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}
