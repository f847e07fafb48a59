//! What a client says, and how it gets its answer (sections 5, 10, 12.4 and 12.5): cases `S` and `R`.
//!
//! long: each list of cases is one table, a requirement after the other.

use std::time::Duration;

use super::link::{ClientLink, ClientMessage};
use super::{ClientScene, ClientUnderTest, expect};
use crate::case::{CheckFinding, ConformanceCase, RequirementLevel};

/// Time for which the client is listened to when it must say nothing more.
const QUIET: Duration = Duration::from_millis(400);

pub(super) fn cases() -> Vec<ConformanceCase<ClientUnderTest>> {
    let mut all = saying();
    all.extend(repeating());
    all.extend(requests());
    all
}

/// Has the client say something; what it said.
fn prompted(
    scene: &mut ClientScene,
    link: &mut ClientLink,
    text: &str,
) -> Result<ClientMessage, CheckFinding> {
    scene.ask(text)?;
    let said = link.hear_type("event")?;
    let is_so = said.payload("sensor").is_keyword("user-prompt")
        && said.text_of("text").as_deref() == Some(text);
    expect(is_so, || format!("expected a `:user-prompt` with `{text}`, got {}", said.text))?;
    expect(said.id() != "nil", || "expected an `:id`".to_owned())?;
    Ok(said)
}

fn receipt(said: &ClientMessage, seq: u64) -> String {
    format!(
        "(:type :STATUS :id {} :payload (:status :admitted :session \"kit\" :seq {seq}))",
        said.id()
    )
}

fn answer(said: &ClientMessage, seq: u64, text: &str) -> String {
    format!(
        "(:type :RESPONSE :id {} :meta (:session \"kit\" :seq {} :at 5 :answers {seq}) :payload (:status :success \
         :action :message :text \"{text}\"))",
        said.id(),
        seq + 1
    )
}

fn refusal(said: &ClientMessage, code: &str, retryable: &str) -> String {
    format!(
        "(:type :RESPONSE :id {} :payload (:status :error :code :{code} :message \"no\" :retryable {retryable}))",
        said.id()
    )
}

fn saying() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "S-01",
            RequirementLevel::Must,
            "5",
            "a prompt is an `:EVENT` with an `:id`, and its text letter by letter",
            "what changes on the way is another prompt",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                prompted(&mut scene, &mut link, "say \"hi\" \\ to\nZoë").map(|_| ())
            },
        ),
        ConformanceCase::new(
            "S-02",
            RequirementLevel::Must,
            "12.3",
            "the answer with the id is the answer",
            "it is what the user waits for",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let said = prompted(&mut scene, &mut link, "hello")?;
                link.say(&receipt(&said, 1))?;
                link.say(&answer(&said, 1, "good day"))?;
                scene.hears("answer", "good day")
            },
        ),
        ConformanceCase::new(
            "S-03",
            RequirementLevel::Must,
            "5",
            "two prompts have two ids",
            "the second would be taken for a repeat of the first",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let first = prompted(&mut scene, &mut link, "one")?;
                link.say(&receipt(&first, 1))?;
                link.say(&answer(&first, 1, "1"))?;
                scene.hears("answer", "1")?;
                let second = prompted(&mut scene, &mut link, "two")?;
                expect(first.id() != second.id(), || "expected another id".to_owned())
            },
        ),
        ConformanceCase::new(
            "S-04",
            RequirementLevel::Must,
            "10",
            "an error is told with its code",
            "the user must know that nothing happened",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let said = prompted(&mut scene, &mut link, "hello")?;
                link.say(&refusal(&said, "refused", "nil"))?;
                scene.hears("refused", "refused")
            },
        ),
        ConformanceCase::new(
            "S-05",
            RequirementLevel::Must,
            "12.3",
            "an answer to somebody else is not taken for one's own",
            "several shells are in a session",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let said = prompted(&mut scene, &mut link, "hello")?;
                link.say(&receipt(&said, 2))?;
                link.say("(:type :EVENT :meta (:session \"kit\" :seq 1 :at 5) :payload (:sensor :user-prompt :text \"x\"))")?;
                link.say("(:type :EVENT :meta (:session \"kit\" :seq 3 :at 5 :answers 1) :payload (:status :success :action :message :text \"theirs\"))")?;
                link.say(&format!("(:type :RESPONSE :id {} :meta (:session \"kit\" :seq 4 :at 5 :answers 2) :payload (:status :success :action :message :text \"mine\"))", said.id()))?;
                scene.hears("answer", "mine")
            },
        ),
    ]
}

