//! Sessions: hello with a name and a cursor, numbered events, receipts and repeats (section 12).
//! For daemons that offer `:attach`.
//!
//! long: each list of cases is one table, a requirement after the other.

use std::collections::BTreeSet;

use super::DaemonUnderTest;
use super::heard::HeardMessage;
use super::link::{DaemonLink, NextFrame, QUIET};
use super::turns::prompt;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const ATTACH: RequirementLevel = RequirementLevel::Profile("attach");

/// Says hello with a session and more fields; gives the answer.
pub(super) fn join(
    link: &mut DaemonLink,
    session: &str,
    more: &str,
) -> Result<HeardMessage, CheckFinding> {
    let text = format!(
        "(:type :EVENT :payload (:action :handshake :length :bytes :session \"{session}\" {more}))"
    );
    let heard = link.ask(&text)?;
    heard.is_success()?;
    Ok(heard)
}

fn enter(peer: &DaemonUnderTest, session: &str, more: &str) -> Result<DaemonLink, CheckFinding> {
    let mut link = peer.open()?;
    link.needs("attach")?;
    join(&mut link, session, more)?;
    Ok(link)
}

fn answer(link: &mut DaemonLink, id: &str) -> Result<HeardMessage, CheckFinding> {
    link.hear_until(&format!("the answer to `{id}`"), |heard| heard.answers(id))
}

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let mut all = attaching();
    all.extend(numbers());
    all.extend(receipts());
    all
}

fn case(
    id: &'static str,
    title: &'static str,
    why: &'static str,
    check: fn(&mut DaemonUnderTest) -> Checked,
) -> ConformanceCase<DaemonUnderTest> {
    ConformanceCase::new(id, ATTACH, "12", title, why, check)
}

fn attaching() -> Vec<ConformanceCase<DaemonUnderTest>> {
    vec![
        case(
            "S-01",
            "a hello without a session gets one, and its name",
            "a shell must be able to come back",
            |peer| {
                let mut link = peer.open()?;
                link.needs("attach")?;
                let heard = link.ask("(:type :EVENT :payload (:action :handshake))")?;
                heard.is_success()?;
                heard.has(
                    heard.payload("session").as_str().is_some_and(|name| !name.is_empty()),
                    "the name of a session",
                )
            },
        ),
        case(
            "S-02",
            "a hello gets the session that it names",
            "a shell would talk into another conversation",
            |peer| {
                let mut link = peer.open()?;
                link.needs("attach")?;
                let session = peer.name();
                let heard = join(&mut link, &session, "")?;
                heard.has(
                    heard.payload("session").as_str() == Some(&session),
                    "the session that was named",
                )?;
                heard.has(heard.payload("seq").as_i64() == Some(0), "`:seq 0` in a new session")
            },
        ),
        case("S-03", "a name that is none is refused", "names end up in paths and lists", |peer| {
            let mut link = peer.open()?;
            link.needs("attach")?;
            for name in ["../etc", "a b", ""] {
                let text =
                    format!("(:type :EVENT :payload (:action :handshake :session \"{name}\"))");
                link.ask(&text)?.is_error("invalid-value")?;
            }
            link.is_alive()
        }),
        case(
            "S-04",
            "a name of more than 64 characters is refused",
            "names are kept, so they are bounded",
            |peer| {
                let mut link = peer.open()?;
                link.needs("attach")?;
                let text = format!(
                    "(:type :EVENT :payload (:action :handshake :session \"{}\"))",
                    "s".repeat(65)
                );
                link.ask(&text)?.is_error("invalid-value")
            },
        ),
        case("S-05", "an observer may say nothing", "who may only look must not act", |peer| {
            let session = peer.name();
            let _owner = enter(peer, &session, "")?;
            let mut link = enter(peer, &session, ":role :observer")?;
            link.say(&prompt("o", "help"))?;
            answer(&mut link, "o")?.is_error("not-permitted")
        }),
        case("S-06", "an observer hears everything", "that is what it is there for", |peer| {
            let session = peer.name();
            let mut owner = enter(peer, &session, "")?;
            let mut link = enter(peer, &session, ":role :observer")?;
            owner.say(&prompt("p", "help"))?;
            link.hear_until("the prompt", |heard| heard.seq() == Some(1)).map(|_| ())
        }),
        case("S-07", "a second hello attaches anew", "a shell may change its session", |peer| {
            let (one, two) = (peer.name(), peer.name());
            let mut link = enter(peer, &one, "")?;
            let text = format!("(:type :EVENT :payload (:action :handshake :session \"{two}\"))");
            link.say(&text)?;
            let heard = link.hear_until("the answer to the second hello", |heard| {
                heard.payload("action").is_keyword("handshake")
            })?;
            heard.has(heard.payload("session").as_str() == Some(&two), "the second session")
        }),
        case(
            "S-08",
            "sessions do not hear each other",
            "private conversations would mix",
            |peer| {
                let (one, two) = (peer.name(), peer.name());
                let mut first = enter(peer, &one, "")?;
                let mut second = enter(peer, &two, "")?;
                first.say(&prompt("p", "help"))?;
                answer(&mut first, "p")?;
                second.is_quiet()
            },
        ),
    ]
}

