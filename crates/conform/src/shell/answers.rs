//! What a Shell makes of answers, good and bad (sections 3, 4, 5, 13, 14): cases `A`.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::ShellUnderTest;
use super::scene::{ShellScene, act, expect, message};
use super::stage::StageReply;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = good();
    all.extend(bad());
    all.extend(hostile());
    all
}

/// Asks, and hands over what came of the answer.
fn answered(
    peer: &mut ShellUnderTest,
    reply: StageReply,
    check: impl FnOnce(&mut ShellScene) -> Checked,
) -> Checked {
    let mut scene = peer.scene(vec![reply])?;
    scene.asks("hello")?;
    check(&mut scene)
}

fn good() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "A-01",
            RequirementLevel::Must,
            "12",
            "a `render_message` is shown",
            "it is the answer",
            |peer: &mut ShellUnderTest| {
                answered(peer, StageReply::directives(&message("good day")), |scene| {
                    scene.shows("good day")
                })
            },
        ),
        ConformanceCase::new(
            "A-02",
            RequirementLevel::Should,
            "12",
            "a `render_message` with `message` instead of `text` is shown",
            "Engines differ in where they put it",
            |peer: &mut ShellUnderTest| {
                let item =
                    "{\"action_type\":\"render_message\",\"payload\":{\"message\":\"good day\"}}";
                answered(peer, StageReply::directives(item), |scene| scene.shows("good day"))
            },
        ),
        ConformanceCase::new(
            "A-03",
            RequirementLevel::Must,
            "4",
            "unknown fields are ignored at every level",
            "later versions add some",
            |peer: &mut ShellUnderTest| {
                let new = "\"x_new\":[{\"a\":null}],\"y_new\":1e9";
                let item = format!(
                    "{{\"action_type\":\"render_message\",{new},\"extensions\":{{\"com.example\":{{{new}}}}},\
                     \"payload\":{{\"text\":\"good day\",{new}}}}}"
                );
                let response =
                    format!("\"status\":\"success\",{new},\"action_directives\":[{item}]");
                let text = format!(
                    "{{{new},\"protocol_version\":\"1.0.0\",\"request_id\":$ID,\"response\":{{{response}}}}}"
                );
                answered(peer, StageReply::message(text), |scene| scene.shows("good day"))
            },
        ),
        ConformanceCase::new(
            "A-04",
            RequirementLevel::Must,
            "14",
            "a success without directives is one, with an empty list or none",
            "an Engine may have nothing to say",
            |peer: &mut ShellUnderTest| {
                let replies = vec![
                    StageReply::directives(""),
                    StageReply::response("\"status\":\"success\""),
                ];
                let mut scene = peer.scene(replies)?;
                scene.asks("one")?;
                scene.asks("two")?;
                let failed = scene.shell.heard.iter().any(|line| line.word == "failed");
                expect(!failed, || "expected `done` without `failed`".to_owned())
            },
        ),
        ConformanceCase::new(
            "A-05",
            RequirementLevel::Should,
            "3",
            "an answer of a later minor version is taken",
            "minor versions only add",
            |peer: &mut ShellUnderTest| {
                let item = message("good day");
                let text = format!(
                    "{{\"protocol_version\":\"1.9.0\",\"request_id\":$ID,\"response\":\
                     {{\"status\":\"success\",\"action_directives\":[{item}]}}}}"
                );
                answered(peer, StageReply::message(text), |scene| scene.shows("good day"))
            },
        ),
        ConformanceCase::new(
            "A-06",
            RequirementLevel::Should,
            "13",
            "an error is told with its code, whatever the status of HTTP",
            "Engines answer errors with 200, 4xx and 5xx",
            |peer: &mut ShellUnderTest| {
                let error = || StageReply::error("invalid_request", ",\"retryable\":false");
                for status in [200, 400, 500] {
                    answered(peer, error().status(status), |scene| {
                        scene.fails(Some("invalid_request"))
                    })?;
                }
                Ok(())
            },
        ),
        ConformanceCase::new(
            "A-07",
            RequirementLevel::Should,
            "13",
            "success with an `error` beside it is success",
            "the status says how it went",
            |peer: &mut ShellUnderTest| {
                let fields = format!(
                    "\"status\":\"success\",\"error\":{{\"code\":\"odd\"}},\"action_directives\":[{}]",
                    act("a", "")
                );
                answered(peer, StageReply::response(&fields), |scene| scene.once("a"))
            },
        ),
    ]
}

/// Nothing of an answer acts, and the Shell lives.
fn inert(peer: &mut ShellUnderTest, reply: StageReply) -> Checked {
    answered(peer, reply, |scene| {
        scene.never("a")?;
        scene.lives()
    })
}

