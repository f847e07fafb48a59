//! What timestamps say: dates, times, repeaters, delays.

use super::super::element::number;
use super::super::{Fact, Facts};
use crate::object::is_date;

pub(super) fn facts(text: &[u8]) -> Facts<'_> {
    let first = text.iter().position(|byte| matches!(byte, b']' | b'>')).unwrap_or(text.len());
    let (start, rest) = (&text[..first], text.get(first + 3..));
    let active = text.starts_with(b"<");
    if text.get(1..3) == Some(b"%%") {
        return vec![("type", Fact::Word("diary")), ("raw-value", Fact::text(text))];
    }
    let range = time_range(start);
    let kind = match (active, rest.is_some() || range.is_some()) {
        (true, true) => "active-range",
        (true, false) => "active",
        (false, true) => "inactive-range",
        (false, false) => "inactive",
    };
    let begin = moment(start);
    let mut end = rest.map_or([None; 5], moment);
    for (field, from) in end.iter_mut().zip(begin).take(3) {
        *field = field.or(from);
    }
    end[3] = end[3].or(range.map(|(hour, _)| hour)).or(begin[3]);
    end[4] = end[4].or(range.map(|(_, minute)| minute)).or(begin[4]);
    let list = |moment: [Option<u64>; 5]| {
        Fact::List(moment.iter().map(|field| field.map_or(Fact::Nil, Fact::Number)).collect())
    };
    vec![
        ("type", Fact::Word(kind)),
        ("raw-value", Fact::text(text)),
        ("start", list(begin)),
        ("end", list(end)),
        ("repeater", repeater(text)),
        ("warning", warning(text)),
    ]
}

/// Year, month, day, hour, minute.
fn moment(text: &[u8]) -> [Option<u64>; 5] {
    let Some(at) = (0..text.len()).find(|at| is_date(&text[*at..])) else { return [None; 5] };
    let date = &text[at..];
    let mut moment = [
        Some(number(&date[..4])),
        Some(number(&date[5..7])),
        Some(number(&date[8..10])),
        None,
        None,
    ];
    let mut rest = &date[10..];
    // The name of the day: no digits, plus, minus or brackets.
    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
    let name = rest[spaces..]
        .iter()
        .take_while(|byte| !byte.is_ascii_digit() && !b"]+>\n -".contains(byte))
        .count();
    if spaces > 0 && name > 0 {
        rest = &rest[spaces + name..];
    }
    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
    let time = &rest[spaces..];
    let digits = time.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let minutes =
        time.get(digits + 1..digits + 3).filter(|text| text.iter().all(u8::is_ascii_digit));
    if let Some(minutes) =
        minutes.filter(|_| spaces > 0 && (1..=2).contains(&digits) && time[digits] == b':')
    {
        moment[3] = Some(number(&time[..digits]));
        moment[4] = Some(number(minutes));
    }
    moment
}

/// The end of `10:00-11:30`.
fn time_range(text: &[u8]) -> Option<(u64, u64)> {
    let time = |at: usize| -> Option<(u64, u64, usize)> {
        let digits = text.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let colon = at + digits;
        let fits = (1..=2).contains(&digits) && (digits == 1 || text[at] <= b'2');
        let minutes = text.get(colon + 1..colon + 3)?;
        let fits = fits && text.get(colon) == Some(&b':') && minutes[0] <= b'5';
        let fits = fits && minutes.iter().all(u8::is_ascii_digit);
        fits.then(|| (number(&text[at..colon]), number(minutes), colon + 3))
    };
    (0..text.len()).find_map(|at| {
        let begins = at == 0 || !text[at - 1].is_ascii_digit();
        let (_, _, behind) = begins.then(|| time(at)).flatten()?;
        let (hour, minute, _) =
            (text.get(behind) == Some(&b'-')).then(|| time(behind + 1)).flatten()?;
        Some((hour, minute))
    })
}

/// `+1w`, `++1w`, `.+1w`.
fn repeater(text: &[u8]) -> Fact<'_> {
    let found = (0..text.len()).filter(|at| text[*at] == b'+').find_map(|plus| {
        let (value, unit) = value_and_unit(&text[plus + 1..])?;
        let kind = match plus.checked_sub(1).map(|before| text[before]) {
            Some(b'+') => "catch-up",
            Some(b'.') => "restart",
            _ => "cumulate",
        };
        Some(Fact::List(vec![Fact::Word(kind), Fact::Number(value), Fact::Word(unit)]))
    });
    found.unwrap_or(Fact::Nil)
}

/// `-2d`, `--2d`.
fn warning(text: &[u8]) -> Fact<'_> {
    let found = (0..text.len()).filter(|at| text[*at] == b'-').find_map(|minus| {
        let (value, unit) = value_and_unit(&text[minus + 1..])?;
        let first = minus.checked_sub(1).is_some_and(|before| text[before] == b'-');
        let kind = Fact::Word(if first { "first" } else { "all" });
        Some(Fact::List(vec![kind, Fact::Number(value), Fact::Word(unit)]))
    });
    found.unwrap_or(Fact::Nil)
}

fn value_and_unit(text: &[u8]) -> Option<(u64, &'static str)> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unit = match text.get(digits)? {
        b'h' => "hour",
        b'd' => "day",
        b'w' => "week",
        b'm' => "month",
        // So Org takes a capital letter, whichever it is.
        b'y' | b'H' | b'D' | b'W' | b'M' | b'Y' => "year",
        _ => return None,
    };
    (digits > 0).then(|| (number(&text[..digits]), unit))
}
