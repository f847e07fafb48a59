//! The same request again (draft, 5.1; P15.7): done once, answered alike.

use super::EngineUnderTest;
use super::answer::EnvelopeAnswer;
use super::rows::GOOD;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "shells repeat what they got no answer to; what was asked for is done twice";

/// Copies of a request that come at the same time.
const COPIES: usize = 8;

const IN_SESSION: &str = r#"{@V,"request":{"context":{@U,"session_id":"@SESSION"}}}"#;

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = vec![
        ConformanceCase::new(
            "I-01",
            RequirementLevel::Should,
            "5.1",
            "the same request again gets the same answer",
            WHY,
            |peer: &mut EngineUnderTest| {
                let body = peer.fill(IN_SESSION).text;
                let (one, other) = (peer.ask(&body)?, peer.ask(&body)?);
                same(&one, &other)
            },
        ),
        ConformanceCase::new(
            "I-02",
            RequirementLevel::Must,
            "5.1",
            "a broken message under a used id does not get the old answer",
            "a shell shows the answer to a question that was not asked",
            |peer: &mut EngineUnderTest| {
                let filled = peer.fill(IN_SESSION);
                peer.ask(&filled.text)?.is_served()?;
                let broken = peer.fill(r#"{@V,"request":7}"#);
                peer.ask(&broken.text.replace(&broken.id, &filled.id))?.is_refused()
            },
        ),
    ];
    all.extend(profile());
    all.extend(spelled());
    all
}

fn case(
    id: &'static str,
    title: &'static str,
    check: fn(&mut EngineUnderTest) -> Checked,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(
        id,
        RequirementLevel::Profile("repeats"),
        "P15.7",
        title,
        WHY,
        move |peer: &mut EngineUnderTest| {
            peer.needs_code("idempotency_conflict")?;
            check(peer)
        },
    )
}

fn same(one: &EnvelopeAnswer, other: &EnvelopeAnswer) -> Checked {
    one.is_served()?;
    other.has(one.comparable() == other.comparable(), "the same answer as before")
}

fn profile() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("I-10", "another body under the same id is `idempotency_conflict`", |peer| {
            let body = peer.fill(IN_SESSION).text;
            peer.ask(&body)?.is_served()?;
            let other = body.replace("\"user_intent\":\"", "\"user_intent\":\"once more: ");
            peer.ask(&other)?.is_refused_as(&["idempotency_conflict"])
        }),
        case("I-11", "a conflict says nothing of the first answer", |peer| {
            let body = peer.fill(IN_SESSION).text;
            peer.ask(&body)?.is_served()?;
            let other = body.replace("\"user_intent\":\"", "\"user_intent\":\"once more: ");
            let answer = peer.ask(&other)?;
            answer.has(answer.directives().is_empty(), "no directives beside a conflict")
        }),
        case("I-12", "a repeat is the first answer, its time included, and says so", |peer| {
            let body = peer.fill(IN_SESSION).text;
            let (one, other) = (peer.ask(&body)?, peer.ask(&body)?);
            other.has(one.value == other.value, "the very same message")?;
            let mark = other.reply.header("idempotency-replayed");
            other.has(mark == Some("true"), "`Idempotency-Replayed: true`")?;
            let first = one.reply.header("idempotency-replayed");
            one.has(first.is_none(), "no such header on the first")
        }),
        case("I-13", "copies that come at the same time get one answer", |peer| {
            let body = peer.fill(IN_SESSION).text;
            let asked = vec![peer.post(body); COPIES];
            let mut first: Option<EnvelopeAnswer> = None;
            for reply in peer.together(&asked) {
                let answer = peer.judge(reply?)?;
                match &first {
                    Some(first) => same(first, &answer)?,
                    None => first = Some(answer),
                }
            }
            Ok(())
        }),
        case("I-14", "the same id in another session is a conflict", |peer| {
            let body = peer.fill(IN_SESSION).text;
            peer.ask(&body)?.is_served()?;
            let other = body.replace("\"session_id\":\"", "\"session_id\":\"other-");
            peer.ask(&other)?.is_refused_as(&["idempotency_conflict"])
        }),
        case("I-15", "a request that was refused does not use its id up", |peer| {
            let filled = peer.fill(r#"{@V,"request":7}"#);
            peer.ask(&filled.text)?.is_refused()?;
            let good = peer.fill(GOOD);
            peer.ask(&good.text.replace(&good.id, &filled.id))?.is_served()
        }),
        case("I-16", "without an id every request runs", |peer| {
            let template = r#"{"protocol_version":"1.0.0","request":{"context":{@U,"session_id":"@SESSION"}}}"#;
            let body = peer.fill(template).text;
            let (one, other) = (peer.ask(&body)?, peer.ask(&body)?);
            one.is_served()?;
            other.is_served()?;
            let mark = other.reply.header("idempotency-replayed");
            other.has(mark.is_none(), "no `Idempotency-Replayed`")
        }),
    ]
}

fn spelled() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("I-17", "another `correlation_id` is the same request", |peer| {
            let body = peer.fill(r#"{@V,"correlation_id":"one",@R}"#).text;
            let one = peer.ask(&body)?;
            let other = peer.ask(&body.replace("\"one\"", "\"two\""))?;
            one.is_served()?;
            other.is_served()?;
            other.echoes("correlation_id", "two")
        }),
        case("I-18", "another order of keys and other blanks are the same request", |peer| {
            let filled = peer.fill(r#"{@V,"request":{"context":{@U,"session_id":"@SESSION"}}}"#);
            let one = peer.ask(&filled.text)?;
            let head = format!(r#""protocol_version":"1.0.0","request_id":"{}","#, filled.id);
            let moved = filled.text.replace(&head, "");
            let moved = moved.trim_end_matches('}').to_owned();
            let tail = format!(
                "}} }},\n \"request_id\": \"{}\" , \"protocol_version\":\"1.0.0\"}}",
                filled.id
            );
            let other = peer.ask(&(moved + &tail))?;
            same(&one, &other)
        }),
        case("I-19", "`Idempotency-Key` that is the id is fine", |peer| {
            let filled = peer.fill(GOOD);
            let asked = peer.post(filled.text).with("Idempotency-Key", &filled.id);
            peer.answer(&asked)?.is_served()
        }),
        case("I-20", "`Idempotency-Key` that is another is `header_mismatch`", |peer| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Idempotency-Key", "another");
            peer.answer(&asked)?.is_refused_as(&["header_mismatch"])
        }),
        case("I-21", "two principals may use one id", |peer| {
            peer.needs_second()?;
            let body = peer.fill(IN_SESSION).text;
            peer.ask_as(super::AskerIdentity::First, &body)?.is_served()?;
            let other = body.replace("\"user_intent\":\"", "\"user_intent\":\"of another: ");
            peer.ask_as(super::AskerIdentity::Second, &other)?.is_served()
        }),
    ]
}
