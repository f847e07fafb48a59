//! HTTP, as far as every engine that is reached over it has to get it right (P15.7).
//!
//! long: each list of cases is one table.

use std::time::Duration;

use super::EngineUnderTest;
use super::answer::EnvelopeAnswer;
use super::http::BodyPresence;
use super::rows::GOOD;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const CUT: &str = "a message of which a part is missing, or that two readers cut in two ways, is \
                   carried out as something that nobody said";

const PLAIN: &str = "clients, proxies and probes do it every day";

/// Pause between pieces of a request: more than a network on one machine needs.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = cut();
    all.extend(plain());
    all.extend(methods());
    all.extend(heads());
    all
}

fn case(
    id: &'static str,
    level: RequirementLevel,
    title: &'static str,
    why: &'static str,
    check: fn(&mut EngineUnderTest) -> Checked,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(id, level, "P15.7", title, why, check)
}

/// A reply that may be missing: who is given nonsense may close.
fn refused_or_closed(peer: &mut EngineUnderTest, bytes: &[u8]) -> Checked {
    let mut conn = peer.open()?;
    peer.note(&String::from_utf8_lossy(bytes));
    conn.send(bytes);
    conn.end();
    if let Ok(reply) = conn.reply(BodyPresence::Any) {
        peer.note(&reply.text());
        let is_served = EnvelopeAnswer::read(reply).is_ok_and(|answer| answer.is_success());
        if is_served {
            return Err(CheckFinding::fault(
                "expected a refusal or the end of the connection, got a success",
            ));
        }
    }
    peer.is_alive()
}

/// Sends bytes as they are and takes the answer, which must be a message.
fn raw(peer: &mut EngineUnderTest, bytes: &[u8]) -> Result<EnvelopeAnswer, CheckFinding> {
    let mut conn = peer.open()?;
    peer.note(&String::from_utf8_lossy(bytes));
    conn.send(bytes);
    let reply = conn.reply(BodyPresence::Any)?;
    peer.note(&reply.text());
    peer.judge(reply)
}

/// The head of a post with these lines besides.
fn head(peer: &EngineUnderTest, lines: &str) -> String {
    let asked = peer.post("");
    let (path, authority) = (&asked.path, peer.way().url.authority());
    let mut text = format!("POST {path} HTTP/1.1\r\nHost: {authority}\r\n{lines}");
    for (name, value) in &asked.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "Connection: close\r\n\r\n"
}

fn chunked(body: &str, size: usize) -> String {
    let pieces = body
        .as_bytes()
        .chunks(size)
        .map(|piece| format!("{:x}\r\n{}\r\n", piece.len(), String::from_utf8_lossy(piece)));
    pieces.collect::<String>() + "0\r\n\r\n"
}

fn cut() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case(
            "H-01",
            RequirementLevel::Must,
            "a body whose end does not come is not carried out",
            CUT,
            |peer| {
                let body = peer.fill(GOOD).text;
                let head = head(peer, &format!("Content-Length: {}\r\n", body.len() + 10));
                refused_or_closed(peer, (head + &body).as_bytes())
            },
        ),
        case(
            "H-02",
            RequirementLevel::Must,
            "a body in chunks is read, or refused, never taken for another",
            CUT,
            |peer| {
                let filled = peer.fill(GOOD);
                let head = head(peer, "Transfer-Encoding: chunked\r\n");
                let mut conn = peer.open()?;
                conn.send((head + &chunked(&filled.text, 20)).as_bytes());
                let answer = peer.judge(conn.reply(BodyPresence::Any)?)?;
                if answer.is_success() { answer.echoes("request_id", &filled.id) } else { Ok(()) }
            },
        ),
        case("H-03", RequirementLevel::Should, "a body in chunks is read", PLAIN, |peer| {
            let filled = peer.fill(GOOD);
            let head = head(peer, "Transfer-Encoding: chunked\r\n");
            raw(peer, (head + &chunked(&filled.text, 20)).as_bytes())?.is_served()
        }),
        case("H-04", RequirementLevel::Must, "two lengths of one body are refused", CUT, |peer| {
            let body = peer.fill(GOOD).text;
            let lines = format!("Content-Length: {}\r\nContent-Length: 5\r\n", body.len());
            refused_or_closed(peer, (head(peer, &lines) + &body).as_bytes())
        }),
        case(
            "H-05",
            RequirementLevel::Must,
            "a length that is no number is refused",
            CUT,
            |peer| {
                let body = peer.fill(GOOD).text;
                let lines = format!("Content-Length: +{}\r\n", body.len());
                refused_or_closed(peer, (head(peer, &lines) + &body).as_bytes())
            },
        ),
        case(
            "H-06",
            RequirementLevel::Should,
            "chunks that end early are not carried out",
            CUT,
            |peer| {
                let body = peer.fill(GOOD).text;
                let text = head(peer, "Transfer-Encoding: chunked\r\n");
                let sent = chunked(&body, 4096).replace("0\r\n\r\n", "");
                refused_or_closed(peer, (text + &sent).as_bytes())
            },
        ),
        case("H-07", RequirementLevel::Should, "a packed body is refused", CUT, |peer| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Content-Encoding", "gzip");
            peer.answer(&asked)?.is_refused()
        }),
    ]
}

