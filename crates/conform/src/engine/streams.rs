//! Streams of server-sent events (P15.5, P15.7): profile `dev.bridle.sse.1`.
//!
//! long: each list of cases is one table.

use serde_json::Value;

use super::answer::EnvelopeAnswer;
use super::http::{HttpClient, HttpReply, find};
use super::{AskedRequest, EngineUnderTest};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const PROFILE: &str = "dev.bridle.sse.1";

const WHY: &str = "a shell shows half an answer, or carries out half a directive";

const ASKS: &str = r#"{@V,"capabilities":{"openharness.streaming":{"profiles":["dev.bridle.sse.1"]}},"request":{"context":{"session_id":"@SESSION",@U}}}"#;

/// One event.
#[derive(Debug, Clone)]
struct ReceivedEvent {
    id: Option<String>,
    name: String,
    data: Value,
}

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = events();
    all.extend(otherwise());
    all.extend(resumed());
    all
}

fn case(
    id: &'static str,
    title: &'static str,
    check: fn(&mut EngineUnderTest) -> Checked,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(
        id,
        RequirementLevel::Profile("sse"),
        "P15.5",
        title,
        WHY,
        move |peer: &mut EngineUnderTest| {
            peer.needs_profile(PROFILE)?;
            check(peer)
        },
    )
}

fn wants(peer: &EngineUnderTest, body: &str) -> AskedRequest {
    peer.post(body).with("Accept", "text/event-stream")
}

/// Asks for a stream and reads it to its end.
fn stream(
    peer: &mut EngineUnderTest,
    asked: &AskedRequest,
) -> Result<(HttpReply, Vec<ReceivedEvent>), CheckFinding> {
    let mut conn = peer.open()?;
    let reply = begun(peer, &mut conn, asked)?;
    let rest = conn.until("the end of the stream", |_| false)?;
    let is_chunked = reply.header("transfer-encoding").is_some_and(|it| it.contains("chunked"));
    let text = if is_chunked { dechunk(&rest) } else { rest };
    peer.note(&String::from_utf8_lossy(&text));
    Ok((reply, parse(&text)?))
}

/// Sends a request and takes the head of a stream.
fn begun(
    peer: &mut EngineUnderTest,
    conn: &mut HttpClient,
    asked: &AskedRequest,
) -> Result<HttpReply, CheckFinding> {
    peer.note(&asked.shown());
    conn.send(&asked.bytes(&peer.way().url.clone()));
    let reply = conn.head_only()?;
    let kind = reply.header("content-type").unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        return Ok(reply);
    }
    Err(CheckFinding::fault(format!(
        "expected a stream, got `{kind}` with status {}",
        reply.status
    )))
}

fn usual(
    peer: &mut EngineUnderTest,
) -> Result<(super::FilledTemplate, HttpReply, Vec<ReceivedEvent>), CheckFinding> {
    let filled = peer.fill(ASKS);
    let asked = wants(peer, &filled.text);
    let (reply, events) = stream(peer, &asked)?;
    Ok((filled, reply, events))
}

fn dechunk(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some(at) = find(rest, b"\r\n") {
        let size = String::from_utf8_lossy(&rest[..at]).trim().to_owned();
        let Ok(size) = usize::from_str_radix(&size, 16) else { break };
        let Some(piece) = rest.get(at + 2..at + 2 + size) else { break };
        out.extend_from_slice(piece);
        rest = rest.get(at + 4 + size..).unwrap_or_default();
    }
    out
}

fn parse(bytes: &[u8]) -> Result<Vec<ReceivedEvent>, CheckFinding> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| CheckFinding::fault("the stream is not UTF-8"))?;
    let mut events = Vec::new();
    for block in text.replace("\r\n", "\n").split("\n\n") {
        let mut event = ReceivedEvent { id: None, name: String::new(), data: Value::Null };
        for line in block.lines() {
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match key {
                "id" => event.id = Some(value.to_owned()),
                "event" => value.clone_into(&mut event.name),
                "data" => {
                    event.data = serde_json::from_str(value).map_err(|_| {
                        CheckFinding::fault("`data` of an event is not one line of JSON")
                    })?;
                }
                _ => {}
            }
        }
        if !event.name.is_empty() {
            events.push(event);
        }
    }
    Ok(events)
}

