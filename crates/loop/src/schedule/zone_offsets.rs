//! A time zone as what the daemon looked up of it: its offsets from UTC, each with the moment from which it holds.
//!
//! Part of the record: the state of a session does not depend on the tables of a machine.

use bridle_sexp::Value;

use super::cron::CronExpression;
use crate::ids::UnixMillis;
use crate::plist_codec::UnreadableValue;

/// Most changes of an offset: a zone has two in a year, a few have four.
const MAX_ZONE_OFFSETS: usize = 64;

/// The greatest offset, in seconds.
const MAX_OFFSET_SECONDS: i64 = 26 * 60 * 60;

const MINUTE_MS: i64 = 60_000;

/// Offsets of a time zone from UTC, the earliest first. The first one holds from ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneOffsets(Box<[(i64, i64)]>);

/// Time between two changes of an offset.
#[derive(Clone, Copy)]
struct OffsetSpan {
    /// Moments in milliseconds since 1970: the first, and the one after the last.
    start: i64,
    end: i64,
    /// Milliseconds before UTC.
    offset: i64,
}

impl ZoneOffsets {
    /// Takes offsets in seconds, each with the moment in milliseconds since 1970 from which it holds; `None` if there
    /// are none, too many, out of order or too large.
    pub fn new(offsets: Vec<(i64, i64)>) -> Option<Self> {
        let is_good = !offsets.is_empty()
            && offsets.len() <= MAX_ZONE_OFFSETS
            && offsets.iter().all(|(_, seconds)| seconds.abs() <= MAX_OFFSET_SECONDS)
            && offsets.is_sorted_by(|(one, _), (next, _)| one < next);
        is_good.then(|| Self(offsets.into()))
    }

    /// The offsets as a list of pairs.
    pub fn to_value(&self) -> Value {
        let pair =
            |(from, seconds): &(i64, i64)| Value::list([Value::int(*from), Value::int(*seconds)]);
        Value::list(self.0.iter().map(pair))
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let fault =
            UnreadableValue::new("offsets", "pairs of moments and seconds, the earliest first");
        let pair = |pair: &Value| match pair.elements()? {
            [from, seconds] => Some((from.as_i64()?, seconds.as_i64()?)),
            _ => None,
        };
        let pairs = value.elements().filter(|pairs| pairs.len() <= MAX_ZONE_OFFSETS);
        pairs.and_then(|pairs| pairs.iter().map(pair).collect()).and_then(Self::new).ok_or(fault)
    }

    /// Returns the first moment after another, in milliseconds since 1970, at the times of a cron expression; none if there
    /// is none within a year.
    ///
    /// # Errors
    /// When the text is no cron expression; the error says why.
    pub fn next_time(&self, cron: &str, after: i64) -> Result<Option<i64>, String> {
        let cron = CronExpression::parse(cron)?;
        Ok(self.next(&cron, UnixMillis(after)).map(|next| next.0))
    }

    /// Returns the first moment after another at which a clock in this zone shows a minute that fits.
    ///
    /// A clock that is set forward skips minutes: an expression that names hours and fits one of them fires once, as the
    /// clock is set. One that is set back shows minutes twice: such an expression fires the first time. One that fits in
    /// every hour goes by real time.
    pub(crate) fn next(&self, cron: &CronExpression, after: UnixMillis) -> Option<UnixMillis> {
        let after = after.0;
        let spans = (0..self.0.len()).map(|place| self.span(place));
        spans.enumerate().filter(|(_, span)| span.end > after).find_map(|(place, span)| {
            let before = place.checked_sub(1).map(|place| self.span(place).offset);
            span.next(cron, before, after).map(UnixMillis)
        })
    }

    fn span(&self, place: usize) -> OffsetSpan {
        let (from, seconds) = self.0[place];
        let end = self.0.get(place + 1).map_or(i64::MAX, |(next, _)| *next);
        OffsetSpan { start: if place == 0 { i64::MIN } else { from }, end, offset: seconds * 1_000 }
    }
}

impl OffsetSpan {
    fn next(&self, cron: &CronExpression, offset_before: Option<i64>, after: i64) -> Option<i64> {
        let minute_from = |moment: i64, offset: i64| {
            let local = moment.saturating_add(offset);
            local.div_euclid(MINUTE_MS) + i64::from(local.rem_euclid(MINUTE_MS) > 0)
        };
        let mut from = minute_from(self.start.max(after.saturating_add(1)), self.offset);
        let keeps_wall_time = !cron.is_hourly();
        if let Some(before) = offset_before.filter(|_| keeps_wall_time) {
            let was_shown = minute_from(self.start, before);
            let begins_with = minute_from(self.start, self.offset);
            let is_skipped = || cron.next(was_shown, begins_with).is_some();
            if self.start > after && before < self.offset && is_skipped() {
                return Some(self.start);
            }
            // What was shown before the clock was set back is not meant again.
            from = from.max(was_shown);
        }
        let before = minute_from(self.end, self.offset);
        let minute = cron.next(from, before)?;
        Some(minute.checked_mul(MINUTE_MS)?.saturating_sub(self.offset))
    }
}

#[cfg(test)]
mod tests;