fn plain() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case(
            "H-10",
            RequirementLevel::Must,
            "a media type with a charset is served",
            PLAIN,
            |peer| {
                let body = peer.fill(GOOD).text;
                let asked = peer.post(body).with("Content-Type", "application/json; charset=utf-8");
                peer.answer(&asked)?.is_served()
            },
        ),
        case(
            "H-11",
            RequirementLevel::Must,
            "names of headers are read in either case",
            PLAIN,
            |peer| {
                let filled = peer.fill(GOOD);
                let head = head(peer, "").replace("Content-Type", "CONTENT-TYPE").replace(
                    "\r\n\r\n",
                    &format!("\r\ncontent-LENGTH: {}\r\n\r\n", filled.text.len()),
                );
                raw(peer, (head + &filled.text).as_bytes())?.is_served()
            },
        ),
        case(
            "H-12",
            RequirementLevel::Must,
            "a body that comes byte by byte is read",
            PLAIN,
            |peer| {
                let body = peer.fill(GOOD).text;
                let bytes = peer.post(body).bytes(&peer.way().url.clone());
                let mut conn = peer.open()?;
                for (count, byte) in bytes.into_iter().enumerate() {
                    conn.send(&[byte]);
                    // Lets some of them arrive before the next.
                    if count % 50 == 0 {
                        std::thread::sleep(PAUSE);
                    }
                }
                peer.judge(conn.reply(BodyPresence::Any)?)?.is_served()
            },
        ),
        case(
            "H-13",
            RequirementLevel::Should,
            "a connection serves more than one request",
            PLAIN,
            |peer| {
                let mut conn = peer.open()?;
                for _ in 0..3 {
                    let filled = peer.fill(GOOD);
                    let asked = peer.post(filled.text.as_str()).kept();
                    let reply = peer.exchange_on(&mut conn, &asked)?;
                    peer.judge(reply)?.echoes("request_id", &filled.id)?;
                }
                Ok(())
            },
        ),
        case(
            "H-14",
            RequirementLevel::Should,
            "an error leaves the connection usable",
            PLAIN,
            |peer| {
                let mut conn = peer.open()?;
                for template in [r#"{@V,"request":7}"#, GOOD] {
                    let filled = peer.fill(template);
                    let asked = peer.post(filled.text.as_str()).kept();
                    let reply = peer.exchange_on(&mut conn, &asked)?;
                    peer.judge(reply)?.echoes("request_id", &filled.id)?;
                }
                Ok(())
            },
        ),
        case(
            "H-15",
            RequirementLevel::Should,
            "requests that come together are answered in order",
            PLAIN,
            |peer| {
                let filled = [peer.fill(GOOD), peer.fill(r#"{@V,"request":7}"#), peer.fill(GOOD)];
                let url = peer.way().url.clone();
                let sent: Vec<u8> = filled
                    .iter()
                    .flat_map(|it| peer.post(it.text.as_str()).kept().bytes(&url))
                    .collect();
                let mut conn = peer.open()?;
                conn.send(&sent);
                for one in &filled {
                    peer.judge(conn.reply(BodyPresence::Any)?)?.echoes("request_id", &one.id)?;
                }
                Ok(())
            },
        ),
        case(
            "H-16",
            RequirementLevel::Should,
            "who waits for `100 Continue` is served",
            PLAIN,
            |peer| {
                let body = peer.fill(GOOD).text;
                let asked = peer.post(body).with("Expect", "100-continue");
                peer.answer(&asked)?.is_served()
            },
        ),
    ]
}

