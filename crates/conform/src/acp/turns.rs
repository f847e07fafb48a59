//! Prompts and their answers.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::editor_link::stop_reason;
use super::{AgentCase, AgentUnderTest, CaseText, expect, must, profile, should};
use crate::case::{CheckFinding, Checked};

const STOP_REASONS: [&str; 5] =
    ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];

/// A picture of one point, and a sound of no length.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(super) fn cases() -> Vec<AgentCase> {
    vec![
        must(
            "P-01",
            CaseText(
                "a prompt is answered with a stop reason of the protocol",
                "Prompt Turn",
                "the editor must know that it is over, and why",
            ),
            |peer| {
                let reason = peer.open()?.prompt(&peer.prompts.plain)?;
                expect(
                    STOP_REASONS.contains(&reason.as_str()),
                    "a stop reason of the protocol",
                    reason,
                )
            },
        ),
        must(
            "P-02",
            CaseText(
                "an answered prompt ends with `end_turn`",
                "Prompt Turn",
                "anything else is shown as trouble",
            ),
            |peer| {
                let reason = peer.open()?.prompt(&peer.prompts.plain)?;
                expect(reason == "end_turn", "`end_turn`", reason)
            },
        ),
        should(
            "P-03",
            CaseText(
                "the answer comes as `agent_message_chunk`",
                "Prompt Turn",
                "people see nothing else",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.prompt(&peer.prompts.plain)?;
                expect(!link.text("agent_message_chunk", 0).is_empty(), "a text", "none")
            },
        ),
        must(
            "P-04",
            CaseText(
                "updates have the id of their session",
                "Prompt Turn",
                "they would be shown in another one",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.prompt(&peer.prompts.plain)?;
                let other = link.updates.iter().find(|(session, _)| *session != link.session);
                expect(other.is_none(), "the id of the session", format!("{other:?}"))
            },
        ),
        must(
            "P-05",
            CaseText(
                "messages of a turn come before its answer",
                "Prompt Turn",
                "an editor that is told the end shows no more",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.prompt(&peer.prompts.plain)?;
                let before = link.updates.len();
                link.settle()?;
                let late = link.kinds("agent_message_chunk", before).len();
                expect(late == 0, "no messages behind the answer", late)
            },
        ),
        must(
            "P-06",
            CaseText(
                "a session takes one prompt after the other",
                "Prompt Turn",
                "a conversation is more than one question",
            ),
            |peer| {
                let mut link = peer.open()?;
                for _ in 0..3 {
                    let reason = link.prompt(&peer.prompts.plain)?;
                    expect(reason == "end_turn", "`end_turn`", reason)?;
                }
                Ok(())
            },
        ),
        must(
            "P-07",
            CaseText(
                "a prompt of several texts and a link is taken",
                "Content",
                "every agent takes texts and links",
            ),
            |peer| {
                let mut link = peer.open()?;
                let blocks = json!([
                    {"type": "text", "text": peer.prompts.plain},
                    {"type": "resource_link", "name": "notes.org", "uri": "file:///kit/notes.org"},
                    {"type": "text", "text": ""},
                ]);
                link.prompt_blocks(&blocks).map(drop)
            },
        ),
        must(
            "P-08",
            CaseText("letters of all kinds are taken", "Content", "people write as they speak"),
            |peer| {
                let mut link = peer.open()?;
                let text = format!(
                    "{} \u{2028}\u{1f600}\u{0} \u{202e}caf\u{e9}\\\"\n\t",
                    peer.prompts.plain
                );
                let id = link.begin_prompt(&json!([{"type": "text", "text": text}]))?;
                link.answer(&id)?;
                link.is_alive()
            },
        ),
        must(
            "P-09",
            CaseText(
                "a prompt without blocks is answered",
                "Prompt Turn",
                "an editor must not hang",
            ),
            |peer| {
                let mut link = peer.open()?;
                let id = link.begin_prompt(&json!([]))?;
                link.answer(&id)?;
                link.is_alive()
            },
        ),
        must(
            "P-10",
            CaseText(
                "a block of an unknown type is refused",
                "Content",
                "what was left out in silence is missed by nobody",
            ),
            |peer| refused(peer, &json!({"type": "kit_unknown", "text": "x"})),
        ),
        profile(
            "image",
            "P-11",
            CaseText("a picture is taken", "Content", "what is offered binds"),
            |peer| {
                taken(
                    peer,
                    "promptCapabilities.image",
                    &json!({"type": "image", "data": PICTURE, "mimeType": "image/png"}),
                )
            },
        ),
        profile(
            "audio",
            "P-12",
            CaseText("a sound is taken", "Content", "what is offered binds"),
            |peer| {
                taken(
                    peer,
                    "promptCapabilities.audio",
                    &json!({"type": "audio", "data": SOUND, "mimeType": "audio/wav"}),
                )
            },
        ),
        profile(
            "embedded",
            "P-13",
            CaseText("an embedded text is taken", "Content", "what is offered binds"),
            |peer| {
                let resource =
                    json!({"uri": "file:///kit/a.txt", "mimeType": "text/plain", "text": "one\n"});
                taken(
                    peer,
                    "promptCapabilities.embeddedContext",
                    &json!({"type": "resource", "resource": resource}),
                )
            },
        ),
        should(
            "P-14",
            CaseText(
                "content that is not offered is refused",
                "Content",
                "people think that it was looked at",
            ),
            |peer| {
                let link = peer.open()?;
                let blocks = [
                    (
                        "promptCapabilities.image",
                        json!({"type": "image", "data": PICTURE, "mimeType": "image/png"}),
                    ),
                    (
                        "promptCapabilities.audio",
                        json!({"type": "audio", "data": SOUND, "mimeType": "audio/wav"}),
                    ),
                ];
                let closed: Vec<&Value> = blocks
                    .iter()
                    .filter(|(offer, _)| !link.offers(offer))
                    .map(|(_, block)| block)
                    .collect();
                drop(link);
                if closed.is_empty() {
                    return Err(CheckFinding::unoffered("it takes pictures and sounds"));
                }
                closed.into_iter().try_for_each(|block| refused(peer, block))
            },
        ),
        must(
            "P-15",
            CaseText(
                "two sessions at once keep their updates apart",
                "Prompt Turn",
                "the words of one would be shown in the other",
            ),
            two_at_once,
        ),
    ]
}

