//! Everything that a daemon says over HTTP is what its schema promises.
//!
//! Every client of these tests hands over all bytes that it ever got, whatever the test itself looked
//! at. They are read strictly, which accepts exactly what the schema of that direction does
//! (`cargo xtask schema-diff` compares the two). A document of a new kind needs a row in `KINDS`.

use bridle_wire::openharness::discovery::DiscoveryDocument;
use bridle_wire::openharness::exchange::{AttachmentStored, CancelAccepted, EngineHealth};
use bridle_wire::openharness::json::JsonDocument;
use bridle_wire::openharness::pairing::{
    PairConfirmed, PairCreated, PairError, PairGranted, PairStatus,
};
use bridle_wire::openharness::{
    ErrorObject, FlattenedShape, MessageLimits, OpenHarnessCode, OpenHarnessEvent, ReadMode, read,
    read_response,
};

/// Statuses of a document, and whether a body is one.
type Kind = (&'static [u16], fn(&[u8]) -> bool);

/// Types of answers.
const JSON: &str = "application/json; charset=utf-8";
const EVENTS: &str = "text/event-stream";
const METRICS: &str = "application/openmetrics-text;";

/// Documents that are no message.
const KINDS: [Kind; 10] = [
    (&[200], is::<DiscoveryDocument>),
    (&[200, 503], is::<EngineHealth>),
    (&[200], is::<PairGranted>),
    (&[200], is::<PairCreated>),
    (&[200], is::<PairConfirmed>),
    (&[200, 202], is::<PairStatus>),
    (&[400, 401, 403, 404, 410, 413, 415, 429], is::<PairError>),
    (&[200, 201], is::<AttachmentStored>),
    (&[200, 202], is::<CancelAccepted>),
    (&[200], |body| body.starts_with(b"{\"openapi\":\"3.1.0\"")),
];

fn strict() -> MessageLimits {
    MessageLimits { mode: ReadMode::Strict, ..MessageLimits::default() }
}

fn is<T: FlattenedShape>(body: &[u8]) -> bool {
    read::<T>(body, &strict()).is_ok()
}

/// Fails unless all whole responses in these bytes are valid; returns how many there are.
pub fn check(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = str::from_utf8(&bytes[..end + 4]).expect("a head is ASCII");
        bytes = &bytes[end + 4..];
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {head}"));
        // The answer is still to come.
        if status == 100 {
            continue;
        }
        // What follows is no HTTP.
        if status == 101 {
            return count + 1;
        }
        let Some((body, rest)) = cut(head, bytes) else { return count };
        check_body(status, head, &body);
        (bytes, count) = (rest, count + 1);
    }
    count
}

/// Fails unless these bytes are valid answers to HEAD, which have no bodies; returns how many there are.
pub fn check_heads(bytes: &[u8]) -> usize {
    let text = str::from_utf8(bytes).expect("a head is ASCII");
    let heads: Vec<&str> = text.split_inclusive("\r\n\r\n").collect();
    for head in &heads {
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status: u16 = status.and_then(|status| status.parse().ok()).expect(head);
        assert!(head.ends_with("\r\n\r\n"), "behind a head: {head}");
        let kind = header(head, "content-type").unwrap_or_default();
        let is_known = kind == JSON || kind.starts_with(METRICS) || kind == EVENTS;
        assert!(is_known || matches!(status, 400 | 414 | 431), "{head}");
        assert!(header(head, "content-length").is_some_and(|length| length != "0"), "{head}");
    }
    heads.len()
}

/// A header, by its name in lower case.
pub fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// Parts the body from what follows; `None` if it says how long it is and has not ended. One in
/// chunks may end early: the events that are there must be good.
fn cut<'b>(head: &str, bytes: &'b [u8]) -> Option<(Vec<u8>, &'b [u8])> {
    if header(head, "transfer-encoding").is_some() {
        return Some(unchunked(bytes));
    }
    let length = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
    let (body, rest) = bytes.split_at_checked(length)?;
    Some((body.to_vec(), rest))
}

