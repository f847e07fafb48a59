//! Pages in browsers, and names that point here (P15.7): for engines on the kit's own machine, which
//! any page that somebody opens can reach.

use super::EngineUnderTest;
use super::answer::EnvelopeAnswer;
use super::rows::GOOD;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "a page that somebody opens could talk to the engine of their machine";

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let local = |id, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(
            id,
            RequirementLevel::Should,
            "P15.7",
            title,
            WHY,
            move |peer: &mut EngineUnderTest| {
                if !peer.way().url.is_local() {
                    return Err(CheckFinding::unoffered("the engine is on another machine"));
                }
                check(peer)
            },
        )
    };
    let mut all = vec![
        local("O-01", "a page of another origin is refused", |peer| {
            not_served(peer, "Origin", "https://evil.example")
        }),
        local("O-02", "a page without an origin is refused", |peer| {
            not_served(peer, "Origin", "null")
        }),
        local("O-03", "another host name is refused", |peer| {
            not_served(peer, "Host", "evil.example")
        }),
        local("O-04", "no other page is let in by a preflight", |peer| {
            let reply = preflight(peer, "https://evil.example")?;
            let allowed = reply.header("access-control-allow-origin");
            let is_shut = allowed.is_none_or(|it| it != "*" && it != "https://evil.example");
            let wrong =
                || CheckFinding::fault("expected no `Access-Control-Allow-Origin` for this page");
            if is_shut { Ok(()) } else { Err(wrong()) }
        }),
    ];
    all.extend(allowed());
    all
}

fn allowed() -> Vec<ConformanceCase<EngineUnderTest>> {
    let why = "a page that may ask cannot, or one that may not can";
    let case = |id, title, check: fn(&mut EngineUnderTest, &str) -> Checked| {
        ConformanceCase::new(
            id,
            RequirementLevel::Profile("cors"),
            "P15.7",
            title,
            why,
            move |peer: &mut EngineUnderTest| {
                let origin = peer.setup().origin.clone();
                let none =
                    || CheckFinding::unoffered("no origin that may ask was named: --origin ORIGIN");
                check(peer, &origin.ok_or_else(none)?)
            },
        )
    };
    vec![
        case("O-10", "a page that may ask is let in by a preflight", |peer, origin| {
            let reply = preflight(peer, origin)?;
            let is_named = reply.header("access-control-allow-origin") == Some(origin);
            let methods = reply.header("access-control-allow-methods").unwrap_or_default();
            let headers = reply.header("access-control-allow-headers").unwrap_or_default();
            let headers = headers.to_ascii_lowercase();
            let fits = is_named && methods.contains("POST") && headers.contains("content-type");
            let wrong = || {
                CheckFinding::fault("expected its origin, `POST` and `content-type` to be allowed")
            };
            if fits && reply.status < 300 { Ok(()) } else { Err(wrong()) }
        }),
        case("O-11", "a page that may ask can read the answer", |peer, origin| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Origin", origin);
            let answer = peer.answer(&asked)?;
            answer.is_served()?;
            let named = answer.reply.header("access-control-allow-origin");
            answer.has(named == Some(origin), "`Access-Control-Allow-Origin` with its origin")
        }),
        case("O-12", "a page that may ask can read a refusal", |peer, origin| {
            let body = peer.fill(r#"{@V,"request":7}"#).text;
            let asked = peer.post(body).with("Origin", origin);
            let answer = peer.answer(&asked)?;
            let named = answer.reply.header("access-control-allow-origin");
            answer.has(named == Some(origin), "`Access-Control-Allow-Origin` with its origin")
        }),
        case("O-13", "answers differ by origin, and say so", |peer, origin| {
            let body = peer.fill(GOOD).text;
            let asked = peer.post(body).with("Origin", origin);
            let answer = peer.answer(&asked)?;
            let vary = answer.reply.header("vary").unwrap_or_default().to_ascii_lowercase();
            answer.has(vary.contains("origin"), "`Vary: Origin`")
        }),
    ]
}

fn preflight(
    peer: &mut EngineUnderTest,
    origin: &str,
) -> Result<super::http::HttpReply, CheckFinding> {
    let mut asked = super::AskedRequest::new("OPTIONS", &peer.way().url.path);
    asked.set("Origin", origin);
    asked.set("Access-Control-Request-Method", "POST");
    asked.set("Access-Control-Request-Headers", "content-type,authorization");
    peer.exchange(&asked)
}

fn not_served(peer: &mut EngineUnderTest, header: &str, value: &str) -> Checked {
    let body = peer.fill(GOOD).text;
    let asked = peer.post(body).with(header, value);
    let reply = peer.exchange(&asked)?;
    if EnvelopeAnswer::read(reply).is_ok_and(|answer| answer.is_success()) {
        return Err(CheckFinding::fault(format!("a request with `{header}: {value}` was served")));
    }
    Ok(())
}
