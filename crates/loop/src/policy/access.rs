//! Whether somebody may join, see, steer or answer for a session, asked from outside of it.
//!
//! The daemon asks before it lets anybody near a session, whether its state is in memory or not. What
//! was done in the last hour is not known here and counts as nothing.

use super::{
    InstalledPolicies, PolicyFacts, PolicyFinding, PolicyVerdict, ProposalCircumstances,
    RequestedAction, SessionAccess,
};
use crate::budget::HourlyCounts;
use crate::effect::{ApprovalRequest, ProposalAuthor};
use crate::event::SignalSender;
use crate::ids::{SessionId, UnixMillis};
use crate::provenance::ProposalOrigin;

/// A session that somebody wants something of.
#[derive(Clone, Copy, Debug)]
pub struct VisitedSession<'v> {
    /// Its name.
    pub session: &'v SessionId,
    /// The principal it belongs to.
    pub owner: &'v str,
    /// The present.
    pub now: UnixMillis,
}

impl InstalledPolicies {
    /// Whether somebody may do this to a session as a whole.
    pub fn may(
        &self,
        who: &SignalSender,
        access: SessionAccess,
        visited: VisitedSession<'_>,
    ) -> PolicyFinding {
        self.found(&PolicyFacts::access(&visited.around(who), access))
    }

    /// Whether somebody may answer a question. The answer itself is judged again, by the session.
    pub fn may_answer(
        &self,
        who: &SignalSender,
        question: &ApprovalRequest,
        visited: VisitedSession<'_>,
    ) -> PolicyFinding {
        let (action, target) = (question.intent.action(), question.intent.target());
        let place = question.intent.place();
        let payload = question.intent.payload();
        let origin = &ProposalOrigin::default();
        let wanted = RequestedAction { action, target, place, payload, protected: false, origin };
        self.found(&PolicyFacts::approve(&visited.around(who), &wanted))
    }

    fn found(&self, facts: &PolicyFacts) -> PolicyFinding {
        match self.set() {
            Some(set) => set.find(facts),
            None => PolicyFinding { word: PolicyVerdict::Deny, policies: Vec::new(), fault: None },
        }
    }
}

impl<'v> VisitedSession<'v> {
    fn around<'a>(self, asker: &'a SignalSender) -> ProposalCircumstances<'a>
    where
        'v: 'a,
    {
        let VisitedSession { session, owner: session_owner, now } = self;
        let counts = HourlyCounts::default();
        ProposalCircumstances {
            by: ProposalAuthor::Asker,
            asker,
            session,
            session_owner,
            now,
            counts,
        }
    }
}
