//! Days that a question names, as a span of time: `yesterday`, `last May`, `in 2024`, `two weeks ago`, `on 8 May 2023`.
//! Called by `question_words`. English only; a date as `2026-11-15` is read in every language.

use std::ops::Range;

use bridle_sexp::civil_date::civil_from_days;

use crate::index::org_timestamp::{DateSpan, StampKind, WallMinute};

const DAY_MINUTES: i64 = 24 * 60;

/// Names of months, by their first three letters.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Names of the days of a week, from Monday.
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Numbers that are written as words, from one.
const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];

/// Days that a question names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedDates {
    /// Words of the question that name them.
    pub(crate) words: Range<usize>,
    /// First and last minute of them.
    pub(crate) span: DateSpan,
}

/// Days from the first to the last, counted from 1970.
type Days = (i64, i64);

/// Finds the first words that name days, and takes the longest name that begins there.
pub(crate) fn read_dates(words: &[&str], now: WallMinute) -> Option<NamedDates> {
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let today = now.0.div_euclid(DAY_MINUTES);
    for at in 0..lower.len() {
        let rest: Vec<&str> = lower[at..].iter().map(String::as_str).collect();
        let is_may = at > 0 && words[at] == "May";
        let Some((len, (from, to))) = name_at(&rest, today, is_may) else { continue };
        let span = DateSpan {
            from: WallMinute(from * DAY_MINUTES),
            to: WallMinute(to * DAY_MINUTES + DAY_MINUTES - 1),
            kinds: StampKind::ALL.to_vec(),
            warnings: false,
        };
        return Some(NamedDates { words: at..at + len, span });
    }
    None
}

/// The days that the first words name, and the number of these words.
fn name_at(words: &[&str], today: i64, is_may: bool) -> Option<(usize, Days)> {
    let (this_year, this_month, _) = civil_from_days(today);
    match *words {
        [year, month, day, ..] if year.len() == 4 && month.len() == 2 && day.len() == 2 => {
            let day = day_of(number(year)?, number(month)?, number(day)?)?;
            Some((3, (day, day)))
        }
        ["today" | "tonight", ..] => Some((1, (today, today))),
        ["yesterday", ..] => Some((1, (today - 1, today - 1))),
        ["tomorrow", ..] => Some((1, (today + 1, today + 1))),
        [count, unit, "ago", ..] => Some((3, ago(count, unit, today)?)),
        ["last", "night", ..] => Some((2, (today - 1, today - 1))),
        [which @ ("last" | "this" | "next" | "past"), unit, ..] => {
            let turn = match which {
                "last" | "past" => -1,
                "this" => 0,
                _ => 1,
            };
            let year = words.get(2).and_then(|year| four_digits(year));
            match (month_of(unit), year) {
                (Some(month), Some(year)) => Some((3, month_days(year, month)?)),
                _ => Some((2, turned(turn, unit, today)?)),
            }
        }
        ["in" | "during" | "since" | "of" | "from" | "before" | "after" | "by", next, ..] => {
            if let Some(year) = four_digits(next) {
                return Some((2, year_days(year)?));
            }
            let month = month_of(next)?;
            let (len, year) = match words.get(2).and_then(|year| four_digits(year)) {
                Some(year) => (3, year),
                // The latest one that has begun.
                None => (2, if month > this_month { this_year - 1 } else { this_year }),
            };
            words.get(2).is_none_or(|day| !is_day(day)).then_some(())?;
            Some((len, month_days(year, month)?))
        }
        [first, second, ..] => {
            let year = words.get(2).and_then(|year| four_digits(year));
            let (month, day) = match (month_of(first), month_of(second)) {
                (Some(month), _) if is_day(second) => (month, number(second)?),
                (_, Some(month)) if is_day(first) => (month, number(first)?),
                (Some(month), _) if let Some(year) = four_digits(second) => {
                    return Some((2, month_days(year, month)?));
                }
                _ => return alone(first, today, is_may),
            };
            let in_year = |year| day_of(year, month, day);
            let found = match year {
                Some(year) => in_year(year)?,
                None => in_year(this_year).filter(|it| *it <= today).or(in_year(this_year - 1))?,
            };
            Some((if year.is_some() { 3 } else { 2 }, (found, found)))
        }
        [only] => alone(only, today, is_may),
        [] => None,
    }
}

/// The days that a single word names: a month, or the latest such day of the week.
fn alone(word: &str, today: i64, is_may: bool) -> Option<(usize, Days)> {
    if let Some(month) = month_of(word).filter(|_| word.len() > 3 || is_may) {
        // Words of everyday language, unless they are written like a month.
        let is_verb = matches!(word, "may" | "march");
        let (year, this_month, _) = civil_from_days(today);
        let year = if month > this_month { year - 1 } else { year };
        return (!is_verb || is_may).then(|| month_days(year, month)).flatten().map(|it| (1, it));
    }
    let day = weekday_of(word)?;
    let back = (weekday(today) - day).rem_euclid(7);
    Some((1, (today - back, today - back)))
}

