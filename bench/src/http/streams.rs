//! What a stream costs in memory while nothing happens in it. Used by `http`.
//!
//! A daemon whose thinker takes minutes; every stream is a request in a session of its own that waits for
//! it. The memory is read with a few streams, which have made threads and tables grow, and with a thousand
//! more.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::load::post;
use crate::client::{self, Greeting};
use crate::servers::Server;

/// Streams before the memory is read the first time: more than think at once.
const FIRST: usize = 50;

/// Streams whose memory is measured.
pub const MEASURED: usize = 1_000;

/// Time for the daemon to finish what the last stream started.
const SETTLE: Duration = Duration::from_secs(2);

/// Never answers while this is measured.
const SCRIPT: &str = "(default :delay 600000 :say \"at last\")\n";

/// Memory of the daemon with the first streams and with all, in bytes.
pub struct Held {
    pub before: u64,
    pub with: u64,
}

/// Opens streams and reads the daemon's memory.
pub fn hold(binary: &Path) -> Result<Held> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("slow.script");
    std::fs::write(&script, SCRIPT)?;
    let thinker = format!("script:{}", script.display());
    let server = Server::bridle_http(binary, &["--thinker", &thinker])?;
    let address = server.exchange.address;
    let mut streams = Vec::with_capacity(FIRST + MEASURED);
    open(address, FIRST, &mut streams)?;
    std::thread::sleep(SETTLE);
    let before = server.rss()?;
    open(address, MEASURED, &mut streams)?;
    std::thread::sleep(SETTLE);
    let with = server.rss()?;
    for stream in &mut streams {
        stream.set_nonblocking(true)?;
        let mut byte = [0];
        let quiet = stream.peek(&mut byte).is_err();
        ensure!(quiet, "a stream that should wait has ended or said more");
    }
    Ok(Held { before, with })
}

fn open(address: SocketAddr, count: usize, streams: &mut Vec<TcpStream>) -> Result<()> {
    for _ in 0..count {
        let index = streams.len();
        streams.push(stream(address, index).with_context(|| format!("stream {index}"))?);
    }
    Ok(())
}

/// Asks for a stream and reads its first event.
fn stream(address: SocketAddr, index: usize) -> Result<TcpStream> {
    let mut stream = client::open(address, Greeting::None)?;
    let body = format!(
        r#"{{"protocol_version":"1.0.0","request_id":"stream-{index}","capabilities":{{"openharness.streaming":{{"profiles":["dev.bridle.sse.1"]}}}},"request":{{"context":{{"session_id":"stream-{index}","user_intent":"wait"}}}}}}"#
    );
    stream.write_all(post("accept: text/event-stream\r\n", &body).as_bytes())?;
    let (mut text, mut room) = (Vec::new(), [0; 4096]);
    // The end of the first event, then of the chunk that carries it.
    while !text.ends_with(b"\n\n\r\n") {
        let count = stream.read(&mut room)?;
        ensure!(count > 0, "closed: {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&room[..count]);
    }
    ensure!(text.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&text));
    Ok(stream)
}
