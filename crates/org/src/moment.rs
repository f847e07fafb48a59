//! Moments of the calendar, to the minute, as timestamps name them: no zone, no clock. Who needs the present is told it.

use bridle_sexp::civil_date::{civil_from_days, days_from_civil};

use crate::object::is_date;
use crate::text::skip_blanks;

/// Minutes of a day.
const DAY_MINUTES: i64 = 24 * 60;

/// Names of days as Org writes them; the first day of 1970 was a Thursday.
const DAY_NAMES: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Years that are calculated with: more than a timestamp can name, and few enough not to overflow.
const MAX_YEARS: i64 = 1_000_000;

/// A minute of the calendar, in the years that a timestamp can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Minutes since 1970.
    minutes: i64,
}

/// Units that a timestamp is moved by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShiftUnit {
    Minute,
    Hour,
    Day,
    Month,
    Year,
}

impl Moment {
    /// Returns the minute of a time in milliseconds since 1970, in UTC.
    #[must_use]
    pub fn of_unix_ms(unix_ms: i64) -> Self {
        Self { minutes: unix_ms.div_euclid(60_000) }
    }

    /// Reads the date of a timestamp, and its time of day if it has one: `[2026-11-15 Sun 23:10]`, with brackets or without.
    /// Days and months that the calendar does not have count into the next month or year, as they do for Org.
    #[must_use]
    pub fn read(stamp: &[u8]) -> Option<Self> {
        let at = (0..stamp.len()).find(|at| is_date(&stamp[*at..]))?;
        let date = &stamp[at..];
        let (hour, minute) = time_of_day(&date[10..]).unwrap_or((0, 0));
        Self::civil(
            [number(&date[..4]), number(&date[5..7]), number(&date[8..10])],
            hour * 60 + minute,
        )
    }

    /// The moment so many minutes behind the beginning of a day; months and days may be any number.
    fn civil([year, month, day]: [i64; 3], minutes: i64) -> Option<Self> {
        let months = year.checked_mul(12)?.checked_add(month)?.checked_sub(1)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        if !(-MAX_YEARS..=MAX_YEARS).contains(&year) {
            return None;
        }
        let days = days_from_civil(year, month, 1).checked_add(day - 1)?;
        let moment = Self { minutes: days.checked_mul(DAY_MINUTES)?.checked_add(minutes)? };
        (1..=9999).contains(&moment.date()[0]).then_some(moment)
    }

    /// Year, month and day.
    fn date(self) -> [i64; 3] {
        let (year, month, day) = civil_from_days(self.minutes.div_euclid(DAY_MINUTES));
        [year, month, day]
    }

    fn minute_of_day(self) -> i64 {
        self.minutes.rem_euclid(DAY_MINUTES)
    }

    /// The moment moved by so many units; `None` where no timestamp can name it.
    pub(crate) fn shifted(self, count: i64, unit: ShiftUnit) -> Option<Self> {
        let [year, month, day] = self.date();
        let minutes = self.minute_of_day();
        match unit {
            ShiftUnit::Minute => Self::civil([year, month, day], minutes.checked_add(count)?),
            ShiftUnit::Hour => {
                Self::civil([year, month, day], minutes.checked_add(count.checked_mul(60)?)?)
            }
            ShiftUnit::Day => Self::civil([year, month, day.checked_add(count)?], minutes),
            ShiftUnit::Month => Self::civil([year, month.checked_add(count)?, day], minutes),
            ShiftUnit::Year => Self::civil([year.checked_add(count)?, month, day], minutes),
        }
    }

    /// Days from this moment's day to that of another.
    pub(crate) fn days_until(self, other: Self) -> i64 {
        other.minutes.div_euclid(DAY_MINUTES) - self.minutes.div_euclid(DAY_MINUTES)
    }

    /// Minutes from this moment to another.
    pub(crate) fn minutes_until(self, other: Self) -> i64 {
        other.minutes - self.minutes
    }

