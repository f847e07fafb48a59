//! When a request is sent again, and how (sections 3 and 13): cases `R` and `V`.
//!
//! long: each list of cases is one table, a requirement after the other.

use std::time::Duration;

use super::ShellUnderTest;
use super::scene::{at, expect, message, text_at};
use super::stage::{SeenRequest, StageReply};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// A Shell may try again; one that does keeps to these.
const RETRY: RequirementLevel = RequirementLevel::Profile("retry");

/// Times that one request may be sent: more is an attack on an Engine that has trouble.
const MOST_TRIES: usize = 10;

/// The least pause that gives an Engine in trouble some air.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = once();
    all.extend(again());
    all.extend(versions());
    all
}

fn busy() -> StageReply {
    StageReply::error("engine_overloaded", ",\"retryable\":true").status(503)
}

fn sent_once(peer: &mut ShellUnderTest, reply: StageReply) -> Checked {
    let mut scene = peer.scene(vec![reply])?;
    scene.asks("hello")?;
    let count = scene.seen().len();
    expect(count == 1, || format!("expected one request, got {count}"))
}

fn once() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "R-01",
            RequirementLevel::Should,
            "13",
            "what is not `retryable` is not sent again",
            "it cannot succeed, and may cost",
            |peer: &mut ShellUnderTest| {
                sent_once(peer, StageReply::error("forbidden", ",\"retryable\":false"))
            },
        ),
        ConformanceCase::new(
            "R-02",
            RequirementLevel::Should,
            "13",
            "an error that does not say `retryable` is not sent again",
            "nobody said that it may be",
            |peer: &mut ShellUnderTest| {
                sent_once(peer, StageReply::error("engine_overloaded", "").status(503))
            },
        ),
        ConformanceCase::new(
            "R-03",
            RequirementLevel::Should,
            "13",
            "a Shell does not wait for a day because an Engine says so",
            "the user would wait for a day",
            |peer: &mut ShellUnderTest| sent_once(peer, busy().header("retry-after: 86400")),
        ),
    ]
}

/// Two failures, then an answer.
fn tried_again(
    peer: &mut ShellUnderTest,
    first: StageReply,
) -> Result<Vec<SeenRequest>, CheckFinding> {
    let mut scene = peer.scene(vec![first, busy(), StageReply::directives(&message("at last"))])?;
    scene.asks("hello")?;
    let seen = scene.seen();
    if seen.len() < 2 {
        return Err(CheckFinding::unoffered("the Shell does not try again"));
    }
    scene.shows("at last")?;
    Ok(seen)
}

fn again() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "R-10",
            RETRY,
            "13",
            "a further try has the same `request_id`",
            "the Engine may have done it already",
            |peer: &mut ShellUnderTest| {
                let seen = tried_again(peer, busy())?;
                let ids: Vec<_> = seen
                    .iter()
                    .map(|it| it.json().and_then(|it| at(&it, "request_id").cloned()))
                    .collect();
                expect(ids.windows(2).all(|pair| pair[0] == pair[1]), || {
                    "expected the same id each time".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "R-11",
            RETRY,
            "13",
            "a further try has the same body",
            "the same id with another body is a conflict",
            |peer: &mut ShellUnderTest| {
                let seen = tried_again(peer, busy())?;
                expect(seen.windows(2).all(|pair| pair[0].json() == pair[1].json()), || {
                    "expected the same body each time".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "R-12",
            RETRY,
            "13",
            "a further try comes after a pause, and the next after a longer one",
            "an Engine in trouble needs air",
            |peer: &mut ShellUnderTest| {
                let seen = tried_again(peer, busy())?;
                let [first, second, third, ..] = seen.as_slice() else {
                    return Err(CheckFinding::fault("expected three tries"));
                };
                let (one, two) = (second.at - first.at, third.at - second.at);
                expect(one >= LEAST_PAUSE && two >= one.mul_f64(0.8), || {
                    format!("paused {} ms, then {} ms", one.as_millis(), two.as_millis())
                })
            },
        ),
        ConformanceCase::new(
            "R-13",
            RETRY,
            "HTTP",
            "`Retry-After` is waited for",
            "the Engine knows when it will be better",
            |peer: &mut ShellUnderTest| {
                let seen = tried_again(peer, busy().header("retry-after: 2"))?;
                let pause = seen[1].at - seen[0].at;
                expect(pause >= Duration::from_millis(1_900), || {
                    format!("expected two seconds, got {} ms", pause.as_millis())
                })
            },
        ),
        ConformanceCase::new(
            "R-14",
            RETRY,
            "13",
            "tries end at some time, and the error is told",
            "an Engine that is down would be asked for ever",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![busy(); MOST_TRIES + 2])?;
                scene.asks("hello")?;
                let count = scene.seen().len();
                expect(count <= MOST_TRIES, || format!("sent {count} times"))?;
                scene.fails(Some("engine_overloaded"))
            },
        ),
    ]
}

fn unsupported(versions: &str) -> StageReply {
    StageReply::message(format!(
        "{{\"protocol_version\":\"1.0.0\",\"request_id\":$ID,\"supported_protocol_versions\":[{versions}],\
         \"response\":{{\"status\":\"error\",\"error\":{{\"code\":\"protocol_version_unsupported\",\
         \"retryable\":false}}}}}}"
    ))
}

fn versions() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "V-01",
            RequirementLevel::Must,
            "3",
            "a Shell does not take to a major version that it does not implement",
            "it would say what it does not mean",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![unsupported("\"2.0.0\",\"3.1.0\""); 3])?;
                scene.asks("hello")?;
                scene.fails(Some("protocol_version_unsupported"))?;
                for number in 0..scene.seen().len() {
                    let json = scene.request(number)?;
                    let version = text_at(&json, "protocol_version").unwrap_or_default();
                    expect(version.starts_with("1."), || format!("sent version `{version}`"))?;
                }
                Ok(())
            },
        ),
        ConformanceCase::new(
            "V-02",
            RequirementLevel::Should,
            "3",
            "another version is tried at most once",
            "both would go on for ever",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![unsupported("\"1.0.0\",\"1.1.0\""); 8])?;
                scene.asks("hello")?;
                let count = scene.seen().len();
                expect(count <= 2, || format!("sent {count} times"))
            },
        ),
    ]
}
