//! Requests on a WebSocket (P15.10): profile `dev.bridle.ws.1`.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::http::HttpClient;
use super::rows::GOOD;
use super::{AskedRequest, EngineUnderTest};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const PROFILE: &str = "dev.bridle.ws.1";

const WHY: &str = "one connection carries everything; what breaks it breaks all";

/// Key and answer of RFC 6455, section 1.3.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// Kinds of frames.
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// Largest frame that is read, in bytes.
const MAX_FRAME: u64 = 16 << 20;

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = opened();
    all.extend(talked());
    all.extend(broken());
    all
}

fn case(
    id: &'static str,
    title: &'static str,
    check: fn(&mut EngineUnderTest) -> Checked,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(
        id,
        RequirementLevel::Profile("ws"),
        "P15.10",
        title,
        WHY,
        move |peer: &mut EngineUnderTest| {
            peer.needs_profile(PROFILE)?;
            check(peer)
        },
    )
}

/// A WebSocket.
struct SocketClient(HttpClient);

/// A frame that came.
struct SocketFrame {
    kind: u8,
    payload: Vec<u8>,
}

fn upgrade(peer: &EngineUnderTest) -> AskedRequest {
    let path = peer.way().url.beside("ws");
    let mut asked = peer.get(&path).kept();
    asked.set("Connection", "Upgrade");
    asked.set("Upgrade", "websocket");
    asked.set("Sec-WebSocket-Version", "13");
    asked.set("Sec-WebSocket-Key", KEY);
    asked.set("Sec-WebSocket-Protocol", "openharness.v1");
    asked
}

impl SocketClient {
    fn open(peer: &mut EngineUnderTest) -> Result<SocketClient, CheckFinding> {
        let mut conn = peer.open()?;
        let reply = peer.exchange_on(&mut conn, &upgrade(peer))?;
        if reply.status == 101 {
            return Ok(SocketClient(conn));
        }
        Err(CheckFinding::fault(format!("expected status 101, got {}", reply.status)))
    }

    fn send(&mut self, peer: &mut EngineUnderTest, kind: u8, payload: &[u8]) {
        peer.note(&format!("frame: {}", String::from_utf8_lossy(payload)));
        self.0.send(&frame(kind, payload, [1, 2, 3, 4]));
    }

    fn say(&mut self, peer: &mut EngineUnderTest, value: &Value) {
        self.send(peer, TEXT, value.to_string().as_bytes());
    }