fn need(holds: bool, expected: &str, events: &[ReceivedEvent]) -> Checked {
    let names: Vec<&str> = events.iter().map(|it| it.name.as_str()).collect();
    if holds {
        Ok(())
    } else {
        Err(CheckFinding::fault(format!("expected {expected}, got {names:?}")))
    }
}

/// The complete answer at the end.
fn last(events: &[ReceivedEvent]) -> Result<&Value, CheckFinding> {
    let last = events.last().filter(|it| it.name == "final");
    let message = last.map(|it| &it.data["message"]).filter(|it| it.is_object());
    message.ok_or_else(|| CheckFinding::fault("the last event is no `final` with a `message`"))
}

fn events() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("M-01", "a stream begins with one `open` and ends with one `final`", |peer| {
            let (_, _, events) = usual(peer)?;
            let count = |name: &str| events.iter().filter(|it| it.name == name).count();
            let is_first = events.first().is_some_and(|it| it.name == "open");
            let is_last = events.last().is_some_and(|it| it.name == "final");
            let holds = is_first && is_last && count("open") == 1 && count("final") == 1;
            need(holds, "`open` first, `final` last, each once", &events)
        }),
        case("M-02", "events are numbered from 0 without gaps, in `id` and `seq`", |peer| {
            let (_, _, events) = usual(peer)?;
            let fits = |(count, it): (usize, &ReceivedEvent)| {
                it.id.as_deref() == Some(count.to_string().as_str()) && it.data["seq"] == count
            };
            need(events.iter().enumerate().all(fits), "numbers from 0", &events)
        }),
        case("M-03", "every event says its stream and its request", |peer| {
            let (filled, _, events) = usual(peer)?;
            let first = events.first().map(|it| it.data["stream_id"].clone()).unwrap_or_default();
            let fits = |it: &ReceivedEvent| {
                it.data["stream_id"] == first && it.data["request_id"] == filled.id.as_str()
            };
            need(
                first.is_string() && events.iter().all(fits),
                "`stream_id` and `request_id`",
                &events,
            )
        }),
        case("M-04", "`final` holds a complete answer", |peer| {
            let (filled, reply, events) = usual(peer)?;
            let message = last(&events)?.to_string();
            let body = message.into_bytes();
            let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
            let answer = peer.judge(HttpReply { status: reply.status, headers, body })?;
            answer.is_served()?;
            answer.echoes("request_id", &filled.id)
        }),
        case("M-05", "the same request as one message gets the same answer", |peer| {
            let (filled, _, events) = usual(peer)?;
            let answer = peer.ask(&filled.text)?;
            answer.has(answer.value == *last(&events)?, "the message of `final`")
        }),
        case("M-06", "deltas folded are the directives of the answer", |peer| {
            let (_, _, events) = usual(peer)?;
            let message = last(&events)?;
            let directives = message["response"]["action_directives"].as_array().cloned();
            let done: Vec<Value> = events
                .iter()
                .filter(|it| it.name == "directive.done")
                .map(|it| it.data["directive"].clone())
                .collect();
            need(
                done == directives.clone().unwrap_or_default(),
                "one `directive.done` each",
                &events,
            )?;
            for (index, directive) in directives.unwrap_or_default().iter().enumerate() {
                let folded = fold(&events, index);
                let is_same = folded.is_none_or(|folded| folded == directive["payload"]);
                need(is_same, "the payload that the deltas make", &events)?;
            }
            Ok(())
        }),
        case("M-07", "directives begin before they are done, in order", |peer| {
            let (_, _, events) = usual(peer)?;
            let place = |name: &str| events.iter().position(|it| it.name == name);
            let starts: Vec<u64> = events
                .iter()
                .filter(|it| it.name == "directive.start")
                .filter_map(|it| it.data["index"].as_u64())
                .collect();
            let is_counted = starts.iter().zip(0..).all(|(one, count)| *one == count);
            let holds = is_counted && place("directive.start") < place("directive.done");
            need(holds, "`directive.start` with rising `index`, then `directive.done`", &events)
        }),
        case("M-08", "a stream is not to be stored or kept back", |peer| {
            let (_, reply, events) = usual(peer)?;
            let control = reply.header("cache-control").unwrap_or_default();
            need(control.contains("no-store"), "`Cache-Control: no-store`", &events)
        }),
        case("M-09", "`open` says how long a stream can be taken up again", |peer| {
            let (_, _, events) = usual(peer)?;
            let open = events.first().map(|it| it.data.clone()).unwrap_or_default();
            let holds = open["protocol_version"].is_string() && open["resume"]["ttl_ms"].is_u64();
            need(holds, "`protocol_version` and `resume.ttl_ms` in `open`", &events)
        }),
    ]
}

