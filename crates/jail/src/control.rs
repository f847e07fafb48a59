//! The channel between daemon, supervisor and inner helper: frames of JSON over a Unix socket, with
//! open files beside them, so that no descriptor is ever inherited. What comes from inside a jail is
//! hostile: frames are small, and at most one file comes with each.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::layer::KernelFacts;
use crate::spec::ResourceLimits;

/// Largest frame: arguments, environment and folders of one run.
const MAX_FRAME_BYTES: usize = 8 << 20;

/// Bytes of the length in front of a frame.
const LENGTH_BYTES: usize = 4;

/// Order to the supervisor, who hands it on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum HelperOrder {
    /// Try what the kernel can do.
    Probe {
        /// Empty folder to try mounts in.
        scratch: OsString,
    },
    /// Run a program.
    Run(Box<RunPlan>),
}

/// Everything that the inner helper does, in plain words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunPlan {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: OsString,
    /// Namespaces with a view of their own; `None` has Landlock and the filter alone.
    pub(crate) view: Option<ViewPlan>,
    /// Uid and gid that the program gets when the daemon is root.
    pub(crate) identity: Option<(u32, u32)>,
    /// Paths that Landlock lets be read, as they are inside the view.
    pub(crate) readable: Vec<OsString>,
    /// Paths that Landlock lets be written.
    pub(crate) writable: Vec<OsString>,
    pub(crate) sockets: SocketRule,
    pub(crate) limits: ResourceLimits,
    /// Milliseconds until everything is killed.
    pub(crate) deadline_ms: u64,
    pub(crate) landlock_abi: u32,
}

/// Sockets that the filter lets be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SocketRule {
    /// Local ones, in a network namespace.
    Own,
    /// The same, with a listener for the proxy, whose descriptor goes to the daemon.
    Proxy,
    /// None at all; a pair is not a socket that reaches anything.
    None,
    /// Connections over TCP.
    Tcp,
}

/// Mounts of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ViewPlan {
    /// Empty folder on which the new root is built.
    pub(crate) base: OsString,
    /// Made by an unprivileged user: needs a user namespace.
    pub(crate) user_namespace: bool,
    pub(crate) mounts: Vec<ViewMount>,
}

/// One mount, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ViewMount {
    /// Folder or file as it is.
    Bind { source: OsString, target: OsString, writable: bool },
    /// Folder that can be read, with sockets and pipes made inert.
    Inert { source: OsString, target: OsString },
    /// Folder with a layer of changes over it; `store` has `upper` and `work`.
    Overlay { lower: OsString, store: OsString, target: OsString },
    /// Path that must not be seen.
    Mask { target: OsString },
}

/// Report of a helper.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum HelperReport {
    /// Answer to a probe.
    Probed(KernelFacts),
    /// Listener of the proxy, with its descriptor.
    Listening,
    /// Jail stands; the program is being started.
    Started,
    /// Jail could not be built; nothing ran.
    Refused { step: String, reason: String },
    /// Jail stands, the program is not there or cannot be executed.
    NotStarted { reason: String },
    /// End of the run.
    Ended(RunEnd),
}

/// End of a run, as the supervisor saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunEnd {
    Exited(i32),
    Signaled(i32),
    TimedOut,
    Cancelled,
}

/// One end of the channel.
pub(crate) struct ControlChannel {
    stream: UnixStream,
}

impl ControlChannel {
    pub(crate) fn new(stream: UnixStream) -> ControlChannel {
        ControlChannel { stream }
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Sends a frame, with at most one file.
    pub(crate) fn send<T: Serialize>(
        &mut self,
        value: &T,
        file: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let body = serde_json::to_vec(value)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
        match file {
            None => self.stream.write_all(&length)?,
            Some(file) => {
                let files = [file];
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                ancillary.push(SendAncillaryMessage::ScmRights(&files));
                let parts = [IoSlice::new(&length)];
                let sent = rustix::net::sendmsg(
                    &self.stream,
                    &parts,
                    &mut ancillary,
                    SendFlags::NOSIGNAL,
                )?;
                self.stream.write_all(&length[sent..])?;
            }
        }
        self.stream.write_all(&body)
    }

    /// Receives a frame and its file; `None` when the other end is gone.
    pub(crate) fn receive<T: DeserializeOwned>(
        &mut self,
    ) -> io::Result<Option<(T, Option<OwnedFd>)>> {
        let mut length = [0_u8; LENGTH_BYTES];
        let mut file = None;
        let mut filled = 0;
        while filled < LENGTH_BYTES {
            let read = self.receive_part(&mut length[filled..], &mut file)?;
            if read == 0 {
                return Ok(None);
            }
            filled += read;
        }
        let bytes = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
        if bytes > MAX_FRAME_BYTES {
            return Err(io::Error::other("a frame above its limit"));
        }
        let mut body = Vec::new();
        let wanted = u64::try_from(bytes).map_err(io::Error::other)?;
        (&mut self.stream).take(wanted).read_to_end(&mut body)?;
        if body.len() < bytes {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&body)?, file)))
    }

    /// Reads some bytes; keeps the first file that comes with them, closes others.
    fn receive_part(&mut self, into: &mut [u8], file: &mut Option<OwnedFd>) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(into)];
        let got = loop {
            let flags = RecvFlags::CMSG_CLOEXEC;
            match rustix::net::recvmsg(&self.stream, &mut parts, &mut ancillary, flags) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?,
            }
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                for received in files {
                    file.get_or_insert(received);
                }
            }
        }
        Ok(got.bytes)
    }
}
