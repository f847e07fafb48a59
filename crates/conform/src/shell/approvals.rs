//! What needs a yes, and what a yes is for (section 10): cases `P`.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::ShellUnderTest;
use super::scene::{act, acting, at, expect, message};
use super::stage::StageReply;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let mut all = gates();
    all.extend(answers());
    all
}

/// A directive that is asked about, and runs after a yes.
fn gated(peer: &mut ShellUnderTest, fields: &str) -> Checked {
    let mut scene = peer.scene(vec![StageReply::directives(&act("a", fields))])?;
    scene.ask("hello")?;
    scene.question()?;
    scene.never("a")?;
    scene.shell.say("allow")?;
    scene.done()?;
    scene.once("a")
}

fn gates() -> Vec<ConformanceCase<ShellUnderTest>> {
    let gate = |id, level, title, fields: &'static str| {
        let why = "it would happen without anybody's will";
        ConformanceCase::new(id, level, "10", title, why, move |peer: &mut ShellUnderTest| {
            gated(peer, fields)
        })
    };
    vec![
        gate(
            "P-01",
            RequirementLevel::Must,
            "with `requires_user_approval` the user is asked, and it runs after a yes",
            ",\"requires_user_approval\":true",
        ),
        gate(
            "P-02",
            RequirementLevel::Must,
            "`requires_user_approval` as a string asks all the same",
            ",\"requires_user_approval\":\"true\"",
        ),
        gate("P-03", RequirementLevel::Must, "as a number, too", ",\"requires_user_approval\":1"),
        gate("P-04", RequirementLevel::Must, "as null, too", ",\"requires_user_approval\":null"),
        gate(
            "P-05",
            RequirementLevel::Should,
            "what is `dangerous` is asked about",
            ",\"risk_tier\":\"dangerous\"",
        ),
        gate(
            "P-06",
            RequirementLevel::Should,
            "an unknown tier counts as `dangerous`",
            ",\"risk_tier\":\"apocalyptic\"",
        ),
        gate(
            "P-07",
            RequirementLevel::Must,
            "`requires_user_approval` counts whatever the tier says",
            ",\"risk_tier\":\"safe\",\"requires_user_approval\":true",
        ),
        gate(
            "P-08",
            RequirementLevel::Should,
            "`requires_user_approval` `false` does not lower a tier",
            ",\"risk_tier\":\"dangerous\",\"requires_user_approval\":false",
        ),
        ConformanceCase::new(
            "P-09",
            RequirementLevel::Should,
            "10",
            "what is safe runs without a question",
            "who is asked about everything says yes to everything",
            |peer: &mut ShellUnderTest| {
                let item = act("a", ",\"risk_tier\":\"safe\",\"requires_user_approval\":false");
                let mut scene = peer.scene(vec![StageReply::directives(&item)])?;
                scene.asks("hello")?;
                scene.once("a")
            },
        ),
    ]
}

const GATE: &str = ",\"requires_user_approval\":true";

fn answers() -> Vec<ConformanceCase<ShellUnderTest>> {
    vec![
        ConformanceCase::new(
            "P-20",
            RequirementLevel::Must,
            "10",
            "after a no it never runs",
            "a no is a no",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(vec![StageReply::directives(&act("a", GATE))])?;
                scene.ask("hello")?;
                scene.question()?;
                scene.shell.say("deny")?;
                scene.done()?;
                scene.never("a")
            },
        ),
        ConformanceCase::new(
            "P-21",
            RequirementLevel::Must,
            "10",
            "a yes is for one directive, not for the next",
            "the user saw one of them",
            |peer: &mut ShellUnderTest| {
                let first = acting("com.example.door", "a", GATE, "");
                let second = acting("com.example.door", "b", GATE, "");
                let mut scene =
                    peer.scene(vec![StageReply::directives(&format!("{first},{second}"))])?;
                scene.ask("hello")?;
                scene.question()?;
                scene.shell.say("allow")?;
                scene.question()?;
                scene.shell.say("deny")?;
                scene.done()?;
                scene.once("a")?;
                scene.never("b")
            },
        ),
        ConformanceCase::new(
            "P-22",
            RequirementLevel::Should,
            "10",
            "a question shows what is wanted",
            "a yes to something unseen is none",
            |peer: &mut ShellUnderTest| {
                let item = acting("com.example.lamp", "the red lamp", GATE, "");
                let mut scene = peer.scene(vec![StageReply::directives(&item)])?;
                scene.ask("hello")?;
                let question = scene.question()?;
                let is_so = question.text.is_some_and(|text| text.contains("the red lamp"));
                expect(is_so, || "expected `the red lamp` in the question".to_owned())
            },
        ),
        ConformanceCase::new(
            "P-23",
            RequirementLevel::Must,
            "10",
            "in a parallel group a gated directive waits for its yes",
            "a group is no way around the user",
            |peer: &mut ShellUnderTest| {
                let parallel = ",\"execution\":\"parallel\"";
                let items =
                    format!("{},{}", act("a", &format!("{GATE}{parallel}")), act("b", parallel));
                let mut scene = peer.scene(vec![StageReply::directives(&items)])?;
                scene.asks("hello")?;
                scene.never("a")
            },
        ),
        ConformanceCase::new(
            "P-24",
            RequirementLevel::Must,
            "10",
            "the end of input is no yes",
            "nobody has said anything",
            |peer: &mut ShellUnderTest| {
                let items = format!("{},{}", message("wait"), act("a", GATE));
                let mut scene = peer.scene(vec![StageReply::directives(&items)])?;
                scene.ask("hello")?;
                scene.question()?;
                scene.shell.close();
                // Whatever it says on its way out.
                while scene.shell.hear("its end").is_ok() {}
                scene.never("a")
            },
        ),
        ConformanceCase::new(
            "P-25",
            RequirementLevel::Should,
            "5.3",
            "a Shell that asks declares `openharness.ui.approval`",
            "an Engine that does not know it sends nothing that needs a yes",
            |peer: &mut ShellUnderTest| {
                let mut scene = peer.scene(Vec::new())?;
                scene.asks("hello")?;
                let request = scene.request(0)?;
                let declared = at(&request, "capabilities/openharness.ui.approval");
                match declared.is_some_and(bridle_wire::openharness::Json::is_truthy) {
                    true => Ok(()),
                    false => Err(CheckFinding::fault("expected `openharness.ui.approval`")),
                }
            },
        ),
    ]
}
