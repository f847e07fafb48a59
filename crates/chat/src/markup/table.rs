//! Tables of Org and Markdown with their columns under each other.

use super::{MarkupKind, inline};
use crate::style::{StyledLine, TextStyle};

/// Widest table that is laid out, in columns of cells; others are printed as they are.
const MAX_CELLS: usize = 32;

/// Whether a line is a row of a table.
pub(super) fn is_row(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.starts_with('|') && (line.ends_with('|') || line.starts_with("|-"))
}

/// Lines of a table; as it came if it does not fit.
pub(super) fn lines(rows: &[&str], kind: MarkupKind, columns: usize) -> Vec<StyledLine> {
    let as_it_came =
        || rows.iter().map(|row| StyledLine::code(row, TextStyle::PLAIN)).collect::<Vec<_>>();
    let cells: Vec<Vec<StyledLine>> = rows.iter().map(|row| cells(row, kind)).collect();
    let count = cells.iter().map(Vec::len).max().unwrap_or(0);
    if count == 0 || count > MAX_CELLS {
        return as_it_came();
    }
    let width = |column: usize| {
        let of_row = |(row, cells): (&&str, &Vec<StyledLine>)| {
            if is_separator(row) { 0 } else { cells.get(column).map_or(0, StyledLine::width) }
        };
        rows.iter().zip(&cells).map(of_row).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    if widths.iter().sum::<usize>() + 3 * (count - 1) > columns {
        return as_it_came();
    }
    let heads = rows.iter().position(|row| is_separator(row)).unwrap_or(0);
    let shown = rows.iter().zip(&cells).enumerate().map(|(at, (row, cells))| {
        if is_separator(row) {
            let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            return StyledLine::of(&dashes.join("─┼─"), TextStyle::DIM);
        }
        row_line(cells, &widths, at < heads)
    });
    shown.collect()
}

fn row_line(cells: &[StyledLine], widths: &[usize], is_head: bool) -> StyledLine {
    let mut line = StyledLine::empty();
    for (column, width) in widths.iter().enumerate() {
        if column > 0 {
            line.push(" │ ", TextStyle::DIM);
        }
        let used = cells.get(column).map_or(0, StyledLine::width);
        for span in cells.get(column).into_iter().flat_map(|cell| &cell.spans) {
            match is_head {
                true => line.push(span.text(), TextStyle { bold: true, ..span.style() }),
                false => line.spans.push(span.clone()),
            }
        }
        if column + 1 < widths.len() {
            line.push(&" ".repeat(width.saturating_sub(used)), TextStyle::PLAIN);
        }
    }
    line
}

fn is_separator(row: &str) -> bool {
    let row = row.trim();
    row.contains('-') && row.chars().all(|letter| "|-+: ".contains(letter))
}

fn cells(row: &str, kind: MarkupKind) -> Vec<StyledLine> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    let cell = |text: &str| {
        let mut line = StyledLine::empty();
        inline::push(text.trim(), TextStyle::PLAIN, kind, &mut line);
        line
    };
    row.split('|').map(cell).collect()
}
