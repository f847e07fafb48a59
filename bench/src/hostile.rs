//! What other connections notice of a hostile one: `bridle-bench hostile`.
//!
//! While an attack runs, one connection asks for health every millisecond, and the times of its answers
//! are the result. Attacker, probe and daemon share the machine, so the first row, without an attack
//! but with a process that only burns time, is what the others are to be held against. The daemon is
//! the same one throughout: it must outlive all of them.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::Options;
use crate::client::{self, Exchange, Greeting};
use crate::idle::{mebibytes, raise_open_files};
use crate::report::{Bound, Cell, Table, Verdict};
use crate::servers::Server;
use crate::stats::quantile;

/// Time between two questions of the probe.
const PROBE_EVERY: Duration = Duration::from_millis(1);

/// Milliseconds within which the probe is to be answered, at 99 of 100 questions.
const TARGET_MS: f64 = 10.0;

/// Random frames answered; the longest has 48 bytes, so that most are judged and few only read.
const RANDOM_FRAMES: usize = 1_000_000;
const RANDOM_BYTES: usize = 48;

/// Frames in one write, and writes on one connection before the next one is opened.
const FRAMES_A_WRITE: usize = 500;
const WRITES_A_CONNECTION: usize = 40;

/// Connections that the random frames may take; about a hundred are enough for a daemon that answers.
const RANDOM_CONNECTIONS: usize = 1_000;

/// Bytes that random payloads are made of: what means something to a reader, and pieces of UTF-8.
const ALPHABET: &[u8] = b"()()[]{}\"\\|:;#'`,. abcXYZ019-+?\n\x00\xc3\xa9\xf0\x9f\x98\x80\xff";

/// ASCII part of the alphabet.
const ASCII: &[u8] = ALPHABET.split_at(ALPHABET.len() - 7).0;

/// An attack: its name, and how it is done until told to stop or done.
type Attack = (&'static str, fn(&Field) -> Result<()>);

/// Workspace of an attacker.
struct Field {
    address: SocketAddr,
    /// Few and short, to see that it runs.
    quick: bool,
}

const ATTACKS: &[Attack] = &[
    ("nothing, one core busy", burn),
    ("2 MB of `(`, 50 times", parens),
    ("`FFFFFF` and silence, 1,000 connections", silence),
    ("one byte a second, 20 connections", drip),
    ("half-open peers, 500", half_open),
    ("HTTP and TLS, 500 of each", other_protocols),
    ("answers never read, 4 connections", never_read),
    ("16 MB messages, 8 of them", large),
    ("1,000,000 random frames", random),
];

/// Runs the attacks against one daemon and reports what the probe saw.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let columns = ["attack", "seconds", "probes", "p50 ms", "p99 ms", "worst ms", "MiB RSS after"];
    let mut table = Table::new("Health of another connection meanwhile", columns);
    raise_open_files()?;
    let server = Server::bridle(&options.bridle)?;
    let field = Field { address: server.exchange.address, quick: options.quick };
    let mut worst_p99: f64 = 0.0;
    for (index, (name, attack)) in ATTACKS.iter().enumerate() {
        let (seconds, latencies) = under(&server.exchange, || attack(&field))
            .with_context(|| format!("during the attack `{name}`"))?;
        let p99 = quantile(&latencies, 0.99);
        if index > 0 {
            worst_p99 = worst_p99.max(p99);
        }
        table.push(vec![
            Cell::text(*name),
            Cell::Number(seconds, 1),
            Cell::text(latencies.len().to_string()),
            Cell::Number(quantile(&latencies, 0.5), 2),
            Cell::Number(p99, 2),
            Cell::Number(quantile(&latencies, 1.0), 2),
            Cell::Number(mebibytes(server.rss()?), 1),
        ]);
    }
    tables.push(table);
    verdicts.push(Verdict {
        what: "health meanwhile, the worst attack: p99 ms".to_owned(),
        target: TARGET_MS,
        got: worst_p99,
        bound: Bound::AtMost,
    });
    Ok(())
}

/// Does `attack` while the probe asks; returns how long it took and the sorted times in milliseconds.
fn under(exchange: &Exchange, attack: impl FnOnce() -> Result<()>) -> Result<(f64, Vec<f64>)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let probe = scope.spawn(|| probe(exchange, &over));
        let start = Instant::now();
        let done = attack();
        let seconds = start.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        let mut latencies = probe.join().expect("the probe does not panic")?;
        done?;
        latencies.sort_by(f64::total_cmp);
        Ok((seconds, latencies))
    })
}

fn probe(exchange: &Exchange, over: &AtomicBool) -> Result<Vec<f64>> {
    let mut stream = client::open(exchange.address, Greeting::Frame)?;
    let mut answer = vec![0; exchange.answer.len()];
    let mut latencies = Vec::new();
    loop {
        let asked = Instant::now();
        stream.write_all(&exchange.request)?;
        stream.read_exact(&mut answer).context("the probe is not answered")?;
        latencies.push(asked.elapsed().as_secs_f64() * 1e3);
        ensure!(answer == exchange.answer, "the probe is answered something else");
        if over.load(Ordering::Relaxed) {
            return Ok(latencies);
        }
        thread::sleep(PROBE_EVERY);
    }
}

fn connect(field: &Field) -> Result<TcpStream> {
    client::open(field.address, Greeting::Frame)
}

