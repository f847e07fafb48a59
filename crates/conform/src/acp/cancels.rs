//! Turns that are given up.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::editor_link::{EditorLink, PermissionRule, stop_reason};
use super::{AgentCase, AgentUnderTest, CaseText, expect, must, profile, should};
use crate::case::{CheckFinding, Checked};

pub(super) fn cases() -> Vec<AgentCase> {
    vec![
        profile(
            "slow",
            "C-01",
            CaseText(
                "a cancelled prompt is answered `cancelled`",
                "Prompt Turn",
                "an editor shows an error where the user said stop",
            ),
            |peer| {
                let (mut link, prompt) = running(peer)?;
                cancel(&mut link)?;
                let reason = stop_reason(&link.answer(&prompt)?)?;
                expect(reason == "cancelled", "`cancelled`", reason)
            },
        ),
        profile(
            "slow",
            "C-02",
            CaseText("a cancelled turn says nothing more", "Prompt Turn", "people said stop"),
            |peer| {
                let (mut link, prompt) = running(peer)?;
                cancel(&mut link)?;
                link.answer(&prompt)?;
                let before = link.updates.len();
                link.settle()?;
                let late = link.kinds("agent_message_chunk", before).len();
                expect(late == 0, "no messages behind the answer", late)
            },
        ),
        profile(
            "slow",
            "C-03",
            CaseText(
                "a session goes on after a cancel",
                "Prompt Turn",
                "people stop to say it better",
            ),
            |peer| {
                let (mut link, prompt) = running(peer)?;
                cancel(&mut link)?;
                link.answer(&prompt)?;
                let reason = link.prompt(&peer.prompts.plain)?;
                expect(reason == "end_turn", "`end_turn`", reason)
            },
        ),
        profile(
            "slow",
            "C-04",
            CaseText(
                "a cancel of one session leaves the other alone",
                "Prompt Turn",
                "people stop one of many",
            ),
            |peer| {
                let (mut link, prompt) = running(peer)?;
                let busy = link.session.clone();
                peer.new_session(&mut link)?;
                let idle = std::mem::replace(&mut link.session, busy);
                link.notify("session/cancel", &json!({"sessionId": idle}))?;
                link.settle()?;
                expect(!link.has_answer(&prompt), "a turn that goes on", "its answer")?;
                cancel(&mut link)?;
                link.answer(&prompt).map(drop)
            },
        ),
        must(
            "C-05",
            CaseText(
                "a cancel where nothing runs is passed over",
                "Prompt Turn",
                "the answer and the cancel may cross",
            ),
            |peer| {
                let mut link = peer.open()?;
                cancel(&mut link)?;
                cancel(&mut link)?;
                link.is_alive()?;
                let reason = link.prompt(&peer.prompts.plain)?;
                expect(reason == "end_turn", "`end_turn`", reason)
            },
        ),
        must(
            "C-06",
            CaseText(
                "a cancel of a session that is not there is passed over",
                "Prompt Turn",
                "a session may be closed meanwhile",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.notify("session/cancel", &json!({"sessionId": "kit-none"}))?;
                link.notify("session/cancel", &json!({}))?;
                link.is_alive()
            },
        ),
        should(
            "C-07",
            CaseText(
                "a request that is cancelled by its id is answered `cancelled` or -32800",
                "Cancellation",
                "an editor waits for the answer all the same",
            ),
            |peer| {
                let (mut link, prompt) = running(peer)?;
                link.notify("$/cancel_request", &json!({"requestId": prompt}))?;
                let answer = link.answer(&prompt)?;
                if answer["error"]["code"] == -32800 {
                    return Ok(());
                }
                let reason = stop_reason(&answer)?;
                expect(reason == "cancelled", "`cancelled`", reason)
            },
        ),
        must(
            "C-08",
            CaseText(
                "a cancel of a request that is not there is passed over",
                "Cancellation",
                "the answer and the cancel may cross",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.notify("$/cancel_request", &json!({"requestId": "kit-none"}))?;
                link.notify("$/cancel_request", &json!({"requestId": {"a": 1}}))?;
                link.is_alive()
            },
        ),
        profile(
            "tool",
            "C-09",
            CaseText(
                "a turn that is cancelled at a question is answered `cancelled`, and nothing is done",
                "Prompt Turn",
                "people said stop before they said yes",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.rule = PermissionRule::Silence;
                let prompt = link.begin_prompt(&json!([{"type": "text", "text": peer.tool()?}]))?;
                link.until("a question", |link| !link.questions().is_empty())?;
                cancel(&mut link)?;
                let outcome = json!({"outcome": {"outcome": "cancelled"}});
                for question in link.questions() {
                    link.send(&json!({"jsonrpc": "2.0", "id": question.id, "result": outcome}))?;
                }
                let reason = stop_reason(&link.answer(&prompt)?)?;
                expect(reason == "cancelled", "`cancelled`", reason)?;
                let done =
                    link.calls(0).into_iter().find(|(_, call)| call["status"] == "completed");
                expect(done.is_none(), "no completed tool call", format!("{done:?}"))
            },
        ),
    ]
}

/// An agent that is busy with a prompt, and the id of that.
fn running(peer: &AgentUnderTest) -> Result<(EditorLink, Value), CheckFinding> {
    let slow = peer.slow()?.to_owned();
    let mut link = peer.open()?;
    let prompt = link.begin_prompt(&json!([{"type": "text", "text": slow}]))?;
    link.settle()?;
    if link.has_answer(&prompt) {
        return Err(CheckFinding::fault("the prompt of --prompt-slow was answered at once"));
    }
    Ok((link, prompt))
}

fn cancel(link: &mut EditorLink) -> Checked {
    let params = json!({"sessionId": link.session});
    link.notify("session/cancel", &params)
}
