//! How many turns are kept, how large, and for how long.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{MAX_PARKED, MAX_PARKED_BYTES};
use crate::effect::Effect;
use crate::event::{
    Actuator, Advice, Asker, Began, Event, Place, Proposal, Signal, SignalKind, Tick,
};
use crate::ids::{Name, SessionId, Time};
use crate::limits::Limits;
use crate::state::State;
use crate::step::step;

/// A session in which an editor can be reached.
fn session() -> State {
    let mut state = State::new(SessionId::parse("main").expect("a name"));
    let began = Began { owner: "uid:1000".into(), limits: Limits::default(), fork: None };
    step(&mut state, Time(1), Event::Began(began));
    let emacs = Actuator { name: Name::new("emacs"), place: Place::Shell, actions: Vec::new() };
    step(&mut state, Time(1), Event::Registered(vec![emacs]));
    state
}

/// Somebody who comes back says something that needs a yes.
fn ask(state: &mut State, code: &str, text: &str) {
    let payload = Value::plist([
        ("sensor", Value::keyword("user-prompt")),
        ("text", Value::str(text)),
        ("returns", Value::T),
    ]);
    let from = Asker { owner: true, ..Asker::new("uid:1000") };
    let signal = Signal {
        kind: SignalKind::Event,
        from,
        id: None,
        target: None,
        payload,
        dropped: Vec::new(),
        patient: false,
    };
    let effects = step(state, Time(2), Event::Signal(Arc::new(signal)));
    let consulted = effects.iter().find_map(|effect| match effect {
        Effect::Consult { id, .. } => Some(*id),
        _ => None,
    });
    let payload = Value::plist([("action", Value::keyword("eval")), ("code", Value::str(code))]);
    let target = Some(Name::new("emacs"));
    let proposal = Proposal { target, payload, explanation: None, then_think: false };
    let advice = Advice { proposals: vec![proposal], ..Advice::default() };
    let effect = consulted.expect("a consultation");
    step(state, Time(2), Event::Consulted { effect, advice });
}

#[test]
fn the_oldest_gives_way() {
    let mut state = session();
    for index in 0..=MAX_PARKED {
        ask(&mut state, &format!("({index})"), "do it");
    }
    assert_eq!(state.questions.len(), MAX_PARKED + 1);
    assert_eq!(state.parked.len(), MAX_PARKED);
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
    step(&mut state, Time(end - 1), Event::Tick(Tick::Deadline));
    assert_eq!(state.parked.len(), 1);
    step(&mut state, Time(end), Event::Tick(Tick::Deadline));
    assert_eq!((state.questions.len(), state.parked.len()), (0, 0));
}
