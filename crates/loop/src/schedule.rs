//! Schedules of a session: when they are due, what is done about runs that were missed, and the signals that they send.
//!
//! Called by `step` when time has passed and by `act` for what was allowed. A time zone comes with the request, looked up
//! by the daemon: nothing is looked up here.

mod cron;
mod zone_offsets;

use std::sync::Arc;

use bridle_sexp::Value;

pub(crate) use self::cron::CronExpression;
pub use self::zone_offsets::ZoneOffsets;
use crate::action::{ScheduleRequest, ScheduleTime};
use crate::event::{Outcome, SignalSender};
use crate::ids::UnixMillis;
use crate::perceive::{self, TickRouting};
use crate::plist_codec::{self, FieldSink, PlistBuilder, UnreadableValue, number, required};
use crate::state::SessionState;
use crate::value_size::weight;

/// Schedules of one owner in all its sessions; one more fails. Counted where the daemon says how many
/// there are elsewhere.
pub const MAX_SCHEDULES_PER_PRINCIPAL: usize = 32;

/// The largest payload of a schedule, in bytes: it is kept for as long as the schedule.
const MAX_SCHEDULE_BYTES: usize = 64 << 10;

/// Milliseconds after which a run that did not happen was missed: the daemon did not run.
const MISSED_AFTER_MS: i64 = 5 * 60_000;

/// Milliseconds that a paused schedule without an end waits to be resumed.
const MAX_PAUSE_MS: i64 = 366 * 24 * 60 * 60 * 1_000;

/// The principal of the signals that schedules send.
const SCHEDULE: &str = "schedule";

/// A schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedSchedule {
    pub(crate) due: UnixMillis,
    pub(crate) again: ScheduleRepeat,
    pub(crate) payload: Arc<Value>,
    /// Times that it still fires, if that has an end.
    pub(crate) left: Option<u32>,
    /// Time after which it fires no more, if that is so.
    pub(crate) until: Option<UnixMillis>,
    pub(crate) missed: MissedRun,
    pub(crate) is_paused: bool,
}

/// Repetition of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScheduleRepeat {
    /// None: fires once.
    Never,
    /// Every so many milliseconds.
    Every(i64),
    /// At the times of an expression.
    Cron(Arc<CronTimes>),
}

/// Times of a cron expression in a time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CronTimes {
    pub(crate) expression: CronExpression,
    /// Name of the zone.
    pub(crate) zone: Box<str>,
    pub(crate) offsets: ZoneOffsets,
}

impl CronTimes {
    pub(crate) fn next(&self, after: UnixMillis) -> Option<UnixMillis> {
        self.offsets.next(&self.expression, after)
    }
}

/// Treatment of a run whose time passed while the daemon did not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedRun {
    /// One run as soon as possible, however many were missed.
    #[default]
    Once,
    /// None of them.
    Skip,
}

impl MissedRun {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Skip => "skip",
        }
    }
}

/// A schedule as others are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFact {
    /// Its name.
    pub name: Box<str>,
    /// Next time at which it fires.
    pub due: UnixMillis,
    /// Milliseconds between two firings; `None` for one that fires once or by an expression.
    pub every: Option<i64>,
    /// Cron expression and name of the time zone.
    pub cron: Option<(Box<str>, Box<str>)>,
    /// Times that it still fires; `None` without end.
    pub left: Option<u32>,
    /// Time after which it fires no more; `None` without end.
    pub until: Option<UnixMillis>,
    /// Treatment of runs that were missed.
    pub missed: MissedRun,
    /// Whether it waits to be resumed.
    pub is_paused: bool,
}

/// Sends the signals of all schedules that are due.
pub(crate) fn fire_due(state: &mut SessionState) {
    let now = state.now;
    let is_due = |planned: &PlannedSchedule| planned.wakes() <= now;
    let due: Vec<Box<str>> = state
        .schedules
        .iter()
        .filter(|(_, planned)| is_due(planned))
        .map(|(name, _)| name.clone())
        .collect();
    for name in due {
        let Some(mut planned) = state.schedules.remove(&name) else { continue };
        // Of a paused one, only its end wakes.
        if planned.is_paused || planned.ends_before(now) {
            continue;
        }
        let least = state.limits.schedule_min_ms.max(1);
        let next = if planned.is_missed(now) && planned.missed == MissedRun::Skip {
            planned.again.after(now)
        } else {
            let asker = SignalSender { client: Some(name.clone()), ..SignalSender::new(SCHEDULE) };
            match perceive::from_time(state, asker, Value::clone(&planned.payload)) {
                TickRouting::Waits => planned.count(now),
                TickRouting::NoRoom => Some(now.after(least)),
            }
        };
        let Some(next) = next.filter(|next| !planned.ends_before(*next)) else { continue };
        planned.due = next;
        state.schedules.insert(name, planned);
    }
}