    /// Sends a message that is given as text.
    fn ask(&mut self, peer: &mut EngineUnderTest, message: &str) {
        let text = format!(r#"{{"type":"request","message":{message}}}"#);
        self.send(peer, TEXT, text.as_bytes());
    }

    /// The next frame; `None` at the end.
    fn next(&mut self, peer: &mut EngineUnderTest) -> Result<Option<SocketFrame>, CheckFinding> {
        let Some(head) = self.0.exactly(2)? else { return Ok(None) };
        if head[1] & 0x80 != 0 {
            return Err(CheckFinding::fault("a frame of the engine is masked"));
        }
        let length = match head[1] {
            126 => self.length(2)?,
            127 => self.length(8)?,
            short => u64::from(short),
        };
        let length = usize::try_from(length.min(MAX_FRAME)).unwrap_or_default();
        let Some(payload) = self.0.exactly(length)? else { return Ok(None) };
        peer.note(&format!("frame came: {}", String::from_utf8_lossy(&payload)));
        Ok(Some(SocketFrame { kind: head[0] & 0x0f, payload }))
    }

    fn length(&mut self, bytes: usize) -> Result<u64, CheckFinding> {
        let bytes = self.0.exactly(bytes)?.unwrap_or_default();
        Ok(bytes.iter().fold(0, |length, byte| (length << 8) | u64::from(*byte)))
    }

    /// The next event; control frames are passed over.
    fn event(&mut self, peer: &mut EngineUnderTest) -> Result<Value, CheckFinding> {
        loop {
            match self.next(peer)? {
                Some(SocketFrame { kind: TEXT, payload }) => {
                    let value = serde_json::from_slice(&payload);
                    return value
                        .map_err(|_| CheckFinding::fault("a frame of the engine is not JSON"));
                }
                Some(SocketFrame { kind: PING | PONG, .. }) => {}
                Some(_) | None => {
                    return Err(CheckFinding::fault("the engine closed; expected an event"));
                }
            }
        }
    }

    /// Events up to the `final` of a request; those of others are passed over.
    fn until_final(
        &mut self,
        peer: &mut EngineUnderTest,
        id: &str,
    ) -> Result<Vec<Value>, CheckFinding> {
        let mut events = Vec::new();
        loop {
            let event = self.event(peer)?;
            let is_ours = event["request_id"] == id;
            let is_last = event["type"] == "final";
            if is_ours {
                events.push(event);
                if is_last {
                    return Ok(events);
                }
            }
        }
    }

    /// Checks that it is closed with a code, or without one.
    fn is_closed(&mut self, peer: &mut EngineUnderTest, code: u16) -> Checked {
        loop {
            match self.next(peer)? {
                Some(SocketFrame { kind: CLOSE, payload }) => {
                    let got = payload.first_chunk::<2>().map(|it| u16::from_be_bytes(*it));
                    let wrong =
                        || format!("expected the connection to close with {code}, got {got:?}");
                    return if got == Some(code) {
                        Ok(())
                    } else {
                        Err(CheckFinding::fault(wrong()))
                    };
                }
                Some(_) => {}
                None => return Err(CheckFinding::fault(format!("closed without the code {code}"))),
            }
        }
    }
}

/// A frame, masked as clients do.
fn frame(kind: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![0x80 | kind];
    match u16::try_from(payload.len()) {
        Ok(length) if length < 126 => bytes.push(0x80 | u8::try_from(length).unwrap_or_default()),
        Ok(length) => {
            bytes.push(0x80 | 126);
            bytes.extend(length.to_be_bytes());
        }
        Err(_) => {
            bytes.push(0x80 | 127);
            bytes.extend(u64::try_from(payload.len()).unwrap_or_default().to_be_bytes());
        }
    }
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

fn opened() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("W-01", "an upgrade is answered by the book", |peer| {
            let mut conn = peer.open()?;
            let reply = peer.exchange_on(&mut conn, &upgrade(peer))?;
            let fits = reply.status == 101
                && reply.header("sec-websocket-accept") == Some(ACCEPT)
                && reply.header("sec-websocket-protocol") == Some("openharness.v1");
            let wrong = || {
                CheckFinding::fault(
                    "expected 101, the right `Sec-WebSocket-Accept` and the subprotocol",
                )
            };
            if fits { Ok(()) } else { Err(wrong()) }
        }),
        case("W-02", "who does not offer the subprotocol is refused with a message", |peer| {
            let mut asked = upgrade(peer);
            asked.unset("Sec-WebSocket-Protocol");
            asked.set("Connection", "Upgrade, close");
            peer.answer(&asked)?.is_refused()
        }),
        case("W-03", "a page of another origin gets no connection", |peer| {
            let asked = upgrade(peer).with("Origin", "https://evil.example");
            let reply = peer.exchange(&asked)?;
            if reply.status == 101 { Err(CheckFinding::fault("it was let in")) } else { Ok(()) }
        }),
    ]
}

