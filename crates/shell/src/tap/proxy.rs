//! The tap between clients and a daemon: two threads a connection, one for each direction, each
//! showing what it received and passing it on.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::show::{FrameDisplay, TapOutput, TapSide};
use crate::address::DaemonAddress;
use crate::client::{ANSWER_TIMEOUT, ClientStream};
use crate::error::ShellError;
use crate::frame;
use crate::frames::{FrameItem, FrameStream, StreamStop};

/// Clients at a time. A tap is for looking; two threads each is no way to serve many.
const MAX_CLIENTS: usize = 64;

/// Shared by all threads: one line at a time reaches the output.
type Shared = Arc<Mutex<FrameDisplay<Box<dyn Write + Send>>>>;

/// Listens, and connects each client to the first daemon that answers. Does not return by itself.
///
/// `ready` is told the address once clients can connect.
///
/// # Errors
///
/// The address cannot be listened on.
pub fn run(
    listen: &DaemonAddress,
    daemons: &[DaemonAddress],
    options: &frame::FrameOptions,
    output: TapOutput,
    out: Box<dyn Write + Send>,
    ready: impl FnOnce(&DaemonAddress),
) -> Result<(), ShellError> {
    let failed = |error| ShellError::Listen { addr: listen.clone(), error };
    let listener = TapListener::bind(listen).map_err(failed)?;
    ready(&listener.addr(listen).map_err(failed)?);
    let show: Shared = Arc::new(Mutex::new(FrameDisplay::new(output, out)));
    let clients = Arc::new(AtomicUsize::new(0));
    for number in 1.. {
        let client = listener.accept().map_err(failed)?;
        if clients.load(Ordering::Relaxed) >= MAX_CLIENTS {
            // Dropped: the client sees its connection close.
            continue;
        }
        let stream = match ClientStream::connect_any(daemons, ANSWER_TIMEOUT) {
            Ok(stream) => stream,
            Err(error) => {
                note(&show, &format!("client {number}: {error}"))?;
                continue;
            }
        };
        let pair = TapPair { number, client, daemon: stream };
        pair.start(options, &show, &clients).map_err(failed)?;
    }
    Ok(())
}

enum TapListener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl TapListener {
    fn bind(addr: &DaemonAddress) -> io::Result<TapListener> {
        match addr {
            DaemonAddress::Tcp(name) => TcpListener::bind(name).map(TapListener::Tcp),
            DaemonAddress::Unix(path) => {
                let listener = UnixListener::bind(path)?;
                // Who reaches the tap reaches the daemon as us.
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                Ok(TapListener::Unix(listener))
            }
        }
    }

    /// Address on which it listens, with the port that the system chose.
    fn addr(&self, asked: &DaemonAddress) -> io::Result<DaemonAddress> {
        match self {
            TapListener::Tcp(listener) => {
                Ok(DaemonAddress::Tcp(listener.local_addr()?.to_string()))
            }
            TapListener::Unix(_) => Ok(asked.clone()),
        }
    }

    fn accept(&self) -> io::Result<ClientStream> {
        match self {
            TapListener::Tcp(listener) => {
                let (socket, _) = listener.accept()?;
                socket.set_nodelay(true)?;
                Ok(socket.into())
            }
            TapListener::Unix(listener) => listener.accept().map(|(socket, _)| socket.into()),
        }
    }
}

/// A client and its connection to the daemon.
struct TapPair {
    number: u64,
    client: ClientStream,
    daemon: ClientStream,
}

impl TapPair {
    fn start(
        self,
        options: &frame::FrameOptions,
        show: &Shared,
        clients: &Arc<AtomicUsize>,
    ) -> io::Result<()> {
        let up = TeeStream::new(self.client.try_clone()?, self.daemon.try_clone()?);
        let down = TeeStream::new(self.daemon, self.client);
        let sides =
            [(TapSide::FromClient(self.number), up), (TapSide::ToClient(self.number), down)];
        for (side, tee) in sides {
            let frames = FrameStream::new(tee, frame::decoder(options.clone()));
            let (show, clients) = (Arc::clone(show), Arc::clone(clients));
            clients.fetch_add(1, Ordering::Relaxed);
            std::thread::Builder::new().spawn(move || {
                pass(frames, side, &show);
                clients.fetch_sub(1, Ordering::Relaxed);
            })?;
        }
        Ok(())
    }
}

/// Passes one direction on until it ends.
fn pass(mut frames: FrameStream<TeeStream>, side: TapSide, show: &Shared) {
    loop {
        let item = frames.next_frame();
        let mut show = show.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = match item {
            Ok(Some(FrameItem::Frame { text, offset })) => show.frame(side, offset, &text),
            Ok(Some(FrameItem::Refused { error, offset })) => show.bad(side, offset, &error),
            Err(StreamStop::Lost { error, offset }) => {
                let _ = show.bad(side, offset, &error);
                drop(show);
                // No longer understood, still passed on.
                let _ = io::copy(frames.source_mut(), &mut io::sink());
                break;
            }
            Ok(None) | Err(StreamStop::Read(_)) => break,
        };
        if shown.is_err() {
            // Nobody looks any more: a tap has no other purpose.
            std::process::exit(0);
        }
    }
    frames.source_mut().to.end_writing();
}

fn note(show: &Shared, text: &str) -> Result<(), ShellError> {
    show.lock().unwrap_or_else(PoisonError::into_inner).note(text)
}

/// A stream whose bytes go to another one: each chunk when the next is asked for, that is, once
/// its frames were shown. So a request is shown before the answer to it can come.
struct TeeStream {
    from: ClientStream,
    to: ClientStream,
    pending: Vec<u8>,
}

impl TeeStream {
    fn new(from: ClientStream, to: ClientStream) -> TeeStream {
        TeeStream { from, to, pending: Vec::new() }
    }
}

impl Read for TeeStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.to.write_all(&self.pending)?;
        self.pending.clear();
        let n_read = self.from.read(buffer)?;
        self.pending.extend_from_slice(&buffer[..n_read]);
        Ok(n_read)
    }
}