fn burn(field: &Field) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(if field.quick { 1 } else { 5 });
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    Ok(())
}

fn parens(field: &Field) -> Result<()> {
    let frame = [format!("{:06x}", 2_000_000).as_bytes(), &vec![b'('; 2_000_000]].concat();
    let mut stream = connect(field)?;
    for _ in 0..50 {
        stream.write_all(&frame)?;
        expect_error(&mut stream, "limit-depth")?;
    }
    Ok(())
}

fn silence(field: &Field) -> Result<()> {
    let mut streams = Vec::new();
    for _ in 0..1_000 {
        let mut stream = connect(field)?;
        stream.write_all(b"FFFFFF")?;
        streams.push(stream);
    }
    thread::sleep(Duration::from_secs(if field.quick { 1 } else { 5 }));
    Ok(())
}

fn drip(field: &Field) -> Result<()> {
    let frame = format!("{:06x}{}", 200, "(".repeat(200));
    let mut streams: Vec<TcpStream> = (0..20).map(|_| connect(field)).collect::<Result<_>>()?;
    for byte in frame.bytes().take(if field.quick { 2 } else { 60 }) {
        for stream in &mut streams {
            // Once the daemon's patience with a frame is over this fails, as it should.
            drop(stream.write_all(&[byte]));
        }
        thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

/// Half of them end their side and keep the other open, half vanish inside a frame.
fn half_open(field: &Field) -> Result<()> {
    let mut kept = Vec::new();
    for index in 0..500 {
        let mut stream = connect(field)?;
        stream.write_all(b"00ffff(:type ")?;
        if index % 2 == 0 {
            stream.shutdown(Shutdown::Write)?;
            kept.push(stream);
        }
    }
    thread::sleep(Duration::from_secs(1));
    Ok(())
}

fn other_protocols(field: &Field) -> Result<()> {
    let hello: &[u8] = b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03";
    for bytes in [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".as_slice(), hello] {
        for _ in 0..500 {
            let mut stream = connect(field)?;
            stream.write_all(bytes)?;
            expect_error(&mut stream, "bad-header")?;
        }
    }
    Ok(())
}

fn never_read(field: &Field) -> Result<()> {
    let batch = b"000015(:type :health-check)".repeat(1_000);
    let mut streams: Vec<TcpStream> = (0..4).map(|_| connect(field)).collect::<Result<_>>()?;
    let end = Instant::now() + Duration::from_secs(if field.quick { 1 } else { 5 });
    for stream in &mut streams {
        stream.set_nonblocking(true)?;
    }
    while Instant::now() < end {
        for stream in &mut streams {
            // Full, sooner or later: that is the attack.
            drop(stream.write_all(&batch));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn large(field: &Field) -> Result<()> {
    let body = "(:a \"b\" 1) ".repeat(1_500_000);
    let message = format!("(:type :EVENT :payload (:sensor :buffer-update :ast ({body})))");
    let frame = format!("{:06x}{message}", message.len());
    let mut stream = connect(field)?;
    for _ in 0..8 {
        stream.write_all(frame.as_bytes())?;
        client::read_frame(&mut stream).context("a large message is not answered")?;
    }
    Ok(())
}

/// Until so many were answered: text outside ASCII soon loses the framing, which closes the connection
/// and leaves the frames behind it unread.
fn random(field: &Field) -> Result<()> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut answered = 0;
    let wanted = if field.quick { RANDOM_FRAMES / 20 } else { RANDOM_FRAMES };
    for connection in 0..RANDOM_CONNECTIONS {
        let alphabet = if connection % 2 == 0 { ASCII } else { ALPHABET };
        let mut stream = connect(field)?;
        let reader = stream.try_clone()?;
        let counting = thread::spawn(move || count_frames(reader));
        for _ in 0..WRITES_A_CONNECTION {
            if stream.write_all(&random_frames(&mut state, alphabet)).is_err() {
                break;
            }
        }
        drop(stream.shutdown(Shutdown::Write));
        answered += counting.join().expect("counting does not panic");
        if answered >= wanted {
            return Ok(());
        }
    }
    bail!("{answered} of {wanted} random frames answered on {RANDOM_CONNECTIONS} connections")
}

fn random_frames(state: &mut u64, alphabet: &[u8]) -> Vec<u8> {
    let mut below = |bound: usize| {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        usize::try_from(*state >> 33).expect("31 bits") % bound
    };
    let mut bytes = Vec::new();
    for _ in 0..FRAMES_A_WRITE {
        let length = 1 + below(RANDOM_BYTES);
        bytes.extend(format!("{length:06x}").bytes());
        bytes.extend((0..length).map(|_| alphabet[below(alphabet.len())]));
    }
    bytes
}

/// Counts frames until the daemon closes; a reset is an end like any other here.
fn count_frames(stream: TcpStream) -> usize {
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    let mut frames = 0;
    while client::read_frame(&mut reader).is_ok() {
        frames += 1;
    }
    frames
}

fn expect_error(stream: &mut TcpStream, word: &str) -> Result<()> {
    let frame = client::read_frame(stream).context("an attack is not answered")?;
    let text = String::from_utf8_lossy(&frame);
    ensure!(text.contains(word), "expected an error with `{word}`, got `{text}`");
    Ok(())
}
