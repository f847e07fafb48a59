//! The live area: what streams, what waits, what is asked, the input and a line of state.

use unicode_width::UnicodeWidthStr as _;

use super::{Conversation, LinkState, OpenQuestion, SessionPicker, SessionSpending};
use crate::complete::MAX_SHOWN;
use crate::painter::LiveArea;
use crate::style::{AnsiColor, StyledLine, TextStyle, lines_of};
use crate::transcript;

/// Rows of the input at most.
const MAX_INPUT_ROWS: usize = 10;

/// Bytes of streamed text that are laid out: more than a screen holds.
const MAX_TAIL_SHOWN: usize = 16 << 10;

/// Queued prompts shown.
const MAX_QUEUE_SHOWN: usize = 3;

/// Rows of a terminal that has room for an empty line above the live area.
const MIN_ROWS_FOR_GAP: usize = 12;

/// Sign before the input.
const PROMPT: &str = "❯ ";

impl Conversation {
    /// The live area as it is to be painted; never as tall as the screen.
    pub fn area(&self) -> LiveArea {
        let columns = self.size.columns;
        let budget = self.size.rows.saturating_sub(1).max(1);
        let status_rows = usize::from(self.size.rows >= 3);
        let (input, row, column) = self.input_rows(columns, budget - status_rows.min(budget - 1));
        let room = budget.saturating_sub(input.len() + status_rows);
        // An empty line apart from what was said, where there is room for it.
        let gap = usize::from(self.size.rows >= MIN_ROWS_FOR_GAP).min(room);
        let mut lines = vec![StyledLine::empty(); gap];
        lines.extend(self.upper(columns, room - gap));
        let cursor_row = lines.len() + row;
        lines.extend(input);
        if status_rows == 1 {
            lines.push(self.status().cut(columns));
        }
        LiveArea { lines, cursor_row, cursor_column: column.min(columns.saturating_sub(1)) }
    }

    /// Lines of the pager, as tall as the screen; `None` while there is none.
    pub fn page(&self) -> Option<Vec<StyledLine>> {
        let pager = self.pager.as_ref()?;
        let room = self.size.rows.saturating_sub(2).max(1);
        let mut lines = Vec::new();
        lines.push(StyledLine::of(&pager.title, TextStyle { reverse: true, ..TextStyle::BOLD }));
        lines.extend(pager.lines.iter().skip(pager.top).take(room).cloned());
        lines.resize(room + 1, StyledLine::empty());
        let last = (pager.top + room).min(pager.lines.len());
        let place = format!("{}-{last} of {}", pager.top + 1, pager.lines.len());
        let keys = match pager.grant {
            Some(_) => "a digit allows it · q does not · arrows, space",
            None => "q back · arrows, space",
        };
        lines.push(StyledLine::of(&format!("{place} · {keys}"), TextStyle::DIM));
        Some(lines)
    }

    /// Everything above the input, the most urgent nearest to it.
    fn upper(&self, columns: usize, room: usize) -> Vec<StyledLine> {
        if let Some(picker) = &self.picker {
            return picker_lines(picker, self.now, columns, room);
        }
        let mut below = self.menu_lines(columns, room);
        let images = self.image_lines(columns, room.saturating_sub(below.len()));
        below.splice(0..0, images);
        let question = self.question_lines(columns, room.saturating_sub(below.len()));
        below.splice(0..0, question);
        let waiting = self.waiting_lines(columns, room.saturating_sub(below.len()));
        below.splice(0..0, waiting);
        let mut lines = self.tail_lines(columns, room.saturating_sub(below.len()));
        lines.extend(below);
        lines
    }

