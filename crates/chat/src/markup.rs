//! Org and Markdown as styled lines: headings, emphasis, lists, quotes, code, tables, links. Each
//! line of the text stays a line, so nothing is lost where a guess about the markup is wrong.

mod inline;
mod table;

use crate::style::{AnsiColor, LineWrap, StyledLine, TextStyle};

/// Markup language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkupKind {
    /// Markdown, also plain text.
    Markdown,
    /// Org.
    Org,
}

impl MarkupKind {
    /// Guesses the language by what only Org has.
    pub fn of(text: &str) -> MarkupKind {
        let is_org_line = |line: &str| {
            let line = line.trim_start();
            line.get(..2).is_some_and(|start| start == "#+")
                || line.starts_with("** ")
                || line == ":PROPERTIES:"
                || line == ":END:"
        };
        // Models write Markdown with links of Org in it.
        let is_markdown = text.contains("](")
            || text.contains("**")
            || text.lines().any(|line| line.starts_with("```") || line.starts_with('#'));
        let is_org = text.lines().any(is_org_line) || (text.contains("[[") && !is_markdown);
        if is_org { MarkupKind::Org } else { MarkupKind::Markdown }
    }
}

/// Lines of a text as they are shown on a terminal of so many columns.
pub fn lines(text: &str, columns: usize) -> Vec<StyledLine> {
    let mut out = BlockReader { kind: MarkupKind::of(text), columns, block: None, out: Vec::new() };
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        if out.block.is_none() && table::is_row(line) {
            let mut rows = vec![line];
            while let Some(row) = rest.next_if(|line| table::is_row(line)) {
                rows.push(row);
            }
            out.out.extend(table::lines(&rows, out.kind, columns));
        } else {
            out.read(line);
        }
    }
    out.out
}

/// The last lines of a text, at most so many: what is shown of a very long one. A code block that
/// begins before them is still one.
pub fn last_lines(text: &str, count: usize, columns: usize) -> Vec<StyledLine> {
    let breaks = text.rmatch_indices('\n').map(|(at, _)| at + 1).filter(|at| *at < text.len());
    let Some(start) = breaks.take(count).nth(count.saturating_sub(1)) else {
        return lines(text, columns);
    };
    let (head, tail) = text.split_at(start);
    let fences = head.lines().filter(|line| line.trim_start().starts_with("```")).count();
    if fences % 2 == 1 { lines(&format!("```\n{tail}"), columns) } else { lines(tail, columns) }
}

/// Block that lasts until a line ends it.
enum OpenBlock {
    /// Fence of Markdown: its backticks.
    Fence(usize),
    /// `#+begin_NAME`, verbatim.
    Verbatim(String),
    /// `#+begin_quote` and others with markup inside.
    Quote(String),
}

struct BlockReader {
    kind: MarkupKind,
    columns: usize,
    block: Option<OpenBlock>,
    out: Vec<StyledLine>,
}

impl BlockReader {
    fn read(&mut self, line: &str) {
        match &self.block {
            Some(OpenBlock::Fence(ticks)) => {
                if fence(line).is_some_and(|(count, name)| count >= *ticks && name.is_empty()) {
                    self.block = None;
                    return;
                }
                self.code(line);
            }
            Some(OpenBlock::Verbatim(name)) if is_end(line, name) => self.block = None,
            Some(OpenBlock::Verbatim(_)) => self.code(line),
            Some(OpenBlock::Quote(name)) if is_end(line, name) => self.block = None,
            Some(OpenBlock::Quote(_)) => self.quote(line),
            None => self.open(line),
        }
    }

