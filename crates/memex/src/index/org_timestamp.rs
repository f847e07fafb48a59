//! Dates of Org: `<2026-11-15 Sun 10:00-11:30 +1w -3d>`, ranges of them, repeaters and warnings; and whether one of
//! them falls into a span of time. Times are those of the user's wall clock, without a zone, as Org has them.

use bridle_sexp::civil_date::{civil_from_days, days_from_civil};

/// Days before a deadline from which on Org warns of it, where the deadline does not say.
pub const WARNING_DAYS: i64 = 14;

/// Most times that a date is repeated until it is beyond any span: months, from year 0 to year 9999.
const MAX_REPEAT_MONTHS: i64 = 120_000;

const DAY_MINUTES: i64 = 24 * 60;

/// A minute of the wall clock, counted from the beginning of 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallMinute(pub i64);

impl WallMinute {
    /// The beginning of a day.
    #[must_use]
    pub fn of_day(year: i64, month: u8, day: u8) -> Option<WallMinute> {
        let is_day = (1..=12).contains(&month) && day >= 1 && day <= days_in(year, month);
        ((0..=9999).contains(&year) && is_day).then(|| {
            WallMinute(days_from_civil(year, i64::from(month), i64::from(day)) * DAY_MINUTES)
        })
    }

    /// Reads `2026-11-15` or `2026-11-15 10:30`; a date alone is its first minute.
    #[must_use]
    pub fn parse(text: &str) -> Option<WallMinute> {
        let (date, time) = match text.trim().split_once(['T', ' ']) {
            Some((date, time)) => (date, Some(time)),
            None => (text.trim(), None),
        };
        let WallMinute(start) = read_date(date.as_bytes()).filter(|_| date.len() == 10)?;
        match time {
            None => Some(WallMinute(start)),
            Some(time) => clock(time.trim()).map(|minutes| WallMinute(start + minutes)),
        }
    }

    /// The last minute of its day.
    #[must_use]
    pub fn end_of_day(self) -> WallMinute {
        WallMinute(self.0.div_euclid(DAY_MINUTES) * DAY_MINUTES + DAY_MINUTES - 1)
    }
}

impl std::fmt::Display for WallMinute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY_MINUTES));
        let minutes = self.0.rem_euclid(DAY_MINUTES);
        write!(f, "{year:04}-{month:02}-{day:02}")?;
        if minutes == 0 { Ok(()) } else { write!(f, " {:02}:{:02}", minutes / 60, minutes % 60) }
    }
}

/// Role of a date in its heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampKind {
    /// Behind `SCHEDULED:`.
    Scheduled,
    /// Behind `DEADLINE:`.
    Deadline,
    /// Behind `CLOSED:`.
    Closed,
    /// In angle brackets, anywhere in the text.
    Active,
    /// In square brackets.
    Inactive,
}

impl StampKind {
    /// All of them, in the order of their numbers in the index.
    pub const ALL: [StampKind; 5] = [
        StampKind::Scheduled,
        StampKind::Deadline,
        StampKind::Closed,
        StampKind::Active,
        StampKind::Inactive,
    ];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            StampKind::Scheduled => "scheduled",
            StampKind::Deadline => "deadline",
            StampKind::Closed => "closed",
            StampKind::Active => "active",
            StampKind::Inactive => "inactive",
        }
    }

    pub(crate) fn number(self) -> i64 {
        match self {
            StampKind::Scheduled => 0,
            StampKind::Deadline => 1,
            StampKind::Closed => 2,
            StampKind::Active => 3,
            StampKind::Inactive => 4,
        }
    }
}

/// A unit of repeaters and warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatUnit {
    Minutes(i64),
    Months(i64),
}

/// A date of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrgTimestamp {
    /// Role of the date.
    pub kind: StampKind,
    /// Its first minute.
    pub start: WallMinute,
    /// Its last one: the end of the day where no time is said.
    pub stop: WallMinute,
    /// Minutes after which the date repeats.
    pub(crate) every_minutes: Option<i64>,
    /// Months after which the date repeats.
    pub(crate) every_months: Option<i64>,
    /// From so many minutes before it is warned of.
    pub(crate) warning: Option<i64>,
}

