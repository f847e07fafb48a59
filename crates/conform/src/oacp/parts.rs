//! Messages in parts (section 8), for daemons that offer them.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::DaemonUnderTest;
use super::link::DaemonLink;
use crate::case::{Checked, ConformanceCase, RequirementLevel};

const PARTS: RequirementLevel = RequirementLevel::Profile("parts");

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let case = |id, title, why, check: fn(&mut DaemonLink) -> Checked| {
        ConformanceCase::new(id, PARTS, "8", title, why, move |peer: &mut DaemonUnderTest| {
            let mut link = peer.open()?;
            link.needs("parts")?;
            check(&mut link)?;
            link.is_alive()
        })
    };
    vec![
        case(
            "P-01",
            "parts are joined without anything between them",
            "a large message would be another one",
            |link| {
                hello(link)?;
                send(link, "a", 1, 2, "(:type :health-ch")?;
                send(link, "a", 2, 2, "eck)")?;
                arrives(link)
            },
        ),
        case(
            "P-02",
            "parts of two messages may alternate",
            "a long message must not hold up a short one",
            |link| {
                hello(link)?;
                send(link, "a", 1, 2, "(:type :health-ch")?;
                send(link, "b", 1, 2, "(:type :STATUS ")?;
                send(link, "b", 2, 2, ":id \\\"second\\\")")?;
                link.hear_until("the answer to the second message", |heard| {
                    heard.answers("second")
                })?;
                send(link, "a", 2, 2, "eck)")?;
                arrives(link)
            },
        ),
        case("P-03", "one part may be the whole", "a sender need not count first", |link| {
            hello(link)?;
            send(link, "a", 1, 1, "(:type :health-check)")?;
            arrives(link)
        }),
        case(
            "P-04",
            "a part out of order is `part-mismatch`",
            "joined otherwise it would be another message",
            |link| {
                hello(link)?;
                send(link, "a", 2, 2, "eck)")?;
                mismatch(link)
            },
        ),
        case(
            "P-05",
            "another number of parts is `part-mismatch`",
            "nobody knows when it is whole",
            |link| {
                hello(link)?;
                send(link, "a", 1, 2, "(:type :health-ch")?;
                send(link, "a", 2, 3, "eck)")?;
                mismatch(link)
            },
        ),
        case(
            "P-06",
            "after a mismatch the message is forgotten",
            "a rest would be joined to a new one",
            |link| {
                hello(link)?;
                send(link, "a", 1, 3, "(:type :health-ch")?;
                send(link, "a", 3, 3, ")")?;
                mismatch(link)?;
                send(link, "a", 1, 2, "(:type :health-ch")?;
                send(link, "a", 2, 2, "eck)")?;
                arrives(link)
            },
        ),
        case(
            "P-07",
            "a message can be given up",
            "a sender that changes its mind must not leave a rest",
            |link| {
                hello(link)?;
                send(link, "a", 1, 2, "(:type :telegr")?;
                link.say("(:type :EVENT :part (:id \"a\" :abort t))")?;
                send(link, "a", 1, 2, "(:type :health-ch")?;
                send(link, "a", 2, 2, "eck)")?;
                arrives(link)
            },
        ),
        case(
            "P-08",
            "characters may be cut between parts where text is",
            "text of every script is sent",
            |link| {
                hello(link)?;
                send(link, "a", 1, 2, "(:type :health-check :x \\\"né")?;
                send(link, "a", 2, 2, "漢\\\")")?;
                arrives(link)
            },
        ),
        case("P-09", "part 0 is refused", "counting from two numbers joins two messages", |link| {
            hello(link)?;
            send(link, "a", 0, 2, "x")?;
            link.hear_until("an error", |heard| heard.code().is_some())?
                .is_error_of(&["part-mismatch", "invalid-value"])
        }),
        case(
            "P-10",
            "without a hello each part gets an answer",
            "such clients count answers",
            |link| {
                send(link, "a", 1, 2, "(:type :health-ch")?;
                link.hear()?.is("response")?;
                send(link, "a", 2, 2, "eck)")?;
                link.hear()?.is("health-response")
            },
        ),
    ]
}

fn hello(link: &mut DaemonLink) -> Checked {
    link.ask("(:type :EVENT :payload (:action :handshake :length :bytes))")?.is("response")
}

fn send(link: &mut DaemonLink, id: &str, n: u32, of: u32, data: &str) -> Checked {
    link.say(&format!("(:type :EVENT :part (:id \"{id}\" :n {n} :of {of}) :data \"{data}\")"))
}

fn arrives(link: &mut DaemonLink) -> Checked {
    let whole = link.hear_until("the answer to the whole message", |heard| {
        heard.is_type("health-response") || heard.code().is_some()
    })?;
    whole.is("health-response")
}

fn mismatch(link: &mut DaemonLink) -> Checked {
    let heard = link.hear_until("an error", |heard| heard.code().is_some())?;
    heard.is_error("part-mismatch")
}
