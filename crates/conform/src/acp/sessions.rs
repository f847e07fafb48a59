//! Sessions that are made: `session/new`, and what a new one says about itself.
//!
//! long: each list of cases is one table.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{AgentCase, CaseText, expect, must, profile, should};
use crate::case::CheckFinding;

pub(super) fn cases() -> Vec<AgentCase> {
    vec![
        must(
            "S-01",
            CaseText("a new session has an id", "Session Setup", "everything else names it"),
            |peer| peer.open().map(drop),
        ),
        must(
            "S-02",
            CaseText(
                "two sessions have two ids",
                "Session Setup",
                "the words of one would be shown in the other",
            ),
            |peer| {
                let mut link = peer.open()?;
                let first = link.session.clone();
                let second = peer.new_session(&mut link)?;
                expect(first != second, "another id", second)
            },
        ),
        must(
            "S-03",
            CaseText(
                "a session of another process has another id",
                "Session Setup",
                "an editor keeps ids for longer than a process lives",
            ),
            |peer| {
                let first = peer.open()?.session;
                let second = peer.open()?.session;
                expect(first != second, "another id", second)
            },
        ),
        should(
            "S-04",
            CaseText(
                "a folder that is not absolute is refused",
                "Session Setup",
                "the agent would work in another place than the editor shows",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.refused("session/new", &json!({"cwd": "some/where", "mcpServers": []}))
                    .map(drop)
            },
        ),
        must(
            "S-05",
            CaseText(
                "a session without a folder is refused",
                "Session Setup",
                "nobody chose where the agent works",
            ),
            |peer| {
                let mut link = peer.greet()?;
                link.refused("session/new", &json!({"mcpServers": []})).map(drop)
            },
        ),
        should(
            "S-06",
            CaseText(
                "MCP servers on standard input and output are no reason to refuse",
                "Session Setup",
                "editors hand on what their user has set up",
            ),
            |peer| {
                let mut link = peer.greet()?;
                let server = json!({"name": "kit", "command": "/bin/true", "args": [], "env": []});
                let mut place = peer.place();
                place["mcpServers"] = json!([server]);
                link.ok("session/new", &place).map(drop)
            },
        ),
        must(
            "S-07",
            CaseText(
                "a prompt to a session that is not there is refused",
                "Prompt Turn",
                "it would be answered out of nothing",
            ),
            |peer| {
                let mut link = peer.open()?;
                let blocks = json!([{"type": "text", "text": "x"}]);
                link.refused("session/prompt", &json!({"sessionId": "kit-none", "prompt": blocks}))
                    .map(drop)
            },
        ),
        should(
            "S-08",
            CaseText(
                "what is not offered is refused",
                "Initialization",
                "an editor that is told yes shows what is not there",
            ),
            |peer| {
                let mut link = peer.open()?;
                let params = peer.place_of("kit-none");
                for (offer, method) in [
                    ("loadSession", "session/load"),
                    ("sessionCapabilities.resume", "session/resume"),
                    ("sessionCapabilities.close", "session/close"),
                    ("sessionCapabilities.delete", "session/delete"),
                    ("sessionCapabilities.list", "session/list"),
                    ("auth.logout", "logout"),
                ] {
                    if !link.offers(offer) {
                        link.refused(method, &params)?;
                    }
                }
                Ok(())
            },
        ),
        profile(
            "modes",
            "S-09",
            CaseText(
                "the current mode is one of the modes, each with an id of its own",
                "Session Modes",
                "the editor's menu would show nothing",
            ),
            |peer| {
                let mut link = peer.greet()?;
                let made = link.ok("session/new", &peer.place())?;
                let modes = &made["modes"];
                let listed = modes["availableModes"].as_array().cloned().unwrap_or_default();
                if modes.is_null() {
                    return Err(CheckFinding::unoffered("a new session has no modes"));
                }
                let ids: BTreeSet<&str> =
                    listed.iter().filter_map(|it| it["id"].as_str()).collect();
                let is_whole =
                    ids.len() == listed.len() && listed.iter().all(|it| it["name"].is_string());
                let is_known = modes["currentModeId"].as_str().is_some_and(|it| ids.contains(it));
                expect(is_whole && is_known, "modes with ids and names, and a current one", modes)
            },
        ),
        profile(
            "options",
            "S-10",
            CaseText(
                "options have an id, a name, and a value that can be chosen",
                "Session Config Options",
                "the editor's menu would show nothing",
            ),
            |peer| {
                let mut link = peer.greet()?;
                let made = link.ok("session/new", &peer.place())?;
                let options = made["configOptions"].as_array().cloned().unwrap_or_default();
                if options.is_empty() {
                    return Err(CheckFinding::unoffered("a new session has no options"));
                }
                let is_whole = |option: &Value| {
                    let is_named = option["id"].is_string() && option["name"].is_string();
                    is_named && super::settings::can_be_chosen(option, &option["currentValue"])
                };
                expect(options.iter().all(is_whole), "whole options", &made["configOptions"])
            },
        ),
    ]
}
