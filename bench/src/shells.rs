//! Attached shells, many of them on one thread: each has said hello, has a session of its own and sends
//! prompts one after the other. Used by `turns`, `attach`, `idle` and `soak`.
//!
//! Frames are split by their six digits and told apart by how they begin; nothing else is read, so that
//! the client takes as little of the machine as it can.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::client;
use crate::idle::connect_from;

/// Time that the daemon may be silent before a run is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// Connections from one source address; the kernel has about 28,000 ports for each, some still in use.
const PER_SOURCE: usize = 4_000;

/// Beginning of an answer to a prompt.
const ANSWER: &[u8] = b"(:type :RESPONSE";

/// A shell that stays.
struct Shell {
    stream: TcpStream,
    /// Bytes of a frame that has begun.
    buffer: Vec<u8>,
    /// Moment at which its prompt was sent, while it waits for the answer.
    asked: Option<Instant>,
    /// Counts its prompts: each has an id of its own.
    prompts: u64,
}

/// All shells of a run.
pub struct Crowd {
    poll: Poll,
    events: Events,
    shells: Vec<Shell>,
    read: Vec<u8>,
}

/// One answered prompt.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// Index of the shell.
    pub shell: usize,
    /// From the write of the prompt to the last byte of its answer.
    pub took: Duration,
}

impl Crowd {
    /// Opens `count` connections and attaches each to a session of its own, called `PREFIX-N`.
    pub fn attach(address: SocketAddr, count: usize, prefix: &str) -> Result<Self> {
        let poll = Poll::new()?;
        let mut shells = Vec::with_capacity(count);
        for index in 0..count {
            let stream = attach_one(address, index, &format!("{prefix}-{index}"), None)
                .with_context(|| format!("shell {index}"))?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(index), Interest::READABLE)?;
            shells.push(Shell { stream, buffer: Vec::new(), asked: None, prompts: 0 });
        }
        Ok(Self { poll, events: Events::with_capacity(1024), shells, read: vec![0; READ_BYTES] })
    }

    /// Sends a prompt from one shell; it must not be waiting for an answer.
    pub fn ask(&mut self, index: usize, text: &str) -> Result<()> {
        let shell = &mut self.shells[index];
        ensure!(shell.asked.is_none(), "shell {index} still waits");
        shell.prompts += 1;
        let frame = frame(&format!(
            "(:type :EVENT :id {} :payload (:sensor :user-prompt :text \"{text}\"))",
            shell.prompts
        ));
        shell.asked = Some(Instant::now());
        // A prompt is far smaller than the socket's buffer, which is empty: nothing else is in flight.
        let sent = shell.stream.write(&frame).context("cannot send")?;
        ensure!(sent == frame.len(), "the daemon does not take a prompt of {} bytes", frame.len());
        Ok(())
    }

    /// Waits for answers, at most until `wait` is over, and adds them to `answers`.
    pub fn hear(&mut self, wait: Duration, answers: &mut Vec<Answer>) -> Result<()> {
        match self.poll.poll(&mut self.events, Some(wait)) {
            // Somebody paused the benchmark: that is no failure of what it measures.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        let ready: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
        for index in ready {
            self.receive(index, answers)?;
        }
        Ok(())
    }

    /// Sends prompts from the first `active` shells, each a new one as soon as the last is answered, for
    /// `time`; then waits for what is in flight. Latencies in milliseconds.
    pub fn push(&mut self, active: usize, time: Duration, text: &str) -> Result<Pushed> {
        let mut latencies = Vec::new();
        let mut answers = Vec::new();
        let begin = Instant::now();
        for index in 0..active {
            self.ask(index, text)?;
        }
        let mut waiting = active;
        let mut last = Instant::now();
        while waiting > 0 {
            self.hear(PATIENCE, &mut answers)?;
            if !answers.is_empty() {
                last = Instant::now();
            }
            ensure!(last.elapsed() < PATIENCE, "no answer for {PATIENCE:?}");
            for answer in answers.drain(..) {
                latencies.push(answer.took.as_secs_f64() * 1e3);
                if begin.elapsed() < time {
                    self.ask(answer.shell, text)?;
                } else {
                    waiting -= 1;
                }
            }
        }
        Ok(Pushed::new(latencies, begin.elapsed()))
    }

    /// As [`push`](Self::push), but prompts are due at a fixed rate of all shells together; a latency
    /// counts from when its prompt was due, so that a stall is not hidden by the prompts it delayed.
    pub fn pace(&mut self, active: usize, time: Duration, text: &str, rate: u32) -> Result<Pushed> {
        let mut latencies = Vec::new();
        let mut answers = Vec::new();
        let gap = Duration::from_secs(1) / rate;
        let begin = Instant::now();
        let mut due = begin;
        let mut free: Vec<usize> = (0..active).collect();
        let mut due_of = vec![begin; active];
        let mut last = Instant::now();
        while begin.elapsed() < time || free.len() < active {
            while due <= Instant::now() && begin.elapsed() < time {
                let Some(index) = free.pop() else { break };
                due_of[index] = due;
                due += gap;
                self.ask(index, text)?;
            }
            let wait = due.saturating_duration_since(Instant::now()).max(Duration::from_micros(50));
            self.hear(wait, &mut answers)?;
            if !answers.is_empty() || free.len() == active {
                last = Instant::now();
            }
            ensure!(last.elapsed() < PATIENCE, "no answer for {PATIENCE:?}");
            for answer in answers.drain(..) {
                latencies.push(due_of[answer.shell].elapsed().as_secs_f64() * 1e3);
                // At the front: every shell has its turn.
                free.insert(0, answer.shell);
            }
        }
        Ok(Pushed::new(latencies, begin.elapsed()))
    }

    fn receive(&mut self, index: usize, answers: &mut Vec<Answer>) -> Result<()> {
        let shell = &mut self.shells[index];
        loop {
            match shell.stream.read(&mut self.read) {
                Ok(0) => bail!("the daemon closed the connection of shell {index}"),
                Ok(count) => shell.buffer.extend_from_slice(&self.read[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot receive"),
            }
        }
        let mut start = 0;
        while let Some(length) = frame_length(&shell.buffer[start..])? {
            let payload = &shell.buffer[start + 6..start + length];
            if payload.starts_with(ANSWER) {
                let asked = shell.asked.take().context("an answer to nothing asked")?;
                let text = String::from_utf8_lossy(payload);
                ensure!(text.contains(":status :success"), "refused: {text}");
                answers.push(Answer { shell: index, took: asked.elapsed() });
            }
            start += length;
        }
        shell.buffer.drain(..start);
        Ok(())
    }
}

/// Result of a push.
#[derive(Debug, Clone)]
pub struct Pushed {
    /// Answers per second.
    pub per_second: f64,
    /// Sorted, in milliseconds.
    pub latencies: Vec<f64>,
}

impl Pushed {
    /// Sums up latencies in milliseconds.
    pub fn new(mut latencies: Vec<f64>, time: Duration) -> Self {
        latencies.sort_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "far fewer answers than an f64 can count")]
        let per_second = latencies.len() as f64 / time.as_secs_f64();
        Self { per_second, latencies }
    }
}