    /// The moment as it stands between the brackets of a timestamp: `2026-11-15 Sun`, with the time of day if asked for.
    #[must_use]
    pub fn text(self, with_time: bool) -> String {
        let [year, month, day] = self.date();
        let of_week = self.minutes.div_euclid(DAY_MINUTES).rem_euclid(7);
        let name = DAY_NAMES[usize::try_from(of_week).unwrap_or(0)];
        let date = format!("{year:04}-{month:02}-{day:02} {name}");
        let minutes = self.minute_of_day();
        if with_time { format!("{date} {:02}:{:02}", minutes / 60, minutes % 60) } else { date }
    }
}

/// Hour and minute behind a date and perhaps the name of a day.
fn time_of_day(behind_date: &[u8]) -> Option<(i64, i64)> {
    let blanks = |bytes: &[u8]| bytes.iter().take_while(|byte| **byte == b' ').count();
    let is_name = |byte: &u8| !byte.is_ascii_digit() && !b"]+>\r\n -".contains(byte);
    let mut rest = behind_date;
    let name = rest[blanks(rest)..].iter().take_while(|byte| is_name(byte)).count();
    if blanks(rest) > 0 && name > 0 {
        rest = &rest[blanks(rest) + name..];
    }
    let time = &rest[blanks(rest)..];
    let digits = time.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let minute = time.get(digits + 1..digits + 3)?;
    let fits = blanks(rest) > 0
        && (1..=2).contains(&digits)
        && time[digits] == b':'
        && minute.iter().all(u8::is_ascii_digit);
    fits.then(|| (number(&time[..digits]), number(minute)))
}

/// The number that digits write; too many of them are the largest.
pub(crate) fn number(digits: &[u8]) -> i64 {
    skip_blanks(digits).iter().fold(0, |sum: i64, digit| {
        sum.saturating_mul(10).saturating_add(i64::from(digit.saturating_sub(b'0')))
    })
}

#[cfg(test)]
mod tests {
    use super::{Moment, ShiftUnit};

    fn moved(stamp: &str, count: i64, unit: ShiftUnit) -> Option<String> {
        Moment::read(stamp.as_bytes())?.shifted(count, unit).map(|moment| moment.text(true))
    }

    #[test]
    fn months_carry_over_and_leap_days_exist() {
        let is = |stamp, count, unit, expect: &str| {
            assert_eq!(moved(stamp, count, unit).as_deref(), Some(expect), "{stamp}");
        };
        is("<2026-01-31 Sat>", 1, ShiftUnit::Month, "2026-03-03 Tue 00:00");
        is("<2028-01-31 Mon>", 1, ShiftUnit::Month, "2028-03-02 Thu 00:00");
        is("<2028-02-29 Tue 10:05>", 1, ShiftUnit::Year, "2029-03-01 Thu 10:05");
        is("<2026-12-31 Thu 23:30>", 1, ShiftUnit::Hour, "2027-01-01 Fri 00:30");
        is("<2026-03-01 Sun 8:00>", -1, ShiftUnit::Day, "2026-02-28 Sat 08:00");
        is("[2026-11-15 Sun 23:10]", 50, ShiftUnit::Minute, "2026-11-16 Mon 00:00");
        is("<0001-01-01 Mon>", 0, ShiftUnit::Day, "0001-01-01 Mon 00:00");
    }

    #[test]
    fn what_no_timestamp_can_name_is_no_moment() {
        assert_eq!(moved("<9999-12-31 Fri>", 1, ShiftUnit::Day), None);
        assert_eq!(moved("<2026-11-15 Sun>", i64::MAX, ShiftUnit::Year), None);
        assert_eq!(moved("<2026-11-15 Sun>", i64::MAX, ShiftUnit::Minute), None);
        assert_eq!(moved("no date", 1, ShiftUnit::Day), None);
    }
}
