//! Tool calls and questions for a permission: only a yes is a yes.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::editor_link::{EditorLink, PermissionRule};
use super::wire_watch::is_over;
use super::{AgentCase, AgentUnderTest, CaseText, expect, profile};
use crate::case::{CheckFinding, Checked};

pub(super) fn cases() -> Vec<AgentCase> {
    let mut all = questions();
    all.extend(answers());
    all
}

fn questions() -> Vec<AgentCase> {
    vec![
        profile(
            "tool",
            "T-01",
            CaseText(
                "a question names the session and a tool call",
                "Tool Calls",
                "people must see what they say yes to",
            ),
            |peer| {
                let link = asked(peer, PermissionRule::Kind("reject_once"))?;
                let question = first(&link)?;
                let call = &question["toolCall"]["toolCallId"];
                expect(
                    question["sessionId"] == link.session.as_str() && call.is_string(),
                    "session and tool call",
                    question,
                )
            },
        ),
        profile(
            "tool",
            "T-02",
            CaseText(
                "the tool call of a question is told as an update, or has a title itself",
                "Tool Calls",
                "a question without words",
            ),
            |peer| {
                let link = asked(peer, PermissionRule::Kind("reject_once"))?;
                let question = first(&link)?;
                let id = question["toolCall"]["toolCallId"].as_str().unwrap_or_default();
                let is_told = link
                    .calls(0)
                    .iter()
                    .any(|(known, call)| known == id && call["title"].is_string());
                expect(is_told || question["toolCall"]["title"].is_string(), "a title", question)
            },
        ),
        profile(
            "tool",
            "T-03",
            CaseText(
                "there is a way to say no",
                "Tool Calls",
                "a question with one answer is none",
            ),
            |peer| {
                let link = asked(peer, PermissionRule::Cancelled)?;
                let question = first(&link)?;
                let has_no = question["options"].as_array().is_some_and(|options| {
                    options.iter().any(|it| {
                        it["kind"].as_str().is_some_and(|kind| kind.starts_with("reject"))
                    })
                });
                expect(has_no, "an option to reject", question)
            },
        ),
        profile(
            "tool",
            "T-04",
            CaseText(
                "tool calls have ended when the turn has",
                "Tool Calls",
                "an editor would show a wheel that turns for ever",
            ),
            |peer| {
                let link = asked(peer, PermissionRule::Kind("allow_once"))?;
                let open = link
                    .calls(0)
                    .into_iter()
                    .find(|(_, call)| !is_over(call["status"].as_str().unwrap_or("pending")));
                expect(open.is_none(), "ended tool calls", format!("{open:?}"))
            },
        ),
        profile(
            "tool",
            "T-05",
            CaseText(
                "nothing is done before the answer",
                "Tool Calls",
                "the question would be a lie",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.rule = PermissionRule::Silence;
                link.begin_prompt(&json!([{"type": "text", "text": peer.tool()?}]))?;
                link.until("a question", |link| !link.questions().is_empty())?;
                link.settle()?;
                let id =
                    first(&link)?["toolCall"]["toolCallId"].as_str().unwrap_or_default().to_owned();
                let done = link
                    .calls(0)
                    .into_iter()
                    .find(|(known, call)| *known == id && call["status"] == "completed");
                expect(done.is_none(), "a tool call that waits", format!("{done:?}"))
            },
        ),
    ]
}

