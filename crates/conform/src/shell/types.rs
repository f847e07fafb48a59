//! What a Shell does about types that it does not know, and about text that wants more than to be
//! read (sections 11 and 12): cases `U`.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::ShellUnderTest;
use super::scene::{ShellScene, act, acting, expect, message};
use super::stage::StageReply;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

/// Characters of a fallback text that is shown; more is no message any more.
const MOST_SHOWN: usize = 65_536;

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = unknown();
    all.extend(fallback());
    all.extend(inert_text());
    all
}

/// A directive of a type that nobody has registered never begins; the one behind it does.
fn passed_over(peer: &mut ShellUnderTest, action_type: &str, fields: &str) -> Checked {
    let evil = acting(action_type, "evil", fields, ",\"command\":\"touch /tmp/evil\"");
    let mut scene =
        peer.scene(vec![StageReply::directives(&format!("{evil},{}", act("next", "")))])?;
    scene.ask("hello")?;
    while scene.shell.until_any(&["question", "done"])?.word == "question" {
        scene.shell.say("allow")?;
    }
    scene.never("evil")?;
    scene.once("next")
}

fn unknown() -> Vec<ConformanceCase<ShellUnderTest>> {
    let unknown = |id, title, action_type: &'static str| {
        let why = "an Engine could have anything done by a name that is nearly right";
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            "11",
            title,
            why,
            move |peer: &mut ShellUnderTest| passed_over(peer, action_type, ""),
        )
    };
    vec![
        unknown(
            "U-01",
            "a type that is not known does not act, and the next one does",
            "com.evil.exec",
        ),
        unknown("U-02", "a type in other letter case is not known", "com.example.Lamp"),
        unknown("U-03", "a type with a blank behind it is not known", "com.example.lamp "),
        unknown("U-04", "a type that continues a known one is not known", "com.example.lamp.all"),
        unknown("U-05", "a type that begins a known one is not known", "com.example"),
        unknown("U-06", "a type with look-alike letters is not known", "com.example.l\u{430}mp"),
        unknown("U-07", "a type with a version behind it is not known", "com.example.lamp@2"),
        ConformanceCase::new(
            "U-08",
            RequirementLevel::Must,
            "11",
            "a yes of the user does not make an unknown type known",
            "a yes is for what the Shell can do",
            |peer: &mut ShellUnderTest| {
                passed_over(peer, "com.evil.exec", ",\"requires_user_approval\":true")
            },
        ),
    ]
}

/// Texts that the user saw, in any way.
fn seen(scene: &ShellScene) -> Vec<&str> {
    let shown = ["show", "notice"];
    let lines = scene.shell.heard.iter().filter(|line| shown.contains(&line.word.as_str()));
    lines.filter_map(|line| line.text.as_deref()).collect()
}

/// Asks for a directive of an unknown type with this payload.
fn offered(peer: &mut ShellUnderTest, payload: &str) -> Result<ShellScene, crate::CheckFinding> {
    let item = format!("{{\"action_type\":\"com.example.hologram\",\"payload\":{{{payload}}}}}");
    let mut scene = peer.scene(vec![StageReply::directives(&item)])?;
    scene.asks("hello")?;
    Ok(scene)
}

