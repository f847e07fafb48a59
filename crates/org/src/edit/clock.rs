//! Clocking in and out: lines of `CLOCK:` in the logbook of a headline. What time it is, the caller says.

use bridle_sexp::civil_date::days_from_civil;

use super::drawer::is_stamp;
use super::entry::indent_to;
use super::journal::{LOGBOOK, LogRules};
use super::{Edit, EditError, newline};
use crate::lines::Class;
use crate::object::is_date;
use crate::text::{Span, drop_blanks, skip_blanks, strip_prefix_any_case};
use crate::tree::{NodeId, Tree};

impl<'t> Tree<'t> {
    /// Starts a clock: a line at the top of the logbook of a headline, which is made when there is none. `now` is an
    /// inactive timestamp with a time.
    ///
    /// # Errors
    ///
    /// The node is no headline, `now` is no such timestamp, or a clock runs there already.
    pub fn clock_in(&self, headline: NodeId, now: &[u8]) -> Result<Edit<'t>, EditError> {
        let below = self.below(headline)?;
        if minutes(now).is_none() {
            return Err(EditError::Unreadable);
        }
        if self.running(headline)?.is_some() {
            return Err(EditError::Missing);
        }
        let clock = [b"CLOCK: ", now].concat();
        let rules = LogRules::of(self, headline);
        let asked = self.inherited_property(headline, b"CLOCK_INTO_DRAWER");
        let name = match asked.as_deref() {
            Some(b"nil") => return Ok(self.insert_lines(below.end, &clock)),
            Some(b"t") | None => rules.drawer.as_deref().unwrap_or(LOGBOOK),
            Some(name) if name.iter().all(u8::is_ascii_digit) => LOGBOOK,
            Some(name) => name,
        };
        let next = self.headline_line(headline)? + 1;
        let is_heading = |index: &usize| self.lines.class(*index) == Class::Heading;
        let end = (next..self.lines.count()).find(is_heading).unwrap_or(self.lines.count());
        let drawer = self.drawer_named(below.end, name);
        let drawer = drawer.filter(|it| self.nodes[*it].after_affiliated() < self.lines.start(end));
        if let Some(drawer) = drawer {
            let (index, column) = self.place_in_drawer(drawer, rules.latest_first);
            return Ok(self.insert_lines(index, &[indent_to(column), clock].concat()));
        }
        let open = [b":", name, b":"].concat();
        let logbook = [&open[..], &clock, b":END:"].join(newline(self.whole));
        Ok(self.insert_lines(below.end, &logbook))
    }

    /// Ends the clock that runs in a headline, and notes how long it ran.
    ///
    /// # Errors
    ///
    /// The node is no headline, no clock runs there, or `now` is no inactive timestamp with a time that is later.
    pub fn clock_out(&self, headline: NodeId, now: &[u8]) -> Result<Edit<'t>, EditError> {
        let index = self.running(headline)?.ok_or(EditError::Missing)?;
        let line = drop_blanks(self.lines.content(index));
        let began =
            strip_prefix_any_case(skip_blanks(line), b"clock:").map(skip_blanks).and_then(minutes);
        let ran = minutes(now).zip(began).and_then(|(end, began)| end.checked_sub(began));
        let ran = ran.filter(|ran| *ran >= 0).ok_or(EditError::Unreadable)?;
        let at = self.lines.start(index) + line.len();
        let text = [b"--", now, format!(" => {:2}:{:02}", ran / 60, ran % 60).as_bytes()].concat();
        Ok(Edit::replace(self.whole, Span { start: at, end: at }, text))
    }

    /// The line of the clock that runs in the section of a headline.
    fn running(&self, headline: NodeId) -> Result<Option<usize>, EditError> {
        let first = self.headline_line(headline)? + 1;
        let own = (first..self.lines.count())
            .take_while(|index| self.lines.class(*index) != Class::Heading);
        let mut clocks = own.filter(|index| self.lines.class(*index) == Class::Clock);
        Ok(clocks.find(|index| {
            let line = drop_blanks(skip_blanks(self.lines.content(*index)));
            strip_prefix_any_case(line, b"clock:")
                .map(skip_blanks)
                .is_some_and(|stamp| minutes(stamp).is_some())
        }))
    }
}

/// Minutes since the year 0 of an inactive timestamp with a time, alone.
fn minutes(stamp: &[u8]) -> Option<i64> {
    let inner = stamp.strip_prefix(b"[")?.strip_suffix(b"]")?;
    if !is_date(inner) || !is_stamp(stamp) {
        return None;
    }
    let number = |digits: &[u8]| {
        let valid =
            !digits.is_empty() && digits.len() <= 4 && digits.iter().all(u8::is_ascii_digit);
        valid.then(|| digits.iter().fold(0, |sum: i64, digit| sum * 10 + i64::from(digit - b'0')))
    };
    let time = inner.rsplit(|byte| *byte == b' ').next()?;
    let colon = memchr::memchr(b':', time)?;
    let (hour, minute) = (number(&time[..colon])?, number(&time[colon + 1..])?);
    let (year, month, day) = (number(&inner[..4])?, number(&inner[5..7])?, number(&inner[8..10])?);
    if hour > 23 || minute > 59 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some(days_from_civil(year, month, day) * 24 * 60 + hour * 60 + minute)
}
