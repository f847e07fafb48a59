//! Cron expressions: five fields, or a word such as `@daily`; the next minute that fits.
//!
//! Pure: local minutes in, local minutes out. `zone_offsets` says when they are.

use bridle_sexp::civil_date::civil_from_days;

/// The longest expression, in bytes: five fields with every number written out.
const MAX_CRON_BYTES: usize = 512;

const MINUTES_PER_DAY: i64 = 24 * 60;

/// Days that are looked at for the next match: a schedule lives no longer.
const SEARCHED_DAYS: i64 = 367;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Fields, each with its name, its least and its greatest number.
const FIELDS: [CronField; 5] = [
    CronField { name: "minute", least: 0, greatest: 59, words: &[] },
    CronField { name: "hour", least: 0, greatest: 23, words: &[] },
    CronField { name: "day of the month", least: 1, greatest: 31, words: &[] },
    CronField { name: "month", least: 1, greatest: 12, words: &MONTHS },
    CronField { name: "day of the week", least: 0, greatest: 7, words: &WEEKDAYS },
];

/// An expression and the numbers that fit each of its fields, a bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CronExpression {
    text: Box<str>,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a day fits that fits one of the two fields of days: both name some.
    is_either_day: bool,
}

struct CronField {
    name: &'static str,
    least: u32,
    greatest: u32,
    /// Words for the numbers from `least` on.
    words: &'static [&'static str],
}

impl CronExpression {
    /// Reads an expression.
    ///
    /// # Errors
    /// When the text is no expression; the error says why.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_CRON_BYTES {
            return Err(format!(
                "a cron expression of {} bytes, expected at most {MAX_CRON_BYTES}",
                text.len()
            ));
        }
        let meant = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            other => other,
        };
        let fields: Vec<&str> = meant.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = *fields else {
            return Err(format!(
                "cron expression `{text}` with {} fields, expected five (minute, hour, day of the month, month, day of \
                 the week), such as `0 7 * * 1-5`, or `@daily`",
                fields.len()
            ));
        };
        let [minutes, hours, days, months, weekdays] = FIELDS;
        let weekday_bits = weekdays.bits(weekday)?;
        Ok(Self {
            text: text.trim().into(),
            minutes: minutes.bits(minute)?,
            hours: hours.bits(hour)?,
            days: days.bits(day)?,
            months: months.bits(month)?,
            // Sunday is 0 and 7.
            weekdays: (weekday_bits | (weekday_bits >> 7)) & 0x7f,
            is_either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }

    /// The expression as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it fits some minute of every hour: then it goes by real time, and not by a clock on the wall that is set
    /// forward and back.
    pub(crate) fn is_hourly(&self) -> bool {
        self.hours == ALL_HOURS
    }

    /// Returns the first local minute that fits, from one on and before another.
    pub(crate) fn next(&self, from: i64, before: i64) -> Option<i64> {
        let first = from.div_euclid(MINUTES_PER_DAY);
        let last = before.saturating_sub(1).div_euclid(MINUTES_PER_DAY);
        for day in first..=last.min(first.saturating_add(SEARCHED_DAYS)) {
            if !self.fits_day(day) {
                continue;
            }
            let start = if day == first { from.rem_euclid(MINUTES_PER_DAY) } else { 0 };
            let found = self.next_in_day(start).map(|minute| day * MINUTES_PER_DAY + minute);
            if let Some(found) = found {
                return Some(found).filter(|found| *found < before);
            }
        }
        None
    }

    fn next_in_day(&self, from: i64) -> Option<i64> {
        (from / 60..24).filter(|hour| has(self.hours, *hour)).find_map(|hour| {
            let start = if hour == from / 60 { from % 60 } else { 0 };
            (start..60).find(|minute| has(self.minutes, *minute)).map(|minute| hour * 60 + minute)
        })
    }

    fn fits_day(&self, day: i64) -> bool {
        let (_, month, of_month) = civil_from_days(day);
        // The first of January 1970 was a Thursday.
        let of_week = (day + 4).rem_euclid(7);
        let (fits, fits_week) = (has(self.days, of_month), has(self.weekdays, of_week));
        let fits_day = if self.is_either_day { fits || fits_week } else { fits && fits_week };
        fits_day && has(self.months, month)
    }
}

/// Bits of all hours.
const ALL_HOURS: u64 = (1 << 24) - 1;

fn has(bits: u64, number: i64) -> bool {
    (0..64).contains(&number) && (bits >> number) & 1 == 1
}

impl CronField {
    /// Reads a list of numbers and ranges.
    fn bits(&self, text: &str) -> Result<u64, String> {
        let mut parts = text.split(',').map(|part| self.part(part).ok_or_else(|| self.fault(part)));
        parts.try_fold(0, |bits, part| Ok(bits | part?))
    }

    fn part(&self, part: &str) -> Option<u64> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                (range, Some(step.parse::<u32>().ok().filter(|step| *step > 0)?))
            }
            None => (part, None),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (self.least, self.greatest),
            (_, Some((from, to))) => (self.number(from)?, self.number(to)?),
            // A step counts from one number to the end.
            _ => (
                self.number(range)?,
                if step.is_some() { self.greatest } else { self.number(range)? },
            ),
        };
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        (from <= to).then(|| (from..=to).step_by(step).fold(0, |bits, number| bits | (1 << number)))
    }

    fn number(&self, text: &str) -> Option<u32> {
        let word = self.words.iter().position(|word| word.eq_ignore_ascii_case(text));
        let number = match word {
            Some(place) => self.least + u32::try_from(place).ok()?,
            None => text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())??,
        };
        (self.least..=self.greatest).contains(&number).then_some(number)
    }

    fn fault(&self, part: &str) -> String {
        let Self { name, least, greatest, words } = self;
        let words = match words.first() {
            Some(word) => format!(", words such as `{word}`"),
            None => String::new(),
        };
        format!(
            "`{part}` as the {name} of a cron expression, expected numbers from {least} to {greatest}{words}, ranges \
             (`1-5`), steps (`*/15`), or several with commas"
        )
    }
}

#[cfg(test)]
mod tests;
