//! Starting daemons and talking to them in raw frames.

use std::future::Future;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bridle_daemon::{BoundAddresses, DaemonConfig, DaemonError};
use bridle_history::RecordHistory;
use bridle_history::replay::ReplayRange;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Keeps a hanging test from hanging for ever; nothing is measured with it.
const HANG: Duration = Duration::from_secs(120);

pub(crate) const CHECK: &str = "(:type :health-check)";
pub(crate) const HEALTHY: &str = "(:type :health-response :status :healthy :checked-p t)";

/// A private directory. Whatever a daemon recorded in it must verify and replay, whenever it is
/// looked at, so also while the daemon still runs.
pub(crate) struct Dir(TempDir);

impl Dir {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Dir {
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
pub(crate) struct Daemon {
    pub(crate) bound: BoundAddresses,
    pub(crate) dir: Dir,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), DaemonError>>,
}

impl Daemon {
    /// Starts with the defaults on a free TCP port.
    pub(crate) async fn start() -> Daemon {
        Daemon::with(|_, _| {}).await
    }

    /// Starts with the defaults as changed by `change`, which also gets a private directory.
    pub(crate) async fn with(change: impl FnOnce(&mut DaemonConfig, &Path)) -> Daemon {
        Daemon::again(Dir(tempfile::tempdir().unwrap()), change).await
    }

    /// Starts in the directory of one that has stopped.
    pub(crate) async fn again(dir: Dir, change: impl FnOnce(&mut DaemonConfig, &Path)) -> Daemon {
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
            bridle_daemon::run(config, ready, async { drop(stopped.await) }).await
        });
        match bound.await {
            Ok(bound) => Daemon { bound, dir, stop, task },
            Err(_) => panic!("the daemon did not start: {:?}", task.await),
        }
    }

    pub(crate) async fn peer(&self) -> Peer {
        let mut peer = self.stranger().await;
        let hello = peer.frame().await.expect("a hello");
        assert!(hello.starts_with("(:type :EVENT :payload (:action :handshake "), "{hello}");
        peer
    }

    /// A TCP connection whose hello is not read yet.
    pub(crate) async fn stranger(&self) -> Peer {
        let stream = TcpStream::connect(self.bound.tcp.unwrap()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Peer::over(stream)
    }

    /// A connection over the Unix socket, hello read.
    pub(crate) async fn unix_peer(&self) -> Peer {
        let path = self.bound.unix.clone().unwrap();
        let mut peer = Peer::over(UnixStream::connect(path).await.unwrap());
        assert!(peer.frame().await.unwrap().contains(":handshake"));
        peer
    }

    /// Asks to stop and waits for the end.
    pub(crate) async fn stop(self) -> Result<(), DaemonError> {
        let _ = self.stop.send(());
        guard(self.task).await.unwrap()
    }

    /// Asks to stop and goes on; the handle is the daemon's end.
    pub(crate) fn begin_stop(self) -> (JoinHandle<Result<(), DaemonError>>, Dir) {
        let _ = self.stop.send(());
        (self.task, self.dir)
    }

    /// Fails unless a new connection gets its health check answered.
    pub(crate) async fn assert_alive(&self) {
        let mut peer = self.peer().await;
        assert_eq!(peer.ask(CHECK).await, HEALTHY);
    }

    /// One number out of the metrics in a detailed health answer.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let mut peer = self.peer().await;
        let text = peer.ask("(:type :health-check :detail t)").await;
        let line = text.lines().find(|line| line.starts_with(name) && !line.starts_with('#'));
        let line = line.unwrap_or_else(|| panic!("no `{name}` in {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

pub(crate) type Reader = ReadHalf<Box<dyn Wire>>;
pub(crate) type Writer = WriteHalf<Box<dyn Wire>>;

/// A client that counts bytes and reads answers byte for byte.
pub(crate) struct Peer {
    stream: Box<dyn Wire>,
}

impl Peer {
    pub(crate) fn over(stream: impl Wire + 'static) -> Peer {
        Peer { stream: Box::new(stream) }
    }

    /// Writes bytes; a daemon that has closed in the meantime is no failure here.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = guard(self.stream.write_all(bytes.as_ref())).await;
    }

    /// Writes one frame with the length in bytes.
    pub(crate) async fn say(&mut self, payload: &str) {
        self.send(frame(payload)).await;
    }

    /// Writes one frame and reads its answer.
    pub(crate) async fn ask(&mut self, payload: &str) -> String {
        self.say(payload).await;
        self.frame().await.expect("an answer")
    }

    /// Reads one frame with the length in bytes, skipping blanks before it.
    pub(crate) async fn frame(&mut self) -> Option<String> {
        let header = self.header().await?;
        let len = usize::from_str_radix(&header, 16).unwrap();
        let mut payload = vec![0; len];
        guard(self.stream.read_exact(&mut payload)).await.ok()?;
        Some(String::from_utf8(payload).unwrap())
    }

    /// Reads six digits, skipping blanks before them.
    pub(crate) async fn header(&mut self) -> Option<String> {
        let mut header = String::new();
        while header.len() < 6 {
            let byte = guard(self.stream.read_u8()).await.ok()?;
            if !(header.is_empty() && byte.is_ascii_whitespace()) {
                header.push(char::from(byte));
            }
        }
        Some(header)
    }

    /// Reads exactly `n` bytes.
    pub(crate) async fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        guard(self.stream.read_exact(&mut bytes)).await.unwrap();
        bytes
    }

    /// Reads up to `n` bytes, as they come.
    pub(crate) async fn some(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        let n = guard(self.stream.read(&mut bytes)).await.unwrap_or(0);
        bytes.truncate(n);
        bytes
    }

    /// Reads to the end of the stream.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = guard(self.stream.read_to_end(&mut rest)).await;
        rest
    }

    /// Closes the writing half.
    pub(crate) async fn end(&mut self) {
        let _ = guard(self.stream.shutdown()).await;
    }

    /// Splits into two halves for tests that read and write at once.
    pub(crate) fn split(self) -> (Reader, Writer) {
        tokio::io::split(self.stream)
    }
}

