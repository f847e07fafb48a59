//! What must hold for every message. Each case has a conversation of its own, and looks at all that was said before
//! in the run as well.
//!
//! long: each list of cases is one table.

use serde_json::json;

use super::editor_link::PermissionRule;
use super::wire_watch::WireRule;
use super::{AgentCase, AgentUnderTest, CaseText};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<AgentCase> {
    let list = [
        (
            "Z-01",
            WireRule::Messages,
            CaseText(
                "every line is a message of JSON-RPC 2.0",
                "Transports",
                "an editor ends an agent that says anything else",
            ),
        ),
        (
            "Z-02",
            WireRule::Answers,
            CaseText(
                "every request is answered once",
                "JSON-RPC 2.0",
                "a second answer belongs to nothing",
            ),
        ),
        (
            "Z-03",
            WireRule::Errors,
            CaseText("errors have a code and a message", "JSON-RPC 2.0", "people read the message"),
        ),
        (
            "Z-04",
            WireRule::Offered,
            CaseText(
                "only methods that the editor offers are called",
                "File System",
                "an editor without files would be asked for them",
            ),
        ),
        (
            "Z-05",
            WireRule::Ids,
            CaseText(
                "ids of requests are used once",
                "JSON-RPC 2.0",
                "a late answer would be taken for another one",
            ),
        ),
        (
            "Z-06",
            WireRule::Updates,
            CaseText(
                "updates have a session and a kind of the protocol",
                "Prompt Turn",
                "editors drop what they do not know",
            ),
        ),
        (
            "Z-07",
            WireRule::Content,
            CaseText(
                "content blocks have a type and its fields",
                "Content",
                "editors show nothing for a broken one",
            ),
        ),
        (
            "Z-08",
            WireRule::ToolCalls,
            CaseText(
                "tool calls have an id, a title, a kind and a status of the protocol",
                "Tool Calls",
                "editors show nothing for a broken one",
            ),
        ),
        (
            "Z-09",
            WireRule::Introduced,
            CaseText(
                "a tool call is told once before it changes",
                "Tool Calls",
                "editors have nothing to change",
            ),
        ),
        (
            "Z-10",
            WireRule::Progress,
            CaseText(
                "a tool call that has ended does not change its status",
                "Tool Calls",
                "done is done",
            ),
        ),
        (
            "Z-11",
            WireRule::Plans,
            CaseText(
                "entries of a plan have a text, a priority and a status",
                "Agent Plan",
                "editors show nothing for a broken one",
            ),
        ),
        (
            "Z-12",
            WireRule::Commands,
            CaseText(
                "commands have a name of one word and a description",
                "Slash Commands",
                "people choose from the menu",
            ),
        ),
        (
            "Z-13",
            WireRule::Usage,
            CaseText("usage has its numbers", "Prompt Turn", "people look at what it costs"),
        ),
        (
            "Z-14",
            WireRule::Paths,
            CaseText("paths are absolute", "Overview", "an editor would open another file"),
        ),
        (
            "Z-15",
            WireRule::Questions,
            CaseText(
                "questions have options with an id of their own, a name and a kind",
                "Tool Calls",
                "people cannot answer",
            ),
        ),
    ];
    let case = |(id, rule, text): (&'static str, WireRule, CaseText)| {
        let CaseText(title, section, why) = text;
        let check = move |peer: &mut AgentUnderTest| holds(peer, rule);
        ConformanceCase::new(id, RequirementLevel::Must, section, title, why, check)
    };
    list.into_iter().map(case).collect()
}

fn holds(peer: &mut AgentUnderTest, rule: WireRule) -> Checked {
    let mut link = peer.open()?;
    link.call("_kit.example/none", &json!({}))?;
    link.prompt(&peer.prompts.plain)?;
    if let Some(tool) = peer.prompts.tool.clone() {
        link.rule = PermissionRule::Kind("allow_once");
        link.prompt(&tool)?;
    }
    link.settle()?;
    drop(link);
    match peer.watch.borrow().fault(rule) {
        None => Ok(()),
        Some(what) => Err(CheckFinding::fault(format!("expected none of this, got {what}"))),
    }
}
