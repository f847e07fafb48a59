//! Timestamps that repeat: `+1w`, `++1w`, `.+1w`. Moved when what has them is done, as Org moves them.

use super::EditError;
use super::entry::Entry;
use crate::kind::Type;
use crate::moment::{Moment, ShiftUnit, number};
use crate::object::{Objects, Scratch, is_date};
use crate::text::Span;
use crate::tree::{NodeId, Tree};

/// Moves before Org would ask whether to go on: nobody is asked here, and no timestamp needs more.
const MAX_SHIFTS: usize = 10_000 * 12;

/// Longest timestamp that is looked at.
const MAX_STAMP_BYTES: usize = 256;

/// Minutes that the end of a range of times moves by when its beginning is moved by minutes.
const ROUNDING_MINUTES: i64 = 5;

/// A repeater in a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Repeater {
    mark: RepeaterMark,
    count: i64,
    unit: ShiftUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepeaterMark {
    /// `+`: once.
    Cumulate,
    /// `++`: until it is in the future.
    CatchUp,
    /// `.+`: from today.
    Restart,
}

impl Entry<'_> {
    /// Whether something repeats: the first timestamp with a repeater says so, unless it repeats by nothing.
    pub(super) fn repeats(&self) -> bool {
        let tree = self.tree();
        let first = repeated(&tree).into_iter().next();
        first.and_then(|span| repeater(span.of(&self.text))).is_some_and(|it| it.count != 0)
    }

    /// Moves every timestamp with a repeater.
    pub(super) fn shift_repeated(&mut self, now: Moment) -> Result<(), EditError> {
        let spans = repeated(&self.tree());
        for span in spans.into_iter().rev() {
            let Some(moved) = shifted(span.of(&self.text), now)? else { continue };
            self.text.splice(span.start..span.end, moved);
        }
        Ok(())
    }
}

/// Whether a timestamp has a repeater.
pub(super) fn is_repeated(stamp: &[u8]) -> bool {
    repeater_end(stamp, 0).is_some()
}

/// Returns the places of timestamps with repeaters: in planning and properties, and where Org sees one.
fn repeated(tree: &Tree<'_>) -> Vec<Span> {
    let text = tree.whole;
    let mut seen = seen_stamps(tree);
    seen.sort_by_key(|span| span.start);
    let (mut spans, mut next, mut from) = (Vec::new(), 0, 0);
    while let Some(open) = memchr::memchr(b'<', &text[from..]).map(|at| from + at) {
        from = open + 1;
        let Some(behind) = repeater_end(text, open) else { continue };
        let most = text.len().min(open + MAX_STAMP_BYTES);
        let close = text[behind..most].iter().position(|byte| b">]\n".contains(byte));
        let Some(end) = close.map(|close| behind + close + 1) else { continue };
        while seen.get(next).is_some_and(|span| span.end <= open) {
            next += 1;
        }
        let is_seen = seen.get(next).is_some_and(|span| span.start < end);
        if is_seen && text[end - 1] != b'\n' {
            spans.push(Span { start: open, end });
        }
        from = end;
    }
    spans
}

/// The lines of planning and of properties, and the timestamps among objects.
fn seen_stamps(tree: &Tree<'_>) -> Vec<Span> {
    let mut seen = Vec::new();
    let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
    for (index, node) in tree.nodes.iter().enumerate() {
        if matches!(node.kind, Type::Planning | Type::PropertyDrawer) {
            seen.push(node.span());
        }
        tree.objects_into(NodeId(index), &mut scratch, &mut objects);
        let stamps = objects.nodes().iter().filter(|object| object.kind == Type::Timestamp);
        seen.extend(stamps.map(crate::tree::Node::span));
    }
    seen
}

/// Returns the end of the repeater in the timestamp that begins at `open`: `<`, a date, a blank, anything but a
/// bracket, a repeater.
fn repeater_end(text: &[u8], open: usize) -> Option<usize> {
    let inner = text.get(open..)?.strip_prefix(b"<").filter(|inner| is_date(inner))?;
    let rest = inner.get(10..).filter(|rest| rest.first() == Some(&b' '))?;
    let rest = &rest[..rest.len().min(MAX_STAMP_BYTES)];
    let stamp = &rest[..memchr::memchr2(b'>', b'\n', rest).unwrap_or(rest.len())];
    let at =
        (1..stamp.len()).find_map(|at| cookie_length(&stamp[at..]).map(|length| at + length))?;
    Some(open + 1 + 10 + at)
}

/// The length of `+1w`, `++1w`, `.+1w` or `.+1w/2w`.
fn cookie_length(text: &[u8]) -> Option<usize> {
    let mark = match text {
        [b'.' | b'+', b'+', ..] => 2,
        [b'+', ..] => 1,
        _ => return None,
    };
    let length = mark + period_length(&text[mark..])?;
    let second = text.get(length) == Some(&b'/');
    let more = second.then(|| period_length(&text[length + 1..])).flatten();
    Some(length + more.map_or(0, |more| more + 1))
}