/// Reads one frame from a half.
pub(crate) async fn read_frame(reader: &mut Reader) -> String {
    let mut header = [0; 6];
    guard(reader.read_exact(&mut header)).await.unwrap();
    let len = usize::from_str_radix(str::from_utf8(&header).unwrap(), 16).unwrap();
    let mut payload = vec![0; len];
    guard(reader.read_exact(&mut payload)).await.unwrap();
    String::from_utf8(payload).unwrap()
}

/// One frame with the length in bytes.
pub(crate) fn frame(payload: &str) -> String {
    format!("{:06x}{payload}", payload.len())
}

/// Awaits with a guard against hanging.
pub(crate) async fn guard<F: Future>(future: F) -> F::Output {
    match tokio::time::timeout(HANG, future).await {
        Ok(output) => output,
        Err(_) => panic!("nothing happened within {HANG:?}"),
    }
}

/// Fails unless `answer` is an error frame with `code`.
pub(crate) fn assert_error(answer: &str, code: &str) {
    assert!(answer.starts_with("(:type :RESPONSE :id "), "{answer}");
    let wanted = format!("(:status :error :code :{code} ");
    assert!(answer.contains(&wanted), "expected {code}, got {answer}");
}

/// Fails unless `answer` is the engine's answer to the message with this id.
pub(crate) fn assert_answered(answer: &str, id: &str) {
    let wanted = format!("(:type :RESPONSE :id {id} ");
    assert!(answer.starts_with(&wanted), "expected {wanted}, got {answer}");
    assert!(answer.contains(" :payload (:status :success "), "{answer}");
}

/// `python3` as the user nobody. Only root can be another user, so anyone else asks sudo, as
/// `cargo xtask setup` does.
pub(crate) fn python_of_another_user() -> Command {
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("python3");
        command.uid(65534).gid(65534);
        return command;
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "-u", "nobody", "python3"]);
    command
}
