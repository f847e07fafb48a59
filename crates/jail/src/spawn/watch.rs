//! The watch of one run: a thread that reads both streams and the supervisor's reports, caps what is
//! kept, and says the end when nothing of the run is left.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout};
use std::sync::mpsc::{SyncSender, sync_channel};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::MemfdFlags;
use rustix::pipe::PipeFlags;

use super::{
    ChildInput, Jail, JailEnd, JailOutcome, JailedChild, OutputPiece, OutputStream,
    PIECES_IN_FLIGHT, RunFolder, StartedHelper, start_helper,
};
use crate::control::{ControlChannel, HelperOrder, HelperReport, RunEnd, RunPlan};
use crate::error::JailError;
use crate::layer::JailLayer;
use crate::proxy::{HostProxy, HostRule};
use crate::spec::{ChildStdin, JailSpec, NetworkGrant};
use crate::stage::StageLock;

/// Bytes that are read from a stream at once.
const READ_BYTES: usize = 16 << 10;

pub(super) fn start(
    jail: &Jail,
    spec: &JailSpec,
    plan: RunPlan,
    folder: RunFolder,
    lock: Option<StageLock>,
    layer: JailLayer,
) -> Result<JailedChild, JailError> {
    let (stdin, input) = stdin_file(&spec.stdin).map_err(JailError::Channel)?;
    let StartedHelper { mut child, mut line, cancel } = start_helper(jail.helper())?;
    let program = plan.argv[0].to_string_lossy().into_owned();
    let order = HelperOrder::Run(Box::new(plan));
    if let Err(error) = line.send(&order, Some(stdin.as_fd())) {
        // It ends by itself when the line breaks.
        drop((line, cancel));
        let _ = child.wait();
        return Err(JailError::Channel(error));
    }
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let stderr = child.stderr.take().expect("stderr is a pipe");
    let rules = match &spec.network {
        NetworkGrant::Hosts(rules) => rules.clone(),
        NetworkGrant::Off | NetworkGrant::Open => Vec::new(),
    };
    let (piece_sender, pieces) = sync_channel(PIECES_IN_FLIGHT);
    let (end_sender, end) = sync_channel(1);
    let room = spec.output_bytes;
    std::thread::Builder::new()
        .name("jail watch".into())
        .spawn(move || {
            let watch = RunWatch {
                line,
                streams: [Some(Stream::Out(stdout)), Some(Stream::Err(stderr))],
                pieces: Some(piece_sender),
                room,
                written: [0; 2],
                discarded: 0,
                rules,
                proxy: None,
                result: None,
                program,
            };
            let outcome = watch.run(layer, child);
            // The run is over before anybody hears of it: stage and folder are free.
            drop((lock, folder));
            let _ = end_sender.send(outcome);
        })
        .map_err(JailError::Channel)?;
    Ok(JailedChild { pieces, end, cancel, input })
}

/// Standard input as a file that is read from its start, or the end of a pipe and the other one.
fn stdin_file(stdin: &ChildStdin) -> io::Result<(OwnedFd, Option<ChildInput>)> {
    match stdin {
        ChildStdin::Empty => Ok((File::open("/dev/null")?.into(), None)),
        ChildStdin::Open => {
            let (theirs, ours) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&ours, true)?;
            Ok((theirs, Some(ChildInput(ours))))
        }
        ChildStdin::Bytes(bytes) => {
            let memory = rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC)?;
            let mut file = File::from(memory);
            file.write_all(bytes)?;
            file.rewind()?;
            Ok((file.into(), None))
        }
    }
}

enum Stream {
    Out(ChildStdout),
    Err(ChildStderr),
}

impl Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Out(stream) => stream.read(into),
            Stream::Err(stream) => stream.read(into),
        }
    }

    fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Stream::Out(stream) => stream.as_fd(),
            Stream::Err(stream) => stream.as_fd(),
        }
    }
}

struct RunWatch {
    line: ControlChannel,
    streams: [Option<Stream>; 2],
    /// Gone when nobody listens any more; then everything is thrown away.
    pieces: Option<SyncSender<OutputPiece>>,
    room: u64,
    written: [u64; 2],
    discarded: u64,
    rules: Vec<HostRule>,
    proxy: Option<HostProxy>,
    result: Option<Result<JailEnd, JailError>>,
    program: String,
}

