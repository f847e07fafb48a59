//! The agenda: what is planned, due or takes place on the days of a span, what is overdue, and what is due soon.
//! Answered from the dates in the index; what is done or archived is left out, as in Org. Called by the service and
//! by readers without a daemon.

use rusqlite::{Row, params};

use super::catalog::{MemexCatalog, MemexObject, OBJECT_COLUMNS, sees};
use crate::index::org_timestamp::{
    OrgTimestamp, StampKind, WARNING_DAYS, WallMinute, add_months, months_between,
};
use crate::index::rules::PrivateAccess;
use bridle_record::StoreError;

/// Days in one agenda.
pub const MAX_AGENDA_DAYS: i64 = 366;

/// Entries of one agenda.
pub const MAX_AGENDA_ENTRIES: usize = 2000;

/// Dates that one agenda looks at.
const MAX_AGENDA_STAMPS: i64 = 100_000;

const DAY_MINUTES: i64 = 24 * 60;

/// Tag of what is put away, and the ending of the files of such.
const ARCHIVE_TAG: &str = "ARCHIVE";
const ARCHIVE_ENDING: &str = "_archive";

/// Question for an agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgendaRequest {
    /// A minute of the first day.
    pub from: WallMinute,
    /// A minute of the last day.
    pub to: WallMinute,
    /// The present, by the user's wall clock: what is overdue stands under its day.
    pub now: WallMinute,
}

/// Relation of an entry to the day that it stands under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgendaStanding {
    /// The date is of that day.
    OnDay,
    /// The date was so many days ago, and the heading is not done.
    Overdue(i64),
    /// The deadline is in so many days.
    Upcoming(i64),
}

/// An entry of the agenda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaEntry {
    /// The heading.
    pub object: MemexObject,
    /// Role of its date.
    pub kind: StampKind,
    /// The day under which it stands, by its first minute.
    pub day: WallMinute,
    /// The date itself, or the repetition that is meant.
    pub start: WallMinute,
    /// Its last minute.
    pub stop: WallMinute,
    /// Whether the date has a time of day.
    pub is_timed: bool,
    /// Whether the date comes again.
    pub repeats: bool,
    /// Relation to the day.
    pub standing: AgendaStanding,
}

/// Entries in the order of their days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgendaPage {
    /// Entries.
    pub entries: Vec<AgendaEntry>,
    /// Whether there were more than an agenda has.
    pub is_cut: bool,
}

impl MemexCatalog {
    /// Makes the agenda of a span of days.
    ///
    /// # Errors
    /// The span is too long or ends before it begins, or the index cannot be read.
    pub fn agenda(
        &self,
        asked: &AgendaRequest,
        access: PrivateAccess,
    ) -> Result<AgendaPage, StoreError> {
        let span = AgendaSpan::of(asked)?;
        let sql = format!(
            "SELECT {OBJECT_COLUMNS}, s.kind, s.start, s.stop, s.minutes, s.months, s.warning
             FROM stamp s JOIN object o ON o.id = s.object JOIN file f ON f.id = o.file
             WHERE o.private <= ?1 AND o.done = 0 AND s.kind IN (0, 1, 3)
               AND (s.wide = 1 OR s.start BETWEEN ?2 AND ?3 OR (s.kind IN (0, 1) AND s.start < ?2))
             ORDER BY s.object DESC LIMIT ?4"
        );
        let first = span.first - DAY_MINUTES;
        let last = span.last.max(span.today) + (WARNING_DAYS + 1) * DAY_MINUTES;
        let mut statement = self.sql.prepare_cached(&sql)?;
        let values = params![sees(access), first, last, MAX_AGENDA_STAMPS];
        let mut rows = statement.query(values)?;
        let (mut entries, mut seen) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            seen += 1;
            let object = MemexObject::of(row)?;
            if is_archived(&object) {
                continue;
            }
            span.enter(&object, &stamp_at_end(row)?, &mut entries);
        }
        entries.sort_by(|a, b| order(a).cmp(&order(b)));
        let is_cut = entries.len() > MAX_AGENDA_ENTRIES || seen == MAX_AGENDA_STAMPS;
        entries.truncate(MAX_AGENDA_ENTRIES);
        Ok(AgendaPage { entries, is_cut })
    }
}

/// Days of an agenda, by their first minutes.
struct AgendaSpan {
    first: i64,
    last: i64,
    today: i64,
}

impl AgendaSpan {
    fn of(asked: &AgendaRequest) -> Result<AgendaSpan, StoreError> {
        let [first, last, today] = [asked.from, asked.to, asked.now].map(day_of);
        if last < first {
            return Err(StoreError::Search("an agenda that ends before it begins"));
        }
        if last - first >= MAX_AGENDA_DAYS * DAY_MINUTES {
            return Err(StoreError::Search("an agenda of more than 366 days"));
        }
        Ok(AgendaSpan { first, last, today })
    }

    fn has(&self, day: i64) -> bool {
        (self.first..=self.last).contains(&day)
    }

