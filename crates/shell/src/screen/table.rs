//! Columns with headers that fit the terminal.
//!
//! Widths are counted as a terminal shows them: two columns for most of Chinese, Japanese and
//! Korean writing and for emoji. What does not fit is cut with `…`, first in the columns that may
//! shrink; then columns that may be left out are left out, the last one first. In a pipe nothing is
//! cut.

use unicode_width::UnicodeWidthStr as _;

use super::{OutputScreen, neutral_line};

/// Blanks between two columns.
const GAP: &str = "  ";

/// Stands for what was cut off.
const MORE: &str = "…";

/// Columns that a shrinking column keeps.
const MIN_SHRUNK: usize = 8;

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn {
    header: &'static str,
    is_right: bool,
    shrinks: bool,
    is_optional: bool,
}

impl TableColumn {
    /// A column of text.
    pub const fn text(header: &'static str) -> TableColumn {
        TableColumn { header, is_right: false, shrinks: false, is_optional: false }
    }

    /// A column of numbers, aligned to the right.
    pub const fn number(header: &'static str) -> TableColumn {
        TableColumn { is_right: true, ..TableColumn::text(header) }
    }

    /// Lets the column be cut where the terminal is too narrow.
    pub const fn shrinks(self) -> TableColumn {
        TableColumn { shrinks: true, ..self }
    }

    /// Lets the column be left out where the terminal is too narrow.
    pub const fn optional(self) -> TableColumn {
        TableColumn { is_optional: true, ..self }
    }
}

/// Rows under headers.
#[derive(Debug, Clone)]
pub struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> TextTable {
        TextTable { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column, neutralised here. Missing cells are empty.
    pub fn push_row<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut row: Vec<String> =
            cells.into_iter().map(|cell| neutral_line(cell.as_ref()).into_owned()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the lines, fitted to the screen; without a row, the sentence that says so.
    pub fn render(&self, screen: OutputScreen, nothing: &str) -> String {
        if self.is_empty() {
            return format!("{nothing}\n");
        }
        let shown = self.fit(screen.width);
        let mut out = String::new();
        let headers: Vec<&str> = self.columns.iter().map(|column| column.header).collect();
        self.push_line(&headers, &shown, screen.width, &mut out);
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            self.push_line(&cells, &shown, screen.width, &mut out);
        }
        out
    }

    /// Returns the columns to show, by index, with their widths.
    fn fit(&self, width: Option<usize>) -> Vec<(usize, usize)> {
        let natural = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|cell| cell.width()).max().unwrap_or_default();
            widest.max(self.columns[index].header.width())
        };
        let mut shown: Vec<(usize, usize)> =
            (0..self.columns.len()).map(|index| (index, natural(index))).collect();
        let Some(width) = width else { return shown };
        loop {
            let excess = total(&shown).saturating_sub(width);
            if excess == 0 {
                return shown;
            }
            let reserve: usize = shown.iter().map(|it| self.reserve(*it)).sum();
            if reserve >= excess {
                self.shrink(&mut shown, excess);
                return shown;
            }
            let optional = |(index, _): &(usize, usize)| self.columns[*index].is_optional;
            let Some(last) = shown.iter().rposition(optional) else {
                self.shrink(&mut shown, reserve);
                return shown;
            };
            shown.remove(last);
        }
    }

    /// Columns that a shrinking column can give.
    fn reserve(&self, (index, width): (usize, usize)) -> usize {
        let column = self.columns[index];
        let least = MIN_SHRUNK.max(column.header.width());
        if column.shrinks { width.saturating_sub(least) } else { 0 }
    }

    /// Takes so many columns away, one at a time, from the widest that can give.
    fn shrink(&self, shown: &mut [(usize, usize)], excess: usize) {
        for _ in 0..excess {
            let able = shown.iter_mut().filter(|it| self.reserve(**it) > 0);
            let Some(widest) = able.max_by_key(|(_, width)| *width) else { return };
            widest.1 -= 1;
        }
    }

    fn push_line(
        &self,
        cells: &[&str],
        shown: &[(usize, usize)],
        limit: Option<usize>,
        out: &mut String,
    ) {
        let mut line = String::new();
        for (place, (index, width)) in shown.iter().enumerate() {
            if place > 0 {
                line.push_str(GAP);
            }
            let cell = cut(cells.get(*index).copied().unwrap_or_default(), *width);
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            match self.columns[*index].is_right {
                true => line.extend([blanks.as_str(), &cell]),
                false => line.extend([cell.as_str(), &blanks]),
            }
        }
        let line = line.trim_end();
        out.push_str(&limit.map_or_else(|| line.to_owned(), |limit| cut(line, limit)));
        out.push('\n');
    }
}

/// Columns of a line.
fn total(shown: &[(usize, usize)]) -> usize {
    let gaps = shown.len().saturating_sub(1) * GAP.len();
    shown.iter().map(|(_, width)| width).sum::<usize>() + gaps
}

/// Returns the text in at most so many columns, with `…` for what was cut off.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        // The width of the whole: letters may join.
        if kept.width() + MORE.width() > width {
            kept.pop();
            break;
        }
    }
    kept.push_str(MORE);
    kept
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::{TableColumn, TextTable, cut};
    use crate::screen::OutputScreen;

    fn table() -> TextTable {
        let mut table = TextTable::new([
            TableColumn::text("NAME").shrinks(),
            TableColumn::number("EVENTS"),
            TableColumn::text("OWNER").optional(),
            TableColumn::text("LAST"),
        ]);
        table.push_row(["desk", "2", "uid-1000", "2026-11-18 15:47"]);
        table.push_row(["日本語のとても長い名前の会議", "12345", "local-tcp", "2026-11-17 09:00"]);
        table
    }

    #[test]
    fn a_pipe_gets_all_of_it() {
        assert_eq!(
            table().render(OutputScreen::PIPE, "nothing"),
            "NAME                          EVENTS  OWNER      LAST\n\
             desk                               2  uid-1000   2026-11-18 15:47\n\
             日本語のとても長い名前の会議   12345  local-tcp  2026-11-17 09:00\n"
        );
    }

    #[test]
    fn a_terminal_gets_what_fits() {
        for width in 20..100 {
            let text = table().render(OutputScreen { width: Some(width) }, "nothing");
            assert!(text.lines().all(|line| line.width() <= width), "{width}\n{text}");
            assert_eq!(text.lines().count(), 3);
        }
        assert_eq!(
            table().render(OutputScreen { width: Some(60) }, "nothing"),
            "NAME                     EVENTS  OWNER      LAST\n\
             desk                          2  uid-1000   2026-11-18 15:47\n\
             日本語のとても長い名前…   12345  local-tcp  2026-11-17 09:00\n"
        );
        let narrow = table().render(OutputScreen { width: Some(40) }, "nothing");
        assert!(!narrow.contains("OWNER") && narrow.contains("2026-11-17 09:00"), "{narrow}");
    }

    #[test]
    fn no_row_is_a_sentence_and_no_cell_forges_one() {
        let mut table = TextTable::new([TableColumn::text("NAME"), TableColumn::text("X")]);
        assert_eq!(table.render(OutputScreen::PIPE, "no session yet"), "no session yet\n");
        table.push_row(["a\nb\u{1b}[0m\u{202e}"]);
        assert_eq!(table.render(OutputScreen::PIPE, ""), "NAME             X\na↵b␛[0m<U+202E>\n");
    }

    #[test]
    fn wide_letters_are_not_cut_in_half() {
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 0), "…");
    }
}
