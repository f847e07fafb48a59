//! Stands between the client and the daemon, and changes what passes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use super::faults::Fault;

/// Listens for the client; returns where.
pub(crate) fn start(daemon: &str, fault: Arc<Fault>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let daemon = daemon.to_owned();
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
            // The case is over.
            let Ok(daemon) = TcpStream::connect(&daemon) else { return };
            let (from, to) = (client.try_clone().unwrap(), daemon.try_clone().unwrap());
            let (up, down) = (Arc::clone(&fault), Arc::clone(&fault));
            std::thread::spawn(move || {
                pass(from, to, |text| (up.up)(text, number), &Some);
            });
            std::thread::spawn(move || {
                pass(daemon, client, |text| (down.down)(text, number), &|bytes| {
                    (down.bytes)(bytes)
                });
            });
        }
    });
    address
}

fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    change: impl Fn(String) -> Vec<String>,
    bytes: &dyn Fn(Vec<u8>) -> Option<Vec<u8>>,
) {
    let mut unread = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut chunk).unwrap_or(0);
        if count == 0 {
            break;
        }
        let Some(more) = bytes(chunk[..count].to_vec()) else { std::process::exit(3) };
        unread.extend(more);
        while let Some((frame, text)) = cut(&mut unread) {
            let frames = match text {
                Some(text) => change(text)
                    .iter()
                    .map(|it| format!("{:06x}{it}", it.len()).into_bytes())
                    .collect(),
                None => vec![frame],
            };
            if frames.iter().any(|frame| to.write_all(frame).is_err()) {
                break;
            }
        }
    }
    let _ = to.write_all(&unread);
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// A whole frame off the front, and its text if it is a plain one.
fn cut(unread: &mut Vec<u8>) -> Option<(Vec<u8>, Option<String>)> {
    let header = unread.get(..6)?;
    let length =
        std::str::from_utf8(header).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
    let Some(length) = length else { return Some((std::mem::take(unread), None)) };
    if unread.len() < 6 + length {
        return None;
    }
    let frame: Vec<u8> = unread.drain(..6 + length).collect();
    let text = String::from_utf8(frame[6..].to_vec()).ok();
    let text = text.filter(|text| text.trim_start().starts_with('('));
    Some((frame, text))
}
