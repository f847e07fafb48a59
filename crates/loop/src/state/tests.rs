//! The state as text: the deepest payloads, and what is refused.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{HashedEntry, SessionState, SharedHistory};
use crate::effect::{
    DecisionRule, PastExchange, ProposalAuthor, RefusalCode, RememberedRuling, Verdict,
};
use crate::event::{
    ActuatorLocation, ActuatorRef, Event, SessionStart, Signal, SignalKind, SignalSender, TimerTick,
};
use crate::ids::{KeywordName, SessionId, TurnId, UnixMillis};
use crate::limits::SessionLimits;
use crate::plist_codec::reader;
use crate::policy::{GuardPolicies, InstalledPolicies};
use crate::privacy::Privacy;
use crate::step::step;

fn session() -> SessionState {
    SessionState::new(SessionId::parse("s").expect("a name"))
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
        from: SignalSender::new("tcp"),
        id: None,
        target: None,
        payload,
        dropped: vec!["payload approved".into()],
        patient: true,
    };
    let mut state = session();
    for _ in 0..2 {
        step(&mut state, UnixMillis(1), Event::Signal(Arc::new(signal.clone())));
    }
    let text = state.text();
    assert_eq!(SessionState::from_value(&read(&text)), Ok(state));
}

#[test]
fn what_is_no_state_is_refused_by_its_key() {
    let good = session().to_value().to_string();
    for (from, to, key) in [
        (":session \"s\"", ":session \"a b\"", "session"),
        (":now 0", ":now soon", "now"),
        (":seq 0", ":seq -1", "seq"),
        (":tries 3", ":tries 4294967296", "tries"),
        (":depth 200", "", "depth"),
        (":turns 0", ":turns 0 :queue 3", "queue"),
        (":turns 0", ":turns 0 :history (1)", "asked"),
        (":turns 0", ":turns 0 :turn (:id 1)", "next"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "`{from}` is part of a state");
        let unreadable = SessionState::from_value(&read(&text)).expect_err("no state");
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
    let mut state = SessionState::from_value(&read(&text)).expect("a state of an older version");
    assert!(state.text().contains(plan), "written as it was: {}", state.text());
    step(&mut state, UnixMillis(i64::MAX / 2), Event::Tick(TimerTick::Deadline));
    let left: Vec<_> = state.schedules().collect();
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].left, left[0].until), (None, None));
    let ended = text.replace(":every 5", ":every 5 :left 7 :until 99");
    let state = SessionState::from_value(&read(&ended)).expect("a state with an end");
    assert_eq!(
        state.schedules().next().map(|it| (it.left, it.until)),
        Some((Some(7), Some(UnixMillis(99))))
    );
    assert_eq!(SessionState::from_value(&read(&state.text())), Ok(state));
}

#[test]
fn what_was_written_once_is_written_anew_when_it_changes() {
    let limits = SessionLimits { history: 3, ..SessionLimits::default() };
    let actuators = |name| {
        vec![ActuatorRef {
            name: KeywordName::new(name),
            place: ActuatorLocation::Shell,
            actions: Vec::new(),
            specs: None,
        }]
    };
    let events = [
        Event::Began(SessionStart {
            owner: "uid:1".into(),
            limits,
            fork: None,
            version: crate::LOOP_VERSION,
        }),
        Event::Registered(actuators("emacs")),
        Event::Registered(actuators("vi")),
        Event::PolicyInstalled(InstalledPolicies::new(GuardPolicies::built_in(), Vec::new())),
        Event::PolicyInstalled(InstalledPolicies::new(
            GuardPolicies::built_in(),
            vec!["/etc".into()],
        )),
        Event::Registered(Vec::new()),
    ];
    let mut state = session();
    let mut digests = vec![state.digest()];
    for event in events {
        step(&mut state, UnixMillis(1), event);
        let again = SessionState::from_value(&read(&state.text())).expect("a state");
        assert_eq!(state.text(), state.to_value().to_string());
        assert_eq!((again.text(), again.digest()), (state.text(), state.digest()));
        assert!(!digests.contains(&state.digest()) || state.actuators().is_empty());
        digests.push(state.digest());
    }
}

#[test]
fn who_looks_at_the_past_sees_it_as_it_was() {
    let exchange = |asked: &str| {
        Arc::new(PastExchange { asked: asked.into(), said: "".into(), privacy: Privacy::Private })
    };
    let asked = |past: &SharedHistory<PastExchange>| -> Vec<Box<str>> {
        past.iter().map(|exchange| exchange.asked.clone()).collect()
    };
    let mut past = SharedHistory::default();
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
    let exchange = |asked: u64| {
        Arc::new(PastExchange {
            asked: asked.to_string().into(),
            said: "".into(),
            privacy: Privacy::Secret,
        })
    };
    let mut past = SharedHistory::default();
    for asked in 0..40 {
        past.push(exchange(asked), 7);
        let left: SharedHistory<PastExchange> =
            (asked.saturating_sub(6)..=asked).map(exchange).collect();
        assert_eq!((past.sum(), &past), (left.sum(), &left));
        let other: SharedHistory<PastExchange> = past.iter().rev().cloned().collect();
        assert!(past.len() == 1 || past.sum() != other.sum(), "the order counts");
    }
    past.trim(0);
    assert_eq!(past.sum(), 0);
}

#[test]
fn no_two_kept_things_have_the_same_bytes() {
    let exchange = |asked: &str, said: &str| PastExchange {
        asked: asked.into(),
        said: said.into(),
        privacy: Privacy::Private,
    };
    let exchanges = ["", "a", "ab", "\0", "\u{ff}", "a\u{fe}"]
        .iter()
        .flat_map(|asked| ["", "a", "b", "\u{ff}"].map(|said| exchange(asked, said).bytes()));
    let name = |name: &str| Some(KeywordName::new(name));
    let plain = RememberedRuling {
        turn: TurnId(1),
        by: ProposalAuthor::Reflex,
        model: None,
        target: name("a"),
        action: name("b"),
        rule: DecisionRule::Policy,
        policies: vec!["p".into(), "q".into()],
        verdict: Verdict::Allow,
        reason: "r".into(),
    };
    let rulings = [
        plain.clone(),
        RememberedRuling { turn: TurnId(2), ..plain.clone() },
        RememberedRuling { by: ProposalAuthor::Asker, ..plain.clone() },
        RememberedRuling { target: None, ..plain.clone() },
        RememberedRuling { target: name(""), ..plain.clone() },
        RememberedRuling { action: None, ..plain.clone() },
        RememberedRuling { target: None, action: name("a"), ..plain.clone() },
        RememberedRuling { rule: DecisionRule::Approval, ..plain.clone() },
        RememberedRuling { policies: Vec::new(), ..plain.clone() },
        RememberedRuling { policies: vec!["pq".into()], ..plain.clone() },
        RememberedRuling { policies: vec!["p".into()], ..plain.clone() },
        RememberedRuling { policies: vec!["p".into(), "q".into(), "".into()], ..plain.clone() },
        RememberedRuling { verdict: Verdict::Ask, ..plain.clone() },
        RememberedRuling { verdict: Verdict::Deny(RefusalCode::Refused), ..plain.clone() },
        RememberedRuling { verdict: Verdict::Deny(RefusalCode::Expired), ..plain.clone() },
        RememberedRuling { reason: "".into(), ..plain },
    ];
    let mut all: Vec<Vec<u8>> = exchanges.chain(rulings.iter().map(HashedEntry::bytes)).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}
