//! Changes of the keyword of progress, with all that Org does then: the times of what repeats move on, the keyword goes back
//! to the first one, `CLOSED` comes and goes, the log is kept, the cookies above count anew.

use super::entry::Entry;
use super::journal::{LogNote, LogPurpose, LogRules};
use super::repeat::is_repeated;
use super::{Edit, EditError, Plan};
use crate::heading::{LogKind, TodoState};
use crate::kind::Type;
use crate::lines::{Class, widen};
use crate::moment::Moment;
use crate::property::{self};
use crate::tree::{NodeId, Tree};

/// Another keyword of progress for a heading.
#[derive(Clone, Copy, Debug)]
pub struct StateChange<'c> {
    /// The keyword; none takes it away.
    pub keyword: Option<&'c [u8]>,
    /// Time of the change: for the log, and for timestamps that repeat.
    pub now: Moment,
    /// A note for the log, where the settings ask for one; may be empty.
    pub note: &'c [u8],
}

/// A change of state in the middle of it.
struct Changing<'c, 'w> {
    entry: Entry<'w>,
    now: Moment,
    /// Note that is written at the end.
    pending: Option<LogNote>,
    rules: &'c LogRules<'w>,
}

impl<'t> Tree<'t> {
    /// Sets the keyword of progress of a headline, or takes it away, and does all that Org does then.
    ///
    /// # Errors
    ///
    /// The node is no headline, the text has no such keyword, something else must be done before, or a timestamp cannot be
    /// moved by its repeater.
    pub fn change_state(
        &self,
        headline: NodeId,
        change: &StateChange<'_>,
    ) -> Result<Edit<'t>, EditError> {
        let words = &self.settings.words;
        if change.keyword.is_some_and(|keyword| !words.has(keyword)) {
            return Err(EditError::UnknownState);
        }
        if self.is_blocked(headline, change.keyword)? {
            return Err(EditError::Waiting);
        }
        let is_end = |line: &[u8]| line.trim_ascii().eq_ignore_ascii_case(b":end:");
        if change.note.split(|byte| *byte == b'\n').any(is_end) {
            return Err(EditError::Unreadable);
        }
        let rules = LogRules::of(self, headline);
        let (entry, span) = Entry::of(self, headline)?;
        let mut changing = Changing { entry, now: change.now, pending: None, rules: &rules };
        changing.set(change.keyword, &rules)?;
        if let Some(log) = changing.pending.take() {
            changing.entry.log(&log, change.note, &rules, change.now)?;
        }
        let entry = changing.entry;
        let mut splices = entry.splices(self.whole, span);
        self.count_states(headline, entry.keyword().as_deref(), &mut splices);
        Ok(Edit::new(self.whole, splices))
    }

    /// Whether something else must be done before, by `org-enforce-todo-dependencies`.
    fn is_blocked(&self, headline: NodeId, keyword: Option<&[u8]>) -> Result<bool, EditError> {
        let words = &self.settings.words;
        let is_done =
            |word: Option<&[u8]>| word.and_then(|word| words.state(word)) == Some(TodoState::Done);
        let noblocking = self.own_property(headline.0, b"NOBLOCKING").is_some();
        let is_asked = self.settings.preset.enforce_dependencies && !noblocking;
        if !is_asked || is_done(self.keyword_of(headline)?) || !is_done(keyword) {
            return Ok(false);
        }
        let is_open = |id: NodeId| {
            self.node(id).is_some_and(|node| node.kind == Type::Headline)
                && self.state_of(id) == Some(TodoState::Open)
        };
        let end = widen(self.nodes[headline.0].next);
        if (headline.0 + 1..end).any(|index| is_open(NodeId(index))) {
            return Ok(true);
        }
        // Behind what is open below a heading that is ordered, nothing is done; nor is what such a one holds.
        let mut at = headline;
        while let Some(above) = self.headline_above(at) {
            let ordered = self.own_property(above.0, b"ORDERED").is_some_and(|it| it != b"nil");
            if ordered && (above.0 + 1..at.0).any(|index| is_open(NodeId(index))) {
                return Ok(true);
            }
            if !is_open(above) {
                return Ok(false);
            }
            at = above;
        }
        Ok(false)
    }

    /// The keyword of progress of a headline: also one that nothing follows.
    pub(super) fn keyword_of(&self, headline: NodeId) -> Result<Option<&'t [u8]>, EditError> {
        let line = self.lines.content(self.headline_line(headline)?);
        Ok(super::entry::keyword_of(line, &self.settings.words))
    }
}

