//! Third stage: whether a proposal may be carried out.
//!
//! The only door to an actuator: an [`Order`] can be made in this file and nowhere else, and an
//! actuator takes nothing but an order. Rules are asked in a fixed order and the first that allows
//! or denies decides; every answer is kept for the record. What a proposal says about its own
//! standing is dropped unread.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::action::Action;
use crate::event::Place;
use crate::field::{Plist, Unreadable, name, required};
use crate::ids::Name;

/// A proposal that was allowed: what an actuator carries out.
///
/// Nobody outside of this crate's third stage can make one:
///
/// ```compile_fail,E0451
/// fn forge(target: bridle_loop::Name) -> bridle_loop::Order {
///     bridle_loop::Order { allowed: std::sync::Arc::new(target) }
/// }
/// ```
///
/// Reading one is possible for everybody:
///
/// ```
/// fn read(order: &bridle_loop::Order) -> (&bridle_loop::Action, &bridle_loop::Name) {
///     (order.action(), order.target())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    allowed: Arc<Allowed>,
}

#[derive(Debug, PartialEq)]
struct Allowed {
    action: Action,
    target: Name,
    place: Place,
    payload: Arc<Value>,
}

impl Order {
    /// What to do, with its arguments.
    pub fn action(&self) -> &Action {
        &self.allowed.action
    }

    /// The actuator.
    pub fn target(&self) -> &Name {
        &self.allowed.target
    }

    /// Where the actuator lives.
    pub fn place(&self) -> Place {
        self.allowed.place
    }

    /// The payload that was judged, which is the payload to send.
    pub fn payload(&self) -> &Value {
        &self.allowed.payload
    }

    /// The order as a plist.
    pub fn to_value(&self) -> Value {
        self.put(Plist::new()).done()
    }

    pub(crate) fn put(&self, plist: Plist) -> Plist {
        plist
            .put("target", self.target().to_value())
            .put("place", self.place().to_value())
            .put("payload", self.payload().clone())
    }

    /// Reads an order back that a state holds. Whoever can write a state can write anything.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Unreadable> {
        let payload = required(value, "payload")?;
        let action = Action::from_payload(payload)
            .map_err(|_| Unreadable::new("payload", "the payload of an action"))?;
        let target = name(value, "target")?;
        let place = Place::from_value(value)?;
        let payload = Arc::new(payload.clone());
        Ok(Self { allowed: Arc::new(Allowed { action, target, place, payload }) })
    }
}
