//! Output for people and for programs: what every command prints goes through here.
//!
//! - [`neutral`]: text of others, made harmless for a terminal
//! - [`table`]: columns with headers that fit the terminal
//! - [`writer`]: streams of data
//! - [`clock`]: times as the clock on the wall shows them
//! - [`plain_json`]: plain JSON with plain keys, for `--json`
//!
//! Text for people is always neutralised, whether it goes to a terminal or not. Data that programs
//! read back (forms, files, records) is exact in a pipe and neutralised on a terminal only: see
//! [`OutputScreen::data`].

pub mod clock;
pub mod neutral;
pub mod table;
pub mod writer;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;

pub use bridle_wire::plain::{escape_hidden, plain_json, quoted};
pub use clock::{local_minute, local_second};
pub use neutral::{neutral_block, neutral_line};
pub use table::{TableColumn, TextTable};
pub use writer::data_writer;

/// Columns of a terminal that does not tell its width.
const DEFAULT_WIDTH: usize = 80;

/// Columns below which nothing is fitted: no terminal for people is narrower.
const MIN_WIDTH: usize = 20;

/// Standard output as commands see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputScreen {
    /// Columns of the terminal; `None` for a pipe or a file, which take lines of any length.
    pub width: Option<usize>,
}

impl OutputScreen {
    /// A pipe or a file.
    pub const PIPE: OutputScreen = OutputScreen { width: None };

    /// Returns what standard output is now.
    pub fn of_stdout() -> OutputScreen {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return OutputScreen::PIPE;
        }
        OutputScreen { width: Some(width_of(&stdout)) }
    }

    /// Whether a person looks at it.
    pub fn is_terminal(self) -> bool {
        self.width.is_some()
    }

    /// Returns data that programs read back: exact in a pipe, neutralised on a terminal.
    pub fn data(self, text: &str) -> Cow<'_, str> {
        if self.is_terminal() { neutral_block(text) } else { Cow::Borrowed(text) }
    }
}

fn width_of(terminal: &impl AsFd) -> usize {
    let size = terminal_size::terminal_size_of(terminal.as_fd());
    let width = size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0);
    width.unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH)
}
