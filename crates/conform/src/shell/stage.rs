//! A scripted Engine: HTTP on this machine, one answer for each request, and every request kept.
//!
//! Written anew for the kit: nothing of it is what bridle's own daemon or Shell talk with.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bridle_wire::openharness::json::JsonDocument;
use bridle_wire::openharness::{Json, MessageLimits};

/// Bytes of a request that are read.
const MAX_REQUEST: usize = 16 << 20;

/// Time that a shell may take to send a request once it has begun.
const REQUEST_WAIT: Duration = Duration::from_secs(20);

/// Reaction of the scripted engine to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageReply {
    status: u16,
    headers: String,
    /// `$ID` stands for the id of the request, in quotes.
    body: Vec<u8>,
    kind: StageReplyKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StageReplyKind {
    /// A whole answer.
    Whole,
    /// No length: the connection ends it.
    Stream,
    /// Closed without a word.
    Dropped,
}

impl StageReply {
    /// A message as it is.
    pub fn message(text: impl Into<String>) -> StageReply {
        let headers = "content-type: application/json\r\n".to_owned();
        StageReply {
            status: 200,
            headers,
            body: text.into().into_bytes(),
            kind: StageReplyKind::Whole,
        }
    }

    /// Success with these directives, given as the elements of a JSON array.
    pub fn directives(items: &str) -> StageReply {
        StageReply::response(&format!("\"status\":\"success\",\"action_directives\":[{items}]"))
    }

    /// A message with these fields in its `response`.
    pub fn response(fields: &str) -> StageReply {
        let head = "{\"protocol_version\":\"1.0.0\",\"request_id\":$ID";
        StageReply::message(format!("{head},\"response\":{{{fields}}}}}"))
    }

    /// An error; `more` are further fields of it.
    pub fn error(code: &str, more: &str) -> StageReply {
        let error = format!("{{\"code\":\"{code}\",\"message\":\"no\"{more}}}");
        StageReply::response(&format!("\"status\":\"error\",\"error\":{error}"))
    }

    /// A stream of these events, each with its name and its data, which says its number; then the
    /// connection ends.
    pub fn stream(events: &[(&str, String)]) -> StageReply {
        let mut text = String::from(": begins\n\n");
        for (name, data) in events {
            let seq = data.split("\"seq\":").nth(1).and_then(|rest| rest.split(',').next());
            let seq = seq.unwrap_or("0");
            text.push_str(&format!("id: {seq}\nevent: {name}\ndata: {data}\n\n"));
        }
        let headers = "content-type: text/event-stream\r\n".to_owned();
        StageReply { status: 200, headers, body: text.into_bytes(), kind: StageReplyKind::Stream }
    }

    /// Nothing: the connection is closed.
    pub fn dropped() -> StageReply {
        StageReply { kind: StageReplyKind::Dropped, ..StageReply::message("") }
    }

    /// Sets another status.
    #[must_use]
    pub fn status(mut self, status: u16) -> StageReply {
        self.status = status;
        self
    }

    /// Adds another header.
    #[must_use]
    pub fn header(mut self, line: &str) -> StageReply {
        self.headers.push_str(&format!("{line}\r\n"));
        self
    }

    fn bytes(&self, id: &str) -> Vec<u8> {
        let body = match std::str::from_utf8(&self.body) {
            Ok(text) => text.replace("$ID", id).into_bytes(),
            Err(_) => self.body.clone(),
        };
        let length = match self.kind {
            StageReplyKind::Stream => String::new(),
            StageReplyKind::Whole | StageReplyKind::Dropped => {
                format!("content-length: {}\r\n", body.len())
            }
        };
        let StageReply { status, headers, .. } = self;
        let head =
            format!("HTTP/1.1 {status} Scripted\r\n{headers}{length}connection: close\r\n\r\n");
        [head.into_bytes(), body].concat()
    }
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct SeenRequest {
    /// Moment at which it was whole.
    pub at: Instant,
    /// Head of the request, in lower case but for values.
    pub head: String,
    /// Body of the request.
    pub body: Vec<u8>,
}

impl SeenRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &'_ str| {
            let (found, _) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(found.len() + 1)
        };
        self.head.lines().skip(1).find_map(|text| Some(text[line(text)?..].trim()))
    }

    /// The body as JSON; `None` if it is none: no key twice, UTF-8, nothing behind it.
    pub fn json(&self) -> Option<Json> {
        let limits =
            MessageLimits { bytes: MAX_REQUEST, values: 1 << 20, ..MessageLimits::default() };
        JsonDocument::read(&self.body, &limits).ok()?.root().to_json(100)
    }

    /// The id of the request, as JSON.
    fn id(&self) -> String {
        let id = self.json().and_then(|json| json.as_object()?.get("request_id").cloned());
        id.map_or_else(|| "null".to_owned(), |id| id.to_text())
    }
}

