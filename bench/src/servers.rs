//! Starts the servers that are compared, each as a child process on a free loopback port, and ends them.
//! Used by everything that measures a daemon.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::client::{self, Exchange, Greeting};
use crate::codec::PLAIN_CHECK;

/// Time that a server may take to start. SBCL compiles its program first.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Size of the value that Redis is asked for: that of the daemon's health answer.
const REDIS_VALUE_BYTES: usize = 56;

/// A running server.
pub struct Server {
    /// Name in the tables.
    pub name: &'static str,
    /// Exchange to measure.
    pub exchange: Exchange,
    child: Child,
    /// State folder, removed after it ends.
    _folder: Option<TempDir>,
}

impl Server {
    /// `bridle up` on TCP alone, its limits at their defaults.
    pub fn bridle(binary: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let command = up(binary, folder.path());
        Self::announced("bridle up", command, Greeting::Frame, Some(folder))
    }

    /// Starts the daemon with the state that is in `folder`.
    pub fn bridle_in(binary: &Path, folder: &Path) -> Result<Self> {
        Self::announced("bridle up", up(binary, folder), Greeting::Frame, None)
    }

    /// Starts the daemon with its state in `folder`, and a Memex.
    pub fn bridle_with_memex(binary: &Path, folder: &Path, memex: &Path) -> Result<Self> {
        let mut command = up(binary, folder);
        command.arg("--memex").arg(memex);
        Self::announced("bridle up", command, Greeting::Frame, None)
    }

    /// Starts the daemon and asks nothing of it: its start alone.
    pub fn bridle_started(binary: &Path, folder: &Path) -> Result<Self> {
        Self::announced("bridle up", up(binary, folder), Greeting::None, None)
    }

    /// `bridle up` on HTTP alone, its limits at their defaults.
    pub fn bridle_http(binary: &Path, more: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(binary);
        command.args(["up", "--tcp", "off", "--unix", "off", "--http", "127.0.0.1:0"]);
        // All connections are one principal, and it asks as often as it can.
        command.args(["--http-rate-local", "off", "--record-budget", "off"]);
        command.args(more).arg("--state").arg(folder.path().join("state"));
        Self::announced("bridle up", command, Greeting::None, Some(folder))
    }

    /// A bare axum handler that answers what is in a file.
    pub fn bare_http(answer: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve-http").arg(answer);
        Self::announced("bare axum", command, Greeting::None, None)
    }

    /// A bare tokio echo, which gets the same request and returns it.
    pub fn echo() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve-echo");
        Self::announced("tokio echo", command, Greeting::None, None)
    }

    /// The thread-per-connection daemon in Lisp that the peers' tests use.
    pub fn sbcl() -> Result<Self> {
        let mut command = Command::new("sbcl");
        command
            .arg("--script")
            .arg(repository().join("peers/sbcl/harness.lisp"))
            .args(["serve", "0"]);
        Self::announced("SBCL daemon", command, Greeting::Frame, None)
    }

    /// Redis with one key, no persistence, otherwise at its defaults.
    pub fn redis(connections: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let mut command = Command::new("redis-server");
        command
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"])
            .arg(port.to_string());
        // Or it turns away connections from loopback addresses other than 127.0.0.1.
        command.args(["--protected-mode", "no"]);
        command.arg("--maxclients").arg(connections.to_string()).arg("--dir").arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child =
            command.spawn().context("cannot start `redis-server`: apt-get install redis-server")?;
        let value = "v".repeat(REDIS_VALUE_BYTES);
        let exchange = Exchange {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            greeting: Greeting::None,
            request: b"*2\r\n$3\r\nGET\r\n$6\r\nhealth\r\n".to_vec(),
            answer: format!("${REDIS_VALUE_BYTES}\r\n{value}\r\n").into_bytes(),
        };
        let server = Self { name: "Redis GET", exchange, child, _folder: Some(folder) };
        let mut stream = server.first_connection()?;
        write!(stream, "*3\r\n$3\r\nSET\r\n$6\r\nhealth\r\n${REDIS_VALUE_BYTES}\r\n{value}\r\n")?;
        let mut ok = [0; 5];
        stream.read_exact(&mut ok)?;
        Ok(server)
    }

    /// Memory that the process holds now, in bytes.
    pub fn rss(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: u64 = line
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .with_context(|| format!("bad VmRSS `{line}`"))?;
        Ok(kilobytes * 1024)
    }

    /// Starts a server that says `ready ..ADDRESS..` on its standard output, and asks it once to learn
    /// what its answers look like.
    fn announced(
        name: &'static str,
        mut command: Command,
        greeting: Greeting,
        folder: Option<TempDir>,
    ) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().with_context(|| format!("cannot start {name}: `{command:?}`"))?;
        let stdout = child.stdout.take().context("the child has no stdout")?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let exchange = Exchange {
            address,
            greeting,
            request: PLAIN_CHECK.to_vec(),
            answer: PLAIN_CHECK.to_vec(),
        };
        let mut server = Self { name, exchange, child, _folder: folder };
        server.exchange.address = ready_address(stdout)
            .with_context(|| format!("{name} did not start: `{command:?}`"))?;
        if greeting == Greeting::Frame {
            let mut stream = client::open(server.exchange.address, greeting)?;
            stream.write_all(PLAIN_CHECK)?;
            server.exchange.answer = client::read_frame(&mut stream)?;
        }
        Ok(server)
    }

    fn first_connection(&self) -> Result<std::net::TcpStream> {
        let begin = Instant::now();
        loop {
            match client::open(self.exchange.address, self.exchange.greeting) {
                Ok(stream) => return Ok(stream),
                Err(error) if begin.elapsed() > START_LIMIT => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn up(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    command.args(["up", "--tcp", "127.0.0.1:0", "--unix", "off", "--http", "off"]);
    // All connections are one principal, and it sends as often as it can.
    command.args(["--tcp-rate-local", "off", "--record-budget", "off"]);
    command.arg("--state").arg(folder.join("state"));
    command
}

/// Root of the repository, above this package.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads lines until one begins with `ready `, and takes the first loopback address from it. A thread
/// drains the rest, so that the server never blocks on a full pipe.
fn ready_address(stdout: impl Read + Send + 'static) -> Result<SocketAddr> {
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next() {
        let line = line?;
        let Some(rest) = line.strip_prefix("ready ") else { continue };
        let address =
            loopback_address(rest).with_context(|| format!("no loopback address in `{line}`"))?;
        std::thread::spawn(move || lines.for_each(drop));
        return Ok(address);
    }
    bail!("it ended without a `ready` line")
}

/// The first `127.0.0.1:PORT` in `text`, whatever stands around it; or `text` is a port alone.
fn loopback_address(text: &str) -> Option<SocketAddr> {
    const HOST: &str = "127.0.0.1:";
    let rest = text.find(HOST).map_or(text, |start| &text[start + HOST.len()..]);
    let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    Some(SocketAddr::from((Ipv4Addr::LOCALHOST, digits.parse().ok()?)))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
