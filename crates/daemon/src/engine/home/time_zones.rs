//! Time zones of this machine, as a schedule is told of them: the offsets for as long as it lives.
//!
//! Asked once, when something is planned; what was found is in the record, so replay asks nobody. A law that changes
//! afterwards counts for what is planned from then on.

use bridle_loop::ZoneOffsets;
use bridle_sexp::Value;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The longest name of a time zone, in bytes.
const MAX_ZONE_NAME_BYTES: usize = 64;

/// Milliseconds behind the life of a schedule for which offsets are told: a yes may come a day late.
const TIME_FOR_A_YES_MS: i64 = 31 * 24 * 60 * 60 * 1_000;

/// Name of the zone of a machine that does not name it.
const UNNAMED: &str = "local";

/// Time zones that schedules can name.
#[derive(Debug)]
pub(super) struct TimeZones {
    /// Zone of whoever names none.
    own: TimeZone,
}

impl Default for TimeZones {
    fn default() -> TimeZones {
        TimeZones { own: TimeZone::system() }
    }
}

impl TimeZones {
    /// Returns the zone that is named and its offsets from a moment on, as keys of a payload. Without offsets, the zone is
    /// refused by whoever reads them.
    pub(super) fn facts(
        &self,
        zone: Option<&Value>,
        at: i64,
        life_ms: i64,
    ) -> Vec<(&'static str, Value)> {
        let found = match zone {
            None => Some(self.own.clone()),
            Some(zone) => zone.as_str().and_then(named),
        };
        let until = at.saturating_add(life_ms).saturating_add(TIME_FOR_A_YES_MS);
        let offsets = found.as_ref().and_then(|found| offsets(found, at, until));
        let name = match zone {
            None => Value::str(self.own.iana_name().unwrap_or(UNNAMED)),
            Some(zone) => zone.clone(),
        };
        vec![("zone", name), ("offsets", offsets.map_or(Value::Nil, |it| it.to_value()))]
    }
}

/// Returns the first moment after another, in milliseconds since 1970, of a schedule: a cron expression, with the name of
/// a time zone behind it or in the zone of this machine, such as `0 7 * * 1-5 Europe/Berlin`; none if there is none within
/// a year.
///
/// # Errors
/// When the text is no schedule; the error says why.
pub(in crate::engine) fn next_time(schedule: &str, after: i64) -> Result<Option<i64>, String> {
    let words: Vec<&str> = schedule.split_whitespace().collect();
    let fields = if schedule.trim_start().starts_with('@') { 1 } else { 5 };
    let (cron, zone) = words.split_at(fields.min(words.len()));
    let found = match zone {
        [] => Some(TimeZone::system()),
        [zone] => named(zone),
        _ => None,
    };
    let offsets = found.and_then(|zone| offsets(&zone, after, after.saturating_add(YEAR_MS)));
    let offsets = offsets.ok_or_else(|| {
        format!("`{}` behind a cron expression, expected nothing or a time zone such as `Europe/Berlin`", zone.join(" "))
    })?;
    offsets.next_time(&cron.join(" "), after)
}

/// Longest time to the next moment of a schedule.
const YEAR_MS: i64 = 366 * 24 * 60 * 60 * 1_000;

/// The zone of a name. Only names of the list of zones are looked up, and never a path.
fn named(name: &str) -> Option<TimeZone> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-/".contains(&byte);
    let is_name =
        !name.is_empty() && name.len() <= MAX_ZONE_NAME_BYTES && name.bytes().all(is_part);
    is_name.then(|| TimeZone::get(name).ok())?.filter(|zone| !zone.is_unknown())
}

fn offsets(zone: &TimeZone, at: i64, until: i64) -> Option<ZoneOffsets> {
    let now = Timestamp::from_millisecond(at).ok()?;
    let first = (at, i64::from(zone.to_offset(now).seconds()));
    let later = zone
        .following(now)
        .map(|change| (change.timestamp().as_millisecond(), i64::from(change.offset().seconds())));
    let all = std::iter::once(first).chain(later.take_while(|(from, _)| *from <= until));
    let mut told: Vec<(i64, i64)> = Vec::new();
    for (from, seconds) in all {
        // Some changes are of the name alone.
        if told.last().is_none_or(|(_, before)| *before != seconds) {
            told.push((from, seconds));
        }
    }
    ZoneOffsets::new(told)
}

#[cfg(test)]
mod tests {
    use bridle_sexp::Value;

    use super::{TimeZones, next_time};

    /// 2026-11-19 12:00 UTC.
    const AT: i64 = 1_795_089_600_000;
    const YEAR: i64 = super::YEAR_MS;

    fn check(zone: Option<&str>, offsets: &str) {
        let zone = zone.map(Value::str);
        let facts = TimeZones::default().facts(zone.as_ref(), AT, YEAR);
        assert_eq!(facts[1].1.to_string(), offsets, "{zone:?}");
    }

    #[test]
    fn a_zone_is_told_with_the_days_on_which_its_clocks_are_set() {
        check(
            Some("Europe/Berlin"),
            "((1795089600000 3600) (1806195600000 7200) (1824944400000 3600))",
        );
        check(Some("UTC"), "((1795089600000 0))");
        check(Some("Asia/Kolkata"), "((1795089600000 19800))");
    }

    #[test]
    fn a_schedule_is_an_expression_with_or_without_a_zone() {
        // 07:00 in Berlin is 06:00 UTC, on the day after.
        let berlin = AT + 18 * 60 * 60 * 1_000;
        assert_eq!(next_time("0 7 * * * Europe/Berlin", AT), Ok(Some(berlin)));
        assert_eq!(next_time("@hourly UTC", AT), Ok(Some(AT + 60 * 60 * 1_000)));
        assert_eq!(next_time("0 0 30 2 * UTC", AT), Ok(None));
        assert!(next_time("*/5 * * * *", AT).is_ok_and(|next| next.is_some()));
        for bad in ["", "0 7 * *", "0 7 * * * Mars/Olympus", "0 7 * * * UTC UTC", "@never"] {
            assert!(next_time(bad, AT).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_zone_has_no_offsets() {
        for bad in [
            "",
            "Mars/Olympus",
            "../../etc/passwd",
            "/etc/localtime",
            "Europe/Berlin\0",
            "Etc/Unknown",
        ] {
            check(Some(bad), "nil");
        }
        let no_text = TimeZones::default().facts(Some(&Value::int(7)), AT, YEAR);
        assert!(no_text[1].1.is_nil());
        let own = TimeZones::default().facts(None, AT, YEAR);
        assert!(own[0].1.as_str().is_some_and(|name| !name.is_empty()), "{own:?}");
        assert!(!own[1].1.is_nil());
    }
}