fn numbers() -> Vec<ConformanceCase<DaemonUnderTest>> {
    vec![
        case(
            "S-10",
            "another shell sees the prompt and its answer, with numbers",
            "two shells must show the same conversation",
            |peer| {
                let session = peer.name();
                let mut one = enter(peer, &session, "")?;
                let mut two = enter(peer, &session, "")?;
                one.say(&prompt("p", "help"))?;
                let said = two.hear_until("the prompt", |heard| heard.seq() == Some(1))?;
                said.has(said.payload("text").as_str() == Some("help"), "the text of the prompt")?;
                let told = two
                    .hear_until("its answer", |heard| heard.meta("answers").as_i64() == Some(1))?;
                told.is("event")
            },
        ),
        case(
            "S-11",
            "an answer carries its number and that of the prompt",
            "a shell could not place it",
            |peer| {
                let session = peer.name();
                let mut link = enter(peer, &session, "")?;
                link.say(&prompt("p", "help"))?;
                let heard = answer(&mut link, "p")?;
                heard.has(heard.meta("answers").as_i64() == Some(1), "`:answers 1`")?;
                heard.has(
                    heard.seq().is_some_and(|seq| seq > 1),
                    "a number after that of the prompt",
                )
            },
        ),
        case(
            "S-12",
            "a cursor brings every event after it, once, in order, without gaps",
            "a shell that was away would miss something",
            tail_is_dense,
        ),
        case(
            "S-13",
            "a cursor in the middle brings the rest alone",
            "a shell would show things twice",
            |peer| {
                let session = peer.name();
                let head = talk(peer, &session, 3)?;
                let mut link = enter(peer, &session, &format!(":cursor {}", head - 1))?;
                let heard = link.hear_until("the last event", |heard| heard.seq().is_some())?;
                heard.has(heard.seq() == Some(head), "the last event alone")?;
                link.is_quiet()
            },
        ),
        case(
            "S-14",
            "a cursor beyond the last number counts as the last",
            "a shell with a newer copy must not wait for ever",
            |peer| {
                let session = peer.name();
                let head = talk(peer, &session, 1)?;
                let mut link = enter(peer, &session, &format!(":cursor {}", head + 1_000))?;
                link.is_quiet()?;
                link.say(&prompt("later", "help"))?;
                answer(&mut link, "later").map(|_| ())
            },
        ),
        case(
            "S-15",
            "without a cursor nothing of the past comes",
            "a new shell did not ask for it",
            |peer| {
                let session = peer.name();
                talk(peer, &session, 2)?;
                enter(peer, &session, "")?.is_quiet()
            },
        ),
        case(
            "S-16",
            "the answer to a hello says the last number",
            "a shell must know how far it is behind",
            |peer| {
                let session = peer.name();
                let head = talk(peer, &session, 2)?;
                let mut link = peer.open()?;
                let heard = join(&mut link, &session, "")?;
                heard.has(heard.payload("seq").as_i64() == Some(head), &format!("`:seq {head}`"))
            },
        ),
        case("S-17", "an interrupt is answered", "each message is", |peer| {
            let session = peer.name();
            let mut link = enter(peer, &session, "")?;
            link.say("(:type :EVENT :id \"int\" :payload (:sensor :interrupt))")?;
            answer(&mut link, "int").map(|_| ())
        }),
        case(
            "S-18",
            "in the tail a shell knows its own messages by `:own` and their ids",
            "it would show them as somebody else's",
            |peer| {
                let (session, client) = (peer.name(), peer.name());
                let more = format!(":client \"{client}\"");
                let mut link = enter(peer, &session, &more)?;
                link.say(&prompt("mine", "help"))?;
                answer(&mut link, "mine")?;
                drop(link);
                let mut back = enter(peer, &session, &format!("{more} :cursor 0"))?;
                let said =
                    back.hear_until("the prompt in the tail", |heard| heard.seq() == Some(1))?;
                said.has(said.text.contains("\"mine\""), "the id of the prompt")?;
                said.has(!said.meta("own").is_nil(), "`:own t`")
            },
        ),
    ]
}

