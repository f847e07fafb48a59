//! The load client, the same code for every server: some connections, each keeping a batch of requests
//! in flight. Used by `health`.
//!
//! One thread and one epoll. A batch of `depth` requests goes out in one write, and the next batch
//! follows when all its answers are in, as `redis-benchmark -P` does. Answers have a fixed size, so
//! they are counted by bytes; the last one of every connection is compared byte for byte.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::stats;

/// Bytes that a server sends before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing.
    None,
    /// One frame: six hex digits, then that many bytes.
    Frame,
}

/// Request to a server, and the expected answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Address of the server.
    pub address: SocketAddr,
    /// Greeting on accept.
    pub greeting: Greeting,
    /// One request.
    pub request: Vec<u8>,
    /// The answer to it, always the same bytes.
    pub answer: Vec<u8>,
}

/// Intensity of a run.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Connections at the same time.
    pub connections: usize,
    /// Requests in flight on each.
    pub depth: usize,
    /// Unmeasured time before, for threads to start and buffers to grow.
    pub warm_up: Duration,
    /// Measured time.
    pub time: Duration,
    /// Most requests, whatever the time.
    pub requests: u64,
}

/// Result of a run.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Answers per second.
    pub per_second: f64,
    /// Median time from a batch's write to its last answer, in microseconds.
    pub p50_us: f64,
    /// Latency that 99 of 100 stay below, in microseconds.
    pub p99_us: f64,
}

/// Time that a server may take for anything before the run is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most latencies kept; later batches of the run are counted and not kept.
const MAX_LATENCIES: usize = 4_000_000;

/// Size of the client's read buffer; over twice the largest batch of answers.
const READ_BYTES: usize = 64 * 1024;

struct Connection {
    stream: TcpStream,
    /// Bytes of the current batch that are sent.
    sent: usize,
    /// Bytes of its answers that have come.
    received: usize,
    /// Moment at which it was sent.
    begun: Instant,
    /// Whether it still awaits answers.
    busy: bool,
}

/// Pushes `load` at the server of `exchange`.
pub fn push(exchange: &Exchange, load: Load) -> Result<Rate> {
    let mut client = Client::connect(exchange, load)?;
    client.run_for(load.warm_up, u64::MAX)?;
    client.answers = 0;
    client.latencies.clear();
    let begin = Instant::now();
    client.run_for(load.time, load.requests)?;
    let seconds = begin.elapsed().as_secs_f64();
    let mut latencies = std::mem::take(&mut client.latencies);
    latencies.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "far fewer answers than an f64 can count")]
    let per_second = client.answers as f64 / seconds;
    Ok(Rate {
        per_second,
        p50_us: stats::quantile(&latencies, 0.5),
        p99_us: stats::quantile(&latencies, 0.99),
    })
}

/// Opens a blocking connection and takes the greeting.
pub fn open(address: SocketAddr, greeting: Greeting) -> Result<std::net::TcpStream> {
    let mut stream = std::net::TcpStream::connect(address)
        .with_context(|| format!("cannot connect to `{address}`"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    if greeting == Greeting::Frame {
        read_frame(&mut stream).context("no greeting")?;
    }
    Ok(stream)
}

/// Reads one frame, and returns it with its six digits.
pub fn read_frame(stream: &mut impl Read) -> Result<Vec<u8>> {
    let mut frame = vec![0; 6];
    stream.read_exact(&mut frame)?;
    let digits = std::str::from_utf8(&frame).context("a frame begins with six hex digits")?;
    let length = usize::from_str_radix(digits, 16)
        .with_context(|| format!("expected six hex digits, got `{digits}`"))?;
    frame.resize(6 + length, 0);
    stream.read_exact(&mut frame[6..])?;
    Ok(frame)
}

struct Client<'e> {
    exchange: &'e Exchange,
    poll: Poll,
    connections: Vec<Connection>,
    /// The requests of one batch.
    batch: Vec<u8>,
    /// Bytes of the answers to one batch.
    batch_answers: usize,
    depth: u64,
    buffer: Vec<u8>,
    answers: u64,
    latencies: Vec<f64>,
}

impl<'e> Client<'e> {
    fn connect(exchange: &'e Exchange, load: Load) -> Result<Self> {
        let poll = Poll::new()?;
        let mut connections = Vec::with_capacity(load.connections);
        for index in 0..load.connections {
            // One after another, greeting included: a server with a short backlog is not lost at once.
            let stream = open(exchange.address, exchange.greeting)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(
                &mut stream,
                Token(index),
                Interest::READABLE | Interest::WRITABLE,
            )?;
            connections.push(Connection {
                stream,
                sent: 0,
                received: 0,
                begun: Instant::now(),
                busy: false,
            });
        }
        Ok(Self {
            exchange,
            poll,
            connections,
            batch: exchange.request.repeat(load.depth),
            batch_answers: exchange.answer.len() * load.depth,
            depth: load.depth as u64,
            buffer: vec![0; READ_BYTES],
            answers: 0,
            latencies: Vec::new(),
        })
    }

    /// Sends batches until the time or the count is over, then waits for what is in flight.
    fn run_for(&mut self, time: Duration, requests: u64) -> Result<()> {
        let begin = Instant::now();
        let mut events = Events::with_capacity(1024);
        for index in 0..self.connections.len() {
            self.begin_batch(index)?;
        }
        let mut over = false;
        while self.connections.iter().any(|connection| connection.busy) {
            self.poll.poll(&mut events, Some(PATIENCE))?;
            if events.is_empty() {
                bail!("`{}` gave no answer for {PATIENCE:?}", self.exchange.address);
            }
            over = over || begin.elapsed() >= time || self.answers >= requests;
            for event in &events {
                let index = event.token().0;
                if event.is_writable() && self.connections[index].busy {
                    self.send(index)?;
                }
                if event.is_readable() && self.receive(index)? && !over {
                    self.begin_batch(index)?;
                }
            }
        }
        Ok(())
    }

    fn begin_batch(&mut self, index: usize) -> Result<()> {
        let connection = &mut self.connections[index];
        connection.sent = 0;
        connection.received = 0;
        connection.begun = Instant::now();
        connection.busy = true;
        self.send(index)
    }

    fn send(&mut self, index: usize) -> Result<()> {
        let connection = &mut self.connections[index];
        while connection.sent < self.batch.len() {
            match connection.stream.write(&self.batch[connection.sent..]) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(count) => connection.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot send"),
            }
        }
        Ok(())
    }

    /// Takes what has come. True when it ended a batch; then nothing more can be waiting, because the
    /// server owes nothing, so the extra read that would say so is spared.
    fn receive(&mut self, index: usize) -> Result<bool> {
        let connection = &mut self.connections[index];
        while connection.busy {
            let count = match connection.stream.read(&mut self.buffer) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context("cannot receive"),
            };
            connection.received += count;
            ensure!(
                connection.received <= self.batch_answers,
                "the server sent more than it was asked for"
            );
            if connection.received == self.batch_answers {
                connection.busy = false;
                let answer = &self.exchange.answer;
                if count >= answer.len() {
                    ensure!(
                        self.buffer[..count].ends_with(answer),
                        "the last answer of a batch is not the expected one"
                    );
                }
                self.answers += self.depth;
                if self.latencies.len() < MAX_LATENCIES {
                    self.latencies.push(connection.begun.elapsed().as_secs_f64() * 1e6);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}
