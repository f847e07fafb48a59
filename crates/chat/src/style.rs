//! Lines with styles: what transcript, live area and pager are made of, and the only way of text to
//! the terminal. A span neutralises its text when it is made, so no caller can forget to.

use std::fmt::Write as _;

use bridle_shell::screen::{neutral_block, neutral_line};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Longest address of a link, in bytes: longer ones are printed and not linked.
const MAX_LINK_BYTES: usize = 2_000;

/// Columns between two tab stops of code.
const TAB_COLUMNS: usize = 4;

/// One of the colors that every terminal theme sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsiColor {
    /// Errors and removed lines.
    Red,
    /// Added lines, success.
    Green,
    /// Warnings and questions.
    Yellow,
    /// Headings.
    Blue,
    /// Marks of what is in no record.
    Magenta,
    /// Code.
    Cyan,
}

impl AnsiColor {
    fn code(self) -> u8 {
        match self {
            AnsiColor::Red => 31,
            AnsiColor::Green => 32,
            AnsiColor::Yellow => 33,
            AnsiColor::Blue => 34,
            AnsiColor::Magenta => 35,
            AnsiColor::Cyan => 36,
        }
    }
}

/// Attributes of a span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextStyle {
    /// Bold.
    pub bold: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Struck through.
    pub strike: bool,
    /// Fainter than the rest.
    pub dim: bool,
    /// Foreground and background exchanged.
    pub reverse: bool,
    /// Color; the terminal's own without one.
    pub color: Option<AnsiColor>,
}

impl TextStyle {
    /// Text as it is.
    pub const PLAIN: TextStyle = TextStyle {
        bold: false,
        italic: false,
        underline: false,
        strike: false,
        dim: false,
        reverse: false,
        color: None,
    };
    /// Bold text.
    pub const BOLD: TextStyle = TextStyle { bold: true, ..TextStyle::PLAIN };
    /// Faint text.
    pub const DIM: TextStyle = TextStyle { dim: true, ..TextStyle::PLAIN };

    /// Text of a color.
    pub const fn colored(color: AnsiColor) -> TextStyle {
        TextStyle { color: Some(color), ..TextStyle::PLAIN }
    }
}

/// Use of colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorUse {
    /// Sixteen colors of the terminal's theme.
    Ansi,
    /// Attributes such as bold only, as `NO_COLOR` asks.
    None,
}

/// A piece of a line in one style. Its text is harmless for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    text: String,
    style: TextStyle,
    link: Option<Box<str>>,
}

impl TextSpan {
    /// A span of text by anybody; controls, line breaks and characters that reorder become visible.
    pub fn new(text: &str, style: TextStyle) -> TextSpan {
        TextSpan { text: neutral_line(text).into_owned(), style, link: None }
    }

    /// A span that links to an address, if a terminal may be handed that address.
    pub fn linked(text: &str, style: TextStyle, address: &str) -> TextSpan {
        let link = is_safe_address(address).then(|| address.into());
        TextSpan { link, ..TextSpan::new(text, style) }
    }

    /// The harmless text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Style of the span.
    pub fn style(&self) -> TextStyle {
        self.style
    }
}

/// Whether an address may stand in an escape sequence: a known scheme, printable ASCII, no blanks.
fn is_safe_address(address: &str) -> bool {
    let schemes = ["https://", "http://", "mailto:", "file:///"];
    address.len() <= MAX_LINK_BYTES
        && schemes.iter().any(|scheme| address.starts_with(scheme))
        && address.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Treatment of a line that is wider than the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineWrap {
    /// Broken between words.
    #[default]
    Words,
    /// Left to the terminal, so that copying it gives one line: code.
    Terminal,
}

/// One line of output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledLine {
    /// Pieces, from the left.
    pub spans: Vec<TextSpan>,
    /// Treatment when it is too wide.
    pub wrap: LineWrap,
    /// Blanks before each further row of a wrapped line.
    pub hang: usize,
}

impl StyledLine {
    /// An empty line.
    pub fn empty() -> StyledLine {
        StyledLine::default()
    }

    /// A line of one style.
    pub fn of(text: &str, style: TextStyle) -> StyledLine {
        StyledLine { spans: vec![TextSpan::new(text, style)], ..StyledLine::default() }
    }

    /// A line of code: tabs are expanded, the terminal wraps it.
    pub fn code(text: &str, style: TextStyle) -> StyledLine {
        let line = StyledLine::of(&expand_tabs(text), style);
        StyledLine { wrap: LineWrap::Terminal, ..line }
    }

    /// Adds a span.
    pub fn push(&mut self, text: &str, style: TextStyle) {
        self.spans.push(TextSpan::new(text, style));
    }

    /// The line with a span added.
    #[must_use]
    pub fn with(mut self, text: &str, style: TextStyle) -> StyledLine {
        self.push(text, style);
        self
    }

    /// Text without styles.
    pub fn plain(&self) -> String {
        self.spans.iter().map(TextSpan::text).collect()
    }

    /// Columns that the line takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Breaks the line into rows of at most `columns`, as its wrap says.
    pub fn rows(&self, columns: usize) -> Vec<StyledLine> {
        if self.wrap == LineWrap::Terminal || self.width() <= columns {
            return vec![self.clone()];
        }
        self.broken(columns)
    }

    /// Breaks the line into rows of at most `columns`, whatever its wrap says: for areas whose
    /// height must be known.
    pub fn broken(&self, columns: usize) -> Vec<StyledLine> {
        let columns = columns.max(1);
        if self.width() <= columns {
            return vec![self.clone()];
        }
        let hang = if self.hang * 2 > columns { 0 } else { self.hang };
        let mut rows = RowBuilder::new(columns, hang);
        for span in &self.spans {
            for word in words(&span.text) {
                rows.push_word(word, span);
            }
        }
        rows.finish()
    }

