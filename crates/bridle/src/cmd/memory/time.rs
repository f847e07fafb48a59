//! Times as people type them: a date, a moment in UTC, or so long ago.

use std::time::{SystemTime, UNIX_EPOCH};

use bridle_sexp::civil_date::days_from_civil;

use crate::args::guard::whole_units;

pub(crate) const DAY_MS: i64 = 86_400_000;

/// Milliseconds since 1970; `None` if it is no time. A date is the end of that day.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if let Some(ago) = whole_units(text) {
        return i64::try_from(now.saturating_sub(ago).as_millis()).ok();
    }
    moment(text)
}

fn moment(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, parts.next()?);
    let day = number(day, 2)?;
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && parts.next().is_none();
    let start = fits.then(|| days_from_civil(year, month, day) * DAY_MS)?;
    let Some(time) = time else { return Some(start + DAY_MS - 1) };
    let (time, part) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |second| number(second, 2))?;
    let ms = number(format!("{part:0<3}").get(..3)?, 3)?;
    let fits = hour < 24 && minute < 60 && second < 61 && parts.next().is_none();
    fits.then(|| start + ((hour * 60 + minute) * 60 + second) * 1000 + ms)
}

/// A number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use bridle_wire::time::rfc3339;

    use super::moment;

    #[test]
    fn what_is_printed_can_be_typed() {
        for ms in [0, 951_782_400_000, 1_709_164_800_123, 4_107_542_400_000, 1_794_746_258_250] {
            assert_eq!(moment(&rfc3339(ms)), Some(ms), "{}", rfc3339(ms));
        }
        assert_eq!(moment("1970-01-01"), Some(86_399_999));
        assert_eq!(moment("1970-01-02 00:01"), Some(86_460_000));
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-1-1",
            "2026-01-01T25:00",
            "2026-01-01T1",
            "2026-01-01T00:00:00.12é",
        ] {
            assert_eq!(moment(bad), None, "{bad}");
        }
    }
}
