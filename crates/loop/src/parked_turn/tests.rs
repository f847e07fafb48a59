//! How many turns are kept, how large, and for how long.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{MAX_PARKED_BYTES, MAX_PARKED_TURNS};
use crate::effect::Effect;
use crate::event::{
    ActuatorLocation, ActuatorRef, Event, Proposal, ReflexAdvice, SessionStart, Signal, SignalKind,
    SignalSender, TimerTick,
};
use crate::ids::{KeywordName, SessionId, UnixMillis};
use crate::limits::SessionLimits;
use crate::state::SessionState;
use crate::step::step;

/// A session in which an editor can be reached.
fn session() -> SessionState {
    let mut state = SessionState::new(SessionId::parse("main").expect("a name"));
    let began = SessionStart {
        owner: "uid:1000".into(),
        limits: SessionLimits::default(),
        fork: None,
        version: crate::LOOP_VERSION,
    };
    step(&mut state, UnixMillis(1), Event::Began(began));
    let emacs = ActuatorRef {
        name: KeywordName::new("emacs"),
        place: ActuatorLocation::Shell,
        actions: Vec::new(),
        specs: None,
    };
    step(&mut state, UnixMillis(1), Event::Registered(vec![emacs]));
    state
}

/// Somebody who comes back says something that needs a yes.
fn ask(state: &mut SessionState, code: &str, text: &str) {
    let payload = Value::plist([
        ("sensor", Value::keyword("user-prompt")),
        ("text", Value::str(text)),
        ("returns", Value::T),
    ]);
    let from = SignalSender { owner: true, ..SignalSender::new("uid:1000") };
    let signal = Signal {
        kind: SignalKind::Event,
        from,
        id: None,
        target: None,
        payload,
        dropped: Vec::new(),
        patient: false,
    };
    let effects = step(state, UnixMillis(2), Event::Signal(Arc::new(signal)));
    let consulted = effects.iter().find_map(|effect| match effect {
        Effect::Consult { id, .. } => Some(*id),
        _ => None,
    });
    let payload = Value::plist([("action", Value::keyword("eval")), ("code", Value::str(code))]);
    let target = Some(KeywordName::new("emacs"));
    let proposal = Proposal::new(target, payload);
    let advice = ReflexAdvice { proposals: vec![proposal], ..ReflexAdvice::default() };
    let effect = consulted.expect("a consultation");
    step(state, UnixMillis(2), Event::Consulted { effect, advice });
}

#[test]
fn the_oldest_gives_way() {
    let mut state = session();
    for index in 0..=MAX_PARKED_TURNS {
        ask(&mut state, &format!("({index})"), "do it");
    }
    assert_eq!(state.questions.len(), MAX_PARKED_TURNS + 1);
    assert_eq!(state.parked.len(), MAX_PARKED_TURNS);
}

#[test]
fn what_is_too_heavy_is_not_kept() {
    let mut state = session();
    ask(&mut state, "(1)", &"x".repeat(MAX_PARKED_BYTES));
    assert_eq!((state.questions.len(), state.parked.len()), (1, 0));
    ask(&mut state, "(2)", "light");
    assert_eq!((state.questions.len(), state.parked.len()), (2, 1));
}

#[test]
fn a_turn_is_kept_as_long_as_its_questions() {
    let mut state = session();
    ask(&mut state, "(1)", "do it");
    let end = state.limits.approval_ms + 2;
    step(&mut state, UnixMillis(end - 1), Event::Tick(TimerTick::Deadline));
    assert_eq!(state.parked.len(), 1);
    step(&mut state, UnixMillis(end), Event::Tick(TimerTick::Deadline));
    assert_eq!((state.questions.len(), state.parked.len()), (0, 0));
}
