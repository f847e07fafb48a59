//! What a Shell reports about directives, and how it goes on (section 9.2, and the profile
//! `dev.bridle.feedback` of `docs/protocol.md`, 15.4): cases `B` and `C`.
//!
//! long: each list of cases is one table, a requirement after the other.

use bridle_wire::openharness::Json;

use super::ShellUnderTest;
use super::scene::{ShellScene, act, acting, at, expect, text_at};
use super::stage::StageReply;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// Results of directives are reported.
const FEEDBACK: RequirementLevel = RequirementLevel::Profile("feedback");

/// Path of the results in a request.
const RESULTS: &str = "request/context/extensions/dev.bridle/directive_results";

/// Requests in a row that a Shell makes by itself.
const MOST_ROUNDS: usize = 40;

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = outcomes();
    all.extend(questions());
    all.extend(reports());
    all.extend(continuations());
    all
}

/// Whether the Shell says that it reports results.
pub(super) fn offers_feedback(scene: &mut ShellScene) -> Checked {
    let request = scene.request(0)?;
    if at(&request, "capabilities/dev.bridle.feedback").is_some_and(Json::is_truthy) {
        return Ok(());
    }
    Err(CheckFinding::unoffered("`dev.bridle.feedback` is not declared"))
}

/// The fields that name a directive and say whether its result is wanted.
fn named(id: &str, result: &str) -> String {
    format!(
        ",\"extensions\":{{\"dev.bridle\":{{\"directive_id\":\"{id}\",\"result\":\"{result}\"}}}}"
    )
}

/// An answer that goes on: a token, and directives whose results are waited for.
fn step(token: &str, items: &str) -> StageReply {
    let continuation = format!("{{\"run_id\":\"u\",\"continuation_token\":\"{token}\"}}");
    StageReply::response(&format!(
        "\"status\":\"success\",\"continuation\":{continuation},\"action_directives\":[{items}]"
    ))
}

/// The result of a directive in a request.
fn result<'j>(request: &'j Json, id: &str) -> Option<&'j Json> {
    let results = at(request, RESULTS)?.as_array()?;
    results.iter().find(|result| text_at(result, "directive_id") == Some(id))
}

/// The outcome that the second request reports for the directive `d`.
fn reported(peer: &mut ShellUnderTest, items: &str, outcome: &str) -> Result<Json, CheckFinding> {
    let mut scene = peer.scene(vec![step("t1", items)])?;
    scene.asks("hello")?;
    offers_feedback(&mut scene)?;
    let request = scene.request(1)?;
    let found = result(&request, "d").cloned();
    let got = found.as_ref().and_then(|it| text_at(it, "outcome"));
    if got != Some(outcome) {
        return Err(CheckFinding::fault(format!("expected the outcome `{outcome}`, got {got:?}")));
    }
    Ok(found.unwrap_or(Json::Null))
}

fn outcomes() -> Vec<ConformanceCase<ShellUnderTest>> {
    let outcome = |id, title, outcome: &'static str, items: fn() -> String| {
        let why = "the Engine goes on with what it hears";
        ConformanceCase::new(id, FEEDBACK, "9.2", title, why, move |peer: &mut ShellUnderTest| {
            reported(peer, &items(), outcome).map(|_| ())
        })
    };
    vec![
        outcome("B-01", "what was done is reported as `completed`, at once", "completed", || {
            act("a", &named("d", "required"))
        }),
        outcome("B-02", "what failed is reported as `failed`", "failed", || {
            acting("com.example.lamp", "a", &named("d", "required"), ",\"fail\":true")
        }),
        outcome("B-03", "what the user refused is reported as `rejected`", "rejected", || {
            act("a", &format!(",\"requires_user_approval\":true{}", named("d", "required")))
        }),
        outcome(
            "B-04",
            "what is not known is reported as `skipped_unknown`",
            "skipped_unknown",
            || acting("com.evil.exec", "a", &named("d", "required"), ""),
        ),
        outcome("B-05", "what was too late is reported as `expired`", "expired", || {
            act("a", &format!(",\"deadline_ms\":-1{}", named("d", "required")))
        }),
        outcome(
            "B-06",
            "what was not begun after a failure is `not_attempted`",
            "not_attempted",
            || {
                let first = acting("com.example.lamp", "a", "", ",\"fail\":true");
                format!("{first},{}", act("b", &named("d", "required")))
            },
        ),
        ConformanceCase::new(
            "B-07",
            FEEDBACK,
            "9.2",
            "a failure is reported with a code and without a trace",
            "texts of exceptions hold paths and values",
            |peer: &mut ShellUnderTest| {
                let item =
                    acting("com.example.lamp", "a", &named("d", "required"), ",\"fail\":true");
                let found = reported(peer, &item, "failed")?;
                let code = text_at(&found, "error/code");
                expect(code.is_some_and(|code| !code.is_empty()), || {
                    "expected `error.code`".to_owned()
                })?;
                let message = text_at(&found, "error/message").unwrap_or_default();
                expect(!message.contains('\n') && !message.contains("line "), || {
                    format!("expected no trace, got `{message}`")
                })
            },
        ),
    ]
}

