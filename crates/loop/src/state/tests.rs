//! The state as text: the deepest payloads, and what is refused.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{Keep, Past, State};
use crate::effect::{By, Code, Exchange, Rule, Ruling, Verdict};
use crate::event::{Actuator, Asker, Began, Event, Place, Signal, SignalKind, Tick};
use crate::field::reader;
use crate::ids::{Name, SessionId, Time, TurnId};
use crate::limits::Limits;
use crate::policy::{Installed, Policies};
use crate::step::step;

fn session() -> State {
    State::new(SessionId::parse("s").expect("a name"))
}

/// The value of a text, as a record's body is read.
fn read(text: &str) -> Value {
    reader().read_one(text).expect("a readable text").root().to_value()
}

#[test]
fn payloads_as_deep_as_the_wire_allows_are_kept() {
    let depth = bridle_sexp::limits::DEFAULT_DEPTH;
    let nested = format!("{}1{}", "(".repeat(depth - 1), ")".repeat(depth - 1));
    let payload = bridle_sexp::read_one(&format!("(:sensor :x :deep {nested})"))
        .expect("as deep as the wire allows")
        .root()
        .to_value();
    let signal = Signal {
        kind: SignalKind::Event,
        from: Asker::new("tcp"),
        id: None,
        target: None,
        payload,
        dropped: vec!["payload approved".into()],
        patient: true,
    };
    let mut state = session();
    for _ in 0..2 {
        step(&mut state, Time(1), Event::Signal(Arc::new(signal.clone())));
    }
    let text = state.text();
    assert_eq!(State::from_value(&read(&text)), Ok(state));
}

#[test]
fn what_is_no_state_is_refused_by_its_key() {
    let good = session().to_value().to_string();
    for (from, to, key) in [
        (":session \"s\"", ":session \"a b\"", "session"),
        (":now 0", ":now soon", "now"),
        (":seq 0", ":seq -1", "seq"),
        (":tries 3", ":tries 4294967296", "tries"),
        (":depth 10", "", "depth"),
        (":turns 0", ":turns 0 :queue 3", "queue"),
        (":turns 0", ":turns 0 :history (1)", "asked"),
        (":turns 0", ":turns 0 :turn (:id 1)", "next"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "`{from}` is part of a state");
        let unreadable = State::from_value(&read(&text)).expect_err("no state");
        assert_eq!(unreadable.key(), key, "{unreadable}");
    }
}

#[test]
fn a_schedule_that_was_written_without_an_end_is_read_and_goes_on() {
    let plan = "(:name \"tea\" :due 10 :every 5 :payload (:sensor :tea))";
    let text = session()
        .to_value()
        .to_string()
        .replace(":turns 0", &format!(":turns 0 :schedules ({plan})"));
    let mut state = State::from_value(&read(&text)).expect("a state of an older version");
    assert!(state.text().contains(plan), "written as it was: {}", state.text());
    step(&mut state, Time(i64::MAX / 2), Event::Tick(Tick::Deadline));
    let left: Vec<_> = state.schedules().collect();
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].left, left[0].until), (None, None));
    let ended = text.replace(":every 5", ":every 5 :left 7 :until 99");
    let state = State::from_value(&read(&ended)).expect("a state with an end");
    assert_eq!(
        state.schedules().next().map(|it| (it.left, it.until)),
        Some((Some(7), Some(Time(99))))
    );
    assert_eq!(State::from_value(&read(&state.text())), Ok(state));
}

