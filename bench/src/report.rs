//! Tables of results, as aligned text, as Markdown for `docs/benchmarks.md`, or as JSON lines.
//! Filled by the measuring modules, printed by `main`.

use std::io::{self, Write};

/// Format of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for a terminal.
    Text,
    /// Tables to paste into `docs/benchmarks.md`.
    Markdown,
    /// One JSON object per row.
    Json,
}

/// One value of a table.
#[derive(Debug, Clone)]
pub enum Cell {
    /// A name or a remark.
    Text(String),
    /// A number, with the digits after the point that people should see.
    Number(f64, usize),
}

impl Cell {
    /// A text cell.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number, digits) => format!("{number:.digits$}"),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number, _) => (*number).into(),
        }
    }
}

/// A titled table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Subject of the table, in a line.
    pub title: String,
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new<C: Into<String>>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        Self {
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a row fills every column");
        self.rows.push(row);
    }

    /// Prints the table.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Json => self.write_json(out),
            Format::Markdown => self.write_lines(out, "**", "**\n", "| ", " | ", " |", true),
            Format::Text => self.write_lines(out, "== ", "", "  ", "  ", "", false),
        }
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in &self.rows {
            let mut object = serde_json::Map::new();
            object.insert("table".to_owned(), self.title.as_str().into());
            for (column, cell) in self.columns.iter().zip(row) {
                object.insert(column.clone(), cell.json());
            }
            writeln!(out, "{}", serde_json::Value::Object(object))?;
        }
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the two callers above differ in exactly these strings"
    )]
    fn write_lines(
        &self,
        out: &mut dyn Write,
        before_title: &str,
        after_title: &str,
        left: &str,
        between: &str,
        right: &str,
        ruled: bool,
    ) -> io::Result<()> {
        let shown: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|index| {
                let cells = shown.iter().map(|row| row[index].chars().count());
                cells.chain([self.columns[index].chars().count(), 3]).max().unwrap_or(3)
            })
            .collect();
        writeln!(out, "{before_title}{}{after_title}", self.title)?;
        let mut line = |cells: &[String]| -> io::Result<()> {
            let padded: Vec<String> = cells
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(index, (cell, width))| pad(cell, *width, index))
                .collect();
            writeln!(out, "{}", format!("{left}{}{right}", padded.join(between)).trim_end())
        };
        line(&self.columns)?;
        if ruled {
            let rule: Vec<String> =
                widths.iter().enumerate().map(|(index, width)| rule(*width, index)).collect();
            line(&rule)?;
        }
        for row in &shown {
            line(row)?;
        }
        writeln!(out)
    }
}

/// Names stand left, numbers right.
fn pad(cell: &str, width: usize, column: usize) -> String {
    if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
}

fn rule(width: usize, column: usize) -> String {
    let dashes = "-".repeat(width - 1);
    if column == 0 { format!("{dashes}-") } else { format!("{dashes}:") }
}

/// A target and what was measured against it.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Name of the promise, e.g. `reader / serde_json`.
    pub what: String,
    /// The bound, in the unit of `got`.
    pub target: f64,
    /// Value of this run.
    pub got: f64,
    /// Whether `got` may not be under or over the bound.
    pub bound: Bound,
}

impl Verdict {
    /// Promise that at most this much was measured.
    pub fn at_most((what, target, got): (&str, f64, f64)) -> Self {
        Self { what: what.to_owned(), target, got, bound: Bound::AtMost }
    }
}

/// Good side of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// At least the target.
    AtLeast,
    /// At most the target.
    AtMost,
}

impl Verdict {
    /// Whether the target is met.
    pub fn met(&self) -> bool {
        match self.bound {
            Bound::AtLeast => self.got >= self.target,
            Bound::AtMost => self.got <= self.target,
        }
    }
}

/// The table of all targets of a run.
pub fn verdicts(verdicts: &[Verdict]) -> Table {
    let mut table = Table::new("Targets", ["what", "target", "measured", "met"]);
    for verdict in verdicts {
        let sign = match verdict.bound {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
        };
        table.push(vec![
            Cell::text(verdict.what.as_str()),
            Cell::text(format!("{sign} {}", verdict.target)),
            Cell::Number(verdict.got, 2),
            Cell::text(if verdict.met() { "yes" } else { "no" }),
        ]);
    }
    table
}

/// The machine the numbers come from: they mean little without it.
pub fn machine() -> Table {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| {
            line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned())
        })
        .unwrap_or_else(|| "unknown".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut table = Table::new("Machine", ["fact", "value"]);
    table.push(vec![Cell::text("processor"), Cell::text(model)]);
    table.push(vec![Cell::text("cores"), Cell::text(cores.to_string())]);
    table.push(vec![Cell::text("kernel"), Cell::text(kernel.trim())]);
    table.push(vec![Cell::text("load before the run"), Cell::text(load)]);
    table
}
