//! The request of a run: what is started, what it may see, write and reach, and how much of
//! everything. Made by the host from what was decided; checked here before anything starts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::JailError;
use crate::layer::JailPromise;
use crate::proxy::HostRule;

/// Most arguments, and bytes of them together, that a request may have.
const MAX_ARGUMENTS: usize = 4_096;
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// Most bytes of a script, and of what is fed to stdin.
const MAX_SCRIPT_BYTES: usize = 100 << 10;
const MAX_STDIN_BYTES: usize = 16 << 20;

/// Most folders and hidden paths of a request.
const MAX_ROOTS: usize = 256;

/// Program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JailCommand {
    /// Program and arguments; the program is looked up in the `PATH` of the jail.
    Argv(Vec<OsString>),
    /// Text for `/bin/sh`, exactly as it was judged.
    Script(String),
}

/// Standard input of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChildStdin {
    /// Nothing to read.
    #[default]
    Empty,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Bytes that come while it runs: see [`JailedChild::take_input`](crate::JailedChild::take_input).
    Open,
}

/// Network of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NetworkGrant {
    /// No network; inside *full*, a loopback of its own.
    #[default]
    Off,
    /// These hosts, through the proxy.
    Hosts(Vec<HostRule>),
    /// Any address over TCP; only where the layer cannot know hosts.
    Open,
}

/// Limits of each process of a run, by rlimit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processes and threads beside those that the user has already.
    pub processes: u64,
    /// Bytes of private memory of one process.
    pub memory_bytes: u64,
    /// Bytes of the largest file.
    pub file_bytes: u64,
    /// Open files.
    pub open_files: u64,
    /// Seconds of processor time of one process.
    pub cpu_seconds: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        ResourceLimits {
            processes: 512,
            memory_bytes: 8 << 30,
            file_bytes: 16 << 30,
            open_files: 4_096,
            cpu_seconds: 3_600,
        }
    }
}

/// Request of one run.
#[derive(Debug, Clone)]
pub struct JailSpec {
    /// Program to run.
    pub command: JailCommand,
    /// Folder to start in, as the user names it: the jail translates it for a stage elsewhere.
    pub cwd: PathBuf,
    /// Variables beside the clean ones; they win.
    pub env: BTreeMap<OsString, OsString>,
    /// Standard input.
    pub stdin: ChildStdin,
    /// Folders and files that may be read, beside those of the system.
    pub read_roots: Vec<PathBuf>,
    /// Folders that may be written in place, unstaged; granted one by one.
    pub write_roots: Vec<PathBuf>,
    /// Paths that stay unreadable although a root has them: state, policy, skills, secrets.
    pub hidden: Vec<PathBuf>,
    /// Network of the run.
    pub network: NetworkGrant,
    /// Limits of each process.
    pub limits: ResourceLimits,
    /// Time by the wall until everything is killed.
    pub deadline: Duration,
    /// Bytes of stdout and stderr together that are kept; the rest is counted and thrown away.
    pub output_bytes: u64,
    /// Promises without which it must not run.
    pub demands: Vec<JailPromise>,
}

impl JailSpec {
    /// Request with the default limits, no network and nothing to write.
    #[must_use]
    pub fn new(command: JailCommand, cwd: impl Into<PathBuf>) -> JailSpec {
        JailSpec {
            command,
            cwd: cwd.into(),
            env: BTreeMap::new(),
            stdin: ChildStdin::Empty,
            read_roots: Vec::new(),
            write_roots: Vec::new(),
            hidden: Vec::new(),
            network: NetworkGrant::Off,
            limits: ResourceLimits::default(),
            deadline: Duration::from_secs(120),
            output_bytes: 4 << 20,
            demands: Vec::new(),
        }
    }

    /// Program and arguments, a script as what `/bin/sh` gets.
    pub(crate) fn argv(&self) -> Vec<OsString> {
        match &self.command {
            JailCommand::Argv(argv) => argv.clone(),
            JailCommand::Script(text) => {
                vec!["/bin/sh".into(), "-c".into(), text.into()]
            }
        }
    }

    /// Checks what can be checked without the system.
    ///
    /// # Errors
    ///
    /// A request with no program, a path that is not absolute or has `..`, or something above its
    /// limit is refused, and the error names it.
    pub fn check(&self) -> Result<(), JailError> {
        let invalid = |what: String| Err(JailError::InvalidSpec(what));
        let argv = self.argv();
        if argv.first().is_none_or(|program| program.is_empty()) {
            return invalid("the program is empty".into());
        }
        let bytes: usize = argv.iter().map(|word| word.len()).sum();
        let has_nul =
            |word: &OsString| std::os::unix::ffi::OsStrExt::as_bytes(word.as_os_str()).contains(&0);
        if argv.len() > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES {
            return invalid(format!(
                "arguments are above {MAX_ARGUMENTS} or {MAX_ARGUMENT_BYTES} bytes"
            ));
        }
        if argv.iter().any(has_nul) || self.env.iter().any(|(k, v)| has_nul(k) || has_nul(v)) {
            return invalid("a NUL byte in an argument or a variable".into());
        }
        if let JailCommand::Script(text) = &self.command
            && text.len() > MAX_SCRIPT_BYTES
        {
            return invalid(format!("the script is above {MAX_SCRIPT_BYTES} bytes"));
        }
        if let ChildStdin::Bytes(bytes) = &self.stdin
            && bytes.len() > MAX_STDIN_BYTES
        {
            return invalid(format!("stdin is above {MAX_STDIN_BYTES} bytes"));
        }
        let roots = [&self.read_roots, &self.write_roots, &self.hidden];
        if roots.iter().any(|list| list.len() > MAX_ROOTS) {
            return invalid(format!("more than {MAX_ROOTS} folders"));
        }
        for path in roots.into_iter().flatten().chain([&self.cwd]) {
            if !is_plain(path) {
                return invalid(format!(
                    "`{}` is not an absolute path without `..`",
                    path.display()
                ));
            }
        }
        Ok(())
    }
}

/// Absolute, without `..`, `.` and NUL.
pub(crate) fn is_plain(path: &Path) -> bool {
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    path.is_absolute()
        && !bytes.contains(&0)
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}
