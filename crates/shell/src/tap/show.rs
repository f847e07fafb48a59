//! How a passing frame looks: a line about it, then the form; or one JSON object a line.

use std::fmt::Write as _;
use std::io::Write;

use bridle_sexp::read_one;
use bridle_wire::frame::FrameError;

use crate::error::ShellError;
use crate::pretty::{self, ColorChoice, LayoutStyle};
use crate::screen::{neutral_block, plain_json, quoted};

/// Form in which frames are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapOutput {
    /// For people.
    Text(LayoutStyle),
    /// One object a line.
    Json,
}

/// Writer of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapSide {
    /// A file has it.
    File,
    /// The daemon, to us.
    Daemon,
    /// The daemon, to the numbered client.
    ToClient(u64),
    /// The numbered client, to the daemon.
    FromClient(u64),
}

impl TapSide {
    /// The phrase after the number of a frame.
    fn phrase(self, offset: u64) -> String {
        match self {
            TapSide::File => format!("at byte {offset}"),
            TapSide::Daemon => "daemon".to_owned(),
            TapSide::ToClient(client) => format!("daemon -> client {client}"),
            TapSide::FromClient(client) => format!("client {client} -> daemon"),
        }
    }

    /// The members of the JSON object.
    fn members(self) -> String {
        match self {
            TapSide::File => String::new(),
            TapSide::Daemon => ",\"from\":\"daemon\"".to_owned(),
            TapSide::ToClient(client) => format!(",\"from\":\"daemon\",\"client\":{client}"),
            TapSide::FromClient(client) => format!(",\"from\":\"client\",\"client\":{client}"),
        }
    }
}

/// The place where frames are shown, numbered from 1.
#[derive(Debug)]
pub(crate) struct FrameDisplay<W> {
    output: TapOutput,
    out: W,
    shown: u64,
}

impl<W: Write> FrameDisplay<W> {
    pub(crate) fn new(output: TapOutput, out: W) -> FrameDisplay<W> {
        FrameDisplay { output, out, shown: 0 }
    }

    /// Shows a frame, whether its text is a form or not.
    pub(crate) fn frame(
        &mut self,
        side: TapSide,
        offset: u64,
        text: &str,
    ) -> Result<(), ShellError> {
        let read = read_one(text);
        let mut shown = self.head(side, offset, Some(text.len()));
        match (self.output, &read) {
            (TapOutput::Text(style), Ok(tree)) => {
                pretty::write(tree.root(), &LayoutStyle { indent: 2, ..style }, &mut shown);
            }
            (TapOutput::Text(style), Err(error)) => {
                let _ = writeln!(shown, "  {}", warned(style, &error.to_string()));
                let _ = write!(shown, "  {}", neutral_block(text));
            }
            (TapOutput::Json, Ok(tree)) => {
                shown.push_str(",\"text\":");
                shown.push_str(&quoted(text));
                shown.push_str(",\"form\":");
                shown.push_str(&plain_json(&tree.root().to_value()));
                shown.push('}');
            }
            (TapOutput::Json, Err(error)) => {
                shown.push_str(",\"text\":");
                shown.push_str(&quoted(text));
                error_member(error.category().as_str(), &error.to_string(), &mut shown);
            }
        }
        self.line(shown)
    }

    /// Shows what is no frame.
    pub(crate) fn bad(
        &mut self,
        side: TapSide,
        offset: u64,
        error: &FrameError,
    ) -> Result<(), ShellError> {
        let mut shown = self.head(side, offset, None);
        let code = error.code();
        match self.output {
            TapOutput::Text(style) => {
                let why = format!("{} at byte {offset}: {error}", code.as_str());
                let _ = write!(shown, "  {}", warned(style, &why));
            }
            TapOutput::Json => error_member(code.as_str(), &error.to_string(), &mut shown),
        }
        self.line(shown)
    }

    /// Shows a sentence that belongs to no frame.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), ShellError> {
        let shown = match self.output {
            TapOutput::Text(style) => warned(style, text),
            TapOutput::Json => {
                let mut shown = String::from("{\"note\":");
                shown.push_str(&quoted(text));
                shown.push('}');
                shown
            }
        };
        self.line(shown)
    }

    /// The line about a frame, or the beginning of its object.
    fn head(&mut self, side: TapSide, offset: u64, bytes: Option<usize>) -> String {
        self.shown += 1;
        let n = self.shown;
        match self.output {
            TapOutput::Json => {
                let bytes = bytes.map(|bytes| format!(",\"bytes\":{bytes}")).unwrap_or_default();
                format!("{{\"n\":{n}{},\"offset\":{offset}{bytes}", side.members())
            }
            TapOutput::Text(style) => {
                let bytes = bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
                let head = format!("{n} {}{bytes}", side.phrase(offset));
                match style.color {
                    ColorChoice::Never => format!("{head}\n"),
                    ColorChoice::Always => format!("\x1b[2m{head}\x1b[0m\n"),
                }
            }
        }
    }

    fn line(&mut self, mut shown: String) -> Result<(), ShellError> {
        shown.push('\n');
        let written = self.out.write_all(shown.as_bytes()).and_then(|()| self.out.flush());
        written.map_err(ShellError::Write)
    }
}

fn warned(style: LayoutStyle, text: &str) -> String {
    match style.color {
        ColorChoice::Never => text.to_owned(),
        ColorChoice::Always => format!("\x1b[31m{text}\x1b[0m"),
    }
}

/// The member of a bad frame, and the end of its object.
fn error_member(code: &str, message: &str, out: &mut String) {
    out.push_str(",\"error\":{\"code\":");
    out.push_str(&quoted(code));
    out.push_str(",\"message\":");
    out.push_str(&quoted(message));
    out.push_str("}}");
}