    /// The line cut to `columns`, with `…` for what is missing.
    #[must_use]
    pub fn cut(&self, columns: usize) -> StyledLine {
        if self.width() <= columns {
            return self.clone();
        }
        let mut out = StyledLine { spans: Vec::new(), ..self.clone() };
        let mut left = columns.saturating_sub(1);
        for span in &self.spans {
            let (head, _) = split_at_width(&span.text, left);
            left -= head.width();
            let is_whole = head.len() == span.text.len();
            out.spans.push(TextSpan { text: head.to_owned(), ..span.clone() });
            if !is_whole {
                break;
            }
        }
        if columns > 0 {
            out.push("…", TextStyle::DIM);
        }
        out
    }

    /// Writes the line with escape sequences of its own.
    pub fn write(&self, colors: ColorUse, out: &mut String) {
        for span in &self.spans {
            if let Some(link) = &span.link {
                // Writing to a string cannot fail.
                let _ = write!(out, "\u{1b}]8;;{link}\u{1b}\\");
            }
            let is_styled = write_style(span.style, colors, out);
            out.push_str(&span.text);
            if is_styled {
                out.push_str("\u{1b}[0m");
            }
            if span.link.is_some() {
                out.push_str("\u{1b}]8;;\u{1b}\\");
            }
        }
    }
}

/// Lines of a text by anybody, each in one style.
pub fn lines_of(text: &str, style: TextStyle) -> Vec<StyledLine> {
    neutral_block(text).lines().map(|line| StyledLine::of(&expand_tabs(line), style)).collect()
}

/// Replaces tabs by blanks up to the next stop.
pub fn expand_tabs(text: &str) -> String {
    if !text.contains('\t') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for letter in text.chars() {
        if letter == '\t' {
            let blanks = TAB_COLUMNS - column % TAB_COLUMNS;
            out.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            out.push(letter);
            column += letter.width().unwrap_or(0);
        }
    }
    out
}

fn write_style(style: TextStyle, colors: ColorUse, out: &mut String) -> bool {
    let TextStyle { bold, italic, underline, strike, dim, reverse, color } = style;
    let attributes = [(bold, 1), (dim, 2), (italic, 3), (underline, 4), (reverse, 7), (strike, 9)];
    let color = color.filter(|_| colors == ColorUse::Ansi).map(|color| (true, color.code()));
    let mut is_first = true;
    for (_, code) in attributes.into_iter().chain(color).filter(|(is_on, _)| *is_on) {
        out.push_str(if is_first { "\u{1b}[" } else { ";" });
        let _ = write!(out, "{code}");
        is_first = false;
    }
    if !is_first {
        out.push('m');
    }
    !is_first
}

/// Words of a text, each with the blanks behind it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// The longest beginning of at most so many columns, and the rest. Marks without a width stay with
/// their letter.
pub fn split_at_width(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    let mut joined = false;
    for (at, letter) in text.char_indices() {
        let width = letter.width().unwrap_or(0);
        // What is joined to the letter before takes no column of its own.
        if width > 0 && !joined {
            used += width;
            if used > columns {
                return text.split_at(at);
            }
        }
        joined = letter == '\u{200d}';
    }
    (text, "")
}

/// Rows of a line that is being broken.
struct RowBuilder {
    columns: usize,
    hang: usize,
    rows: Vec<StyledLine>,
    row: StyledLine,
    used: usize,
}

impl RowBuilder {
    fn new(columns: usize, hang: usize) -> RowBuilder {
        let row = StyledLine { wrap: LineWrap::Terminal, ..StyledLine::default() };
        RowBuilder { columns, hang, rows: Vec::new(), row, used: 0 }
    }

    fn push_word(&mut self, word: &str, span: &TextSpan) {
        let width = word.trim_end_matches(' ').width();
        if self.used + width > self.columns && self.used > self.hang {
            self.next_row();
        }
        let mut rest = word;
        // A word that is wider than a row is cut where the row ends; one letter fits always.
        while self.used + rest.trim_end_matches(' ').width() > self.columns {
            let (head, tail) = split_at_width(rest, self.columns.saturating_sub(self.used));
            if head.is_empty() {
                if self.used <= self.hang {
                    let first = rest.chars().next().map_or(0, char::len_utf8);
                    self.push_text(&rest[..first], span);
                    rest = &rest[first..];
                    continue;
                }
                self.next_row();
                continue;
            }
            self.push_text(head, span);
            rest = tail;
            if !rest.is_empty() {
                self.next_row();
            }
        }
        // Blanks that do not fit end the row.
        let (fits, _) = split_at_width(rest, self.columns.saturating_sub(self.used));
        self.push_text(fits, span);
    }

    fn push_text(&mut self, text: &str, span: &TextSpan) {
        if text.is_empty() {
            return;
        }
        self.used += text.width();
        self.row.spans.push(TextSpan { text: text.to_owned(), ..span.clone() });
    }

    fn next_row(&mut self) {
        let wrap = LineWrap::Terminal;
        let mut next = StyledLine { wrap, ..StyledLine::default() };
        if self.hang > 0 {
            next.push(&" ".repeat(self.hang), TextStyle::PLAIN);
        }
        self.used = self.hang;
        self.rows.push(std::mem::replace(&mut self.row, next));
    }

    fn finish(mut self) -> Vec<StyledLine> {
        if self.used > self.hang || self.rows.is_empty() {
            self.rows.push(self.row);
        }
        self.rows
    }
}

#[cfg(test)]
mod tests;