impl RunWatch {
    fn run(mut self, layer: JailLayer, mut child: Child) -> Result<JailOutcome, JailError> {
        let mut is_line_open = true;
        while is_line_open || self.streams.iter().any(Option::is_some) {
            let ready = match self.wait_for_any(is_line_open) {
                Ok(ready) => ready,
                Err(error) => {
                    self.result = Some(Err(JailError::Channel(error)));
                    break;
                }
            };
            for (index, _) in ready.iter().enumerate().take(2).filter(|(_, is_ready)| **is_ready) {
                self.take_output(index);
            }
            if ready[2] {
                is_line_open = self.take_report();
            }
        }
        drop(self.line);
        let status = child.wait().map_err(JailError::Channel)?;
        self.pieces = None;
        let refused_hosts = self.proxy.take().map(HostProxy::stop).unwrap_or_default();
        let end = self.result.unwrap_or_else(|| {
            let what = format!("the supervisor ended without a word, {status}");
            Err(JailError::Channel(io::Error::other(what)))
        })?;
        let (written, discarded) = (self.written, self.discarded);
        Ok(JailOutcome { end, layer, written, discarded, refused_hosts })
    }

    fn wait_for_any(&self, is_line_open: bool) -> io::Result<[bool; 3]> {
        let mut polled = Vec::with_capacity(3);
        let mut names = Vec::with_capacity(3);
        for (index, stream) in self.streams.iter().enumerate() {
            if let Some(stream) = stream {
                polled.push(PollFd::from_borrowed_fd(stream.descriptor(), PollFlags::IN));
                names.push(index);
            }
        }
        if is_line_open {
            polled.push(PollFd::from_borrowed_fd(self.line.descriptor(), PollFlags::IN));
            names.push(2);
        }
        loop {
            match poll(&mut polled, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        let mut ready = [false; 3];
        for (name, it) in names.into_iter().zip(&polled) {
            ready[name] = !it.revents().is_empty();
        }
        Ok(ready)
    }

    fn take_output(&mut self, index: usize) {
        let Some(stream) = &mut self.streams[index] else { return };
        let mut bytes = vec![0; READ_BYTES];
        let read = match stream.read(&mut bytes) {
            Ok(0) | Err(_) => {
                self.streams[index] = None;
                return;
            }
            Ok(read) => read,
        };
        bytes.truncate(read);
        let offset = self.written[index];
        self.written[index] += read as u64;
        let kept = usize::try_from(self.room).map_or(read, |room| read.min(room));
        self.room -= kept as u64;
        self.discarded += (read - kept) as u64;
        bytes.truncate(kept);
        if kept == 0 {
            return;
        }
        let stream = if index == 0 { OutputStream::Stdout } else { OutputStream::Stderr };
        let piece = OutputPiece { stream, offset, bytes };
        if self.pieces.as_ref().is_some_and(|pieces| pieces.send(piece).is_err()) {
            self.pieces = None;
        }
    }

    /// Takes one report of the supervisor; `false` when the line is at its end.
    fn take_report(&mut self) -> bool {
        let Ok(Some(received)) = self.line.receive::<HelperReport>() else {
            return false;
        };
        let result = match received {
            (HelperReport::Listening, Some(listener)) => {
                if self.proxy.is_none() {
                    self.proxy = HostProxy::start(listener.into(), self.rules.clone()).ok();
                }
                return true;
            }
            (HelperReport::Started | HelperReport::Listening | HelperReport::Probed(_), _) => {
                return true;
            }
            (HelperReport::Refused { step, reason }, _) => Err(JailError::Setup { step, reason }),
            (HelperReport::NotStarted { reason }, _) => {
                Err(JailError::NotStarted { program: self.program.clone(), reason })
            }
            (HelperReport::Ended(end), _) => Ok(match end {
                RunEnd::Exited(code) => JailEnd::Exited(code),
                RunEnd::Signaled(signal) => JailEnd::Signaled(signal),
                RunEnd::TimedOut => JailEnd::TimedOut,
                RunEnd::Cancelled => JailEnd::Cancelled,
            }),
        };
        // A program that is not there is told first; the end of the helper that comes after it is not news.
        self.result.get_or_insert(result);
        true
    }
}
