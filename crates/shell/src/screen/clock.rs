//! Times as the clock on the wall shows them. Programs get UTC, see [`bridle_wire::time`].

use bridle_wire::time::rfc3339;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns date, hour and minute in the time zone of the user, for tables: `2026-11-18 15:47`.
pub fn local_minute(unix_ms: i64) -> String {
    written(unix_ms, &TimeZone::system(), "%Y-%m-%d %H:%M")
}

/// Returns the same with seconds and the distance from UTC: `2026-11-18 15:47:10 +01:00`.
pub fn local_second(unix_ms: i64) -> String {
    written(unix_ms, &TimeZone::system(), "%Y-%m-%d %H:%M:%S %:z")
}

fn written(unix_ms: i64, zone: &TimeZone, format: &str) -> String {
    match Timestamp::from_millisecond(unix_ms) {
        Ok(time) => time.to_zoned(zone.clone()).strftime(format).to_string(),
        // Beyond the years that calendars have.
        Err(_) => rfc3339(unix_ms),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::{Offset, TimeZone};

    use super::written;

    #[test]
    fn times_are_shifted_and_extremes_stay_readable() {
        let zone = TimeZone::fixed(Offset::constant(-3));
        assert_eq!(written(0, &zone, "%Y-%m-%d %H:%M"), "1969-12-31 21:00");
        assert_eq!(written(999, &zone, "%Y-%m-%d %H:%M:%S %:z"), "1969-12-31 21:00:00 -03:00");
        assert!(written(i64::MAX, &zone, "%Y").ends_with('Z'));
        assert!(written(i64::MIN, &zone, "%Y").ends_with('Z'));
    }
}
