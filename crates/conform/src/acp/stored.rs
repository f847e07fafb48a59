//! Sessions that are there: `session/load`, `resume`, `list`, `close` and `delete`.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::editor_link::{EditorLink, stop_reason};
use super::{AgentCase, AgentUnderTest, CaseText, expect, profile, should};
use crate::case::{CheckFinding, Checked};

const LIST: &str = "sessionCapabilities.list";
const RESUME: &str = "sessionCapabilities.resume";
const CLOSE: &str = "sessionCapabilities.close";
const DELETE: &str = "sessionCapabilities.delete";

/// Pages of a list that are followed.
const MAX_PAGES: usize = 1_000;

pub(super) fn cases() -> Vec<AgentCase> {
    [load(), list(), close()].into_iter().flatten().collect()
}

/// An agent with a session of an earlier process in which one prompt was answered: its name, and the answer.
fn loaded(
    peer: &AgentUnderTest,
    offer: &str,
) -> Result<(EditorLink, String, String), CheckFinding> {
    let mut link = peer.open()?;
    link.needs(offer)?;
    link.prompt(&peer.prompts.plain)?;
    let (name, text) = (link.session.clone(), link.text("agent_message_chunk", 0));
    drop(link);
    let mut link = peer.greet()?;
    link.session.clone_from(&name);
    Ok((link, name, text))
}

fn load() -> Vec<AgentCase> {
    vec![
        profile(
            "load",
            "L-01",
            CaseText(
                "a session of an earlier process is loaded with its conversation",
                "Session Setup",
                "closing the editor would lose the conversation",
            ),
            |peer| {
                let (mut link, name, text) = loaded(peer, "loadSession")?;
                link.ok("session/load", &peer.place_of(&name))?;
                let said = link.text("user_message_chunk", 0);
                expect(
                    said.contains(&peer.prompts.plain),
                    "the prompt as `user_message_chunk`",
                    format!("`{said}`"),
                )?;
                let again = link.text("agent_message_chunk", 0);
                expect(again == text, &format!("the answer `{text}`"), format!("`{again}`"))
            },
        ),
        profile(
            "load",
            "L-02",
            CaseText(
                "the conversation comes before the answer to `session/load`",
                "Session Setup",
                "an editor draws it when the answer comes",
            ),
            |peer| {
                let (mut link, name, _) = loaded(peer, "loadSession")?;
                link.ok("session/load", &peer.place_of(&name))?;
                let before = link.updates.len();
                link.settle()?;
                let late = link.kinds("user_message_chunk", before).len()
                    + link.kinds("agent_message_chunk", before).len();
                expect(late == 0, "no messages behind the answer", late)
            },
        ),
        profile(
            "load",
            "L-03",
            CaseText(
                "updates of a loaded session have its id",
                "Session Setup",
                "they would be shown in another one",
            ),
            |peer| {
                let (mut link, name, _) = loaded(peer, "loadSession")?;
                link.ok("session/load", &peer.place_of(&name))?;
                let other = link.updates.iter().find(|(session, _)| *session != name);
                expect(other.is_none(), "the id of the session", format!("{other:?}"))
            },
        ),
        profile(
            "load",
            "L-04",
            CaseText("a loaded session goes on", "Session Setup", "people load it to go on"),
            |peer| {
                let (mut link, name, _) = loaded(peer, "loadSession")?;
                link.ok("session/load", &peer.place_of(&name))?;
                let reason = link.prompt(&peer.prompts.plain)?;
                expect(reason == "end_turn", "`end_turn`", reason)
            },
        ),
        profile(
            "load",
            "L-05",
            CaseText(
                "a session that is not there is not loaded",
                "Session Setup",
                "people would go on with nothing",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.needs("loadSession")?;
                link.refused("session/load", &peer.place_of("kit-none")).map(drop)
            },
        ),
        profile(
            "load",
            "L-06",
            CaseText(
                "a conversation is loaded in its order, twice the same",
                "Session Setup",
                "an answer before its question",
            ),
            |peer| {
                let (mut link, name, _) = loaded(peer, "loadSession")?;
                let order = |link: &EditorLink, from: usize| -> Vec<String> {
                    let kinds = link
                        .updates
                        .iter()
                        .skip(from)
                        .map(|(_, it)| it["sessionUpdate"].as_str().unwrap_or_default());
                    kinds
                        .filter(|kind| kind.ends_with("message_chunk"))
                        .map(str::to_owned)
                        .collect()
                };
                link.ok("session/load", &peer.place_of(&name))?;
                let first = order(&link, 0);
                let begins = first.first().is_some_and(|kind| kind == "user_message_chunk");
                expect(begins, "the prompt first", format!("{first:?}"))?;
                let from = link.updates.len();
                link.ok("session/load", &peer.place_of(&name))?;
                let second = order(&link, from);
                expect(second == first, &format!("{first:?} again"), format!("{second:?}"))
            },
        ),
        profile(
            "resume",
            "L-07",
            CaseText(
                "a resumed session goes on without its conversation",
                "Session Setup",
                "the editor has it already, and would show it twice",
            ),
            |peer| {
                let (mut link, name, _) = loaded(peer, RESUME)?;
                link.ok("session/resume", &peer.place_of(&name))?;
                link.settle()?;
                let told = link.kinds("user_message_chunk", 0).len()
                    + link.kinds("agent_message_chunk", 0).len();
                expect(told == 0, "no messages", told)?;
                let reason = link.prompt(&peer.prompts.plain)?;
                expect(reason == "end_turn", "`end_turn`", reason)
            },
        ),
        profile(
            "resume",
            "L-08",
            CaseText(
                "a session that is not there is not resumed",
                "Session Setup",
                "people would go on with nothing",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.needs(RESUME)?;
                link.refused("session/resume", &peer.place_of("kit-none")).map(drop)
            },
        ),
    ]
}