    fn tail_lines(&self, columns: usize, room: usize) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        if !self.lost_tail.is_empty() {
            let lost = end_of(self.lost_tail.text());
            lines.extend(transcript::void_lines(lost, "the connection was lost"));
        }
        if !self.tail.is_empty() {
            lines.extend(lines_of(end_of(self.tail.text()), TextStyle::PLAIN));
        }
        let mut rows: Vec<StyledLine> =
            lines.iter().flat_map(|line| line.broken(columns)).collect();
        rows.drain(..rows.len().saturating_sub(room));
        rows
    }

    fn waiting_lines(&self, columns: usize, room: usize) -> Vec<StyledLine> {
        let unsaid = self.pending.iter().filter(|it| it.seq.is_none());
        let unsaid = unsaid.map(|it| ("sending", it.text.as_str()));
        let queued = self.queue.iter().map(|it| ("queued", it.text.as_str()));
        let all: Vec<(&str, &str)> = unsaid.chain(queued).collect();
        let shown = all.iter().take(MAX_QUEUE_SHOWN.min(room));
        let line = |(word, text): &(&str, &str)| {
            let first = text.lines().next().unwrap_or_default();
            StyledLine::of(&format!("· {word}: {first}"), TextStyle::DIM).cut(columns)
        };
        shown.map(line).collect()
    }

    fn image_lines(&self, columns: usize, room: usize) -> Vec<StyledLine> {
        if self.images.is_empty() || room == 0 {
            return Vec::new();
        }
        let names: Vec<&str> = self.images.iter().map(|it| it.name.as_str()).collect();
        let line =
            StyledLine::of(&format!("▣ {}", names.join(", ")), TextStyle::colored(AnsiColor::Cyan))
                .with("  Backspace takes it away", TextStyle::DIM);
        vec![line.cut(columns)]
    }

    fn menu_lines(&self, columns: usize, room: usize) -> Vec<StyledLine> {
        let Some(menu) = &self.menu else { return Vec::new() };
        let count = MAX_SHOWN.min(room);
        let first = (menu.chosen + 1).saturating_sub(count);
        let entries = menu.entries.iter().enumerate().skip(first).take(count);
        let line = |(at, entry): (usize, &crate::complete::CompletionEntry)| {
            let is_chosen = at == menu.chosen;
            let style = TextStyle { reverse: is_chosen, ..TextStyle::PLAIN };
            StyledLine::of(&format!("  {}", entry.text), style)
                .with(&format!("  {}", entry.about), TextStyle::DIM)
                .cut(columns)
        };
        entries.map(line).collect()
    }

    fn question_lines(&self, columns: usize, room: usize) -> Vec<StyledLine> {
        let Some(open) = self.questions.iter().find(|it| !it.answered) else { return Vec::new() };
        if room == 0 {
            return Vec::new();
        }
        let more = self.questions.len().saturating_sub(1);
        let more = if more > 0 { format!(" · {more} more") } else { String::new() };
        let keys = match self.input.is_empty() {
            true => "a allow · A always · d deny · ? details",
            false => "clear the input (Ctrl-U) to answer",
        };
        let keys = StyledLine::of(&format!("{keys}{more}"), TextStyle::BOLD).cut(columns);
        let mut lines = asked_lines(open, columns);
        lines.truncate(room - 1);
        lines.push(keys);
        lines
    }

    /// Rows of the input, and where the cursor is in them.
    fn input_rows(&self, columns: usize, room: usize) -> (Vec<StyledLine>, usize, usize) {
        let (text, cursor) = match self.shown_search() {
            Some((wanted, found)) => {
                let head = format!("search `{wanted}");
                let cursor = head.len();
                (format!("{head}`: {found}"), cursor)
            }
            None => self.input.shown(),
        };
        // A narrow terminal has no columns for a sign.
        let sign = if columns > 8 { PROMPT } else { "" };
        let indent = sign.width();
        let width = columns.saturating_sub(indent + 1).max(1);
        let mut rows: Vec<String> = Vec::new();
        let mut place = (0, 0);
        let mut at = 0;
        for line in text.split('\n') {
            let mut rest = line;
            loop {
                let (mut row, _) = crate::style::split_at_width(rest, width);
                if row.is_empty() && !rest.is_empty() {
                    let first = rest.chars().next().map_or(0, char::len_utf8);
                    row = &rest[..first];
                }
                let is_last = row.len() == rest.len();
                if cursor >= at
                    && (cursor < at + row.len() || (is_last && cursor <= at + row.len()))
                {
                    place = (rows.len(), shown_width(&row[..cursor - at]));
                }
                rows.push(row.to_owned());
                at += row.len();
                rest = &rest[row.len()..];
                if is_last {
                    break;
                }
            }
            at += 1;
        }
        let room = room.clamp(1, MAX_INPUT_ROWS);
        let first = (place.0 + 1).saturating_sub(room);
        let shown = rows.iter().enumerate().skip(first).take(room).map(|(number, row)| {
            let sign = if number == 0 { sign.to_owned() } else { " ".repeat(indent) };
            StyledLine::of(&sign, TextStyle::colored(AnsiColor::Green)).with(row, TextStyle::PLAIN)
        });
        (shown.collect(), place.0 - first, indent + place.1)
    }

    fn status(&self) -> StyledLine {
        let mut line = StyledLine::empty();
        let session = self.session.as_deref().unwrap_or("-");
        line.push(session, TextStyle { reverse: false, ..TextStyle::BOLD });
        let (state, style) = self.state_words();
        line.push(&format!(" · {state}"), style);
        let notice = self.notice.as_ref().map(|(notice, _)| notice.clone());
        let mut facts = Vec::new();
        facts.extend(notice.clone());
        facts.extend(self.chosen_model.clone().or_else(|| self.spending.model.clone()));
        facts.extend(cost_words(&self.spending));
        facts.extend(self.spending.context.map(|part| format!("context {part}%")));
        let waiting = self.questions.len();
        if waiting > 0 {
            facts.push(format!("{waiting} to answer"));
        }
        if !self.queue.is_empty() {
            facts.push(format!("{} queued", self.queue.len()));
        }
        for fact in facts {
            line.push(&format!(" · {fact}"), TextStyle::DIM);
        }
        let hint = match &notice {
            Some(_) => return line,
            None if self.picker.is_some() => "Enter opens · n new · Esc back".to_owned(),
            None if self.is_busy() => "Esc stops".to_owned(),
            None => "/keys".to_owned(),
        };
        line.push(&format!(" · {hint}"), TextStyle::DIM);
        line
    }

    fn state_words(&self) -> (String, TextStyle) {
        let warn = TextStyle::colored(AnsiColor::Yellow);
        match &self.link {
            LinkState::Connecting(None) => ("connecting".to_owned(), warn),
            LinkState::Connecting(Some(reason)) => (format!("reconnecting: {reason}"), warn),
            LinkState::Refused(reason) => (reason.clone(), TextStyle::colored(AnsiColor::Red)),
            LinkState::Attached => {
                let doing = if self.doing.is_empty() { "idle" } else { &self.doing };
                let seconds = self.now.saturating_sub(self.since) / 1_000;
                match doing {
                    "idle" if self.pending.is_empty() => ("idle".to_owned(), TextStyle::DIM),
                    "idle" => ("sent".to_owned(), warn),
                    _ if self.reasoning > 0 => (
                        format!("{doing} {seconds} s, {} bytes of reasoning", self.reasoning),
                        warn,
                    ),
                    _ => (format!("{doing} {seconds} s"), warn),
                }
            }
        }
    }
}

