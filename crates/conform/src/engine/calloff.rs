//! Requests that are no longer wanted (P15.7): called off, or out of time. What takes long is said
//! with `--intent-slow`.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::http::{BodyPresence, HttpReply};
use super::rows::GOOD;
use super::{AskerIdentity, EngineUnderTest};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "work that nobody waits for goes on, or that of somebody else ends";

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let case = |id, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(
            id,
            RequirementLevel::Profile("cancel"),
            "P15.7",
            title,
            WHY,
            move |peer: &mut EngineUnderTest| {
                peer.needs_code("cancelled")?;
                check(peer)
            },
        )
    };
    vec![
        case("L-01", "calling off what is not there is accepted", |peer| {
            let id = peer.name();
            accepted(peer, AskerIdentity::First, &id).map(drop)
        }),
        case("L-02", "calling off twice is accepted twice, alike", |peer| {
            let id = peer.name();
            let one = accepted(peer, AskerIdentity::First, &id)?;
            let other = accepted(peer, AskerIdentity::First, &id)?;
            if one.body == other.body {
                Ok(())
            } else {
                Err(CheckFinding::fault("two answers differ"))
            }
        }),
        case("L-03", "calling off without an id is `invalid_request`", |peer| {
            let asked = calling(peer, AskerIdentity::First, "{}");
            peer.answer(&asked)?.is_refused_as(&["invalid_request"])
        }),
        case("L-04", "calling off by a number is `invalid_request`", |peer| {
            let asked = calling(peer, AskerIdentity::First, r#"{"request_id":7}"#);
            peer.answer(&asked)?.is_refused_as(&["invalid_request"])
        }),
        case("L-05", "what is called off ends as `cancelled`", |peer| {
            let answer = called_off(peer, AskerIdentity::First)?;
            peer.judge(answer)?.is_refused_as(&["cancelled"])
        }),
        case("L-06", "what is called off stays so when it is repeated", |peer| {
            let filled = slow(peer)?;
            let reply = call_off(peer, AskerIdentity::First, &filled)?;
            let one = peer.judge(reply)?;
            let other = peer.ask(&filled.text)?;
            other.has(one.comparable() == other.comparable(), "the same answer as before")
        }),
        case("L-07", "nobody calls off what is another's", |peer| {
            peer.needs_second()?;
            let reply = called_off(peer, AskerIdentity::Second)?;
            peer.judge(reply)?.is_served()
        }),
        case("L-08", "what is done is not called off", |peer| {
            let filled = peer.fill(GOOD);
            let one = peer.ask(&filled.text)?;
            accepted(peer, AskerIdentity::First, &filled.id)?;
            let other = peer.ask(&filled.text)?;
            one.is_served()?;
            other.has(one.comparable() == other.comparable(), "the same answer as before")
        }),
        case("L-09", "a request that is out of time is `engine_timeout`", |peer| {
            let filled = slow(peer)?;
            let timed = with_time(&filled.text, &json!(50));
            let answer = peer.ask(&timed)?;
            answer.is_refused_as(&["engine_timeout"])
        }),
        case("L-10", "a time that is no number is `invalid_request`", |peer| {
            let text = peer.fill(GOOD).text;
            peer.ask(&with_time(&text, &json!("soon")))?.is_refused_as(&["invalid_request"])
        }),
        case("L-11", "a request with time enough is served", |peer| {
            let text = peer.fill(GOOD).text;
            peer.ask(&with_time(&text, &json!(30_000)))?.is_served()
        }),
    ]
}

fn calling(peer: &EngineUnderTest, who: AskerIdentity, body: &str) -> super::AskedRequest {
    let mut asked = peer.post(body);
    asked.path = peer.way().url.beside("cancel");
    peer.sign(&mut asked, who);
    asked
}

fn accepted(
    peer: &mut EngineUnderTest,
    who: AskerIdentity,
    id: &str,
) -> Result<HttpReply, CheckFinding> {
    let asked = calling(peer, who, &json!({"request_id": id}).to_string());
    let reply = peer.exchange(&asked)?;
    let value: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let holds = value.is_some_and(|it| it["request_id"] == id && it["status"] == "accepted");
    if holds {
        return Ok(reply);
    }
    Err(CheckFinding::fault("expected `request_id` and the status `accepted`"))
}

/// A request that takes long.
fn slow(peer: &mut EngineUnderTest) -> Result<super::FilledTemplate, CheckFinding> {
    let none =
        || CheckFinding::unoffered("no intent that takes long was named: --intent-slow TEXT");
    let intent = peer.setup().slow.clone().ok_or_else(none)?;
    let template = r#"{@V,"request":{"context":{"session_id":"@SESSION","user_intent":@SLOW}}}"#;
    Ok(peer.fill(&template.replace("@SLOW", &Value::from(intent).to_string())))
}

fn with_time(text: &str, time: &Value) -> String {
    let extensions =
        format!(r#""context":{{"extensions":{{"dev.bridle":{{"timeout_ms":{time}}}}},"#);
    text.replacen(r#""context":{"#, &extensions, 1)
}

fn called_off(peer: &mut EngineUnderTest, who: AskerIdentity) -> Result<HttpReply, CheckFinding> {
    let filled = slow(peer)?;
    call_off(peer, who, &filled)
}

/// Asks, calls off, and takes the answer. The request is known once its bytes are taken; as that
/// cannot be seen from outside, it is called off until something comes.
fn call_off(
    peer: &mut EngineUnderTest,
    who: AskerIdentity,
    filled: &super::FilledTemplate,
) -> Result<HttpReply, CheckFinding> {
    let mut conn = peer.open()?;
    let asked = peer.post(filled.text.as_str());
    peer.note(&asked.shown());
    conn.send(&asked.bytes(&peer.way().url.clone()));
    let waiting = std::thread::spawn(move || conn.reply(BodyPresence::Any));
    let mut tries = 0;
    while !waiting.is_finished() && tries < 20 {
        accepted(peer, who, &filled.id)?;
        tries += 1;
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let reply =
        waiting.join().unwrap_or_else(|_| Err(CheckFinding::fault("a thread of the kit ended")))?;
    peer.note(&reply.text());
    Ok(reply)
}