fn refused(peer: &mut AgentUnderTest, block: &Value) -> Checked {
    let mut link = peer.open()?;
    let params = json!({"sessionId": link.session, "prompt": [block]});
    link.refused("session/prompt", &params)?;
    link.is_alive()
}

fn taken(peer: &mut AgentUnderTest, offer: &str, block: &Value) -> Checked {
    let mut link = peer.open()?;
    link.needs(offer)?;
    let blocks = json!([{"type": "text", "text": peer.prompts.plain}, block]);
    let id = link.begin_prompt(&blocks)?;
    let answer = link.answer(&id)?;
    let reason = stop_reason(&answer)?;
    expect(STOP_REASONS.contains(&reason.as_str()), "a stop reason of the protocol", reason)
}

fn two_at_once(peer: &mut AgentUnderTest) -> Checked {
    let mut link = peer.open()?;
    let first = link.session.clone();
    let plain = peer.prompts.plain.clone();
    let blocks = json!([{"type": "text", "text": plain}]);
    let second = peer.new_session(&mut link)?;
    let params = |session: &str| json!({"sessionId": session, "prompt": blocks});
    let asked = [
        link.ask("session/prompt", &params(&first))?,
        link.ask("session/prompt", &params(&second))?,
    ];
    for id in &asked {
        let answer = link.answer(id)?;
        stop_reason(&answer)?;
    }
    let spoke = |name: &str| {
        let is_its = |(session, update): &&(String, Value)| {
            session == name && update["sessionUpdate"] == "agent_message_chunk"
        };
        link.updates.iter().any(|it| is_its(&it))
    };
    expect(spoke(&first) && spoke(&second), "words in both sessions", "words in one or none")
}