fn bad() -> Vec<ConformanceCase<ShellUnderTest>> {
    let inert_case = |id, level, section, title, why, reply: fn() -> StageReply| {
        ConformanceCase::new(id, level, section, title, why, move |peer: &mut ShellUnderTest| {
            inert(peer, reply())
        })
    };
    vec![
        inert_case(
            "A-10",
            RequirementLevel::Must,
            "13",
            "with `status` `error` nothing acts",
            "what failed must have no effects",
            || {
                let item = act("a", "");
                let error = "\"error\":{\"code\":\"odd\",\"retryable\":false}";
                StageReply::response(&format!(
                    "\"status\":\"error\",{error},\"action_directives\":[{item}]"
                ))
            },
        ),
        inert_case(
            "A-11",
            RequirementLevel::Should,
            "13",
            "an unknown `status` counts as an error: nothing acts",
            "nobody knows what it means",
            || {
                let item = act("a", "");
                StageReply::response(&format!(
                    "\"status\":\"partial\",\"action_directives\":[{item}]"
                ))
            },
        ),
        inert_case(
            "A-12",
            RequirementLevel::Must,
            "3",
            "of an answer of another major version nothing acts",
            "its fields may mean something else",
            || StageReply::message(versioned("2.0.0")),
        ),
        inert_case(
            "A-13",
            RequirementLevel::Should,
            "3",
            "of an answer without a version nothing acts",
            "it is no message of this protocol",
            || StageReply::message(versioned("").replace("\"protocol_version\":\"\",", "")),
        ),
        inert_case(
            "A-14",
            RequirementLevel::Should,
            "5.2",
            "of an answer to another request nothing acts",
            "a gateway that mixes up answers would act for a stranger",
            || StageReply::message(versioned("1.0.0").replace("$ID", "\"somebody-else\"")),
        ),
        inert_case(
            "A-15",
            RequirementLevel::Should,
            "10",
            "of an answer with a directive of a wrong shape nothing acts",
            "half an answer is another answer",
            || {
                let bad = "{\"action_type\":\"com.example.lamp\",\"payload\":[\"a\"]}";
                StageReply::directives(&format!("{},{bad}", act("a", "")))
            },
        ),
    ]
}

fn versioned(version: &str) -> String {
    format!(
        "{{\"protocol_version\":\"{version}\",\"request_id\":$ID,\"response\":{{\"status\":\"success\",\
         \"action_directives\":[{}]}}}}",
        act("a", "")
    )
}

/// The Shell says that it failed, and lives.
fn survived(peer: &mut ShellUnderTest, reply: StageReply) -> Checked {
    answered(peer, reply, |scene| {
        scene.fails(None)?;
        scene.lives()
    })
}

fn hostile() -> Vec<ConformanceCase<ShellUnderTest>> {
    let hostile = |id, title, why, reply: fn() -> StageReply| {
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            "5.2",
            title,
            why,
            move |peer: &mut ShellUnderTest| survived(peer, reply()),
        )
    };
    vec![
        hostile(
            "A-20",
            "an answer that is no JSON is told as a failure, and the Shell lives",
            "proxies answer with pages",
            || StageReply::message("<html>504 Gateway Time-out</html>").status(504),
        ),
        hostile(
            "A-21",
            "an empty answer is told as a failure, and the Shell lives",
            "Engines that die answer so",
            || StageReply::message(""),
        ),
        hostile(
            "A-22",
            "a connection that is cut is told as a failure, and the Shell lives",
            "networks do that",
            StageReply::dropped,
        ),
        hostile(
            "A-23",
            "an answer that is a list is told as a failure, and the Shell lives",
            "some readers take its elements for fields",
            || StageReply::message("[\"1.0.0\",{\"status\":\"success\"}]"),
        ),
        ConformanceCase::new(
            "A-24",
            RequirementLevel::Must,
            "5.2",
            "an answer nested 100,000 deep does not end the Shell",
            "one answer must not take the program down",
            |peer: &mut ShellUnderTest| {
                let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
                let text = format!(
                    "{{\"protocol_version\":\"1.0.0\",\"request_id\":$ID,\"x_new\":{deep},\
                     \"response\":{{\"status\":\"success\"}}}}"
                );
                answered(peer, StageReply::message(text), ShellScene::lives)
            },
        ),
        ConformanceCase::new(
            "A-25",
            RequirementLevel::Must,
            "5.2",
            "an answer of 8 MiB does not end the Shell",
            "one answer must not take the program down",
            |peer: &mut ShellUnderTest| {
                let reply = StageReply::directives(&message(&"x".repeat(8 << 20)));
                answered(peer, reply, ShellScene::lives)
            },
        ),
    ]
}
