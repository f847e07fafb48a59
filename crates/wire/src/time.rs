//! Moments as text. The wire and the record count milliseconds since 1970; people read dates. Pure
//! arithmetic: no clock, no time zone but UTC.

/// Milliseconds in a day.
const DAY: i64 = 86_400_000;

/// Days from the first of March of the year 0 to the first of January 1970.
const EPOCH: i64 = 719_468;

/// Days in 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;

/// The moment in UTC as RFC 3339 writes it, such as `2026-11-15T12:30:00.250Z`. Takes any number;
/// years outside 0 to 9999 get as many digits as they need.
pub fn rfc3339(unix_ms: i64) -> String {
    let (year, month, day) = date(unix_ms.div_euclid(DAY));
    let ms = unix_ms.rem_euclid(DAY);
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, milli) = (ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a day since 1970, in the Gregorian calendar. Years are counted from March,
/// so that the leap day is the last one of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, day_of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let leaps = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months from March have 31 30 31 30 31 days, twice, and then the rest: 153 days in five.
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn moments() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_123, "2024-02-29T00:00:00.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_794_746_258_250, "2026-11-15T12:37:38.250Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
        }
    }

    #[test]
    fn no_number_is_too_large() {
        assert!(rfc3339(i64::MAX).ends_with('Z') && rfc3339(i64::MIN).ends_with('Z'));
    }
}
