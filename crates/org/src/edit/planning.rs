//! Changes of the planning line: schedules, deadlines, and when something was closed. As Org makes them: a new time takes
//! `CLOSED` away, keeps the repeater of the old one where it has none itself, and is logged where the settings say so.

use super::drawer::{Plan, is_stamp};
use super::entry::Entry;
use super::journal::{LogNote, LogPurpose, LogRules};
use super::repeat::{Rewritten, old_cookies};
use super::{Edit, EditError};
use crate::moment::Moment;
use crate::property;
use crate::tree::{NodeId, Tree};

impl<'t> Tree<'t> {
    /// Sets a timestamp of the planning line of a headline, or takes it away, and the line when nothing is left. The name
    /// of the day is that of the calendar, whatever the stamp says.
    ///
    /// # Errors
    ///
    /// The node is no headline, or `stamp` is no timestamp on one line.
    pub fn set_planning(
        &self,
        headline: NodeId,
        plan: Plan,
        stamp: Option<&[u8]>,
        now: Moment,
    ) -> Result<Edit<'t>, EditError> {
        if stamp.is_some_and(|stamp| !is_stamp(stamp)) {
            return Err(EditError::Unreadable);
        }
        let rules = LogRules::of(self, headline);
        let (mut entry, span) = Entry::of(self, headline)?;
        let old = {
            let lines = entry.lines();
            let planning = entry.planning().map(|_| property::planning(&lines, 1));
            let said = planning.and_then(|planning| match plan {
                Plan::Scheduled => planning.scheduled,
                Plan::Deadline => planning.deadline,
                Plan::Closed => planning.closed,
            });
            said.map(<[u8]>::to_vec)
        };
        let kind = match plan {
            Plan::Scheduled => rules.reschedule,
            Plan::Deadline => rules.redeadline,
            Plan::Closed => None,
        };
        let mut is_news = true;
        match (plan, stamp) {
            (Plan::Closed, Some(stamp)) => entry.plan(Some((plan, stamp)), &[]),
            (Plan::Closed, None) => entry.plan(None, &[plan]),
            (_, None) => entry.unplan(plan),
            (_, Some(stamp)) => {
                let written = Rewritten::of(stamp);
                is_news = old.as_deref() != Some(&written.text);
                let cookies = old.as_deref().filter(|_| !written.has_cookies).and_then(old_cookies);
                let text = written.with_cookies(cookies);
                entry.plan(Some((plan, &text)), &[Plan::Closed]);
            }
        }
        if let (Some(old), Some(kind), true) = (old, kind, is_news) {
            let purpose = match (plan, stamp.is_some()) {
                (Plan::Scheduled, true) => LogPurpose::Rescheduled(old),
                (Plan::Scheduled, false) => LogPurpose::Unscheduled(old),
                (_, true) => LogPurpose::NewDeadline(old),
                (_, false) => LogPurpose::NoDeadline(old),
            };
            entry.log(&LogNote { purpose, kind }, b"", &rules, now)?;
        }
        Ok(Edit::new(self.whole, entry.splices(self.whole, span)))
    }
}
