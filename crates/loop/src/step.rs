//! The dispatch: one event in, effects out.

use bridle_sexp::Value;

use crate::effect::{Addressee, Effect, Effects, Utterance};
use crate::event::Event;
use crate::ids::Time;
use crate::state::State;

/// Takes one event into the state and says what is to happen now.
///
/// Total: nothing that is fed to it makes it panic, and an answer to an effect that is not awaited
/// changes nothing. Deterministic: the same events give the same effects and the same state.
pub fn step(state: &mut State, at: Time, event: Event) -> Effects {
    state.now = state.now.max(at);
    match event {
        Event::Began(began) => {
            state.owner = Some(began.owner);
            state.limits = began.limits;
            Vec::new()
        }
        Event::Registered(actuators) => {
            state.actuators = actuators.into();
            Vec::new()
        }
        Event::Signal(signal) => {
            let answers = Some(state.take_seq());
            let payload = Value::plist([
                ("status", Value::keyword("error")),
                ("code", Value::keyword("unsupported")),
                ("message", "there are no stages yet".into()),
            ]);
            let to = Addressee { client: signal.from.client.clone(), id: signal.id.clone() };
            let seq = state.take_seq();
            vec![Effect::Say(Utterance { seq, answers, to: Some(to), payload })]
        }
        _ => Vec::new(),
    }
}
