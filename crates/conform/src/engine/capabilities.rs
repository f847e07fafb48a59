//! What a shell asks for and what an engine offers (draft, section 5.3; P15.4).

use serde_json::Value;

use super::EngineUnderTest;
use super::rows::{self, GOOD, RequirementRow, RowExpectation};
use super::shape::is_truthy;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

/// The keys that the draft names.
const NAMED: [&str; 5] = [
    "openharness.streaming",
    "openharness.actions.parallel",
    "openharness.attachments.upload",
    "openharness.ui.rich_cards",
    "openharness.ui.approval",
];

const ALL: &str = r#"{@V,"capabilities":{"openharness.streaming":true,"openharness.actions.parallel":true,"openharness.attachments.upload":true,"openharness.ui.rich_cards":true,"openharness.ui.approval":true},@R}"#;

const OFF: &str = r#"{@V,"capabilities":{"openharness.streaming":false,"openharness.actions.parallel":false,"openharness.attachments.upload":null,"openharness.ui.rich_cards":0,"openharness.ui.approval":""},@R}"#;

const fn served(id: &'static str, title: &'static str, body: &'static str) -> RequirementRow {
    RequirementRow {
        id,
        level: RequirementLevel::Must,
        section: "5.3",
        title,
        body,
        expect: RowExpectation::Served,
    }
}

const SERVED: [RequirementRow; 5] = [
    served(
        "C-01",
        "unknown capabilities are ignored",
        r#"{@V,"capabilities":{"com.example.teleport":true},@R}"#,
    ),
    served(
        "C-02",
        "a capability may be any value",
        r#"{@V,"capabilities":{"a.b":null,"c.d":7,"e.f":[1],"g.h":{"i":[]},"j.k":"l"},@R}"#,
    ),
    served(
        "C-03",
        "a known capability may be any value",
        r#"{@V,"capabilities":{"openharness.ui.rich_cards":["x"],"openharness.actions.parallel":{"version":9}},@R}"#,
    ),
    served("C-04", "no capabilities are served", r#"{@V,"capabilities":{},@R}"#),
    served("C-05", "what is asked for and not there does not spoil a request", ALL),
];

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = rows::cases("shells say what they can; engines take what they know", &SERVED);
    let why = "half a feature shows as a button that does nothing";
    let case = |id, level, title, check: fn(&mut EngineUnderTest) -> Checked| {
        ConformanceCase::new(id, level, "5.3", title, why, check)
    };
    all.push(case(
        "C-06",
        RequirementLevel::Must,
        "an unknown capability is not offered",
        unknown_unoffered,
    ));
    all.push(case(
        "C-07",
        RequirementLevel::Should,
        "what is asked for is offered or denied",
        no_silence,
    ));
    all.push(case(
        "C-08",
        RequirementLevel::Should,
        "what is not asked for is not denied",
        off_is_off,
    ));
    all.push(case(
        "C-09",
        RequirementLevel::Should,
        "an unknown capability is not denied",
        unknown_undenied,
    ));
    all.push(case(
        "C-10",
        RequirementLevel::Should,
        "nothing is denied to who asks for nothing",
        |peer| {
            let (_, answer) = peer.ask_filled(GOOD)?;
            let denied = answer.at("/capability_denials").as_array().map_or(0, Vec::len);
            answer.has(denied == 0, "no `capability_denials`")
        },
    ));
    all.push(case(
        "C-11",
        RequirementLevel::Must,
        "`parallel` is not sent to who did not ask for it",
        |peer| {
            let (_, answer) = peer.ask_filled(GOOD)?;
            let is_parallel = answer.directives().iter().any(|it| it["execution"] == "parallel");
            answer.has(!is_parallel, "no `parallel` without `openharness.actions.parallel`")
        },
    ));
    all
}

fn is_denied(denials: &Value, name: &str) -> bool {
    denials.as_array().is_some_and(|list| list.iter().any(|it| it["capability"] == name))
}

fn unknown_unoffered(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(SERVED[0].body)?;
    let offered = answer.at("/supported_capabilities").get("com.example.teleport");
    answer.has(!offered.is_some_and(is_truthy), "no `com.example.teleport` among what is offered")
}

fn unknown_undenied(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(SERVED[0].body)?;
    let denials = answer.at("/capability_denials");
    answer.has(!is_denied(denials, "com.example.teleport"), "unknown keys to be ignored")
}

fn no_silence(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(ALL)?;
    let (offered, denials) =
        (answer.at("/supported_capabilities"), answer.at("/capability_denials"));
    for name in NAMED {
        let is_offered = offered.get(name).is_some_and(is_truthy);
        answer
            .has(is_offered || is_denied(denials, name), &format!("`{name}` offered or denied"))?;
    }
    Ok(())
}

fn off_is_off(peer: &mut EngineUnderTest) -> Checked {
    let (_, answer) = peer.ask_filled(OFF)?;
    answer.is_served()?;
    for name in NAMED {
        let is_denied = is_denied(answer.at("/capability_denials"), name);
        answer.has(!is_denied, &format!("no denial of `{name}`, which is off"))?;
    }
    Ok(())
}
