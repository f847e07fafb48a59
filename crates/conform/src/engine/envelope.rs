//! What holds a message together: the envelope and its ids (draft, section 5; P15.1).
//!
//! long: most of it is tables.

use super::EngineUnderTest;
use super::rows::{self, GOOD, RequirementRow, RowExpectation};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// Requests that run at the same time.
const AT_ONCE: usize = 8;

const fn must(
    id: &'static str,
    title: &'static str,
    body: &'static str,
    expect: RowExpectation,
) -> RequirementRow {
    RequirementRow { id, level: RequirementLevel::Must, section: "5.1", title, body, expect }
}

const BROKEN: [RequirementRow; 11] = [
    must("E-20", "a message without `request` is refused", "{@V}", RowExpectation::Refused),
    must("E-21", "`request` as null is refused", r#"{@V,"request":null}"#, RowExpectation::Refused),
    must(
        "E-22",
        "`request` as a string is refused",
        r#"{@V,"request":"help"}"#,
        RowExpectation::Refused,
    ),
    must(
        "E-23",
        "`request` as a list is refused",
        r#"{@V,"request":[{}]}"#,
        RowExpectation::Refused,
    ),
    must(
        "E-24",
        "`request` as a number is refused",
        r#"{@V,"request":1}"#,
        RowExpectation::Refused,
    ),
    must(
        "E-25",
        "`request` as a boolean is refused",
        r#"{@V,"request":true}"#,
        RowExpectation::Refused,
    ),
    must(
        "E-26",
        "a request that asks for nothing is answered",
        r#"{@V,"request":{}}"#,
        RowExpectation::Answered,
    ),
    must("E-27", "a list is no message", "[{@V,@R}]", RowExpectation::Refused),
    must("E-28", "a string is no message", r#""help""#, RowExpectation::Refused),
    must("E-29", "null is no message", "null", RowExpectation::Refused),
    must("E-30", "an empty object is no message", "{}", RowExpectation::Refused),
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = answers();
    all.extend(ids());
    all.extend(rows::cases("a message that is half understood is carried out half", &BROKEN));
    all.push(ConformanceCase::new(
        "E-31",
        RequirementLevel::Should,
        "13",
        "a request that asks for nothing is `invalid_request` at `context.user_intent`",
        "the author of a shell learns what is missing from the answer alone",
        |peer: &mut EngineUnderTest| {
            let (_, answer) = peer.ask_filled(r#"{@V,"request":{"context":{}}}"#)?;
            answer.is_refused_as(&["invalid_request"])?;
            let field = answer.at("/response/error/details/field");
            answer
                .has(field == "context.user_intent", "`details.field` to be `context.user_intent`")
        },
    ));
    all
}

fn answers() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        ConformanceCase::new(
            "E-01",
            RequirementLevel::Must,
            "5.2",
            "a request is answered with one JSON message",
            "a shell reads the envelope first, whatever it holds",
            |peer: &mut EngineUnderTest| peer.ask_filled(GOOD).map(drop),
        ),
        ConformanceCase::new(
            "E-02",
            RequirementLevel::Must,
            "5.2",
            "a plain request is served (the intent is `--intent`)",
            "everything else is built on this one",
            |peer: &mut EngineUnderTest| peer.ask_filled(GOOD)?.1.is_served(),
        ),
        ConformanceCase::new(
            "E-03",
            RequirementLevel::Must,
            "1",
            "another request is served after that",
            "an engine that answers once is a demonstration",
            |peer: &mut EngineUnderTest| {
                peer.ask_filled(GOOD)?;
                peer.is_alive()
            },
        ),
    ]
}

const DEEP: &str = r#"{@V,"correlation_id":"c-@ID","request":{"context":{"attachments":7}}}"#;

const WHY: &str = "a shell with two requests under way cannot tell whose answer this is";

fn id(
    id: &'static str,
    level: RequirementLevel,
    title: &'static str,
    check: impl Fn(&mut EngineUnderTest) -> Checked + 'static,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(id, level, "5.2", title, WHY, check)
}

fn ids() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = echoed();
    all.extend(strange());
    all.push(id(
        "E-18",
        RequirementLevel::Must,
        "requests at the same time get their own ids",
        at_once,
    ));
    all
}

