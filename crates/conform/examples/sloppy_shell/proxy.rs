//! Stands between the Shell and the Engine, and changes what passes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use super::faults::Fault;

/// Listens for the Shell; returns where.
pub(crate) fn start(engine: &str, fault: Arc<Fault>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let engine = engine.to_owned();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            pass(stream, &engine, &fault, number);
        }
    });
    address
}

fn pass(mut shell: TcpStream, engine: &str, fault: &Fault, number: usize) {
    let (head, body) = request(&mut shell);
    let sent_id = id_of(&body);
    let mut answer = String::new();
    for again in 0..=fault.resend {
        let head = (fault.head)(head.clone());
        let body = (fault.up)(body.clone(), number + again, &head);
        answer = exchange(engine, &head, &body);
        let told_id = id_of(&body);
        if told_id != sent_id {
            answer = answer.replace(&told_id, &sent_id);
        }
        if again < fault.resend && !(fault.resend_if)(&body, &answer) {
            break;
        }
    }
    if fault.follows
        && let Some(rest) = answer.split("http://localhost").nth(1)
    {
        let port = rest.split('/').next().unwrap();
        answer = exchange(&format!("localhost{port}"), &head, &body);
    }
    let answer = (fault.down)(answer, &sent_id, number);
    // The Shell may have gone away.
    let _ = shell.write_all(measured(&answer).as_bytes());
}

/// The id of a request, with its quotes.
fn id_of(body: &str) -> String {
    let rest = body.split("\"request_id\":").nth(1).unwrap_or("\"\"");
    rest.split(',').next().unwrap_or_default().to_owned()
}

fn request(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return (head.to_owned(), body.to_owned());
            }
        }
        let count = stream.read(&mut chunk).unwrap();
        bytes.extend_from_slice(&chunk[..count]);
    }
}

/// Sends a request on; the whole answer, or nothing.
fn exchange(engine: &str, head: &str, body: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(engine) else { return String::new() };
    let lines =
        head.split("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("content-length"));
    let head = lines.collect::<Vec<_>>().join("\r\n");
    let length = body.len();
    let _ = write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The answer with the length that it has now.
fn measured(answer: &str) -> String {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return String::new() };
    if !head.contains("content-length: ") {
        return answer.to_owned();
    }
    let lines = head.split("\r\n").filter(|line| !line.starts_with("content-length: "));
    let head = lines.collect::<Vec<_>>().join("\r\n");
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}
