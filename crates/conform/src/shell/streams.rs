//! Answers that come as a stream (profile `dev.bridle.sse.1`, `docs/protocol.md`, 15.5): cases `S`.
//!
//! long: each list of cases is one table, a requirement after the other.

use bridle_wire::openharness::Json;

use super::ShellUnderTest;
use super::scene::{ShellScene, act, at, expect};
use super::stage::{SeenRequest, StageReply};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// Answers may be streamed.
const STREAMS: RequirementLevel = RequirementLevel::Profile("streams");

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = whole();
    all.extend(broken());
    all
}

/// Whether the Shell asked for a stream; `Unoffered` otherwise, since none was sent then.
fn offers_streams(scene: &mut ShellScene) -> Checked {
    let request = scene.request(0)?;
    let profiles =
        at(&request, "capabilities/openharness.streaming/profiles").and_then(Json::as_array);
    if profiles.is_some_and(|it| it.iter().any(|it| it.as_str() == Some("dev.bridle.sse.1"))) {
        return Ok(());
    }
    Err(CheckFinding::unoffered("`dev.bridle.sse.1` is not declared"))
}

/// An event with its common part.
fn event(name: &'static str, seq: usize, more: &str) -> (&'static str, String) {
    (name, format!("{{\"stream_id\":\"s\",\"seq\":{seq},\"request_id\":$ID{more}}}"))
}

fn open(seq: usize) -> (&'static str, String) {
    event(
        "open",
        seq,
        ",\"protocol_version\":\"1.0.0\",\"run_id\":\"u\",\"resume\":{\"ttl_ms\":60000}",
    )
}

fn named(directive: &str) -> String {
    directive.replacen(
        "{\"action_type\"",
        "{\"extensions\":{\"dev.bridle\":{\"directive_id\":\"m\",\"result\":\"none\"}},\"action_type\"",
        1,
    )
}

fn done(seq: usize, directive: &str) -> (&'static str, String) {
    event(
        "directive.done",
        seq,
        &format!(",\"directive_id\":\"m\",\"directive\":{}", named(directive)),
    )
}

fn started(seq: usize, action_type: &str) -> (&'static str, String) {
    let directive = named(&format!("{{\"action_type\":\"{action_type}\"}}"));
    event(
        "directive.start",
        seq,
        &format!(",\"index\":0,\"directive_id\":\"m\",\"directive\":{directive}"),
    )
}

fn delta(seq: usize, text: &str) -> (&'static str, String) {
    event(
        "directive.delta",
        seq,
        &format!(",\"directive_id\":\"m\",\"path\":\"/payload/text\",\"append\":\"{text}\""),
    )
}

fn last(seq: usize, response: &str) -> (&'static str, String) {
    event(
        "final",
        seq,
        &format!(
            ",\"message\":{{\"protocol_version\":\"1.0.0\",\"request_id\":$ID,\"response\":{{{response}}}}}"
        ),
    )
}

fn success(items: &str) -> String {
    format!("\"status\":\"success\",\"action_directives\":[{items}]")
}

const HELLO: &str = "{\"action_type\":\"render_message\",\"payload\":{\"text\":\"hello\"}}";