/// All sessions of a list, page by page.
fn all(link: &mut EditorLink, params: &Value) -> Result<Vec<Value>, CheckFinding> {
    let mut sessions = Vec::new();
    let mut params = params.clone();
    for _ in 0..MAX_PAGES {
        let page = link.ok("session/list", &params)?;
        let Some(listed) = page["sessions"].as_array() else {
            return Err(CheckFinding::fault(format!("expected `sessions`, got {page}")));
        };
        sessions.extend(listed.iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => params["cursor"] = json!(next),
            None => return Ok(sessions),
        }
    }
    Err(CheckFinding::fault(format!("a list of more than {MAX_PAGES} pages")))
}

fn has(sessions: &[Value], name: &str) -> bool {
    sessions.iter().any(|session| session["sessionId"] == name)
}

fn list() -> Vec<AgentCase> {
    vec![
        profile(
            "list",
            "L-10",
            CaseText(
                "a session is listed once, with a folder that is absolute",
                "Session List",
                "people look for what they did yesterday",
            ),
            |peer| {
                let (mut link, name, _) = loaded(peer, LIST)?;
                let sessions = all(&mut link, &json!({}))?;
                let found = sessions.iter().filter(|it| it["sessionId"] == name.as_str()).count();
                expect(found == 1, "the session once", format!("{found} times"))?;
                let is_whole =
                    |it: &Value| it["cwd"].as_str().is_some_and(super::wire_watch::is_absolute);
                let broken =
                    sessions.iter().find(|it| !is_whole(it) || !it["sessionId"].is_string());
                expect(broken.is_none(), "sessions with an id and a folder", format!("{broken:?}"))
            },
        ),
        profile(
            "list",
            "L-11",
            CaseText(
                "a folder in the request leaves the other ones out",
                "Session List",
                "an editor shows the sessions of its project",
            ),
            |peer| {
                let (mut link, name, _) = loaded(peer, LIST)?;
                let here = all(&mut link, &json!({"cwd": peer.cwd()}))?;
                expect(
                    has(&here, &name),
                    "the session in the list of its folder",
                    format!("{here:?}"),
                )?;
                let elsewhere = all(&mut link, &json!({"cwd": "/kit/none"}))?;
                expect(
                    !has(&elsewhere, &name),
                    "no session of another folder",
                    format!("{elsewhere:?}"),
                )
            },
        ),
        profile(
            "list",
            "L-12",
            CaseText(
                "titles are texts, and times are of ISO 8601",
                "Session List",
                "the editor sorts by them",
            ),
            |peer| {
                let (mut link, _, _) = loaded(peer, LIST)?;
                let is_time = |text: &str| {
                    let digits = |from: usize, to: usize| {
                        text.get(from..to).is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit()))
                    };
                    digits(0, 4)
                        && digits(5, 7)
                        && digits(8, 10)
                        && text.as_bytes().get(10) == Some(&b'T')
                };
                let is_whole = |it: &Value| {
                    let (title, time) = (&it["title"], &it["updatedAt"]);
                    (title.is_null() || title.is_string())
                        && (time.is_null() || time.as_str().is_some_and(is_time))
                };
                let sessions = all(&mut link, &json!({}))?;
                let broken = sessions.iter().find(|it| !is_whole(it));
                expect(broken.is_none(), "titles and times", format!("{broken:?}"))
            },
        ),
        should(
            "L-13",
            CaseText(
                "a cursor that nobody gave is refused",
                "Session List",
                "a list that begins anew never ends",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.needs(LIST)?;
                link.refused("session/list", &json!({"cursor": "kit none"})).map(drop)
            },
        ),
        profile(
            "delete",
            "L-14",
            CaseText(
                "a deleted session is not listed",
                "Session List",
                "people think that it is gone",
            ),
            |peer| {
                let (mut link, name, _) = loaded(peer, DELETE)?;
                link.needs(LIST)?;
                link.ok("session/delete", &json!({"sessionId": name}))?;
                let sessions = all(&mut link, &json!({}))?;
                expect(!has(&sessions, &name), "a list without it", format!("{sessions:?}"))
            },
        ),
    ]
}

