//! Stands between a kit and an engine, passes requests over HTTP on, and plants one fault.
//!
//! A request is read whole, handed to the fault, and goes to the engine on a connection of its own;
//! the answer is read to its end and handed to the fault, too. What cannot be read whole passes as
//! it came. A WebSocket is a pipe whose bytes the fault sees in one direction.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// An answer.
#[derive(Clone)]
pub(crate) struct Say {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
    }
}

impl Say {
    pub(crate) fn json(status: u16, body: &str) -> Say {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Say { status, headers, body: body.as_bytes().to_vec() }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// What becomes of a request.
pub(crate) enum Up {
    /// It goes on, perhaps changed.
    Pass(Ask),
    /// It is answered here.
    Answer(Say),
    /// The connection ends.
    Close,
}

/// One fault of an engine.
pub(crate) trait Fault: Send + Sync {
    fn up(&self, ask: Ask) -> Up {
        Up::Pass(ask)
    }

    fn down(&self, _ask: &Ask, say: Say) -> Say {
        say
    }

    /// Bytes of a WebSocket from the engine.
    fn piped(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    /// What else it does to connections.
    fn habit(&self) -> Habit {
        Habit::None
    }
}

/// What an engine does to connections.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    None,
    /// Carries out what it has when the rest does not come, and takes the first of two lengths.
    Completes,
    /// Closes after each answer.
    HangsUp,
    /// Looks at one connection at a time.
    OneByOne,
    /// Takes what comes first for all of a request.
    OnePiece,
}

/// No fault.
pub(crate) struct Honest;

impl Fault for Honest {}

/// The one in between; listens for as long as the test runs.
pub(crate) struct Middle {
    pub(crate) addr: String,
}

impl Middle {
    pub(crate) fn start(engine: &str, fault: Arc<dyn Fault>) -> Middle {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let (engine, habit) = (engine.to_owned(), fault.habit());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (engine, fault) = (engine.clone(), Arc::clone(&fault));
                let serving = move || drop(serve(client, &engine, fault.as_ref()));
                if habit == Habit::OneByOne { serving() } else { drop(thread::spawn(serving)) }
            }
        });
        Middle { addr }
    }
}

/// Requests of a connection, one after the other.
fn serve(mut client: TcpStream, engine: &str, fault: &dyn Fault) -> std::io::Result<()> {
    let mut unread = Vec::new();
    let here = client.local_addr()?.to_string();
    loop {
        let Some(ask) = read_ask(&mut client, &mut unread, fault.habit())? else {
            if unread.is_empty() {
                return Ok(());
            }
            let host = find(&unread, here.as_bytes());
            if let Some(at) = host {
                unread.splice(at..at + here.len(), engine.bytes());
            }
            return tunnel(client, engine, &unread, &|bytes| bytes);
        };
        let is_socket = ask.header("upgrade").is_some();
        let wants_close =
            ask.header("connection") == Some("close") || fault.habit() == Habit::HangsUp;
        let is_head = ask.line.starts_with("HEAD ");
        let ask = match fault.up(ask) {
            Up::Close => return client.shutdown(Shutdown::Both),
            Up::Answer(say) => {
                write_say(&mut client, &say, true)?;
                if wants_close {
                    return client.shutdown(Shutdown::Both);
                }
                continue;
            }
            Up::Pass(ask) => ask,
        };
        // An engine knows itself by its own address.
        let mut ask = ask;
        if ask.header("host") == Some(&here) {
            ask.set("Host", engine);
        }
        if is_socket {
            return tunnel(client, engine, &bytes_of(&ask), &|bytes| fault.piped(bytes));
        }
        let say = fault.down(&ask, exchange(engine, &ask)?);
        let is_stream = say.headers.iter().any(|(_, value)| value.contains("event-stream"));
        write_say(&mut client, &say, !is_head)?;
        if wants_close || is_stream {
            return client.shutdown(Shutdown::Both);
        }
    }
}

/// A request, once all of it is there; `None` if it has no end that can be seen.
fn read_ask(
    client: &mut TcpStream,
    unread: &mut Vec<u8>,
    habit: Habit,
) -> std::io::Result<Option<Ask>> {
    // One piece is as much as its reader takes at once, whatever the network makes of the rest.
    let mut chunk = vec![0; if habit == Habit::OnePiece { 256 } else { 64 << 10 }];
    let mut is_ended = false;
    loop {
        if let Some((ask, used)) = cut(unread, is_ended && habit == Habit::Completes) {
            unread.drain(..used);
            return Ok(Some(ask));
        }
        match client.read(&mut chunk)? {
            0 if is_ended || habit != Habit::Completes => return Ok(None),
            0 => is_ended = true,
            _ if habit == Habit::OnePiece && !unread.is_empty() => {
                return Err(std::io::ErrorKind::InvalidData.into());
            }
            count => unread.extend_from_slice(&chunk[..count]),
        }
    }
}

