//! Stands between a program and the daemon that runs now, at an address that stays, and cuts connections in
//! the middle of whatever passes. Used by shells in other languages, which cannot cut their own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::line::ListenPlace;
use super::random::SplitMix;
use super::shell::{ScheduleBoard, ShellRoad};

/// Interval between two looks at whether somebody has come, or everybody goes home.
const LOOK: Duration = Duration::from_millis(2);

/// Bytes that pass at once: few, so that there are many places to cut.
const CHUNK: usize = 512;

/// A proxy that runs until it is stopped.
pub(crate) struct LoopbackProxy {
    over: Arc<AtomicBool>,
}

impl LoopbackProxy {
    /// Listens at `socket` and leads to the daemon by `road`; `cuts` percent of what passes is cut short.
    pub(crate) fn start(
        socket: &Path,
        road: ShellRoad,
        cuts: u64,
        mut random: SplitMix,
        board: &Arc<ScheduleBoard>,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        let over = Arc::new(AtomicBool::new(false));
        let (ends, board) = (Arc::clone(&over), Arc::clone(board));
        thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) && !board.stop.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((client, _)) => lead(client, board.place(road), cuts, &mut random),
                    Err(_) => thread::sleep(LOOK),
                }
            }
        });
        Ok(Self { over })
    }

    /// Takes nobody any more. Connections that stand end with either of their sides.
    pub(crate) fn stop(self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Leads a client to a daemon; where none is, the client is left alone.
fn lead(client: UnixStream, place: Option<ListenPlace>, cuts: u64, random: &mut SplitMix) {
    let pairs = || -> io::Result<[(ProxyEnd, ProxyEnd); 2]> {
        client.set_nonblocking(false)?;
        let client = ProxyEnd::Unix(client);
        let daemon = match place.ok_or(io::ErrorKind::NotConnected)? {
            ListenPlace::Tcp(address) => ProxyEnd::Tcp(TcpStream::connect(address)?),
            ListenPlace::Unix(path) => ProxyEnd::Unix(UnixStream::connect(path)?),
        };
        Ok([(client.again()?, daemon.again()?), (daemon, client)])
    };
    // The client finds its connection closed, as it would without a proxy.
    let Ok(pairs) = pairs() else { return };
    for (from, to) in pairs {
        let random = random.split();
        thread::spawn(move || pass(from, to, cuts, random));
    }
}

/// Passes on what comes, until it ends or is cut; then both sides are closed.
fn pass(mut from: ProxyEnd, mut to: ProxyEnd, cuts: u64, mut random: SplitMix) {
    let mut chunk = [0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let is_cut = random.chance(cuts);
        let passed = if is_cut { random.index(count) } else { count };
        if to.write_all(&chunk[..passed]).is_err() || is_cut {
            break;
        }
    }
    from.close();
    to.close();
}

/// One side of a connection.
enum ProxyEnd {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl ProxyEnd {
    fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(chunk),
            Self::Unix(stream) => stream.read(chunk),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }

    fn close(&self) {
        // The other direction may have closed it already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}