fn echoed() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        id("E-04", RequirementLevel::Must, "`request_id` comes back with a success", |peer| {
            let (filled, answer) = peer.ask_filled(GOOD)?;
            answer.echoes("request_id", &filled.id)
        }),
        id("E-05", RequirementLevel::Must, "`request_id` comes back with an error", |peer| {
            let (filled, answer) = peer.ask_filled(DEEP)?;
            answer.echoes("request_id", &filled.id)
        }),
        id("E-06", RequirementLevel::Must, "`correlation_id` comes back with a success", |peer| {
            let (filled, answer) = peer.ask_filled(r#"{@V,"correlation_id":"c-@ID",@R}"#)?;
            answer.echoes("correlation_id", &format!("c-{}", filled.id))
        }),
        id("E-07", RequirementLevel::Must, "`correlation_id` comes back with an error", |peer| {
            let (filled, answer) = peer.ask_filled(DEEP)?;
            answer.echoes("correlation_id", &format!("c-{}", filled.id))
        }),
        id("E-08", RequirementLevel::Must, "no `request_id` in, none out", |peer| {
            let (_, answer) = peer.ask_filled(r#"{"protocol_version":"1.0.0",@R}"#)?;
            answer.lacks("request_id")
        }),
        id("E-09", RequirementLevel::Must, "no `request_id` in, none out, with an error", |peer| {
            let (_, answer) = peer.ask_filled(r#"{"protocol_version":"1.0.0","request":7}"#)?;
            answer.lacks("request_id")
        }),
        id("E-10", RequirementLevel::Must, "no `correlation_id` in, none out", |peer| {
            peer.ask_filled(GOOD)?.1.lacks("correlation_id")
        }),
        id(
            "E-11",
            RequirementLevel::Must,
            "ids come back letter by letter, whatever they hold",
            |peer| {
                let template = r#"{"protocol_version":"1.0.0","request_id":"@ID \"é😀\u0000\u202e\\/","correlation_id":"ש @ID\t",@R}"#;
                let (filled, answer) = peer.ask_filled(template)?;
                let wanted = format!("{} \"é😀\0\u{202e}\\/", filled.id);
                answer.echoes("request_id", &wanted)?;
                answer.echoes("correlation_id", &format!("ש {}\t", filled.id))
            },
        ),
    ]
}

fn strange() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        id("E-12", RequirementLevel::Must, "a blank is an id", |peer| {
            let (_, answer) =
                peer.ask_filled(r#"{"protocol_version":"1.0.0","correlation_id":" ",@R}"#)?;
            answer.echoes("correlation_id", " ")
        }),
        id("E-13", RequirementLevel::Must, "an id of 200 letters comes back whole", |peer| {
            let long = format!("{}-{}", peer.name(), "x".repeat(170));
            let body =
                GOOD.replace("@V", &format!(r#""protocol_version":"1.0.0","request_id":"{long}""#));
            peer.ask_filled(&body)?.1.echoes("request_id", &long)
        }),
        id("E-14", RequirementLevel::Must, "a number as `request_id` never comes back", |peer| {
            let (_, answer) =
                peer.ask_filled(r#"{"protocol_version":"1.0.0","request_id":7,@R}"#)?;
            answer.lacks("request_id")
        }),
        id("E-15", RequirementLevel::Must, "null as `request_id` never comes back", |peer| {
            let (_, answer) =
                peer.ask_filled(r#"{"protocol_version":"1.0.0","request_id":null,@R}"#)?;
            answer.lacks("request_id")
        }),
        id("E-16", RequirementLevel::Must, "ids come back when the version is refused", |peer| {
            let template =
                r#"{"protocol_version":"2.0.0","request_id":"@ID","correlation_id":"c-@ID",@R}"#;
            let (filled, answer) = peer.ask_filled(template)?;
            answer.echoes("request_id", &filled.id)?;
            answer.echoes("correlation_id", &format!("c-{}", filled.id))
        }),
        ConformanceCase::new(
            "E-17",
            RequirementLevel::Should,
            "P15.1",
            "ids come back when a value is spoiled behind them",
            WHY,
            |peer: &mut EngineUnderTest| {
                let (filled, answer) = peer.ask_filled(r#"{@V,"x":"\ud800",@R}"#)?;
                answer.echoes("request_id", &filled.id)
            },
        ),
    ]
}

fn at_once(peer: &mut EngineUnderTest) -> Checked {
    let filled: Vec<_> = (0..AT_ONCE).map(|_| peer.fill(GOOD)).collect();
    let asked: Vec<_> = filled.iter().map(|it| peer.post(it.text.as_str())).collect();
    for (filled, reply) in filled.iter().zip(peer.together(&asked)) {
        let answer = peer.judge(reply?)?;
        answer.echoes("request_id", &filled.id)?;
    }
    Ok(())
}

impl EngineUnderTest {
    /// Sends requests at the same time, each on a connection of its own.
    pub(super) fn together(
        &mut self,
        asked: &[super::AskedRequest],
    ) -> Vec<Result<super::http::HttpReply, CheckFinding>> {
        let way = self.way().clone();
        self.note(&format!("{} requests at the same time", asked.len()));
        if let Some(first) = asked.first() {
            self.note(&first.shown());
        }
        let replies = std::thread::scope(|scope| {
            let running: Vec<_> = asked
                .iter()
                .map(|asked| {
                    let way = &way;
                    scope.spawn(move || {
                        let mut conn = super::http::HttpClient::open(way)?;
                        conn.send(&asked.bytes(&way.url));
                        conn.reply(super::http::BodyPresence::Any)
                    })
                })
                .collect();
            let ended = running.into_iter().map(|it| {
                it.join().unwrap_or_else(|_| Err(CheckFinding::fault("a thread of the kit ended")))
            });
            ended.collect::<Vec<_>>()
        });
        for reply in replies.iter().flatten() {
            self.note(&reply.text());
        }
        replies
    }
}