/// State that the threads of a scripted engine share.
#[derive(Debug, Default)]
struct StageLog {
    seen: Mutex<Vec<SeenRequest>>,
    /// A request has come.
    came: Condvar,
}

impl StageLog {
    fn lock(&self) -> MutexGuard<'_, Vec<SeenRequest>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listening Engine.
#[derive(Debug)]
pub struct ScriptedEngine {
    address: SocketAddr,
    book: Arc<StageLog>,
}

impl ScriptedEngine {
    /// Listens on a free port.
    ///
    /// # Errors
    /// The system has none.
    pub fn open(replies: Vec<StageReply>) -> io::Result<ScriptedEngine> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let book = Arc::new(StageLog::default());
        let (shared, replies) = (Arc::clone(&book), Arc::new(replies));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // The stage was left: nobody looks any more.
                if Arc::strong_count(&shared) == 1 {
                    return;
                }
                let (book, replies) = (Arc::clone(&shared), Arc::clone(&replies));
                std::thread::spawn(move || {
                    // A Shell that goes away in the middle has nothing to be told.
                    let _ = serve(stream, &book, &replies);
                });
            }
        });
        Ok(ScriptedEngine { address, book })
    }

    /// Address of the engine.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.book.lock().clone()
    }

    /// Waits until so many requests have come, at most so long.
    pub fn wait(&self, count: usize, wait: Duration) -> bool {
        let seen = self.book.lock();
        let waited = self.book.came.wait_timeout_while(seen, wait, |seen| seen.len() < count);
        waited.is_ok_and(|(seen, _)| seen.len() >= count)
    }
}

impl Drop for ScriptedEngine {
    fn drop(&mut self) {
        // Lets the listener see that nobody needs it.
        let address = self.address;
        self.book = Arc::default();
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
    }
}

fn serve(mut stream: TcpStream, book: &StageLog, replies: &[StageReply]) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_WAIT))?;
    stream.set_write_timeout(Some(REQUEST_WAIT))?;
    stream.set_nodelay(true)?;
    let (head, body) = request(&mut stream)?;
    if !head.starts_with("POST ") {
        stream.write_all(b"HTTP/1.1 404 None\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
        return stream.shutdown(Shutdown::Both);
    }
    let seen = SeenRequest { at: Instant::now(), head, body };
    let id = seen.id();
    let count = {
        let mut all = book.lock();
        all.push(seen);
        all.len()
    };
    let reply = replies.get(count - 1).cloned().unwrap_or_else(|| StageReply::directives(""));
    let written = match reply.kind {
        StageReplyKind::Dropped => Ok(()),
        StageReplyKind::Whole | StageReplyKind::Stream => stream.write_all(&reply.bytes(&id)),
    };
    book.came.notify_all();
    written?;
    stream.shutdown(Shutdown::Write)?;
    // What is closed with bytes unread is reset, and the answer may be lost with it.
    let mut rest = [0; 1_024];
    while stream.read(&mut rest)? > 0 {}
    Ok(())
}

/// Reads a request: its head, and its body by length or in chunks.
fn request(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = find(&bytes, b"\r\n\r\n") {
            break at + 4;
        }
        more(stream, &mut bytes)?;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut rest = bytes.split_off(end);
    let lower = head.to_ascii_lowercase();
    let value = |name: &str| {
        let line = lower.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        line.map(|value| value.trim().to_owned())
    };
    if value("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if value("transfer-encoding").is_some_and(|value| value == "chunked") {
        while find(&rest, b"0\r\n\r\n").is_none() {
            more(stream, &mut rest)?;
        }
        return Ok((head, unchunked(&rest)));
    }
    let length: usize = value("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    while rest.len() < length {
        more(stream, &mut rest)?;
    }
    rest.truncate(length);
    Ok((head, rest))
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    let count = stream.read(&mut chunk)?;
    if count == 0 || bytes.len() > MAX_REQUEST {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    bytes.extend_from_slice(&chunk[..count]);
    Ok(())
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = find(bytes, b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).ok();
        let size = size.and_then(|text| usize::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
        let (Some(chunk), true) = (bytes.get(end + 2..end + 2 + size), size > 0) else { break };
        body.extend_from_slice(chunk);
        bytes = bytes.get(end + 4 + size..).unwrap_or_default();
    }
    body
}

/// Tells whether somebody brings this word here within a moment: a Shell that follows a redirect does
/// so at once. Whoever comes gets an empty answer.
pub(super) fn overheard(listener: &TcpListener, word: &str) -> bool {
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until {
        let Ok((mut stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let came = stream.set_nonblocking(false).and_then(|()| request(&mut stream));
        let _ = stream
            .write_all(b"HTTP/1.1 404 None\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        if came.is_ok_and(|(head, _)| head.contains(word)) {
            return true;
        }
    }
    false
}