/// The content of a body in chunks, as far as it is there, and what follows it.
pub fn unchunked(mut bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut body = Vec::new();
    while let Some(at) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = str::from_utf8(&bytes[..at]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap_or_else(|_| panic!("a chunk of {size}"));
        let rest = &bytes[at + 2..];
        let Some(chunk) = rest.get(..size) else { return (body, &[]) };
        body.extend_from_slice(chunk);
        bytes = rest.get(size + 2..).unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    (body, bytes)
}

fn check_body(status: u16, head: &str, body: &[u8]) {
    let shown = || format!("{head}{}", String::from_utf8_lossy(body));
    // A file is what somebody uploaded, and no document of ours.
    if header(head, "content-disposition") == Some("attachment") {
        return assert_eq!(status, 200, "{}", shown());
    }
    match header(head, "content-type").unwrap_or_default() {
        JSON => {
            let document =
                JsonDocument::read(body, &strict()).unwrap_or_else(|_| panic!("{}", shown()));
            if document.root().get("response").is_some() {
                check_message(status, body);
            } else {
                let fits = KINDS.iter().any(|(codes, is)| codes.contains(&status) && is(body));
                assert!(fits, "a document of no known kind: {}", shown());
            }
        }
        EVENTS => {
            assert_eq!(status, 200, "{}", shown());
            events(str::from_utf8(body).unwrap());
        }
        kind if kind.starts_with(METRICS) => {
            assert_eq!(status, 200, "{}", shown());
        }
        // hyper says this by itself when it cannot read a head, and a preflight says it with headers.
        "" => assert!(body.is_empty() && matches!(status, 204 | 400 | 414 | 431), "{}", shown()),
        other => panic!("`{other}` is no type of an answer: {}", shown()),
    }
}

/// A message, which must go with its status.
fn check_message(status: u16, body: &[u8]) {
    let shown = String::from_utf8_lossy(body);
    let message = read_response(body, &strict()).unwrap_or_else(|e| panic!("{e}: {shown}"));
    let code = message.response.error.as_ref().map(ErrorObject::known);
    let expected = code.map_or(Some(200), |code| Some(code?.http_status()));
    // A head that is too large has a status of its own.
    let is_head = (status, code) == (431, Some(Some(OpenHarnessCode::PayloadTooLarge)));
    assert!(Some(status) == expected || is_head, "{status}: {shown}");
}

/// An event of a WebSocket or a line, read strictly: its name is its type. `None` for the answer to
/// a cancellation, which is checked, too.
pub fn frame(text: &str) -> Option<OpenHarnessEvent> {
    let name = text.strip_prefix("{\"type\":\"").and_then(|rest| rest.split('"').next());
    let name = name.unwrap_or_else(|| panic!("no type: {text}"));
    if name == "canceled" {
        assert!(is::<CancelAccepted>(text.as_bytes()), "{text}");
        return None;
    }
    let event = OpenHarnessEvent::read(name, text.as_bytes(), &strict());
    let event = event.unwrap_or_else(|error| panic!("{error:?}: {text}"));
    Some(event.unwrap_or_else(|| panic!("an event of no known name: {text}")))
}

/// The events of a stream, as far as they are whole: each of its shape, numbered without gaps.
pub fn events(text: &str) -> Vec<OpenHarnessEvent> {
    let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let blocks = whole.split("\n\n").filter(|block| !block.is_empty() && !block.starts_with(':'));
    let read = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let event = OpenHarnessEvent::read(field("event: "), field("data: ").as_bytes(), &strict());
        let event = event.unwrap_or_else(|error| panic!("{error:?}: {block}"));
        let event = event.unwrap_or_else(|| panic!("an event of no known name: {block}"));
        assert_eq!(field("id: ").parse(), Ok(event.seq()), "{block}");
        event
    };
    let events: Vec<OpenHarnessEvent> = blocks.map(read).collect();
    assert!(events.windows(2).all(|pair| pair[1].seq() == pair[0].seq() + 1), "{text}");
    events
}

#[test]
fn what_is_not_valid_does_not_pass() {
    let respond = |status: u16, body: &str| {
        let kind = "application/json; charset=utf-8";
        let length = body.len();
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let good = r#"{"protocol_version":"1.0.0","response":{"status":"success"}}"#;
    assert_eq!(check(respond(200, good).repeat(2).as_bytes()), 2);
    let head = respond(200, good).replace(good, "");
    assert_eq!(check_heads(head.repeat(2).as_bytes()), 2);
    for bad in [respond(200, good), head.replace("json", "text")] {
        let judged = std::panic::catch_unwind(|| check_heads(bad.as_bytes()));
        assert!(judged.is_err(), "{bad}");
    }
    for bad in [
        respond(500, good),
        respond(200, "{}"),
        respond(200, r#"{"protocol_version":"1.0.0","response":{"status":"odd"}}"#),
        respond(400, r#"{"status":"ok","service":"bridle"}"#),
        respond(200, good).replace("charset=utf-8", "charset=l1"),
        respond(200, good).replacen("{", "x", 1),
    ] {
        let judged = std::panic::catch_unwind(|| check(bad.as_bytes()));
        assert!(judged.is_err(), "{bad}");
    }
}
