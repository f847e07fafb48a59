//! Answers: one for each frame, in order, and an end that loses none (section 12.1).
//!
//! long: each list of cases is one table, a requirement after the other.

use super::DaemonUnderTest;
use super::link::{CountUnit, NextFrame, QUIET, frame};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

/// A prompt.
pub(super) fn prompt(id: &str, text: &str) -> String {
    format!("(:type :EVENT :id \"{id}\" :payload (:sensor :user-prompt :text \"{text}\"))")
}

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    vec![
        ConformanceCase::new(
            "T-01",
            RequirementLevel::Must,
            "12.1",
            "a prompt is answered, whatever becomes of it",
            "a client without an answer waits for ever",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask(&prompt("p", "help"))?;
                heard.has(heard.answers("p"), "a `:RESPONSE` with the id")?;
                link.is_quiet()
            },
        ),
        ConformanceCase::new(
            "T-02",
            RequirementLevel::Must,
            "12.1",
            "each frame gets one answer, in order, errors too",
            "clients without ids count answers",
            in_order,
        ),
        ConformanceCase::new(
            "T-03",
            RequirementLevel::Must,
            "12.1",
            "who ends its sending side still gets its answers",
            "that is what `nc -N` does",
            answered_after_the_end,
        ),
        ConformanceCase::new(
            "T-04",
            RequirementLevel::Must,
            "7",
            "health is answered while a prompt is worked on",
            "a watchdog would kill a daemon that thinks",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.say(&prompt("p", "help"))?;
                link.say("(:type :health-check)")?;
                let (one, two) = (link.hear()?, link.hear()?);
                let both =
                    [&one, &two].iter().filter(|heard| heard.is_type("health-response")).count();
                one.has(both == 1, "one health-response and one answer")
            },
        ),
        ConformanceCase::new(
            "T-05",
            RequirementLevel::Must,
            "12",
            "connections do not wait for each other",
            "one slow client would stop all others",
            |peer: &mut DaemonUnderTest| {
                let mut links = Vec::new();
                for _ in 0..20 {
                    let mut link = peer.open()?;
                    link.raw(b"000fff(:type :EVENT")?;
                    links.push(link);
                }
                let mut link = peer.open()?;
                link.ask(&prompt("p", "help")).map(|_| ())
            },
        ),
        ConformanceCase::new(
            "T-06",
            RequirementLevel::Must,
            "5",
            "a log line and a status are answered too",
            "each frame gets one answer",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                for text in ["(:type :LOG :id 1 :payload (:text \"x\"))", "(:type :STATUS :id 2)"] {
                    link.ask(text)?.is("response")?;
                }
                link.is_quiet()
            },
        ),
        ConformanceCase::new(
            "T-07",
            RequirementLevel::Must,
            "5",
            "a target that does not exist is `unknown-target`",
            "a request that vanishes is waited for",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                link.ask("(:type :REQUEST :id 1 :target :kit-no-such-target :payload (:action :message :text \"x\"))")?
                .is_error_of(&["unknown-target", "refused", "not-permitted"])?;
                link.is_alive()
            },
        ),
        ConformanceCase::new(
            "T-08",
            RequirementLevel::Must,
            "5",
            "a request with a target and no id gets an id",
            "an answer must belong to something",
            |peer: &mut DaemonUnderTest| {
                let mut link = peer.open()?;
                let heard = link.ask("(:type :REQUEST :target :kit-no-such-target :payload (:action :message :text \"x\"))")?;
                heard.is("response")?;
                heard.has(!heard.get("id").is_nil(), "an id")
            },
        ),
    ]
}

fn in_order(peer: &mut DaemonUnderTest) -> Checked {
    let mut link = peer.open()?;
    let mut bytes = Vec::new();
    for index in 0..12 {
        let text = match index % 3 {
            0 => prompt(&format!("o{index}"), "help"),
            1 => format!("(:type :STATUS :id \"o{index}\")"),
            _ => format!("(:type :EVENT :id \"o{index}\" :payload (:sensor 5))"),
        };
        bytes.extend(frame(&text, CountUnit::Bytes));
    }
    link.raw(&bytes)?;
    for index in 0..12 {
        let heard = link.hear()?;
        heard.has(heard.answers(&format!("o{index}")), &format!("the answer to `o{index}`"))?;
    }
    link.is_quiet()
}

fn answered_after_the_end(peer: &mut DaemonUnderTest) -> Checked {
    let mut link = peer.open()?;
    link.say(&prompt("e1", "help"))?;
    link.say(&prompt("e2", "help"))?;
    link.end();
    for id in ["e1", "e2"] {
        let heard = link.hear()?;
        heard.has(heard.answers(id), &format!("the answer to `{id}`"))?;
    }
    match link.next(QUIET * 20)? {
        NextFrame::Closed => Ok(()),
        _ => Err(CheckFinding::fault("the connection stays open after both sides are done")),
    }
}