fn close() -> Vec<AgentCase> {
    vec![
        profile(
            "close",
            "L-20",
            CaseText(
                "a closed session takes no prompt",
                "Session Setup",
                "what was freed would be used",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.needs(CLOSE)?;
                let name = link.session.clone();
                link.ok("session/close", &json!({"sessionId": name}))?;
                let blocks = json!([{"type": "text", "text": "x"}]);
                link.refused("session/prompt", &json!({"sessionId": name, "prompt": blocks}))
                    .map(drop)
            },
        ),
        profile(
            "close",
            "L-21",
            CaseText(
                "a session that is not there is not closed, and the agent lives on",
                "Session Setup",
                "an editor may close twice",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.needs(CLOSE)?;
                link.call("session/close", &json!({"sessionId": "kit-none"}))?;
                link.is_alive()
            },
        ),
        profile(
            "close",
            "L-22",
            CaseText(
                "closing a session ends what runs in it",
                "Session Setup",
                "work would go on that nobody sees, and cost",
            ),
            close_running,
        ),
        profile(
            "close",
            "L-23",
            CaseText(
                "other sessions go on when one is closed",
                "Session Setup",
                "people close one of many",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.needs(CLOSE)?;
                let first = link.session.clone();
                peer.new_session(&mut link)?;
                link.ok("session/close", &json!({"sessionId": first}))?;
                let reason = link.prompt(&peer.prompts.plain)?;
                expect(reason == "end_turn", "`end_turn`", reason)
            },
        ),
    ]
}

fn close_running(peer: &mut AgentUnderTest) -> Checked {
    let slow = peer.slow()?.to_owned();
    let mut link = peer.open()?;
    link.needs(CLOSE)?;
    let prompt = link.begin_prompt(&json!([{"type": "text", "text": slow}]))?;
    link.settle()?;
    let name = link.session.clone();
    link.ok("session/close", &json!({"sessionId": name}))?;
    let answer = link.answer(&prompt)?;
    if answer.get("error").is_some() {
        return Ok(());
    }
    let reason = stop_reason(&answer)?;
    expect(reason == "cancelled", "`cancelled`", reason)
}
