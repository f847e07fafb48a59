//! `bridle sexp`: one form in, the same form out, in the spelling that was asked for.

use std::io::{Read, Write};

use bridle_sexp::{Comments, Dialect, Reader, json};

use crate::error::ShellError;
use crate::form_stream::{fault_in, read_text};
use crate::pretty::{self, LayoutStyle};
use crate::screen::escape_hidden;

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormOutput {
    /// Exact source bytes.
    Source,
    /// The one canonical spelling.
    Canonical,
    /// Laid out for people.
    Pretty(LayoutStyle),
    /// The lossless JSON mapping.
    Json,
}

/// Kind of text on stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormInput {
    /// A form.
    Form {
        /// Dialect of its escapes.
        dialect: Dialect,
        /// Whether it may have comments.
        comments: Comments,
    },
    /// JSON, to be printed as a form.
    Json,
}

/// Reads one form and prints it with a newline behind it.
///
/// # Errors
///
/// The text is not exactly one form, or an input or output failed.
pub fn run(
    input: FormInput,
    output: FormOutput,
    source: &mut dyn Read,
    out: &mut dyn Write,
) -> Result<(), ShellError> {
    let text = read_text(source)?;
    let mut printed = match input {
        FormInput::Form { dialect, comments } => {
            let reader = Reader::default().dialect(dialect).comments(comments);
            print_form(&text, &reader, output)?
        }
        FormInput::Json => {
            let value = json::from_json(&text).map_err(|error| fault_in(&text, &error))?;
            // Printed canonically and read again, so that every output goes one way.
            print_form(&value.to_string(), &Reader::default(), output)?
        }
    };
    printed.push('\n');
    out.write_all(printed.as_bytes()).and_then(|()| out.flush()).map_err(ShellError::Write)
}

fn print_form(text: &str, reader: &Reader, output: FormOutput) -> Result<String, ShellError> {
    let tree = reader.read_one(text).map_err(|error| fault_in(text, &error))?;
    let root = tree.root();
    let mut printed = String::new();
    match output {
        FormOutput::Source => printed.push_str(root.source()),
        FormOutput::Canonical => bridle_sexp::canonical(root, &mut printed),
        FormOutput::Pretty(style) => pretty::write(root, &style, &mut printed),
        FormOutput::Json => {
            let mut json = String::new();
            json::to_json(&root.to_value(), &mut json);
            printed.push_str(&escape_hidden(&json));
        }
    }
    Ok(printed)
}
