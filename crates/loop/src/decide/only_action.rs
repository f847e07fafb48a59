//! The action of a payload that names none: `(:channel :signal :to "+1" :text "x")` for a target that has one action.

use bridle_sexp::Value;

use super::actuator;
use crate::event::{ActuatorLocation, Proposal};
use crate::state::SessionState;

/// The proposal with the only action of its target, where it names no action and the target is an actuator of the
/// daemon that has no other. Every other proposal stays as it is.
pub(super) fn named(state: &SessionState, proposal: Proposal) -> Proposal {
    let Some(elements) = proposal.payload.elements() else { return proposal };
    let is_bare = proposal.payload.pairs().is_some() && proposal.payload.get("action").is_none();
    let only = proposal.target.as_ref().filter(|_| is_bare).and_then(|target| {
        let found = actuator(state, target)?;
        match &*found.actions {
            [only] if found.place == ActuatorLocation::Host => Some(Value::keyword(only.as_str())),
            _ => None,
        }
    });
    let Some(only) = only else { return proposal };
    let payload = [Value::keyword("action"), only].into_iter().chain(elements.iter().cloned());
    Proposal { payload: Value::list(payload), ..proposal }
}
