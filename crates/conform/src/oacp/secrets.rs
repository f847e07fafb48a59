//! What must not come back, and what a client may not say (sections 5 and 10).

use super::DaemonUnderTest;
use super::turns::prompt;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// Messages that are refused and hold a secret at `CANARY`.
const SPILLS: [(&str, &str, &str); 8] = [
    (
        "X-01",
        "a syntax error repeats nothing of the text",
        "(:type :LOG :payload (:text \"CANARY\" #<CANARY>))",
    ),
    (
        "X-02",
        "a wrong type repeats nothing of the value",
        "(:type :EVENT :payload (:sensor \"CANARY\"))",
    ),
    ("X-03", "an unknown type is not repeated", "(:type :CANARY)"),
    (
        "X-04",
        "a value that is not in the list is not repeated",
        "(:type :EVENT :payload (:action :handshake :dialect :CANARY))",
    ),
    ("X-05", "a key of a broken message is not repeated", "(:type :EVENT :CANARY)"),
    (
        "X-06",
        "a secret in a broken hello is not repeated",
        "(:type :EVENT :payload (:action :handshake :length \"CANARY\"))",
    ),
    (
        "X-07",
        "a number that is none is not repeated",
        "(:type :health-check :x 1/0 :y \"CANARY\" :z (CANARY)",
    ),
    ("X-08", "a string that does not end is not repeated", "(:type :health-check :x \"CANARY"),
];

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let why = "errors end up in logs, and texts hold passwords";
    let spills = SPILLS.map(|(id, title, text)| {
        ConformanceCase::new(id, RequirementLevel::Must, "10", title, why, move |peer| {
            repeats_nothing(peer, text)
        })
    });
    let internal = ConformanceCase::new(
        "X-10",
        RequirementLevel::Must,
        "5",
        "keys that only a daemon has never leave it",
        "a handle of another process is a way in",
        |peer: &mut DaemonUnderTest| {
            let mut link = peer.open()?;
            link.ask(&prompt("i", "help")).and_then(|heard| {
                let text = heard.text.to_ascii_lowercase();
                let leaks = [":reply-stream", ":socket "].iter().any(|key| text.contains(key));
                heard.has(!leaks, "no `:reply-stream` and no `:socket`")
            })
        },
    );
    spills.into_iter().chain([internal]).chain(forged()).collect()
}

fn repeats_nothing(peer: &mut DaemonUnderTest, text: &str) -> Checked {
    let canary = peer.name().replace('-', "");
    let mut link = peer.open()?;
    let heard = link.ask(&text.replace("CANARY", &canary))?;
    if heard.code().is_none() {
        return Err(CheckFinding::fault(format!("expected an error, got {}", heard.brief())));
    }
    let is_clean = !heard.text.to_ascii_lowercase().contains(&canary.to_ascii_lowercase());
    heard.has(is_clean, "an error without what was sent")?;
    link.is_alive()
}

/// Cases in which a client says of itself what only a daemon may say.
fn forged() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let attach = RequirementLevel::Profile("attach");
    let why = "a client could pass for the daemon, or for somebody who said yes";
    // In the envelope and, where it would count there too, in the payload.
    let seen = |envelope: &'static str, payload: &'static str, needle: &'static str| {
        move |peer: &mut DaemonUnderTest| {
            let mut teller = peer.open()?;
            teller.needs("attach")?;
            let session = peer.name();
            super::sessions::join(&mut teller, &session, "")?;
            let mut other = peer.open()?;
            super::sessions::join(&mut other, &session, "")?;
            teller.say(&format!("(:type :EVENT :id \"f\" {envelope} :payload (:sensor :user-prompt :text \"kit-forged\" {payload}))"))?;
            let event = other.hear_until("the prompt, as another shell sees it", |heard| {
                heard.text.contains("kit-forged")
            })?;
            let leaks = event.text.to_ascii_lowercase().contains(needle);
            event.has(!leaks, &format!("an event without `{needle}`"))
        }
    };
    vec![
        ConformanceCase::new(
            "X-11",
            attach,
            "5",
            "`:approved` of a client is dropped",
            why,
            seen(":approved t", ":approved t", ":approved"),
        ),
        ConformanceCase::new(
            "X-12",
            attach,
            "5",
            "`:approved-action` of a client is dropped",
            why,
            seen(
                ":approved-action (:action :eval)",
                ":approved-action (:action :eval)",
                ":approved-action",
            ),
        ),
        ConformanceCase::new(
            "X-13",
            attach,
            "5",
            "a source that names the daemon is dropped",
            why,
            seen(":meta (:source :system)", "", ":source :system"),
        ),
        ConformanceCase::new(
            "X-14",
            attach,
            "5",
            "`:reply-stream` does not reach other shells",
            why,
            seen(":reply-stream 7", ":reply-stream 7", ":reply-stream"),
        ),
    ]
}
