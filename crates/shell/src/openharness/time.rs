//! The two clocks of a Shell: one that never goes back, for deadlines and pauses, and the time of
//! day, for what an Engine says expires. Both are handed in; nothing here looks at a clock.

use bridle_sexp::civil_date::days_from_civil;

/// Milliseconds in a day.
const DAY_MS: i64 = 86_400_000;

/// Moment of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PosixTime {
    /// Milliseconds of a clock that never goes back.
    pub ms: u64,
    /// Milliseconds since 1970.
    pub unix_ms: i64,
}

/// Returns the time of an RFC 3339 text, to the second; `None` for anything else.
pub fn unix_ms(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse::<i64>().ok())
    };
    let marks = [(4, b"-"), (7, b"-"), (13, b":"), (16, b":")];
    let are_there = marks.iter().all(|(at, mark)| bytes.get(*at) == Some(&mark[0]));
    if !are_there || !matches!(bytes.get(10), Some(b'T' | b't')) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1 || !(1..=longest).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let offset = offset(zone(text.get(19..)?)?)?;
    let seconds = (hour * 60 + minute - offset) * 60 + second;
    Some(days_from_civil(year, month, day) * DAY_MS + seconds * 1_000)
}

/// Text behind the fraction of a second.
fn zone(rest: &str) -> Option<&str> {
    let Some(fraction) = rest.strip_prefix('.') else { return Some(rest) };
    let zone = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (zone.len() < fraction.len()).then_some(zone)
}

/// Minutes that a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|_| is_number)
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use bridle_wire::time::rfc3339;

    use super::unix_ms;

    #[test]
    fn what_is_written_is_read() {
        for ms in [0, 951_782_400_000, 951_868_800_000, 1_794_746_258_000, 4_107_542_400_000] {
            assert_eq!(unix_ms(&rfc3339(ms)), Some(ms));
        }
        assert_eq!(unix_ms("1970-01-01T01:30:00+01:00"), Some(1_800_000));
        assert_eq!(unix_ms("1969-12-31t23:59:59.999-00:01"), Some(59_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "soon",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-13-01T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+1:00",
            "1970-01-01T00:00:00é",
            "+970-01-01T00:00:00Z",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }
}