/// Plans what was allowed.
pub(crate) fn plan(state: &mut SessionState, schedule: &ScheduleRequest) -> Outcome {
    let is_new = !state.schedules.contains_key(&schedule.name);
    if is_new && state.schedules.len() >= state.limits.schedules {
        let reason = format!("{} schedules already, which is the limit", state.schedules.len());
        return Outcome::Failed(reason.into());
    }
    let all = schedule.elsewhere.map(|elsewhere| state.schedules.len() + elsewhere as usize);
    if is_new && all.is_some_and(|all| all >= MAX_SCHEDULES_PER_PRINCIPAL) {
        let reason = format!(
            "{MAX_SCHEDULES_PER_PRINCIPAL} schedules of this session's owner already, which is the limit; \
             `bridle schedule` lists them"
        );
        return Outcome::Failed(reason.into());
    }
    if weight(&schedule.payload) > MAX_SCHEDULE_BYTES {
        let reason = format!("the payload of a schedule may have {MAX_SCHEDULE_BYTES} bytes");
        return Outcome::Failed(reason.into());
    }
    // It was well-formed when it was asked for; the yes may have come late.
    let due = schedule.first_due(state.now).filter(|_| !schedule.ends_before_it_fires(state.now));
    let Some(due) = due else {
        return Outcome::Failed("the schedule would end before it fires".into());
    };
    let again = match &schedule.when {
        ScheduleTime::In(_) => ScheduleRepeat::Never,
        ScheduleTime::Every(ms) => ScheduleRepeat::Every(*ms),
        ScheduleTime::Cron(times) => ScheduleRepeat::Cron(Arc::clone(times)),
    };
    let planned = PlannedSchedule {
        due,
        payload: Arc::new(schedule.payload.clone()),
        left: schedule.times.filter(|_| again != ScheduleRepeat::Never),
        again,
        until: schedule.until,
        missed: schedule.missed,
        is_paused: false,
    };
    let told = planned.told(&schedule.name);
    state.schedules.insert(schedule.name.clone(), planned);
    Outcome::Done(told)
}

/// Takes a schedule back.
pub(crate) fn remove(state: &mut SessionState, name: &str) -> Outcome {
    match state.schedules.remove(name) {
        Some(_) => Outcome::Done(Value::plist([("name", Value::from(name))])),
        None => unknown(name),
    }
}

/// Has a schedule wait, or go on.
pub(crate) fn pause(state: &mut SessionState, name: &str, is_paused: bool) -> Outcome {
    let now = state.now;
    let Some(planned) = state.schedules.get_mut(name) else { return unknown(name) };
    let was_paused = std::mem::replace(&mut planned.is_paused, is_paused);
    if is_paused && !was_paused {
        planned.until = Some(planned.until.unwrap_or(planned.due.max(now).after(MAX_PAUSE_MS)));
    } else if was_paused && !is_paused {
        // What passed meanwhile was not missed: nobody wanted it. What is due once still is.
        let next = planned.again.after(now).unwrap_or(planned.due.max(now));
        if planned.ends_before(next) {
            state.schedules.remove(name);
            let reason = format!("the schedule `{name}` has ended meanwhile, and is gone");
            return Outcome::Failed(reason.into());
        }
        planned.due = next;
    }
    Outcome::Done(planned.told(name))
}

fn unknown(name: &str) -> Outcome {
    Outcome::Failed(format!("no schedule `{name}`").into())
}

impl ScheduleRepeat {
    /// The next time after another; none if there is no other.
    fn after(&self, now: UnixMillis) -> Option<UnixMillis> {
        match self {
            Self::Never => None,
            Self::Every(ms) => Some(now.after((*ms).max(1))),
            Self::Cron(times) => times.next(now),
        }
    }

    fn every(&self) -> Option<i64> {
        match self {
            Self::Every(ms) => Some(*ms),
            Self::Never | Self::Cron(_) => None,
        }
    }

    fn cron(&self) -> Option<&CronTimes> {
        match self {
            Self::Cron(times) => Some(times),
            Self::Never | Self::Every(_) => None,
        }
    }
}