fn answers() -> Vec<AgentCase> {
    vec![
        profile(
            "tool",
            "T-10",
            CaseText("a yes has the tool call done", "Tool Calls", "people said yes"),
            |peer| {
                let link = asked(peer, PermissionRule::Kind("allow_once"))?;
                let id =
                    first(&link)?["toolCall"]["toolCallId"].as_str().unwrap_or_default().to_owned();
                let done = link
                    .calls(0)
                    .into_iter()
                    .any(|(known, call)| known == id && call["status"] == "completed");
                expect(done, "a completed tool call", format!("{:?}", link.calls(0)))
            },
        ),
        profile(
            "tool",
            "T-11",
            CaseText("after a no nothing is done", "Tool Calls", "people said no"),
            |peer| nothing_done(peer, PermissionRule::Kind("reject_once")),
        ),
        profile(
            "tool",
            "T-12",
            CaseText(
                "an option that was not offered is no yes",
                "Tool Calls",
                "a mistake of an editor would be a yes",
            ),
            |peer| {
                nothing_done(
                    peer,
                    PermissionRule::Result(
                        json!({"outcome": {"outcome": "selected", "optionId": "kit-none"}}),
                    ),
                )
            },
        ),
        profile(
            "tool",
            "T-13",
            CaseText(
                "an error is no yes",
                "Tool Calls",
                "an editor without a window would say yes",
            ),
            |peer| nothing_done(peer, PermissionRule::Error),
        ),
        profile(
            "tool",
            "T-14",
            CaseText(
                "an answer without an outcome is no yes",
                "Tool Calls",
                "a mistake of an editor would be a yes",
            ),
            |peer| {
                nothing_done(
                    peer,
                    PermissionRule::Result(json!({"allow": true, "optionId": "allow"})),
                )
            },
        ),
        profile(
            "tool",
            "T-15",
            CaseText(
                "a question that is answered `cancelled` is no yes",
                "Tool Calls",
                "people closed the window",
            ),
            |peer| nothing_done(peer, PermissionRule::Cancelled),
        ),
        profile(
            "tool",
            "T-16",
            CaseText(
                "a second answer to a question changes nothing",
                "Tool Calls",
                "a no would become a yes",
            ),
            |peer| {
                let mut link = asked(peer, PermissionRule::Kind("reject_once"))?;
                let question = link.questions().into_iter().next();
                let Some(question) = question else { return no_question() };
                let options = question.params["options"].as_array().cloned().unwrap_or_default();
                let yes = options
                    .iter()
                    .find(|it| it["kind"] == "allow_once")
                    .cloned()
                    .unwrap_or_default();
                let outcome =
                    json!({"outcome": {"outcome": "selected", "optionId": yes["optionId"]}});
                link.send(&json!({"jsonrpc": "2.0", "id": question.id, "result": outcome}))?;
                link.settle()?;
                not_completed(&link)
            },
        ),
    ]
}

/// An agent that was prompted for a tool call, with questions answered by a rule, up to the end of the turn or a
/// while after the first question.
fn asked(peer: &AgentUnderTest, rule: PermissionRule) -> Result<EditorLink, CheckFinding> {
    let text = peer.tool()?.to_owned();
    let mut link = peer.open()?;
    link.rule = rule;
    let prompt = link.begin_prompt(&json!([{"type": "text", "text": text}]))?;
    link.until("a question", |link| !link.questions().is_empty() || link.has_answer(&prompt))?;
    if link.questions().is_empty() {
        return Err(CheckFinding::fault("the prompt of --prompt-tool led to no question"));
    }
    // Whoever was told neither yes nor no may wait for another answer.
    let may_wait = !matches!(link.rule, PermissionRule::Kind(_));
    match may_wait {
        true => link.settle()?,
        false => link.until("the end of the turn", |link| link.has_answer(&prompt))?,
    }
    Ok(link)
}

/// Parameters of the first question.
fn first(link: &EditorLink) -> Result<Value, CheckFinding> {
    let question = link.questions().into_iter().next().map(|question| question.params);
    question.ok_or_else(|| CheckFinding::fault("expected a question, got none"))
}

fn no_question() -> Checked {
    Err(CheckFinding::fault("expected a question, got none"))
}

fn nothing_done(peer: &AgentUnderTest, rule: PermissionRule) -> Checked {
    not_completed(&asked(peer, rule)?)
}

fn not_completed(link: &EditorLink) -> Checked {
    let asked: Vec<String> = link
        .questions()
        .iter()
        .filter_map(|it| it.params["toolCall"]["toolCallId"].as_str().map(str::to_owned))
        .collect();
    let done = link
        .calls(0)
        .into_iter()
        .find(|(id, call)| asked.contains(id) && call["status"] == "completed");
    expect(done.is_none(), "no completed tool call", format!("{done:?}"))
}