fn talked() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("W-10", "a request gets its events, `open` first and `final` last", |peer| {
            let filled = peer.fill(GOOD);
            let mut socket = SocketClient::open(peer)?;
            socket.ask(peer, &filled.text);
            let events = socket.until_final(peer, &filled.id)?;
            let is_first = events.first().is_some_and(|it| it["type"] == "open");
            let message = events.last().map(|it| it["message"].clone()).unwrap_or_default();
            let holds = is_first && message["response"]["status"] == "success";
            if holds {
                Ok(())
            } else {
                Err(CheckFinding::fault("expected `open`, then a `final` with a success"))
            }
        }),
        case("W-11", "requests of one connection are told apart by their ids", |peer| {
            let (one, other) = (peer.fill(GOOD), peer.fill(GOOD));
            let mut socket = SocketClient::open(peer)?;
            socket.ask(peer, &one.text);
            socket.ask(peer, &other.text);
            let mut waiting = vec![one.id, other.id];
            while !waiting.is_empty() {
                let event = socket.event(peer)?;
                if event["type"] == "final" {
                    let id = event["message"]["request_id"].as_str().unwrap_or_default();
                    let at = waiting.iter().position(|it| it == id);
                    let at = at.ok_or_else(|| CheckFinding::fault("a `final` of no request"))?;
                    waiting.remove(at);
                }
            }
            Ok(())
        }),
        case("W-12", "a request that was posted is known here", |peer| {
            let filled = peer.fill(GOOD);
            let posted = peer.ask(&filled.text)?;
            let mut socket = SocketClient::open(peer)?;
            socket.ask(peer, &filled.text);
            let events = socket.until_final(peer, &filled.id)?;
            let message = events.last().map(|it| it["message"].clone()).unwrap_or_default();
            posted.has(message == posted.value, "the same answer on both ways")
        }),
        case("W-13", "calling off is answered at once", |peer| {
            let id = peer.name();
            let mut socket = SocketClient::open(peer)?;
            socket.say(peer, &json!({"type": "cancel", "request_id": id}));
            let event = socket.event(peer)?;
            let holds = event["type"] == "canceled" && event["request_id"] == id.as_str();
            if holds { Ok(()) } else { Err(CheckFinding::fault("expected `canceled` with the id")) }
        }),
        case("W-14", "a ping is answered with its own words", |peer| {
            let mut socket = SocketClient::open(peer)?;
            socket.send(peer, PING, b"kit");
            loop {
                match socket.next(peer)? {
                    Some(SocketFrame { kind: PONG, payload }) if payload == b"kit" => return Ok(()),
                    Some(SocketFrame { kind: PING, .. }) => {}
                    _ => return Err(CheckFinding::fault("expected a pong with `kit`")),
                }
            }
        }),
    ]
}

fn broken() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("W-20", "a frame that is no JSON is answered, and the connection lives", |peer| {
            let mut socket = SocketClient::open(peer)?;
            socket.send(peer, TEXT, b"hello");
            refused_and_alive(peer, &mut socket)
        }),
        case("W-21", "a frame of an unknown type is answered, and the connection lives", |peer| {
            let mut socket = SocketClient::open(peer)?;
            socket.say(peer, &json!({"type": "dance"}));
            refused_and_alive(peer, &mut socket)
        }),
        case("W-22", "a frame of bytes closes with 1003", |peer| {
            let mut socket = SocketClient::open(peer)?;
            socket.send(peer, BINARY, b"{}");
            socket.is_closed(peer, 1003)
        }),
        case("W-23", "text that is not UTF-8 closes with 1007", |peer| {
            let mut socket = SocketClient::open(peer)?;
            socket.send(peer, TEXT, b"\"\xff\"");
            socket.is_closed(peer, 1007)
        }),
        case("W-24", "a frame without a mask closes", |peer| {
            let mut socket = SocketClient::open(peer)?;
            socket.0.send(&[0x80 | TEXT, 2, b'{', b'}']);
            while let Some(frame) = socket.next(peer)? {
                if frame.kind == CLOSE {
                    return Ok(());
                }
                if frame.kind == TEXT {
                    return Err(CheckFinding::fault("it was read"));
                }
            }
            Ok(())
        }),
        case("W-25", "a frame that is too large closes with 1009", |peer| {
            let most = peer.discovery()?["limits"]["max_body_bytes"].as_u64().unwrap_or_default();
            let most = usize::try_from(most.min(32 << 20)).unwrap_or_default();
            let mut socket = SocketClient::open(peer)?;
            let bytes = frame(TEXT, &vec![b' '; most + (64 << 10)], [1, 2, 3, 4]);
            socket.0.send(&bytes);
            socket.is_closed(peer, 1009)
        }),
    ]
}

fn refused_and_alive(peer: &mut EngineUnderTest, socket: &mut SocketClient) -> Checked {
    let event = socket.event(peer)?;
    let is_refused = event["type"] == "final" && event["message"]["response"]["status"] == "error";
    if !is_refused {
        return Err(CheckFinding::fault("expected a `final` with an error"));
    }
    let filled = peer.fill(GOOD);
    socket.ask(peer, &filled.text);
    socket.until_final(peer, &filled.id).map(drop)
}