fn fallback() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "U-10",
            RequirementLevel::Should,
            "11",
            "the `fallback_message` of an unknown type is shown",
            "the user would see nothing at all",
            |peer: &mut ShellUnderTest| {
                let scene = offered(peer, "\"fallback_message\":\"a picture of you\"")?;
                expect(seen(&scene).iter().any(|text| text.contains("a picture of you")), || {
                    "expected the fallback to be shown".to_owned()
                })
            },
        ),
        ConformanceCase::new(
            "U-11",
            RequirementLevel::Should,
            "11",
            "of `fallback_message` and `message`, the former is shown",
            "the latter may be data of the type",
            |peer: &mut ShellUnderTest| {
                let scene =
                    offered(peer, "\"message\":\"0x7f\",\"fallback_message\":\"a picture\"")?;
                let seen = seen(&scene).join("\n");
                expect(seen.contains("a picture") && !seen.contains("0x7f"), || {
                    format!("expected `a picture`, got `{seen}`")
                })
            },
        ),
        ConformanceCase::new(
            "U-12",
            RequirementLevel::Must,
            "11",
            "a fallback that is no text does no harm",
            "Engines make mistakes",
            |peer: &mut ShellUnderTest| {
                offered(peer, "\"message\":{\"a\":[1]},\"fallback_message\":7")?.lives()
            },
        ),
        ConformanceCase::new(
            "U-13",
            RequirementLevel::Should,
            "11",
            "a fallback of a megabyte is cut",
            "one text must not bury all others",
            |peer: &mut ShellUnderTest| {
                let scene =
                    offered(peer, &format!("\"fallback_message\":\"{}\"", "x".repeat(1 << 20)))?;
                let most = seen(&scene).iter().map(|text| text.chars().count()).max().unwrap_or(0);
                expect(most <= MOST_SHOWN + 16, || format!("{most} characters were shown"))
            },
        ),
    ]
}

/// Characters that make a terminal or a reader do something else than show them.
const ACTIVE: [(char, &str); 8] = [
    ('\u{1b}', "an escape"),
    ('\u{7}', "a bell"),
    ('\u{0}', "a NUL"),
    ('\u{9b}', "a C1 control"),
    ('\u{202e}', "an override of direction"),
    ('\u{2066}', "an isolate of direction"),
    ('\u{2028}', "a line separator"),
    ('\u{e0041}', "a tag that nobody sees"),
];

/// A text with all of them.
fn nasty() -> String {
    let all: String = ACTIVE.iter().map(|(letter, _)| format!("a{letter}[2Jb")).collect();
    format!("start {all} end")
}

fn nothing_active(scene: &ShellScene) -> Checked {
    let said: String = scene.shell.heard.iter().filter_map(|line| line.text.clone()).collect();
    expect(said.contains("start") && said.contains("end"), || "expected the text".to_owned())?;
    match ACTIVE.iter().find(|(letter, _)| said.contains(*letter)) {
        Some((_, name)) => expect(false, || format!("expected inert text, got {name}")),
        None => Ok(()),
    }
}

fn inert_text() -> Vec<ConformanceCase<ShellUnderTest>> {
    let json = |text: &str| bridle_wire::openharness::Json::from(text).to_text();
    vec![
        ConformanceCase::new(
            "U-20",
            RequirementLevel::Must,
            "11",
            "a fallback is shown as inert text",
            "an Engine must not drive the terminal",
            move |peer: &mut ShellUnderTest| {
                nothing_active(&offered(peer, &format!("\"fallback_message\":{}", json(&nasty())))?)
            },
        ),
        ConformanceCase::new(
            "U-21",
            RequirementLevel::Must,
            "12",
            "a message is shown as inert text",
            "an Engine must not drive the terminal",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![StageReply::directives(&message(&nasty()))])?;
                scene.asks("hello")?;
                nothing_active(&scene)
            },
        ),
        ConformanceCase::new(
            "U-22",
            RequirementLevel::Must,
            "13",
            "the words of an error are shown as inert text",
            "an Engine must not drive the terminal",
            move |peer: &mut ShellUnderTest| {
                let error = format!(
                    "{{\"code\":\"odd\",\"message\":{},\"retryable\":false}}",
                    json(&nasty())
                );
                let reply =
                    StageReply::response(&format!("\"status\":\"error\",\"error\":{error}"));
                let mut scene = peer.scene(vec![reply])?;
                scene.asks("hello")?;
                nothing_active(&scene)
            },
        ),
        ConformanceCase::new(
            "U-23",
            RequirementLevel::Must,
            "10",
            "a question is shown as inert text",
            "what looks like another question gets the wrong answer",
            move |peer: &mut ShellUnderTest| {
                let nasty = nasty();
                let payload = format!(",\"note\":{}", json(&nasty));
                let fields = ",\"requires_user_approval\":true";
                let item = acting("com.example.lamp", "a", fields, &payload);
                let mut scene = peer.scene(vec![StageReply::directives(&item)])?;
                scene.ask("hello")?;
                scene.question()?;
                nothing_active(&scene)
            },
        ),
    ]
}