    /// Adds the entries of a date.
    fn enter(&self, object: &MemexObject, stamp: &OrgTimestamp, entries: &mut Vec<AgendaEntry>) {
        let length = stamp.stop.0 - stamp.start.0;
        let mut push = |day: i64, start: i64, standing| {
            entries.push(AgendaEntry {
                object: object.clone(),
                kind: stamp.kind,
                day: WallMinute(day),
                start: WallMinute(start),
                stop: WallMinute(start + length),
                is_timed: stamp.stop.0.rem_euclid(DAY_MINUTES) != DAY_MINUTES - 1,
                repeats: repeats(stamp),
                standing,
            });
        };
        let is_plan = stamp.kind != StampKind::Active;
        let base = day_of(stamp.start);
        let is_late = is_plan && base < self.today && self.has(self.today);
        if is_late {
            let days = (self.today - base) / DAY_MINUTES;
            push(self.today, stamp.start.0, AgendaStanding::Overdue(days));
        }
        for start in self.occurrences(stamp) {
            let (begin, end) = (day_of(WallMinute(start)), day_of(WallMinute(start + length)));
            // It stands under today already.
            if is_late && begin <= self.today {
                continue;
            }
            // A plan is of the day on which it begins.
            let end = if is_plan { begin } else { end };
            let mut day = begin.max(self.first);
            while day <= end.min(self.last) {
                push(day, start, AgendaStanding::OnDay);
                day += DAY_MINUTES;
            }
        }
        let lead = stamp.warning.unwrap_or(WARNING_DAYS * DAY_MINUTES);
        let is_near = base > self.today && base - lead <= self.today;
        let is_deadline = stamp.kind == StampKind::Deadline;
        if is_deadline && is_near && self.has(self.today) && !self.has(base) {
            let days = (base - self.today) / DAY_MINUTES;
            push(self.today, stamp.start.0, AgendaStanding::Upcoming(days));
        }
    }

    /// Beginnings of a date and its repetitions that touch the span; of several on one day the first.
    fn occurrences(&self, stamp: &OrgTimestamp) -> Vec<i64> {
        let length = stamp.stop.0 - stamp.start.0;
        let (start, end) = (stamp.start.0, self.last + DAY_MINUTES - 1);
        let touches = |at: i64| at <= end && at + length >= self.first;
        let missing = (self.first - (start + length)).max(0);
        if let Some(every) = stamp.every_minutes.filter(|every| *every > 0) {
            // More often than daily counts once a day.
            let every = every.max(DAY_MINUTES);
            let mut at = start + (missing + every - 1) / every * every;
            let mut found = Vec::new();
            while at <= end {
                found.push(at);
                at += every;
            }
            return found;
        }
        if let Some(every) = stamp.every_months.filter(|every| *every > 0) {
            let gone = months_between(stamp.start, WallMinute(self.first)).max(0) / every;
            // One earlier: a long one may still last.
            let mut months = (gone - 1).max(0) * every;
            let mut found = Vec::new();
            loop {
                let at = add_months(stamp.start, months).0;
                if at > end {
                    return found;
                }
                found.extend(touches(at).then_some(at));
                months += every;
            }
        }
        [start].into_iter().filter(|at| touches(*at)).collect()
    }
}

fn repeats(stamp: &OrgTimestamp) -> bool {
    stamp.every_minutes.or(stamp.every_months).is_some_and(|every| every > 0)
}

fn is_archived(object: &MemexObject) -> bool {
    let mut tags = object.tags.iter().chain(&object.inherited);
    object.path.ends_with(ARCHIVE_ENDING) || tags.any(|tag| tag == ARCHIVE_TAG)
}

/// Days in order; on each what has a time, then what is of the day, what is overdue, what comes.
fn order(entry: &AgendaEntry) -> (i64, u8, i64, u8, &str, u64) {
    let (group, at) = match entry.standing {
        AgendaStanding::OnDay if entry.is_timed => (0, entry.start.0),
        AgendaStanding::OnDay => (1, 0),
        AgendaStanding::Overdue(_) => (2, entry.start.0),
        AgendaStanding::Upcoming(_) => (3, entry.start.0),
    };
    let kind = match entry.kind {
        StampKind::Deadline => 0,
        StampKind::Scheduled => 1,
        _ => 2,
    };
    (entry.day.0, group, at, kind, &entry.object.path, entry.object.line)
}

fn day_of(minute: WallMinute) -> i64 {
    minute.0.div_euclid(DAY_MINUTES) * DAY_MINUTES
}

/// The date in the columns behind those of the object.
fn stamp_at_end(row: &Row<'_>) -> rusqlite::Result<OrgTimestamp> {
    let kind = usize::try_from(row.get::<_, i64>(OBJECT_COLUMN_COUNT)?).ok();
    Ok(OrgTimestamp {
        kind: kind.and_then(|kind| StampKind::ALL.get(kind).copied()).unwrap_or(StampKind::Active),
        start: WallMinute(row.get(OBJECT_COLUMN_COUNT + 1)?),
        stop: WallMinute(row.get(OBJECT_COLUMN_COUNT + 2)?),
        every_minutes: row.get(OBJECT_COLUMN_COUNT + 3)?,
        every_months: row.get(OBJECT_COLUMN_COUNT + 4)?,
        warning: row.get(OBJECT_COLUMN_COUNT + 5)?,
    })
}

/// Columns of an object.
const OBJECT_COLUMN_COUNT: usize = 22;

#[cfg(test)]
mod tests;
