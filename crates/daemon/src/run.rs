//! Start, serve, stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::access::tls::{self, TlsAcceptor};
use crate::access::tokens::TokenRegistry;
use crate::config::DaemonConfig;
use crate::engine;
use crate::error::DaemonError;
use crate::http::{self, AddressPurpose, AttachmentStore, HttpService, TokenSealer};
use crate::listen::{BoundAddresses, SocketFile, StdioStreams, bind_http, bind_tcp, bind_unix};
use crate::lock::StateLock;
use crate::oacp::connection::{OacpConnection, PeerOrigin, PeerStream};
use crate::oacp::listen::{BoundListener, accept_loop};
use crate::oacp::service::OacpService;
use crate::self_checks::{SELF_CHECK_INTERVAL, check_once};
use crate::shared::DaemonShared;

/// Time beyond the grace for tasks to notice that it is over.
const LAST_CALL_WAIT: Duration = Duration::from_millis(500);

/// Reason for which a daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonEnd {
    /// Asked to stop, by a signal or the end of its only input.
    Stopped,
    /// An order wants it to start anew.
    Restart,
}

/// Runs a daemon until `shutdown` completes, or until the end of standard input when that is
/// its only listener, or until an order wants it to start anew.
///
/// `ready` is called once, when every listener accepts. Needs a tokio runtime with IO and time.
///
/// # Errors
/// Says why the daemon could not start: a setting, the state directory, or an address.
pub async fn run(
    config: DaemonConfig,
    ready: impl FnOnce(&BoundAddresses),
    shutdown: impl Future<Output = ()>,
) -> Result<DaemonEnd, DaemonError> {
    config.check()?;
    crate::descriptors::raise_open_files();
    if rustix::process::geteuid().is_root() {
        tracing::warn!("running as root: every peer that is served is served by root");
    }
    // Held to the very end: the socket file may only be touched under it.
    let _lock = StateLock::take(&config.state)?;
    // Before the hub, so that an address in use leaves no trace in the record; peers that are
    // early wait in the queue of the system.
    let mut open = OpenListeners::bind(&config).await?;
    let hub = engine::start_hub(&config).await?;
    let shared = DaemonShared::new(config, Arc::clone(&hub));
    let oacp = match OacpService::new(Arc::clone(&shared)) {
        Ok(oacp) => oacp,
        Err(error) => {
            engine::stop_hub(&hub, LAST_CALL_WAIT).await;
            return Err(error);
        }
    };
    // Also stops the tasks when this future is dropped halfway.
    let _stop = shared.stop.clone().drop_guard();

    let accepting = TaskTracker::new();
    let http = open.accept(&accepting, &oacp);
    match signal(SignalKind::hangup()) {
        Ok(hangup) => drop(shared.tasks.spawn(install_on(hangup, Arc::clone(&shared)))),
        Err(error) => tracing::warn!(%error, "SIGHUP is not watched for"),
    }
    // Health answers say that the daemon was checked, so it is.
    check_once(Arc::clone(&shared.checks), shared.config.clone()).await;
    shared.tasks.spawn(check_again(Arc::clone(&shared)));
    ready(&open.bound);
    let only_stdio = accepting.is_empty();
    let stdio = match open.stdio.take() {
        Some(stdio) => Some(StdioTask::spawn(stdio, &oacp, http)?),
        None => None,
    };
    let (end, stdio) = until_ended(shutdown, &hub, stdio, only_stdio).await;

    tracing::info!("stopping");
    shared.end();
    accepting.close();
    accepting.wait().await;
    let grace = shared.config.limits.shutdown_grace + LAST_CALL_WAIT;
    shared.tasks.close();
    if tokio::time::timeout(grace, shared.tasks.wait()).await.is_err() {
        tracing::warn!(left = shared.tasks.len(), "connections did not end within the grace");
    }
    if let Some(stdio) = stdio {
        stdio.flushed(grace).await;
    }
    engine::stop_hub(&hub, grace).await;
    tracing::info!("stopped");
    Ok(end)
}

