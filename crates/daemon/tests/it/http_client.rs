//! A plain client of HTTP: one request a connection or several, bytes in and out.

use std::net::SocketAddr;
use std::path::Path;

use bridle_daemon::DaemonConfig;
use bridle_wire::openharness::{
    MessageLimits, OpenHarnessCode, ReadMode, ResponseMessage, read_response,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http_valid;
use crate::support::{Daemon, guard};

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// A header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        http_valid::header(&self.head, name)
    }

    /// The message of the body, which must be one as strict readers want it.
    pub(crate) fn message(&self) -> ResponseMessage {
        let limits = MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() };
        read_response(self.body.as_bytes(), &limits).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The text of the first directive.
    pub(crate) fn text(&self) -> String {
        let message = self.message();
        assert_eq!(self.status, 200, "{self:?}");
        message.response.action_directives[0].text().unwrap().to_owned()
    }

    /// The code of the error, which must go with the status.
    pub(crate) fn code(&self) -> OpenHarnessCode {
        let error = self.message().response.error.unwrap();
        let code = error.known().unwrap();
        assert_eq!(code.http_status(), self.status, "{self:?}");
        code
    }
}

/// One request of a text, as a client would write it.
pub(crate) fn post(daemon: &Daemon, body: &str) -> String {
    raw_post(daemon, "content-type: application/json\r\n", body)
}

/// The same with other headers; each ends its line.
pub(crate) fn raw_post(daemon: &Daemon, headers: &str, body: &str) -> String {
    let (host, length) = (daemon.bound.http.unwrap(), body.len());
    format!(
        "POST /v1/openharness HTTP/1.1\r\nhost: {host}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// A request that asks for something in a session.
pub(crate) fn intent(id: &str, session: &str, text: &str) -> String {
    format!(
        r#"{{"protocol_version":"1.0.0","request_id":"{id}","request":{{"context":{{"session_id":"{session}","user_intent":"{text}"}}}}}}"#
    )
}

/// Starts a daemon that serves HTTP.
pub(crate) async fn serving() -> Daemon {
    Daemon::with(on).await
}

/// Turns HTTP and a Unix socket on.
pub(crate) fn on(config: &mut DaemonConfig, dir: &Path) {
    config.http = Some("127.0.0.1:0".to_owned());
    config.unix = Some(dir.join("b.sock"));
}

/// A connection that may be used again. Whatever comes over it must be valid, see `http_valid`.
pub(crate) struct Client {
    stream: TcpStream,
    /// All that was ever read.
    got: Vec<u8>,
    /// Whether answers are as long as they say: those to HEAD are not.
    has_bodies: bool,
}

impl Client {
    pub(crate) async fn of(daemon: &Daemon) -> Client {
        Client::to(daemon.bound.http.unwrap()).await
    }

    pub(crate) async fn to(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, got: Vec::new(), has_bodies: true }
    }

    pub(crate) async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.has_bodies &= !text.as_ref().starts_with(b"HEAD ");
        guard(self.stream.write_all(text.as_ref())).await.unwrap();
    }

    /// Reads a head.
    pub(crate) async fn head(&mut self) -> String {
        let began = self.got.len();
        while !self.got[began..].ends_with(b"\r\n\r\n") {
            self.got.push(guard(self.stream.read_u8()).await.unwrap());
        }
        String::from_utf8(self.got[began..].to_vec()).unwrap()
    }

    /// Reads a response that says how long it is.
    pub(crate) async fn reply(&mut self) -> Reply {
        let head = self.head().await;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = Reply { status, head, body: String::new() };
        let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        let length = if self.has_bodies { length } else { 0 };
        let began = self.got.len();
        self.got.resize(began + length, 0);
        guard(self.stream.read_exact(&mut self.got[began..])).await.unwrap();
        reply.body = String::from_utf8(self.got[began..].to_vec()).unwrap();
        reply
    }

    /// Sends what is no HTTP any more; the other side may close before all of it is sent.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) -> bool {
        guard(self.stream.write_all(bytes)).await.is_ok()
    }

    /// Reads what is no HTTP any more; `None` at the end.
    pub(crate) async fn read_raw(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        guard(self.stream.read_exact(&mut bytes)).await.ok()?;
        Some(bytes)
    }

    /// Reads to the end.
    pub(crate) async fn rest(&mut self) -> String {
        let began = self.got.len();
        let _ = guard(self.stream.read_to_end(&mut self.got)).await;
        String::from_utf8_lossy(&self.got[began..]).into_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let check = if self.has_bodies { http_valid::check } else { http_valid::check_heads };
            check(&self.got);
        }
    }
}

/// Sends one request on a connection of its own.
pub(crate) async fn ask(daemon: &Daemon, request: impl AsRef<[u8]>) -> Reply {
    let mut client = Client::of(daemon).await;
    client.send(request).await;
    client.reply().await
}

/// Asks for a document.
pub(crate) async fn get(daemon: &Daemon, path: &str) -> Reply {
    let host = daemon.bound.http.unwrap();
    ask(daemon, format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n")).await
}
