//! A plain client of HTTP: one request a connection or several, bytes in and out.

use std::net::SocketAddr;
use std::path::Path;

use bridle_daemon::DaemonConfig;
use bridle_wire::openharness::{
    MessageLimits, OpenHarnessCode, ReadMode, ResponseMessage, read_response,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::daemon::TestDaemon;
use crate::hang_guard::guard;
use crate::valid_response;

/// A response, read to its end.
#[derive(Debug)]
pub struct HttpReply {
    /// Status code.
    pub status: u16,
    /// Head, with the empty line at its end.
    pub head: String,
    /// Body; empty if its length is not told.
    pub body: String,
}

impl HttpReply {
    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        valid_response::header(&self.head, name)
    }

    /// The message of the body, which must be one as strict readers want it.
    pub fn message(&self) -> ResponseMessage {
        let limits = MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() };
        read_response(self.body.as_bytes(), &limits).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The text of the first directive.
    pub fn text(&self) -> String {
        let message = self.message();
        assert_eq!(self.status, 200, "{self:?}");
        message.response.action_directives[0].text().unwrap().to_owned()
    }

    /// The code of the error, which must go with the status.
    pub fn code(&self) -> OpenHarnessCode {
        let error = self.message().response.error.unwrap();
        let code = error.known().unwrap();
        assert_eq!(code.http_status(), self.status, "{self:?}");
        code
    }
}

/// One request of a text, as a client would write it.
pub fn post(daemon: &TestDaemon, body: &str) -> String {
    raw_post(daemon, "content-type: application/json\r\n", body)
}

/// Returns a request with other headers; each ends its line.
pub fn raw_post(daemon: &TestDaemon, headers: &str, body: &str) -> String {
    let (host, length) = (daemon.bound.http.unwrap(), body.len());
    format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: {host}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// A request that asks for something in a session.
pub fn intent(id: &str, session: &str, text: &str) -> String {
    format!(
        r#"{{"protocol_version":"1.0.0","request_id":"{id}","request":{{"context":{{"session_id":"{session}","user_intent":"{text}"}}}}}}"#
    )
}

/// Starts a daemon that serves HTTP.
pub async fn serving() -> TestDaemon {
    TestDaemon::with(on).await
}

/// Turns HTTP and a Unix socket on.
pub fn on(config: &mut DaemonConfig, dir: &Path) {
    config.http = Some("127.0.0.1:0".to_owned());
    config.unix = Some(dir.join("b.sock"));
}

/// A connection that may be used again. Whatever comes over it must be valid, see [`valid_response`].
pub struct HttpClient {
    stream: TcpStream,
    /// All that was ever read.
    got: Vec<u8>,
    /// Whether answers are as long as they say: those to HEAD are not.
    has_bodies: bool,
}

impl HttpClient {
    /// Connects to the HTTP address of a daemon.
    pub async fn of(daemon: &TestDaemon) -> HttpClient {
        HttpClient::to(daemon.bound.http.unwrap()).await
    }

    /// Connects to an address.
    pub async fn to(address: SocketAddr) -> HttpClient {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        HttpClient { stream, got: Vec::new(), has_bodies: true }
    }

    /// Sends bytes; a request to HEAD has an answer without a body.
    pub async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.has_bodies &= !text.as_ref().starts_with(b"HEAD ");
        guard(self.stream.write_all(text.as_ref())).await.unwrap();
    }

    /// Reads a head.
    pub async fn head(&mut self) -> String {
        let began = self.got.len();
        while !self.got[began..].ends_with(b"\r\n\r\n") {
            self.got.push(guard(self.stream.read_u8()).await.unwrap());
        }
        String::from_utf8(self.got[began..].to_vec()).unwrap()
    }

    /// Reads a response that says how long it is.
    pub async fn reply(&mut self) -> HttpReply {
        let head = self.head().await;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = HttpReply { status, head, body: String::new() };
        let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        let length = if self.has_bodies { length } else { 0 };
        let began = self.got.len();
        self.got.resize(began + length, 0);
        guard(self.stream.read_exact(&mut self.got[began..])).await.unwrap();
        reply.body = String::from_utf8(self.got[began..].to_vec()).unwrap();
        reply
    }

    /// Sends what is no HTTP any more; the other side may close before all of it is sent.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> bool {
        guard(self.stream.write_all(bytes)).await.is_ok()
    }

    /// Reads what is no HTTP any more; `None` at the end.
    pub async fn read_raw(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        guard(self.stream.read_exact(&mut bytes)).await.ok()?;
        Some(bytes)
    }

    /// Reads to the end.
    pub async fn rest(&mut self) -> String {
        let began = self.got.len();
        let _ = guard(self.stream.read_to_end(&mut self.got)).await;
        String::from_utf8_lossy(&self.got[began..]).into_owned()
    }
}

impl Drop for HttpClient {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let check =
                if self.has_bodies { valid_response::check } else { valid_response::check_heads };
            check(&self.got);
        }
    }
}

/// Sends one request on a connection of its own.
pub async fn ask(daemon: &TestDaemon, request: impl AsRef<[u8]>) -> HttpReply {
    let mut client = HttpClient::of(daemon).await;
    client.send(request).await;
    client.reply().await
}

/// Asks for a document.
pub async fn get(daemon: &TestDaemon, path: &str) -> HttpReply {
    let host = daemon.bound.http.unwrap();
    ask(daemon, format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n")).await
}
