//! The local proxy: the only door of a run with a network, and it knows hosts by name. Speaks
//! `CONNECT` and plain HTTP; the program never resolves a name itself. Refused hosts are told as
//! typed requests, so that one question can name host and port.

mod address;
mod rule;
mod serve;

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};

pub use rule::HostRule;

/// Connections at the same time; one more waits in the backlog of the system.
const MAX_CONNECTIONS: usize = 128;

/// Refusals that are told; further ones are the same news.
const MAX_REFUSALS: usize = 100;

/// Reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalReason {
    /// No grant names this host and port.
    NotGranted,
    /// An address instead of a name, in whatever notation.
    AddressLiteral,
    /// The name leads to an address of this machine or network, which the grant does not include.
    PrivateAddress,
    /// Not a request that a proxy takes.
    Malformed,
}

/// Host that was asked for and refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostRefusal {
    /// Host as it was asked for, in lower case.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Reason.
    pub reason: RefusalReason,
}

/// Resolves a name; tests bring their own.
pub(crate) type HostResolver = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

struct ProxyShared {
    rules: Vec<HostRule>,
    resolver: HostResolver,
    refusals: Mutex<Vec<HostRefusal>>,
    /// Both ends of open connections, to be shut when the run ends; `None` after that.
    open: Mutex<Option<HashMap<u64, Vec<TcpStream>>>>,
    connections: AtomicUsize,
}

/// Proxy of one run; ends with it.
pub struct HostProxy {
    shared: Arc<ProxyShared>,
    stop: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl HostProxy {
    /// Starts on a listener, with the hosts that are granted.
    ///
    /// # Errors
    ///
    /// A thread or a socket that cannot be had is an error.
    pub fn start(listener: TcpListener, rules: Vec<HostRule>) -> io::Result<HostProxy> {
        let resolver: HostResolver =
            Arc::new(|host, port| (host, port).to_socket_addrs().map(Iterator::collect));
        HostProxy::start_with(listener, rules, resolver)
    }

    pub(crate) fn start_with(
        listener: TcpListener,
        rules: Vec<HostRule>,
        resolver: HostResolver,
    ) -> io::Result<HostProxy> {
        let (stop, stopped) = UnixStream::pair()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(ProxyShared {
            rules,
            resolver,
            refusals: Mutex::default(),
            open: Mutex::new(Some(HashMap::new())),
            connections: AtomicUsize::new(0),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("jail proxy".into())
            .spawn(move || accept_all(&listener, &stopped, &for_thread))?;
        Ok(HostProxy { shared, stop, thread: Some(thread) })
    }

    /// Ends all connections and tells what was refused.
    #[must_use]
    pub fn stop(mut self) -> Vec<HostRefusal> {
        self.end();
        std::mem::take(&mut *self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&mut self) {
        // The thread sees the end of the stream.
        let _ = self.stop.shutdown(std::net::Shutdown::Both);
        let open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        for stream in open.into_iter().flatten().flat_map(|(_, both)| both) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for HostProxy {
    fn drop(&mut self) {
        self.end();
    }
}

impl ProxyShared {
    fn refuse(&self, host: &str, port: u16, reason: RefusalReason) {
        let refusal = HostRefusal { host: host.to_owned(), port, reason };
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < MAX_REFUSALS && !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }

    /// Remembers an end of a connection, so that the end of the run is its end; refused after that.
    fn remember(&self, connection: u64, stream: &TcpStream) -> io::Result<()> {
        let copy = stream.try_clone()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = &mut *open else {
            return Err(io::Error::other("the run is over"));
        };
        open.entry(connection).or_default().push(copy);
        Ok(())
    }

    /// Closes both ends of a connection.
    fn forget(&self, connection: u64) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let both = open.as_mut().and_then(|open| open.remove(&connection));
        for stream in both.into_iter().flatten() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn accept_all(listener: &TcpListener, stopped: &UnixStream, shared: &Arc<ProxyShared>) {
    let mut connection = 0;
    loop {
        let mut polled =
            [PollFd::new(stopped, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if !polled[0].revents().is_empty() {
            return;
        }
        let Ok((stream, _)) = listener.accept() else { continue };
        if shared.connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            // Dropped: the program sees a closed connection and may try again.
            continue;
        }
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let for_thread = Arc::clone(shared);
        connection += 1;
        let started = std::thread::Builder::new().name("jail proxy".into()).spawn(move || {
            // A connection that fails is closed; what was refused is remembered.
            let _ = serve::serve(stream, connection, &for_thread);
            for_thread.forget(connection);
            for_thread.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
