//! JSON-RPC on lines.
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::{AgentCase, AgentUnderTest, CaseText, expect, must, should};
use crate::case::Checked;

pub(super) fn cases() -> Vec<AgentCase> {
    vec![
        must(
            "J-01",
            CaseText(
                "an unknown method is answered with -32601",
                "JSON-RPC 2.0",
                "an editor that is newer must know what an agent cannot do",
            ),
            |peer| {
                let code = peer.greet()?.refused("kit/none", &json!({}))?;
                expect(code == -32601, "the code -32601", code)
            },
        ),
        must(
            "J-02",
            CaseText(
                "an unknown method that begins with `_` is answered with -32601",
                "Extensibility",
                "extensions are tried out by calling them",
            ),
            |peer| {
                let code = peer.greet()?.refused("_kit.example/none", &json!({}))?;
                expect(code == -32601, "the code -32601", code)
            },
        ),
        must(
            "J-03",
            CaseText(
                "an unknown notification is passed over",
                "Extensibility",
                "an editor that is newer says more",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.notify("kit/none", &json!({"a": 1}))?;
                link.notify("_kit.example/none", &json!({}))?;
                link.is_alive()
            },
        ),
        must(
            "J-04",
            CaseText(
                "an id that is a string comes back as it was",
                "JSON-RPC 2.0",
                "an editor finds its request by the id",
            ),
            |peer| same_id(peer, &json!("kit \u{e9}\" \\ 7")),
        ),
        must(
            "J-05",
            CaseText(
                "a large id comes back as it was",
                "JSON-RPC 2.0",
                "an id that was rounded belongs to nothing",
            ),
            |peer| same_id(peer, &json!(9_007_199_254_740_991_i64)),
        ),
        must(
            "J-06",
            CaseText(
                "the agent lives on after a line that is no JSON",
                "Transports",
                "one bad line must not cost a session",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.raw("{\"jsonrpc\": \"2.0\", \"id\"")?;
                link.raw("\u{7}")?;
                link.is_alive()
            },
        ),
        should(
            "J-07",
            CaseText(
                "a line that is no JSON is answered with -32700 and without an id",
                "JSON-RPC 2.0",
                "the author of an editor sees the mistake",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.raw("{no json")?;
                let answer = link.answer(&Value::Null)?;
                expect(answer["error"]["code"] == -32700, "the code -32700", answer)
            },
        ),
        should(
            "J-08",
            CaseText(
                "a message without a method is answered with -32600",
                "JSON-RPC 2.0",
                "the author of an editor sees the mistake",
            ),
            |peer| {
                let mut link = peer.greet()?;
                let id = json!("kit-8");
                link.send(&json!({"jsonrpc": "2.0", "id": id, "method": 7}))?;
                // The id was read, or was not.
                let answers = [id, Value::Null];
                link.until("an answer", |link| answers.iter().any(|id| link.has_answer(id)))?;
                let found =
                    answers.iter().find(|id| link.has_answer(id)).cloned().unwrap_or_default();
                let answer = link.answer(&found)?;
                expect(answer["error"]["code"] == -32600, "the code -32600", answer)
            },
        ),
        must(
            "J-09",
            CaseText(
                "the agent lives on after an answer that belongs to nothing",
                "JSON-RPC 2.0",
                "an answer may come late",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.raw("{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":{}}")?;
                link.raw("{\"jsonrpc\":\"2.0\",\"id\":\"none\",\"error\":{\"code\":-32603,\"message\":\"x\"}}")?;
                link.is_alive()
            },
        ),
        must(
            "J-10",
            CaseText(
                "wrong parameters are refused",
                "JSON-RPC 2.0",
                "an agent that guesses does what nobody asked for",
            ),
            |peer| {
                let mut link = peer.open()?;
                link.refused("session/prompt", &json!({"sessionId": 7, "prompt": "text"})).map(drop)
            },
        ),
        should(
            "J-11",
            CaseText(
                "wrong parameters are refused with -32602",
                "JSON-RPC 2.0",
                "the author of an editor sees the mistake",
            ),
            |peer| {
                let mut link = peer.greet()?;
                let code = link.refused("session/new", &json!({"cwd": 7, "mcpServers": []}))?;
                expect(code == -32602, "the code -32602", code)
            },
        ),
        must(
            "J-12",
            CaseText(
                "unknown fields and `_meta` of parameters are passed over",
                "Extensibility",
                "an editor that is newer says more",
            ),
            |peer| {
                let mut link = peer.greet()?;
                let mut params = peer.place();
                params["_meta"] = json!({"kit.example": {"a": [1]}});
                params["kitUnknown"] = json!({"b": null});
                link.ok("session/new", &params).map(drop)
            },
        ),
        must(
            "J-13",
            CaseText(
                "requests that are under way together are answered each",
                "JSON-RPC 2.0",
                "an editor opens several sessions at once",
            ),
            |peer| {
                let mut link = peer.greet()?;
                let place = peer.place();
                let first = link.ask("session/new", &place)?;
                let second = link.ask("session/new", &place)?;
                let third = link.ask("kit/none", &json!({}))?;
                for id in [third, second, first] {
                    link.answer(&id)?;
                }
                Ok(())
            },
        ),
        should(
            "J-14",
            CaseText(
                "an empty line is passed over",
                "Transports",
                "some editors end a message with one too many",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.raw("")?;
                link.is_alive()
            },
        ),
        should(
            "J-15",
            CaseText(
                "the agent ends when its input does",
                "Transports",
                "agents of closed editors would fill the machine",
            ),
            |peer| peer.greet()?.ends(),
        ),
        should(
            "J-16",
            CaseText("a line of 4 MiB is answered", "Transports", "people paste files"),
            |peer| {
                let mut link = peer.greet()?;
                let id = link.ask("kit/none", &json!({"text": "x".repeat(4 << 20)}))?;
                link.answer(&id)?;
                link.is_alive()
            },
        ),
    ]
}

fn same_id(peer: &mut AgentUnderTest, id: &Value) -> Checked {
    let mut link = peer.greet()?;
    link.ask_as(id, "session/new", &peer.place())?;
    link.answer(id).map(drop)
}
