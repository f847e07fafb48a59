//! Clients of HTTP, many of them on one thread: each keeps its connection and has one request under way.
//! Used by `http` for every server alike.
//!
//! Of an answer only the status and the length are read, so that the client takes as little of the
//! machine as it can; the text of a request is written once, and each one's id is put into its place.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::client::{self, Greeting};
use crate::shells::Pushed;

/// Time that a server may be silent before a run is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// Digits of a request's id.
const ID_DIGITS: usize = 16;

/// Placeholder for the digits until a request is sent.
const ID_PLACE: &str = "IDIDIDIDIDIDIDID";

/// Session that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// Each connection has its own.
    Own,
    /// One for all.
    Common,
    /// None is named: each request is a session of its own.
    None,
}

/// A request with a place for its id.
#[derive(Debug, Clone)]
struct Template {
    bytes: Vec<u8>,
    id: usize,
}

impl Template {
    fn new(sessions: Sessions, connection: usize) -> Template {
        let session = match sessions {
            Sessions::Own => format!(r#""session_id":"http-{connection:04}","#),
            Sessions::Common => r#""session_id":"http-all","#.to_owned(),
            Sessions::None => String::new(),
        };
        let body = format!(
            r#"{{"protocol_version":"1.0.0","request_id":"{ID_PLACE}","request":{{"context":{{{session}"user_intent":"help","shell":{{"shell_kind":"bench"}}}}}}}}"#
        );
        let text = post("", &body);
        let id = text.find(ID_PLACE).unwrap_or_default();
        Template { bytes: text.into_bytes(), id }
    }
}

/// The text of a request, with further headers.
pub fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         {headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

struct LoadConnection {
    stream: TcpStream,
    template: Template,
    /// Part of an answer that has come.
    buffer: Vec<u8>,
    /// Moment at which its request was due, while it waits for the answer.
    due: Option<Instant>,
}

/// All connections of a run.
pub struct LoadCrowd {
    poll: Poll,
    events: Events,
    connections: Vec<LoadConnection>,
    read: Vec<u8>,
    /// Counts requests: each has an id of its own.
    requests: u64,
    /// Answers with another status than 200, of the run under way.
    refused: u64,
}

/// Result of a run.
pub struct HttpLoad {
    /// Answers, refusals not among them.
    pub answered: Pushed,
    /// Refusals for each request.
    pub refused: f64,
}

impl LoadCrowd {
    /// Opens `count` connections; the only crowd of its server, because its ids begin at 1.
    pub fn connect(address: SocketAddr, count: usize, sessions: Sessions) -> Result<Self> {
        let poll = Poll::new()?;
        let mut connections = Vec::with_capacity(count);
        for index in 0..count {
            let stream = client::open(address, Greeting::None)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(index), Interest::READABLE)?;
            let template = Template::new(sessions, index);
            connections.push(LoadConnection { stream, template, buffer: Vec::new(), due: None });
        }
        let events = Events::with_capacity(1024);
        Ok(Self { poll, events, connections, read: vec![0; READ_BYTES], requests: 0, refused: 0 })
    }

    /// Each connection asks again as soon as it is answered, for `time`. Latencies in milliseconds.
    pub fn push(&mut self, time: Duration) -> Result<HttpLoad> {
        self.refused = 0;
        let (mut latencies, mut done) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        for index in 0..self.connections.len() {
            self.ask(index, Instant::now())?;
        }
        let mut waiting = self.connections.len();
        while waiting > 0 {
            self.hear(PATIENCE, &mut done, &mut latencies)?;
            for index in done.drain(..) {
                if begin.elapsed() < time {
                    self.ask(index, Instant::now())?;
                } else {
                    waiting -= 1;
                }
            }
        }
        Ok(self.load(latencies, begin.elapsed()))
    }

    /// As [`push`](Self::push), but requests are due at a fixed rate of all connections together. A
    /// latency counts from when its request was due, so that a stall is not hidden by what it delayed.
    pub fn pace(&mut self, time: Duration, rate: u32) -> Result<HttpLoad> {
        self.refused = 0;
        let (mut latencies, mut done) = (Vec::new(), Vec::new());
        let gap = Duration::from_secs(1) / rate;
        let begin = Instant::now();
        let mut due = begin;
        let all = self.connections.len();
        let mut free: std::collections::VecDeque<usize> = (0..all).collect();
        let mut last = begin;
        while begin.elapsed() < time || free.len() < all {
            while due <= Instant::now() && begin.elapsed() < time {
                let Some(index) = free.pop_front() else { break };
                self.ask(index, due)?;
                due += gap;
            }
            let wait = due.saturating_duration_since(Instant::now()).max(Duration::from_micros(50));
            self.hear(wait, &mut done, &mut latencies)?;
            if !done.is_empty() || free.len() == all {
                last = Instant::now();
            }
            ensure!(last.elapsed() < PATIENCE, "no answer for {PATIENCE:?}");
            free.extend(done.drain(..));
        }
        Ok(self.load(latencies, begin.elapsed()))
    }

    fn load(&self, latencies: Vec<f64>, time: Duration) -> HttpLoad {
        let answers = latencies.len();
        #[expect(clippy::cast_precision_loss, reason = "far fewer answers than an f64 can count")]
        let refused = self.refused as f64 / (answers as f64 + self.refused as f64).max(1.0);
        HttpLoad { answered: Pushed::new(latencies, time), refused }
    }

    fn ask(&mut self, index: usize, due: Instant) -> Result<()> {
        self.requests += 1;
        let LoadConnection { stream, template, due: asked, .. } = &mut self.connections[index];
        let place = template.bytes.get_mut(template.id..template.id + ID_DIGITS);
        let mut place = place.context("a request has no place for its id")?;
        write!(place, "{:0ID_DIGITS$}", self.requests)?;
        *asked = Some(due);
        // A request is far smaller than the socket's buffer, which is empty: nothing is in flight.
        let sent = stream.write(&template.bytes).context("cannot send")?;
        ensure!(sent == template.bytes.len(), "the server does not take a request of {sent} bytes");
        Ok(())
    }

    /// Waits for answers, at most until `wait` is over; adds who got one to `done`.
    fn hear(
        &mut self,
        wait: Duration,
        done: &mut Vec<usize>,
        latencies: &mut Vec<f64>,
    ) -> Result<()> {
        match self.poll.poll(&mut self.events, Some(wait)) {
            // Somebody paused the benchmark: that is no failure of what it measures.
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        ensure!(wait < PATIENCE || !self.events.is_empty(), "no answer for {PATIENCE:?}");
        for event in &self.events {
            let connection = &mut self.connections[event.token().0];
            let Some(status) = connection.receive(&mut self.read)? else { continue };
            let due = connection.due.take().context("an answer to nothing asked")?;
            match status {
                200 => latencies.push(due.elapsed().as_secs_f64() * 1e3),
                503 => self.refused += 1,
                other => bail!("status {other}: {}", String::from_utf8_lossy(&self.read[..512])),
            }
            done.push(event.token().0);
        }
        Ok(())
    }
}

impl LoadConnection {
    /// Takes what has come; the status of the answer when all of it is there.
    fn receive(&mut self, room: &mut [u8]) -> Result<Option<u16>> {
        loop {
            match self.stream.read(room) {
                Ok(0) => bail!("the server closed a connection"),
                Ok(count) => {
                    self.buffer.extend_from_slice(&room[..count]);
                    // Shorter than there is room for: nothing more is there.
                    if let Some(status) = whole(&self.buffer)? {
                        self.buffer.clear();
                        return Ok(Some(status));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot receive"),
            }
        }
    }
}

/// The status of an answer, if all of it is there and nothing else.
fn whole(bytes: &[u8]) -> Result<Option<u16>> {
    const LENGTH: &[u8] = b"content-length: ";
    let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let (head, body) = (&bytes[..head], &bytes[head + 4..]);
    let number = |digits: &[u8]| -> Result<usize> {
        let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        Ok(std::str::from_utf8(&digits[..end])?.parse()?)
    };
    let place = head.windows(LENGTH.len()).position(|name| name.eq_ignore_ascii_case(LENGTH));
    let place = place.context("an answer without a length")?;
    let length = number(&head[place + LENGTH.len()..])?;
    ensure!(body.len() <= length, "the server sent more than it was asked for");
    let status = head.get(b"HTTP/1.1 ".len()..).context("an answer without a status")?;
    Ok((body.len() == length).then_some(u16::try_from(number(status)?)?))
}