    fn open(&mut self, line: &str) {
        let trimmed = line.trim_start();
        if let Some((ticks, _)) = fence(line) {
            self.block = Some(OpenBlock::Fence(ticks));
        } else if let Some(name) = begin(trimmed) {
            let is_verbatim = matches!(name.as_str(), "src" | "example" | "export");
            self.block = Some(match is_verbatim {
                true => OpenBlock::Verbatim(name),
                false => OpenBlock::Quote(name),
            });
        } else if let Some(title) = heading(line, self.kind) {
            let style = TextStyle { bold: true, ..TextStyle::colored(AnsiColor::Blue) };
            let mut out = StyledLine::empty();
            inline::push(title, style, self.kind, &mut out);
            self.out.push(out);
        } else if is_rule(trimmed) {
            self.out.push(StyledLine::of(&"─".repeat(self.columns.min(40)), TextStyle::DIM));
        } else if self.kind == MarkupKind::Org && trimmed.starts_with(": ") {
            self.code(&trimmed[2..]);
        } else if let Some(quoted) = trimmed.strip_prefix('>').filter(|_| self.is_markdown()) {
            self.quote(quoted.strip_prefix(' ').unwrap_or(quoted));
        } else {
            self.text(line);
        }
    }

    fn is_markdown(&self) -> bool {
        self.kind == MarkupKind::Markdown
    }

    fn code(&mut self, line: &str) {
        // Two blanks in front would be copied with it.
        self.out.push(StyledLine::code(line, TextStyle::colored(AnsiColor::Cyan)));
    }

    fn quote(&mut self, line: &str) {
        let mut out = StyledLine::of("│ ", TextStyle::DIM);
        out.hang = 2;
        inline::push(line, TextStyle::PLAIN, self.kind, &mut out);
        self.out.push(out);
    }

    fn text(&mut self, line: &str) {
        let mut out = StyledLine { wrap: LineWrap::Words, ..StyledLine::default() };
        let indent = line.len() - line.trim_start_matches(' ').len();
        match bullet(&line[indent..]) {
            Some((mark, rest)) => {
                let shown = if matches!(mark, "-" | "+" | "*") { "•" } else { mark };
                out.push(&format!("{}{shown} ", " ".repeat(indent)), TextStyle::PLAIN);
                out.hang = out.width();
                inline::push(rest, TextStyle::PLAIN, self.kind, &mut out);
            }
            None => {
                out.hang = indent;
                inline::push(line, TextStyle::PLAIN, self.kind, &mut out);
            }
        }
        self.out.push(out);
    }
}

/// Backticks and language of a fence.
fn fence(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let ticks = line.len() - line.trim_start_matches('`').len();
    let name = &line[ticks..];
    (ticks >= 3 && !name.contains('`')).then(|| (ticks, name.trim()))
}

/// Name of the block that `#+begin_NAME` opens.
fn begin(line: &str) -> Option<String> {
    let rest = line.get(..8).filter(|start| start.eq_ignore_ascii_case("#+begin_"));
    let name = rest.and_then(|_| line[8..].split_whitespace().next())?;
    Some(name.to_ascii_lowercase())
}

fn is_end(line: &str, name: &str) -> bool {
    let line = line.trim();
    line.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("#+end_"))
        && line[6..].eq_ignore_ascii_case(name)
}

/// Title of a heading, with its stars in Org.
fn heading(line: &str, kind: MarkupKind) -> Option<&str> {
    let mark = if kind == MarkupKind::Org { '*' } else { '#' };
    let rest = line.trim_start_matches(mark);
    let level = line.len() - rest.len();
    let is_heading = (1..=8).contains(&level) && rest.starts_with(' ');
    is_heading.then(|| if kind == MarkupKind::Org { line } else { rest.trim() })
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3 && ['-', '*', '_'].iter().any(|mark| line.chars().all(|letter| letter == *mark))
}

/// Mark of a list item and the text behind it.
fn bullet(line: &str) -> Option<(&str, &str)> {
    let (mark, rest) = line.split_once(' ')?;
    let is_number = mark
        .strip_suffix(['.', ')'])
        .is_some_and(|number| (1..=4).contains(&number.len()) && is_digits(number));
    (matches!(mark, "-" | "+" | "*") || is_number).then(|| (mark, rest.trim_start()))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
