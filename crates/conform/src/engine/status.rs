//! Status codes (P15.3, P15.7): for engines that say by the status what the body says.
//!
//! long: each list of cases is one table.

use super::EngineUnderTest;
use super::rows::GOOD;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "proxies, monitors and simple clients see the status alone";

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let case = |id, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(
            id,
            RequirementLevel::Profile("http"),
            "P15.3",
            title,
            WHY,
            move |peer: &mut EngineUnderTest| {
                offered(peer)?;
                check(peer)
            },
        )
    };
    let mut all = vec![
        case("S-01", "a success is 200", |peer| expect(peer, GOOD, 200)),
        case("S-02", "a message that is not valid is 400", |peer| {
            expect(peer, r#"{@V,"request":7}"#, 400)
        }),
        case("S-03", "a version that is not served is 400", |peer| {
            expect(peer, r#"{"protocol_version":"2.0.0",@R}"#, 400)
        }),
        case("S-04", "a path that is not there is 404, in an envelope", |peer| {
            let body = peer.fill(GOOD).text;
            let mut asked = peer.post(body);
            asked.path = peer.way().url.beside("no-such-path");
            let answer = peer.answer(&asked)?;
            answer.is_refused_as(&["not_found"])?;
            answer.has(answer.reply.status == 404, "status 404")
        }),
        case("S-05", "another method is 405, in an envelope, with `Allow`", |peer| {
            let body = peer.fill(GOOD).text;
            let mut asked = peer.post(body);
            asked.method = "PUT".to_owned();
            let answer = peer.answer(&asked)?;
            answer.is_refused_as(&["method_not_allowed"])?;
            answer.has(answer.reply.status == 405, "status 405")?;
            let allow = answer.reply.header("allow").unwrap_or_default();
            answer.has(allow.contains("POST"), "an `Allow` with `POST`")
        }),
        case("S-06", "a type that cannot be made is 406", |peer| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Accept", "image/png");
            let answer = peer.answer(&asked)?;
            answer.is_refused_as(&["not_acceptable"])?;
            answer.has(answer.reply.status == 406, "status 406")
        }),
        case("S-07", "a body of another type is 415", |peer| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Content-Type", "text/plain");
            let answer = peer.answer(&asked)?;
            answer.is_refused_as(&["unsupported_media_type"])?;
            answer.has(answer.reply.status == 415, "status 415")
        }),
        case("S-08", "a message that is too large is 413", |peer| {
            let large = format!(r#"{{@V,@R,"x":"{}"}}"#, "x".repeat(32 << 20));
            expect(peer, &large, 413)
        }),
        case("S-09", "a file inside a message is 413", |peer| {
            let blob = "QUJD".repeat(8 << 10);
            let body = format!(
                r#"{{@V,"request":{{"context":{{@U,"environment_state":{{"x":"{blob}"}}}}}}}}"#
            );
            expect(peer, &body, 413)
        }),
    ];
    all.extend(headers());
    all
}

fn headers() -> Vec<ConformanceCase<EngineUnderTest>> {
    let case = |id, title, check: fn(&mut EngineUnderTest) -> Checked| {
        let why = "what belongs together is found by these headers";
        ConformanceCase::new(
            id,
            RequirementLevel::Profile("http"),
            "P15.7",
            title,
            why,
            move |peer: &mut EngineUnderTest| {
                offered(peer)?;
                check(peer)
            },
        )
    };
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    vec![
        case("S-20", "`X-Correlation-ID` comes back as a header", |peer| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("X-Correlation-ID", "trace-7");
            let answer = peer.answer(&asked)?;
            answer.has(answer.reply.header("x-correlation-id") == Some("trace-7"), "the header")
        }),
        case("S-21", "`correlation_id` of the body goes before the header", |peer| {
            let filled = peer.fill(r#"{@V,"correlation_id":"body-@ID",@R}"#);
            let asked = peer.post(filled.text).with("X-Correlation-ID", "trace-7");
            let answer = peer.answer(&asked)?;
            let wanted = format!("body-{}", filled.id);
            answer.has(answer.reply.header("x-correlation-id") == Some(&wanted), "that of the body")
        }),
        ConformanceCase::new(
            "S-22",
            RequirementLevel::Profile("http"),
            "P15.7",
            "a `traceparent` comes back",
            "traces end where it is dropped",
            move |peer: &mut EngineUnderTest| {
                offered(peer)?;
                let body = peer.fill(GOOD).text;
                let asked = peer.post(body).with("traceparent", trace);
                let answer = peer.answer(&asked)?;
                answer.has(answer.reply.header("traceparent") == Some(trace), "the header")
            },
        ),
        case("S-23", "answers are not to be stored", |peer| {
            let (_, answer) = peer.ask_filled(GOOD)?;
            let control = answer.reply.header("cache-control").unwrap_or_default();
            answer.has(control.contains("no-store"), "`Cache-Control: no-store`")
        }),
    ]
}

/// Tells whether the engine answers nonsense with a status from 400 to 499.
fn offered(peer: &mut EngineUnderTest) -> Checked {
    let Ok((_, answer)) = peer.ask_filled(r#"{@V,"request":7}"#) else {
        return Err(CheckFinding::unoffered("refusals are no messages at all"));
    };
    if (400..500).contains(&answer.reply.status) {
        return Ok(());
    }
    let status = answer.reply.status;
    Err(CheckFinding::unoffered(format!(
        "refusals have the status {status}; the body alone says it"
    )))
}

fn expect(peer: &mut EngineUnderTest, template: &str, status: u16) -> Checked {
    let (_, answer) = peer.ask_filled(template)?;
    answer.has(answer.reply.status == status, &format!("status {status}"))
}
