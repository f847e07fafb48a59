//! Sessions that outlive the version of the loop that they began with.
//!
//! A session is stepped through as its version says, so that the record of an older loop is folded as that loop
//! folded it. The daemon brings one that goes on up to date by an event; its digest is that of the State behind it,
//! and from there replay is exact. Called by `step`, and by the engine before it adds to such a session.

use bridle_sexp::Value;

use crate::event::Event;
use crate::ids::UnixMillis;
use crate::limits::SessionLimits;
use crate::plist_codec::{FieldSink, PlistBuilder, UnreadableValue, required, small_number, text};
use crate::state::SessionState;
use crate::step::step;

/// Version of the loop. Sessions that began before versions were counted have 0. Since 1: exchanges that no longer
/// fit are kept as a summary.
pub const LOOP_VERSION: u32 = 1;

/// The point from which on a later version of the loop holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionUpgrade {
    /// The version.
    pub version: u32,
    /// Limits from then on: those of an older version leave no room for work beside a turn.
    pub limits: SessionLimits,
    /// State to go on from, where the events before it do not give the same today.
    pub state: Option<Box<SessionState>>,
    /// Digest of the State behind the event.
    pub digest: Box<str>,
}

impl SessionUpgrade {
    pub(crate) fn to_value(&self) -> Value {
        let state = self.state.as_ref().map(|state| state.to_value());
        PlistBuilder::new()
            .put_number("version", self.version)
            .put("limits", self.limits.to_value())
            .put_some("state", state)
            .put("digest", &*self.digest)
            .done()
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let state = value.get("state").map(SessionState::from_value).transpose()?;
        Ok(Self {
            version: small_number(value, "version")?,
            limits: SessionLimits::from_value(required(value, "limits")?)?,
            state: state.map(Box::new),
            digest: text(value, "digest")?,
        })
    }
}

impl SessionState {
    /// Version of the loop that steps through it.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The event that brings it up to date; `None` if it is, or has not begun. `is_folded` says that its events
    /// give this State today; else the event carries it.
    pub fn upgrade(
        &self,
        at: UnixMillis,
        limits: &SessionLimits,
        is_folded: bool,
    ) -> Option<Event> {
        if self.version >= LOOP_VERSION || self.owner.is_none() {
            return None;
        }
        let upgrade = SessionUpgrade {
            version: LOOP_VERSION,
            limits: limits.clone(),
            state: (!is_folded).then(|| Box::new(self.clone())),
            digest: Box::default(),
        };
        let mut behind = self.clone();
        step(&mut behind, at, Event::Upgraded(Box::new(upgrade.clone())));
        Some(Event::Upgraded(Box::new(SessionUpgrade {
            digest: behind.digest().into(),
            ..upgrade
        })))
    }
}

/// Goes on by a later version.
pub(crate) fn upgraded(state: &mut SessionState, upgrade: SessionUpgrade) {
    if let Some(carried) = upgrade.state {
        let (now, session) = (state.now, state.session.clone());
        *state = SessionState { now: now.max(carried.now), session, ..*carried };
    }
    state.version = state.version.max(upgrade.version);
    state.limits = upgrade.limits;
    state.front.reset();
}

#[cfg(test)]
mod tests;
