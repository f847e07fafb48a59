//! Messages: envelopes, ids, keys and the errors about them (sections 5, 7 and 10).
//!
//! long: a list of cases.

use super::DaemonUnderTest;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

/// Messages that are refused: id, what is wrong, the message, the code.
const WRONG: [(&str, &str, &str, &str); 14] = [
    ("M-10", "an atom is no message", "42", "not-a-plist"),
    ("M-11", "a list without keywords is no message", "(a b)", "not-a-plist"),
    ("M-12", "a key without a value is no message", "(:type :health-check :x)", "not-a-plist"),
    ("M-13", "a dotted list is no message", "(:type . :health-check)", "not-a-plist"),
    ("M-14", "a message has a type", "(:payload (:sensor :user-prompt))", "missing-key"),
    ("M-15", "an unknown type is refused", "(:type :telegram)", "unknown-type"),
    ("M-16", "an event has a payload", "(:type :EVENT)", "missing-key"),
    ("M-17", "an event has a sensor or an action", "(:type :EVENT :payload (:x 1))", "missing-key"),
    ("M-18", "a sensor is a keyword", "(:type :EVENT :payload (:sensor 5))", "wrong-type"),
    (
        "M-19",
        "a request has an id or a target",
        "(:type :REQUEST :payload (:action :message :text \"x\"))",
        "missing-key",
    ),
    (
        "M-20",
        "a prompt has a text",
        "(:type :EVENT :payload (:sensor :user-prompt))",
        "missing-key",
    ),
    (
        "M-21",
        "a text is a string",
        "(:type :EVENT :payload (:sensor :user-prompt :text 5))",
        "wrong-type",
    ),
    ("M-22", "an id is an integer or a string", "(:type :STATUS :id (1))", "wrong-type"),
    ("M-23", "a payload is a plist", "(:type :EVENT :payload 5)", "not-a-plist"),
];

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let wrong = WRONG.map(|(id, title, text, code)| {
        let why = "a client learns of its mistake, and goes on";
        ConformanceCase::new(id, RequirementLevel::Must, "5", title, why, move |peer| {
            is_wrong(peer, text, code)
        })
    });
    let mut all = health();
    all.extend(envelopes());
    all.extend(wrong);
    all.extend(ids());
    all
}

fn is_wrong(peer: &mut DaemonUnderTest, text: &str, code: &str) -> Checked {
    let mut link = peer.open()?;
    // Where a wrong type is named differently the place still tells, so either word will do.
    let codes: &[&str] = match code {
        "not-a-plist" | "wrong-type" => &["not-a-plist", "wrong-type"],
        code => &[code],
    };
    link.ask(text)?.is_error_of(codes)?;
    link.is_alive()
}

fn health() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let why = "watchdogs compare bytes";
    vec![
        ConformanceCase::new(
            "M-01",
            RequirementLevel::Must,
            "7",
            "a health check is answered with these fields and no more",
            why,
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :health-check)")?;
                let expected = "(:type :health-response :status :healthy :checked-p t)";
                heard.has(heard.text.trim() == expected, expected)
            },
        ),
        ConformanceCase::new(
            "M-02",
            RequirementLevel::Must,
            "7",
            "a health answer has no id",
            why,
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :health-check :id 7)")?;
                heard.is("health-response")?;
                heard.has(heard.get("id").is_nil(), "no id")
            },
        ),
        ConformanceCase::new(
            "M-03",
            RequirementLevel::Should,
            "7",
            "`:detail t` gives a plist of details",
            "people want to know why it is not well",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :health-check :detail t)")?;
                let detail = heard.get("detail");
                heard.has(
                    detail.get("server").is_some() && detail.get("limits").is_some(),
                    "`:detail` with `:server` and `:limits`",
                )
            },
        ),
    ]
}

fn envelopes() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let same = |id, title, text: &'static str| {
        let why = "what does not change the meaning must not change the answer";
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            "5",
            title,
            why,
            move |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask(text)?.is("health-response")
            },
        )
    };
    vec![
        same("M-04", "keywords match ignoring case", "(:TYPE :Health-Check)"),
        same("M-05", "the order of keys is free", "(:x 1 :meta nil :type :health-check)"),
        same("M-06", "the first of two same keys counts", "(:type :health-check :type :telegram)"),
        same(
            "M-07",
            "unknown keys are ignored",
            "(:type :health-check :com.example/x (1 \"two\" three))",
        ),
        ConformanceCase::new(
            "M-08",
            RequirementLevel::Must,
            "5",
            "a key whose value is nil counts as absent",
            "printers write nil for what is not there",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask("(:type :EVENT :id nil :meta nil :payload nil)")?
                    .is_error("missing-key")?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "M-09",
            RequirementLevel::Must,
            "10",
            "an error about a key names its path",
            "people look for it in kilobytes",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :EVENT :id 7 :payload (:sensor 5))")?;
                heard.is_error("wrong-type")?;
                let path = heard.payload("at").get("path");
                let is_there = path.is_some_and(|path| {
                    path.to_string().eq_ignore_ascii_case("(:payload :sensor)")
                });
                heard.has(is_there, "the path (:payload :sensor)")
            },
        ),
    ]
}

fn ids() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let echoed = |id, title, sent: &'static str| {
        let why = "a client with several questions under way mixes up the answers";
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            "5",
            title,
            why,
            move |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask(&format!("(:type :STATUS :id {sent})"))?;
                heard.is("response")?;
                heard.has(heard.get("id").to_string() == sent, &format!("the id {sent}"))
            },
        )
    };
    vec![
        echoed("M-30", "an integer id comes back", "7"),
        echoed("M-31", "a negative id comes back", "-7"),
        echoed("M-32", "the largest id comes back", "9223372036854775807"),
        echoed("M-33", "a string id comes back", "\"a b\""),
        echoed("M-34", "an id of another script comes back", "\"né 漢\""),
        ConformanceCase::new(
            "M-35",
            RequirementLevel::Must,
            "5",
            "an id of more than 256 bytes is refused",
            "ids are kept, so they are bounded",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask(&format!("(:type :STATUS :id \"{}\")", "i".repeat(257)))?
                    .is_error("invalid-value")?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "M-36",
            RequirementLevel::Must,
            "10",
            "what could not be read is answered with id nil",
            "an id that was guessed answers the wrong question",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :STATUS :id 7 :x #<a>)")?;
                heard.is_error("syntax")?;
                heard.has(heard.get("id").is_nil(), "id nil")
            },
        ),
        ConformanceCase::new(
            "M-37",
            RequirementLevel::Must,
            "5",
            "an answer to nothing that was asked is `unknown-id`",
            "whoever answers must learn that nobody waits",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask("(:type :RESPONSE :id \"kit-nobody-asked\" :payload (:status :success))")?
                    .is_error_of(&["unknown-id", "not-permitted", "unknown-session"])?;
                link.is_alive()
            },
        ),
    ]
}