fn repeating() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "S-10",
            RequirementLevel::Must,
            "12.4",
            "what was said and has no receipt is said again after a cut, with the same id and text",
            "it may have arrived: another id would have it done twice",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let first = prompted(&mut scene, &mut link, "hello")?;
                link.cut();
                let mut link = scene.attach(0)?;
                let again = link.hear_type("event")?;
                expect(again.form == first.form, || {
                    format!("expected {}, got {}", first.text, again.text)
                })
            },
        ),
        ConformanceCase::new(
            "S-11",
            RequirementLevel::Should,
            "12.4",
            "what has a receipt is not said again",
            "it is on disk",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let first = prompted(&mut scene, &mut link, "hello")?;
                link.say(&receipt(&first, 1))?;
                // Something behind the receipt, so that it was surely read.
                link.say("(:type :EVENT :meta (:session \"kit\" :seq 2 :at 5) :payload (:action :message :text \"b\"))")?;
                scene.event(2)?;
                link.cut();
                let mut link = scene.attach(2)?;
                let more = link.drain(QUIET);
                expect(more.is_empty(), || format!("expected nothing, got {}", more[0].text))
            },
        ),
        ConformanceCase::new(
            "S-12",
            RequirementLevel::Must,
            "12.4",
            "an answer that came while the client was away is found behind its cursor, once",
            "it was asked for",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let said = prompted(&mut scene, &mut link, "hello")?;
                link.say(&receipt(&said, 1))?;
                link.cut();
                let mut link = scene.attach(2)?;
                link.say(&answer(&said, 1, "good day"))?;
                link.say(&answer(&said, 1, "good day"))?;
                link.say("(:type :EVENT :meta (:session \"kit\" :seq 3 :at 5) :payload (:action :message :text \"c\"))")?;
                scene.hears("answer", "good day")?;
                scene.event(3)?;
                let count = scene.shell.count("answer", "good day");
                expect(count == 1, || format!("expected one answer, got {count}"))
            },
        ),
        ConformanceCase::new(
            "S-13",
            RequirementLevel::Should,
            "10",
            "what is refused for now is said again, with the same id",
            "the daemon was busy, the user still wants it",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let first = prompted(&mut scene, &mut link, "hello")?;
                link.say(&refusal(&first, "overloaded", "t"))?;
                let again = link.hear_type("event")?;
                expect(again.form == first.form, || {
                    format!("expected {}, got {}", first.text, again.text)
                })?;
                link.say(&receipt(&first, 1))?;
                link.say(&answer(&first, 1, "at last"))?;
                scene.hears("answer", "at last")
            },
        ),
        ConformanceCase::new(
            "S-14",
            RequirementLevel::Must,
            "12.4",
            "one's own message that comes back behind a cursor is not told as an event of others",
            "the user would read it twice",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(0)?;
                let said = prompted(&mut scene, &mut link, "hello")?;
                link.cut();
                let mut link = scene.attach(2)?;
                link.say(&format!("(:type :EVENT :meta (:session \"kit\" :seq 1 :at 5 :id {} :own t) :payload (:sensor :user-prompt :text \"hello\"))", said.id()))?;
                link.say(&answer(&said, 1, "good day"))?;
                scene.hears("answer", "good day")?;
                let told = scene.shell.count("event", "1");
                expect(told == 0, || "expected no `event \"1\"`".to_owned())
            },
        ),
    ]
}

fn requests() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![ConformanceCase::new(
        "R-01",
        RequirementLevel::Should,
        "12.5",
        "what a shell cannot do it answers with a no",
        "the engine would wait for the deadline",
        |peer: &mut ClientUnderTest| {
            let mut scene = peer.scene(0)?;
            let mut link = scene.attach(1)?;
            link.say("(:type :REQUEST :id \"kit-5\" :target :bell :meta (:session \"kit\" :seq 1 :at 5 :deadline 1994744600000) :payload (:action :ring))")?;
            let said = link.hear_type("response")?;
            let status = said.payload("status");
            let is_no = status.is_keyword("denied") || status.is_keyword("error");
            expect(said.id() == "\"kit-5\"" && is_no, || format!("got {}", said.text))
        },
    )]
}
