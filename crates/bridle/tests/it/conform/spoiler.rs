//! Stands between a kit and a daemon, passes frames on, and plants one fault.
//!
//! Bytes of the client that are frames are handed to the fault as payloads, everything else passes
//! as it is; frames of the daemon always are payloads.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

/// One fault of a peer; every connection gets its own.
pub(crate) trait Fault: Send {
    /// Bytes of the client, before they are looked at. `None`: the connection ends here.
    fn bytes(&mut self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        Some(bytes)
    }

    /// A message of the client; what becomes of it goes to the daemon.
    fn up(&mut self, payload: String) -> Vec<String> {
        vec![payload]
    }

    /// A message of the daemon; what becomes of it goes to the client.
    fn down(&mut self, payload: String) -> Vec<String> {
        vec![payload]
    }

    /// A message to the client, as a frame.
    fn frame(&mut self, payload: &str) -> Vec<u8> {
        format!("{:06x}{payload}", payload.len()).into_bytes()
    }

    /// The client has ended its sending side; more bytes for the daemon before it is told.
    fn end(&mut self) -> End {
        End::Pass(Vec::new())
    }
}

/// What becomes of the end of the client's side.
pub(crate) enum End {
    /// These bytes, then the end.
    Pass(Vec<u8>),
    /// Both sides end at once.
    HangUp,
}

/// No fault.
pub(crate) struct Honest;

impl Fault for Honest {}

/// Makes the fault of a connection.
pub(crate) type Spoil = Box<dyn Fn() -> Box<dyn Fault> + Send>;

/// The one in between.
pub(crate) struct Spoiler {
    addr: String,
}

impl Spoiler {
    /// Listens on a free port, for as long as the test runs.
    pub(crate) fn start(socket: &str, spoil: Spoil) -> Spoiler {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let socket = socket.to_owned();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // The daemon has ended, and the test with it.
                let Ok(daemon) = UnixStream::connect(&socket) else { return };
                let fault = Arc::new(Mutex::new(spoil()));
                pass(client, daemon, fault);
            }
        });
        Spoiler { addr }
    }

    pub(crate) fn addr(&self) -> String {
        self.addr.clone()
    }
}

fn pass(client: TcpStream, daemon: UnixStream, fault: Arc<Mutex<Box<dyn Fault>>>) {
    let (from, to) = (client.try_clone().unwrap(), daemon.try_clone().unwrap());
    let upward = Arc::clone(&fault);
    thread::spawn(move || drop(up(from, to, &upward)));
    thread::spawn(move || drop(down(daemon, client, &fault)));
}

/// From the client to the daemon.
fn up(
    mut from: TcpStream,
    mut to: UnixStream,
    fault: &Mutex<Box<dyn Fault>>,
) -> std::io::Result<()> {
    let mut unread = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut chunk)?;
        let mut fault = fault.lock().unwrap();
        if count == 0 {
            let End::Pass(more) = fault.end() else { return from.shutdown(Shutdown::Both) };
            to.write_all(&unread)?;
            to.write_all(&more)?;
            return to.shutdown(Shutdown::Write);
        }
        let Some(bytes) = fault.bytes(chunk[..count].to_vec()) else {
            to.shutdown(Shutdown::Both)?;
            return from.shutdown(Shutdown::Both);
        };
        unread.extend(bytes);
        while let Some(part) = cut(&mut unread) {
            let parts = match part {
                Part::Raw(bytes) => vec![bytes],
                Part::Frame(text) => {
                    let texts = fault.up(text);
                    texts
                        .iter()
                        .map(|text| format!("{:06x}{text}", text.len()).into_bytes())
                        .collect()
                }
            };
            for bytes in parts {
                to.write_all(&bytes)?;
            }
        }
    }
}

/// From the daemon to the client.
fn down(
    mut from: UnixStream,
    mut to: TcpStream,
    fault: &Mutex<Box<dyn Fault>>,
) -> std::io::Result<()> {
    let mut unread = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut chunk)?;
        if count == 0 {
            to.write_all(&unread)?;
            return to.shutdown(Shutdown::Both);
        }
        unread.extend_from_slice(&chunk[..count]);
        while let Some(part) = cut(&mut unread) {
            let mut fault = fault.lock().unwrap();
            match part {
                Part::Raw(bytes) => to.write_all(&bytes)?,
                Part::Frame(text) => {
                    for text in fault.down(text) {
                        let bytes = fault.frame(&text);
                        to.write_all(&bytes)?;
                    }
                }
            }
        }
    }
}

enum Part {
    Frame(String),
    Raw(Vec<u8>),
}

/// Cuts a frame off, or whatever is there if it cannot be one.
fn cut(unread: &mut Vec<u8>) -> Option<Part> {
    let head = unread.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if head < unread.len().min(6) {
        return Some(Part::Raw(std::mem::take(unread)));
    }
    let header = std::str::from_utf8(unread.get(..6)?).ok()?;
    let length = usize::from_str_radix(header, 16).ok()?;
    let frame = unread.get(6..6 + length)?.to_vec();
    let raw = unread.drain(..6 + length).collect();
    // What is no text, or counts in another unit, passes as it is.
    Some(match String::from_utf8(frame) {
        Ok(text) if text.is_ascii() && !text.is_empty() => Part::Frame(text),
        _ => Part::Raw(raw),
    })
}