/// Plays streams, one for each request, and hands over what came of them.
fn streamed(
    peer: &mut ShellUnderTest,
    streams: &[Vec<(&'static str, String)>],
    check: impl FnOnce(&mut ShellScene) -> Checked,
) -> Checked {
    // Who does not ask for a stream must not get one.
    let mut asked = peer.scene(Vec::new())?;
    asked.asks("hello")?;
    offers_streams(&mut asked)?;
    drop(asked);
    let mut scene =
        peer.scene(streams.iter().map(|events| StageReply::stream(events)).collect())?;
    scene.asks("hello")?;
    check(&mut scene)
}

fn whole() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "S-01",
            STREAMS,
            "15",
            "the answer in `final` is carried out",
            "it is the whole answer",
            |peer: &mut ShellUnderTest| {
                let events = vec![open(0), last(1, &success(&act("a", "")))];
                streamed(peer, &[events], |scene| scene.once("a"))
            },
        ),
        ConformanceCase::new(
            "S-02",
            STREAMS,
            "15",
            "a message that came in pieces is shown once",
            "it is one message",
            |peer: &mut ShellUnderTest| {
                let events = vec![
                    open(0),
                    started(1, "render_message"),
                    delta(2, "hel"),
                    delta(3, "lo"),
                    done(4, HELLO),
                    last(5, &success(&named(HELLO))),
                ];
                streamed(peer, &[events], |scene| scene.shows("hello"))
            },
        ),
        ConformanceCase::new(
            "S-03",
            STREAMS,
            "15",
            "what acts waits for `final`, and an error there takes it back",
            "half an answer must have no effects",
            |peer: &mut ShellUnderTest| {
                let error = "\"status\":\"error\",\"error\":{\"code\":\"odd\",\"retryable\":false}";
                let events = vec![
                    open(0),
                    started(1, "com.example.lamp"),
                    done(2, &act("a", "")),
                    last(3, error),
                ];
                streamed(peer, &[events], |scene| {
                    scene.never("a")?;
                    scene.fails(Some("odd"))
                })
            },
        ),
        ConformanceCase::new(
            "S-04",
            STREAMS,
            "15",
            "events of other names are ignored",
            "later versions add some",
            |peer: &mut ShellUnderTest| {
                let events = vec![
                    open(0),
                    event("com.example.mood", 1, ",\"mood\":7"),
                    event("usage", 2, ",\"input_tokens\":1"),
                    last(3, &success(&act("a", ""))),
                ];
                streamed(peer, &[events], |scene| scene.once("a"))
            },
        ),
        ConformanceCase::new(
            "S-05",
            STREAMS,
            "15",
            "a Shell that asks for a stream takes one message as well",
            "not every Engine streams",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![StageReply::directives(HELLO)])?;
                scene.asks("hello")?;
                offers_streams(&mut scene)?;
                scene.shows("hello")
            },
        ),
    ]
}

fn broken() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "S-10",
            STREAMS,
            "15",
            "a stream that breaks is taken up again after its last event",
            "the run goes on without the Shell",
            |peer: &mut ShellUnderTest| {
                let first = vec![open(0), event("progress", 1, ",\"label\":\"thinking\"")];
                // Numbers go on, and each connection begins with `open`.
                let second = vec![open(2), last(3, &success(&act("a", "")))];
                streamed(peer, &[first, second], |scene| {
                    let seen = scene.seen();
                    let again = seen.get(1).and_then(|seen| seen.header("last-event-id"));
                    expect(again == Some("1"), || {
                        format!("expected `Last-Event-ID: 1`, got {again:?}")
                    })?;
                    let same =
                        seen.first().map(SeenRequest::json) == seen.get(1).map(SeenRequest::json);
                    expect(same, || "expected the same request again".to_owned())?;
                    scene.once("a")
                })
            },
        ),
        ConformanceCase::new(
            "S-11",
            STREAMS,
            "15",
            "a stream with a gap is not trusted: nothing of it acts",
            "what is missing may have been the important part",
            |peer: &mut ShellUnderTest| {
                let gap = vec![open(0), last(5, &success(&act("a", "")))];
                let error = "\"status\":\"error\",\"error\":{\"code\":\"stream_expired\",\"retryable\":false}";
                let second = vec![open(1), last(2, error)];
                streamed(peer, &[gap, second], |scene| scene.never("a"))
            },
        ),
        ConformanceCase::new(
            "S-12",
            STREAMS,
            "15",
            "a stream that ends without `final` has no effects",
            "half an answer must have no effects",
            |peer: &mut ShellUnderTest| {
                let part = || vec![open(0), started(1, "com.example.lamp"), done(2, &act("a", ""))];
                let error = StageReply::error("stream_expired", ",\"retryable\":false").status(410);
                let mut scene = peer.scene(vec![StageReply::stream(&part()), error])?;
                scene.asks("hello")?;
                offers_streams(&mut scene)?;
                scene.never("a")
            },
        ),
    ]
}
