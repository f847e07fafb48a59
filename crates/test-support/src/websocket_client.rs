//! A small client of a WebSocket: frames under a mask, whole or as hostile as a test wants them.
//!
//! It stands on the client of HTTP, so an upgrade that is refused is checked like any answer; every
//! frame of text must be what its schema promises, see [`valid_response`].

use bridle_wire::openharness::{OpenHarnessCode, OpenHarnessEvent, ResponseMessage};

use crate::daemon::TestDaemon;
use crate::http_client::{HttpClient, HttpReply, intent};
use crate::valid_response;

/// The head of an upgrade, without what names it.
pub const UPGRADE: &str = "upgrade: websocket\r\nconnection: Upgrade\r\n\
                                  sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
/// Header of the version.
pub const VERSION: &str = "sec-websocket-version: 13\r\n";
/// Header of the subprotocol.
pub const PROTOCOL: &str = "sec-websocket-protocol: openharness.v1\r\n";

/// First byte of a text frame.
pub const TEXT: u8 = 0x81;
/// First byte of a binary frame.
pub const BINARY: u8 = 0x82;
/// First byte of a close.
pub const CLOSE: u8 = 0x88;
/// First byte of a ping.
pub const PING: u8 = 0x89;
/// First byte of a pong.
pub const PONG: u8 = 0x8a;

/// Mask of every payload.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A connection.
pub struct WebSocketClient(pub HttpClient);

/// End of a connection, with its code if the daemon gave one.
#[derive(Debug, PartialEq, Eq)]
pub struct WebSocketClosed(pub Option<u16>);

/// A frame as a client sends it.
pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | u8::try_from(length).unwrap()),
        length @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&u64::try_from(length).unwrap().to_be_bytes());
        }
    }
    frame.extend_from_slice(&MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

impl WebSocketClient {
    /// Connects with these headers; an answer that does not switch is handed back.
    pub async fn of(daemon: &TestDaemon, headers: &str) -> Result<WebSocketClient, HttpReply> {
        let address = daemon.bound.http.unwrap();
        let mut client = HttpClient::to(address).await;
        let host =
            if headers.contains("host:") { String::new() } else { format!("host: {address}\r\n") };
        client.send(format!("GET /v1/openharness/ws HTTP/1.1\r\n{host}{headers}\r\n")).await;
        let reply = client.reply().await;
        if reply.status != 101 {
            return Err(reply);
        }
        assert_eq!(reply.header("sec-websocket-protocol"), Some("openharness.v1"), "{reply:?}");
        assert_eq!(reply.header("sec-websocket-extensions"), None, "{reply:?}");
        // The example of RFC 6455.
        let accept = Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(reply.header("sec-websocket-accept"), accept, "{reply:?}");
        Ok(WebSocketClient(client))
    }

    /// Connects with nothing but the headers of the handshake.
    pub async fn open(daemon: &TestDaemon) -> WebSocketClient {
        WebSocketClient::with(daemon, "").await
    }

    /// Connects with these headers beside those of the handshake.
    pub async fn with(daemon: &TestDaemon, headers: &str) -> WebSocketClient {
        WebSocketClient::of(daemon, &format!("{UPGRADE}{VERSION}{PROTOCOL}{headers}"))
            .await
            .unwrap()
    }

    /// Sends a frame of this kind.
    pub async fn send(&mut self, kind: u8, payload: &[u8]) {
        self.0.send_raw(&frame(kind, payload)).await;
    }

    /// Sends a text frame.
    pub async fn say(&mut self, text: &str) {
        self.send(TEXT, text.as_bytes()).await;
    }

    /// The next frame, whatever it is; `None` at the end.
    pub async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let head = self.0.read_raw(2).await?;
        let length = match head[1] {
            126 => u64::from(u16::from_be_bytes(*self.0.read_raw(2).await?.first_chunk()?)),
            127 => u64::from_be_bytes(*self.0.read_raw(8).await?.first_chunk()?),
            short => {
                assert!(short < 0x80, "a daemon masks nothing");
                u64::from(short)
            }
        };
        let payload = self.0.read_raw(usize::try_from(length).unwrap()).await?;
        Some((head[0], payload))
    }

    /// Sends a request for something in a session.
    pub async fn ask(&mut self, id: &str, session: &str, text: &str) {
        self.request(&intent(id, session, text)).await;
    }

    /// Sends a request of this text.
    pub async fn request(&mut self, message: &str) {
        self.say(&format!(r#"{{"type":"request","message":{message}}}"#)).await;
    }

    /// The next event; `None` for the answer to a cancellation. Signs of life are given.
    pub async fn next(&mut self) -> Result<Option<OpenHarnessEvent>, WebSocketClosed> {
        loop {
            match self.frame().await {
                Some((TEXT, text)) => {
                    return Ok(valid_response::frame(str::from_utf8(&text).unwrap()));
                }
                Some((PING, bytes)) => self.send(PONG, &bytes).await,
                Some((CLOSE, bytes)) => {
                    let code = bytes.first_chunk().map(|code| u16::from_be_bytes(*code));
                    self.send(CLOSE, &bytes).await;
                    return Err(WebSocketClosed(code));
                }
                Some((PONG, _)) => {}
                Some((kind, _)) => panic!("a frame of kind {kind}"),
                None => return Err(WebSocketClosed(None)),
            }
        }
    }

    /// The next event of a stream.
    pub async fn event(&mut self) -> Result<OpenHarnessEvent, WebSocketClosed> {
        Ok(self.next().await?.expect("nothing was called off"))
    }

    /// The events up to the next `final`.
    pub async fn answer(&mut self) -> Vec<OpenHarnessEvent> {
        let mut events = Vec::new();
        loop {
            events.push(self.event().await.unwrap());
            if matches!(events.last(), Some(OpenHarnessEvent::StreamFinal(_))) {
                return events;
            }
        }
    }

    /// Reads events up to the next `final`; returns its message.
    pub async fn message(&mut self) -> ResponseMessage {
        last(&self.answer().await).clone()
    }

    /// The next answer, whatever else happens.
    pub async fn next_final(&mut self) -> ResponseMessage {
        loop {
            if let Some(OpenHarnessEvent::StreamFinal(last)) = self.next().await.unwrap() {
                return *last.message;
            }
        }
    }

    /// Reads until the other side closes; says how.
    pub async fn end(&mut self) -> WebSocketClosed {
        loop {
            if let Err(closed) = self.next().await {
                return closed;
            }
        }
    }
}

/// The answer at the end of a stream.
pub fn last(events: &[OpenHarnessEvent]) -> &ResponseMessage {
    match events.last() {
        Some(OpenHarnessEvent::StreamFinal(last)) => &last.message,
        other => panic!("{other:?}"),
    }
}

/// The code of an answer that is an error.
pub fn code(message: &ResponseMessage) -> Option<OpenHarnessCode> {
    message.response.error.as_ref()?.known()
}
