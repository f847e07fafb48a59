//! Time after which a server wants to be asked again: `retry-after-ms`, `Retry-After` in seconds or as a date, and
//! the `retryDelay` of Google's details. There is no clock here: a date is compared with the `Date` of the same
//! response.

use std::time::Duration;

use serde_json::Value;

use super::ResponseHead;

const SECONDS_OF_A_DAY: i64 = 86_400;

pub(super) fn of_head(head: &ResponseHead) -> Option<Duration> {
    let millis = head.header("retry-after-ms").and_then(|text| decimal(text, 0));
    let seconds = || decimal(head.header("retry-after")?, 3);
    let date = || until(head.header("date")?, head.header("retry-after")?);
    millis.or_else(seconds).map(Duration::from_millis).or_else(date)
}

pub(super) fn of_details(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    decimal(delay.strip_suffix('s')?, 3).map(Duration::from_millis)
}

/// 1500 for `1.5` and three places; places behind them are dropped.
fn decimal(text: &str, places: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: String = fraction.chars().chain("000".chars()).take(places).collect();
    let digits = format!("{whole}{fraction}");
    // `parse` takes a sign.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// From one HTTP date to another, both of the form `Sun, 06 Nov 1994 08:49:37 GMT`. Within a day: a server that wants
/// more than that is asked again after the part of a day that is left over.
fn until(now: &str, then: &str) -> Option<Duration> {
    let (now_day, now_seconds) = date(now)?;
    let (then_day, then_seconds) = date(then)?;
    let difference = then_seconds - now_seconds;
    let seconds = if now_day == then_day {
        difference.max(0)
    } else {
        difference.rem_euclid(SECONDS_OF_A_DAY)
    };
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

/// The day as text and the second of the day.
fn date(text: &str) -> Option<(&str, i64)> {
    let (day, time) = text.strip_suffix(" GMT")?.rsplit_once(' ')?;
    let mut numbers = time.split(':').map(|number| number.parse::<i64>().ok());
    let (hours, minutes, seconds) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let is_time =
        (0..24).contains(&hours) && (0..60).contains(&minutes) && (0..61).contains(&seconds);
    is_time.then_some((day, hours * 3600 + minutes * 60 + seconds))
}