/// Reads the policies again at each SIGHUP, until the daemon stops.
async fn install_on(mut hangup: tokio::signal::unix::Signal, shared: Arc<DaemonShared>) {
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            heard = hangup.recv() => match heard {
                // What is wrong with them is told in the log and in the record.
                Some(()) => drop(engine::install_policies(&shared.hub, "signal").await),
                None => return,
            },
        }
    }
}

/// Makes the daemon's own checks again and again, until it stops.
async fn check_again(shared: Arc<DaemonShared>) {
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            () = tokio::time::sleep(SELF_CHECK_INTERVAL) => {}
        }
        check_once(Arc::clone(&shared.checks), shared.config.clone()).await;
    }
}

/// Completes when the process is asked to end by SIGTERM or SIGINT.
///
/// # Errors
/// The system does not let us watch for signals.
pub fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => tracing::info!("SIGTERM"),
            _ = int.recv() => tracing::info!("SIGINT"),
        }
    })
}

/// Everything that was bound.
#[derive(Default)]
struct OpenListeners {
    listeners: Vec<BoundListener>,
    http: Vec<(TcpListener, AddressPurpose)>,
    http_unix: Option<UnixListener>,
    harness: Option<OpenHarnessService>,
    stdio: Option<StdioStreams>,
    /// Removes the socket files when the daemon has stopped.
    files: Vec<SocketFile>,
    bound: BoundAddresses,
}

impl OpenListeners {
    async fn bind(config: &DaemonConfig) -> Result<OpenListeners, DaemonError> {
        let mut open = OpenListeners::default();
        if let Some(addr) = &config.tcp {
            let listener = bind_tcp(addr, config.hmac.enforce).await?;
            let found = listener.local_addr();
            let found = found.map_err(|source| DaemonError::Tcp { addr: addr.clone(), source })?;
            open.bound.tcp = Some(found);
            open.listeners.push(BoundListener::Tcp(listener));
        }
        if let Some(addr) = &config.http {
            open.bound.http = Some(open.bind_http(config, addr, AddressPurpose::Whole).await?);
        }
        if let Some(addr) = &config.pair_alias {
            open.bound.pair_alias =
                Some(open.bind_http(config, addr, AddressPurpose::Pairing).await?);
        }
        if config.http.is_some() || config.http_unix.is_some() || config.stdio_json {
            open.harness = Some(OpenHarnessService::open(config)?);
        }
        if let Some(path) = &config.unix {
            let (listener, file) = bind_unix(path).await?;
            open.bound.unix = Some(path.clone());
            open.listeners.push(BoundListener::Unix(listener));
            open.files.push(file);
        }
        if let Some(path) = &config.http_unix {
            let (listener, file) = bind_unix(path).await?;
            open.bound.http_unix = Some(path.clone());
            open.http_unix = Some(listener);
            open.files.push(file);
        }
        if config.stdio || config.stdio_json {
            open.stdio = Some(StdioStreams::open()?);
            (open.bound.stdio, open.bound.stdio_json) = (config.stdio, config.stdio_json);
        }
        Ok(open)
    }

    async fn bind_http(
        &mut self,
        config: &DaemonConfig,
        addr: &str,
        face: AddressPurpose,
    ) -> Result<SocketAddr, DaemonError> {
        let listener = bind_http(addr, config.is_http_guarded()).await?;
        let found = listener.local_addr();
        let found = found.map_err(|source| DaemonError::Http { addr: addr.to_owned(), source })?;
        self.http.push((listener, face));
        Ok(found)
    }
}