fn methods() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("H-20", RequirementLevel::Must, "`PUT` is not taken for `POST`", PLAIN, |peer| {
            not_served(peer, "PUT")
        }),
        case("H-21", RequirementLevel::Must, "`DELETE` is not taken for `POST`", PLAIN, |peer| {
            not_served(peer, "DELETE")
        }),
        case(
            "H-22",
            RequirementLevel::Must,
            "a method of no list is not taken for `POST`",
            PLAIN,
            |peer| not_served(peer, "BREW"),
        ),
        case("H-23", RequirementLevel::Must, "`HEAD` has no body", PLAIN, |peer| {
            let path = peer.way().url.path.clone();
            let mut asked = peer.get(&path);
            asked.method = "HEAD".to_owned();
            let mut conn = peer.open()?;
            let reply = peer.exchange_on(&mut conn, &asked.kept().with("Connection", "close"))?;
            let rest = conn.until("the end after `HEAD`", |_| false)?;
            if rest.is_empty() {
                return Ok(());
            }
            Err(CheckFinding::fault(format!(
                "{} bytes behind the head, status {}",
                rest.len(),
                reply.status
            )))
        }),
        case(
            "H-24",
            RequirementLevel::Should,
            "who wants JSON gets JSON, whatever it could stream",
            PLAIN,
            |peer| {
                let template = r#"{@V,"capabilities":{"openharness.streaming":true},@R}"#;
                peer.ask_filled(template)?.1.is_served()
            },
        ),
        case("H-25", RequirementLevel::Should, "who accepts anything gets JSON", PLAIN, |peer| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Accept", "*/*");
            peer.answer(&asked)?.is_served()
        }),
        case(
            "H-26",
            RequirementLevel::Should,
            "who says nothing about types gets JSON",
            PLAIN,
            |peer| {
                let body = peer.fill(GOOD).text;
                let mut asked = peer.post(body);
                asked.unset("Accept");
                peer.answer(&asked)?.is_served()
            },
        ),
    ]
}

fn not_served(peer: &mut EngineUnderTest, method: &str) -> Checked {
    let body = peer.fill(GOOD).text;
    let mut asked = peer.post(body);
    asked.method = method.to_owned();
    let reply = peer.exchange(&asked)?;
    if EnvelopeAnswer::read(reply).is_ok_and(|answer| answer.is_success()) {
        return Err(CheckFinding::fault(format!("a request by `{method}` was served")));
    }
    peer.is_alive()
}

fn heads() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("H-30", RequirementLevel::Must, "an id cannot write a header", CUT, |peer| {
            let template = r#"{@V,"correlation_id":"a\r\nX-Injected: 1\r\n\r\nb",@R}"#;
            let (_, answer) = peer.ask_filled(template)?;
            answer.has(answer.reply.header("x-injected").is_none(), "no header of the id's making")
        }),
        case("H-31", RequirementLevel::Must, "a head of 1 MiB ends no engine", CUT, |peer| {
            let text = head(peer, &format!("X-Long: {}\r\n", "x".repeat(1 << 20)));
            refused_or_closed(peer, text.as_bytes())
        }),
        case("H-32", RequirementLevel::Must, "10,000 headers end no engine", CUT, |peer| {
            let many: String = (0..10_000).map(|count| format!("X-{count}: 1\r\n")).collect();
            let text = head(peer, &many);
            refused_or_closed(peer, text.as_bytes())
        }),
        case(
            "H-33",
            RequirementLevel::Must,
            "a `traceparent` that is none is ignored",
            PLAIN,
            |peer| {
                let body = peer.fill(GOOD).text;
                let asked = peer.post(body).with("traceparent", "00-xyz");
                peer.answer(&asked)?.is_served()
            },
        ),
        case(
            "H-34",
            RequirementLevel::Must,
            "a connection that says nothing delays nobody",
            CUT,
            |peer| {
                let _silent = peer.open()?;
                peer.is_alive()
            },
        ),
    ]
}
