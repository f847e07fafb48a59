//! Requests between shells: routed by target, answered by id (section 12.5). For daemons that offer
//! `:attach`.
//!
//! long: each list of cases is one table, a requirement after the other.

use super::DaemonUnderTest;
use super::heard::HeardMessage;
use super::link::DaemonLink;
use super::sessions::join;
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const ATTACH: RequirementLevel = RequirementLevel::Profile("attach");

/// A shell that offers an actuator, and one that asks for it.
struct ShellPair {
    offers: DaemonLink,
    asks: DaemonLink,
}

fn two(peer: &mut DaemonUnderTest) -> Result<ShellPair, CheckFinding> {
    let session = peer.name();
    let mut offers = peer.open()?;
    offers.needs("attach")?;
    join(&mut offers, &session, ":shell :kit :actuators (:kit-notify)")?;
    let mut asks = peer.open()?;
    join(&mut asks, &session, ":shell :kit-asker")?;
    Ok(ShellPair { offers, asks })
}

const REQUEST: &str = "(:type :REQUEST :id \"q\" :target :KIT-Notify :payload (:action :message :text \"kit says hello\"))";

pub(super) fn cases() -> Vec<ConformanceCase<DaemonUnderTest>> {
    let case = |id, title, why, check: fn(&mut ShellPair) -> Checked| {
        ConformanceCase::new(id, ATTACH, "12.5", title, why, move |peer: &mut DaemonUnderTest| {
            check(&mut two(peer)?)
        })
    };
    vec![
        case(
            "Q-01",
            "a request reaches the shell that offers its target, ignoring case",
            "names are typed by people",
            |two| {
                two.asks.say(REQUEST)?;
                let asked = request(&mut two.offers)?;
                asked.has(
                    asked.payload("text").as_str() == Some("kit says hello"),
                    "the payload as it was sent",
                )?;
                asked.has(asked.meta("deadline").as_i64().is_some(), "a `:deadline`")
            },
        ),
        case(
            "Q-02",
            "the answer of that shell reaches whoever asked",
            "a request without an answer is waited for",
            |two| {
                two.asks.say(REQUEST)?;
                let asked = request(&mut two.offers)?;
                two.offers.say(&format!(
                    "(:type :RESPONSE :id {} :payload (:status :success :result 42))",
                    asked.get("id")
                ))?;
                let heard = two.asks.hear_until("the answer", |heard| heard.answers("q"))?;
                heard.is_success()
            },
        ),
        case(
            "Q-03",
            "a failure of that shell reaches whoever asked as an error",
            "a failure that looks like success misleads",
            |two| {
                two.asks.say(REQUEST)?;
                let asked = request(&mut two.offers)?;
                two.offers.say(&format!(
                    "(:type :RESPONSE :id {} :payload (:status :error :message \"no\"))",
                    asked.get("id")
                ))?;
                let heard = two.asks.hear_until("the answer", |heard| heard.answers("q"))?;
                heard.is_error_of(&["engine-failed", "refused"])
            },
        ),
        case(
            "Q-04",
            "a second answer to the same request is `unknown-id`",
            "what is done is done once",
            |two| {
                two.asks.say(REQUEST)?;
                let asked = request(&mut two.offers)?;
                let answer = format!(
                    "(:type :RESPONSE :id {} :payload (:status :success))",
                    asked.get("id")
                );
                two.offers.say(&answer)?;
                two.asks.hear_until("the answer", |heard| heard.answers("q"))?;
                two.offers.say(&answer)?;
                two.offers
                    .hear_until("an error", |heard| heard.code().is_some())?
                    .is_error("unknown-id")
            },
        ),
        case(
            "Q-05",
            "all shells see how a request ended",
            "two shells must show the same",
            |two| {
                two.asks.say(REQUEST)?;
                let asked = request(&mut two.offers)?;
                two.offers.say(&format!(
                    "(:type :RESPONSE :id {} :payload (:status :success))",
                    asked.get("id")
                ))?;
                let outcome = two.offers.hear_until("the outcome", |heard| {
                    heard.payload("action").is_keyword("outcome")
                })?;
                outcome.has(outcome.payload("outcome").is_keyword("done"), "`:outcome :done`")
            },
        ),
        ConformanceCase::new(
            "Q-06",
            ATTACH,
            "12.5",
            "a shell that leaves before it answers is asked again when it is back",
            "a request would be lost with a connection",
            asked_again,
        ),
    ]
}

fn asked_again(peer: &mut DaemonUnderTest) -> Checked {
    let (session, client) = (peer.name(), peer.name());
    let offer = format!(":client \"{client}\" :shell :kit :actuators (:kit-notify)");
    let mut offers = peer.open()?;
    offers.needs("attach")?;
    join(&mut offers, &session, &offer)?;
    let mut asks = peer.open()?;
    join(&mut asks, &session, ":shell :kit-asker")?;
    asks.say(REQUEST)?;
    let first = request(&mut offers)?;
    drop(offers);
    let mut back = peer.open()?;
    join(&mut back, &session, &offer)?;
    let second = request(&mut back)?;
    second.has(second.get("id") == first.get("id"), "the same id")?;
    back.say(&format!("(:type :RESPONSE :id {} :payload (:status :success))", second.get("id")))?;
    asks.hear_until("the answer", |heard| heard.answers("q"))?.is_success()
}

fn request(link: &mut DaemonLink) -> Result<HeardMessage, CheckFinding> {
    link.hear_until("the request", |heard| heard.is_type("request"))
}
