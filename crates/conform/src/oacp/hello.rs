//! The two hellos (section 6).
//!
//! long: each list of cases is one table, a requirement after the other.

use bridle_sexp::Value;

use super::Daemon;
use crate::case::{Case, Checked, Level};

pub(super) fn cases() -> Vec<Case<Daemon>> {
    let mut all = theirs();
    all.extend(ours());
    all
}

fn theirs() -> Vec<Case<Daemon>> {
    vec![
        Case::new(
            "H-01",
            Level::Must,
            "6",
            "the hello begins with the three fields of old versions, in their order",
            "old clients compare it",
            |peer: &mut Daemon| {
                let hello = peer.open()?.hello;
                let begins = "(:type :event :payload (:action :handshake :version \"";
                let is_so = hello.text.to_ascii_lowercase().starts_with(begins);
                hello.has(
                    is_so && hello.text.contains("\" :capabilities "),
                    "`:action :handshake :version \"..\" :capabilities ..` first",
                )
            },
        ),
        Case::new(
            "H-02",
            Level::Must,
            "6",
            "capabilities are keywords, or nil",
            "clients look for theirs in the list",
            |peer: &mut Daemon| {
                let hello = peer.open()?.hello;
                let is_list = match hello.payload("capabilities") {
                    Value::Nil => true,
                    Value::List(items) => items.iter().all(|item| item.as_keyword().is_some()),
                    _ => false,
                };
                hello.has(is_list, "a list of keywords")
            },
        ),
        Case::new(
            "H-03",
            Level::Must,
            "6",
            "`:auth` is offered only where frames are signed",
            "what is offered and off misleads clients",
            |peer: &mut Daemon| {
                let link = peer.open()?;
                let hello = &link.hello;
                hello.has(
                    !link.offers("auth") && hello.payload("auth").is_nil(),
                    "no `:auth` on an unsigned connection",
                )
            },
        ),
        Case::new(
            "H-04",
            Level::Must,
            "6",
            "the hello says its limits",
            "clients must know how much they may send",
            |peer: &mut Daemon| {
                let hello = peer.open()?.hello;
                let limits = hello.payload("limits");
                let all = ["max-frame", "max-message", "max-depth"];
                let are_there = all.iter().all(|key| {
                    limits.get(key).and_then(Value::as_i64).is_some_and(|limit| limit > 0)
                });
                hello.has(are_there, "`:limits` with `:max-frame`, `:max-message` and `:max-depth`")
            },
        ),
        Case::new(
            "H-05",
            Level::Should,
            "6",
            "the hello names the program",
            "people ask which version it was",
            |peer: &mut Daemon| {
                let hello = peer.open()?.hello;
                hello.has(hello.payload("server").as_str().is_some(), "`:server`")
            },
        ),
        Case::new(
            "H-06",
            Level::Must,
            "6",
            "no client's hello is waited for",
            "netcat just begins",
            |peer: &mut Daemon| peer.open()?.is_alive(),
        ),
    ]
}

fn ours() -> Vec<Case<Daemon>> {
    let refused = |id, title, fields: &'static str| {
        let why = "a setting that was not understood does not hold, and the client must know";
        Case::new(id, Level::Must, "6", title, why, move |peer: &mut Daemon| {
            let mut link = peer.open()?;
            let text = format!("(:type :EVENT :payload (:action :handshake {fields}))");
            link.ask(&text)?.is_error_of(&["invalid-value", "wrong-type"])?;
            link.is_alive()
        })
    };
    vec![
        Case::new(
            "H-10",
            Level::Must,
            "6",
            "a hello is answered with what holds from now on",
            "a client must know what was understood",
            |peer: &mut Daemon| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :length :bytes :dialect :emacs :max-frame 65536))")?;
                heard
                    .has(heard.payload("action").is_keyword("handshake"), "`:action :handshake`")?;
                heard.has(heard.payload("length").is_keyword("bytes"), "`:length :bytes`")?;
                heard.has(heard.payload("dialect").is_keyword("emacs"), "`:dialect :emacs`")?;
                heard.has(heard.payload("max-frame").as_i64() == Some(65536), "`:max-frame 65536`")
            },
        ),
        Case::new(
            "H-11",
            Level::Must,
            "6",
            "a hello without fields is a hello",
            "every field is optional",
            |peer: &mut Daemon| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :EVENT :payload (:action :handshake))")?;
                heard
                    .has(heard.payload("action").is_keyword("handshake"), "`:action :handshake`")?;
                link.is_alive()
            },
        ),
        Case::new(
            "H-12",
            Level::Must,
            "6",
            "unknown fields of a hello are ignored",
            "later versions add some",
            |peer: &mut Daemon| {
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
        Case::new(
            "H-18",
            Level::Must,
            "6",
            "a text of more than 256 bytes in a hello is refused",
            "hellos are kept, so they are bounded",
            |peer: &mut Daemon| {
                let mut link = peer.open()?;
                let text = format!(
                    "(:type :EVENT :payload (:action :handshake :client \"{}\"))",
                    "c".repeat(257)
                );
                link.ask(&text)?.is_error("invalid-value")?;
                link.is_alive()
            },
        ),
        Case::new(
            "H-19",
            Level::Must,
            "6",
            "a client's largest frame is kept to",
            "editors cannot take more without freezing",
            small_frames,
        ),
        Case::new(
            "H-20",
            Level::Must,
            "3",
            "in the dialect of Emacs `\\n` is a newline",
            "texts would lose their lines",
            |peer: &mut Daemon| {
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
fn small_frames(peer: &mut Daemon) -> Checked {
    let mut link = peer.open()?;
    link.ask("(:type :EVENT :payload (:action :handshake :max-frame 1024))")?.is("response")?;
    link.say("(:type :health-check :detail t)")?;
    let heard = link.hear_until("an answer", |heard| {
        heard.is_type("health-response") || heard.code().is_some() || !heard.get("part").is_nil()
    })?;
    heard.has(heard.text.len() <= 1024, "a frame of at most 1,024 bytes")?;
    Ok(())
}
