//! A run from outside: the plan is handed to a supervisor, pieces of output come back, and whoever
//! waits gets the end. Dropping a child that nobody waited for cancels it.

#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::error::JailError;
use crate::layer::{JailCapabilities, JailLayer};
use crate::probe::{HelperProgram, probe};
use crate::proxy::HostRefusal;
use crate::spec::JailSpec;
use crate::stage::{Stage, make_private_folder};
use crate::tree;

/// Pieces of output that wait for their reader; then the program waits, too.
#[cfg(target_os = "linux")]
const PIECES_IN_FLIGHT: usize = 64;

/// Stream of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Bytes that a program wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPiece {
    /// Stream that they were written to.
    pub stream: OutputStream,
    /// Place of the first byte in that stream.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// End of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JailEnd {
    /// Ended by itself with this code.
    Exited(i32),
    /// Ended by this signal.
    Signaled(i32),
    /// Killed at its deadline.
    TimedOut,
    /// Killed by a cancel.
    Cancelled,
}

/// Outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JailOutcome {
    /// End of the program.
    pub end: JailEnd,
    /// Layer that was in force.
    pub layer: JailLayer,
    /// Bytes written to stdout and stderr, those thrown away included.
    pub written: [u64; 2],
    /// Bytes thrown away, above the cap.
    pub discarded: u64,
    /// Hosts that were asked for and refused.
    pub refused_hosts: Vec<HostRefusal>,
}

/// Maker of runs: the helper, the layer in force and a folder for what runs need.
#[derive(Debug)]
pub struct Jail {
    helper: HelperProgram,
    scratch: PathBuf,
    capabilities: JailCapabilities,
    /// Uid and gid of programs when the daemon is root.
    identity: (u32, u32),
}

/// Uid and gid for programs of a daemon of root: high, and no account's.
const UNUSED_ID: u32 = 61_111;

impl Jail {
    /// Probes the system. `scratch` belongs to this daemon alone: leftovers of dead runs in it are
    /// removed.
    ///
    /// # Errors
    ///
    /// A folder that cannot be used, and a helper that does not answer, are errors.
    pub fn new(helper: HelperProgram, scratch: impl Into<PathBuf>) -> Result<Jail, JailError> {
        let scratch = scratch.into();
        make_private_folder(&scratch)?;
        let scratch = fs::canonicalize(&scratch).map_err(JailError::io("find", &scratch))?;
        for entry in fs::read_dir(&scratch).map_err(JailError::io("list", &scratch))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("run-") {
                tree::remove_tree(&entry.path())?;
            }
        }
        let folder = RunFolder::name(&scratch);
        make_private_folder(folder.path())?;
        let capabilities = probe(&helper, folder.path())?;
        let identity = (UNUSED_ID, UNUSED_ID);
        Ok(Jail { helper, scratch, capabilities, identity })
    }

    /// Layer in force, with its promises.
    #[must_use]
    pub fn capabilities(&self) -> &JailCapabilities {
        &self.capabilities
    }

    /// Uid and gid that programs get, when the daemon is root.
    #[must_use]
    pub fn identity(&self) -> Option<(u32, u32)> {
        (self.capabilities.layer == Some(JailLayer::Root)).then_some(self.identity)
    }

    /// Starts a program, over a stage if it may change the project.
    ///
    /// # Errors
    ///
    /// A request that is invalid, or demands what the layer does not keep, and a jail that cannot be
    /// built are refused; then nothing has run.
    #[cfg(target_os = "linux")]
    pub fn spawn(&self, spec: &JailSpec, stage: Option<&Stage>) -> Result<JailedChild, JailError> {
        spec.check()?;
        let layer = self
            .capabilities
            .layer
            .ok_or_else(|| JailError::NoLayer { missing: self.capabilities.missing() })?;
        for &promise in &spec.demands {
            self.require(layer, promise)?;
        }
        if matches!(spec.network, crate::spec::NetworkGrant::Hosts(_)) {
            self.require(layer, crate::layer::JailPromise::HostsByName)?;
        }
        let folder = RunFolder::name(&self.scratch);
        let lock = stage.map(Stage::lock).transpose()?;
        let identity = (layer == JailLayer::Root).then_some(self.identity);
        // Each run mounts over it in a namespace of its own: one serves all.
        let base = self.scratch.join("base");
        make_private_folder(&base)?;
        let folders = plan::RunFolders { base, own: folder.path() };
        let plan = plan::make(spec, stage, &self.capabilities, identity, &folders)?;
        watch::start(self, spec, plan, folder, lock, layer)
    }

    /// Refuses: there is no jail but on Linux.
    ///
    /// # Errors
    ///
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub fn spawn(
        &self,
        _spec: &JailSpec,
        _stage: Option<&Stage>,
    ) -> Result<JailedChild, JailError> {
        Err(JailError::NoLayer { missing: self.capabilities.missing() })
    }

    #[cfg(target_os = "linux")]
    fn require(
        &self,
        layer: JailLayer,
        promise: crate::layer::JailPromise,
    ) -> Result<(), JailError> {
        match self.capabilities.state(promise) {
            Some(state) if state.held => Ok(()),
            state => {
                let because = state.map(|it| it.because.clone()).unwrap_or_default();
                Err(JailError::PromiseNotHeld { layer, promise, because })
            }
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn helper(&self) -> &HelperProgram {
        &self.helper
    }
}

/// Folder of one run, made by whoever needs it and removed with the run.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    fn name(scratch: &Path) -> RunFolder {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNTER: AtomicU64 = AtomicU64::new(0);

        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = scratch.join(format!("run-{}-{count}", std::process::id()));
        RunFolder { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What stays is removed at the next start.
        let _ = tree::remove_tree(&self.path);
    }
}

