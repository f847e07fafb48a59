//! What stands on the terminal: recorded lines, printed once and never touched again, and below them
//! the live area, which is painted anew. Only relative movements are used, so the terminal's own
//! scrollback keeps every recorded line; the live area is never taller than the screen, so none of it
//! gets there.
//!
//! A library with an inline area was tried on paper and left: its area has one height for its life,
//! its cells hold no links, and a resize redraws what was printed.

use std::fmt::Write as _;

use crate::style::{ColorUse, StyledLine};

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns, at least 1.
    pub columns: usize,
    /// Rows, at least 1.
    pub rows: usize,
}

/// Behavior of a terminal whose width changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflowBehavior {
    /// Wraps its lines anew, as most do.
    Reflows,
    /// Cuts them.
    Cuts,
}

/// Lines of the live area, and the place of the cursor among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveArea {
    /// Lines, each within the width of the terminal.
    pub lines: Vec<StyledLine>,
    /// Row of the cursor in the area, from 0.
    pub cursor_row: usize,
    /// Column of the cursor, from 0.
    pub cursor_column: usize,
}

/// The terminal as it was painted last.
#[derive(Debug)]
pub struct TerminalPainter {
    size: TerminalSize,
    colors: ColorUse,
    reflow: ReflowBehavior,
    /// Widths of the lines of the area that stands there.
    widths: Vec<usize>,
    /// Text of these lines.
    painted: Vec<String>,
    cursor_row: usize,
    cursor_column: usize,
    /// Whether the whole screen belongs to a pager now.
    alternate: bool,
}

impl TerminalPainter {
    /// A painter whose cursor stands at the beginning of an empty line.
    pub fn new(size: TerminalSize, colors: ColorUse, reflow: ReflowBehavior) -> TerminalPainter {
        TerminalPainter {
            size,
            colors,
            reflow,
            widths: Vec::new(),
            painted: Vec::new(),
            cursor_row: 0,
            cursor_column: 0,
            alternate: false,
        }
    }

    /// Size of the terminal.
    pub fn size(&self) -> TerminalSize {
        self.size
    }

    /// Takes a new size; the next painting begins where the area is now.
    pub fn resize(&mut self, size: TerminalSize) {
        if self.reflow == ReflowBehavior::Reflows && size.columns < self.size.columns {
            let rows = |width: usize| width.div_ceil(size.columns).max(1);
            let above: usize = self.widths.iter().take(self.cursor_row).map(|it| rows(*it)).sum();
            self.cursor_row = above + self.cursor_column / size.columns;
        }
        self.cursor_row = self.cursor_row.min(size.rows.saturating_sub(1));
        self.size = size;
        self.painted.clear();
    }

    /// Begins at the cursor of the terminal, which stands at the beginning of an empty line.
    pub fn start_over(&mut self, size: TerminalSize) {
        *self = TerminalPainter::new(size, self.colors, self.reflow);
    }

    /// Prints recorded lines above the area, and paints the area. In a pager nothing is printed.
    pub fn paint(&mut self, recorded: &[StyledLine], area: &LiveArea, out: &mut String) {
        out.push_str("\u{1b}[?2026h\u{1b}[?25l");
        if std::mem::take(&mut self.alternate) {
            out.push_str("\u{1b}[?1049l");
        }
        self.to_top(out);
        if !recorded.is_empty() || self.painted.is_empty() {
            out.push_str("\u{1b}[J");
            self.painted.clear();
        }
        for line in recorded {
            for row in line.rows(self.size.columns) {
                row.write(self.colors, out);
                out.push_str("\r\n");
            }
        }
        self.paint_area(area, out);
        out.push_str("\u{1b}[?25h\u{1b}[?2026l");
    }

    fn paint_area(&mut self, area: &LiveArea, out: &mut String) {
        let painted: Vec<String> = area.lines.iter().map(|line| self.written(line)).collect();
        // A letter that the terminal holds for wider than we do must not add a row.
        out.push_str("\u{1b}[?7l");
        for (at, line) in painted.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            if self.painted.get(at) != Some(line) {
                out.push_str("\u{1b}[2K");
                out.push_str(line);
            }
        }
        if self.painted.len() > painted.len() {
            // The rest of the area that was taller.
            out.push_str("\r\n\u{1b}[J\u{1b}[A");
        }
        out.push_str("\u{1b}[?7h");
        let last = painted.len().saturating_sub(1);
        let up = last - area.cursor_row.min(last);
        if up > 0 {
            let _ = write!(out, "\u{1b}[{up}A");
        }
        out.push('\r');
        if area.cursor_column > 0 {
            let _ = write!(out, "\u{1b}[{}C", area.cursor_column);
        }
        self.widths = area.lines.iter().map(StyledLine::width).collect();
        self.painted = painted;
        self.cursor_row = area.cursor_row.min(last);
        self.cursor_column = area.cursor_column;
    }

    /// Paints a full screen of lines on the alternate screen.
    pub fn paint_pager(&mut self, lines: &[StyledLine], out: &mut String) {
        out.push_str("\u{1b}[?2026h");
        if !std::mem::replace(&mut self.alternate, true) {
            out.push_str("\u{1b}[?1049h");
        }
        out.push_str("\u{1b}[?25l\u{1b}[?7l\u{1b}[H\u{1b}[2J");
        for (at, line) in lines.iter().take(self.size.rows).enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            line.cut(self.size.columns).write(self.colors, out);
        }
        out.push_str("\u{1b}[?7h\u{1b}[?2026l");
    }

    /// Removes the area and leaves the cursor where the next program may print.
    pub fn finish(&mut self, recorded: &[StyledLine], out: &mut String) {
        self.painted.clear();
        self.paint(recorded, &LiveArea::default(), out);
    }

    fn to_top(&self, out: &mut String) {
        out.push('\r');
        if self.cursor_row > 0 {
            let _ = write!(out, "\u{1b}[{}A", self.cursor_row);
        }
    }

    fn written(&self, line: &StyledLine) -> String {
        let mut text = String::new();
        line.cut(self.size.columns).write(self.colors, &mut text);
        text
    }
}

#[cfg(test)]
mod tests;
