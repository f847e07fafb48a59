//! Questions of the guard (section 12.9): cases `P`.
//!
//! long: each list of cases is one table, a requirement after the other.

use std::time::Duration;

use super::link::{ClientLink, ClientMessage};
use super::{ClientScene, ClientUnderTest, event, expect};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// A question.
fn question(seq: u64) -> String {
    format!(
        "(:type :REQUEST :id \"kit-5\" :target :approval :meta (:session \"kit\" :seq {seq} :at 5 :deadline \
         1994744600000) :payload (:action :approve :approval \"kit-5\" :question \"may the red lamp be lit?\" \
         :risk :dangerous :target :emacs :hash \"9f2c\" :wanted (:action :light :code \"(lamp)\") :options \
         (:allow :deny)))"
    )
}

/// Has the user answer; what the client says then.
fn decided(
    scene: &mut ClientScene,
    link: &mut ClientLink,
    word: &str,
) -> Result<ClientMessage, CheckFinding> {
    link.say(&question(1))?;
    scene.shell.until("question")?;
    scene.shell.say(word)?;
    link.hear_type("response")
}

fn is_verdict(said: &ClientMessage, verdict: &str) -> Checked {
    let is_so = said.id() == "\"kit-5\"" && said.payload("verdict").is_keyword(verdict);
    expect(is_so, || format!("expected `:verdict :{verdict}` under the id, got {}", said.text))
}

pub(super) fn cases() -> Vec<ConformanceCase<ClientUnderTest>> {
    let mut all = verdicts();
    all.extend(once());
    all
}

fn verdicts() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "P-01",
            RequirementLevel::Must,
            "12.9",
            "a yes of the user is `:verdict :allow`, under the id of the question",
            "the engine waits for it",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                is_verdict(&decided(&mut scene, &mut link, "allow")?, "allow")
            },
        ),
        ConformanceCase::new(
            "P-02",
            RequirementLevel::Must,
            "12.9",
            "a no is `:verdict :deny`",
            "a no is a no",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                is_verdict(&decided(&mut scene, &mut link, "deny")?, "deny")
            },
        ),
        ConformanceCase::new(
            "P-03",
            RequirementLevel::Should,
            "12.9",
            "a verdict repeats the hash of what was shown",
            "a yes to something else counts for nothing",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                let said = decided(&mut scene, &mut link, "allow")?;
                expect(said.text_of("hash").as_deref() == Some("9f2c"), || {
                    format!("got {}", said.text)
                })
            },
        ),
        ConformanceCase::new(
            "P-04",
            RequirementLevel::Should,
            "12.9",
            "the user sees the question and what is wanted",
            "a yes to something unseen is none",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                link.say(&question(1))?;
                let shown = scene.shell.until("question")?.text.unwrap_or_default();
                expect(shown.contains("red lamp") && shown.contains("(lamp)"), || {
                    format!("got `{shown}`")
                })
            },
        ),
    ]
}

fn once() -> Vec<ConformanceCase<ClientUnderTest>> {
    vec![
        ConformanceCase::new(
            "P-10",
            RequirementLevel::Must,
            "12.9",
            "without an answer of the user nothing is said",
            "silence is no yes",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                link.say(&question(1))?;
                scene.shell.until("question")?;
                scene.shell.close();
                let said = link.drain(Duration::from_secs(5));
                let allowed = said.iter().any(|said| said.payload("verdict").is_keyword("allow"));
                expect(!allowed, || "expected no `:allow`".to_owned())
            },
        ),
        ConformanceCase::new(
            "P-11",
            RequirementLevel::Must,
            "12.9",
            "a question that comes again after its answer gets the same answer, and the user is not asked again",
            "the answer may have been lost, the user has decided",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                is_verdict(&decided(&mut scene, &mut link, "deny")?, "deny")?;
                link.cut();
                let mut link = scene.attach(1)?;
                link.say(&question(1))?;
                is_verdict(&link.hear_type("response")?, "deny")?;
                link.say(&event(2, "b"))?;
                scene.event(2)?;
                let asked = scene.shell.heard.iter().filter(|line| line.word == "question").count();
                expect(asked == 1, || format!("the user was asked {asked} times"))
            },
        ),
        ConformanceCase::new(
            "P-12",
            RequirementLevel::Must,
            "12.9",
            "a question is answered once on a connection",
            "the second answer is an error for people to wonder about",
            |peer: &mut ClientUnderTest| {
                let mut scene = peer.scene(0)?;
                let mut link = scene.attach(1)?;
                is_verdict(&decided(&mut scene, &mut link, "allow")?, "allow")?;
                link.say("(:type :EVENT :meta (:session \"kit\" :seq 2 :at 5) :payload (:action :answered :approval \"kit-5\" :answer :allow :by \"uid:1000\"))")?;
                let more = link.drain(Duration::from_millis(400));
                expect(more.is_empty(), || format!("expected nothing more, got {}", more[0].text))
            },
        ),
    ]
}
