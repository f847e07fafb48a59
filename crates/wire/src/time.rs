//! Moments as text. The wire and the record count milliseconds since 1970; people read dates. Pure
//! arithmetic: no clock, no time zone but UTC.

use bridle_sexp::civil_date::civil_from_days;

/// Milliseconds in a day.
const DAY_MS: i64 = 86_400_000;

/// The moment in UTC as RFC 3339 writes it, such as `2026-11-15T12:30:00.250Z`. Takes any number;
/// years outside 0 to 9999 get as many digits as they need.
pub fn rfc3339(unix_ms: i64) -> String {
    let (year, month, day) = civil_from_days(unix_ms.div_euclid(DAY_MS));
    let ms = unix_ms.rem_euclid(DAY_MS);
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, milli) = (ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
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
