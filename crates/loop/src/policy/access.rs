//! Whether somebody may join, see, steer or answer for a session, asked from outside of it.
//!
//! The daemon asks before it lets anybody near a session, whether its state is in memory or not. What
//! was done in the last hour is not known here and counts as nothing.

use super::{Access, Around, Facts, Finding, Installed, Wanted, Word};
use crate::budget::Counts;
use crate::effect::{By, Question};
use crate::event::Asker;
use crate::ids::{SessionId, Time};

/// A session that somebody wants something of.
#[derive(Clone, Copy, Debug)]
pub struct Visited<'v> {
    /// Its name.
    pub session: &'v SessionId,
    /// The principal it belongs to.
    pub owner: &'v str,
    /// The present.
    pub now: Time,
}

impl Installed {
    /// Whether somebody may do this to a session as a whole.
    pub fn may(&self, who: &Asker, access: Access, visited: Visited<'_>) -> Finding {
        self.found(&Facts::access(&visited.around(who), access))
    }

    /// Whether somebody may answer a question. The answer itself is judged again, by the session.
    pub fn may_answer(&self, who: &Asker, question: &Question, visited: Visited<'_>) -> Finding {
        let (action, target) = (question.intent.action(), question.intent.target());
        let place = question.intent.place();
        let payload = question.intent.payload();
        let wanted = Wanted { action, target, place, payload, protected: false };
        self.found(&Facts::approve(&visited.around(who), &wanted))
    }

    fn found(&self, facts: &Facts) -> Finding {
        match self.set() {
            Some(set) => set.find(facts),
            None => Finding { word: Word::Deny, policies: Vec::new(), fault: None },
        }
    }
}

impl<'v> Visited<'v> {
    fn around<'a>(self, asker: &'a Asker) -> Around<'a>
    where
        'v: 'a,
    {
        let Visited { session, owner: session_owner, now } = self;
        let counts = Counts::default();
        Around { by: By::Asker, asker, session, session_owner, now, counts }
    }
}