/// A question of the Engine.
fn approval(options: &str) -> String {
    format!(
        "{{\"action_type\":\"request_approval\"{},\"payload\":{{\"approval_id\":\"q\",\
         \"message\":\"may I open the safe?\",\"options\":[{options}]}}}}",
        named("d", "required")
    )
}

const BOTH: &str = "{\"option_id\":\"go\",\"label\":\"Do it\",\"kind\":\"allow_once\"},\
                    {\"option_id\":\"stop\",\"label\":\"Leave it\",\"kind\":\"reject_once\"}";

/// Result that the shell reports after an answer to a question of the engine.
fn decided(peer: &mut ShellUnderTest, answer: &str) -> Result<Json, CheckFinding> {
    let mut scene = peer.scene(vec![step("t1", &approval(BOTH))])?;
    scene.ask("hello")?;
    let question = scene.question()?;
    scene.shell.say(answer)?;
    scene.done()?;
    offers_feedback(&mut scene)?;
    if !question.text.is_some_and(|text| text.contains("may I open the safe?")) {
        return Err(CheckFinding::fault("expected the Engine's words in the question"));
    }
    let request = scene.request(1)?;
    result(&request, "d").cloned().ok_or_else(|| CheckFinding::fault("expected a result"))
}

fn questions() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "B-10",
            FEEDBACK,
            "9.2",
            "the option that the user chose is reported, as the user's",
            "the Engine acts on it",
            |peer: &mut ShellUnderTest| {
                let found = decided(peer, "choose \"go\"")?;
                let got = (text_at(&found, "decision/by"), text_at(&found, "decision/option_id"));
                expect(got == (Some("user"), Some("go")), || format!("got {got:?}"))?;
                expect(text_at(&found, "outcome") == Some("completed"), || {
                    "expected the outcome `completed`".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "B-11",
            FEEDBACK,
            "9.2",
            "an option that refuses is reported as `rejected`",
            "the Engine must not take it for a yes",
            |peer: &mut ShellUnderTest| {
                let found = decided(peer, "choose \"stop\"")?;
                expect(text_at(&found, "outcome") == Some("rejected"), || {
                    "expected the outcome `rejected`".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "B-12",
            FEEDBACK,
            "9.2",
            "an answer that is no option is no yes",
            "only what was offered can be chosen",
            |peer: &mut ShellUnderTest| {
                let found = decided(peer, "choose \"allow_always\"")?;
                expect(text_at(&found, "outcome") == Some("rejected"), || {
                    "expected the outcome `rejected`".to_owned()
                })
            },
        ),
    ]
}

fn reports() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "B-20",
            FEEDBACK,
            "9.2",
            "results go with the continuation, and without an intent",
            "the Engine knows by it what they are about",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![step("t1", &act("a", &named("d", "required")))])?;
                scene.asks("hello")?;
                offers_feedback(&mut scene)?;
                let request = scene.request(1)?;
                let token = text_at(&request, "request/context/continuation/continuation_token");
                expect(token == Some("t1"), || format!("expected the token `t1`, got {token:?}"))?;
                expect(at(&request, "request/context/user_intent").is_none(), || {
                    "expected no `user_intent`".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "B-21",
            FEEDBACK,
            "9.2",
            "results that are `optional` go with the next request, once",
            "they are worth no request of their own",
            |peer: &mut ShellUnderTest| {
                let mut scene =
                    peer.scene(vec![StageReply::directives(&act("a", &named("d", "optional")))])?;
                for text in ["one", "two", "three"] {
                    scene.asks(text)?;
                }
                offers_feedback(&mut scene)?;
                let count = scene.seen().len();
                expect(count == 3, || format!("expected three requests, got {count}"))?;
                let (second, third) = (scene.request(1)?, scene.request(2)?);
                expect(result(&second, "d").is_some(), || "expected it in the second".to_owned())?;
                expect(result(&third, "d").is_none(), || "expected it once only".to_owned())
            },
        ),
        ConformanceCase::new(
            "B-22",
            FEEDBACK,
            "9.2",
            "results are in the order of the directives",
            "the Engine reads them so",
            |peer: &mut ShellUnderTest| {
                let slow = acting(
                    "com.example.door",
                    "a",
                    &format!(",\"execution\":\"parallel\"{}", named("d", "required")),
                    ",\"ms\":100",
                );
                let quick =
                    act("b", &format!(",\"execution\":\"parallel\"{}", named("e", "required")));
                let mut scene = peer.scene(vec![step("t1", &format!("{slow},{quick}"))])?;
                scene.asks("hello")?;
                offers_feedback(&mut scene)?;
                let request = scene.request(1)?;
                let ids: Vec<_> = at(&request, RESULTS)
                    .and_then(Json::as_array)
                    .unwrap_or_default()
                    .iter()
                    .filter_map(|it| text_at(it, "directive_id"))
                    .collect();
                expect(ids == ["d", "e"], || format!("expected `d`, `e`, got {ids:?}"))
            },
        ),
        ConformanceCase::new(
            "B-23",
            FEEDBACK,
            "9.2",
            "an Engine that asks for results again and again is left at some time",
            "both would go on for ever",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer
                    .scene(vec![step("t", &act("a", &named("d", "required"))); MOST_ROUNDS + 2])?;
                scene.asks("hello")?;
                offers_feedback(&mut scene)?;
                let count = scene.seen().len();
                expect(count <= MOST_ROUNDS, || format!("sent {count} requests"))
            },
        ),
    ]
}

