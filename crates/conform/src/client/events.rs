//! Numbered events, across connections (sections 5, 8, 12.2, 12.3 and 12.6): cases `E`.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::{ClientUnderTest, event, expect};
use crate::case::{CheckFinding, ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<ConformanceCase<ClientUnderTest>> {
    let mut all = hearing();
    all.extend(coming_back());
    all.extend(parts());
    all
}

fn hearing() -> Vec<ConformanceCase<ClientUnderTest>> {
    let passed_over = |id, section, title, why, messages: &'static [&'static str]| {
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            section,
            title,
            why,
            move |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(2)?;
                link.say(&event(1, "a"))?;
                for message in messages {
                    link.say(message)?;
                }
                link.say(&event(2, "b"))?;
                scene.event(2)?;
                scene.told(&[1, 2])
            },
        )
    };
    vec![
        passed_over(
            "E-01",
            "12.3",
            "events are told once, in their order",
            "a transcript with gaps or repeats is none",
            &[],
        ),
        passed_over(
            "E-02",
            "5",
            "a message of an unknown type is passed over",
            "later versions add some",
            &[
                "(:type :TELEGRAM :payload (:stop t))",
                "(:type :EVENT :payload (:action :teleport))",
            ],
        ),
        passed_over(
            "E-03",
            "12.6",
            "status and deltas are no events",
            "they have no number, and may be missed",
            &[
                "(:type :STATUS :meta (:session \"kit\") :payload (:status :thinking :turn 3))",
                "(:type :EVENT :meta (:session \"kit\") :payload (:action :delta :turn 3 :text \"hel\"))",
            ],
        ),
        passed_over(
            "E-04",
            "12.3",
            "an event that comes twice is told once",
            "what is told twice is done twice",
            &[
                "(:type :EVENT :meta (:session \"kit\" :seq 1 :at 1794744600000) :payload (:action :message :text \"a\"))",
            ],
        ),
        passed_over(
            "E-05",
            "5",
            "a health-response that nobody asked for does no harm",
            "another part of the program may have asked",
            &["(:type :health-response :status :healthy :checked-p t)"],
        ),
        ConformanceCase::new(
            "E-06",
            RequirementLevel::Must,
            "12.3",
            "what was left out or erased has its number",
            "the next cursor would be behind it for ever",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(3)?;
                link.say("(:type :EVENT :meta (:session \"kit\" :seq 1 :at 5) :payload (:action :omitted :bytes 9000000 :max-frame 1024))")?;
                link.say("(:type :EVENT :meta (:session \"kit\" :seq 2 :at 5) :payload (:action :erased))")?;
                link.say(&event(3, "c"))?;
                scene.event(3)?;
                link.cut();
                let link = scene.attach(3)?;
                let cursor = link.hello.payload("cursor");
                expect(cursor.as_i64() == Some(3), || format!("expected `:cursor 3`, got {cursor}"))
            },
        ),
    ]
}

fn coming_back() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "E-10",
            RequirementLevel::Must,
            "12.2",
            "after a cut the client is back behind the last event it heard",
            "what happened meanwhile would be lost",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(2)?;
                link.say(&event(1, "a"))?;
                link.say(&event(2, "b"))?;
                scene.event(2)?;
                link.cut();
                let mut link = scene.attach(4)?;
                let cursor = link.hello.payload("cursor");
                expect(cursor.as_i64() == Some(2), || {
                    format!("expected `:cursor 2`, got {cursor}")
                })?;
                link.say(&event(3, "c"))?;
                link.say(&event(4, "d"))?;
                scene.event(4)?;
                scene.told(&[1, 2, 3, 4])
            },
        ),
        ConformanceCase::new(
            "E-11",
            RequirementLevel::Must,
            "12.3",
            "events that come again after a cut are not told again",
            "what is told twice is done twice",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(2)?;
                link.say(&event(1, "a"))?;
                link.say(&event(2, "b"))?;
                scene.event(2)?;
                link.cut();
                let mut link = scene.attach(3)?;
                for seq in 1..=3 {
                    link.say(&event(seq, "again"))?;
                }
                scene.event(3)?;
                scene.told(&[1, 2, 3])
            },
        ),
        ConformanceCase::new(
            "E-12",
            RequirementLevel::Must,
            "12.2",
            "after many cuts nothing is lost and nothing is told twice",
            "trains go through tunnels",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                for seq in 1..=4 {
                    let mut link = scene.attach(seq)?;
                    let cursor = link.hello.payload("cursor").as_i64();
                    let wanted = i64::try_from(seq - 1).ok();
                    expect(cursor == wanted, || format!("expected {wanted:?}, got {cursor:?}"))?;
                    link.say(&event(seq, "a"))?;
                    scene.event(seq)?;
                    link.cut();
                }
                scene.told(&[1, 2, 3, 4])
            },
        ),
        ConformanceCase::new(
            "E-13",
            RequirementLevel::Must,
            "12.2",
            "a cursor that was given is where hearing begins",
            "an old number is old",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(5)?;
                let mut link = scene.attach(7)?;
                for seq in 4..=7 {
                    link.say(&event(seq, "a"))?;
                }
                scene.event(7)?;
                scene.told(&[6, 7])
            },
        ),
    ]
}

/// A part of a message.
fn part(n: usize, of: usize, data: &str) -> String {
    let data = data.replace('\\', "\\\\").replace('"', "\\\"");
    format!("(:type :EVENT :part (:id \"p\" :n {n} :of {of}) :data \"{data}\")")
}

fn parts() -> Vec<ConformanceCase<ClientUnderTest>> {
    let level = RequirementLevel::Profile("parts");
    let offers = |hello: &super::link::ClientMessage| {
        let capabilities = hello.payload("capabilities");
        let listed =
            capabilities.elements().is_some_and(|all| all.iter().any(|it| it.is_keyword("parts")));
        if listed {
            Ok(())
        } else {
            Err(CheckFinding::unoffered("the hello does not list `:parts`"))
        }
    };
    vec![
        ConformanceCase::new(
            "E-20",
            level,
            "8",
            "a message in parts is one message",
            "large answers come so",
            move |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(2)?;
                offers(&link.hello)?;
                let whole = event(1, "a long \\\"story\\\"");
                let (first, second) = whole.split_at(40);
                link.say(&part(1, 2, first))?;
                link.say(&part(2, 2, second))?;
                link.say(&event(2, "b"))?;
                scene.event(2)?;
                scene.told(&[1, 2])
            },
        ),
        ConformanceCase::new(
            "E-21",
            level,
            "8",
            "parts that are called off are forgotten",
            "the daemon has changed its mind",
            move |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                offers(&link.hello)?;
                link.say(&part(1, 2, "(:type"))?;
                link.say("(:type :EVENT :part (:id \"p\" :abort t))")?;
                link.say(&event(1, "a"))?;
                scene.event(1)?;
                scene.told(&[1])
            },
        ),
    ]
}
