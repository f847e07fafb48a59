//! Arguments of `:schedule`.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{InvalidAction, present, text};
use crate::ids::{KeywordName, UnixMillis};
use crate::schedule::{CronExpression, CronTimes, MissedRun, ZoneOffsets, missed_of};

/// The longest name of a schedule, in bytes: it is a label, not a text.
const MAX_SCHEDULE_NAME_BYTES: usize = 128;

/// The longest name of a time zone, in bytes.
const MAX_ZONE_NAME_BYTES: usize = 64;

/// Arguments of the action `:schedule`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleRequest {
    /// Its name; a schedule of the same name is replaced.
    pub name: Box<str>,
    /// Time at which it fires.
    pub(crate) when: ScheduleTime,
    /// The payload of the signal.
    pub payload: Value,
    /// Times that it fires at most; without end if absent.
    pub times: Option<u32>,
    /// Time after which it fires no more; without end if nobody says.
    pub until: Option<UnixMillis>,
    /// Treatment of runs that are missed.
    pub missed: MissedRun,
    /// Schedules of the session's owner in other sessions, as the daemon counted them.
    pub elsewhere: Option<u32>,
}

/// Time of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScheduleTime {
    /// Once, after so many milliseconds.
    In(i64),
    /// Again and again, every so many milliseconds.
    Every(i64),
    /// At the times of a cron expression, in a time zone that the daemon looked up.
    Cron(Arc<CronTimes>),
}

/// Argument that is something else than expected, as the asker is told.
fn fault(key: &'static str, expected: &'static str) -> InvalidAction {
    InvalidAction::Argument { action: "schedule", key, expected }
}

/// Value under a key, unless it is nil.
fn given<'v>(payload: &'v Value, key: &str) -> Option<&'v Value> {
    payload.get(key).filter(|value| !value.is_nil())
}

impl ScheduleRequest {
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let name = text(payload, "schedule", "name")?;
        if name.is_empty() || name.len() > MAX_SCHEDULE_NAME_BYTES {
            return Err(fault("name", "a string of 1 to 128 bytes"));
        }
        let when = ScheduleTime::of(payload)?;
        let signal = present(payload, "schedule", "payload")?;
        if signal.pairs().is_none() || signal.get("sensor").and_then(KeywordName::of).is_none() {
            return Err(fault("payload", "a property list with a `:sensor`"));
        }
        let count = |key| payload.get(key).and_then(Value::as_i64).map(u32::try_from);
        let times = match count("times") {
            Some(Ok(0) | Err(_)) => return Err(fault("times", "a number of times, at least 1")),
            Some(Ok(times)) => Some(times),
            None if given(payload, "times").is_some() => {
                return Err(fault("times", "a number of times, at least 1"));
            }
            None => None,
        };
        let until = match given(payload, "until").map(Value::as_i64) {
            None => None,
            Some(Some(until)) => Some(UnixMillis(until)),
            Some(None) => return Err(fault("until", "a time, in milliseconds since 1970")),
        };
        let missed = missed_of(payload).ok_or_else(|| fault("missed", "`:once` or `:skip`"))?;
        let elsewhere = count("elsewhere").map(|count| count.unwrap_or(u32::MAX));
        Ok(Self { name, when, payload: signal.clone(), times, until, missed, elsewhere })
    }

    /// Returns when it fires first if it is planned now; none if it never does.
    pub(crate) fn first_due(&self, now: UnixMillis) -> Option<UnixMillis> {
        match &self.when {
            ScheduleTime::In(ms) | ScheduleTime::Every(ms) => Some(now.after(*ms)),
            ScheduleTime::Cron(times) => times.next(now),
        }
    }

    /// Returns whether it would end before it fires, if it is planned now.
    pub(crate) fn ends_before_it_fires(&self, now: UnixMillis) -> bool {
        let first = self.first_due(now);
        first.is_none_or(|first| self.until.is_some_and(|until| until < first))
    }

    /// Returns why it cannot be planned now, with so many milliseconds between two firings at least.
    pub(crate) fn fault(&self, now: UnixMillis, least_ms: i64) -> Option<String> {
        if let ScheduleTime::Every(ms) = self.when
            && ms < least_ms
        {
            return Some(format!("`:every` of a schedule, expected at least {least_ms} ms"));
        }
        if !self.ends_before_it_fires(now) {
            return None;
        }
        let Some(first) = self.first_due(now) else {
            return Some("`:cron` of a schedule, expected a time that comes within a year".into());
        };
        Some(format!(
            "a schedule that ends before it fires, expected an end at {} or later, in milliseconds since 1970",
            first.0
        ))
    }
}

impl ScheduleTime {
    fn of(payload: &Value) -> Result<Self, InvalidAction> {
        let milliseconds = |key| payload.get(key).and_then(Value::as_i64).filter(|ms| *ms >= 0);
        match (milliseconds("in"), milliseconds("every"), given(payload, "cron")) {
            (Some(ms), None, None) => Ok(Self::In(ms)),
            (None, Some(ms), None) => Ok(Self::Every(ms)),
            (None, None, Some(cron)) => Self::cron(payload, cron),
            (_, _, Some(_)) => Err(fault("cron", "no `:in` and no `:every` beside it")),
            _ => Err(fault("in", "either `:in` or `:every`, in milliseconds")),
        }
    }

    fn cron(payload: &Value, cron: &Value) -> Result<Self, InvalidAction> {
        let text = cron.as_str().ok_or_else(|| fault("cron", "a string such as `0 7 * * 1-5`"))?;
        let expression =
            CronExpression::parse(text).map_err(|reason| InvalidAction::Cron(reason.into()))?;
        let zone = match given(payload, "zone").map(Value::as_str) {
            None => "",
            Some(Some(zone)) if zone.len() <= MAX_ZONE_NAME_BYTES => zone,
            Some(_) => {
                return Err(fault("zone", "the name of a time zone, such as `Europe/Berlin`"));
            }
        };
        let offsets =
            payload.get("offsets").and_then(|offsets| ZoneOffsets::from_value(offsets).ok());
        let offsets = offsets.ok_or_else(|| {
            fault(
                "zone",
                "a time zone that the daemon's machine knows, such as `Europe/Berlin` or `UTC`",
            )
        })?;
        Ok(Self::Cron(Arc::new(CronTimes { expression, zone: zone.into(), offsets })))
    }
}
