//! A session of an older version goes on, by its own State or by one that its upgrade carries.

use bridle_sexp::Value;

use super::{LOOP_VERSION, SessionUpgrade};
use crate::event::{Event, SessionStart};
use crate::ids::{SessionId, UnixMillis};
use crate::limits::SessionLimits;
use crate::record_kind::RecordKind;
use crate::state::SessionState;
use crate::step::step;

fn older() -> SessionState {
    let mut state = SessionState::new(SessionId::parse("main").expect("a name"));
    let limits = SessionLimits { depth: 10, side_turns: 0, ..SessionLimits::default() };
    let began = SessionStart { owner: "uid:1".into(), limits, version: 0, fork: None };
    step(&mut state, UnixMillis(1), Event::Began(began));
    state
}

fn read_back(event: &Event) -> Event {
    let text = event.to_text();
    let value = crate::reader().read_one(&text).expect("a form").root().to_value();
    Event::from_value(RecordKind::Upgraded, &value).expect("an upgrade")
}

#[test]
fn an_older_session_gets_the_version_and_the_limits_of_today() {
    let mut state = older();
    assert!(!state.text().contains(":version"), "{}", state.text());
    let event = state.upgrade(UnixMillis(2), &SessionLimits::default(), true).expect("older");
    let event = read_back(&event);
    let Event::Upgraded(upgrade) = &event else { panic!("an upgrade") };
    let (digest, carried) = (upgrade.digest.clone(), upgrade.state.clone());
    step(&mut state, UnixMillis(2), event);
    assert_eq!((state.version(), state.limits()), (LOOP_VERSION, &SessionLimits::default()));
    assert_eq!((state.digest().as_str(), carried), (&*digest, None));
    assert_eq!(state.upgrade(UnixMillis(3), &SessionLimits::default(), true), None);
    let value = crate::reader().read_one(&state.text()).expect("a form").root().to_value();
    assert_eq!(SessionState::from_value(&value).expect("a state"), state);
}

#[test]
fn an_upgrade_that_carries_a_state_does_not_need_the_events_before_it() {
    let mut state = older();
    state.seq = 17;
    let event = state.upgrade(UnixMillis(9), &SessionLimits::default(), false).expect("older");
    let event = read_back(&event);
    let mut other = SessionState::new(SessionId::parse("main").expect("a name"));
    step(&mut other, UnixMillis(9), event.clone());
    step(&mut state, UnixMillis(9), event);
    assert_eq!(other.text(), state.text());
    assert_eq!(other.digest(), state.digest());
    assert_eq!(other.next_seq().0, 18);
}

#[test]
fn a_session_that_has_not_begun_needs_no_upgrade() {
    let state = SessionState::new(SessionId::parse("main").expect("a name"));
    assert_eq!(state.upgrade(UnixMillis(1), &SessionLimits::default(), true), None);
    assert!(SessionUpgrade::from_value(&Value::Nil).is_err());
}
