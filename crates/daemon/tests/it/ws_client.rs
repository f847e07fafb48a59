//! A small client of a WebSocket: frames under a mask, whole or as hostile as a test wants them.
//!
//! It stands on the client of HTTP, so an upgrade that is refused is checked like any answer; every
//! frame of text must be what its schema promises, see `http_valid`.

use bridle_wire::openharness::{OpenHarnessCode, OpenHarnessEvent, ResponseMessage};

use crate::http_client::{Client, Reply, intent};
use crate::http_valid;
use crate::support::Daemon;

/// The head of an upgrade, without what names it.
pub(crate) const UPGRADE: &str = "upgrade: websocket\r\nconnection: Upgrade\r\n\
                                  sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
pub(crate) const VERSION: &str = "sec-websocket-version: 13\r\n";
pub(crate) const PROTOCOL: &str = "sec-websocket-protocol: openharness.v1\r\n";

pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;
pub(crate) const CLOSE: u8 = 0x88;
pub(crate) const PING: u8 = 0x89;
pub(crate) const PONG: u8 = 0x8a;

/// What a payload is hidden under.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A connection.
pub(crate) struct Shell(pub(crate) Client);

/// What a shell hears at the end: a code, or nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed(pub(crate) Option<u16>);

/// A frame as a client sends it.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
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

impl Shell {
    /// Connects with these headers; an answer that does not switch is handed back.
    pub(crate) async fn of(daemon: &Daemon, headers: &str) -> Result<Shell, Reply> {
        let address = daemon.bound.http.unwrap();
        let mut client = Client::to(address).await;
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
        Ok(Shell(client))
    }

    pub(crate) async fn open(daemon: &Daemon) -> Shell {
        Shell::with(daemon, "").await
    }

    /// The same with more headers.
    pub(crate) async fn with(daemon: &Daemon, headers: &str) -> Shell {
        Shell::of(daemon, &format!("{UPGRADE}{VERSION}{PROTOCOL}{headers}")).await.unwrap()
    }

    pub(crate) async fn send(&mut self, kind: u8, payload: &[u8]) {
        self.0.send_raw(&frame(kind, payload)).await;
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.send(TEXT, text.as_bytes()).await;
    }

    /// The next frame, whatever it is; `None` at the end.
    pub(crate) async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
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
    pub(crate) async fn ask(&mut self, id: &str, session: &str, text: &str) {
        self.request(&intent(id, session, text)).await;
    }

    /// Sends a request of this text.
    pub(crate) async fn request(&mut self, message: &str) {
        self.say(&format!(r#"{{"type":"request","message":{message}}}"#)).await;
    }

    /// The next event; `None` for the answer to a cancellation. Signs of life are given.
    pub(crate) async fn next(&mut self) -> Result<Option<OpenHarnessEvent>, Closed> {
        loop {
            match self.frame().await {
                Some((TEXT, text)) => return Ok(http_valid::frame(str::from_utf8(&text).unwrap())),
                Some((PING, bytes)) => self.send(PONG, &bytes).await,
                Some((CLOSE, bytes)) => {
                    let code = bytes.first_chunk().map(|code| u16::from_be_bytes(*code));
                    self.send(CLOSE, &bytes).await;
                    return Err(Closed(code));
                }
                Some((PONG, _)) => {}
                Some((kind, _)) => panic!("a frame of kind {kind}"),
                None => return Err(Closed(None)),
            }
        }
    }

    /// The next event of a stream.
    pub(crate) async fn event(&mut self) -> Result<OpenHarnessEvent, Closed> {
        Ok(self.next().await?.expect("nothing was called off"))
    }

    /// The events up to the next `final`.
    pub(crate) async fn answer(&mut self) -> Vec<OpenHarnessEvent> {
        let mut events = Vec::new();
        loop {
            events.push(self.event().await.unwrap());
            if matches!(events.last(), Some(OpenHarnessEvent::StreamFinal(_))) {
                return events;
            }
        }
    }

    pub(crate) async fn message(&mut self) -> ResponseMessage {
        last(&self.answer().await).clone()
    }

    /// The next answer, whatever else happens.
    pub(crate) async fn next_final(&mut self) -> ResponseMessage {
        loop {
            if let Some(OpenHarnessEvent::StreamFinal(last)) = self.next().await.unwrap() {
                return *last.message;
            }
        }
    }

    /// Reads until the other side closes; says how.
    pub(crate) async fn end(&mut self) -> Closed {
        loop {
            if let Err(closed) = self.next().await {
                return closed;
            }
        }
    }
}

/// The answer at the end of a stream.
pub(crate) fn last(events: &[OpenHarnessEvent]) -> &ResponseMessage {
    match events.last() {
        Some(OpenHarnessEvent::StreamFinal(last)) => &last.message,
        other => panic!("{other:?}"),
    }
}

/// The code of an answer that is an error.
pub(crate) fn code(message: &ResponseMessage) -> Option<OpenHarnessCode> {
    message.response.error.as_ref()?.known()
}