/// A span of time in which dates are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateSpan {
    /// Its first minute.
    pub from: WallMinute,
    /// Its last one.
    pub to: WallMinute,
    /// Roles of the dates that count; empty: all that are active or planned.
    pub kinds: Vec<StampKind>,
    /// Whether a deadline counts from the day on which it is warned of.
    pub warnings: bool,
}

impl DateSpan {
    pub(crate) fn kinds(&self) -> Vec<StampKind> {
        match self.kinds.is_empty() {
            true => vec![StampKind::Scheduled, StampKind::Deadline, StampKind::Active],
            false => self.kinds.clone(),
        }
    }

    /// Whether a date, or one of its repetitions, falls into the span.
    #[must_use]
    pub fn has(&self, stamp: &OrgTimestamp) -> bool {
        if !self.kinds().contains(&stamp.kind) {
            return false;
        }
        let lead = self.lead(stamp);
        let length = stamp.stop.0 - stamp.start.0;
        let hits = |start: i64| start - lead <= self.to.0 && start + length >= self.from.0;
        if hits(stamp.start.0) {
            return true;
        }
        if let Some(every) = stamp.every_minutes.filter(|every| *every > 0) {
            // The first repetition that has not ended when the span begins.
            let missing = self.from.0 - (stamp.start.0 + length);
            return missing > 0 && hits(stamp.start.0 + (missing + every - 1) / every * every);
        }
        if let Some(every) = stamp.every_months.filter(|every| *every > 0) {
            let mut after = months_between(stamp.start, self.from).max(0) / every * every;
            for _ in 0..2 {
                if after <= MAX_REPEAT_MONTHS && hits(add_months(stamp.start, after).0) {
                    return true;
                }
                after += every;
            }
        }
        false
    }

    /// Minutes before a date from which on it counts.
    pub(crate) fn lead(&self, stamp: &OrgTimestamp) -> i64 {
        match (self.warnings, stamp.kind) {
            (true, StampKind::Deadline) => stamp.warning.unwrap_or(WARNING_DAYS * DAY_MINUTES),
            _ => 0,
        }
    }
}

/// The date at the beginning of `text`, brackets included, as `kind`; a range counts as one.
pub(crate) fn read(text: &[u8], kind: StampKind) -> Option<(OrgTimestamp, usize)> {
    let (first, length) = single(text, kind)?;
    let rest = &text[length..];
    let second = rest.strip_prefix(b"--").and_then(|rest| single(rest, kind));
    Some(match second {
        Some((second, more)) if second.stop >= first.start => {
            (OrgTimestamp { stop: second.stop, ..first }, length + 2 + more)
        }
        _ => (first, length),
    })
}

/// All dates in a text, outside of planning: active and inactive ones.
pub(crate) fn all(text: &[u8], most: usize) -> Vec<OrgTimestamp> {
    let mut found = Vec::new();
    let mut at = 0;
    while found.len() < most {
        let next = text[at..].iter().position(|byte| matches!(byte, b'<' | b'['));
        let Some(open) = next.map(|next| next + at) else { break };
        let is_active = text[open] == b'<';
        let kind = if is_active { StampKind::Active } else { StampKind::Inactive };
        match read(&text[open..], kind) {
            Some((stamp, length)) => {
                found.push(stamp);
                at = open + length;
            }
            None => at = open + 1,
        }
    }
    found
}

/// Longest text between the brackets of a date, in bytes.
const MAX_STAMP_BYTES: usize = 128;