fn continuations() -> Vec<ConformanceCase<ShellUnderTest>> {
    let issued = "\"status\":\"success\",\"continuation\":{\"run_id\":\"u-1\",\"continuation_token\":\"t\u{e9} \\\"1\\\"\",\"x_new\":[1,{}]}";
    vec![
        ConformanceCase::new(
            "C-01",
            RequirementLevel::Should,
            "9.2",
            "a continuation goes back as it came, also what nobody knows in it",
            "it is the Engine's, not the Shell's",
            move |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![StageReply::response(issued)])?;
                scene.asks("one")?;
                scene.asks("two")?;
                let request = scene.request(1)?;
                let got = at(&request, "request/context/continuation").map(Json::to_text);
                let wanted = "{\"run_id\":\"u-1\",\"continuation_token\":\"t\u{e9} \\\"1\\\"\",\"x_new\":[1,{}]}";
                expect(got.as_deref() == Some(wanted), || format!("expected {wanted}, got {got:?}"))
            },
        ),
        ConformanceCase::new(
            "C-02",
            RequirementLevel::Should,
            "9.2",
            "a continuation is used once",
            "the second use would repeat a step",
            move |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![StageReply::response(issued)])?;
                for text in ["one", "two", "three"] {
                    scene.asks(text)?;
                }
                let request = scene.request(2)?;
                expect(at(&request, "request/context/continuation").is_none(), || {
                    "expected none in the third request".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "C-03",
            RequirementLevel::Should,
            "9.2",
            "a continuation that has expired is not used",
            "the Engine would refuse the request with it",
            |peer: &mut ShellUnderTest| {
                let old = "\"status\":\"success\",\"continuation\":{\"continuation_token\":\"t\",\"expires_at\":\"2001-01-01T00:00:00Z\"}";
                let mut scene = peer.scene(vec![StageReply::response(old)])?;
                scene.asks("one")?;
                scene.asks("two")?;
                let request = scene.request(1)?;
                expect(at(&request, "request/context/continuation").is_none(), || {
                    "expected none in the second request".to_owned()
                })
            },
        ),
    ]
}