/// Cuts a request off; a lax reader takes what there is for all.
fn cut(unread: &[u8], is_lax: bool) -> Option<(Ask, usize)> {
    let end = find(unread, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&unread[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let mut ask = Ask { line, headers, body: Vec::new() };
    let is_length = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-length");
    let lengths: Vec<String> =
        ask.headers.iter().filter(is_length).map(|it| it.1.clone()).collect();
    let rest = &unread[end + 4..];
    if is_lax {
        ask.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-length"));
        let first = lengths.first().and_then(|text| text.parse::<usize>().ok());
        let length = first.unwrap_or(rest.len()).min(rest.len());
        ask.body = rest[..length].to_vec();
        if ask.header("transfer-encoding").is_some() {
            ask.body.extend_from_slice(b"0\r\n\r\n");
        } else {
            ask.set("Content-Length", &length.to_string());
        }
        return Some((ask, unread.len()));
    }
    if lengths.len() > 1 || lengths.iter().any(|text| !text.bytes().all(|it| it.is_ascii_digit())) {
        return None;
    }
    if ask.header("transfer-encoding").is_some() {
        // Chunks pass as they came, to their end.
        let size = find(rest, b"\r\n0\r\n\r\n")? + 7;
        ask.body = rest[..size].to_vec();
        return Some((ask, end + 4 + size));
    }
    let length = ask.header("content-length").map_or(Some(0), |text| text.parse::<usize>().ok())?;
    ask.body = rest.get(..length)?.to_vec();
    Some((ask, end + 4 + length))
}

fn bytes_of(ask: &Ask) -> Vec<u8> {
    let mut text = format!("{}\r\n", ask.line);
    for (name, value) in &ask.headers {
        let is_length = name.eq_ignore_ascii_case("content-length");
        let value = if is_length { ask.body.len().to_string() } else { value.clone() };
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    [text.as_bytes(), &ask.body].concat()
}

fn exchange(engine: &str, ask: &Ask) -> std::io::Result<Say> {
    let mut ask = ask.clone();
    ask.set("Connection", "close");
    let mut stream = TcpStream::connect(engine)?;
    // The engine may answer before it has read everything.
    let _ = stream.write_all(&bytes_of(&ask));
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..count]);
    }
    let end = find(&bytes, b"\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status =
        lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|it| it.parse().ok());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let is_chunked = headers.iter().any(|(_, value)| value == "chunked");
    let body = bytes[end + 4..].to_vec();
    let body = if is_chunked { dechunk(&body) } else { body };
    Ok(Say { status: status.unwrap_or(0), headers, body })
}

fn dechunk(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some(at) = find(rest, b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..at]), 16).unwrap_or(0);
        let Some(piece) = rest.get(at + 2..at + 2 + size).filter(|_| size > 0) else { break };
        out.extend_from_slice(piece);
        rest = rest.get(at + 4 + size..).unwrap_or_default();
    }
    out
}

fn write_say(client: &mut TcpStream, say: &Say, with_body: bool) -> std::io::Result<()> {
    let mut text = format!("HTTP/1.1 {} X\r\n", say.status);
    let framing = ["content-length", "transfer-encoding", "connection"];
    for (name, value) in say.headers.iter().filter(|(name, _)| !framing.contains(&name.as_str())) {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n", say.body.len()));
    client.write_all(text.as_bytes())?;
    if with_body { client.write_all(&say.body) } else { Ok(()) }
}

/// Passes bytes both ways until both have ended.
fn tunnel(
    mut client: TcpStream,
    engine: &str,
    first: &[u8],
    change: &dyn Fn(Vec<u8>) -> Vec<u8>,
) -> std::io::Result<()> {
    let mut daemon = TcpStream::connect(engine)?;
    daemon.write_all(first)?;
    let (mut from, mut to) = (client.try_clone()?, daemon.try_clone()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut chunk = vec![0; 64 << 10];
    loop {
        match daemon.read(&mut chunk)? {
            0 => return client.shutdown(Shutdown::Both),
            count => client.write_all(&change(chunk[..count].to_vec()))?,
        }
    }
}

pub(crate) fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}