/// Payload that the deltas of one directive add up to; `None` if it had none.
fn fold(events: &[ReceivedEvent], index: usize) -> Option<Value> {
    let start = events.iter().filter(|it| it.name == "directive.start").nth(index)?;
    let name = &start.data["directive_id"];
    let mut folded: Option<Value> = None;
    let deltas = events.iter().filter(|it| it.name == "directive.delta");
    for delta in deltas.filter(|it| it.data["directive_id"] == *name) {
        let path = delta.data["path"].as_str().unwrap_or_default();
        let root = folded.get_or_insert_with(|| Value::Object(serde_json::Map::new()));
        let inner = path.strip_prefix("/payload").unwrap_or(path);
        if let Some(value) = delta.data.get("value") {
            if inner.is_empty() {
                *root = value.clone();
            } else {
                root[inner.trim_start_matches('/')] = value.clone();
            }
        } else if let Some(more) = delta.data["append"].as_str() {
            let place = &mut root[inner.trim_start_matches('/')];
            let text = place.as_str().unwrap_or_default().to_owned();
            *place = Value::from(text + more);
        }
    }
    folded
}

fn otherwise() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("M-20", "who does not list the profile gets one message", |peer| {
            let body = peer.fill(r#"{@V,"capabilities":{"openharness.streaming":true},@R}"#).text;
            let asked = wants(peer, &body).with("Accept", "text/event-stream, application/json");
            peer.answer(&asked)?.is_served()
        }),
        case("M-21", "who does not accept streams gets one message", |peer| {
            peer.ask_filled(ASKS)?.1.is_served()
        }),
        case("M-22", "what is refused before the stream is one message", |peer| {
            let body = peer.fill(&ASKS.replace("@U", r#""attachments":7"#)).text;
            let asked = wants(peer, &body).with("Accept", "text/event-stream, application/json");
            peer.answer(&asked)?.is_refused_as(&["invalid_request"])
        }),
    ]
}

fn resumed() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("M-30", "a stream is taken up behind the last event that came", |peer| {
            let (filled, _, before) = usual(peer)?;
            let asked = wants(peer, &filled.text).with("Last-Event-ID", "0");
            let (_, events) = stream(peer, &asked)?;
            let first = events.first().and_then(|it| it.data["seq"].as_u64());
            need(first == Some(1), "the first event to be number 1", &events)?;
            need(last(&events)? == last(&before)?, "the same `final`", &events)
        }),
        case("M-31", "a stream that was cut is taken up to its end", |peer| {
            let filled = peer.fill(ASKS);
            let asked = wants(peer, &filled.text);
            let mut conn = peer.open()?;
            begun(peer, &mut conn, &asked)?;
            drop(conn);
            let (_, events) = stream(peer, &asked.with("Last-Event-ID", "0"))?;
            let message = last(&events)?;
            need(message["response"]["status"] == "success", "a success at the end", &events)
        }),
        case("M-32", "a stream that was cut can be had as one message", |peer| {
            let filled = peer.fill(ASKS);
            let asked = wants(peer, &filled.text);
            let mut conn = peer.open()?;
            begun(peer, &mut conn, &asked)?;
            drop(conn);
            let answer: EnvelopeAnswer = peer.ask(&filled.text)?;
            answer.is_served()
        }),
        case("M-33", "a stream that never was is `stream_expired`, and nothing runs", |peer| {
            let filled = peer.fill(ASKS);
            let asked = wants(peer, &filled.text).with("Last-Event-ID", "3");
            let asked = asked.with("Accept", "text/event-stream, application/json");
            peer.answer(&asked)?.is_refused_as(&["stream_expired"])
        }),
    ]
}