/// `last week`, `this month`, `next Tuesday`, `last May`, `last summer`.
fn turned(turn: i64, unit: &str, today: i64) -> Option<Days> {
    let (year, month, _) = civil_from_days(today);
    if let Some(wanted) = month_of(unit) {
        let year = match turn {
            -1 if wanted >= month => year - 1,
            1 if wanted <= month => year + 1,
            _ => year,
        };
        return month_days(year, wanted);
    }
    if let Some(day) = weekday_of(unit) {
        let monday = today - weekday(today);
        let found = match turn {
            -1 => today - 1 - (weekday(today) - 1 - day).rem_euclid(7),
            0 => monday + day,
            _ => today + 1 + (day - weekday(today) - 1).rem_euclid(7),
        };
        return Some((found, found));
    }
    let monday = today - weekday(today) + 7 * turn;
    match unit {
        "week" => Some((monday, monday + 6)),
        "weekend" => Some((monday + 5, monday + 6)),
        "month" => {
            let months = year * 12 + month - 1 + turn;
            month_days(months.div_euclid(12), months.rem_euclid(12) + 1)
        }
        "year" => year_days(year + turn),
        "spring" | "summer" | "autumn" | "fall" | "winter" => season(turn, unit, today),
        _ => None,
    }
}

/// Three months of the northern half of the earth.
fn season(turn: i64, name: &str, today: i64) -> Option<Days> {
    let first = match name {
        "spring" => 3,
        "summer" => 6,
        "winter" => 12,
        _ => 9,
    };
    let (year, ..) = civil_from_days(today);
    let days = |year: i64| {
        let last = (year * 12 + first - 1) + 2;
        let (_, end) = month_days(last.div_euclid(12), last.rem_euclid(12) + 1)?;
        Some((month_days(year, first)?.0, end))
    };
    let years = [year - 2, year - 1, year, year + 1];
    let all: Vec<Days> = years.into_iter().filter_map(days).collect();
    match turn {
        -1 => all.iter().rfind(|(_, end)| *end < today).copied(),
        0 => days(year),
        _ => all.iter().find(|(start, _)| *start > today).copied(),
    }
}

/// `three weeks ago`, with room for what people mean by it.
fn ago(count: &str, unit: &str, today: i64) -> Option<Days> {
    let count = match count {
        "a" | "an" => 1,
        _ => number(count).or_else(|| {
            let at = NUMBERS.iter().position(|name| *name == count)?;
            i64::try_from(at + 1).ok()
        })?,
    };
    let (day, room) = match unit.trim_end_matches('s') {
        "day" => (today - count, 0),
        "week" => (today - 7 * count, 3),
        "month" => (today - 30 * count, 15),
        "year" => return year_days(civil_from_days(today).0.checked_sub(count)?),
        _ => return None,
    };
    Some((day - room, day + room))
}

fn month_of(word: &str) -> Option<i64> {
    let is_it = |name: &&str| *name == word || (word.len() == 3 && name.starts_with(word));
    let at = MONTHS.iter().position(is_it)?;
    i64::try_from(at + 1).ok()
}

/// Whether a word of a date is one that a text with that date has, too: a month or a number.
pub(crate) fn is_calendar_word(word: &str) -> bool {
    month_of(&word.to_lowercase()).is_some() || word.bytes().any(|byte| byte.is_ascii_digit())
}

fn weekday_of(word: &str) -> Option<i64> {
    let at = WEEKDAYS.iter().position(|name| *name == word)?;
    i64::try_from(at).ok()
}

/// The day of the week, from Monday, 0. The first day of 1970 was a Thursday.
fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

fn number(word: &str) -> Option<i64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &word[digits.len()..];
    let is_number = matches!(suffix, "" | "st" | "nd" | "rd" | "th") && digits.len() <= 4;
    if is_number { digits.parse().ok() } else { None }
}

fn is_day(word: &str) -> bool {
    number(word).is_some_and(|day| (1..=31).contains(&day))
}

fn four_digits(word: &str) -> Option<i64> {
    let is_year = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|year| is_year && (1900..=2200).contains(year))
}

fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let minute = WallMinute::of_day(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?)?;
    Some(minute.0.div_euclid(DAY_MINUTES))
}

fn month_days(year: i64, month: i64) -> Option<Days> {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    Some((day_of(year, month, 1)?, day_of(next.0, next.1, 1)? - 1))
}

fn year_days(year: i64) -> Option<Days> {
    Some((day_of(year, 1, 1)?, day_of(year, 12, 31)?))
}

#[cfg(test)]
mod tests;