impl OpenListeners {
    /// Begins to accept, except on standard input; returns what lines there are served by.
    fn accept(
        &mut self,
        accepting: &TaskTracker,
        oacp: &Arc<OacpService>,
    ) -> Option<Arc<HttpService>> {
        let shared = &oacp.daemon;
        for listener in self.listeners.drain(..) {
            accepting.spawn(accept_loop(listener, Arc::clone(oacp)));
        }
        let OpenHarnessService { tokens, seals, tls, files } = self.harness.take()?;
        let http = HttpService::new(Arc::clone(shared), tokens, seals, tls, files);
        shared.tasks.spawn(http::sweep_files(Arc::clone(&http)));
        if let Some(listener) = self.http_unix.take() {
            accepting.spawn(http::accept_on_socket(listener, Arc::clone(&http)));
        }
        for (listener, face) in self.http.drain(..) {
            accepting.spawn(http::accept_loop(listener, Arc::clone(&http), face));
        }
        shared.config.stdio_json.then_some(http)
    }
}

/// Everything that OpenHarness needs, over HTTP or on lines.
struct OpenHarnessService {
    tokens: TokenRegistry,
    seals: TokenSealer,
    tls: Option<TlsAcceptor>,
    files: AttachmentStore,
}

impl OpenHarnessService {
    fn open(config: &DaemonConfig) -> Result<OpenHarnessService, DaemonError> {
        let tls = config.tls.as_ref().map(tls::acceptor).transpose().map_err(DaemonError::Tls)?;
        let tokens = TokenRegistry::load(&config.state).map_err(DaemonError::Tokens)?;
        let seals = TokenSealer::open(&config.state);
        let seals = seals.map_err(|error| DaemonError::Seals(Box::new(error)))?;
        Ok(OpenHarnessService { tokens, seals, tls, files: AttachmentStore::open(config)? })
    }
}

/// The connection on standard input and output.
struct StdioTask {
    task: JoinHandle<()>,
    flushed: tokio::sync::oneshot::Receiver<()>,
}

impl StdioTask {
    /// Serves lines where there is something that serves them, else frames.
    fn spawn(
        stdio: StdioStreams,
        oacp: &Arc<OacpService>,
        lines: Option<Arc<HttpService>>,
    ) -> Result<StdioTask, DaemonError> {
        let shared = &oacp.daemon;
        let (seat, StdioStreams { stream, flushed }) = (shared.extra_slot(), stdio);
        let task = match lines {
            Some(http) => shared.tasks.spawn(async move {
                http::serve_lines(http, stream).await;
                drop(seat);
            }),
            None => {
                let connection = OacpConnection::new(
                    PeerStream::Unix(stream),
                    PeerOrigin::Stdio,
                    None,
                    seat,
                    oacp,
                );
                shared.tasks.spawn(connection.map_err(DaemonError::Stdio)?)
            }
        };
        Ok(StdioTask { task, flushed })
    }

    async fn flushed(self, grace: Duration) {
        if tokio::time::timeout(grace, self.flushed).await.is_err() {
            tracing::warn!("standard output took no more answers");
        }
    }
}

/// Waits for the reason to end, and tells it.
async fn until_ended(
    shutdown: impl Future<Output = ()>,
    hub: &engine::Hub,
    stdio: Option<StdioTask>,
    only_stdio: bool,
) -> (DaemonEnd, Option<StdioTask>) {
    let mut end = DaemonEnd::Stopped;
    let shutdown = async {
        tokio::select! {
            () = shutdown => {}
            () = hub.restart_wanted() => end = DaemonEnd::Restart,
        }
    };
    let stdio = until_stopped(shutdown, stdio, only_stdio).await;
    (end, stdio)
}

/// Waits for the reason to stop; hands back stdio so that its last answers can be waited for.
async fn until_stopped(
    shutdown: impl Future<Output = ()>,
    mut stdio: Option<StdioTask>,
    only_stdio: bool,
) -> Option<StdioTask> {
    match &mut stdio {
        Some(stdio) if only_stdio => tokio::select! {
            () = shutdown => {}
            _ = &mut stdio.task => {}
        },
        _ => shutdown.await,
    }
    stdio
}
