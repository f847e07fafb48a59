//! What a Shell sends (sections 3, 5 to 9): cases `Q`.
//!
//! long: each list of cases is one table, a requirement after the other.

use std::net::TcpListener;

use bridle_wire::openharness::{Json, ProtocolVersion};

use super::ShellUnderTest;
use super::scene::{SESSION, at, expect, text_at};
use super::stage::StageReply;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = envelope();
    all.extend(context());
    all.extend(secrets());
    all
}

/// Checks the first request of a shell.
fn first(peer: &mut ShellUnderTest, check: impl FnOnce(&Json) -> Checked) -> Checked {
    let mut scene = peer.scene(Vec::new())?;
    scene.asks("hello")?;
    check(&scene.request(0)?)
}

fn envelope() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "Q-01",
            RequirementLevel::Must,
            "5.1",
            "a request is one JSON object with an object `request`",
            "nothing else can be read by every Engine",
            |peer: &mut ShellUnderTest| {
                first(peer, |json| {
                    let is_so = at(json, "request").is_some_and(|it| it.as_object().is_some());
                    expect(is_so, || "expected an object `request`".to_owned())
                })
            },
        ),
        ConformanceCase::new(
            "Q-02",
            RequirementLevel::Must,
            "3",
            "`protocol_version` is a string of the form `1.N.N`",
            "an Engine looks at it before anything else",
            |peer: &mut ShellUnderTest| {
                first(peer, |json| {
                    let version =
                        text_at(json, "protocol_version").and_then(ProtocolVersion::parse);
                    expect(version.is_some_and(|version| version.major == 1), || {
                        "expected a `protocol_version` such as `1.0.0`".to_owned()
                    })
                })
            },
        ),
        ConformanceCase::new(
            "Q-03",
            RequirementLevel::Should,
            "5.1",
            "a request has a `request_id`, a string that is not empty",
            "without it a repeat is carried out twice",
            |peer: &mut ShellUnderTest| {
                first(peer, |json| {
                    let is_so = text_at(json, "request_id").is_some_and(|id| !id.is_empty());
                    expect(is_so, || "expected a `request_id`".to_owned())
                })
            },
        ),
        ConformanceCase::new(
            "Q-04",
            RequirementLevel::Should,
            "5.1",
            "another request has another `request_id`",
            "the Engine would answer the old question",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(Vec::new())?;
                scene.asks("one")?;
                scene.asks("two")?;
                let (one, two) = (scene.request(0)?, scene.request(1)?);
                expect(at(&one, "request_id") != at(&two, "request_id"), || {
                    "expected two ids, got the same twice".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "Q-05",
            RequirementLevel::Must,
            "5.3",
            "`capabilities`, where it is there, is an object",
            "anything else is no message of this protocol",
            |peer: &mut ShellUnderTest| {
                first(peer, |json| {
                    let is_so = at(json, "capabilities").is_none_or(|it| it.as_object().is_some());
                    expect(is_so, || "expected an object for `capabilities`".to_owned())
                })
            },
        ),
        ConformanceCase::new(
            "Q-06",
            RequirementLevel::Must,
            "16",
            "no known field is null",
            "the schema allows none, and strict Engines refuse the whole request",
            |peer: &mut ShellUnderTest| {
                first(peer, |json| {
                    let known = ["request_id", "correlation_id", "capabilities"];
                    let context = ["session_id", "conversation_id", "user_intent", "shell"];
                    let more = ["task_hint", "continuation", "environment_state", "attachments"];
                    let inside =
                        context.iter().chain(&more).map(|key| format!("request/context/{key}"));
                    let mut all = known.iter().map(|key| (*key).to_owned()).chain(inside);
                    let null = all.find(|path| at(json, path) == Some(&Json::Null));
                    expect(null.is_none(), || format!("`{}` is null", null.unwrap_or_default()))
                })
            },
        ),
        ConformanceCase::new(
            "Q-07",
            RequirementLevel::Should,
            "HTTP",
            "a request is posted as `application/json`",
            "Engines refuse other types, since a web page may send them",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(Vec::new())?;
                scene.asks("hello")?;
                let seen = scene.seen();
                let kind = seen.first().and_then(|seen| seen.header("content-type"));
                let is_so = kind.is_some_and(|kind| kind.starts_with("application/json"));
                expect(is_so, || format!("expected `application/json`, got {kind:?}"))
            },
        ),
    ]
}