/// Connects, takes the hello, says one for `session` and takes its answer; with a cursor, what the
/// session has after that number follows.
pub fn attach_one(
    address: SocketAddr,
    index: usize,
    session: &str,
    cursor: Option<u64>,
) -> Result<std::net::TcpStream> {
    let host = u8::try_from(2 + index / PER_SOURCE).context("too many connections")?;
    let mut stream = connect_from(Ipv4Addr::new(127, 0, 0, host), address)?;
    stream.set_nodelay(true)?;
    client::read_frame(&mut stream).context("no hello")?;
    let cursor = cursor.map(|cursor| format!(" :cursor {cursor}")).unwrap_or_default();
    let hello = format!(
        "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :length :bytes \
         :client \"00000000-0000-4000-8000-{index:012x}\" :shell :bench :session \"{session}\"{cursor}))"
    );
    stream.write_all(&frame(&hello))?;
    let answer = client::read_frame(&mut stream).context("no answer to the hello")?;
    let answer = String::from_utf8_lossy(&answer);
    ensure!(answer.contains(":status :success"), "not attached: {answer}");
    Ok(stream)
}

/// A frame around this text.
pub fn frame(text: &str) -> Vec<u8> {
    format!("{:06x}{text}", text.len()).into_bytes()
}

/// Bytes of the first frame, digits included, if all of it is there.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(digits) = bytes.get(..6) else { return Ok(None) };
    let digits = std::str::from_utf8(digits).context("a frame begins with six hex digits")?;
    let length = 6 + usize::from_str_radix(digits, 16)
        .with_context(|| format!("expected six hex digits, got `{digits}`"))?;
    Ok((bytes.len() >= length).then_some(length))
}