/// Helper that was just started.
#[cfg(target_os = "linux")]
pub(crate) struct StartedHelper {
    pub(crate) child: Child,
    pub(crate) line: crate::control::ControlChannel,
    pub(crate) cancel: std::os::unix::net::UnixStream,
}

/// Starts a helper with pipes for its output, and the channel as its stdin.
#[cfg(target_os = "linux")]
pub(crate) fn start_helper(helper: &HelperProgram) -> Result<StartedHelper, JailError> {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt as _;

    let (ours, theirs) = UnixStream::pair().map_err(JailError::Channel)?;
    let mut command = Command::new(helper.path());
    command
        .arg("__jail")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Away from the signals that a terminal sends to the daemon.
        .process_group(0);
    let child = command.spawn().map_err(|source| JailError::Setup {
        step: "start of the helper".into(),
        reason: source.to_string(),
    })?;
    let cancel = ours.try_clone().map_err(JailError::Channel)?;
    Ok(StartedHelper { child, line: crate::control::ControlChannel::new(ours), cancel })
}

/// Program that runs in the jail.
#[derive(Debug)]
pub struct JailedChild {
    pieces: Receiver<OutputPiece>,
    end: Receiver<Result<JailOutcome, JailError>>,
    /// Line to the supervisor: a byte cancels, its end does, too.
    cancel: std::os::unix::net::UnixStream,
    input: Option<ChildInput>,
}

/// Standard input of a program, while it runs. Dropped, it ends.
#[derive(Debug)]
pub struct ChildInput(std::os::fd::OwnedFd);

impl ChildInput {
    /// Writes all bytes, as the program reads them.
    ///
    /// # Errors
    ///
    /// The program does not read them in time, or has ended.
    #[cfg(target_os = "linux")]
    pub fn write_until(&mut self, mut bytes: &[u8], deadline: Instant) -> std::io::Result<()> {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::io::Errno;

        while !bytes.is_empty() {
            match rustix::io::write(&self.0, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let left = rustix::event::Timespec::try_from(left)
                        .map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
                    let mut ready = [PollFd::new(&self.0, PollFlags::OUT)];
                    if poll(&mut ready, Some(&left))? == 0 {
                        return Err(std::io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Refuses: there is no jail but on Linux.
    ///
    /// # Errors
    ///
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub fn write_until(&mut self, _: &[u8], _: Instant) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

impl JailedChild {
    /// Takes the way to its standard input, if that was asked for; it ends when this is dropped.
    pub fn take_input(&mut self) -> Option<ChildInput> {
        self.input.take()
    }

    /// Next piece of output; `None` when there will be none, or not within the time.
    #[must_use]
    pub fn next_piece(&self, patience: Duration) -> Option<OutputPiece> {
        self.pieces.recv_timeout(patience).ok()
    }

    /// Kills everything that was started; the end says so.
    pub fn cancel(&self) {
        use std::io::Write as _;
        // Gone already: then there is nothing to cancel.
        let _ = (&self.cancel).write_all(b"c");
    }

    /// Waits for the end and hands each piece on; asked at every piece and every `beat`, `goes_on` says
    /// when to kill everything.
    ///
    /// # Errors
    ///
    /// Those of [`JailedChild::wait`].
    pub fn wait_showing(
        self,
        beat: Duration,
        mut goes_on: impl FnMut() -> bool,
        mut show: impl FnMut(OutputPiece),
    ) -> Result<JailOutcome, JailError> {
        use std::sync::mpsc::RecvTimeoutError;

        loop {
            match self.pieces.recv_timeout(beat) {
                Ok(piece) => show(piece),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.wait(),
            }
            if !goes_on() {
                self.cancel();
                while let Ok(piece) = self.pieces.recv() {
                    show(piece);
                }
                return self.wait();
            }
        }
    }

    /// Waits for the end, throwing away output that nobody took.
    ///
    /// # Errors
    ///
    /// A jail that could not be built and a program that could not be started are errors.
    pub fn wait(self) -> Result<JailOutcome, JailError> {
        self.wait_with_output().map(|(outcome, _)| outcome)
    }

    /// Waits for the end and collects the output that is kept, by stream.
    ///
    /// # Errors
    ///
    /// Those of [`JailedChild::wait`].
    pub fn wait_with_output(self) -> Result<(JailOutcome, [Vec<u8>; 2]), JailError> {
        let mut output = [Vec::new(), Vec::new()];
        while let Ok(piece) = self.pieces.recv() {
            output[usize::from(piece.stream == OutputStream::Stderr)].extend(piece.bytes);
        }
        let lost = || JailError::Channel(std::io::Error::other("the watch of the run is gone"));
        let outcome = self.end.recv().map_err(|_| lost())??;
        Ok((outcome, output))
    }

    /// Waits for the end until a deadline; cancels and waits on when it passes.
    ///
    /// # Errors
    ///
    /// Those of [`JailedChild::wait`].
    pub fn wait_until(self, deadline: Instant) -> Result<JailOutcome, JailError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(_) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return self.wait(),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    self.cancel();
                    return self.wait();
                }
            }
        }
    }
}

impl Drop for JailedChild {
    fn drop(&mut self) {
        self.cancel();
    }
}
