//! Which State gives way when there are too many in memory. Used by the hub when a session comes to rest;
//! knows names and their order, and nothing of sessions.

use std::collections::BTreeMap;

use bridle_loop::SessionId;

/// The share of the sessions in memory that is left to those used once: one in eight. Many that are
/// asked one thing each and never again do not push out those that are talked with.
const ONCE_SHARE: usize = 8;

/// Sessions at rest whose State is in memory, by when they came to rest: the longest unused first.
#[derive(Debug, Default)]
pub(in crate::engine) struct RestingSessions {
    /// Those that rest for the first time since they were begun or loaded.
    once: BTreeMap<u64, SessionId>,
    /// Those that were used again.
    again: BTreeMap<u64, SessionId>,
}

impl RestingSessions {
    /// Adds one that came to rest; `is_known` if it had rested before since it was begun or loaded.
    pub(in crate::engine) fn add(&mut self, stamp: u64, id: SessionId, is_known: bool) {
        let place = if is_known { &mut self.again } else { &mut self.once };
        place.insert(stamp, id);
    }

    /// Takes out the one that came to rest then.
    pub(in crate::engine) fn remove(&mut self, stamp: u64) {
        if self.once.remove(&stamp).is_none() {
            self.again.remove(&stamp);
        }
    }

    /// The one that gives way, if there are more than `most`.
    pub(in crate::engine) fn over(&mut self, most: usize) -> Option<SessionId> {
        if self.once.len() + self.again.len() <= most {
            return None;
        }
        let is_crowd = self.once.len() > most / ONCE_SHARE;
        let first = if is_crowd { self.once.pop_first() } else { self.again.pop_first() };
        first.map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use bridle_loop::SessionId;

    use super::RestingSessions;

    fn id(name: &str) -> SessionId {
        SessionId::parse(name).unwrap()
    }

    #[test]
    fn sessions_used_once_do_not_push_out_those_used_again() {
        let mut resting = RestingSessions::default();
        for stamp in 0..14 {
            resting.add(stamp, id(&format!("talk-{stamp}")), true);
        }
        for stamp in 100..200 {
            resting.add(stamp, id(&format!("once-{stamp}")), false);
            if let Some(gone) = resting.over(16) {
                assert_eq!(gone, id(&format!("once-{}", stamp - 2)));
            }
        }
        assert_eq!((resting.again.len(), resting.once.len()), (14, 2));
    }

    #[test]
    fn without_others_either_kind_has_all_the_room() {
        for is_known in [false, true] {
            let mut resting = RestingSessions::default();
            for stamp in 0..16 {
                resting.add(stamp, id(&format!("s-{stamp}")), is_known);
                assert_eq!(resting.over(16), None);
            }
            resting.add(16, id("last"), is_known);
            assert_eq!(resting.over(16), Some(id("s-0")));
            resting.remove(1);
            resting.add(17, id("later"), is_known);
            assert_eq!(resting.over(15), Some(id("s-2")));
        }
    }
}