/// The length of `2w`.
fn period_length(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fits = digits > 0 && text.get(digits).is_some_and(|unit| b"hdwmy".contains(unit));
    fits.then_some(digits + 1)
}

/// The repeater of a timestamp.
fn repeater(stamp: &[u8]) -> Option<Repeater> {
    let plus = (0..stamp.len())
        .find(|at| stamp[*at] == b'+' && period_length(&stamp[at + 1..]).is_some())?;
    let digits = stamp[plus + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let count = number(&stamp[plus + 1..plus + 1 + digits]);
    let (count, unit) = match stamp[plus + 1 + digits] {
        b'h' => (count, ShiftUnit::Hour),
        b'd' => (count, ShiftUnit::Day),
        b'w' => (count.saturating_mul(7), ShiftUnit::Day),
        b'm' => (count, ShiftUnit::Month),
        _ => (count, ShiftUnit::Year),
    };
    let mark = match plus.checked_sub(1).map(|before| stamp[before]) {
        Some(b'+') => RepeaterMark::CatchUp,
        Some(b'.') => RepeaterMark::Restart,
        _ => RepeaterMark::Cumulate,
    };
    Some(Repeater { mark, count, unit })
}

/// A timestamp while it is moved: the moment, and what stands behind it.
struct Moving {
    moment: Moment,
    with_time: bool,
    extra: Vec<u8>,
    closing: u8,
}

/// The timestamp moved by its repeater; `None` when it stays.
fn shifted(stamp: &[u8], now: Moment) -> Result<Option<Vec<u8>>, EditError> {
    let Some(Repeater { mark, count, unit }) = repeater(stamp) else { return Ok(None) };
    let Some(mut moving) = Moving::read(stamp) else { return Ok(None) };
    if unit == ShiftUnit::Hour && !moving.with_time {
        return Err(EditError::NoHour);
    }
    if count == 0 && mark == RepeaterMark::CatchUp {
        return Ok(None);
    }
    match mark {
        RepeaterMark::Cumulate => {}
        RepeaterMark::Restart if unit == ShiftUnit::Hour => {
            moving.shift(moving.moment.minutes_until(now), ShiftUnit::Minute)?;
        }
        RepeaterMark::Restart => moving.shift(moving.moment.days_until(now), ShiftUnit::Day)?,
        RepeaterMark::CatchUp => {
            moving.catch_up(count, unit, now)?;
            moving.shift(-count, unit)?;
        }
    }
    moving.shift(count, unit)?;
    moving.drop_first_delays();
    Ok(Some(moving.text()))
}

impl Moving {
    fn read(stamp: &[u8]) -> Option<Self> {
        let (closing, _) = stamp.split_last()?;
        let moment = Moment::read(stamp)?;
        Some(Self {
            moment,
            with_time: has_time(stamp),
            extra: extra(stamp).to_vec(),
            closing: *closing,
        })
    }

    fn shift(&mut self, count: i64, unit: ShiftUnit) -> Result<(), EditError> {
        self.moment = self.moment.shifted(count, unit).ok_or(EditError::OutOfCalendar)?;
        if matches!(unit, ShiftUnit::Hour | ShiftUnit::Minute) {
            self.shift_end(count, unit);
        }
        Ok(())
    }

    /// Moves until the moment is later than now, at least once.
    fn catch_up(&mut self, count: i64, unit: ShiftUnit, now: Moment) -> Result<(), EditError> {
        let minutes = match unit {
            ShiftUnit::Hour => Some(60),
            ShiftUnit::Day => Some(24 * 60),
            _ => None,
        };
        // Steps of one length are taken at once but for the last.
        if let Some(step) = minutes.and_then(|minutes: i64| minutes.checked_mul(count)) {
            let skipped = self.moment.minutes_until(now).div_euclid(step.max(1)).max(0);
            self.shift(skipped.saturating_mul(count), unit)?;
            if skipped > 0 && self.moment > now {
                return Ok(());
            }
        }
        for _ in 0..MAX_SHIFTS {
            self.shift(count, unit)?;
            if now < self.moment {
                return Ok(());
            }
        }
        Err(EditError::OutOfCalendar)
    }

    /// Moves the end of `10:00-11:30` with its beginning.
    fn shift_end(&mut self, count: i64, unit: ShiftUnit) {
        let Some(at) = end_time(&self.extra) else { return };
        let (mut hour, mut minute) =
            (number(&self.extra[at + 1..at + 3]), number(&self.extra[at + 4..at + 6]));
        if unit == ShiftUnit::Hour {
            hour += count % 24;
        } else {
            let step = ROUNDING_MINUTES * count.signum();
            let over = minute % ROUNDING_MINUTES;
            if over != 0 {
                minute += if step > 0 { -over } else { ROUNDING_MINUTES - over };
            }
            minute += step;
        }
        if minute < 0 {
            (minute, hour) = (minute + 60, hour - 1);
        }
        if minute > 59 {
            (minute, hour) = (minute - 60, hour + 1);
        }
        let text = format!("-{:02}:{minute:02}", hour.rem_euclid(24));
        self.extra.splice(at..at + 6, text.into_bytes());
    }

    /// Takes delays away that hold for the first time alone: ` --2d`.
    fn drop_first_delays(&mut self) {
        let mut at = 0;
        while let Some(rest) = self.extra.get(at..) {
            if rest.is_empty() {
                return;
            }
            match rest.strip_prefix(b" --").and_then(period_length) {
                Some(length) => {
                    self.extra.drain(at..at + 3 + length);
                }
                None => at += 1,
            }
        }
    }

    fn text(&self) -> Vec<u8> {
        let open = if self.closing == b']' { b"[" } else { b"<" };
        [&open[..], self.moment.text(self.with_time).as_bytes(), &self.extra, &[self.closing]]
            .concat()
    }
}

/// Whether a timestamp has a time of day, or something that looks like one.
fn has_time(stamp: &[u8]) -> bool {
    let rest = stamp.get(10..).unwrap_or_default();
    rest.windows(4).any(|text| {
        text[0].is_ascii_digit()
            && text[1] == b':'
            && text[2].is_ascii_digit()
            && text[3].is_ascii_digit()
    })
}

/// The end of a range of times, repeaters and delays, up to the closing bracket.
fn extra(stamp: &[u8]) -> &[u8] {
    let fits = |from: usize| {
        let mut at = from + if end_time(&stamp[from..]) == Some(0) { 6 } else { 0 };
        while let Some(length) = any_cookie(&stamp[at..]) {
            at += length;
        }
        matches!(stamp.get(at), Some(b']' | b'>')).then_some(at)
    };
    (0..stamp.len()).find_map(|from| fits(from).map(|end| &stamp[from..end])).unwrap_or_default()
}

/// Returns the place of `-11:30`.
fn end_time(text: &[u8]) -> Option<usize> {
    text.windows(6).position(|it| {
        it[0] == b'-'
            && matches!(it[1], b'0'..=b'2')
            && it[2].is_ascii_digit()
            && it[3] == b':'
            && matches!(it[4], b'0'..=b'5')
            && it[5].is_ascii_digit()
    })
}

/// The length of blanks and `+1w`, `.+1w/2w`, `-3d` or `--3d` at the beginning.
fn any_cookie(text: &[u8]) -> Option<usize> {
    let blanks = text.iter().take_while(|byte| **byte == b' ').count();
    let rest = &text[blanks..];
    let marks = rest.iter().take_while(|byte| b".+-".contains(byte)).count();
    let fits = matches!(
        &rest[..marks],
        b"+" | b"-"
            | b"++"
            | b"+-"
            | b".+"
            | b".-"
            | b"--"
            | b"-+"
            | b"+--"
            | b"+-+"
            | b".--"
            | b".-+"
    );
    let period = period_length(&rest[marks..]).filter(|_| blanks > 0 && fits)?;
    let length = blanks + marks + period;
    let more =
        (text.get(length) == Some(&b'/')).then(|| period_length(&text[length + 1..])).flatten();
    Some(length + more.map_or(0, |more| more + 1))
}

/// A timestamp that somebody gives, as Org would write it.
pub(super) struct Rewritten {
    pub(super) text: Vec<u8>,
    /// Whether it says itself how it repeats or how far ahead it warns.
    pub(super) has_cookies: bool,
}

impl Rewritten {
    /// The name of the day by the calendar, hours of two digits. What Org would not write so stays as it is: ranges, and
    /// expressions of the diary.
    pub(super) fn of(stamp: &[u8]) -> Self {
        let has_cookies = old_cookies(stamp).is_some();
        let is_one = stamp.iter().filter(|byte| b"<[>]".contains(byte)).count() == 2;
        let moving = Moving::read(stamp).filter(|_| is_one && is_date(&stamp[1..]));
        Self { text: moving.map_or_else(|| stamp.to_vec(), |it| it.text()), has_cookies }
    }

    /// With a repeater and a warning that it has not itself.
    pub(super) fn with_cookies(self, cookies: Option<&[u8]>) -> Vec<u8> {
        match (cookies, self.text.split_last()) {
            (Some(cookies), Some((closing, front))) => [front, b" ", cookies, &[*closing]].concat(),
            _ => self.text,
        }
    }
}

/// The repeater of a timestamp with the warning behind it, or the warning alone: what Org keeps when the day changes.
pub(super) fn old_cookies(stamp: &[u8]) -> Option<&[u8]> {
    let is_mark = |byte: &u8| b".+-".contains(byte);
    let mut at = 0;
    while at < stamp.len() {
        let marks = stamp[at..].iter().take_while(|byte| is_mark(byte)).count();
        let period = period_length(&stamp[at + marks..]).filter(|_| marks > 0);
        let Some(period) = period else {
            at += marks.max(1);
            continue;
        };
        let end = at + marks + period;
        let more = match stamp.get(end..) {
            Some([b'/' | b' ', rest @ ..]) => {
                let sign = usize::from(rest.first().is_some_and(|byte| b"+-".contains(byte)));
                period_length(&rest[sign..]).map(|length| 1 + sign + length)
            }
            _ => None,
        };
        return Some(&stamp[at..end + more.unwrap_or(0)]);
    }
    None
}