/// Columns of a text as it is shown.
fn shown_width(text: &str) -> usize {
    crate::style::TextSpan::new(text, TextStyle::PLAIN).text().width()
}

/// The end of a long text, from the beginning of a line if there is one.
fn end_of(text: &str) -> &str {
    let mut from = text.len().saturating_sub(MAX_TAIL_SHOWN);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = &text[from..];
    match end.find('\n').filter(|_| from > 0) {
        Some(at) => &end[at + 1..],
        None => end,
    }
}

fn asked_lines(open: &OpenQuestion, columns: usize) -> Vec<StyledLine> {
    let question = &open.question;
    let mut head = StyledLine::of("? ", TextStyle::colored(AnsiColor::Yellow));
    head.push(&question.question, TextStyle::BOLD);
    head.hang = 2;
    let mut lines = head.broken(columns);
    lines.extend(lines_of(&question.wanted, TextStyle::PLAIN).iter().map(|it| it.cut(columns)));
    if !question.diff.is_empty() {
        let diff = transcript::diff_lines(&question.diff);
        lines.extend(diff.iter().map(|it| it.cut(columns)));
    }
    lines
}

fn picker_lines(picker: &SessionPicker, now: u64, columns: usize, room: usize) -> Vec<StyledLine> {
    let first = (picker.chosen + 1).saturating_sub(room);
    let shown = picker.entries.iter().enumerate().skip(first).take(room);
    let line = |(at, entry): (usize, &crate::event::SessionEntry)| {
        let style = TextStyle { reverse: at == picker.chosen, ..TextStyle::PLAIN };
        let age = age_words(i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(entry.at));
        StyledLine::of(&format!("{}  ", entry.name), style)
            .with(&format!("{age}  "), TextStyle::DIM)
            .with(&entry.title, TextStyle::PLAIN)
            .cut(columns)
    };
    shown.map(line).collect()
}

/// An age in words, from milliseconds.
pub fn age_words(milliseconds: i64) -> String {
    let minutes = milliseconds.max(0) / 60_000;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{} h ago", minutes / 60),
        _ => format!("{} d ago", minutes / 1_440),
    }
}

/// Cost of a session in words; nothing where nothing was thought by a model.
fn cost_words(spending: &SessionSpending) -> Option<String> {
    match (spending.cost, spending.unpriced) {
        (0, 0) => None,
        (0, _) => Some("cost unknown".to_owned()),
        (cost, 0) => Some(dollars(cost)),
        (cost, _) => Some(format!("{} + unknown", dollars(cost))),
    }
}

/// Money in dollars, from millionths.
fn dollars(millionths: i64) -> String {
    format!("${}.{:04}", millionths / 1_000_000, (millionths % 1_000_000).abs() / 100)
}