fn context() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "Q-10",
            RequirementLevel::Must,
            "9",
            "`user_intent` is what the user said, letter by letter",
            "an intent that changes on the way is another intent",
            |peer: &mut ShellUnderTest| {
                let said = "say \"hi\"\n\\ to Zoë 日本 \u{1f600} \u{202e}x";
                let mut scene = peer.scene(Vec::new())?;
                scene.asks(said)?;
                let json = scene.request(0)?;
                let got = text_at(&json, "request/context/user_intent");
                expect(got == Some(said), || format!("expected {said:?}, got {got:?}"))
            },
        ),
        ConformanceCase::new(
            "Q-11",
            RequirementLevel::Should,
            "9",
            "`session_id` stays the same within a conversation",
            "the Engine would forget what was said",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(Vec::new())?;
                scene.asks("one")?;
                scene.asks("two")?;
                for number in 0..2 {
                    let json = scene.request(number)?;
                    let got = text_at(&json, "request/context/session_id");
                    expect(got == Some(SESSION), || {
                        format!("expected the session `{SESSION}`, got {got:?}")
                    })?;
                }
                Ok(())
            },
        ),
        ConformanceCase::new(
            "Q-12",
            RequirementLevel::Should,
            "6",
            "`shell.shell_kind` says what kind of program asks",
            "an Engine writes otherwise for a terminal than for a car",
            |peer: &mut ShellUnderTest| {
                first(peer, |json| {
                    let kind = text_at(json, "request/context/shell/shell_kind");
                    expect(kind.is_some_and(|kind| !kind.is_empty()), || {
                        "expected a `shell_kind`".to_owned()
                    })
                })
            },
        ),
        ConformanceCase::new(
            "Q-13",
            RequirementLevel::Should,
            "8",
            "`environment_state` goes with its `privacy_tier`",
            "what nobody has judged ends in a log",
            |peer: &mut ShellUnderTest| {
                first(peer, |json| {
                    let Some(state) = at(json, "request/context/environment_state") else {
                        return Ok(());
                    };
                    let tier = text_at(state, "privacy_tier");
                    let is_so =
                        tier.is_some_and(|it| ["public", "restricted", "secret"].contains(&it));
                    expect(is_so, || "expected a `privacy_tier`".to_owned())
                })
            },
        ),
    ]
}

fn secrets() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "Q-20",
            RequirementLevel::Should,
            "7",
            "the token travels as `Authorization: Bearer`",
            "a gateway can check it without reading messages",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(Vec::new())?;
                scene.asks("hello")?;
                let seen = scene.seen();
                let got = seen.first().and_then(|seen| seen.header("authorization"));
                let is_so = got == Some(&format!("Bearer {}", scene.token));
                expect(is_so, || "expected the token in `Authorization`".to_owned())
            },
        ),
        ConformanceCase::new(
            "Q-21",
            RequirementLevel::Must,
            "7",
            "no message holds the token",
            "bodies are logged and kept",
            |peer: &mut ShellUnderTest| {
                let replies = vec![StageReply::error("forbidden", ",\"retryable\":false")];
                let mut scene = peer.scene(replies)?;
                scene.asks("one")?;
                scene.asks("two")?;
                let token = scene.token.clone();
                let holds = |body: &[u8]| String::from_utf8_lossy(body).contains(&token);
                let leaked = scene.seen().iter().any(|seen| holds(&seen.body));
                expect(!leaked, || "the token is in a request's body".to_owned())
            },
        ),
        ConformanceCase::new(
            "Q-22",
            RequirementLevel::Must,
            "7",
            "nothing that the Shell says holds the token, whatever fails",
            "people paste what they see into tickets",
            |peer: &mut ShellUnderTest| {
                let replies = vec![
                    StageReply::error("unauthenticated", ",\"retryable\":false").status(401),
                    StageReply::message("no json"),
                    StageReply::dropped(),
                ];
                let mut scene = peer.scene(replies)?;
                for text in ["one", "two", "three"] {
                    scene.asks(text)?;
                }
                let leaked = scene.shell.said().contains(&scene.token);
                expect(!leaked, || "the token is in what the Shell said".to_owned())
            },
        ),
        ConformanceCase::new(
            "Q-23",
            RequirementLevel::Must,
            "7",
            "a redirect elsewhere does not get the token",
            "whoever can answer once would have it for good",
            redirected,
        ),
    ]
}

/// Another place that a Shell might be sent to: nothing with its token may come there.
fn redirected(peer: &mut ShellUnderTest) -> Checked {
    let cannot = |error| CheckFinding::fault(format!("the kit cannot listen: {error}"));
    let elsewhere = TcpListener::bind("127.0.0.1:0").map_err(cannot)?;
    elsewhere.set_nonblocking(true).map_err(cannot)?;
    let address = elsewhere.local_addr().map_err(cannot)?;
    let location = format!("location: http://localhost:{}/v1/openharness", address.port());
    let mut scene = peer.scene(vec![StageReply::message("{}").status(307).header(&location)])?;
    let token = scene.token.clone();
    scene.ask("hello")?;
    let caught = std::thread::spawn(move || super::stage::overheard(&elsewhere, &token));
    scene.done()?;
    let leaked = caught.join().unwrap_or(false);
    expect(!leaked, || "the token went where the redirect pointed".to_owned())
}
