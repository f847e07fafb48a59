//! What connections cost in memory: `bridle-bench idle`.
//!
//! Ten thousand connections that have taken their greeting and say nothing; ten thousand that have said
//! hello and are attached, each to a session of its own; and a thousand that announce the largest frame
//! and send no byte of it. Measured is the resident memory of the server's
//! process, before and while they are open. The client must be allowed that many open files.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use crate::Options;
use crate::client::{self, Greeting};
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::Server;
use crate::shells::Crowd;

/// Idle connections of the target.
const IDLE: usize = 10_000;

/// Connections that announce a frame and send nothing.
const SILENT: usize = 1_000;

/// Room for both and for the probe.
const CONNECTIONS: usize = IDLE + 500;

/// Open files of client and server: one for each connection and some for themselves.
const OPEN_FILES: u64 = 10_000 + 1_000;

/// Connections from one source address; the kernel has about 28,000 ports for each, some still in use.
const PER_SOURCE: usize = 4_000;

/// Time for the server to finish what the last connection started.
const SETTLE: Duration = Duration::from_secs(2);

/// Targets in MiB: all of the process with idle connections and with attached ones, growth with silent
/// ones.
const IDLE_TARGET: f64 = 64.0;
const ATTACHED_TARGET: f64 = 96.0;
const SILENT_TARGET: f64 = 32.0;

/// Opens the connections and reads the servers' memory.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    raise_open_files()?;
    let columns =
        ["server", "connections", "MiB before", "MiB with them", "MiB growth", "bytes each"];
    let mut table = Table::new("Memory held for connections (RSS)", columns);

    let bridle = Server::bridle(&options.bridle)?;
    let idle = hold(&bridle, IDLE, b"")?;
    table.push(idle.row("bridle up, idle", IDLE));
    drop(bridle);
    let bridle = Server::bridle(&options.bridle)?;
    let attached = hold_attached(&bridle, IDLE)?;
    table.push(attached.row("bridle up, attached to a session each", IDLE));
    drop(bridle);
    let bridle = Server::bridle(&options.bridle)?;
    let silent = hold(&bridle, SILENT, b"FFFFFF")?;
    table.push(silent.row("bridle up, `FFFFFF` and nothing more", SILENT));
    drop(bridle);
    table.push(hold(&Server::echo()?, IDLE, b"")?.row("tokio echo, idle", IDLE));
    table.push(hold(&Server::redis(CONNECTIONS)?, IDLE, b"")?.row("Redis, idle", IDLE));

    tables.push(table);
    verdicts.push(Verdict {
        what: format!("{IDLE} idle connections: MiB"),
        target: IDLE_TARGET,
        got: mebibytes(idle.with),
        bound: Bound::AtMost,
    });
    verdicts.push(Verdict {
        what: format!("{IDLE} attached shells: MiB"),
        target: ATTACHED_TARGET,
        got: mebibytes(attached.with),
        bound: Bound::AtMost,
    });
    verdicts.push(Verdict {
        what: format!("`FFFFFF` on {SILENT} connections: MiB of growth"),
        target: SILENT_TARGET,
        got: mebibytes(silent.growth()),
        bound: Bound::AtMost,
    });
    Ok(())
}

struct IdleMemory {
    before: u64,
    with: u64,
}

impl IdleMemory {
    fn growth(&self) -> u64 {
        self.with.saturating_sub(self.before)
    }

    fn row(&self, name: &str, connections: usize) -> Vec<Cell> {
        vec![
            Cell::text(name),
            Cell::text(connections.to_string()),
            Cell::Number(mebibytes(self.before), 1),
            Cell::Number(mebibytes(self.with), 1),
            Cell::Number(mebibytes(self.growth()), 1),
            Cell::text((self.growth() / connections as u64).to_string()),
        ]
    }
}

/// Opens `count` connections, says `opening` on each, and reads the memory while they stand. One more
/// connection then asks and must be answered: a server that stopped serving has no memory to show.
fn hold(server: &Server, count: usize, opening: &[u8]) -> Result<IdleMemory> {
    let exchange = &server.exchange;
    let before = server.rss()?;
    let mut streams = Vec::with_capacity(count);
    for index in 0..count {
        let mut stream = connect_from(source(index), exchange.address)
            .with_context(|| format!("connection {index} to {}", server.name))?;
        if exchange.greeting == Greeting::Frame {
            client::read_frame(&mut stream)
                .with_context(|| format!("greeting of connection {index}"))?;
        }
        stream.write_all(opening)?;
        streams.push(stream);
    }
    std::thread::sleep(SETTLE);
    let with = server.rss()?;
    let mut probe = client::open(exchange.address, exchange.greeting)
        .context("the server takes no more connections")?;
    probe.write_all(&exchange.request)?;
    let mut answer = vec![0; exchange.answer.len()];
    probe.read_exact(&mut answer).context("the server no longer answers")?;
    ensure!(answer == exchange.answer, "the server answers something else under this load");
    ensure!(still_open(&streams)?, "{} closed connections that should stand", server.name);
    Ok(IdleMemory { before, with })
}

/// Attaches `count` shells, each to a session of its own, and reads the memory while they stand. One of
/// them then asks and must be answered.
fn hold_attached(server: &Server, count: usize) -> Result<IdleMemory> {
    let before = server.rss()?;
    let mut crowd = Crowd::attach(server.exchange.address, count, "idle")?;
    std::thread::sleep(SETTLE);
    let with = server.rss()?;
    let answered = crowd.push(1, Duration::ZERO, "help")?.latencies.len();
    ensure!(answered == 1, "the daemon no longer answers");
    Ok(IdleMemory { before, with })
}

fn still_open(streams: &[TcpStream]) -> Result<bool> {
    let mut byte = [0];
    for stream in streams {
        stream.set_nonblocking(true)?;
        // An end, or words of refusal: an idle peer is sent neither.
        if stream.peek(&mut byte).is_ok() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn source(index: usize) -> Ipv4Addr {
    let host = u8::try_from(2 + index / PER_SOURCE)
        .expect("a few thousand connections need a few addresses");
    Ipv4Addr::new(127, 0, 0, host)
}

pub(crate) fn connect_from(source: Ipv4Addr, address: SocketAddr) -> Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((source, 0)).into())?;
    socket.connect(&address.into())?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(stream)
}

/// Raises this process's limit of open files, which the servers inherit.
pub(crate) fn raise_open_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= OPEN_FILES) {
        return Ok(());
    }
    let maximum = limit.maximum;
    ensure!(
        maximum.is_none_or(|maximum| maximum >= OPEN_FILES),
        "need {OPEN_FILES} open files, the hard limit is {maximum:?}: raise it with `ulimit -Hn`"
    );
    setrlimit(Resource::Nofile, Rlimit { current: Some(OPEN_FILES), maximum })?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "memory sizes are far below what an f64 can count")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