fn single(text: &[u8], kind: StampKind) -> Option<(OrgTimestamp, usize)> {
    let close = match text.first()? {
        b'<' => b'>',
        b'[' => b']',
        _ => return None,
    };
    let WallMinute(day) = read_date(text.get(1..11)?)?;
    let length = text.iter().take(MAX_STAMP_BYTES).position(|byte| *byte == close)?;
    let rest = std::str::from_utf8(text.get(11..length)?).ok()?;
    let mut stamp = OrgTimestamp {
        kind,
        start: WallMinute(day),
        stop: WallMinute(day + DAY_MINUTES - 1),
        every_minutes: None,
        every_months: None,
        warning: None,
    };
    for word in rest.split_ascii_whitespace() {
        if word.contains(':') {
            time(&mut stamp, day, word);
        } else if let Some(span) =
            word.trim_start_matches(['.', '+']).strip_prefix('-').or_else(|| word.strip_prefix('-'))
        {
            stamp.warning = match unit(span) {
                Some(RepeatUnit::Minutes(minutes)) => Some(minutes),
                Some(RepeatUnit::Months(months)) => Some(months * 30 * DAY_MINUTES),
                None => stamp.warning,
            };
        } else if word.starts_with(['+', '.']) {
            // `.+2d/4d` has behind the slash how long a habit may wait.
            let span = word.trim_start_matches(['.', '+']);
            match unit(span.split('/').next().unwrap_or(span)) {
                Some(RepeatUnit::Minutes(minutes)) => stamp.every_minutes = Some(minutes),
                Some(RepeatUnit::Months(months)) => stamp.every_months = Some(months),
                None => {}
            }
        }
    }
    Some((stamp, length + 1))
}

fn time(stamp: &mut OrgTimestamp, day: i64, word: &str) {
    let (from, to) = match word.split_once('-') {
        Some((from, to)) => (from, Some(to)),
        None => (word, None),
    };
    let Some(from) = clock(from) else { return };
    stamp.start = WallMinute(day + from);
    let to = to.and_then(clock).filter(|to| *to >= from);
    stamp.stop = WallMinute(day + to.unwrap_or(from));
}

/// Minutes of `10:30`.
fn clock(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let minutes = minutes
        .get(..2)
        .filter(|_| minutes.len() == 2 || minutes.as_bytes().get(2) == Some(&b':'))?;
    let number =
        |text: &str| text.parse::<i64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// `3d`, `1w`, `2m`, `1y`, `6h`.
fn unit(text: &str) -> Option<RepeatUnit> {
    let (count, letter) = text.split_at_checked(text.len().checked_sub(1)?)?;
    // Nobody plans further than this; it keeps the sums below far from their limits.
    let count = count.parse::<i64>().ok().filter(|count| (0..=100_000).contains(count))?;
    Some(match letter {
        "h" => RepeatUnit::Minutes(count * 60),
        "d" => RepeatUnit::Minutes(count * DAY_MINUTES),
        "w" => RepeatUnit::Minutes(count * 7 * DAY_MINUTES),
        "m" => RepeatUnit::Months(count),
        "y" => RepeatUnit::Months(count * 12),
        _ => return None,
    })
}

/// `2026-11-15`.
fn read_date(text: &[u8]) -> Option<WallMinute> {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range)?.iter().try_fold(0_i64, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
        })
    };
    let dashes = text.get(4) == Some(&b'-') && text.get(7) == Some(&b'-');
    let small = |number: i64| u8::try_from(number).ok();
    let (year, month, day) = (digits(0..4)?, small(digits(5..7)?)?, small(digits(8..10)?)?);
    WallMinute::of_day(year, month, day).filter(|_| dashes)
}

fn days_in(year: i64, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Counts the months from the one of a date to that of another.
pub(crate) fn months_between(from: WallMinute, to: WallMinute) -> i64 {
    let month = |moment: WallMinute| {
        let (year, month, _) = civil_from_days(moment.0.div_euclid(DAY_MINUTES));
        year * 12 + month
    };
    month(to) - month(from)
}

/// Adds months to a date; a day that its month does not have counts into the next, as in Org.
pub(crate) fn add_months(from: WallMinute, months: i64) -> WallMinute {
    let (year, month, day) = civil_from_days(from.0.div_euclid(DAY_MINUTES));
    let count = year * 12 + month - 1 + months;
    let (year, month) = (count.div_euclid(12), count.rem_euclid(12) + 1);
    let first = days_from_civil(year, month, 1);
    WallMinute((first + day - 1) * DAY_MINUTES + from.0.rem_euclid(DAY_MINUTES))
}

#[cfg(test)]
mod tests;
