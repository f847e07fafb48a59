//! Screens of a terminal emulator: recorded lines stay once, whatever the live area does.

use super::{LiveArea, ReflowBehavior, TerminalPainter, TerminalSize};
use crate::style::{ColorUse, StyledLine, TextStyle};

struct PaintedTerminal {
    painter: TerminalPainter,
    terminal: vt100::Parser,
}

fn area(lines: &[&str]) -> LiveArea {
    let lines: Vec<StyledLine> =
        lines.iter().map(|line| StyledLine::of(line, TextStyle::PLAIN)).collect();
    let cursor_row = lines.len().saturating_sub(2);
    LiveArea { lines, cursor_row, cursor_column: 1 }
}

impl PaintedTerminal {
    fn new(columns: usize, rows: usize) -> PaintedTerminal {
        let size = TerminalSize { columns, rows };
        let painter = TerminalPainter::new(size, ColorUse::None, ReflowBehavior::Cuts);
        let rows = u16::try_from(rows).expect("small");
        let terminal = vt100::Parser::new(rows, u16::try_from(columns).expect("small"), 10_000);
        PaintedTerminal { painter, terminal }
    }

    fn paint(&mut self, recorded: &[&str], live: &[&str]) {
        let recorded: Vec<StyledLine> =
            recorded.iter().map(|line| StyledLine::of(line, TextStyle::PLAIN)).collect();
        let mut out = String::new();
        self.painter.paint(&recorded, &area(live), &mut out);
        self.terminal.process(out.as_bytes());
    }

    /// Every line from the oldest in the scrollback to the last on the screen.
    fn all(&mut self) -> Vec<String> {
        let (rows, columns) = self.terminal.screen().size();
        let mut lines = Vec::new();
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let mut back = self.terminal.screen().scrollback();
        while back > 0 {
            self.terminal.screen_mut().set_scrollback(back);
            let take = usize::from(rows).min(back);
            lines.extend(self.terminal.screen().rows(0, columns).take(take));
            back -= take;
        }
        self.terminal.screen_mut().set_scrollback(0);
        lines.extend(self.terminal.screen().rows(0, columns));
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        lines
    }
}

#[test]
fn recorded_lines_are_there_once_and_the_area_below_them() {
    let mut it = PaintedTerminal::new(20, 6);
    let mut expected = Vec::new();
    for number in 0..50 {
        let line = format!("line {number}");
        let tall = ["tail", "tail two", "> input", "status"];
        it.paint(&[], &tall[number % 3..]);
        it.paint(&[&line], &tall[(number + 1) % 3..]);
        expected.push(line);
    }
    it.paint(&[], &["> input", "status"]);
    expected.extend(["> input".to_owned(), "status".to_owned()]);
    assert_eq!(it.all(), expected);
    assert_eq!(it.terminal.screen().cursor_position(), (4, 1));
}

#[test]
fn wide_letters_and_full_rows_do_not_shift_anything() {
    let mut it = PaintedTerminal::new(10, 5);
    it.paint(&["0123456789", "日本語日本語日本語"], &["> 日本語日本語日本", "status"]);
    it.paint(&["after"], &["> x", "s"]);
    assert_eq!(it.all(), ["0123456789", "日本語日本", "語日本語", "after", "> x", "s"]);
}

#[test]
fn a_smaller_area_leaves_nothing_behind() {
    let mut it = PaintedTerminal::new(20, 6);
    it.paint(&["one"], &["a", "b", "c", "> ", "s"]);
    it.paint(&[], &["> ", "s"]);
    assert_eq!(it.all(), ["one", "> ", "s"]);
    let mut out = String::new();
    it.painter.finish(&[], &mut out);
    it.terminal.process(out.as_bytes());
    assert_eq!(it.all(), ["one"]);
}

#[test]
fn the_pager_gives_the_screen_back() {
    let mut it = PaintedTerminal::new(20, 6);
    it.paint(&["one"], &["> ", "s"]);
    let mut out = String::new();
    it.painter.paint_pager(&[StyledLine::of("page", TextStyle::PLAIN)], &mut out);
    it.terminal.process(out.as_bytes());
    assert_eq!(it.all(), ["page"]);
    it.paint(&["two"], &["> ", "s"]);
    assert_eq!(it.all(), ["one", "two", "> ", "s"]);
}

#[test]
fn a_resize_starts_from_the_place_of_the_area() {
    let mut it = PaintedTerminal::new(20, 10);
    it.paint(&["one"], &["tail of twenty cols", "> input", "s"]);
    // What a terminal that wraps anew makes of it at ten columns.
    it.terminal = vt100::Parser::new(10, 10, 100);
    it.terminal.process(b"one\r\ntail of tw\r\nenty cols\r\n> input\r\ns\x1b[A\r\x1b[C");
    it.painter.reflow = ReflowBehavior::Reflows;
    it.painter.resize(TerminalSize { columns: 10, rows: 10 });
    it.paint(&["two"], &["> input", "s"]);
    assert_eq!(it.all(), ["one", "two", "> input", "s"]);
}
