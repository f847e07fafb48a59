//! The two hellos (section 6).
//!
//! long: each list of cases is one table, a requirement after the other.

use bridle_sexp::Value;

use super::DaemonUnderTest;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let mut all = theirs();
    all.extend(ours());
    all
}

fn theirs() -> Vec<ConformanceCase<DaemonUnderTest>> {
    vec![
        ConformanceCase::new(
            "H-01",
            RequirementLevel::Must,
            "6",
            "the hello begins with the three fields of old versions, in their order",
            "old clients compare it",
            |peer: &mut DaemonUnderTest| {
                let hello = peer.open()?.hello;
                let begins = "(:type :event :payload (:action :handshake :version \"";
                let is_so = hello.text.to_ascii_lowercase().starts_with(begins);
                hello.has(
                    is_so && hello.text.contains("\" :capabilities "),
                    "`:action :handshake :version \"..\" :capabilities ..` first",
                )
            },
        ),
        ConformanceCase::new(
            "H-02",
            RequirementLevel::Must,
            "6",
            "capabilities are keywords, or nil",
            "clients look for theirs in the list",
            |peer: &mut DaemonUnderTest| {
                let hello = peer.open()?.hello;
                let is_list = match hello.payload("capabilities") {
                    Value::Nil => true,
                    Value::List(items) => items.iter().all(|item| item.as_keyword().is_some()),
                    _ => false,
                };
                hello.has(is_list, "a list of keywords")
            },
        ),
        ConformanceCase::new(
            "H-03",
            RequirementLevel::Must,
            "6",
            "`:auth` is offered only where frames are signed",
            "what is offered and off misleads clients",
            |peer: &mut DaemonUnderTest| {
                let link = peer.open()?;
                let hello = &link.hello;
                hello.has(
                    !link.offers("auth") && hello.payload("auth").is_nil(),
                    "no `:auth` on an unsigned connection",
                )
            },
        ),
        ConformanceCase::new(
            "H-04",
            RequirementLevel::Must,
            "6",
            "the hello says its limits",
            "clients must know how much they may send",
            |peer: &mut DaemonUnderTest| {
                let hello = peer.open()?.hello;
                let limits = hello.payload("limits");
                let all = ["max-frame", "max-message", "max-depth"];
                let are_there = all.iter().all(|key| {
                    limits.get(key).and_then(Value::as_i64).is_some_and(|limit| limit > 0)
                });
                hello.has(are_there, "`:limits` with `:max-frame`, `:max-message` and `:max-depth`")
            },
        ),
        ConformanceCase::new(
            "H-05",
            RequirementLevel::Should,
            "6",
            "the hello names the program",
            "people ask which version it was",
            |peer: &mut DaemonUnderTest| {
                let hello = peer.open()?.hello;
                hello.has(hello.payload("server").as_str().is_some(), "`:server`")
            },
        ),
        ConformanceCase::new(
            "H-06",
            RequirementLevel::Must,
            "6",
            "no client's hello is waited for",
            "netcat just begins",
            |peer: &mut DaemonUnderTest| peer.open()?.is_alive(),
        ),
    ]
}

fn ours() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let refused = |id, title, fields: &'static str| {
        let why = "a setting that was not understood does not hold, and the client must know";
        ConformanceCase::new(
            id,
            RequirementLevel::Must,
            "6",
            title,
            why,
            move |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let text = format!("(:type :EVENT :payload (:action :handshake {fields}))");
                link.ask(&text)?.is_error_of(&["invalid-value", "wrong-type"])?;
                link.is_alive()
            },
        )
    };
    vec![
        ConformanceCase::new(
            "H-10",
            RequirementLevel::Must,
            "6",
            "a hello is answered with what holds from now on",
            "a client must know what was understood",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :length :bytes :dialect :emacs :max-frame 65536))")?;
                heard
                    .has(heard.payload("action").is_keyword("handshake"), "`:action :handshake`")?;
                heard.has(heard.payload("length").is_keyword("bytes"), "`:length :bytes`")?;
                heard.has(heard.payload("dialect").is_keyword("emacs"), "`:dialect :emacs`")?;
                heard.has(heard.payload("max-frame").as_i64() == Some(65536), "`:max-frame 65536`")
            },
        ),
        ConformanceCase::new(
            "H-11",
            RequirementLevel::Must,
            "6",
            "a hello without fields is a hello",
            "every field is optional",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :EVENT :payload (:action :handshake))")?;
                heard
                    .has(heard.payload("action").is_keyword("handshake"), "`:action :handshake`")?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "H-12",
            RequirementLevel::Must,
            "6",
            "unknown fields of a hello are ignored",
            "later versions add some",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask(
                    "(:type :EVENT :payload (:action :handshake :teleport t :length :bytes))",
                )?;
                heard.has(heard.payload("length").is_keyword("bytes"), "`:length :bytes`")
            },
        ),
        refused("H-13", "an unknown dialect is refused", ":dialect :klingon"),
        refused("H-14", "a largest frame below 1,024 is refused", ":max-frame 1023"),
        refused("H-15", "a session that is no string is refused", ":session 7"),
        refused("H-16", "a negative cursor is refused", ":session \"kit\" :cursor -1"),
        refused("H-17", "an unknown role is refused", ":role :emperor"),
        ConformanceCase::new(
            "H-18",
            RequirementLevel::Must,
            "6",
            "a text of more than 256 bytes in a hello is refused",
            "hellos are kept, so they are bounded",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let text = format!(
                    "(:type :EVENT :payload (:action :handshake :client \"{}\"))",
                    "c".repeat(257)
                );
                link.ask(&text)?.is_error("invalid-value")?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "H-19",
            RequirementLevel::Must,
            "6",
            "a client's largest frame is kept to",
            "editors cannot take more without freezing",
            small_frames,
        ),
        ConformanceCase::new(
            "H-20",
            RequirementLevel::Must,
            "3",
            "in the dialect of Emacs `\\n` is a newline",
            "texts would lose their lines",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask("(:type :EVENT :payload (:action :handshake :dialect :emacs))")?
                    .is("response")?;
                // In this dialect a backslash and an `x` begin a number in hex.
                link.say("(:type :health-check :x \"a\\nb\\x41\\ c\" :y ?a)")?;
                link.hear_until("a health-response", |heard| heard.is_type("health-response"))
                    .map(|_| ())
            },
        ),
    ]
}

/// Every frame after a hello with a small limit is that small.
fn small_frames(peer: &mut DaemonUnderTest) -> Checked {
    let mut link = peer.open()?;
    link.ask("(:type :EVENT :payload (:action :handshake :max-frame 1024))")?.is("response")?;
    link.say("(:type :health-check :detail t)")?;
    let heard = link.hear_until("an answer", |heard| {
        heard.is_type("health-response") || heard.code().is_some() || !heard.get("part").is_nil()
    })?;
    heard.has(heard.text.len() <= 1024, "a frame of at most 1,024 bytes")?;
    Ok(())
}