impl Changing<'_, '_> {
    fn is(&self, keyword: Option<&[u8]>, state: TodoState) -> bool {
        keyword.and_then(|word| self.entry.words.state(word)) == Some(state)
    }

    /// Sets the keyword by these rules, and what follows from that.
    fn set(&mut self, keyword: Option<&[u8]>, rules: &LogRules<'_>) -> Result<(), EditError> {
        let old = self.entry.keyword();
        let old = old.as_deref();
        self.entry.set_keyword(keyword);
        let is_done_now = self.is(keyword, TodoState::Done) && !self.is(old, TodoState::Done);
        let rules = rules.localized(|word| self.entry.words.has(word));
        if !rules.states.is_empty() || rules.done.is_some() {
            let log = rules.state_log(keyword, old);
            let is_open_now = self.is(keyword, TodoState::Open) && !self.is(old, TodoState::Open);
            if keyword.is_none() || is_open_now {
                self.entry.plan(None, &[Plan::Closed]);
            }
            if let Some(kind) = rules.done.filter(|_| is_done_now) {
                let stamp = format!("[{}]", self.now.text(true));
                self.entry.plan(Some((Plan::Closed, stamp.as_bytes())), &[]);
                if log.is_none() && kind == LogKind::Note {
                    self.pending = Some(LogNote { purpose: LogPurpose::Done, kind });
                }
            }
            if let (Some(kind), Some(new)) = (log, keyword) {
                self.pending = Some(state_note(Some(new), old, kind));
            }
        }
        if is_done_now { self.repeat(keyword, old, &rules) } else { Ok(()) }
    }

    /// Moves on what repeats, and sets back the keyword.
    fn repeat(
        &mut self,
        done: Option<&[u8]>,
        old: Option<&[u8]>,
        rules: &LogRules<'_>,
    ) -> Result<(), EditError> {
        if !self.entry.repeats() {
            return Ok(());
        }
        let back = self.keyword_back(old)?;
        let quiet = LogRules { done: None, states: Vec::new(), ..self.rules.clone() };
        self.set(back.as_deref(), &quiet)?;
        self.entry.plan(None, &[Plan::Closed]);
        if rules.repeat.is_some() || self.has_clock() {
            let now = format!("[{}]", self.now.text(true));
            self.entry
                .change(|tree, id| tree.set_property(id, b"LAST_REPEAT", Some(now.as_bytes())))?;
        }
        match (rules.repeat, &mut self.pending) {
            (Some(LogKind::Note), Some(pending)) => pending.kind = LogKind::Note,
            (Some(kind), None) => {
                self.pending = Some(state_note(done, Some(old.unwrap_or_default()), kind));
            }
            _ => {}
        }
        let scheduled = {
            let lines = self.entry.lines();
            let planning = self.entry.planning().map(|_| property::planning(&lines, 1));
            planning.and_then(|planning| planning.scheduled).map(<[u8]>::to_vec)
        };
        if scheduled.is_some_and(|stamp| !is_repeated(&stamp)) {
            self.entry.unplan(Plan::Scheduled);
        }
        self.entry.shift_repeated(self.now)
    }

    /// The keyword that something which repeats goes back to.
    fn keyword_back(&self, old: Option<&[u8]>) -> Result<Option<Vec<u8>>, EditError> {
        let tree = self.entry.tree();
        let headline = Entry::headline(&tree)?;
        let asked = tree.full_property(headline, b"REPEAT_TO_STATE");
        if asked.as_deref().is_some_and(|word| self.entry.words.has(word)) {
            return Ok(asked);
        }
        let marks = old.and_then(|old| self.entry.words.marks(old));
        Ok(match marks {
            Some(marks) if marks.is_type => old.map(<[u8]>::to_vec),
            Some(marks) => Some(marks.head.to_vec()),
            None => None,
        })
    }

    /// Whether the entry has a clock.
    fn has_clock(&self) -> bool {
        let tree = self.entry.tree();
        tree.nodes.iter().any(|node| {
            let line = tree.lines.at(node.after_affiliated());
            node.kind == Type::Clock && tree.lines.class(line) == Class::Clock
        })
    }
}

fn state_note(new: Option<&[u8]>, old: Option<&[u8]>, kind: LogKind) -> LogNote {
    let owned = |word: Option<&[u8]>| word.map(<[u8]>::to_vec);
    LogNote { purpose: LogPurpose::State { new: owned(new), old: owned(old) }, kind }
}
