//! A daemon in the process of the test, with a state folder of its own.

use std::path::Path;

use bridle_daemon::{BoundAddresses, DaemonConfig, DaemonError};
use bridle_history::RecordHistory;
use bridle_history::replay::ReplayRange;
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::frame_client::{CHECK, FrameClient, HEALTHY};
use crate::hang_guard::guard;

/// A private directory. Whatever a daemon recorded in it must verify and replay, whenever it is
/// looked at, so also while the daemon still runs.
pub struct RecordFolder(TempDir);

impl RecordFolder {
    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for RecordFolder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let history = match RecordHistory::open(&self.path().join("state")) {
            Err(bridle_history::HistoryError::NoRecord { .. }) => return,
            opened => opened.unwrap(),
        };
        history.verify(None, &mut |_, _| {}).unwrap();
        let all = ReplayRange { from: 1, to: None, session: None };
        assert_eq!(history.replay(&all, &mut |_, _| {}).unwrap().difference, None);
    }
}

/// A running daemon with its own state directory.
pub struct TestDaemon {
    /// Addresses that the daemon bound.
    pub bound: BoundAddresses,
    /// Folder of its state and sockets.
    pub dir: RecordFolder,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), DaemonError>>,
}

impl TestDaemon {
    /// Starts with the defaults on a free TCP port.
    pub async fn start() -> TestDaemon {
        TestDaemon::with(|_, _| {}).await
    }

    /// Starts with the defaults as changed by `change`, which also gets a private directory.
    pub async fn with(change: impl FnOnce(&mut DaemonConfig, &Path)) -> TestDaemon {
        TestDaemon::again(RecordFolder(tempfile::tempdir().unwrap()), change).await
    }

    /// Starts in the directory of one that has stopped.
    pub async fn again(
        dir: RecordFolder,
        change: impl FnOnce(&mut DaemonConfig, &Path),
    ) -> TestDaemon {
        let mut config = DaemonConfig {
            tcp: Some("127.0.0.1:0".to_owned()),
            state: dir.path().join("state"),
            ..DaemonConfig::default()
        };
        change(&mut config, dir.path());
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, bound) = oneshot::channel();
        let task = tokio::spawn(async move {
            let ready = |bound: &BoundAddresses| drop(ready.send(bound.clone()));
            bridle_daemon::run(config, ready, async { drop(stopped.await) }).await.map(drop)
        });
        match bound.await {
            Ok(bound) => TestDaemon { bound, dir, stop, task },
            Err(_) => panic!("the daemon did not start: {:?}", task.await),
        }
    }

    /// Connects over TCP and reads the hello.
    pub async fn peer(&self) -> FrameClient {
        let mut peer = self.stranger().await;
        let hello = peer.frame().await.expect("a hello");
        assert!(hello.starts_with("(:type :EVENT :payload (:action :handshake "), "{hello}");
        peer
    }

    /// A TCP connection whose hello is not read yet.
    pub async fn stranger(&self) -> FrameClient {
        let stream = TcpStream::connect(self.bound.tcp.unwrap()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        FrameClient::over(stream)
    }

    /// A connection over the Unix socket, hello read.
    pub async fn unix_peer(&self) -> FrameClient {
        let path = self.bound.unix.clone().unwrap();
        let mut peer = FrameClient::over(UnixStream::connect(path).await.unwrap());
        assert!(peer.frame().await.unwrap().contains(":handshake"));
        peer
    }

    /// Asks to stop and waits for the end.
    pub async fn stop(self) -> Result<(), DaemonError> {
        let _ = self.stop.send(());
        guard(self.task).await.unwrap()
    }

    /// Asks to stop and goes on; the handle is the daemon's end.
    pub fn begin_stop(self) -> (JoinHandle<Result<(), DaemonError>>, RecordFolder) {
        let _ = self.stop.send(());
        (self.task, self.dir)
    }

    /// Fails unless a new connection gets its health check answered.
    pub async fn assert_alive(&self) {
        let mut peer = self.peer().await;
        assert_eq!(peer.ask(CHECK).await, HEALTHY);
    }

    /// One number out of the metrics in a detailed health answer.
    pub async fn metric(&self, name: &str) -> u64 {
        let mut peer = self.peer().await;
        let text = peer.ask("(:type :health-check :detail t)").await;
        let line = text.lines().find(|line| line.starts_with(name) && !line.starts_with('#'));
        let line = line.unwrap_or_else(|| panic!("no `{name}` in {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}