/// Has some prompts answered; gives the last number.
fn talk(peer: &DaemonUnderTest, session: &str, prompts: usize) -> Result<i64, CheckFinding> {
    let mut link = enter(peer, session, "")?;
    let mut head = 0;
    for index in 0..prompts {
        let id = format!("talk{index}");
        link.say(&prompt(&id, "help"))?;
        head = answer(&mut link, &id)?.seq().unwrap_or(head);
    }
    // What else is said of the last prompt has a number, too.
    while let NextFrame::Message(heard) = link.next(QUIET)? {
        head = heard.seq().unwrap_or(head);
    }
    Ok(head)
}

fn tail_is_dense(peer: &mut DaemonUnderTest) -> Checked {
    let session = peer.name();
    let head = talk(peer, &session, 5)?;
    let mut link = enter(peer, &session, ":cursor 0")?;
    let mut expected = 1;
    while expected <= head {
        let heard = link.hear_until("the next event", |heard| heard.seq().is_some())?;
        heard.has(heard.seq() == Some(expected), &format!("event {expected}"))?;
        expected += 1;
    }
    link.is_quiet()
}

fn receipts() -> Vec<ConformanceCase<DaemonUnderTest>> {
    vec![
        case(
            "S-20",
            "with `:receipts t` a message gets a receipt",
            "a shell must know what survives a crash",
            |peer| {
                let session = peer.name();
                let mut link = enter(peer, &session, ":receipts t")?;
                link.say(&prompt("r", "help"))?;
                receipt(&mut link, "r").map(|_| ())
            },
        ),
        case(
            "S-21",
            "the same message again is not done again",
            "a shell that was cut off sends again",
            |peer| {
                let (session, client) = (peer.name(), peer.name());
                let more = format!(":receipts t :client \"{client}\"");
                let mut link = enter(peer, &session, &more)?;
                link.say(&prompt("r", "help"))?;
                let first = receipt(&mut link, "r")?;
                answer(&mut link, "r")?;
                drop(link);
                let mut back = enter(peer, &session, &more)?;
                back.say(&prompt("r", "help"))?;
                let second = receipt(&mut back, "r")?;
                second.has(second.payload("seq") == first.payload("seq"), "the same number")?;
                prompts_of(peer, &session, 1)
            },
        ),
        case(
            "S-22",
            "the same id with another body is `id-conflict`",
            "an answer to another question would come",
            |peer| {
                let (session, client) = (peer.name(), peer.name());
                let mut link = enter(peer, &session, &format!(":receipts t :client \"{client}\""))?;
                link.say(&prompt("r", "help"))?;
                answer(&mut link, "r")?;
                link.say(&prompt("r", "status"))?;
                link.hear_until("an error", |heard| heard.code().is_some())?.is_error("id-conflict")
            },
        ),
        case("S-23", "another client may use the same id", "many clients count from 1", |peer| {
            let session = peer.name();
            for _ in 0..2 {
                let client = peer.name();
                let mut link = enter(peer, &session, &format!(":receipts t :client \"{client}\""))?;
                link.say(&prompt("1", "help"))?;
                answer(&mut link, "1")?;
            }
            prompts_of(peer, &session, 2)
        }),
        case(
            "S-24",
            "without a client there are no repeats",
            "many clients count from 1 each time they start",
            |peer| {
                let session = peer.name();
                for _ in 0..2 {
                    let mut link = enter(peer, &session, "")?;
                    link.say(&prompt("1", "help"))?;
                    answer(&mut link, "1")?;
                }
                prompts_of(peer, &session, 2)
            },
        ),
    ]
}

fn receipt(link: &mut DaemonLink, id: &str) -> Result<HeardMessage, CheckFinding> {
    link.hear_until("a receipt", |heard| {
        let is_own = heard.get("id").as_str() == Some(id);
        heard.is_type("status") && is_own && heard.payload("status").is_keyword("admitted")
    })
}

/// Checks how many prompts a session holds.
fn prompts_of(peer: &DaemonUnderTest, session: &str, expected: usize) -> Checked {
    let mut link = enter(peer, session, ":cursor 0")?;
    let mut prompts = BTreeSet::new();
    while let NextFrame::Message(heard) = link.next(QUIET)? {
        if heard.payload("sensor").is_keyword("user-prompt") {
            prompts.extend(heard.seq());
        }
    }
    let count = prompts.len();
    if count == expected {
        return Ok(());
    }
    Err(CheckFinding::fault(format!("expected {expected} prompts in the session, got {count}")))
}