#[test]
fn what_was_written_once_is_written_anew_when_it_changes() {
    let limits = Limits { history: 3, ..Limits::default() };
    let actuators =
        |name| vec![Actuator { name: Name::new(name), place: Place::Shell, actions: Vec::new() }];
    let events = [
        Event::Began(Began { owner: "uid:1".into(), limits, fork: None }),
        Event::Registered(actuators("emacs")),
        Event::Registered(actuators("vi")),
        Event::PolicyInstalled(Installed::new(Policies::built_in(), Vec::new())),
        Event::PolicyInstalled(Installed::new(Policies::built_in(), vec!["/etc".into()])),
        Event::Registered(Vec::new()),
    ];
    let mut state = session();
    let mut digests = vec![state.digest()];
    for event in events {
        step(&mut state, Time(1), event);
        let again = State::from_value(&read(&state.text())).expect("a state");
        assert_eq!(state.text(), state.to_value().to_string());
        assert_eq!((again.text(), again.digest()), (state.text(), state.digest()));
        assert!(!digests.contains(&state.digest()) || state.actuators().is_empty());
        digests.push(state.digest());
    }
}

#[test]
fn who_looks_at_the_past_sees_it_as_it_was() {
    let exchange = |asked: &str| Arc::new(Exchange { asked: asked.into(), said: "".into() });
    let asked = |past: &Past<Exchange>| -> Vec<Box<str>> {
        past.iter().map(|exchange| exchange.asked.clone()).collect()
    };
    let mut past = Past::default();
    past.push(exchange("a"), 2);
    let seen = past.clone();
    past.push(exchange("b"), 2);
    past.push(exchange("c"), 2);
    assert_eq!((asked(&seen), asked(&past)), (vec!["a".into()], vec!["b".into(), "c".into()]));
    past.push(exchange("d"), 0);
    assert!(past.is_empty());
}

#[test]
fn the_sum_of_the_past_is_that_of_what_is_left_in_its_order() {
    let exchange =
        |asked: u64| Arc::new(Exchange { asked: asked.to_string().into(), said: "".into() });
    let mut past = Past::default();
    for asked in 0..40 {
        past.push(exchange(asked), 7);
        let left: Past<Exchange> = (asked.saturating_sub(6)..=asked).map(exchange).collect();
        assert_eq!((past.sum(), &past), (left.sum(), &left));
        let other: Past<Exchange> = past.iter().rev().cloned().collect();
        assert!(past.len() == 1 || past.sum() != other.sum(), "the order counts");
    }
    past.trim(0);
    assert_eq!(past.sum(), 0);
}

#[test]
fn no_two_kept_things_have_the_same_bytes() {
    let exchange = |asked: &str, said: &str| Exchange { asked: asked.into(), said: said.into() };
    let exchanges = ["", "a", "ab", "\0", "\u{ff}", "a\u{fe}"]
        .iter()
        .flat_map(|asked| ["", "a", "b", "\u{ff}"].map(|said| exchange(asked, said).bytes()));
    let name = |name: &str| Some(Name::new(name));
    let plain = Ruling {
        turn: TurnId(1),
        by: By::Reflex,
        target: name("a"),
        action: name("b"),
        rule: Rule::Policy,
        policies: vec!["p".into(), "q".into()],
        verdict: Verdict::Allow,
        reason: "r".into(),
    };
    let rulings = [
        plain.clone(),
        Ruling { turn: TurnId(2), ..plain.clone() },
        Ruling { by: By::Asker, ..plain.clone() },
        Ruling { target: None, ..plain.clone() },
        Ruling { target: name(""), ..plain.clone() },
        Ruling { action: None, ..plain.clone() },
        Ruling { target: None, action: name("a"), ..plain.clone() },
        Ruling { rule: Rule::Approval, ..plain.clone() },
        Ruling { policies: Vec::new(), ..plain.clone() },
        Ruling { policies: vec!["pq".into()], ..plain.clone() },
        Ruling { policies: vec!["p".into()], ..plain.clone() },
        Ruling { policies: vec!["p".into(), "q".into(), "".into()], ..plain.clone() },
        Ruling { verdict: Verdict::Ask, ..plain.clone() },
        Ruling { verdict: Verdict::Deny(Code::Refused), ..plain.clone() },
        Ruling { verdict: Verdict::Deny(Code::Expired), ..plain.clone() },
        Ruling { reason: "".into(), ..plain },
    ];
    let mut all: Vec<Vec<u8>> = exchanges.chain(rulings.iter().map(Keep::bytes)).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}