impl PlannedSchedule {
    /// Time at which it wants to be looked at: when it is due, or of a paused one when it is over.
    pub(crate) fn wakes(&self) -> UnixMillis {
        match (self.is_paused, self.until) {
            (true, Some(until)) => until.after(1),
            _ => self.due,
        }
    }

    /// Counts a run, and returns the time of the next one, if there is any.
    fn count(&mut self, now: UnixMillis) -> Option<UnixMillis> {
        if self.left == Some(1) {
            return None;
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        // After a long sleep a schedule fires once, not once for each time it missed.
        self.again.after(now)
    }

    fn ends_before(&self, time: UnixMillis) -> bool {
        self.until.is_some_and(|until| until < time)
    }

    fn is_missed(&self, now: UnixMillis) -> bool {
        self.due.after(MISSED_AFTER_MS) < now
    }

    /// Facts for others.
    pub(crate) fn fact(&self, name: &str) -> ScheduleFact {
        let cron = self.again.cron();
        ScheduleFact {
            name: name.into(),
            due: self.due,
            every: self.again.every(),
            cron: cron.map(|it| (it.expression.text().into(), it.zone.clone())),
            left: self.left,
            until: self.until,
            missed: self.missed,
            is_paused: self.is_paused,
        }
    }

    /// The outcome of whatever was done with it.
    fn told(&self, name: &str) -> Value {
        let cron = self.again.cron();
        PlistBuilder::new()
            .put("name", name)
            .put("due", self.due.0)
            .put_some("every", self.again.every())
            .put_some("cron", cron.map(|it| it.expression.text()))
            .put_some("zone", cron.map(|it| &*it.zone))
            .put_some("times", self.left.map(i64::from))
            .put_some("until", self.until.map(|until| until.0))
            .put_flag("paused", self.is_paused)
            .done()
    }

    pub(crate) fn to_value(&self, name: &str) -> Value {
        let cron = self.again.cron();
        let missed = Some(self.missed).filter(|it| *it != MissedRun::default());
        PlistBuilder::new()
            .put("name", name)
            .put("due", self.due.0)
            .put_some("every", self.again.every())
            .put_some("cron", cron.map(|it| it.expression.text()))
            .put_some("zone", cron.map(|it| &*it.zone))
            .put_some("offsets", cron.map(|it| it.offsets.to_value()))
            .put("payload", Value::clone(&self.payload))
            .put_some("left", self.left.map(i64::from))
            .put_some("until", self.until.map(|until| until.0))
            .put_some("missed", missed.map(|it| Value::keyword(it.word())))
            .put_flag("paused", self.is_paused)
            .done()
    }

    pub(crate) fn from_value(value: &Value) -> Result<(Box<str>, Self), UnreadableValue> {
        let time = |key| plist_codec::time(value, key);
        let left = match value.get("left") {
            Some(_) => Some(u32::try_from(number(value, "left")?).unwrap_or(u32::MAX)),
            None => None,
        };
        let until = value.get("until").map(|_| time("until")).transpose()?;
        let planned = Self {
            due: time("due")?,
            again: ScheduleRepeat::from_value(value)?,
            payload: Arc::new(required(value, "payload")?.clone()),
            left,
            until,
            missed: missed_of(value).ok_or(UnreadableValue::new("missed", "`:once` or `:skip`"))?,
            is_paused: value.get("paused").is_some_and(|it| !it.is_nil()),
        };
        Ok((plist_codec::text(value, "name")?, planned))
    }
}

impl ScheduleRepeat {
    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        if value.get("cron").is_some() {
            let text = plist_codec::text(value, "cron")?;
            let expression = CronExpression::parse(&text)
                .map_err(|_| UnreadableValue::new("cron", "a cron expression"))?;
            let offsets = ZoneOffsets::from_value(required(value, "offsets")?)?;
            let zone = plist_codec::text(value, "zone")?;
            return Ok(Self::Cron(Arc::new(CronTimes { expression, zone, offsets })));
        }
        match value.get("every").map(Value::as_i64) {
            None => Ok(Self::Never),
            Some(Some(ms)) => Ok(Self::Every(ms)),
            Some(None) => Err(UnreadableValue::new("every", "a number of milliseconds")),
        }
    }
}

/// Treatment of missed runs that a plist names; the usual one if it names none.
pub(crate) fn missed_of(value: &Value) -> Option<MissedRun> {
    match value.get("missed").filter(|it| !it.is_nil()) {
        None => Some(MissedRun::default()),
        Some(word) => {
            [MissedRun::Once, MissedRun::Skip].into_iter().find(|it| word.is_keyword(it.word()))
        }
    }
}
